"""Label and field selectors: what they match, and what is said about those that cannot be read."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reprieve.manifests.kinds import CLUSTER_QUEUES, EVENTS, NAMESPACES, NODES, PODS
from reprieve.manifests.resource import Resource
from reprieve.stores.api.selectors import BadSelector, field_selector, label_selector, matcher

LABELS = {"app": "web", "tier": "front", "empty": "", "example.com/team": "a"}
MATCHES = [
    *("", "  ", "app", "!other", "! other", "app=web", "app==web", "app = web", "app!=db", "other!=web"),
    *("app in (web)", "app in (db, web)", "app in(web,db)", "app notin (db)", "other notin (web)", " app=web , tier "),
    *("empty=", "empty==", "empty in ()", "empty in (x,)", "empty", "example.com/team=a", "app=web,tier=front,!x"),
    *("app in (web,db),tier notin (back,middle)", "app\tin\t(web)"),
]
DIFFERS = [
    *("other", "!app", "app=db", "app=", "app!=web", "other=", "app in (db)", "other in (web)", "app notin (web, db)"),
    *("app=web,tier=back", "empty!=", "app,!tier", "App=web", "other in ()"),
]


@pytest.mark.parametrize("selector", MATCHES)
def test_labels_that_match(selector: str) -> None:
    assert label_selector(selector)(LABELS)


@pytest.mark.parametrize("selector", DIFFERS)
def test_labels_that_do_not_match(selector: str) -> None:
    assert not label_selector(selector)(LABELS)


FORMS = "allowed: key, !key, key=value, key==value, key!=value, key in (a,b), key notin (a,b)"
KEYS = "allowed: an optional DNS name and /, then letters, digits, -, _ and ., at most 63 long"
VALUES = "allowed: letters, digits, -, _ and ., at most 63 long"
BAD_LABELS = [
    *((f"app{part}", f'"app{part}" cannot be read; {FORMS}') for part in (" web", "===b", "=b=c", "<5", " in web")),
    *((f"app{part}", f'"app{part}" cannot be read; {FORMS}') for part in (" in (a", " in a)", " in ((a))", " is (a)")),
    *((part, f'"{part}" cannot be read; {FORMS}') for part in ("=b", "!", "!a=b", "()", "in (a)")),
    *((f"app=web,{part}", f'"{part.strip()}" cannot be read; {FORMS}') for part in ("", " ", "a b", "x in (y) z")),
    ("a,,b", f'"" cannot be read; {FORMS}'),
    ("x=1,-a=b", f'"-a=b": "-a" is no label key; {KEYS}'),
    ("a/b/c", f'"a/b/c": "a/b/c" is no label key; {KEYS}'),
    ("a=-b", f'"a=-b": "-b" is no label value; {VALUES}'),
    ("a in (b,c d)", f'"a in (b,c d)": "c d" is no label value; {VALUES}'),
]


@pytest.mark.parametrize(("selector", "want"), BAD_LABELS)
def test_a_label_selector_that_cannot_be_read(selector: str, want: str) -> None:
    with pytest.raises(BadSelector) as failure:
        label_selector(selector)
    assert str(failure.value) == f"label selector: {want}"
    assert failure.value.code == 400


WORDS = st.sampled_from(["a", "b", "in", "notin", "x.y/z", "C_1"])
PLAIN = st.sampled_from(["a", "b", "in", "1"])
SETS = st.lists(PLAIN, min_size=1, max_size=3)
SOME_LABELS = st.dictionaries(WORDS, PLAIN, max_size=4)


@given(WORDS, SETS, SOME_LABELS)
def test_among_is_any_of_the_equalities(key: str, values: list[str], labels: dict[str, str]) -> None:
    among = label_selector(f"{key} in ({', '.join(values)})")(labels)
    assert among == any(label_selector(f"{key}={value}")(labels) for value in values)
    assert label_selector(f"{key} notin ({','.join(values)})")(labels) != among


@given(WORDS, PLAIN, SOME_LABELS)
def test_a_part_or_its_opposite_holds(key: str, value: str, labels: dict[str, str]) -> None:
    assert label_selector(f"{key}={value}")(labels) == (labels.get(key) == value)
    assert label_selector(f"{key}!={value}")(labels) == (labels.get(key) != value)
    assert label_selector(key)(labels) == (key in labels) != label_selector(f"!{key}")(labels)


PARTS = st.builds("{}{}{}".format, WORDS, st.sampled_from(["=", "==", "!=", " = "]), PLAIN) | st.builds(
    "{} {} ({})".format, WORDS, st.sampled_from(["in", "notin"]), SETS.map(",".join)
)


@given(st.lists(PARTS, min_size=1, max_size=4), SOME_LABELS)
def test_all_parts_have_to_hold(parts: list[str], labels: dict[str, str]) -> None:
    assert label_selector(",".join(parts))(labels) == all(label_selector(part)(labels) for part in parts)


@given(st.text("ab=!(), in\\.<é\n", max_size=20))
def test_whatever_is_asked_there_is_an_answer(text: str) -> None:
    with contextlib.suppress(BadSelector):
        assert label_selector(text)({"a": "b"}) in (True, False)
    with contextlib.suppress(BadSelector):
        assert field_selector(text, PODS)({}) in (True, False)


# Fields

POD = {
    "metadata": {"name": "a", "namespace": "default"},
    "spec": {"nodeName": "n1", "schedulerName": "reprieve", "restartPolicy": "Never"},
    "status": {"phase": "Running", "nominatedNodeName": "n2"},
}
EVENT = {
    "metadata": {"name": "e", "namespace": "default"},
    "involvedObject": {"kind": "Pod", "name": "a", "namespace": "default", "uid": "u1"},
    "reason": "Preempted",
    "type": "Normal",
}
FIELDS: list[tuple[Resource, dict[str, Any], str, bool]] = [
    (PODS, POD, "", True),
    (PODS, POD, "metadata.name=a", True),
    (PODS, POD, "metadata.name=b", False),
    (PODS, POD, "metadata.namespace==default", True),
    (PODS, POD, "spec.nodeName=n1,status.phase!=Failed", True),
    (PODS, POD, "spec.nodeName=n1,status.phase!=Running", False),
    (PODS, POD, "spec.nodeName=", False),
    (PODS, POD, "spec.nodeName!=", True),
    (PODS, POD, "spec.schedulerName=reprieve,spec.restartPolicy=Never", True),
    (PODS, POD, "status.nominatedNodeName=n2", True),
    (PODS, POD, "metadata.name=a,", True),
    (PODS, POD, r"metadata.name=a\,b", False),
    (PODS, {}, "spec.nodeName=,status.phase=Pending", True),
    (PODS, {"spec": None}, "spec.schedulerName=default-scheduler,spec.restartPolicy=Always", True),
    (NODES, {"metadata": {"name": "n1"}}, "spec.unschedulable=false", True),
    (NODES, {"spec": {"unschedulable": True}}, "spec.unschedulable=true", True),
    (NAMESPACES, {"metadata": {"name": "a"}}, "status.phase=Active", True),
    (EVENTS, EVENT, "involvedObject.kind=Pod,involvedObject.name=a,involvedObject.uid=u1", True),
    (EVENTS, EVENT, "reason=Preempted,type!=Warning", True),
    (EVENTS, EVENT, "involvedObject.name=b", False),
    (EVENTS, {**EVENT, "reason": r"a,b=c\d"}, r"reason=a\,b\=c\\d", True),
    (CLUSTER_QUEUES, {"metadata": {"name": "q"}}, "metadata.name=q", True),
]


@pytest.mark.parametrize(("resource", "data", "selector", "want"), FIELDS)
def test_fields(resource: Resource, data: dict[str, Any], selector: str, want: bool) -> None:
    assert field_selector(selector, resource)(data) is want


TERMS = "allowed: field=value, field==value, field!=value"
BAD_FIELDS = [
    (PODS, "spec.nodeName", f'"spec.nodeName" cannot be read; {TERMS}'),
    (PODS, "metadata.name=a,x", f'"x" cannot be read; {TERMS}'),
    (PODS, "metadata.name=a=b", f'"metadata.name=a=b" cannot be read; {TERMS}'),
    (PODS, "metadata.name=a\\", f'"metadata.name=a\\\\" cannot be read; {TERMS}'),
    (
        PODS,
        "spec.nodename=n1",
        '"spec.nodename" cannot be asked for in pods; allowed: metadata.name, metadata.namespace, spec.nodeName, '
        "spec.restartPolicy, spec.schedulerName, spec.serviceAccountName, status.phase, status.nominatedNodeName; "
        'did you mean "spec.nodeName"?',
    ),
    (
        CLUSTER_QUEUES,
        "spec.cohort=c",
        '"spec.cohort" cannot be asked for in clusterqueues.kueue.x-k8s.io; allowed: metadata.name, metadata.namespace',
    ),
    (PODS, "=a", None),
]


@pytest.mark.parametrize(("resource", "selector", "want"), BAD_FIELDS)
def test_a_field_selector_that_cannot_be_used(resource: Resource, selector: str, want: str | None) -> None:
    with pytest.raises(BadSelector) as failure:
        field_selector(selector, resource)
    assert failure.value.code == 400
    if want is not None:
        assert str(failure.value) == f"field selector: {want}"


@given(st.text(max_size=10))
def test_every_value_can_be_asked_for(value: str) -> None:
    escaped = value.replace("\\", r"\\").replace(",", r"\,").replace("=", r"\=")
    selector = field_selector(f"reason={escaped}", EVENTS)
    assert selector({"reason": value})
    assert not selector({"reason": f"{value}."})


def test_both_selectors_at_once() -> None:
    labelled = {"metadata": {"name": "a", "labels": {"app": "web"}}}
    selected = matcher(PODS, "app=web", "metadata.name=a")
    assert selected(labelled)
    assert not selected({"metadata": {"name": "b", "labels": {"app": "web"}}})
    assert not selected({"metadata": {"name": "a", "labels": None}})
    assert matcher(PODS)({"metadata": {"name": "a"}})
