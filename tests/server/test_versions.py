"""Objects are served in the version that is asked for, whatever version they were written in."""

from __future__ import annotations

import json
from typing import Any

import httpx

from reprieve.manifests.conversion import KEPT_FIELDS

MERGE = {"content-type": "application/merge-patch+json"}
JSON_PATCH = {"content-type": "application/json-patch+json"}
REFERENCE = {"workloadName": "w", "templateName": "t"}


def at(version: str, kind: str = "podgroups") -> str:
    return f"/apis/scheduling.k8s.io/{version}/namespaces/default/{kind}"


def group(version: str, **spec: Any) -> dict[str, Any]:
    said = {"schedulingPolicy": {"gang": {"minCount": 2}}, **spec}
    return {"apiVersion": f"scheduling.k8s.io/{version}", "kind": "PodGroup", "metadata": {"name": "g"}, "spec": said}


def inline_workload() -> dict[str, Any]:
    groups = [{"name": "workers", "policy": {"gang": {"minCount": 2, "preemptionMode": "PodGroup"}}}]
    spec = {"podGroups": groups, "preemptionPriorityClassName": "system-node-critical"}
    return {"apiVersion": "scheduling.k8s.io/v1alpha1", "kind": "Workload", "metadata": {"name": "w"}, "spec": spec}


def created(http: httpx.Client, path: str, body: dict[str, Any]) -> Any:
    answer = http.post(path, json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()


def got(http: httpx.Client, path: str) -> Any:
    return http.get(path).raise_for_status().json()


def test_a_group_is_seen_as_each_version_spells_it(http: httpx.Client) -> None:
    created(http, at("v1beta1"), group("v1beta1", disruptionMode={"all": {}}, workloadRef=REFERENCE))
    old, new = (got(http, f"{at(version)}/g") for version in ("v1alpha2", "v1alpha3"))
    assert old["apiVersion"] == "scheduling.k8s.io/v1alpha2"
    assert old["spec"]["disruptionMode"] == "PodGroup"
    assert old["spec"]["podGroupTemplateRef"] == {"workload": {"workloadName": "w", "podGroupTemplateName": "t"}}
    assert new["spec"]["disruptionMode"] == {"all": {}}
    assert new["apiVersion"] == "scheduling.k8s.io/v1alpha3"


def test_lists_watches_and_tables_are_in_the_version_of_their_path(http: httpx.Client) -> None:
    created(http, at("v1alpha2"), group("v1alpha2", disruptionMode="PodGroup"))
    listed = got(http, at("v1beta1"))
    assert listed["apiVersion"] == "scheduling.k8s.io/v1beta1"
    assert [item["apiVersion"] for item in listed["items"]] == ["scheduling.k8s.io/v1beta1"]
    lines = http.get(f"{at('v1alpha3')}?watch=true&timeoutSeconds=1").text.splitlines()
    assert json.loads(lines[0])["object"]["apiVersion"] == "scheduling.k8s.io/v1alpha3"
    form = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    table = http.get(f"{at('v1beta1')}?includeObject=Object", headers=form).json()
    assert table["rows"][0]["object"]["spec"]["disruptionMode"] == {"all": {}}


def test_a_patch_is_taken_in_the_version_of_its_path(http: httpx.Client) -> None:
    created(http, at("v1beta1"), group("v1beta1", disruptionMode={"all": {}}))
    change = {"spec": {"schedulingPolicy": {"gang": {"minCount": 3}}}}
    answer = http.patch(f"{at('v1alpha2')}/g", json=change, headers=MERGE).raise_for_status().json()
    assert (answer["apiVersion"], answer["spec"]["disruptionMode"]) == ("scheduling.k8s.io/v1alpha2", "PodGroup")
    steps: list[dict[str, Any]] = [{"op": "test", "path": "/spec/disruptionMode", "value": "PodGroup"}]
    steps += [{"op": "replace", "path": "/spec/schedulingPolicy/gang/minCount", "value": 4}]
    http.patch(f"{at('v1alpha2')}/g", json=steps, headers=JSON_PATCH).raise_for_status()
    kept = got(http, f"{at('v1beta1')}/g")
    assert kept["spec"]["schedulingPolicy"]["gang"]["minCount"] == 4
    assert kept["spec"]["disruptionMode"] == {"all": {}}


def test_what_a_version_cannot_say_stays_as_it_was(http: httpx.Client) -> None:
    made = created(http, at("v1alpha1", "workloads"), inline_workload())
    seen = got(http, f"{at('v1beta1', 'workloads')}/w")
    assert "preemptionPriorityClassName" not in seen["spec"]
    assert "preemptionPriorityClassName" in seen["metadata"]["annotations"][KEPT_FIELDS]
    seen["metadata"]["annotations"] = {"who": "me"}
    seen["spec"]["podGroupTemplates"][0]["schedulingPolicy"]["gang"]["minCount"] = 3
    http.put(f"{at('v1beta1', 'workloads')}/w", json=seen).raise_for_status()
    kept = got(http, f"{at('v1alpha1', 'workloads')}/w")
    assert kept["spec"]["preemptionPriorityClassName"] == made["spec"]["preemptionPriorityClassName"]
    assert kept["spec"]["podGroups"][0]["policy"]["gang"] == {"minCount": 3, "preemptionMode": "PodGroup"}
    assert kept["metadata"]["annotations"] == {"who": "me"}


def test_what_is_wrong_is_told_in_the_words_of_the_sender(http: httpx.Client) -> None:
    created(http, at("v1beta1"), group("v1beta1"))
    wrong = {"spec": {"podGroupTemplateRef": {"workload": {"workloadName": 1}}}}
    answer = http.patch(f"{at('v1alpha2')}/g", json=wrong, headers=MERGE)
    assert answer.status_code == 422
    assert "spec.podGroupTemplateRef.workload.workloadName" in answer.text


def test_a_patch_cannot_make_another_version_of_an_object(http: httpx.Client) -> None:
    created(http, at("v1beta1"), group("v1beta1"))
    answer = http.patch(f"{at('v1beta1')}/g", json={"apiVersion": "scheduling.k8s.io/v1alpha2"}, headers=MERGE)
    assert answer.status_code == 400


def test_a_group_is_given_its_priority_and_its_mode(http: httpx.Client) -> None:
    spec = created(http, at("v1alpha3"), group("v1alpha3", priorityClassName="system-cluster-critical"))["spec"]
    assert spec["priority"] == 2_000_000_000
    assert spec["disruptionMode"] == {"single": {}}
    answer = http.post(at("v1beta1"), json={**group("v1beta1", priority=7), "metadata": {"name": "other"}})
    assert (answer.status_code, answer.json()["details"]["causes"][0]["field"]) == (403, "spec.priority")


def test_of_a_group_only_the_smallest_number_changes(http: httpx.Client) -> None:
    created(http, at("v1beta1"), group("v1beta1", workloadRef=REFERENCE))
    for change, field in (
        ({"disruptionMode": {"single": None, "all": {}}}, "spec.disruptionMode"),
        ({"priorityClassName": "system-node-critical", "priority": 2_000_001_000}, "spec.priority"),
        ({"workloadRef": {"templateName": "other"}}, "spec.workloadRef"),
        ({"schedulingPolicy": {"gang": None, "basic": {}}}, "spec.schedulingPolicy.basic"),
    ):
        answer = http.patch(f"{at('v1beta1')}/g", json={"spec": change}, headers=MERGE)
        fields = [cause["field"] for cause in answer.json()["details"]["causes"]]
        assert (answer.status_code, field in fields) == (422, True), answer.text
    smaller = {"spec": {"schedulingPolicy": {"gang": {"minCount": 5}}}}
    assert http.patch(f"{at('v1beta1')}/g", json=smaller, headers=MERGE).status_code == 200
