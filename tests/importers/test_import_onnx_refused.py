"""ONNX files that are damaged, hostile, or ask for more than is supported are refused by name."""

import os
import sys
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx_models import loaded, model, node, onnx, value, write
from soon import soon

import qemu_nn
from qemu_nn.errors import Error, ModelError

FLOAT = onnx.TensorProto.FLOAT
W = {"w": np.ones((6, 4, 3, 2), np.float32)}
IMAGE = (4, 9, 7)


def ints(*values):
    return np.array(values, np.int64)


def ones(*shape):
    return np.ones(shape, np.float32)


#: Description -> node, shape, constants, words of the message.
REFUSED = {
    "an operator that is not known": (node("CumSum", "x"), (4,), {}, "not supported"),
    "an operator of another domain": (node("Relu", "x", domain="own"), (4,), {}, "not supported"),
    "a sequence without a batch": (node("LSTM", "x w w", hidden_size=3), (4,), W, "as a Transpose"),
    "a recurrent operator of other weights": (
        node("GRU", "x w w", hidden_size=3, layout=1),
        (5, 4),
        W,
        "its weights are",
    ),
    "a sequence of many steps": (
        node("RNN", "x w r", layout=1),
        (300, 2),
        {"w": ones(1, 3, 2), "r": ones(1, 3, 3)},
        "at most 256 are supported: shorten",
    ),
    "an activation of its own": (
        node("RNN", "x w r", layout=1, activations=["Sigmoid"]),
        (5, 2),
        {"w": ones(1, 3, 2), "r": ones(1, 3, 3)},
        "its activations are",
    ),
    "a state at the start": (
        node("RNN", "x w r - - h", layout=1),
        (5, 2),
        {"w": ones(1, 3, 2), "r": ones(1, 3, 3), "h": ones(1, 1, 3)},
        "initial state is not zero",
    ),
    "an operator for constants": (node("Range", "x i i"), (4,), {"i": ints(0)}, "for constants"),
    "conv with computed weights": (node("Conv", "x x"), IMAGE, {}, "must be a constant"),
    "an attribute that is not read": (node("Relu", "x", alpha=2.0), (4,), {}, "'alpha' is 2.0"),
    "an input that is not read": (node("Tanh", "x w"), (4,), W, "it has an input 1, 'w'"),
    "conv of features": (node("Conv", "x w"), (4,), W, r"not \[1, 4\]"),
    "conv with a wrong kernel_shape": (node("Conv", "x w", kernel_shape=[3, 3]), IMAGE, W, "shape"),
    "conv with too few strides": (node("Conv", "x w", strides=[1]), IMAGE, W, r"strides \[1\]"),
    "conv with a stride of 0": (node("Conv", "x w", strides=[0, 1]), IMAGE, W, "strides"),
    "conv with negative pads": (node("Conv", "x w", pads=[0, -1, 0, 0]), IMAGE, W, "padding"),
    "conv with huge pads": (
        node("Conv", "x w", pads=[2**20] * 4, strides=[2**20] * 2),
        IMAGE,
        W,
        "makes the image too large",
    ),
    "conv that pads in a way of its own": (node("Conv", "x w", auto_pad="ODD"), IMAGE, W, "ODD"),
    "conv with other channels": (node("Conv", "x w"), (5, 9, 7), W, "5 channels"),
    "conv with endless weights": (node("Conv", "x w"), IMAGE, {"w": W["w"] * np.inf}, "finite"),
    "conv without weights": (node("Conv", "x"), IMAGE, {}, "input 1 is missing"),
    "conv with text for a number": (node("Conv", "x w", group="2"), IMAGE, W, "'group'"),
    "pooling with holes": (
        node("MaxPool", "x", kernel_shape=[2, 2], dilations=[2, 2]),
        IMAGE,
        {},
        "dilated",
    ),
    "pooling without a kernel": (node("MaxPool", "x"), IMAGE, {}, "kernel_shape is missing"),
    "a sum over the batch": (node("ReduceSum", "x a"), IMAGE, {"a": ints(0, 3)}, "batch axis"),
    "a mean over the batch": (node("ReduceMean", "x"), IMAGE, {}, "batch axis"),
    "gemm of a transposed input": (
        node("Gemm", "x w", transA=1),
        (1,),
        {"w": ones(1, 2)},
        "transA",
    ),
    "gemm with a matrix for bias": (
        node("Gemm", "x w b"),
        (4,),
        {"w": ones(4, 3), "b": ones(3, 1)},
        r"\[3, 1\]",
    ),
    "matmul with a stack": (node("MatMul", "x w"), (4,), {"w": ones(2, 4, 3)}, "matrix"),
    "matmul of two vectors": (node("MatMul", "x x"), (1,), {}, "cannot be multiplied"),
    "pow with a computed exponent": (node("Pow", "x x"), (1,), {}, "must be a constant"),
    "the last of equal indices": (
        node("ArgMax", "x", axis=1, select_last_index=1),
        (4,),
        {},
        "only the first is supported",
    ),
    "repeated samples": (node("Tile", "x r"), (4,), {"r": ints(2, 1)}, "batch axis"),
    "groups that do not divide": (
        node("GroupNormalization", "x w w", num_groups=3),
        IMAGE,
        {"w": ones(4)},
        "operator set 21",
    ),
    "a cubic resize": (
        node("Resize", "x - s", mode="cubic"),
        IMAGE,
        {"s": ones(4)},
        "there is no operator",
    ),
    "a resize of channels": (
        node("Resize", "x - s"),
        IMAGE,
        {"s": np.array([1, 2, 1, 1], np.float32)},
        "cannot resize",
    ),
    "transposed convolution with other channels": (
        node("ConvTranspose", "x w"),
        (5, 9, 7),
        W,
        "5 channels",
    ),
    "transposed convolution of a huge output": (
        node("ConvTranspose", "x w", output_padding=[2**20, 0], strides=[2**21, 1]),
        (6, 9, 7),
        W,
        "too large",
    ),
    "a norm of another power": (node("LpNormalization", "x", p=1), (4,), {}, "only 2"),
    "training batch normalization": (
        node("BatchNormalization", "x w w w w", training_mode=1),
        (4,),
        {"w": ones(4)},
        "stored statistics",
    ),
    "a constant that enlarges": (
        node("Add", "x c"),
        (4, 1, 1),
        {"c": ones(4, 2, 1)},
        "would broadcast",
    ),
    "a constant that does not fit": (node("Add", "x c"), (4,), {"c": ones(3)}, "must broadcast"),
    "division by zero": (node("Div", "x c"), (4,), {"c": ones(4) * 0}, "not finite"),
    "blocks that do not divide": (node("SpaceToDepth", "x", blocksize=2), IMAGE, {}, "blocks of 2"),
    "a limit of many numbers": (node("Max", "x c"), (4,), {"c": ones(4)}, "a single number"),
    "clip to nothing": (node("Clip", "x c c"), (4,), {"c": ones()}, "no values between"),
    "softmax over the batch": (node("Softmax", "x", axis=0), (4,), {}, "batch axis"),
    "concatenation of the batch": (node("Concat", "x x", axis=0), (4,), {}, "batch axis"),
    "concatenation without an axis": (node("Concat", "x x"), (4,), {}, "'axis' is missing"),
    "concatenation with a constant": (
        node("Concat", "x c", axis=1),
        (4,),
        {"c": ones(1, 4)},
        "'c'",
    ),
    "a batch that moves": (node("Transpose", "x", perm=[1, 0]), (4,), {}, "batch axis"),
    "an axis named twice": (node("Transpose", "x", perm=[0, 0]), (4,), {}, "axes"),
    "a slice of nothing": (
        node("Slice", "x s e a"),
        (4,),
        {"s": ints(3), "e": ints(3), "a": ints(1)},
        "it must keep at least one element",
    ),
    "an element that is not there": (
        node("Gather", "x i", axis=1),
        (4,),
        {"i": ints(4)},
        "has no element 4",
    ),
    "pads of an image for a signal": (
        node("MaxPool", "x", kernel_shape=[2], pads=[0, 0, 1, 1]),
        (3, 16),
        {},
        "padding NOTSET",
    ),
    "gemm beyond all numbers": (
        node("Gemm", "x w", alpha=1e38),
        (4,),
        {"w": ones(4, 3) * 99},
        "finite",
    ),
    "a split that does not add up": (
        node("Split", "x s", "y z", axis=1),
        (4,),
        {"s": ints(1, 2)},
        "4 elements",
    ),
    "padding of another mode": (
        node("Pad", "x p", mode="mirror"),
        (4,),
        {"p": ints(0, 1, 0, 1)},
        "have: constant, edge, reflect, wrap",
    ),
    "reflection beyond all bounds": (
        node("Pad", "x p", mode="reflect"),
        (4,),
        {"p": ints(0, 2**62, 0, 0)},
        "axis would have more than",
    ),
    "a padded batch": (node("Pad", "x p"), (4,), {"p": ints(1, 0, 0, 0)}, "batch axis"),
    "padding beyond all bounds": (
        node("Pad", "x p"),
        (4,),
        {"p": ints(0, 2**62, 0, 2**62)},
        "large",
    ),
    "a shape of other size": (
        node("Reshape", "x s"),
        (4,),
        {"s": ints(1, 5)},
        "cannot be reshaped to",
    ),
    "a shape with two unknowns": (node("Reshape", "x s"), (4,), {"s": ints(-1, -1)}, "reshaped"),
    "an empty shape": (node("Reshape", "x s", allowzero=1), (4,), {"s": ints(0, -1)}, "reshaped"),
    "an axis of many squeezed": (node("Squeeze", "x a"), (4,), {"a": ints(1)}, "one element"),
    "integers": (node("Cast", "x", to=onnx.TensorProto.INT64), (4,), {}, "int64"),
    "dropout in training": (
        node("Dropout", "x r t"),
        (4,),
        {"r": ones(), "t": np.array(True)},
        "random",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_not_supported_is_refused_with_the_operator_and_the_node(what, tmp_path):
    one, shape, constants, words = REFUSED[what]
    one.name = "the node"
    with pytest.raises(ModelError, match=words) as caught:
        loaded(tmp_path, model([one], shape, constants))
    op = f"'{one.domain}.{one.op_type}'" if one.domain else one.op_type
    assert f"net.onnx: {op} 'the node': " in str(caught.value)


def test_what_is_not_known_is_refused_with_what_is(tmp_path):
    with pytest.raises(ModelError, match=r"have: Abs, Add, ArgMax, .*Unsqueeze"):
        loaded(tmp_path, model([node("CumSum", "x x")], (4,)))


RELU = node("Relu", "x")
#: Description -> a model, words of the message.
MODELS = {
    "a fixed batch": (model([RELU], (4,), batch=3), "fixed batch of 3"),
    "free axes": (model([RELU], (3, "height", None)), r"axis 2 \('height'\), 3 \('\?'\)"),
    "an older operator set": (model([RELU], (4,), opset=6), "operator set 6, but only 7 to"),
    "a newer operator set": (model([RELU], (4,), opset=99), "operator set 99"),
    "no operators": (model([], (4,)), "0 operators"),
    "a tensor made twice": (model([RELU, RELU], (4,)), "two operators compute the tensor 'y'"),
    "a constant made twice": (
        model([RELU], (4,), {"y": ones(4)}),
        "two operators compute the tensor 'y'",
    ),
    "a cycle": (
        model([node("Add", "x z"), node("Relu", "y", "z")], (4,)),
        "'z'; an earlier operator",
    ),
    "a wrong order": (model([node("Relu", "a"), node("Relu", "x", "a")], (4,)), "from no input"),
    "what nothing makes": (
        model([node("Add", "x lost")], (4,)),
        "'lost'; an earlier operator",
    ),
    "a second output": (
        model([node("Dropout", "x", "a m"), node("Add", "a m")], (4,)),
        "'m', an output of Dropout 'a'",
    ),
    "an output that is constant": (
        model([RELU, node("Shape", "x", "s")], (4,), outputs="y s"),
        "'s' is not computed",
    ),
    "an output that is missing": (model([RELU], (4,), outputs="gone"), "no tensor 'gone'"),
    "nothing but the input": (model([RELU], (4,), outputs="x"), "no layers"),
}


@pytest.mark.parametrize("what", MODELS)
def test_models_that_are_no_float_network_are_refused(what, tmp_path):
    proto, words = MODELS[what]
    with pytest.raises(ModelError, match=words):
        loaded(tmp_path, proto)


def test_inputs_that_are_no_real_numbers_are_refused(tmp_path):
    proto = model([RELU], (4,))
    proto.graph.input[0].CopyFrom(value("x", [1, 4], onnx.TensorProto.UINT8))
    with pytest.raises(ModelError, match="'x' contains uint8; it must be floats"):
        loaded(tmp_path, proto)


def test_a_cut_names_tensors_that_exist_and_have_a_shape(tmp_path):
    proto = model([node("Mystery", "x", "a", domain="own"), node("Relu", "a")], (4,))
    with pytest.raises(ModelError, match="no tensor 'b'; its inputs are 'x', its outputs 'y'"):
        loaded(tmp_path, proto, input="b")
    with pytest.raises(ModelError, match=r"no shape for 'a' .*Mystery"):
        loaded(tmp_path, proto, input="a")
    with pytest.raises(ModelError, match="cannot be computed from 'y' alone"):
        loaded(tmp_path, proto, input="y", output="a")


def test_constants_are_not_computed_beyond_bounds(tmp_path):
    huge = [node("ConstantOfShape", "s", "c"), node("Mul", "x c")]
    with pytest.raises(ModelError, match="too large"):
        loaded(tmp_path, model(huge, (4,), {"s": ints(2**40, 2**40)}))
    doubling = [node("Concat", f"c{i} c{i}", f"c{i + 1}", axis=0) for i in range(40)]
    with pytest.raises(ModelError, match=r"too large|more than"):
        loaded(tmp_path, model([*doubling, node("Mul", "x c40")], (4,), {"c0": ones(4)}))
    many = [node("Add", f"c{i} c0", f"c{i + 1}") for i in range(40)]
    with pytest.raises(ModelError, match="more than"):
        loaded(tmp_path, model([*many, node("Mul", "x c40")], (4,), {"c0": ones(2**20)}))
    nodes = [node("Div", "a b", "c"), node("Reshape", "x c")]
    with pytest.raises(ModelError, match="divides by zero"):
        loaded(tmp_path, model(nodes, (4,), {"a": ints(1), "b": ints(0)}))


def weights(folder, tensor):
    """Return the result of loading a model with a tensor as constant "w" [4], in limited time."""
    proto = model([node("Mul", "x w")], (4,))
    tensor.name = "w"
    proto.graph.initializer.append(tensor)
    with soon(300):
        return loaded(folder, proto).nodes[0].operator.scale


@pytest.mark.parametrize(
    ("dims", "field", "words"),
    [
        ([50_000, 50_000], {"raw_data": b"1234"}, "10000000000 bytes, but the file has 4"),
        ([50_000, 50_000], {"float_data": [1]}, "2500000000 numbers, but the file has 1"),
        ([2**62, 2**62], {"raw_data": b""}, "too large"),
        ([0, 2**62], {"raw_data": b""}, "too large"),
        ([-4], {"raw_data": b"1234"}, "an array cannot have the shape"),
        ([4], {"data_type": 8}, "ONNX type 8 are not supported; have: float32"),
        ([4], {"data_type": 12345}, "not supported"),
        ([4], {"raw_data": bytes(17)}, "16 bytes, but the file has 17"),
        ([1] * 9 + [4], {"raw_data": bytes(16)}, "an array cannot"),
    ],
)
def test_tensors_that_claim_more_than_there_is_are_refused(dims, field, words, tmp_path):
    tensor = onnx.TensorProto(**{"dims": dims, "data_type": FLOAT, **field})
    with pytest.raises(ModelError, match=f"the tensor 'w': .*{words}"):
        weights(tmp_path, tensor)


def external(**places):
    tensor = onnx.TensorProto(dims=[4], data_type=FLOAT, data_location=1)
    for key, text in places.items():
        tensor.external_data.add(key=key, value=text)
    return tensor


def test_weights_lie_in_a_file_beside_the_model(tmp_path):
    (tmp_path / "below").mkdir()
    path = tmp_path / "below" / "weights.data"
    path.write_bytes(bytes(8) + np.arange(4, dtype="<f4").tobytes())
    for length in ({}, {"length": "16"}):
        found = weights(tmp_path, external(location="below/weights.data", offset="8", **length))
        np.testing.assert_array_equal(found, [0, 1, 2, 3])


@pytest.mark.parametrize(
    ("places", "words"),
    [
        ({"location": "../secret"}, "outside"),
        ({"location": "sub/../../secret"}, "outside"),
        ({"location": "sub/../weights"}, "outside"),
        ({"location": "/etc/passwd"}, "outside"),
        ({"location": "..\\secret"}, "outside"),
        ({"location": "link"}, "outside"),
        ({"location": "."}, "outside"),
        ({"location": ""}, "outside"),
        ({}, "outside"),
        ({"location": "none"}, "not a file"),
        ({"location": "sub"}, "not a file"),
        ({"location": "a\0b"}, "not a file name"),
        ({"location": "loop"}, "not a file"),
        ({"location": "x" * 5000}, "not a file"),
        ({"location": "weights", "offset": "1"}, "ends before byte 17"),
        ({"location": "weights", "offset": "9" * 18}, "ends before"),
        ({"location": "weights", "offset": "9" * 5000}, "not a number"),
        ({"location": "weights", "offset": "-4"}, "not a number"),
        ({"location": "weights", "offset": "١"}, "not a number"),
        ({"location": "weights", "length": "15"}, "16 bytes, but its length .* is 15"),
        ({"location": "weights", "length": ""}, "not a number"),
    ],
)
def test_names_and_ranges_of_other_files_are_not_trusted(places, words, tmp_path):
    home = tmp_path / "home"
    (home / "sub").mkdir(parents=True)
    for path in (tmp_path / "secret", home / "weights"):
        path.write_bytes(bytes(16))
    os.symlink(tmp_path / "secret", home / "link")
    os.symlink("loop", home / "loop")
    with pytest.raises(ModelError, match=words):
        weights(home, external(**places))


def whole():
    nodes = [
        node("Conv", "x w b", "c", pads=[1, 1, 1, 1]),
        node("Clip", "c lo hi", "r"),
        node("MaxPool", "r", "p", kernel_shape=[2, 2], strides=[2, 2]),
        node("Shape", "p", "s"),
        node("Gather", "s first", "n"),
        node("Concat", "n rest", "target", axis=0),
        node("Reshape", "p target", "f"),
        node("Gemm", "f m", "g"),
        node("Softmax", "g"),
    ]
    constants = {
        "w": ones(2, 1, 3, 3),
        "b": ones(2),
        "lo": ones() * 0,
        "hi": ones() * 6,
        "first": ints(0),
        "rest": ints(-1),
        "m": ones(8, 3),
    }
    return model(nodes, (1, 4, 4), constants).SerializeToString()


WHOLE = whole()


def test_every_beginning_of_a_file_is_refused(tmp_path):
    path = tmp_path / "net.onnx"
    path.write_bytes(WHOLE)
    assert qemu_nn.load(path).graph.outputs == ("y",)
    for size in range(len(WHOLE) - 1):
        path.write_bytes(WHOLE[:size])
        try:
            qemu_nn.load(path)
        except ModelError:
            continue
        rest = onnx.ModelProto.FromString(WHOLE[:size])  # only what follows the graph is gone
        assert rest.graph == onnx.ModelProto.FromString(WHOLE).graph


@settings(
    max_examples=300, deadline=2000, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    flips=st.lists(
        st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), min_size=1, max_size=4
    )
)
def test_a_damaged_file_is_read_or_refused(flips, tmp_path):
    data = bytearray(WHOLE)
    for at, byte in flips:
        data[at] = byte
    path = tmp_path / "net.onnx"
    path.write_bytes(data)
    with suppress(Error):
        qemu_nn.load(path)


@given(data=st.binary(max_size=200))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_bytes_of_anything_are_refused(data, tmp_path):
    path = tmp_path / "net.onnx"
    path.write_bytes(data)
    with pytest.raises(ModelError):
        qemu_nn.load(path)


def test_the_library_is_named_where_it_is_missing(tmp_path, monkeypatch):
    path = write(tmp_path, model([RELU], (4,)))
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(Error, match=r"needs onnx.*pip install '\.\[onnx\]'"):
        qemu_nn.load(path)
