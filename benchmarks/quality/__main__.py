"""The table of `docs/best.md`, made again: `python -m benchmarks.quality [WORLDS] [NAME ...]`."""

from __future__ import annotations

import sys
import time

from benchmarks.quality.measure import Measured, measure, summary
from benchmarks.quality.worlds import WORLDS

SEARCHES = ("Design", "Best")
SLOW = {"federation, many clusters"}
"""Each of these worlds takes the solver seconds: they are measured where somebody names them."""


def main(arguments: list[str]) -> None:
    worlds = int(arguments[0]) if arguments else 200
    names = arguments[1:] or [name for name in WORLDS if name not in SLOW]
    print(f"Seeds 0 to {worlds - 1}. Victims over those that are enough, each proven.\n")
    print("| worlds | search | plans | at the optimum | mean | p95 | worst | missed |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in names:
        start = time.monotonic()
        found = [one for seed in range(worlds) if (one := measure(WORLDS[name](seed), seed, SEARCHES)) is not None]
        for search in SEARCHES:
            print(_row(name, search, found), flush=True)
        print(f"{name}: {time.monotonic() - start:.0f} s", file=sys.stderr)


def _row(name: str, search: str, found: list[Measured]) -> str:
    one = summary(found, search)
    unproven = f" ({one.unproven} unproven)" if one.unproven else ""
    cells = [
        name,
        f"`{search}`",
        f"{one.possible - one.missed}{unproven}",
        f"{one.equal:.0%}",
        f"{one.mean:.2f}",
        f"{one.p95:.1f}",
        f"{one.worst:.1f}",
        f"{one.missed} of {one.possible}",
    ]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main(sys.argv[1:])
