"""The indexes of an Indexed Job: how completed ones are written, and how a pod knows its own."""

from collections.abc import Iterable
from typing import Any

from reprieve.stores.records import Record

INDEX = "batch.kubernetes.io/job-completion-index"
_VARIABLE = "JOB_COMPLETION_INDEX"


def read_indexes(text: str) -> set[int]:
    """`0-2,5` as a set."""
    parts = (part.partition("-") for part in text.split(",") if part)
    return {index for first, _, last in parts for index in range(int(first), int(last or first) + 1)}


def write_indexes(indexes: Iterable[int]) -> str:
    """A set as `0-2,5`."""
    runs: list[list[int]] = []
    for index in sorted(indexes):
        if runs and runs[-1][1] == index - 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ",".join(f"{first}-{last}" if first != last else str(first) for first, last in runs)


def index_of(pod: Record) -> int:
    """The index of a pod; -1: it has none that could be read."""
    text = pod.annotations.get(INDEX, "")
    return int(text) if text.isascii() and text.isdigit() else -1


def give_index(pod: dict[str, Any], index: int) -> None:
    """Tell a new pod its index: in an annotation, a label, its name, its host name and its containers' environment."""
    metadata, spec = pod["metadata"], pod["spec"]
    job = metadata["generateName"]
    metadata["generateName"] = f"{job}{index}-"
    for said in ("annotations", "labels"):
        metadata[said] = {**metadata.get(said, {}), INDEX: str(index)}
    spec.setdefault("hostname", f"{job}{index}"[-63:].lstrip("-."))
    for containers in ("containers", "initContainers"):
        if containers in spec:
            spec[containers] = [_told(container, index) for container in spec[containers]]


def _told(container: dict[str, Any], index: int) -> dict[str, Any]:
    environment = container.get("env") or []
    if any(variable.get("name") == _VARIABLE for variable in environment):
        return container
    return {**container, "env": [*environment, {"name": _VARIABLE, "value": str(index)}]}
