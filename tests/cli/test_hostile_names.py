"""Names in a file forge no line of a command's output, no terminal code and no formula."""

import csv
import io
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import qemu_nn
from qemu_nn.cli.main import main

DEMO = Path(qemu_nn.__file__).parent / "demo"
FORGED = "FORGED: all outputs are the same"
NAME = f"=x\n{FORGED}\x1b[31m<b>"


def renamed(graph):
    """Return a network whose name, inputs and layers all have a hostile name."""
    names = [*(tensor.name for tensor in graph.inputs), *(node.name for node in graph.nodes)]
    other = {name: f"{NAME}{at}" for at, name in enumerate(names)}
    nodes = (
        replace(
            node,
            inputs=tuple(other[name] for name in node.inputs),
            output=replace(node.output, name=other[node.name]),
        )
        for node in graph.nodes
    )
    inputs = (replace(tensor, name=other[tensor.name]) for tensor in graph.inputs)
    outputs = tuple(other[name] for name in graph.outputs)
    return replace(graph, name=NAME, inputs=tuple(inputs), nodes=tuple(nodes), outputs=outputs)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    qemu_nn.Network(renamed(qemu_nn.load(DEMO / "digits.qnz").graph)).save("net.qnz")
    with np.load(DEMO / "digits.npz") as arrays:
        np.savez("data.npz", x=arrays["x"][:20], y=arrays["y"][:20])
        np.save("x.npy", arrays["x"][:2])
    output_of("golden", "net.qnz", "-d", "x.npy", "-o", "goldens")
    return tmp_path


def output_of(*arguments):
    """Output of a command that may find a difference, but no fault."""
    result = CliRunner().invoke(main, [str(each) for each in arguments])
    assert result.exit_code in (0, 1), (arguments, result.output, result.exception)
    return result.output


COMMANDS = [
    ("info", "net.qnz"),
    ("info", "net.qnz", "--full"),
    ("info", "net.qnz", "--fit", "stm32f411"),
    ("info", "net.qnz", "--cycles"),
    ("check", "net.qnz"),
    ("check", "net.qnz", "--golden", "goldens"),
    ("diff", "net.qnz", DEMO / "digits.qnz"),
    ("evaluate", "net.qnz", "-d", "data.npz"),
    ("datasheet", "net.qnz", "-d", "data.npz"),
    ("run", "net.qnz", "-d", "x.npy", "--real"),
    ("golden", "net.qnz", "-d", "x.npy", "-o", "more"),
    ("compare", "goldens", "goldens"),
    ("export", "net.qnz", "-o", "export"),
    ("variants", "net.qnz"),
]


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda each: " ".join(map(str, each)))
def test_names_stay_within_their_line(arguments):
    output = output_of(*arguments)
    assert "\x1b" not in output
    assert not re.search(f"^{FORGED}", output, re.MULTILINE)


TABLES = [each for each in COMMANDS if each[0] in ("info", "diff", "datasheet") and len(each) < 5]


@pytest.mark.parametrize("arguments", TABLES, ids=lambda each: " ".join(map(str, each)))
def test_csv_holds_no_formula(arguments):
    rows = [*csv.reader(io.StringIO(output_of(*arguments, "--csv"), newline=""))]
    cells = [cell for row in rows for cell in row]
    assert not any(cell.startswith("=") for cell in cells)
    assert any(cell.startswith("'=x\n") for cell in cells)


def test_pages_show_control_characters_instead_of_sending_them():
    pytest.importorskip("jinja2", reason="jinja2 is not installed")
    output_of("datasheet", "net.qnz", "-d", "data.npz", "-o", "sheet.html")
    page = Path("sheet.html").read_text(encoding="utf-8")
    title = re.search("<title>(.*)</title>", page, re.DOTALL)[1]
    assert FORGED in title
    assert r"\x1b[31m&lt;b&gt;" in title
    assert "\x1b" not in page
