"""YuniKorn's annotations for gangs: which task groups an application has, which one a pod is in, and for how long room
is waited for.

The annotation `task-groups` is a list in JSON, each with the name, the least number of members and what one of them
asks for; the rest is as in the spec of a pod. What cannot be read defines nothing, as in YuniKorn.
"""

from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta

from reprieve.manifests.meta import Model, Reader
from reprieve.manifests.pods import Pod
from reprieve.manifests.yunikorn import TASK_GROUP_NAME, TASK_GROUPS
from reprieve.model.remembering import remembered
from reprieve.model.resources import QuantityError

PARAMETERS = "yunikorn.apache.org/schedulingPolicyParameters"
IMAGE = "registry.k8s.io/pause:3.10"
"""What a placeholder runs: nothing."""
PLACEHOLDER = "yunikorn.apache.org/placeholder"
"""Marks a pod that only keeps a place for another one."""
ANNOTATIONS = (TASK_GROUPS, TASK_GROUP_NAME, PARAMETERS)
DEFAULT_TIMEOUT_SECONDS = 900
TIMEOUT, STYLE = "placeholderTimeoutInSeconds", "gangSchedulingStyle"
MOST_LETTERS, MOST_GROUPS = 128 * 1024, 1_000
"""In one annotation: each group is read as a pod, whenever somebody asks."""
Style = Literal["Soft", "Hard"]
STYLES: tuple[Style, ...] = ("Soft", "Hard")
_POD = Reader("v1", "Pod", Pod)


class TaskGroup(Model):
    """Pods of an application that are alike: so many of them at least."""

    name: Annotated[str, Meta(min_length=1)]
    min_member: Annotated[int, Meta(ge=1, le=10_000)]
    min_resource: dict[str, str | int | float]
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    node_selector: dict[str, str] = {}
    tolerations: tuple[dict[str, Any], ...] = ()
    affinity: dict[str, Any] | None = None
    topology_spread_constraints: tuple[dict[str, Any], ...] = ()

    @property
    def spec(self) -> dict[str, Any]:
        """What one of its members asks for and where it may run, as in the spec of a pod."""
        container = {"name": "placeholder", "image": IMAGE, "resources": {"requests": self.min_resource}}
        said = {
            "containers": [container],
            "nodeSelector": self.node_selector,
            "tolerations": list(self.tolerations),
            "affinity": self.affinity,
            "topologySpreadConstraints": list(self.topology_spread_constraints),
        }
        return {name: value for name, value in said.items() if value}


class BadTaskGroups(ValueError):
    """What is wrong with the annotation, and where in it."""

    def __init__(self, place: str, problem: str) -> None:
        super().__init__(f"{problem} - at {place}" if place else problem)
        self.place = place


@remembered(4096, largest=16_000)
def read_task_groups(text: str) -> tuple[TaskGroup, ...]:
    """The task groups of an annotation; raises `BadTaskGroups`."""
    if len(text) > MOST_LETTERS:
        raise BadTaskGroups("", f"it has {len(text)} letters; at most {MOST_LETTERS} are read")
    try:
        groups = msgspec.json.decode(text, type=tuple[TaskGroup, ...])
    except msgspec.MsgspecError as error:
        problem, _, place = str(error).partition(" - at ")
        raise BadTaskGroups(place.strip("`"), problem) from None
    if not groups:
        raise BadTaskGroups("$", "there is no task group in it")
    if len(groups) > MOST_GROUPS:
        raise BadTaskGroups("", f"there are {len(groups)} task groups in it; at most {MOST_GROUPS} are read")
    names: set[str] = set()
    for number, group in enumerate(groups):
        if group.name in names:
            raise BadTaskGroups(f"$[{number}].name", f'"{group.name}" is there twice')
        names.add(group.name)
        try:
            read_pod({"apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": group.spec})
        except (msgspec.MsgspecError, QuantityError) as error:
            raise BadTaskGroups(f"$[{number}]", str(error)) from None
    return groups


def read_pod(manifest: dict[str, Any]) -> Pod:
    """A pod that is made from what a task group says."""
    pod: Pod = _POD.convert(manifest)
    return pod


class Parameters(NamedTuple):
    """For how long an application waits for places for all its members, and what becomes of it then."""

    timeout: int = DEFAULT_TIMEOUT_SECONDS
    style: Style = "Soft"


def read_parameters(text: str) -> Parameters:
    """What is not usable counts as not said."""
    known = dict(pair.split("=", 1) for pair in text.split() if "=" in pair)
    seconds, style = known.get(TIMEOUT, ""), known.get(STYLE, "")
    usable = seconds.isascii() and seconds.isdigit() and 0 < int(seconds) < 2**31
    return Parameters(
        int(seconds) if usable else DEFAULT_TIMEOUT_SECONDS,
        next((each for each in STYLES if each == style), "Soft"),
    )


def unusable_parameters(text: str) -> list[tuple[str, str]]:
    """Parameters that count as not said, each with what would be right."""
    found: list[tuple[str, str]] = []
    for pair in text.split():
        name, equals, value = pair.partition("=")
        if not equals or name not in (TIMEOUT, STYLE):
            found.append((pair, f"{TIMEOUT}=SECONDS and {STYLE}=Soft or Hard, with a space between"))
        elif name == TIMEOUT and f"{read_parameters(pair).timeout}" != value.lstrip("0"):
            found.append((pair, f"a number of seconds above 0; {DEFAULT_TIMEOUT_SECONDS} are waited"))
        elif name == STYLE and value not in STYLES:
            found.append((pair, "Soft or Hard; it counts as Soft"))
    return found
