"""Beside the real kube-scheduler, with all nodes looked at: who of the two decides how, over random preemptions.

What differs is decided again over what kube-scheduler knew, as its own log and the server's writes tell: that must come
to its answer, or to one of its equals.

`REPRIEVE_RIVALRY=300` makes it some hundred preemptions.
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.cli.running import call, until
from tests.kube.client import KubeClient
from tests.kube.cluster import Cluster
from tests.kube.conftest import MakeNode
from tests.kube.explanations import explain
from tests.kube.read_only import Onlooker, onlooker
from tests.kube.recorder import Recorder
from tests.kube.replay import Replay
from tests.kube.rivals import ALL_NODES, Rivals, Shadow, shadow
from tests.kube.scheduler_log import VERBOSE, lines

PREEMPTORS = int(os.environ.get("REPRIEVE_RIVALRY", "40"))
IN_ONE_WORLD = 40
LONG = "REPRIEVE_RIVALRY" in os.environ
"""Then it is other pods each time."""
_LONG_ONLY = pytest.mark.skipif(not LONG, reason="it takes long: set REPRIEVE_RIVALRY=300")
BURST = 5
NODES = 12
EQUALS = {"equal_node", "equal_victims"}
PREEMPTIONS = {"agreed", *EQUALS, "other_node", "other_victims", "not_preempted"}


def ready(running: Shadow) -> bool:
    assert running.process.poll() is None, running.log.read_text()
    try:
        return bool(running.url) and httpx.get(f"{running.url}/readyz", trust_env=False).is_success
    except httpx.TransportError:
        return False


def counts(running: Shadow) -> Counter[str]:
    found = httpx.get(f"{running.url}/shadow", params={"limit": "1000"}, trust_env=False).json()
    return Counter({each["result"]: each["count"] for each in found["agreement"]})


@pytest.fixture
def recorder(admin: KubeClient, namespace: str) -> Iterator[Recorder]:
    with Recorder(admin, namespace) as recorder:
        yield recorder


@pytest.fixture
def rivals(
    working_kube: Cluster,
    admin: KubeClient,
    namespace: str,
    make_node: MakeNode,
    recorder: Recorder,  # noqa: ARG001 - it sees all from the beginning
    request: pytest.FixtureRequest,
) -> Rivals:
    working_kube.start_scheduler(ALL_NODES, [VERBOSE])
    working_kube.start_kwok(stop_after_ms=100)
    seed = int(os.environ.get("REPRIEVE_SEED", "0")) or (random.randrange(10**6) if LONG else 1)  # noqa: S311
    print(f"REPRIEVE_SEED={seed}")
    made = Rivals(admin, namespace, make_node, seed, wishes=getattr(request, "param", 0))
    made.fill(NODES)
    return made


@contextmanager
def watched(kube: Cluster, admin: KubeClient, directory: Path) -> Iterator[tuple[Shadow, Onlooker]]:
    with onlooker(kube, admin) as reader, shadow(directory, reader.kubeconfig) as running:
        until(lambda: ready(running))
        yield running, reader


@pytest.mark.parametrize("rivals", [0, pytest.param(4, marks=_LONG_ONLY)], indirect=True, ids=["room", "neighbours"])
def test_it_decides_as_kube_scheduler_does(
    rivals: Rivals, working_kube: Cluster, admin: KubeClient, namespace: str, recorder: Recorder, tmp_path: Path
) -> None:
    """One after the other, so that both see the same: what differs then is chance among equals, or a mistake.

    Time makes a difference, too, where a machine is so busy that one of them sees a change long before the other, and
    for who waits for neighbours, who is tried again whenever somebody leaves or comes. So each difference has to be
    explained by a replay of what was known, and few may need that.
    """
    with watched(working_kube, admin, tmp_path) as (running, reader):
        for number in range(PREEMPTORS):
            if number and number % IN_ONE_WORLD == 0:
                rivals.renew()
            rivals.settle(rivals.challenge())
        found = reported(running, reader)
        preemptions = sum(found[each] for each in PREEMPTIONS)
        assert preemptions >= PREEMPTORS // 4
        assert preemptions + found["unclear"] >= len(rivals.victims()) * 0.9, "what the other one did is seen"
        assert explain(running, replayed(working_kube, namespace, recorder)).faults == []
        agreed = found["agreed"] + sum(found[each] for each in EQUALS)
        assert agreed >= 0.9 * preemptions, found


@_LONG_ONLY
def test_in_bursts_time_makes_the_difference(
    rivals: Rivals, working_kube: Cluster, admin: KubeClient, namespace: str, recorder: Recorder, tmp_path: Path
) -> None:
    """Several at once: kube-scheduler knows what it has decided before anybody else can see it."""
    with watched(working_kube, admin, tmp_path) as (running, reader):
        for number in range(PREEMPTORS // BURST):
            if number and number % (IN_ONE_WORLD // BURST) == 0:
                rivals.renew()
            for _ in range(BURST):
                rivals.challenge(wait=False)
            time.sleep(1.0)
            rivals.settle()
        found = reported(running, reader)
        preemptions = sum(found[each] for each in PREEMPTIONS)
        explained = explain(running, replayed(working_kube, namespace, recorder))
        assert explained.faults == []
        assert len(explained.preemptions) >= PREEMPTORS // 2
        assert found["agreed"] + sum(found[each] for each in EQUALS) >= preemptions * 0.8


def replayed(kube: Cluster, namespace: str, recorder: Recorder) -> Replay:
    log = (kube.directory / "kube-scheduler.log").read_text().splitlines()
    return Replay(namespace, recorder.writes, lines(log, namespace))


def reported(running: Shadow, reader: Onlooker) -> Counter[str]:
    """What is told is the same wherever it is asked, and telling it took no write."""
    settled(running)
    done = call("shadow", "report", "--server", running.url, "--limit", "1000")
    assert done.code == 0, done.stderr
    print(done.stdout)
    found = counts(running)
    figures = httpx.get(f"{running.url}/metrics", trust_env=False).text
    assert f'reprieve_shadow_agreement_total{{policy="pod",result="agreed"}} {found["agreed"]}.0' in figures
    assert call("shadow", "report", "--history", str(running.history)).lines[0] == done.lines[0]
    assert reader.writes() == [], "nothing is written in shadow: no event, no status, no lease"
    return found


def settled(running: Shadow) -> None:
    """Until nothing more is compared."""
    before = None
    while before != (found := counts(running)):
        before = found
        time.sleep(3.0)
