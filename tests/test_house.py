"""The rules of the house that no other tool checks."""

import re
from collections import Counter
from pathlib import Path

from qemu_nn.functions import FUNCTIONS, NPU_FUNCTIONS
from qemu_nn.kernels import table as kernels
from qemu_nn.targets import all_profiles

ROOT = Path(__file__).parents[1]


def sources(folder, suffixes):
    return [path for path in sorted((ROOT / folder).rglob("*")) if path.suffix in suffixes]


def test_each_op_and_profile_has_exactly_one_plain_row_or_none():
    for row in kernels.ROWS:
        rows = kernels.rows_of(row.op.name, row.op.type)
        for profile in all_profiles():
            plain = [r for r in rows if r.kind == "plain" and r.claims(profile)]
            claiming = [r for r in rows if r.claims(profile)]
            assert len(plain) == (1 if claiming else 0), f"{row.op} {profile}"


def test_the_list_names_each_row_once():
    names = Counter(str(row) for row in kernels.ROWS)
    assert [name for name, count in names.items() if count > 1] == []


def test_every_function_of_the_firmware_has_rows_and_every_op_a_function():
    declared = {(f.op, f.type) for f in (*FUNCTIONS.values(), *NPU_FUNCTIONS.values())}
    assert declared == {(row.op.name, row.op.type) for row in kernels.ROWS}


def test_plain_rows_need_nothing_of_the_host():
    assert [str(row) for row in kernels.ROWS if row.kind != "fast" and row.cpu] == []


def test_only_fixed_h_narrows_and_shifts_right():
    own = re.compile(r"\(int(?:8|16)_t\)\s*[a-z(]|>> *[a-z0-9]|\? *-?(?:127|128|32767|32768)\b")
    for path in sources("csrc/q", {".c", ".h"}):
        fast = re.search(r"fast|avx|neon|pixels|each|edge|stage", path.stem)
        if fast or (path.suffix == ".c" and not path.stem.endswith(("_ref", "_ref560", "_dsp"))):
            continue  # fast rows have tricks of their own
        code = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
        assert own.findall(code) == [], f"{path.name} narrows or shifts on its own"


def test_files_stay_short():
    limits = {".py": 300, ".c": 260, ".h": 240}
    for path in sources("csrc", {".c", ".h"}) + sources("qemu_nn", {".py"}):
        if path.name == "activation_tables.h":
            continue
        lines = len(path.read_text().splitlines())
        assert lines <= limits[path.suffix], f"{path.name} has {lines} lines"


def test_only_the_table_and_what_runs_plans_touch_c_memory():
    users = [p.name for p in sources("qemu_nn", {".py"}) if "_native" in p.read_text()]
    runs_plans = ["compiled.py", "interrupt.py", "parallel.py", "split.py"]
    assert sorted(users) == sorted(["_build.py", "table.py", "peak.py", *runs_plans])


def test_no_code_gives_meaning_to_the_name_of_a_variant():
    """A row says what it is by its kind, its features and its symbol; its name is for users."""
    variants = "|".join(sorted({row.variant for row in kernels.ROWS}))
    named = re.compile(rf"variant\)? *(?:==|!=|in) *[(\[{{]?\"|\"_(?:{variants})\"")
    for path in sources("qemu_nn", {".py"}):
        assert not named.search(path.read_text(encoding="utf-8")), path.name


def test_the_project_speaks_of_itself_alone():
    words = re.compile(r"/wor[k]/|/tm[p]/[a-z]")
    suffixes = {".py", ".c", ".h", ".md", ".toml", ".inc", ".json"}
    rooms = ("csrc", "qemu_nn", "tests", "benchmarks", "docs")
    top = [ROOT / "README.md", ROOT / "pyproject.toml", ROOT / "setup.py"]
    for path in top + [path for room in rooms for path in sources(room, suffixes)]:
        assert not words.search(path.read_text(encoding="utf-8")), path


def test_the_change_that_the_guide_shows_fits_the_list():
    guide = (ROOT / "docs" / "adding.md").read_text(encoding="utf-8")
    shown = guide.partition("```diff\n")[2].partition("```")[0]
    path, hunk = re.search(r"\+\+\+ b/(\S+)\n@@[^\n]*\n(.*?)\n--- ", shown, re.S).groups()
    before = "".join(f"{line[1:]}\n" for line in hunk.splitlines() if line[:1] != "+")
    assert before in (ROOT / path).read_text(encoding="utf-8")
