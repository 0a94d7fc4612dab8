"""Which feature gates a control plane has on and off, and what a demonstration turns on."""

import msgspec

from reprieve.configuration import Settings
from reprieve.feature_gates import gates_on
from reprieve.texts import cli as texts

DEMO_GATES = ("PriorityBasedScheduling", "PriorityBasedPreemptiveScheduling")
"""What its scenes need: bindings that preempt by priority. Its gangs name Workloads, which need no gate."""


def for_demo(settings: Settings) -> Settings:
    """With the gates on that the demonstration needs; what somebody has said of one of them stays."""
    return msgspec.structs.replace(
        settings, feature_gates={**dict.fromkeys(DEMO_GATES, True), **settings.feature_gates}
    )


def gate_lines(settings: Settings, *, demo: bool) -> list[str]:
    """All gates in a few lines."""
    on, off = gates_on(settings.feature_gates)
    said = [texts.gates_on(on), texts.gates_off(off)]
    if demo and (turned_on := [name for name in DEMO_GATES if name in on]):
        said.append(texts.gates_of_the_demo(turned_on))
    return said
