"""Claims in words, word for word: what is short, by how much, and which rule protects whom."""

from __future__ import annotations

import pytest

from reprieve import texts
from reprieve.engine.claims import (
    AtMaximum,
    BudgetRespected,
    ChecksUnusable,
    Claim,
    ClusterOut,
    ClusterShort,
    FlavorMissing,
    FlavorUnsuited,
    GroupDisagrees,
    GroupIncomplete,
    GroupTooVaried,
    GuaranteeUsed,
    InReach,
    Insufficient,
    KeptOut,
    LeftAlone,
    NamespaceNotTaken,
    NoGuarantee,
    NoNodes,
    NotCovered,
    NotReachable,
    NotTogether,
    Protected,
    QueueMissing,
    QueueStopped,
    QueueTerminating,
    QuotaShort,
    TooSmall,
    TopologyMissing,
    TopologyShort,
    TopologyUnsuited,
    WorkloadsStay,
)
from reprieve.engine.queue_claims import AtLimit
from reprieve.model.names import UnitName

P = "Pod/default/p"
W = "Workload/default/w"
HALF_PAST = 1_767_270_600_000_000
TWO_EQUAL, TOLERANT = Protected("EqualPriority", 2), Protected("Toleration", 1, HALF_PAST)
HUGE = TooSmall(nodes=3, node="vm", resource="cpu", needed=64000, has=2000)
FULL = Insufficient(nodes=3, resource="cpu", needed=4000, free=2000, protected=(TWO_EQUAL, TOLERANT))
SHORT = QuotaShort(
    queue="team-a",
    flavor="default",
    resource="cpu",
    needed=1000,
    used=2000,
    nominal=2000,
    free=0,
    most=4000,
    cohort="c",
)

ON_NODES: list[tuple[list[Claim], str]] = [
    ([NoNodes()], "there are no nodes"),
    ([HUGE], "it needs 64 cpu; the largest node, vm, has 2: it can never fit here"),
    (
        [TooSmall(node="vm", resource="cpu", needed=64000, has=2000)],
        "it needs 64 cpu; the only node, vm, has 2: it can never fit here",
    ),
    (
        [TooSmall(nodes=3, node="vm", resource="nvidia.com/gpu", needed=1, has=0)],
        "it needs 1 nvidia.com/gpu; none of the 3 nodes has any: it can never fit here",
    ),
    (
        [FULL],
        "it needs 4 cpu: 3 nodes have at most 2 free, and none of their pods may be preempted "
        "(2 are of equal priority, 1 tolerates it until 2026-01-01T12:30:00Z)",
    ),
    (
        [NotReachable(nodes=2, why="Cordoned"), HUGE],
        "of 5 nodes, 2 are cordoned; 3 are too small (the largest, vm, has 2 of the 64 cpu needed)",
    ),
    ([NotReachable(nodes=1, why="Cordoned")], "the only node is cordoned"),
    ([NotReachable(nodes=2, why="Taint")], "all 2 nodes are tainted, and the pod does not tolerate it"),
]
ONE_NODE: list[tuple[Claim, str]] = [
    (
        Insufficient(resource="cpu", needed=4000, free=1000, candidates=2, freed=3000, protected=(TWO_EQUAL,)),
        "has insufficient cpu: 3 of the 4 needed would be free even without both pods that may be preempted "
        "(of the others, 2 are of equal priority)",
    ),
    (
        Insufficient(resource="cpu", needed=4000, free=1000, nominated=1),
        "has insufficient cpu: 1 of the 4 needed is free, and room is kept for 1 nominated pod",
    ),
    (
        Insufficient(resource="cpu", needed=4000, free=2000, asked=False),
        "has insufficient cpu: 2 of the 4 needed are free",
    ),
    (
        Insufficient(resource="pods", needed=1, free=0, protected=(TWO_EQUAL,)),
        "has too many pods, and none of its pods may be preempted (2 are of equal priority)",
    ),
    (
        Insufficient(resource="pods", needed=1, free=0, candidates=1),
        "has too many pods even without the one pod that may be preempted",
    ),
    (KeptOut(by="HostPort"), "is not possible: a host port that it needs is taken there"),
    (
        LeftAlone(missing=("gone",), pods=(UnitName("Pod/default/a"),)),
        "is left alone, because PriorityClass gone of a pod there does not exist",
    ),
    (BudgetRespected(pods=1), "is only to be had with a PDB violation, and budgets are respected"),
    (
        NotTogether(rule="NeverBelowGuarantee", queue="root.a"),
        "is not to be freed: the pods there that may be preempted may not all go: "
        "root.a would be left below its guarantee (law 2)",
    ),
    (
        NotTogether(rule="OneSide"),
        "is not to be freed: the pods there that may be preempted may not all go: "
        "victims are from inside the queue whose guarantee is claimed or from outside, never both (law 4)",
    ),
    (
        NotTogether(rule="AboveGuarantee", queue="root.a"),
        "is not to be freed: without the pods that would have to go, "
        "root.a would still not have enough left of its guarantee (law 4)",
    ),
    (
        ClusterShort(cluster="m1", replicas=2, missing={"cpu": 3000}, candidates=1),
        "has insufficient resources: it is short of 3 cpu for 2 replicas, "
        "even without the one binding that may be preempted",
    ),
    (ClusterOut(cluster="m1", why="NotReady"), "is not ready"),
]
QUEUES: list[tuple[str, str]] = [
    (
        texts.queues.unschedulable(
            P,
            [
                AtMaximum(queue="root.a", resource="cpu", used=4000, maximum=4000, needed=1000),
                InReach(top="root.a", candidates=0, protected=(Protected("WithinGuarantee", 2),)),
            ],
        ),
        "Pod/default/p is unschedulable: root.a uses 4 of its maximum of 4 cpu, and it needs 1 more; "
        "no pod may be preempted: 2 run in queues that are not over their guarantee (law 5).",
    ),
    (
        texts.queues.above_guarantee(
            P,
            [GuaranteeUsed(queue="root.a", asking="root.a", resource="cpu", used=7000, guaranteed=1000, needed=1000)],
        ),
        "Pod/default/p is unschedulable: it may not preempt: root.a uses 7 cpu, above its guarantee of 1, "
        "and queues preempt only while they are under their guarantee (law 4).",
    ),
    (
        texts.queues.above_guarantee(
            P,
            [GuaranteeUsed(queue="root", asking="root.a", resource="pods", used=3, guaranteed=2, needed=1)],
        ),
        "Pod/default/p is unschedulable: it may not preempt: root.a uses 3 pods, above the 2 that root guarantees, "
        "and queues preempt only while they are under their guarantee (law 4).",
    ),
    (
        texts.queues.at_maximum(AtMaximum(queue="root.a", resource="cpu", used=5000, maximum=4000, needed=1000)),
        "root.a uses 5 cpu, above its maximum of 4, and it needs 1 more",
    ),
    (
        texts.queues.limit(
            AtLimit(queue="root.a", holder="user", name="sue", resource="cpu", used=3000, maximum=2000, needed=1000)
        ),
        "user sue uses 3 cpu, above the limit of 2 in root.a, and it needs 1 more",
    ),
    (
        texts.queues.above_guarantee(P, [NoGuarantee(queue="root.a")]),
        "Pod/default/p is unschedulable: it may not preempt: root.a has no guarantee of what it asks for, "
        "and queues preempt only while they are under their guarantee (law 4).",
    ),
    (
        texts.queues.above_guarantee(
            P,
            [GuaranteeUsed(queue="root.a", asking="root.a", resource="cpu", used=2000, guaranteed=2000, needed=1000)],
        ),
        "Pod/default/p is unschedulable: it may not preempt: root.a uses 2 of its guaranteed 2 cpu, "
        "and queues preempt only while they are under their guarantee (law 4).",
    ),
]
QUOTA: list[tuple[list[Claim], str]] = [
    ([SHORT], "2 of 2 cpu on default used in team-a, 1 needed; nothing to borrow in cohort c"),
    (
        [WorkloadsStay(candidates=0, protected=(Protected("PreemptionPolicy", 2),))],
        "no workload may be preempted (2 are not allowed by its preemption policy)",
    ),
    ([NotCovered(queue="team-a", resources=("nvidia.com/gpu",))], "team-a has no quota for nvidia.com/gpu"),
    (
        [FlavorUnsuited(flavor="spot", pod_set="main")],
        "pod set main may not run on spot, by its taints or labels",
    ),
    (
        [TopologyUnsuited(flavor="spot", pod_set="main")],
        "spot has not the topology that pod set main asks for",
    ),
    (
        [TopologyShort(flavor="spot", pod_set="main", level="rack", needed=4, most=3)],
        "one domain of rack has place for 3 of 4 pods of main at most",
    ),
    (
        [TopologyShort(flavor="spot", pod_set="main", level="", needed=1, most=0, idle=True)],
        "the nodes of spot have place for 0 of 1 pod of main at most, also without any other workload",
    ),
]
NO_QUEUE: list[tuple[Claim, str]] = [
    (QueueMissing(queue_kind="LocalQueue", queue=""), "it names no LocalQueue"),
    (QueueMissing(queue_kind="LocalQueue", queue="a"), "the LocalQueue a does not exist"),
    (QueueMissing(queue_kind="ClusterQueue", queue="a"), "the ClusterQueue a does not exist"),
    (
        QueueStopped(queue_kind="ClusterQueue", queue="a", policy="Hold"),
        "the ClusterQueue a is stopped (stopPolicy Hold)",
    ),
    (
        ChecksUnusable(queue="a", missing=("x",), inactive=("y", "z")),
        "the ClusterQueue a admits nobody: the AdmissionCheck x does not exist; "
        "no controller has made the AdmissionCheck y and z active",
    ),
    (QueueTerminating(queue="a"), "the ClusterQueue a is being deleted"),
    (
        FlavorMissing(queue="a", flavors=("x",)),
        "the ClusterQueue a admits nobody: the ResourceFlavor x does not exist",
    ),
    (
        TopologyMissing(queue="a", topologies=("x",)),
        "the ClusterQueue a admits nobody: the Topology x does not exist",
    ),
    (GroupIncomplete(there=2, total=3), "its group has 2 of its 3 pods, and asks for quota when all of them are there"),
    (GroupDisagrees(), "its pods do not name the same queue and the same number of pods"),
    (GroupTooVaried(shapes=9, most=8), "its pods have 9 different shapes, and at most 8 can be queued together"),
    (
        NamespaceNotTaken(queue="a", namespace="n"),
        "the ClusterQueue a does not take workloads of the namespace n (namespaceSelector)",
    ),
]


@pytest.mark.parametrize(("claims", "want"), ON_NODES)
def test_why_no_node_will_do(claims: list[Claim], want: str) -> None:
    assert texts.pods.unschedulable(P, claims) == f"{P} is unschedulable: {want}."


@pytest.mark.parametrize(("claim", "want"), ONE_NODE)
def test_why_a_place_is_not_feasible(claim: Claim, want: str) -> None:
    assert texts.claims.of_domain(claim) == want


@pytest.mark.parametrize(("said", "want"), QUEUES)
def test_a_maximum_is_called_a_maximum_and_a_law_by_what_it_says(said: str, want: str) -> None:
    assert said == want


@pytest.mark.parametrize(("claims", "want"), QUOTA)
def test_why_there_is_no_quota(claims: list[Claim], want: str) -> None:
    assert texts.quota.no_place(claims) == want


@pytest.mark.parametrize(("claim", "want"), NO_QUEUE)
def test_each_way_to_have_no_queue_has_a_sentence_of_its_own(claim: Claim, want: str) -> None:
    assert texts.quota.no_queue(W, claim) == f"{W} stays pending: {want}"
