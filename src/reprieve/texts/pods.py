"""What a person reads about pods and nodes."""

from collections.abc import Sequence

from reprieve.engine.claims import Claim
from reprieve.texts.claims import on_nodes
from reprieve.texts.parts import listed, moment

PDB_VIOLATION = "a PDB violation"


def fits(unit: str, node: str) -> str:
    return f"{unit} fits on {node}; nobody is preempted."


def preempts(unit: str, node: str, victims: Sequence[str], violations: int) -> str:
    verb = "makes" if len(victims) == 1 else "make"
    sentence = f"{listed(victims)} {verb} way for {unit} on {node}."
    if not violations:
        return sentence
    who = "That is" if len(victims) == 1 else f"For {violations} of them that is"
    return f"{sentence} {who} {PDB_VIOLATION}."


def never_preempts(unit: str, claims: Sequence[Claim]) -> str:
    never = "it preempts nobody, because its preemption policy is Never"
    return f"{unit} is unschedulable: {on_nodes(claims)}; {never}."


def waits_for_victims(unit: str, node: str, leaving: Sequence[str]) -> str:
    verb = "is" if len(leaving) == 1 else "are"
    return f"{unit} waits for {node}: {listed(leaving)} {verb} still leaving."


def waits_for_toleration(unit: str, until: int | None) -> str:
    """`until` is when the first toleration runs out; None: the time of none has begun to run."""
    if until is None:
        return f"{unit} waits: the pods that could be preempted tolerate it for a time that has not begun yet."
    return f"{unit} waits: the pods that could be preempted tolerate it, the first of them until {moment(until)}."


def unschedulable(unit: str, claims: Sequence[Claim]) -> str:
    return f"{unit} is unschedulable: {on_nodes(claims)}."


def not_asked(node: str, *, exists: bool) -> str:
    """Why a pod on a node is not mentioned in a decision."""
    return f"it runs on {node}, " + ("where nobody was looked at" if exists else "which does not exist")


def whereabouts(unit: str, node: str, *, finished: bool, leaving: bool, gates: Sequence[str]) -> str:
    if finished:
        return f"{unit} has finished: it holds nothing any more."
    if leaving:
        return f"{unit} is leaving {node}." if node else f"{unit} is being deleted before it got a node."
    if gates:
        return f"{unit} is held by scheduling gates ({listed(gates)}): it is not scheduled yet."
    return f"{unit} runs on {node}." if node else f"{unit} is pending: it runs on no node, so it cannot be preempted."


def marked(unit: str, reason: str, message: str) -> str:
    """What its DisruptionTarget condition says."""
    return f"{unit} is marked for disruption ({reason}){': ' + message if message else '.'}"
