"""`reprieve delete`: let objects go, gracefully, and see them gone."""

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from reprieve.cli.connecting import connected
from reprieve.cli.kinds import namespace_for, targets_in
from reprieve.cli.manifests import read_manifests
from reprieve.cli.options import AllNamespaces, BadUsage, Namespace, Selector, Server, Token
from reprieve.cli.watching import pauses, progress
from reprieve.client.errors import Refused
from reprieve.client.paths import place_of, short_name
from reprieve.manifests.resource import Resource
from reprieve.texts import cli as texts

if TYPE_CHECKING:
    from reprieve.client.connection import Client

Words = Annotated[
    list[str] | None, typer.Argument(metavar="KIND[/NAME]", help="What is to go: `pods a b`, or `pod/a job/b`.")
]
Files = Annotated[
    list[str] | None,
    typer.Option("--filename", "-f", metavar="FILE|DIR|-", help="Or everything in these manifests. Repeatable."),
]
Grace = Annotated[
    int | None,
    typer.Option("--grace-period", metavar="SECONDS", min=0, help="The time to end; else what each pod says."),
]
Force = Annotated[bool, typer.Option("--force", help="At once, without any grace: what runs is killed.")]
Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until it is gone.")]
Timeout = Annotated[
    float | None, typer.Option("--timeout", metavar="SECONDS", min=0, help="How long to wait; else until it is gone.")
]
All = Annotated[bool, typer.Option("--all", help="All of the kind, in the namespace.")]
IgnoreMissing = Annotated[bool, typer.Option("--ignore-not-found", help="What is not there is no mistake.")]
Orphan = Annotated[bool, typer.Option("--orphan", help="Leave what belongs to it, such as the pods of a Job.")]


class Place(NamedTuple):
    resource: Resource
    namespace: str
    name: str

    def __str__(self) -> str:
        return short_name(self.resource, self.name)


def delete(
    words: Words = None,
    filename: Files = None,
    namespace: Namespace = None,
    all_namespaces: AllNamespaces = False,
    selector: Selector = "",
    everything: All = False,
    grace_period: Grace = None,
    force: Force = False,
    wait: Wait = True,
    timeout: Timeout = None,
    ignore_not_found: IgnoreMissing = False,
    orphan: Orphan = False,
    server: Server = None,
    token: Token = None,
) -> None:
    """Delete objects, by name, by label, or all that files hold.

    Pods get the time to end that they ask for. Exits with 1 when something is not there, is refused, or is still there
    after the timeout.
    """
    manifests = read_manifests(filename, namespace, warn=False) if filename else []
    targets = targets_in(words or [])
    if bool(targets) == bool(filename):
        raise BadUsage(texts.NOTHING_NAMED)
    named = any(target.names for target in targets)
    if named and (selector or everything):
        raise BadUsage(texts.NAME_OR_SELECTOR)
    if targets and not (named or selector or everything):
        raise BadUsage(texts.WHICH_ONES)
    with connected(server, token) as client:
        places = [_place(manifest) for manifest in reversed(manifests)]
        for target in targets:
            place = namespace_for(target.resource, namespace, everywhere=all_namespaces and not named)
            places += (Place(target.resource, place, name) for name in target.names)
            if not target.names:
                places += _selected(client, target.resource, place, selector)
        options: dict[str, Any] = {"grace": 0 if force else grace_period, "propagation": "Orphan" if orphan else ""}
        going, refusals = _delete(client, places, options, ignore_missing=ignore_not_found)
        if wait and going:
            _wait(client, going, timeout)
    if refusals:
        raise Refused("\n".join(refusals))


def _place(manifest: dict[str, Any]) -> Place:
    resource, _, namespace, name = place_of(manifest)
    return Place(resource, namespace, name)


def _selected(client: "Client", resource: Resource, namespace: str, labels: str) -> list[Place]:
    found = (item["metadata"] for item in client.items(resource, namespace, labels=labels))
    return [Place(resource, metadata.get("namespace", ""), metadata["name"]) for metadata in found]


def _delete(
    client: "Client", places: list[Place], options: dict[str, Any], *, ignore_missing: bool
) -> tuple[dict[Place, str], list[str]]:
    """Who goes now, with the uids; and what was refused."""
    refusals: list[str] = []
    going: dict[Place, str] = {}
    for place in places:
        try:
            uid = client.get(place.resource, place.name, place.namespace)["metadata"]["uid"]
            client.delete(place.resource, place.name, place.namespace, **options)
        except Refused as error:
            if not (error.not_found and ignore_missing):
                refusals.append(str(error))
            continue
        typer.echo(f"{place} deleted")
        going[place] = uid
    return going, refusals


def _wait(client: "Client", going: dict[Place, str], timeout: float | None) -> None:
    """Until each is gone; another one of the same name is not the one that was deleted."""
    left = dict(going)
    with progress(texts.waiting_for_deletion([str(place) for place in left])) as tell:
        for _ in pauses(timeout):
            left = {place: uid for place, uid in left.items() if _is_there(client, place, uid)}
            if not left:
                return
            tell(texts.waiting_for_deletion([str(place) for place in left]))
    raise Refused(texts.still_there([str(place) for place in left], timeout or 0))


def _is_there(client: "Client", place: Place, uid: str) -> bool:
    found = client.find(place.resource, place.name, place.namespace)
    return found is not None and found["metadata"]["uid"] == uid
