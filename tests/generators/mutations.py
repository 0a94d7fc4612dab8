"""Valid manifests of every kind, and ways to spoil them: other types and words, typos, fields too many or missing."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from functools import cache
from typing import Any

import yaml

from reprieve.manifests.kinds import READERS
from reprieve.manifests.resource import group_of
from tests.paths import EXAMPLES, ROOT

Data = dict[str, Any]
Path = tuple[str | int, ...]
DEMO = ROOT / "src/reprieve/demo/manifests"
_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 1.5, 2**31, 2**63, -(2**63)),
    *("", "x", "-1", "5", "1Gi", "100m", "yes", "Never", "a b", "A_b", "é", "/", "a/b/c", "x" * 300),
    *([], {}, ["x"], [1], [None], [{}], {"a": "b"}, {"a": 1}, {"cpu": "-1"}, {"cpu": "1", "memory": "x"}),
)
_NAMES = (
    "bogus",
    "name",
    "generateName",
    "namespace",
    "priority",
    "preemptionPolicy",
    "spec",
    "status",
    "labels",
    "value",
)
_MADE_OF: Data = {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}}}


@cache
def seeds() -> dict[tuple[str, str], list[Data]]:
    """Objects of every kind in every version, as examples write them; new ones, which say nothing a server says."""
    found: dict[tuple[str, str], list[Data]] = {}
    for file in (*sorted(EXAMPLES.rglob("*.yaml")), *sorted(DEMO.rglob("*.yaml"))):
        for document in yaml.load_all(file.read_text(), yaml.CSafeLoader):
            objects = document.get("objects") or () if "case" in document else (document,)
            for data in objects:
                if (key := (str(data.get("apiVersion")), str(data.get("kind")))) in READERS:
                    found.setdefault(key, []).append(_new(data))
    for key in READERS:
        found.setdefault(key, _in_version(key, found))
    return found


def _new(data: Data) -> Data:
    known = ("uid", "creationTimestamp", "deletionTimestamp")
    kept = {name: value for name, value in data.get("metadata", {}).items() if name not in known}
    return {**data, "metadata": kept}


def _in_version(key: tuple[str, str], found: dict[tuple[str, str], list[Data]]) -> list[Data]:
    """What another version of the same kind writes, or something small."""
    same = [known for known in found if known[1] == key[1] and group_of(known[0]) == group_of(key[0])]
    containers = {"spec": {"containers": [{"name": "c"}]}}
    small = {"spec": {**_MADE_OF, "template": {**_MADE_OF["template"], **containers}}}
    models = [data for known in same for data in found[known]] or [{"metadata": {"name": "small"}, **small}]
    return [{**data, "apiVersion": key[0], "kind": key[1]} for data in models]


def spoiled(seed: int) -> Data:
    """An object of some kind with one mistake or more, or none."""
    chance = random.Random(seed)  # noqa: S311
    key = chance.choice(sorted(seeds()))
    data = copy.deepcopy(chance.choice(seeds()[key]))
    data["metadata"]["name"] = "fresh"
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        _spoil(data, chance)
    return data


def _spoil(data: Data, chance: random.Random) -> None:
    path = chance.choice([path for path in _paths(data) if path and path[0] not in ("apiVersion", "kind")] or [()])
    if not path:
        return
    parent, last = _at(data, path[:-1]), path[-1]
    match chance.choice(("value", "value", "value", "remove", "typo", "twice", "more")):
        case "value":
            parent[last] = copy.deepcopy(chance.choice(_VALUES))
        case "remove":
            del parent[last]
        case "typo" if isinstance(last, str) and len(last) > 3:
            place = chance.randrange(1, len(last))
            parent[last[:place] + last[place + 1 :]] = parent.pop(last)
        case "twice" if isinstance(parent, list):
            parent.append(copy.deepcopy(parent[int(last)]))
        case "more" if isinstance(parent[last], dict):
            parent[last][chance.choice(_NAMES)] = copy.deepcopy(chance.choice(_VALUES))


def _paths(data: Any, path: Path = ()) -> Iterator[Path]:
    yield path
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for step, value in items:
        yield from _paths(value, (*path, step))


def _at(data: Any, path: Path) -> Any:
    for step in path:
        data = data[step]
    return data
