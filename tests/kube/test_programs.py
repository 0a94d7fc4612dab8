"""Without the programs tests are skipped, but not where somebody promised that they are there."""

from __future__ import annotations

from pathlib import Path

import pytest
from _pytest.outcomes import Failed, Skipped

from tests.kube import programs


def provide(monkeypatch: pytest.MonkeyPatch, folder: Path | None, *, required: bool) -> None:
    monkeypatch.setattr(programs, "provided", lambda: folder)
    monkeypatch.setenv("REPRIEVE_REQUIRE_KUBE", "1" if required else "")


@pytest.mark.parametrize(("required", "outcome"), [(False, Skipped), (True, Failed)])
def test_without_them(monkeypatch: pytest.MonkeyPatch, required: bool, outcome: type[BaseException]) -> None:
    provide(monkeypatch, None, required=required)
    with pytest.raises(outcome, match="make kube"):
        programs.folder()


@pytest.mark.parametrize(("required", "outcome"), [(False, Skipped), (True, Failed)])
def test_without_one_of_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, required: bool, outcome: type[BaseException]
) -> None:
    provide(monkeypatch, tmp_path, required=required)
    (tmp_path / "kwok").touch()
    assert programs.folder("kwok") == tmp_path
    with pytest.raises(outcome, match="there is no kube-scheduler in"):
        programs.folder("kwok", "kube-scheduler")
