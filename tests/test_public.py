"""What the package offers to Python programs: these names, each of them explained, and no others."""

from __future__ import annotations

import inspect

import reprieve
from reprieve.planning import planner as planning


def test_the_public_names() -> None:
    assert reprieve.__all__ == [
        "Decision",
        "InvalidInput",
        "Problem",
        "ReprieveError",
        "Result",
        "Unsupported",
        "__version__",
        "can_tolerate_preemption",
        "plan",
    ]
    assert all(hasattr(reprieve, name) for name in reprieve.__all__)


def test_every_public_name_is_explained() -> None:
    for name in reprieve.__all__:
        item = getattr(reprieve, name)
        if name != "__version__":
            assert item.__doc__, name
            assert not item.__doc__.startswith(f"{name}("), f"{name} has only the docstring that Python makes up"


def test_so_is_what_a_result_can_do() -> None:
    methods = [
        item
        for owner in (reprieve.Result, reprieve.Decision, reprieve.InvalidInput)
        for name, item in vars(owner).items()
        if not name.startswith("_") and (inspect.isfunction(item) or isinstance(item, property))
    ]
    assert methods
    assert all(item.__doc__ for item in methods)


def test_all_that_is_raised_has_one_root() -> None:
    assert issubclass(reprieve.InvalidInput, reprieve.ReprieveError)
    assert issubclass(reprieve.Unsupported, reprieve.ReprieveError)
    assert "InvalidInput" in (reprieve.ReprieveError.__doc__ or "")
    assert "Unsupported" in (reprieve.ReprieveError.__doc__ or "")


def test_plan_takes_what_the_contract_says() -> None:
    parameters = inspect.signature(reprieve.plan).parameters
    assert list(parameters) == ["objects", "preemptor", "now", "config", "feature_gates", "assignment"]
    assert [name for name, item in parameters.items() if item.kind is inspect.Parameter.KEYWORD_ONLY] == [
        "preemptor", "now", "config", "feature_gates", "assignment",
    ]  # fmt: skip
    assert reprieve.plan is planning.plan


def test_toleration_is_asked_as_its_design_has_it() -> None:
    parameters = inspect.signature(reprieve.can_tolerate_preemption).parameters
    assert list(parameters) == ["victim_candidate", "preemptor", "priority_classes", "now"]
