"""Case files: a state, a question, an expectation. Our conformance suite, and an admin's guard against surprises."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

import msgspec

from reprieve.manifests.diagnosis import diagnose, drop_nulls
from reprieve.manifests.documents import Document, find_files, read_file
from reprieve.manifests.known_fields import unknown_fields
from reprieve.manifests.meta import Model, Reader
from reprieve.manifests.problems import Finding, InvalidInput, Origin, Problem, ReprieveError
from reprieve.planning.planner import plan
from reprieve.planning.result import Result
from reprieve.texts import questions as texts


class ExpectedCost(Model):
    victims: tuple[str, ...]
    pdb_violations: int = 0


class ExpectedPriority(Model):
    priority: int = 0
    preemption_policy: Literal["Never", "PreemptLowerPriority"] = "PreemptLowerPriority"


class Expectation(Model):
    """What may be expected; what a case leaves out is not compared."""

    outcome: Literal["Fits", "Preempt", "Wait", "Unschedulable"] = "Fits"
    victims: tuple[str, ...] = ()
    domain: str = ""
    placement: dict[str, str] = {}
    reasons: dict[str, str] = {}
    candidates: dict[str, ExpectedCost] = {}
    message: str = ""
    victim_count: int = 0
    admitted: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    waiting_for: tuple[str, ...] = ()
    flavors: dict[str, dict[str, dict[str, str]]] = {}
    counts: dict[str, dict[str, int]] = {}
    order: tuple[str, ...] = ()
    priorities: dict[str, ExpectedPriority] = {}


class CaseDocument(Model):
    """How a case is written."""

    case: str
    objects: tuple[dict[str, Any], ...]
    expect: Expectation
    source: str = ""
    about: str = ""
    now: str = ""
    feature_gates: dict[str, bool] = {}
    config: dict[str, Any] = {}
    preemptor: dict[str, str] = {}
    assignment: dict[str, Any] = {}
    natural: Expectation = Expectation()


_READER = Reader("", "Case", CaseDocument)
_UNORDERED = ("victims", "admitted", "left", "waitingFor")


class Case(msgspec.Struct, frozen=True):
    """One document of a case file."""

    origin: Origin
    data: dict[str, Any]

    @property
    def name(self) -> str:
        """What the case is called."""
        return str(self.data["case"])


class CaseVerdict(msgspec.Struct, frozen=True):
    """What became of a case: nothing in `diff` means that it holds."""

    case: str
    ok: bool
    diff: list[str] = []
    warnings: list[str] = []
    """Fields of its objects that the API does not have: what they were meant to say is not in the decision."""


# Reading


def read_cases(paths: list[str]) -> list[Case]:
    """All cases of all files; what is no case is an error, all of them at once."""
    files, problems = find_files(paths)
    cases: list[Case] = []
    seen: dict[str, Origin] = {}
    for file in files:
        for document in read_file(file):
            wrong = list(_problems(document, seen))
            problems += wrong
            if not wrong and (data := document.plain()) is not None:
                cases.append(Case(document.origin, data))
            elif any(problem.message == texts.NO_CASE for problem in wrong):
                break  # once is enough for a file of something else
    if not cases and not problems:
        problems = [Problem(origin=Origin(path, 0), message=texts.HOLDS_NO_CASES) for path in paths]
    if problems:
        raise InvalidInput(problems)
    return cases


def _problems(document: Document, seen: dict[str, Origin]) -> Iterator[Problem]:
    if document.problem is not None:
        yield Problem(origin=document.origin, message=document.problem.message)
        return
    data = document.plain()
    for finding in _check(data) if data is not None else ():
        yield finding.at(document.origin, "", "read")
    name = data.get("case") if isinstance(data, dict) else None
    if isinstance(name, str) and (earlier := seen.setdefault(name, document.origin)) != document.origin:
        yield Finding("$.case", *texts.case_named_twice(name, str(earlier))).at(document.origin, "", "read")


def _check(data: Any) -> list[Finding]:
    if not isinstance(data, dict) or "case" not in data:
        return [Finding("$.case", texts.NO_CASE, texts.CASE_PARTS)]
    plain = drop_nulls(data)
    try:
        _READER.convert(plain)
        mistakes = []
    except msgspec.ValidationError:
        mistakes = diagnose(plain, _READER)
    return [*mistakes, *unknown_fields(plain, CaseDocument)]


# Running


def run_case(case: Case, settings: Mapping[str, Any] | None = None) -> CaseVerdict:
    """Ask the question of a case and compare. `settings` lie under those of the case."""
    config = _over(settings or {}, case.data.get("config") or {})
    diff, unknown = _asked(case, case.data["expect"], case.data.get("assignment"), config)
    if "natural" in case.data:
        diff += (f"natural: {line}" for line in _asked(case, case.data["natural"], None, config)[0])
    return CaseVerdict(case.name, not diff, diff, unknown)


def _over(settings: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """What a case says over what all of them get; within a section, each setting by itself."""
    both = {name: _over(settings[name], said) for name, said in own.items() if _sections(settings.get(name), said)}
    return {**settings, **own, **both}


def _sections(one: Any, other: Any) -> bool:
    return isinstance(one, Mapping) and isinstance(other, Mapping)


def _asked(
    case: Case, expect: Mapping[str, Any], assignment: Mapping[str, str] | None, config: Mapping[str, Any]
) -> tuple[list[str], list[str]]:
    """How the answer differs from what is expected, and what was not understood."""
    data = case.data
    try:
        result = plan(
            data["objects"],
            preemptor=data.get("preemptor"),
            now=data.get("now"),
            config=config,
            feature_gates=data.get("featureGates"),
            assignment=assignment,
        )
    except ReprieveError as error:
        return [f"no decision: {line}" for line in str(error).splitlines()], []
    unknown = [_in_case(case, problem) for problem in result.warnings if problem.stage == "strict"]
    return [f"{key}: {line}" for key, wanted in expect.items() for line in _compare(key, wanted, result)], unknown


def _in_case(case: Case, problem: Problem) -> str:
    """A problem of an object where it stands in the case file."""
    place = f"$.objects[{problem.origin.document - 1}]"
    return str(msgspec.structs.replace(problem, origin=case.origin).inside(problem.object, place))


def _compare(key: str, wanted: Any, result: Result) -> Iterator[str]:
    if key == "message":
        said = " ".join(decision.message for decision in result.decisions)
        if wanted not in said:
            yield f"want {wanted!r} in {said!r}"
    elif key == "victimCount":
        if len(_victims(result)) != wanted:
            yield f"want {wanted}, got {len(_victims(result))}: {_names(_victims(result))}"
    elif key in _UNORDERED:
        yield from _compare_sets(wanted or [], _ACTUAL[key](result))
    else:
        got = _narrow(key, _ACTUAL[key](result), wanted)
        if _comparable(got) != _comparable(wanted):
            yield f"want {_show(wanted)}, got {_show(got)}"


def _compare_sets(wanted: list[str], got: list[str]) -> Iterator[str]:
    missing, unexpected = Counter(wanted) - Counter(got), Counter(got) - Counter(wanted)
    if missing:
        yield f"missing {_names(missing.elements())}"
    if unexpected:
        yield f"unexpected {_names(unexpected.elements())}"


def _names(units: Any) -> str:
    return ", ".join(sorted(units)) or "none"


def _victims(result: Result) -> list[str]:
    return [victim["unit"] for decision in result.decisions for victim in decision.victims]


def _only(result: Result, attribute: str) -> Any:
    if len(result.decisions) == 1:
        return getattr(result.decisions[0], attribute)
    return texts.not_one_decision(len(result.decisions))


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
    "flavors": lambda result: result.flavors,
    "counts": lambda result: result.counts,
    "order": lambda result: result.order,
    "priorities": lambda result: result.priorities,
}


def _narrow(key: str, got: Any, wanted: Any) -> Any:
    """Only what a case names is compared: of maps by unit those units, of each entry those fields."""
    if not isinstance(wanted, dict) or not isinstance(got, dict):
        return got
    everything = key == "candidates" or not wanted
    return {name: _fields(value, wanted.get(name)) for name, value in got.items() if everything or name in wanted}


def _fields(value: Any, wanted: Any) -> Any:
    if isinstance(value, dict) and isinstance(wanted, dict):
        return {name: item for name, item in value.items() if name in wanted}
    return value


def _comparable(value: Any) -> Any:
    """Victims inside maps stand in any order."""
    if isinstance(value, dict):
        return {key: sorted(item) if key == "victims" else _comparable(item) for key, item in value.items()}
    return value


def _show(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(_comparable(value)).decode()
