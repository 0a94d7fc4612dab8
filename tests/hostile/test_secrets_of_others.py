"""Explanations do not leak: who makes way for somebody of another namespace learns its priority, and not its name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli.running import Running, until
from tests.hostile.people import ADMIN_OBJECTS, Person, join, pod

BIG = {"requests": {"cpu": "3"}}
SECRETS = {"alice": ("bob", "merger-of-b"), "bob": ("alice", "layoffs-of-a")}
"""What each of them must never read."""


def large(name: str, priority_class: str) -> dict[str, Any]:
    made = pod(name, priorityClassName=priority_class, terminationGracePeriodSeconds=0)
    made["spec"]["containers"][0]["resources"] = BIG
    return made


@pytest.fixture(scope="module")
def people(plane: Running) -> Iterator[dict[str, Person]]:
    """Both nodes are full of bob's, and alice takes one of them."""
    plane.ok("apply", "-f", "-", stdin=ADMIN_OBJECTS)
    options = ("--role", "submit", "--max-priority", "10000", "--namespace")
    with join(plane, *options, "alice") as alice, join(plane, *options, "bob") as bob:
        for name in ("merger-of-b-1", "merger-of-b-2", "merger-of-b-3"):
            assert bob.create("bob", large(name, "usual")).status_code == 201
        until(lambda: sum("nodeName" in each["spec"] for each in of(bob, "bob")) == 2)
        for name in ("layoffs-of-a-1", "layoffs-of-a-2", "layoffs-of-a-3"):
            assert alice.create("alice", large(name, "urgent")).status_code == 201
        until(lambda: sum("nodeName" in each["spec"] for each in of(alice, "alice")) == 2)
        until(lambda: len(of(bob, "bob")) == 1)
        yield {"alice": alice, "bob": bob}


def of(person: Person, namespace: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = person.get(f"/api/v1/namespaces/{namespace}/pods").json()["items"]
    return found


def answers(person: Person, own: str, prefix: str) -> Iterator[tuple[str, str]]:
    """All that can be asked about one's own."""
    names = [f"{prefix}-{number}" for number in (1, 2, 3)]
    paths = [f"/{word}/Pod/{own}/{name}" for word in ("explain", "story", "attempts") for name in names]
    paths += [f"/decisions?unit=Pod/{own}/{name}" for name in names]
    paths += [f"/decisions/{number}" for number in range(1, 40)]
    paths += ["/decisions?limit=1000", "/plan", *(f"/plan?for=Pod/{own}/{name}" for name in names)]
    paths += [f"/units?name={prefix}-1" for prefix in ("merger-of-b", "layoffs-of-a")]
    paths += [f"/api/v1/namespaces/{own}/{plural}" for plural in ("pods", "events")]
    paths += [f"/api/v1/namespaces/{own}/{plural}?watch=true&timeoutSeconds=1" for plural in ("pods", "events")]
    paths += ["/api/v1/nodes", "/apis/scheduling.k8s.io/v1/priorityclasses"]
    for path in paths:
        yield path, person.get(path).text
    table = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    for plural in ("pods", "events"):
        yield plural, person.get(f"/api/v1/namespaces/{own}/{plural}?includeObject=Object", headers=table).text


@pytest.mark.parametrize(("own", "prefix"), [("alice", "layoffs-of-a"), ("bob", "merger-of-b")])
def test_nothing_names_others(people: dict[str, Person], own: str, prefix: str) -> None:
    _, secret = SECRETS[own]
    for path, text in answers(people[own], own, prefix):
        assert secret not in text.replace(path, ""), (path, text[:2000])


def test_who_made_way_is_told_for_which_priority(people: dict[str, Person]) -> None:
    bob = people["bob"]
    events = [item["message"] for item in bob.get("/api/v1/namespaces/bob/events").json()["items"]]
    assert any(
        message.startswith("Preempted by a pod in another namespace, priority 5000 on hollow-")
        and "priority 100 is below 5000" in message
        for message in events
    ), events
    gone = next(n for n in (1, 2, 3) if bob.get(f"/api/v1/namespaces/bob/pods/merger-of-b-{n}").status_code == 404)
    told = bob.get(f"/explain/Pod/bob/merger-of-b-{gone}").json()
    assert told["preempted"]["preemptor"] == "a pod in another namespace, priority 5000"


def test_who_waits_is_told_who_would_have_to_go_without_names(people: dict[str, Person]) -> None:
    alice = people["alice"]
    raised = large("layoffs-of-a-9", "urgent")
    raised["metadata"]["namespace"] = "alice"
    asked = {"manifests": [raised], "for": "Pod/alice/layoffs-of-a-9"}
    (decision,) = alice.post("/plan", json=asked).json()["decisions"]
    assert decision["preemptor"] == "Pod/alice/layoffs-of-a-9"
    cycle = alice.post("/plan", json={}).json()
    assert {each["preemptor"].split("/")[1] for each in cycle["decisions"]} == {"alice"}


def test_the_owner_reads_it_all(plane: Running, people: dict[str, Person]) -> None:
    assert people
    with plane.http() as owner:
        events = owner.get("/api/v1/namespaces/bob/events").text
    assert "Preempted by Pod/alice/layoffs-of-a-" in events


def test_what_is_hidden_is_not_lost_when_it_is_written_back(plane: Running, people: dict[str, Person]) -> None:
    """What the control plane has noted on a pod names others. It is shown without names, and stays as it is."""
    alice, name = people["alice"], "noted-down"
    assert alice.create("alice", pod(name, schedulerName="nobody")).status_code == 201
    path, key = f"/api/v1/namespaces/alice/pods/{name}", "reprieve.scheduling/hold"
    hold = json.dumps({"preemptor": f"Pod/alice/{name}", "victims": [{"unit": "Pod/bob/merger-of-b-7", "uid": "7"}]})
    merge = {"content-type": "application/merge-patch+json"}
    with plane.http() as owner:
        owner.patch(path, json={"metadata": {"annotations": {key: hold}}}, headers=merge)
        seen = alice.get(path).json()
        assert "a pod in another namespace" in seen["metadata"]["annotations"][key]
        seen["metadata"]["labels"] = {"more": "yes"}
        assert alice.put(path, json=seen).status_code == 200
        kept = owner.get(path).json()["metadata"]
        assert (kept["annotations"][key], kept["labels"]) == (hold, {"more": "yes"})
        owner.delete(path)
