"""Where a pod may run, beside or away from whom: node selectors, affinities, spreading."""

from typing import Annotated, Literal

from msgspec import Meta, field

from reprieve.manifests.meta import LabelSelector, Model, PositiveCount

Weight = Annotated[int, Meta(ge=1, le=100)]
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


class NodeSelectorRequirement(Model):
    key: str
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
    values: tuple[str, ...] = ()


class NodeSelectorTerm(Model):
    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class NodeSelector(Model):
    node_selector_terms: tuple[NodeSelectorTerm, ...]


class PreferredSchedulingTerm(Model):
    weight: Weight
    preference: NodeSelectorTerm


class NodeAffinity(Model):
    required: NodeSelector | None = field(name=_REQUIRED, default=None)
    preferred: tuple[PreferredSchedulingTerm, ...] = field(name=_PREFERRED, default=())


class PodAffinityTerm(Model):
    topology_key: str
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(Model):
    weight: Weight
    pod_affinity_term: PodAffinityTerm


class PodAffinity(Model):
    required: tuple[PodAffinityTerm, ...] = field(name=_REQUIRED, default=())
    preferred: tuple[WeightedPodAffinityTerm, ...] = field(name=_PREFERRED, default=())


class Affinity(Model):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class TopologySpreadConstraint(Model):
    max_skew: PositiveCount
    topology_key: str
    when_unsatisfiable: Literal["DoNotSchedule", "ScheduleAnyway"]
    label_selector: LabelSelector | None = None
    min_domains: PositiveCount | None = None
    node_affinity_policy: Literal["Honor", "Ignore"] = "Honor"
    node_taints_policy: Literal["Honor", "Ignore"] = "Ignore"
    match_label_keys: tuple[str, ...] = ()
