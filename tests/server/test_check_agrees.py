"""One source for both: what `reprieve check` calls an error the server refuses, at the same fields; and the reverse.

Every object of every table of bad manifests is sent to a real server and given to `check`, and more that only agents
and controllers would stumble over.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import httpx
import msgspec
import pytest

from reprieve.manifests.admission import admit_all
from reprieve.manifests.documents import read_bytes
from reprieve.manifests.kinds import resource_of
from reprieve.manifests.loading import load_text
from reprieve.manifests.problems import Problem
from reprieve.stores.api.paths import path_of
from tests.manifests.bad_manifests import (
    Case,
    core,
    documents,
    karmada,
    kueue_others,
    kueue_queues,
    kueue_v1alpha2,
    obj,
    pod,
    pods,
    priorities,
    quantities,
    workloads,
)
from tests.server.planes import PATIENCE, running

_TABLES = (core, karmada, kueue_others, kueue_queues, kueue_v1alpha2, pods, priorities, quantities, workloads)
_ELSEWHERE = (
    "already read from",  # about files: a server takes the second for a change of the first
    "a number with too many digits",  # no client could send it
    "in a circle",  # check blames all of them, the server whoever closes it
    "$.metadata.namespace",  # whether there is such a namespace is asked first
    "PriorityClass//system-",  # it exists already
)
_ENCODER = msgspec.json.Encoder(decimal_format="number")


def job(spec: str, more: str = "") -> str:
    return obj("batch/v1 Job", f"spec: {{{more} template: {{spec: {{{spec}}}}}}}")


def controller(kind: str, selector: str, labels: str) -> str:
    template = f"{{metadata: {{labels: {labels}}}, spec: {{{BARE}}}}}"
    return obj(f"apps/v1 {kind}", f"spec: {{{selector} template: {template}}}")


FIVE = obj("scheduling.k8s.io/v1 PriorityClass", "value: 5", "five")
BARE = "containers: [{name: c}]"
FIELDS = [
    ("a Job whose pods restart always", job(f"restartPolicy: Always, {BARE}")),
    ("a Job with two mistakes", job("restartPolicy: Always, containers: [{name: c, image: true}]")),
    ("a boolean for an image", obj("v1 Pod", "spec: {containers: [{name: c, image: yes}]}")),
    ("a number in a command", obj("v1 Pod", "spec: {containers: [{name: c, command: [sleep, 10]}]}")),
    ("a boolean in a variable", obj("v1 Pod", "spec: {containers: [{name: c, env: [{name: A, value: true}]}]}")),
    ("a variable without a name", obj("v1 Pod", "spec: {containers: [{name: c, env: [{value: a}]}]}")),
    ("a restart policy that is none", pod("restartPolicy: Sometimes")),
    ("a deadline below zero", pod("activeDeadlineSeconds: -1")),
    ("a priority that no class gives", pod("priority: 5")),
    ("another priority than that of the class", pod("priority: 5, priorityClassName: system-node-critical")),
    ("a policy that no class gives", pod("preemptionPolicy: Never")),
    ("a class that is not there", pod("priorityClassName: gone")),
    ("a limit of failures that is text", job(BARE, 'backoffLimit: "6",')),
    ("a mode of completion that is none", job(BARE, "completionMode: Sometimes,")),
    ("finalizers that are text", obj("v1 Node").replace("{name: a}", "{name: a, finalizers: x}")),
    ("a label that is a boolean", obj("v1 Node").replace("{name: a}", "{name: a, labels: {a: true}}")),
    ("a controller that selects others", controller("Deployment", "selector: {matchLabels: {a: b}},", "{a: c}")),
    ("a controller that selects nothing", controller("ReplicaSet", "", "{}")),
    ("no name, and more", job("restartPolicy: Always, containers: [{name: C}]").replace("{name: a}", "{}")),
    ("a name that is to be given", job(BARE).replace("{name: a}", "{generateName: train-}")),
    ("a namespace where there is none", obj("v1 Node").replace("{name: a}", "{name: a, namespace: default}")),
    ("a time that is none", obj("v1 Node").replace("{name: a}", "{name: a, creationTimestamp: soon}")),
    ("a namespace whose name is no label", obj("v1 Namespace", name="a_b")),
    ("a policy whose spec is text", obj("policy.karmada.io/v1alpha1 PropagationPolicy", "spec: none")),
    ("a good pod", pod("restartPolicy: Never")),
    ("a good job", job(f"restartPolicy: Never, {BARE}")),
    ("a pod of a class that is there", documents(FIVE, pod("priorityClassName: five"))),
    ("a pod with the number of the default class", documents(f"{FIVE}globalDefault: true\n", pod("priority: 5"))),
]


def _cases() -> Iterator[Any]:
    for name, manifest in FIELDS:
        yield pytest.param(manifest, id=name)
    for table in _TABLES:
        cases: list[Case] = table.CASES
        for case in cases:
            known = not case.old and not case.strict and not any(word in case.want for word in _ELSEWHERE)
            if known and isinstance(case.manifest, str):
                yield pytest.param(case.manifest, id=f"{table.__name__.rpartition('.')[2]}: {case.name}")


def sent(http: httpx.Client, manifest: str) -> set[tuple[str, str]]:
    """What the server refuses: objects by name, with the fields that it names."""
    refused: set[tuple[str, str]] = set()
    for data in sorted(objects(manifest), key=lambda data: data["kind"] != "PriorityClass"):
        metadata = data.get("metadata") or {}
        resource = resource_of(data["apiVersion"], data["kind"])
        name = str(metadata.get("name", ""))
        if resource is None:
            refused.add((name, "apiVersion"))  # a client finds no path for it
            continue
        space = (metadata.get("namespace") or "default") if resource.namespaced else ""
        path = path_of(resource, space, version=data["apiVersion"].rpartition("/")[2])
        answer = http.post(path, content=_ENCODER.encode(data), headers={"Content-Type": "application/json"})
        if answer.status_code >= 400:
            causes = answer.json().get("details", {}).get("causes") or [{}]
            refused |= {(name, cause.get("field", "")) for cause in causes}
    return refused


def objects(manifest: str) -> list[Any]:
    whole = [document.plain() for document in read_bytes(manifest.encode(), "x.yaml")]
    return [each for data in whole for each in (data.get("items") or () if data["kind"].endswith("List") else (data,))]


def checked(manifest: str) -> set[tuple[str, str]]:
    """What `check` calls an error, in the same form."""
    loaded = load_text(manifest, name="x.yaml")
    found = [*loaded.problems, *admit_all(loaded.entries, new=True)]
    return {
        (problem.object.partition("/")[2].rpartition("/")[2], problem.field.removeprefix("$").removeprefix("."))
        for problem in found
        if problem.severity == "error" and not of_controllers(problem)
    }


def of_controllers(problem: Problem) -> bool:
    """What a status means is for those to say who write it: the server leaves it out of a new object."""
    return problem.stage == "admission" and problem.field.startswith("$.status.")


@contextmanager
def client() -> Iterator[httpx.Client]:
    with running() as server, httpx.Client(base_url=server.url, timeout=PATIENCE) as http:
        yield http


@pytest.fixture(scope="module")
def empty() -> Iterator[httpx.Client]:
    """A server that stays empty, for objects that need no others."""
    with client() as http:
        http.params = {"dryRun": "All"}
        yield http


@pytest.mark.parametrize("manifest", list(_cases()))
def test_check_and_the_server_refuse_the_same_fields(manifest: str, empty: httpx.Client) -> None:
    if "system-cluster-critical" in manifest:
        pytest.skip("every server has this class from the start, and says that before anything else")
    with client() if len(objects(manifest)) > 1 else nullcontext(empty) as http:
        assert sent(http, manifest) == checked(manifest)
