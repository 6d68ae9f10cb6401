"""Outputs have one order, that of the file, wherever they are listed; each comes as often."""

import numpy as np
import pytest
from click.testing import CliRunner
from networks import node
from paths import SHARED

import qemu_nn
from qemu_nn.cli.main import main
from qemu_nn.errors import ModelError
from qemu_nn.ir.graph import Graph, Tensor

FILES = SHARED / "defects2" / "tflite_verdicts"
FILE_ORDER, PROGRAM_ORDER = ("last", "first", "middle"), ("first", "middle", "last")


def network():
    """Return copies of an input, listed in another order than they are made in."""
    nodes = tuple(node(name, "tflm_read_variable_s8", ["x"], 7, length=4) for name in PROGRAM_ORDER)
    return qemu_nn.Network(Graph("net", (Tensor("x", (4,), "int8", 7),), nodes, FILE_ORDER, {}))


X = np.arange(40, dtype=np.int8).reshape(10, 4)


@pytest.mark.parametrize("threads", [1, 2])
def test_runs_list_outputs_as_the_file_does(threads, tmp_path):
    session = network().session(threads=threads)
    for _ in range(2):  # the second run is remembered
        assert tuple(session.run(X)) == FILE_ORDER
    assert tuple(session.run(X, trace=True)) == PROGRAM_ORDER  # layers, not outputs
    assert tuple(session.stream().step(X[0])) == FILE_ORDER
    assert tuple(qemu_nn.run(network(), X)) == FILE_ORDER
    assert tuple(qemu_nn.run(network(), X, tmp_path / "out.npz")) == FILE_ORDER
    assert tuple(network().predict(X)) == FILE_ORDER
    with np.load(tmp_path / "out.npz") as written:
        assert tuple(written) == FILE_ORDER
    for values in session.run(X).values():
        assert np.array_equal(values, X)


def test_the_command_lists_outputs_as_the_file_does(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    network().save("net.qnz")
    np.save("x.npy", X)
    result = CliRunner().invoke(main, ["run", "net.qnz", "--data", "x.npy"])
    assert result.exit_code == 0, result.output
    places = [result.output.index(f"\n{name} ") for name in FILE_ORDER]
    assert places == sorted(places)


def test_an_output_is_listed_once_in_a_graph():
    graph = network().graph
    with pytest.raises(ModelError, match="the output 'last' is listed twice; add a copy of it"):
        Graph("net", graph.inputs, graph.nodes, ("last", "first", "last"), {})


def test_a_tensor_of_a_pte_file_that_is_an_output_twice_comes_twice(tmp_path):
    pytest.importorskip("flatbuffers", reason="the library flatbuffers writes the files")
    from pte_files import Program, codes

    program = Program()
    x, made, same = (program.tensor("int8", shape) for shape in ((2, 3), (3, 2), (6,)))
    program.call("aten::permute_copy.out", x, [1, 0], made)
    program.call("aten::view_copy.out", made, [6], same)
    found = qemu_nn.load(program.write(tmp_path / "net.pte", [x], [made, same, made]))
    values = codes(3, 2, 3)
    results = found.session().run(values)
    assert len(results) == 3
    assert list(results) == list(found.graph.outputs)
    for each in results.values():
        assert np.array_equal(each.reshape(3, 3, 2), values.swapaxes(1, 2))


@pytest.mark.skipif(not FILES.is_dir(), reason="the recorded files are not here")
@pytest.mark.parametrize("name", ["outputs_reversed", "dup_outputs"])
def test_recorded_files_list_outputs_as_tensorflow_lite_micro_does(name):
    found = qemu_nn.load(FILES / f"k15_output_order__{name}.tflite")
    with np.load(FILES / f"k15_output_order__{name}.npz") as recorded:
        x = recorded["x0"].reshape(-1, *found.graph.input.shape)
        outputs = [recorded[key] for key in sorted(recorded) if key.startswith("o")]
    results = found.session().run(x)
    assert tuple(results) == found.graph.outputs
    assert len(results) == len(outputs) == 2
    for got, want in zip(results.values(), outputs):
        assert np.array_equal(got.reshape(want.shape), want)
