"""Every object of every conformance case can be read, also strictly."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reprieve.manifests.loading import load_objects
from reprieve.manifests.yaml_reader import SyntaxProblem, read_yaml
from tests.paths import CONFORMANCE

FILES = sorted(CONFORMANCE.rglob("*.yaml"))


def cases(file: Path) -> Iterator[dict[str, Any]]:
    for document in read_yaml(file.read_text()):
        assert not isinstance(document, SyntaxProblem), f"{file}: {document}"
        if document is not None:
            yield document


def test_there_are_cases_to_read() -> None:
    if not CONFORMANCE.is_dir():
        pytest.skip("the conformance cases are not beside this project")
    assert FILES
    assert all(any(cases(file)) for file in FILES)


@pytest.mark.parametrize("strict", [False, True], ids=["", "strictly"])
@pytest.mark.parametrize("file", FILES, ids=[str(file.relative_to(CONFORMANCE)) for file in FILES])
def test_every_object_is_read_without_a_problem(file: Path, strict: bool) -> None:
    for case in cases(file):
        loaded = load_objects(case["objects"], name=case["case"], strict=strict)
        unreadable = [str(problem) for problem in loaded.problems if problem.stage in ("read", "strict")]
        assert unreadable == []
        assert len(loaded.entries) >= len(case["objects"])
