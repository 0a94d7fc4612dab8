"""The process that a container is to be: its command, and its variables with whatever they refer to.

1. Values come from the manifest, from fields of the pod, from what its containers ask for, and from ConfigMaps.
2. A ConfigMap or key that is not there may still come: the container waits for it. It is passed over where the
   manifest calls it optional.
3. Any other source will never be there: the container cannot run.

Its environment is what its pod asks for, little of the agent's own, and who it is:

1. PATH, HOME, LANG, TMPDIR and USER are inherited; nothing else of the agent's environment is.
2. The pod's variables come next, and may refer to earlier ones as `$(NAME)`; `$$(NAME)` is the text `$(NAME)`, and a
   reference to nothing stays as it is written.
3. Who the container is, and which devices it was given, comes last: a pod cannot pretend otherwise.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from reprieve.agents.process import specs
from reprieve.agents.process.containers import ContainerSpec, InvalidContainer, PodIdentity, inherited
from reprieve.agents.process.control_groups import ControlGroups
from reprieve.agents.process.gpus import Devices, NotEnoughDevices
from reprieve.agents.process.kept_logs import KeptLogs
from reprieve.agents.process.machine import GPU
from reprieve.agents.process.users import Users
from reprieve.manifests.kinds import CONFIG_MAPS
from reprieve.manifests.pods import Container
from reprieve.manifests.yunikorn_task_groups import PLACEHOLDER
from reprieve.model.resources import CPU, Quantity, QuantityError, Resources
from reprieve.stores.errors import NotFound
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record
from reprieve.texts import agents as texts

_SOURCES = ("value", "fieldRef", "resourceFieldRef", "configMapKeyRef")
_MANY_SOURCES = ("configMapRef",)
_FIELDS = ("metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName")
_ITEM = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]")
_ALLOWED_FIELDS = (*_FIELDS, "metadata.labels['KEY']", "metadata.annotations['KEY']")
_UNIT = 10**9
MOST_GIVEN = 2 << 20
"""Letters of the variables of a container, and of its command; about as much as Linux hands over to a process."""
_REFERENCE = re.compile(r"\$(?:\$|\(([^)]*)\))")


class ContainerSurroundings(msgspec.Struct):
    """What containers find on this machine."""

    node: str
    root: Path
    store: Store
    own: Mapping[str, str]
    capacity: Resources
    devices: Devices
    kept: KeptLogs
    groups: ControlGroups | None = None
    users: Users = Users()


_NOTHING = ("sleep", "2147483647")
"""What a placeholder does: its image, which would do the same, is not used."""


def annotations_of(pod: Record) -> Mapping[str, str]:
    return pod.metadata.get("annotations") or {}


def identity_of(pod: Record, node: str) -> PodIdentity:
    return PodIdentity(pod.namespace, pod.name, pod.uid, node)


def owner_of(pod: Record, container: str) -> str:
    """Who is given devices."""
    return f"{pod.uid}/{container}"


async def specification(
    around: ContainerSurroundings, pod: Record, task: specs.ContainerTask, home: Path
) -> ContainerSpec:
    """The process of a container; `home` is where it begins when it does not say otherwise."""
    if not task.command and annotations_of(pod).get(PLACEHOLDER) == "true":
        task = msgspec.structs.replace(task, command=_NOTHING)
    if not task.command:
        raise specs.CannotRun(texts.NO_COMMAND, specs.CREATE_ERROR)
    asked = await _Variables(around, pod, task.name).asked(task)
    owner = owner_of(pod, task.name)
    count = _resources(pod, task.name).resources.effective.of(GPU)
    try:
        given = around.devices.assign(owner, count) if count else ()
    except NotEnoughDevices as problem:
        raise specs.NotYet(str(problem), "InsufficientDevices") from None
    identity = identity_of(pod, around.node)
    user = around.users.of(pod.namespace)
    own = around.own if user is None else {**around.own, "HOME": user.home, "USER": user.name}
    variables = environment(own, identity, task.name, asked, around.devices.variables(owner))
    limits = _resources(pod, task.name).resources.limits
    spec = ContainerSpec(
        pod=identity,
        name=task.name,
        command=_words((*task.command, *(task.args or ())), variables),
        environment=variables,
        working_directory=task.working_dir or (str(home) if user is None else user.home),
        devices=given,
        user="" if user is None else user.numbers,
        milli_cpu=limits.of(CPU),
        memory=limits.of("memory"),
    )
    try:
        spec.validate()
    except InvalidContainer as problem:
        around.devices.release(owner)
        raise specs.CannotRun(str(problem)) from None
    return spec


def expand(text: str, variables: Mapping[str, str], most: int = MOST_GIVEN) -> str:
    """The text with its references replaced, as Kubernetes does it in commands, arguments and values.

    A few variables that each repeat the one before would fill any memory: there is no more of it than a process may be
    given.
    """
    left = most - len(text)

    def replaced(match: re.Match[str]) -> str:
        nonlocal left
        name = match[1]
        found = "$" if name is None else variables.get(name, match[0])
        left -= len(found) - len(match[0])
        if left < 0:
            raise specs.CannotRun(texts.too_much_given(MOST_GIVEN))
        return found

    return _REFERENCE.sub(replaced, text)


def _words(words: Iterable[str], variables: Mapping[str, str]) -> tuple[str, ...]:
    left, found = MOST_GIVEN, []
    for word in words:
        found.append(expand(word, variables, left))
        left -= len(found[-1])
    return tuple(found)


def environment(
    own: Mapping[str, str],
    pod: PodIdentity,
    container: str,
    asked: Iterable[tuple[str, str]] = (),
    devices: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Everything a container finds in its environment; `own` is that of the agent."""
    given = {**(devices or {}), **pod.variables(container)}
    variables = {**inherited(own), **given}
    left = MOST_GIVEN
    for name, value in asked:
        variables[name] = expand(value, variables, left)
        left -= len(variables[name])
    return {**variables, **given}


def _resources(pod: Record, name: str) -> Container:
    spec = pod.manifest.spec
    found = (each for each in (*spec.containers, *spec.init_containers) if each.name == name)
    container: Container | None = next(found, None)
    if container is None:
        raise specs.CannotRun(texts.unknown_container(name))
    return container


class _Variables:
    """The variables of one container, looked up."""

    def __init__(self, around: ContainerSurroundings, pod: Record, container: str) -> None:
        self._around, self._pod, self._container = around, pod, container

    async def asked(self, task: specs.ContainerTask) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        for source in task.env_from or ():
            found += await self._all_of(source)
        for variable in task.env or ():
            value = await self._value(variable)
            if value is not None:
                found.append((variable.name, value))
        return found

    async def _value(self, variable: specs.ContainerVariable) -> str | None:
        """None: it is optional, and there is nothing. Only what the manifest itself says may refer to variables."""
        if variable.value_from is None:
            return variable.value or ""
        found = await self._referred(variable.name, variable.value_from)
        return None if found is None else _literal(found)

    async def _referred(self, name: str, source: specs.ValueSource) -> str | None:
        match source:
            case specs.ValueSource(field_ref=specs.FieldReference() as field):
                return self._field(field.field_path)
            case specs.ValueSource(resource_field_ref=specs.ResourceReference() as resource):
                return self._amount(resource)
            case specs.ValueSource(config_map_key_ref=specs.KeyReference() as key):
                return await self._key(key)
        raise specs.CannotRun(texts.unsupported_source(name, _SOURCES))

    def _field(self, path: str) -> str:
        item = _ITEM.fullmatch(path)
        if item is not None:
            values: dict[str, str] = self._pod.metadata.get(item[1]) or {}
            return values.get(item[2], "")
        known = dict(zip(_FIELDS, (self._pod.name, self._pod.namespace, self._pod.uid, self._around.node), strict=True))
        if path not in known:
            raise specs.CannotRun(texts.unsupported_field(path, _ALLOWED_FIELDS))
        return known[path]

    def _amount(self, reference: specs.ResourceReference) -> str:
        """How much a container asks for, in units of the divisor; without a limit, it is all that the node has."""
        kind, _, name = reference.resource.partition(".")
        if kind not in ("limits", "requests") or not name:
            raise specs.CannotRun(texts.unsupported_field(reference.resource, ("limits.RESOURCE", "requests.RESOURCE")))
        asked = _resources(self._pod, reference.container_name or self._container).resources
        amounts = asked.effective if kind == "requests" else Resources({**self._around.capacity, **asked.limits})
        nano = amounts.of(name) * (_UNIT // 1000 if name == CPU else _UNIT)
        return str(-(-nano // _divisor(reference)))

    async def _key(self, reference: specs.KeyReference) -> str | None:
        values = await self._map(reference.name, optional=bool(reference.optional))
        if reference.key not in values and not reference.optional:
            raise specs.NotYet(texts.key_missing(reference.name, reference.key))
        return values.get(reference.key)

    async def _all_of(self, source: specs.VariableSource) -> list[tuple[str, str]]:
        reference = source.config_map_ref
        if not isinstance(reference, specs.MapReference):
            raise specs.CannotRun(texts.unsupported_source(f"{source.prefix or ''}*", _MANY_SOURCES))
        values = await self._map(reference.name, optional=bool(reference.optional))
        return [(f"{source.prefix or ''}{name}", _literal(value)) for name, value in sorted(values.items())]

    async def _map(self, name: str, *, optional: bool) -> dict[str, str]:
        try:
            found = await self._around.store.get(CONFIG_MAPS, name, self._pod.namespace)
        except NotFound:
            if optional:
                return {}
            raise specs.NotYet(texts.config_map_missing(name)) from None
        values: dict[str, str] = found.data.get("data") or {}
        return values


def _literal(text: str) -> str:
    """Text in which nothing is taken for a reference."""
    return text.replace("$", "$$")


def _divisor(reference: specs.ResourceReference) -> int:
    if reference.divisor in (None, "", "0", 0):
        return _UNIT
    try:
        nano = Quantity.parse(reference.divisor or 1).nano
    except QuantityError:
        nano = 0
    if nano <= 0:
        raise specs.CannotRun(texts.bad_divisor(reference.divisor))
    return nano
