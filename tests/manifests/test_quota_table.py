"""The table of Kueue's fields in docs/quota.md, field by field, and the warnings that it promises."""

from __future__ import annotations

import re

import pytest

from reprieve.manifests import kueue, kueue_topology
from reprieve.manifests.admission import admit_all, kueue_without_effect
from reprieve.manifests.loading import load_objects
from tests.builders.quota import flavor, queue, workload
from tests.manifests.field_names import field_names
from tests.paths import ROOT

TEXT = (ROOT / "docs" / "quota.md").read_text()
TABLE = TEXT[TEXT.index("## Field by field") : TEXT.index("## Peace")]
NAMED = set(re.findall(r"`(?:[^`/]*/|status\.)?([A-Za-z0-9-]+)`", TABLE))
KINDS = (
    kueue.ClusterQueue,
    kueue.LocalQueue,
    kueue.Cohort,
    kueue.ResourceFlavor,
    kueue.AdmissionCheck,
    kueue.WorkloadPriorityClass,
    kueue.QuotaWorkload,
    kueue_topology.Topology,
)
# KEP-83's own, with a table of their own; what is inside of a part that is told as one; spellings of old versions.
ELSEWHERE = {
    *("triggerAfterWorkloadWaitingSeconds", "workloadSorting", "waitBeforePreemptionSeconds", "onPreemption"),
    *("disruptionCostMilestones", "seconds", "cost", "policy", "group", "kind", "apiGroup", "apiVersion", "metadata"),
    *("spec", "status", "labels", "annotations", "nodeSelector", "position", "domains", "slices", "values"),
    *("domainCount", "valuesPerLevel", "podCounts", "universal", "individual", "roots", "prefix", "suffix"),
    *("flavorUsage", "usedResources", "accumulatedPastExexcutionTimeSeconds", "observedGeneration", "key", "effect"),
    *("type", "reason", "value", "operator", "tolerationSeconds", "matchLabels", "matchExpressions"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_is_in_the_table(kind: type) -> None:
    assert sorted(field_names(kind) - NAMED - ELSEWHERE) == []


def test_what_has_no_effect_is_in_the_table_and_check_warns_of_it() -> None:
    said = {**kueue_without_effect.LABELS, **kueue_without_effect.ANNOTATIONS}
    for name in said:
        assert f"`…/{name.partition('/')[2]}`*" in TABLE, name
    made = workload("a", "team", cpu=1, annotations=dict.fromkeys(kueue_without_effect.ANNOTATIONS, "true"))
    made["metadata"]["labels"] = dict.fromkeys(kueue_without_effect.LABELS, "x")
    queues = queue("team", {"default": {"cpu": 1}}, admissionScope={"admissionMode": "UsageBasedAdmissionFairSharing"})
    queues[0]["spec"]["concurrentAdmissionPolicy"] = {"mode": "TryPreferredFlavors"}
    queues[1]["spec"]["fairSharing"] = {"weight": "2"}
    problems = [str(problem) for problem in admit_all(load_objects([flavor(), *queues, made]).entries)]
    for name in (*said, "$.spec.admissionScope", "$.spec.concurrentAdmissionPolicy", "$.spec.fairSharing"):
        assert any(name in problem and "it has no effect here" in problem for problem in problems), (name, problems)
