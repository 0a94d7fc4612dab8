"""`make bench-kube [shape...] [kube-scheduler|reprieve]`: the whole path, next to kube-scheduler, on the same objects.

Each scheduler gets a control plane of its own, one after the other. What counts is the ratio.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from benchmarks.kube.accounts import machine
from benchmarks.kube.run import KUBE, LONGEST, OURS, SCHEDULERS, Result, one
from benchmarks.kube.shapes import SHAPES, USUAL
from tools.kube.provide import provided

Results = Mapping[str, Result]
_HEADS = ("shape", "kube-scheduler", "Reprieve", "ratio")


def main() -> None:
    words = sys.argv[1:]
    unknown = [word for word in words if word not in SHAPES and word not in SCHEDULERS]
    if unknown:
        sys.exit(f"no shape {unknown[0]!r}; there are: {', '.join(SHAPES)}")
    programs = provided()
    if programs is None:
        sys.exit("the programs of Kubernetes are not there: run `make kube`, which provides them once")
    shapes = [word for word in words if word in SHAPES] or list(USUAL)
    schedulers = [word for word in SCHEDULERS if word in words] or list(SCHEDULERS)
    found: dict[str, dict[str, Result]] = {}
    for name in shapes:
        print(f"\n{_title(name)}", flush=True)
        found[name] = {}
        for scheduler in schedulers:
            found[name][scheduler] = result = one(SHAPES[name], scheduler, programs)
            _tell(scheduler, result)
    _table(found)
    if not all(result.done for results in found.values() for result in results.values() if OURS in results):
        sys.exit("not every run came to its end as it had to: see above")


def _title(name: str) -> str:
    return SHAPES[name]("", "").title


def _tell(scheduler: str, result: Result) -> None:
    print(f"  {scheduler:15} {_outcome(result)}; the last event after {result.until_quiet:.0f} s")
    for fault in result.wrong:
        print(f"    wrong: {fault}")
    print(f"    CPU seconds: {_listed({name: f'{used:.1f}' for name, used in result.cpu.items()})}")
    print(f"    writes for each: {_listed(_each(result))}", flush=True)


def _each(result: Result) -> dict[str, str]:
    return {name: f"{count / max(1, result.bound):.1f}" for name, count in result.writes.most_common()}


def _listed(figures: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {figure}" for name, figure in figures.items())


def _outcome(result: Result) -> str:
    if result.bound == result.of:
        return f"{result.seconds:.1f} s"
    return f"{result.bound:,} of {result.of:,} after {LONGEST:.0f} s"


def _table(found: Mapping[str, Results]) -> None:
    """For the page on running on Kubernetes."""
    print(f"\nOn {machine()}:\n\n| {' | '.join(_HEADS)} |\n|{' --- |' * len(_HEADS)}")
    for name, results in found.items():
        times = [_outcome(results[each]) if each in results else "not measured" for each in SCHEDULERS]
        print(f"| {_title(name)} | {' | '.join(times)} | {_ratio(results)} |")


def _ratio(results: Results) -> str:
    if not all(each in results and results[each].done for each in SCHEDULERS):
        return ""
    return f"{results[KUBE].seconds / results[OURS].seconds:.1f} times as fast"


if __name__ == "__main__":
    main()
