"""What pods of random worlds ask of their nodes and of each other."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.reference.cluster import REQUIRED

Dict = dict[str, Any]
ZONE, HOST = "zone", "kubernetes.io/hostname"
EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")
TOLERATIONS: tuple[Dict, ...] = (
    {"key": "dedicated", "operator": "Equal", "value": "x"},
    {"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"},
    {"operator": "Exists"},
    {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"},
)
LABEL_SELECTORS: tuple[Dict | None, ...] = (
    {"matchLabels": {"app": "web"}},
    {"matchLabels": {"app": "web"}},
    {"matchLabels": {"app": "db"}},
    {"matchExpressions": [{"key": "tier", "operator": "Exists"}]},
    {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["db"]}]},
    {},
    None,
)
SCOPES: tuple[Dict, ...] = (
    {},
    {"namespaces": ["other"]},
    {"namespaces": ["default", "other"]},
    {"namespaceSelector": {}},
    {"namespaceSelector": {"matchLabels": {"team": "r"}}},
    {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "other"}}},
    {"namespaceSelector": {"matchLabels": {"team": "b"}}, "namespaces": ["default"]},
)


def _node_terms(*terms: Dict) -> Dict:
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}}


def _expression(key: str, operator: str, *values: str) -> Dict:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


SELECTORS: tuple[Dict, ...] = (
    {"nodeSelector": {"zone": "a"}},
    _node_terms({"matchExpressions": [_expression("generation", "Gt", "1")]}),
    _node_terms({"matchExpressions": [_expression("generation", "Lt", "3")]}),
    _node_terms({"matchExpressions": [_expression("generation", "NotIn", "2", "3")]}),
    _node_terms(
        {"matchExpressions": [_expression("zone", "DoesNotExist")]},
        {"matchExpressions": [_expression("zone", "In", "b")]},
    ),
    _node_terms({"matchFields": [_expression("metadata.name", "NotIn", "n0")]}),
    _node_terms({"matchFields": [_expression("metadata.name", "In", "n1")]}, {}),
)


class Wishes:
    """Makes wishes out of a stream of random numbers, as far as a world has them."""

    def __init__(self, random: Random, features: frozenset[str]) -> None:
        self.random = random
        self.features = features

    def chance(self, feature: str, share: float) -> bool:
        return feature in self.features and self.random.random() < share

    def affinity(self, nodes: Dict, wishes: float) -> Dict:
        made = dict(nodes)
        if self.chance("affinity", wishes):
            made["podAffinity"] = {REQUIRED: [self.term() for _ in range(self.random.choice([1, 1, 2]))]}
        if self.chance("anti-affinity", wishes):
            made["podAntiAffinity"] = {REQUIRED: [self.term() for _ in range(self.random.choice([1, 1, 2]))]}
        return made

    def term(self) -> Dict:
        random = self.random
        term: Dict = {"topologyKey": random.choice([ZONE, HOST, HOST]), "labelSelector": self.selector()}
        if "namespaces" in self.features:
            term.update(random.choice(SCOPES))
        if random.random() < 0.15 and term["labelSelector"] is not None:
            term[random.choice(["matchLabelKeys", "mismatchLabelKeys"])] = ["tier"]
        return {key: value for key, value in term.items() if value is not None}

    def selector(self) -> Dict | None:
        return self.random.choice(LABEL_SELECTORS)

    def constraint(self) -> Dict:
        random = self.random
        constraint: Dict = {
            "maxSkew": random.randint(1, 2),
            "topologyKey": random.choice([ZONE, ZONE, HOST]),
            "whenUnsatisfiable": random.choice(["DoNotSchedule", "DoNotSchedule", "DoNotSchedule", "ScheduleAnyway"]),
            "labelSelector": self.selector() or {},
        }
        if random.random() < 0.3 and constraint["whenUnsatisfiable"] == "DoNotSchedule":
            constraint["minDomains"] = random.randint(1, 4)
        for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if random.random() < 0.4:
                constraint[name] = random.choice(["Honor", "Ignore"])
        if random.random() < 0.2:
            constraint["matchLabelKeys"] = ["tier"]
        return constraint
