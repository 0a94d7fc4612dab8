"""Who is within reach of a preemptor, and whether preemption is considered at all: told from the manifests alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.reasons.worlds import Dict, QueueFile, World

Place = tuple[str, str]
"""A unit, and where it is: its node, its queue, a cluster."""


def unit_of(item: Dict) -> str:
    kind, meta = item["kind"], item["metadata"]
    namespace = "" if kind == "ClusterResourceBinding" else meta.get("namespace", "default")
    return f"{kind}/{namespace}/{meta['name']}"


def named(objects: list[Dict], unit: str) -> Dict:
    return next(item for item in objects if unit_of(item) == unit)


def only_one_waits(world: World) -> World:
    """The same without all other workloads that wait: whoever is before it in a cycle has a say in its decision."""
    others = [
        item
        for item in of_kind(world.objects, "Workload")
        if "admission" not in item.get("status", {}) and unit_of(item) != world.preemptor
    ]
    return world._replace(objects=[item for item in world.objects if item not in others])


def of_kind(objects: list[Dict], *kinds: str) -> list[Dict]:
    return [item for item in objects if item["kind"] in kinds]


def within_reach(world: World) -> list[Place]:
    """Everybody who might be asked, were it not for rules."""
    find = {"quota": _workloads, "federation": _bindings}.get(world.policy, _pods)
    return [place for place in find(world) if place[0] != world.preemptor]


def _pods(world: World) -> Iterator[Place]:
    """Every pod on a node of the cluster that has not finished."""
    nodes = {item["metadata"]["name"] for item in of_kind(world.objects, "Node")}
    for item in of_kind(world.objects, "Pod"):
        if item["spec"].get("nodeName") in nodes and item["status"].get("phase") not in ("Succeeded", "Failed"):
            yield unit_of(item), item["spec"]["nodeName"]


def _workloads(world: World) -> Iterator[Place]:
    """Every admitted workload of the cohort tree that has not finished."""
    own = named(world.objects, world.preemptor)["spec"]["queueName"]
    roots = quota_paths(world.objects)
    for item in of_kind(world.objects, "Workload"):
        queue = item.get("status", {}).get("admission", {}).get("clusterQueue")
        if queue and roots[queue][-1] == roots[own][-1] and not says(item, "Finished"):
            yield unit_of(item), queue


def quota_paths(objects: list[Dict]) -> dict[str, list[str]]:
    """Each queue and the cohorts above it, up to the root of its tree."""
    parents = {item["metadata"]["name"]: item.get("spec", {}).get("parentName") for item in of_kind(objects, "Cohort")}
    paths = {}
    for item in of_kind(objects, "ClusterQueue"):
        path, above = [item["metadata"]["name"]], item["spec"].get("cohortName")
        while above:
            path.append(f"cohort {above}")
            above = parents.get(above)
        paths[item["metadata"]["name"]] = path
    return paths


def _bindings(world: World) -> Iterator[Place]:
    """Every binding that is scheduled in a cluster where the preemptor may go."""
    clusters = clusters_in_reach(world)
    for item in of_kind(world.objects, "ResourceBinding", "ClusterResourceBinding"):
        yield from ((unit_of(item), at["name"]) for at in item["spec"].get("clusters", ()) if at["name"] in clusters)


def clusters_in_reach(world: World) -> list[str]:
    placement = named(world.objects, world.preemptor)["spec"].get("placement", {})
    terms = placement.get("clusterAffinities") or [placement.get("clusterAffinity", {})]
    everybody = [item["metadata"]["name"] for item in of_kind(world.objects, "Cluster")]
    meant = {name for term in terms for name in term.get("clusterNames") or everybody}
    return [
        item["metadata"]["name"]
        for item in of_kind(world.objects, "Cluster")
        if item["metadata"]["name"] in meant
        and not item.get("spec", {}).get("taints")
        and item["status"]["conditions"][0]["status"] == "True"
    ]


def says(item: Dict, condition: str) -> bool:
    return any(
        found["type"] == condition and found["status"] == "True"
        for found in item.get("status", {}).get("conditions", ())
    )


def forbidden(world: World) -> bool:
    """Whether the preemptor may preempt nobody, so that nobody has to be looked at."""
    if world.policy == "quota":
        return False
    if world.policy == "federation":
        asked = named(world.objects, world.preemptor)["spec"].get("schedulePriority", {})
        return bool(asked.get("preemptionPolicy") == "Never")
    if world.policy == "queue" and QueueFile(world.objects).partition.get("preemption", {}).get("enabled") is False:
        return True
    waiting = [item for item in of_kind(world.objects, "Pod") if not item["spec"].get("nodeName")]
    return any(item["spec"].get("preemptionPolicy") == "Never" for item in waiting if _asks(world, item))


def _asks(world: World, pod: Dict) -> bool:
    return world.policy == "podgroup" or unit_of(pod) == world.preemptor


def places_of(decision: Dict) -> tuple[list[Place], list[Place]]:
    """Who goes from where, and who stays where."""
    domains = (decision["domain"] or "").split(",")
    victims: list[Place] = []
    for victim in decision["victims"]:
        if decision["policy"] == "federation":
            costs = decision["candidates"]
            victims += [
                (victim["unit"], at) for at in domains if victim["unit"] in costs.get(at, {}).get("victims", ())
            ]
        else:
            victims.append((victim["unit"], ""))
    spared: list[Any] = [(item["unit"], item["domain"]) for item in decision["spared"]]
    return victims, spared
