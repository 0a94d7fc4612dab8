"""`reprieve explain A --why-not B` from history: why B stayed when A, or somebody else at A's cost, was decided for.

1. Of A's decisions the latest that looked at B is meant, and else the latest. That A then took its place, because
   nobody was in the way any more, is no answer: it counts only where nobody ever had to make way.
2. B is the one that had the name at that moment, not one that came later.
"""

from collections.abc import Iterator
from operator import itemgetter
from typing import Any

from reprieve.cli.explain.decisions import headline, not_kept, plan_in
from reprieve.client.errors import Refused
from reprieve.planning.result import Decision
from reprieve.texts import explanations, history

Data = dict[str, Any]
_MOST_ANSWERS = 5


def why_not_lines(told: Data, other: Data) -> Iterator[str]:
    """What was decided, and why the other one was not asked to go; of several pods of the other, for each."""
    made = _meant(told, other)
    plan = plan_in(made)
    yield headline(made)
    answers = [_answer(plan, unit) for unit in _units(other, made) if _mentions(plan, unit)]
    if answers:
        yield from answers[:_MOST_ANSWERS]
        yield from _of_today(other, made)
    elif plan.outcome == "Fits" and _was_there(other, made):
        yield explanations.stayed(other["unit"], explanations.nobody_has_to(plan.preemptor))
    else:
        yield _not_mentioned(other, made)
        yield from not_kept(made) if _was_there(other, made) or not _known(other) else ()


def _meant(told: Data, other: Data) -> Data:
    """The decision that the question is about."""
    parts = ("preempted", "preemption", "decision")
    found: dict[int, Data] = {
        made["id"]: made for each in (told, *told["others"]) for part in parts if (made := each.get(part))
    }
    if not found:
        raise Refused(history.no_decision(told["unit"]))
    newest = [found[number] for number in sorted(found, reverse=True)]
    searched = [made for made in newest if made["outcome"] != "Fits"] or newest
    looked = [made for made in searched if any(_mentions(plan_in(made), unit) for unit in _units(other, made))]
    return (looked or searched)[0]


def _units(other: Data, made: Data) -> list[str]:
    """What the other one was at that moment: itself, its pods, its group; without those who came later."""
    there = [each["unit"] for each in _known(other) if each["first"] <= made["last"]]
    related = [each["unit"] for each in other["others"] if not _came_later(other, each["unit"], made)]
    return list(dict.fromkeys((other["unit"], *there, *related)))


def _came_later(other: Data, unit: str, made: Data) -> bool:
    known = [each for each in other["attempts"] if each["unit"] == unit]
    return bool(known) and all(each["first"] > made["last"] for each in known)


def _of_today(other: Data, made: Data) -> Iterator[str]:
    """Where the name has passed on since: that the answer is about the one before."""
    today = [each["first"] for each in other["attempts"] if each["unit"] == other["unit"]]
    if today and other["earlier"] and min(today) > made["last"]:
        yield history.earlier_one(other["unit"], min(today))


def _mentions(plan: Decision, unit: str) -> bool:
    return unit == plan.preemptor or any(_is(item, unit) for item in (*plan.victims, *plan.spared))


def _is(item: Data | dict[str, str], unit: str) -> bool:
    return unit in (item["unit"], item.get("group"))


def _answer(plan: Decision, unit: str) -> str:
    if unit == plan.preemptor:
        return explanations.was_preemptor(unit)
    victim = next((item for item in plan.victims if _is(item, unit)), None)
    if victim is not None:
        return explanations.had_to_go(unit, victim["message"])
    spared = next(item for item in plan.spared if _is(item, unit))
    cost = plan.candidates.get(spared["domain"]) if spared["rule"] == "CheaperElsewhere" else None
    why = spared["message"]
    return explanations.stayed(
        unit, explanations.cost_elsewhere(why, spared["domain"], cost["victims"]) if cost else why
    )


def _not_mentioned(other: Data, made: Data) -> str:
    """It never was, it came later or had gone before, or the decision was not about it."""
    known = _known(other)
    if not known:
        return history.never_seen(other["unit"])
    if _was_there(other, made):
        return history.not_asked(other["unit"], made["preemptor"], made["at"])
    later = [each["first"] for each in known if each["first"] > made["last"]]
    if len(later) == len(known):
        return history.came_later(other["unit"], min(later))
    ended = max((each for each in known if each["first"] <= made["last"]), key=itemgetter("since"))
    return history.gone_before(other["unit"], ended["state"], ended["since"])


def _was_there(other: Data, made: Data) -> bool:
    """Whether anything that had its name, or was made for it, was there when that was decided."""
    return any(each["first"] <= made["last"] and made["at"] <= history.end_of(each) for each in _known(other))


def _known(other: Data) -> list[Data]:
    """All that had its name or was made for it, as long as that is remembered."""
    return [*other["earlier"], *other["attempts"]]
