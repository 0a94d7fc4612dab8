"""What a change would do, before anybody makes it."""

from collections.abc import Mapping

from reprieve.texts.parts import count, listed

CREATED, REPLACED, UNCHANGED, DELETED = "created", "replaced", "unchanged", "deleted"
SETTINGS = "settings"
NO_DIFFERENCE = "No difference: nobody is newly preemptible or newly safe, and the same units would start and preempt."
HEADINGS = {
    "newly_preemptible": ("newly preemptible", "by", "before it was safe"),
    "newly_safe": ("newly safe", "from", "because"),
    "newly_against_budget": ("only against its disruption budget now", "", ""),
    "no_longer_against_budget": ("no longer against its disruption budget", "", ""),
    "no_longer_fits": ("no longer fits", "in", "over by"),
    "fits_again": ("fits again", "in", "was over by"),
    "now_starts": ("would start", "", ""),
    "no_longer_starts": ("would no longer start", "", ""),
    "now_preempts": ("would preempt", "victims", ""),
    "no_longer_preempts": ("would no longer preempt", "victims", ""),
    "now_waits": ("would wait for a stated end", "", ""),
    "no_longer_waits": ("would no longer wait for a stated end", "", ""),
    "now_unschedulable": ("comes and is unschedulable", "", ""),
    "no_longer_unschedulable": ("goes and was unschedulable", "", ""),
}


def summary(counts: Mapping[str, int]) -> str:
    """How many of each kind of difference, in one line."""
    return "; ".join(f"{number} {HEADINGS[kind][0]}" for kind, number in counts.items() if number) + "."


def changes(changed: Mapping[str, str]) -> str:
    """What the change is."""
    by_what: dict[str, list[str]] = {}
    for unit, what in changed.items():
        by_what.setdefault(what, []).append(unit.replace("//", "/"))
    return "; ".join(f"{listed(units)} {what}" for what, units in by_what.items()) + "."


def value_of_new_units(name: str, old: int, new: int, keeping: int) -> str:
    one = keeping == 1
    kept = f"; {count(keeping, 'unit')} that {'exists keeps what it has' if one else 'exist keep what they have'}"
    told = f"{name}: the new value, {new} instead of {old}, counts only for units that are created from now on"
    return told + kept if keeping else told
