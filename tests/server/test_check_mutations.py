"""One source for both, over spoiled objects of every kind in every version.

1. `check` calls an error what the server refuses, and nothing else.
2. They name the same fields. Only where the server cannot go on does it name the first alone: an object that no path
   can be found for, a namespace that is not there, and a pod whose priority is not that of its class, as in Kubernetes.
3. The server warns of the unknown fields that `check` warns of, in what it accepts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import httpx
import msgspec
import pytest

from reprieve.manifests.admission import admit_all
from reprieve.manifests.identity import LoadedObject
from reprieve.manifests.kinds import resource_of
from reprieve.manifests.loading import load_objects, load_text
from reprieve.manifests.problems import Problem
from reprieve.stores.api.paths import path_of
from tests.generators.mutations import Data, seeds, spoiled
from tests.server.test_check_agrees import client, of_controllers

MANY = int(os.environ.get("MUTATIONS", "600"))
AT_ONCE = 100
NEIGHBOURS = ("PriorityClass", "WorkloadPriorityClass", "ResourceFlavor")
_UNKNOWN = re.compile(r'unknown field "((?:[^"\[]|\["[^"]*"\]|\[\d+\])*)"')
_ENCODE = msgspec.json.Encoder(decimal_format="number").encode


class Answer(NamedTuple):
    """What is refused, by field; `stopped`: at the first of them. Fields of which there was a warning."""

    fields: set[str]
    stopped: bool = False
    unknown: frozenset[str] = frozenset()


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[httpx.Client, list[LoadedObject]]]:
    """A server with the classes and flavors that objects name, and these as `check` would be given them."""
    with client() as http:
        there: list[Data] = []
        for (_, kind), models in seeds().items():
            usable = [each for each in models if kind in NEIGHBOURS and not each.get("globalDefault")]
            there += [each for each in usable if _post(http, each).status_code == 201]
        for name in sorted({each["metadata"].get("namespace", "") for models in seeds().values() for each in models}):
            _post(http, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        http.params = {"dryRun": "All"}
        yield http, load_objects(there).entries


def _post(http: httpx.Client, data: Data) -> httpx.Response:
    resource = resource_of(data["apiVersion"], data["kind"])
    assert resource is not None
    metadata = data.get("metadata")
    space = metadata.get("namespace") if isinstance(metadata, dict) else None
    place = (space if isinstance(space, str) and space else "default") if resource.namespaced else ""
    path = path_of(resource, place, version=data["apiVersion"].rpartition("/")[2])
    return http.post(path, content=_ENCODE(data), headers={"Content-Type": "application/json"})


def sent(http: httpx.Client, data: Data) -> Answer:
    answer = _post(http, data)
    assert answer.status_code < 500, answer.text
    warned = frozenset(_UNKNOWN.findall(answer.headers.get("warning", "").replace('\\"', '"')))
    if answer.status_code < 400:
        return Answer(set(), unknown=warned)
    causes = answer.json().get("details", {}).get("causes") or []
    return Answer({cause["field"] for cause in causes}, stopped=answer.status_code != 422)


def checked(data: Data, there: list[LoadedObject]) -> list[Problem]:
    loaded = load_text(_ENCODE(data), name="x.json")
    found = [*loaded.problems, *admit_all(loaded.entries, there, new=True)]
    return [problem for problem in found if not of_controllers(problem)]


def field_of(problem: Problem) -> str:
    return problem.field.removeprefix("$").removeprefix(".")


@pytest.mark.parametrize("first", range(0, MANY, AT_ONCE))
def test_check_and_the_server_refuse_the_same(first: int, server: tuple[httpx.Client, list[LoadedObject]]) -> None:
    for seed in range(first, first + AT_ONCE):
        data = spoiled(seed)
        answer, found = sent(server[0], data), checked(data, server[1])
        errors = {field_of(problem) for problem in found if problem.severity == "error"}
        told: Any = (seed, data, answer, [str(problem) for problem in found])
        if answer.stopped:
            assert answer.fields <= errors, told
            assert errors or _nowhere(data), told
        else:
            assert answer.fields == errors, told
        if not errors and not answer.stopped:
            assert answer.unknown == {field_of(each) for each in found if each.stage == "strict"}, told


def _nowhere(data: Data) -> bool:
    """Whether it is in a namespace that is not there: the one thing that files do not tell."""
    names = {each["metadata"].get("namespace", "default") for models in seeds().values() for each in models}
    return (data.get("metadata") or {}).get("namespace") not in (None, "", *names)
