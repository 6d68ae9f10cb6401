"""The data sheet has the figures of evaluate(), Network.fit() and estimate(), on one page."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import qemu_nn
from qemu_nn.api.golden import describe, example
from qemu_nn.cli.main import main
from qemu_nn.errors import Error

FOLDER = Path(qemu_nn.__file__).parent / "demo"
DATA, CHIP = FOLDER / "digits.npz", "stm32f746"
NETWORK, _, _ = example()


@pytest.fixture(scope="module")
def sheet():
    return qemu_nn.datasheet(NETWORK, DATA, target=CHIP)


def test_it_says_what_the_calls_say_that_it_is_made_of(sheet):
    evaluated = qemu_nn.evaluate(NETWORK, DATA, target=CHIP)
    estimated = qemu_nn.estimate(NETWORK, board="nucleo-f746zg")
    assert sheet.evaluation.to_dict() == evaluated.to_dict()
    assert sheet.estimate.cycles == estimated.cycles
    assert sheet.fit.ram == NETWORK.fit(CHIP).ram
    assert sheet.summary.facts == describe(NETWORK, CHIP).facts
    rows = {row["layer"]: row for row in sheet.table().records()}
    assert [*rows] == [node.name for node in NETWORK.graph.nodes]
    assert sum(row["cycles"] for row in rows.values()) == pytest.approx(estimated.cycles[1], abs=8)
    assert rows["fc"]["weight_bytes"] == 650


def test_the_page_needs_no_other_file_and_has_every_layer(sheet):
    pytest.importorskip("jinja2", reason="a page needs jinja2")
    page = sheet.html()
    assert not re.search(r"(src|href)=|@import|url\(", page)
    assert "96.94 %" in page
    assert f"{sheet.estimate.cycles[1]:,}" in page
    assert page.count('class="bar"') == len(NETWORK.graph.nodes)
    assert "label \\ chosen" in page


def test_names_of_a_stranger_are_escaped(sheet):
    pytest.importorskip("jinja2", reason="a page needs jinja2")
    from dataclasses import replace

    assert "<script" not in replace(sheet, network="<script>alert(1)</script>").html()


def test_without_data_a_chip_or_counts_it_says_what_is_missing():
    sheet = qemu_nn.datasheet(NETWORK, target="m0")
    assert (sheet.evaluation, sheet.fit, sheet.estimate) == (None, None, None)
    assert "cycles" not in sheet.table().columns
    assert any(note.startswith("no cycles: ") for note in sheet.notes)
    assert "cycles" not in sheet.facts


def test_an_affine_network_shows_the_memory_in_use():
    network = qemu_nn.load(FOLDER / "digits.tflite")
    sheet = qemu_nn.datasheet(network, target="m4")
    assert "bytes_in_use" in sheet.table().columns
    assert [title for title, _, _ in sheet._charts(sheet.table())] == ["Weights", "Memory"]
    page = sheet.html()
    assert 'aria-label="Cycles, least to most as a line"' in page
    assert 'aria-label="Arena over time, bytes"' in page


REPORT = """\
make: Entering directory 'firmware'
flash  code              3508  of the network, its kernels and the C library
       constants            0  of these
       weights           1898  NETWORK_FLASH
       alignment            2  between weights
       all               5408
RAM    arena             {arena:5}  NETWORK_RAM
       context              4
       variables            0  of kernels and the C library
       stack              404  measured on inputs of zeros, without interrupts
       all               1080
"""


def test_code_and_stack_are_those_that_an_export_reports(tmp_path):
    path, ram = tmp_path / "m4.txt", describe(NETWORK, "m4").facts["activation_bytes"]
    path.write_text(REPORT.format(arena=ram))
    sheet = qemu_nn.datasheet(NETWORK, target="m4", measured=path)
    rows = {(row["memory"], row["part"]): row["bytes"] for row in sheet.linked.records()}
    assert (rows["flash", "code"], rows["RAM", "stack"]) == (3508, 404)
    assert sheet.facts["flash"] == "5,408 bytes with code"
    assert "code of kernels" not in " ".join(sheet.to_dict()["notes"])
    without = qemu_nn.datasheet(NETWORK, target="m4")
    assert without.linked is None
    assert "make report-m4" in " ".join(without.to_dict()["notes"])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (REPORT.format(arena=12345), "12,345 bytes of arena in it, 640 in this one"),
        ("flash  code  12\n", "m4.txt is not the output of `make report-m4`"),
        ("flash  all  " + "9" * 5000, "m4.txt is not the output of `make report-m4`"),
        (2 * REPORT.format(arena=640), "m4.txt contains two reports"),
    ],
)
def test_a_report_of_another_network_is_refused(text, reason, tmp_path):
    path = tmp_path / "m4.txt"
    path.write_text(text)
    with pytest.raises(Error, match=re.escape(reason)):
        qemu_nn.datasheet(NETWORK, target="m3", measured=path)


def test_options_of_data_are_refused_without_data():
    with pytest.raises(Error, match="limit= is given without data"):
        qemu_nn.datasheet(NETWORK, qemu_nn.Dataset(None, limit=3))
    words = ["datasheet", str(FOLDER / "digits.qnz"), "--labels", "labels.txt"]
    result = CliRunner().invoke(main, words)
    assert (result.exit_code, "--labels is given without data" in result.output) == (2, True)


def test_an_unknown_board_is_a_sentence():
    with pytest.raises(Error, match="no board 'bluepill'"):
        qemu_nn.datasheet(NETWORK, board="bluepill")


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ({"target": "m4", "clock": -3}, "clock"),
        ({"target": "m4", "optimization": "-O1"}, "-O1"),
        ({"target": "stm32f746", "board": "nucleo-l4r5zi"}, "is cortex-m4, not cortex-m7"),
    ],
)
def test_what_estimate_refuses_is_refused(how, reason):
    with pytest.raises(Error, match=reason):
        qemu_nn.datasheet(NETWORK, **how)


def test_the_verb_writes_the_page_and_prints_json(tmp_path):
    pytest.importorskip("jinja2", reason="a page needs jinja2")
    page = tmp_path / "report.html"
    words = ["datasheet", FOLDER / "digits.qnz", "-d", DATA, "--target", CHIP, "-o", page, "--json"]
    result = CliRunner().invoke(main, list(map(str, words)))
    assert result.exit_code == 0, result.output
    told = json.loads(result.output[result.output.index("{") :])
    assert told["evaluation"]["figures"]["accuracy"] == pytest.approx(0.9694, abs=1e-4)
    assert told["fit"]["fits"] is True
    assert told["estimate"]["cycles"] > 10000
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
