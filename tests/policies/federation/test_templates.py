"""From policy to binding: what the binding of a template says, and what does not change it."""

from __future__ import annotations

import pytest

from reprieve.configuration import Settings
from reprieve.manifests.core import Controller, Job
from reprieve.manifests.karmada import ResourceBinding
from reprieve.manifests.scheduling import PriorityClass
from reprieve.model.names import unit_name
from reprieve.policies.federation.policy import FederationPolicy
from reprieve.policies.federation.propagation_policies import select_policy
from reprieve.policies.federation.templates import make_binding
from reprieve.world import World
from tests.builders.pods import Dict, container, manifest, metadata, priority_class
from tests.generators.federations import GATES, binding, deployment, world_of
from tests.generators.federations import propagation_policy as policy

ON = Settings(feature_gates=GATES)


def job() -> Dict:
    spec = {"parallelism": 4, "template": {"spec": {"containers": [container(gpu="1")]}}}
    return manifest("batch/v1", "Job", metadata("train", "shop"), spec=spec)


def template(world: World, name: str = "web") -> Controller:
    found = world.get(Controller, name, "shop", called="Deployment")
    assert isinstance(found, Controller)
    return found


def made(world: World, settings: Settings = ON) -> ResourceBinding:
    found = make_binding(world, settings, template(world))
    assert found is not None
    return found


def carried(world: World, settings: Settings = ON) -> tuple[int, str] | None:
    found = made(world, settings).spec.schedule_priority
    if found is None:
        return None
    assert found.priority is not None
    return found.priority, str(found.preemption_policy)


def test_the_binding_says_what_template_and_policy_say() -> None:
    placement = {"clusterAffinity": {"clusterNames": ["m1"]}}
    world = world_of(deployment(), policy("p", placement=placement, schedulerName="mine"))
    found = made(world)
    assert (found.kind, found.namespace, found.name) == ("ResourceBinding", "shop", "web-deployment")
    assert (found.spec.resource.kind, found.spec.resource.name, found.spec.replicas) == ("Deployment", "web", 3)
    assert found.spec.replica_requirements is not None
    assert found.spec.replica_requirements.resource_request.to_manifest() == {"cpu": "2", "memory": "1Gi"}
    assert (found.spec.scheduler_name, carried(world)) == ("mine", (0, "Never"))
    assert found.spec.placement is not None
    assert found.metadata.annotations["propagationpolicy.karmada.io/name"] == "p"


def test_a_job_has_as_many_replicas_as_it_runs_at_once() -> None:
    world = world_of(job(), policy("p", kind="Job"))
    template_of_job: Job = world.get(Job, "train", "shop")  # type: ignore[assignment]
    found = make_binding(world, ON, template_of_job)
    assert found is not None
    assert (found.name, found.spec.replicas) == ("train-job", 4)


def test_a_template_that_no_policy_means_has_no_binding() -> None:
    world = world_of(deployment())
    assert make_binding(world, ON, template(world)) is None


HIGH, LOW = priority_class("high", 100), priority_class("low", 1, policy="Never")
DEFAULT = priority_class("default", 7, default=True)
NEVER_ZERO = (0, "Never")
KUBE, POD, FEDERATED = "KubePriorityClass", "PodPriorityClass", "FederatedPriorityClass"
PRIORITIES = [
    ("the named class", [HIGH], KUBE, "high", None, (100, "PreemptLowerPriority")),
    ("a class that never preempts", [LOW], KUBE, "low", None, (1, "Never")),
    ("no name, the default", [HIGH, DEFAULT], KUBE, None, None, (7, "PreemptLowerPriority")),
    ("a missing class, the default", [DEFAULT], KUBE, "gone", None, (7, "PreemptLowerPriority")),
    ("a missing class, no default", [HIGH], KUBE, "gone", None, NEVER_ZERO),
    ("the class of the pods", [HIGH], POD, None, "high", (100, "PreemptLowerPriority")),
    ("a missing class of the pods, the default", [DEFAULT], POD, None, "gone", (7, "PreemptLowerPriority")),
    ("pods without a class, no default", [HIGH], POD, None, None, NEVER_ZERO),
    ("a class that no API defines yet", [HIGH, DEFAULT], FEDERATED, "high", None, NEVER_ZERO),
]


@pytest.mark.parametrize(
    ("classes", "source", "name", "of_pods", "want"), [case[1:] for case in PRIORITIES], ids=[c[0] for c in PRIORITIES]
)
def test_the_binding_carries_the_priority_of(
    classes: list[Dict], source: str, name: str | None, of_pods: str | None, want: tuple[int, str]
) -> None:
    asks = policy("p", source=source, class_name=name)
    assert carried(world_of(*classes, deployment(priority=of_pods), asks)) == want


def test_without_the_gate_the_binding_carries_no_priority() -> None:
    world = world_of(HIGH, deployment(), policy("p", source=KUBE, class_name="high"))
    assert carried(world, Settings()) is None


def test_a_class_that_changes_or_goes_does_not_change_a_binding() -> None:
    world = world_of(HIGH, deployment(), policy("p", source=KUBE, class_name="high"))
    world.put(made(world))
    for change in (priority_class("high", 5), None):
        if change is None:
            world.delete(PriorityClass, "high")
        else:
            world.put(next(iter(world_of(change).all(PriorityClass))))
        assert carried(world) == (100, "PreemptLowerPriority")
        found = FederationPolicy(world, ON).federation.find(unit_name("ResourceBinding", "shop", "web-deployment"))
        assert found is not None
        assert found.priority == 100


def test_a_policy_that_names_another_class_does_change_it() -> None:
    world = world_of(HIGH, LOW, deployment(), policy("p", source=KUBE, class_name="high"))
    world.put(made(world))
    renamed = world_of(policy("p", source=KUBE, class_name="low"))
    for item in renamed.all(type(select_policy(world, template(world)))):
        world.put(item)
    assert carried(world) == (1, "Never")


def test_a_binding_that_exists_keeps_its_clusters() -> None:
    placed = binding("web-deployment", on={"m1": 3}, replicas=3)
    placed["metadata"]["namespace"] = "shop"
    world = world_of(deployment(), policy("p"), placed)
    assert [target.name for target in made(world).spec.clusters] == ["m1"]
