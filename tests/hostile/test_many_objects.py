"""Many objects: lists, watches, selectors, plans and searches over them hold up nobody else."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reprieve.agents.hollow.nodes import hollow_node
from reprieve.manifests.kinds import NODES, PODS
from reprieve.model.clock import system_clock
from reprieve.stores.embedded.store import EmbeddedStore
from tests.cli.running import until
from tests.hostile.attacking import Attacked, Pulse, assert_steady, attacked, thorough

_PODS = "/api/v1/namespaces/default/pods"
_MANY = 20_000 if "REPRIEVE_HOSTILE" in os.environ else 4_000
_ON_ONE = 100
_HOPELESS = 2_000 if "REPRIEVE_HOSTILE" in os.environ else 400


def a_pod(name: str, cpu: str = "10m", **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "busybox", "resources": {"requests": {"cpu": cpu}}}
    metadata = {
        "name": name,
        "namespace": "default",
        "labels": {"app": f"a{len(name) * 7 % 5}{name[-1]}", "name": name},
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container], **spec}}


async def _fill(directory: Path) -> None:
    """A store as it would be after a while: nodes with pods on all of them."""
    directory.mkdir(mode=0o700)
    store = EmbeddedStore.open(directory / "store.db", system_clock)
    for number in range(_MANY // _ON_ONE):
        await store.create(NODES, hollow_node(f"n{number}", cpu="4", memory="8Gi"))
    for number in range(_MANY):
        await store.create(PODS, a_pod(f"p{number}", nodeName=f"n{number // _ON_ONE}", schedulerName="reprieve"))
    store.close()


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    place = tmp_path_factory.mktemp("many")
    asyncio.run(_fill(place / "data"))
    with attacked(place, "--agent", "hollow", "--nodes", "0") as one:
        until(lambda: one.ask("GET", "/readyz")[0] == 200, seconds=600)
        yield one


QUESTIONS = {
    "list": ("GET", _PODS, None),
    "page": ("GET", f"{_PODS}?limit=500", None),
    "names": ("GET", f"{_PODS}?labelSelector=app%20in%20(a01,a12,a33),name", None),
    "fields": ("GET", f"{_PODS}?fieldSelector=spec.nodeName=n3,metadata.name!=p7", None),
    "all namespaces": ("GET", "/api/v1/pods?labelSelector=!nothing", None),
    "plan": ("GET", "/plan", None),
    "plan for one": (
        "POST",
        "/plan",
        {"manifests": [a_pod("asked", cpu="64", priority=1000)], "for": "Pod/default/asked"},
    ),
    "compare": ("POST", "/compare", {"delete": ["Node//n1"]}),
    "metrics": ("GET", "/metrics", None),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_questions_over_many_objects_hold_up_nobody(victim: Attacked, question: str) -> None:
    with Pulse(victim) as pulse:
        status, answer = _patiently(victim, *QUESTIONS[question])
    assert status == 200, answer[:500]
    assert_steady(victim, pulse)


def test_a_table_of_many_rows_holds_up_nobody(victim: Attacked) -> None:
    with Pulse(victim) as pulse:
        connection = victim.connect(timeout=300)
        accept = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
        connection.request("GET", _PODS, headers=victim.headers(**accept))
        rows = json.loads(connection.getresponse().read())["rows"]
        connection.close()
    assert len(rows) >= _MANY
    assert_steady(victim, pulse)


def test_twenty_watches_with_selectors_hold_up_nobody(victim: Attacked) -> None:
    with Pulse(victim) as pulse:
        watchers = [
            _watch(victim, f"{_PODS}?watch=1&labelSelector=app=a{number // 10}{number % 10}") for number in range(20)
        ]
        for number in range(20):
            assert victim.ask("POST", _PODS, a_pod(f"seen-{number}", schedulerName="nobody"))[0] == 201
        time.sleep(1)
        for each in watchers:
            each.close()
    assert_steady(victim, pulse)


_RULES = {
    "budget": (
        "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
        {"metadata": {"name": "all"}, "spec": {"minAvailable": 1, "selector": {"matchExpressions": []}}},
    ),
    "quota": (
        "/api/v1/namespaces/default/resourcequotas",
        {"metadata": {"name": "all"}, "spec": {"hard": {"pods": "1M"}}},
    ),
    "limits": ("/api/v1/namespaces/default/limitranges", {"metadata": {"name": "all"}, "spec": {"limits": []}}),
}


@pytest.mark.parametrize("rule", _RULES)
def test_rules_over_many_objects_hold_up_nobody(victim: Attacked, rule: str) -> None:
    """A rule is about all of them, and one more comes and is evicted under it."""
    path, body = _RULES[rule]
    with Pulse(victim) as pulse:
        assert victim.ask("POST", path, body)[0] == 201
        for number in range(3):
            name = f"{rule}-{number}"
            assert victim.ask("POST", _PODS, a_pod(name, schedulerName="nobody"))[0] == 201
            assert _patiently(victim, "POST", f"{_PODS}/{name}/eviction", {"metadata": {"name": name}})[0] in (201, 429)
        time.sleep(1)
        assert victim.ask("DELETE", f"{path}/all")[0] == 200
    assert_steady(victim, pulse)


def _watch(victim: Attacked, path: str) -> socket.socket:
    """Somebody who asks, and reads nothing."""
    watcher = socket.create_connection((str(victim.address.hostname), int(victim.address.port or 0)))
    lines = [f"GET {path} HTTP/1.1", "Host: localhost", *(f"{name}: {it}" for name, it in victim.headers().items())]
    watcher.sendall("\r\n".join([*lines, "", ""]).encode())
    return watcher


def _patiently(victim: Attacked, method: str, path: str, body: Any) -> tuple[int, bytes]:
    connection = victim.connect(timeout=300)
    try:
        content = None if body is None else json.dumps(body).encode()
        headers = victim.headers(**({"Content-Type": "application/json"} if content else {}))
        connection.request(method, path, content, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_deleting_all_of_them_holds_up_nobody(victim: Attacked) -> None:
    """The last that is asked of these."""
    with Pulse(victim) as pulse:
        assert _patiently(victim, "DELETE", "/api/v1/nodes", None)[0] == 200
        status, answer = _patiently(victim, "DELETE", _PODS, {"kind": "DeleteOptions", "gracePeriodSeconds": 0})
        assert status == 200, answer[:300]
        until(lambda: len(victim.get(_PODS)["items"]) == 0, seconds=300)
    assert_steady(victim, pulse)


def test_pods_of_one_shape_for_which_there_is_no_place_cost_one_search(tmp_path: Path) -> None:
    """They wait; what that takes does not grow with their number as searches would."""
    with attacked(tmp_path) as victim:
        until(lambda: victim.ask("GET", "/readyz")[0] == 200)
        with Pulse(victim) as pulse:
            for number in range(_HOPELESS):
                path, body = _PODS, a_pod(f"h{number}", cpu="64", schedulerName="reprieve")
                assert victim.ask("POST", path, body)[0] == 201
            until(lambda: _told(victim) == _HOPELESS, seconds=300)
            before = _cpu(victim)
            assert victim.ask("POST", _PODS, a_pod("last", cpu="64", schedulerName="reprieve"))[0] == 201
            until(lambda: _told(victim) == _HOPELESS + 1)
            assert _cpu(victim) - before < 2.0
        assert_steady(victim, pulse)


def _told(victim: Attacked) -> int:
    """How many know why they wait."""
    items = victim.get(_PODS)["items"]
    return sum(any(each["type"] == "PodScheduled" for each in item["status"].get("conditions", ())) for item in items)


def _cpu(victim: Attacked) -> float:
    """Seconds of the CPU so far."""
    words = Path(f"/proc/{victim.plane.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


@thorough
def test_the_end_of_a_long_log_is_found_without_holding_up_anybody(tmp_path: Path) -> None:
    with attacked(tmp_path, "--agent", "process") as victim:
        until(lambda: victim.ask("GET", "/readyz")[0] == 200)
        pod = a_pod("talker", restartPolicy="Never", schedulerName="reprieve")
        pod["spec"]["containers"][0]["command"] = ["sh", "-c", "yes | head -c 33554432"]
        assert victim.ask("POST", _PODS, pod)[0] == 201
        until(lambda: victim.get(f"{_PODS}/talker")["status"]["phase"] == "Succeeded", seconds=180)
        with Pulse(victim) as pulse:
            for query in (
                "tailLines=2147483647",
                "tailLines=1000000&limitBytes=99999999",
                "follow=true",
                "tailLines=3",
            ):
                status, said = _patiently(victim, "GET", f"{_PODS}/talker/log?{query}", None)
                assert (status, len(said) > 0) == (200, True), said[:300]
        assert_steady(victim, pulse)


def test_policies_that_name_thousands_hold_up_nobody(tmp_path: Path) -> None:
    """Each of them is asked about each template."""
    named = [{"apiVersion": "apps/v1", "kind": "Deployment", "name": f"n{number}"} for number in range(3_000)]
    pods = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "main", "image": "busybox"}]}}
    template = {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": pods}
    with attacked(tmp_path) as one, Pulse(one) as pulse:
        for number in range(30):
            spec = {"resourceSelectors": named, "placement": {"clusterAffinity": {"clusterNames": ["a"]}}}
            path = "/apis/policy.karmada.io/v1alpha1/clusterpropagationpolicies"
            assert one.ask("POST", path, {"metadata": {"name": f"p{number}"}, "spec": spec})[0] == 201
        for number in range(60):
            body = {"metadata": {"name": f"d{number}"}, "spec": template}
            assert one.ask("POST", "/apis/apps/v1/namespaces/default/deployments", body)[0] == 201
        time.sleep(2)
        assert_steady(one, pulse)


@pytest.mark.parametrize("number", [4_000, 25_000])
def test_thousands_of_queues_hold_up_nobody(tmp_path: Path, number: int) -> None:
    """What is too much is refused with an event; the rest is read beside the loop."""
    names = ", ".join(f"{{name: q{each}, resources: {{guaranteed: {{vcore: 1}}}}}}" for each in range(number))
    text = f"partitions: [{{name: default, queues: [{{name: root, queues: [{names}]}}]}}]"
    with attacked(tmp_path) as one, Pulse(one) as pulse:
        one.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "yunikorn"}})
        maps = "/api/v1/namespaces/yunikorn/configmaps"
        body = {"metadata": {"name": "yunikorn-configs"}, "data": {"queues.yaml": text}}
        assert one.ask("POST", maps, body)[0] == 201
        told = until(lambda: _message(one, "QueuesAccepted") or _message(one, "QueuesRefused"))
        assert ("at most 262144 are read" in told) == (number > 10_000)
        if number < 10_000:
            assert one.ask("GET", "/ws/v1/partition/default/queues")[0] == 200
        assert_steady(one, pulse)


def _message(one: Attacked, reason: str) -> str:
    found = json.loads(one.ask("GET", "/api/v1/events")[1])["items"]
    return next((event["message"] for event in found if event["reason"] == reason), "")
