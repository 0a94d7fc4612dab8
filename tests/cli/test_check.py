"""`reprieve check`, run as a user runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from reprieve.manifests.scheduling import TOLERATION_SECONDS
from tests.builders.pods import manifest, metadata, node, pod, priority_class, to_json, to_yaml
from tests.cli.command import REPRIEVE, environment, reprieve

GOOD = [node("n1"), pod("a", cpu="1", priority_class="high"), priority_class("high", 1000)]
SERVICE = manifest("v1", "Service", metadata("s", "default"))


def write(directory: Path, **files: str) -> None:
    for name, text in files.items():
        (directory / f"{name}.yaml").write_text(text)


def test_all_is_well(tmp_path: Path) -> None:
    write(tmp_path, good=to_yaml(*GOOD))
    done = reprieve("check", "-f", "good.yaml", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout == "3 objects from 3 documents: 1 Node, 1 Pod, 1 PriorityClass\nAll is well.\n"
    assert done.stderr == ""


def test_warnings_alone_are_no_error(tmp_path: Path) -> None:
    write(tmp_path, good=to_yaml(node("n1"), SERVICE, SERVICE))
    done = reprieve("check", "-f", "good.yaml", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout == (
        "warning: good.yaml: document 2, line 12: Service/default/s: $.kind: "
        "v1 Service is not a kind Reprieve reads; ignored\n"
        "1 object from 3 documents: 1 Node\n"
        "1 warning\n"
    )


BAD_POD = pod("a", priority_class="hihg", spec={"containers": [{"name": "main"}], "preemptionPolicy": "never"})
BAD_CLASS = priority_class("big", 2_000_000_000, annotations={TOLERATION_SECONDS: "soon"})
BROKEN = "kind: Pod\nkind: Node\n---\n" + to_yaml(node("n1"), {**node("n2"), "spec": {"unschedulable": "maybe"}})


def bad_directory(directory: Path) -> None:
    write(directory, a=to_yaml(BAD_POD, BAD_CLASS), b=BROKEN)
    (directory / "c.json").write_text(to_json({**pod("c"), "apiVersion": "v2"}))


def test_all_errors_of_all_files_are_printed_at_once(tmp_path: Path) -> None:
    bad_directory(tmp_path)
    done = reprieve("check", "-f", "a.yaml", "-f", "b.yaml", "-f", "gone.yaml", "-f", "c.json", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == ""
    *errors, read, verdict = done.stdout.splitlines()
    assert sorted(errors) == [
        "error: a.yaml: document 1, line 10: Pod/default/a: $.spec.preemptionPolicy: "
        'found "never"; allowed: Never, PreemptLowerPriority; did you mean "Never"?',
        f'error: a.yaml: document 2, line 19: PriorityClass/big: $.metadata.annotations["{TOLERATION_SECONDS}"]: '
        'found "soon"; allowed: a whole number of 64 bits in quotes, such as "10000"',
        "error: a.yaml: document 2, line 20: PriorityClass/big: $.value: found 2000000000; allowed: at most 1000000000",
        'error: b.yaml: document 1, line 2: the key "kind" is named twice',
        'error: b.yaml: document 3, line 24: Node/n2: $.spec.unschedulable: found "maybe"; it must be true or false',
        'error: c.json: document 1, line 2: Pod/default/c: $.apiVersion: found "v2"; allowed for Pod: v1',
        "error: gone.yaml: no such file or directory",
    ]
    assert read == "2 objects from 6 documents: 1 Node, 1 PriorityClass"
    assert verdict == "7 errors"


def test_the_answer_for_programs_has_the_same_errors_in_parts(tmp_path: Path) -> None:
    write(tmp_path, a=to_yaml(node("n1"), BAD_CLASS | {"metadata": {"name": "big"}}, SERVICE))
    done = reprieve("check", "-f", "a.yaml", "-o", "json", cwd=tmp_path)
    assert done.returncode == 2
    place = {"file": "a.yaml", "item": None, "suggestion": ""}
    assert json.loads(done.stdout) == {
        "ok": False,
        "documents": 3,
        "objects": {"Node": 1, "PriorityClass": 1},
        "ignored": {"v1 Service": 1},
        "errors": [
            {
                **place,
                "document": 2,
                "line": 15,
                "object": "PriorityClass//big",
                "field": "$.value",
                "message": "found 2000000000",
                "allowed": "at most 1000000000",
                "stage": "admission",
            }
        ],
        "warnings": [
            {
                **place,
                "document": 3,
                "line": 18,
                "object": "Service/default/s",
                "field": "$.kind",
                "message": "v1 Service is not a kind Reprieve reads",
                "allowed": "ignored",
                "stage": "read",
            }
        ],
    }


def test_text_and_json_agree(tmp_path: Path) -> None:
    bad_directory(tmp_path)
    text = reprieve("check", "-f", ".", cwd=tmp_path)
    answer = reprieve("check", "-f", ".", "-o", "json", cwd=tmp_path)
    assert text.returncode == answer.returncode == 2
    parts = json.loads(answer.stdout)
    assert parts["ok"] is False
    printed = [line for line in text.stdout.splitlines() if line.startswith("error: ")]
    assert len(printed) == len(parts["errors"]) == 6
    for error in parts["errors"]:
        assert any(error["file"] in line and error["message"] in line and error["field"] in line for line in printed)


def test_standard_input_is_a_file_too() -> None:
    done = reprieve("check", "-f", "-", stdin=to_yaml(*GOOD))
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "All is well.")
    done = reprieve("check", "-f", "-", stdin="kind: Pod\n")
    assert done.returncode == 2
    assert "error: standard input: document 1, line 1: Pod: $.apiVersion: missing" in done.stdout


CHANGES: list[tuple[dict[str, Any], str | None]] = [
    ({"description": "words may change"}, None),
    ({"value": 2000}, "line 5: PriorityClass/high: $.value: found 2000; allowed: 1000, as before"),
    (
        {"preemptionPolicy": "Never"},
        'line 6: PriorityClass/high: $.preemptionPolicy: found "Never"; allowed: "PreemptLowerPriority", as before',
    ),
]


@pytest.mark.parametrize(("change", "want"), CHANGES)
def test_of_a_priority_class_that_the_cluster_has_only_the_description_may_change(
    tmp_path: Path, change: dict[str, Any], want: str | None
) -> None:
    write(tmp_path, old=to_yaml(GOOD[2]), new=to_yaml({**GOOD[2], **change}))
    done = reprieve("check", "-f", "new.yaml", "--old", "old.yaml", cwd=tmp_path)
    if want is None:
        assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "All is well.")
    else:
        assert done.returncode == 2
        assert f"error: new.yaml: document 1, {want}" in done.stdout


def test_what_cannot_be_read_of_the_old_is_an_error_as_well(tmp_path: Path) -> None:
    write(tmp_path, new=to_yaml(GOOD[2]))
    done = reprieve("check", "-f", "new.yaml", "--old", "gone.yaml", cwd=tmp_path)
    assert done.returncode == 2
    assert "error: gone.yaml: no such file or directory\n" in done.stdout


def test_fields_that_the_api_does_not_have_are_warned_of_and_are_errors_when_strict(tmp_path: Path) -> None:
    item = pod("a", spec={"priorityClasName": "high", "restartPolicy": "Never"})
    write(tmp_path, a=to_yaml(item))
    what = (
        "a.yaml: document 1, line 9: Pod/default/a: $.spec.priorityClasName: "
        'unknown field; did you mean "priorityClassName"?'
    )
    done = reprieve("check", "-f", "a.yaml", cwd=tmp_path)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, f"warning: {what}")
    done = reprieve("check", "-f", "a.yaml", "--strict", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout.splitlines()[0] == f"error: {what}"


@pytest.mark.parametrize("output", ["text", "json"])
def test_a_reader_that_goes_away_is_no_reason_for_a_traceback(tmp_path: Path, output: str) -> None:
    write(tmp_path, many=to_yaml(*({**node(f"n{number}"), "spec": 1} for number in range(1000))))
    command = [*REPRIEVE, "check", "-f", "many.yaml", "-o", output]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""


def test_the_installed_script_is_the_same_command(tmp_path: Path) -> None:
    script = Path(sys.executable).with_name("reprieve")
    if not script.exists():
        pytest.skip("reprieve is not installed here")
    write(tmp_path, good=to_yaml(*GOOD))
    done = subprocess.run(
        [script, "check", "-f", "good.yaml"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == reprieve("check", "-f", "good.yaml", cwd=tmp_path).stdout
