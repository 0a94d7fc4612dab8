"""What is said about a program that decides by the same design in a cluster already."""

from __future__ import annotations

import pytest

from reprieve.texts import incumbents, questions

SENTENCES = [
    (
        incumbents.runs_here("Kueue", incumbents.lease_held("ns", "lease", "a"), ["quota of --policies"]),
        "Kueue runs in this cluster (a holds the Lease ns/lease), and two of a kind undo each other's decisions: "
        "leave out quota of --policies, only watch with --shadow, or remove Kueue",
    ),
    (incumbents.deployment_there("ns", "manager"), "there is the Deployment ns/manager"),
    (
        incumbents.cannot_look(["Kueue", "Karmada"], "forbidden"),
        "there is no right to look whether somebody else decides here already (Kueue and Karmada): "
        "forbidden; apply deploy/rbac.yaml, or leave out what they decide for",
    ),
    (
        incumbents.cannot_look_yet(["Kueue"], "gone"),
        "it cannot be seen now whether somebody else decides here already (Kueue): gone",
    ),
    (
        incumbents.left_to("Kueue", "a sign", "quota"),
        "the policy quota is off: Kueue runs in this cluster (a sign); --policies chooses otherwise",
    ),
    (
        incumbents.may_be_left_to(["Kueue"], "forbidden"),
        "policies are off that others may decide by here (Kueue): there is no right to look: forbidden",
    ),
    (
        incumbents.nobody_decides("quota"),
        "--controllers quota without the policy quota: nobody here decides for what they make",
    ),
    (questions.policy_is_off("quota"), "the policy quota is off"),
]


@pytest.mark.parametrize(("said", "want"), SENTENCES)
def test_a_sentence(said: str, want: str) -> None:
    assert said == want
