"""Where manifests come from: files, directories, standard input, and what is neither YAML nor JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from reprieve.manifests.loaded import Loaded
from reprieve.manifests.loading import load, load_text
from reprieve.manifests.pods import Pod
from tests.builders.pods import item_list, node, pod, to_json, to_yaml


def problems(loaded: Loaded) -> list[str]:
    return [str(problem) for problem in loaded.problems]


def units(loaded: Loaded) -> list[str]:
    return [entry.unit for entry in loaded.entries]


def test_files_and_directories_are_read_to_the_bottom_in_order_of_name(tmp_path: Path) -> None:
    for path, item in (("b.yaml", "3"), ("a/deep/x.json", "1"), ("a/y.yml", "2"), ("c.json", "4")):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(to_json(node(item)) if path.endswith("json") else to_yaml(node(item)))
    for ignored in ("notes.txt", "README.md", "values.yaml.bak", "a/.hidden"):
        (tmp_path / ignored).write_text("not: [yaml")
    loaded = load([str(tmp_path)])
    assert problems(loaded) == []
    assert [item.name for item in loaded.objects] == ["1", "2", "3", "4"]
    assert [entry.origin.file for entry in loaded.entries] == [
        str(tmp_path / path) for path in ("a/deep/x.json", "a/y.yml", "b.yaml", "c.json")
    ]


def test_a_file_that_is_named_is_read_whatever_its_name_and_only_once(tmp_path: Path) -> None:
    file = tmp_path / "manifest.txt"
    file.write_text(to_yaml(node("n1")))
    (tmp_path / "n2.yaml").write_text(to_yaml(node("n2")))
    loaded = load([str(file), str(file), str(tmp_path / "n2.yaml"), str(tmp_path)])
    assert problems(loaded) == []
    assert units(loaded) == ["Node//n1", "Node//n2"]


def test_what_is_not_there_is_an_error_beside_what_is(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "n.yaml").write_text(to_yaml(node("n1")))
    (tmp_path / "latin.yaml").write_bytes(b"a: 1\nb: \xe9\n")
    paths = [str(tmp_path / name) for name in ("gone.yaml", "empty", "n.yaml", "latin.yaml")]
    loaded = load(paths)
    assert problems(loaded) == [
        f"{paths[0]}: no such file or directory",
        f"{paths[1]}: holds no manifests; files that end in .yaml, .yml, .json",
        f"{paths[3]}, line 2: not UTF-8 text",
    ]
    assert units(loaded) == ["Node//n1"]


@pytest.mark.parametrize(
    "text", [to_yaml(pod("a"), node("n")), to_json(item_list(pod("a"), node("n")))], ids=["YAML", "JSON"]
)
def test_standard_input_is_read_as_a_file_is(text: Any) -> None:
    program = "from reprieve.manifests.loading import load; print(*(e.unit for e in load(['-']).entries), sep='\\n')"
    done = subprocess.run([sys.executable, "-c", program], input=text, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["Pod/default/a", "Node//n"]


@pytest.mark.parametrize(
    ("content", "want"),
    [
        (b'{"apiVersion": NaN}', "x.json: document 1: not JSON: NaN is no number"),
        (b'{"a": 1}\n{"b": ]', "x.json: document 2, line 2: not JSON: Expecting value"),
        (b"[" * 100_000, "x.json: document 1: nested too deeply"),
        (b'{"apiVersion": "v1", "kind": "\xff"}', "x.json: document 1, line 1: not JSON: text that is not UTF-8"),
        (b'{"apiVersion": "v1", "kind": "\\ud800"}', "x.json: document 1, line 1: not JSON: text that is not UTF-8"),
        (b"[1]", "x.json: document 1, line 1: $: found a list; it must be an object with apiVersion and kind"),
    ],
)
def test_what_is_no_json_is_an_error_and_no_crash(content: Any, want: Any) -> None:
    assert problems(load_text(content, name="x.json"))[-1].startswith(want)


def test_a_stream_of_many_objects_takes_time_in_proportion() -> None:
    lines = "\n".join(json.dumps(pod(f"p{number}")) for number in range(20_000))
    loaded = load_text(lines)
    assert loaded.documents == len(loaded.entries) == 20_000
    assert isinstance(loaded.objects[-1], Pod)
