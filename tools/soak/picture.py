"""A curve as a picture: a few plain lines of SVG, one small chart for each thing that was measured.

python -m tools.soak.picture soak.csv docs/pictures/soak.svg
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from pathlib import Path

_WIDTH, _HEIGHT, _LEFT, _TOP = 640, 110, 90, 34
_CHARTS = (
    ("memory", "memory in MB", "#3465a4"),
    ("store", "store.db in MB", "#4e9a06"),
    ("history", "history.db in MB", "#8f5902"),
    ("decision", "one decision in ms", "#a40000"),
    ("cpu", "CPU for one Job in ms, all told", "#75507b"),
)


def draw(samples: Sequence[dict[str, float]]) -> str:
    """All charts, one below the other, over the Jobs so far."""
    height = _TOP + len(_CHARTS) * (_HEIGHT + 34) + 24
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH + _LEFT + 30}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{_LEFT}" y="20" font-size="14">{_title(samples)}</text>',
    ]
    for place, (name, label, colour) in enumerate(_CHARTS):
        parts += _chart(samples, name, label, colour, _TOP + place * (_HEIGHT + 34))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _title(samples: Sequence[dict[str, float]]) -> str:
    last = samples[-1]
    return f"{int(last['jobs']):,} Jobs in {last['hours'] / 24:.1f} virtual days"


def _chart(samples: Sequence[dict[str, float]], name: str, label: str, colour: str, top: int) -> list[str]:
    values = [float(sample[name]) for sample in samples]
    most, width = _round_up(max(values)), max(float(sample["jobs"]) for sample in samples)
    base = top + 20 + _HEIGHT

    def point(sample: dict[str, float]) -> str:
        x = _LEFT + _WIDTH * float(sample["jobs"]) / width
        return f"{x:.1f},{base - _HEIGHT * float(sample[name]) / most:.1f}"

    return [
        f'<text x="{_LEFT}" y="{top + 12}">{label}: {values[0]:g} at first, {values[-1]:g} at last</text>',
        f'<text x="{_LEFT - 8}" y="{top + 28}" text-anchor="end">{most:g}</text>',
        f'<text x="{_LEFT - 8}" y="{base}" text-anchor="end">0</text>',
        f'<path d="M{_LEFT},{top + 20} V{base} H{_LEFT + _WIDTH}" fill="none" stroke="#888"/>',
        f'<polyline points="{" ".join(map(point, samples))}" fill="none" stroke="{colour}" stroke-width="1.5"/>',
    ]


def _round_up(value: float) -> float:
    """The next number that is easy to read."""
    step = 1.0
    while step < value:
        for factor in (2, 2.5, 2):
            step *= factor
            if step >= value:
                return step
    while step / 10 >= value > 0:
        step /= 10
    return step


def main() -> None:
    with Path(sys.argv[1]).open() as file:
        samples = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]
    Path(sys.argv[2]).write_text(draw(samples))


if __name__ == "__main__":
    main()
