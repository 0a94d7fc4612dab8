"""Who else could make way for a binding: the least over many clusters, and less lost work in another."""

from __future__ import annotations

from importlib.util import find_spec
from random import Random

import pytest

from benchmarks.quality.measure import measure
from benchmarks.quality.worlds import Question
from tests.builders.pods import Dict
from tests.generators.federations import binding, cluster, decided, policy_of


def test_lost_work_counts_the_same_in_every_cluster() -> None:
    """As a share of what all of them have: not of what could be freed in each."""
    objects = [cluster("a", cpu="100", used="100"), cluster("b", cpu="8", used="8")]
    objects += [binding(f"a{number}", priority=1, cpu="4", on={"a": 1}) for number in range(25)]
    objects += [binding(f"b{number}", priority=1, cpu="2", on={"b": 1}) for number in range(4)]
    ask = binding("high", priority=10, cpu="2")
    made = decided(policy_of(*objects, ask, search="Best"), "high")
    assert [victim.unit.partition("/")[2][:-1] for victim in made.victims] == ["default/b"]
    assert "as many others who lose less" in made.message


def _full(random: Random) -> list[Dict]:
    """A dozen clusters, each full of bindings that ask for nothing but cpu."""
    objects: list[Dict] = []
    for number in range(12):
        sizes = [random.choice((1, 1, 2, 3, 5)) for _ in range(50)]
        total = str(sum(sizes))
        objects.append(cluster(f"m{number:02d}", cpu=total, used=total))
        for place, size in enumerate(sizes):
            priority, name = random.choice((0, 0, 10, 200)), f"m{number:02d}-{place:02d}"
            objects.append(binding(name, priority=priority, cpu=str(size), on={f"m{number:02d}": 1}))
    return objects


@pytest.mark.skipif(find_spec("ortools") is None, reason="needs OR-Tools")
@pytest.mark.parametrize("seed", range(2))
def test_over_many_clusters_no_fewer_are_enough(seed: int) -> None:
    random = Random(seed)  # noqa: S311
    ask = binding("ask", priority=100, cpu=str(random.choice((15, 20))), replicas=random.randint(12, 20))
    question = Question([*_full(random), ask], "ResourceBinding/default/ask")
    found = measure(question, seed, ("Design", "Best"))
    assert found is not None
    assert found.ratio("Best") == 1.0 < (found.ratio("Design") or 0)
