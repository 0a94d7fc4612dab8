"""All that goes wrong around a scheduler on a real cluster, by a seed: killed, cut off, refused, and made to wait."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from random import Random

from tests.kube.cluster import Cluster
from tests.kube.faults import Answer, Cut, Delay, Fault, Request, WatchError, matching
from tests.kube.proxy import FaultyProxy
from tests.kube.replicas import Replica

_REFUSALS = (409, 429, 500, 503, 504)


class Trouble:
    """One thing after the other goes wrong, and is made good again as far as the next one needs it."""

    def __init__(self, seed: int, cluster: Cluster, proxy: FaultyProxy, replica: Replica) -> None:
        self._random = Random(f"trouble {seed}")  # noqa: S311 - not a secret
        self._cluster = cluster
        self._proxy = proxy
        self._replica = replica
        self.happened: Counter[str] = Counter()

    def strike(self) -> None:
        """The costly ones are rare."""
        kinds: list[Callable[[], None]] = [self._refuse, self._cut, self._cut_writes, self._slow, self._expire]
        rare: list[Callable[[], None]] = [self._kill, self._kill, self._halt_etcd, self._restart_server]
        chosen = self._random.choice(kinds if self._random.random() < 0.6 else rare)
        self.happened[chosen.__name__.strip("_")] += 1
        chosen()

    def _refuse(self) -> None:
        code = self._random.choice(_REFUSALS)
        self._inject(Answer(code, retry_after=1 if code == 429 else None), _anything_of_ours, 8)

    def _cut(self) -> None:
        self._proxy.cut_all()

    def _cut_writes(self) -> None:
        self._inject(Cut(done=self._random.random() < 0.6), _writes, 5)

    def _slow(self) -> None:
        self._inject(Delay(self._random.uniform(0.2, 2.0)), _anything_of_ours, 10)

    def _expire(self) -> None:
        self._inject(WatchError(410), matching(verb="watch"), 3)
        self._proxy.cut_watches("/(pods|nodes)$")

    def _kill(self) -> None:
        """In the middle of whatever it does."""
        self._replica.process.kill()
        self._replica.process.launch()

    def _halt_etcd(self) -> None:
        self._cluster.etcd.halt()
        time.sleep(self._random.uniform(0.5, 3.0))
        self._cluster.etcd.go_on()

    def _restart_server(self) -> None:
        if self._random.random() < 0.5:
            self._cluster.api_server.kill()
        self._cluster.api_server.restart()

    def _inject(self, fault: Fault, when: Callable[[Request], bool], most: int) -> None:
        self._proxy.inject(fault, when, times=self._random.randint(1, most))


def _writes(request: Request) -> bool:
    return request.method != "GET"


def _anything_of_ours(request: Request) -> bool:
    return request.verb != "watch"
