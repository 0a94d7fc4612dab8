"""What else is there: the objects that a rule may have to look at besides the one it judges."""

from collections.abc import Callable, Iterable
from typing import Any

from reprieve.manifests import scheduling
from reprieve.manifests.priorities import PriorityClasses
from reprieve.model.names import Key


class Neighbours:
    """Names of what exists, by kind, and the priority classes."""

    def __init__(self, manifests: Iterable[Any] = ()) -> None:
        self._by_kind: dict[str, dict[Key, Any]] = {}
        self._unnamed: dict[str, list[Any]] = {}
        """By kind, what nobody has asked for by name yet: no rule does so with pods."""
        for manifest in manifests:
            self._unnamed.setdefault(manifest.kind, []).append(manifest)
        self._classes: PriorityClasses | None = None

    @property
    def classes(self) -> PriorityClasses:
        """Put in order when somebody asks."""
        if self._classes is None:
            self._classes = PriorityClasses(self._of_kind("PriorityClass").values())
        return self._classes

    def _of_kind(self, kind: str) -> dict[Key, Any]:
        named = self._by_kind.setdefault(kind, {})
        if kind in self._unnamed:
            named |= {(each.namespace, each.name): each for each in self._unnamed.pop(kind)}
        return named

    def put(self, manifest: Any) -> None:
        """One more, or one that has changed."""
        self._of_kind(manifest.kind)[manifest.namespace, manifest.name] = manifest
        if manifest.kind == "PriorityClass":
            self._classes = None

    def remove(self, manifest: Any) -> None:
        self._of_kind(manifest.kind).pop((manifest.namespace, manifest.name), None)
        if manifest.kind == "PriorityClass":
            self._classes = None

    def beside(self, manifest: Any) -> "Neighbours":
        """What there would be with one more, or one changed: for the rules that look for it among the others."""
        with_it = Neighbours()
        with_it._by_kind = {kind: self._of_kind(kind) for kind in (*self._by_kind, *self._unnamed)}
        with_it._by_kind[manifest.kind] = dict(self._of_kind(manifest.kind))
        with_it._classes = self._classes
        with_it.put(manifest)
        return with_it

    def get(self, kind: str, name: str, namespace: str = "") -> Any | None:
        return self._of_kind(kind).get((namespace, name))

    def all(self, kind: str) -> list[Any]:
        return list(self._of_kind(kind).values())

    def names(self, kind: str) -> list[str]:
        return sorted(name for _, name in self._of_kind(kind))

    def cohort_circle(self, name: str) -> list[str]:
        """A cohort and its ancestors back to itself; nothing when they end at a root."""

        def parent_of(name: str) -> str:
            above = self.get("Cohort", name)
            return above.spec.parent_name if above is not None else ""

        return _circle(name, parent_of)

    def cohorts_in_a_row(self, name: str) -> int:
        """How many cohorts stand above each other in the longest way through one that is in no circle."""
        below: dict[str, list[str]] = {}
        for cohort in self.all("Cohort"):
            below.setdefault(cohort.spec.parent_name, []).append(cohort.name)
        number, above = 0, self.get("Cohort", name)
        while above is not None and above.spec.parent_name and number < len(below):
            number, above = number + 1, self.get("Cohort", above.spec.parent_name)
        level = [name]
        while level:
            number, level = number + 1, [each for one in level for each in below.get(one, ())]
        return number

    def group_circle(self, group: scheduling.PodGroup) -> list[str]:
        """A composite group and its ancestors back to itself; nothing when they end at a root."""

        def parent_of(name: str) -> str:
            above = self.get("CompositePodGroup", name, group.namespace)
            return above.parent if above is not None else ""

        return _circle(group.name, parent_of)

    def groups_above(self, group: scheduling.PodGroup) -> list[str]:
        """A group and those above it, as far as they are known; each once, should they go in a circle."""
        path = [group.name]
        above: scheduling.PodGroup | None = group
        while above is not None and above.parent:
            above = self.get("CompositePodGroup", above.parent, group.namespace)
            if above is None or above.name in path[1:]:
                break
            path.append(above.name)
        return path


def _circle(name: str, parent_of: Callable[[str], str]) -> list[str]:
    """The way up from a name to the same name; who only hangs below a circle is not part of it."""
    path = [name]
    above = parent_of(name)
    while above and above not in path:
        path.append(above)
        above = parent_of(above)
    return [*path, name] if above == name else []
