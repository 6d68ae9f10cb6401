"""The mutants of .ci/mutate change code alone, and its list of reasons is current."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / ".ci"))
from mutation import equivalent  # noqa: E402
from mutation.sites import code_of, mutants_of  # noqa: E402

SOURCE = """\
/* a + b */
#include "a.inc"
#define LEAST(a, b) ((a) < (b) ? (a) : (b))
#if LANES == 4
static int sum(const int *of, int count) {
    int all[8] = {0}, s = 0; // 1 + 2
    for (int i = 0; i < count; i++) {
        s += of[i] << 2;
    }
    if (s > INT16_MAX && count) {
        say("s + 1", s);
    }
    return -s;
}
#endif
"""


def changes(kind):
    found = [m for m in mutants_of("x.c", SOURCE) if m.kind == kind]
    return [" ".join(m.lines(SOURCE)[1].split()) for m in found]


@pytest.mark.parametrize(
    ("kind", "expected"),
    {
        "sign": ["s -= of[i] << 2;", "return s;"],
        "shift": ["s += of[i] >> 2;"],
        "logic": ["if (s > INT16_MAX || count) {"],
        "bound": ["if (s > (INT16_MAX - 1) && count) {"],
        "lane": ["s += of[(i) ^ 1] << 2;"],
        "statement": [";", ";"],
        "condition": ["if (1) {", "if (0) {"],
    }.items(),
)
def test_a_kind_of_mutant_changes_these_places(kind, expected):
    assert changes(kind) == expected


def test_comparisons_change_in_macros_loops_and_conditions():
    lines = changes("comparison")
    assert len(lines) == 6
    assert [line for line in lines if "LEAST" in line] == [
        "#define LEAST(a, b) ((a) <= (b) ? (a) : (b))",
        "#define LEAST(a, b) ((a) >= (b) ? (a) : (b))",
    ]


def test_constants_change_but_those_of_array_sizes_and_directives():
    assert not any("8" not in line for line in changes("constant") if "all" in line)
    assert not any("LANES" in line for line in changes("constant"))


def test_arguments_change_places():
    assert 'say(s, "s + 1");' in changes("argument")


@pytest.mark.parametrize(
    "line",
    ["int a(const int *b, int c);", "x = _mm_add_epi8(a, b);", "static int *f(int a, int b) {"],
)
def test_arguments_of_declarations_and_operands_of_sums_stay(line):
    assert not [m for m in mutants_of("x.c", f"\n{line}\n") if m.kind == "argument"]


def test_a_mutant_keeps_all_other_text():
    for mutant in mutants_of("x.c", SOURCE):
        changed = mutant.applied(SOURCE)
        assert changed != SOURCE
        assert changed[: mutant.start] == SOURCE[: mutant.start]
        assert changed.endswith(SOURCE[mutant.end :])


def test_comments_strings_and_directives_are_no_code():
    code = code_of(SOURCE)
    assert len(code) == len(SOURCE)
    assert not any(text in code for text in ("a + b", "s + 1", "1 + 2", "LANES", "include"))


def reasons():
    return equivalent.reasons(equivalent.FILE.read_text(encoding="utf-8"))


def test_every_mutant_with_a_reason_can_still_be_drawn():
    for path in {path for path, _, _ in reasons()}:
        source = (ROOT / path).read_text(encoding="utf-8")
        found = {mutant.lines(source) for mutant in mutants_of(path, source)}
        wanted = {(before, after) for of, before, after in reasons() if of == path}
        assert wanted <= found, f"{path}: {wanted - found}"


def test_every_mutant_in_the_list_has_a_reason():
    assert all(len(reason.split()) >= 4 for reason in reasons().values())
