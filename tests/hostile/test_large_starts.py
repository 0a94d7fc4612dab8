"""A start over much that is there already, and a quota over it: who asks meanwhile is answered."""

from __future__ import annotations

import asyncio
import http.client
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reprieve.agents.hollow.nodes import hollow_node
from reprieve.manifests.kinds import NODES, PODS
from reprieve.model.clock import system_clock
from reprieve.stores.embedded.store import EmbeddedStore
from tests.cli.running import until
from tests.hostile.attacking import Attacked, Pulse, assert_steady, attacked

_PODS = "/api/v1/namespaces/default/pods"
_QUOTAS = "/api/v1/namespaces/default/resourcequotas"
_MANY = 12_000 if "REPRIEVE_HOSTILE" in os.environ else 2_000
_CONTAINERS = 60
_ON_ONE = 100


def a_wide_pod(name: str, containers: int = _CONTAINERS, **spec: Any) -> dict[str, Any]:
    """Many containers are as much work as many pods, and sooner made."""
    resources = {"requests": {"cpu": "1m"}, "limits": {"memory": "1Mi"}}
    each = [{"name": f"c{number}", "image": "busybox", "resources": resources} for number in range(containers)]
    return {"metadata": {"name": name, "namespace": "default"}, "spec": {"containers": each, **spec}}


async def _fill(directory: Path) -> None:
    directory.mkdir(mode=0o700)
    store = EmbeddedStore.open(directory / "store.db", system_clock)
    for number in range(_MANY // _ON_ONE):
        await store.create(NODES, hollow_node(f"n{number}", cpu="64", memory="64Gi"))
    for number in range(_MANY):
        node = f"n{number // _ON_ONE}"
        await store.create(PODS, a_wide_pod(f"p{number}", nodeName=node, schedulerName="reprieve"))
    store.close()


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    place = tmp_path_factory.mktemp("large")
    asyncio.run(_fill(place / "data"))
    with attacked(place, "--agent", "hollow", "--nodes", "0") as one:
        yield one


def _status(victim: Attacked, path: str) -> int:
    try:
        return victim.ask("GET", path)[0]
    except (OSError, http.client.HTTPException):
        return 0


def test_a_start_over_much_holds_up_nobody(victim: Attacked) -> None:
    """It says that it lives and is not ready, and then that it is."""
    assert (_status(victim, "/livez"), _status(victim, "/readyz")) == (200, 503)
    with Pulse(victim) as pulse:
        until(lambda: _status(victim, "/readyz") == 200, seconds=600)
        time.sleep(1)
    assert_steady(victim, pulse)
    assert victim.long_pauses() == 0, victim.warnings()[-3000:]


def test_a_quota_over_much_holds_up_nobody(victim: Attacked) -> None:
    """Neither when it comes nor when the first pod is made under it; and that one counts as those before it."""
    until(lambda: _status(victim, "/readyz") == 200, seconds=600)
    quota = {"metadata": {"name": "all"}, "spec": {"hard": {"pods": str(_MANY + 1), "requests.cpu": "1M"}}}
    with Pulse(victim) as pulse:
        assert victim.ask("POST", _QUOTAS, quota)[0] == 201
        assert victim.ask("POST", _PODS, a_wide_pod("last", 1, schedulerName="nobody"))[0] == 201
        status, said = victim.ask("POST", _PODS, a_wide_pod("too-much", 1, schedulerName="nobody"))
        assert (status, f"used: pods={_MANY + 1}".encode() in said) == (403, True), said
        time.sleep(1)
    assert_steady(victim, pulse)
