"""The binding of a resource template, as its propagation policy wants it.

It is named after the template and its kind, and carries what the policy's priority class says at that moment; a class
that changes or goes later does not change it.
"""

from collections.abc import Iterator

import msgspec

from reprieve.configuration import Settings
from reprieve.manifests import karmada
from reprieve.manifests.core import Job
from reprieve.manifests.meta import ObjectMeta, Reference
from reprieve.manifests.pods import pod_requests
from reprieve.policies.federation.propagation_policies import Template, bound_template, select_policy
from reprieve.world import World

ASKED_ANNOTATION = "reprieve.scheduling/schedule-priority"
"""What the policy asked for when the priority of a binding was resolved: only another wish resolves it again."""
POLICY_ANNOTATIONS = (karmada.POLICY_ANNOTATION, karmada.POLICY_NAMESPACE_ANNOTATION, karmada.CLUSTER_POLICY_ANNOTATION)


def binding_name(kind: str, name: str) -> str:
    """The name of the binding of a template."""
    return f"{name}-{kind.lower()}"


def make_binding(world: World, settings: Settings, template: Template) -> karmada.ResourceBinding | None:
    """The binding of a template as its policy wants it; None: no policy means it. Nothing is changed.

    A binding that exists keeps where it is scheduled to, and its priority as long as the policy asks for the same.
    """
    policy = select_policy(world, template)
    if policy is None:
        return None
    name = binding_name(template.kind, template.name)
    existing: karmada.ResourceBinding | None = world.get(karmada.ResourceBinding, name, template.namespace)
    asked = policy.spec.schedule_priority if settings.gate("PriorityBasedScheduling") else None
    wanted = _spec(world, template, policy, asked)
    said = {**_named(policy), **({ASKED_ANNOTATION: _written(asked)} if asked else {})}
    if existing is None:
        metadata = ObjectMeta(name=name, namespace=template.namespace, annotations=said)
        return karmada.ResourceBinding(kind="ResourceBinding", metadata=metadata, spec=wanted)
    before = existing.metadata.annotations
    same = asked is None or before.get(ASKED_ANNOTATION, _written(asked)) == _written(asked)
    spec = msgspec.structs.replace(
        wanted,
        clusters=existing.spec.clusters,
        graceful_eviction_tasks=existing.spec.graceful_eviction_tasks,
        schedule_priority=(existing.spec.schedule_priority if same else None) or wanted.schedule_priority,
    )
    kept = {key: value for key, value in before.items() if key not in POLICY_ANNOTATIONS}
    metadata = msgspec.structs.replace(existing.metadata, annotations={**kept, **said})
    return msgspec.structs.replace(existing, metadata=metadata, spec=spec)


def bindings_of_templates(world: World, settings: Settings) -> Iterator[karmada.ResourceBinding]:
    """The bindings that are there, as the policies of their templates want them."""
    for binding in world.all(karmada.ResourceBinding):
        template = bound_template(world, binding)
        made = make_binding(world, settings, template) if template is not None else None
        if made is not None and (made.namespace, made.name) == (binding.namespace, binding.name):
            yield made


def _written(asked: karmada.PolicySchedulePriority) -> str:
    return f"{asked.priority_class_source}/{asked.priority_class_name}"


def _spec(
    world: World, template: Template, policy: karmada.PropagationPolicy, asked: karmada.PolicySchedulePriority | None
) -> karmada.BindingSpec:
    pods = template.spec.template.spec
    resolved = world.classes.of_binding(asked, pods)
    carried = karmada.BindingSchedulePriority(priority=resolved.value, preemption_policy=resolved.preemption_policy)
    named = {"namespace": template.namespace, "name": template.name, "uid": template.metadata.uid}
    return karmada.BindingSpec(
        resource=Reference(api_version=template.api_version, kind=template.kind, **named),
        replicas=template.spec.parallelism if isinstance(template, Job) else template.spec.replicas,
        replica_requirements=karmada.ReplicaRequirements(
            resource_request=pod_requests(pods),
            namespace=template.namespace,
            priority_class_name=pods.priority_class_name,
        ),
        placement=policy.spec.placement,
        scheduler_name=policy.spec.scheduler_name,
        schedule_priority=carried if asked is not None else None,
    )


def _named(policy: karmada.PropagationPolicy) -> dict[str, str]:
    if policy.kind == "ClusterPropagationPolicy":
        return {karmada.CLUSTER_POLICY_ANNOTATION: policy.name}
    return {karmada.POLICY_ANNOTATION: policy.name, karmada.POLICY_NAMESPACE_ANNOTATION: policy.namespace}
