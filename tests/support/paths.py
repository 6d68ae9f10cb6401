"""Folders that tests read."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
GOLDEN = TESTS / "golden"

#: Recordings and published networks next to the clone; tests of absent files are skipped.
SHARED = ROOT.parent / "shared"
