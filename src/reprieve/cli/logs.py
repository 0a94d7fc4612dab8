"""`reprieve logs`: what a container wrote."""

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reprieve.cli.attempts import print_attempts, print_last, print_pieces
from reprieve.cli.connecting import connected
from reprieve.cli.kinds import namespace_for, resource_named
from reprieve.cli.options import BadUsage, Namespace, Server, Token
from reprieve.cli.watching import pauses, progress
from reprieve.client.errors import Refused
from reprieve.client.paths import short_name
from reprieve.manifests.kinds import PODS, written_name
from reprieve.manifests.resource import Resource
from reprieve.texts import cli as texts

if TYPE_CHECKING:
    from reprieve.client.connection import Client

Data = dict[str, Any]
_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s?)?", re.ASCII)

Whose = Annotated[str, typer.Argument(metavar="POD|KIND/NAME", help="A pod, or what has pods, such as job/train.")]
Container = Annotated[
    str, typer.Option("--container", "-c", metavar="NAME", help="Which container, if it has several.")
]
Follow = Annotated[bool, typer.Option("--follow", "-f", help="Wait for it to start, and go on until it ends.")]
Tail = Annotated[int | None, typer.Option("--tail", metavar="LINES", min=0, help="Only the last lines.")]
Since = Annotated[str, typer.Option("--since", metavar="DURATION", help="Only what is newer, such as 30s, 5m, 1h30m.")]
Previous = Annotated[
    bool, typer.Option("--previous", "-p", help="Of the attempt before the last: a run before a restart, a pod before.")
]
Attempt = Annotated[int | None, typer.Option("--attempt", metavar="N", min=1, help="Of this attempt; the first is 1.")]
All = Annotated[bool, typer.Option("--all", help="Of all attempts, one after the other.")]
Timestamps = Annotated[bool, typer.Option("--timestamps", help="Each line with its time.")]


def logs(
    whose: Whose,
    container: Container = "",
    follow: Follow = False,
    tail: Tail = None,
    since: Since = "",
    previous: Previous = False,
    attempt: Attempt = None,
    all_attempts: All = False,
    timestamps: Timestamps = False,
    namespace: Namespace = None,
    server: Server = None,
    token: Token = None,
) -> None:
    """Print what a container wrote.

    Of several pods of a Job, the one that runs is taken, else the latest; of what is gone, the last attempt of which a
    log is kept. Exits with 1 when there is nothing to read.
    """
    if previous + bool(attempt) + all_attempts > 1:
        raise BadUsage(texts.ONE_OF_ATTEMPTS)
    if follow and (attempt or all_attempts):
        raise BadUsage(texts.OVER_AND_FOLLOWED)
    options = {
        "container": container,
        "follow": follow,
        "tailLines": tail,
        "sinceSeconds": seconds_in(since) if since else None,
        "previous": previous,
        "timestamps": timestamps,
    }
    kind, _, name = whose.rpartition("/")
    resource = resource_named(kind) if kind else PODS
    place = namespace_for(resource, namespace)
    with connected(server, token) as client:
        there = follow or _exists(client, resource, place, name)
        if attempt or all_attempts or (previous and (resource != PODS or not there)):
            print_attempts(client, short_name(resource, name), _kept(client, resource, place, name), attempt, options)
            return
        pod = _pod(client, resource, place, name, wait=follow) if there else None
        if pod is None:
            print_last(client, short_name(resource, name), _kept(client, resource, place, name), options)
        else:
            print_pieces(client.logs(PODS, pod, place, **options))


def _exists(client: "Client", resource: Resource, namespace: str, name: str) -> bool:
    try:
        return bool(client.get(resource, name, namespace))
    except Refused as error:
        if error.not_found:
            return False
        raise


def _kept(client: "Client", resource: Resource, namespace: str, name: str) -> list[Data]:
    """What something was tried as; of what was never there, that it is not there."""
    try:
        return client.attempts(written_name(resource.kind, namespace, name))
    except Refused as error:
        if error.not_found:
            client.get(resource, name, namespace)
        raise


def seconds_in(text: str) -> int:
    """`90`, `90s`, `5m`, `1h30m`: as seconds."""
    found = _DURATION.fullmatch(text)
    if not text or found is None:
        raise BadUsage(texts.no_such("--since", text, "it must be a duration such as 30s, 5m or 1h30m"))
    hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return max(1, hours * 3600 + minutes * 60 + seconds)


def _pod(client: "Client", resource: Resource, namespace: str, name: str, *, wait: bool) -> str | None:
    """The pod to read from, None: it has none now; when it is followed, one that has been started."""
    found = _choose(client, resource, namespace, name, silent=wait)
    if wait and not _started(found):
        with progress(texts.waiting_for_start(short_name(resource, name))):
            for _ in pauses():
                found = _choose(client, resource, namespace, name, silent=True)
                if _started(found):
                    break
    return None if found is None else str(found["metadata"]["name"])


def _choose(client: "Client", resource: Resource, namespace: str, name: str, *, silent: bool) -> Data | None:
    owner = client.get(resource, name, namespace)
    if resource == PODS:
        return owner
    pods = pods_of(client, owner)
    if not pods:
        return None
    chosen = max(pods, key=_standing)
    if len(pods) > 1 and not silent:
        typer.echo(texts.several_pods(len(pods), chosen["metadata"]["name"]), err=True)
    return chosen


def pods_of(client: "Client", owner: Data) -> list[Data]:
    """The pods of an object, and of what it owns."""
    namespace, uids = owner["metadata"].get("namespace", ""), {owner["metadata"]["uid"]}
    if owner["kind"] == "Deployment":
        sets = client.items(resource_named("replicasets"), namespace)
        uids |= {item["metadata"]["uid"] for item in sets if uids & owners_of(item)}
    return [pod for pod in client.items(PODS, namespace) if uids & owners_of(pod)]


def owners_of(item: Data) -> set[str]:
    return {owner["uid"] for owner in item["metadata"].get("ownerReferences") or ()}


def _phase(pod: Data) -> str:
    return str(pod.get("status", {}).get("phase", "Pending"))


def _standing(pod: Data) -> tuple[bool, bool, str]:
    leaving = "deletionTimestamp" in pod["metadata"]
    return not leaving and _phase(pod) == "Running", _phase(pod) != "Pending", pod["metadata"]["creationTimestamp"]


def _started(pod: Data | None) -> bool:
    return pod is not None and _phase(pod) != "Pending"
