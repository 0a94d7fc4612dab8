"""`reprieve apply`: make what is there what files say."""

from typing import TYPE_CHECKING, Any

import typer

from reprieve.cli.connecting import connected
from reprieve.cli.manifests import read_manifests
from reprieve.cli.options import BadUsage, Files, Namespace, Server, Token
from reprieve.cli.output import Form, Shape, as_list, print_object
from reprieve.client.errors import Refused
from reprieve.client.paths import place_of, short_name
from reprieve.manifests.kinds import CONFIG_MAPS, NAMESPACES
from reprieve.manifests.yunikorn import CONFIG_MAP
from reprieve.texts import cli as texts

if TYPE_CHECKING:
    from reprieve.client.connection import Client

Data = dict[str, Any]


def apply(
    filename: Files, namespace: Namespace = None, output: Shape = Form.table, server: Server = None, token: Token = None
) -> None:
    """Create what is new, change what differs, and leave alone what is as it should be.

    All files are read and checked before anything is changed. What an earlier apply set and the files no longer say is
    removed; what others set stays. The namespace of YuniKorn's queues is made where it is missing. Exits with 1 when
    the server refuses something, and with 2 when a file is wrong.
    """
    manifests = read_manifests(filename, namespace)
    if not manifests:
        raise BadUsage(texts.NOTHING_TO_APPLY)
    refusals: list[str] = []
    with connected(server, token) as client:
        manifests = [*_place_for_queues(client, manifests), *manifests]
        from reprieve.client.applying import apply as apply_one

        for manifest in manifests:
            resource, _, _, name = place_of(manifest)
            try:
                done = apply_one(client, manifest)
            except Refused as error:
                refusals.append(f"{short_name(resource, name)}: {error}")
                continue
            if output is Form.name:
                typer.echo(short_name(resource, name))
            elif output in (Form.table, Form.wide):
                typer.echo(f"{short_name(resource, name)} {done.outcome}")
        if output in (Form.json, Form.yaml):
            places = [place_of(manifest) for manifest in manifests]
            found = (client.find(resource, name, place, version=version) for resource, version, place, name in places)
            known = [each for each in found if each is not None]
            print_object(known[0] if len(manifests) == 1 and known else as_list(known), output)
    if refusals:
        raise Refused("\n".join(refusals))


def _place_for_queues(client: "Client", manifests: list[Data]) -> list[Data]:
    """The namespace that YuniKorn's configuration lives in, where it is missing: in clusters its installation makes it,
    and here nobody installs it."""
    named = {(data["kind"], data["metadata"]["name"]) for data in manifests}
    queues = (data for data in manifests if (data["kind"], data["metadata"]["name"]) == (CONFIG_MAPS.kind, CONFIG_MAP))
    places = dict.fromkeys(data["metadata"]["namespace"] for data in queues)
    missing = [name for name in places if (NAMESPACES.kind, name) not in named and not client.find(NAMESPACES, name)]
    return [{"apiVersion": "v1", "kind": NAMESPACES.kind, "metadata": {"name": name}} for name in missing]
