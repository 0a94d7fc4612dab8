"""The examples: each a world that can be read without a word of complaint, and one at least for each design."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from reprieve.cli import app
from reprieve.manifests import karmada, kueue, pods, scheduling, yunikorn
from reprieve.manifests.loading import load
from reprieve.manifests.priorities import preemption_toleration
from tests.paths import EXAMPLES

DIRECTORIES = sorted(path for path in EXAMPLES.iterdir() if path.name[0].isdigit())
each_example = pytest.mark.parametrize("example", DIRECTORIES, ids=lambda path: path.name)


def designs(example: Path) -> Iterator[str]:
    """Which designs have a say in a world, by what only they have."""
    objects = load([str(example)]).objects
    kinds = {type(item) for item in objects}
    yield from (
        name
        for name, kind in (
            ("workload", scheduling.Workload),
            ("quota", kueue.ClusterQueue),
            ("queue", yunikorn.QueueConfiguration),
            ("federation", karmada.ResourceBinding),
        )
        if kind in kinds
    )
    classes = [item for item in objects if isinstance(item, scheduling.PriorityClass)]
    tolerations = [toleration for item in classes if (toleration := preemption_toleration(item))]
    if any(toleration.toleration_seconds for toleration in tolerations):
        yield "toleration"


@each_example
def test_check_finds_nothing_to_say(example: Path) -> None:
    result = CliRunner().invoke(app, ["check", "--strict", "-f", str(example)])
    assert result.exit_code == 0, result.output
    assert result.output.endswith("\nAll is well.\n")


@each_example
def test_readme_says_who_makes_way(example: Path) -> None:
    text = (example / "README.md").read_text()
    number = example.name.partition("-")[0]
    assert text.startswith(f"# {number} ")
    assert "\n## Who makes way\n" in text


@each_example
def test_something_runs_and_something_is_pending(example: Path) -> None:
    for name in ("running.yaml", "pending.yaml"):
        assert load([str(example / name)]).entries, name


@each_example
def test_readme_names_everybody_who_runs(example: Path) -> None:
    named = set(re.findall(r"[\w-]+", (example / "README.md").read_text()))
    for item in load([str(example / "running.yaml")]).objects:
        assert unit(item) in named


def unit(item: Any) -> str:
    """What a README calls a running object: its gang where it has one, its template where it is a binding."""
    if isinstance(item, pods.Pod) and item.spec.workload_ref:
        return item.spec.workload_ref.name
    return item.spec.resource.name if isinstance(item, karmada.ResourceBinding) else str(item.name)


def test_numbered_without_gaps() -> None:
    numbers = [int(path.name.partition("-")[0]) for path in DIRECTORIES]
    assert numbers == list(range(1, len(numbers) + 1))


def test_all_five_designs_are_there() -> None:
    found = {design for example in DIRECTORIES for design in designs(example)}
    assert found == {"toleration", "workload", "quota", "queue", "federation"}


def test_index_lists_every_example() -> None:
    index = (EXAMPLES / "README.md").read_text()
    assert [path.name for path in DIRECTORIES] == re.findall(r"^\| \[([\w-]+)\]\(\1/\)", index, re.MULTILINE)
