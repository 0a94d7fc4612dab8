"""Who is let in, and where a server may listen."""

from __future__ import annotations

import asyncio
import signal
import socket

import httpx
import pytest

from reprieve.server import AddressInUse, Plane, TokenRequired, create_app, serve
from reprieve.server.guard import is_loopback
from tests.server.planes import Running, TestPlane, pod, running

EVERYWHERE = "0.0.0.0"  # noqa: S104 - what is tested is that it is refused
TOKEN = "s3cret"  # noqa: S105
PODS = "/api/v1/namespaces/default/pods"


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.9.9.9", "::1", "a.localhost", "LOCALHOST"])
def test_this_machine(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host", ["", EVERYWHERE, "::", "10.0.0.1", "example.com", "localhost.example.com", "127.0.0.1.nip"]
)
def test_other_machines(host: str) -> None:
    assert not is_loopback(host)


@pytest.mark.parametrize("host", ["localhost:8080", "127.0.0.1", "[::1]:9"])
def test_names_of_this_machine_are_served(http: httpx.Client, host: str) -> None:
    assert http.get(PODS, headers={"host": host}).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "10.1.2.3", "localhost.evil.example", "[x", ""])
def test_a_name_that_was_made_to_point_here_is_not_served(http: httpx.Client, host: str) -> None:
    answer = http.post(PODS, json=pod("a"), headers={"host": host})
    assert (answer.status_code, answer.json()["reason"]) == (403, "Forbidden")
    assert http.get(PODS).json()["items"] == []


def test_a_page_of_another_site_is_not_served(http: httpx.Client) -> None:
    refused = http.post(PODS, content=b"{}", headers={"origin": "https://evil.example"})
    assert refused.status_code == 403
    assert http.post(PODS, content=b"{}", headers={"origin": "null"}).status_code == 403
    assert http.get(PODS, headers={"origin": "http://localhost:3000"}).status_code == 403


def test_with_a_token_only_those_who_have_it() -> None:
    with running(token=TOKEN) as server, httpx.Client(base_url=server.url) as http:
        for given in (
            {},
            {"authorization": "Bearer wrong"},
            {"authorization": "Basic s3cret"},
            {"authorization": "s3cret"},
        ):
            answer = http.get(PODS, headers=given)
            assert (answer.status_code, answer.json()["reason"]) == (401, "Unauthorized")
            assert answer.headers["www-authenticate"] == "Bearer"
        assert http.get("/metrics").status_code == 401
        assert http.get("/healthz").status_code == 200
        good = {"authorization": "Bearer s3cret"}
        assert http.get(PODS, headers=good).status_code == 200
        assert http.get(PODS, headers={**good, "host": "cluster.example"}).status_code == 200


def _plane_and(work: object) -> None:
    async def main() -> None:
        plane = TestPlane()
        typed: Plane = plane
        try:
            await work(typed)  # type: ignore[operator]
        finally:
            plane.close()

    asyncio.run(main())


def test_an_open_address_needs_a_token() -> None:
    async def listen(plane: Plane) -> None:
        with pytest.raises(TokenRequired, match="a token is required"):
            await serve(create_app(plane), EVERYWHERE, 0)
        serving = await serve(create_app(plane, token=TOKEN), EVERYWHERE, 0)
        assert serving.url == f"http://127.0.0.1:{serving.port}"
        await serving.stop()

    _plane_and(listen)


def test_an_address_in_use_is_said_clearly() -> None:
    async def listen(plane: Plane) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            with pytest.raises(AddressInUse, match=f"127.0.0.1:{port} is in use by another program"):
                await serve(create_app(plane), "127.0.0.1", port)
        with pytest.raises(AddressInUse, match="cannot listen on"):
            await serve(create_app(plane, token=TOKEN), "192.0.2.1", 0)

    _plane_and(listen)


def test_a_port_can_be_used_again_after_a_stop() -> None:
    async def listen(plane: Plane) -> None:
        first = await serve(create_app(plane), port=0)
        await first.stop()
        second = await serve(create_app(plane), port=first.port)
        async with httpx.AsyncClient() as http:
            assert (await http.get(f"{second.url}/healthz")).text == "ok"
        await second.stop()
        await second.wait()

    _plane_and(listen)


def test_signals_stay_with_the_program() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)

    async def listen(plane: Plane) -> None:
        serving = await serve(create_app(plane))
        # asyncio.run has its own handler for SIGINT; uvicorn would have taken both.
        assert signal.getsignal(signal.SIGTERM) == before[1]
        await serving.stop()

    _plane_and(listen)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_ipv6(server: Running) -> None:
    if not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    with running(host="::1") as other, httpx.Client(base_url=other.url) as http:
        assert http.get("/healthz").text == "ok"
    assert server.url != other.url
