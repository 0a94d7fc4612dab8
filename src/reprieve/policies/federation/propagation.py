"""From policy to binding: which policy a resource template falls under, and the binding that is made for it.

1. A policy of the template's namespace wins over one for the whole control plane.
2. Then the higher spec.priority, then the selector that says more (a name, then labels), then the first by name.
3. The binding is named after the template and its kind, and carries what the policy's priority class says at that
   moment; a class that changes or goes later does not change it.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from reprieve.configuration import Settings
from reprieve.manifests.core import Controller, Job
from reprieve.manifests.karmada import (
    CLUSTER_POLICY_ANNOTATION,
    POLICY_ANNOTATION,
    POLICY_NAMESPACE_ANNOTATION,
    BindingSchedulePriority,
    BindingSpec,
    PolicySchedulePriority,
    PropagationPolicy,
    ReplicaRequirements,
    ResourceBinding,
    ResourceSelector,
)
from reprieve.manifests.meta import ObjectMeta, Reference
from reprieve.manifests.pods import PodSpec, pod_requests
from reprieve.world import World

Template = Controller | Job
ASKED_ANNOTATION = "reprieve.scheduling/schedule-priority"
"""What the policy asked for when the priority of a binding was resolved: only another wish resolves it again."""
_NO_MATCH, _BY_KIND, _BY_LABELS, _BY_NAME = 0, 1, 2, 3


def select_policy(world: World, template: Template) -> PropagationPolicy | None:
    """The policy that a template falls under."""
    meant = ((policy, fit) for policy in world.all(PropagationPolicy) if (fit := _fit(policy, template)) != _NO_MATCH)
    best = min(meant, key=lambda item: (*_rank(item[0]), -item[1], item[0].name), default=None)
    return best[0] if best else None


def selected_by(policy: PropagationPolicy, template: Template) -> bool:
    """Whether a policy means a template at all."""
    return _fit(policy, template) != _NO_MATCH


def _rank(policy: PropagationPolicy) -> tuple[bool, int]:
    return policy.kind == "ClusterPropagationPolicy", -policy.spec.priority


def _fit(policy: PropagationPolicy, template: Template) -> int:
    """How closely the selectors of a policy mean a template."""
    if policy.kind == "PropagationPolicy" and policy.namespace != template.namespace:
        return _NO_MATCH
    return max((_selects(selector, template) for selector in policy.spec.resource_selectors), default=_NO_MATCH)


def _selects(selector: ResourceSelector, template: Template) -> int:
    if (selector.api_version, selector.kind) != (template.api_version, template.kind):
        return _NO_MATCH
    if selector.namespace and selector.namespace != template.namespace:
        return _NO_MATCH
    if selector.name:  # a name leaves nothing for labels to select
        return _BY_NAME if selector.name == template.name else _NO_MATCH
    if selector.label_selector is None:
        return _BY_KIND
    return _BY_LABELS if selector.label_selector.matches(template.metadata.labels) else _NO_MATCH


def binding_name(kind: str, name: str) -> str:
    """The name of the binding of a template."""
    return f"{name}-{kind.lower()}"


def make_binding(world: World, settings: Settings, template: Template) -> ResourceBinding | None:
    """The binding of a template as its policy wants it; None: no policy means it. Nothing is changed.

    A binding that exists keeps where it is scheduled to, and its priority as long as the policy asks for the same.
    """
    policy = select_policy(world, template)
    if policy is None:
        return None
    name = binding_name(template.kind, template.name)
    existing: ResourceBinding | None = world.get(ResourceBinding, name, template.namespace)
    asked = policy.spec.schedule_priority if settings.gate("PriorityBasedScheduling") else None
    wanted = _spec(world, template, policy, asked)
    said = {**_named(policy), **({ASKED_ANNOTATION: _written(asked)} if asked else {})}
    if existing is None:
        metadata = ObjectMeta(name=name, namespace=template.namespace, annotations=said)
        return ResourceBinding(kind="ResourceBinding", metadata=metadata, spec=wanted)
    before = existing.metadata.annotations
    same = asked is None or before.get(ASKED_ANNOTATION, _written(asked)) == _written(asked)
    spec = msgspec.structs.replace(
        wanted,
        clusters=existing.spec.clusters,
        graceful_eviction_tasks=existing.spec.graceful_eviction_tasks,
        schedule_priority=(existing.spec.schedule_priority if same else None) or wanted.schedule_priority,
    )
    metadata = msgspec.structs.replace(existing.metadata, annotations={**_unnamed(before), **said})
    return msgspec.structs.replace(existing, metadata=metadata, spec=spec)


def _written(asked: PolicySchedulePriority) -> str:
    return f"{asked.priority_class_source}/{asked.priority_class_name}"


def _spec(
    world: World, template: Template, policy: PropagationPolicy, asked: PolicySchedulePriority | None
) -> BindingSpec:
    pods = template.spec.template.spec
    metadata = template.metadata
    resolved = world.classes.of_binding(asked, pods)
    carried = BindingSchedulePriority(priority=resolved.value, preemption_policy=resolved.preemption_policy)
    return BindingSpec(
        resource=Reference(
            api_version=template.api_version,
            kind=template.kind,
            namespace=metadata.namespace,
            name=metadata.name,
            uid=metadata.uid,
        ),
        replicas=template.spec.parallelism if isinstance(template, Job) else template.spec.replicas,
        replica_requirements=_requirements(pods, metadata.namespace),
        placement=policy.spec.placement,
        scheduler_name=policy.spec.scheduler_name,
        schedule_priority=carried if asked is not None else None,
    )


def _requirements(pods: PodSpec, namespace: str) -> ReplicaRequirements:
    """What one replica asks for."""
    return ReplicaRequirements(
        resource_request=pod_requests(pods), namespace=namespace, priority_class_name=pods.priority_class_name
    )


def _named(policy: PropagationPolicy) -> dict[str, str]:
    if policy.kind == "ClusterPropagationPolicy":
        return {CLUSTER_POLICY_ANNOTATION: policy.name}
    return {POLICY_ANNOTATION: policy.name, POLICY_NAMESPACE_ANNOTATION: policy.namespace}


def _unnamed(annotations: Mapping[str, str]) -> dict[str, str]:
    ours = (CLUSTER_POLICY_ANNOTATION, POLICY_ANNOTATION, POLICY_NAMESPACE_ANNOTATION)
    return {key: value for key, value in annotations.items() if key not in ours}


def policy_of(world: World, binding: ResourceBinding) -> PropagationPolicy | None:
    """The policy that a binding names; one that names none has the policy that its template falls under."""
    said: Mapping[str, str] = {**binding.metadata.labels, **binding.metadata.annotations}
    if POLICY_ANNOTATION in said:
        namespace = said.get(POLICY_NAMESPACE_ANNOTATION, binding.namespace)
        return world.get(PropagationPolicy, said[POLICY_ANNOTATION], namespace)
    if CLUSTER_POLICY_ANNOTATION in said:
        return world.get(PropagationPolicy, said[CLUSTER_POLICY_ANNOTATION], called="ClusterPropagationPolicy")
    template = _template(world, binding)
    return select_policy(world, template) if template is not None else None


def template_of(world: World, binding: ResourceBinding) -> PodSpec | None:
    """The pod template of the resource that is bound."""
    template = _template(world, binding)
    return template.spec.template.spec if template is not None else None


def _template(world: World, binding: ResourceBinding) -> Template | None:
    reference = binding.spec.resource
    namespace = reference.namespace or binding.namespace
    if reference.kind == "Job":
        job: Job | None = world.get(Job, reference.name, namespace)
        return job
    found: Controller | None = world.get(Controller, reference.name, namespace, called=reference.kind)
    return found
