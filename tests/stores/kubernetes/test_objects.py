"""Bytes of an API server become records: exactly what it sent, but for what field managers remember."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reprieve.manifests.kinds import PODS
from reprieve.stores.kubernetes.objects import CHANGES, kind_in, lines, number, page_of, record, version_in

_NAMED = b'{"name":"a","namespace":"lab","uid":"u","resourceVersion":"12","managedFields":[{"manager":"x"}]}'
_EXACT = [
    b"1e400",
    b"0.1000000000000000055511151231257827",
    b"123456789012345678901234567890",
    b"-0",
    b"1.0",
    '"\N{SNOWMAN} é 한 \\ud83d\\ude00 \N{ROCKET}"'.encode(),
    b'"\\u0000\\u2028</script>\\/"',
    b'{"b":1,"a":{"b":null,"a":[]},"":"","deep":[[[[{}]]]]}',
    b"null",
]


@pytest.mark.parametrize("value", _EXACT)
def test_what_is_in_an_object_is_not_touched(value: bytes) -> None:
    body = b'{"kind":"Pod","apiVersion":"v1","metadata":%s,"spec":{"x":%s},"more":%s}' % (_NAMED, value, value)
    found = record(PODS, "v1", body)
    assert found.raw.count(value) == 2
    assert (found.namespace, found.name, found.uid, found.version) == ("lab", "a", "u", 12)


def test_annotations_stay_as_they_are_and_managed_fields_go() -> None:
    meta = b'{"name":"a","annotations":{"x":"\\u00e9 \xc3\xa9","n":"1e5"},"managedFields":[{"fieldsV1":{"f:x":{}}}]}'
    raw = record(PODS, "v1", b'{"metadata":%s}' % meta).raw
    assert b"managedFields" not in raw
    assert b'"annotations":{"x":"\\u00e9 \xc3\xa9","n":"1e5"}' in raw


def test_items_of_lists_say_what_they_are() -> None:
    body = b'{"kind":"PodList","metadata":{"resourceVersion":"99","continue":"next"},"items":[{"metadata":%s}]}'
    page = page_of(PODS, "v1", body % _NAMED)
    assert (page.version, page.more) == (99, "next")
    assert json.loads(page.records[0].raw)["kind"] == "Pod"
    assert json.loads(page.records[0].raw)["apiVersion"] == "v1"


@pytest.mark.parametrize("items", [b"null", b"[]"])
def test_an_empty_list(items: bytes) -> None:
    assert page_of(PODS, "v1", b'{"metadata":{"resourceVersion":"3"},"items":%s}' % items) == ([], 3, "")


def test_a_bookmark_tells_a_version() -> None:
    line = b'{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"77","creationTimestamp":null}}}'
    assert version_in(CHANGES.decode(line).object) == 77
    assert version_in(CHANGES.decode(b'{"type":"BOOKMARK","object":{}}').object) == 0


def test_what_an_answer_is() -> None:
    assert kind_in(b'{"kind":"Status","metadata":{}}') == "Status"
    assert kind_in(b"{}") == ""


@pytest.mark.parametrize(("text", "version"), [("12", 12), ("", 0), ("x1", 0), ("-3", 0)])
def test_versions_are_numbers(text: str, version: int) -> None:
    assert number(text) == version


@given(st.lists(st.binary(max_size=20).map(lambda line: line.replace(b"\n", b""))), st.randoms())
def test_lines_are_whole_however_they_arrive(told: list[bytes], random: object) -> None:
    stream, rest, found = b"".join(line + b"\n" for line in told) + b"begun", b"", list[bytes]()
    while stream:
        size = random.randint(1, 9)  # type: ignore[attr-defined]
        whole, rest = lines([stream[:size]], rest)
        found += whole
        stream = stream[size:]
    assert found == [line for line in told if line]
    assert rest == b"begun"
