"""The kinds that Kueue and Karmada bring to a cluster, from their own definitions."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from reprieve.manifests.kinds import CLUSTERS, RESOURCES
from tests.cli.running import until
from tests.kube.client import KubeClient
from tests.kube.definitions import definition
from tests.kube.programs import HINT
from tools.kube.provide import DEFINITIONS, provided_definitions

_API = "apiextensions.k8s.io/v1"
_KIND = "CustomResourceDefinition"


@contextmanager
def kinds_of_others(admin: KubeClient) -> Iterator[None]:
    """The server has those of their kinds that Reprieve reads, until the end."""
    made = [*_read(_folder()), _clusters()]
    try:
        for each in made:
            admin.create(each)
        for each in made:
            until(partial(_is_established, admin, each["metadata"]["name"]))
        yield
    finally:
        names = [each["metadata"]["name"] for each in made if admin.find(_API, _KIND, each["metadata"]["name"])]
        for name in names:
            admin.delete(_API, _KIND, name)
        for name in names:
            until(lambda: admin.find(_API, _KIND, name) is None)  # noqa: B023 - called at once


def _folder() -> Path:
    found = provided_definitions()
    if found is None:
        reason = f"the definitions of {' and '.join(each.name for each in DEFINITIONS)} are not there: {HINT}"
        if os.environ.get("REPRIEVE_REQUIRE_KUBE") == "1":
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    return found


def _read(folder: Path) -> Iterator[dict[str, Any]]:
    for resource in RESOURCES.values():
        for file in folder.glob(f"*/{resource.group}_{resource.plural}.yaml"):
            yield _alone(yaml.load(file.read_text(), yaml.CSafeLoader))


def _alone(found: dict[str, Any]) -> dict[str, Any]:
    """A definition for a server without its project's programs.

    Several versions of a kind need a webhook that converts them. Nobody runs it here, so only the version is served
    that is stored. What the schema says of it stays: what it does not know is dropped, what it demands is demanded.
    """
    stored = [version for version in found["spec"]["versions"] if version["storage"]]
    spec = {**found["spec"], "versions": stored, "conversion": {"strategy": "None"}}
    return {**found, "spec": spec, "status": None}


def _clusters() -> dict[str, Any]:
    """Karmada serves its clusters by an API server of its own, so there is no definition of them: this takes any."""
    made = definition(CLUSTERS)
    made["spec"]["versions"][0]["subresources"] = {"status": {}}
    return made


def _is_established(admin: KubeClient, name: str) -> bool:
    conditions = admin.get(_API, _KIND, name).get("status", {}).get("conditions") or ()
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)
