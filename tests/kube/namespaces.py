"""A namespace for each test."""

from __future__ import annotations

from uuid import uuid4

import httpx

from tests.kube.client import KubeClient, Refused


def make_namespace(admin: KubeClient, name: str = "") -> str:
    """With the service account that pods need: where controllers run they make it, too, only later."""
    name = name or f"test-{uuid4().hex[:8]}"
    admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
    try:
        admin.create(account, name)
    except Refused as refused:
        if refused.code != httpx.codes.CONFLICT:
            raise
    return name


def remove_namespace(admin: KubeClient, name: str) -> None:
    """Its pods at once; the rest is left to the controller of namespaces, where there is one."""
    admin.delete("v1", "Namespace", name)
    admin.request("DELETE", admin.path("v1", "Pod", name), params={"gracePeriodSeconds": 0})
