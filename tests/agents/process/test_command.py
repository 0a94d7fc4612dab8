"""What a container finds in its environment."""

from __future__ import annotations

import pytest

from reprieve.agents.process.command import environment, expand
from reprieve.agents.process.containers import PodIdentity
from reprieve.agents.process.specs import CannotRun

POD = PodIdentity("team", "work-1", "uid-1", "here")
OWN = {"PATH": "/bin", "HOME": "/home/me", "LANG": "C", "TMPDIR": "/t", "USER": "me", "TOKEN": "secret"}


def test_little_is_inherited_and_the_container_knows_who_it_is() -> None:
    assert environment(OWN, POD, "main") == {
        "PATH": "/bin",
        "HOME": "/home/me",
        "LANG": "C",
        "TMPDIR": "/t",
        "USER": "me",
        "REPRIEVE_POD_NAME": "work-1",
        "REPRIEVE_POD_NAMESPACE": "team",
        "REPRIEVE_POD_UID": "uid-1",
        "REPRIEVE_NODE_NAME": "here",
        "REPRIEVE_CONTAINER_NAME": "main",
    }


def test_what_the_pod_asks_for_comes_before_what_is_inherited_and_later_values_win() -> None:
    asked = [("PATH", "/opt:$(PATH)"), ("A", "1"), ("B", "$(A)$(A)"), ("A", "2"), ("C", "$(A) $(TOKEN)")]
    found = environment(OWN, POD, "main", asked)
    assert (found["PATH"], found["A"], found["B"], found["C"]) == ("/opt:/bin", "2", "11", "2 $(TOKEN)")


def test_a_pod_cannot_pretend_to_be_another_or_take_devices() -> None:
    asked = [("REPRIEVE_POD_UID", "other"), ("CUDA_VISIBLE_DEVICES", "0,1,2,3")]
    found = environment(OWN, POD, "main", asked, {"CUDA_VISIBLE_DEVICES": "1"})
    assert (found["REPRIEVE_POD_UID"], found["CUDA_VISIBLE_DEVICES"]) == ("uid-1", "1")


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("plain", "plain"),
        ("$(A)", "1"),
        ("x$(A)y$(B)", "x1y2"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$$", "$"),
        ("$(MISSING)", "$(MISSING)"),
        ("$A ${A} $", "$A ${A} $"),
        ("$(A", "$(A"),
        ("$()", "$()"),
    ],
)
def test_references_are_replaced_as_in_kubernetes(text: str, want: str) -> None:
    assert expand(text, {"A": "1", "B": "2"}) == want


def test_variables_that_repeat_each_other_fill_no_memory() -> None:
    """Thirty of them would come to a gigabyte, and sixty to more than there is anywhere."""
    asked = [("A0", "x" * 16), *((f"A{number}", f"$(A{number - 1})" * 2) for number in range(1, 60))]
    with pytest.raises(CannotRun, match="more than 2097152 letters once all references in them are replaced"):
        environment(OWN, POD, "main", asked)
    many = [("A", "x" * 1_000_000), *((f"B{number}", "$(A)") for number in range(1_000))]
    with pytest.raises(CannotRun, match="more than 2097152 letters"):
        environment(OWN, POD, "main", many)
    with pytest.raises(CannotRun, match="more than 2097152 letters"):
        expand("$(A)" * 1_000, {"A": "x" * 1_000_000})
    assert len(environment(OWN, POD, "main", asked[:16])["A15"]) == 16 << 15
