"""Placement rules: which queue a pod goes to, by the examples of YuniKorn's documentation and at their edges."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reprieve import plan
from reprieve.configuration import Settings
from reprieve.manifests.loading import load_objects
from reprieve.policies.registry import Policies
from reprieve.world import World
from tests.builders.pods import Dict, node
from tests.builders.queues import NOW, in_queue, queues, tree

TAG: Dict = {"name": "tag", "value": "namespace"}
BY_USER: Dict = {"name": "user", "create": True}
MANY: list[Dict] = [
    {
        "name": "user",
        "create": True,
        "filter": {"type": "allow", "groups": ["dev*"]},
        "parent": {**TAG, "create": True},
    },
    {
        **TAG,
        "create": True,
        "parent": {"name": "fixed", "value": "root.namespaces", "filter": {"type": "allow", "users": ["john"]}},
    },
    {"name": "fixed", "value": "root.default"},
]


def placed_by(rules: list[Dict], *below_root: Dict, root: Dict | None = None) -> Dict:
    made = queues(*below_root, root=root)
    text = json.loads(made["data"]["queues.yaml"])
    text["partitions"][0]["placementrules"] = rules
    return {**made, "data": {"queues.yaml": json.dumps(text)}}


def asking(queue: str = "", user: str = "", groups: tuple[str, ...] = (), namespace: str = "default") -> Dict:
    made = in_queue("ask", queue, namespace=namespace)
    if not queue:
        del made["metadata"]["labels"]["queue"]
    if user:
        info = json.dumps({"user": user, "groups": groups})
        made["metadata"]["annotations"] = {"yunikorn.apache.org/user.info": info}
    return made


def queue_of(configuration: Dict, pod: Dict, *others: Dict) -> str:
    """Where a pod counts; `-`: no rule gives it a queue."""
    loaded = load_objects([configuration, node("n1"), pod, *others])
    assert not loaded.errors
    world = World(loaded.objects)
    tree = Policies(world, Settings())["queue"].policy.tree
    facts = world.pods[pod["metadata"]["namespace"], "ask"]
    return "-" if tree.unplaced(facts) else str(tree.queue_of(facts).name)


@pytest.mark.parametrize(
    ("rules", "pod", "want"),
    [
        # The rule `provided`
        ([{"name": "provided"}], {"queue": "root.known"}, "root.known"),
        ([{"name": "provided"}], {"queue": "known"}, "root.known"),
        ([{"name": "provided"}], {"queue": "other"}, "-"),
        ([{"name": "provided", "create": True}], {"queue": "other"}, "root.other"),
        ([{"name": "provided", "create": True}], {"queue": "a.b"}, "root.a_dot_b"),
        ([{"name": "provided", "create": True}], {}, "-"),
        (
            [{"name": "provided", "create": True, "parent": BY_USER}],
            {"queue": "my_special_queue", "user": "developer"},
            "root.developer.my_special_queue",
        ),
        (
            [{"name": "provided", "create": True, "parent": BY_USER}],
            {"queue": "root.dev_queue", "user": "developer"},
            "root.dev_queue",
        ),
        # The rule `user`
        ([{"name": "user"}], {"user": "finance.test"}, "root.finance_dot_test"),
        ([{"name": "user"}], {"user": "developer"}, "-"),
        ([{"name": "User", "create": True}], {"user": "root.me"}, "root.root_dot_me"),
        # The rule `fixed`
        ([{"name": "fixed", "value": "last_resort"}], {"queue": "my_special_queue"}, "root.last_resort"),
        ([{"name": "fixed", "value": "space.inner", "create": True}], {}, "root.space.inner"),
        ([{"name": "fixed", "value": "inner", "create": True, "parent": BY_USER}], {"user": "sue"}, "root.sue.inner"),
        # The rule `tag`
        ([{**TAG, "create": True}], {"queue": "my_special_queue", "user": "developer"}, "root.default"),
        ([{**TAG, "create": True}], {"namespace": "testing"}, "root.testing"),
        ([TAG], {"namespace": "testing"}, "-"),
        # Several
        (MANY, {"namespace": "testing", "user": "john"}, "root.namespaces.testing"),
        (
            MANY,
            {"namespace": "newapp", "user": "sarah", "groups": ("sarah", "test_app", "dev_app")},
            "root.newapp.sarah",
        ),
        (MANY, {"namespace": "testapp", "user": "bob", "groups": ("bob",)}, "root.default"),
        # Filters
        ([{**BY_USER, "filter": {"type": "deny", "users": ["bob"]}}], {"user": "bob"}, "-"),
        ([{**BY_USER, "filter": {"type": "deny", "users": ["bob"]}}], {"user": "sue"}, "root.sue"),
        ([{**BY_USER, "filter": {"users": ["sue", "bob"]}}], {"user": "bob"}, "root.bob"),
        ([{**BY_USER, "filter": {"users": ["^s.*"]}}], {"user": "bob", "groups": ("staff",)}, "-"),
        ([{**BY_USER, "filter": {"groups": ["^s.*"]}}], {"user": "bob", "groups": ("x", "staff")}, "root.bob"),
        ([{**BY_USER, "filter": {"type": "deny"}}], {"user": "bob"}, "-"),
        # What cannot be
        ([{"name": "provided"}, BY_USER], {"queue": "namespaces", "user": "sue"}, "root.sue"),
        ([{"name": "provided", "create": True}, BY_USER], {"queue": "root.known.x", "user": "sue"}, "-"),
        ([{**TAG, "create": True, "parent": {"name": "provided"}}, BY_USER], {"queue": "known", "user": "sue"}, "-"),
        ([BY_USER], {"user": "no name"}, "-"),
    ],
)
def test_the_first_rule_that_gives_a_queue_decides(rules: list[Dict], pod: Dict, want: str) -> None:
    configured = [tree("known"), tree("finance_dot_test"), tree("last_resort"), tree("default")]
    configured += [{**tree("namespaces"), "parent": True}, {**tree("space"), "parent": True}]
    pod = {**pod, "user": pod.get("user", "developer")}
    assert queue_of(placed_by(rules, *configured), asking(**pod)) == want


def test_without_rules_a_pod_is_in_the_queue_that_it_names() -> None:
    assert queue_of(queues(tree("a")), asking("root.other.x")) == "root.other.x"
    assert queue_of(queues(tree("a")), asking()) == "root.default"


def test_a_namespace_names_the_queue_above_its_own() -> None:
    above: Dict = {"name": "tag", "value": "namespace.parentqueue"}
    made = placed_by([{**TAG, "create": True, "parent": above}], {**tree("team"), "parent": True})
    annotations = {"yunikorn.apache.org/parentqueue": "root.team"}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web", "annotations": annotations}}
    assert queue_of(made, asking(namespace="web"), namespace) == "root.team.web"
    assert queue_of(made, asking(namespace="db"), namespace) == "-"


def test_who_has_no_queue_is_told_what_came_of_each_rule() -> None:
    made = placed_by([{"name": "provided"}, {"name": "user"}], tree("a"))
    said = plan([made, node("n1"), asking("root.b", "sue")], now=NOW).decisions[0]
    assert said.outcome == "Unschedulable"
    assert said.message == (
        "Pod/default/ask is unschedulable: no placement rule gives it a queue (provided: root.b does not exist, and "
        "the rule creates none; user: root.sue does not exist, and the rule creates none)."
    )


def test_a_queue_that_a_rule_makes_has_what_the_template_says() -> None:
    template: Any = {"resources": {"max": {"vcore": "1"}}}
    made = placed_by([{**BY_USER, "parent": {"name": "fixed", "value": "users"}}], tree("users", template=template))
    pods = [asking("", "sue"), {**asking("", "sue"), "metadata": {**asking("", "sue")["metadata"], "name": "second"}}]
    said = {one.preemptor: one.message for one in plan([made, node("n1"), *pods], now=NOW).decisions}
    assert "root.users.sue uses 1 of its maximum of 1 cpu" in said["Pod/default/second"]


def test_what_runs_and_has_no_queue_counts_in_root() -> None:
    made = placed_by([{"name": "provided"}], tree("a", cpu=1, preemption_delay="1s"))
    runs = in_queue("runs", "root.gone", node="n1")
    said = plan([made, node("n1", cpu="1"), runs, asking("root.a")], preemptor="Pod/default/ask", now=NOW).decisions[0]
    assert [victim["unit"] for victim in said.victims] == ["Pod/default/runs"]
