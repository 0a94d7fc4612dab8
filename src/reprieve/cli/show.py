"""How decisions look in a terminal: the sentence first, then who goes, what it would have cost elsewhere, who stays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reprieve import texts
from reprieve.result import Decision, Result

_MOST_ROWS = 10


def show_result(result: Result) -> str:
    """A whole answer; of a cycle also what was placed and what still waits."""
    parts = ["\n".join(show_decision(decision)) for decision in result.decisions]
    if not parts:
        parts.append("Nothing is pending: there is nothing to decide.")
    if result.order:
        parts.append("\n".join(_summary(result)))
    return "\n\n".join(parts)


def _summary(result: Result) -> Iterator[str]:
    victims = sum(len(decision.victims) for decision in result.decisions)
    yield f"{texts.count(len(result.admitted), 'unit')} placed, {len(result.left)} waiting, {victims} to make way"


def show_decision(decision: Decision) -> Iterator[str]:
    yield decision.message
    yield from _victims(decision)
    yield from _elsewhere(decision)
    yield from _spared(decision)
    yield from _obstacles(decision)


def _victims(decision: Decision) -> Iterator[str]:
    if not decision.victims:
        return
    yield ""
    if len(decision.victims) <= _MOST_ROWS:
        rows = [
            (victim["unit"], victim["reason"], victim["message"] + (_BREAKS if victim["pdbViolation"] else ""))
            for victim in decision.victims
        ]
        yield from table(("makes way", "because", ""), rows)
        return
    groups: dict[tuple[str, str], list[str]] = {}
    for victim in decision.victims:
        groups.setdefault((victim["reason"], victim["message"]), []).append(victim["unit"])
    rows = [(texts.listed(units), rule, message) for (rule, message), units in groups.items()]
    yield from table((f"{len(decision.victims)} make way", "because", ""), rows)


_BREAKS = "; breaks a disruption budget"


def _elsewhere(decision: Decision) -> Iterator[str]:
    others = {domain: cost for domain, cost in decision.candidates.items() if domain != decision.domain}
    if decision.outcome != "Preempt":
        return
    yield ""
    if not others:
        yield f"{decision.domain} was chosen: {texts.CRITERIA[decision.criterion]}."
        return
    ordered = sorted(others.items(), key=lambda item: (item[1]["pdbViolations"], len(item[1]["victims"]), item[0]))
    rows = [
        (domain, str(len(cost["victims"])), str(cost["pdbViolations"]), texts.listed(cost["victims"]))
        for domain, cost in ordered[:_MOST_ROWS]
    ]
    yield from table(("instead of", "victims", "budgets broken", ""), rows)
    if len(ordered) > _MOST_ROWS:
        yield f"  and {len(ordered) - _MOST_ROWS} more"
    yield f"{decision.domain} was chosen: {texts.CRITERIA[decision.criterion]}."


def _spared(decision: Decision) -> Iterator[str]:
    # Who would only have been asked on another node is told by the table above.
    spared = [item for item in decision.spared if item["rule"] != "CheaperElsewhere"]
    if not spared or decision.outcome == "Fits":
        return
    yield ""
    if len(spared) <= _MOST_ROWS:
        rows = [(item["unit"], item["domain"], item["rule"], item["message"]) for item in spared]
        yield from table(("stays", "on", "by", ""), rows)
        return
    groups: dict[str, list[dict[str, str]]] = {}
    for item in spared:
        groups.setdefault(item["rule"], []).append(item)
    yield from table(
        (f"{len(spared)} stay", "by", ""),
        [(texts.listed([item["unit"] for item in items]), rule, _example(items)) for rule, items in groups.items()],
    )


def _example(items: Sequence[dict[str, str]]) -> str:
    messages = {item["message"] for item in items}
    return items[0]["message"] if len(messages) == 1 else f"such as: {items[0]['message']}"


def _obstacles(decision: Decision) -> Iterator[str]:
    if not decision.obstacles or decision.outcome == "Fits":
        return
    yield ""
    groups: dict[str, list[str]] = {}
    for node, why in decision.obstacles.items():
        groups.setdefault(why, []).append(node)
    yield from table(("out of the question", ""), [(texts.listed(nodes), why) for why, nodes in groups.items()])


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Columns as wide as they need to be; the last may be as long as it likes."""
    widths = [max(len(row[place]) for row in (header, *rows)) for place in range(len(header))]
    for row in (header, *rows):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        yield ("  " + "  ".join(cells)).rstrip()
