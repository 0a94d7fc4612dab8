"""Nothing leaks by the other designs either: gangs, quota and queues, with everything that may be read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from reprieve.manifests.kinds import RESOURCES
from reprieve.stores.api.paths import path_of
from tests.builders.gates import GANGS
from tests.cli.running import HOLLOW, Running, running, until
from tests.hostile.people import ADMIN_OBJECTS, Person, job, join

SECRETS = {"alice": "layoffs-of-a", "bob": "merger-of-b"}
_KUEUE = "kueue.x-k8s.io/v1beta2"
_GROUPS = "scheduling.k8s.io/v1beta1"
_QUEUES = """
partitions:
  - name: default
    queues:
      - name: root
        queues:
          - {name: alice, resources: {guaranteed: {vcore: 2}}, properties: {preemption.delay: 1s}}
          - {name: bob, resources: {guaranteed: {vcore: 2}}}
"""


def _owners() -> Iterator[dict[str, Any]]:
    """A cohort in which both have a queue, queues of YuniKorn, and a node for each design."""
    yield {"apiVersion": _KUEUE, "kind": "ResourceFlavor", "metadata": {"name": "any"}, "spec": {}}
    for name in SECRETS:
        flavors = [{"name": "any", "resources": [{"name": "cpu", "nominalQuota": "1"}]}]
        spec = {
            "cohortName": "all",
            "namespaceSelector": {},
            "resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}],
            "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
        }
        yield {"apiVersion": _KUEUE, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": spec}
        metadata = {"name": "queue", "namespace": name}
        yield {"apiVersion": _KUEUE, "kind": "LocalQueue", "metadata": metadata, "spec": {"clusterQueue": name}}
    metadata = {"name": "yunikorn-configs", "namespace": "default"}
    yield {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"queues.yaml": _QUEUES}}


def _job(name: str, count: int, *, cpu: str = "1", priority: str = "usual", **spec: Any) -> dict[str, Any]:
    pod_labels, metadata = spec.pop("pod_labels", {}), {"labels": spec.pop("labels", {})}
    made = job(name, metadata, priorityClassName=priority, terminationGracePeriodSeconds=0, **spec)
    made["spec"]["template"]["metadata"] = {"labels": pod_labels}
    made["spec"] |= {"parallelism": count, "completions": count}
    pods = made["spec"]["template"]["spec"]
    pods["restartPolicy"] = "Never"
    pods["containers"][0]["resources"] = {"requests": {"cpu": cpu}}
    return made


def _group(name: str, count: int, priority: str) -> dict[str, Any]:
    policy = {"gang": {"minCount": count}}
    spec = {"schedulingPolicy": policy, "disruptionMode": {"all": {}}, "priorityClassName": priority}
    return {"apiVersion": _GROUPS, "kind": "PodGroup", "metadata": {"name": name}, "spec": spec}


def _submit(who: Person, own: str, what: dict[str, Any]) -> None:
    path, api = ("podgroups", f"/apis/{_GROUPS}") if what["kind"] == "PodGroup" else ("jobs", "/apis/batch/v1")
    answer = who.create(own, what, path, api)
    assert answer.status_code == 201, answer.text


def _quota(who: Person, own: str, count: int, priority: str) -> None:
    labels = {"kueue.x-k8s.io/queue-name": "queue"}
    _submit(who, own, _job(f"{SECRETS[own]}-quota", count, priority=priority, labels=labels, schedulerName="reprieve"))


def _gang(who: Person, own: str, count: int, priority: str) -> None:
    name = f"{SECRETS[own]}-gang"
    _submit(who, own, _group(name, count, priority))
    member = {"schedulingGroup": {"podGroupName": name}, "schedulerName": "reprieve"}
    _submit(who, own, _job(name, count, cpu="2", priority=priority, **member))


def _queue(who: Person, own: str, count: int, priority: str) -> None:
    labels = {"queue": f"root.{own}", "applicationId": f"{SECRETS[own]}-application"}
    _submit(who, own, _job(f"{SECRETS[own]}-queue", count, priority=priority, pod_labels=labels))


_DESIGNS = {"quota": (_quota, 2, 1), "gang": (_gang, 4, 3), "queue": (_queue, 8, 2)}
"""How it is submitted, how much bob takes first, and how much alice wants then."""


@pytest.fixture(scope="module", params=_DESIGNS)
def people(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Person]]:
    """Bob has all there is, and alice makes some of him leave."""
    submit, taken, wanted = _DESIGNS[request.param]
    place: Path = tmp_path_factory.mktemp(request.param)
    (place / "settings.yaml").write_text(json.dumps({"featureGates": GANGS}))
    with running(place, *HOLLOW, "--config", str(place / "settings.yaml")) as plane:
        plane.ok("apply", "-f", "-", stdin=ADMIN_OBJECTS)
        plane.ok("apply", "-f", "-", stdin="\n---\n".join(map(json.dumps, _owners())))
        options = ("--role", "submit", "--max-priority", "10000", "--namespace")
        with join(plane, *options, "alice") as alice, join(plane, *options, "bob") as bob:
            submit(bob, "bob", taken, "usual")
            until(lambda: _running(plane, "bob") == taken)
            submit(alice, "alice", wanted, "urgent")
            until(lambda: _running(plane, "alice") == wanted)
            until(lambda: _decided(plane))
            yield {"alice": alice, "bob": bob}


def _running(plane: Running, namespace: str) -> int:
    return sum(each["status"]["phase"] == "Running" for each in plane.pods("-n", namespace).values())


def _decided(plane: Running) -> bool:
    """Whether somebody had to make way."""
    with plane.http() as owner:
        found = owner.get("/decisions?limit=1000").json()["decisions"]
    return any(each["outcome"] == "Preempt" for each in found)


def _answers(person: Person, own: str) -> Iterator[tuple[str, str]]:
    """All that there is to read, and all that can be asked about what is one's own."""
    units = []
    table = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    for resource in RESOURCES.values():
        path = path_of(resource, own if resource.namespaced else "")
        answer = person.get(path)
        yield path, answer.text
        yield f"{path} as a table", person.get(path, headers=table).text
        items = answer.json().get("items", ())
        units += [f"{resource.kind}/{own if resource.namespaced else ''}/{each['metadata']['name']}" for each in items]
    yield from _watched(person, [path_of(each, own if each.namespaced else "") for each in RESOURCES.values()])
    for unit in units:
        for word in ("explain", "story", "attempts", "plan?for="):
            path = f"/{word}{'' if word.endswith('=') else '/'}{unit.replace('//', '/')}"
            yield path, person.get(path).text
    for path in ("/decisions?limit=1000", "/plan", *(f"/decisions/{number}" for number in range(1, 60))):
        yield path, person.get(path).text
    local = f"/apis/visibility.kueue.x-k8s.io/v1beta2/namespaces/{own}/localqueues/queue/pendingworkloads"
    yield local, person.get(local).text


def _watched(person: Person, paths: list[str]) -> Iterator[tuple[str, str]]:
    """What each watch tells in a second, eight at a time."""
    with ThreadPoolExecutor(8) as pool:
        told = pool.map(lambda path: person.get(f"{path}?watch=true&timeoutSeconds=1").text, paths)
        yield from zip([f"{path} watched" for path in paths], told, strict=True)


@pytest.mark.parametrize(("own", "other"), [("alice", "bob"), ("bob", "alice")])
def test_nothing_names_what_is_in_the_other_namespace(people: dict[str, Person], own: str, other: str) -> None:
    read = 0
    for path, text in _answers(people[own], own):
        read += SECRETS[own] in text
        assert SECRETS[other] not in text, (path, text[max(0, text.index(SECRETS[other]) - 600) :][:1200])
    assert read > 10
