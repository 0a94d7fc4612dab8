"""`reprieve run` with policies and controllers that were asked for, with the roles that these need and no others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.cli.running import until
from tests.kube.client import KubeClient
from tests.kube.cluster import Cluster
from tests.kube.second_scheduler import SecondScheduler, also_bound

ROLES = ("reprieve-quota", "reprieve-quota-controllers")
FAST = (
    "--leader-elect-lease-duration=4",
    "--leader-elect-renew-deadline=3",
    "--leader-elect-retry-period=0.5",
)
SOON = 30.0


@contextmanager
def running(cluster: Cluster, admin: KubeClient, *options: str, roles: tuple[str, ...] = ROLES) -> Iterator[Any]:
    with also_bound(admin, *roles):
        scheduler = SecondScheduler(cluster, admin, {}, options=(*FAST, *options))
        scheduler.process.launch()
        try:
            yield scheduler
        finally:
            scheduler.stop()


def ready(scheduler: SecondScheduler) -> None:
    scheduler.process.wait_until_ready()


def said(scheduler: SecondScheduler) -> str:
    return str(scheduler.process.log.read_text())


def ended(scheduler: SecondScheduler) -> tuple[int, str]:
    until(lambda: scheduler.process.exit_code is not None, SOON)
    code = scheduler.process.exit_code
    assert code is not None
    return code, said(scheduler).strip().splitlines()[-1]
