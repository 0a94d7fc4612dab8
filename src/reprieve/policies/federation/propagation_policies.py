"""Which propagation policy a resource template falls under, and with it the binding of that template.

1. The policy that has claimed it, as its binding says, keeps it as long as it selects it. Only a policy that says
   `preemption: Always` takes it over: one of the namespace from one for the whole control plane, else one of higher
   spec.priority of the same kind.
2. Where nobody has, a policy of the template's namespace wins over one for the whole control plane.
3. Then the higher spec.priority, then the selector that says more (a name, then labels), then the first by name.
"""

from collections.abc import Iterable, Mapping

from reprieve.manifests.core import Controller, Job
from reprieve.manifests.karmada import (
    CLUSTER_POLICY_ANNOTATION,
    POLICY_ANNOTATION,
    POLICY_NAMESPACE_ANNOTATION,
    PropagationPolicy,
    ResourceBinding,
)
from reprieve.manifests.meta import Manifest
from reprieve.manifests.pods import Pod, PodSpec
from reprieve.manifests.propagation import closeness, selected_by, type_of
from reprieve.world import World


def select_policy(world: World, template: Manifest, binding: ResourceBinding | None = None) -> PropagationPolicy | None:
    """The policy that a template falls under, with the binding it has."""
    meant = [policy for policy in world.all(PropagationPolicy) if selected_by(policy, template)]
    claimed = named_policy(world, binding) if binding is not None else None
    if claimed is None or claimed not in meant:
        return _best(meant, template)
    return _best([policy for policy in meant if _takes_over(policy, claimed)], template) or claimed


def _best(policies: Iterable[PropagationPolicy], template: Manifest) -> PropagationPolicy | None:
    return min(policies, key=lambda policy: (*_rank(policy), -closeness(policy, template), policy.name), default=None)


def _rank(policy: PropagationPolicy) -> tuple[bool, int]:
    return policy.kind == "ClusterPropagationPolicy", -policy.spec.priority


def _takes_over(policy: PropagationPolicy, claimed: PropagationPolicy) -> bool:
    """Whether a policy preempts the one that has claimed a template."""
    if policy.spec.preemption != "Always":
        return False
    if policy.kind == claimed.kind:
        return policy.spec.priority > claimed.spec.priority
    return policy.kind == "PropagationPolicy"


def named_policy(world: World, binding: ResourceBinding) -> PropagationPolicy | None:
    """The policy that a binding names, if it is there."""
    said: Mapping[str, str] = {**binding.metadata.labels, **binding.metadata.annotations}
    if POLICY_ANNOTATION in said:
        namespace = said.get(POLICY_NAMESPACE_ANNOTATION, binding.namespace)
        return world.get(PropagationPolicy, said[POLICY_ANNOTATION], namespace)
    if CLUSTER_POLICY_ANNOTATION in said:
        return world.get(PropagationPolicy, said[CLUSTER_POLICY_ANNOTATION], called="ClusterPropagationPolicy")
    return None


def policy_of(world: World, binding: ResourceBinding) -> PropagationPolicy | None:
    """The policy that a binding names; one that names none has the policy that its template falls under."""
    if {POLICY_ANNOTATION, CLUSTER_POLICY_ANNOTATION} & {*binding.metadata.labels, *binding.metadata.annotations}:
        return named_policy(world, binding)
    template = bound_template(world, binding)
    return select_policy(world, template) if template is not None else None


def template_of(world: World, binding: ResourceBinding) -> PodSpec | None:
    """The pods of the resource that is bound."""
    template = bound_template(world, binding)
    return pods_of(template) if template is not None else None


def pods_of(template: Manifest) -> PodSpec | None:
    """What its pods ask for, where it has any: a template's, or those of a pod itself."""
    if isinstance(template, Pod):
        return template.spec
    return template.spec.template.spec if isinstance(template, (Controller, Job)) else None


def bound_template(world: World, binding: ResourceBinding) -> Manifest | None:
    """The resource that is bound."""
    reference = binding.spec.resource
    found = world.find(reference.kind, reference.name, reference.namespace or binding.namespace)
    return next((item for item in found if type_of(item) == (reference.api_version, reference.kind)), None)
