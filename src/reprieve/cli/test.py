"""`reprieve test`: run case files, each a state, a question and an expectation."""

from typing import Annotated

import msgspec
import typer

from reprieve.cli.options import Format, Output
from reprieve.planning.cases import Case, CaseVerdict, read_cases, run_case

Paths = Annotated[
    list[str],
    typer.Argument(metavar="PATH", help="Case files, directories with case files below them, or - for standard input."),
]


def test(paths: Paths, output: Format = Output.text) -> None:
    """Check that decisions are what case files expect.

    Keep such files beside the cluster's configuration, and a change that would let the wrong job be killed is seen
    before it is made. Exits with 0 when all cases hold, with 1 when one fails, and with 2 when a file is no case file.
    """
    verdicts = [(case, run_case(case)) for case in read_cases(paths)]
    failed = [(case, verdict) for case, verdict in verdicts if not verdict.ok]
    passed = len(verdicts) - len(failed)
    if output is Output.json:
        answer = {"passed": passed, "failed": len(failed), "cases": [verdict for _, verdict in verdicts]}
        typer.echo(msgspec.json.format(msgspec.json.encode(answer)).decode())
    else:
        for case, verdict in failed:
            typer.echo("\n".join(_show(case, verdict)))
        typer.echo(f"{passed} passed, {len(failed)} failed")
    if failed:
        raise typer.Exit(1)


def _show(case: Case, verdict: CaseVerdict) -> list[str]:
    return [f"FAILED {verdict.case} ({case.origin})", *(f"  {line}" for line in verdict.diff)]
