"""Bodies that nobody would write, against the real server: it answers each, goes on, and can start again after them.

`REPRIEVE_FUZZ_SECONDS=3600` for an hour, `REPRIEVE_SEED` for other ones. What goes wrong is written down with its
request, and told in the end.
"""

from __future__ import annotations

import http.client
import json
import os
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote, urlencode

from reprieve.manifests.resource import Resource
from tests.cli.running import Running, until
from tests.hostile.attacking import Attacked
from tests.hostile.fuzzing import KINDS, NAMES, Bodies, Json

SECONDS = float(os.environ.get("REPRIEVE_FUZZ_SECONDS", "8"))
_LIVES = 4_000
"""Requests until it is killed and started over what it has accepted."""
_SLOW = 10.0
_OPTIONS = ("--agent", "hollow", "--nodes", "3", "--node-cpu", "4", "--node-memory", "8Gi")
_SETTINGS = """
featureGates: {GenericWorkload: true, PodGroupPreemptionPolicy: true, TopologyAwareWorkloadScheduling: true,
  PriorityBasedScheduling: true, PriorityBasedPreemptiveScheduling: true}
"""
Request = tuple[str, str, str, Json]


class Fuzz:
    """Requests one after the other over one connection, and what went wrong with them."""

    def __init__(self, directory: Path, seed: int) -> None:
        self._directory = directory
        self._random = Random(seed)  # noqa: S311
        (directory / "settings.yaml").write_text(_SETTINGS)
        self._start()
        self._bodies = Bodies(self._victim.get("/openapi.json"), self._random)
        self.answered: Counter[tuple[str, int]] = Counter()
        self.wrong: list[str] = []

    def _start(self) -> None:
        (self._directory / "data" / "server.json").unlink(missing_ok=True)
        config = str(self._directory / "settings.yaml")
        self._plane = Running(self._directory, *_OPTIONS, "--config", config)
        self._victim = Attacked(self._plane)
        until(lambda: self._victim.ask("GET", "/readyz")[0] == 200, seconds=300)
        self._connection = self._victim.connect(timeout=60)

    def run(self, seconds: float) -> None:
        end, number = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            number += 1
            self._ask(*self._request())
            if number % 100 == 0:
                self._look()
            if number % _LIVES == 0:
                self._live_again(anew=number % (4 * _LIVES) == 0)
        self._look()
        self._live_again(anew=False)

    def close(self) -> None:
        self._connection.close()
        self._victim.kill()

    # Asking

    def _request(self) -> Request:
        chance, resource = self._random.random(), self._random.choice(KINDS)
        if chance < 0.06:
            return self._question()
        body = self._bodies.body(resource)
        path = self._path(resource, body)
        named = f"{path}/{self._name_in(body)}"
        if chance < 0.45:
            return "POST", path, "application/json", body
        if chance < 0.58:
            return "PUT", named, "application/json", body
        if chance < 0.66:
            return "PUT", f"{named}/status", "application/json", body
        if chance < 0.82:
            media, patch = self._bodies.patch(resource)
            return "PATCH", named + self._random.choice(("", "", "/status")) + self._query(), media, patch
        if chance < 0.86:
            word = self._random.choice(("binding", "eviction"))
            body = self._bodies.bent({"target": {"kind": "Node", "name": "hollow-1"}, "metadata": {"name": "a"}})
            return "POST", f"/api/v1/namespaces/default/pods/{self._random.choice(NAMES)}/{word}", "", body
        if chance < 0.92:
            return "GET", self._random.choice((path, named)) + self._query(), "", None
        body = self._bodies.evil() if self._random.random() < 0.2 else None
        return "DELETE", named, "application/json", body

    def _question(self) -> Request:
        objects = [self._bodies.body(self._random.choice(KINDS)) for _ in range(self._random.randint(0, 4))]
        if self._random.random() < 0.7:
            whole: Json = {
                "manifests": objects,
                "for": self._random.choice(("", "Pod/default/a", "PodGroup/default/a")),
            }
            path = "/plan"
        else:
            whole, path = {"manifests": objects, "delete": ["Node//hollow-1"], "settings": []}, "/compare"
        return "POST", path, "application/json", self._bodies.bent(whole) if self._random.random() < 0.2 else whole

    def _path(self, resource: Resource, body: Json) -> str:
        versions = [resource.in_version(version) for version in resource.types]
        said = body.get("apiVersion") if isinstance(body, dict) else None
        api_version = said if said in versions else self._random.choice(versions)
        root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        return f"{root}/namespaces/default/{resource.plural}" if resource.namespaced else f"{root}/{resource.plural}"

    def _name_in(self, body: Json) -> str:
        """The name that a body has, where that can stand in a path."""
        metadata = body.get("metadata") if isinstance(body, dict) else None
        name = metadata.get("name") if isinstance(metadata, dict) else None
        return name if isinstance(name, str) and name.isalnum() and name.isascii() else self._random.choice(NAMES)

    def _query(self) -> str:
        words = ("labelSelector", "fieldSelector", "limit", "continue", "resourceVersion", "dryRun", "fieldManager")
        chosen = {self._random.choice(words): str(self._bodies.evil())[:500] for _ in range(self._random.randint(0, 2))}
        if chosen.get("resourceVersion", "").isdigit():
            chosen.pop("resourceVersion")  # one that is yet to come is answered with 504, as Kubernetes does
        return f"?{urlencode(chosen, quote_via=quote)}" if chosen else ""

    def _ask(self, method: str, path: str, media: str, body: Json) -> None:
        content = None if body is None else json.dumps(body).encode()
        began = time.monotonic()
        try:
            headers = self._victim.headers(**({"Content-Type": media} if media else {}))
            self._connection.request(method, path, content, headers)
            answer = self._connection.getresponse()
            said = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self._blame(f"{type(error).__name__}: {error}", method, path, body)
            self._connection.close()
            return
        self.answered[method, answer.status] += 1
        if answer.status >= 500 or (answer.status >= 400 and not _is_status(said)):
            self._blame(f"{answer.status} {said[:300]!r}", method, path, body)
        elif time.monotonic() - began > _SLOW:
            self._blame(f"took {time.monotonic() - began:.1f} s", method, path, body)

    # What else shows that something is wrong

    def _look(self) -> None:
        said = self._victim.warnings()
        if "Traceback" in said or "held up" in said:
            with (self._directory / "said").open("a") as file:
                file.write(said)
            self._blame(said[-3000:], "before", "", None)
            self._plane.errors.write_text("")

    def _live_again(self, *, anew: bool) -> None:
        self.close()
        if anew:
            (self._directory / "data" / "store.db").unlink()
            for more in ("-wal", "-shm"):
                (self._directory / "data" / f"store.db{more}").unlink(missing_ok=True)
        self._start()

    def _blame(self, what: str, method: str, path: str, body: Any) -> None:
        line = f"{what}\n    {method} {path} {json.dumps(body)}"
        with (self._directory / "wrong").open("a") as file:
            file.write(line + "\n")
        self.wrong.append(line[:4000])


def _is_status(said: bytes) -> bool:
    try:
        return bool(json.loads(said)["kind"] == "Status")
    except (ValueError, KeyError, TypeError):
        return False


def test_every_body_is_answered_and_harms_nobody(tmp_path: Path) -> None:
    fuzz = Fuzz(tmp_path, int(os.environ.get("REPRIEVE_SEED", "1")))
    try:
        fuzz.run(SECONDS)
    finally:
        fuzz.close()
    print(sum(fuzz.answered.values()), "requests:", dict(fuzz.answered))
    assert fuzz.wrong == [], f"{len(fuzz.wrong)} times:\n" + "\n".join(fuzz.wrong[:5])
    assert fuzz.answered["POST", 201] > 0, fuzz.answered
    assert fuzz.answered["PATCH", 200] > 0, fuzz.answered
