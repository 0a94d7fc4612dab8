"""What every cluster has from its first moment: its namespaces and the two priority classes of the system."""

from reprieve.manifests.kinds import NAMESPACES, PRIORITY_CLASSES
from reprieve.manifests.priorities import BUILT_IN
from reprieve.manifests.resource import Resource
from reprieve.stores.embedded.writer import ALWAYS_THERE, Writer

_DESCRIPTIONS = {
    "system-node-critical": "For pods that their node cannot do without.",
    "system-cluster-critical": "For pods that the cluster cannot do without.",
}


def create_what_always_exists(writer: Writer) -> None:
    """Asked at every start: a crash may have come between two of them."""
    for name in ALWAYS_THERE:
        _ensure(writer, NAMESPACES, name, {})
    for name, item in BUILT_IN.items():
        _ensure(writer, PRIORITY_CLASSES, name, {"value": item.value, "description": _DESCRIPTIONS[name]})


def _ensure(writer: Writer, resource: Resource, name: str, fields: dict[str, object]) -> None:
    if writer.journal.of_kind(resource).get("", name) is None:
        writer.create(resource, {"metadata": {"name": name}, **fields})
