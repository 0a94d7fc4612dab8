"""The proxy passes on what it is given, and makes go wrong exactly what it was told to."""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from tests.kube.access import Access
from tests.kube.client import KubeClient, Refused
from tests.kube.faults import Answer, Cut, Delay, Request, WatchError, matching
from tests.kube.proxy import FaultyProxy

PODS = "/api/v1/namespaces/lab/pods"


class Echo(BaseHTTPRequestHandler):
    """Says who asked for what; a watch says one thing and then nothing more."""

    protocol_version = "HTTP/1.1"
    seen: list[str] = []

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        self.seen.append(f"{self.command} {self.path}")
        body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
        told = {
            "user": self.headers.get("x-remote-user"),
            "groups": self.headers.get_all("x-remote-group"),
            "body": body,
        }
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self._chunk(json.dumps(told).encode() + b"\n")
        if "watch=true" in self.path:
            self.rfile.read(1)
        self._chunk(b"")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def log_message(self, *_: object) -> None:
        pass


class EchoServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A connection that breaks is what is wanted."""


@pytest.fixture
def access(tmp_path: Path) -> Access:
    return Access(tmp_path, "")


@pytest.fixture
def proxy(access: Access) -> Iterator[FaultyProxy]:
    Echo.seen = []
    mine = access.certificate("server")
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(access.front_authority))
    tls.load_cert_chain(mine.certificate, mine.key)
    tls.verify_mode = ssl.CERT_REQUIRED
    with EchoServer(("127.0.0.1", 0), Echo) as server:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        with FaultyProxy(access, f"https://127.0.0.1:{server.server_port}") as between:
            yield between
        server.shutdown()
        thread.join()


@pytest.fixture
def client(access: Access, proxy: FaultyProxy) -> Iterator[KubeClient]:
    with access.client("ada", ["lab", "readers"], server=proxy.url) as found:
        yield found


def test_who_asks_and_what_is_sent_reach_the_server(client: KubeClient) -> None:
    forged = {"X-Remote-User": "admin", "X-Remote-Group": "system:masters"}
    for body in ("", "one", "x" * 300_000):
        told = client.request("POST", PODS, content=body, headers=forged)
        assert told == {"user": "ada", "groups": ["lab", "readers"], "body": body}


@pytest.mark.parametrize("code", [409, 410, 429, 500, 503])
def test_it_answers_in_place_of_the_server_as_often_as_it_was_told(
    client: KubeClient, proxy: FaultyProxy, code: int
) -> None:
    injection = proxy.inject(Answer(code, retry_after=7), matching(verb="create", path="/pods$"), times=2)
    assert client.request("GET", PODS)["user"] == "ada"
    for _ in range(2):
        with pytest.raises(Refused) as refused:
            client.request("POST", PODS)
        assert refused.value.code == code
        assert refused.value.reason != "Unknown"
    assert client.request("POST", PODS)["user"] == "ada"
    assert [request.verb for request in injection.hits] == ["create", "create"]
    assert Echo.seen == [f"GET {PODS}", f"POST {PODS}"]


def test_it_says_when_to_come_again(client: KubeClient, proxy: FaultyProxy) -> None:
    proxy.inject(Answer(429, retry_after=7))
    assert client.http.get(PODS).headers["retry-after"] == "7"


@pytest.mark.parametrize(("fault", "heard"), [(Cut(), []), (Cut(done=True), [f"POST {PODS}"])])
def test_a_connection_breaks_before_or_after_the_server_did_it(
    client: KubeClient, proxy: FaultyProxy, fault: Cut, heard: list[str]
) -> None:
    proxy.inject(fault)
    with pytest.raises(httpx.TransportError):
        client.request("POST", PODS)
    assert Echo.seen == heard
    assert client.request("GET", PODS)["user"] == "ada"


def test_delays_add_up_and_then_the_rest_happens(client: KubeClient, proxy: FaultyProxy) -> None:
    proxy.inject(Delay(0.1))
    proxy.inject(Answer(503))
    proxy.inject(Delay(0.2))
    begun = time.monotonic()
    assert client.http.get(PODS).status_code == 503
    assert time.monotonic() - begun >= 0.3


def test_who_waits_no_longer_leaves_nothing_behind(client: KubeClient, proxy: FaultyProxy) -> None:
    injection = proxy.inject(Delay(3600), times=None)
    with pytest.raises(httpx.ReadTimeout):
        client.http.get(PODS, timeout=0.1)
    proxy.take_back(injection)
    assert client.request("GET", PODS)["user"] == "ada"
    assert Echo.seen == [f"GET {PODS}"]


def test_watches_are_cut_and_others_are_not(client: KubeClient, proxy: FaultyProxy) -> None:
    client.request("GET", PODS)
    with client.http.stream("GET", f"{PODS}?watch=true") as watch:
        lines = watch.iter_lines()
        assert json.loads(next(lines))["user"] == "ada"
        assert proxy.cut_watches("/nodes$") == 0
        assert proxy.cut_watches("/pods$") == 1
        with pytest.raises(httpx.TransportError):
            next(lines)
    assert proxy.cut_watches() == 0


def test_all_connections_are_cut(client: KubeClient, proxy: FaultyProxy) -> None:
    client.request("GET", PODS)
    assert proxy.cut_all() == 1


def test_a_watch_begins_with_an_error(client: KubeClient, proxy: FaultyProxy) -> None:
    proxy.inject(WatchError(), matching(verb="watch"))
    with client.http.stream("GET", f"{PODS}?watch=true") as watch:
        (event,) = [json.loads(line) for line in watch.iter_lines()]
    assert (watch.status_code, event["type"], event["object"]["code"]) == (200, "ERROR", 410)
    assert Echo.seen == []


def test_requests_are_counted_by_verb_path_and_user(client: KubeClient, proxy: FaultyProxy) -> None:
    client.request("GET", PODS)
    client.request("POST", PODS)
    client.request("GET", f"{PODS}/one")
    assert proxy.counts() == {("list", PODS): 1, ("create", PODS): 1, ("get", f"{PODS}/one"): 1}
    assert (proxy.count(), proxy.count(verb="create"), proxy.count(path="one"), proxy.count(user="eve")) == (3, 1, 1, 0)


@pytest.mark.parametrize(
    ("method", "target", "verb"),
    [
        ("GET", "/api/v1/pods", "list"),
        ("GET", "/api/v1/namespaces", "list"),
        ("GET", "/api/v1/namespaces/lab", "get"),
        ("GET", "/api/v1/namespaces/lab/pods?limit=500", "list"),
        ("GET", "/api/v1/pods?watch=1", "watch"),
        ("GET", "/apis/apps/v1/namespaces/lab/deployments/web", "get"),
        ("GET", "/readyz", "get"),
        ("POST", "/api/v1/namespaces/lab/pods/one/binding", "create"),
        ("PUT", "/api/v1/nodes/a", "update"),
        ("PATCH", "/api/v1/namespaces/lab/pods/one/status", "patch"),
        ("DELETE", "/api/v1/namespaces/lab/pods/one", "delete"),
        ("DELETE", "/api/v1/namespaces/lab/pods", "deletecollection"),
        ("DELETE", "/api/v1/namespaces/lab", "delete"),
    ],
)
def test_verbs_are_those_of_kubernetes(method: str, target: str, verb: str) -> None:
    assert Request(method, target).verb == verb
