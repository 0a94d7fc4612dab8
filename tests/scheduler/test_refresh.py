"""What those who wait were told is true once everything has come to rest, though nothing happened that helps them."""

from __future__ import annotations

import os

import pytest

from reprieve.manifests.kinds import PODS
from reprieve.scheduler.refresh import QUIET_SECONDS, Refresh
from tests.generators.lives import Life
from tests.generators.planes import POLICIES, life
from tests.planes.answers import decided, planned
from tests.planes.running import Plane, condition, live

LIVES = int(os.environ.get("REPRIEVE_LIVES", "8"))
FIRST = int(os.environ.get("REPRIEVE_FIRST_LIFE", "0"))


def test_a_pod_that_waits_says_how_things_are_now() -> None:
    """A pod leaves, and the node is still too small: nobody is helped, but there is more room than was said."""

    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="4")
        for name in ("a", "b", "c"):
            await plane.pod(name, cpu="1")
        await plane.passes(30)
        await plane.pod("large", cpu="4")
        await plane.passes(30)
        before = condition(await plane.record("large"), "PodScheduled")["message"]
        await plane.store.delete(PODS, "a", "default")
        await plane.passes(60)
        after = condition(await plane.record("large"), "PodScheduled")["message"]
        assert before != after == (await planned(plane))["Pod/default/large"][2]

    live(story)


@pytest.mark.parametrize("policy", POLICIES)
def test_at_rest_everybody_was_told_what_a_plan_says(policy: str) -> None:
    for seed in range(FIRST, FIRST + LIVES):
        made = life(policy, seed, upsets=seed % 2 == 1)

        async def story(plane: Plane, made: Life = made) -> list[str]:
            await made.begin(plane)
            await plane.rests()
            answers, told = await planned(plane), decided(plane)
            waiting = {unit: answer for unit, answer in answers.items() if answer[0] in ("Unschedulable", "Wait")}
            return [
                f"{unit}: told {told[unit][2]!r}, is {answer[2]!r}"
                for unit, answer in waiting.items()
                if unit in told and told[unit][2] != answer[2]
            ]

        assert live(story, made.settings, longest=120) == [], f"{policy} {seed}"


class _Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_it_is_time_once_nothing_has_happened_for_a_while() -> None:
    clock = _Clock()
    refresh = Refresh(clock)
    assert not refresh.begins()
    refresh.changed()
    clock.now = QUIET_SECONDS - 1
    refresh.changed()
    clock.now += QUIET_SECONDS - 1
    assert not refresh.begins()
    assert refresh.due_in() == 1
    clock.now += 1
    assert refresh.begins()
    assert not refresh.begins(), "once for each change"


def test_it_takes_a_small_part_of_the_time_however_many_wait() -> None:
    clock = _Clock()
    refresh = Refresh(clock)
    refresh.changed()
    clock.now = QUIET_SECONDS
    assert refresh.begins()
    clock.now += 2  # so long it took to decide for all of them
    refresh.rests()
    refresh.changed()
    clock.now += 50
    assert not refresh.begins()
    clock.now += 50
    assert refresh.begins()
