"""Requests that make no sense: each gets the right status in a Status body, changes nothing, and shows no traceback."""

from __future__ import annotations

import json
import logging
from typing import Any, NamedTuple

import httpx
import pytest

from reprieve.manifests.kinds import RESOURCES
from tests.server.planes import Running, pod

PODS = "/api/v1/namespaces/default/pods"
LOW = f"{PODS}/low"
JSON = "application/json"
MERGE = "application/merge-patch+json"
ACCEPT_HTML = {"accept": "text/html"}


class Bad(NamedTuple):
    name: str
    method: str
    path: str
    want: int
    body: bytes = b""
    content_type: str = JSON
    headers: dict[str, str] = {}


def _body(**changes: Any) -> bytes:
    return json.dumps({**pod("new"), **changes}).encode()


def _delete(**options: Any) -> bytes:
    return json.dumps({"kind": "DeleteOptions", "apiVersion": "v1", **options}).encode()


BAD = (
    # Bodies
    Bad("malformed JSON", "POST", PODS, 400, b'{"kind": "Pod",'),
    Bad("no body", "POST", PODS, 400),
    Bad("a list for an object", "POST", PODS, 400, b"[]"),
    Bad("a number for an object", "POST", PODS, 400, b"7"),
    Bad("nested without end", "POST", PODS, 400, b'{"a":' * 5000 + b"1" + b"}" * 5000),
    Bad("half of a surrogate pair", "POST", PODS, 400, b'{"kind":"Pod","metadata":{"name":"\\ud800"}}'),
    Bad("bytes that are no text", "POST", PODS, 400, b'{"kind":"\xff\xfe"}'),
    Bad("a number with too many digits", "POST", PODS, 400, b'{"a":' + b"9" * 5000 + b"}"),
    Bad("malformed YAML", "POST", PODS, 400, b"a: [", "application/yaml"),
    Bad("two YAML documents", "POST", PODS, 400, b"a: 1\n---\nb: 2\n", "application/yaml"),
    Bad("a huge body", "POST", PODS, 413, b'{"a":"' + b"x" * 4_000_000 + b'"}'),
    Bad("a huge patch", "PATCH", LOW, 413, b'{"a":"' + b"x" * 4_000_000 + b'"}', MERGE),
    Bad("protobuf", "POST", PODS, 415, b"k8s\x00", "application/vnd.kubernetes.protobuf"),
    Bad("a form", "POST", PODS, 415, b"a=b", "application/x-www-form-urlencoded"),
    Bad("a patch of no kind", "PATCH", LOW, 415, b"{}", JSON),
    Bad(
        "a strategic patch of a custom resource",
        "PATCH",
        "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/q",
        404,
        b"{}",
        "application/strategic-merge-patch+json",
    ),
    # What the object says of itself
    Bad("the wrong kind", "POST", PODS, 400, _body(kind="Job")),
    Bad("the wrong version", "POST", PODS, 400, _body(apiVersion="v2")),
    Bad("a kind that is no text", "POST", PODS, 400, _body(kind=["Pod"])),
    Bad("another namespace", "POST", "/api/v1/namespaces/kube-system/pods", 400, _body()),
    Bad(
        "a namespace that is not there", "POST", "/api/v1/namespaces/nowhere/pods", 404, _body(metadata={"name": "new"})
    ),
    Bad("another name", "PUT", LOW, 400, _body()),
    Bad("metadata that is no object", "POST", PODS, 400, _body(metadata="low")),
    Bad("a name that is no text", "POST", PODS, 400, _body(metadata={"name": 7})),
    Bad("a name that climbs", "POST", PODS, 422, _body(metadata={"name": "../../etc"})),
    Bad("no name", "POST", PODS, 422, _body(metadata={})),
    Bad("no containers", "POST", PODS, 422, _body(spec={})),
    Bad(
        "a negative quantity",
        "POST",
        PODS,
        422,
        _body(spec={"containers": [{"name": "a", "resources": {"requests": {"cpu": "-1"}}}]}),
    ),
    Bad("a name that is taken", "POST", PODS, 409, json.dumps(pod("low")).encode()),
    Bad(
        "an old version",
        "PUT",
        LOW,
        409,
        json.dumps({**pod("low"), "metadata": {**pod("low")["metadata"], "resourceVersion": "1"}}).encode(),
    ),
    Bad("an unknown field, strictly", "POST", f"{PODS}?fieldValidation=Strict", 400, _body(speck={})),
    # Patches
    Bad("a patch of nothing", "PATCH", f"{PODS}/nobody", 404, b"{}", MERGE),
    Bad("a patch that is no object", "PATCH", LOW, 400, b"[]", MERGE),
    Bad("a JSON patch that is no list", "PATCH", LOW, 400, b"{}", "application/json-patch+json"),
    Bad(
        "a JSON patch of what is not there",
        "PATCH",
        LOW,
        422,
        b'[{"op":"remove","path":"/spec/none"}]',
        "application/json-patch+json",
    ),
    Bad("a patch of the name", "PATCH", LOW, 422, b'{"metadata":{"name":"other"}}', MERGE),
    Bad("an apply without a manager", "PATCH", LOW, 400, b"{}", "application/apply-patch+yaml"),
    Bad(
        "an apply of another kind", "PATCH", f"{LOW}?fieldManager=me", 400, b"kind: Job", "application/apply-patch+yaml"
    ),
    Bad(
        "an apply of a status that is not there",
        "PATCH",
        f"{PODS}/new/status?fieldManager=me",
        404,
        b"status: {phase: Running}",
        "application/apply-patch+yaml",
    ),
    # Deletions
    Bad("a deletion of another one", "DELETE", LOW, 409, _delete(preconditions={"uid": "other"})),
    Bad("a deletion of an old version", "DELETE", LOW, 409, _delete(preconditions={"resourceVersion": "1"})),
    Bad("a version that is no number", "DELETE", LOW, 400, _delete(preconditions={"resourceVersion": "x"})),
    Bad("a negative grace", "DELETE", f"{LOW}?gracePeriodSeconds=-1", 400),
    Bad("a grace that is no number", "DELETE", LOW, 400, _delete(gracePeriodSeconds="soon")),
    Bad("a policy that is none", "DELETE", f"{LOW}?propagationPolicy=Sideways", 400),
    Bad("a dry run of something", "DELETE", LOW, 400, _delete(dryRun=["Some"])),
    Bad("options of another kind", "DELETE", LOW, 400, b'{"kind":"Pod"}'),
    Bad("what always exists", "DELETE", "/api/v1/namespaces/default", 403),
    # Parameters
    Bad("a negative limit", "GET", f"{PODS}?limit=-1", 400),
    Bad("an absurd limit", "GET", f"{PODS}?limit=99999999999999999999999", 400),
    Bad("a limit that is no number", "GET", f"{PODS}?limit=many", 400),
    Bad("a parameter twice", "GET", f"{PODS}?limit=1&limit=2", 400),
    Bad("a continue that nobody gave", "GET", f"{PODS}?continue=xyz", 400),
    Bad("a selector that is none", "GET", f"{PODS}?labelSelector=a%20b%20c", 400),
    Bad("a field that cannot be asked for", "GET", f"{PODS}?fieldSelector=spec.secret%3D1", 400),
    Bad("a version that is no number", "GET", f"{PODS}?resourceVersion=abc", 400),
    Bad("a version yet to come", "GET", f"{PODS}?resourceVersion=999999999", 504),
    Bad("an exact version that has passed", "GET", f"{PODS}?resourceVersion=1&resourceVersionMatch=Exact", 410),
    Bad("a match without a version", "GET", f"{PODS}?resourceVersionMatch=Exact", 400),
    Bad("a watch that is neither", "GET", f"{PODS}?watch=maybe", 400),
    Bad("a watch from a version yet to come", "GET", f"{PODS}?watch=1&resourceVersion=999999999", 410),
    Bad("a dry run of something", "POST", f"{PODS}?dryRun=Some", 400, _body()),
    Bad("a timeout of a list that is no number", "GET", f"{PODS}?timeoutSeconds=soon", 400),
    Bad("a flag where nobody looks", "PATCH", f"{LOW}?force=perhaps", 400, b"{}", MERGE),
    Bad("a query that is no text", "GET", f"{PODS}?labelSelector=%ff", 400),
    Bad("an answer in HTML", "GET", PODS, 406, headers=ACCEPT_HTML),
    # Paths and methods
    Bad("an unknown path", "GET", "/nothing/here", 404),
    Bad("an unknown group", "GET", "/apis/none.example/v1/things", 404),
    Bad("an unknown version", "GET", "/apis/batch/v7/jobs", 404),
    Bad("an unknown resource", "GET", "/api/v1/namespaces/default/secrets", 404),
    Bad("an unknown subresource", "GET", f"{LOW}/exec", 404),
    Bad("a subresource of what has none", "GET", "/api/v1/namespaces/default/configmaps/c/status", 404),
    Bad("something below a subresource", "GET", f"{LOW}/log/more", 404),
    Bad("nodes in a namespace", "GET", "/api/v1/namespaces/default/nodes", 404),
    Bad("a pod without a namespace", "GET", "/api/v1/pods/low", 404),
    Bad("an empty name", "GET", "/api/v1/namespaces//pods", 404),
    Bad("a path that climbs", "GET", "/api/v1/namespaces/default/pods/%2e%2e%2f%2e%2e%2fetc%2fpasswd/log", 404),
    Bad("a path that is no text", "GET", f"{PODS}/%ff", 400),
    Bad("a pod in all namespaces", "POST", "/api/v1/pods", 405, _body()),
    Bad("deleting all pods everywhere", "DELETE", "/api/v1/pods", 405),
    Bad("POST to an object", "POST", LOW, 405, _body()),
    Bad("PUT to a list", "PUT", PODS, 405, _body()),
    Bad("DELETE of a status", "DELETE", f"{LOW}/status", 405),
    Bad("GET of a binding", "GET", f"{LOW}/binding", 405),
    Bad("POST to a version", "POST", "/version", 405),
    Bad("TRACE", "TRACE", PODS, 405),
    Bad("OPTIONS", "OPTIONS", PODS, 405),
    Bad("a method of one's own", "BREW", PODS, 405),
    # Pods' own
    Bad("a binding to no node", "POST", f"{PODS}/high/binding", 400, b'{"kind":"Binding","target":{}}'),
    Bad(
        "a binding to a node that is not there",
        "POST",
        f"{PODS}/high/binding",
        404,
        b'{"kind":"Binding","target":{"kind":"Node","name":"none"}}',
    ),
    Bad(
        "a binding of another pod",
        "POST",
        f"{PODS}/high/binding",
        400,
        b'{"metadata":{"name":"low"},"target":{"name":"n1"}}',
    ),
    Bad(
        "a binding of an old one",
        "POST",
        f"{PODS}/high/binding",
        409,
        b'{"metadata":{"resourceVersion":"1"},"target":{"name":"n1"}}',
    ),
    Bad(
        "a binding of no version",
        "POST",
        f"{PODS}/high/binding",
        400,
        b'{"metadata":{"resourceVersion":1},"target":{"name":"n1"}}',
    ),
    Bad("a binding of a pod that has a node", "POST", f"{LOW}/binding", 409, b'{"target":{"name":"n1"}}'),
    Bad("a binding of nobody", "POST", "/api/v1/namespaces/default/bindings", 400, b'{"target":{"name":"n1"}}'),
    Bad(
        "an eviction of another version",
        "POST",
        f"{LOW}/eviction",
        400,
        b'{"apiVersion":"policy/v1beta7","kind":"Eviction"}',
    ),
    Bad("an eviction of nobody", "POST", f"{PODS}/nobody/eviction", 404, b"{}"),
    Bad("an eviction with odd options", "POST", f"{LOW}/eviction", 400, b'{"deleteOptions":[]}'),
    Bad("the log of a container that climbs", "GET", f"{LOW}/log?container=..%2F..%2Fetc%2Fpasswd", 400),
    Bad("the log of nobody", "GET", f"{PODS}/nobody/log", 404),
    Bad("the log of nothing", "GET", f"{LOW}/log", 404),
    Bad("a negative tail", "GET", f"{LOW}/log?tailLines=-5", 400),
    Bad("a log of the last 0 seconds", "GET", f"{LOW}/log?sinceSeconds=0", 400),
    # Reprieve's own
    Bad("a plan for nobody", "GET", "/plan?for=Pod/default/nobody", 422),
    Bad("a plan for nonsense", "GET", "/plan?for=nonsense", 422),
    Bad("a plan at no time", "GET", "/plan?now=yesterday", 422),
    Bad("a plan with odd manifests", "POST", "/plan", 400, b'{"manifests":{"a":1}}'),
    Bad("a plan with wrong manifests", "POST", "/plan", 422, b'{"manifests":[{"apiVersion":"v1","kind":"Pod"}, 7]}'),
    Bad("a plan for a number", "POST", "/plan", 400, b'{"for":7}'),
    Bad("an explanation of no unit", "GET", "/explain/Nothing/default/low", 404),
    Bad("an explanation of what is not known", "GET", "/explain/Pod/default/nobody", 404),
    Bad("a decision that was never made", "GET", "/decisions/777", 404),
    Bad("a decision with an odd name", "GET", "/decisions/..%2f..%2fx", 404),
    Bad("too many decisions", "GET", "/decisions?limit=1000000", 400),
)


async def _everything(server: Running) -> dict[str, list[bytes]]:
    store = server.plane.store
    return {str(each): [record.raw for record in (await store.list(each)).records] for each in RESOURCES.values()}


def _send(http: httpx.Client, bad: Bad) -> httpx.Response:
    headers = {**bad.headers, **({"content-type": bad.content_type} if bad.body else {})}
    return http.request(bad.method, bad.path, content=bad.body, headers=headers)


def test_each_gets_the_right_status_and_changes_nothing(
    server: Running, http: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    server.fill()
    before = server.do(_everything(server))
    wrong: list[str] = []
    with caplog.at_level(logging.WARNING):
        for bad in BAD:
            answer = _send(http, bad)
            if answer.status_code != bad.want:
                wrong.append(f"{bad.name}: {answer.status_code} instead of {bad.want}: {answer.text[:200]}")
                continue
            body = answer.json()
            assert (body["kind"], body["status"], body["code"]) == ("Status", "Failure", bad.want), bad.name
            assert body["message"], bad.name
            assert "Traceback" not in answer.text, bad.name
            assert answer.headers["content-type"] == JSON, bad.name
    assert wrong == []
    assert [record.getMessage() for record in caplog.records] == []
    assert server.do(_everything(server)) == before


def test_a_method_that_is_not_allowed_says_which_are(http: httpx.Client) -> None:
    assert http.put(PODS, json={}).headers["allow"] == "GET, POST, DELETE"
    assert http.post("/version").headers["allow"] == "GET"
    assert http.put("/plan").headers["allow"] == "GET, POST"
    assert "PATCH" in http.options(PODS).headers["allow"]


def test_what_nobody_expected_is_logged_and_not_shown(
    server: Running, http: httpx.Client, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(server.plane, "metrics_registry")
    answer = http.get("/metrics")
    assert (answer.status_code, answer.json()["reason"]) == (500, "InternalError")
    assert "metrics_registry" not in answer.text
    assert "GET /metrics failed" in caplog.text


def test_yaml_is_taken_where_json_is(http: httpx.Client) -> None:
    spec = "{containers: [{name: a, resources: {requests: {cpu: 0.5}}}]}"
    text = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: y}}\nspec: {spec}\n"
    made = http.post(PODS, content=text, headers={"content-type": "application/yaml"})
    assert made.status_code == 201, made.text
    assert made.json()["spec"]["containers"][0]["resources"]["requests"] == {"cpu": 0.5}


def test_a_warning_names_unknown_fields(http: httpx.Client) -> None:
    made = http.post(f"{PODS}?fieldValidation=Warn&dryRun=All", json={**pod("w"), "speck": 1})
    assert made.status_code == 201
    assert made.headers["warning"].startswith('299 - "unknown field \\"speck\\"')
