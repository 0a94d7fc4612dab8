"""What earlier attempts wrote: of pods that were preempted, that failed, or that are gone.

An attempt is one run of a container: a pod whose container was started again counts as several. They are numbered in
the order of time, whatever has been dropped meanwhile.
"""

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from reprieve.cli.options import BadUsage
from reprieve.cli.terminal import say
from reprieve.client.errors import Refused
from reprieve.manifests.kinds import PODS
from reprieve.model.names import parts_of
from reprieve.texts import attempts as texts

if TYPE_CHECKING:
    from reprieve.client.connection import Client

Data = dict[str, Any]


class Attempt(NamedTuple):
    """One run of a container, or a pod that has not run."""

    number: int
    unit: str
    uid: str
    stands: str
    """What became of it, and when."""
    run: Data | None

    @property
    def readable(self) -> bool:
        return self.run is not None and not self.run["dropped"]


def print_attempts(client: "Client", whose: str, kept: list[Data], number: int | None, options: Data) -> None:
    """One attempt by its number, the one before the last (`previous`), or all of them, each with a heading."""
    found = attempts_in(kept, options["container"])
    if number:
        if number > len(found):
            raise BadUsage(texts.no_such_attempt(number, whose, _listed(found)))
        _print_one(client, found[number - 1], len(found), options)
    elif options["previous"]:
        if len(found) < 2:
            raise Refused(texts.no_previous(whose, _listed(found)))
        _print_one(client, found[-2], len(found), options)
    else:
        _print_all(client, found, options)


def print_last(client: "Client", whose: str, kept: list[Data], options: Data) -> None:
    """For what has no pod now: the last attempt of which a log is kept."""
    found = attempts_in(kept, options["container"])
    readable = [each for each in found if each.readable]
    if not readable:
        raise Refused(texts.nothing_kept(whose, _listed(found)))
    say(texts.has_no_pod(whose), err=True)
    _print_one(client, readable[-1], len(found), options)


def print_pieces(pieces: Iterable[bytes]) -> None:
    for piece in pieces:
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()


def attempts_in(kept: Sequence[Data], container: str) -> list[Attempt]:
    """All runs of a container, in the order of time, and pods that have not run."""
    found: list[Attempt] = []
    for pod in kept:
        if parts_of(pod["unit"]).kind != PODS.kind:
            continue
        runs = _of_container(pod, container)
        becomes = [texts.exited(run["exitCode"]) for run in runs[:-1]]
        becomes.append(texts.stands(pod["state"], pod["since"]))
        for run, stands in zip(runs or (None,), becomes, strict=True):
            found.append(Attempt(len(found) + 1, pod["unit"], pod["uid"], stands, run))
    return found


def _of_container(pod: Data, container: str) -> list[Data]:
    names = list(dict.fromkeys(run["container"] for run in pod["runs"]))
    if len(names) > 1 and container not in names:
        raise BadUsage(texts.which_container(pod["unit"], names))
    return [run for run in pod["runs"] if run["container"] == (container or names[0])]


def _print_one(client: "Client", attempt: Attempt, of: int, options: Data) -> None:
    say(texts.this_is(attempt.number, of, attempt.unit, attempt.stands), err=True)
    if not attempt.readable:
        raise Refused(_why_not(attempt))
    _print(client, attempt, options)


def _print_all(client: "Client", found: list[Attempt], options: Data) -> None:
    for attempt in found:
        say(texts.heading(attempt.number, attempt.unit, attempt.stands))
        if attempt.readable:
            _print(client, attempt, options)
        else:
            say(_why_not(attempt), err=True)


def _print(client: "Client", attempt: Attempt, options: Data) -> None:
    run = attempt.run or {}
    if run["cut"] and options["tailLines"] is None:
        say(texts.cut(run["cut"]), err=True)
    place = parts_of(attempt.unit)
    which = {"uid": attempt.uid, "run": str(run["run"]), "container": run["container"], "previous": False}
    print_pieces(client.logs(PODS, place.name, place.namespace, **{**options, **which}))


def _why_not(attempt: Attempt) -> str:
    return texts.dropped(attempt.number) if attempt.run is not None else texts.has_not_run(attempt.unit)


def _listed(found: Sequence[Attempt]) -> list[tuple[int, str, str]]:
    return [(each.number, each.unit, each.stands) for each in found]
