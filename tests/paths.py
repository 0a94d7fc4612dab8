"""Where things are, seen from the tests."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
CONFORMANCE = ROOT.parent / "shared" / "conformance"
"""Facts taken from the systems that Reprieve follows, where they are there."""
