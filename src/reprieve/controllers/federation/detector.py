"""The detector: keeps a binding for each template that a propagation policy selects.

1. What a binding says follows from the template and its policy (`templates`): replicas, what one of them asks for,
   placement, scheduler, priority. The priority is resolved when the binding is made and whenever it has to be changed.
2. Results, evictions, holds and status belong to the scheduler, and are left as they are.
3. A template that goes, or that no policy selects any more, loses its binding. A binding that was not made here is left
   alone as long as no policy selects its template; after that it is kept like any other.
4. A template that comes back under its old name gets a new binding: the old one was for another.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from reprieve.configuration import Settings
from reprieve.controllers.pods.templates import PROPAGATION
from reprieve.controllers.runner import BaseController
from reprieve.manifests import kinds
from reprieve.manifests.karmada import PropagationPolicy, ResourceBinding
from reprieve.manifests.propagation import PolicySelectors
from reprieve.manifests.resource import Resource, group_of
from reprieve.model.clock import Clock
from reprieve.model.resources import Quantity, Resources
from reprieve.policies.federation.propagation_policies import pods_of, select_policy
from reprieve.policies.federation.templates import (
    ASKED_ANNOTATION,
    POLICY_ANNOTATIONS,
    asked_class,
    binding_kind,
    binding_name,
    make_binding,
)
from reprieve.stores import writing
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record
from reprieve.world import World

GroupKind = tuple[str, str]
TemplateKey = tuple[str, str, str, str]
"""Group, kind, namespace, name."""
TEMPLATES = (
    *(kinds.DEPLOYMENTS, kinds.STATEFUL_SETS, kinds.DAEMON_SETS, kinds.REPLICA_SETS, kinds.JOBS, kinds.PODS),
    *(kinds.CONFIG_MAPS, kinds.BUDGETS, kinds.LOCAL_QUEUES),
    *(kinds.NAMESPACES, kinds.PRIORITY_CLASSES, kinds.WORKLOAD_PRIORITY_CLASSES),
    *(kinds.CLUSTER_QUEUES, kinds.COHORTS, kinds.RESOURCE_FLAVORS),
)
"""What can be propagated to member clusters."""
_OWNED = ("resource", "replicas", "replicaRequirements", "placement", "schedulerName", "schedulePriority")


class Detector(BaseController):
    """Reconciles templates, by group, kind, namespace and name."""

    component = "binding-controller"

    def __init__(self, store: Store, clock: Clock, settings: Settings) -> None:
        super().__init__(store, clock)
        self._settings = settings
        self._world = World()
        self._selected: set[GroupKind] = set()
        """The kinds that any policy speaks of."""
        for resource in PROPAGATION:
            self.watch_changes(resource, self._policy_changed)
        self._templates = {_type(resource): self.watch_changes(resource, self._changed) for resource in TEMPLATES}
        self._bindings = {
            resource.kind: self.watch_changes(resource, self._binding_changed)
            for resource in (kinds.BINDINGS, kinds.CLUSTER_BINDINGS)
        }

    # What happens

    def _mirror(self, before: Record | None, after: Record | None) -> None:
        """The world is what the caches hold."""
        if after is not None:
            self._world.put(after.manifest)
        elif before is not None:
            self._world.delete(type(before.manifest), before.name, before.namespace, called=before.resource.kind)

    def _changed(self, before: Record | None, after: Record | None) -> None:
        """A template; most of what there is no policy speaks of, and then nothing is to be done."""
        record = after or before
        assert record is not None  # noqa: S101 - a change is of something
        if record.resource == kinds.PRIORITY_CLASSES:
            self._mirror(before, after)
        if _type(record.resource) in self._selected or self._binding(*_template_key(record)) is not None:
            self.enqueue(_template_key(record))

    def _binding_changed(self, before: Record | None, after: Record | None) -> None:
        self._mirror(before, after)
        for key in {_bound_key(record) for record in (before, after) if record is not None}:
            self.enqueue(key)

    def _policy_changed(self, before: Record | None, after: Record | None) -> None:
        """Whoever was selected, or is now, is looked at again."""
        self._mirror(before, after)
        self._selected = {named for policy in self._world.all(PropagationPolicy) for named in _selected(policy)}
        policies: list[PropagationPolicy] = [record.manifest for record in (before, after) if record is not None]
        selections = [PolicySelectors(policy) for policy in policies]
        for named in {named for policy in policies for named in _selected(policy)}:
            for template in self._templates.get(named, ()):
                if any(selection.means(template.manifest) for selection in selections):
                    self.enqueue(_template_key(template))

    # Bringing one template right

    def _binding(self, group: str, kind: str, namespace: str, name: str) -> Record | None:  # noqa: ARG002 - names go by kind
        return self._bindings[binding_kind(namespace)].get(binding_name(kind, name), namespace)

    async def reconcile(self, key: TemplateKey) -> float | None:
        group, kind, namespace, name = key
        template = self._templates[group, kind].get(name, namespace) if (group, kind) in self._templates else None
        binding = self._binding(*key)
        if template is None or writing.is_leaving(template):
            await self._remove(binding, kind)
            return None
        if binding is not None and _of_another(binding, template):
            await self._remove(binding, kind)
            binding = self._binding(*key)
        if binding is not None and writing.is_leaving(binding):
            return None  # when it is gone, a new one is made
        await self._learn_class(template)
        wanted = make_binding(self._world, self._settings, template.manifest)
        if wanted is None:
            await self._remove(binding, kind)
        elif binding is None:
            await self.create(self._bindings[wanted.kind].resource, _data(wanted, template))
        else:
            await self.modify(binding, _in_step(wanted, template))
        return None

    async def _learn_class(self, template: Record) -> None:
        """A class that is named but not known is asked for: it may only be new, and what is resolved may stay so."""
        policy = select_policy(self._world, template.manifest)
        asked = policy.spec.schedule_priority if policy is not None else None
        if asked is None or self._world.classes.of_binding(asked, pods_of(template.manifest)).found:
            return
        found = await self.find(kinds.PRIORITY_CLASSES, "", asked_class(asked, template.manifest))
        if found is not None:
            self._written(found)

    async def _remove(self, binding: Record | None, kind: str) -> None:
        if binding is not None and _is_kept(binding, kind) and not writing.is_leaving(binding):
            await self.delete(binding)


def _type(resource: Resource) -> GroupKind:
    return resource.group, resource.kind


def _selected(policy: PropagationPolicy) -> set[GroupKind]:
    """The kinds that a policy speaks of, each with its group."""
    return {(group_of(selector.api_version), selector.kind) for selector in policy.spec.resource_selectors}


def _template_key(template: Record) -> TemplateKey:
    return *_type(template.resource), template.namespace, template.name


def _bound_key(binding: Record) -> TemplateKey:
    """Of what a binding is for."""
    reference = binding.data["spec"]["resource"]
    group = group_of(reference.get("apiVersion", ""))
    return group, reference.get("kind", ""), binding.namespace, reference.get("name", "")


def _is_kept(binding: Record, kind: str) -> bool:
    """Whether a binding was made here: then its template controls it."""
    owner = writing.controller_of(binding)
    return owner is not None and owner["kind"] == kind


def _of_another(binding: Record, template: Record) -> bool:
    return writing.controller_uid(binding) not in ("", template.uid)


# What is written


def _encode(value: Any) -> Any:
    if isinstance(value, Resources):
        return value.to_manifest()
    if isinstance(value, Quantity):
        return str(value)
    raise NotImplementedError(f"{type(value)} has no encoder")


def _data(wanted: ResourceBinding, template: Record) -> dict[str, Any]:
    said = wanted.metadata.annotations
    metadata = {
        "name": wanted.name,
        **({"namespace": wanted.namespace} if wanted.namespace else {}),
        "annotations": {key: value for key, value in said.items() if key in (*POLICY_ANNOTATIONS, ASKED_ANNOTATION)},
        "ownerReferences": [writing.owner_reference(template)],
    }
    plain = msgspec.to_builtins(wanted.spec, enc_hook=_encode)
    spec = {key: value for key, value in plain.items() if key in _OWNED}
    return {"apiVersion": wanted.api_version, "kind": wanted.kind, "metadata": metadata, "spec": spec}


def _in_step(wanted: ResourceBinding, template: Record) -> Callable[[dict[str, Any]], None]:
    """The change that makes a binding what is wanted; what others have written meanwhile stays."""
    fresh = _data(wanted, template)

    def change(data: dict[str, Any]) -> None:
        for field in _OWNED:
            data["spec"].pop(field, None)
        data["spec"] |= fresh["spec"]
        owners = data["metadata"].get("ownerReferences") or []
        if not any(owner.get("uid") == template.uid for owner in owners):
            data["metadata"]["ownerReferences"] = [*owners, *fresh["metadata"]["ownerReferences"]]
        said = data["metadata"].setdefault("annotations", {})
        for name in (*POLICY_ANNOTATIONS, ASKED_ANNOTATION):
            said.pop(name, None)
        said |= fresh["metadata"]["annotations"]

    return change
