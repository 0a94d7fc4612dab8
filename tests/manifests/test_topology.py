"""What `check` says about topologies: what is wrong, and what is left out, by name."""

from __future__ import annotations

import pytest

from reprieve.manifests.admission import admit_all
from reprieve.manifests.loading import load_objects
from tests.builders.pods import Dict
from tests.builders.quota import flavor, queue, workload
from tests.builders.topology import HOSTNAME, asking, topology
from tests.planes.running import job

PREFIX = "kueue.x-k8s.io/podset"
TEMPLATE = "$.spec.template.metadata.annotations"
REQUEST = "$.spec.podSets[0].topologyRequest"


def said(*objects: Dict) -> list[tuple[str, str]]:
    """The field of everything that is not as it should be, and how bad that is."""
    found = admit_all(load_objects(objects, strict=True).entries)
    return [(problem.field, problem.severity) for problem in found]


CASES: list[tuple[list[Dict], str, str]] = [
    (topology("t", "rack", "rack"), "$.spec.levels[1].nodeLabel", "error"),
    (topology("t", HOSTNAME, "rack"), "$.spec.levels[0].nodeLabel", "error"),
    ([flavor("f", topologyName="t", nodeLabels={"a": "b"})], "$.spec.topologyName", "warning"),
    ([topology("t", "rack")[0], flavor("f", topologyName="t")], "$.spec.nodeLabels", "error"),
    ([asking(workload("w", "q", cpu=1), required="a", preferred="b")], REQUEST, "error"),
    ([asking(workload("w", "q", cpu=1), required="a", podSetGroupName="g")], f"{REQUEST}.podSetGroupName", "warning"),
    (
        [asking(workload("w", "q", cpu=1, count=2), required="a", podSetSliceSize=2)],
        f"{REQUEST}.podSetSliceRequiredTopology",
        "error",
    ),
    (
        [asking(workload("w", "q", cpu=1, count=3), required="a", podSetSliceRequiredTopology="b", podSetSliceSize=2)],
        f"{REQUEST}.podSetSliceSize",
        "error",
    ),
    ([job("j", annotations={f"{PREFIX}-slice-size": "2"})], f'{TEMPLATE}["{PREFIX}-slice-size"]', "error"),
    ([job("j", annotations={f"{PREFIX}-group-name": "g"})], f'{TEMPLATE}["{PREFIX}-group-name"]', "warning"),
    (
        [job("j", annotations={f"{PREFIX}-required-topology": "a", f"{PREFIX}-preferred-topology": "a"})],
        f'{TEMPLATE}["{PREFIX}-preferred-topology"]',
        "error",
    ),
    (
        [job("j", annotations={f"{PREFIX}-unconstrained-topology": "yes"})],
        f'{TEMPLATE}["{PREFIX}-unconstrained-topology"]',
        "error",
    ),
]


@pytest.mark.parametrize(("objects", "field", "severity"), CASES)
def test_what_is_wrong_is_named(objects: list[Dict], field: str, severity: str) -> None:
    assert (field, severity) in said(*objects)


def test_what_is_right_is_left_alone() -> None:
    team = queue("team", {"t": {"cpu": 4}})
    assert said(*topology("t", "rack", HOSTNAME), *team, asking(workload("w", "team", cpu=1), required="rack")) == []
