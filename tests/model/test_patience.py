"""Work that somebody waits for stops when nobody waits any more, and else goes on to its end."""

from __future__ import annotations

import threading

import pytest

from reprieve.model.patience import OutOfPatience, go_on, patient_until


def steps(most: int) -> int:
    """How many of them are made."""
    made = 0
    for _ in range(most):
        try:
            go_on()
        except OutOfPatience:
            break
        made += 1
    return made


def test_what_nobody_is_impatient_about_goes_on_to_its_end() -> None:
    assert steps(10) == 10


def test_it_stops_between_two_steps() -> None:
    answers = iter([False, False, False, True])
    with patient_until(lambda: next(answers)):
        assert steps(10) == 3


def test_who_waits_inside_of_that_has_patience_of_its_own() -> None:
    with patient_until(lambda: True):
        with patient_until(lambda: False):
            assert steps(10) == 10
        with pytest.raises(OutOfPatience):
            go_on()
    assert steps(10) == 10


def test_the_work_of_another_thread_is_not_stopped() -> None:
    made: list[int] = []
    with patient_until(lambda: True):
        other = threading.Thread(target=lambda: made.append(steps(10)))
        other.start()
        other.join()
    assert made == [10]
