"""Folders that tests read."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
GOLDEN = TESTS / "golden"

#: Recordings and published networks beside the clone; tests that need an absent file are skipped.
SHARED = ROOT.parent / "shared"
