"""Workloads since scheduling.k8s.io/v1alpha2: templates that controllers make groups from, and nothing else.

Templates of composite groups stand in each other at most three deep: with the pod groups at the bottom a tree of groups
is four high. So each level has a type of its own, and what is deeper still is refused by admission.
"""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from msgspec import Meta

from reprieve.manifests.meta import Int32, Manifest, Model, PreemptionPolicy
from reprieve.manifests.scheduling import (
    CompositeSchedulingPolicy,
    ControllerReference,
    DisruptionMode,
    GroupTemplate,
    ResourceClaims,
    SchedulingConstraints,
    SchedulingPolicy,
    Workload,
    WorkloadPodGroup,
    group_policy,
)

_AT_MOST_8 = Meta(max_length=8)
DEEPEST = 4
"""How many groups may stand above each other, the pod group at the bottom included."""


class PodGroupTemplate(Model):
    name: str
    scheduling_policy: SchedulingPolicy
    disruption_mode: DisruptionMode | None = None
    scheduling_constraints: SchedulingConstraints | None = None
    resource_claims: ResourceClaims = ()
    priority_class_name: str = ""
    priority: Int32 | None = None
    preemption_policy: PreemptionPolicy | None = None


class AnyCompositeTemplate(Model):
    name: str
    scheduling_policy: CompositeSchedulingPolicy
    disruption_mode: DisruptionMode | None = None
    scheduling_constraints: SchedulingConstraints | None = None
    priority_class_name: str = ""
    priority: Int32 | None = None
    preemption_policy: PreemptionPolicy | None = None
    pod_group_templates: Annotated[tuple[PodGroupTemplate, ...], _AT_MOST_8] = ()


class InnermostCompositeTemplate(AnyCompositeTemplate):
    composite_pod_group_templates: tuple[dict[str, Any], ...] = ()
    """Read only to know that they are there: they stand too deep."""


class InnerCompositeTemplate(AnyCompositeTemplate):
    composite_pod_group_templates: Annotated[tuple[InnermostCompositeTemplate, ...], _AT_MOST_8] = ()


class CompositePodGroupTemplate(AnyCompositeTemplate):
    composite_pod_group_templates: Annotated[tuple[InnerCompositeTemplate, ...], _AT_MOST_8] = ()


class WorkloadSpec(Model):
    pod_group_templates: Annotated[tuple[PodGroupTemplate, ...], _AT_MOST_8] = ()
    composite_pod_group_templates: Annotated[tuple[CompositePodGroupTemplate, ...], _AT_MOST_8] = ()
    controller_ref: ControllerReference | None = None


class WorkloadManifest(Manifest):
    api_version: Literal["scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha3"] = "scheduling.k8s.io/v1beta1"
    kind: Literal["Workload"] = "Workload"
    spec: WorkloadSpec

    def internal(self) -> Workload:
        return workload(self, self.spec)


def workload(manifest: Any, spec: Any) -> Workload:
    """A Workload that holds templates only, from whichever version."""
    templates = tuple(
        GroupTemplate(name=each.name, place=place, policy=group_policy(each), above=above)
        for place, each, above in templates_in(spec)
    )
    return Workload(
        api_version=manifest.api_version,
        metadata=manifest.metadata,
        pod_groups=tuple(
            WorkloadPodGroup(name=each.name, policy=group_policy(each)) for each in spec.pod_group_templates
        ),
        templates=templates,
        controller_ref=spec.controller_ref,
    )


def templates_in(holder: Any, path: str = "", above: str = "") -> Iterator[tuple[str, Any, str]]:
    """All templates from the top down, each with its place and the name of the composite template above it."""
    for index, template in enumerate(holder.pod_group_templates):
        yield f"{path}podGroupTemplates[{index}]", template, above
    for index, template in enumerate(getattr(holder, "composite_pod_group_templates", ())):
        if isinstance(template, AnyCompositeTemplate):
            place = f"{path}compositePodGroupTemplates[{index}]"
            yield place, template, above
            yield from templates_in(template, f"{place}.", template.name)
