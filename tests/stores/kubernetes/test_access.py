"""Which way a request goes, straight or by a proxy that is named somewhere; and tokens that a program gives."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
import yaml

from reprieve.stores.errors import Unauthorized, Unavailable
from reprieve.stores.kubernetes import access as module
from reprieve.stores.kubernetes.access import open_access
from reprieve.stores.kubernetes.rate_limit import RateLimit
from reprieve.stores.kubernetes.requests import Requests

SERVER = "https://cluster.invalid:6443"


@pytest.fixture(autouse=True)
def no_other_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def kubeconfig(directory: Path) -> Path:
    whole = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": SERVER}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    place = directory / "kubeconfig"
    place.write_text(yaml.safe_dump(whole))
    return place


async def asked_of_a_proxy(file: Path, name_it: pytest.MonkeyPatch | None = None) -> list[str]:
    """What a proxy on loopback is asked for by two requests; it refuses. `name_it`: the environment names it."""
    asked: list[str] = []

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await reader.readline()).decode().strip())
        writer.write(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    proxy = await asyncio.start_server(refuse, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{proxy.sockets[0].getsockname()[1]}"
    if name_it is not None:
        name_it.setenv("https_proxy", address)
    else:
        whole = yaml.safe_load(file.read_text())
        whole["clusters"][0]["cluster"]["proxy-url"] = address
        file.write_text(yaml.safe_dump(whole))
    requests = Requests(await open_access(file), RateLimit(0, 1))
    try:
        for _ in range(2):
            with pytest.raises(Unavailable):
                await requests.send("GET", "/version")
    finally:
        await requests.close()
        proxy.close()
    return asked


CONNECT = "CONNECT cluster.invalid:6443 HTTP/1.1"


def test_the_proxy_of_the_environment_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert asyncio.run(asked_of_a_proxy(kubeconfig(tmp_path), monkeypatch)) == [CONNECT, CONNECT]


def test_the_proxy_of_a_kubeconfig_file_goes_before_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:1")
    assert asyncio.run(asked_of_a_proxy(kubeconfig(tmp_path))) == [CONNECT, CONNECT]


def test_what_no_proxy_names_is_reached_straight(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "cluster.invalid")
    assert asyncio.run(asked_of_a_proxy(kubeconfig(tmp_path), monkeypatch)) == []


# Tokens of a program

_EXEC = "client.authentication.k8s.io/v1"
_NONE = ""


class Program:
    """A program that gives one token after the other; `_NONE` is one that it cannot give."""

    def __init__(self, directory: Path, tokens: list[str], good_until: str) -> None:
        self._count = directory / "count"
        self._count.write_text("0")
        for number, token in enumerate(tokens):
            status = {"token": token, "expirationTimestamp": good_until}
            credential = {"apiVersion": _EXEC, "kind": "ExecCredential", "status": status}
            (directory / f"{number}.json").write_text("" if token == _NONE else json.dumps(credential))
        program = directory / "plugin"
        steps = f'read n < "{self._count}"; echo $((n + 1)) > "{self._count}"'
        program.write_text(f'#!/bin/sh\n{steps}; test -s "{directory}/$n.json" && cat "{directory}/$n.json"\n')
        program.chmod(0o755)
        self.kubeconfig = kubeconfig(directory)
        whole = yaml.safe_load(self.kubeconfig.read_text())
        whole["users"][0]["user"] = {"exec": {"apiVersion": _EXEC, "command": str(program), "interactiveMode": "Never"}}
        self.kubeconfig.write_text(yaml.safe_dump(whole))

    def at(self, server: str) -> Path:
        whole = yaml.safe_load(self.kubeconfig.read_text())
        whole["clusters"][0]["cluster"] = {"server": server}
        self.kubeconfig.write_text(yaml.safe_dump(whole))
        return self.kubeconfig


def test_a_program_that_fails_once_is_asked_for_the_next_token_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may need a network that was away for a moment; the token that it gave before ends some day."""
    monkeypatch.setattr(module, "_REFRESH_SECONDS", 0.05)
    monkeypatch.setattr(module, "_PATIENCE", 0.01, raising=False)
    program = Program(tmp_path, ["first", _NONE, "third", *["last"] * 200], good_until="2020-01-01T00:00:00Z")

    async def main() -> None:
        access = await open_access(program.kubeconfig)
        assert await access.headers() == {"Authorization": "Bearer first"}
        async with asyncio.timeout(20):
            while await access.headers() == {"Authorization": "Bearer first"}:
                await asyncio.sleep(0.01)
        await access.close()

    asyncio.run(main())


def test_a_token_that_the_server_does_not_take_any_more_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long the program said that it would be good."""
    monkeypatch.setattr(module, "_PATIENCE", 0.01, raising=False)
    program = Program(tmp_path, ["revoked", "good"], good_until="2999-01-01T00:00:00Z")

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        writer.write(b"HTTP/1.1 %s\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}" % _code(head))
        await writer.drain()
        writer.close()

    async def main() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        requests = Requests(await open_access(program.at(address)), RateLimit(0, 1))
        with pytest.raises(Unauthorized):
            await requests.send("GET", "/api")
        async with asyncio.timeout(20):
            while not await _answered(requests):
                await asyncio.sleep(0.01)
        await requests.close()
        server.close()

    asyncio.run(main())


def _code(head: str) -> bytes:
    return b"200 OK" if "Authorization: Bearer good" in head else b"401 Unauthorized"


async def _answered(requests: Requests) -> bool:
    try:
        return await requests.send("GET", "/api") == b"{}"
    except Unauthorized:
        return False
