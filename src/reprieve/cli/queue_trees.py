"""YuniKorn's queues in tables: for `top queues` and `get queues`, over a server, a cluster or files.

What is shown is what YuniKorn's REST API tells (`planning/yunikorn_answers.py`), wherever it is worked out.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from reprieve.cli.figures import so_much
from reprieve.manifests.yunikorn import VCORE
from reprieve.model.resources import CPU, PODS

if TYPE_CHECKING:
    from reprieve.cluster_snapshot import Snapshot
    from reprieve.manifests.loaded import Loaded

Data = dict[str, Any]
HEADINGS = ("QUEUE", "RESOURCE", "USED", "GUARANTEED", "MAXIMUM", "PENDING", "PREEMPTING", "RUNNING", "WAITING")
IN_SHORT = ("QUEUE", "USED", "GUARANTEED", "MAXIMUM", "PENDING", "PREEMPTING", "RUNNING", "WAITING")
_FIELDS = ("allocatedResource", "guaranteedResource", "maxResource", "pendingResource", "preemptingResource")
_USED, _GUARANTEED, _MOST, _PENDING, _PREEMPTING = _FIELDS
_NOT_SAID = "-"


def trees_in(loaded: "Loaded") -> list[Data]:
    """The queues that manifests configure, with the pods in them."""
    # With the policies, which other questions can spare.
    from reprieve.configuration import Settings
    from reprieve.planning.planner import usable
    from reprieve.planning.queue_figures import survey_queues
    from reprieve.planning.yunikorn_answers import YunikornAnswers
    from reprieve.policies.registry import Policies
    from reprieve.world import World

    survey = survey_queues(Policies(World(usable(loaded).objects), Settings()))
    return [YunikornAnswers(survey).tree()] if survey is not None else []


def trees_of_files(files: Sequence[str]) -> list[Data]:
    from reprieve.cli.output import print_warnings
    from reprieve.manifests.loading import load
    from reprieve.manifests.problems import InvalidInput

    loaded = load(files)
    if loaded.errors:
        raise InvalidInput(loaded.errors)
    print_warnings(loaded.warnings)
    return trees_in(loaded)


def trees_of_cluster(found: "Snapshot") -> list[Data]:
    from reprieve.live_planning import load_records

    return trees_in(load_records(found.records))


def walk(trees: Sequence[Data], depth: int = 0) -> Iterator[tuple[int, Data]]:
    """All queues, each before those below it, with how deep it stands."""
    for tree in trees:
        yield depth, tree
        yield from walk(tree.get("children", ()), depth + 1)


def rows(trees: Sequence[Data]) -> list[list[str]]:
    """Each resource of each queue."""
    return [row for _, queue in walk(trees) for row in _rows(queue)]


def _rows(queue: Data) -> Iterator[list[str]]:
    for name in _resources(queue):
        amounts = (_amount(queue, field, name) for field in _FIELDS)
        yield [queue["queuename"], CPU if name == VCORE else name, *amounts, *_pods(queue)]


def _resources(queue: Data) -> list[str]:
    """What it uses, waits for or is guaranteed; cpu always, pods only where they are guaranteed."""
    told = (_USED, _GUARANTEED, _PENDING, _PREEMPTING)
    named = {name for field in told for name, units in queue.get(field, {}).items() if units} - {PODS}
    named |= {PODS} & queue.get(_GUARANTEED, {}).keys()
    return [VCORE, *sorted(named - {VCORE})]


def _amount(queue: Data, field: str, name: str) -> str:
    amounts = queue.get(field, {})
    if field in (_GUARANTEED, _MOST):
        return so_much(CPU if name == VCORE else name, amounts[name]) if name in amounts else _NOT_SAID
    return so_much(CPU if name == VCORE else name, amounts.get(name, 0))


def _pods(queue: Data) -> list[str]:
    return [str(queue.get(field, {}).get(PODS, 0)) for field in (_USED, _PENDING)]


def short_rows(trees: Sequence[Data]) -> list[list[str]]:
    """One line for each queue, below its parent."""
    return [
        [f"{'  ' * depth}{_last(queue) if depth else queue['queuename']}", *_in_short(queue)]
        for depth, queue in walk(trees)
    ]


def _last(queue: Data) -> str:
    return str(queue["queuename"]).rpartition(".")[2]


def _in_short(queue: Data) -> list[str]:
    return [*(_together(queue, field) for field in _FIELDS), *_pods(queue)]


def _together(queue: Data, field: str) -> str:
    shown = [name for name in _resources(queue) if name in queue.get(field, {}) and queue[field][name]]
    told = (f"{CPU if name == VCORE else name} {_amount(queue, field, name)}" for name in shown)
    return ", ".join(told) or _NOT_SAID
