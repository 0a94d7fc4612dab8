"""What is known of quota workloads beside what they say themselves: their priority, what their pods ask for without
saying so, what their interruption costs."""

import msgspec

from reprieve.configuration import Settings
from reprieve.engine.quota_tree import QuotaNode
from reprieve.manifests import kueue
from reprieve.manifests.kueue_annotations import boost, cost_milestones
from reprieve.manifests.limits import LimitRange, RuntimeClass, UnsaidRequests
from reprieve.policies.quota.queue_specs import default_costs
from reprieve.policies.quota.workloads import CHECKED, NOT_READY, WorkloadFacts
from reprieve.world import World


class WorkloadReader:
    """Makes facts of workloads, as long as queues, classes and limits stay as they are."""

    def __init__(self, world: World, settings: Settings) -> None:
        self._world = world
        self._settings = settings
        self._unsaid = UnsaidRequests(world.all(LimitRange), world.all(RuntimeClass))
        self._costs = default_costs(world)

    def facts(self, workload: kueue.QuotaWorkload, queue: QuotaNode | None) -> WorkloadFacts:
        more = boost(workload.metadata.annotations) if self._settings.gate("PriorityBoost") else 0
        costs = cost_milestones(workload)
        if self._costs and not costs:
            costs = self._costs.get((workload.namespace, workload.spec.queue_name), ())
        created = self._world.created(workload)
        pod_sets = self._asked_for(workload) if self._unsaid else None
        return WorkloadFacts(workload, self.priority(workload), more, queue, created, costs, self._anew, pod_sets)

    def _asked_for(self, workload: kueue.QuotaWorkload) -> tuple[kueue.PodSet, ...]:
        """Its pod sets with the defaults of its namespace, and the overhead of the runtime classes that they name."""
        said, replace = self._unsaid.said, msgspec.structs.replace
        return tuple(
            replace(item, template=replace(item.template, spec=said(item.template.spec, workload.namespace)))
            for item in workload.spec.pod_sets
        )

    @property
    def _anew(self) -> tuple[str, ...]:
        """Who was evicted for one of these reasons is put in order by when that was, and not by its creation."""
        strategy = self._settings.wait_for_pods_ready.requeuing_strategy
        return (CHECKED, NOT_READY) if strategy.timestamp == "Eviction" else (CHECKED,)

    def priority(self, workload: kueue.QuotaWorkload) -> int:
        spec = workload.spec
        if spec.priority is not None or spec.priority_class_ref is None:
            return spec.priority or 0
        if spec.priority_class_ref.kind == "PriorityClass":
            return self._world.classes.resolve(spec.priority_class_ref.name).value
        found = self._world.get(kueue.WorkloadPriorityClass, spec.priority_class_ref.name)
        return found.value if found is not None else 0
