"""Laws in columns, trees that are kept and searches that stop early give the answers of the plainest way to do it."""

from __future__ import annotations

import os
from random import Random

import msgspec
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from reprieve.configuration import Settings
from reprieve.engine.nodes.budgets import Budgets
from reprieve.engine.nodes.rules import Nobody
from reprieve.engine.nodes.view import Outlook
from reprieve.manifests.pods import Pod
from reprieve.policies.pod import PodPolicy
from reprieve.policies.queue import laws
from reprieve.policies.queue.candidates import Candidates
from reprieve.policies.queue.laws import Ask
from reprieve.policies.queue.pods import application, held, required_node
from reprieve.policies.queue.policy import QueuePolicy
from reprieve.policies.queue.search import QueueSearch
from reprieve.policies.queue.standing import Standing
from reprieve.world import World
from tests.builders.queues import NOON, at, policy_over
from tests.generators.queues import Features, queue_world

EXAMPLES = int(os.environ.get("QUEUE_EXAMPLES", "60"))
often = settings(max_examples=EXAMPLES)
seeds = st.integers(0, 2**32)


def asked(seed: int) -> tuple[QueuePolicy, Ask]:
    policy = policy_over(queue_world(seed, Features()))
    facts = policy.world.pods["default", "ask-0"]
    return policy, Ask(facts, policy.tree.queue_of(facts))


@often
@given(seeds)
def test_every_queue_stands_as_the_laws_say(seed: int) -> None:
    policy, ask = asked(seed)
    standing = Standing(policy.columns.figures, ask)
    for queue in policy.tree.queues:
        if queue is ask.queue or queue in ask.queue.path:
            continue
        blocked = ask.top not in queue.path or queue.disabled or not laws.over_guarantee(queue, ask)
        bound = laws.priority_bound(queue, ask)
        assert bool(standing.why[queue.number]) == (blocked or bound == laws.CLOSED)
        assert standing.bound[queue.number] == bound
        assert standing.distance[queue.number] == ask.queue.path.index(ask.common(queue))


@often
@given(seeds)
def test_every_pod_may_be_asked_or_not_as_the_laws_say(seed: int) -> None:
    policy, ask = asked(seed)
    table = policy.columns._table
    candidates = Candidates(policy.columns, table, ask)
    for node, shares in enumerate(table.residents):
        for rank, share in enumerate(shares):
            facts = share.pods[0]
            queue = policy.tree.queue_of(facts)
            free = required_node(facts) is None and not facts.pod.terminating and application(facts) != ask.application
            shares_a_type = any(held(facts).of(name) for name in ask.request)
            allowed = (
                free
                and shares_a_type
                and queue is not ask.queue
                and ask.top in queue.path
                and not queue.disabled
                and laws.over_guarantee(queue, ask)
                and facts.priority <= laws.priority_bound(queue, ask)
                and laws.stays_at_guarantee(facts, queue, ask)
            )
            assert (candidates.why[rank, node] == 0) == allowed


@often
@given(seeds)
def test_the_search_that_stops_early_chooses_what_a_look_at_every_node_chooses(seed: int) -> None:
    policy, ask = asked(seed)
    table, pods = policy.columns._table, policy._pods
    outlook = Outlook(table, pods.labels, Budgets(table), ask.facts, [Nobody()])
    if outlook.fits.any() and not ask.blocked:
        return
    candidates = Candidates(policy.columns, table, ask)
    choice = QueueSearch(policy.tree, table, outlook, candidates).best()
    patient = QueueSearch(policy.tree, table, outlook, candidates)
    everywhere = {node: patient.on_node(node) for node in np.flatnonzero(outlook.reach == 0).tolist()}
    prices = {node: patient.price(victims) for node, victims in everywhere.items() if victims is not None}
    assert choice == patient._choice(prices)


@often
@given(seeds, st.integers(0, 2**32))
def test_a_tree_that_follows_the_journal_decides_like_one_made_anew(seed: int, changes: int) -> None:
    policy = policy_over(queue_world(seed, Features(pending=3)))
    random = Random(changes)  # noqa: S311 - not a secret
    for _ in range(6):
        change(policy.world, random)
        for facts in list(policy.world.pending()):
            fresh = made_anew(policy.world)
            again = fresh.world.pods[facts.key]
            assert policy.decide(facts, at()) == fresh.decide(again, at())


def made_anew(world: World) -> QueuePolicy:
    copied = World([item for objects in world._objects.values() for item in objects.values()])
    return QueuePolicy(copied, Settings(), PodPolicy(copied, Settings()))


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
