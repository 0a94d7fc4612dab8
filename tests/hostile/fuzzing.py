"""Bodies that nobody would write: of every kind, from the description that the server gives of itself, and bent.

What is random follows one seed. Names come from a small pool, so that objects meet: what is accepted refers to what is
there, is scheduled, owned, replaced and deleted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from random import Random
from typing import Any

from reprieve.manifests.kinds import RESOURCES
from reprieve.manifests.resource import Resource
from reprieve.manifests.yaml_reader import read_yaml
from reprieve.server.schemas import name_of
from tests.paths import EXAMPLES

Json = Any
NAMES = ("a", "b", "c", "low", "high", "n1", "east")
_WORDS = (
    *NAMES,
    *("default", "reprieve", "default-scheduler", "yunikorn", "Never", "Always", "In", "NotIn", "Exists", "Gt", "Lt"),
    *("cpu", "memory", "pods", "nvidia.com/gpu", "kubernetes.io/hostname", "topology.kubernetes.io/zone", "app"),
    *("1", "100m", "2Gi", "10", "50%", "0", "-1", "1e3", "NoSchedule", "NoExecute", "True", "False", "Pending"),
    *("Running", "Failed", "Succeeded", "Evicted", "Complete", "Admitted", "QuotaReserved", "Any", "LowerPriority"),
    *("2026-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "root.a", "root", "Job", "Pod", "PodGroup", "batch/v1", "v1"),
)
_EVIL: tuple[Json, ...] = (
    *(
        None,
        True,
        False,
        0,
        -1,
        1,
        2**31 - 1,
        2**31,
        2**53,
        2**63 - 1,
        2**63,
        2**64,
        -(2**63),
        10**40,
        0.5,
        1e308,
        -0.0,
    ),
    *("", " ", "\x00", "\n", "ﬀ", "é" * 300, "a" * 5_000, "../../x", "%00", "{}", "null", "[object]", "1e999999"),
    *("999999999999999999999999Ei", "-5", "1" * 400, "0x10", "1_000", "NaN", "inf", "9" * 19, "1n", "1.0000000000001"),
    *("0000-00-00T00:00:00Z", "2026-02-30T00:00:00Z", "0001-01-01T00:00:00Z", "2026-01-01T00:00:00+99:99"),
    *([], {}, [[]], [None], {"": ""}, {"a": None}, [{}], [0] * 200, {"a": {"a": {"a": {}}}}),
)
_ANNOTATIONS = (
    *(f"reprieve.scheduling/{word}" for word in ("run-seconds", "termination-seconds", "exit-code", "hold", "pool")),
    *("kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class", "kueue.x-k8s.io/pod-group-name"),
    *("kueue.x-k8s.io/pod-group-total-count", "kueue.x-k8s.io/podset-required-topology"),
    *("queue", "applicationId", "yunikorn.apache.org/task-groups", "yunikorn.apache.org/task-group-name"),
    *("scheduling.k8s.io/pod-group", "preemption-toleration.scheduling.x-k8s.io/toleration-seconds", "app"),
)
_PATCHES = (
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/json-patch+json",
    "application/apply-patch+yaml",
)


def _written() -> dict[str, list[dict[str, Any]]]:
    """Objects that make sense together: those of the examples' cases, by kind."""
    found: dict[str, list[dict[str, Any]]] = {}
    for file in sorted((EXAMPLES / "cases").glob("*.yaml")):
        for case in read_yaml(file.read_text()):
            assert isinstance(case, dict), file
            for data in case["objects"]:
                found.setdefault(data["kind"], []).append(data)
    return found


class Bodies:
    """Makes them up."""

    def __init__(self, document: Mapping[str, Any], random: Random) -> None:
        self._schemas: dict[str, dict[str, Any]] = document["components"]["schemas"]
        self._random = random
        self._written = _written()

    def evil(self) -> Json:
        return self._random.choice(_EVIL)

    def manifest(self, resource: Resource) -> dict[str, Any]:
        """An object of a kind, in one of its versions."""
        version = self._random.choice(list(resource.types))
        api_version = resource.in_version(version)
        made = self._of(self._schemas[name_of(api_version, resource.kind)], 0)
        made = made if isinstance(made, dict) else {}
        metadata: dict[str, Any] = {"name": self._random.choice(NAMES)}
        if resource.namespaced:
            metadata["namespace"] = "default"
        for part in ("labels", "annotations"):
            if self._random.random() < 0.4:
                metadata[part] = {self._random.choice(_ANNOTATIONS): self._text() for _ in range(2)}
        if self._random.random() < 0.03:
            metadata[self._random.choice(("finalizers", "ownerReferences", "deletionTimestamp", "uid"))] = self.evil()
        return {**made, "apiVersion": api_version, "kind": resource.kind, "metadata": metadata}

    def bent(self, data: Json) -> Json:
        """The same with something wrong somewhere."""
        found = json.loads(json.dumps(data))
        here = found
        while isinstance(here, dict | list) and here:
            key: Any = self._random.choice(list(here)) if isinstance(here, dict) else self._random.randrange(len(here))
            if not isinstance(here[key], dict | list) or not here[key] or self._random.random() < 0.15:
                if isinstance(here, dict) and self._random.random() < 0.2:
                    here[self._text()] = here.pop(key)
                else:
                    here[key] = self.evil() if self._random.random() < 0.7 else self._text()
                break
            here = here[key]
        return found

    def body(self, resource: Resource) -> Json:
        known = self._written.get(resource.kind)
        made = self._random.choice(known) if known and self._random.random() < 0.5 else self.manifest(resource)
        if resource.namespaced and self._random.random() < 0.9:
            made = {**made, "metadata": {**made["metadata"], "namespace": "default"}}
        while self._random.random() < 0.3:
            made = self.bent(made)
        return made

    def patch(self, resource: Resource) -> tuple[str, Json]:
        media = self._random.choice(_PATCHES)
        if "json-patch" in media:
            return media, [self._operation(resource) for _ in range(self._random.randint(0, 3))]
        body = self.body(resource)
        if isinstance(body, dict) and "apply" not in media:
            body = {key: value for key, value in body.items() if self._random.random() < 0.6}
        return media, body

    def _operation(self, resource: Resource) -> Json:
        op = self._random.choice(("add", "replace", "remove", "test", "move", "copy", "other"))
        path = "/" + "/".join(
            self._random.choice(("spec", "status", "metadata", "template", "0", "-", "containers", "labels", "~1", "a"))
            for _ in range(self._random.randint(0, 4))
        )
        whole = {"op": op, "path": path, "from": path, "value": self.body(resource)}
        return self.bent(whole) if self._random.random() < 0.2 else whole

    # By the schema

    def _of(self, schema: Mapping[str, Any], depth: int) -> Json:
        chance = self._random.random()
        if chance < 0.008 and depth > 1:
            return self.evil()
        if "$ref" in schema:
            return self._of(self._schemas[schema["$ref"].rpartition("/")[2]], depth)
        for word in ("allOf", "anyOf", "oneOf"):
            if word in schema:
                return self._of(self._random.choice(schema[word]), depth)
        if "enum" in schema:
            return self._random.choice(schema["enum"])
        if schema.get("type") == "object":
            return self._object(schema, depth)
        if schema.get("type") == "array":
            most = 1 if depth > 4 else 3
            return [self._of(schema.get("items", {}), depth + 1) for _ in range(self._random.randint(0, most))]
        if schema.get("type") == "integer":
            return self._random.choice((0, 1, 2, 3, 5, 30, 100, -1, 2**31 - 1))
        if schema.get("type") == "boolean":
            return chance < 0.5
        return self._text()

    def _object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        made = {}
        needed, likely = set(schema.get("required", ())), 0.7 / (1 + 0.35 * depth)
        for name, part in schema.get("properties", {}).items():
            if name not in ("apiVersion", "kind", "metadata") and (name in needed or self._random.random() < likely):
                made[name] = self._of(part, depth + 1)
        more = schema.get("additionalProperties")
        if isinstance(more, Mapping):
            made |= {self._text(): self._of(more, depth + 1) for _ in range(self._random.randint(0, 2))}
        return made

    def _text(self) -> str:
        return self._random.choice(_WORDS)


KINDS = tuple(RESOURCES.values())
