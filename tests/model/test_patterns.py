"""Expressions of others: they find what `re` finds, and no expression takes long."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reprieve.model.patterns import BadPattern, Pattern

_ATOMS = st.sampled_from(
    ["a", "b", "_", r"\.", ".", "[ab]", "[^a]", "[a-c_]", r"\d", r"\W", "^", "$", r"\b", "(?i:A)", r"\B"]
)


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    repeated = st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{0,2}?", "*?", "{2,}"]))
    return st.one_of(
        st.lists(inner, max_size=3).map("".join),
        st.tuples(inner, inner).map(lambda both: f"(?:{both[0]}|{both[1]})"),
        repeated.map(lambda both: f"(?:{both[0]}){both[1]}"),
    )


@given(st.recursive(_ATOMS, _larger, max_leaves=8), st.text("abcA_1. ", max_size=8))
def test_it_finds_what_re_finds(text: str, name: str) -> None:
    assert Pattern(text).found_in(name) == (re.search(text, name) is not None)


_SLOW = ("^(a+)+$", "^(a|a)*$", "(a*)*b$", "^" + "a*" * 100 + "$", "(.*.*.*)*x", "^(a?){60}a{60}$")
_REFUSED = (
    *("(", "a{100000}", "(a{100}){100}", "(" * 900, "a" * 1_001),
    *(r"(a)\1", "(?=a)", "(?<!a)b"),
)


@pytest.mark.parametrize("text", _SLOW)
def test_no_expression_takes_long(text: str) -> None:
    began = time.process_time()
    Pattern(text).found_in("a" * 62 + "-")
    assert time.process_time() - began < 1.0


@pytest.mark.parametrize("text", _REFUSED)
def test_what_is_refused(text: str) -> None:
    with pytest.raises(BadPattern):
        Pattern(text)


def test_nobody_has_so_long_a_name() -> None:
    assert not Pattern("a").found_in("a" * 1_001)
