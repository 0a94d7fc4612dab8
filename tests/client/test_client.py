"""The client: what a server answers becomes data or an error, and nothing else."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from reprieve.client.applying import apply
from reprieve.client.connection import Client
from reprieve.client.errors import Refused, Unreachable
from reprieve.manifests.kinds import CONFIG_MAPS, JOBS, NODES, PODS
from reprieve.stores.api.paths import path_of
from tests.cli.running import HOLLOW, Running, running


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("client"), *HOLLOW) as plane:
        yield plane


@pytest.fixture
def client(plane: Running) -> Iterator[Client]:
    with plane.client() as client:
        yield client


def config(name: str, **data: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": data}


def test_objects_are_created_read_changed_and_deleted(client: Client) -> None:
    made = client.create(CONFIG_MAPS, config("a", x="1"), "default")
    assert made["metadata"]["uid"]
    changed = client.patch(CONFIG_MAPS, "a", "default", {"data": {"x": None, "y": "2"}})
    assert changed["data"] == client.get(CONFIG_MAPS, "a", "default")["data"] == {"y": "2"}
    assert [item["metadata"]["name"] for item in client.items(CONFIG_MAPS, "default")] == ["a"]
    client.delete(CONFIG_MAPS, "a", "default")
    assert client.find(CONFIG_MAPS, "a", "default") is None


def test_a_watch_tells_what_happens_after_a_list(client: Client) -> None:
    since = client.list(CONFIG_MAPS, "default")["metadata"]["resourceVersion"]
    client.create(CONFIG_MAPS, config("watched"), "default")
    client.delete(CONFIG_MAPS, "watched", "default")
    events = client.watch(CONFIG_MAPS, "default", since=since)
    kinds = [next(events)[0], next(events)[0]]
    events.close()  # type: ignore[attr-defined]
    assert kinds == ["ADDED", "DELETED"]


def test_a_table_has_headings_and_cells(client: Client) -> None:
    table = client.table(NODES)
    assert [each["name"] for each in table["columnDefinitions"]][:2] == ["Name", "Status"]
    assert [row["cells"][:2] for row in table["rows"]] == [["hollow-1", "Ready"], ["hollow-2", "Ready"]]


def test_a_refusal_has_the_words_and_the_code_of_the_server(client: Client) -> None:
    with pytest.raises(Refused, match='pods "nobody" not found') as caught:
        client.get(PODS, "nobody", "default")
    assert (caught.value.code, caught.value.not_found) == (404, True)
    client.create(CONFIG_MAPS, config("twice"), "default")
    with pytest.raises(Refused) as caught:
        client.create(CONFIG_MAPS, config("twice"), "default")
    assert caught.value.already_exists


def test_what_is_applied_at_the_same_moment_as_a_change_is_tried_again(plane: Running, client: Client) -> None:
    """Somebody writes between reading and writing: the version no longer fits, and the second try has seen it."""

    class Meddled(Client):
        meddle = True

        def find(self, *arguments: object, **options: object) -> dict[str, object] | None:
            found = super().find(*arguments, **options)  # type: ignore[arg-type]
            if found is not None and self.meddle:
                self.meddle = False
                client.patch(CONFIG_MAPS, "contested", "default", {"data": {"theirs": "1"}})
            return found

    apply(client, config("contested", ours="1"))
    with Meddled(client.url, plane.token()) as meddled:
        assert apply(meddled, config("contested", ours="2")).outcome == "configured"
    assert client.get(CONFIG_MAPS, "contested", "default")["data"] == {"ours": "2", "theirs": "1"}


def test_names_cannot_leave_their_path() -> None:
    assert path_of(PODS, "default", "../../nodes") == "/api/v1/namespaces/default/pods/..%2F..%2Fnodes"
    assert path_of(JOBS, "a", "b") == "/apis/batch/v1/namespaces/a/jobs/b"


def test_nobody_there_is_unreachable() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with Client(url) as client, pytest.raises(Unreachable, match="cannot be reached"):
            client.items(PODS)


def test_a_server_that_is_something_else_is_told_apart() -> None:
    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<html>hello</html>")

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Page) as other:
        thread = threading.Thread(target=other.handle_request)
        thread.start()
        url = f"http://127.0.0.1:{other.server_port}"
        with Client(url) as client, pytest.raises(Refused, match="none of a control plane"):
            client.items(PODS)
        thread.join()


def test_a_proxy_of_the_environment_is_not_asked_about_this_machine(
    plane: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with plane.client() as client:
        assert len(client.items(NODES)) == 2
