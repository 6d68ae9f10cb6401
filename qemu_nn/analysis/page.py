"""Self-contained HTML pages from the templates of this package."""

from __future__ import annotations

from datetime import date
from importlib import resources
from typing import Any, Optional

from ..errors import printable
from ..io.optional_deps import require
from ..io.version import __version__
from .charts import Chart

_FOLDER = "templates"


def load_templates() -> Any:
    """Return the library that fills templates; raise Error if it is missing."""
    return require("jinja2", "report", "a report as a page")


def fill_page(template: str, **values: Any) -> str:
    """Fill a template with values, and with `made`, the origin, and `style`, page.css.

    Raises Error if jinja2 is missing.
    """
    jinja2 = load_templates()
    how = {"autoescape": True, "undefined": jinja2.StrictUndefined, "finalize": _visible}
    environment = jinja2.Environment(**how)
    made = f"qemu_nn {__version__}, {date.today().isoformat()}"
    style = jinja2.utils.markupsafe.Markup(_text("page.css"))
    return str(environment.from_string(_text(template)).render(made=made, style=style, **values))


def show_chart(chart: Optional[Chart]) -> Any:
    """Return a chart as HTML that a template does not escape; nothing without a chart."""
    markup = load_templates().utils.markupsafe.Markup
    return markup("" if chart is None else chart.svg())


def _visible(value: Any) -> Any:
    """Return a value of a template, a text without control characters except line ends."""
    return printable(value, kept="\n") if type(value) is str else value


def _text(name: str) -> str:
    return resources.files(__package__).joinpath(_FOLDER).joinpath(name).read_text("utf-8")
