"""What a policy selects is the same whether one resource is asked about or many."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from reprieve.manifests.loading import load_objects
from reprieve.manifests.propagation import PolicySelectors, closeness, selected_by

KINDS = {"Deployment": "apps/v1", "Job": "batch/v1", "ConfigMap": "v1"}
NAMES, NAMESPACES = st.sampled_from("ab"), st.sampled_from(["one", "two"])
LABELS = st.dictionaries(st.sampled_from(["app", "tier"]), st.sampled_from("xy"), max_size=2)


@st.composite
def selectors(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(list(KINDS)))
    given = {
        "name": draw(st.none() | NAMES),
        "namespace": draw(st.none() | NAMESPACES),
        "labelSelector": draw(st.none() | LABELS.map(lambda labels: {"matchLabels": labels})),
    }
    return {"apiVersion": KINDS[kind], "kind": kind, **{name: value for name, value in given.items() if value}}


@st.composite
def policies(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(["PropagationPolicy", "ClusterPropagationPolicy"]))
    place = {"namespace": draw(NAMESPACES)} if kind == "PropagationPolicy" else {}
    spec = {"resourceSelectors": draw(st.lists(selectors(), min_size=1, max_size=4))}
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": kind,
        "metadata": {"name": "p", **place},
        "spec": {**spec, "placement": {"clusterAffinity": {"clusterNames": ["m1"]}}},
    }


def template(kind: str, namespace: str, name: str, labels: dict[str, str]) -> dict[str, Any]:
    container = {"name": "main", "image": "busybox"}
    pods = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container], "restartPolicy": "Never"}}
    spec = {"Job": {"template": pods}, "Deployment": {"selector": {"matchLabels": {"a": "b"}}, "template": pods}}
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    return {"apiVersion": KINDS[kind], "kind": kind, "metadata": metadata, "spec": spec.get(kind, {})}


def _selects(selector: dict[str, Any], found: Any) -> bool:
    """The rule, read literally."""
    labels = selector.get("labelSelector", {}).get("matchLabels", {})
    return (
        (selector["apiVersion"], selector["kind"]) == (found.api_version, found.kind)
        and selector.get("namespace", found.namespace) == found.namespace
        and (
            selector["name"] == found.name
            if "name" in selector
            else labels.items() <= dict(found.metadata.labels).items()
        )
    )


@given(policies(), st.sampled_from(list(KINDS)), NAMESPACES, NAMES, LABELS)
def test_one_or_many_resources_are_selected_alike(
    policy: dict[str, Any], kind: str, namespace: str, name: str, labels: dict[str, str]
) -> None:
    made, found = (load_objects([each]).objects[0] for each in (policy, template(kind, namespace, name, labels)))
    here = policy["metadata"].get("namespace", namespace) == namespace
    expected = here and any(_selects(each, found) for each in policy["spec"]["resourceSelectors"])
    assert PolicySelectors(made).means(found) == selected_by(made, found) == bool(closeness(made, found)) == expected
