"""`reprieve apply`: what files say becomes what is there; what they no longer say goes; a bad file changes nothing."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from reprieve.manifests.kinds import CONFIG_MAPS
from tests.builders.pods import pod, to_yaml
from tests.cli.running import HOLLOW, Running, running


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("apply"), *HOLLOW) as plane:
        yield plane


def config(name: str, namespace: str = "default", labels: dict[str, str] | None = None, **data: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, **({"labels": labels} if labels else {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def apply(plane: Running, *objects: dict[str, Any], options: tuple[str, ...] = ()) -> list[str]:
    return plane.ok("apply", "-f", "-", *options, stdin=to_yaml(*objects)).lines


def test_it_is_created_then_unchanged_then_configured(plane: Running) -> None:
    assert apply(plane, config("a", x="1")) == ["configmap/a created"]
    assert apply(plane, config("a", x="1")) == ["configmap/a unchanged"]
    assert apply(plane, config("a", x="2")) == ["configmap/a configured"]
    assert plane.get("cm", "a")["data"] == {"x": "2"}


def test_what_the_file_no_longer_says_goes_and_what_others_set_stays(plane: Running) -> None:
    apply(plane, config("b", labels={"team": "one", "app": "x"}, kept="1", dropped="1"))
    with plane.client() as client:
        client.patch(CONFIG_MAPS, "b", "default", {"data": {"theirs": "1"}})
    assert apply(plane, config("b", labels={"app": "x"}, kept="1")) == ["configmap/b configured"]
    found = plane.get("cm", "b")
    assert found["data"] == {"kept": "1", "theirs": "1"}
    assert found["metadata"]["labels"] == {"app": "x"}


def test_an_object_with_defaults_filled_in_is_unchanged(plane: Running) -> None:
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "defaults"},
        "spec": {"suspend": True, "template": {"spec": {"containers": [{"name": "main", "env": [{"name": "A"}]}]}}},
    }
    assert apply(plane, job) == ["job.batch/defaults created"]
    assert apply(plane, job) == ["job.batch/defaults unchanged"]


def test_what_others_refer_to_comes_first(plane: Running) -> None:
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
    level = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "gold"}, "value": 7}
    assert apply(plane, pod("p", namespace="team", priority_class="gold"), config("c", "team"), level, space) == [
        "namespace/team created",
        "priorityclass.scheduling.k8s.io/gold created",
        "configmap/c created",
        "pod/p created",
    ]
    assert plane.get("pod", "p", "-n", "team")["spec"]["priority"] == 7


def test_lists_and_many_documents_are_read(plane: Running) -> None:
    several = {"apiVersion": "v1", "kind": "List", "items": [config("l1"), config("l2")]}
    assert apply(plane, several, config("l3")) == [f"configmap/l{number} created" for number in (1, 2, 3)]


def test_the_namespace_of_the_command_is_where_objects_go(plane: Running) -> None:
    nowhere = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "placed"}}
    apply(plane, nowhere, options=("-n", "kube-public"))
    assert plane.get("cm", "placed", "-n", "kube-public")["metadata"]["namespace"] == "kube-public"
    done = plane.run("apply", "-f", "-", "-n", "kube-public", stdin=to_yaml(config("x")))
    assert (done.code, done.stderr) == (
        2,
        "error: ConfigMap x says namespace default, and the command says kube-public\n",
    )


def test_numbers_are_sent_as_they_are_written(plane: Running) -> None:
    claim = pod("exact")
    claim["spec"]["containers"][0]["resources"] = {"requests": {"cpu": 0.5}}
    apply(plane, claim)
    assert plane.get("pod", "exact")["spec"]["containers"][0]["resources"]["requests"]["cpu"] == 0.5


# What goes wrong


@pytest.mark.parametrize(
    ("bad", "want"),
    [
        (
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"containers": 3}},
            "$.spec.containers",
        ),
        ({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}}, "v1 Secret is not a kind that is stored"),
        ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}, "every object needs a name, or a generateName"),
        (
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "a-"}},
            "ConfigMap has generateName a- and no name: give it one, or it would be another one each time",
        ),
        ({"partitions": [{"name": "default", "queues": []}]}, "applied inside a ConfigMap"),
        ({"kind": "Pod"}, "$.apiVersion"),
    ],
)
def test_a_bad_file_changes_nothing(plane: Running, bad: dict[str, Any], want: str) -> None:
    done = plane.run("apply", "-f", "-", stdin=to_yaml(config("never"), bad))
    assert (done.code, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert want in done.stderr
    assert plane.run("get", "cm", "never").code == 1


def test_a_missing_file_and_an_empty_one_are_told(plane: Running, tmp_path: Path) -> None:
    done = plane.run("apply", "-f", str(tmp_path / "none.yaml"))
    assert (done.code, done.stderr) == (2, f"error: {tmp_path / 'none.yaml'}: no such file or directory\n")
    done = plane.run("apply", "-f", "-", stdin="# nothing\n")
    assert (done.code, done.stderr) == (2, "error: the files hold no objects\n")


def test_a_refusal_does_not_hide_the_others(plane: Running) -> None:
    done = plane.run("apply", "-f", "-", stdin=to_yaml(config("lost", "nowhere"), config("found")))
    assert done.code == 1
    assert done.lines == ["configmap/found created"]
    assert done.stderr == 'error: configmap/lost: namespaces "nowhere" not found\n'


def test_what_cannot_be_changed_is_refused_in_the_words_of_the_server(plane: Running) -> None:
    apply(plane, pod("fixed", cpu="1"))
    done = plane.run("apply", "-f", "-", stdin=to_yaml(pod("fixed", cpu="2")))
    assert done.code == 1
    assert "error: pod/fixed: " in done.stderr
    assert "cannot be changed" in done.stderr


def test_forms(plane: Running) -> None:
    assert apply(plane, config("f"), options=("-o", "name")) == ["configmap/f"]
    done = plane.ok("apply", "-f", "-", "-o", "json", stdin=to_yaml(config("f")))
    assert done.json()["metadata"]["name"] == "f"
    done = plane.ok("apply", "-f", "-", "-o", "yaml", stdin=to_yaml(config("f"), config("g")))
    assert [item["metadata"]["name"] for item in yaml.safe_load(done.stdout)["items"]] == ["f", "g"]


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kubectl_goes_on_where_it_left_off(plane: Running, tmp_path: Path) -> None:
    """Both keep the same memory: what one applied and the other no longer says is removed."""
    apply(plane, config("shared", a="1", b="1"))
    file = tmp_path / "shared.yaml"
    file.write_text(to_yaml(config("shared", a="1", c="1")))
    command = ["kubectl", "--kubeconfig", str(plane.directory / "kubeconfig"), "apply"]
    done = subprocess.run([*command, "-f", str(file)], capture_output=True, text=True, check=False)
    assert done.stdout == "configmap/shared configured\n", done.stderr
    assert plane.get("cm", "shared")["data"] == {"a": "1", "c": "1"}
    assert apply(plane, config("shared", a="1")) == ["configmap/shared configured"]
    assert plane.get("cm", "shared")["data"] == {"a": "1"}
