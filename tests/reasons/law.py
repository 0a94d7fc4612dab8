"""The law of reasons: what a decision says about everybody within reach, and whether it is true.

1. Whoever is within reach is a victim, or is named once, by one rule or step; nobody is both, and nobody else is named.
2. With the fact that protects somebody turned around, the answer or the reason is another.

Nothing here knows how decisions are made: only manifests, `plan` and its answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import reprieve
from tests.reasons import federation_swaps, pod_swaps, queue_swaps, quota_swaps
from tests.reasons.reach import forbidden, places_of, within_reach
from tests.reasons.scene import Scene, Swap
from tests.reasons.steps import NOT_ENOUGH, UNPROTECTED, alone_with_preemptor, without_all_of
from tests.reasons.worlds import GATES, NOW, Dict, World

SWAPS: dict[str, dict[str, Swap]] = {
    "pod": pod_swaps.SWAPS,
    "podgroup": pod_swaps.SWAPS,
    "queue": queue_swaps.SWAPS,
    "quota": quota_swaps.SWAPS,
    "federation": federation_swaps.SWAPS,
}


def decide(world: World) -> Dict:
    answer = reprieve.plan(
        world.objects, preemptor=world.preemptor, now=NOW, config=world.config, feature_gates=GATES
    ).to_dict()
    (decision,) = answer["decisions"]
    found: Dict = decision
    return found


def decide_all(world: World) -> list[Dict]:
    """A cycle, or everybody who waits, in turn."""
    answer = reprieve.plan(world.objects, now=NOW, config=world.config, feature_gates=GATES).to_dict()
    found: list[Dict] = answer["decisions"]
    return found


_SPOILS = ("UnknownPriorityClass", "UnreadableToleration")
"""One of them, and nobody on its node is asked."""


# 1. Everybody is named, once


def unnamed(world: World, decision: Dict) -> list[str]:
    """Who is not accounted for as the law wants it, each with what is wrong."""
    if decision["outcome"] == "Fits":
        return []
    reach = within_reach(world)
    victims, spared = places_of(decision)
    if not spared and not victims and not considered(world, decision):
        return []
    gone = set(victims)
    times = Counter(spared)
    return [
        *(f"nobody says why it stays: {_shown(place)}" for place in reach if _counted(place, gone, times) == 0),
        *(f"it goes and stays: {_shown(place)}" for place in times if _goes(place, gone)),
        *(f"named {count} times: {_shown(place)}" for place, count in times.items() if count > 1),
        *(f"not within reach: {_shown(place)}" for place in times if place not in reach),
    ]


def considered(world: World, decision: Dict) -> bool:
    """Whether preemption was considered at all."""
    return decision["outcome"] in ("Preempt", "Wait") or not (forbidden(world) or _hopeless(world, decision))


def _hopeless(world: World, decision: Dict) -> bool:
    """A quota workload that would not fit though nobody at all were there: who makes way is no question."""
    if world.policy != "quota" or decision["spared"]:
        return False
    nobody = [item for item in world.objects if "admission" not in item.get("status", {})]
    return bool(decide(world._replace(objects=nobody))["outcome"] != "Fits")


def _goes(place: tuple[str, str], gone: set[tuple[str, str]]) -> bool:
    return place in gone or (place[0], "") in gone


def _counted(place: tuple[str, str], gone: set[tuple[str, str]], times: Counter[tuple[str, str]]) -> int:
    return _goes(place, gone) + times[place]


def _shown(place: tuple[str, str]) -> str:
    return f"{place[0]} in {place[1]}"


# 2. The opposite fact


def unmoved(world: World, decision: Dict, seen: Counter[str]) -> Iterator[tuple[str, str]]:
    """Rules whose opposite changes nothing, each with whom they protect."""
    for spared in decision["spared"] if decision["outcome"] != "Fits" else ():
        rule = spared["rule"]
        seen[rule] += 1
        if rule not in SWAPS[world.policy]:
            yield rule, f"nobody knows the opposite of {rule}"
        elif not changes(world, decision, spared):
            yield rule, f"{_shown((spared['unit'], spared['domain']))}: {spared['message']}"


def changes(world: World, decision: Dict, spared: dict[str, str]) -> bool:
    """Whether it goes, stays for another reason, or all is another, once what protects it is turned around."""
    scene = Scene(world, decision, spared)
    SWAPS[world.policy][spared["rule"]](scene)
    after = decide(scene.world)
    if after["outcome"] != decision["outcome"] or _moved(scene, decision, after):
        return True
    place = (scene.unit, scene.domain)
    if any(_goes(place, {victim}) for victim in places_of(after)[0]):
        return True
    reasons = [_reason(item) for item in after["spared"] if (item["unit"], item["domain"]) == place]
    return _reason(spared) not in reasons


def _moved(scene: Scene, before: Dict, after: Dict) -> bool:
    """Where one was moved into the way of a gang, the gang may go elsewhere."""
    return scene.moved and bool(before["placement"] != after["placement"])


def _reason(spared: Dict) -> object:
    """The rule; where another place was chosen, also which, and where a place is no help, also why: not by how much."""
    if spared["rule"] == "NoHelp":
        obstacle = spared["facts"]["obstacle"]
        return [obstacle.get(name) for name in ("kind", "why", "resource", "by")], bool(obstacle.get("candidates"))
    return spared["message"] if spared["rule"] == "CheaperElsewhere" else spared["rule"]


def smallest(world: World, fails: Callable[[World], bool]) -> World:
    """As few objects as it takes for the same to fail: what a person wants to look at."""
    for item in world.objects:
        fewer = world._replace(objects=[other for other in world.objects if other is not item])
        try:
            if fails(fewer):
                return smallest(fewer, fails)
        except (LookupError, StopIteration, RuntimeError, ValueError, reprieve.ReprieveError):
            continue
    return world


# 3. Steps tell the truth, too


def untrue(world: World, decision: Dict) -> Iterator[tuple[str, str]]:
    """Steps that say something that is not so, each with of whom."""
    for spared in decision["spared"] if decision["outcome"] != "Fits" else ():
        rule = spared["rule"]
        if rule in UNPROTECTED and world.policy != "quota" and not goes_alone(world, decision, spared):
            yield rule, f"it could not go: {_shown((spared['unit'], spared['domain']))}: {spared['message']}"
    for domain in dict.fromkeys(_not_enough_in(world, decision)):
        if fits_without(world, decision, domain):
            yield "NotEnough", f"they would be enough in {domain or 'all queues'}"


def goes_alone(world: World, decision: Dict, spared: dict[str, str]) -> bool:
    scene = Scene(world, decision, spared)
    alone_with_preemptor(scene)
    after = decide(scene.world)
    return scene.unit in [victim["unit"] for victim in after["victims"]]


def _not_enough_in(world: World, decision: Dict) -> list[str]:
    return [
        "" if world.policy == "quota" else item["domain"] for item in decision["spared"] if item["rule"] in NOT_ENOUGH
    ]


def fits_without(world: World, decision: Dict, domain: str) -> bool:
    """Whether all who are said to be of no help would have been enough."""
    here = [item for item in decision["spared"] if not domain or item["domain"] == domain]
    if any(item["rule"] in _SPOILS for item in here) or _stands_in_the_way(decision, domain, "LeftAlone"):
        return False  # they would be, but for one of whom nobody knows what it tolerates: it may be leaving already
    if _stands_in_the_way(decision, domain, "NotTogether"):
        return False  # they would be, and that is what it says, but for a law; the law of truth looks that one up
    scene = Scene(world, decision, here[0])
    # Between queues whoever leaves is nobody's candidate and holds its place: when it is gone, the question is another.
    candidates = NOT_ENOUGH if world.policy == "queue" else (*NOT_ENOUGH, "Leaving")
    without_all_of(scene, {item["unit"] for item in here if item["rule"] in candidates})
    after = decide(scene.world)
    return after["outcome"] == "Fits" and (not domain or domain in after["domain"].split(","))


def _stands_in_the_way(decision: Dict, domain: str, kind: str) -> bool:
    return any(claim["kind"] == kind and claim.get("domain") == domain for claim in decision["claims"])


# 4. In a cycle


def claims(decisions: list[Dict]) -> Iterator[tuple[str, str, list[str]]]:
    """Whoever is told that it makes way for an earlier head, whom that was told for, and all heads that count on it."""
    for number, decision in enumerate(decisions):
        for unit in (item["unit"] for item in decision["spared"] if item["rule"] == "Claimed"):
            yield (
                unit,
                decision["preemptor"],
                [head["preemptor"] for head in decisions[:number] if _counts_on(head, unit)],
            )


def _counts_on(head: Dict, unit: str) -> bool:
    return unit in [*(victim["unit"] for victim in head["victims"]), *head["waitingFor"]]
