"""What else is there: the objects that a rule may have to look at besides the one it judges."""

from collections.abc import Callable, Iterable
from typing import Any

from reprieve.manifests import kueue, scheduling
from reprieve.manifests.priorities import PriorityClasses


class Neighbours:
    """Names of what exists, by kind, and the priority classes."""

    def __init__(self, manifests: Iterable[Any] = ()) -> None:
        self._names: dict[type, dict[tuple[str, str], Any]] = {}
        self._composites: dict[tuple[str, str], scheduling.PodGroup] = {}
        for manifest in manifests:
            self._add(manifest)
        self.classes = PriorityClasses(self.all(scheduling.PriorityClass))

    def _add(self, manifest: Any) -> None:
        by_name = self._names.setdefault(type(manifest), {})
        by_name[manifest.namespace, manifest.name] = manifest
        if manifest.kind == "CompositePodGroup":
            self._composites[manifest.namespace, manifest.name] = manifest

    def put(self, manifest: Any) -> None:
        """One more, or one that has changed."""
        self._add(manifest)
        self._refresh(manifest)

    def remove(self, manifest: Any) -> None:
        place = manifest.namespace, manifest.name
        self._names.get(type(manifest), {}).pop(place, None)
        if manifest.kind == "CompositePodGroup":
            self._composites.pop(place, None)
        self._refresh(manifest)

    def _refresh(self, manifest: Any) -> None:
        if type(manifest) is scheduling.PriorityClass:
            self.classes = PriorityClasses(self.all(scheduling.PriorityClass))

    def beside(self, manifest: Any) -> "Neighbours":
        """What there would be with one more, or one changed: for the rules that look for it among the others."""
        with_it = Neighbours()
        with_it._names = {**self._names, type(manifest): dict(self._names.get(type(manifest), {}))}
        with_it._composites = dict(self._composites)
        with_it.classes = self.classes
        with_it.put(manifest)
        return with_it

    def all(self, kind: type[Any]) -> list[Any]:
        return list(self._names.get(kind, {}).values())

    def get(self, kind: type[Any], name: str, namespace: str = "") -> Any | None:
        return self._names.get(kind, {}).get((namespace, name))

    def names(self, kind: type[Any]) -> list[str]:
        return sorted(name for _, name in self._names.get(kind, {}))

    def cohort_circle(self, name: str) -> list[str]:
        """A cohort and its ancestors back to itself; nothing when they end at a root."""
        return _circle(name, self._parent_of_cohort)

    def _parent_of_cohort(self, name: str) -> str:
        cohort = self.get(kueue.Cohort, name)
        return cohort.spec.parent_name if cohort is not None else ""

    def group_circle(self, group: scheduling.PodGroup) -> list[str]:
        """A composite group and its ancestors back to itself; nothing when they end at a root."""

        def parent_of(name: str) -> str:
            above = self._composites.get((group.namespace, name))
            return above.parent if above is not None else ""

        return _circle(group.name, parent_of)


def _circle(name: str, parent_of: Callable[[str], str]) -> list[str]:
    """The way up from a name to the same name; who only hangs below a circle is not part of it."""
    path = [name]
    above = parent_of(name)
    while above and above not in path:
        path.append(above)
        above = parent_of(above)
    return [*path, name] if above == name else []
