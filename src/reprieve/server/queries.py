"""The parameters of a request: each at most once, and each what it has to be."""

import re
from urllib.parse import parse_qsl

from reprieve.stores.errors import BadRequest
from reprieve.texts import server as texts

LARGEST = 2**63 - 1
LONGEST_WATCH = 24 * 3600
_INT32 = 2**31 - 1
PROPAGATIONS = ("Background", "Foreground", "Orphan")
# What the parameters of Kubernetes' API have to be, wherever they are sent.
_NUMBERS: dict[str, tuple[int, int]] = {
    "limit": (0, LARGEST),
    "resourceVersion": (0, LARGEST),
    "timeoutSeconds": (0, LONGEST_WATCH),
    "gracePeriodSeconds": (0, _INT32),
    "tailLines": (0, _INT32),
    "sinceSeconds": (1, _INT32),
    "limitBytes": (1, LARGEST),
    "run": (0, _INT32),
}
_FLAGS = (
    *("watch", "allowWatchBookmarks", "sendInitialEvents", "force", "orphanDependents"),
    *("follow", "previous", "timestamps"),
)
_CHOICES: dict[str, tuple[str, ...]] = {
    "dryRun": ("All",),
    "fieldValidation": ("Ignore", "Warn", "Strict"),
    "includeObject": ("None", "Metadata", "Object"),
    "propagationPolicy": PROPAGATIONS,
    "resourceVersionMatch": ("NotOlderThan", "Exact"),
}
_MOST_PARAMETERS = 100
_NUMBER = re.compile(r"[+-]?[0-9]{1,20}", re.ASCII)
_YES, _NO = ("", "1", "t", "true"), ("0", "f", "false")


class Query:
    """What stands behind the question mark. Parameters that nobody knows are ignored, as Kubernetes does."""

    def __init__(self, raw: bytes) -> None:
        self._values: dict[str, str] = {}
        for name, value in _pairs(raw):
            if name in self._values:
                raise BadRequest(texts.twice(name))
            self._values[name] = value

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def text(self, name: str) -> str:
        return self._values.get(name, "")

    def check(self) -> None:
        """Refuse what makes no sense even where nobody would have looked at it."""
        for name in self._values:
            if name in _NUMBERS:
                self.number(name)
            elif name in _FLAGS:
                self.flag(name)
            elif name in _CHOICES:
                self.choice(name)

    def number(self, name: str, *, least: int | None = None, most: int | None = None) -> int | None:
        """A whole number; None when it is not given, or empty."""
        known = _NUMBERS.get(name, (0, LARGEST))
        least, most = known[0] if least is None else least, known[1] if most is None else most
        text = self._values.get(name, "")
        if not text:
            return None
        number = int(text) if _NUMBER.fullmatch(text) else None
        if number is None or not least <= number <= most:
            raise BadRequest(texts.no_number(name, text, least, most))
        return number

    def flag(self, name: str) -> bool:
        value = self._values.get(name)
        if value is None or value.lower() in _NO:
            return False
        if value.lower() not in _YES:
            raise BadRequest(texts.not_one_of(name, value, ("true", "false")))
        return True

    def choice(self, name: str) -> str:
        """One of several words; empty when it is not given."""
        value = self._values.get(name, "")
        options = _CHOICES[name]
        if value and value not in options:
            raise BadRequest(texts.not_one_of(name, value, options))
        return value


def _pairs(raw: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(raw.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MOST_PARAMETERS)
    except ValueError as error:  # not UTF-8, or too many of them
        raise BadRequest(texts.UNREADABLE_QUERY) from error
