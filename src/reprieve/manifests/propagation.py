"""Which resources a propagation policy selects for member clusters.

1. A policy of a namespace selects what is in it; one for the whole control plane selects anything.
2. What a controller has made is no template: its owner is. Nor is anything in a namespace of the system.
"""

from collections import defaultdict

from reprieve.manifests.karmada import PropagationPolicy, ResourceSelector
from reprieve.manifests.meta import Manifest

_NO_MATCH, _BY_KIND, _BY_LABELS, _BY_NAME = 0, 1, 2, 3
"""How closely a resource is meant."""
_RESERVED = ("kube-", "karmada-")
"""Namespaces that begin so are the control plane's own."""


def selected_by(policy: PropagationPolicy, template: Manifest) -> bool:
    """Whether a policy means a resource at all."""
    return closeness(policy, template) != _NO_MATCH


def closeness(policy: PropagationPolicy, template: Manifest) -> int:
    """How closely the selectors of a policy mean a resource."""
    if _is_elsewhere(policy, template):
        return _NO_MATCH
    of_type, name = type_of(template), template.name
    found = _NO_MATCH
    for selector in policy.spec.resource_selectors:
        if (not selector.name or selector.name == name) and (selector.api_version, selector.kind) == of_type:
            found = max(found, _selects(selector, template))
    return found if found and is_template(template) else _NO_MATCH


class PolicySelectors:
    """What a policy selects, put in order once, for who asks about many resources: it may name thousands."""

    def __init__(self, policy: PropagationPolicy) -> None:
        self._policy = policy
        self._selectors: dict[tuple[tuple[str, str], str], list[ResourceSelector]] = defaultdict(list)
        for selector in policy.spec.resource_selectors:
            self._selectors[(selector.api_version, selector.kind), selector.name].append(selector)

    def means(self, template: Manifest) -> bool:
        if _is_elsewhere(self._policy, template):
            return False
        of_type = type_of(template)
        near = (*self._selectors.get((of_type, template.name), ()), *self._selectors.get((of_type, ""), ()))
        return any(_selects(selector, template) for selector in near) and is_template(template)


def _is_elsewhere(policy: PropagationPolicy, template: Manifest) -> bool:
    return policy.kind == "PropagationPolicy" and policy.namespace != template.namespace


def is_template(resource: Manifest) -> bool:
    kind: str = getattr(resource, "kind", "")
    namespace = resource.name if kind == "Namespace" else resource.namespace
    owned = any(owner.controller for owner in resource.metadata.owner_references)
    return not owned and not namespace.startswith(_RESERVED)


def _selects(selector: ResourceSelector, template: Manifest) -> int:
    """How closely, where it is of the type and the name that is selected."""
    if selector.namespace and selector.namespace != template.namespace:
        return _NO_MATCH
    if selector.name:  # a name leaves nothing for labels to select
        return _BY_NAME
    if selector.label_selector is None:
        return _BY_KIND
    return _BY_LABELS if selector.label_selector.matches(template.metadata.labels) else _NO_MATCH


def type_of(resource: Manifest) -> tuple[str, str]:
    """Its apiVersion and kind."""
    return getattr(resource, "api_version", ""), getattr(resource, "kind", "")
