"""Running pods that would like others near or far: who comes is liked better in some places for their sake."""

from typing import NamedTuple

import msgspec

from reprieve.manifests.pods import Affinity, PodAffinityTerm
from reprieve.model.names import Key
from reprieve.world import PodFacts

HARD_WEIGHT = 1
"""What required affinity of a running pod counts for those it means: kube-scheduler's hardPodAffinityWeight."""


class Wishing(NamedTuple):
    """A kind of pod that has wishes: where it lives, its labels, and its terms with their weights."""

    namespace: str
    labels: dict[str, str]
    terms: tuple[tuple[int, PodAffinityTerm], ...]


class Wishers:
    """Those of the pods in a table that have wishes, by kind; each with its node."""

    def __init__(self) -> None:
        self._kinds: dict[object, tuple[Wishing, dict[Key, str]]] = {}
        self._kind_of: dict[Key, object] = {}

    def note(self, facts: PodFacts) -> None:
        """A pod runs, or is placed on trial."""
        affinity = facts.pod.spec.affinity
        terms = wishes(affinity) if affinity is not None else ()
        if not terms:
            return
        kind = (facts.key[0], facts.labels, msgspec.msgpack.encode(terms))
        known = self._kinds.get(kind)
        if known is None:
            known = self._kinds[kind] = (Wishing(facts.key[0], facts.pod.metadata.labels, terms), {})
        known[1][facts.key] = facts.node
        self._kind_of[facts.key] = kind

    def forget(self, key: Key) -> None:
        kind = self._kind_of.pop(key, None)
        if kind is not None:
            pods = self._kinds[kind][1]
            del pods[key]
            if not pods:
                del self._kinds[kind]

    def __bool__(self) -> bool:
        return bool(self._kinds)

    def kinds(self) -> list[tuple[Wishing, list[str]]]:
        """Every kind, and the nodes of its pods."""
        return [(wishing, list(pods.values())) for wishing, pods in self._kinds.values()]


def wishes(affinity: Affinity) -> tuple[tuple[int, PodAffinityTerm], ...]:
    """What a running pod would like: near (positive), or far."""
    near, far = affinity.pod_affinity, affinity.pod_anti_affinity
    return (
        (
            *((HARD_WEIGHT, term) for term in (near.required if near else ())),
            *preferences(affinity),
        )
        if near or far
        else ()
    )


def preferences(affinity: Affinity) -> tuple[tuple[int, PodAffinityTerm], ...]:
    """What any pod would like, with the weights it says."""
    near, far = affinity.pod_affinity, affinity.pod_anti_affinity
    return (
        *((item.weight, item.pod_affinity_term) for item in (near.preferred if near else ())),
        *((-item.weight, item.pod_affinity_term) for item in (far.preferred if far else ())),
    )
