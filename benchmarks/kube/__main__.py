"""`make bench-kube`, or `python -m benchmarks.kube [shape...] [kube-scheduler|reprieve]`: the whole path, next to
kube-scheduler, on the same objects. `make bench-kube PAGE=1` measures all that the page on speed tells, about a quarter
of an hour, and writes it there.

Each scheduler gets a control plane of its own, one after the other. What counts is the ratio.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.kube.report import PAGE, Results, fill, outcome, report, title
from benchmarks.kube.run import OURS, SCHEDULERS, Result, one
from benchmarks.kube.shapes import LARGE, SHAPES, USUAL
from tests.kube.processes import DidNotStart
from tools.kube.provide import provided

_PAGE = "page"
Asked = Mapping[str, Sequence[str]]
"""By whom each shape is to be measured."""


def main() -> None:
    words = sys.argv[1:]
    asked = _asked(words)
    programs = provided()
    if programs is None:
        sys.exit("the programs of Kubernetes are not there: run `make kube`, which provides them once")
    found = _measured(asked, programs)
    parts = report(found)
    print("", *parts.values(), sep="\n\n", flush=True)
    if not all(results[OURS].done for results in found.values() if OURS in results):
        sys.exit("not every run came to its end as it had to: see above")
    if _PAGE in words:
        PAGE.write_text(fill(PAGE.read_text(), parts))


def _asked(words: Sequence[str]) -> Asked:
    unknown = [word for word in words if word not in SHAPES and word not in SCHEDULERS and word != _PAGE]
    if unknown:
        sys.exit(f"no shape {unknown[0]!r}; there are: {', '.join(SHAPES)}")
    if _PAGE in words:
        if len(words) > 1:
            sys.exit("the page tells of all shapes and both schedulers: none can be chosen")
        # kube-scheduler does not come to an end with that many, however long one waits.
        return {**dict.fromkeys(USUAL, SCHEDULERS), LARGE: (OURS,)}
    schedulers = [word for word in SCHEDULERS if word in words] or SCHEDULERS
    return dict.fromkeys([word for word in words if word in SHAPES] or USUAL, schedulers)


def _measured(asked: Asked, programs: Path) -> dict[str, Results]:
    found: dict[str, Results] = {}
    for name, schedulers in asked.items():
        print(f"\n{title(name)}", flush=True)
        results: dict[str, Result] = {}
        for scheduler in schedulers:
            try:
                results[scheduler] = one(SHAPES[name], scheduler, programs)
            except (DidNotStart, TimeoutError) as error:
                sys.exit(f"{scheduler} could not be measured: {error or 'setting up took too long'}")
            _tell(scheduler, results[scheduler])
        found[name] = results
    return found


def _tell(scheduler: str, result: Result) -> None:
    print(f"  {scheduler:15} {outcome(result)}; the last event after {result.until_quiet:.0f} s", flush=True)
    for fault in result.wrong:
        print(f"    wrong: {fault}", flush=True)


if __name__ == "__main__":
    main()
