"""The table of feature gates: stages, defaults as the designs have them, and AllAlpha and AllBeta as in Kubernetes."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reprieve import InvalidInput
from reprieve.configuration import Settings, configure
from reprieve.feature_gates import ALL_OF, GATES, gates_on, parse_gates
from tests.paths import ROOT

FREE = [name for name, gate in GATES.items() if not gate.locked]
OFF_BY_DESIGN = [
    "GenericWorkload",
    "CompositePodGroup",
    "PodGroupPreemptionPolicy",
    "TopologyAwareWorkloadScheduling",
    "WorkloadWithJob",
    "PriorityBasedScheduling",
    "PriorityBasedPreemptiveScheduling",
    "PriorityBoost",
]


def said(text: str) -> Settings:
    return configure(None, parse_gates(text))


def test_what_the_designs_keep_off_is_off() -> None:
    on, off = gates_on({})
    assert set(off) == {*OFF_BY_DESIGN, *(name for name, gate in GATES.items() if gate.locked)}
    assert set(on) == set(GATES) - set(off)
    assert not any(GATES[name].default for name in GATES if GATES[name].stage == "alpha")


@pytest.mark.parametrize(("word", "stage"), ALL_OF.items())
@pytest.mark.parametrize("value", [True, False])
def test_all_of_a_stage(word: str, stage: str, value: bool) -> None:
    settings = said(f"{word}={str(value).lower()}")
    for name in FREE:
        assert settings.gate(name) is (value if GATES[name].stage == stage else GATES[name].default), name
    assert not settings.gate("TopologyAwareScheduling")  # what is not part of Reprieve stays off


@pytest.mark.parametrize("parts", [*itertools.permutations(["AllAlpha=true", "PriorityBoost=false", "AllBeta=false"])])
def test_a_gate_that_is_named_wins_whatever_the_order(parts: tuple[str, ...]) -> None:
    settings = said(",".join(parts))
    assert not settings.gate("PriorityBoost")
    assert settings.gate("PriorityBasedScheduling")
    assert not settings.gate("PartialAdmission")


@given(st.dictionaries(st.sampled_from([*FREE, *ALL_OF]), st.booleans()))
def test_explicit_then_stage_then_default(gates: dict[str, bool]) -> None:
    """The law as Kubernetes has it, in other words than the code."""
    settings = Settings(feature_gates=gates)
    for name in FREE:
        word = next((word for word, stage in ALL_OF.items() if stage == GATES[name].stage), "")
        wanted = [gates[key] for key in (name, word) if key in gates]
        assert settings.gate(name) is [*wanted, GATES[name].default][0]


def test_a_named_gate_of_the_file_wins_over_all_of_a_stage_on_the_command_line() -> None:
    settings = configure({"featureGates": {"PriorityBoost": False}}, parse_gates("AllAlpha=true"))
    assert not settings.gate("PriorityBoost")
    assert settings.gate("CompositePodGroup")


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("AllAlfa=true", '$.featureGates.AllAlfa: unknown feature gate; did you mean "AllAlpha"?'),
        ("GenericWorklod=true", '$.featureGates.GenericWorklod: unknown feature gate; did you mean "GenericWorkload"?'),
        (
            "TopologyAwareScheduling=true",
            "$.featureGates.TopologyAwareScheduling: found true; it can only be false: Kueue's placement by topology; "
            "here it needs no gate, so this one stays off.",
        ),
    ],
)
def test_mistakes(text: str, want: str) -> None:
    with pytest.raises(InvalidInput) as error:
        parse_gates(text)
    assert [str(problem) for problem in error.value.problems] == [f"command line: {want}"]


def test_the_documentation_has_the_table() -> None:
    """docs/gates.md is made of the same table: this is what it has to say."""
    switch = {True: "on", False: "off"}
    rows = [f"| `{name}` | {gate.stage} | {switch[gate.default]} | {gate.sentence} |" for name, gate in GATES.items()]
    assert "\n".join(rows) in (ROOT / "docs" / "gates.md").read_text()
