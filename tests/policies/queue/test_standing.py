"""Laws in columns, trees that are kept and searches that stop early give the answers of the plainest way to do it."""

from __future__ import annotations

import os
from random import Random

import msgspec
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from reprieve.configuration import Settings
from reprieve.engine.steps import choose
from reprieve.manifests.pods import Pod
from reprieve.policies.queue import laws
from reprieve.policies.queue.pods import application, held, required_node
from reprieve.policies.queue.policy import WITHIN_FENCE, PodInQueueView, QueuePolicy
from reprieve.policies.queue.search import QueuePrice, QueueSearch
from reprieve.policies.queue.standing import CLOSED, QueueStanding
from reprieve.policies.registry import Policies
from reprieve.world import World
from tests.builders.queues import NOON, at, decide_for, policies_over
from tests.generators.queues import Features, queue_world
from tests.reference.queue_laws import only_shares, over_guarantee, priority_bound

EXAMPLES = int(os.environ.get("QUEUE_EXAMPLES", "60"))
often = settings(max_examples=EXAMPLES)
seeds = st.integers(0, 2**32)


def asked(seed: int) -> tuple[QueuePolicy, PodInQueueView]:
    policies = policies_over(queue_world(seed, Features()))
    policy: QueuePolicy = policies["queue"].policy
    return policy, policy.view(policies.world.pods["default", "ask-0"], at())


@often
@given(seeds)
def test_every_queue_stands_as_the_laws_say(seed: int) -> None:
    policy, view = asked(seed)
    standing = QueueStanding(policy.columns.figures, view)
    for queue in policy.tree.queues:
        if queue is view.queue or queue in view.queue.path:
            continue
        blocked = view.top not in queue.path or queue.disabled or not over_guarantee(queue, view)
        bound = priority_bound(queue, view)
        assert bool(standing.why[queue.number]) == (blocked or bound == CLOSED)
        assert standing.bound[queue.number] == bound
        assert standing.distance[queue.number] == view.queue.path.index(view.common(queue))


@often
@given(seeds)
def test_every_pod_may_be_asked_or_not_as_the_laws_say(seed: int) -> None:
    policy, view = asked(seed)
    policy.search(view, WITHIN_FENCE, policy.rules(view))
    assert view.candidates is not None
    for node, shares in enumerate(view.nodes.table.residents):
        for rank, share in enumerate(shares):
            facts = share.pods[0]
            queue = policy.tree.queue_of(facts)
            free = required_node(facts) is None and not facts.pod.terminating and application(facts) != view.application
            shares_a_type = any(held(facts).of(name) for name in view.request)
            allowed = (
                free
                and shares_a_type
                and queue is not view.queue
                and view.top in queue.path
                and not queue.disabled
                and over_guarantee(queue, view)
                and not only_shares(facts, queue, view)
                and facts.priority <= priority_bound(queue, view)
                and laws.falls_below(facts, queue, view) is None
            )
            assert (view.candidates.reason(rank, node, facts) is None) == allowed


@often
@given(seeds)
def test_the_search_that_stops_early_chooses_what_a_look_at_every_node_chooses(seed: int) -> None:
    policy, view = asked(seed)
    if policy.fits(view) is not None:
        return
    early = policy.search(view, WITHIN_FENCE, policy.rules(view))
    assert view.candidates is not None
    patient = EveryNode(policy.columns, view, view.candidates)
    chosen, wanted = (choose(search.possible, search.criteria()) for search in (early, patient))
    assert (chosen is None) == (wanted is None)
    if chosen is not None and wanted is not None:
        assert (early[chosen.domain], chosen.criterion) == (patient[wanted.domain], wanted.criterion)


class EveryNode(QueueSearch):
    """The same search, which looks at all nodes."""

    def _from_the_cheapest_up(self) -> dict[int, QueuePrice]:
        found = {node: self.on_node(node) for node in np.flatnonzero(self._nodes.within_reach).tolist()}
        self._found = {node: victims for node, victims in found.items() if victims is not None}
        return {node: self.price(victims) for node, victims in self._found.items()}


@often
@given(seeds, st.integers(0, 2**32))
def test_a_tree_that_follows_the_journal_decides_like_one_made_anew(seed: int, changes: int) -> None:
    policies = policies_over(queue_world(seed, Features(pending=3)))
    random = Random(changes)  # noqa: S311 - not a secret
    for _ in range(6):
        change(policies.world, random)
        for facts in list(policies.world.pending()):
            want = decide_for(made_anew(policies.world), facts.key[1], at())
            assert decide_for(policies, facts.key[1], at()) == want


def made_anew(world: World) -> Policies:
    return Policies(World([item for objects in world._objects.values() for item in objects.values()]), Settings())


def change(world: World, random: Random) -> None:
    """One pod leaves, begins to leave, is nominated, or gets a node."""
    if not world.pods:
        return
    facts = random.choice(list(world.pods.values()))
    pod = facts.pod
    if facts.pending:
        if random.randrange(2):
            world.put(msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name="n0")))
        else:
            status = msgspec.structs.replace(pod.status, nominated_node_name="n0")
            world.put(msgspec.structs.replace(pod, status=status))
    elif random.randrange(2):
        world.put(msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, deletion_timestamp=NOON)))
    else:
        world.delete(Pod, pod.name, pod.namespace)
