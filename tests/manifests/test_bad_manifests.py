"""What a user reads about a bad manifest, to the letter. The tables are in `bad_manifests`, one module a family."""

from __future__ import annotations

from typing import Any

import pytest

from reprieve.manifests.admission import admit_all
from reprieve.manifests.loading import load_text
from tests.manifests.bad_manifests import (
    Case,
    core,
    files,
    karmada,
    kueue_others,
    kueue_queues,
    kueue_v1alpha2,
    pods,
    priorities,
    quantities,
    strict,
    syntax,
    workloads,
    yunikorn,
)

_TABLES: dict[str, list[Case]] = {
    "syntax": syntax.CASES,
    "files": files.CASES,
    "quantities": quantities.CASES,
    "pods": pods.CASES,
    "core": core.CASES,
    "priorities": priorities.CASES,
    "workloads": workloads.CASES,
    "kueue queues": kueue_queues.CASES,
    "kueue v1alpha2": kueue_v1alpha2.CASES,
    "kueue others": kueue_others.CASES,
    "yunikorn": yunikorn.CASES,
    "karmada": karmada.CASES,
    "strict": strict.CASES,
}


def _params() -> list[Any]:
    return [pytest.param(case, id=f"{family}: {case.name}") for family, cases in _TABLES.items() for case in cases]


def check(case: Case) -> list[str]:
    """The lines of `reprieve check`, from the same parts."""
    before = load_text(case.old, name="old.yaml")
    loaded = load_text(case.manifest, name=case.file, strict=case.strict)
    refused = loaded.sources.located(admit_all(loaded.entries, before.entries))
    problems = [*before.errors, *loaded.problems, *refused]
    return [f"{problem.severity}: {problem}" for problem in problems]


@pytest.mark.parametrize("case", _params())
def test_a_bad_manifest_is_answered_with_exactly_these_lines(case: Case) -> None:
    assert check(case) == case.want_lines


def test_names_are_unique_within_a_family() -> None:
    for cases in _TABLES.values():
        names = [case.name for case in cases]
        assert len(set(names)) == len(names)
