"""What a scheduler in shadow tells of another one: how often both decided alike, and what was different."""

from collections.abc import Mapping, Sequence

from reprieve.texts.history import clock_time
from reprieve.texts.parts import count, listed

NOTHING_SEEN = "No decision of another scheduler was seen yet."
ONE_SOURCE = "--history names a file, --server a scheduler that runs: give one or the other"
COLUMNS = ("policy", "result", "times", "what it means")
RESULTS: Mapping[str, str] = {
    "agreed": "the same victims on the same node",
    "equal_node": "another node, where it costs the same",
    "equal_victims": "others on the same node, who are as important",
    "other_victims": "others on the same node",
    "other_node": "another node",
    "not_preempted": "here nobody would have been preempted",
    "preempted": "it got a place for nothing; here somebody would have made way",
    "placed": "the same node, and nobody has to go",
    "placed_elsewhere": "another node, and nobody has to go",
    "not_placed": "it got a place; here there would have been none",
    "unclear": "not compared: two preemptions on one node at once, and nothing says whose victims are whose",
    "late": "not compared: it was found decided on",
}
_PREEMPTIONS = ("agreed", "equal_node", "equal_victims", "other_victims", "other_node", "not_preempted")


def meaning(result: str) -> str:
    return RESULTS.get(result, "")


def agreement(policy: str, counts: Mapping[str, int]) -> str:
    """How many preemptions were the same; those that chance decides, among equals, are told apart."""
    preemptions = sum(counts.get(result, 0) for result in _PREEMPTIONS)
    agreed = counts.get("agreed", 0)
    equal = counts.get("equal_node", 0) + counts.get("equal_victims", 0)
    if not preemptions:
        return f"{policy}: no preemption was seen."
    among_equals = f", {equal} differ only among equals" if equal else ""
    return f"{policy}: {agreed} of {count(preemptions, 'preemption')} agreed{among_equals}."


def disagreement(at: str, unit: str, result: str) -> str:
    return f"{clock_time(at)}  {unit}: {result}, {meaning(result)}"


def answer(who: str, nodes: Mapping[str, str], victims: Sequence[str], message: str) -> str:
    where = f"on {listed(sorted(set(nodes.values())))}" if nodes else "nowhere"
    made_way = f"{listed(victims)} make{'s' if len(victims) == 1 else ''} way" if victims else "nobody makes way"
    return f"  {who}: {where}, {made_way}" + (f" ({message.rstrip('.')})" if message else "")


def unreadable(path: str, why: str) -> str:
    return f"--history {path}: this is no history of a scheduler in shadow ({why})"
