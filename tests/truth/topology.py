"""What is said about places in topologies, looked up in the manifests of nodes, topologies and workloads."""

from __future__ import annotations

from tests.builders.topology import domains
from tests.reasons.reach import named, of_kind
from tests.reasons.worlds import Dict, World
from tests.reference.topology import Ask, Frees, free_leaves, most, without
from tests.truth.compare import Check, differs


def levels_of(world: World, flavor: Dict) -> list[str]:
    name = flavor["spec"].get("topologyName", "")
    found = [each for each in of_kind(world.objects, "Topology") if each["metadata"]["name"] == name]
    return [level["nodeLabel"] for level in found[0]["spec"]["levels"]] if found else []


def _flavor(world: World, name: str) -> Dict:
    return next(each for each in of_kind(world.objects, "ResourceFlavor") if each["metadata"]["name"] == name)


def _cpu(pod_set: Dict) -> int:
    return sum(int(one["resources"]["requests"]["cpu"]) for one in pod_set["template"]["spec"]["containers"])


def ask_of(pod_set: Dict, levels: list[str]) -> Ask:
    said = pod_set["topologyRequest"]
    wish = next(name for name in ("required", "preferred", "unconstrained") if name in said)
    depth = len(levels) if wish == "unconstrained" else levels.index(said[wish]) + 1
    size = said.get("podSetSliceSize", 1)
    together = levels.index(said["podSetSliceRequiredTopology"]) + 1 if size > 1 else len(levels)
    return _cpu(pod_set), pod_set["count"], wish, depth, size, together


def free_beside_workloads(world: World, flavor: Dict, levels: list[str]) -> Frees:
    """What is left of the leaves of a flavor beside all that were admitted on it."""
    frees = free_leaves(world.objects, flavor, levels)
    taken = []
    for each in of_kind(world.objects, "Workload"):
        for pod_set, assigned in zip(
            each["spec"]["podSets"],
            each.get("status", {}).get("admission", {}).get("podSetAssignments", ()),
            strict=False,
        ):
            if flavor["metadata"]["name"] in assigned["flavors"].values() and "topologyAssignment" in assigned:
                known = {leaf[-len(assigned["topologyAssignment"]["levels"]) :]: leaf for leaf in frees}
                places = domains(assigned["topologyAssignment"]).items()
                taken += [(known[values], _cpu(pod_set), pods) for values, pods in places if values in known]
    return without(frees, taken)


def topology_short(world: World, decision: Dict, claim: Dict) -> str:  # noqa: ARG001
    flavor = _flavor(world, claim["flavor"])
    levels = levels_of(world, flavor)
    own = named(world.objects, world.preemptor)
    pod_set = next(each for each in own["spec"]["podSets"] if each["name"] == claim["podSet"])
    ask = ask_of(pod_set, levels)
    free = free_leaves(world.objects, flavor, levels) if claim["idle"] else free_beside_workloads(world, flavor, levels)
    return differs(
        needed=(claim["needed"], ask[1]),
        most=(claim["most"], most(free, ask)),
        level=(claim["level"], levels[ask[3] - 1] if ask[2] == "required" else ""),
        short=(True, claim["most"] < claim["needed"]),
    )


def topology_unsuited(world: World, decision: Dict, claim: Dict) -> str:  # noqa: ARG001
    levels = levels_of(world, _flavor(world, claim["flavor"]))
    own = named(world.objects, world.preemptor)
    said = next(each for each in own["spec"]["podSets"] if each["name"] == claim["podSet"]).get("topologyRequest") or {}
    asked = [said.get(name) for name in ("required", "preferred", "podSetSliceRequiredTopology")]
    lacks = any(level and level not in levels for level in asked) or (bool(said) and not levels)
    return "" if lacks or (not said and levels) else "it has the topology that is asked for"


CLAIMS: dict[str, Check] = {"TopologyShort": topology_short, "TopologyUnsuited": topology_unsuited}
