"""What a pod takes of its node while it is resized there, as kube-scheduler counts it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from reprieve.manifests.kinds import READERS
from reprieve.manifests.pods import Pod
from reprieve.manifests.resizing import slots_held


def resized(asked: str, given: str = "", runs_with: str = "", *, infeasible: bool = False, **spec: Any) -> Pod:
    status: dict[str, Any] = {"name": "main"}
    if given:
        status["allocatedResources"] = {"cpu": given}
    if runs_with:
        status["resources"] = {"requests": {"cpu": runs_with}, "limits": {"cpu": "64"}}
    pending = {"type": "PodResizePending", "status": "True", "reason": "Infeasible" if infeasible else "Deferred"}
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": asked}}}
    whole = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {"nodeName": "n1", "containers": [container], **spec},
        "status": {"conditions": [pending], "containerStatuses": [status] if len(status) > 1 else []},
    }
    made: Pod = READERS["v1", "Pod"].json.decode(msgspec.json.encode(whole))
    return made


@pytest.mark.parametrize(
    ("asked", "given", "runs_with", "held"),
    [
        ("2", "", "", 2000),
        ("2", "2", "2", 2000),
        ("1", "3", "3", 3000),  # its node has not heard of it yet
        ("1", "1", "3", 3000),  # it still runs with as much as before
        ("3", "1", "1", 3000),  # room is kept for what was asked for
        ("3", "3", "1", 3000),
    ],
)
def test_the_most_of_what_is_asked_for_set_aside_and_used_counts(
    asked: str, given: str, runs_with: str, held: int
) -> None:
    assert slots_held(resized(asked, given, runs_with)).of("cpu") == held


def test_what_a_node_can_never_give_does_not_count() -> None:
    assert slots_held(resized("64", "1", "2", infeasible=True)).of("cpu") == 2000


def test_who_gives_nothing_away_about_a_container_is_taken_at_its_word() -> None:
    other = {"name": "other", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    main = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    pod = resized("1", "2", containers=[main, other], overhead={"cpu": "500m"})
    assert slots_held(pod).of("cpu") == 3500
    assert slots_held(pod).of("pods") == 1
