"""What `make bench-kube PAGE=1` writes has its place on the page: nobody finds out after a quarter of an hour."""

from __future__ import annotations

from collections import Counter

import pytest

from benchmarks.kube.report import PAGE, fill, report
from benchmarks.kube.run import KUBE, OTHERS, OURS, Result
from benchmarks.kube.shapes import LARGE, USUAL

_CPU = {"scheduler": 10.0, "etcd": 4.0, "kube-apiserver": 20.0, "kube-controller-manager": 3.0, OTHERS: 1.0}


def result(seconds: float, bound: int = 1000) -> Result:
    writes = Counter({"deletions": 4000, "bindings": 1000})
    return Result(bound, 1000, seconds, seconds, seconds + 5, _CPU, writes, [])


def test_the_page_takes_all_that_is_measured() -> None:
    found = {name: {KUBE: result(40.0), OURS: result(16.0)} for name in USUAL} | {LARGE: {OURS: result(99.5)}}
    page = PAGE.read_text()
    written = fill(page, report(found))
    assert "| PreemptionBasic, 1,000 nodes | 40.0 s | 16.0 s | 2.5 times as fast | 37 s | 37 s |" in written
    assert "| PreemptionBasic, 5,000 nodes | not measured | 99.5 s |  |  | 37 s |" in written
    assert "with etcd and the\ncontroller-manager 27" in written
    assert fill(written, report(found)) == written
    assert written.split("## What is measured")[1].split("##")[0] == page.split("## What is measured")[1].split("##")[0]


def test_who_was_forgotten_is_told() -> None:
    found = {USUAL[0]: {KUBE: result(40.0, bound=990), OURS: result(16.0)._replace(most_after=10.0)}}
    times = report(found)["times"]
    assert "990 of 1,000, given up after 40 s" in times
    assert "16.0 s; 99 % after 10.0 s" in times


def test_a_page_without_a_place_is_refused() -> None:
    with pytest.raises(ValueError, match="0 places for 'times'"):
        fill("nothing", {"times": "x"})
