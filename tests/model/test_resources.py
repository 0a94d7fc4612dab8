"""Quantities and resource vectors, against what k8s.io/apimachinery does with the same text."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from reprieve.model.resources import MAX_AMOUNT, NOTHING, Quantity, QuantityError, Resources, amount

# What is written, what it is worth, and how Kubernetes prints it.
FORMS: list[tuple[str | int | float | Decimal, Fraction, str]] = [
    ("0", Fraction(0), "0"),
    ("-0", Fraction(0), "0"),
    ("0Gi", Fraction(0), "0"),
    ("0e9", Fraction(0), "0"),
    ("0e999999999", Fraction(0), "0"),
    ("2", Fraction(2), "2"),
    ("+1", Fraction(1), "1"),
    ("-3", Fraction(-3), "-3"),
    ("007", Fraction(7), "7"),
    ("1500m", Fraction(3, 2), "1500m"),
    ("1000m", Fraction(1), "1"),
    ("2000000m", Fraction(2000), "2k"),
    ("0.5", Fraction(1, 2), "500m"),
    (".5", Fraction(1, 2), "500m"),
    ("5.", Fraction(5), "5"),
    ("1.G", Fraction(10**9), "1G"),
    ("1.50", Fraction(3, 2), "1500m"),
    ("100n", Fraction(1, 10**7), "100n"),
    ("1u", Fraction(1, 10**6), "1u"),
    ("1000u", Fraction(1, 1000), "1m"),
    ("1k", Fraction(1000), "1k"),
    ("1000", Fraction(1000), "1k"),
    ("1024", Fraction(1024), "1024"),
    ("10M", Fraction(10**7), "10M"),
    ("1G", Fraction(10**9), "1G"),
    ("1T", Fraction(10**12), "1T"),
    ("1P", Fraction(10**15), "1P"),
    ("12E", Fraction(12 * 10**18), "12E"),
    ("1e3", Fraction(1000), "1e3"),
    ("1E3", Fraction(1000), "1e3"),
    ("1e+3", Fraction(1000), "1e3"),
    ("1e4", Fraction(10**4), "10e3"),
    ("1e-1", Fraction(1, 10), "100e-3"),
    ("1e21", Fraction(10**21), "1e21"),
    ("12.5e0", Fraction(25, 2), "12500e-3"),
    ("1e0", Fraction(1), "1"),
    ("1Ki", Fraction(1024), "1Ki"),
    ("3Gi", Fraction(3 * 2**30), "3Gi"),
    ("1048576Ki", Fraction(2**30), "1Gi"),
    ("1.5Gi", Fraction(3 * 2**29), "1536Mi"),
    ("1.5Ki", Fraction(1536), "1536"),
    ("0.5Ki", Fraction(512), "512"),
    ("0.9765625Ki", Fraction(1000), "1k"),
    ("0.0001Ki", Fraction(1024, 10**4), "102400u"),
    ("1024.5Ki", Fraction(1049088), "1049088"),
    ("1.0001Ki", Fraction(10241024, 10**4), "1024102400u"),
    ("-2048Ki", Fraction(-(2**21)), "-2Mi"),
    ("7Ei", Fraction(7 * 2**60), "7Ei"),
    (1, Fraction(1), "1"),
    (2500, Fraction(2500), "2500"),
    (-4, Fraction(-4), "-4"),
    (Decimal("0.5"), Fraction(1, 2), "500m"),
    (Decimal("1E+3"), Fraction(1000), "1e3"),
    (0.1, Fraction(1, 10), "100m"),
]


@pytest.mark.parametrize(("text", "want_value", "want_text"), FORMS)
def test_every_form_is_read_exactly_and_printed_as_kubernetes_prints_it(
    text: Any, want_value: Any, want_text: Any
) -> None:
    quantity = Quantity.parse(text)
    assert Fraction(quantity.nano, 10**9) == want_value
    assert str(quantity) == want_text


@pytest.mark.parametrize(
    ("text", "want_nano"),
    [("0.1n", 1), ("1.1n", 2), ("-0.1n", -1), ("1e-30", 1), ("1e-999999999", 1), ("0.3m", 300000)],
)
def test_what_is_finer_than_a_billionth_is_rounded_away_from_zero(text: Any, want_nano: Any) -> None:
    assert Quantity.parse(text).nano == want_nano


@pytest.mark.parametrize(
    ("name", "text", "want"),
    [
        ("cpu", "1", 1000),
        ("cpu", "0.5", 500),
        ("cpu", "1u", 1),
        ("cpu", "1500100u", 1501),
        ("memory", "1", 1),
        ("memory", "1500m", 2),
        ("memory", "0.1", 1),
        ("memory", "3Gi", 3 * 2**30),
        ("nvidia.com/gpu", "8", 8),
        ("nvidia.com/gpu", "100m", 1),
        ("memory", str(MAX_AMOUNT), MAX_AMOUNT),
        ("cpu", f"{MAX_AMOUNT}m", MAX_AMOUNT),
        ("cpu", Decimal("0.25"), 250),
        ("cpu", 2, 2000),
    ],
)
def test_amounts_are_rounded_up_to_thousandths_of_cpu_and_units_of_all_else(name: Any, text: Any, want: Any) -> None:
    assert amount(name, text) == want


MALFORMED: list[Any] = [
    "", " ", ".", "-", "+", "m", "Gi", "1 Gi", " 1", "1 ", "1\n", "--1", "+-1", "1.2.3", "1,5", "1_000", "0x10", "1e",
    "1e+", "1e1.5", "1e3m", "1ki", "1K", "1gi", "1GI", "1Mib", "1mm", "1g", "1Zi", "NaN", "inf", "1e3e3", "1" * 129,
    "١", True, None, [], {}, b"1", Decimal("NaN"), Decimal("Infinity"), float("inf"),
]  # fmt: skip


@pytest.mark.parametrize("text", MALFORMED, ids=repr)
def test_what_is_no_quantity_is_refused_with_examples_of_what_is(text: Any) -> None:
    with pytest.raises(
        QuantityError, match=r"^not a quantity; a number with an optional suffix, such as 500m"
    ) as caught:
        Quantity.parse(text)
    assert caught.value.found is text or caught.value.found == str(text)


@pytest.mark.parametrize(
    "text", ["1e24", "1e999999999", "1e99999999999999999999", "1" + "0" * 24, "9" * 120, "1000000E", "-1e24"]
)
def test_a_quantity_beyond_counting_is_refused_before_it_is_multiplied_out(text: Any) -> None:
    with pytest.raises(QuantityError, match=r"^too large; less than 1e24$"):
        Quantity.parse(text)


@pytest.mark.parametrize(
    ("name", "text", "want"),
    [
        ("memory", "-1", "negative; zero or more"),
        ("memory", "-0.5", "negative; zero or more"),
        ("cpu", "-1n", "negative; zero or more"),
        ("cpu", -2, "negative; zero or more"),
        ("memory", str(MAX_AMOUNT + 1), "too large; at most 9223372036854775807"),
        ("memory", "8Ei", "too large; at most 9223372036854775807"),
        ("cpu", "10P", "too large; at most 9223372036854775807m"),
    ],
)
def test_an_amount_that_no_ledger_could_count_is_refused(name: Any, text: Any, want: Any) -> None:
    with pytest.raises(QuantityError) as caught:
        Resources.parse({"pods": 1, name: text})
    assert str(caught.value) == want
    assert caught.value.key == name


@pytest.mark.parametrize("manifest", [None, [], "cpu=1", 3])
def test_resources_are_a_map(manifest: Any) -> None:
    with pytest.raises(QuantityError, match=r"^not a map of quantities"):
        Resources.parse(manifest)


@pytest.mark.parametrize("value", [True, [], {}, "a lot"])
def test_a_bad_value_names_its_resource_even_after_an_equal_number_was_read(value: Any) -> None:
    assert Resources.parse({"cpu": 1}) == Resources({"cpu": 1000})
    with pytest.raises(QuantityError) as caught:
        Resources.parse({"cpu": value})
    assert (caught.value.key, caught.value.problem) == ("cpu", "not a quantity")


def test_resources_are_printed_in_canonical_form_and_null_counts_as_absent() -> None:
    read = Resources.parse({"memory": "2048Mi", "cpu": "1.50", "hugepages-2Mi": "4096Ki", "gpu": 2000, "x": None})
    assert read.to_manifest() == {"cpu": "1500m", "gpu": "2k", "hugepages-2Mi": "4Mi", "memory": "2Gi"}
    assert repr(read) == "Resources(cpu=1500m, gpu=2k, hugepages-2Mi=4Mi, memory=2Gi)"


def test_resources_compare_resource_by_resource() -> None:
    small, wide = Resources({"cpu": 1}), Resources({"cpu": 1, "gpu": 1})
    other = Resources({"memory": 1})
    assert small <= wide
    assert wide >= small
    assert not wide <= small
    assert not small <= other
    assert not other <= small
    assert Resources({"cpu": -1}) <= NOTHING
    assert not Resources({"cpu": -1}) >= NOTHING
    assert wide * 3 == Resources({"cpu": 3, "gpu": 3})
    assert (small - wide).positive() == NOTHING
    assert wide.of("tpu") == 0
