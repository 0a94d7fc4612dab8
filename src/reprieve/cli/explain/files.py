"""`reprieve explain` over files: why is it pending, would it be preempted, why not somebody else?"""

from collections.abc import Iterator

from reprieve import texts
from reprieve.cli.plan import over_errors
from reprieve.cli.show import grouped, show_decision
from reprieve.configuration import Settings
from reprieve.manifests.loading import load
from reprieve.manifests.meta import find_condition
from reprieve.manifests.problems import Problem
from reprieve.model.names import parts_of
from reprieve.planning.planner import Planner, usable
from reprieve.planning.questions import WHY_NOT, moment_of, question
from reprieve.planning.result import Decision
from reprieve.policies.entry import Known


def explain_files(
    paths: list[str], unit: str, why_not: str | None, now: str | None, settings: Settings
) -> tuple[list[str], list[Problem]]:
    """The explanation in lines, and what is odd about the input."""
    planner = Planner(usable(load(paths)), settings, moment_of(now))
    lines = [*over_errors(planner.errors), *explain_planner(planner, unit, why_not)]
    return lines, planner.warnings


def explain_planner(planner: Planner, unit: str, why_not: str | None) -> Iterator[str]:
    """The explanation over a world, whatever it was read from."""
    known = planner.known(unit)
    if known is not None and known.pending and why_not is None:
        unit = _whole(planner, known)
    if why_not is not None:
        other = planner.known(why_not, about=WHY_NOT)
        if other is None or (known is not None and other.unit == known.unit):
            raise question(texts.questions.names_the_preemptor(other.unit if other else why_not), about=WHY_NOT)
        yield from _why_not(planner.single(unit).decision, other)
    elif known is None or known.pending:
        yield from show_decision(planner.single(unit).decision)
    else:
        yield from _resident(planner, known)


def _whole(planner: Planner, known: Known) -> str:
    """What a pending unit waits with: the group of a pod, or the unit itself."""
    ledgers = dict.fromkeys(entry.ledger for entry in planner.policies.of_kind(parts_of(known.unit).kind))
    waiting = (one for ledger in ledgers for one in planner.policies.pending(ledger))
    return next((one.unit for one in waiting if any(facts.unit == known.unit for facts in one.pods)), known.unit)


def _why_not(made: Decision, other: Known) -> Iterator[str]:
    yield made.message
    for victim in made.victims:
        if victim["unit"] == other.unit:
            yield texts.explanations.makes_way(other.unit, victim["message"])
            return
    why = texts.explanations.nobody_has_to(made.preemptor) if made.outcome == "Fits" else _why_spared(made, other)
    yield texts.explanations.not_chosen(other.unit, why) if why else other.whereabouts


def _why_spared(made: Decision, other: Known) -> str:
    """The rule that spares it, and where another node was chosen what its own would have cost; empty: none."""
    for item in made.spared:
        if item["unit"] == other.unit:
            cost = made.candidates.get(item["domain"]) if item["rule"] == "CheaperElsewhere" else None
            return (
                texts.explanations.cost_elsewhere(item["message"], item["domain"], cost["victims"])
                if cost
                else item["message"]
            )
    return other.unrelated


def _resident(planner: Planner, known: Known) -> Iterator[str]:
    """A unit that runs, leaves or is done: what it is, and who would have it make way."""
    yield known.whereabouts
    for name in ("DisruptionTarget", "Preempted"):
        target = find_condition(known.conditions, name)
        if target is not None and target.status == "True":
            yield texts.pods.marked(known.unit, target.reason, target.message)
    if known.holds:
        yield from _before_the_pending(planner, known)


def _before_the_pending(planner: Planner, known: Known) -> Iterator[str]:
    """Whether one cycle over all that is pending would have it make way; quota, clusters, nodes: each for itself."""
    asked = [
        made
        for made in planner.cycle().decisions
        if made.outcome != "Fits" and planner.policies.ledger_of(made.policy) == known.ledger
    ]
    for made in asked:
        for victim in made.victims:
            if victim["unit"] == known.unit:
                yield texts.explanations.has_to_make_way(known.unit, made.preemptor, victim["message"])
                if len(made.candidates) > 1 or made.preemptor in made.placement:
                    yield texts.reasons.chosen(made.domain or "", made.criterion)
                return
    if not asked:
        yield texts.explanations.NOBODY_ASKS
    for group in grouped((_rule(made, known), made) for made in asked).values():
        reasons = [_why_spared(made, known) for made in group]
        yield texts.explanations.stays_for(known.unit, [made.preemptor for made in group], reasons)


def _rule(made: Decision, known: Known) -> str:
    return next((item["rule"] for item in made.spared if item["unit"] == known.unit), "")
