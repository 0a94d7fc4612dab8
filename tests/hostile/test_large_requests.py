"""Requests that are cheap to send and costly to answer: the loop goes on, and too much is refused with a reason."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator

import pytest

from tests.cli.running import until
from tests.hostile.attacking import Attacked, Pulse, assert_steady, attacked

_MAPS = "/api/v1/namespaces/default/configmaps"
_PODS = "/api/v1/namespaces/default/pods"
YAML = "application/yaml"


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    with attacked(tmp_path_factory.mktemp("requests")) as one:
        yield one


def a_map(name: str, lines: Iterator[str]) -> bytes:
    head = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata:\n"
    return (head + "".join(f"  {line}\n" for line in lines)).encode()


def a_pod(name: str, **spec: object) -> dict[str, object]:
    spec = {"containers": [{"name": "main", "image": "busybox"}], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def unfolding() -> bytes:
    """A few hundred bytes that stand for a billion values."""
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x,x]"]
    lines += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    return a_map("unfolding", iter(lines)) + b"#" * 20_000


def crowded(**spec: object) -> bytes:
    return json.dumps(a_pod("crowded", **spec)).encode()


def _terms(number: int) -> dict[str, object]:
    terms = [{"matchExpressions": [{"key": f"k{n}", "operator": "NotIn", "values": ["a"]}]} for n in range(number)]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def _spread(number: int) -> list[dict[str, object]]:
    rule = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    return [{**rule, "topologyKey": f"k{n}", "labelSelector": {"matchLabels": {"a": f"{n}"}}} for n in range(number)]


def _ports(number: int) -> list[dict[str, object]]:
    ports = [{"containerPort": n, "hostPort": n} for n in range(1, number)]
    return [{"name": "main", "image": "busybox", "ports": ports}]


def _shunned(terms: int, labels: int) -> dict[str, object]:
    each = [
        {"topologyKey": "k", "labelSelector": {"matchLabels": {f"a{term}-{n}": "b" for n in range(labels)}}}
        for term in range(terms)
    ]
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": each}}


def _asking(containers: int, resources: int) -> list[dict[str, object]]:
    requests = {f"example.com/r{number}": "1" for number in range(resources)}
    return [{"name": f"c{n}", "image": "busybox", "resources": {"requests": requests}} for n in range(containers)]


def in_task_groups(number: int) -> bytes:
    """An annotation that is read whenever somebody asks for the gang of a pod."""
    groups = [{"name": f"g{each}", "minMember": 1, "minResource": {"cpu": "1"}} for each in range(number)]
    pod = a_pod("grouped", schedulerName="nobody")
    said = {"yunikorn.apache.org/task-group-name": "g1", "yunikorn.apache.org/task-groups": json.dumps(groups)}
    return compact({**pod, "metadata": {"name": "grouped", "labels": {"applicationId": "a"}, "annotations": said}})


_JSON = "application/json"
_CROWD = "objects and lists in it; at most 10000 are kept"
_PARTS = "too many objects and lists in it"
_VALUES = "too many values in it"
_STEPS = "have at most 100000 steps"


def compact(body: object) -> bytes:
    return json.dumps(body, separators=(",", ":")).encode()


def in_front(items: int, number: int) -> bytes:
    """Each operation moves all items by one place."""
    first = [{"op": "add", "path": "/spec", "value": [0] * items}]
    return compact([*first, *[{"op": "add", "path": "/spec/0", "value": 0}] * number])


def aliased(number: int) -> bytes:
    """Few bytes, and many objects."""
    lines = ["a: &a [{},{},{},{},{},{},{},{},{},{}]", f"b: &b [{','.join(['*a'] * 100)}]"]
    return a_map("aliased", iter([*lines, f"c: [{','.join(['*b'] * number)}]"])) + b"#" * 20_000


STRATEGIC, JSON_PATCH = "application/strategic-merge-patch+json", "application/json-patch+json"
_NAMED = [{"name": f"c{number}"} for number in range(100_000)]
_TEXTS = [f"a.b/{number}" for number in range(38_000)]
PATCHES: dict[str, tuple[str, bytes, int, str]] = {
    "in front": (JSON_PATCH, in_front(30_000, 2_000), 413, "moves at most 10000000 items of lists"),
    "far in front": (JSON_PATCH, in_front(1_200_000, 9_000), 413, _VALUES),
    "long pointers": (
        JSON_PATCH,
        compact([{"op": "remove", "path": "/spec" + "/a" * 120}] * 9_000),
        413,
        _STEPS,
    ),
    "one long pointer": (JSON_PATCH, compact([{"op": "add", "path": "/a" * 1_400_000, "value": 0}]), 400, "too deeply"),
    "merged numbers": ("application/merge-patch+json", compact({"spec": {"a": [0] * 1_500_000}}), 413, _VALUES),
    "merged keys": (STRATEGIC, compact({"metadata": {"labels": {f"k{n}": "" for n in range(200_000)}}}), 413, _VALUES),
    "merged finalizers": (STRATEGIC, compact({"metadata": {"finalizers": _TEXTS}}), 413, "at most 10000 are merged"),
    "applied finalizers": (
        "application/apply-patch+yaml",
        compact({"metadata": {"finalizers": _TEXTS}}),
        413,
        "at most 10000 are merged",
    ),
    "strategic": (STRATEGIC, compact({"spec": {"containers": _NAMED}}), 413, _PARTS),
    "merge": ("application/merge-patch+json", compact({"spec": {"a": [{}] * 900_000}}), 413, _PARTS),
}
ATTACKS: dict[str, tuple[str, bytes, str, int, str]] = {
    "long YAML": (_MAPS, a_map("long", (f"key-{n}: 'v'" for n in range(90_000))), YAML, 201, ""),
    "documents": (_MAPS, b"---\n" * 700_000, YAML, 400, "one YAML document"),
    "full documents": (_MAPS, b"---\na: 1\n" * 300_000, YAML, 400, "one YAML document"),
    "aliases": (_MAPS, unfolding(), YAML, 400, "unfold to more than"),
    "too large": (
        _MAPS,
        json.dumps({"metadata": {"name": "large"}, "data": {"a": "x" * 2_000_000}}).encode(),
        "application/json",
        413,
        "at most 1572864 are kept",
    ),
    "unknown fields": (
        _PODS,
        json.dumps(a_pod("unknown", **{f"nodeSelectr{n}": 1 for n in range(40_000)})).encode(),
        "application/json",
        201,
        "",
    ),
    "containers": (
        _PODS,
        json.dumps(a_pod("many", containers=[{"name": f"c{n}", "image": "i"} for n in range(30_000)])).encode(),
        "application/json",
        413,
        "at most 1000 containers",
    ),
    "node affinity": (_PODS, crowded(affinity=_terms(9_000)), "application/json", 413, _CROWD),
    "spread": (_PODS, crowded(topologySpreadConstraints=_spread(6_000)), "application/json", 413, _CROWD),
    "ports": (_PODS, crowded(containers=_ports(20_000)), "application/json", 413, _CROWD),
    "deep": (_MAPS, b"[" * 1_000_000, "application/json", 400, "nested too deeply"),
    "empty objects": (_PODS, compact(a_pod("empty", x=[{}] * 900_000)), "application/json", 413, _PARTS),
    "aliases of objects": (_MAPS, aliased(700), YAML, 413, _PARTS),
    "owners": (
        _MAPS,
        compact(
            {
                "metadata": {
                    "name": "owned",
                    "ownerReferences": [
                        {"apiVersion": "v1", "kind": "Pod", "name": f"o{n}", "uid": f"u{n}"} for n in range(9_000)
                    ],
                }
            }
        ),
        "application/json",
        201,
        "",
    ),
    "labels": (
        _MAPS,
        compact({"metadata": {"name": "labels", "labels": {f"-{n}": "v" for n in range(100_000)}}}),
        "application/json",
        413,
        "at most 10000 labels are kept",
    ),
    "selected labels": (
        _PODS,
        crowded(nodeSelector={f"k{n}": "" for n in range(70_000)}),
        _JSON,
        413,
        "1000 are kept",
    ),
    "labels together": (_PODS, crowded(affinity=_shunned(21, 990)), _JSON, 413, "at most 20000 are kept"),
    "resources": (_PODS, crowded(containers=_asking(10, 3_000)), _JSON, 413, "at most 5000 are kept"),
    "different resources": (_PODS, crowded(containers=_asking(1, 101)), _JSON, 413, "at most 100 are kept"),
    "task groups": (_PODS, in_task_groups(9_000), _JSON, 201, ""),
    "wrong numbers": (
        _MAPS,
        compact({"metadata": {"name": "wrong"}, "data": {f"k{n}": n for n in range(100_000)}}),
        _JSON,
        422,
        "it must be text",
    ),
    "numbers": (_MAPS, compact({"metadata": {"name": "n"}, "x": [0] * 1_400_000}), _JSON, 413, _VALUES),
    "brackets in text": (
        _MAPS,
        compact({"metadata": {"name": "text"}, "data": {"a": "[,{" * 400_000}}),
        _JSON,
        201,
        "",
    ),
    "thought of": ("/plan", compact({"manifests": [{}] * 900_000}), "application/json", 413, "at most 300000 are read"),
    "mistakes": (
        "/plan",
        compact({"manifests": [{"apiVersion": "v1", "kind": "Pod"}] * 40_000}),
        "application/json",
        422,
        "missing",
    ),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_body_holds_up_the_loop(victim: Attacked, attack: str) -> None:
    path, body, media, status, reason = ATTACKS[attack]
    with Pulse(victim) as pulse:
        found, answer = victim.ask("POST", path, body, media)
    assert (found, reason in answer.decode()) == (status, True), answer[:500]
    assert_steady(victim, pulse)


@pytest.mark.parametrize("patch", PATCHES)
def test_no_patch_holds_up_the_loop(victim: Attacked, patch: str) -> None:
    media, body, status, reason = PATCHES[patch]
    victim.ask("POST", _PODS, a_pod("patched", schedulerName="nobody"))
    with Pulse(victim) as pulse:
        found, answer = victim.ask("PATCH", f"{_PODS}/patched?fieldManager=me", body, media)
    assert (found, reason in answer.decode()) == (status, True), answer[:500]
    assert_steady(victim, pulse)


def test_finalizers_of_what_is_being_deleted_hold_up_nobody(victim: Attacked) -> None:
    def with_finalizers(letter: str) -> dict[str, object]:
        return {"metadata": {"name": "kept", "finalizers": [f"example.com/{letter}{n}" for n in range(9_900)]}}

    assert victim.ask("POST", _MAPS, with_finalizers("a"))[0] == 201
    assert victim.ask("DELETE", f"{_MAPS}/kept")[0] == 200
    with Pulse(victim) as pulse:
        media = "application/merge-patch+json"
        status, answer = victim.ask("PATCH", f"{_MAPS}/kept", with_finalizers("b"), media)
    assert (status, b"finalizers can only be removed" in answer) == (422, True), answer[:500]
    assert_steady(victim, pulse)


def test_deleting_many_large_objects_holds_up_nobody(victim: Attacked) -> None:
    for number in range(25):
        large = {"metadata": {"name": f"large-{number}", "labels": {"a": "large"}}, "data": {"a": "x" * 1_500_000}}
        assert victim.ask("POST", _MAPS, large)[0] == 201
    with Pulse(victim) as pulse:
        assert victim.ask("DELETE", f"{_MAPS}?labelSelector=a%3Dlarge")[0] == 200
    assert_steady(victim, pulse)


def test_a_pattern_of_others_holds_up_nobody(victim: Attacked) -> None:
    """Whoever may read may ask what would be decided with other queues, and with any pattern in their rules."""
    rule = "{name: fixed, value: root.a, filter: {type: allow, users: ['^(a+)+$']}}"
    queues = (
        f"partitions: [{{name: default, placementrules: [{rule}], queues: [{{name: root, queues: [{{name: a}}]}}]}}]"
    )
    metadata = {"name": "yunikorn-configs", "namespace": "yunikorn"}
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"queues.yaml": queues}}
    user = {"applicationId": "a", "yunikorn.apache.org/username": "a" * 30 + "-b"}
    pod = a_pod("asked", schedulerName="yunikorn")
    pod["metadata"] = {"name": "asked", "namespace": "default", "labels": user}
    with Pulse(victim) as pulse:
        status, answer = victim.ask("POST", "/plan", {"manifests": [settings, pod]})
    assert status == 200, answer[:500]
    assert_steady(victim, pulse)


def test_many_who_ask_at_the_same_moment_hold_up_nobody(victim: Attacked) -> None:
    with Pulse(victim) as pulse:
        asked = [(victim.connect(), path) for path in ("/openapi.json", "/metrics", "/openapi/v3") for _ in range(50)]
        for connection, path in asked:
            connection.request("GET", path, headers=victim.headers())
        assert {connection.getresponse().status for connection, _ in asked} == {200}
    for connection, _ in asked:
        connection.close()
    assert_steady(victim, pulse)


def test_a_body_in_pieces_of_one_byte_holds_up_nobody(victim: Attacked) -> None:
    with Pulse(victim) as pulse, _connected(victim) as client:
        client.sendall(_head(victim, "Transfer-Encoding: chunked") + b"1\r\n{\r\n" * 200_000 + b"0\r\n\r\n")
        assert client.recv(4096).startswith(b"HTTP/1.1 400")
    assert_steady(victim, pulse)


def test_who_leaves_or_talks_nonsense_fills_no_log(victim: Attacked) -> None:
    before = victim.warnings()
    for _ in range(5):
        with _connected(victim) as client:
            client.sendall(_head(victim, "Content-Length: 1000") + b"{")
        with _connected(victim) as client:
            client.sendall(b"\xff\xfe\r\n\r\n")
            assert client.recv(4096).startswith(b"HTTP/1.1 400")
        with _connected(victim) as client:
            client.sendall(_head(victim, "Connection: Upgrade", "Upgrade: websocket", "Content-Length: 0"))
            assert client.recv(4096).startswith(b"HTTP/1.1 4")
    assert victim.ask("GET", "/healthz")[0] == 200
    assert victim.warnings() == before


def _connected(victim: Attacked) -> socket.socket:
    return socket.create_connection((str(victim.address.hostname), int(victim.address.port or 0)), timeout=60)


def _head(victim: Attacked, *more: str) -> bytes:
    """The beginning of a request that sends an object."""
    own = {"Host": "localhost", "Content-Type": "application/json", **victim.headers()}
    lines = [f"POST {_MAPS} HTTP/1.1", *(f"{name}: {value}" for name, value in own.items()), *more]
    return "\r\n".join([*lines, "", ""]).encode()


_HUGE = 2_000_000_000
_LOCAL_QUEUE = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "LocalQueue",
    "metadata": {"name": "q", "namespace": "default"},
    "spec": {"clusterQueue": "q"},
}


def scaled(kind: str, queue: str = "", **spec: object) -> dict[str, object]:
    pods = {"metadata": {"labels": {"app": "a"}}, "spec": a_pod("unused")["spec"]}
    selector = {"matchLabels": {"app": "a"}}
    labels = {"kueue.x-k8s.io/queue-name": queue} if queue else {}
    metadata = {"name": "huge", "namespace": "default", "labels": labels}
    spec = {"replicas": _HUGE, "selector": selector, "template": pods, **spec}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec}


def a_job_set() -> dict[str, object]:
    pods = {"spec": {**a_pod("unused")["spec"], "restartPolicy": "Never"}}  # type: ignore[dict-item]
    jobs = [{"name": "a", "replicas": _HUGE, "template": {"spec": {"parallelism": 1, "template": pods}}}]
    metadata = {"name": "huge", "namespace": "default"}
    kind = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet"}
    return {**kind, "metadata": metadata, "spec": {"replicatedJobs": jobs}}


def many_deployments(number: int) -> Iterator[dict[str, object]]:
    for each in range(number):
        made = scaled("Deployment", queue="q")
        yield {**made, "metadata": {**made["metadata"], "name": f"huge-{each}"}}  # type: ignore[dict-item]


THOUGHT_OF = {
    "Deployment": [scaled("Deployment")],
    "StatefulSet": [scaled("StatefulSet")],
    "Deployment in a queue": [_LOCAL_QUEUE, scaled("Deployment", queue="q")],
    "StatefulSet in a queue": [_LOCAL_QUEUE, scaled("StatefulSet", queue="q")],
    "JobSet": [a_job_set()],
    "many Deployments in a queue": [_LOCAL_QUEUE, *many_deployments(60)],
}


@pytest.mark.parametrize("path", ["/plan", "/compare"])
@pytest.mark.parametrize("objects", THOUGHT_OF)
def test_billions_of_pods_that_are_only_thought_of_take_no_memory(victim: Attacked, objects: str, path: str) -> None:
    before = victim.memory()
    with Pulse(victim) as pulse:
        status, answer = victim.ask("POST", path, {"manifests": THOUGHT_OF[objects]})
    assert status == 200, answer[:500]
    assert victim.memory() - before < 300_000_000
    assert_steady(victim, pulse)


def _crowded_cluster() -> Iterator[dict[str, object]]:
    """Each of the pods that wait could preempt on every node: told in full that takes minutes."""
    for number in range(500):
        metadata = {"name": f"n{number}"}
        yield {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": metadata,
            "status": {"allocatable": {"cpu": "4", "pods": "110"}},
        }
    for number in range(6_000):
        waits = number >= 2_000
        resources = {"requests": {"cpu": f"{3_000 + number}m" if waits else "1"}}
        containers = [{"name": "main", "image": "busybox", "resources": resources}]
        placed: dict[str, object] = {} if waits else {"nodeName": f"n{number % 500}"}
        yield a_pod(f"p{number}", containers=containers, priority=100 if waits else 0, **placed)


@pytest.mark.parametrize("path", ["/plan", "/compare"])
def test_what_takes_too_long_to_work_out_ends(victim: Attacked, path: str) -> None:
    """With the reason, and nobody goes on working at it."""
    question = compact({"manifests": list(_crowded_cluster())})
    with Pulse(victim) as pulse:
        status, answer = victim.ask("POST", f"{path}?timeoutSeconds=1", question)
    assert (status, b"it was not worked out within 1 s" in answer) == (504, True), answer[:500]
    assert_steady(victim, pulse)
    until(lambda: victim.is_idle(), seconds=20)


def test_nobody_says_how_long_others_wait(victim: Attacked) -> None:
    status, answer = victim.ask("GET", "/plan?timeoutSeconds=61")
    assert (status, b"from 1 to 60" in answer) == (400, True), answer
