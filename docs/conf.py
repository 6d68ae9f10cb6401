"""Settings of Sphinx for the site: sphinx-build -W --keep-going docs SITE (.ci/docs)."""

import re
import shutil
import sys
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

import qemu_nn
from qemu_nn import functions

PAGES = Path(__file__).parent
sys.path.insert(0, str(PAGES))
import charts  # noqa: E402, of this folder
import demos  # noqa: E402

project = "qemu_nn"
author = "the authors of qemu_nn"
copyright = "the authors of qemu_nn; Apache License 2.0"
release = version = qemu_nn.__version__

root_doc = "README"
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_click",
    "myst_nb",
]
exclude_patterns = ["examples", "charts.py", "demos.py", "esp32.py", "operators.py", "releases.py"]
default_role = "code"
smartquotes = False

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]

nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_in_temp = True
nb_execution_timeout = 60
nb_merge_streams = True

autodoc_typehints = "none"
autodoc_member_order = "groupwise"
autodoc_default_options = {"members": True}
napoleon_google_docstring = False
napoleon_use_rtype = False
python_maximum_signature_line_length = 88
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = f"qemu_nn {version}"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_copy_source = False


def list_pages(page):
    """Return the pages that each line `- **PART:** links` and each row of a table links to."""
    parts = {}
    for line in re.findall(r"^(?:- \*\*|\|).*", page, re.M):
        part = re.match(r"- \*\*(.+?):\*\*", line)
        links = re.findall(r"\]\((?!\.\.)([^)#:]+)\.md\)", line)
        parts.setdefault(part and part[1], []).extend(links)
    return {part: links for part, links in parts.items() if links}


def add_tree(app, name, source):
    """Add the site's tree: pages that the start page, maintainers' page and decisions list."""
    if Path(name).name in ("README", "maintainers"):
        for part, pages in list_pages(source[0]).items():
            caption = f":caption: {part}\n" if part else ""
            source[0] += f"\n```{{toctree}}\n:hidden:\n{caption}\n" + "\n".join(pages) + "\n```\n"


def add_demos(app, name, source):
    """Add links to the pages of networks to the start page of the site, after its image."""
    if name == root_doc and app.builder.format == "html":
        image = re.search(r"(?m)^!\[.*\n", source[0])
        source[0] = source[0][: image.end()] + demos.LINKS + source[0][image.end() :]


def write_demos(app, exception):
    """Write the pages of networks that run in the browser."""
    if exception is None and app.builder.format == "html":
        demos.write(Path(app.outdir))


class FunctionsOf(SphinxDirective):
    """Reference entries of the C functions that modules of qemu_nn.functions declare."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self):
        text = "\n".join(
            f".. autofunction:: qemu_nn.cmsis.{function.name}\n"
            for family in self.arguments[0].split()
            for function in getattr(functions, family).FUNCTIONS
        )
        return self.parse_text_to_nodes(text)


#: Sections that all functions of qemu_nn.cmsis share. Their page has them once.
COMMON = re.compile(r"^core : .*?(?=^Returns$)|^Raises$.*?(?=^Notes$)", re.M | re.S)


#: Quoted code, or a character that is markup in reStructuredText but not in docstrings: asterisks
#: of shapes, bars, the last underscore of a name.
QUOTED_OR_STRAY = re.compile(r'`[^`]*`|(?<=[ (\[,-])\*+(?=[\w"])|\||(?<=\w)_(?!\w)')


def escape_markup(lines):
    """Escape lines of text, so that reStructuredText shows all of their characters."""
    code = re.compile(r" *(>>>|\.\.|:)")
    for number, line in enumerate(lines):
        if not code.match(line):
            lines[number] = QUOTED_OR_STRAY.sub(
                lambda match: match[0] if match[0][0] == "`" else f"\\{match[0]}", line
            )


def adapt_docstring(app, what, name, thing, options, lines):
    """Remove the sections that C functions share from the docstring that autodoc reads."""
    if re.match(r"qemu_nn\.cmsis\.(arm|tflm)_", name):
        lines[:] = COMMON.sub("", "\n".join(lines)).splitlines()
        lines[:] = [re.sub(r"(\? \w+) : ", r"\1: ", line) for line in lines]  # no name : type
    escape_markup(lines)


def adapt_help(app, context, lines):
    """Escape the help text of a command for sphinx-click."""
    escape_markup(lines)


def set_dashes(app, doctree):
    """Set dashes between parameters and descriptions; smartquotes would change options, too."""
    for text in list(doctree.findall(nodes.Text)):
        if " -- " in text[:5]:
            text.parent.replace(text, nodes.Text(text.replace(" -- ", " \N{EN DASH} ", 1)))


def copy_index(app, exception):
    """Copy the start page to the name that a server looks for."""
    if exception is None and app.builder.format == "html":
        shutil.copy(Path(app.outdir, "README.html"), Path(app.outdir, "index.html"))


def draw_charts(app):
    """Draw the charts of the pages anew."""
    charts.write(PAGES / "charts")


def setup(app):
    """Register the events and directives above."""
    app.add_directive("functions-of", FunctionsOf)
    app.connect("builder-inited", draw_charts)
    app.connect("source-read", add_tree)
    app.connect("source-read", add_demos)
    app.connect("autodoc-process-docstring", adapt_docstring, priority=400)
    app.connect("sphinx-click-process-description", adapt_help)
    app.connect("sphinx-click-process-options", adapt_help)
    app.connect("doctree-read", set_dashes)
    app.connect("build-finished", copy_index)
    app.connect("build-finished", write_demos)
