"""Regular expressions that somebody else wrote, by RE2, which YuniKorn has, too: no text takes long to search.

The module `re` tries one way after the other, and an expression of ten letters can have more ways through a name than
there are seconds in a year; while it tries, nothing else in this process runs. RE2 goes all ways at once, in memory
that is bounded; it has no references to groups, and does not look ahead or behind.
"""

from functools import lru_cache

import re2

_LONGEST = 1_000
"""Letters of an expression."""
_LONGEST_NAME = 1_000
"""Letters of a text; nobody is called what is longer."""
_MEMORY = 1 << 20
_OPTIONS = re2.Options()
_OPTIONS.max_mem = _MEMORY
_OPTIONS.log_errors = False


class BadPattern(ValueError):
    """No regular expression, or none that is searched for here."""


class Pattern:
    """An expression, ready to be searched for."""

    def __init__(self, text: str) -> None:
        """Raises `BadPattern`."""
        if len(text) > _LONGEST:
            raise BadPattern(f"longer than {_LONGEST} letters")
        try:
            self._compiled = re2.compile(text, _OPTIONS)
        except re2.error as error:
            raise BadPattern(str(error)) from error

    def found_in(self, text: str) -> bool:
        """Whether it matches anywhere in a text."""
        return len(text) <= _LONGEST_NAME and self._compiled.search(text) is not None


@lru_cache(maxsize=256)
def pattern(text: str) -> Pattern:
    """The same, made once."""
    return Pattern(text)
