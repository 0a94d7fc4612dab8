"""How decisions look in a terminal: the sentence first, then who goes, what it would have cost elsewhere, who stays."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from reprieve import texts
from reprieve.cli.terminal import width
from reprieve.model.names import shown
from reprieve.planning.result import Decision, Result
from reprieve.texts import layout

_MOST_ROWS = 10
MOST_IN_FULL = 3
"""More decisions than that are a table, without details."""
_MOST_LINES = 30
_INDENT, _GAP = 2, 2

Item = TypeVar("Item")
Group = TypeVar("Group", bound=Hashable)


def show_result(result: Result) -> str:
    """A whole answer: a few decisions in full, many as a table; of a cycle also what was placed and what waits."""
    decisions = result.decisions
    parts = [texts.tables.NOTHING_PENDING] if not decisions and not result.pending else []
    if len(decisions) <= MOST_IN_FULL:
        parts += ("\n".join(show_decision(decision)) for decision in decisions)
    else:
        parts.append("\n".join(_overview(decisions)))
    if result.pending:
        parts.append("\n".join(_without_turn([*result.pending.values()])))
    if result.order or result.pending:
        victims = sum(len(decision.victims) for decision in decisions)
        after = sum(decision.outcome == "Preempt" for decision in decisions if decision.preemptor in result.left)
        parts.append(texts.tables.cycle_summary(len(result.admitted), len(result.left), victims, after))
    return "\n\n".join(parts)


def _overview(decisions: Sequence[Decision]) -> Iterator[str]:
    rows = [(shown(made.preemptor), made.outcome, made.domain or "", _units(made.victims)) for made in decisions]
    yield from table(texts.tables.CYCLE_COLUMNS, rows, most=_MOST_LINES)
    yield texts.tables.MORE_IN_FULL


def _without_turn(sentences: Sequence[str]) -> Iterator[str]:
    yield from sentences[:_MOST_ROWS]
    if len(sentences) > _MOST_ROWS:
        yield texts.parts.and_more(len(sentences) - _MOST_ROWS)


def show_decision(decision: Decision) -> Iterator[str]:
    """One decision in full."""
    yield decision.message
    yield from _places(decision)
    yield from _victims(decision)
    yield from show_elsewhere(decision)
    yield from show_spared(decision)
    yield from _obstacles(decision)


def _places(decision: Decision) -> Iterator[str]:
    """Where each pod of a group goes; for a single pod the sentence says it."""
    if decision.preemptor not in decision.placement and decision.placement:
        yield ""
        yield from table(texts.tables.PLACE_COLUMNS, list(decision.placement.items()), most=_MOST_ROWS)


def _victims(decision: Decision) -> Iterator[str]:
    if not decision.victims:
        return
    yield ""
    if len(decision.victims) <= _MOST_ROWS:
        rows = [(shown(victim["unit"]), *_because(victim)) for victim in decision.victims]
        yield from table(texts.tables.VICTIM_COLUMNS, rows)
        return
    groups = grouped((_because(victim), victim) for victim in decision.victims)
    if len(groups) > _MOST_ROWS:
        groups = grouped(((victim["reason"], ""), victim) for victim in decision.victims)
    rows = [(_units(victims), rule, message or _example(victims)) for (rule, message), victims in groups.items()]
    yield from table((texts.tables.so_many_victims(len(decision.victims)), *texts.tables.VICTIM_COLUMNS[1:]), rows)


def _because(victim: dict[str, Any]) -> tuple[str, str]:
    against = f"; {texts.pods.PDB_VIOLATION}" if victim["pdbViolation"] else ""
    return victim["reason"], victim["message"] + against


def show_elsewhere(decision: Decision) -> Iterator[str]:
    """What it would have cost instead, and why it is this one."""
    if decision.outcome != "Preempt":
        return
    others = {domain: cost for domain, cost in decision.candidates.items() if domain != decision.domain}
    ordered = sorted(others.items(), key=lambda item: (item[1]["pdbViolations"], len(item[1]["victims"]), item[0]))
    rows = [
        (domain, str(len(cost["victims"])), str(cost["pdbViolations"]), texts.parts.listed(cost["victims"]))
        for domain, cost in ordered
    ]
    if rows or decision.preemptor in decision.placement:
        yield ""
        yield from table(texts.tables.ELSEWHERE_COLUMNS, rows, most=_MOST_ROWS) if rows else ()
        yield texts.reasons.chosen(decision.domain or "", decision.criterion)


def show_spared(decision: Decision) -> Iterator[str]:
    # Who would only have been asked on another node is told by the table above.
    spared = [item for item in decision.spared if item["rule"] not in ("CheaperElsewhere", "NoHelp")]
    if not spared or decision.outcome == "Fits":
        return
    yield ""
    if len(spared) <= _MOST_ROWS:
        rows = [(shown(item["unit"]), item["domain"], item["rule"], item["message"]) for item in spared]
        yield from table(texts.tables.SPARED_COLUMNS, rows)
        return
    groups = grouped((item["rule"], item) for item in spared)
    yield from table(
        (texts.tables.so_many_stay(len(spared)), *texts.tables.SPARED_COLUMNS[2:]),
        [(_units(items), rule, _example(items)) for rule, items in groups.items()],
    )


def _units(items: Sequence[dict[str, Any]]) -> str:
    return texts.parts.listed([shown(item["unit"]) for item in items])


def _example(items: Sequence[dict[str, Any]]) -> str:
    messages = {item["message"] for item in items}
    return str(items[0]["message"]) if len(messages) == 1 else texts.tables.such_as(items[0]["message"])


def _obstacles(decision: Decision) -> Iterator[str]:
    if not decision.obstacles or decision.outcome == "Fits":
        return
    yield ""
    groups = grouped((why, node) for node, why in decision.obstacles.items())
    rows = [(texts.parts.listed(nodes), why) for why, nodes in groups.items()]
    yield from table(texts.tables.OBSTACLE_COLUMNS, rows, most=_MOST_ROWS)


def grouped(pairs: Iterable[tuple[Group, Item]]) -> dict[Group, list[Item]]:
    """Items by what they have in common, in the order in which that was first met."""
    groups: dict[Group, list[Item]] = {}
    for key, item in pairs:
        groups.setdefault(key, []).append(item)
    return groups


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, most: int | None = None) -> Iterator[str]:
    """Columns as wide as they need to be, as many as there is room for. Beyond `most` rows, how many more."""
    shown = rows[:most]
    room = width()
    columns = layout.choose(header, shown, room and room - _INDENT, gap=_GAP)
    for row in (header, *shown):
        yield from (f"{' ' * _INDENT}{line}".rstrip() for line in layout.lines_of(row, columns, gap=_GAP))
    if len(shown) < len(rows):
        yield "  " + texts.parts.and_more(len(rows) - len(shown))
