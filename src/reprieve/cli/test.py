"""`reprieve test`: run case files, each a state, a question and an expectation."""

from typing import Annotated

import typer

from reprieve.cli.options import Format, Output, plain_settings, settings_from
from reprieve.cli.output import Form, print_object
from reprieve.cli.terminal import say
from reprieve.planning.cases import read_cases, run_case

Paths = Annotated[
    list[str],
    typer.Argument(metavar="PATH", help="Case files, directories with case files below them, or - for standard input."),
]
Under = Annotated[
    str | None,
    typer.Option("--config", metavar="FILE", help="Settings for all cases, under those that a case has of its own."),
]


def test(paths: Paths, config: Under = None, output: Format = Output.text) -> None:
    """Check that decisions are what case files expect.

    Keep such files beside the cluster's configuration, and a change that would let the wrong job be killed is seen
    before it is made. Exits with 0 when all cases hold, with 1 when one fails, and with 2 when a file is no case file.
    """
    settings_from(config, None)  # what is wrong with them is told once, and not by every case
    settings = plain_settings(config)
    verdicts = [(case, run_case(case, settings)) for case in read_cases(paths)]
    failed = [(case, verdict) for case, verdict in verdicts if not verdict.ok]
    passed = len(verdicts) - len(failed)
    for warning in (warning for _, verdict in verdicts for warning in verdict.warnings):
        say(f"warning: {warning}", err=True)
    if output is Output.json:
        cases = [{"case": verdict.case, "ok": verdict.ok, "diff": verdict.diff} for _, verdict in verdicts]
        print_object({"passed": passed, "failed": len(failed), "cases": cases}, Form.json)
    else:
        for case, verdict in failed:
            say("\n  ".join([f"FAILED {verdict.case} ({case.origin})", *verdict.diff]))
        say(f"{passed} passed, {len(failed)} failed")
    if failed:
        raise typer.Exit(1)
