"""What the API needs of a control plane, and nothing more."""

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any, Protocol

from prometheus_client import CollectorRegistry

from reprieve.configuration import Settings
from reprieve.manifests.loaded import Loaded
from reprieve.model.clock import Clock
from reprieve.planning.change import ProposedChange
from reprieve.planning.comparison import Comparison
from reprieve.planning.planner import Planner
from reprieve.planning.yunikorn_answers import YunikornAnswers
from reprieve.policies.quota.world import QuotaWorld
from reprieve.stores.protocol import Store


class HistoryReader(Protocol):
    """What was decided, and what happened to each unit. A unit is written as in plans: `Pod/default/a`."""

    def explain(self, unit: str, uid: str = "") -> dict[str, Any]:
        """All there is to tell about a unit: its `story`, the last `decision`, the last `preemption`, who it was
        `preempted` by, its `attempts`, the `others` it belongs with, and who had its name `earlier`."""
        ...

    def attempts(self, unit: str) -> list[dict[str, Any]]:
        """What all that had this name, one after the other, were tried as, in the order of time."""
        ...

    def called(self, name: str) -> list[str]:
        """The units of any kind and namespace that are called so."""
        ...

    def story(self, unit: str, limit: int) -> list[dict[str, Any]]: ...

    def decisions(self, unit: str = "", limit: int = 50) -> list[dict[str, Any]]: ...

    def decision(self, number: int) -> dict[str, Any] | None: ...

    def agreement(self, limit: int = 50) -> dict[str, Any]:
        """What a scheduler in shadow saw another one decide: how often alike, and the last times otherwise."""
        ...


class Plane(Protocol):
    """A control plane, seen from its API."""

    @property
    def store(self) -> Store: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def history(self) -> HistoryReader | None:
        """None: no history is kept."""
        ...

    @property
    def ready(self) -> bool:
        """Whether the first sync is done."""
        ...

    @property
    def settings(self) -> Settings:
        """What it decides by."""
        ...

    @property
    def quota(self) -> QuotaWorld:
        """The queues of quota, and who waits in them, as decisions are made over them."""
        ...

    @property
    def metrics_registry(self) -> CollectorRegistry: ...

    def planner(self, loaded: Loaded, now: datetime) -> Planner:
        """A planner over these manifests, with the settings that this control plane decides by."""
        ...

    def compare(self, loaded: Loaded, change: ProposedChange, now: datetime) -> Comparison:
        """What is different with a change, by the same settings."""
        ...

    def queues(self) -> YunikornAnswers | None:
        """YuniKorn's queues as they stand now; None where none are configured."""
        ...

    def logs(
        self,
        namespace: str,
        pod: str,
        container: str,
        *,
        tail: int | None,
        since_seconds: int | None,
        limit_bytes: int | None,
        follow: bool,
        previous: bool,
        timestamps: bool,
    ) -> AsyncIterator[bytes]:
        """What a container wrote. Raises `StoreError`s, at the latest when the first part is asked for."""
        ...

    def runs(self, uid: str) -> list[Any]:
        """The runs of a pod's containers that are known, also after the pod is gone; see `agents.process.kept_logs`."""
        ...

    def run_log(
        self, uid: str, container: str, run: int, *, tail: int | None, limit_bytes: int | None
    ) -> AsyncIterator[bytes] | None:
        """What one run wrote; None: nothing is left of it."""
        ...
