"""What would a change do? A world and a change, and what is different with it."""

from collections.abc import Iterator
from datetime import datetime

from reprieve.configuration import Settings
from reprieve.manifests.admission import admit_all
from reprieve.manifests.kueue import QuotaWorkload, WorkloadPriorityClass
from reprieve.manifests.loaded import Loaded
from reprieve.manifests.pods import Pod
from reprieve.manifests.problems import Problem, in_order
from reprieve.manifests.scheduling import PriorityClass
from reprieve.model.garbage import no_garbage_collection
from reprieve.planning.change import ProposedChange
from reprieve.planning.comparison import Comparison
from reprieve.planning.pictures import Picture, compare
from reprieve.planning.planner import usable
from reprieve.policies.registry import Policies
from reprieve.texts import changes as texts
from reprieve.world import World, microseconds


def what_if(
    loaded: Loaded, change: ProposedChange, settings: Settings, now: datetime, *, names: frozenset[str] | None = None
) -> Comparison:
    """What is different with a change, for the schedulers of these names (None: all). What was read stays as it is."""
    with no_garbage_collection():
        return _what_if(loaded, change, settings, now, names)


def _what_if(
    loaded: Loaded, change: ProposedChange, settings: Settings, now: datetime, names: frozenset[str] | None
) -> Comparison:
    world = World(usable(loaded).objects, now)
    moment = microseconds(now)
    before = Picture(world, settings, moment, names=names)
    with_change = change.apply(world, before.policies)
    after = Picture(with_change, change.configured(settings), moment, names=names)
    _follow(before.policies, after.policies)
    before.policies.complete()
    after.policies.complete()
    warnings, errors = _warnings(loaded, change.loaded)
    told = {
        "now": now.isoformat().replace("+00:00", "Z"),
        "changed": _changed(world, with_change, change),
        "notes": list(_notes(world, with_change)),
        "warnings": warnings,
        "errors": errors,
    }
    return compare(before, after, **told)


def _follow(before: Policies, after: Policies) -> None:
    """What controllers would write otherwise because of the change, they have written."""
    for entry in before:
        known = {(type(item), item.kind, item.namespace, item.name): item for item in entry.follows()}
        made = list(after[entry.name].follows())
        for item in made:
            if known.get((type(item), item.kind, item.namespace, item.name)) != item:
                after.world.put(item)


def _changed(before: World, after: World, change: ProposedChange) -> dict[str, str]:
    """What happens to each object that the change names."""
    told = {str(asked.unit): texts.DELETED for asked in change.deleted}
    for entry in change.loaded.entries:
        item = entry.manifest
        key = {"name": item.name, "namespace": item.namespace, "called": item.kind}
        old, new = before.get(type(item), **key), after.get(type(item), **key)
        if told.get(entry.unit) in (None, texts.UNCHANGED):
            told[entry.unit] = texts.CREATED if old is None else texts.UNCHANGED if old == new else texts.REPLACED
    if change.settings:
        told[texts.SETTINGS] = texts.REPLACED
    return told


def _notes(before: World, after: World) -> Iterator[str]:
    """Values of classes that change: whoever is there already keeps what it has."""
    for kind in (PriorityClass, WorkloadPriorityClass):
        for old in before.all(kind):
            new = after.get(kind, old.name)
            if new is not None and new.value != old.value:
                keeping = sum(1 for _ in _named(before, old))
                yield texts.value_of_new_units(f"{old.kind}/{old.name}", old.value, new.value, keeping)


def _named(world: World, item: PriorityClass | WorkloadPriorityClass) -> Iterator[object]:
    """Those who came when the class had its old value."""
    if isinstance(item, PriorityClass):
        yield from (facts for facts in world.pods.values() if facts.pod.spec.priority_class_name == item.name)
    for workload in world.all(QuotaWorkload):
        reference = workload.spec.priority_class_ref
        if reference is not None and (reference.kind, reference.name) == (item.kind, item.name):
            yield workload


def _warnings(state: Loaded, change: Loaded) -> tuple[list[Problem], int]:
    """What is odd about the change, and what admission would say of it beside what is there; pods are no neighbours.
    And how many errors `check` finds in the change, and in the files that it is about."""
    replaced = {entry.key for entry in change.entries}
    beside = [e for e in state.entries if e.key not in replaced and not isinstance(e.manifest, Pod)]
    places = {entry.origin for entry in change.entries}
    admission = [problem for problem in admit_all([*beside, *change.entries]) if problem.origin in places]
    read = [] if state.stored else [*state.errors, *admit_all(state.entries)]
    errors = sum(problem.severity == "error" for problem in (*read, *change.errors, *admission))
    odd = in_order(problem.as_warning() for problem in (*change.problems, *admission))
    return change.sources.located(odd), errors
