"""Quantities: malformed, negative, too large, or something else."""

from __future__ import annotations

from tests.manifests.bad_manifests import Case, obj


def node(allocatable: str) -> str:
    return obj("v1 Node", f"status: {{allocatable: {allocatable}}}")


CASES = [
    Case(
        "a word",
        node("{cpu: lots}"),
        want="""
        error: bad.yaml: document 1, line 4: Node/a: $.status.allocatable.cpu: not a quantity: found "lots";
            allowed: a number with an optional suffix, such as 500m, 2, 1.5, 1e3, 128Mi or 10G
        """,
    ),
    Case(
        "nothing",
        node('{cpu: ""}'),
        want="""
        error: bad.yaml: document 1, line 4: Node/a: $.status.allocatable.cpu: not a quantity: found ""; allowed:
            a number with an optional suffix, such as 500m, 2, 1.5, 1e3, 128Mi or 10G
        """,
    ),
    Case(
        "a space before the unit",
        node("{memory: 1 Gi}"),
        want="""
        error: bad.yaml: document 1, line 4: Node/a: $.status.allocatable.memory: not a quantity: found "1 Gi";
            allowed: a number with an optional suffix, such as 500m, 2, 1.5, 1e3, 128Mi or 10G
        """,
    ),
    Case(
        "a unit in lower case",
        node("{memory: 1gi}"),
        want="""
        error: bad.yaml: document 1, line 4: Node/a: $.status.allocatable.memory: not a quantity: found "1gi";
            allowed: a number with an optional suffix, such as 500m, 2, 1.5, 1e3, 128Mi or 10G
        """,
    ),
    Case(
        "a unit that is spelt out",
        node("{memory: 1GiB}"),
        want="""
        error: bad.yaml: document 1, line 4: Node/a: $.status.allocatable.memory: not a quantity: found "1GiB";
            allowed: a number with an optional suffix, such as 500m, 2, 1.5, 1e3, 128Mi or 10G
        """,
    ),
    Case(
        "a comma for the fraction",
        node('{cpu: "1,5"}'),
        want="""
        error: bad.yaml: document 1, line 4: Node/a: $.status.allocatable.cpu: not a quantity: found "1,5";
            allowed: a number with an optional suffix, such as 500m, 2, 1.5, 1e3, 128Mi or 10G
        """,
    ),
    Case(
        "two signs",
        node('{cpu: "--1"}'),
        want="""
        error: bad.yaml: document 1, line 4: Node/a: $.status.allocatable.cpu: not a quantity: found "--1";
            allowed: a number with an optional suffix, such as 500m, 2, 1.5, 1e3, 128Mi or 10G
        """,
    ),
    Case(
        "negative",
        node("{cpu: -1}"),
        want="""
        error: bad.yaml: document 1, line 4: Node/a: $.status.allocatable.cpu: negative: found -1; allowed: zero
            or more
        """,
    ),
    Case(
        "just below zero",
        node("{memory: -1n}"),
        want="""
        error: bad.yaml: document 1, line 4: Node/a: $.status.allocatable.memory: negative: found "-1n"; allowed:
            zero or more
        """,
    ),
    Case(
        "more than 64 bits of memory",
        node("{memory: 16Ei}"),
        want="""
        error: bad.yaml: document 1, line 4: Node/a: $.status.allocatable.memory: too large: found "16Ei";
            allowed: at most 9223372036854775807
        """,
    ),
    Case(
        "more than 64 bits of thousandths of a core",
        node("{cpu: 10E}"),
        want="""
        error: bad.yaml: document 1, line 4: Node/a: $.status.allocatable.cpu: too large: found "10E"; allowed:
            at most 9223372036854775807m
        """,
    ),
    Case(
        "a power beyond counting",
        node("{memory: 1e30}"),
        want="""
        error: bad.yaml: document 1, line 4: Node/a: $.status.allocatable.memory: too large: found 1e30; allowed:
            less than 1e24
        """,
    ),
    Case(
        "a power beyond writing",
        node("{memory: 1e99999999999999999999}"),
        want="""
        error: bad.yaml: document 1, line 4: Node/a: $.status.allocatable.memory: too large: found
            "1e99999999999999999999"; allowed: less than 1e24
        """,
    ),
    Case(
        "a boolean",
        node("{pods: true}"),
        want="""
        error: bad.yaml: document 1, line 4: Node/a: $.status.allocatable.pods: not a quantity: found true;
            allowed: a number with an optional suffix, such as 500m, 2, 1.5, 1e3, 128Mi or 10G
        """,
    ),
    Case(
        "a list",
        node("{cpu: [1]}"),
        want="""
        error: bad.yaml: document 1, line 4: Node/a: $.status.allocatable.cpu: not a quantity: found a list;
            allowed: a number with an optional suffix, such as 500m, 2, 1.5, 1e3, 128Mi or 10G
        """,
    ),
    Case(
        "an object",
        node("{cpu: {amount: 1}}"),
        want="""
        error: bad.yaml: document 1, line 4: Node/a: $.status.allocatable.cpu: not a quantity: found an object;
            allowed: a number with an optional suffix, such as 500m, 2, 1.5, 1e3, 128Mi or 10G
        """,
    ),
    Case(
        "a number instead of names",
        node("5"),
        want="""
        error: bad.yaml: document 1, line 4: Node/a: $.status.allocatable: not a map of quantities: found 5;
            allowed: names and quantities, such as {cpu: 500m}
        """,
    ),
    Case(
        "a list instead of names",
        node("[cpu]"),
        want="""
        error: bad.yaml: document 1, line 4: Node/a: $.status.allocatable: not a map of quantities: found a list;
            allowed: names and quantities, such as {cpu: 500m}
        """,
    ),
    Case(
        "several in one list, all reported",
        node("{cpu: x, memory: -1, pods: 10, example.com/gpu: [1]}"),
        want="""
        error: bad.yaml: document 1, line 4: Node/a: $.status.allocatable["example.com/gpu"]: not a quantity:
            found a list; allowed: a number with an optional suffix, such as 500m, 2, 1.5, 1e3, 128Mi or 10G
        error: bad.yaml: document 1, line 4: Node/a: $.status.allocatable.cpu: not a quantity: found "x";
            allowed: a number with an optional suffix, such as 500m, 2, 1.5, 1e3, 128Mi or 10G
        error: bad.yaml: document 1, line 4: Node/a: $.status.allocatable.memory: negative: found -1; allowed:
            zero or more
        """,
    ),
    Case(
        "a number of five thousand digits in JSON",
        '{"apiVersion": "v1", "kind": "Node", "status": {"allocatable": {"cpu": 1' + "0" * 5000 + "}}}",
        want="""
        error: bad.json: document 1, line 1: a number with too many digits
        """,
        file="bad.json",
    ),
]
