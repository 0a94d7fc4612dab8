"""The programs that `make kube` provides, for tests: without them a test is skipped, or fails if that is asked for."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn

import pytest

from tools.kube.provide import provided

HINT = "run `make kube`, which provides them once"


def folder(*needed: str) -> Path:
    """Where they are. `needed` are those that a test cannot do without, beside etcd and kube-apiserver."""
    found = provided()
    if found is None:
        _do_without(f"the programs of Kubernetes are not there: {HINT}")
    missing = [name for name in needed if not (found / name).is_file()]
    if missing:
        _do_without(f"there is no {' and no '.join(missing)} in {found}: {HINT}, without KUBEBUILDER_ASSETS")
    return found


def _do_without(reason: str) -> NoReturn:
    """Whoever promised that they are there must not get away with a green run that tested nothing."""
    if os.environ.get("REPRIEVE_REQUIRE_KUBE") == "1":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)
