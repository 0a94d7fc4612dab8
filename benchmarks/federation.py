"""Federation: 10,000 bindings over 100 clusters. The queue, and one decision in which somebody has to make way."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import msgspec

from benchmarks.measure import beside, best_of, in_turns
from reprieve.configuration import Settings
from reprieve.engine.preemption import decide
from reprieve.manifests import karmada
from reprieve.manifests.meta import Manifest, ObjectMeta, Reference
from reprieve.model.names import unit_name
from reprieve.model.resources import Resources
from reprieve.policies.federation.policy import FederationPolicy
from reprieve.scheduler.scheduling_queue import SchedulingQueue
from reprieve.world import World

CLUSTERS = 100
BINDINGS = 10_000
START = datetime(2026, 1, 1, tzinfo=UTC)
GATES = Settings(
    feature_gates={"PriorityBasedScheduling": True, "PriorityBasedPreemptiveScheduling": True}, search="Design"
)
BEST = msgspec.structs.replace(GATES, search="Best")
GPU = "nvidia.com/gpu"


def run() -> None:
    through, churn = _queue(), _churn()
    print(f"  queue: {through:,.0f} bindings a second in and out, {churn:,.0f} where half of them fail first")
    print("  (goal: 5,000 a second)")
    print("  one decision                    first       again   victims")
    asks = {
        "one victim": _binding("one", {"cpu": 60_000}, 1_000),
        "accumulated": _binding("many", {"cpu": 700_000, GPU: 8}, 1_000),
        "in several clusters": _binding("wide", {"cpu": 300_000}, 1_000, replicas=40),
        "nobody is enough": _binding("huge", {"cpu": 10**9}, 1_000),
    }
    world = _world()
    for name, binding in asks.items():
        first, again, victims = _decide(world, binding)
        print(f"  {name:24} {first:9.2f} ms {again:8.2f} ms {victims:9}")
    print("  (goal: under 20 ms)")
    print("  the same, by search             Design         Best")
    for name, binding in asks.items():
        works = [_deciding(world, binding, settings) for settings in (GATES, BEST)]
        print(f"  {name:24} {beside(in_turns(3, *works))}")
    reading = best_of(2, lambda: FederationPolicy(World(world), GATES)) * 1e3
    print(f"  reading all of it into a policy: {reading:.0f} ms")


def _decide(objects: list[Manifest], binding: karmada.ResourceBinding) -> tuple[float, float, int]:
    policy = FederationPolicy(World([*objects, binding]), GATES)
    facts = policy.federation.find(unit_name("ResourceBinding", "bench", binding.name))
    if facts is None:
        raise SystemExit("the binding is gone")
    first = best_of(1, lambda: decide(policy, facts, 0))
    return first * 1e3, best_of(3, lambda: decide(policy, facts, 0)) * 1e3, len(decide(policy, facts, 0).victims)


def _deciding(objects: list[Manifest], binding: karmada.ResourceBinding, settings: Settings) -> Callable[[], object]:
    """As often as somebody asks, after a first time."""
    policy = FederationPolicy(World([*objects, binding]), settings)
    facts = policy.federation.find(unit_name("ResourceBinding", "bench", binding.name))
    if facts is None:
        raise SystemExit("the binding is gone")
    decide(policy, facts, 0)
    return lambda: decide(policy, facts, 0)


def _keys() -> list[tuple[str, int]]:
    chance = random.Random(7)
    return [(f"ResourceBinding/bench/b-{number}", chance.randrange(1_000)) for number in range(BINDINGS)]


def _queue() -> float:
    """Everything in, everything out."""
    keys = _keys()

    def work() -> None:
        now = 0.0
        queue = SchedulingQueue(lambda: now)
        for key, priority in keys:
            queue.push(key, priority)
        while (found := queue.pop()) is not None:
            queue.done(found)

    return BINDINGS / best_of(3, work)


def _churn() -> float:
    """Half of all are set aside once, as failed or unschedulable, before they are done."""
    keys = _keys()

    def work() -> None:
        now = [0.0]
        queue = SchedulingQueue(lambda: now[0])
        for key, priority in keys:
            queue.push(key, priority)
        for number in range(BINDINGS // 2):
            found = queue.pop()
            if found is not None:
                (queue.failed if number % 2 else queue.unschedulable)(found)
        now[0] = 20.0
        queue.move()
        while (found := queue.pop()) is not None:
            queue.done(found)

    return BINDINGS / best_of(3, work)


def _world() -> list[Manifest]:
    """Clusters that are full, each of a hundred bindings of many sizes and priorities."""
    chance = random.Random(11)
    used = [{"cpu": 0, GPU: 0} for _ in range(CLUSTERS)]
    items: list[Manifest] = []
    for number in range(BINDINGS):
        home = number % CLUSTERS
        request = {"cpu": 1_000 * chance.randrange(1, 25), GPU: int(chance.random() < 0.2)}
        replicas = chance.randrange(1, 4)
        for name, units in request.items():
            used[home][name] += units * replicas
        items.append(
            _binding(f"b-{number}", request, chance.randrange(500), replicas=replicas, where=_name(home), number=number)
        )
    for number, amounts in enumerate(used):
        summary = karmada.ResourceSummary(allocatable=Resources(amounts), allocated=Resources(amounts))
        status = karmada.ClusterStatus(resource_summary=summary)
        items.append(karmada.Cluster(metadata=ObjectMeta(name=_name(number)), status=status))
    return items


def _name(number: int) -> str:
    return f"member-{number:03}"


def _binding(
    name: str, request: dict[str, int], priority: int, *, replicas: int = 1, where: str = "", number: int = 0
) -> karmada.ResourceBinding:
    divided = karmada.ReplicaScheduling(replica_scheduling_type="Divided", replica_division_preference="Aggregated")
    spec = karmada.BindingSpec(
        resource=Reference(api_version="apps/v1", kind="Deployment", namespace="bench", name=name),
        replicas=replicas,
        replica_requirements=karmada.ReplicaRequirements(resource_request=Resources(request)),
        placement=karmada.Placement(replica_scheduling=divided),
        clusters=(karmada.TargetCluster(name=where, replicas=replicas),) if where else (),
        schedule_priority=karmada.BindingSchedulePriority(priority=priority, preemption_policy="PreemptLowerPriority"),
    )
    metadata = ObjectMeta(name=name, namespace="bench", creation_timestamp=START + timedelta(seconds=number))
    return karmada.ResourceBinding(kind="ResourceBinding", metadata=metadata, spec=spec)
