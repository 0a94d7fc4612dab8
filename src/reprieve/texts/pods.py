"""What a person reads about pods and nodes."""

from collections.abc import Iterable, Mapping, Sequence

from reprieve.texts.parts import listed, moment

# Why a node is out; each goes on from "worker-a is ...".
OBSTACLES = {
    1: "cordoned",
    2: "tainted, and the pod does not tolerate it",
    3: "not the node it names",
    4: "not what its node selector or affinity asks for",
    5: "gone",
    6: "without the topology key or the neighbours that it requires",
    7: "outside the topology domain",
}
TOO_SMALL = "too small even without everybody who could make way"
NO_CANDIDATES = "short of room, with nobody who may be asked to make way"
BUDGET_RESPECTED = "only to be had against a disruption budget, and budgets are respected"
AGAINST_BUDGET = "against a disruption budget"


def left_alone(name: str, *, known: bool) -> str:
    """Why a node is out on which nobody knows what a pod of some priority class tolerates."""
    if known:
        return f"left alone, because what priority class {name} of a pod there tolerates is not written in numbers"
    return "left alone, because nobody knows what a pod of an unknown priority class there tolerates"


def obstacle(reach: int, *, candidates: bool) -> str:
    """Why a node is out."""
    if reach:
        return OBSTACLES[reach]
    return TOO_SMALL if candidates else NO_CANDIDATES


def fits(unit: str, node: str) -> str:
    return f"{unit} fits on {node}; nobody has to make way."


def preempts(unit: str, node: str, victims: Sequence[str], violations: int) -> str:
    verb = "makes" if len(victims) == 1 else "make"
    sentence = f"{listed(victims)} {verb} way for {unit} on {node}."
    if not violations:
        return sentence
    who = "That goes" if len(victims) == 1 else f"{violations} of them {'goes' if violations == 1 else 'go'}"
    return f"{sentence} {who} {AGAINST_BUDGET}."


def never_preempts(unit: str) -> str:
    return f"{unit} fits nowhere, and its preemption policy is Never."


def waits_for_victims(unit: str, node: str, leaving: Sequence[str]) -> str:
    verb = "is" if len(leaving) == 1 else "are"
    return f"{unit} waits for {node}: {listed(leaving)} {verb} still leaving."


def waits_for_toleration(unit: str, until: int | None) -> str:
    """`until` is when the first toleration runs out; None: the time of none has begun to run."""
    if until is None:
        return f"{unit} waits: who could make way tolerates it for a time, and is not known to be scheduled yet."
    return f"{unit} waits: who could make way tolerates it until {moment(until)} at the earliest."


def unschedulable(unit: str, obstacles: Mapping[str, str]) -> str:
    if not obstacles:
        return f"{unit} cannot be placed: there are no nodes."
    return f"{unit} cannot be placed, and no preemption helps: {_tally(obstacles.values())}."


def _tally(obstacles: Iterable[str]) -> str:
    """`the only node is cordoned`, `all 2 nodes are ...`, `of 5 nodes, 3 are cordoned; 2 are ...`."""
    counts: dict[str, int] = {}
    for why in obstacles:
        counts[why] = counts.get(why, 0) + 1
    total = sum(counts.values())
    if len(counts) == 1:
        (why,) = counts
        return f"{'the only node is' if total == 1 else f'all {total} nodes are'} {why}"
    most_first = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return f"of {total} nodes, " + "; ".join(f"{n} {'is' if n == 1 else 'are'} {why}" for why, n in most_first)


def on_no_known_node(node: str) -> str:
    return f"it runs on {node}, which does not exist"


def whereabouts(unit: str, node: str, *, finished: bool, leaving: bool, gates: Sequence[str]) -> str:
    if finished:
        return f"{unit} has finished: it holds nothing any more."
    if leaving:
        return f"{unit} is leaving {node}." if node else f"{unit} is being deleted before it got a node."
    if gates:
        return f"{unit} is held by scheduling gates ({listed(gates)}): nobody tries to place it yet."
    return f"{unit} runs on {node}." if node else f"{unit} is pending: it holds no place that it could give up."


def marked(unit: str, reason: str, message: str) -> str:
    """What its DisruptionTarget condition says."""
    return f"{unit} is marked for disruption ({reason}){': ' + message if message else '.'}"
