"""Every sentence of the demonstration; what was decided is told in the words of the decision itself."""

from collections.abc import Sequence

from reprieve.texts.parts import count, listed

PLACES = {"pod": "node", "podgroup": "node", "quota": "cluster queue", "queue": "queue", "federation": "member cluster"}
"""What a row of the live table is about, by policy."""
TABLE_COLUMNS = ("used", "runs", "leaves", "waits")
NO_PLACE = "no place yet"
SUMMARY = "What happened, from the history of decisions and the objects as they are now:"
TRY_NEXT = "To try in another terminal:"
TRY_ON_A_TERMINAL = "This is no terminal, so the control plane stops here. On one it goes on; then try:"


def applied(works: Sequence[str]) -> str:
    return f"Applied: {listed(works)}."


def work(name: str, pods: int, priority_class: str) -> str:
    return f"{name} ({count(pods, 'pod')} of the class {priority_class})"


def because(whys: Sequence[str]) -> str:
    return f"The reason: {'; '.join(whys)}."


def spared(names: Sequence[str], why: str) -> str:
    return f"Spared: {listed(names)}, because {why}."


def the_same_for(names: Sequence[str]) -> str:
    return f"The same goes for {listed(names)}."


def runs(work: str, running: int, wanted: int, finished: int, places: Sequence[str], *, again: bool) -> str:
    """`again`: it had to make way before."""
    ended = f", {finished} {'has' if finished == 1 else 'have'} finished" if finished else ""
    return f"{work}: {running} of {count(wanted, 'pod')} run{' again' if again else ''}, on {listed(places)}{ended}."


def admitted(work: str, queue: str, *, again: bool) -> str:
    return f"{work} is admitted{' again' if again else ''} by {queue}."


def leaves(names: Sequence[str], places: Sequence[str], seconds: float | None) -> str:
    verb, have = ("leaves", "has") if len(names) == 1 else ("leave", "have")
    time = f" and {have} at most {count(round(seconds), 'second')} for it" if seconds else ""
    return f"{listed(names)} {verb} {listed(places)}{time}."


def left(names: Sequence[str], places: Sequence[str], seconds: float | None) -> str:
    has = "has" if len(names) == 1 else "have"
    time = f" after {count(round(seconds), 'second')}" if seconds is not None else ""
    return f"{listed(names)} {has} left {listed(places)}{time}."


def complete(work: str) -> str:
    return f"{work} is complete."


# The end


def made_way(policy: str, work: str, victims: int, preemptor: str, whys: Sequence[str]) -> str:
    """`victims` pods, workloads or bindings of a work went for another one."""
    unit = {"quota": "workload", "federation": "binding"}.get(policy, "pod")
    return f"{policy}: {count(victims, unit)} of {work} made way for {preemptor} ({'; '.join(whys)})"


def came_back(running: int, wanted: int, *, left: bool) -> str:
    if not left:
        return "still leaving"
    return f"{running} of {count(wanted, 'pod')} run again" if running else "not back"


def outcome(made_way: str, came_back: str) -> str:
    return f"{made_way}; {came_back}."


def scene_over(seconds: float) -> str:
    return f"Everybody who made way is back, after {count(round(seconds), 'second')}."


def not_reached(title: str, seconds: float, what: str) -> str:
    return f'The scene "{title}" did not reach its end within {count(round(seconds), "second")}: {what}.'


def not_played(title: str, why: str) -> str:
    return f'The scene "{title}" could not be played: {why}.'


def somebody_elses(unit: str) -> str:
    return f"{unit} is there already, and is not of this demonstration"


def bad_speed(name: str, text: str) -> str:
    return f"{name}: '{text}' is no number above 0"


LOW_DOES_NOT_RUN = "the work of low priority does not run"
TOO_LARGE_NOT_REFUSED = "what is too large was not refused"
STAGE_NOT_READY = "the nodes, queues or clusters are not ready"
NOT_CLEARED = "what an earlier demonstration left does not go away"
NOBODY_MADE_WAY = "nobody made way"
PREEMPTOR_NOT_DONE = "the important work is not complete"
NOT_ALL_BACK = "not everybody who made way is back"


def commands(program: str, victim: str, server: str = "") -> list[str]:
    """What to type next; `victim` is somebody who made way, `server` an address that is not found by itself."""
    kind, _, name = victim.partition("/")
    asked = [f"explain {kind.lower()}/{name}"] if victim else []
    where = f" --server {server}" if server else ""
    return [f"{program} {verb}{where}" for verb in ("get pods -A", "events -A", *asked, "top")]
