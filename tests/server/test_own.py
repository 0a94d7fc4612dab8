"""What Reprieve adds: its health, its figures, its decisions."""

from __future__ import annotations

import httpx
import yaml

from reprieve.engine.plan import Plan
from reprieve.model.names import UnitName
from tests.server.planes import Running, node_of, pod, running


def test_health_and_readiness(http: httpx.Client) -> None:
    assert [http.get(path).text for path in ("/healthz", "/livez", "/readyz")] == ["ok", "ok", "ok"]
    assert http.get("/readyz?verbose").text == "[+]ping ok\n[+]sync ok\n[+]disk ok\ncheck passed\n"


def test_not_ready_before_the_first_sync() -> None:
    with running(ready=False) as server, httpx.Client(base_url=server.url) as http:
        assert http.get("/healthz").status_code == 200
        answer = http.get("/readyz")
        assert answer.status_code == 503
        assert "[-]sync the first sync is not done yet" in answer.text


def test_figures(http: httpx.Client) -> None:
    answer = http.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=")
    assert "reprieve_asked_total 3.0" in answer.text


def test_a_plan_over_what_is_stored(server: Running, http: httpx.Client) -> None:
    server.fill()
    (made,) = http.get("/plan", params={"for": "Pod/default/high"}).json()["decisions"]
    assert (made["outcome"], made["domain"]) == ("Fits", "n1")
    whole = http.get("/plan?now=2030-01-01T12:00:00Z").json()
    assert (whole["now"], whole["admitted"]) == ("2030-01-01T12:00:00Z", ["Pod/default/high"])


def test_a_plan_is_made_without_queues_that_were_refused(server: Running, http: httpx.Client) -> None:
    server.fill()
    refused = {"metadata": {"name": "yunikorn-configs"}, "data": {"queues.yaml": "partitions: [7"}}
    assert http.post("/api/v1/namespaces/default/configmaps", json=refused).status_code == 201
    (made,) = http.get("/plan", params={"for": "Pod/default/high"}).json()["decisions"]
    assert (made["outcome"], made["policy"]) == ("Fits", "pod")


def test_what_if_changes_nothing_and_replaces_by_name(server: Running, http: httpx.Client) -> None:
    server.fill()
    important = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "vip"}, "value": 9}
    wanted = pod("vip", cpu="1")
    wanted["spec"]["priorityClassName"] = "vip"
    question = {"for": "Pod/default/vip", "manifests": [important, wanted, node_of("n1", cpu="1")]}
    (made,) = http.post("/plan", json=question).json()["decisions"]
    assert made["outcome"] == "Preempt"
    assert [victim["unit"] for victim in made["victims"]] == ["Pod/default/low"]
    text = yaml.safe_dump(question)
    again = http.post("/plan", content=text, headers={"content-type": "application/yaml"}).json()
    assert again["decisions"] == [made]
    assert http.get("/apis/scheduling.k8s.io/v1/priorityclasses/vip").status_code == 404
    assert http.get("/api/v1/nodes/n1").json()["status"]["allocatable"]["cpu"] == "4"


def test_a_plan_names_everything_that_is_wrong(http: httpx.Client) -> None:
    bad = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"containers": [{}], "priority": "p"}}
    answer = http.post("/plan", json={"manifests": [bad]})
    assert answer.status_code == 422
    assert {cause["field"] for cause in answer.json()["details"]["causes"]} == {
        "$.spec.containers[0].name",
        "$.spec.priority",
    }


def _remember(server: Running) -> int:
    async def remember() -> int:
        history = server.plane.history
        assert history is not None
        number = history.record(
            Plan(UnitName("Pod/default/a"), "pod", "Fits", "Pod/default/a fits on n1.", domain="n1")
        )
        history.note("Pod/default/a", "bound", "it fits on n1", number)
        return number

    return server.do(remember())


def test_decisions_and_stories_are_told(server: Running, http: httpx.Client) -> None:
    number = _remember(server)
    (summary,) = http.get("/decisions", params={"unit": "Pod/default/a"}).json()["decisions"]
    assert (summary["id"], summary["outcome"]) == (number, "Fits")
    assert http.get("/decisions?unit=Pod/default/b").json() == {"decisions": []}
    assert http.get(f"/decisions/{number}").json()["plan"]["domain"] == "n1"
    told = http.get("/explain/Pod/default/a").json()
    assert told["decision"]["message"] == "Pod/default/a fits on n1."
    assert [line["step"] for line in told["story"]] == ["bound"]
    story = http.get("/story/Pod/default/a?limit=5").json()
    assert (story["unit"], story["story"][0]["cause"]) == ("Pod/default/a", "it fits on n1")


def test_units_without_a_namespace(http: httpx.Client) -> None:
    for path in ("/story/ClusterQueue/q", "/story/ClusterQueue//q"):
        assert http.get(path).json() == {"unit": "ClusterQueue//q", "story": []}


def test_without_a_history(server: Running, http: httpx.Client) -> None:
    history, server.plane.history = server.plane.history, None
    answer = http.get("/decisions")
    server.plane.history = history
    assert (answer.status_code, answer.json()["message"]) == (503, "this control plane keeps no history")
