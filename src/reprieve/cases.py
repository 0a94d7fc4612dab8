"""Case files: a state, a question, an expectation. Our conformance suite, and an admin's guard against surprises."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from reprieve.objects.documents import find_files, read_file
from reprieve.objects.problems import Finding, InvalidInput, Origin, Problem, ReprieveError, did_you_mean
from reprieve.planning import plan
from reprieve.result import Result

_KEYS = (
    "case", "source", "about", "now", "featureGates", "config", "objects", "preemptor", "expect", "assignment",
    "natural",
)  # fmt: skip
_UNORDERED = ("victims", "admitted", "left", "waitingFor")


class Case(msgspec.Struct, frozen=True):
    """One document of a case file."""

    origin: Origin
    data: dict[str, Any]

    @property
    def name(self) -> str:
        return str(self.data["case"])


class Verdict(msgspec.Struct, frozen=True):
    """What became of a case: nothing in `diff` means that it holds."""

    case: str
    ok: bool
    diff: list[str] = []


def read_cases(paths: list[str]) -> list[Case]:
    """All cases of all files; what is no case is an error, all of them at once."""
    files, problems = find_files(paths)
    cases: list[Case] = []
    for file in files:
        for document in read_file(file):
            if document.problem is not None:
                problems.append(Problem(origin=document.origin, message=document.problem.message))
            elif (data := document.plain()) is not None:
                problems += (finding.at(document.origin, "", "read") for finding in _check(data))
                cases.append(Case(document.origin, data))
    if problems:
        raise InvalidInput(problems)
    return cases


def _check(data: Any) -> Iterator[Finding]:
    if not isinstance(data, dict) or "case" not in data:
        yield Finding("$.case", "missing", "a case file holds cases, each with case, objects and expect")
        return
    for key in ("objects", "expect"):
        if key not in data:
            yield Finding(f"$.{key}", "missing", "every case needs it")
    for key in data:
        if key not in _KEYS:
            yield Finding(f"$.{key}", "unknown field", "", did_you_mean(key, _KEYS))
    for place in ("expect", "natural"):
        for key in data.get(place) or {}:
            if key not in _ACTUAL and key not in ("message", "victimCount"):
                known = [*_ACTUAL, "message", "victimCount"]
                yield Finding(f"$.{place}.{key}", "unknown expectation", "", did_you_mean(key, known))


def run_case(case: Case) -> Verdict:
    """Ask the question of a case and compare."""
    diff = _differences(case, case.data.get("expect") or {}, case.data.get("assignment"))
    if "natural" in case.data:
        diff += (f"natural: {line}" for line in _differences(case, case.data["natural"], None))
    return Verdict(case.name, not diff, diff)


def _differences(case: Case, expect: Mapping[str, Any], assignment: Mapping[str, str] | None) -> list[str]:
    data = case.data
    try:
        result = plan(
            data["objects"],
            preemptor=data.get("preemptor"),
            now=data.get("now"),
            config=data.get("config"),
            feature_gates=data.get("featureGates"),
            assignment=assignment,
        )
    except ReprieveError as error:
        return [f"no decision: {error}"]
    return list(_compare(expect, result))


def _compare(expect: Mapping[str, Any], result: Result) -> Iterator[str]:
    for key, wanted in expect.items():
        if key == "message":
            texts = [decision.message for decision in result.decisions]
            if not any(wanted in text for text in texts):
                yield f"message: want {wanted!r} in it, got {' '.join(texts)!r}"
        elif key == "victimCount":
            count = len(_victims(result))
            if count != wanted:
                yield f"victimCount: want {wanted}, got {count}: {', '.join(sorted(_victims(result)))}"
        else:
            got = _narrow(_ACTUAL[key](result), wanted)
            if _comparable(key, got) != _comparable(key, wanted):
                yield f"{key}: want {_show(key, wanted)}, got {_show(key, got)}"


def _victims(result: Result) -> list[str]:
    return [victim["unit"] for decision in result.decisions for victim in decision.victims]


def _only(result: Result, attribute: str) -> Any:
    return getattr(result.decisions[0], attribute) if len(result.decisions) == 1 else None


_ACTUAL: dict[str, Callable[[Result], Any]] = {
    "outcome": lambda result: _only(result, "outcome"),
    "victims": _victims,
    "domain": lambda result: _only(result, "domain"),
    "placement": lambda result: {
        unit: node for decision in result.decisions for unit, node in decision.placement.items()
    },
    "reasons": lambda result: {
        victim["unit"]: victim["reason"] for decision in result.decisions for victim in decision.victims
    },
    "candidates": lambda result: _only(result, "candidates"),
    "admitted": lambda result: result.admitted,
    "left": lambda result: result.left,
    "waitingFor": lambda result: [unit for decision in result.decisions for unit in decision.waiting_for],
    "flavors": lambda _: {},
    "counts": lambda _: {},
    "order": lambda result: result.order,
    "priorities": lambda result: result.priorities,
}


def _narrow(got: Any, wanted: Any) -> Any:
    """Of maps by unit only what a case names is compared."""
    if isinstance(wanted, dict) and isinstance(got, dict) and wanted and all("/" in key for key in wanted):
        return {key: value for key, value in got.items() if key in wanted}
    return got


def _comparable(key: str, value: Any) -> Any:
    if key in _UNORDERED:
        return sorted(value or [])
    if key == "candidates" and isinstance(value, dict):
        return {domain: {**cost, "victims": sorted(cost["victims"])} for domain, cost in value.items()}
    return value


def _show(key: str, value: Any) -> str:
    shown = _comparable(key, value)
    return msgspec.json.encode(shown).decode() if not isinstance(shown, str) else shown
