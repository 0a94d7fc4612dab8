"""Quota: one decision on the shapes that Kueue was measured on (queue, cohort, hierarchy), and a whole cycle."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from benchmarks.measure import beside, best_of, in_turns
from reprieve.configuration import FairSharingSettings, Settings
from reprieve.engine.preemption import decide
from reprieve.manifests import kueue
from reprieve.manifests.core import Namespace
from reprieve.manifests.meta import Condition, LabelSelector, Manifest, ObjectMeta
from reprieve.manifests.pods import Container, PodSpec, PodTemplate, ResourceRequirements
from reprieve.model.resources import CPU, Quantity, Resources
from reprieve.policies.quota.cycle import cycle
from reprieve.policies.quota.policy import QuotaPolicy
from reprieve.policies.quota.view import PendingWorkload
from reprieve.policies.quota.world import QuotaWorld
from reprieve.world import World

START = datetime(2026, 1, 1, tzinfo=UTC)
DESIGN = Settings(search="Design")
BEST = Settings(search="Best")
FAIR = Settings(search="Design", fair_sharing=FairSharingSettings(enable=True))
# Milliseconds Kueue 0.19 takes for an ask of 1, and of 1000 (100 in the first shape), without its snapshot.
PEER = {
    "one queue, 1,000": (2.4, 2.8),
    "one queue, 10,000": (54, 54),
    "cohort": (43, 51),
    "cohort, fair": (50, 135),
    "hierarchy": (46, 58),
    "hierarchy, fair": (47, 88),
}


def run() -> None:
    print("  one decision              ask 1       Kueue     ask many       Kueue")
    shapes: dict[str, tuple[Callable[[], list[Manifest]], int]] = {
        "one queue, 1,000": (lambda: one_queue(1_000), 100),
        "one queue, 10,000": (lambda: one_queue(10_000), 1_000),
        "cohort": (cohort, 1_000),
        "hierarchy": (hierarchy, 1_000),
    }
    for name, (make, many) in shapes.items():
        objects = make()
        for label, settings in ((name, DESIGN), (f"{name}, fair", FAIR)):
            if label in PEER:
                small, large = (_decide(objects, settings, ask) for ask in (1, many))
                peers = PEER[label]
                print(f"  {label:18} {small:9.2f} ms {peers[0]:8.1f} ms {large:9.2f} ms {peers[1]:8.1f} ms")
    print("  the same, as many              Design         Best")
    for name, (make, many) in shapes.items():
        objects = make()
        works = [_deciding(objects, settings, many) for settings in (DESIGN, BEST)]
        print(f"  {name:22} {beside(in_turns(3, *works))}")
    print(f"  a cycle with 1,000 heads: {beside(in_turns(2, *(_cycling(1_000, each) for each in (DESIGN, BEST))))}")
    print("  (goal: under 10 ms for one decision)")


def _decide(objects: list[Manifest], settings: Settings, ask: int) -> float:
    return best_of(3, _deciding(objects, settings, ask)) * 1e3


def _deciding(objects: list[Manifest], settings: Settings, ask: int) -> Callable[[], object]:
    world = World([*objects, _workload("incoming", "ask", ask, 100, None, 0)])
    policy = QuotaPolicy(QuotaWorld(world, settings))
    facts = policy.quota.find(("default", "incoming"))
    if facts is None or len(decide(policy, PendingWorkload(facts), 0).victims) != ask:
        raise SystemExit(f"expected {ask} victims")
    return lambda: decide(policy, PendingWorkload(facts), 0)


def _cycling(heads: int, settings: Settings) -> Callable[[], object]:
    """As many queues in one cohort, each full of its own and with a more important workload waiting."""
    items: list[Manifest] = [*_base()]
    for number in range(heads):
        items += _queue(f"q-{number}", 2, "all", local=f"lq-{number}", within="LowerPriority")
        items += (_workload(f"w-{number}-{place}", "", 1, 0, f"q-{number}", place) for place in range(2))
        items.append(_workload(f"new-{number}", f"lq-{number}", 1, 100, None, 0))
    policy = QuotaPolicy(QuotaWorld(World(items), settings))
    return lambda: cycle(policy)


def one_queue(workloads: int) -> list[Manifest]:
    """A queue without a cohort, full of its own work."""
    return [
        *_base(),
        *_queue("main", workloads, "", local="ask", within="LowerPriority"),
        *(_workload(f"w-{number}", "", 1, 0, "main", number) for number in range(workloads)),
    ]


def cohort() -> list[Manifest]:
    """A hundred queues of nominal 50 that use 100 each, and the preemptor's of 5,000, empty."""
    items: list[Manifest] = [
        *_base(),
        *_queue("main", 5_000, "all", local="ask", within="LowerPriority", reclaim="Any"),
    ]
    for queue in range(100):
        items += _queue(f"q-{queue}", 50, "all")
        items += (_workload(f"w-{queue}-{n}", "", 1, 0, f"q-{queue}", queue * 100 + n) for n in range(100))
    return items


def hierarchy() -> list[Manifest]:
    """A root, ten cohorts, ten below each, ten queues in each of the hundred leaves."""
    items: list[Manifest] = [*_base(), _cohort("root", "")]
    number = 0
    for upper in range(10):
        items.append(_cohort(f"c-{upper}", "root"))
        for lower in range(10):
            leaf = f"c-{upper}-{lower}"
            items.append(_cohort(leaf, f"c-{upper}"))
            for queue in range(10):
                name = f"{leaf}-q-{queue}"
                items += _queue(name, 5, leaf)
                for place in range(10):
                    items.append(_workload(f"{name}-{place}", "", 1, 0, name, number))
                    number += 1
    items += _queue("main", 5_000, "c-0-0", local="ask", within="LowerPriority", reclaim="Any")
    return items


def _base() -> list[Manifest]:
    return [Namespace(metadata=ObjectMeta(name="default")), kueue.ResourceFlavor(metadata=ObjectMeta(name="main"))]


def _cohort(name: str, parent: str) -> kueue.Cohort:
    return kueue.Cohort(metadata=ObjectMeta(name=name), spec=kueue.CohortSpec(parent_name=parent))


def _queue(
    name: str,
    nominal: int,
    cohort_name: str,
    *,
    local: str = "",
    within: kueue.WithinQueuePolicy = "Never",
    reclaim: kueue.ReclaimPolicy = "Never",
) -> list[Manifest]:
    quota = kueue.FlavorResourceQuota(name=CPU, nominal_quota=Quantity(nominal * 10**9))
    group = kueue.ResourceGroup(
        covered_resources=(CPU,), flavors=(kueue.FlavorQuotas(name="main", resources=(quota,)),)
    )
    spec = kueue.ClusterQueueSpec(
        resource_groups=(group,),
        cohort_name=cohort_name,
        namespace_selector=LabelSelector(),
        preemption=kueue.Preemption(within_cluster_queue=within, reclaim_within_cohort=reclaim),
    )
    queue: list[Manifest] = [kueue.ClusterQueue(metadata=ObjectMeta(name=name), spec=spec)]
    if local:
        where = ObjectMeta(name=local, namespace="default")
        queue.append(kueue.LocalQueue(metadata=where, spec=kueue.LocalQueueSpec(cluster_queue=name)))
    return queue


def _workload(name: str, local: str, cpu: int, priority: int, admitted: str | None, second: int) -> kueue.QuotaWorkload:
    requests = Resources({CPU: cpu * 1000})
    container = Container(name="main", resources=ResourceRequirements(requests=requests))
    pod_set = kueue.PodSet(name="main", count=1, template=PodTemplate(spec=PodSpec(containers=(container,))))
    status = kueue.QuotaWorkloadStatus()
    if admitted is not None:
        assignment = kueue.PodSetAssignment(name="main", flavors={CPU: "main"}, resource_usage=requests, count=1)
        reserved = Condition(
            type="QuotaReserved", status="True", last_transition_time=START + timedelta(seconds=second)
        )
        admission = kueue.Admission(cluster_queue=admitted, pod_set_assignments=(assignment,))
        status = kueue.QuotaWorkloadStatus(admission=admission, conditions=(reserved,))
    return kueue.QuotaWorkload(
        metadata=ObjectMeta(name=name, namespace="default", uid=name, creation_timestamp=START),
        spec=kueue.QuotaWorkloadSpec(pod_sets=(pod_set,), queue_name=local, priority=priority),
        status=status,
    )
