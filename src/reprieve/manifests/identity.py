"""What an object is: once it was read, and before anyone knows that it can be: its type, its name, what was meant."""

from typing import Any

import msgspec

from reprieve.manifests.kinds import READERS, written_name
from reprieve.manifests.meta import Reader
from reprieve.manifests.problems import Finding, Origin, did_you_mean
from reprieve.manifests.resource import group_of
from reprieve.manifests.yunikorn import QUEUES_FILE, QueueConfiguration

DEFAULT_NAMESPACE = "default"
NAMELESS = Finding("$.metadata.name", "missing", "every object needs a name, or a generateName")
QUEUES = Reader("", "QueueConfiguration", QueueConfiguration)


class LoadedObject(msgspec.Struct, frozen=True, gc=False):
    """One object: as it counts, as it was written, and where.

    A queue configuration inside a ConfigMap names the ConfigMap as its owner, and the path to it.
    """

    manifest: Any
    written: Any
    origin: Origin
    owner: str = ""
    path: str = "$"

    @property
    def unit(self) -> str:
        return self.owner or written_name(self.manifest.kind, self.manifest.namespace, self.manifest.name)

    @property
    def key(self) -> tuple[str, str]:
        """What makes it one object: two APIs have a kind `Workload`."""
        return group_of(getattr(self.manifest, "api_version", "")), self.unit


QUEUES_KEY = ("", written_name(QUEUES.kind, "", QUEUES_FILE))
"""Of the queues there is one configuration, wherever it stands."""


def reader_of(api_version: Any, kind: Any) -> Reader | None:
    return READERS.get((api_version, kind)) if isinstance(api_version, str) and isinstance(kind, str) else None


def versions_of(kind: str, group: str) -> list[str]:
    """The versions of a kind that are read, in one API group."""
    return [version for version, known in READERS if known == kind and group_of(version) == group]


def is_list(kind: object) -> bool:
    return isinstance(kind, str) and kind.endswith("List")


def implied_type(api_version: str, kind: str) -> tuple[str, str]:
    """What the items of a list are: a `PodList` says it for them, a plain `List` does not."""
    return (api_version, kind.removesuffix("List")) if kind != "List" else ("", "")


def type_of(data: dict[str, Any], implied: tuple[str, str]) -> tuple[Any, Any]:
    """What an object says it is; an item of a `PodList` need not say it."""
    return data.get("apiVersion") or implied[0], data.get("kind") or implied[1]


def is_nameless(data: dict[str, Any]) -> bool:
    """Whether an object has no name and asks for none; what is no name at all is another mistake."""
    metadata = data.get("metadata") or {}
    return isinstance(metadata, dict) and not metadata.get("name") and not metadata.get("generateName")


def meant_kind(api_version: str, kind: str) -> str:
    """The kind that was meant: one of the same API with nearly that name, or of that name where Kubernetes has it."""
    group = group_of(api_version)
    same = [known for version, known in READERS if group_of(version) == group]
    if near := did_you_mean(kind, same):
        return near
    # In other groups a kind of the same name may be something else, so only Kubernetes' own are taken for a mistake.
    versions = [version for version, known in READERS if known == kind]
    return f'did you mean "apiVersion: {versions[0]}"?' if versions and "." not in group else ""


def label(kind: Any, data: Any) -> str:
    """What to call an object that could not be read."""
    if kind == QUEUES.kind:
        return written_name(kind, "", QUEUES_FILE)
    metadata = data.get("metadata") if isinstance(data, dict) else None
    name, namespace = (metadata.get("name"), metadata.get("namespace")) if isinstance(metadata, dict) else (None, None)
    if not isinstance(kind, str) or not kind or not isinstance(name, str):
        return next((text for text in (kind, name) if isinstance(text, str) and text), "")
    namespace = namespace if isinstance(namespace, str) and namespace else DEFAULT_NAMESPACE
    return written_name(kind, namespace, name)
