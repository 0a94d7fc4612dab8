"""What queues say, as the settings let it count."""

import msgspec

from reprieve.manifests import kueue
from reprieve.manifests.kueue_annotations import Milestones, in_order
from reprieve.model.names import Key
from reprieve.world import World


def as_written(spec: kueue.ClusterQueueSpec) -> kueue.ClusterQueueSpec:
    """A queue without what KEP-83 does not have: newer ones of the same priority, and borrowing while preempting."""
    within = spec.preemption.within_cluster_queue
    lower = "LowerPriority" if within == "LowerOrNewerEqualPriority" else within
    preemption = msgspec.structs.replace(spec.preemption, within_cluster_queue=lower, borrow_within_cohort=None)
    return msgspec.structs.replace(spec, preemption=preemption)


def default_costs(world: World) -> dict[Key, Milestones]:
    """What an interruption costs of workloads that do not say it themselves, by LocalQueue."""
    said = ((queue.namespace, queue.name, in_order(queue.spec.preemption)) for queue in world.all(kueue.LocalQueue))
    return {(namespace, name): milestones for namespace, name, milestones in said if milestones}
