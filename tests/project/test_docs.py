"""The pages: all listed, all names in them, every link leads somewhere, and what is shown runs."""

import importlib.util
import re
import shlex
import sys
from contextlib import redirect_stdout
from io import StringIO

import click
import pytest
from click.testing import CliRunner
from paths import ROOT
from public_surface import SURFACE

import qemu_nn
from qemu_nn import functions
from qemu_nn.cli.main import main

DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *(ROOT / ".github").rglob("*.md")])

#: Functions for other modules of the package, which happen to have no underscore.
WITHIN = {"core_words", "cut", "printable", "sentence"}


def read(path):
    return path.read_text(encoding="utf-8")


def name_of(page):
    return page.relative_to(ROOT).as_posix()


def prose(text):
    """Markdown without its fenced blocks."""
    return re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)


def test_every_page_is_listed():
    lists = [DOCS / "README.md", DOCS / "maintainers.md", DOCS / "decisions" / "README.md"]
    listed = {
        (page.parent / link).resolve()
        for page in lists
        for line in re.findall(r"^(?:\||- \*\*).*", read(page), re.M)
        for link in re.findall(r"\]\(([^)#:]+\.md)\)", line)
    }
    pages = {page.resolve() for page in DOCS.rglob("*.md")} - {(DOCS / "README.md").resolve()}
    missing = {name_of(page) for page in pages - listed}
    assert missing == set(), "add it to the list of docs/README.md or docs/maintainers.md"


def load_script(name):
    """Import a script of the folder docs."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    script = importlib.util.module_from_spec(spec)
    sys.modules[name] = script  # dataclasses look up the module of their class
    spec.loader.exec_module(script)
    return script


def test_the_page_of_releases_has_every_sdk_and_every_rule():
    assert read(DOCS / "releases.md") == load_script("releases").page(), (
        "run `python docs/releases.py`"
    )


def test_the_page_of_the_esp32_has_every_rule():
    assert read(DOCS / "esp32.md") == load_script("esp32").page(), "run `python docs/esp32.py`"


def test_the_table_of_operators_is_that_of_the_reader():
    assert read(DOCS / "operators.md") == load_script("operators").table(), (
        "run `python docs/operators.py`"
    )


def test_charts_show_the_committed_figures(tmp_path):
    load_script("charts").write(tmp_path)
    drawn = {path.name: read(path) for path in tmp_path.iterdir()}
    committed = {path.name: read(path) for path in (DOCS / "charts").iterdir()}
    assert drawn == committed, "run `python docs/charts.py`"


def test_every_public_name_is_in_the_reference():
    shown = set(re.findall(r"\.\. auto\w+:: (\S+)", read(DOCS / "api.md")))
    missing = {f"qemu_nn.{name}" for name in qemu_nn.__all__} - shown
    assert missing == set(), "add it to docs/api.md, as `.. autofunction:: NAME` or autoclass"


def test_what_users_call_or_hold_is_in_the_reference():
    text = "".join(read(page) for page in DOCS.glob("api*.md"))
    shown = {name.rpartition(".")[2] for name in re.findall(r"\.\. auto\w+:: (\S+)", text)}
    families = re.compile(r"\.cmsis\.(arm|tflm|executorch|esp_nn|esp_dl)_")
    wanted = {name for name in SURFACE if not families.search(name)}
    missing = {name for name in wanted if name.rpartition(".")[2] not in shown | WITHIN}
    assert missing == set(), "add it to docs/api.md or docs/api-npu.md"


def test_the_reference_names_nothing_that_is_not_there():
    for page in DOCS.glob("api*.md"):
        for name in re.findall(r"\.\. auto(?!module)\w+:: qemu_nn\.(\S+)", read(page)):
            assert found(name) is not None, f"{page.name}: {name}"


def found(name):
    """Return the object of a dotted name of the package, by imports and attributes."""
    *path, last = name.split(".")
    for cut in range(len(path), -1, -1):
        try:
            thing = importlib.import_module(".".join(["qemu_nn", *path[:cut]]))
        except ImportError:
            continue
        for part in [*path[cut:], last]:
            thing = getattr(thing, part)
        return thing


def test_every_c_function_is_in_the_reference():
    text = "".join(read(page) for page in DOCS.glob("api*.md"))
    families = " ".join(re.findall(r"\.\. functions-of:: (.*)", text)).split()
    shown = [f.name for family in families for f in getattr(functions, family).FUNCTIONS]
    assert sorted(shown) == sorted(functions.FUNCTIONS)


def commands(group, name):
    for verb in group.list_commands(None):
        command = group.get_command(None, verb)
        yield f"{name} {verb}"
        if isinstance(command, click.Group):
            yield from commands(command, f"{name} {verb}")


def test_every_verb_of_the_command_line_is_in_the_table_of_its_page():
    table = " ".join(re.findall(r"^\|.*", read(DOCS / "cli.md"), re.M))
    missing = [name for name in commands(main, "qemu-nn") if f"`{name}`" not in table]
    assert missing == [], "add a line to the table of docs/cli.md"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_on_a_page_have_the_options_that_stand_there(page):
    for line in re.findall(r"qemu-nn +([a-z][^\n`#&|)]*)", read(page)):
        words = [word.strip(".,;:").partition("=")[0] for word in line.split()]
        verb = main.get_command(None, words[0])
        if isinstance(verb, click.Group):
            verb = verb.commands.get(words[1]) if len(words) > 1 else None
        if verb is not None:
            have = {o for p in verb.params for o in (*p.opts, *p.secondary_opts)} | {"--help"}
            shown = {word for word in words if re.match("--?[a-z]", word)}
            assert shown <= have, f"{name_of(page)}: qemu-nn {line}"


def anchors(page):
    """Return the anchors of a page's headings, as GitHub makes them."""
    found = []
    for heading in re.findall(r"^#+ +(.+?) *#*$", prose(read(page)), re.M):
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        found.append(f"{slug}-{found.count(slug)}" if slug in found else slug)
    return found


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_to_files_and_headings_that_are_there(page):
    links = re.findall(r"\]\((?!\w+:)([^)\s]+)\)", prose(read(page)))
    for link in links:
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{name_of(page)} links to {link}"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{name_of(page)} links to {link}"


def marked(page):
    """Language, code and printed text of each block of a page that is marked as tested."""
    fence = r"```(python|sh)\n(.*?)```(?:\n\n```(?:text)?\n(.*?)```)?"
    return re.findall(rf"<!-- tested -->\n{fence}", read(page), re.S)


def run_commands(text):
    """Run the lines of a block of shell commands, and print what each prints."""
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words:
            assert words[0] == "qemu-nn", f"a tested block runs qemu-nn only: {line}"
            result = CliRunner().invoke(main, words[1:], catch_exceptions=False)
            assert result.exit_code == 0, f"{line}\n{result.output}"
            print(result.stdout)


def shows(page, printed):
    """True if a page shows what was printed; `...` of the page is any number of words."""
    words = ["(?:.* )?" if word == "..." else f"{re.escape(word)} " for word in page.split()]
    return re.fullmatch("".join(words), " ".join([*printed.split(), ""])) is not None


SHOWN = [page for page in PAGES if marked(page)]


@pytest.mark.parametrize("page", SHOWN, ids=name_of)
def test_marked_blocks_run_and_print_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scope = {"__name__": "__main__"}
    for language, code, printed in marked(page):
        output = StringIO()
        with redirect_stdout(output):
            if language == "python":
                exec(compile(code, name_of(page), "exec"), scope)
            else:
                run_commands(code)
        if printed:
            text = output.getvalue().replace("\\", "/")
            assert shows(printed, text), f"{code}\nprints\n{text}"


def test_an_omission_of_a_page_is_any_number_of_words():
    assert shows("a ... d", "a b c d")
    assert shows("a ... d", "a d")
    assert not shows("a ... d", "a b c")
    assert not shows("a", "a b")


def test_pages_show_blocks_that_are_tested():
    assert len(SHOWN) > 0
