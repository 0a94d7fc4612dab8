"""The binding of a resource template, as its propagation policy wants it.

1. It is named after the template and its kind. What lives in no namespace has a ClusterResourceBinding.
2. A Deployment, ReplicaSet, StatefulSet, Job or Pod has replicas, and requirements where its pods ask for anything.
   Everything else has neither: it goes to every cluster, and a DaemonSet's pods are for its cluster to count.
3. Its priority is what the policy's class says when the binding is made or has to be changed anyway: because of its
   template, of its policy, or of another class that these name. A class that only changes or goes changes nothing.
"""

from collections.abc import Iterator

import msgspec

from reprieve.configuration import Settings
from reprieve.manifests import karmada
from reprieve.manifests.core import Controller, Job
from reprieve.manifests.meta import Manifest, ObjectMeta, Reference
from reprieve.manifests.pods import Pod, PodSpec, pod_requests
from reprieve.manifests.propagation import type_of
from reprieve.policies.federation.propagation_policies import bound_template, pods_of, select_policy
from reprieve.world import World

ASKED_ANNOTATION = "reprieve.scheduling/schedule-priority"
"""The source and the class from which the priority of a binding was resolved."""
POLICY_ANNOTATIONS = (karmada.POLICY_ANNOTATION, karmada.POLICY_NAMESPACE_ANNOTATION, karmada.CLUSTER_POLICY_ANNOTATION)


def binding_name(kind: str, name: str) -> str:
    """The name of the binding of a template."""
    return f"{name}-{kind.lower()}"


def binding_kind(namespace: str) -> karmada.BindingKind:
    return "ResourceBinding" if namespace else "ClusterResourceBinding"


def make_binding(world: World, settings: Settings, template: Manifest) -> karmada.ResourceBinding | None:
    """The binding of a template as its policy wants it; None: no policy means it. Nothing is changed.

    A binding that exists keeps what others have written on it: where it is scheduled to, and that it is suspended.
    """
    kind, name = binding_kind(template.namespace), binding_name(type_of(template)[1], template.name)
    existing: karmada.ResourceBinding | None = world.get(karmada.ResourceBinding, name, template.namespace, called=kind)
    policy = select_policy(world, template, existing)
    if policy is None:
        return None
    resolves = settings.gate("PriorityBasedScheduling")
    asked = _asked(policy, template) if resolves else ""
    said = {**_named(policy), **({ASKED_ANNOTATION: asked} if asked else {})}
    wanted = _spec(template, policy)
    if existing is None:
        metadata = ObjectMeta(name=name, namespace=template.namespace, annotations=said)
        fresh = msgspec.structs.replace(wanted, schedule_priority=_resolved(world, policy, template, resolves))
        return karmada.ResourceBinding(kind=kind, metadata=metadata, spec=fresh)
    return _renewed(existing, wanted, said, _resolved(world, policy, template, resolves))


def _renewed(
    existing: karmada.ResourceBinding,
    wanted: karmada.BindingSpec,
    said: dict[str, str],
    resolved: karmada.BindingSchedulePriority | None,
) -> karmada.ResourceBinding:
    """A binding in step with its template and its policy; its priority is another only where anything else differs."""
    spec, before = existing.spec, existing.metadata.annotations
    wanted = msgspec.structs.replace(
        wanted,
        clusters=spec.clusters,
        graceful_eviction_tasks=spec.graceful_eviction_tasks,
        suspension=spec.suspension,
        schedule_priority=spec.schedule_priority,
    )
    names = (*POLICY_ANNOTATIONS, ASKED_ANNOTATION) if resolved is not None else POLICY_ANNOTATIONS
    kept = {key: value for key, value in before.items() if key not in names}
    same = wanted == spec and said == {key: before[key] for key in names if key in before}
    if resolved is not None and not (same and spec.schedule_priority is not None):
        wanted = msgspec.structs.replace(wanted, schedule_priority=resolved)
    metadata = msgspec.structs.replace(existing.metadata, annotations={**kept, **said})
    return msgspec.structs.replace(existing, metadata=metadata, spec=wanted)


def bindings_of_templates(world: World, settings: Settings) -> Iterator[karmada.ResourceBinding]:
    """The bindings that are there, as the policies of their templates want them."""
    for binding in world.all(karmada.ResourceBinding):
        template = bound_template(world, binding)
        made = make_binding(world, settings, template) if template is not None else None
        if made is not None and (made.kind, made.namespace, made.name) == (
            binding.kind,
            binding.namespace,
            binding.name,
        ):
            yield made


def missing_bindings(world: World, settings: Settings) -> Iterator[karmada.ResourceBinding]:
    """Bindings that are not there, of templates that a policy selects."""
    bound = {(*_type(binding), *_place(binding)) for binding in world.all(karmada.ResourceBinding)}
    for template in _spoken_of(world):
        if (*type_of(template), template.namespace, template.name) not in bound:
            made = make_binding(world, settings, template)
            if made is not None:
                yield made


def _spoken_of(world: World) -> Iterator[Manifest]:
    """All of the kinds that any policy names."""
    policies = world.all(karmada.PropagationPolicy)
    named = {
        (selector.api_version, selector.kind) for policy in policies for selector in policy.spec.resource_selectors
    }
    for api_version, kind in sorted(named):
        yield from (item for item in world.called(kind) if type_of(item) == (api_version, kind))


def _type(binding: karmada.ResourceBinding) -> tuple[str, str]:
    return binding.spec.resource.api_version, binding.spec.resource.kind


def _place(binding: karmada.ResourceBinding) -> tuple[str, str]:
    return binding.spec.resource.namespace or binding.namespace, binding.spec.resource.name


def _asked(policy: karmada.PropagationPolicy, template: Manifest) -> str:
    """Whose class is asked for: the policy's, or that of the pods."""
    asked = policy.spec.schedule_priority
    return f"{asked.priority_class_source}/{asked_class(asked, template)}" if asked is not None else ""


def asked_class(asked: karmada.PolicySchedulePriority, template: Manifest) -> str:
    pods = pods_of(template)
    if asked.priority_class_source == "PodPriorityClass":
        return pods.priority_class_name if pods is not None else ""
    return asked.priority_class_name


def _resolved(
    world: World, policy: karmada.PropagationPolicy, template: Manifest, resolves: bool
) -> karmada.BindingSchedulePriority | None:
    if not resolves:
        return None
    found = world.classes.of_binding(policy.spec.schedule_priority, pods_of(template))
    return karmada.BindingSchedulePriority(priority=found.value, preemption_policy=found.preemption_policy)


def _spec(template: Manifest, policy: karmada.PropagationPolicy) -> karmada.BindingSpec:
    api_version, kind = type_of(template)
    named = {"namespace": template.namespace, "name": template.name, "uid": template.metadata.uid}
    replicas = _replicas(template)
    pods = pods_of(template) if replicas is not None else None
    return karmada.BindingSpec(
        resource=Reference(api_version=api_version, kind=kind, **named),
        replicas=replicas or 0,
        replica_requirements=_requirements(pods, template.namespace) if pods is not None else None,
        placement=policy.spec.placement,
        scheduler_name=policy.spec.scheduler_name,
    )


def _replicas(template: Manifest) -> int | None:
    """How many pods it wants at once; None: that is not for it to say."""
    match template:
        case Pod():
            return 1
        case Job():
            return template.spec.parallelism
        case Controller(kind="DaemonSet"):
            return None
        case Controller():
            return template.spec.replicas
        case _:
            return None


def _requirements(pods: PodSpec, namespace: str) -> karmada.ReplicaRequirements | None:
    """What one replica asks for; None: nothing."""
    affinity = pods.affinity.node_affinity if pods.affinity is not None else None
    claim = karmada.NodeClaim(
        node_selector=pods.node_selector,
        tolerations=pods.tolerations,
        hard_node_affinity=affinity.required if affinity is not None else None,
    )
    request = pod_requests(pods)
    if not request and claim == karmada.NodeClaim():
        return None
    return karmada.ReplicaRequirements(
        node_claim=claim if claim != karmada.NodeClaim() else None,
        resource_request=request,
        namespace=namespace,
        priority_class_name=pods.priority_class_name,
    )


def _named(policy: karmada.PropagationPolicy) -> dict[str, str]:
    if policy.kind == "ClusterPropagationPolicy":
        return {karmada.CLUSTER_POLICY_ANNOTATION: policy.name}
    return {karmada.POLICY_ANNOTATION: policy.name, karmada.POLICY_NAMESPACE_ANNOTATION: policy.namespace}
