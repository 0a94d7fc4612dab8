"""YAML as Kubernetes reads it: what an unquoted word means, where documents begin, and which of them is broken."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from reprieve.manifests.yaml_reader import SyntaxProblem, read_yaml


def read(text: str) -> list[Any]:
    return list(read_yaml(text))


def one(text: str) -> Any:
    (document,) = read(text)
    return document


SCALARS: list[tuple[str, Any]] = [
    # times stay text, and so does what YAML 1.1 took for a number in base 60
    ("2026-01-01T12:00:00Z", "2026-01-01T12:00:00Z"),
    ("2026-01-01", "2026-01-01"),
    ("12:30", "12:30"),
    ("190:20:30", "190:20:30"),
    # numbers are exact
    ("0", 0),
    ("-7", -7),
    ("+7", 7),
    ("1_000", 1000),
    ("0x1F", 31),
    ("0o17", 15),
    ("017", 15),
    ("-017", -15),
    ("0b101", 5),
    ("08", Decimal(8)),
    ("0.5", Decimal("0.5")),
    ("0.1", Decimal("0.1")),
    (".5", Decimal("0.5")),
    ("5.", Decimal(5)),
    ("1e3", Decimal(1000)),
    ("-1.5E-3", Decimal("-0.0015")),
    ("9223372036854775808", 2**63),
    # what only begins like a number is text
    ("500m", "500m"),
    ("1.2.3", "1.2.3"),
    ("0x", "0x"),
    ("0x_", "0x_"),
    ("0b_", "0b_"),
    ("0o_", "0o_"),
    ("1e", "1e"),
    (".", "."),
    ("-.inf", "-.inf"),
    ("1e9999999999999999999999", "1e9999999999999999999999"),
    # booleans, in words; a single letter is a name more often than an answer
    ("true", True),
    ("False", False),
    ("yes", True),
    ("NO", False),
    ("on", True),
    ("Off", False),
    ("y", "y"),
    ("N", "N"),
    ("yEs", "yEs"),
    # nothing
    ("", None),
    ("~", None),
    ("null", None),
    ("NULL", None),
    ("nUll", "nUll"),
    # quotes and the tag !!str make text of anything
    ('"0.5"', "0.5"),
    ("'yes'", "yes"),
    ('"~"', "~"),
    ('""', ""),
    ("!!str 12", "12"),
    ('"a\\u00e9\\n"', "aé\n"),
    # the rest is text
    ("reclaim from any", "reclaim from any"),
    ("a # b", "a"),
    ("a#b", "a#b"),
    ("http://x", "http://x"),
]


@pytest.mark.parametrize(("text", "want"), SCALARS)
def test_a_scalar_means_what_it_means_to_kubernetes(text: Any, want: Any) -> None:
    found = one(f"a: {text}\n")["a"]
    assert (found, type(found)) == (want, type(want))


DOCUMENTS: list[tuple[str, str, list[Any]]] = [
    ("an empty file has none", "", []),
    ("nor has one of blanks", "\n  \n", []),
    ("nor has one of comments", "# nothing\n# here\n", []),
    ("a header of comments is no document", "# licence: 50% mine\n---\na: 1\n", [{"a": 1}]),
    ("a first marker is optional", "a: 1\n---\nb: 2\n", [{"a": 1}, {"b": 2}]),
    ("a document of comments is empty", "a: 1\n---\n# later\n---\nb: 2\n", [{"a": 1}, None, {"b": 2}]),
    ("so is one of nothing", "---\n---\na: 1\n", [None, {"a": 1}]),
    ("and one after a last marker", "a: 1\n---\n", [{"a": 1}, None]),
    ("an end is not a beginning", "a: 1\n...\n", [{"a": 1}]),
    ("an end before a beginning is no document", "a: 1\n...\n# now\n---\nb: 2\n", [{"a": 1}, {"b": 2}]),
    ("after an end no marker is needed", "a: 1\n...\nb: 2\n", [{"a": 1}, {"b": 2}]),
    ("directives belong to what follows", "%YAML 1.1\n---\na: 1\n---\nb: 2\n", [{"a": 1}, {"b": 2}]),
    ("also in the middle", "a: 1\n...\n# c\n%YAML 1.1\n---\nb: 2\n", [{"a": 1}, {"b": 2}]),
    ("a comment may follow a marker", "--- # first\na: 1\n", [{"a": 1}]),
    ("content may follow a marker", "--- {a: 1}\n--- [b]\n", [{"a": 1}, ["b"]]),
    ("windows ends lines its own way", "a: 1\r\n---\r\nb: |\r\n  x\r\n  y\r\n", [{"a": 1}, {"b": "x\ny\n"}]),
    ("a byte order mark is no content", "\ufeff---\na: 1\n", [{"a": 1}]),
    ("an indented marker is text", "a: |\n  ---\n  ...\n  b\nc: 1\n", [{"a": "---\n...\nb\n", "c": 1}]),
    ("a marker needs space after it", "---a: 1\n", [{"---a": 1}]),
    ("and no other space than a blank", "---\xa0a: 1\n", [{"---\xa0a": 1}]),
    ("a space that is no blank is content", "\xa0: 1\n", [{"\xa0": 1}]),
    ("folded text is one line", "a: >-\n  b\n  c\n", [{"a": "b c"}]),
    ("JSON is YAML", '{"a": [1, "x", null]}\n', [{"a": [1, "x", None]}]),
    ("keys are text", "1: a\nyes: b\n0x10: c\n", [{"1": "a", "yes": "b", "0x10": "c"}]),
]


@pytest.mark.parametrize(("text", "want"), [pytest.param(text, want, id=name) for name, text, want in DOCUMENTS])
def test_documents(text: Any, want: Any) -> None:
    assert read(text) == want


def test_anchors_and_merge_keys_are_unfolded() -> None:
    text = """
base: &base {cpu: 1, memory: 1Gi}
more: &more {gpu: 8, cpu: 4}
again: *base
own: {<<: *base, cpu: 2}
both: {<<: [*base, *more]}
quoted: {"<<": text}
"""
    document = one(text)
    assert document["again"] == {"cpu": 1, "memory": "1Gi"}
    assert document["own"] == {"cpu": 2, "memory": "1Gi"}
    assert document["both"] == {"cpu": 1, "memory": "1Gi", "gpu": 8}
    assert document["quoted"] == {"<<": "text"}


REFUSED: list[tuple[str, int, str]] = [
    ("a: 1\nb: 2\na: 3\n", 3, 'the key "a" is named twice'),
    ("a: *b\n", 1, "*b is no known anchor"),
    ("\na: &a\n  b: *a\n", 3, "*a refers to itself"),
    ("? [a]\n: b\n", 1, "a key must be text"),
    ("a: {<<: 3}\n", 1, "<< merges objects only"),
    ("a: !!python/object:os.system x\n", 1, "the tag tag:yaml.org,2002:python/object:os.system means nothing here"),
    ("a: " + "[" * 300 + "]" * 300, 1, "nested more than 200 levels deep"),
    ("a: b: c\n", 1, "not YAML: mapping values are not allowed"),
    ("a: 1\n\tb: 2\n", 2, "not YAML: while scanning"),
    ("a: \x01\n", 1, "not YAML: "),
    ("%YAML 1.1\n", 2, "not YAML: "),
    ("{a: 1}\n{b: 2}\n", 2, "not YAML: "),
]


@pytest.mark.parametrize(("text", "want_line", "want_message"), REFUSED)
def test_what_is_no_yaml_is_refused_with_its_line(text: Any, want_line: Any, want_message: Any) -> None:
    problem = one(text)
    assert isinstance(problem, SyntaxProblem)
    assert problem.message.startswith(want_message)
    assert "\n" not in problem.message
    assert problem.line == want_line


def test_aliases_that_unfold_to_billions_are_refused_at_once() -> None:
    layers = [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, 12)]
    problem = one("\n".join(["a0: &a0 [x]", *layers]))
    assert problem.message == "its aliases unfold to more than five million values"


@pytest.mark.parametrize("broken", ["b: [", 'b: "', "b: {c: }}", "b: 1\n b: 2", "b: *c", "- a\nb: 1"])
def test_one_broken_document_hides_no_other_and_lines_count_from_the_top_of_the_file(broken: Any) -> None:
    first, problem, last, final = read(f"# top\na: 1\n---\n{broken}\n---\nc: 3\n---\nd: [*e]\n")
    assert (first, last) == ({"a": 1}, {"c": 3})
    assert isinstance(problem, SyntaxProblem)
    assert 4 <= (problem.line or 0) <= 6
    assert final == SyntaxProblem("*e is no known anchor", 8 + broken.count("\n"))


# PyYAML writes these words without quotes, though Kubernetes takes them for numbers.
AMBIGUOUS = re.compile(r"[-+]?[0-9._]+([eE][-+]?[0-9]+)?|[-+]?0o[0-7_]+")
ALPHABET = st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"], exclude_characters="\ufeff")
words = st.text(ALPHABET, max_size=8)
texts = words.filter(lambda text: not AMBIGUOUS.fullmatch(text))
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)
data = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=6
)


documents = st.dictionaries(texts, data, min_size=1, max_size=3)


def as_floats(value: Any) -> Any:
    """The same data with floats for decimals, so that it compares with what was written."""
    if isinstance(value, dict):
        return {key: as_floats(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_floats(item) for item in value]
    return float(value) if isinstance(value, Decimal) else value


@given(documents)
def test_what_pyyaml_writes_is_read_back(document: Any) -> None:
    assert as_floats(one(yaml.safe_dump(document, allow_unicode=True))) == document
    assert as_floats(one(yaml.safe_dump(document, default_flow_style=True))) == document


@given(documents)
def test_json_is_read_as_the_yaml_that_it_is(document: Any) -> None:
    assert as_floats(one(json.dumps(document, ensure_ascii=False))) == document
    assert as_floats(one(json.dumps(document, ensure_ascii=False, indent=2))) == document


@given(st.lists(documents, min_size=1, max_size=3))
def test_many_documents_are_read_in_order(written: Any) -> None:
    text = yaml.safe_dump_all(written, explicit_start=True, explicit_end=True)
    assert [as_floats(document) for document in read(text)] == written
