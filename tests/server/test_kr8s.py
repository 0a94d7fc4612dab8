"""kr8s, which finds out by itself what there is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import kr8s
from kr8s.objects import Pod

from tests.server.planes import Running, kubeconfig, pod


def test_a_pod_lives_and_dies(server: Running, tmp_path: Path) -> None:
    api: Any = kr8s.api(kubeconfig=str(kubeconfig(server, tmp_path / "config")))
    made = Pod(pod("a"), api=api)
    made.create()
    assert made.exists()
    made.label({"tier": "x"})
    (found,) = list(api.get("pods", namespace="default", label_selector={"tier": "x"}))
    assert found.name == "a"
    assert [each.name for each in api.get("clusterqueues.kueue.x-k8s.io")] == []
    made.delete()
    assert not made.exists()
