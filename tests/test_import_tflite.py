"""Every operator of .tflite files computes what TensorFlow Lite Micro was recorded computing."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("tflite")
from tflite_cases import CASES, inputs

import qemu_nn

RECORDED = np.load(Path(__file__).parent / "golden" / "tflite_operators.npz")


@pytest.mark.parametrize("name", CASES)
def test_an_operator_computes_what_was_recorded(name, tmp_path):
    try:
        network = qemu_nn.load(CASES[name]().save(tmp_path))
    except qemu_nn.errors.ModelError as error:
        if "there is no arm_" in str(error) or "there is no tflm_" in str(error):
            pytest.skip(str(error))
        raise
    network.save(tmp_path / "net.qnz")
    graph = qemu_nn.load(tmp_path / "net.qnz").graph
    assert graph.nodes == network.graph.nodes
    results = network.session().run(inputs(name, graph.input))
    assert list(results) == list(graph.outputs)
    expected = [RECORDED[key] for key in RECORDED.files if key.rpartition("/")[0] == name]
    assert len(results) == len(expected) > 0
    for got, each in zip(results.values(), expected):
        assert np.array_equal(got, each.reshape(got.shape))
        assert len(np.unique(each)) > 1, "a constant proves nothing"
