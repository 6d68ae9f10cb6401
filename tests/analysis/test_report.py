"""The report as a page: whole, harmless, and without a fault in a real browser."""

import re
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest

import qemu_nn
from qemu_nn.api import golden as pipeline
from qemu_nn.ir.float_graph import FloatGraph, FloatNode
from qemu_nn.operators import Dense, Relu

jinja2 = pytest.importorskip("jinja2", reason="jinja2 is not installed")
BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)

EVIL = "<script>document.title='taken'</script>\"'&{{7*7}}"


@pytest.fixture(scope="module")
def report():
    rng = np.random.default_rng(4)
    nodes = (
        FloatNode(EVIL, Dense(rng.normal(size=(6, 4)), rng.normal(size=6)), ("x",)),
        FloatNode("relu", Relu(), (EVIL,)),
        FloatNode("zero", Dense(np.zeros((3, 6))), ("relu",)),
    )
    network = pipeline.FloatNetwork(FloatGraph(EVIL, "x", (4,), None, nodes, ("zero",)))
    x = rng.normal(size=(50, 4))
    return qemu_nn.analyze(
        qemu_nn.quantize(network, x, scheme="power2"), (x, rng.integers(0, 3, 50))
    )


def test_the_page_needs_nothing_from_elsewhere_and_runs_its_own_script_alone(report):
    page = report.html()
    assert page.count("<script") == 1
    assert EVIL not in page
    assert not re.search(r"src=|href=\"(?!#)|url\(|@import|https?:", page)
    assert "prefers-color-scheme: dark" in page
    assert "49" not in re.sub(r"[^{}]*", "", page)


def test_names_are_text_and_nothing_else(report):
    page = report.html()
    assert "&lt;script&gt;" in page
    assert "{{7*7}}" in page


def test_the_page_holds_every_layer_and_the_confusion(report):
    page = report.html()
    assert page.count('<figure id="values-') == len(report.layers) == 4  # the input too
    assert page.count('<svg viewBox="0 0 1000 20"') == 4
    assert "Confusion" in page
    assert "Confusion" not in replace(report, confusion=None).html()


@pytest.mark.skipif(BROWSER is None, reason="no chromium is installed")
def test_a_browser_shows_it_without_a_complaint_or_a_request(report, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(report.html(), encoding="utf-8")
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"]
    command += [
        "--v=0",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        f"--user-data-dir={tmp_path}/profile",
    ]
    done = subprocess.run(
        [*command, "--dump-dom", path.as_uri()], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    assert "CONSOLE" not in done.stderr
    assert "<title>taken" not in done.stdout
    assert done.stdout.count('<figure id="values-') == 4
