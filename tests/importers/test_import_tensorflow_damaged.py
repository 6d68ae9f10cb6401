"""Damaged and hostile frozen graphs: a sentence, quickly, and nothing is made for a claim."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from soon import soon
from tensorflow_files import const, graph, load, node, over, placeholder, tensor

import qemu_nn
from qemu_nn.errors import Error, ModelError
from qemu_nn.importers.tensorflow.schema import new

X = np.ones((1, 4))


def claimed(dims, numbers=()):
    """Return a Const that declares more elements than it contains."""
    message = tensor(np.float32(0), float_val=numbers)
    message.tensor_content = b""
    for size in dims:
        dim = new("Dim")
        dim.size = size
        message.tensor_shape.dim.append(dim.SerializeToString())
    return message


HUGE = [
    (node("c", "Const", value=claimed([50_000, 50_000], [1])),),
    (node("c", "Const", value=claimed([2**62, 2**62])),),
    (const("to", [50_000, 50_000]), const("one", 1.0), node("c", "Fill", "to one")),
    (
        const("row", np.ones((1, 2**13))),
        const("column", np.ones((2**13, 1))),
        node("c", "Add", "row column"),
    ),
    (
        const("c0", np.ones(4)),
        const("axis", 0),
        *(node(f"c{i + 1}", "ConcatV2", f"c{i} c{i} axis") for i in range(40)),
        node("c", "Identity", "c40"),
    ),
    (
        const("c0", np.ones(4)),
        *(node(f"c{i + 1}", "Pack", f"c{i} c{i}") for i in range(28)),
        node("c", "Identity", "c28"),
    ),
    (
        const("many", np.zeros(2**10, np.int32)),
        const("axis", 0),
        const("c0", np.ones((1, 2**16))),
        node("c", "GatherV2", "c0 many axis"),
    ),
]


@pytest.mark.parametrize("nodes", HUGE, ids=range(len(HUGE)))
def test_ten_gigabytes_are_refused_before_they_are_made(tmp_path, nodes):
    tracemalloc.start()
    try:
        with pytest.raises(ModelError, match="constants would have more than 16777216 elements"):
            over(tmp_path, X, *nodes, node("y", "Add", "x c"))
        assert tracemalloc.get_traced_memory()[1] < 2**28
    finally:
        tracemalloc.stop()


CLAIMS = [
    (claimed([2, 2], [1, 2, 3, 4, 5]), r"shape \[2, 2\] does not fit 5 elements"),
    (claimed([-1, 4]), r"an array cannot have the shape \[-1, 4\]"),
    (claimed([1] * 9), "a shape has 9 axes"),
]


@pytest.mark.parametrize(("message", "sentence"), CLAIMS)
def test_a_constant_that_contradicts_itself_is_named(tmp_path, message, sentence):
    with pytest.raises(ModelError, match=f"Const 'c': .*{sentence}"):
        over(tmp_path, X, node("c", "Const", value=message), node("y", "Add", "x c"))


def test_the_bytes_of_a_constant_are_as_many_as_its_shape_asks_for(tmp_path):
    message = tensor(np.ones(4, np.float32))
    message.tensor_content = message.tensor_content[:-1]
    with pytest.raises(ModelError, match=r"\[4\] needs 16 bytes, but the file has 15"):
        over(tmp_path, X, node("c", "Const", value=message), node("y", "Add", "x c"))


def test_a_tensor_of_ten_gigabytes_is_refused_before_it_is_made(tmp_path):
    around = (const("p", [[0, 0], [0, 2**30]]), node("y", "Pad", "x p"))
    for nodes in (
        (placeholder(1, 50_000, 50_000), node("y", "Relu", "x")),
        (placeholder(1, 4), *around),
    ):
        with pytest.raises(ModelError):
            load(tmp_path, *nodes)


def test_more_nodes_and_attributes_than_any_network_has_are_not_read(tmp_path):
    with pytest.raises(ModelError, match="it has 30000 nodes; at most 20000 are supported"):
        load(tmp_path, *[b""] * 30_000)
    many = {f"a{i}": i for i in range(100)}
    with pytest.raises(ModelError, match="a node has more than 64 attributes"):
        load(tmp_path, node("y", "Relu", "x", **many))


def test_a_long_chain_is_read_soon(tmp_path):
    nodes = [node(f"n{i + 1}", "Identity", f"n{i}") for i in range(10_000)]
    with soon(300):
        network = load(tmp_path, placeholder(1, 4, name="n0"), *nodes)
    assert len(network.graph.nodes) == 10_000


SMALL = (
    *(placeholder(-1, 2, 2, 1), const("w", np.arange(1.0, 9).reshape(2, 2, 1, 2))),
    node("conv", "Conv2D", "x w", strides=[1, 1, 1, 1], padding="SAME"),
    *(const("to", [-1, 8]), node("flat", "Reshape", "conv to")),
    *(const("at", [0, 1]), const("end", [0, 4]), const("step", [1, 2])),
    node("part", "StridedSlice", "flat at end step", begin_mask=1, end_mask=1),
    node("y", "Softmax", "part"),
)


def outcome(folder, data):
    """Return the result of loading a file, within a time limit: a network or an error sentence."""
    path = folder / "net.pb"
    path.write_bytes(data)
    with soon(300):
        try:
            network = qemu_nn.load(path)
            return network.evaluate(np.ones((1, *network.graph.shape)))
        except Error as error:
            sentence = str(error)
    assert "\n" not in sentence
    return sentence


def test_no_beginning_of_a_file_gives_another_network(tmp_path):
    """Remove whole nodes one by one: the remaining network may be valid but shorter, with other
    outputs.
    """
    whole = graph(*SMALL)
    for n in range(len(whole)):
        result = outcome(tmp_path, whole[:n])
        assert "net.pb: " in result if isinstance(result, str) else "y" not in result
    assert list(outcome(tmp_path, whole)) == ["y"]


flips = st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(1, 255)), min_size=1)


def test_flipped_bits_give_a_network_or_a_sentence(tmp_path):
    @settings(max_examples=500, deadline=None)
    @given(flips)
    def flipped(changes):
        data = bytearray(graph(*SMALL))
        for place, mask in changes:
            data[int(place * len(data))] ^= mask
        outcome(tmp_path, bytes(data))

    flipped()
