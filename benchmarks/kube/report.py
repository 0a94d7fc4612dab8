"""What was measured, as the page on speed has it: tables in Markdown, and the sentences with figures in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.kube.accounts import machine
from benchmarks.kube.run import KUBE, OTHERS, OURS, SCHEDULERS, Result
from benchmarks.kube.shapes import SHAPES

Results = Mapping[str, Result]
"""Those of one shape, by scheduler."""
PAGE = Path(__file__).parents[2] / "docs" / "kubernetes-speed.md"
_LIMIT_OF = "preemption-1000"
_SERVERS = ("etcd", "kube-apiserver", "kube-controller-manager")
_CALLED = {KUBE: KUBE, OURS: "Reprieve"}
_LATE = 1.1
"""So many times as long as for nearly all is long for the last one."""


def report(found: Mapping[str, Results]) -> dict[str, str]:
    """Each part by its name on the page."""
    return {
        "times": f"On {machine()}, all in one run, each shape measured once:\n\n{_times(found)}",
        "cpu": _cpu(found),
        "writes": _writes(found),
        "limit": _limit(found),
    }


def fill(page: str, parts: Mapping[str, str]) -> str:
    """The page with other parts; each stands between two comments."""
    for name, part in parts.items():
        begin, end = f"<!-- measured: {name} -->\n", "<!-- end -->\n"
        if page.count(begin) != 1:
            raise ValueError(f"the page has {page.count(begin)} places for {name!r}, not one")
        before, _, rest = page.partition(begin)
        page = f"{before}{begin}{part}\n{end}{rest.partition(end)[2]}"
    return page


def outcome(result: Result) -> str:
    if result.bound < result.of:
        return f"{result.bound:,} of {result.of:,}, given up after {result.seconds:.0f} s"
    if result.seconds > _LATE * result.most_after:
        return f"{result.seconds:.1f} s; 99 % after {result.most_after:.1f} s"
    return f"{result.seconds:.1f} s"


def title(name: str) -> str:
    return SHAPES[name]("", "").title


def _times(found: Mapping[str, Results]) -> str:
    heads = ("shape", *_CALLED.values(), "ratio", *(f"CPU with {each}" for each in _CALLED.values()))
    return _markdown(
        heads,
        (
            [
                title(name),
                *(outcome(results[each]) if each in results else "not measured" for each in SCHEDULERS),
                _ratio(results),
                *(f"{_cpu_of_all(results[each]):.0f} s" if each in results else "" for each in SCHEDULERS),
            ]
            for name, results in found.items()
        ),
    )


def _ratio(results: Results) -> str:
    """Of the times until nearly all were bound: one that was forgotten for minutes says little about all the others."""
    if not all(each in results and results[each].nearly_done for each in SCHEDULERS):
        return ""
    return f"{results[KUBE].most_after / results[OURS].most_after:.1f} times as fast"


def _cpu_of_all(result: Result) -> float:
    """Of all parts together: half of it is what it would come to on two cores that have nothing else to do."""
    return sum(result.cpu.values()) - result.cpu[OTHERS]


def _cpu(found: Mapping[str, Results]) -> str:
    processes = list(dict.fromkeys(each for _, _, result in _runs(found) for each in result.cpu))
    return _markdown(
        ("shape", "by", *processes, "last event"),
        (
            [name, by, *(f"{result.cpu[each]:.0f}" for each in processes), f"{result.until_quiet:.0f} s"]
            for name, by, result in _runs(found)
        ),
    )


def _writes(found: Mapping[str, Results]) -> str:
    kinds = list(dict.fromkeys(each for _, _, result in _runs(found) for each in result.writes))
    return _markdown(
        ("shape", "by", *kinds),
        (
            [name, by, *(f"{result.writes[each] / max(1, result.bound):.1f}" for each in kinds)]
            for name, by, result in _runs(found)
        ),
    )


def _limit(found: Mapping[str, Results]) -> str:
    """How fast a scheduler could be that writes as much and costs nothing."""
    results = found.get(_LIMIT_OF, {})
    if not all(each in results for each in SCHEDULERS):
        return ""
    mine, theirs = results[OURS], _cpu_of_all(results[KUBE])
    servers = sum(mine.cpu[each] for each in _SERVERS)
    server, scheduler = mine.cpu["kube-apiserver"], mine.cpu["scheduler"]
    return (
        f"With 1,000 preemptors the API server takes {server:.0f} CPU seconds, with etcd and the\n"
        f"controller-manager {servers:.0f}; kube-scheduler's whole run takes {theirs:.0f}. So on two cores no\n"
        f"scheduler that writes as much can be more than about {theirs / servers:.1f} times as fast as\n"
        f"kube-scheduler here, were it to use no CPU at all; Reprieve uses {scheduler:.0f} seconds."
    )


def _runs(found: Mapping[str, Results]) -> Iterator[tuple[str, str, Result]]:
    for name, results in found.items():
        for each, result in results.items():
            yield title(name), _CALLED[each], result


def _markdown(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
