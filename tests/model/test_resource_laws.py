"""Laws of quantities and resource vectors, over random ones."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from reprieve.model.resources import MAX_AMOUNT, NOTHING, Quantity, Resources, amount, print_amount

SUFFIXES = {"": 0, "n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


@st.composite
def quantities(draw: st.DrawFn) -> tuple[str, Fraction]:
    """A quantity's text beside what it is worth, worked out with fractions."""
    sign, whole = draw(st.sampled_from(["", "+", "-"])), str(draw(st.integers(0, 9999)))
    fraction = draw(st.none() | st.text("0123456789", max_size=12))
    number = Fraction(f"{whole}.{fraction or '0'}") * (-1 if sign == "-" else 1)
    text = f"{sign}{whole}" if fraction is None else f"{sign}{whole}.{fraction}"
    exponent = draw(st.integers(-12, 18))
    suffix, scale = draw(
        st.sampled_from([(suffix, Fraction(10) ** power) for suffix, power in SUFFIXES.items()])
        | st.sampled_from([(suffix, Fraction(2**power)) for suffix, power in BINARY.items()])
        | st.sampled_from([(f"{letter}{exponent}", Fraction(10) ** exponent) for letter in "eE"])
    )
    return text + suffix, number * scale


def rounded(value: Fraction) -> int:
    """Billionths, away from zero."""
    nano = value * 10**9
    return -(-nano.numerator // nano.denominator) if nano > 0 else nano.numerator // nano.denominator


@given(quantities())
@example(("1023.9Ki", Fraction(10239 * 1024, 10)))
def test_parse_after_print_is_identity_and_canonical_text_stays_as_it_is(written: Any) -> None:
    text, value = written
    quantity = Quantity.parse(text)
    assert quantity.nano == rounded(value)
    again = Quantity.parse(str(quantity))
    assert again == quantity
    assert hash(again) == hash(quantity)
    assert str(again) == str(quantity)


@given(quantities(), quantities())
def test_quantities_are_ordered_as_the_numbers_they_stand_for(one: Any, other: Any) -> None:
    first, second = Quantity.parse(one[0]), Quantity.parse(other[0])
    if one[1] < other[1]:
        assert first <= second
    assert (first < second) == (rounded(one[1]) < rounded(other[1]))
    assert (first == second) == (rounded(one[1]) == rounded(other[1]))
    assert first + second - second == first


names = st.sampled_from(["cpu", "memory", "ephemeral-storage", "hugepages-1Gi", "pods", "nvidia.com/gpu"])
vectors = st.dictionaries(names, st.integers(0, MAX_AMOUNT)).map(Resources)


@given(names, st.integers(0, MAX_AMOUNT))
def test_an_amount_survives_being_printed(name: Any, units: Any) -> None:
    assert amount(name, print_amount(name, units)) == units
    assert Resources.parse({name: print_amount(name, units)}) == Resources({name: units})


@given(vectors, vectors)
def test_resources_add_and_subtract_like_vectors(one: Any, other: Any) -> None:
    total = one + other
    assert total - other == one
    assert total == other + one
    assert one <= total
    assert one + NOTHING == one
    assert one * 2 == one + one
    assert (one <= other) == all(one.of(name) <= other.of(name) for name in {*one, *other})


@given(vectors, vectors)
def test_the_maximum_is_the_least_upper_bound(one: Any, other: Any) -> None:
    bound = one.maximum(other)
    assert one <= bound
    assert other <= bound
    assert bound <= one + other
    assert (bound == other) == (one <= other)


@given(vectors, names)
def test_a_zero_is_the_same_as_nothing_to_equality_and_hash(vector: Any, name: Any) -> None:
    named = Resources({name: 0, **vector})
    assert named == vector
    assert hash(named) == hash(vector)
    assert len({named, vector}) == 1
    assert Resources.parse(vector.to_manifest()) == vector
