"""`reprieve check`: read manifests as an API server would, and say everything that is wrong with them."""

from typing import Annotated, Any

import typer

from reprieve.cli.options import Files, Format, Output, Strict
from reprieve.cli.output import Form, print_object
from reprieve.cli.terminal import say
from reprieve.manifests.admission import admit_all
from reprieve.manifests.loaded import Loaded
from reprieve.manifests.loading import load
from reprieve.manifests.problems import Problem, in_order
from reprieve.planning.blocking import never_fit
from reprieve.planning.survey import divergences
from reprieve.texts.parts import count
from reprieve.world import World

Old = Annotated[
    list[str] | None,
    typer.Option(
        "--old",
        metavar="FILE|DIR",
        help="What the cluster has now: changes that it would not allow are errors. Repeatable.",
    ),
]


def check(filename: Files, old: Old = None, strict: Strict = False, output: Format = Output.text) -> None:
    """Check manifests of Kubernetes, Kueue, YuniKorn and Karmada.

    Reads everything, then prints every error of every file in one go: file, document, object, field, what was found
    and what is allowed. Exits with 0 when all is well and with 2 when anything is wrong; warnings alone are no error.
    """
    loaded, problems = review(filename, old or [], strict=strict)
    errors = [problem for problem in problems if problem.severity == "error"]
    if output is Output.json:
        print_object(_report(loaded, problems), Form.json)
    else:
        for problem in sorted(problems, key=lambda problem: problem.severity != "error"):
            say(f"{problem.severity}: {problem}")
        say(summary(loaded, len(errors), len(problems) - len(errors)))
    if errors:
        raise typer.Exit(2)


def review(paths: list[str], old: list[str], *, strict: bool = False) -> tuple[Loaded, list[Problem]]:
    """Read and admit: the objects, and the problems of both."""
    before = load(old)
    loaded = load(paths, strict=strict)
    world = World(loaded.objects)
    odd = [*divergences(loaded, world), *never_fit(loaded, world)]
    refused = loaded.sources.located([*admit_all(loaded.entries, before.entries, new=True), *odd])
    return loaded, [*before.errors, *in_order([*loaded.problems, *refused])]


def summary(loaded: Loaded, errors: int, warnings: int) -> str:
    kinds = ", ".join(f"{number} {kind}" for kind, number in loaded.counts().items())
    read = f"{count(len(loaded.entries), 'object')} from {count(loaded.documents, 'document')}"
    verdict = ", ".join(count(number, what) for number, what in ((errors, "error"), (warnings, "warning")) if number)
    return f"{read}{': ' + kinds if kinds else ''}\n{verdict or 'All is well.'}"


def _report(loaded: Loaded, problems: list[Problem]) -> dict[str, Any]:
    """The answer for other programs."""
    told: dict[str, list[dict[str, Any]]] = {"error": [], "warning": []}
    for problem in problems:
        told[problem.severity].append(_told(problem))
    head = {"ok": not told["error"], "documents": loaded.documents, "objects": loaded.counts()}
    return {**head, "ignored": loaded.unknown, "errors": told["error"], "warnings": told["warning"]}


def _told(problem: Problem) -> dict[str, Any]:
    origin, allowed = problem.origin, problem.allowed.removeprefix("allowed: ")
    place = {"file": origin.file, "document": origin.document, "item": origin.item, "line": problem.line}
    what = {"object": problem.object, "field": problem.field, "message": problem.message, "allowed": allowed}
    return {**place, **what, "suggestion": problem.suggestion, "stage": problem.stage}
