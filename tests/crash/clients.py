"""Clients of a control plane that is going to be killed: they speak HTTP, and know nothing but what it answers."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from reprieve.manifests.resource import Resource
from reprieve.stores.api.paths import path_of
from reprieve.stores.errors import AlreadyExists, Conflict, NotFound
from reprieve.stores.records import Listing, Record
from tests.crash.load import Diary, Load
from tests.planes.running import Dict

_EXPECTED = {"AlreadyExists": AlreadyExists, "Conflict": Conflict, "NotFound": NotFound}
_PATIENCE = 30.0


class Gone(Exception):
    """The server does not answer any more: it has been killed."""


class Unexpected(AssertionError):
    """An answer that nobody has to expect of a server that works."""


class Api:
    """Objects over HTTP, with the words of a store. `acknowledged`: so many changes were answered with success."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        self._connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=_PATIENCE)
        self._token = token
        self.acknowledged = 0

    def close(self) -> None:
        self._connection.close()

    def ask(self, method: str, path: str, body: Any = None, media: str = "application/json") -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {self._token}", **({"Content-Type": media} if body is not None else {})}
        content = msgspec.json.encode(body) if body is not None else None
        try:
            self._connection.request(method, path, content, headers)
            answer = self._connection.getresponse()
            said = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise Gone(str(error)) from error
        if method != "GET" and answer.status < 300:
            self.acknowledged += 1
        return answer.status, json.loads(said) if said[:1] in (b"{", b"[") else said.decode()

    def _done(self, method: str, path: str, body: Any = None, media: str = "application/json") -> Any:
        status, said = self.ask(method, path, body, media)
        if status < 300:
            return said
        reason = said.get("reason", "") if isinstance(said, dict) else ""
        raise _EXPECTED.get(reason, Unexpected)(f"{method} {path}: {status} {said}")

    async def list(self, resource: Resource) -> Listing:
        found = self._done("GET", path_of(resource))
        version = int(found["metadata"]["resourceVersion"])
        return Listing([_record(resource, item) for item in found["items"]], version)

    async def get(self, resource: Resource, name: str, namespace: str = "") -> Record:
        return _record(resource, self._done("GET", path_of(resource, namespace, name)))

    async def create(self, resource: Resource, data: Dict) -> Record:
        namespace = data["metadata"].get("namespace", "")
        version = data["apiVersion"].rpartition("/")[2]
        return _record(resource, self._done("POST", path_of(resource, namespace, version=version), data))

    async def delete(self, resource: Resource, name: str, namespace: str = "") -> Any:
        return self._done("DELETE", f"{path_of(resource, namespace, name)}?propagationPolicy=Background")

    async def patch(
        self, resource: Resource, name: str, namespace: str, patch: Dict, *, version: int | None = None
    ) -> Record:
        whole = {**patch, "metadata": {"resourceVersion": str(version)}} if version is not None else patch
        done = self._done("PATCH", path_of(resource, namespace, name), whole, "application/merge-patch+json")
        return _record(resource, done)


def _record(resource: Resource, data: Dict) -> Record:
    whole = {"apiVersion": resource.api_version, "kind": resource.kind, **data}
    metadata = data["metadata"]
    return Record(
        resource,
        msgspec.json.encode(whole),
        namespace=metadata.get("namespace", ""),
        name=metadata["name"],
        uid=metadata["uid"],
        version=int(metadata["resourceVersion"]),
    )


class Client(threading.Thread):
    """Makes load until the server is gone; what else ends it is a mistake."""

    def __init__(self, url: str, token: str, diary: Path, seed: int) -> None:
        super().__init__(daemon=True)
        self.api, self.mistake = Api(url, token), ""
        self._diary, self._seed = diary, seed

    def run(self) -> None:
        diary = Diary(self._diary)
        try:
            asyncio.run(self._load(diary))
        except Gone:
            return
        except BaseException as error:
            self.mistake = f"{type(error).__name__}: {error}"
        finally:
            diary.close()
            self.api.close()

    async def _load(self, diary: Diary) -> None:
        load = Load(self.api, diary, self._seed)
        await load.begin()
        await load.run()


def after_events(url: str, token: str, resource: Resource, number: int, seconds: float) -> None:
    """Wait until a watch of a kind has told of so many changes, or until so much time has passed."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=seconds)
    try:
        path = f"{path_of(resource)}?watch=true&timeoutSeconds={int(seconds) + 1}"
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        for _ in range(number):
            if not answer.readline():
                return
    except TimeoutError:
        return
    finally:
        connection.close()
