"""Bad manifests by family: what is wrong with each is its name, and `want` is what a user reads about it."""

from __future__ import annotations

from textwrap import dedent
from typing import NamedTuple


class Case(NamedTuple):
    """A manifest, and the exact lines that `reprieve check` prints for it.

    `want` is wrapped to be readable: a line that is indented further belongs to the one above.
    """

    name: str
    manifest: str | bytes
    want: str
    old: str = ""
    strict: bool = False
    file: str = "bad.yaml"

    @property
    def want_lines(self) -> list[str]:
        return dedent(self.want).strip().replace("\n    ", " ").splitlines()


def obj(kind: str, body: str = "", name: str = "a") -> str:
    """A manifest of `kind`, an API version and a kind with a space between, with `body` below its name."""
    api_version, kind = kind.split()
    return f"apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: {name}}}\n{body}\n"


def pod(spec: str, name: str = "a") -> str:
    return obj("v1 Pod", f"spec: {{containers: [{{name: c}}], {spec}}}", name)


def documents(*manifests: str) -> str:
    return "---\n".join(manifests)
