"""Files as plain objects, to be sent to a server: all of them are read, and checked, before the first is sent."""

from collections.abc import Iterable, Iterator
from typing import Any

from reprieve.cli.options import BadUsage
from reprieve.cli.output import print_warnings
from reprieve.manifests.documents import Document, find_files, read_file
from reprieve.manifests.identity import DEFAULT_NAMESPACE, implied_type, is_list, type_of
from reprieve.manifests.kinds import resource_of
from reprieve.manifests.loaded import Loaded
from reprieve.manifests.loading import load_documents
from reprieve.manifests.problems import InvalidInput
from reprieve.manifests.reading import told
from reprieve.manifests.resource import group_of
from reprieve.texts import cli as texts

Data = dict[str, Any]
_FIRST = (
    ("", "Namespace"),
    ("scheduling.k8s.io", "PriorityClass"),
    ("kueue.x-k8s.io", "WorkloadPriorityClass"),
    ("", "ConfigMap"),
    ("", "LimitRange"),
    ("", "ResourceQuota"),
    ("node.k8s.io", "RuntimeClass"),
    ("", "Node"),
    ("cluster.karmada.io", "Cluster"),
    ("kueue.x-k8s.io", "ResourceFlavor"),
    ("kueue.x-k8s.io", "AdmissionCheck"),
    ("kueue.x-k8s.io", "Cohort"),
    ("kueue.x-k8s.io", "ClusterQueue"),
    ("kueue.x-k8s.io", "LocalQueue"),
    ("policy", "PodDisruptionBudget"),
    ("policy.karmada.io", "PropagationPolicy"),
    ("policy.karmada.io", "ClusterPropagationPolicy"),
    ("scheduling.k8s.io", "Workload"),
    ("scheduling.k8s.io", "CompositePodGroup"),
    ("scheduling.k8s.io", "PodGroup"),
)
"""What others refer to comes before them; all that is not here comes last, in the order of the files."""


def read_manifests(
    paths: Iterable[str], namespace: str | None = None, *, warn: bool = True, otherwise: str = DEFAULT_NAMESPACE
) -> list[Data]:
    """Every object of every file, in the order in which a server should be told; mistakes are raised all at once.
    `otherwise`: the namespace of what names none, when the command does not, either."""
    documents, loaded = _read(paths, warn=warn)
    if loaded.unknown:
        raise BadUsage("\n".join(texts.ignored_kind(name) for name in loaded.unknown))
    objects = [data for document in documents for data in _objects(document)]
    named = ((data["kind"], data.get("metadata") or {}) for data in objects)
    if nameless := [(kind, metadata) for kind, metadata in named if not metadata.get("name")]:
        raise BadUsage("\n".join(texts.needs_a_name(kind, metadata["generateName"]) for kind, metadata in nameless))
    found = [_placed(data, namespace, otherwise) for data in objects]
    return sorted(found, key=_rank)


def read_plain(paths: Iterable[str]) -> list[Any]:
    """Every document as it is, when all of them can be read."""
    return [data for document in _read(paths)[0] if (data := document.plain()) is not None]


def _read(paths: Iterable[str], *, warn: bool = True) -> tuple[list[Document], Loaded]:
    files, problems = find_files(paths)
    documents = [document for file in files for document in read_file(file)]
    loaded = load_documents(documents)
    told(None)
    if problems or loaded.errors:
        raise InvalidInput([*problems, *loaded.errors])
    if warn:
        print_warnings([problem for problem in loaded.warnings if problem.stage == "strict"])
    return documents, loaded


def _rank(data: Data) -> int:
    key = (group_of(data["apiVersion"]), data["kind"])
    return _FIRST.index(key) if key in _FIRST else len(_FIRST)


def _objects(document: Document) -> Iterator[Data]:
    data = document.plain()
    if data is None:
        return
    if isinstance(data, dict) and "partitions" in data and "kind" not in data:
        raise BadUsage(texts.queue_file(document.origin.file))
    yield from _items(data, ("", ""))


def _items(data: Data, implied: tuple[str, str]) -> Iterator[Data]:
    api_version, kind = type_of(data, implied)
    if is_list(kind) and resource_of(api_version, kind) is None:
        for item in data.get("items") or ():
            yield from _items(item, implied_type(api_version, kind))
    else:
        yield {**data, "apiVersion": api_version, "kind": kind}


def _placed(data: Data, namespace: str | None, otherwise: str) -> Data:
    """The object with its namespace said; one that says another than the command asks for is a mistake."""
    resource = resource_of(data["apiVersion"], data["kind"])
    metadata = {name: value for name, value in (data.get("metadata") or {}).items() if value is not None}
    if resource is None or not resource.namespaced:
        return {**data, "metadata": metadata}
    own = metadata.get("namespace")
    if own and namespace and own != namespace:
        raise BadUsage(texts.other_namespace(data["kind"], metadata["name"], own, namespace))
    return {**data, "metadata": {**metadata, "namespace": own or namespace or otherwise}}
