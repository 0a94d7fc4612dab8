"""`reprieve plan`: what it reads, what it refuses, and how it says so."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.builders.pods import budget, item_list, node, pod, to_json, to_yaml
from tests.cli.command import REPRIEVE, environment, reprieve
from tests.cli.test_plan import NOW, WORLD, plan, text
from tests.paths import EXAMPLES

Dict = dict[str, Any]


def test_files_directories_and_lists_are_read_together(tmp_path: Path) -> None:
    (tmp_path / "nodes").mkdir()
    (tmp_path / "nodes" / "n.json").write_text(to_json(item_list(WORLD[0])))
    (tmp_path / "pods.yaml").write_text(to_yaml(*WORLD[1:]))
    done = reprieve("plan", "-f", "nodes", "-f", "pods.yaml", *NOW, cwd=tmp_path)
    assert done.stdout.startswith("Pod/default/low makes way for Pod/default/p on n1.\n")


def test_oddities_are_told_beside_the_answer() -> None:
    done = plan(*WORLD, pod("lost", node="ghost"), pod("more", cpu="1", node="n1", priority=99))
    assert done.returncode == 0
    assert done.stdout.startswith("Pod/default/low makes way")
    assert done.stderr == (
        "warning: standard input: document 1, line 6: Node/n1: $.status.allocatable: "
        "its pods use 1 cpu more than it has; nothing fits there before somebody leaves\n"
        "warning: standard input: document 4, line 50: Pod/default/lost: $.spec.nodeName: there is no node ghost; "
        "the pod is not counted anywhere\n"
    )


def test_many_oddities_are_counted() -> None:
    done = plan(node("n1"), *(pod(f"lost-{number}", node="ghost") for number in range(30)))
    lines = done.stderr.splitlines()
    assert len(lines) == 21
    assert lines[-1] == "warning: and 10 more; `reprieve check` lists what is wrong with each manifest"


@pytest.mark.parametrize("kind", ["Cohort", "CompositePodGroup"])
def test_a_circle_of_references_is_a_warning(kind: str) -> None:
    field, version = ("parentName", "kueue.x-k8s.io/v1beta1")
    spec: Dict = {}
    if kind == "CompositePodGroup":
        field, version = "parentCompositePodGroupName", "scheduling.k8s.io/v1alpha3"
        spec = {"schedulingPolicy": {"gang": {"minGroupCount": 1}}}
    circle = [
        {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": {**spec, field: parent}}
        for name, parent in (("a", "b"), ("b", "a"))
    ]
    done = plan(*WORLD, *circle)
    assert done.returncode == 0
    assert done.stderr.count("goes in a circle") == 2


def test_settings_come_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "settings.yaml").write_text("pdb: Respect\n")
    guarded = [node("n1", cpu="1"), pod("a", cpu="1", node="n1", labels={"x": "y"}), budget("b", {"x": "y"}, allowed=0)]
    options = ("--config", str(tmp_path / "settings.yaml"), "--feature-gates", "GenericWorkload=true")
    lines = text(*guarded, pod("p", cpu="1", priority=5), options=options).splitlines()
    assert lines[0] == (
        "Pod/default/p is unschedulable: the only node is only to be had "
        "with a PDB violation, and budgets are respected."
    )


BAD_OPTIONS: list[tuple[tuple[str, ...], str]] = [
    (("--for", "p"), '--for: found "p", which names no unit; it must be KIND/NAMESPACE/NAME, such as Pod/default/a'),
    (("--for", "pod/default/q"), '--for: there is no Pod/default/q among what was read; did you mean "Pod/default/p"?'),
    (("--for", "pod/shop/p"), '--for: there is no Pod/shop/p among what was read; did you mean "Pod/default/p"?'),
    (("--for", "widget/a/b"), '--for: found "widget", which is not a kind that is read'),
    (("--for", "node//n1"), "no policy decides for a Node"),
    (("--for", "pod/default/low"), "--for: Pod/default/low runs on n1; there is nothing to decide"),
    (("--now", "noon"), '--now: found "noon"; it must be a time such as 2026-01-01T12:00:00Z'),
    (("--config", "gone.yaml"), "gone.yaml: cannot be read: No such file or directory"),
    (("--feature-gates", "A"), 'command line: --feature-gates: found "A"; allowed: NAME=true or NAME=false'),
    (("-f", "gone.yaml"), "gone.yaml: no such file or directory"),
]


@pytest.mark.parametrize(("options", "want"), BAD_OPTIONS, ids=[" ".join(options) for options, _ in BAD_OPTIONS])
def test_a_bad_question_is_one_line_and_exits_with_2(options: tuple[str, ...], want: str) -> None:
    done = plan(*WORLD, options=options)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"error: {want}\n")


BAD_SETTINGS = {
    "pdb: Maybe\nscorng: 1\n": [
        '$.pdb: found "Maybe"; allowed: BestEffort, Respect',
        '$.scorng: unknown field; did you mean "scoring"?',
    ],
    "[1, 2]\n": ["not one object of settings; it must be one document such as {pdb: Respect}"],
    "a: 1\n---\nb: 2\n": ["not one object of settings; it must be one document such as {pdb: Respect}"],
}


@pytest.mark.parametrize("settings", BAD_SETTINGS)
def test_bad_settings_are_named(tmp_path: Path, settings: str) -> None:
    (tmp_path / "c.yaml").write_text(settings)
    done = reprieve("plan", "-f", "-", "--config", "c.yaml", cwd=tmp_path, stdin=to_yaml(*WORLD))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [f"error: c.yaml: {line}" for line in BAD_SETTINGS[settings]]


def test_a_kind_that_no_policy_decides_for_is_refused() -> None:
    done = reprieve("plan", "-f", str(EXAMPLES / "07-federation"), "--for", "cluster//frankfurt")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: no policy decides for a Cluster\n"


def test_every_error_of_every_file_is_printed() -> None:
    done = plan({**node("n1"), "spec": 1}, {**pod("p"), "spec": {"containers": "none"}})
    assert (done.returncode, done.stdout) == (2, "")
    assert [line.split(":")[3].strip() for line in done.stderr.splitlines()] == ["Node/n1", "Pod/default/p"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
@pytest.mark.parametrize("command", [("plan", "-f", "-"), ("check", "-f", "-"), ("--help",)])
def test_an_answer_that_cannot_be_written_is_one_line(command: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*REPRIEVE, *command],
            input=to_yaml(*WORLD),
            env=environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (2, "error: standard output: No space left on device\n")
