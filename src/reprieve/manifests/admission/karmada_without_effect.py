"""What of Karmada can be said and has no effect here: whoever says it is told so by name."""

from collections.abc import Iterator, Mapping

from reprieve.manifests import karmada
from reprieve.manifests.meta import Model
from reprieve.manifests.problems import Finding

_POLICY = {
    "propagate_deps": ("propagateDeps", "what it depends on goes only where a policy of its own sends it"),
    "dependent_overrides": ("dependentOverrides", "nothing waits for overrides"),
    "failover": ("failover", "nothing is moved by rules of its policy because it fails"),
    "suspension": ("suspension", "what is decided is not held back; a binding can suspend its scheduling"),
    "activation_preference": ("activationPreference", "a policy that changes takes effect at once"),
    "preserve_resources_on_deletion": ("preserveResourcesOnDeletion", "what is deleted goes everywhere"),
}


def of_policy(spec: karmada.PropagationSpec) -> Iterator[Finding]:
    yield from _said("$.spec", spec, _POLICY)
    if spec.conflict_resolution == "Overwrite":
        yield _none("$.spec.conflictResolution", "what a cluster has already is not looked at")


def of_placement(path: str, placement: karmada.Placement) -> Iterator[Finding]:
    if placement.workload_affinity is not None:
        yield _none(f"{path}.workloadAffinity", "bindings do not mind each other")


def of_binding(spec: karmada.BindingSpec) -> Iterator[Finding]:
    if spec.components:
        yield _none("$.spec.components", "only replicas and replicaRequirements say what it asks for")


def _said(path: str, spec: Model, known: Mapping[str, tuple[str, str]]) -> Iterator[Finding]:
    return (_none(f"{path}.{field}", what) for name, (field, what) in known.items() if getattr(spec, name))


def _none(place: str, what: str) -> Finding:
    return Finding(place, f"it has no effect here: {what}", "", "", "warning")
