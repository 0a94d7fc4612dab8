"""The limits of users, groups and applications, read plainly off the manifests: every pod is looked at for every limit.

From YuniKorn's documentation: a limit is per user or group, on all that it has in a queue and below; a named user's
limit stands before that for all; a user counts for the first group, from its queue up, that a limit names; an
application counts where one of its pods has a place.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from reprieve.model.resources import Resources
from tests.builders.pods import Dict


class PlainLimits:
    """The configuration of a world, as written."""

    def __init__(self, configuration: Dict) -> None:
        partition = json.loads(configuration["data"]["queues.yaml"])["partitions"][0]
        self.queues: dict[str, Dict] = {}
        self._read(partition["queues"][0], "")
        self.queues["root"] = {**self.queues["root"]}
        self.queues["root"]["limits"] = [*self.queues["root"].get("limits", []), *partition.get("limits", [])]

    def _read(self, queue: Dict, parent: str) -> None:
        path = f"{parent}.{queue['name']}" if parent else queue["name"]
        self.queues[path] = queue
        for child in queue.get("queues", []):
            self._read(child, path)

    def broken(self, pod: Dict, there: Iterable[Dict]) -> list[str]:
        """What a pod would break, beside those that are there: `queue kind name what`."""
        others, found = list(there), []
        for queue in _up(_queue(pod)):
            inside = [other for other in others if queue in _up(_queue(other))]
            said = self.queues.get(queue, {})
            most = said.get("maxapplications", 0)
            if most and len(_apps(inside) | _apps([pod])) > most and not _apps([pod]) <= _apps(inside):
                found.append(f"{queue} queue applications")
            limit = self._of_user(said, _user(pod))
            own = [other for other in inside if _user(other) == _user(pod)]
            found += [f"{queue} user {_user(pod)} {what}" for what in _over(limit, pod, own)]
            group = self.group(pod)
            limit = next((one for one in said.get("limits", []) if group in one.get("groups", [])), None)
            own = [other for other in inside if self.group(other) == group]
            found += [f"{queue} group {group} {what}" for what in _over(limit, pod, own)]
        return found

    def group(self, pod: Dict) -> str:
        everybody = ""
        for queue in _up(_queue(pod)):
            for limit in self.queues.get(queue, {}).get("limits", []):
                for group in limit.get("groups", []):
                    if group == "*":
                        everybody = "*"
                    elif group in _info(pod).get("groups", []):
                        return str(group)
        return everybody

    @staticmethod
    def _of_user(said: Dict, user: str) -> Dict | None:
        limits = said.get("limits", [])
        named = [limit for limit in limits if user in limit.get("users", [])]
        return next(iter([*named, *(limit for limit in limits if "*" in limit.get("users", []))]), None)


def _over(limit: Dict | None, pod: Dict, own: list[Dict]) -> list[str]:
    if limit is None:
        return []
    found = []
    if limit.get("maxapplications") and not _apps([pod]) <= _apps(own) and len(_apps(own)) >= limit["maxapplications"]:
        found.append("applications")
    for name, most in limit.get("maxresources", {}).items():
        kind = "cpu" if name == "vcore" else name
        needed = _amount(pod).of(kind)
        bound = Resources.parse({kind: most}).of(kind)
        if needed and sum(_amount(other).of(kind) for other in own) + needed > bound:
            found.append(kind)
    return found


def _info(pod: Dict) -> Dict:
    said = pod["metadata"].get("annotations", {}).get("yunikorn.apache.org/user.info")
    return json.loads(said) if said else {"user": "nobody", "groups": ["nobody"]}


def _user(pod: Dict) -> str:
    return str(_info(pod)["user"])


def _queue(pod: Dict) -> str:
    return str(pod["metadata"]["labels"]["queue"])


def _apps(pods: Iterable[Dict]) -> set[str]:
    return {pod["metadata"]["labels"]["applicationId"] for pod in pods}


def _amount(pod: Dict) -> Resources:
    return Resources.parse({**pod["spec"]["containers"][0]["resources"]["requests"], "pods": "1"})


def _up(queue: str) -> list[str]:
    steps = queue.split(".")
    return [".".join(steps[:length]) for length in range(len(steps), 0, -1)]
