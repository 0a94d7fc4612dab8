"""`reprieve plan` before and after a change: over files, and over a control plane that runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.builders.pods import node, pod, priority_class, to_yaml
from tests.cli.running import HOLLOW, Running, call, running, until

NOW = "2026-01-01T12:00:00Z"
TOLERATION = "preemption-toleration.scheduling.x-k8s.io/"
STAYS = {f"{TOLERATION}minimum-preemptable-priority": "500", f"{TOLERATION}toleration-seconds": "-1"}
BATCH, PROD = priority_class("batch", 10), priority_class("prod", 100)
TOLERANT = priority_class("batch", 10, annotations=STAYS)
STATE = [
    BATCH,
    PROD,
    node("n1", cpu="1"),
    pod("a", cpu="1", node="n1", priority=10, priority_class="batch"),
    pod("p", cpu="1", priority=100, priority_class="prod"),
]


@pytest.fixture
def state(tmp_path: Path) -> Path:
    (tmp_path / "state.yaml").write_text(to_yaml(*STATE))
    return tmp_path


def planned(state: Path, change: str, *more: str) -> Any:
    (state / "change.yaml").write_text(change)
    return call("plan", "-f", "state.yaml", "--change", "change.yaml", "--now", NOW, *more, cwd=state)


def test_what_is_different_after_a_change(state: Path) -> None:
    done = planned(state, to_yaml(TOLERANT))
    assert done.code == 0
    assert [line.split("  ")[0] if line[:1] != " " else line for line in done.lines] == [
        "PriorityClass/batch replaced.",
        "1 newly safe; 1 would no longer preempt.",
        "",
        "  newly safe     from                because",
        "  Pod/default/a  PriorityClass/prod  Toleration: its class batch tolerates preemptors below 500, and the "
        "preemptor has 100",
        "",
        "  would no longer preempt  victims",
        done.lines[7],
    ]
    assert done.lines[7].split()[:2] == ["Pod/default/p", "Pod/default/a"]


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_the_same_for_other_programs(state: Path, form: str) -> None:
    made = yaml.safe_load(planned(state, to_yaml(TOLERANT), "-o", form).stdout)
    assert list(made)[:3] == ["now", "difference", "changed"]
    assert (made["now"], made["difference"], made["changed"]) == (NOW, True, {"PriorityClass//batch": "replaced"})
    assert made["newlySafe"] == [
        {
            "unit": "Pod/default/a",
            "policy": "pod",
            "by": ["PriorityClass/prod"],
            "rule": "Toleration",
            "message": "its class batch tolerates preemptors below 500, and the preemptor has 100",
        }
    ]
    assert [(item["unit"], item["victims"]) for item in made["noLongerPreempts"]] == [
        ("Pod/default/p", ["Pod/default/a"])
    ]
    assert made["newlyPreemptible"] == made["nowStarts"] == made["noLongerFits"] == made["warnings"] == []


def test_no_difference(state: Path) -> None:
    done = planned(state, to_yaml(priority_class("batch", 10, description="other words")))
    assert done.lines == [
        "PriorityClass/batch replaced.",
        "No difference: nobody is newly preemptible or newly safe, and the same units would start and preempt.",
    ]
    assert yaml.safe_load(planned(state, to_yaml(BATCH), "-o", "json").stdout)["difference"] is False


def test_a_new_value_says_whom_it_does_not_reach(state: Path) -> None:
    done = planned(state, to_yaml(priority_class("prod", 1000)))
    assert next(line for line in done.lines if line.startswith("Note: ")) == (
        "Note: PriorityClass/prod: the new value, 1000 instead of 100, counts only for units that are created from now "
        "on; 1 unit that exists keeps what it has."
    )


def test_deletions_alone_are_a_change(state: Path) -> None:
    done = call("plan", "-f", "state.yaml", "--delete", "pc/batch", "--now", NOW, cwd=state)
    assert done.lines[0] == "PriorityClass/batch deleted."
    assert "UnknownPriorityClass: its priority class batch does not exist" in done.stdout


def test_settings_are_a_change(state: Path) -> None:
    done = planned(state, "pdb: Respect\nfeatureGates: {GenericWorkload: true}\n")
    assert done.lines[0] == "settings replaced."


@pytest.mark.parametrize(
    ("change", "more", "want"),
    [
        ("kind: PriorityClass\napiVersion: scheduling.k8s.io/v1\nmetadata: {name: x}\nvalue: ten\n", (), "$.value"),
        (
            to_yaml(BATCH) + "---\nfeatureGates: {GenericWorklod: true}\n",
            (),
            "change.yaml: document 2: $.featureGates.GenericWorklod: unknown feature gate",
        ),
        (to_yaml(BATCH), ("--for", "pod/p"), "give one or the other"),
        (to_yaml(BATCH), ("--delete", "priorityclass/bath"), 'did you mean "PriorityClass//batch"?'),
        (to_yaml(BATCH), ("--delete", "x"), "--delete: "),
        (to_yaml(BATCH), ("--change", "missing.yaml"), "missing.yaml: no such file or directory"),
    ],
)
def test_what_cannot_be_compared(state: Path, change: str, more: tuple[str, ...], want: str) -> None:
    done = planned(state, change, *more)
    assert (done.code, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert want in done.stderr


def test_a_change_needs_something_to_be_made_to(state: Path) -> None:
    assert call("plan", "--change", "state.yaml", cwd=state).code == 2


# Over a control plane


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A node full of batch, and a pod that is too large for every node."""
    with running(tmp_path_factory.mktemp("changes"), *HOLLOW) as plane:
        first = {"nodeSelector": {"kubernetes.io/hostname": "hollow-1"}}
        batch = [pod(f"batch-{number}", cpu="2", priority_class="batch", spec=first) for number in range(2)]
        plane.ok("apply", "-f", "-", stdin=to_yaml(BATCH, PROD, *batch))
        until(lambda: all(each["spec"].get("nodeName") for each in plane.pods().values()))
        yield plane


def test_live_a_toleration(plane: Running) -> None:
    done = plane.ok("plan", "--live", "-f", "-", stdin=to_yaml(TOLERANT))
    assert done.lines[:2] == ["PriorityClass/batch replaced.", "2 newly safe."]
    assert "Toleration: its class batch tolerates preemptors below 500" in done.stdout
    assert TOLERATION not in plane.ok("get", "priorityclass", "batch", "-o", "json").stdout


def test_live_no_difference(plane: Running) -> None:
    stored = plane.ok("get", "priorityclass", "batch", "-o", "yaml").stdout
    assert plane.ok("plan", "--live", "-f", "-", stdin=stored).lines[-1].startswith("No difference")
    assert plane.ok("plan", "--live", "-f", "-", stdin=to_yaml(BATCH)).lines[-1].startswith("No difference")


def test_live_who_comes_is_decided_for_as_the_loop_would(plane: Running) -> None:
    first = {"nodeSelector": {"kubernetes.io/hostname": "hollow-1"}}
    asked = to_yaml(pod("what-if", cpu="4", priority_class="prod", spec=first))
    made = plane.ok("plan", "--live", "-f", "-", "-o", "json", stdin=asked).json()
    (preempting,) = made["nowPreempts"]
    assert (preempting["unit"], sorted(preempting["victims"])) == (
        "Pod/default/what-if",
        ["Pod/default/batch-0", "Pod/default/batch-1"],
    )
    assert made["changed"] == {"Pod/default/what-if": "created"}
    assert plane.run("get", "pod", "what-if").code == 1


def test_live_a_budget_is_counted_as_its_controller_counts(plane: Running) -> None:
    def budget(least: int) -> str:
        spec = {"selector": {"matchLabels": {"app": "web"}}, "minAvailable": least}
        meta = {"name": "web", "namespace": "default"}
        return to_yaml({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": meta, "spec": spec})

    plane.ok("apply", "-f", "-", stdin=to_yaml(pod("web", cpu="1", priority_class="batch", labels={"app": "web"})))
    plane.ok("apply", "-f", "-", stdin=budget(0))
    until(lambda: plane.ok("get", "pdb", "web", "-o", "json").json()["status"].get("disruptionsAllowed") == 1)
    assert plane.ok("plan", "--live", "-f", "-", stdin=budget(0)).lines[-1].startswith("No difference")
    made = plane.ok("plan", "--live", "-f", "-", "-o", "json", stdin=budget(1)).json()
    assert made["newlyAgainstBudget"] == ["Pod/default/web"]


def test_live_deletions_and_settings(plane: Running) -> None:
    made = plane.ok("plan", "--live", "--delete", "priorityclass/batch", "-o", "json").json()
    assert made["changed"] == {"PriorityClass//batch": "deleted"}
    assert {item["rule"] for item in made["newlySafe"]} == {"UnknownPriorityClass"}
    done = plane.ok("plan", "--live", "--change", "-", stdin="pdb: Respect\n")
    assert done.lines[0] == "settings replaced."


@pytest.mark.parametrize(
    ("arguments", "stdin", "code", "want"),
    [
        (("--delete", "priorityclass/bath"), "", 1, "there is no PriorityClass//bath"),
        (("-f", "-"), "pdb: Respct\n", 2, "standard input: document 1: $.pdb"),
        (("--change", "-", "--for", "pod/batch-0"), "pdb: Respect\n", 2, "give one or the other"),
    ],
)
def test_live_what_cannot_be_compared(
    plane: Running, arguments: tuple[str, ...], stdin: str, code: int, want: str
) -> None:
    done = plane.run("plan", "--live", *arguments, stdin=stdin)
    assert (done.code, done.stdout) == (code, "")
    assert want in done.stderr
