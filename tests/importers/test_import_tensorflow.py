"""Frozen graphs of TensorFlow: real files whole, cuts, what is refused and with which words."""

import sys

import numpy as np
import pytest
from paths import SHARED
from tensorflow_files import (
    FLOAT,
    STRING,
    UINT8,
    Type,
    const,
    graph,
    load,
    node,
    placeholder,
    run,
)

import qemu_nn
from qemu_nn.errors import Error, ModelError

MODELS = SHARED / "models_float"
DNN, CNN = MODELS / "tf_kws_dnn_s", MODELS / "tf_kws_cnn_s"
KERAS = MODELS / "keras_ds_cnn"
published = pytest.mark.skipif(not DNN.is_dir(), reason=f"the published models are not in {DNN}")


def held_to(network, golden, names=None):
    """Check that the network computes every recorded array; names: of recordings -> of tensors."""
    computed = network.evaluate(golden["x"], trace=True)
    for key in [key for key in golden if key.startswith(("layer.", "final."))]:
        kind, _, name = key.partition(".")
        rows = golden["layer_idx"] if kind == "layer" else slice(None)
        found = computed[names[name] if names else name][rows]
        error = np.abs(found - golden[key]).max() / np.abs(golden[key]).max()
        assert error <= {"layer": 1e-4, "final": 1e-5}[kind], f"{key} differs by {error:.1e}"


@published
@pytest.mark.parametrize("path", [DNN / "DNN_S.pb", CNN / "CNN_S.pb"], ids=lambda path: path.stem)
@pytest.mark.parametrize("start", ["Reshape", "Reshape:0"])
def test_a_keyword_network_behind_its_audio_operators_is_what_was_recorded(path, start):
    network = qemu_nn.load(path, input=start)
    held_to(network, dict(np.load(path.parent / "golden.npz")))
    assert network.graph.input == "Reshape"
    assert network.graph.outputs == ("labels_softmax",)


KERAS_NAMES = {
    "conv1": "conv1/Conv2D",
    "act1": "act1/Relu",
    "dw1": "dw1/depthwise",
    "dw1_relu6": "dw1_relu6/Relu6",
    "pw1": "pw1/BiasAdd",
    "pw1_relu": "pw1_relu/Relu",
    "sep2": "sep2/BiasAdd",
    "sep2_relu": "sep2_relu/Relu",
    "dw3": "dw3/Relu",
    "pw3": "pw3/Relu",
    "gap": "gap/Mean",
    "logits_softmax": "logits_softmax/Softmax",
    **{name: f"{name}/FusedBatchNormV3" for name in ("bn1", "dw1_bn", "pw1_bn", "sep2_bn")},
}


@published
def test_a_network_frozen_from_keras_is_what_was_recorded():
    network = qemu_nn.load(KERAS / "ds_cnn_frozen.pb")
    names = {layer: f"ds_cnn/{name}" for layer, name in KERAS_NAMES.items()}
    held_to(network, dict(np.load(KERAS / "golden.npz")), names)
    assert network.graph.layout == "NHWC"


@published
def test_audio_operators_are_named_with_the_tensors_to_begin_at():
    with pytest.raises(ModelError) as caught:
        qemu_nn.load(CNN / "CNN_S.pb")
    for word in (
        "DecodeWav 'decoded_sample_data'",
        "Mfcc 'Mfcc'",
        "input= one of: Reshape, Reshape_1,",
    ):
        assert word in str(caught.value)


@published
def test_every_tensor_that_is_named_to_begin_at_can_be_begun_at():
    with pytest.raises(ModelError) as caught:
        qemu_nn.load(CNN / "CNN_S.pb")
    y = qemu_nn.load(CNN / "CNN_S.pb", input="Reshape").evaluate(np.ones((2, 490)), trace=True)
    for name in str(caught.value).rpartition("one of: ")[2].split(", "):
        part = qemu_nn.load(CNN / "CNN_S.pb", input=name)
        found = part.evaluate(y[name])["labels_softmax"]
        np.testing.assert_allclose(found, y["labels_softmax"], rtol=1e-5, atol=1e-7)


# A small network: an operator that is not read, then a tensor of a shape that the graph tells.

AUDIO = (
    placeholder(name="wav", dtype=STRING),
    node("spectrum", "Mfcc", "wav"),
    const("to", [-1, 4]),
    node("flat", "Reshape", "spectrum to"),
)
DENSE = (
    const("w", np.arange(8.0).reshape(4, 2)),
    node("w/read", "Identity", "w"),
    node("product", "MatMul", "flat w/read"),
    const("b", [1.0, -40.0]),
    node("sum", "Add", "product b"),
    node("y", "Relu", "sum"),
)


def test_a_network_is_cut_out_between_two_tensors(tmp_path):
    x = np.ones((3, 4), np.float32)
    network = load(tmp_path, *AUDIO, *DENSE, input="flat:0")
    assert (network.graph.input, network.graph.shape) == ("flat", (4,))
    y = network.evaluate(x, trace=True)
    assert list(y) == ["flat", "product", "sum", "y"]
    np.testing.assert_array_equal(y["sum"], [[13, -24]] * 3)
    for start, end in [("flat", "sum:0"), ("product", "y"), ("sum", None), ("spectrum", None)]:
        part = load(tmp_path, *AUDIO, *DENSE, input=start, output=end)
        (last,) = part.graph.outputs
        np.testing.assert_array_equal(part.evaluate(y.get(start, x))[last], y[last])


def test_what_is_cut_off_may_be_damaged(tmp_path):
    loop = (node("m", "Merge", "n"), node("n", "NextIteration", "m"), node("flat", "Exit", "n"))
    y = run(tmp_path, np.ones((1, 4)), *loop, *DENSE, input="flat")
    np.testing.assert_array_equal(y, [[13, 0]])
    with pytest.raises(ModelError, match=r"'[mn]' depends on itself; loops are not"):
        load(tmp_path, *loop, *DENSE)


def test_nodes_may_stand_in_any_order_and_wait_for_others(tmp_path):
    nodes = [placeholder(-1, 4, name="flat"), *DENSE, node("wait", "NoOp", "^y")]
    nodes[-2] = node("y", "Relu", "sum:0 ^wait ^nowhere")
    np.testing.assert_array_equal(run(tmp_path, np.ones((1, 4)), *nodes[::-1]), [[13, 0]])


REFUSED = [
    (
        (*AUDIO, *DENSE),
        {},
        r"'wav' of strings, Mfcc 'spectrum'; .* with input= one of: flat, product, sum$",
    ),
    ((*AUDIO, *DENSE), {"input": "nowhere"}, "it has no tensor 'nowhere'"),
    ((*AUDIO, *DENSE), {"input": "prodcut"}, "no tensor 'prodcut'; did you mean 'product'"),
    ((*AUDIO, *DENSE), {"input": "sum", "output": "product"}, "'product' is not computed from 's"),
    ((*AUDIO, *DENSE), {"input": "y", "output": "y"}, "'y' is not computed from 'y'"),
    ((*AUDIO, *DENSE), {"output": "w"}, "the output 'w' depends on no Placeholder"),
    ((placeholder(-1, 4), *DENSE), {}, "reads 'flat', which no node computes"),
    (
        (placeholder(-1, -1, -1, 3), node("y", "Relu", "x")),
        {},
        r"\[\?, \?, \?, 3\] in the graph; f",
    ),
    ((placeholder(), node("y", "Relu", "x")), {}, "'x' is not in the graph; freeze"),
    (
        (placeholder(1, 3), node("y", "Relu", "x"), node("z", "Tanh", "x")),
        {},
        r"\(y, z\); choose o",
    ),
    ((placeholder(1, 3), node("y", "Relu", "x"), node("y", "Relu", "x")), {}, "two nodes .* 'y'"),
    ((placeholder(1, 3), node("y", "Qr", "x")), {}, "not supported: Qr 'y'; have: Abs, Add, AddN"),
    (
        (placeholder(1, 3), node("y", "Softmax", "x"), node("z", "Qr", "y")),
        {},
        r"not supported: Qr 'z'; have: Abs, .*; the part before is supported, with output='y'",
    ),
    (
        (placeholder(1, 3), const("c", 1.0), node("y", "Relu", "x"), node("z", "Foo", "c y")),
        {},
        "the part before is supported, with output='y'",
    ),
    ((placeholder(1, 3), node("y", "Shape", "x")), {}, "'y' is a constant or not a tensor"),
    (
        (placeholder(1, 3), placeholder(1, 3, name="k", dtype=STRING), node("y", "Mul", "x k")),
        {},
        "its inputs must be floats, but it has Placeholder 'k' of strings",
    ),
    (
        (placeholder(1, 3, dtype=UINT8), node("f", "Cast", "x"), node("y", "Relu", "f")),
        {},
        "it has Placeholder 'x' of uint8; .* input= one of: x, f",
    ),
    (
        (placeholder(1, 4, name="flat"), node("w", "VariableV2"), *DENSE[1:]),
        {},
        "variables without their values; freeze it",
    ),
    ((placeholder(1, 3), node("y", "Relu", "x x")), {}, "Relu 'y': it reads 2 tensors; it needs 1"),
    (
        (placeholder(1, 3), const("c", 1.0), node("y", "BiasAdd", "x x")),
        {},
        "its input 'x' is computed, but it must be a c",
    ),
    (
        (placeholder(1, 3), node("y", "Relu", "x:1")),
        {},
        "Relu 'y' reads 'x:1', which is not an output of 'x'",
    ),
    (
        (placeholder(1, 3), node("y", "", "x")),
        {},
        "a node cannot be called 'y' and be of the type ''",
    ),
    (
        (placeholder(1, 3), node("a:1", "Relu", "x")),
        {},
        "a node cannot be called 'a:1' and be of the type 'Relu'",
    ),
    ((), {}, "is not a frozen graph of TensorFlow"),
]


@pytest.mark.parametrize(("nodes", "choice", "message"), REFUSED)
def test_what_cannot_be_read_is_refused_in_a_sentence(tmp_path, nodes, choice, message):
    with pytest.raises(ModelError, match=message) as caught:
        load(tmp_path, *nodes, **choice)
    assert "net.pb: " in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_graph_of_several_inputs_takes_them_by_name_or_in_order(tmp_path):
    nodes = (placeholder(-1, 3, name="b"), placeholder(-1, 3, name="a"), node("y", "Sub", "a b"))
    network = load(tmp_path, *nodes)
    a, b = np.ones((2, 3)), np.full((2, 3), 4.0)
    assert [each.name for each in network.inputs] == ["b", "a"]
    for given in ({"a": a, "b": b}, [b, a]):
        np.testing.assert_array_equal(network.evaluate(given)["y"], np.full((2, 3), -3.0))
        np.testing.assert_array_equal(network.predict(given), np.full((2, 3), -3.0))
    with pytest.raises(Error, match=r"different numbers of samples: \{'b': 1, 'a': 2}"):
        network.evaluate([b[:1], a])
    with pytest.raises(Error, match=r"some inputs are a single sample and some a batch"):
        network.predict([b[0], a])
    with pytest.raises(Error, match=r"'a' has the shape .* net takes \[N, 3\]"):
        network.evaluate([b, a[:, :2]])


def test_a_missing_library_is_named_with_the_way_to_get_it(tmp_path, monkeypatch):
    (tmp_path / "net.pb").write_bytes(graph(placeholder(1, 3)))
    monkeypatch.setitem(sys.modules, "google.protobuf.message", None)
    with pytest.raises(Error, match=r"a TensorFlow network needs .*'\.\[tensorflow\]'"):
        qemu_nn.load(tmp_path / "net.pb")


def test_only_tensors_that_all_behind_is_made_of_are_named_to_begin_at(tmp_path):
    around = (
        *(placeholder(1, 4), node("erf", "Qr", "x"), const("to", [-1, 4]), const("axis", 1)),
        *(node("flat", "Reshape", "erf to"), node("relu", "Relu", "flat")),
        *(node("sum", "Add", "relu flat"), node("parts", "Split", "axis sum", num_split=2)),
        *(node("join", "ConcatV2", "parts:1 parts axis"), node("y", "Tanh", "join")),
    )
    with pytest.raises(ModelError, match=r"with input= one of: flat, sum, join$"):
        load(tmp_path, *around)
    with pytest.raises(ModelError, match=r"with input= one of: flat, sum$"):
        load(tmp_path, *around, input="relu", output="parts:7")
    with pytest.raises(ModelError, match="'parts:7' is a constant or not a tensor"):
        load(tmp_path, *around, input="flat", output="parts:7")


def test_a_part_of_a_node_gets_a_name_that_is_free(tmp_path):
    nodes = (const("axes", [1, 2]), node("y", "Mean", "y/pool axes"), node("y/pool", "Relu", "x"))
    network = load(tmp_path, placeholder(1, 2, 2, 1), *nodes)
    assert [node.name for node in network.graph.nodes] == ["y/pool", "y/pool_", "y"]


RANDOM = (
    *(node("shape", "Shape", "flat"), node("uniform", "RandomUniform", "shape")),
    *(const("min", 0.0), node("random", "Add", "uniform min")),
)
DROPOUTS = [
    (  # of TensorFlow 1: floor(keep_prob + random) * (x / keep_prob)
        placeholder(name="keep_prob"),
        *(node("above", "Add", "keep_prob random"), node("mask", "Floor", "above")),
        *(node("scaled", "RealDiv", "flat keep_prob"), node("drop", "Mul", "scaled mask")),
    ),
    (  # of TensorFlow 2: where(random >= rate, x * 2, 0)
        *(const("rate", 0.5), node("mask", "GreaterEqual", "random rate"), const("two", 2.0)),
        *(node("scaled", "Mul", "flat two"), node("drop", "SelectV2", "mask scaled min")),
    ),
]


@pytest.mark.parametrize("dropout", DROPOUTS, ids=["floor", "select"])
def test_dropout_that_training_left_drops_nothing(tmp_path, dropout):
    nodes = (placeholder(-1, 4, name="flat"), *RANDOM, *dropout, node("y", "Relu", "drop"))
    network = load(tmp_path, *nodes)
    assert [type(node.operator).__name__ for node in network.graph.nodes] == ["Identity", "Relu"]
    np.testing.assert_array_equal(network.evaluate(np.ones((2, 4)))["y"], np.ones((2, 4)))


def test_what_only_looks_like_dropout_is_computed(tmp_path):
    nodes = (
        *(placeholder(-1, 4, name="flat"), const("two", 2.0), const("c", [1, 0, 0, 1])),
        *(node("mask", "Cast", "c", DstT=Type(FLOAT)), node("scaled", "Mul", "flat two")),
        node("y", "Mul", "scaled mask"),
    )
    np.testing.assert_array_equal(run(tmp_path, np.ones((1, 4)), *nodes), [[2, 0, 0, 2]])


# The shape of the input


def test_the_shape_of_an_input_that_the_graph_leaves_open_is_what_reads_it(tmp_path):
    nodes = (
        const("to", [-1, 2, 2, 1]),
        node("image", "Reshape", "x to"),
        node("y", "Relu", "image"),
    )
    assert load(tmp_path, placeholder(), *nodes).graph.shape == (4,)
    assert load(tmp_path, placeholder(-1, -1, name="flat"), *DENSE).graph.shape == (4,)
    turned = (const("w", np.ones((2, 4))), node("y", "MatMul", "x w", transpose_b=True))
    assert load(tmp_path, placeholder(), *turned).graph.shape == (4,)
    merged = (const("all", [-1]), node("y", "Reshape", "x all"))
    with pytest.raises(ModelError, match="the shape of the input 'x' is not in the graph"):
        load(tmp_path, placeholder(), *merged)
    behind = (placeholder(), const("all", [-1]), node("y", "Reshape", "x all"))
    with pytest.raises(ModelError, match="the shape of the input 'y' is not in the graph"):
        load(tmp_path, *behind, node("z", "Relu", "y"), input="y")


def test_a_placeholder_may_fix_the_batch_at_one_or_have_none(tmp_path):
    assert load(tmp_path, placeholder(1, 3), node("y", "Relu", "x")).graph.shape == (3,)
    nodes = (const("at", 0), node("batch", "ExpandDims", "x at"), node("y", "Softmax", "batch"))
    network = load(tmp_path, placeholder(3), *nodes)
    np.testing.assert_allclose(network.evaluate(np.zeros((2, 3)))["y"], np.full((2, 3), 1 / 3))


def test_an_image_is_of_the_layout_that_what_reads_it_has(tmp_path):
    size = {"ksize": [1, 1, 2, 2], "strides": [1, 1, 2, 2], "padding": "VALID"}
    pool = node("y", "MaxPool", "x", data_format="NCHW", **size)
    network = load(tmp_path, placeholder(-1, 1, 4, 2), pool)
    assert network.graph.layout == "NCHW"
    np.testing.assert_array_equal(
        network.evaluate(np.arange(8.0).reshape(1, 1, 4, 2))["y"], [[[[3], [7]]]]
    )
    turned = (const("order", [0, 3, 1, 2]), node("turned", "Transpose", "x order"))
    pool = node("y", "MaxPool", "turned", data_format="NCHW", **size)
    assert load(tmp_path, placeholder(-1, 4, 2, 1), *turned, pool).graph.layout == "NHWC"
