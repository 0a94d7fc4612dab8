"""Quota by namespace, with the scope of a PriorityClass: the words are those of Kubernetes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli.running import Running, until
from tests.hostile.people import ADMIN_OBJECTS, Person, job, join, pod, refused

PODS = "/api/v1/namespaces/alice/pods"


@pytest.fixture(scope="module")
def world(plane: Running) -> Running:
    plane.ok("apply", "-f", "-", stdin=ADMIN_OBJECTS)
    return plane


@pytest.fixture(scope="module")
def alice(world: Running) -> Iterator[Person]:
    with join(world, "--role", "submit", "--namespace", "alice") as person:
        yield person


@pytest.fixture
def limit(world: Running) -> Iterator[Any]:
    """Makes a quota for alice; afterwards it is gone, and her pods."""
    with world.http() as owner:
        made: list[str] = []

        def make(name: str, hard: dict[str, str], **spec: Any) -> None:
            body = {"metadata": {"name": name}, "spec": {"hard": hard, **spec}}
            answer = owner.post("/api/v1/namespaces/alice/resourcequotas", json=body)
            assert answer.status_code == 201, answer.text
            made.append(name)

        make.owner = owner  # type: ignore[attr-defined]
        yield make
        for name in made:
            owner.delete(f"/api/v1/namespaces/alice/resourcequotas/{name}")
        owner.delete("/apis/batch/v1/namespaces/alice/jobs", params={"propagationPolicy": "Background"})
        owner.delete(PODS, params={"gracePeriodSeconds": "0"})
        until(lambda: owner.get(PODS).json()["items"] == [])


def by_class(operator: str, *values: str) -> dict[str, Any]:
    wanted = {"scopeName": "PriorityClass", "operator": operator, **({"values": list(values)} if values else {})}
    return {"scopeSelector": {"matchExpressions": [wanted]}}


def test_more_pods_than_allowed_are_refused_in_kubernetes_words(alice: Person, limit: Any) -> None:
    limit("few", {"pods": "2", "requests.cpu": "1"})
    for name in ("a", "b"):
        assert alice.create("alice", pod(name)).status_code == 201
    answer = alice.create("alice", pod("c"))
    assert refused(
        answer, 'pods "c" is forbidden: exceeded quota: few, requested: pods=1, used: pods=2, limited: pods=2'
    )
    assert answer.json()["message"].endswith("limited: pods=2")
    assert alice.delete(f"{PODS}/a", params={"gracePeriodSeconds": "0"}).status_code == 200
    until(lambda: alice.get(f"{PODS}/a").status_code == 404)
    large = pod("large")
    large["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "950m"
    words = "exceeded quota: few, requested: requests.cpu=950m, used: requests.cpu=100m, limited: requests.cpu=1"
    assert refused(alice.create("alice", large), words)
    assert alice.create("alice", pod("c")).status_code == 201


def test_what_is_limited_has_to_be_said(alice: Person, limit: Any) -> None:
    limit("said", {"requests.memory": "1Gi", "limits.cpu": "2"})
    words = "failed quota: said: must specify limits.cpu for: main; requests.memory for: main"
    assert refused(alice.create("alice", pod("silent")), words)


@pytest.mark.parametrize(
    ("scope", "counted", "free"),
    [
        (by_class("In", "usual"), "usual", None),
        (by_class("NotIn", "urgent"), "usual", "urgent"),
        (by_class("Exists"), "urgent", None),
        ({"scopes": ["PriorityClass"]}, "usual", None),
        (by_class("DoesNotExist"), None, "usual"),
    ],
)
def test_only_pods_of_a_class_count(
    alice: Person, limit: Any, scope: dict[str, Any], counted: str | None, free: str | None
) -> None:
    def of(name: str, class_name: str | None) -> Any:
        return alice.create("alice", pod(name, **({"priorityClassName": class_name} if class_name else {})))

    limit("none", {"pods": "0"}, **scope)
    assert refused(of("x", counted), "exceeded quota: none, requested: pods=1, used: pods=0, limited: pods=0")
    assert of("y", free).status_code == 201


def test_jobs_and_their_pods_are_counted(alice: Person, limit: Any) -> None:
    limit("jobs", {"count/jobs.batch": "1", "count/pods": "2"})
    api = "/apis/batch/v1"
    wide = job("wide")
    wide["spec"]["parallelism"] = wide["spec"]["completions"] = 5
    assert alice.create("alice", wide, "jobs", api).status_code == 201
    words = (
        'jobs.batch "more" is forbidden: exceeded quota: jobs, requested: count/jobs.batch=1, used: count/jobs.batch=1'
    )
    assert refused(alice.create("alice", job("more"), "jobs", api), words)
    until(lambda: len(alice.get(PODS).json()["items"]) == 2)
    events = "/api/v1/namespaces/alice/events?fieldSelector=reason=FailedCreate"
    until(lambda: "exceeded quota: jobs" in alice.get(events).text)
    assert len(alice.get(PODS).json()["items"]) == 2


def test_its_status_says_what_is_used(alice: Person, limit: Any) -> None:
    hard = {"pods": "5", "requests.cpu": "4", "count/pods": "9"}
    limit("shown", hard)
    alice.create("alice", pod("one"))
    path = "/api/v1/namespaces/alice/resourcequotas/shown"
    used = {"pods": "1", "requests.cpu": "100m", "count/pods": "1"}
    until(lambda: alice.get(path).json().get("status") == {"hard": hard, "used": used})


def test_what_is_no_scope_is_refused(limit: Any) -> None:
    wrong = {"metadata": {"name": "x"}, "spec": {"hard": {"pods": "1"}, **by_class("Around", "usual")}}
    answer = limit.owner.post("/api/v1/namespaces/alice/resourcequotas", json=wrong)
    assert (answer.status_code, "matchExpressions[0].operator" in answer.text) == (422, True)
