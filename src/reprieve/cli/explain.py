"""`reprieve explain`: why is it pending, why was it preempted, why not somebody else?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from reprieve import texts
from reprieve.cli.options import Config, Files, Gates, Now, settings_from
from reprieve.cli.plan import print_warnings
from reprieve.cli.show import show_decision
from reprieve.objects.loading import load
from reprieve.objects.meta import find_condition
from reprieve.planning import Planner, moment_of, question, usable
from reprieve.result import Decision, decision
from reprieve.world import PodFacts

For = Annotated[str, typer.Option("--for", metavar="KIND/NAMESPACE/NAME", help="The unit to explain.")]
WhyNot = Annotated[
    str | None,
    typer.Option(
        "--why-not", metavar="KIND/NAMESPACE/NAME", help="Say why this one does not make way for the one in --for."
    ),
]


def explain(
    filename: Files,
    unit: For,
    why_not: WhyNot = None,
    now: Now = None,
    config: Config = None,
    feature_gates: Gates = None,
) -> None:
    """Explain what happens to a unit.

    For a pending unit: why it is pending and what would help. For a running one: whether it has to make way, for whom,
    and by which rule; or why it is safe. With --why-not: why another unit is spared.
    """
    loaded = usable(load(filename))
    planner = Planner(loaded, settings_from(config, feature_gates), moment_of(now))
    facts = planner.pod(unit)
    print_warnings(planner.warnings)
    if why_not is not None:
        lines = _why_not(planner, facts, planner.pod(why_not))
    elif facts.pending:
        lines = show_decision(decision(planner.decide(facts)))
    else:
        lines = _resident(planner, facts)
    typer.echo("\n".join(lines))


def _why_not(planner: Planner, preemptor: PodFacts, other: PodFacts) -> Iterator[str]:
    if not preemptor.pending:
        raise question(f"{preemptor.unit} is not pending: nobody makes way for it")
    made = decision(planner.decide(preemptor))
    yield made.message
    for victim in made.victims:
        if victim["unit"] == other.unit:
            yield f"{other.unit} does make way: {victim['message']}."
            return
    yield texts.not_chosen(other.unit, _why_spared(made, other), made.outcome)


def _why_spared(made: Decision, other: PodFacts) -> str:
    for item in made.spared:
        if item["unit"] == other.unit:
            return item["message"]
    return f"it runs on {other.node}, which does not exist" if other.node else "it does not run on any node"


def _resident(planner: Planner, facts: PodFacts) -> Iterator[str]:
    """A pod that runs, leaves or is done: what it is, and who would have it make way."""
    gated = bool(facts.pod.spec.scheduling_gates)
    yield texts.whereabouts(facts.unit, facts.node, finished=facts.pod.finished, gated=gated)
    target = find_condition(facts.pod.status.conditions, "DisruptionTarget")
    if target is not None and target.status == "True":
        yield texts.marked(facts.unit, target.reason, target.message, leaving=facts.pod.terminating)
    if not facts.node:
        return
    asked = [made for made in planner.cycle().decisions if made.outcome != "Fits"]
    for made in asked:
        for victim in made.victims:
            if victim["unit"] == facts.unit:
                yield f"{facts.unit} has to make way for {made.preemptor}: {victim['message']}."
                yield f"{made.domain} was chosen: {texts.CRITERIA[made.criterion]}."
                return
    if not asked:
        yield "Nobody who is pending needs anyone to make way."
    for made in asked:
        yield f"{facts.unit} stays where {made.preemptor} is concerned: {_why_spared(made, facts)}."
