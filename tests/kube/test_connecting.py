"""Every way in that a kubeconfig can name, on a real API server, and a sentence for every way that leads nowhere."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from reprieve.kubernetes_plane import open_store
from reprieve.stores.errors import Unauthorized, Unavailable
from reprieve.stores.kubernetes.access import NoAccess, open_access
from reprieve.stores.kubernetes.rate_limit import RateLimit
from reprieve.stores.kubernetes.requests import Requests
from tests.kube.client import KubeClient
from tests.kube.cluster import Cluster

REVIEW = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


def who_am_i(kubeconfig: Path | None, context: str | None = None) -> str:
    """As whom the server knows us."""

    async def main() -> str:
        access = await open_access(kubeconfig, context)
        requests = Requests(access, RateLimit(0, 1))
        try:
            asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
            answer = msgspec.json.decode(await requests.send("POST", REVIEW, body=json.dumps(asked).encode()))
        finally:
            await requests.close()
        return str(answer["status"]["userInfo"]["username"])

    return asyncio.run(main())


class Config:
    """A kubeconfig file with one user, whose credentials a test gives."""

    def __init__(self, kube: Cluster, directory: Path) -> None:
        self._cluster = {"server": kube.url, "certificate-authority": str(kube.access.authority)}
        self._directory = directory

    def write(self, user: dict[str, Any], name: str = "one", **cluster: Any) -> Path:
        place = self._directory / f"{name}.kubeconfig"
        context = {"name": name, "context": {"cluster": name, "user": name}}
        whole = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": {**self._cluster, **cluster}}],
            "users": [{"name": name, "user": user}],
            "contexts": [context],
            "current-context": name,
        }
        place.write_text(yaml.safe_dump(whole))
        return place


@pytest.fixture
def config(kube: Cluster, tmp_path: Path) -> Config:
    return Config(kube, tmp_path)


@pytest.fixture
def token(admin: KubeClient, namespace: str) -> str:
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/default/token"
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    return str(admin.request("POST", path, json=asked)["status"]["token"])


def test_certificates(kube: Cluster) -> None:
    assert who_am_i(kube.kubeconfig("ada", ["lab"])) == "ada"


def test_a_token(config: Config, token: str, namespace: str) -> None:
    assert who_am_i(config.write({"token": token})) == f"system:serviceaccount:{namespace}:default"


def test_a_token_file(config: Config, token: str, namespace: str, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(token + "\n")
    for written in (str(tmp_path / "token"), "token"):
        assert who_am_i(config.write({"tokenFile": written})) == f"system:serviceaccount:{namespace}:default"


def test_a_token_file_is_read_anew(config: Config, tmp_path: Path) -> None:
    """Tokens of service accounts are renewed where they lie."""
    place = tmp_path / "token"
    place.write_text("first")

    async def main() -> list[str]:
        access = await open_access(config.write({"tokenFile": str(place)}))
        found = [(await access.headers())["Authorization"]]
        place.write_text("second\n")
        found.append((await access.headers())["Authorization"])
        await access.close()
        return found

    assert asyncio.run(main()) == ["Bearer first", "Bearer second"]


def test_as_a_pod_in_the_cluster(
    kube: Cluster, token: str, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pod finds the server in its environment, and its account in files; only where these lie is different here."""
    from kubernetes_asyncio.config import incluster_config

    (tmp_path / "token").write_text(token)
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(kube.access.authority))
    host, _, port = kube.url.removeprefix("https://").rpartition(":")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)
    monkeypatch.delenv("KUBECONFIG", raising=False)
    assert who_am_i(None) == f"system:serviceaccount:{namespace}:default"
    (tmp_path / "token").write_text("")
    with pytest.raises(NoAccess, match="this is a pod, but its service account cannot be used: Token file exists"):
        who_am_i(None)


def test_a_program_that_gives_credentials(config: Config, token: str, namespace: str, tmp_path: Path) -> None:
    credential = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": token}}
    (tmp_path / "credential.json").write_text(json.dumps(credential))
    program = tmp_path / "plugin"
    program.write_text(f'#!/bin/sh\ntest -n "$SAID" && cat "{tmp_path}/$1"\n')
    program.chmod(0o755)
    said = {"apiVersion": "client.authentication.k8s.io/v1", "command": str(program), "args": ["credential.json"]}
    user = {"exec": {**said, "env": [{"name": "SAID", "value": "yes"}], "interactiveMode": "Never"}}
    assert who_am_i(config.write(user)) == f"system:serviceaccount:{namespace}:default"


def test_a_program_that_fails_is_said_to_fail(config: Config) -> None:
    said = {"apiVersion": "client.authentication.k8s.io/v1", "command": "/bin/false"}
    with pytest.raises(NoAccess, match="cannot be used"):
        who_am_i(config.write({"exec": {**said, "interactiveMode": "Never"}}))


def test_a_program_that_is_not_there_is_said_not_to_be(config: Config) -> None:
    said = {"apiVersion": "client.authentication.k8s.io/v1", "command": "/nowhere/plugin", "interactiveMode": "Never"}
    with pytest.raises(NoAccess, match="nowhere/plugin"):
        who_am_i(config.write({"exec": said}))


def test_contexts_of_several_files(
    kube: Cluster, config: Config, token: str, namespace: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    files = [config.write({"token": token}, "one"), tmp_path / "missing", kube.kubeconfig("ada", ["lab"])]
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(map(str, files)))
    account = f"system:serviceaccount:{namespace}:default"
    assert [who_am_i(None), who_am_i(None, "one"), who_am_i(None, "test")] == [account, account, "ada"]
    with pytest.raises(NoAccess, match="context 'nowhere' of"):
        who_am_i(None, "nowhere")


def test_a_wrong_authority_is_not_trusted(kube: Cluster, config: Config, token: str) -> None:
    other = config.write({"token": token}, **{"certificate-authority": str(kube.access.front_authority)})
    with pytest.raises(Unavailable, match=r"certificate"):
        who_am_i(other)


def test_a_wrong_token_is_refused(config: Config) -> None:
    with pytest.raises(Unauthorized):
        who_am_i(config.write({"token": "nobody"}))


def test_the_name_of_the_server_can_be_said(config: Config, token: str) -> None:
    assert who_am_i(config.write({"token": token}, **{"tls-server-name": "localhost"}))
    with pytest.raises(Unavailable, match="certificate"):
        who_am_i(config.write({"token": token}, **{"tls-server-name": "elsewhere.example"}))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "cannot be used"),
        ("a: [", "cannot be used"),
        ("[]", "cannot be used"),
        ("just a text", "cannot be used"),
        ("clusters: []\ncontexts: []\nusers: []\ncurrent-context: one\n", "cannot be used"),
    ],
)
def test_a_file_that_says_nothing_useful(tmp_path: Path, text: str, said: str) -> None:
    place = tmp_path / "config"
    place.write_text(text)
    with pytest.raises(NoAccess, match=said):
        who_am_i(place)


def test_no_file_at_all(tmp_path: Path) -> None:
    with pytest.raises(NoAccess, match=r"there is no kubeconfig file .*name one with --kubeconfig"):
        who_am_i(tmp_path / "nowhere")


def test_certificates_that_are_not_there(config: Config, tmp_path: Path) -> None:
    user = {"client-certificate": str(tmp_path / "a.crt"), "client-key": str(tmp_path / "a.key")}
    with pytest.raises(NoAccess, match=r"a\.crt"):
        who_am_i(config.write(user))


def test_a_server_that_is_not_there(config: Config) -> None:
    async def main() -> None:
        async with open_store(str(config.write({"token": "x"}, server="https://127.0.0.1:1"))) as store:
            await store.discovery.look_again()

    with pytest.raises(Unavailable, match=r"https://127\.0\.0\.1:1 cannot be reached"):
        asyncio.run(main())


def test_run_says_which_extra_is_missing(tmp_path: Path) -> None:
    """As on a machine where only `pip install reprieve` was done."""
    (tmp_path / "kubernetes_asyncio.py").write_text("raise ImportError('not installed')\n")
    program = Path(sys.executable).with_name("reprieve")
    done = subprocess.run(
        [program, "run", "--kubeconfig", str(tmp_path / "x")],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "talking to a Kubernetes API server needs an extra: pip install 'reprieve[kubernetes]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_run_says_what_is_wrong_with_timings(tmp_path: Path) -> None:
    program = Path(sys.executable).with_name("reprieve")
    options = ["--leader-elect-lease-duration", "5", "--leader-elect-renew-deadline", "6"]
    done = subprocess.run(
        [program, "run", *options], capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path
    )
    assert done.returncode == 2
    assert "--leader-elect-renew-deadline 6 < --leader-elect-lease-duration 5 has to hold" in done.stderr
