"""The columns of each kind, as kubectl and `reprieve get` print them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reprieve.manifests.kinds import RESOURCES, find_resource
from reprieve.manifests.resource import Resource
from reprieve.server.table_cells import CELLS, duration
from reprieve.server.tables import table
from tests.server.planes import Running
from tests.stores.made_records import record_from

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
CREATED = "2026-01-01T11:55:00Z"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "state", "conditions", "type", "status", "waiting"]), inner, max_size=3
        )
    ),
    max_leaves=10,
)


def _resource(word: str) -> Resource:
    found = find_resource(word)
    assert found is not None
    return found


def _cells(word: str, **parts: Any) -> dict[str, Any]:
    resource = _resource(word)
    metadata = {"name": "x", "creationTimestamp": CREATED, **parts.pop("metadata", {})}
    data = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, **parts}
    made = table(resource, [record_from(resource, data)], NOW)
    names = [column["name"] for column in made["columnDefinitions"]]
    return dict(zip(names, made["rows"][0]["cells"], strict=True))


def _condition(kind: str, status: str = "True", **more: str) -> dict[str, Any]:
    return {"conditions": [{"type": kind, "status": status, **more}]}


CONTAINER = {"containers": [{"name": "a"}, {"name": "b"}]}
RUNNING = [{"ready": True, "restartCount": 2, "state": {"running": {}}}, {"ready": False, "restartCount": 1}]
CRASHING = {"reason": "CrashLoopBackOff"}
CASES: tuple[tuple[str, dict[str, Any], dict[str, Any]], ...] = (
    ("pod", {"spec": CONTAINER, "status": {"phase": "Running", "containerStatuses": RUNNING}},
     {"Ready": "1/2", "Status": "Running", "Restarts": 3, "Age": "5m"}),
    ("pod", {"spec": {**CONTAINER, "nodeName": "n1", "priority": 7}, "metadata": {"deletionTimestamp": CREATED}},
     {"Status": "Terminating", "Node": "n1", "Priority": "7", "Nominated Node": "<none>"}),
    ("pod", {"spec": CONTAINER, "status": {"containerStatuses": [{"state": {"waiting": CRASHING}}]}},
     {"Status": "CrashLoopBackOff"}),
    ("pod", {"spec": CONTAINER, "status": _condition("PodScheduled", "False", reason="SchedulingGated")},
     {"Status": "SchedulingGated"}),
    ("node", {"spec": {"unschedulable": True}, "status": {**_condition("Ready"), "allocatable": {"cpu": "4"}}},
     {"Status": "Ready,SchedulingDisabled", "Roles": "<none>", "CPU": "4"}),
    ("job", {"spec": {"completions": 3}, "status": {"succeeded": 1, "startTime": CREATED}},
     {"Status": "Running", "Completions": "1/3", "Duration": "5m"}),
    ("job", {"spec": {"suspend": True}}, {"Status": "Suspended", "Completions": "0/1", "Duration": ""}),
    ("wl", {"spec": {"queueName": "q"}, "status": {"admission": {"clusterQueue": "cq"}, **_condition("Admitted")}},
     {"Queue": "q", "Reserved in": "cq", "Admitted": "True", "Finished": ""}),
    ("cq", {"spec": {"cohortName": "c"}, "status": {"pendingWorkloads": 2, "admittedWorkloads": 1}},
     {"Cohort": "c", "Pending Workloads": 2, "Admitted Workloads": 1}),
    ("pc", {"value": 5, "globalDefault": True},
     {"Value": 5, "Global-Default": "true", "PreemptionPolicy": "PreemptLowerPriority"}),
    ("rb", {"spec": {"replicas": 3, "clusters": [{"name": "m1", "replicas": 2}, {"name": "m2", "replicas": 1}]},
            "status": _condition("Scheduled")},
     {"Scheduled": "True", "Clusters": "m1:2,m2:1", "Replicas": 3}),
    ("podgroup", {"spec": {"schedulingPolicy": {"gang": {"minCount": 4}}}}, {"Policy": "Gang(4)", "Scheduled": ""}),
    ("ev", {"type": "Warning", "reason": "Preempted", "message": "by b", "lastTimestamp": "2026-01-01T11:59:30Z",
            "involvedObject": {"kind": "Pod", "name": "a"}},
     {"Last Seen": "30s", "Type": "Warning", "Reason": "Preempted", "Object": "pod/a", "Message": "by b"}),
    ("pdb", {"spec": {"minAvailable": 0}}, {"Min Available": "0", "Max Unavailable": "N/A"}),
    ("cohort", {}, {"Name": "x", "Parent": "<none>", "Age": "5m"}),
)  # fmt: skip


@pytest.mark.parametrize(("word", "parts", "want"), CASES)
def test_cells(word: str, parts: dict[str, Any], want: dict[str, Any]) -> None:
    found = _cells(word, **parts)
    assert {name: found[name] for name in want} == want


def test_every_cell_that_a_column_names_can_be_worked_out() -> None:
    named = {column.cell for resource in RESOURCES.values() for column in resource.columns if column.cell}
    assert named == set(CELLS)


@pytest.mark.parametrize(
    ("seconds", "want"),
    [(0, "0s"), (119, "119s"), (120, "2m"), (150, "2m30s"), (599, "9m59s"), (3599, "59m"), (3 * 3600, "3h"),
     (3 * 3600 + 60, "3h1m"), (47 * 3600, "47h"), (49 * 3600, "2d1h"), (9 * 86400, "9d"), (800 * 86400, "2y70d"),
     (9 * 365 * 86400, "9y"), (-5, "0s")],
)  # fmt: skip
def test_ages_read_as_in_kubectl(seconds: int, want: str) -> None:
    assert duration(timedelta(seconds=seconds)) == want


@given(ANYTHING, ANYTHING, st.sampled_from(list(RESOURCES.values())))
def test_nothing_that_can_be_stored_breaks_a_table(spec: Any, status: Any, resource: Resource) -> None:
    """Only what scheduling reads was checked: the rest may be anything."""
    data = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": "x"}}
    record = record_from(resource, {**data, "spec": {"clusters": spec}, "status": {"containerStatuses": status}})
    made = table(resource, [record], NOW)
    assert len(made["rows"][0]["cells"]) == len(resource.columns)


def test_tables_over_http(server: Running, http: httpx.Client) -> None:
    server.fill()
    pods = "/api/v1/namespaces/default/pods"
    answer = http.get(f"{pods}?limit=1", headers={"accept": TABLE}).json()
    assert (answer["kind"], answer["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert answer["metadata"]["remainingItemCount"] == 1
    assert answer["rows"][0]["object"]["kind"] == "PartialObjectMetadata"
    one = http.get(f"{pods}/low?includeObject=Object", headers={"accept": TABLE}).json()
    assert one["rows"][0]["object"]["spec"]["nodeName"] == "n1"
    bare = http.get(f"{pods}?includeObject=None", headers={"accept": TABLE}).json()
    assert "object" not in bare["rows"][0]


def test_only_what_things_are_called(server: Running, http: httpx.Client) -> None:
    server.fill()
    accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
    answer = http.get("/api/v1/pods", headers={"accept": accept}).json()
    assert answer["kind"] == "PartialObjectMetadataList"
    assert [set(item) for item in answer["items"]] == [{"kind", "apiVersion", "metadata"}] * 2
