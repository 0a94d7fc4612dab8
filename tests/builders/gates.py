"""Feature gates for tests: those that gangs and bindings need, which are off unless somebody turns them on."""

from __future__ import annotations

GANGS = {"GenericWorkload": True, "PodGroupPreemptionPolicy": True, "TopologyAwareWorkloadScheduling": True}
BINDINGS = {"PriorityBasedScheduling": True, "PriorityBasedPreemptiveScheduling": True}
GANGS_AND_BINDINGS = {**GANGS, **BINDINGS}
