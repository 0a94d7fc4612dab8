"""What a person reads about hierarchical queues and their laws."""

from collections.abc import Mapping, Sequence

from reprieve.texts.parts import listed, moment


def waits_for_delay(unit: str, queue: str, ready: int) -> str:
    return f"{unit} waits: {queue} lets it preempt from {moment(ready)} on."


def preemption_off(unit: str) -> str:
    return f"{unit} fits nowhere, and preemption is switched off for the partition."


def law_4(unit: str, queue: str) -> str:
    return f"{unit} may not preempt: {queue} would be above its guarantee with it, or has none (law 4)."


def no_victims_in_reach(unit: str, top: str, protected: Mapping[str, int]) -> str:
    """`protected` says how many pods each law protects."""
    by = listed([f"{law} protects {number}" for law, number in protected.items()])
    sentence = f"{unit} stays pending: nobody below {top} may be asked whose leaving would make it fit"
    return f"{sentence}; {by}." if by else f"{sentence}."


def out_of_reach(unit: str, node: str) -> str:
    return f"{unit} must run on {node}, which is out of its reach."


def too_little_on_node(unit: str, node: str) -> str:
    return f"{unit} must run on {node}, and those who may be asked there hold too little."


def quota_lowered(queue: str, victims: Sequence[str]) -> str:
    verb = "makes" if len(victims) == 1 else "make"
    return f"{listed(victims)} {verb} way because {queue} uses more than its maximum."


def quota_kept(queue: str) -> str:
    return f"{queue} is within its maximum: nobody has to make way."


def quota_stuck(queue: str) -> str:
    return f"{queue} uses more than its maximum, and nobody can leave without going too far."
