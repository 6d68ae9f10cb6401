"""evaluate of several networks prints a row for each."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import qemu_nn
from qemu_nn.cli.main import main

DEMO = Path(qemu_nn.__file__).parent / "demo"


def told(*arguments):
    result = CliRunner().invoke(main, ["evaluate", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def models(tmp_path):
    network = qemu_nn.load(DEMO / "digits.qnz")
    network.save(tmp_path / "second.qnz")
    pytest.importorskip("onnx", reason="reads the float network")
    return [DEMO / "digits.qnz", tmp_path / "second.qnz", DEMO / "digits.onnx"]


def test_each_network_has_a_row_with_the_figures_that_it_has_alone(models, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = DEMO / "digits.npz"
    with np.load(data) as arrays:
        np.savez("floats.npz", x=arrays["x"] / 128, y=arrays["y"])
    alone = [qemu_nn.evaluate(model, "floats.npz") for model in models]
    listed = json.loads(told(*models, "-d", "floats.npz", "--json"))
    assert [row["model"] for row in listed] == list(map(str, models))
    assert [row["figures"] for row in listed] == [each.to_dict()["figures"] for each in alone]
    text = told(*models, "-d", "floats.npz").splitlines()
    assert [line.split()[0].split("/")[-1] for line in text[2:]] == [path.name for path in models]
    assert f"{100 * alone[0].accuracy:.2f} %" in text[2]
    flash = qemu_nn.load(models[0]).fit("stm32f411").weights
    assert f"{flash:,}" in text[2]
    assert text[4].split()[-2:] == ["-", "-"]  # a float network has no device


def test_a_network_that_is_given_twice_has_two_rows():
    model = DEMO / "digits.qnz"
    data = ("-d", DEMO / "digits.npz", "--limit", 9, "--no-reference")
    first, second = json.loads(told(model, model, *data, "--json"))
    assert first == second
    assert len(told(model, model, *data).splitlines()) == 4
