"""Quantities and resource vectors: exact integers, parsed once.

A `Quantity` is one number as Kubernetes writes it (`1500m`, `3Gi`, `1e3`, `0.5`, `12E`), kept exactly.
`Resources` is a vector of named amounts (`{cpu: 1500, memory: 3221225472}`): thousandths for cpu, whole units for the
rest, rounded up as Kubernetes does, each within 64 bits so that every ledger can count it.
"""

import re
from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from decimal import Decimal, InvalidOperation
from typing import Any, Literal

from reprieve.model.remembering import remembered

CPU = "cpu"
PODS = "pods"
MAX_AMOUNT = 2**63 - 1

_NANO = 10**9
_QUANTITY = re.compile(
    r"(?P<sign>[+-]?)(?P<number>\d+\.?\d*|\.\d+)"
    r"(?:[eE](?P<exponent>[+-]?\d+)|(?P<binary>[KMGTPE]i)|(?P<decimal>[numkMGTPE]))?",
    re.ASCII,
)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_DECIMAL_SUFFIX = {power: suffix for suffix, power in _DECIMAL.items()}
_BINARY_SUFFIX = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_BINARY = {suffix: 10 * step for step, suffix in enumerate(_BINARY_SUFFIX)}
# Far above anything countable, and low enough that a hostile `1e999999999` is never multiplied out.
_MAX_POWER = 24
_MAX_LENGTH = 128
_FORMS = "a number with an optional suffix, such as 500m, 2, 1.5, 1e3, 128Mi or 10G"

Form = Literal["DecimalSI", "BinarySI", "DecimalExponent"]


class QuantityError(ValueError):
    """A quantity that is malformed, negative where that is forbidden, or too large to count."""

    def __init__(self, found: object, problem: str, allowed: str, key: str | None = None) -> None:
        super().__init__(f"{problem}; {allowed}")
        self.found = found
        self.problem = problem
        self.allowed = allowed
        self.key = key


def exact_number(text: str) -> Decimal | str:
    """A number as it is written; one that is beyond counting stays text, which no quantity accepts."""
    try:
        return Decimal(text)
    except InvalidOperation:
        return text


class Quantity:
    """An exact number, in billionths, and the notation it was written in. Immutable."""

    __slots__ = ("form", "nano")

    def __init__(self, nano: int, form: Form = "DecimalSI") -> None:
        self.nano = nano
        self.form: Form = form

    @classmethod
    def parse(cls, text: str | float | Decimal) -> "Quantity":
        """Read any form Kubernetes accepts; finer than a billionth is rounded away from zero."""
        return _parse_quantity(text if isinstance(text, str) else _number_text(text))

    @property
    def milli(self) -> int:
        """Thousandths, rounded up."""
        return -(-self.nano // 10**6)

    @property
    def value(self) -> int:
        """Whole units, rounded up."""
        return -(-self.nano // _NANO)

    def __str__(self) -> str:
        """The canonical form: no fraction, the largest suffix that loses nothing."""
        if self.nano == 0:
            return "0"
        if self.form == "BinarySI" and abs(self.nano) >= 1024 * _NANO and self.nano % _NANO == 0:
            return _print_binary(self.nano // _NANO)
        return _print_decimal(self.nano, exponent=self.form == "DecimalExponent")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.nano == other.nano

    def __hash__(self) -> int:
        return hash(self.nano)

    def __lt__(self, other: "Quantity") -> bool:
        return self.nano < other.nano

    def __le__(self, other: "Quantity") -> bool:
        return self.nano <= other.nano

    def __repr__(self) -> str:
        return f"Quantity({self})"

    def __add__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.nano + other.nano, self.form)

    def __sub__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.nano - other.nano, self.form)


def _number_text(number: object) -> str:
    """The text of a bare number; a bool is an int in Python but never a quantity.

    A float, from data that was parsed elsewhere, is taken as it prints: 0.1 is a tenth.
    """
    if isinstance(number, bool) or not isinstance(number, (int, float, Decimal)):
        raise QuantityError(number, "not a quantity", _FORMS)
    return str(number)


@remembered(65536)
def _parse_quantity(text: str) -> Quantity:
    match = _QUANTITY.fullmatch(text) if len(text) <= _MAX_LENGTH else None
    if match is None:
        raise QuantityError(text, "not a quantity", _FORMS)
    whole, _, fraction = match["number"].partition(".")
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return Quantity(0, _form(match))
    power, shift = _scale(match)
    power += 9 - len(fraction)
    if len(digits) + power + shift * 3 // 10 > _MAX_POWER + 9:
        raise QuantityError(text, "too large", f"less than 1e{_MAX_POWER}")
    magnitude = 1 if len(digits) + power < -_MAX_POWER else _round_up(int(digits) << shift, power)
    return Quantity(-magnitude if match["sign"] == "-" else magnitude, _form(match))


def _scale(match: re.Match[str]) -> tuple[int, int]:
    """The power of ten and the power of two that the suffix stands for."""
    if match["exponent"]:
        exponent = match["exponent"]
        return (int(exponent) if len(exponent) < 6 else 10**6 * (-1 if exponent[0] == "-" else 1)), 0
    if match["binary"]:
        return 0, _BINARY[match["binary"]]
    return _DECIMAL[match["decimal"] or ""], 0


def _form(match: re.Match[str]) -> Form:
    if match["exponent"]:
        return "DecimalExponent"
    return "BinarySI" if match["binary"] else "DecimalSI"


def _round_up(number: int, power: int) -> int:
    scale: int = 10 ** abs(power)
    return number * scale if power >= 0 else -(-number // scale)


def _print_binary(value: int) -> str:
    step = 0
    while value % 1024 == 0 and step < len(_BINARY_SUFFIX) - 1:
        value //= 1024
        step += 1
    return f"{value}{_BINARY_SUFFIX[step]}"


def _print_decimal(nano: int, *, exponent: bool) -> str:
    power = -9
    while nano % 1000 == 0 and (exponent or power < 18):
        nano //= 1000
        power += 3
    if exponent:
        return f"{nano}e{power}" if power else str(nano)
    return f"{nano}{_DECIMAL_SUFFIX[power]}"


@remembered(65536, typed=True)
def amount(name: str, text: str | float | Decimal) -> int:
    """What `text` of the resource `name` counts for: thousandths for cpu, whole units for all else."""
    quantity = Quantity.parse(text)
    units = quantity.milli if name == CPU else quantity.value
    if quantity.nano < 0:  # not `units`: a tenth below zero rounds up to zero
        raise QuantityError(text, "negative", "zero or more", name)
    if units > MAX_AMOUNT:
        most = Quantity(MAX_AMOUNT * 10**6) if name == CPU else Quantity(MAX_AMOUNT * _NANO)
        raise QuantityError(text, "too large", f"at most {most}", name)
    return units


def print_amount(name: str, units: int) -> str:
    """The canonical text of an amount: `amount(name, print_amount(name, n)) == n`."""
    if name == CPU:
        return str(Quantity(units * 10**6))
    binary = name in ("memory", "ephemeral-storage") or name.startswith("hugepages-")
    return str(Quantity(units * _NANO, "BinarySI" if binary else "DecimalSI"))


class Resources(Mapping[str, int]):
    """A vector of named amounts. Immutable; a name that is absent counts as zero."""

    __slots__ = ("_amounts", "_hash")

    def __init__(self, amounts: Mapping[str, int] | None = None) -> None:
        self._amounts: dict[str, int] = dict(amounts or {})
        self._hash: int | None = None

    @classmethod
    def parse(cls, manifest: Mapping[str, Any]) -> "Resources":
        """Read a Kubernetes resource list; equal lists share one object."""
        if not isinstance(manifest, dict):
            raise QuantityError(manifest, "not a map of quantities", "names and quantities, such as {cpu: 500m}")
        items = tuple(manifest.items())
        try:
            return _TEXTS[items]
        except (KeyError, TypeError):  # it is new, or holds what is no quantity
            return _parse_new(items)

    def __getitem__(self, name: str) -> int:
        return self._amounts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._amounts)

    def __len__(self) -> int:
        return len(self._amounts)

    # A mapping has these already, made of the three above; they are asked too often for that.

    def __contains__(self, name: object) -> bool:
        return name in self._amounts

    def keys(self) -> KeysView[str]:
        return self._amounts.keys()

    def values(self) -> ValuesView[int]:
        return self._amounts.values()

    def items(self) -> ItemsView[str, int]:
        return self._amounts.items()

    def of(self, name: str) -> int:
        """The amount of one resource, zero when it is not named."""
        return self._amounts.get(name, 0)

    def _nonzero(self) -> dict[str, int]:
        return {name: units for name, units in self._amounts.items() if units}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Resources):
            return False
        return self._amounts == other._amounts or self._nonzero() == other._nonzero()

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._nonzero().items()))
        return self._hash

    def __add__(self, other: "Resources") -> "Resources":
        return Resources({name: self.of(name) + other.of(name) for name in self._names(other)})

    def __sub__(self, other: "Resources") -> "Resources":
        return Resources({name: self.of(name) - other.of(name) for name in self._names(other)})

    def __mul__(self, times: int) -> "Resources":
        return Resources({name: units * times for name, units in self._amounts.items()})

    def __le__(self, other: "Resources") -> bool:
        """True when every amount is within the other's: a partial order."""
        return all(units <= other.of(name) for name, units in self._amounts.items()) and all(
            units >= 0 for name, units in other.items() if name not in self._amounts
        )

    def __ge__(self, other: "Resources") -> bool:
        return other <= self

    def with_more(self, name: str, units: int) -> "Resources":
        """So much more of one resource."""
        return Resources({**self._amounts, name: self.of(name) + units})

    def maximum(self, other: "Resources") -> "Resources":
        """The larger amount of each resource."""
        return Resources({name: max(self.of(name), other.of(name)) for name in self._names(other)})

    def positive(self) -> "Resources":
        """Only what is above zero."""
        return Resources({name: units for name, units in self._amounts.items() if units > 0})

    def _names(self, other: "Resources") -> dict[str, None]:
        return dict.fromkeys((*self._amounts, *other._amounts))

    def to_manifest(self) -> dict[str, str]:
        """The canonical Kubernetes resource list."""
        return {name: print_amount(name, units) for name, units in sorted(self._amounts.items())}

    def __repr__(self) -> str:
        return f"Resources({', '.join(f'{name}={text}' for name, text in self.to_manifest().items())})"


NOTHING = Resources()


# Lists of texts only: a key that holds True must not be taken for one that holds 1.
_TEXTS: dict[tuple[tuple[str, str], ...], Resources] = {}
_MOST_TEXTS = 65536
_LONGEST = 32
"""Amounts in a list that is kept."""


def _parse_new(items: tuple[tuple[str, Any], ...]) -> Resources:
    for name, value in items:
        if isinstance(value, (bool, list, dict)):
            raise QuantityError(value, "not a quantity", _FORMS, name)
    parsed = _parse_resources(items)
    if len(items) <= _LONGEST and all(isinstance(value, str) for _, value in items):
        if len(_TEXTS) >= _MOST_TEXTS:
            _TEXTS.clear()
        _TEXTS[items] = parsed
    return parsed


@remembered(65536)
def _parse_resources(items: tuple[tuple[str, Any], ...]) -> Resources:
    amounts = {}
    for name, value in items:
        if value is None:
            continue
        try:
            amounts[name] = amount(name, value)
        except QuantityError as error:
            raise QuantityError(error.found, error.problem, error.allowed, name) from None
    return Resources(amounts)
