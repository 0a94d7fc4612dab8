"""Which way a request goes: straight, or by the proxy that a kubeconfig file or the environment names."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import yaml

from reprieve.stores.errors import Unavailable
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
