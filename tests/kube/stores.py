"""The store under test, opened on a real API server, directly or through a proxy."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from reprieve.kubernetes_plane import open_store
from reprieve.stores.kubernetes.store import KubernetesStore

Story = Callable[[KubernetesStore], Awaitable[Any]]


def with_store(kubeconfig: Path, story: Story, context: str | None = None) -> Any:
    """What a story gives that is told with a store, without a limit of its own."""

    async def main() -> Any:
        async with open_store(str(kubeconfig), context, qps=0) as store:
            return await story(store)

    return asyncio.run(main())


async def until(what: Callable[[], Any], patience: float = 60.0) -> Any:
    """What it gives when it gives something."""
    async with asyncio.timeout(patience):
        while not (found := what()):
            await asyncio.sleep(0.05)
        return found


def config_map(name: str, namespace: str, **data: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
