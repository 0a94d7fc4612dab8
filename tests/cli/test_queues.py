"""YuniKorn's queues as people and their tools see them: `top queues`, `get queues`, `submit --queue`, `/ws/v1`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.builders.pods import Dict, pod, to_yaml
from tests.builders.queues import queues, tree
from tests.cli.running import HOLLOW, Running, call, running, until
from tests.planes.running import replica_set

TEAM = tree(
    "team",
    tree("prod", cpu=3, memory="2Gi", preemption_delay="1s"),
    tree("test", cpu=1),
    cpu=4,
    most={"vcore": "6"},
)
MADE = tree("made", template={"resources": {"guaranteed": {"vcore": "1"}}})
NODE = {"nodeSelector": {"kubernetes.io/hostname": "hollow-1"}}


def _in(queue: str, app: str) -> Dict:
    return {"queue": queue, "applicationId": app}


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Two nodes of 4 CPUs. `hog` fills one of them; `ask` has made one of its pods leave, which takes long."""
    with running(tmp_path_factory.mktemp("queues"), *HOLLOW) as plane:
        first = queues(TEAM, MADE, tree("batch"))
        plane.ok("apply", "-f", "-", stdin=to_yaml(first))
        until(lambda: plane.ok("get", "queues").stdout)
        hog = replica_set("hog", replicas=4, leaves=3600, labels=_in("root.team.test", "hog"), **NODE)
        hog["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 3600
        plane.ok("apply", "-f", "-", stdin=to_yaml(hog))
        until(lambda: [each["spec"].get("nodeName") for each in plane.pods().values()].count("hollow-1") == 4)
        ask = pod("ask", cpu="1", memory="1Gi", labels=_in("root.team.prod", "ask"), spec=NODE)
        plane.ok("apply", "-f", "-", stdin=to_yaml(ask))
        until(lambda: plane.pods()["ask"]["status"].get("nominatedNodeName"))
        until(lambda: any(each["metadata"].get("deletionTimestamp") for each in plane.pods().values()))
        until(lambda: len(plane.pods()) == 6)  # the one that leaves has been made again, and waits
        yield plane


def test_top_shows_each_resource_of_each_queue(plane: Running) -> None:
    assert plane.ok("top", "queues").lines == [
        "QUEUE            RESOURCE   USED   GUARANTEED   MAXIMUM   PENDING   PREEMPTING   RUNNING   WAITING",
        "root             cpu        4      -            8         2         1            4         2",
        "root             memory     0      -            16Gi      1Gi       0            4         2",
        "root.batch       cpu        0      -            8         0         0            0         0",
        "root.made        cpu        0      -            8         0         0            0         0",
        "root.team        cpu        4      4            6         2         1            4         2",
        "root.team        memory     0      -            16Gi      1Gi       0            4         2",
        "root.team.prod   cpu        0      3            6         1         0            0         1",
        "root.team.prod   memory     0      2Gi          16Gi      1Gi       0            0         1",
        "root.team.test   cpu        4      1            6         1         1            4         1",
    ]
    (first, *_) = plane.ok("top", "queues", "-o", "json").json()["queueTree"]
    assert (first["queue"], first["used"], first["preempting"]) == ("root", "4", "1")
    assert "root.team.prod" in plane.ok("top").stdout


TREE = """\
QUEUE      USED    GUARANTEED          MAXIMUM              PENDING             PREEMPTING   RUNNING   WAITING
root       cpu 4   -                   cpu 8, memory 16Gi   cpu 2, memory 1Gi   cpu 1        4         2
  batch    -       -                   cpu 8                -                   -            0         0
  made     -       -                   cpu 8                -                   -            0         0
  team     cpu 4   cpu 4               cpu 6, memory 16Gi   cpu 2, memory 1Gi   cpu 1        4         2
    prod   -       cpu 3, memory 2Gi   cpu 6, memory 16Gi   cpu 1, memory 1Gi   -            0         1
    test   cpu 4   cpu 1               cpu 6                cpu 1               cpu 1        4         1
"""


def test_get_shows_the_tree(plane: Running) -> None:
    assert plane.ok("get", "queues").lines == TREE.splitlines()
    assert plane.ok("get", "queue", "root.team.prod").lines[1].split()[0] == "root.team.prod"
    assert plane.ok("get", "queue/root.batch", "-o", "name").lines == ["queue/root.batch"]
    assert plane.ok("get", "queues", "-o", "json").json()["queuename"] == "root"
    assert plane.ok("get", "queue", "root.team.test", "-o", "yaml").lines[0] == "queuename: root.team.test"
    wrong = plane.run("get", "queue", "root.nowhere")
    assert wrong.code == 1
    assert wrong.stderr == (
        "error: there is no queue root.nowhere; "
        "there are root, root.batch, root.made, root.team, root.team.prod, root.team.test\n"
    )


LOCAL = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "LocalQueue",
    "metadata": {"name": "mine", "namespace": "quota"},
    "spec": {"clusterQueue": "lab"},
}


def test_local_queues_are_queues_too(plane: Running) -> None:
    plane.ok(
        "apply", "-f", "-", stdin=to_yaml({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "quota"}})
    )
    plane.ok("apply", "-f", "-", stdin=to_yaml(LOCAL))
    both = plane.ok("get", "queues", "-n", "quota").lines
    assert (both[0].split()[0], both[-2].split()[0], both[-1].split()[0]) == ("QUEUE", "NAME", "mine")
    assert plane.ok("get", "queue", "mine", "-n", "quota").lines[-1].split()[0] == "mine"
    assert "mine" not in plane.ok("get", "queues").stdout, "it is in another namespace"
    told = plane.ok("get", "queues", "-n", "quota", "-o", "json")
    assert (told.json()["queuename"], told.stderr) == (
        "root",
        "there are LocalQueues, too: `reprieve get localqueues`\n",
    )
    made = plane.ok("submit", "-n", "quota", "--queue", "mine", "--name", "q", "-o", "json", "--", "run").json()
    assert made["metadata"]["labels"] == {"kueue.x-k8s.io/queue-name": "mine"}


@pytest.mark.parametrize("name", ["root.batch", "batch", "Batch", "root.made.new"])
def test_submit_puts_pods_into_a_queue(plane: Running, name: str) -> None:
    made = plane.ok("submit", "--queue", name, "--name", "work", "-o", "json", "--", "run").json()
    labels = made["spec"]["template"]["metadata"]["labels"]
    full = name.lower() if name.startswith("root.") else "root.batch"
    assert labels["yunikorn.apache.org/queue"] == full
    assert labels["yunikorn.apache.org/app-id"] == "work"
    assert "labels" not in made["metadata"]
    plane.ok("delete", "job", "work")
    until(lambda: len(plane.pods()) == 6)


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("team", "root.team is a parent queue; pods belong in one below it: root.team.prod, root.team.test"),
        ("root", "root is a parent queue; pods belong in one below it: root.batch, root.team.prod, root.team.test"),
        ("made", "root.made is a parent queue; there is no queue for pods below it"),
        ("prd", "there is no queue prd; there are root.batch, root.team.prod, root.team.test"),
    ],
)
def test_submit_says_which_queues_there_are(plane: Running, name: str, error: str) -> None:
    done = plane.run("submit", "--queue", name, "--", "run")
    assert (done.code, done.stderr) == (1, f"error: --queue: {error}\n")


# YuniKorn's REST API


@pytest.fixture
def ask(plane: Running) -> Any:
    with plane.http() as http:
        yield lambda path: http.get(f"/ws/v1/{path}").json()


def test_partitions(ask: Any) -> None:
    (found,) = ask("partitions")
    assert (found["name"], found["state"], found["totalNodes"], found["preemptionEnabled"]) == (
        "default",
        "Active",
        2,
        True,
    )
    assert found["capacity"]["capacity"] == {"vcore": 8000, "memory": 16 << 30, "pods": 220}
    assert found["capacity"]["usedCapacity"] == {"vcore": 4000, "pods": 4}
    assert found["capacity"]["utilization"] == {"vcore": 50, "pods": 1}
    assert found["applications"]["total"] == sum(
        number for state, number in found["applications"].items() if state != "total"
    )


def test_the_tree_of_queues(ask: Any) -> None:
    root = ask("partition/default/queues")
    assert (root["queuename"], root["isLeaf"], root["isManaged"]) == ("root", False, True)
    team = next(each for each in root["children"] if each["queuename"] == "root.team")
    prod, test = team["children"]
    assert (prod["parent"], prod["isLeaf"], prod["preemptionDelay"]) == ("root.team", True, "1s")
    assert prod["guaranteedResource"] == {"vcore": 3000, "memory": 2 << 30}
    assert prod["pendingResource"] == {"vcore": 1000, "memory": 1 << 30, "pods": 1}
    assert test["allocatedResource"] == {"vcore": 4000, "pods": 4}
    assert test["preemptingResource"] == {"vcore": 1000, "pods": 1}
    assert test["maxResource"]["vcore"] == 6000
    assert test["headroom"]["vcore"] == 2000
    assert test["runningApps"] == 1
    alone = ask("partition/default/queue/root.team")
    assert ("children" in alone, alone["childNames"]) == (False, ["root.team.prod", "root.team.test"])
    assert len(ask("partition/default/queue/root.team?subtree")["children"]) == 2


def test_applications(ask: Any, plane: Running) -> None:
    active = {each["applicationID"]: each for each in ask("partition/default/applications/active")}
    assert (active["hog"]["applicationState"], active["ask"]["applicationState"]) == ("Running", "Accepted")
    assert [each["applicationID"] for each in ask("partition/default/applications/active?status=running")] == ["hog"]
    assert ask("partition/default/applications/rejected") == []
    assert ask("partition/default/queue/root.team.test/applications") == [active["hog"]]
    assert ask("partition/default/queue/root.team.test/applications/active?status=accepted") == []
    one = ask("partition/default/application/ask")
    assert one == active["ask"] == ask("partition/default/queue/root.team.prod/application/ask")
    (request,) = one["requests"]
    assert request["allocationKey"] == plane.pods()["ask"]["metadata"]["uid"]
    assert request["allocationTags"]["kubernetes.io/meta/podName"] == "ask"
    assert (request["triggeredPreemption"], one["reservations"]) == (True, ["hollow-1"])
    assert request["allocationLog"][0]["message"] == plane.pods()["ask"]["status"]["conditions"][0]["message"]
    allocations = active["hog"]["allocations"]
    assert sorted(each.get("preempted", False) for each in allocations) == [False, False, False, True]
    assert sum(each.get("originator", False) for each in allocations) == 1
    assert {each["nodeId"] for each in allocations} == {"hollow-1"}


def test_nodes(ask: Any) -> None:
    first, second = ask("partition/default/nodes")
    assert (first["nodeID"], first["isReserved"], first["reservations"]) == ("hollow-1", True, ["Pod/default/ask"])
    assert first["available"] == {"vcore": 0, "memory": 8 << 30, "pods": 106}
    assert first["utilized"] == {"vcore": 100, "pods": 3}
    assert (len(first["allocations"]), second.get("allocations"), second["schedulable"]) == (4, None, True)
    assert ask("partition/default/node/hollow-2") == second


@pytest.mark.parametrize(
    ("path", "code", "message"),
    [
        ("partition/gpu/queues", 404, "Partition not found: 'gpu'; there is default"),
        ("partition/default/queue/root.x", 404, "Queue not found: 'root.x'"),
        ("partition/default/queue/root.x/applications", 404, "Queue not found: 'root.x'"),
        ("partition/default/application/x", 404, "Application not found: 'x'"),
        ("partition/default/node/x", 404, "Node not found: 'x'"),
        (
            "partition/default/applications/all",
            400,
            "Only following application states are allowed: active, rejected, completed",
        ),
        (
            "partition/default/applications/active?status=x",
            400,
            "Only following active statuses are allowed: new, accepted, running, completing, failing, resuming",
        ),
    ],
)
def test_errors_are_in_yunikorns_form(ask: Any, path: str, code: int, message: str) -> None:
    assert ask(path) == {"status_code": code, "message": message, "description": message}


# Without a server


def test_top_over_files(tmp_path: Path) -> None:
    bound = pod("a", cpu="2", node="n1", labels=_in("root.team.prod", "a"))
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n1"},
        "status": {"allocatable": {"cpu": "4", "pods": "10"}},
    }
    (tmp_path / "world.yaml").write_text(to_yaml(queues(TEAM), node, bound))
    assert call("top", "queues", "-f", str(tmp_path)).lines == [
        "QUEUE            RESOURCE   USED   GUARANTEED   MAXIMUM   PENDING   PREEMPTING   RUNNING   WAITING",
        "root             cpu        2      -            4         0         0            1         0",
        "root.team        cpu        2      4            4         0         0            1         0",
        "root.team.prod   cpu        2      3            4         0         0            1         0",
        "root.team.prod   memory     0      2Gi          -         0         0            1         0",
        "root.team.test   cpu        0      1            4         0         0            0         0",
    ]
    (tmp_path / "world.yaml").write_text(to_yaml(node))
    assert call("top", "queues", "-f", str(tmp_path)).stdout == "No queues are configured.\n"
    refused = call("top", "nodes", "-f", str(tmp_path))
    assert (refused.code, "-f is for `top queues`" in refused.stderr) == (2, True)
    (tmp_path / "world.yaml").write_text(json.dumps({"partitions": [{"name": "default", "queues": "none"}]}))
    broken = call("top", "queues", "-f", str(tmp_path))
    assert broken.code == 2
    assert "partitions[0].queues" in broken.stderr


def test_the_namespace_of_the_queues_is_made(plane: Running) -> None:
    assert plane.get("namespace/yunikorn")["metadata"]["name"] == "yunikorn"
    again = plane.ok("apply", "-f", "-", stdin=to_yaml(queues(TEAM, MADE, tree("batch"))))
    assert again.lines == ["configmap/yunikorn-configs unchanged"]
