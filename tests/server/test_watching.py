"""Watching over HTTP: what comes first, what a selector makes of it, and how it ends."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from reprieve.server import watching
from tests.server.planes import PATIENCE, Running, pod, running

PODS = "/api/v1/namespaces/default/pods"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


class Lines:
    """The events of one watch, one by one."""

    def __init__(self, response: httpx.Response) -> None:
        self._lines = response.iter_lines()

    def next(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(next(self._lines))
        return found

    def brief(self, count: int) -> list[tuple[str, str]]:
        return [(each["type"], each["object"]["metadata"]["name"]) for each in (self.next() for _ in range(count))]

    def ended(self) -> bool:
        return next(self._lines, None) is None


@contextmanager
def watch(http: httpx.Client, query: str = "", path: str = PODS, accept: str = "*/*") -> Iterator[Lines]:
    with http.stream("GET", f"{path}?watch=1&{query}", headers={"accept": accept}) as response:
        assert response.status_code == 200, response.read()
        yield Lines(response)


def _create(http: httpx.Client, name: str, **labels: str) -> dict[str, Any]:
    made: dict[str, Any] = http.post(PODS, json=pod(name, labels=labels or None)).json()
    return made


def _label(http: httpx.Client, name: str, **labels: str | None) -> None:
    patch = {"metadata": {"labels": labels}}
    headers = {"content-type": "application/merge-patch+json"}
    http.patch(f"{PODS}/{name}", content=json.dumps(patch), headers=headers).raise_for_status()


def _version_of(data: dict[str, Any]) -> str:
    return str(data["metadata"]["resourceVersion"])


def _version(http: httpx.Client) -> str:
    return str(http.get(PODS).json()["metadata"]["resourceVersion"])


@pytest.mark.parametrize("query", ["", "resourceVersion=0", "resourceVersion="])
def test_without_a_version_what_is_there_comes_first(http: httpx.Client, query: str) -> None:
    _create(http, "a")
    with watch(http, query) as lines:
        assert lines.brief(1) == [("ADDED", "a")]
        _create(http, "b")
        assert lines.brief(1) == [("ADDED", "b")]


def test_from_a_version_only_what_came_after_it(http: httpx.Client) -> None:
    _create(http, "a")
    version = _version(http)
    _create(http, "b")
    http.delete(f"{PODS}/a")
    with watch(http, f"resourceVersion={version}") as lines:
        assert lines.brief(2) == [("ADDED", "b"), ("DELETED", "a")]


def test_a_selector_makes_entering_an_addition_and_leaving_a_deletion(http: httpx.Client) -> None:
    _create(http, "in", tier="x")
    _create(http, "out", tier="y")
    with watch(http, "labelSelector=tier%3Dx") as lines:
        assert lines.brief(1) == [("ADDED", "in")]
        _label(http, "out", tier="x")
        _label(http, "in", tier="z")
        _label(http, "in", note="unseen")
        _label(http, "out", note="seen")
        http.delete(f"{PODS}/in")
        http.delete(f"{PODS}/out")
        assert lines.brief(4) == [("ADDED", "out"), ("DELETED", "in"), ("MODIFIED", "out"), ("DELETED", "out")]


def test_a_selector_from_an_old_version_misses_no_deletion(http: httpx.Client) -> None:
    _create(http, "leaves", tier="x")
    _create(http, "stays", tier="x")
    version = _version(http)
    _label(http, "leaves", tier="y")
    _create(http, "comes", tier="y")
    _label(http, "comes", tier="x")
    with watch(http, f"resourceVersion={version}&labelSelector=tier%3Dx") as lines:
        assert lines.brief(2) == [("DELETED", "leaves"), ("ADDED", "comes")]
        _label(http, "stays", note="seen")
        assert lines.brief(1) == [("MODIFIED", "stays")]


def test_a_field_selector_follows_one_object(http: httpx.Client) -> None:
    _create(http, "a")
    _create(http, "b")
    with watch(http, "fieldSelector=metadata.name%3Db") as lines:
        assert lines.brief(1) == [("ADDED", "b")]
        _label(http, "a", note="unseen")
        _label(http, "b", note="seen")
        assert lines.brief(1) == [("MODIFIED", "b")]
    with watch(http, path=f"{PODS}/a") as lines:
        assert lines.brief(1) == [("ADDED", "a")]


def test_a_watch_ends_when_its_time_is_up(http: httpx.Client) -> None:
    with watch(http, "timeoutSeconds=1") as lines:
        assert lines.ended()


def test_bookmarks_say_how_far_one_has_come(http: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "BOOKMARK_EVERY", 0.05)
    _create(http, "a")
    with watch(http, "allowWatchBookmarks=true") as lines:
        assert lines.brief(1) == [("ADDED", "a")]
        other = http.post("/api/v1/namespaces", json={"metadata": {"name": "other"}}).json()
        marks = iter(lines.next, None)
        mark = next(each for each in marks if each["object"]["metadata"]["resourceVersion"] == _version_of(other))
    assert mark["type"] == "BOOKMARK"
    assert mark["object"]["kind"] == "Pod"


def test_a_store_that_does_not_tell_its_version_is_marked_by_what_was_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "BOOKMARK_EVERY", 0.05)
    with running(only_protocol=True) as server, httpx.Client(base_url=server.url, timeout=PATIENCE) as http:
        seen = _create(http, "a")
        with watch(http, "allowWatchBookmarks=true") as lines:
            assert lines.brief(1) == [("ADDED", "a")]
            http.post("/api/v1/namespaces", json={"metadata": {"name": "other"}}).raise_for_status()
            mark = lines.next()
    assert (mark["type"], mark["object"]["metadata"]["resourceVersion"]) == ("BOOKMARK", _version_of(seen))


def test_initial_events_end_with_a_mark(http: httpx.Client) -> None:
    _create(http, "a")
    with watch(http, "sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan") as lines:
        assert lines.brief(1) == [("ADDED", "a")]
        assert lines.next()["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_a_version_that_is_too_old_is_expired() -> None:
    with running(keep=10) as server, httpx.Client(base_url=server.url) as http:
        version = _version(http)
        for number in range(30):
            _create(http, f"p{number}")
        answer = http.get(f"{PODS}?watch=1&resourceVersion={version}")
        assert (answer.status_code, answer.json()["reason"]) == (410, "Expired")


def test_tables_can_be_watched(http: httpx.Client) -> None:
    _create(http, "a")
    with watch(http, accept=TABLE) as lines:
        first = lines.next()["object"]
        assert [column["name"] for column in first["columnDefinitions"]][:3] == ["Name", "Ready", "Status"]
        assert first["rows"][0]["cells"][0] == "a"
        _create(http, "b")
        second = lines.next()["object"]
        assert (second["kind"], second["columnDefinitions"]) == ("Table", None)
        assert second["rows"][0]["object"]["metadata"]["name"] == "b"


def test_a_store_that_closes_ends_the_watch_with_an_error(server: Running, http: httpx.Client) -> None:
    with watch(http) as lines:

        async def close() -> None:
            server.plane.opened.close()

        server.do(close())
        told = lines.next()
        assert (told["type"], told["object"]["code"]) == ("ERROR", 503)
        assert lines.ended()


def test_stopping_the_server_ends_watches_and_logs() -> None:
    with running() as server, httpx.Client(base_url=server.url) as http:
        _create(http, "a")
        server.plane.written["default", "a", "main"] = [b"one\n"]
        with watch(http) as lines, http.stream("GET", f"{PODS}/a/log?follow=true") as log:
            assert lines.brief(1) == [("ADDED", "a")]
            written = log.iter_text()
            assert next(written) == "one\n"
            server.do(server.serving.stop())
            assert lines.ended()
            assert list(written) == []


def test_a_client_that_leaves_leaves_nothing_behind(server: Running) -> None:
    async def tasks() -> int:
        return len(asyncio.all_tasks())

    async def until(count: int) -> None:
        while len(asyncio.all_tasks()) > count + 1:
            await asyncio.sleep(0.01)

    before = server.do(tasks())
    with httpx.Client(base_url=server.url) as http:
        _create(http, "a")
        with watch(http) as lines:
            assert lines.brief(1) == [("ADDED", "a")]
            assert server.do(tasks()) > before
    server.do(asyncio.wait_for(until(before), PATIENCE))
