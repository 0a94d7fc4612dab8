"""The quota policy against a slow one written straight from the rules: the same victims for the same reasons.

QUOTA_WORLDS says how many worlds there are.
"""

from __future__ import annotations

import os

from hypothesis import given, settings

from reprieve.configuration import configure
from reprieve.manifests.loading import load_objects
from reprieve.policies.quota.policy import QuotaPolicy
from reprieve.policies.quota.view import PendingWorkload
from reprieve.policies.quota.world import QuotaWorld
from reprieve.world import World
from tests.generators.quota import RandomQuota, random_quotas
from tests.reference.quota import Reference, Request, Victims
from tests.reference.quota_sharing import FairReference
from tests.reference.quota_tree import Tree

WORLDS = int(os.environ.get("QUOTA_WORLDS", "150"))
UNITS = {"cpu": 1000}


def policy_over(world: RandomQuota) -> QuotaPolicy:
    return QuotaPolicy(
        QuotaWorld(World(load_objects(world.objects).objects), configure({**world.config, "search": "Design"}))
    )


@given(random_quotas())
@settings(max_examples=WORLDS)
def test_the_same_workloads_make_way_as_when_everything_is_counted_anew(world: RandomQuota) -> None:
    policy = policy_over(world)
    created = {item["metadata"]["name"]: item["metadata"].get("creationTimestamp", "") for item in world.objects}
    for waiting in policy.quota.waiting.values():
        for facts in waiting:
            preemptor = PendingWorkload(facts)
            assignment, found = policy.nominate(policy.view(preemptor, 0))
            usage = {key: amount // UNITS.get(key[1], 1) for key, amount in assignment.usage.items()}
            contested = assignment.demand.contested
            request = Request(preemptor.queue.name, facts.priority, created[facts.key[1]], usage, contested)
            want = expected(world, request) if contested else {}
            assert ({item.facts.unit: item.right for item in found.victims} if found else {}) == want


def expected(world: RandomQuota, request: Request) -> Victims:
    fair = world.config.get("fairSharing")
    tree = Tree(world.objects)
    return (
        FairReference(tree, request).fair(fair["preemptionStrategies"])
        if fair
        else Reference(tree, request).classical()
    )
