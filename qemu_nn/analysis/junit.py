"""JUnit XML for CI servers: a test case for each file or layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from ..errors import printable


@dataclass(frozen=True)
class Case:
    """A test case. failure: the reason, "" if it passed; missing: true if nothing was compared."""

    name: str
    failure: str = ""
    missing: bool = False


def junit(suites: Sequence[tuple[str, Sequence[Case]]]) -> str:
    """Return XML of suites: their names and their cases."""
    parts = "".join(f"{_suite(name, cases)}\n" for name, cases in suites)
    return f'<?xml version="1.0" encoding="utf-8"?>\n<testsuites>\n{parts}</testsuites>\n'


def _suite(name: str, cases: Sequence[Case]) -> str:
    failures = sum(bool(case.failure) for case in cases)
    skipped = sum(case.missing for case in cases)
    counts = f'tests="{len(cases)}" failures="{failures}" errors="0" skipped="{skipped}"'
    inner = "\n".join(_case(name, case) for case in cases)
    return f"<testsuite name={_quote(name)} {counts}>\n{inner}\n</testsuite>"


def _case(suite: str, case: Case) -> str:
    head = f"<testcase classname={_quote(suite)} name={_quote(case.name)}"
    if case.missing:
        return f"{head}><skipped/></testcase>"
    if not case.failure:
        return f"{head}/>"
    first = case.failure.splitlines()[0]
    text = escape(printable(case.failure, kept="\n"), quote=False)
    return f"{head}><failure message={_quote(first)}>{text}</failure></testcase>"


def _quote(text: str) -> str:
    return f'"{escape(printable(text))}"'
