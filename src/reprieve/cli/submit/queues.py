"""Which queue `--queue` means: one of YuniKorn's, where they are configured, or a LocalQueue of the namespace."""

from typing import TYPE_CHECKING

from reprieve.cli.queue_trees import walk
from reprieve.cli.submit.manifests import WaitingPlace
from reprieve.client.errors import Refused
from reprieve.manifests.kinds import LOCAL_QUEUES
from reprieve.manifests.yunikorn import ROOT
from reprieve.texts import cli as texts

if TYPE_CHECKING:
    from reprieve.client.connection import Client


def wait_in(client: "Client", name: str, namespace: str) -> WaitingPlace:
    """Where no queues of YuniKorn's are, it is a LocalQueue, whether that is there yet or not. Where they are, the name
    has to be that of a leaf, with or without `root.`, or that of a LocalQueue which is there."""
    queues = {queue["queuename"]: queue for _, queue in walk(client.queue_trees())}
    if not queues:
        return WaitingPlace(name, yunikorn=False)
    full = name.lower() if name.lower().partition(".")[0] == ROOT else f"{ROOT}.{name.lower()}"
    local = [item["metadata"]["name"] for item in client.items(LOCAL_QUEUES, namespace)]
    if name in local and full not in queues:
        return WaitingPlace(name, yunikorn=False)
    leaves = [each for each, queue in queues.items() if queue["isLeaf"]]
    if full in leaves or (full not in queues and _is_made(full, queues)):
        return WaitingPlace(full, yunikorn=True)
    if full in queues:
        raise Refused(texts.is_parent_queue(full, [each for each in leaves if each.startswith(f"{full}.")]))
    raise Refused(texts.no_queue_to_wait_in(name, leaves, local, namespace))


def _is_made(name: str, queues: dict[str, dict[str, object]]) -> bool:
    """Whether a queue that is not configured is made for whoever names it: its parent says what it gets."""
    above = queues.get(name.rpartition(".")[0])
    return above is not None and bool(above.get("template"))
