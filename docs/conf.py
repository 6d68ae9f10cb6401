"""How Sphinx makes the site of these pages: sphinx-build -W --keep-going docs SITE (.ci/docs)."""

import re
import shutil
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

import qemu_nn
from qemu_nn import functions

PAGES = Path(__file__).parent

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
exclude_patterns = ["examples"]
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


def listed(page):
    """The pages that a page's tables list, under the heading of each part: the site's only list."""
    parts = {}
    part = None
    for row in re.findall(r"^\|(.*)", page, re.M):
        heading = re.match(r" \*\*(.+?)\*\*", row)
        link = re.search(r"\]\(([^)#:]+)\.md\)", row)
        if heading:
            part = heading[1]
        elif link:
            parts.setdefault(part, []).append(link[1])
    return parts


def add_tree(app, name, source):
    """The tree of the site: what the start page and the list of decisions link to."""
    if Path(name).name == "README":
        for part, pages in listed(source[0]).items():
            caption = f":caption: {part}\n" if part else ""
            source[0] += f"\n```{{toctree}}\n:hidden:\n{caption}\n" + "\n".join(pages) + "\n```\n"


class FunctionsOf(SphinxDirective):
    """The C functions that a module of qemu_nn.functions declares, as qemu_nn.cmsis offers them."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self):
        text = "\n".join(
            f".. autofunction:: qemu_nn.cmsis.{function.name}\n"
            for family in self.arguments[0].split()
            for function in getattr(functions, family).FUNCTIONS
        )
        return self.parse_text_to_nodes(text)


#: What all functions of qemu_nn.cmsis have in common, which their page says once.
COMMON = re.compile(r"^core : .*?(?=^Returns$)|^Raises$.*?(?=^Notes$)", re.M | re.S)


#: Quoted code, or a character that is markup in reStructuredText and none in our texts: asterisks
#: of shapes, bars, the last underscore of a name.
QUOTED_OR_STRAY = re.compile(r"`[^`]*`|(?<=[ (\[,])\*+(?=\w)|\||(?<=\w)_(?!\w)")


def as_text(lines):
    """Text as reStructuredText that shows all of its characters."""
    code = re.compile(r" *(>>>|\.\.|:)")
    for number, line in enumerate(lines):
        if not code.match(line):
            lines[number] = QUOTED_OR_STRAY.sub(
                lambda found: found[0] if found[0][0] == "`" else f"\\{found[0]}", line
            )


def adapt_docstring(app, what, name, thing, options, lines):
    """What autodoc reads: what C functions have in common is left out."""
    if re.match(r"qemu_nn\.cmsis\.(arm|tflm)_", name):
        lines[:] = COMMON.sub("", "\n".join(lines)).splitlines()
        lines[:] = [re.sub(r"(\? \w+) : ", r"\1: ", line) for line in lines]  # no name : type
    as_text(lines)


def adapt_help(app, context, lines):
    """What sphinx-click makes of a verb's help."""
    as_text(lines)


def dashes(app, doctree):
    """Between a parameter and its description; smartquotes would also make them of options."""
    for text in list(doctree.findall(nodes.Text)):
        if " -- " in text[:5]:
            text.parent.replace(text, nodes.Text(text.replace(" -- ", " \N{EN DASH} ", 1)))


def index(app, exception):
    """The start page under the name that a server looks for."""
    if exception is None and app.builder.format == "html":
        shutil.copy(Path(app.outdir, "README.html"), Path(app.outdir, "index.html"))


def setup(app):
    app.add_directive("functions-of", FunctionsOf)
    app.connect("source-read", add_tree)
    app.connect("autodoc-process-docstring", adapt_docstring, priority=400)
    app.connect("sphinx-click-process-description", adapt_help)
    app.connect("sphinx-click-process-options", adapt_help)
    app.connect("doctree-read", dashes)
    app.connect("build-finished", index)
