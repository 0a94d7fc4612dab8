"""`make bench-kube [shape...] [kube-scheduler|reprieve]`: the whole path, next to kube-scheduler, on the same objects.

Each scheduler gets a control plane of its own, one after the other. What counts is the ratio.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence

from benchmarks.kube.accounts import machine
from benchmarks.kube.run import KUBE, OTHERS, OURS, SCHEDULERS, Result, one
from benchmarks.kube.shapes import SHAPES, USUAL
from tests.kube.processes import DidNotStart
from tools.kube.provide import provided

Results = Mapping[str, Result]


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
            try:
                found[name][scheduler] = result = one(SHAPES[name], scheduler, programs)
            except (DidNotStart, TimeoutError) as error:
                sys.exit(f"{scheduler} could not be measured: {error or 'setting up took too long'}")
            _tell(scheduler, result)
    _table(found)
    if not all(results[OURS].done for results in found.values() if OURS in results):
        sys.exit("not every run came to its end as it had to: see above")


def _title(name: str) -> str:
    return SHAPES[name]("", "").title


def _tell(scheduler: str, result: Result) -> None:
    print(f"  {scheduler:15} {_outcome(result)}; the last event after {result.until_quiet:.0f} s", flush=True)
    for fault in result.wrong:
        print(f"    wrong: {fault}", flush=True)


def _each(result: Result, kind: str) -> str:
    return f"{result.writes[kind] / max(1, result.bound):.1f}"


def _outcome(result: Result) -> str:
    if result.bound == result.of:
        return f"{result.seconds:.1f} s"
    return f"{result.bound:,} of {result.of:,}, given up after {result.seconds:.0f} s"


def _table(found: Mapping[str, Results]) -> None:
    """For the page on speed: times and ratios, then where the time went."""
    print(f"\nOn {machine()}:\n")
    rows = []
    for name, results in found.items():
        times = [_outcome(results[each]) if each in results else "not measured" for each in SCHEDULERS]
        most = [f"{results[each].most_after:.1f} s" if each in results else "" for each in SCHEDULERS]
        rows.append([_title(name), *times, *most, _ratio(results), *(_all_cpu(results, each) for each in SCHEDULERS)])
    columns = ("all bound", "99 % bound")
    heads = [f"{each}, {column}" for column in columns for each in SCHEDULERS]
    _markdown(("shape", *heads, "ratio of 99 %", *(f"CPU with {each}" for each in SCHEDULERS)), rows)
    runs = [(_title(name), each, result) for name, results in found.items() for each, result in results.items()]
    processes = list(dict.fromkeys(each for _, _, result in runs for each in result.cpu))
    print("\nSeconds of CPU until the last was bound, and when the last event was written:\n")
    _markdown(
        ("shape", "by", *processes, "last event"),
        [
            [title, by, *(f"{result.cpu[each]:.0f}" for each in processes), f"{result.until_quiet:.0f} s"]
            for title, by, result in runs
        ],
    )
    kinds = list(dict.fromkeys(each for _, _, result in runs for each in result.writes))
    print("\nWrites for each pod that arrives:\n")
    _markdown(
        ("shape", "by", *kinds), [[title, by, *(_each(result, kind) for kind in kinds)] for title, by, result in runs]
    )


def _markdown(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    print(f"| {' | '.join(heads)} |\n|{' --- |' * len(heads)}")
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


def _all_cpu(results: Results, scheduler: str) -> str:
    """Of all parts together: what it would come to on a machine that has nothing else to do."""
    if scheduler not in results:
        return ""
    used = results[scheduler].cpu
    return f"{sum(used.values()) - used[OTHERS]:.0f} s"


def _ratio(results: Results) -> str:
    if not all(each in results and results[each].nearly_done for each in SCHEDULERS):
        return ""
    return f"{results[KUBE].most_after / results[OURS].most_after:.1f} times as fast"


if __name__ == "__main__":
    main()
