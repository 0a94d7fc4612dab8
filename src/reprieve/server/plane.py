"""What the API needs of a control plane, and nothing more."""

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any, Protocol

from prometheus_client import CollectorRegistry

from reprieve.manifests.loading import Loaded
from reprieve.model.clock import Clock
from reprieve.planning.planner import Planner
from reprieve.stores.protocol import Store


class HistoryReader(Protocol):
    """What was decided, and what happened to each unit. A unit is written as in plans: `Pod/default/a`."""

    def explain(self, unit: str) -> dict[str, Any]:
        """All there is to tell about a unit: its `story`, the last `decision`, and who it was `preempted` by."""
        ...

    def story(self, unit: str, limit: int) -> list[dict[str, Any]]: ...

    def decisions(self, unit: str = "", limit: int = 50) -> list[dict[str, Any]]: ...

    def decision(self, number: int) -> dict[str, Any] | None: ...


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
    def metrics_registry(self) -> CollectorRegistry: ...

    def planner(self, loaded: Loaded, now: datetime) -> Planner:
        """A planner over these manifests, with the settings that this control plane decides by."""
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
