"""What work in queues may meet besides quota: admission checks and what their controllers say, pods that have to be
ready in time, defaults of namespaces, overhead of runtime classes, a longest time; and what it may be besides Jobs."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from reprieve.configuration import RequeuingStrategy, WaitForPodsReady
from reprieve.manifests.kinds import ADMISSION_CHECKS, JOB_SETS, QUOTA_WORKLOADS, STATEFUL_SETS
from reprieve.stores.errors import Invalid, NotFound
from reprieve.stores.records import Record
from tests.builders.pods import manifest, metadata
from tests.builders.quota import KUEUE, condition
from tests.generators.lives import ARRIVALS, Maker, Step, arrives, changes, goes
from tests.planes.running import Dict, Plane, job_set, pod, replica_set, stateful_set

QUEUE = "kueue.x-k8s.io/queue-name"
LONGEST = "kueue.x-k8s.io/max-exec-time-seconds"
STATES = ("Ready", "Ready", "Ready", "Retry", "Rejected")


def defaults(cpu: str) -> Dict:
    """What containers ask for that do not say it."""
    item = {"type": "Container", "defaultRequest": {"cpu": cpu}}
    return manifest("v1", "LimitRange", metadata("defaults", "default"), spec={"limits": [item]})


def check(name: str) -> Dict:
    return manifest(KUEUE, "AdmissionCheck", metadata(name), spec={"controllerName": f"example.com/{name}"})


def active(name: str, status: str = "True") -> Step:
    said = {"conditions": [condition("Active", "2026-01-01T00:00:00Z", status=status)]}
    return changes(ADMISSION_CHECKS, name, {"status": said}, "", "status")


def checked(spec: Dict, names: list[str], flavors: list[str], random: Random) -> None:
    """The checks of a ClusterQueue; one of them for one flavor only, now and then."""
    rules: list[Dict] = [{"name": name} for name in names]
    if random.random() < 0.3:
        rules[0]["onFlavors"] = [random.choice(flavors)]
    spec["admissionChecksStrategy"] = {"admissionChecks": rules}


def verdict(owner: str, state: str, later: int) -> Step:
    """What the controllers of its checks say, if they are asked; `owner` is a Workload, or what has one."""

    async def step(plane: Plane) -> None:
        for known in await _workloads(plane, owner):
            status = known.data.get("status", {})
            if not status.get("admission") or not status.get("admissionChecks"):
                continue
            more = {"requeueAfterSeconds": later} if later and state == "Retry" else {}
            said = [{**each, "state": state, "message": "", **more} for each in status["admissionChecks"]]
            await _patched(plane, known, {"status": {"admissionChecks": said}}, subresource="status")

    return step


def any_verdict(random: Random, owner: str) -> Step:
    return verdict(owner, random.choice(STATES), random.choice([0, 0, 20]))


def made_active(owner: str, active: bool) -> Step:
    async def step(plane: Plane) -> None:
        for known in await _workloads(plane, owner):
            await _patched(plane, known, {"spec": {"active": active}})

    return step


async def _workloads(plane: Plane, owner: str) -> list[Record]:
    found: list[Record] = (await plane.store.list(QUOTA_WORKLOADS)).records
    owners = {record: [each["name"] for each in record.metadata.get("ownerReferences", ())] for record in found}
    return [record for record, names in owners.items() if owner == record.name or owner in names]


async def _patched(plane: Plane, known: Record, patch: Dict, **options: Any) -> None:
    try:
        await plane.store.patch(QUOTA_WORKLOADS, known.name, known.namespace, patch, **options)
    except NotFound:
        return


def pods_ready(random: Random) -> WaitForPodsReady:
    """Off as a rule. Who is late again and again is made inactive, so that there is rest."""
    return WaitForPodsReady(
        enable=random.random() < 0.25,
        timeout=random.choice(["20s", "60s"]),
        block_admission=random.random() < 0.4,
        requeuing_strategy=RequeuingStrategy(
            timestamp=random.choice(["Eviction", "Creation"]), backoff_limit_count=2, backoff_base_seconds=5
        ),
    )


class QuotaTerms:
    """The terms of one life, whose parts `maker` puts at random moments."""

    def __init__(self, maker: Maker) -> None:
        self._maker = maker
        random = maker.random
        self._checks = ["fuel", "license"][: random.randint(1, 2)] if not maker.closed and maker.chance(0.25) else []
        self._unsaid = maker.chance(0.2)
        self._overhead = maker.chance(0.15)
        self.renews = False
        """Whether somebody's pods are made anew with Workloads of their own, which are late for the first time."""
        self.makes: tuple[Callable[[Dict, str], str], ...] = (
            self._deployment,
            self._stateful_set,
            self._job_set,
            self._pod_group,
        )

    def first(self) -> None:
        """What is there before anybody asks."""
        maker = self._maker
        for name in self._checks:
            maker.first.append(check(name))
            maker.later.append((0.0, active(name)))
            if maker.chance(0.2):
                maker.at(active(name, "False"))
                maker.at(active(name), ARRIVALS)
        if self._unsaid:
            maker.first.append(defaults("1"))
        if self._overhead:
            kind = {"handler": "kata", "overhead": {"podFixed": {"cpu": "1"}}}
            maker.first.append(manifest("node.k8s.io/v1", "RuntimeClass", metadata("kata"), **kind))

    def of_queue(self, spec: Dict, flavors: list[str]) -> None:
        if self._checks and self._maker.chance(0.7):
            checked(spec, self._checks, flavors, self._maker.random)

    def body(self, body: Dict) -> Dict:
        return {**body, "runtimeClassName": "kata"} if self._overhead and self._maker.chance(0.3) else body

    def unsaid(self, made: Dict) -> None:
        """Its pods do not say what they ask for."""
        if self._unsaid and self._maker.chance(0.3):
            made["spec"]["template"]["spec"]["containers"][0]["resources"] = {}

    def fate(self, owner: str) -> None:
        """What happens to a Workload later."""
        maker = self._maker
        for _ in range(maker.random.randint(1, 3) if self._checks else 0):
            maker.at(any_verdict(maker.random, owner))
        if maker.chance(0.1):
            maker.at(made_active(owner, active=False))
            maker.at(made_active(owner, active=True), ARRIVALS)

    def labels(self, queue: str) -> Dict:
        longest = {LONGEST: "30"} if self._maker.chance(0.08) and not self._maker.closed else {}
        return {QUEUE: queue, **longest}

    def other(self, body: Dict, queue: str) -> str:
        """Something that is no Job arrives; its name."""
        return self._maker.random.choice(self.makes)(body, queue)

    def _deployment(self, body: Dict, queue: str) -> str:
        name = self._maker.name("web")
        self.renews = True
        made = replica_set(name, replicas=self._maker.random.randint(1, 3), **_for_ever(body))
        made["metadata"]["labels"] = {QUEUE: queue}
        self._maker.at(arrives({**made, "kind": "Deployment"}))
        return name

    def _stateful_set(self, body: Dict, queue: str) -> str:
        name = self._maker.name("db")
        size = self._maker.random.randint(1, 3)
        made = stateful_set(name, labels={QUEUE: queue}, replicas=size, **_for_ever(body))
        self._maker.at(arrives(made))
        if self._maker.chance(0.3):
            self._maker.at(_scaled(name, 0), ARRIVALS / 2)
            if self._maker.chance(0.5):
                self._maker.at(_scaled(name, 2), ARRIVALS)
        elif self._maker.chance(0.2):
            self._maker.at(goes(STATEFUL_SETS, name), ARRIVALS / 2)
        return name

    def _job_set(self, body: Dict, queue: str) -> str:
        name, random = self._maker.name("train"), self._maker.random
        parts = {"leader": {"pods": 1, **body}, "worker": {"replicas": random.randint(1, 2), "pods": 1, **body}}
        self._maker.at(arrives(job_set(name, labels={QUEUE: queue}, **parts)))
        if self._maker.chance(0.2):
            self._maker.at(goes(JOB_SETS, name), ARRIVALS / 2)
        return name

    def _pod_group(self, body: Dict, queue: str) -> str:
        name, size = self._maker.name("group"), self._maker.random.randint(1, 3)
        labels = {QUEUE: queue, "kueue.x-k8s.io/pod-group-name": name}
        said = {"kueue.x-k8s.io/pod-group-total-count": str(size)}
        for number in range(size):
            self._maker.at(arrives(pod(f"{name}-{number}", labels=labels, annotations=said, **body)))
        return name


def _scaled(name: str, size: int) -> Step:
    async def step(plane: Plane) -> None:
        try:
            await plane.store.patch(STATEFUL_SETS, name, "default", {"spec": {"replicas": size}})
        except (NotFound, Invalid):
            return  # not made yet, or not of size 0

    return step


def _for_ever(body: Dict) -> Dict:
    """Pods that are made again when they end: they do not end."""
    return {key: value for key, value in body.items() if key != "run"}
