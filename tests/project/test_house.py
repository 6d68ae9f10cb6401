"""The rules of the house that no other tool checks."""

import ast
import re
from collections import Counter
from functools import cache
from graphlib import CycleError, TopologicalSorter

from paths import ROOT

from qemu_nn.functions import FUNCTIONS, NPU_FUNCTIONS
from qemu_nn.kernels import table as kernels
from qemu_nn.targets import all_profiles


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
    for path in sources("csrc/q", {".c", ".h", ".inc"}):
        fast = re.search(r"fast|pixels|each|edge|epilogue", path.stem)
        if fast or (path.suffix == ".c" and not path.stem.endswith(("_ref", "_ref560", "_dsp"))):
            continue  # fast rows have tricks of their own
        code = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
        assert own.findall(code) == [], f"{path.name} narrows or shifts on its own"


@cache
def statements(path):
    """All of a Python file's syntax tree."""
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def modules(folder):
    """Name -> file of every module; a package's is its __init__.py."""
    files = sources(folder, {".py"})
    return {".".join(file.relative_to(ROOT).with_suffix("").parts): file for file in files}


def imported(name, file, known):
    """The modules that a module's text imports anywhere: in functions and for types alone, too."""
    for statement in statements(file):
        if isinstance(statement, ast.Import):
            wanted = [(alias.name, "") for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom):
            package = name.split(".")[: -statement.level or None] if statement.level else []
            source = ".".join([*package, *filter(None, [statement.module])])
            wanted = [(source, f".{alias.name}") for alias in statement.names]
        else:
            continue
        for source, part in wanted:
            candidates = (f"{source}{part}", f"{source}{part}.__init__", f"{source}.__init__")
            yield from [module for module in (*candidates, source) if module in known][:1]


def circle(folder):
    """Modules of which each imports the next and the last the first, if there are such."""
    known = modules(folder)
    needs = {name: set(imported(name, file, known)) - {name} for name, file in known.items()}
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        return " imports ".join(reversed(error.args[1]))


def test_no_modules_import_one_another_in_a_circle():
    found = circle("qemu_nn")
    assert found is None, found


def test_only_the_table_and_what_runs_networks_touch_c_memory():
    core = re.compile(r"\b(_native|_runner)\b")
    users = [p.name for p in sources("qemu_nn", {".py"}) if core.search(p.read_text())]
    runs = ["compiled.py", "interrupt.py", "ordered.py", "split.py"]
    told = ["csrc_files.py"]  # which says where it is not
    assert sorted(users) == sorted(["_build.py", "table.py", "peak.py", *runs, *told])


def test_no_code_gives_meaning_to_the_name_of_a_variant():
    """A row says what it is by its kind, its features and its symbol; its name is for users."""
    variants = "|".join(sorted({row.variant for row in kernels.ROWS}))
    named = re.compile(rf"variant\)? *(?:==|!=|in) *[(\[{{]?\"|\"_(?:{variants})\"")
    for path in sources("qemu_nn", {".py"}):
        assert not named.search(path.read_text(encoding="utf-8")), path.name


def test_the_project_speaks_of_itself_alone():
    words = re.compile(r"/wor[k]/|/tm[p]/[a-z]")
    suffixes = {".py", ".c", ".h", ".md", ".toml", ".inc", ".json"}
    folders = ("csrc", "qemu_nn", "tests", "benchmarks", "docs")
    top = [ROOT / "README.md", ROOT / "pyproject.toml", ROOT / "setup.py"]
    for path in top + [path for folder in folders for path in sources(folder, suffixes)]:
        assert not words.search(path.read_text(encoding="utf-8")), path


#: Words that gave way to the field's own (docs/glossary.md), and what to say.
_OLD_WORDS = {
    r"rooms?": "module, package, folder; block of memory",
    r"hous(?:e|es)": "package, project",
    r"settl(?:e|es|ed|ing)": "assign formats",
    r"wish(?:es|ed)?": "overrides",
    r"rivals?": "other profiles",
    r"teams?": "thread pool",
    r"picking": "slicing and resizing",
    r"vouch(?:es)?": "untrusted",
    r"can not": "cannot",
    r"and yet": "but",
}

#: Where they are gone already.
_REWORDED = ("**/*.py",)


def test_words_that_gave_way_do_not_come_back():
    texts = [path for files in (*_REWORDED, "*.py") for path in (ROOT / "qemu_nn").glob(files)]
    docs = ROOT / "docs"
    pages = {*docs.rglob("*.md")} - {docs / "changelog.md", *(docs / "decisions").iterdir()}
    for path in [*sorted(texts), *sorted(pages), ROOT / "README.md"]:
        text = re.sub(r"[\W_]+", " ", path.read_text(encoding="utf-8"))
        for word, instead in _OLD_WORDS.items():
            found = re.search(rf"\b{word}\b", text, re.I)
            assert found is None, f"{path.relative_to(ROOT)} says {found[0]!r}; say: {instead}"


def test_the_change_that_the_guide_shows_fits_the_list():
    guide = (ROOT / "docs" / "adding.md").read_text(encoding="utf-8")
    shown = guide.partition("```diff\n")[2].partition("```")[0]
    path, hunk = re.search(r"\+\+\+ b/(\S+)\n@@[^\n]*\n(.*?)\n--- ", shown, re.S).groups()
    before = "".join(f"{line[1:]}\n" for line in hunk.splitlines() if line[:1] != "+")
    assert before in (ROOT / path).read_text(encoding="utf-8")
