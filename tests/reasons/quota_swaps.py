"""The opposite of what protects a quota workload."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator

from tests.builders.pods import GPU
from tests.builders.quota import flavor, queue
from tests.reasons.reach import named, of_kind, only_one_waits, quota_paths
from tests.reasons.scene import FAR_BELOW, Scene, Swap, conditions
from tests.reasons.worlds import Dict


def over_quota(scene: Scene) -> None:
    """It uses much, and neither its queue nor a cohort between it and whoever asks has any quota of its own."""
    for assigned in scene.item["status"]["admission"]["podSetAssignments"]:
        assigned["resourceUsage"] = dict.fromkeys(assigned["flavors"], "10")
    for item in _apart(scene)[1]:
        _without_quota(item)


def _apart(scene: Scene) -> tuple[list[Dict], list[Dict]]:
    """The queues and cohorts that whoever asks does not share with the other, and those that the other does not."""
    paths = quota_paths(scene.objects)
    own, theirs = paths[_own_queue(scene)["metadata"]["name"]], paths[scene.domain]
    return _only_in(scene, own, theirs), _only_in(scene, theirs, own)


def _only_in(scene: Scene, path: list[str], other: list[str]) -> list[Dict]:
    return [_queue_or_cohort(scene, name) for name in path if name not in other]


def _own_queue(scene: Scene) -> Dict:
    return _queue_or_cohort(scene, scene.asking[0]["spec"]["queueName"])


def _queue_or_cohort(scene: Scene, name: str) -> Dict:
    kind = "Cohort" if name.startswith("cohort ") else "ClusterQueue"
    return next(
        item for item in of_kind(scene.objects, kind) if item["metadata"]["name"] == name.removeprefix("cohort ")
    )


def _without_quota(item: Dict) -> None:
    for _, quota in _quotas(item):
        quota["nominalQuota"] = "0"
        quota.pop("lendingLimit", None)
        quota.pop("borrowingLimit", None)


def bold_policy(scene: Scene) -> None:
    """Whoever asks may preempt in its own queue and in the cohort, and the other ranks far below."""
    preemption = _own_queue(scene)["spec"].setdefault("preemption", {})
    preemption.update(withinClusterQueue="LowerPriority", reclaimWithinCohort="Any")
    scene.item["spec"]["priority"] = FAR_BELOW


def while_it_borrows(scene: Scene) -> None:
    """Whoever asks may preempt everybody of lower priority while it borrows, and the other ranks far below."""
    preemption = _own_queue(scene)["spec"].setdefault("preemption", {})
    preemption["borrowWithinCohort"] = {"policy": "LowerPriority"}
    scene.item["spec"]["priority"] = FAR_BELOW


def larger_share(scene: Scene) -> None:
    """It uses little, others beside it much, all of it borrowed and without weight; the weight of whoever asks is high.
    So its queue has the larger share, with it and without it.

    What they borrow, a queue beside them lends: where nobody had anything to lend, they would have no share at all; and
    where there was less room than before, those whose turn comes first would ask more of them to make way.
    """
    asking, theirs = _apart(scene)
    for item in asking:
        item["spec"]["fairSharing"] = {"weight": "1000"}
    lent: Counter[tuple[str, str]] = Counter()
    for item in theirs:
        lent.update({(flavor, quota["name"]): int(quota["nominalQuota"]) for flavor, quota in _quotas(item)})
        _without_quota(item)
        item["spec"]["fairSharing"] = {"weight": "0"}
    beside = copy.deepcopy(scene.item)
    beside["metadata"]["name"] = "beside"
    beside["spec"]["priority"] = -FAR_BELOW
    for assigned in beside["status"]["admission"]["podSetAssignments"]:
        assigned["resourceUsage"] = dict.fromkeys(assigned["flavors"], "10")
        lent.update({(flavor, resource): 10 for resource, flavor in assigned["flavors"].items()})
    scene.objects.extend([beside, *_lender(scene, lent)])


def _quotas(item: Dict) -> Iterator[tuple[str, Dict]]:
    """What a queue or cohort has, each with its flavor."""
    for group in item["spec"].get("resourceGroups", ()):
        yield from ((each["name"], quota) for each in group["flavors"] for quota in each["resources"])


def _lender(scene: Scene, lent: Counter[tuple[str, str]]) -> list[Dict]:
    """A queue that only lends, in the lowest cohort that whoever asks and the other have in common."""
    paths = quota_paths(scene.objects)
    own = paths[_own_queue(scene)["metadata"]["name"]]
    common = next(name for name in paths[scene.domain] if name in own)
    resources = sorted({resource for _, resource in lent})
    flavors = {name: {each: lent[name, each] for each in resources} for name in sorted({name for name, _ in lent})}
    return queue("lender", flavors, cohort=common.removeprefix("cohort "))


def a_flavor_for_it(scene: Scene) -> None:
    """Of every flavor its queue has as much of its own as it asks for, and none is missing."""
    _all_flavors(scene)
    for _, quota in _quotas(_own_queue(scene)):
        quota["nominalQuota"] = str(max(int(quota["nominalQuota"]), _asked(scene, quota["name"])))


def _asked(scene: Scene, resource: str) -> int:
    pod_sets = scene.asking[0]["spec"]["podSets"]
    requests = [item["template"]["spec"]["containers"][0]["resources"]["requests"] for item in pod_sets]
    return sum(int(each.get(resource, 0)) * item["count"] for each, item in zip(requests, pod_sets, strict=True))


def open_queue(scene: Scene) -> None:
    _queue_or_cohort(scene, scene.domain)["spec"].pop("stopPolicy", None)
    _all_flavors(scene)


def _all_flavors(scene: Scene) -> None:
    there = {item["metadata"]["name"] for item in of_kind(scene.objects, "ResourceFlavor")}
    scene.objects.extend(flavor(name) for name in {"on-demand", "spot"} - there)


def uses_what_is_needed(scene: Scene) -> None:
    """It uses some of everything, on each flavor in question."""
    workload = scene.item
    (first,) = workload["spec"]["podSets"]
    assigned = workload["status"]["admission"]["podSetAssignments"]
    resources = dict.fromkeys(("cpu", GPU), "1")
    for name in ("on-demand", "spot"):
        workload["spec"]["podSets"].append({**first, "name": name})
        flavors = dict.fromkeys(resources, name)
        assigned.append({"name": name, "count": 1, "flavors": flavors, "resourceUsage": resources})


def asks_for_little(scene: Scene) -> None:
    """Whoever asks would be content with nothing."""
    for pod_set in scene.asking[0]["spec"]["podSets"]:
        pod_set["template"]["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "0"}


def asks_for_all(scene: Scene) -> None:
    """Nobody fits beside it: it uses as much as there is."""
    for assigned in scene.item["status"]["admission"]["podSetAssignments"]:
        assigned["resourceUsage"] = dict.fromkeys(assigned["flavors"], "1000")


def stays_put(scene: Scene) -> None:
    conditions(scene.item, "Evicted")


def alone_in_the_cycle(scene: Scene) -> None:
    """Nobody else waits, so that nobody is anybody else's victim."""
    scene.world = only_one_waits(scene.world)


def may_preempt(scene: Scene) -> None:
    """Nothing has to be waited for, and nobody has a turn before it."""
    scene.world.config.pop("quota", None)
    scene.world = only_one_waits(scene.world)
    named(scene.objects, scene.world.preemptor)["metadata"]["creationTimestamp"] = "2020-01-01T00:00:00Z"
    for item in of_kind(scene.objects, "Workload"):
        conditions(item, "Evicted")


SWAPS: dict[str, Swap] = {
    "WithinNominalQuota": over_quota,
    "PreemptionPolicy": bold_policy,
    "NotWhileBorrowing": while_it_borrows,
    "FairSharing": larger_share,
    "NoFlavor": a_flavor_for_it,
    "QueueClosed": open_queue,
    "NotContested": uses_what_is_needed,
    "NotEnough": asks_for_little,
    "Reprieved": asks_for_all,
    "Leaving": stays_put,
    "NobodyAsked": may_preempt,
    "Claimed": alone_in_the_cycle,
}
