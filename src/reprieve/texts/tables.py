"""Headings and lines around the tables that show a decision."""

from reprieve.texts.parts import count

NOTHING_PENDING = "Nothing is pending: there is nothing to decide."
PLACE_COLUMNS = ("gets a place", "on")
VICTIM_COLUMNS = ("victim", "because", "")
ELSEWHERE_COLUMNS = ("alternative", "victims", "PDB violations", "")
SPARED_COLUMNS = ("stays", "on", "by", "")
OBSTACLE_COLUMNS = ("not feasible", "")
MORE_IN_FULL = "`--for` decides for one of them alone and shows everything."
CYCLE_COLUMNS = ("in this order", "outcome", "where", "victims")


def cycle_summary(placed: int, waiting: int, victims: int, after: int) -> str:
    """What one cycle did; `after` of those that wait start once the victims have left."""
    parts = [f"{count(placed, 'unit')} placed"] if placed else []
    parts += [f"{victims} to preempt"] if victims else []
    if after:
        have = "it has" if victims == 1 else "they have"
        parts.append(f"{after} {'starts' if after == 1 else 'start'} once {have} left")
    if waiting - after:
        parts.append(f"{waiting - after} {'stays' if waiting - after == 1 else 'stay'} pending")
    return "; ".join(parts) or "nothing to do"


def so_many_victims(number: int) -> str:
    return f"{number} victims"


def so_many_stay(number: int) -> str:
    return f"{number} stay"


def such_as(example: str) -> str:
    return f"such as: {example}"
