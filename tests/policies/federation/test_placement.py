"""Where bindings go without anybody making way: reach, division of replicas, spread constraints."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reprieve.policies.federation.division import aggregated, by_room, weighted
from tests.builders.pods import Dict
from tests.generators import federations
from tests.generators.federations import DUPLICATED, asked, binding, cluster, decided, policy_of

ROOMS = st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 20))
WEIGHTS = st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 9)).filter(lambda found: sum(found.values()) > 0)


def placed(*objects: Dict) -> dict[str, int] | None:
    policy = policy_of(*objects)
    made = decided(policy, "b")
    return made.terms.division if made.outcome == "Fits" else None


# Reach

TAINT = {"key": "gpu", "value": "only", "effect": "NoSchedule"}
OUT = [
    (cluster("m1", ready=False), {}),
    (cluster("m1", taints=[TAINT]), {}),
    (cluster("m1"), {"clusterAffinity": {"exclude": ["m1"]}}),
    (cluster("m1"), {"clusterAffinity": {"clusterNames": ["m2"]}}),
    (cluster("m1"), {"clusterAffinity": {"labelSelector": {"matchLabels": {"tier": "gold"}}}}),
    (
        cluster("m1", region="west"),
        {"clusterAffinity": {"fieldSelector": {"matchExpressions": [
            {"key": "region", "operator": "NotIn", "values": ["west"]}]}}},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("member", "placement"), OUT)
def test_a_cluster_out_of_reach_is_not_used(member: Dict, placement: Dict) -> None:
    assert placed(member, binding("b", cpu="1", placement=placement)) is None


def test_tolerations_labels_and_fields_reach_a_cluster() -> None:
    member = cluster("m1", taints=[TAINT], region="west", labels={"tier": "gold"})
    placement = {
        "clusterTolerations": [{"key": "gpu", "operator": "Exists"}],
        "clusterAffinity": {
            "labelSelector": {"matchLabels": {"tier": "gold"}},
            "fieldSelector": {"matchExpressions": [{"key": "region", "operator": "In", "values": ["west"]}]},
        },
    }
    assert placed(member, binding("b", cpu="1", placement=placement)) == {"m1": 1}


def test_a_cluster_that_does_not_serve_the_api_is_out() -> None:
    member = cluster("m1")
    member["status"]["apiEnablements"] = [{"groupVersion": "batch/v1", "resources": [{"name": "jobs", "kind": "Job"}]}]
    assert placed(member, binding("b", cpu="1")) is None


def test_affinity_groups_are_tried_in_order() -> None:
    groups = [{"affinityName": name, "clusterNames": [name]} for name in ("m2", "m1")]
    pending = binding("b", cpu="5", placement={"clusterAffinities": groups})
    assert placed(cluster("m1"), cluster("m2"), pending) == {"m2": 1}
    assert placed(cluster("m1"), cluster("m2", used="6"), pending) == {"m1": 1}


# Division

M1, M2, M3 = cluster("m1", used="0"), cluster("m2", used="4"), cluster("m3", used="8")
DIVISIONS = [
    ({"replicas": 5, "cpu": "2"}, {"m1": 5}),
    ({"replicas": 8, "cpu": "2"}, {"m1": 5, "m2": 3}),
    ({"replicas": 10, "cpu": "2"}, None),
    ({"replicas": 2, "cpu": "1", "scheduling": DUPLICATED}, {"m1": 2, "m2": 2, "m3": 2}),
    ({"replicas": 3, "cpu": "1", "scheduling": DUPLICATED}, None),
    (
        {"replicas": 5, "cpu": "1", "scheduling": federations.weighted(("m1", 2), ("m2", 1))},
        {"m1": 3, "m2": 2},
    ),
    ({"replicas": 9, "cpu": "2", "scheduling": federations.weighted()}, {"m1": 5, "m2": 3, "m3": 1}),
    ({"replicas": 6, "cpu": "1", "scheduling": federations.weighted(("m3", 1))}, None),
]


@pytest.mark.parametrize(("asks", "want"), DIVISIONS)
def test_replicas_are_divided_as_the_placement_says(asks: Dict, want: dict[str, int] | None) -> None:
    assert placed(M1, M2, M3, binding("b", **asks)) == want


def test_what_asks_for_nothing_fits_anywhere() -> None:
    assert placed(cluster("m1", used="10"), binding("b", replicas=3)) == {"m1": 3}
    assert placed(cluster("m1", used="10"), binding("b", replicas=0)) == {"m1": 0}


def test_a_binding_with_too_few_replicas_is_given_the_rest() -> None:
    policy = policy_of(M1, M2, binding("b", cpu="2", replicas=6, on={"m2": 2}))
    made = decided(policy, "b")
    assert made.terms.division == {"m1": 4}
    assert made.placement == {"ResourceBinding/default/b": "m2=2,m1=4"}
    policy.commit(made)
    assert asked(policy, "b").held == {"m2": 2, "m1": 4}


@given(st.integers(0, 60), WEIGHTS)
def test_weights_conserve_replicas_and_stay_within_one_of_the_exact_share(replicas: int, weights: Dict) -> None:
    division = weighted(replicas, weights)
    assert sum(division.values()) == replicas
    total = sum(weights.values())
    assert all(abs(division.get(name, 0) - replicas * weight / total) < 1 for name, weight in weights.items())


@given(st.integers(0, 60), ROOMS)
def test_division_by_room_conserves_replicas_and_never_overfills(replicas: int, rooms: Dict) -> None:
    for divide in (aggregated, by_room):
        division = divide(replicas, rooms)
        assert (division is None) == (sum(rooms.values()) < replicas)
        if division is not None:
            assert sum(division.values()) == replicas
            assert all(0 < count <= rooms[name] for name, count in division.items())


# Spread constraints


def spread(**fields: tuple[int, int]) -> list[Dict]:
    return [{"spreadByField": name, "minGroups": low, "maxGroups": high} for name, (low, high) in fields.items()]


EUROPE = [
    cluster("e1", region="east", zone="e-a"),
    cluster("e2", region="east", zone="e-b", used="2"),
    cluster("w1", region="west", zone="w-a", used="4"),
    cluster("n1", region="north", zone="n-a", used="9"),
]
SPREADS = [
    ({"cluster": (2, 2)}, 4, {"e1": 3, "e2": 1}),
    ({"cluster": (1, 1)}, 10, {"e1": 10}),
    ({"cluster": (1, 1)}, 11, None),
    ({"cluster": (5, 0)}, 5, None),
    ({"region": (2, 2), "cluster": (2, 2)}, 12, {"e1": 10, "w1": 2}),
    ({"region": (1, 1), "cluster": (1, 2)}, 17, {"e1": 10, "e2": 7}),
    ({"region": (1, 1), "cluster": (1, 2)}, 19, None),
    ({"region": (3, 0), "cluster": (3, 0)}, 3, {"e1": 1, "w1": 1, "n1": 1}),
    ({"zone": (3, 3), "cluster": (3, 3)}, 4, {"e1": 2, "e2": 1, "w1": 1}),
    ({"provider": (1, 1), "cluster": (1, 1)}, 1, None),
]


@pytest.mark.parametrize(("constraints", "replicas", "want"), SPREADS)
def test_spread_constraints_choose_the_clusters(constraints: Dict, replicas: int, want: dict[str, int] | None) -> None:
    asks = binding("b", cpu="1", replicas=replicas, spread=spread(**constraints))
    assert placed(*EUROPE, asks) == want


def test_duplicated_replicas_go_to_as_many_clusters_as_the_constraint_allows() -> None:
    asks = binding("b", cpu="2", scheduling=DUPLICATED, spread=spread(cluster=(1, 2)))
    assert placed(*EUROPE, asks) == {"e1": 1, "e2": 1}


def test_spread_by_label_groups_clusters_by_its_values() -> None:
    members = [cluster(name, labels={"rack": rack}) for name, rack in (("a", "1"), ("b", "1"), ("c", "2"))]
    by_rack = [{"spreadByLabel": "rack", "minGroups": 2, "maxGroups": 2}]
    assert placed(*members, binding("b", cpu="1", replicas=2, spread=by_rack)) == {"a": 1, "c": 1}
