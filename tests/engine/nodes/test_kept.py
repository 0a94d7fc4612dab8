"""What is kept for a shape of pod is renewed when something happens that matters to it."""

from __future__ import annotations

from typing import Any

from reprieve.configuration import Settings
from reprieve.engine.nodes.ledger import NodeLedger
from reprieve.engine.plan import Plan
from reprieve.engine.preemption import decide
from reprieve.manifests.core import Node
from reprieve.manifests.loading import load_objects
from reprieve.manifests.pods import Pod
from reprieve.policies.pod import PodPolicy
from reprieve.world import World, microseconds
from tests.builders.pods import budget, node, pod, pod_group, priority_class
from tests.reference.cluster import REQUIRED, moment

Dict = dict[str, Any]
ANNOTATION = "preemption-toleration.scheduling.x-k8s.io/"
GUARANTEED = priority_class(
    "guaranteed",
    0,
    annotations={f"{ANNOTATION}minimum-preemptable-priority": "100", f"{ANNOTATION}toleration-seconds": "600"},
)


class Cluster:
    """A world that changes, and a policy that is kept."""

    def __init__(self, *objects: Dict, gates: dict[str, bool] | None = None) -> None:
        self.world = World()
        self.put(*objects)
        self.policy = PodPolicy(NodeLedger(self.world, Settings(validate=True, feature_gates=gates or {})))

    def put(self, *objects: Dict) -> None:
        for entry in load_objects(objects).entries:
            self.world.put(entry.manifest)

    def decide(self, name: str = "p", now: str = "2026-01-01T12:00:00Z") -> Plan:
        return decide(self.policy, self.world.pods["default", name], microseconds(moment(now)))


def guaranteed(name: str, scheduled: str) -> Dict:
    condition = {"type": "PodScheduled", "status": "True", "lastTransitionTime": scheduled}
    return pod(name, node="n1", priority_class="guaranteed", cpu="4", status={"conditions": [condition]})


def test_a_cordon_or_a_taint_takes_a_node_out_though_its_labels_are_the_same() -> None:
    cluster = Cluster(node(), pod("p"))
    assert cluster.decide().outcome == "Fits"
    cluster.put(node(unschedulable=True))
    assert cluster.decide().outcome == "Unschedulable"
    cluster.put(node(taints=[{"key": "dedicated", "effect": "NoSchedule"}]))
    assert cluster.decide().outcome == "Unschedulable"
    cluster.put(node())
    assert cluster.decide().outcome == "Fits"


def test_a_guarantee_that_is_over_before_its_pod_is_seen_does_not_hold() -> None:
    cluster = Cluster(node(), GUARANTEED, pod("p", priority=10, cpu="4"))
    assert cluster.decide(now="2026-01-01T12:00:00Z").outcome == "Fits"
    cluster.put(guaranteed("late", scheduled="2026-01-01T12:01:00Z"))
    assert cluster.decide(now="2026-01-01T13:00:00Z").outcome == "Preempt"


def test_a_guarantee_ends_although_nothing_else_happens() -> None:
    cluster = Cluster(node(), GUARANTEED, pod("p", priority=10, cpu="4"), guaranteed("a", "2026-01-01T12:00:00Z"))
    assert cluster.decide(now="2026-01-01T12:09:59Z").outcome == "Wait"
    assert cluster.decide(now="2026-01-01T12:10:00Z").outcome == "Preempt"


def test_a_guarantee_holds_again_when_the_clock_is_set_back() -> None:
    cluster = Cluster(node(), GUARANTEED, pod("p", priority=10, cpu="4"), guaranteed("a", "2026-01-01T12:00:00Z"))
    assert cluster.decide(now="2026-01-01T12:30:00Z").outcome == "Preempt"
    assert cluster.decide(now="2026-01-01T12:05:00Z").outcome == "Wait"


def test_the_first_pod_that_keeps_others_away_is_noticed() -> None:
    cluster = Cluster(node(labels={"host": "n1"}), pod("p"))
    assert cluster.decide().outcome == "Fits"
    alone = {"affinity": {"podAntiAffinity": {REQUIRED: [{"topologyKey": "host", "labelSelector": {}}]}}}
    cluster.put(pod("shy", node="n1", spec=alone))
    assert cluster.decide().outcome == "Unschedulable"


def test_budgets_are_counted_again_on_a_node_with_fewer_pods_than_others() -> None:
    web = {"app": "web"}
    crowd = [pod(f"crowd{number}", node="n2", priority=20, cpu="1") for number in range(4)]
    cluster = Cluster(node("n1"), node("n2"), budget("web", web, allowed=0), *crowd, pod("p", priority=10, cpu="4"))
    cluster.put(pod("a", node="n1", priority=20, cpu="1"))
    assert cluster.decide().outcome == "Unschedulable"
    cluster.put(pod("a", node="n1", priority=0, cpu="1", labels=web))
    plan = cluster.decide()
    assert [(victim.unit, victim.pdb_violation) for victim in plan.victims] == [("Pod/default/a", True)]


def test_a_pod_does_not_stand_in_its_own_way_but_in_that_of_its_like() -> None:
    cluster = Cluster(
        node(), pod("p", priority=10, cpu="4", nominated="n1"), pod("like", priority=10, cpu="4", nominated="n1")
    )
    for _ in range(2):
        assert cluster.decide("p").outcome == "Unschedulable"
        assert cluster.decide("like").outcome == "Unschedulable"
    cluster.put(pod("like", priority=10, cpu="4"))
    assert cluster.decide("p").outcome == "Fits"
    assert cluster.decide("like").outcome == "Unschedulable"
    assert cluster.decide("p").outcome == "Fits"


def test_a_pod_that_came_before_its_node_takes_its_room_there() -> None:
    cluster = Cluster(pod("a", node="n1", priority=20, cpu="4"), pod("p", priority=10, cpu="1"))
    assert cluster.decide().outcome == "Unschedulable"
    cluster.put(node())
    assert cluster.decide().outcome == "Unschedulable"
    cluster.put(node(cpu="5"))
    assert cluster.decide().outcome == "Fits"


def test_a_pod_of_a_group_with_a_port_that_comes_and_goes_at_once_leaves_nothing_behind() -> None:
    cluster = Cluster(node(), pod_group("team", whole=True), gates={"GenericWorkload": True})
    port = {"containers": [{"name": "main", "ports": [{"containerPort": 80, "hostPort": 80}]}]}
    cluster.put(pod("p", spec=port))
    assert cluster.decide().outcome == "Fits"
    cluster.put(pod("a", node="n1", group="team", spec=port))
    cluster.world.delete(Pod, "a", "default")
    assert cluster.decide().outcome == "Fits"


def test_a_pod_of_a_group_that_came_just_before_its_node_went_is_there_when_the_node_returns() -> None:
    cluster = Cluster(node(cpu="1"), pod_group("team", whole=True), pod("p", cpu="1"), gates={"GenericWorkload": True})
    assert cluster.decide().outcome == "Fits"
    cluster.put(pod("a", node="n1", group="team", cpu="1"))
    cluster.world.delete(Node, "n1")
    assert cluster.decide().outcome == "Unschedulable"
    cluster.put(node(cpu="1"))
    assert cluster.decide().outcome == "Unschedulable"
