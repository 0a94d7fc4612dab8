"""`reprieve explain` from the history of a control plane: what was decided about a unit, and what became of it.

Nothing is worked out anew: each sentence about a decision is the one that was kept when it was made.
"""

from collections.abc import Iterator
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from reprieve.cli.explain.decisions import preempted_lines, reasons_of
from reprieve.cli.explain.why_not import why_not_lines
from reprieve.cli.kinds import unit_in
from reprieve.cli.options import BadUsage
from reprieve.cli.show import table
from reprieve.client.errors import Refused
from reprieve.manifests.identity import DEFAULT_NAMESPACE
from reprieve.manifests.kinds import written_name
from reprieve.model.names import parts_of
from reprieve.texts import history as texts

if TYPE_CHECKING:
    from reprieve.client.connection import Client

Data = dict[str, Any]


def explain_live(
    client: "Client", word: str, why_not: str | None, namespace: str | None, uid: str = ""
) -> tuple[Any, str]:
    """What the server tells, as data and as text."""
    told = client.explain(unit_named(client, word, namespace), uid)
    if why_not is None:
        return told, "\n".join(_lines(told))
    other = unit_named(client, why_not, namespace)
    if other == told["unit"]:
        raise BadUsage(texts.of_itself(other))
    return told, "\n".join(why_not_lines(told, _known(client, other)))


def unit_named(client: "Client", word: str, namespace: str | None) -> str:
    """The unit that a word means: with its kind, or by its name alone where only one unit has it."""
    if "/" in word:
        resource, place, name = unit_in(word, namespace)
        return written_name(resource.kind, place, name)
    found = client.units(word)
    here = [unit for unit in found if parts_of(unit).namespace in ("", namespace or DEFAULT_NAMESPACE)]
    meant = here or ([] if namespace else found)
    if len(meant) == 1:
        return meant[0]
    raise BadUsage(texts.which_of(word, meant)) if meant else Refused(texts.nobody_called(word, namespace))


def _known(client: "Client", unit: str) -> Data:
    """What is known of a unit; one that nothing is known about has a name."""
    try:
        return client.explain(unit)
    except Refused as error:
        if not error.not_found:
            raise
        return {"unit": unit, "attempts": [], "others": [], "earlier": []}


def _lines(told: Data) -> Iterator[str]:
    """One unit after the other in the order of time, and who had the name before."""
    itself = [told] if _says_anything(told) else []
    if not itself:
        if not told["attempts"]:
            raise Refused(texts.nothing_decided(told["unit"], [each["unit"] for each in told["earlier"]]))
        yield texts.attempts_of(told["unit"], told["attempts"])
        shown = {each["uid"] for each in told["others"]}
        left_out = [each["unit"] for each in told["attempts"] if each["uid"] not in shown]
        yield from [texts.told_by_themselves(left_out)] if left_out else []
    for number, each in enumerate([*itself, *told["others"]]):
        yield from [""] if number or not itself else []
        yield from _unit_lines(each)
    for each in told["earlier"]:
        yield ""
        yield texts.had_the_name_before(each["unit"], each["state"], each["since"], each["uid"])


def _says_anything(told: Data) -> bool:
    return bool(told["story"] or told["decision"] or told["preempted"])


def _unit_lines(told: Data) -> Iterator[str]:
    """The latest first: what was decided about it, whom it preempted, or who it made way for; then its story."""
    parts = [(made["id"], reasons_of(made)) for made in _own_decisions(told)]
    if told["preempted"]:
        parts.append((told["preempted"]["id"], preempted_lines(told["preempted"], told["unit"])))
    for _, lines in sorted(parts, key=itemgetter(0), reverse=True):
        yield from lines
        yield ""
    yield texts.story_heading(told["unit"])
    yield from story_lines(told["story"])


def _own_decisions(told: Data) -> list[Data]:
    """The last decision about it, and the last by which it preempted. That it took a free place needs no words of its
    own where there is more to tell: the story has it."""
    last, preemption = told["decision"], told["preemption"]
    found = {made["id"]: made for made in (last, preemption) if made is not None}
    if last is not None and last["outcome"] == "Fits" and (preemption or told["preempted"]):
        del found[last["id"]]
    return list(found.values())


def story_lines(story: list[Data]) -> list[str]:
    rows = [(texts.clock_time(line["at"]), line["step"], line["cause"]) for line in story]
    return list(table(texts.STORY_COLUMNS, rows))
