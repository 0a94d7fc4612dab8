"""Which propagation policy a resource template falls under, and with it the binding of that template.

1. A policy of the template's namespace wins over one for the whole control plane.
2. Then the higher spec.priority, then the selector that says more (a name, then labels), then the first by name.
"""

from collections.abc import Mapping

from reprieve.manifests.core import Controller, Job
from reprieve.manifests.karmada import (
    CLUSTER_POLICY_ANNOTATION,
    POLICY_ANNOTATION,
    POLICY_NAMESPACE_ANNOTATION,
    PropagationPolicy,
    ResourceBinding,
    ResourceSelector,
)
from reprieve.manifests.pods import PodSpec
from reprieve.world import World

Template = Controller | Job
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


def policy_of(world: World, binding: ResourceBinding) -> PropagationPolicy | None:
    """The policy that a binding names; one that names none has the policy that its template falls under."""
    said: Mapping[str, str] = {**binding.metadata.labels, **binding.metadata.annotations}
    if POLICY_ANNOTATION in said:
        namespace = said.get(POLICY_NAMESPACE_ANNOTATION, binding.namespace)
        return world.get(PropagationPolicy, said[POLICY_ANNOTATION], namespace)
    if CLUSTER_POLICY_ANNOTATION in said:
        return world.get(PropagationPolicy, said[CLUSTER_POLICY_ANNOTATION], called="ClusterPropagationPolicy")
    template = bound_template(world, binding)
    return select_policy(world, template) if template is not None else None


def template_of(world: World, binding: ResourceBinding) -> PodSpec | None:
    """The pod template of the resource that is bound."""
    template = bound_template(world, binding)
    return template.spec.template.spec if template is not None else None


def bound_template(world: World, binding: ResourceBinding) -> Template | None:
    """The resource that is bound."""
    reference = binding.spec.resource
    namespace = reference.namespace or binding.namespace
    if reference.kind == "Job":
        job: Job | None = world.get(Job, reference.name, namespace)
        return job
    found: Controller | None = world.get(Controller, reference.name, namespace, called=reference.kind)
    return found
