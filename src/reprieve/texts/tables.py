"""Headings and lines around the tables that show a decision."""

from reprieve.texts.parts import count

NOTHING_PENDING = "Nothing is pending: there is nothing to decide."
PLACE_COLUMNS = ("gets a place", "on")
VICTIM_COLUMNS = ("makes way", "because", "")
ELSEWHERE_COLUMNS = ("instead of", "victims", "against budgets", "")
SPARED_COLUMNS = ("stays", "on", "by", "")
OBSTACLE_COLUMNS = ("out of the question", "")
MORE_IN_FULL = "`--for` decides for one of them alone and shows everything."
CYCLE_COLUMNS = ("in this order", "outcome", "where", "makes way")


def cycle_summary(placed: int, waiting: int, victims: int) -> str:
    return f"{count(placed, 'unit')} placed, {waiting} waiting, {victims} to make way"


def so_many_make_way(number: int) -> str:
    return f"{number} make way"


def so_many_stay(number: int) -> str:
    return f"{number} stay"


def such_as(example: str) -> str:
    return f"such as: {example}"
