"""YuniKorn's two ConfigMaps in files: what one leaves out the other says."""

from __future__ import annotations

import pytest

from reprieve.manifests.loading import load_objects
from reprieve.manifests.yunikorn import QueueConfiguration
from tests.builders.pods import Dict, config_map
from tests.builders.queues import queues, tree


def text(name: str) -> str:
    return str(queues(tree(name))["data"]["queues.yaml"])


def first_queue(*data: Dict) -> str:
    names = ("yunikorn-configs", "yunikorn-defaults")
    maps = [config_map(name, each, "yunikorn") for name, each in zip(names, data, strict=True) if each is not None]
    for order in (maps, maps[::-1]):
        loaded = load_objects(order)
        assert not loaded.errors
    found = [item for item in loaded.objects if isinstance(item, QueueConfiguration)]
    return found[0].partitions[0].queues[0].queues[0].name if found else ""


@pytest.mark.parametrize(
    ("own", "defaults", "want"),
    [
        ({"queues.yaml": text("own")}, {"queues.yaml": text("defaults")}, "own"),
        ({"log.level": "1"}, {"queues.yaml": text("defaults")}, "defaults"),
        (None, {"queues.yaml": text("defaults")}, "defaults"),
        (None, {"service.policyGroup": "g", "g.yaml": text("g"), "queues.yaml": text("no")}, "g"),
        ({"g.yaml": text("own")}, {"service.policyGroup": "g", "g.yaml": text("g")}, "own"),
        ({"service.policyGroup": "g"}, {"g.yaml": text("g"), "queues.yaml": text("no")}, "g"),
        ({"log.level": "1"}, None, ""),
    ],
)
def test_the_users_own_stands_before_the_defaults(own: Dict, defaults: Dict, want: str) -> None:
    assert first_queue(own, defaults) == want
