"""The page on architecture names what is there: every module it mentions exists, and every folder is mentioned.

A module is written `world.py`, or with some of its path (`quota/policy.py`); a folder with its whole path and a slash
(`policies/quota/`), several at once as `policies/{quota,queue}/`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.paths import ROOT

PAGE = ROOT / "docs" / "architecture.md"
SOURCES = ROOT / "src" / "reprieve"
_CODE = re.compile(r"`([^`\n]+)`")
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
