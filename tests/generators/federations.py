"""Member clusters, policies and bindings for tests, as a user would write them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from reprieve.configuration import Settings
from reprieve.engine.plan import Plan
from reprieve.engine.preemption import decide
from reprieve.manifests.loading import load_objects
from reprieve.model.names import unit_name
from reprieve.policies.federation.bindings import BindingFacts
from reprieve.policies.federation.policy import FederationPolicy
from reprieve.world import World
from tests.builders.pods import Dict, container, manifest, metadata, resources, without_nothing

GATES = {"PriorityBasedScheduling": True, "PriorityBasedPreemptiveScheduling": True}
DIVIDED: Dict = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}
DUPLICATED: Dict = {"replicaSchedulingType": "Duplicated"}


def weighted(*rules: tuple[str, int]) -> Dict:
    """Static weights by cluster; without any, dynamic ones."""
    static = [{"targetCluster": {"clusterNames": [name]}, "weight": weight} for name, weight in rules]
    preference: Dict = {"staticWeightList": static} if rules else {"dynamicWeight": "AvailableReplicas"}
    return {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": "Weighted",
        "weightPreference": preference,
    }


def cluster(name: str = "m1", *, cpu: str = "10", used: str = "0", **fields: Any) -> Dict:
    """A ready member cluster; `gpu` and `gpu_used` where it has some, anything else goes into its spec."""
    gpu, gpu_used = fields.pop("gpu", None), fields.pop("gpu_used", None)
    labels, ready = fields.pop("labels", None), fields.pop("ready", True)
    status = {
        "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
        "resourceSummary": {
            "allocatable": resources(cpu=cpu, gpu=gpu),
            "allocated": resources(cpu=used, gpu=gpu_used),
        },
    }
    meta = metadata(name, labels=labels)
    return manifest("cluster.karmada.io/v1alpha1", "Cluster", meta, spec=fields, status=status)


def binding(
    name: str,
    *,
    priority: int | None = None,
    policy: str | None = "PreemptLowerPriority",
    on: dict[str, int] | None = None,
    replicas: int = 1,
    kind: str = "ResourceBinding",
    scheduling: Dict | None = DIVIDED,
    spread: list[Dict] | None = None,
    reach: list[str] | None = None,
    placement: Dict | None = None,
    created: str | None = None,
    spec: Dict | None = None,
    status: Dict | None = None,
    **amounts: Any,
) -> Dict:
    """A binding: scheduled when it is `on` clusters, with so many replicas each; pending when not."""
    meta = metadata(name, "default" if kind == "ResourceBinding" else None, created=created)
    placed = without_nothing(
        clusterAffinity={"clusterNames": reach} if reach else None,
        replicaScheduling=scheduling,
        spreadConstraints=spread,
    )
    whole = without_nothing(
        resource={"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": name},
        replicas=replicas,
        replicaRequirements={"resourceRequest": resources(**amounts)} if amounts else None,
        placement={**placed, **(placement or {})},
        clusters=[{"name": cluster, "replicas": count} for cluster, count in (on or {}).items()],
        schedulePriority=without_nothing(priority=priority, preemptionPolicy=policy) if priority is not None else None,
    )
    return manifest("work.karmada.io/v1alpha2", kind, meta, spec={**whole, **(spec or {})}, status=status)


STYLES = [DIVIDED, DIVIDED, DUPLICATED, weighted(), weighted(("m0", 2), ("m1", 1))]
SCHEDULERS = ["default-scheduler"] * 4 + ["other"]


@st.composite
def federations(draw: st.DrawFn, *, styles: list[Dict] = STYLES, most_replicas: int = 4) -> list[Dict]:
    """Up to three clusters, each filled by bindings of all kinds, and one that waits."""
    count = draw(st.integers(1, 3))
    used = [[0, 0] for _ in range(count)]
    objects: list[Dict] = []
    for number in range(draw(st.integers(2, 8))):
        cpu, gpu = draw(st.integers(0, 6)), draw(st.sampled_from([0, 0, 1]))
        where = draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=2, unique=True))
        for home in where:
            used[home][0] += cpu
            used[home][1] += gpu
        objects.append(
            binding(
                f"b{number}",
                priority=draw(st.integers(-2, 6)),
                policy=draw(st.sampled_from(["Never", "PreemptLowerPriority"])),
                cpu=str(cpu),
                gpu=str(gpu),
                replicas=len(where),
                on={f"m{home}": 1 for home in where},
                kind=draw(st.sampled_from(["ResourceBinding"] * 5 + ["ClusterResourceBinding"])),
                spec={"schedulerName": draw(st.sampled_from(SCHEDULERS))},
            )
        )
    for home, (cpu, gpu) in enumerate(used):
        room = draw(st.integers(0, 3))
        fields: Any = {"gpu": str(gpu + draw(st.integers(0, 1))), "gpu_used": str(gpu)}
        objects.append(cluster(f"m{home}", cpu=str(cpu + room), used=str(cpu), **fields))
    pending = binding(
        "high",
        priority=draw(st.integers(0, 7)),
        cpu=str(draw(st.integers(0, 6))),
        gpu=str(draw(st.sampled_from([0, 0, 0, 1]))),
        replicas=draw(st.integers(1, most_replicas)),
        scheduling=draw(st.sampled_from(styles)),
    )
    return [*objects, pending]


def deployment(name: str = "web", *, priority: str | None = None, labels: dict[str, str] | None = None) -> Dict:
    pods = without_nothing(containers=[container(cpu="2", memory="1Gi")], priorityClassName=priority)
    app = {"app": name}
    template = {"metadata": {"labels": app}, "spec": pods}
    spec = {"replicas": 3, "selector": {"matchLabels": app}, "template": template}
    return manifest("apps/v1", "Deployment", metadata(name, "shop", labels=labels), spec=spec)


def propagation_policy(name: str, *, everywhere: bool = False, kind: str = "Deployment", **fields: Any) -> Dict:
    """A policy; `target`, `labels` say what it selects, `source` and `class_name` its priority."""
    api = "batch/v1" if kind == "Job" else "apps/v1"
    labels = fields.pop("labels", None)
    selector = without_nothing(
        apiVersion=api,
        kind=kind,
        name=fields.pop("target", None),
        namespace=fields.pop("namespace", None),
        labelSelector={"matchLabels": labels} if labels else None,
    )
    source, class_name = fields.pop("source", None), fields.pop("class_name", None)
    asked = without_nothing(priorityClassSource=source, priorityClassName=class_name)
    spec = without_nothing(resourceSelectors=[selector], schedulePriority=asked, **fields)
    return manifest(
        "policy.karmada.io/v1alpha1",
        "ClusterPropagationPolicy" if everywhere else "PropagationPolicy",
        metadata(name, None if everywhere else "shop"),
        spec=spec,
    )


def world_of(*objects: Dict) -> World:
    loaded = load_objects(objects)
    assert not loaded.errors
    return World(loaded.objects)


def policy_of(*objects: Dict, gates: dict[str, bool] | None = None, **settings: Any) -> FederationPolicy:
    return FederationPolicy(world_of(*objects), Settings(feature_gates=GATES if gates is None else gates, **settings))


def asked(policy: FederationPolicy, name: str, kind: str = "ResourceBinding") -> BindingFacts:
    found = policy.federation.find(unit_name(kind, "default" if kind == "ResourceBinding" else "", name))
    assert found is not None
    return found


def decided(policy: FederationPolicy, name: str, kind: str = "ResourceBinding") -> Plan:
    return decide(policy, asked(policy, name, kind), now=0)
