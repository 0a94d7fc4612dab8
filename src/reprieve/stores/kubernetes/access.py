"""Where the API server is, and who we are to it: kubeconfig files, contexts, in-cluster accounts, tokens, certificates.

All of this is kubernetes_asyncio's work. Only its models are left alone: they take 80 times as long as reading the same
bytes into the types that decisions are made over.
"""

import asyncio
import logging
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import yaml

from reprieve.manifests.problems import ReprieveError

_log = logging.getLogger(__name__)

EXTRA = "kubernetes"
_IN_CLUSTER = "KUBERNETES_SERVICE_HOST"
_REFRESH_SECONDS = 60.0
"""How often it is looked whether a token ends soon."""
_PATIENCE = 5.0
"""Seconds between two tokens, however often the first one was refused."""
_GOODBYE_SECONDS = 0.05
_LARGEST = 2**21
"""Bytes of an object in a watch, and more: etcd takes 1.5 MiB."""


class NoAccess(ReprieveError):
    """It is not known where the API server is, or how to say who we are."""


class Renewal:
    """A token that a program gives (`exec`). It is asked for the next one before that ends, and when the server does
    not take it any more; a program that fails is asked again."""

    def __init__(self, loader: Any, configuration: Any) -> None:
        self._loader = loader
        self._configuration = configuration
        self._refused = asyncio.Event()
        self._task = asyncio.create_task(self._keep_fresh(), name="renew the token")

    def refused(self) -> None:
        """The server does not know who that is."""
        self._refused.set()

    async def _keep_fresh(self) -> None:
        while True:
            await asyncio.sleep(_PATIENCE)
            with suppress(TimeoutError):
                async with asyncio.timeout(_REFRESH_SECONDS):
                    await self._refused.wait()
            if self._refused.is_set():  # whatever was said of how long it is good for
                vars(self._loader).pop("exec_plugin_expiry", None)
                self._refused.clear()
            try:
                await self._loader.load_from_exec_plugin()
            except Exception as error:
                _log.warning("there is no new token, and it is asked for again: %s", error)
            else:
                if hasattr(self._loader, "token"):  # else it gives certificates
                    self._configuration.api_key["BearerToken"] = self._loader.token

    async def close(self) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await self._task


class Access(NamedTuple):
    """A way to one API server. `session` is aiohttp's, with certificates, proxies and TLS set up."""

    host: str
    context: str
    session: Any
    configuration: Any
    server_name: str | None
    renewal: Renewal | None = None
    namespace: str = ""
    """Where the context means its user to be; empty: it does not say."""
    token_file: Path | None = None

    async def headers(self) -> dict[str, str]:
        """Who we are; tokens that are short-lived are read anew when it is time, those in a file each time."""
        if self.token_file is not None:
            with suppress(OSError):
                return {"Authorization": f"Bearer {self.token_file.read_text().strip()}"}
        found = (await self.configuration.auth_settings()).get("BearerToken")
        return {"Authorization": str(found["value"]).strip()} if found and found.get("value") else {}

    async def close(self) -> None:
        if self.renewal is not None:
            await self.renewal.close()
        await self.session.close()
        # Connections that were being made when nobody wanted them any more close a moment later.
        await asyncio.sleep(_GOODBYE_SECONDS)


async def open_access(
    kubeconfig: str | Path | None = None, context: str | None = None, *, connections: int = 256
) -> Access:
    """By a kubeconfig file and a context where they are named, else as kubectl finds them, or as a pod in the cluster.

    Raises `NoAccess` with what was looked for.
    """
    library = _library()
    configuration = library.Configuration()
    configuration.connection_pool_maxsize = connections
    renewal = token_file = None
    namespace = ""
    if kubeconfig is None and context is None and _in_cluster():
        name = "in-cluster"
        _in_cluster_account(library, configuration)
    else:
        loader = await _from_file(library, kubeconfig, context, configuration)
        chosen = loader.current_context or {}
        name = str(chosen["name"]) if "name" in chosen else ""
        namespace = str(chosen["context"].get("namespace", "")) if "context" in chosen else ""
        token_file = _token_file(loader._user)
        if loader._user is not None and "exec" in loader._user:
            renewal = Renewal(loader, configuration)
    try:
        session = _session(library, configuration)
    except OSError as error:
        raise NoAccess(f"the certificates of context {name!r} cannot be read: {error}") from error
    named = configuration.tls_server_name
    return Access(configuration.host, name, session, configuration, named, renewal, namespace, token_file)


def _session(library: "_Library", configuration: Any) -> Any:
    """As the library sets it up. Its own would ask in a thread, before each request, which proxy the environment names:
    here that is asked once."""
    import aiohttp

    made = library.RESTClientObject(configuration).pool_manager
    connector = made.connector
    made.detach()
    configuration.proxy = configuration.proxy or _proxy_of_environment(configuration.host)
    return aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar(), read_bufsize=_LARGEST)


def _proxy_of_environment(host: str) -> str | None:
    """What `https_proxy` names, unless `no_proxy` has the host."""
    address = urlsplit(host)
    return None if proxy_bypass(address.hostname or "") else getproxies().get(address.scheme)


class _Library(NamedTuple):
    Configuration: Any
    RESTClientObject: Any
    load_file: Any
    load_account: Any
    failures: tuple[type[Exception], ...]


def _library() -> _Library:
    """Imported when it is needed: it is large, and an extra."""
    try:
        from kubernetes_asyncio.client.configuration import Configuration
        from kubernetes_asyncio.client.rest import RESTClientObject
        from kubernetes_asyncio.config import kube_config
        from kubernetes_asyncio.config.config_exception import ConfigException
        from kubernetes_asyncio.config.incluster_config import load_incluster_config
    except ImportError as error:
        raise NoAccess(f"talking to a Kubernetes API server needs an extra: pip install 'reprieve[{EXTRA}]'") from error
    failures = (
        ConfigException,
        yaml.YAMLError,
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        AssertionError,
    )
    return _Library(
        Configuration,
        RESTClientObject,
        kube_config.load_kube_config,
        load_incluster_config,
        failures,
    )


def _in_cluster() -> bool:
    return _IN_CLUSTER in os.environ and "KUBECONFIG" not in os.environ


def _in_cluster_account(library: _Library, configuration: Any) -> None:
    try:
        library.load_account(client_configuration=configuration)
    except library.failures as error:
        raise NoAccess(f"this is a pod, but its service account cannot be used: {error}") from error


async def _from_file(library: _Library, kubeconfig: str | Path | None, context: str | None, configuration: Any) -> Any:
    file = str(kubeconfig or os.environ.get("KUBECONFIG") or Path.home() / ".kube" / "config")
    if not any(Path(each).expanduser().is_file() for each in file.split(os.pathsep) if each):
        raise NoAccess(f"there is no kubeconfig file {file}; name one with --kubeconfig, or set KUBECONFIG")
    try:
        return await library.load_file(
            config_file=file,
            context=context or _current_context(file),
            client_configuration=configuration,
            persist_config=False,
        )
    except library.failures as error:
        wanted = f"context {context!r} of {file}" if context else file
        raise NoAccess(f"{wanted} cannot be used: {error}") from error


def _current_context(files: str) -> str | None:
    """Of several files the first one that names a context decides, as for kubectl; None: there is only one to ask."""
    paths = [Path(each).expanduser() for each in files.split(os.pathsep) if each]
    if len(paths) == 1:
        return None
    found = (yaml.safe_load(path.read_text()) for path in paths if path.is_file())
    return next((str(each["current-context"]) for each in found if each.get("current-context")), None)


def _token_file(user: Any) -> Path | None:
    """Where the token of a user is read; a path in a kubeconfig file begins where that file is."""
    if user is None or "tokenFile" not in user:
        return None
    return Path(user.path).parent / str(user["tokenFile"])
