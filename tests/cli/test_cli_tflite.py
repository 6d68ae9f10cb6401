"""The command line on a .tflite file."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from tflite_cases import CASES, inputs

import qemu_nn
from qemu_nn.cli.main import main
from qemu_nn.ir.formats import dequantize_affine


def invoke(*arguments):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def model(tmp_path):
    return CASES["convolve_relu"]().save(tmp_path)


@pytest.fixture
def x(model):
    return inputs("x", qemu_nn.load(model).graph.input)


def test_info_shows_formats(model):
    text = invoke("info", model, "--full")
    assert "int8 0.05*(q-3)" in text
    assert "int8 0.07*(q+4)" in text
    assert "arm_convolve_wrapper_s8" in text
    assert json.loads(invoke("info", model, "--json"))["inputs"][0]["format"] == {
        "scale": pytest.approx(0.05),
        "zero_point": 3,
    }


def test_run_takes_integers_and_real_numbers(model, x, tmp_path):
    np.save(tmp_path / "q.npy", x)
    np.save(tmp_path / "real.npy", dequantize_affine(x, 0.05, 3))
    said = [
        invoke("run", model, "-d", tmp_path / f"{name}.npy", "-o", tmp_path / f"{name}.npz", "-v")
        for name in ("q", "real")
    ]
    assert all("inputs lie in -6.55..6.2 (int8 holds -6.55..6.2)" in text for text in said)
    first, second = (np.load(tmp_path / f"{name}.npz")["output"] for name in ("q", "real"))
    assert np.array_equal(first, second)


def test_import_writes_the_same_network(model, x, tmp_path):
    assert "output" in invoke("import", model, "-o", tmp_path / "net.qnz")
    graph, saved = qemu_nn.load(model).graph, qemu_nn.load(tmp_path / "net.qnz").graph
    assert (saved.nodes, saved.input, saved.outputs) == (graph.nodes, graph.input, graph.outputs)
    assert all(np.array_equal(saved.arrays[name], graph.arrays[name]) for name in graph.arrays)


def test_goldens_are_compared_and_variants_and_times_shown(model, x, tmp_path):
    np.save(tmp_path / "x.npy", x[:2])
    invoke("golden", model, "-d", tmp_path / "x.npy", "-o", tmp_path / "golden")
    said = invoke("compare", tmp_path / "golden", tmp_path / "golden")
    assert "output" in said
    assert "single" in invoke("variants", model, "-d", tmp_path / "x.npy")
    assert "net" in invoke("bench", model, "--batch", "1", "--turns", "1")


def test_quantize_says_that_it_is_done(model, tmp_path):
    result = CliRunner().invoke(
        main, ["quantize", str(model), "-d", "x.npy", "-o", str(tmp_path / "o.qnz")]
    )
    assert result.exit_code == 2
    assert "is quantized already" in result.output
