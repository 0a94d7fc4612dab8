"""Pods keep to where their volumes can be used, and are left alone where that is not this scheduler's to decide."""

from __future__ import annotations

from typing import Any

import pytest

import reprieve
from tests.builders.pods import Dict, manifest, metadata, node, pod

BOUND = {"pv.kubernetes.io/bind-completed": "yes"}
ZONE = "topology.kubernetes.io/zone"


def claim(name: str = "data", *, volume: str = "", storage_class: str = "slow", mode: str = "ReadWriteOnce") -> Dict:
    spec = {"accessModes": [mode], "storageClassName": storage_class, **({"volumeName": volume} if volume else {})}
    return manifest(
        "v1", "PersistentVolumeClaim", metadata(name, "default", annotations=BOUND if volume else None), spec=spec
    )


def volume(name: str = "disk", *, zone: str = "", labels: Dict | None = None, driver: str = "") -> Dict:
    term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}
    affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}} if zone else {}
    csi = {"csi": {"driver": driver, "volumeHandle": name}} if driver else {}
    return manifest("v1", "PersistentVolume", metadata(name, labels=labels), spec={**affinity, **csi})


def storage_class(mode: str, name: str = "slow") -> Dict:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": "none",
        "volumeBindingMode": mode,
    }


def csi_node(name: str, driver: str, count: int | None) -> Dict:
    allocatable = {"allocatable": {"count": count}} if count is not None else {}
    drivers = [{"name": driver, "nodeID": name, **allocatable}]
    return manifest("storage.k8s.io/v1", "CSINode", metadata(name), spec={"drivers": drivers})


def user(name: str = "p", *claims: str, **more: Any) -> Dict:
    volumes = [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims or ("data",)]
    return pod(name, cpu="1", spec={"volumes": volumes, **more.pop("spec", {})}, **more)


def decision(*objects: Dict, preemptor: str = "Pod/default/p", **config: Any) -> Any:
    return reprieve.plan(list(objects), preemptor=preemptor, config=config).decisions[0]


def two_zones() -> tuple[Dict, Dict]:
    return node("n1", labels={ZONE: "east"}), node("n2", labels={ZONE: "west"})


def test_a_bound_claim_keeps_its_pod_to_where_its_volume_is() -> None:
    made = decision(*two_zones(), claim(volume="disk"), volume(zone="west"), user())
    assert (made.outcome, made.domain) == ("Fits", "n2")


def test_nobody_makes_way_on_nodes_where_the_volume_is_not() -> None:
    full = pod("full", cpu="4", node="n1", priority=-1)
    taken = pod("taken", cpu="4", node="n2", priority=100)
    made = decision(*two_zones(), full, taken, claim(volume="disk"), volume(zone="west"), user(priority=10))
    assert made.outcome == "Unschedulable"
    assert "1 is not where its volumes can be used" in made.message


def test_zones_in_the_labels_of_older_volumes_count() -> None:
    old = volume(labels={"failure-domain.beta.kubernetes.io/zone": "west__north"})
    assert decision(*two_zones(), claim(volume="disk"), old, user()).domain == "n2"


def test_a_cluster_without_zones_takes_volumes_with_them() -> None:
    assert decision(node(), claim(volume="disk"), volume(labels={ZONE: "west"}), user()).outcome == "Fits"


LEFT_ALONE: dict[str, tuple[list[Dict], str]] = {
    "missing": ([], "its PersistentVolumeClaim data does not exist: it is left alone until that is created"),
    "leaving": (
        [{**claim(volume="disk"), "metadata": metadata("data", "default", deleted="2026-01-01T12:00:00Z")}, volume()],
        "its PersistentVolumeClaim data is being deleted",
    ),
    "unbound": (
        [claim(), storage_class("Immediate")],
        "is not bound to a volume: it is left alone until that is bound",
    ),
    "only named": (
        [{**claim(), "spec": {"volumeName": "disk"}}, volume()],
        "is not bound to a volume: it is left alone until that is bound",
    ),
    "waits": (
        [claim(), storage_class("WaitForFirstConsumer")],
        "waits for its pod to choose a volume (StorageClass slow: WaitForFirstConsumer)",
    ),
    "volume gone": ([claim(volume="disk")], "is bound to PersistentVolume disk, which does not exist"),
    "in use": (
        [claim(volume="disk", mode="ReadWriteOncePod"), volume(), user("other", node="n1")],
        "is for one pod (ReadWriteOncePod), and Pod/default/other has it",
    ),
}


@pytest.mark.parametrize("case", LEFT_ALONE)
def test_a_pod_whose_claim_cannot_be_honoured_is_left_alone_and_preempts_nobody(case: str) -> None:
    objects, sentence = LEFT_ALONE[case]
    made = decision(node("n1"), node("n2"), pod("low", cpu="4", node="n2", priority=-1), *objects, user(priority=10))
    assert made.outcome == "Unschedulable"
    assert not made.victims
    assert made.message.startswith("Pod/default/p is unschedulable: ")
    assert sentence in made.message


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ({"resourceClaims": [{"name": "gpu"}]}, "it asks for devices by resource claims (gpu)"),
        ({"volumes": [{"name": "d", "rbd": {"image": "i"}}]}, "its volume d names a disk itself"),
        ({"volumes": [{"name": "tmp", "ephemeral": {}}]}, "its PersistentVolumeClaim p-tmp does not exist"),
    ],
)
def test_what_this_scheduler_does_not_do_is_left_to_another(spec: Dict, sentence: str) -> None:
    made = decision(node(), pod("p", cpu="1", spec=spec))
    assert made.outcome == "Unschedulable"
    assert sentence in made.message


def test_volumes_that_matter_to_no_scheduler_change_nothing() -> None:
    volumes = [{"name": "a", "emptyDir": {}}, {"name": "b", "projected": {"sources": []}}]
    assert decision(node(), pod("p", cpu="1", spec={"volumes": volumes})).outcome == "Fits"


def test_nodes_that_limit_volumes_of_its_driver_are_out() -> None:
    limits = csi_node("n1", "ebs", 25), csi_node("n2", "ebs", None)
    bound = claim(volume="disk"), volume(driver="ebs")
    assert decision(node("n1"), node("n2"), *limits, *bound, user()).domain == "n2"
    made = decision(node("n1"), limits[0], *bound, user())
    assert made.outcome == "Unschedulable"
    assert "is limited in the volumes of a driver that it needs" in made.message


def test_of_a_gang_only_those_are_placed_whose_claims_are_bound_and_the_others_say_why() -> None:
    group = manifest(
        "scheduling.k8s.io/v1beta1",
        "PodGroup",
        metadata("g", "default"),
        spec={"schedulingPolicy": {"gang": {"minCount": 2}}},
    )
    spec = {"schedulingGroup": {"podGroupName": "g"}}
    objects = [*two_zones(), group, claim(volume="disk"), volume(zone="west"), user("m1", spec=spec)]
    gates = {"GenericWorkload": True}
    made = decision(*objects, user("m2", "gone", spec=spec), preemptor="PodGroup/default/g", featureGates=gates)
    assert made.outcome == "Unschedulable"
    assert "Pod/default/m2 is left out: its PersistentVolumeClaim gone does not exist" in made.message
    made = decision(*objects, user("m2", spec=spec), preemptor="PodGroup/default/g", featureGates=gates)
    assert made.placement == {"Pod/default/m1": "n2", "Pod/default/m2": "n2"}


def test_of_a_gang_one_pod_has_a_claim_that_is_for_one() -> None:
    group = manifest(
        "scheduling.k8s.io/v1beta1",
        "PodGroup",
        metadata("g", "default"),
        spec={"schedulingPolicy": {"gang": {"minCount": 1}}},
    )
    spec = {"schedulingGroup": {"podGroupName": "g"}}
    bound = claim(volume="disk", mode="ReadWriteOncePod"), volume()
    members = user("m1", spec=spec), user("m2", spec=spec)
    made = decision(
        node(), group, *bound, *members, preemptor="PodGroup/default/g", featureGates={"GenericWorkload": True}
    )
    assert list(made.placement) == ["Pod/default/m1"]
