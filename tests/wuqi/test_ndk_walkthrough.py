"""The example of the NPU's kit: LeNet-5 from random weights to a compiled application."""

import csv
import re
import shutil

import numpy as np
import pytest
from click.testing import CliRunner

import qemu_nn.ndk as ndk
from qemu_nn.ndk.quant_tools.numpy_net import run_layers

pytest.importorskip("torch", reason="PyTorch is not installed: pip install '.[train]'")
pytest.importorskip("sklearn", reason="no digits: pip install '.[digits]'")
pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    """Return the folder that the example filled, and its output by line."""
    from qemu_nn.examples.lenet5_npu import main

    folder = tmp_path_factory.mktemp("lenet5") / "out"
    done = CliRunner().invoke(main, [str(folder)])
    assert done.exit_code == 0, done.output
    return folder, dict(re.findall(r"^(.{37}) *([\d.]+)(?:%| dB|)$", done.output, re.M))


def number(lines, what):
    return float(lines[f"{what:<37}"])


def test_eight_bits_cost_less_than_a_point_and_training_loses_nothing(result):
    _, lines = result
    real = number(lines, "float accuracy")
    assert real > 95
    assert number(lines, "16-bit accuracy") >= real - 0.3
    assert number(lines, "8-bit accuracy") >= real - 1
    assert number(lines, "8-bit output's quantization SNR") > 25
    trained = number(lines, "8-bit accuracy after training")
    digit = 0.3  # of 360: training on floats ends elsewhere on another processor
    assert trained >= min(real, number(lines, "8-bit accuracy")) - digit


def test_the_tables_are_there(result):
    folder, _ = result
    from qemu_nn.examples.lenet5_npu import WATCHED

    for name in ("float/stats.csv", "quant/stats.csv", "comp_results.csv"):
        rows = list(csv.reader((folder / name).open()))
        assert rows[0][1:] == WATCHED
        assert np.isfinite([float(cell) for row in rows[1:] for cell in row[1:]]).all()
    for name in ("float/prob.csv", "quant/prob.csv"):
        assert len(list(csv.reader((folder / name).open()))) == 52


def test_the_compiled_application_gives_the_chip_s_scores(result):
    folder, lines = result
    from qemu_nn.examples.lenet5_npu import data

    assert number(lines, "scores of the C program that differ") == 0
    bits, layers, params = ndk.modelpack.load_pack(folder / "lenet5.bin")
    x = data()[2]
    scores = np.fromfile(folder / "scores.bin", np.int8).reshape(len(x), 10)
    out = run_layers(x, layers, ["net_output"], params, True, bits, True)["net_output"]
    np.testing.assert_array_equal(np.ldexp(out.reshape(-1, 10), params["net_output_frac"]), scores)
