"""YuniKorn's queue configuration: `queues.yaml`, bare or in the ConfigMap `yunikorn-configs`.

YuniKorn writes its field names in lower case and calls cpu `vcore`; inside, it is cpu like everywhere else.
"""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

import msgspec
from msgspec import field

from reprieve.manifests.meta import Count, Model
from reprieve.model.resources import CPU, QuantityError, Resources

CONFIG_MAP = "yunikorn-configs"
DEFAULTS_MAP = "yunikorn-defaults"
CONFIG_MAPS = (CONFIG_MAP, DEFAULTS_MAP)
"""The second holds what the first leaves out."""
QUEUES_FILE = "queues.yaml"
POLICY_GROUP = "service.policyGroup"
"""Says which entry of the ConfigMap holds the queues: `queues` is in `queues.yaml`."""
QUEUE = "Queue"
"""What a queue of the configuration is called where units are named."""
DEFAULT_PARTITION = "default"
ROOT = "root"
VCORE = "vcore"
DEFAULT_DELAY_SECONDS = 30.0
USER_INFO = "yunikorn.apache.org/user.info"
USERNAME = "yunikorn.apache.org/username"
IGNORE_APPLICATION = "yunikorn.apache.org/ignore-application"
TASK_GROUPS = "yunikorn.apache.org/task-groups"
TASK_GROUP_NAME = "yunikorn.apache.org/task-group-name"
APPLICATION_NAMES = ("yunikorn.apache.org/app-id", "applicationId", "spark-app-selector")
"""Where a pod names its application, the first that is there counts: as labels, then as annotations."""
APPLICATION = "Application"
"""What an application is called where units are named."""
EVERYBODY = "*"
"""Where users or groups of a limit are listed: all that no other limit of that queue names."""

QUEUE_NAME = re.compile(r"[a-zA-Z0-9_:#/@\-]{1,64}", re.ASCII)
REGULAR_EXPRESSION = re.compile(r"[\^$*+?()\[{}|]")
"""What makes a name in a filter a regular expression."""
_DURATION_PART = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


class Configuration(Model, rename="lower"):
    """A part of the queue configuration."""


class QueueResources(Resources):
    """A resource list in YuniKorn's words: `vcore` for cpu."""

    __slots__ = ()

    @classmethod
    def parse(cls, manifest: Any) -> "QueueResources":
        if not isinstance(manifest, dict):
            return cls(Resources.parse(manifest))  # which says what is wrong with it
        if CPU in manifest and VCORE in manifest:
            raise QuantityError(manifest[CPU], "cpu is named twice", "either vcore or cpu", CPU)
        try:
            return cls(Resources.parse({CPU if name == VCORE else name: value for name, value in manifest.items()}))
        except QuantityError as error:
            key = VCORE if error.key == CPU and VCORE in manifest else error.key
            raise QuantityError(error.found, error.problem, error.allowed, key) from None


class Bounds(Configuration):
    """`resources` of a queue. A resource that is not named has no guarantee, or no maximum."""

    guaranteed: QueueResources | None = None
    max: QueueResources | None = None


class Limit(Configuration):
    limit: str = ""
    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    maxresources: QueueResources | None = None
    maxapplications: Count = 0


class ChildTemplate(Configuration):
    """What dynamic queues below a parent are made with."""

    maxapplications: Count = 0
    properties: dict[str, str] = {}
    resources: Bounds = Bounds()


class Queue(Configuration):
    name: str
    parent: bool = False
    resources: Bounds = Bounds()
    maxapplications: Count = 0
    properties: dict[str, str] = {}
    adminacl: str = ""
    submitacl: str = ""
    childtemplate: ChildTemplate | None = None
    queues: "tuple[Queue, ...]" = ()
    limits: tuple[Limit, ...] = ()
    maxrunningapps: Count = 0

    @property
    def leaf(self) -> bool:
        return not self.parent and not self.queues


class PartitionPreemption(Configuration):
    enabled: bool | None = None
    quotapreemptionenabled: bool = False


class Filter(Configuration):
    """Whose applications a placement rule is for; a single name may be a regular expression."""

    type: str = ""
    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


class PlacementRule(Configuration):
    """One way to find the queue of an application; `parent` finds the queue above it."""

    name: str
    create: bool = False
    filter: Filter = Filter()
    parent: "PlacementRule | None" = None
    value: str = ""


class NodeSortPolicy(Configuration):
    """Which of the nodes that have room is taken: the emptiest (`fair`) or the fullest (`binpacking`)."""

    type: str = ""
    resourceweights: dict[str, float] = {}


class Partition(Configuration):
    name: str
    queues: tuple[Queue, ...] = ()
    limits: tuple[Limit, ...] = ()
    preemption: PartitionPreemption = PartitionPreemption()
    placementrules: tuple[PlacementRule, ...] = ()
    nodesortpolicy: NodeSortPolicy = NodeSortPolicy()
    statedumpfilepath: str = ""
    userauth: Any = None


class QueueConfiguration(Configuration):
    """The whole of `queues.yaml`."""

    partitions: tuple[Partition, ...]
    kind: str = field(name="kind", default="QueueConfiguration")

    @property
    def name(self) -> str:
        return QUEUES_FILE

    @property
    def namespace(self) -> str:
        return ""


def used_partition(configuration: QueueConfiguration) -> Partition | None:
    """The default partition, or else the first."""
    named = (part for part in configuration.partitions if part.name.lower() == DEFAULT_PARTITION)
    return next(named, next(iter(configuration.partitions), None))


def queues_key(*data: Mapping[str, str]) -> str:
    """Which entry of a ConfigMap's data holds the queues, by the first that says so: its own, then the defaults."""
    group = next((each[POLICY_GROUP] for each in data if each.get(POLICY_GROUP)), "")
    return f"{group}.yaml" if group else QUEUES_FILE


def with_text(data: Any) -> Any:
    """A configuration as YuniKorn reads it: the values of properties are text, in quotes or not."""
    if isinstance(data, list):
        return [with_text(item) for item in data]
    if not isinstance(data, dict):
        return data
    return {key: _text_values(value) if key == "properties" else with_text(value) for key, value in data.items()}


def _text_values(properties: Any) -> Any:
    return {key: _text(value) for key, value in properties.items()} if isinstance(properties, dict) else properties


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, (int, Decimal)) else value


class _UserInfo(msgspec.Struct):
    """The annotation that says whose pod it is. YuniKorn writes `user`; its documentation has `username`, too."""

    user: str = ""
    username: str = ""
    groups: tuple[str, ...] = ()


def read_user_info(text: str) -> tuple[str, tuple[str, ...]]:
    """A user and its groups; raises `msgspec.MsgspecError` where the text is none."""
    info = msgspec.json.decode(text, type=_UserInfo)
    return info.user or info.username, info.groups


def walk(queues: tuple[Queue, ...], path: str, parent: str = "") -> Iterator[tuple[Queue, str, str]]:
    """Every queue with its full name and where it stands in the file."""
    for index, queue in enumerate(queues):
        name = f"{parent}.{queue.name}" if parent else queue.name
        place = f"{path}.queues[{index}]"
        yield queue, name, place
        yield from walk(queue.queues, place, name)


def parse_duration(text: str) -> float | None:
    """Seconds of a Go duration such as `1h15m30.5s`; None when it is none."""
    sign = -1.0 if text.startswith("-") else 1.0
    rest = text.lstrip("+-") if text[:1] in "+-" and text[1:2] not in "+-" else text
    if rest == "0":
        return 0.0
    parts = list(_DURATION_PART.finditer(rest))
    if not rest or "".join(part[0] for part in parts) != rest:
        return None
    return sign * sum(float(number) * _SECONDS[unit] for number, unit in (part.groups() for part in parts))


def preemption_delay(properties: dict[str, str]) -> float:
    """Seconds a request of a leaf waits before it may preempt; 30 where the value is not usable."""
    seconds = parse_duration(properties.get("preemption.delay", ""))
    return seconds if seconds is not None and seconds > 0 else DEFAULT_DELAY_SECONDS
