"""The page on architecture names what is there: modules, classes and functions exist, and every folder is mentioned.

A module is written `world.py`, or with some of its path (`quota/policy.py`); a folder with its whole path and a slash
(`policies/quota/`), several at once as `policies/{quota,queue}/`; a class `World`, a method `Policies.find`, a function
`decide()`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

import pytest

from tests.paths import ROOT

PAGE = ROOT / "docs" / "architecture.md"
SOURCES = ROOT / "src" / "reprieve"
_CODE = re.compile(r"`([^`\n]+)`")
_NAME = re.compile(r"[A-Z][A-Za-z]+(\.[a-z_]+)?|[a-z_]+\(\)")
_BRACES = re.compile(r"(.*)\{([^}]*)\}(.*)")


def written() -> Iterator[str]:
    """Everything on the page that is a module or a folder."""
    for found in _CODE.findall(PAGE.read_text()):
        yield from (name.removeprefix("src/reprieve/") for name in spelled_out(found) if name.endswith((".py", "/")))


def spelled_out(name: str) -> list[str]:
    """`a/{b,c}/` is a/b/ and a/c/."""
    braces = _BRACES.fullmatch(name)
    if braces is None:
        return [name]
    before, between, after = braces.groups()
    return [each for part in between.split(",") for each in spelled_out(f"{before}{part.strip()}{after}")]


def modules() -> set[str]:
    return {path.relative_to(SOURCES).as_posix() for path in SOURCES.rglob("*.py")}


def folders() -> list[str]:
    return sorted(f"{path.parent.relative_to(SOURCES).as_posix()}/" for path in SOURCES.rglob("*/__init__.py"))


def known(name: str) -> list[str]:
    """Modules or folders that a name on the page can mean."""
    there = [*modules(), *folders()]
    return [path for path in there if f"/{path}".endswith(f"/{name}")]


@pytest.mark.parametrize("name", sorted(set(written()) - {"src/", "tests/", "benchmarks/", "docs/", "examples/"}))
def test_what_the_page_names_is_there(name: str) -> None:
    assert known(name), f"{name} is not below src/reprieve"


@pytest.mark.parametrize("folder", folders())
def test_every_folder_is_on_the_page(folder: str) -> None:
    assert folder in set(written())


@cache
def defined() -> set[str]:
    """All classes, their methods, and functions, as the page writes them."""
    found: set[str] = set()
    for path in SOURCES.rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                methods = (item.name for item in node.body if isinstance(item, ast.FunctionDef))
                found |= {node.name, *(f"{node.name}.{name}" for name in methods)}
            elif isinstance(node, ast.FunctionDef):
                found.add(f"{node.name}()")
    return found


@pytest.mark.parametrize("name", sorted({name for name in _CODE.findall(PAGE.read_text()) if _NAME.fullmatch(name)}))
def test_classes_and_functions_on_the_page_are_there(name: str) -> None:
    assert name in defined()


def test_no_two_classes_have_one_name() -> None:
    named: dict[str, list[str]] = {}
    for path in sorted(SOURCES.rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                named.setdefault(node.name, []).append(path.relative_to(SOURCES).as_posix())
    assert {name: paths for name, paths in named.items() if len(paths) > 1} == {}
