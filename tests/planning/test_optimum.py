"""`plan --optimal`: the proven optimum beside a plan, where OR-Tools is there; and what is said where it is not."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from time import monotonic

import pytest

from benchmarks.quality.measure import measure
from benchmarks.quality.worlds import NOON, WORLDS
from reprieve.configuration import configure
from reprieve.engine.linear_model import LinearModel
from reprieve.manifests.loading import load_objects
from reprieve.planning.optimum import optimum, prove
from reprieve.planning.planner import Planner
from reprieve.planning.questions import asked_of
from reprieve.world import microseconds
from tests.builders.gates import GANGS_AND_BINDINGS
from tests.builders.pods import Dict, node, pod, to_yaml
from tests.builders.queues import in_queue, queues, tree
from tests.cli.command import reprieve
from tests.generators.federations import binding, cluster

INSTALLED = find_spec("ortools") is not None
OBJECTS = [
    node("n1", cpu="4"),
    pod("small", cpu="1", node="n1", priority=1),
    pod("large", cpu="3", node="n1", priority=1),
    pod("ask", cpu="3", priority=9),
]
_LARGE = {"federation, many clusters": 1}
"""So few of these, each of which takes the solver seconds."""
ASKED = ("plan", "-f", "a.yaml", "--for", "Pod/default/ask", "--optimal")


@pytest.mark.skipif(INSTALLED, reason="OR-Tools is installed")
def test_without_a_solver_it_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(to_yaml(*OBJECTS))
    done = reprieve(*ASKED, cwd=tmp_path)
    assert done.returncode == 2
    assert "pip install 'reprieve[optimal]'" in done.stderr


def test_it_is_asked_about_one_unit(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(to_yaml(*OBJECTS))
    done = reprieve("plan", "-f", "a.yaml", "--optimal", cwd=tmp_path)
    assert (done.returncode, "name it with --for" in done.stderr) == (2, True)


@pytest.mark.parametrize("option", [("--objective", "victims"), ("--time-limit", "5")])
def test_what_is_for_a_proof_goes_with_one(tmp_path: Path, option: tuple[str, str]) -> None:
    (tmp_path / "a.yaml").write_text(to_yaml(*OBJECTS))
    done = reprieve(*ASKED[:-1], *option, cwd=tmp_path)
    assert (done.returncode, "add --optimal" in done.stderr) == (2, True)


@pytest.mark.skipif(not INSTALLED, reason="needs OR-Tools")
def test_the_optimum_is_proven_and_compared(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(to_yaml(*OBJECTS))
    done = reprieve(*ASKED, cwd=tmp_path)
    assert "Optimum by design: 1 victim (Pod/default/large), proven. The plan is at the optimum." in done.stdout


@pytest.mark.skipif(not INSTALLED, reason="needs OR-Tools")
@pytest.mark.parametrize("name", sorted(WORLDS))
def test_no_plan_is_below_the_proven_optimum_and_best_is_near_it(name: str) -> None:
    seeds = range(_LARGE.get(name, 12))
    found = [one for seed in seeds if (one := measure(WORLDS[name](seed), seed, ("Design", "Best"))) is not None]
    ratios = {search: [ratio for one in found if (ratio := one.ratio(search))] for search in ("Design", "Best")}
    assert min([*ratios["Design"], *ratios["Best"]], default=1) >= 1
    assert sum(ratios["Best"]) <= 1.25 * len(ratios["Best"])


@pytest.mark.skipif(not INSTALLED, reason="needs OR-Tools")
def test_a_proof_looks_at_every_cluster() -> None:
    """Ten of them cost two unimportant bindings each, and are looked at first; the last costs one that is above."""
    objects = [cluster(f"m{number:02d}", cpu="4", used="4") for number in range(11)]
    objects += [
        binding(f"low-{number}-{place}", priority=1, cpu="2", on={f"m{number:02d}": 1})
        for number in range(10)
        for place in range(2)
    ]
    objects += [binding("one", priority=2, cpu="4", on={"m10": 1}), binding("ask", priority=9, cpu="4")]
    proof = _proven(objects, "ResourceBinding/default/ask", "victims")
    assert "Optimum by victims: 1 victim (ResourceBinding/default/one@m10), proven." in proof


@pytest.mark.skipif(not INSTALLED, reason="needs OR-Tools")
def test_a_proof_looks_at_every_node_of_a_queue() -> None:
    """Seventy nodes where two unimportant pods would go, and one where one goes that is above them."""
    objects = [queues(tree("a", cpu=99), tree("b", cpu=1))]
    for number in range(71):
        name = f"n{number:02d}"
        objects.append(node(name, cpu="4"))
        here = [("4", 5)] if number == 70 else [("2", 0), ("2", 0)]
        objects += [
            in_queue(f"low-{name}-{place}", "root.b", cpu=cpu, node=name, priority=priority, minutes=90)
            for place, (cpu, priority) in enumerate(here)
        ]
    objects.append(in_queue("ask", "root.a", cpu="4", priority=9, minutes=60))
    proof = _proven(objects, "Pod/default/ask", "victims")
    assert "Optimum by victims: 1 victim (Pod/default/low-n70-0), proven." in proof


@pytest.mark.skipif(not INSTALLED, reason="needs OR-Tools")
def test_time_is_for_the_whole_proof() -> None:
    question = WORLDS["gangs, several shapes"](0)
    models = _models(question.objects, question.preemptor) * 200
    start = monotonic()
    found = optimum(models, "design", 0.2)
    assert monotonic() - start < 5
    assert found is not None
    assert not found.proven
    assert 0 <= found.gap <= 1


def _planner(objects: list[Dict]) -> Planner:
    return Planner(load_objects(objects), configure({}, GANGS_AND_BINDINGS), NOON)


def _proven(objects: list[Dict], unit: str, objective: str) -> str:
    proof = prove(_planner(objects), unit, objective, 20)[1]
    assert proof is not None
    return proof.message


def _models(objects: list[Dict], unit: str) -> list[LinearModel]:
    planner = _planner(objects)
    return list(planner.policies.decide(planner.preemptor(asked_of(unit)), microseconds(NOON)).models())
