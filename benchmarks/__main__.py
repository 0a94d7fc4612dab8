"""`make bench`: every benchmark, each as ratios within this one run."""

from __future__ import annotations

import sys

from benchmarks import control_plane, federation, gangs, loading, pods, queues, quota

SUITES = {
    "loading": loading.run,
    "pods": pods.run,
    "gangs": gangs.run,
    "quota": quota.run,
    "queues": queues.run,
    "federation": federation.run,
    "control-plane": control_plane.run,
}


def main() -> None:
    chosen = sys.argv[1:] or list(SUITES)
    for name in chosen:
        if name not in SUITES:
            sys.exit(f"no benchmark {name!r}; there are: {', '.join(SUITES)}")
        print(f"\n{name}")
        SUITES[name]()


if __name__ == "__main__":
    main()
