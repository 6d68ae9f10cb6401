"""The report's page in a browser: nothing is cut, at two widths, in two themes."""

import html
import json
import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import affine_networks
import numpy as np
import pytest
from float_classifiers import float_network

import qemu_nn
from qemu_nn import Network

pytest.importorskip("jinja2", reason="the page needs jinja2")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
LONG = "model/block_1/expand/BatchNorm/FusedBatchNormV3;model/block_1/expand/Conv2D"

#: Script that a page runs in a frame: elements whose content is wider than they are, and what
#: filter
PROBE = """
window.addEventListener("load", () => {
  const told = [];
  for (const frame of document.querySelectorAll("iframe")) {
    const page = frame.contentDocument, root = page.scrollingElement;
    const cut = [...page.querySelectorAll("body *")].filter(element => element.clientWidth
      && element.scrollWidth > element.clientWidth + 1 && !element.closest("svg")
      && !element.matches(".scroll[tabindex]"));
    const input = page.getElementById("filter"), table = page.querySelector("table");
    const names = () => [...table.tBodies[0].rows].filter(row => !row.hidden)
      .map(row => row.cells[0].textContent);
    const first = names();
    input.value = first[1];
    input.dispatchEvent(new Event("input"));
    const filtered = names();
    input.value = "";
    input.dispatchEvent(new Event("input"));
    const column = 2, button = table.querySelectorAll("th button")[column];
    button.click();
    const cells = [...table.tBodies[0].rows].map(row => row.cells[column].textContent);
    const back = frame.contentWindow.getComputedStyle(page.body).backgroundColor;
    const targets = [...page.querySelectorAll("a")].filter(
      link => !page.querySelector(link.getAttribute("href")));
    told.push({width: frame.clientWidth, page: root.scrollWidth, cut: cut.map(e => e.outerHTML),
      first, filtered, cells, back, dead: targets.length});
  }
  document.title = JSON.stringify(told);
});
"""


def reports():
    rng = np.random.default_rng(0)
    real = rng.normal(size=(60, 8, 8, 1))
    made = qemu_nn.analyze(qemu_nn.quantize(float_network(), real, scheme="power2"), real)
    named = [replace(layer, name=f"{LONG}_{i}") for i, layer in enumerate(made.layers)]
    yield replace(made, network="n" * 300, layers=tuple(named), advice=(f"{LONG}_1: wider",))
    network = Network(affine_networks.small())
    tensor = network.graph.input
    x = rng.integers(-128, 128, (20, *tensor.shape)).astype(tensor.dtype)
    yield qemu_nn.analyze(network, x)


# ---- without a browser ----


def test_the_page_says_what_was_made_of_what(tmp_path):
    real = np.random.default_rng(1).normal(size=(20, 8, 8, 1))
    qemu_nn.quantize(float_network(), real, scheme="power2").save(tmp_path / "net.qnz")
    np.save(tmp_path / "data.npy", real)
    report = qemu_nn.analyze(tmp_path / "net.qnz", tmp_path / "data.npy")
    page = report.html()
    assert f"qemu_nn {qemu_nn.__version__}, 20" in page
    assert "network <b>net.qnz</b>, data <b>data.npy</b>" in page
    summary = qemu_nn.api.golden.describe(tmp_path / "net.qnz").facts
    for name in ("macs", "weight_bytes", "activation_bytes"):
        assert report.facts[name] == summary[name]
        assert f"<dd>{summary[name]:,}</dd>" in page


def test_a_page_has_no_empty_columns_and_names_what_it_compares_with():
    power2, affine = (report.html() for report in reports())
    assert "bias shift" in power2
    assert "bias shift" not in affine
    assert "out shift" not in affine
    assert "dequantized min" in affine
    assert ">float<" not in re.sub(r"\s+", "", affine)
    assert "against the float network" in power2


def test_a_page_has_cycles_with_ranges_and_memory_over_time():
    power2, affine = reports()
    assert power2.cycles.ranges[0][0] < power2.cycles.values[0] < power2.cycles.ranges[0][1]
    assert power2.cycles in power2.charts()[2:]
    assert affine.charts()[-2:] == [affine.cycles, affine.memory]
    assert affine.memory.most == affine.costs["activation_bytes"]
    assert power2.memory is None  # its firmware has buffers
    assert "<h2>Cycles</h2>" in power2.html()
    assert "<h2>Memory over time</h2>" not in power2.html()
    assert "<h2>Memory over time</h2>" in affine.html()


def test_every_link_leads_to_a_place_on_the_page():
    for report in reports():
        page = report.html()
        links = re.findall(r'href="#([^"]+)"', page)
        assert len(links) >= 3 * len(report.layers)
        assert {*links} <= {*re.findall(r'id="([^"]+)"', page)}


def test_channels_are_those_of_the_weights():
    report = next(reports())
    weights = next(w for w in report.weights if w.role == "weights")
    assert len(weights.channels) == len(float_network().graph.nodes[0].operator.weights)
    assert max(weights.channels) == max(weights.high, -weights.low)
    assert f"{len(weights.channels)} channels" in report.html()


# ---- in a browser ----


@pytest.mark.compiles
@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here")
def test_nothing_is_cut_in_any_width_and_theme(tmp_path):
    pictures = Path(os.environ.get("QEMU_NN_PICTURES", tmp_path))
    for number, report in enumerate(reports()):
        page = report.html()
        frames = ""
        for theme in ("light", "dark"):
            themed = page.replace("<html ", f'<html data-theme="{theme}" ', 1)
            for width in (1400, 390):
                frame = f'<iframe style="width:{width}px;height:3000px;border:0"'
                frame += f' srcdoc="{html.escape(themed)}"></iframe>'
                frames += frame
                (tmp_path / "one.html").write_text(frame, encoding="utf-8")
                picture = pictures / f"report_{number}_{theme}_{width}.png"
                browse(tmp_path / "one.html", f"--screenshot={picture}", size=f"{width + 20},3020")
                assert picture.stat().st_size > 10_000
        text = f"<title>none</title><script>{PROBE}</script>{frames}"
        (tmp_path / "all.html").write_text(text, encoding="utf-8")
        dumped = browse(tmp_path / "all.html", "--dump-dom", size="1500,3000")
        told = json.loads(html.unescape(re.search(r"<title>(.*?)</title>", dumped, re.S)[1]))
        assert [frame["width"] for frame in told] == [1400, 390, 1400, 390]
        assert told[0]["back"] != told[2]["back"]
        for frame in told:
            assert frame["page"] <= frame["width"]
            assert frame["cut"] == []
            assert frame["dead"] == 0
            assert frame["first"][1] in frame["filtered"]
            assert frame["first"][0] not in frame["filtered"]
            numbers = [float(cell.replace(",", "")) for cell in frame["cells"]]
            assert numbers == sorted(numbers)


def browse(page, *options, size):
    """Return the text that Chromium prints for a page."""
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    command += [f"--window-size={size}", "--virtual-time-budget=5000", *options, page.as_uri()]
    told = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    return told.stdout
