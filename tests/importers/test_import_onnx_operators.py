"""ONNX operators of float networks compute what the ONNX reference evaluator computes."""

import numpy as np
import pytest
from onnx_models import agrees, loaded, model, node

from qemu_nn import operators as ops
from qemu_nn.optimize import optimize
from qemu_nn.runtime.evaluate import evaluate

RNG = np.random.default_rng(9)


def floats(*shape):
    return RNG.normal(size=shape).astype(np.float32)


def ints(*values):
    return np.array(values, np.int64)


IMAGE = (4, 6, 5)
UPSCALED = {"s": np.array([1, 1, 2, 3], np.float32)}
SIZES = {"to": ints(1, 4, 4, 9)}
TURNED = {"w": floats(4, 3, 3, 2), "b": floats(3)}
CHANNELS = {"g": floats(4), "b": floats(4)}

#: Description -> nodes from x to y, the shape of a sample, constants, operator set.
CASES = {
    **{
        op: (node(op, "x"), IMAGE)
        for op in (
            *("Abs", "Ceil", "Cos", "Erf", "Exp", "Floor", "Round", "Sign", "Sin"),
            *("Softplus", "Softsign", "Mish"),
        )
    },
    **{op: ([node("Exp", "x", "e"), node(op, "e")], IMAGE) for op in ("Log", "Sqrt", "Reciprocal")},
    "Elu": (node("Elu", "x", alpha=0.7), IMAGE),
    "Celu": (node("Celu", "x", alpha=0.7), IMAGE),
    "Selu": (node("Selu", "x", alpha=1.6, gamma=1.1), IMAGE),
    "Gelu": (node("Gelu", "x"), IMAGE),
    "Gelu by tanh": (node("Gelu", "x", approximate="tanh"), IMAGE),
    "Pow 2": (node("Pow", "x n"), IMAGE, {"n": np.float32(2)}),
    "Pow 3": (node("Pow", "x n"), IMAGE, {"n": np.float32(3)}),
    "Div of tensors": ([node("Exp", "x", "e"), node("Div", "x e")], IMAGE),
    "Div of a constant": (
        [node("Exp", "x", "e"), node("Div", "c e")],
        IMAGE,
        {"c": floats(4, 1, 1)},
    ),
    "MatMul of tensors": (
        [node("Transpose", "x", "t", perm=[0, 1, 3, 2]), node("MatMul", "x t")],
        IMAGE,
    ),
    "MatMul that broadcasts": (
        [node("ReduceMean", "x a", "m"), node("MatMul", "x m")],
        (4, 6, 6),
        {"a": ints(1)},
    ),
    "MatMul of a constant first": (node("MatMul", "w x"), IMAGE, {"w": floats(3, 6)}),
    "ConvTranspose": (
        node("ConvTranspose", "x w b", strides=[2, 3], pads=[1, 0, 2, 1], output_padding=[1, 0]),
        IMAGE,
        TURNED,
    ),
    "ConvTranspose that extends": (
        node("ConvTranspose", "x w", strides=[4, 4], output_padding=[3, 2], dilations=[1, 2]),
        IMAGE,
        TURNED,
    ),
    "ConvTranspose same": (
        node("ConvTranspose", "x w", strides=[2, 2], auto_pad="SAME_UPPER"),
        IMAGE,
        TURNED,
    ),
    "ConvTranspose of a signal": (
        node("ConvTranspose", "x w", strides=[2], pads=[1, 1], output_padding=[1]),
        (4, 6),
        {"w": floats(4, 3, 4)},
    ),
    "Resize nearest": (node("Resize", "x - s"), IMAGE, UPSCALED),
    "Resize to a size": (
        node(
            *("Resize", "x - - to"),
            coordinate_transformation_mode="asymmetric",
            nearest_mode="floor",
        ),
        IMAGE,
        SIZES,
    ),
    "Resize by lookups": (node("Resize", "x - - to", nearest_mode="ceil"), IMAGE, SIZES),
    "Resize linear": (node("Resize", "x - s", mode="linear"), IMAGE, UPSCALED),
    "Resize linear with corners": (
        node(
            *("Resize", "x - - to"), mode="linear", coordinate_transformation_mode="align_corners"
        ),
        IMAGE,
        SIZES,
    ),
    "DepthToSpace": (node("DepthToSpace", "x", blocksize=2), (8, 3, 2)),
    "DepthToSpace CRD": (node("DepthToSpace", "x", blocksize=2, mode="CRD"), (8, 3, 2)),
    "SpaceToDepth": (node("SpaceToDepth", "x", blocksize=2), (*IMAGE[:2], 4)),
    "LayerNormalization": (
        node("LayerNormalization", "x g b", axis=-2),
        IMAGE,
        {"g": floats(6, 5), "b": floats(6, 5)},
    ),
    "LayerNormalization without a bias": (
        node("LayerNormalization", "x g"),
        (7, 5),
        {"g": floats(5)},
    ),
    "RMSNormalization": (node("RMSNormalization", "x g"), (7, 5), {"g": floats(5)}, 23),
    "InstanceNormalization": (node("InstanceNormalization", "x g b"), IMAGE, CHANNELS),
    "GroupNormalization": (node("GroupNormalization", "x g b", num_groups=2), IMAGE, CHANNELS, 21),
    "LpNormalization": (node("LpNormalization", "x", axis=1), (9,)),
    "ReduceSum": (node("ReduceSum", "x a"), IMAGE, {"a": ints(1, 3)}),
    "ReduceMin": (node("ReduceMin", "x a", keepdims=0), IMAGE, {"a": ints(2)}),
    "ReduceL2": (node("ReduceL2", "x a", keepdims=0), IMAGE, {"a": ints(1)}),
    "ReduceSumSquare": (node("ReduceSumSquare", "x a"), IMAGE, {"a": ints(-1)}),
    "ReduceMean of all": (node("ReduceMean", "x a", keepdims=0), IMAGE, {"a": ints(1, 2, 3)}),
    "ReduceMax of channels": (node("ReduceMax", "x a"), IMAGE, {"a": ints(1, 2)}),
    "ArgMax": (node("ArgMax", "x", axis=1, keepdims=0), IMAGE),
    "ArgMin": (node("ArgMin", "x", axis=-1), IMAGE),
    "Gather": (node("Gather", "x i", axis=2), IMAGE, {"i": ints(5, 0, 0, -2)}),
    "Gather of a table": (node("Gather", "x i", axis=1), (4,), {"i": ints(3, 1).reshape(2, 1)}),
    "Slice backwards": (
        node("Slice", "x s e a t"),
        IMAGE,
        {"s": ints(-1), "e": ints(-9), "a": ints(2), "t": ints(-2)},
    ),
    "Tile": (node("Tile", "x r"), IMAGE, {"r": ints(1, 1, 2, 3)}),
    "Expand": (node("Expand", "x e"), (4, 1, 1), {"e": ints(1, 1, 3, 2)}),
    "Pad reflect": (node("Pad", "x p", mode="reflect"), IMAGE, {"p": ints(0, 0, 2, 1, 0, 0, 1, 3)}),
    "Pad edge": (node("Pad", "x p", mode="edge"), IMAGE, {"p": ints(0, 1, 0, 1, 0, 0, 7, 0)}),
    "Pad wrap": (node("Pad", "x p", mode="wrap"), IMAGE, {"p": ints(0, 0, 2, 1, 0, 0, 1, 3)}),
}


@pytest.mark.parametrize("what", CASES)
def test_an_operator_computes_what_onnx_defines(what, tmp_path):
    nodes, shape, *rest = CASES[what]
    constants = rest[0] if rest else {}
    nodes = nodes if isinstance(nodes, list) else [nodes]
    graph = agrees(tmp_path, model(nodes, shape, constants, *rest[1:]), shape)
    x = RNG.normal(size=(2, *shape)).astype(np.float32)
    last = evaluate(graph, x)[graph.outputs[0]]
    whole, _ = optimize(graph)
    moved = np.moveaxis(x, 1, -1) if graph.layout == "NCHW" else x
    found = evaluate(whole, moved)[graph.outputs[0]]
    if graph.outputs[0] in whole.moved:
        found = np.moveaxis(found, -1, 1)
    np.testing.assert_allclose(found, last, rtol=1e-4, atol=1e-5)


def test_groups_of_a_transposed_convolution_are_convolutions_of_their_own(tmp_path):
    w, b = floats(4, 3, 2, 2), floats(6)
    whole = node("ConvTranspose", "x w b", strides=[2, 2], group=2)
    parts = [
        node("Split", "x", "x0 x1", axis=1, num_outputs=2),
        node("ConvTranspose", "x0 w0 b0", "y0", strides=[2, 2]),
        node("ConvTranspose", "x1 w1 b1", "y1", strides=[2, 2]),
        node("Concat", "y0 y1", axis=1),
    ]
    halves = {"w0": w[:2], "w1": w[2:], "b0": b[:3], "b1": b[3:]}
    expected = agrees(tmp_path, model(parts, IMAGE, halves), IMAGE)
    found = loaded(tmp_path, model([whole], IMAGE, {"w": w, "b": b}))
    x = RNG.normal(size=(2, *IMAGE))
    np.testing.assert_allclose(evaluate(found, x)["y"], evaluate(expected, x)["y"], rtol=1e-6)


def recurrent_arrays(kind, directions, inputs=3, units=4):
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[kind] * units
    return {
        "w": floats(directions, gates, inputs),
        "r": floats(directions, gates, units) / 2,
        "b": floats(directions, 2 * gates),
    }


#: Description -> the operator and its attributes.
RECURRENT = {
    "lstm": ("LSTM", {}),
    "lstm backwards": ("LSTM", {"direction": "reverse"}),
    "gru": ("GRU", {}),
    "gru that resets after": ("GRU", {"linear_before_reset": 1}),
    "simple": ("RNN", {}),
    "simple, rectified": ("RNN", {"activations": ["Relu"]}),
}


@pytest.mark.parametrize("what", RECURRENT)
def test_a_recurrent_operator_computes_what_onnx_defines(what, tmp_path):
    kind, how = RECURRENT[what]
    nodes = [
        node("Transpose", "x", "t", perm=[1, 0, 2]),
        node(kind, "t w r b", "all end", hidden_size=4, **how),
        node("Squeeze", "all one", "states"),
        node("Transpose", "states", "y", perm=[1, 0, 2]),
        node("Squeeze", "end zero", "z"),
    ]
    constants = {**recurrent_arrays(kind, 1), "one": ints(1), "zero": ints(0)}
    shape = (5, 3)
    if what == "lstm backwards" or kind == "GRU" or how.get("activations"):
        return _check_by_steps(tmp_path, kind, how, constants)  # the evaluator lacks these
    agrees(tmp_path, model(nodes, shape, constants, outputs="y z"), shape)
    return None


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _check_by_steps(tmp_path, kind, how, held):
    """Compare with the definition of the operator, step by step."""
    nodes = [
        node("Transpose", "x", "t", perm=[1, 0, 2]),
        node(kind, "t w r b", "all", hidden_size=4, **how),
        node("Squeeze", "all one", "states"),
        node("Transpose", "states", "y", perm=[1, 0, 2]),
    ]
    constants = {name: held[name] for name in ("w", "r", "b", "one")}
    graph = loaded(tmp_path, model(nodes, (5, 3), constants))
    x = RNG.normal(size=(2, 5, 3))
    w, r, b = (held[name][0].astype(np.float64) for name in "wrb")
    wb, rb = np.split(b, 2)
    h = c = np.zeros((2, 4))
    found = []
    for step in range(5)[:: -1 if how.get("direction") == "reverse" else 1]:
        ahead = np.split(x[:, step] @ w.T + wb, len(w) // 4, axis=1)
        again = np.split(h @ r.T + rb, len(w) // 4, axis=1)
        if kind == "RNN":
            h = np.maximum(ahead[0] + again[0], 0)
        elif kind == "LSTM":
            i, o, f, g = (a + b for a, b in zip(ahead, again))
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            h = sigmoid(o) * np.tanh(c)
        else:
            z, reset = sigmoid(ahead[0] + again[0]), sigmoid(ahead[1] + again[1])
            inner = (reset * h) @ r[8:].T + rb[8:]
            inner = reset * again[2] if how.get("linear_before_reset") else inner
            h = (1 - z) * np.tanh(ahead[2] + inner) + z * h
        found.append(h)
    if how.get("direction") == "reverse":
        found = found[::-1]
    np.testing.assert_allclose(evaluate(graph, x)["y"], np.stack(found, 1), rtol=1e-6)


def test_two_directions_are_two_layers(tmp_path):
    held = recurrent_arrays("LSTM", 2)
    nodes = [
        node("Transpose", "x", "t", perm=[1, 0, 2]),
        node("LSTM", "t w r b", "all end", hidden_size=4, direction="bidirectional"),
        node("Transpose", "all", "order", perm=[2, 0, 1, 3]),
        node("Reshape", "order flat", "y"),
    ]
    single = {}
    for number, direction in enumerate(("forward", "reverse")):
        one = [nodes[0], node("LSTM", "t w r b", "all", hidden_size=4, direction=direction)]
        one += [node("Squeeze", "all one", "s"), node("Transpose", "s", "y", perm=[1, 0, 2])]
        arrays = {name: array[number : number + 1] for name, array in held.items()}
        single[direction] = loaded(tmp_path, model(one, (5, 3), {**arrays, "one": ints(1)}))
    x = RNG.normal(size=(2, 5, 3))
    expected = np.concatenate([evaluate(each, x)["y"] for each in single.values()], axis=2)
    graph = loaded(tmp_path, model(nodes, (5, 3), {**held, "flat": ints(1, 5, 8)}))
    np.testing.assert_allclose(evaluate(graph, x)["y"], expected, rtol=1e-6)


#: Description -> nodes from x to y, and the operators of the network at the end.
SPELLED = {
    "layer normalization": (
        [
            node("ReduceMean", "x last", "m"),
            node("Sub", "x m", "d"),
            node("Pow", "d two", "s"),
            node("ReduceMean", "s last", "v"),
            node("Add", "v eps", "ve"),
            node("Sqrt", "ve", "r"),
            node("Div", "d r"),
        ],
        True,
    ),
    "instance normalization": (
        [
            node("ReduceMean", "x image", "m"),
            node("Sub", "x m", "d"),
            node("Mul", "d d", "s"),
            node("ReduceMean", "s image", "v"),
            node("Add", "v eps", "ve"),
            node("Sqrt", "ve", "r"),
            node("Reciprocal", "r", "i"),
            node("Mul", "i d"),
        ],
        True,
    ),
    "root mean square": (
        [
            node("Mul", "x x", "s"),
            node("ReduceMean", "s last", "v"),
            node("Add", "v eps", "ve"),
            node("Sqrt", "ve", "r"),
            node("Div", "x r"),
        ],
        True,
    ),
    "squares of another tensor": (
        [
            node("Abs", "x", "t"),
            node("Mul", "t t", "s"),
            node("ReduceMean", "s last", "v"),
            node("Add", "v eps", "ve"),
            node("Sqrt", "ve", "r"),
            node("Div", "x r"),
        ],
        False,
    ),
    "different axes": (
        [
            node("ReduceMean", "x image", "m"),
            node("Sub", "x m", "d"),
            node("Mul", "d d", "s"),
            node("ReduceMean", "s last", "v"),
            node("Sqrt", "v", "r"),
            node("Div", "d r"),
        ],
        False,
    ),
}


@pytest.mark.parametrize("what", SPELLED)
def test_a_normalization_that_is_spelled_out_is_one_operator(what, tmp_path):
    nodes, recognised = SPELLED[what]
    numbers = {"two": np.float32(2), "eps": np.float32(0.01), "last": ints(-1), "image": ints(2, 3)}
    named = {name for each in nodes for name in each.input}
    constants = {name: array for name, array in numbers.items() if name in named}
    graph = agrees(tmp_path, model(nodes, (3, 4, 5), constants), (3, 4, 5))
    whole, _ = optimize(graph)
    kinds = [type(each.operator).__name__ for each in whole.nodes]
    assert (kinds == ["Normalize"]) == recognised
    x = RNG.normal(size=(2, 3, 4, 5))
    found = np.moveaxis(evaluate(whole, np.moveaxis(x, 1, -1))["y"], -1, 1)
    np.testing.assert_allclose(found, evaluate(graph, x)["y"], rtol=1e-6, atol=1e-9)


#: Description -> nodes from x, and how many operators the network has at the end.
FUSED = {
    "GELU in five operators": (
        [
            node("Div", "x root", "a"),
            node("Erf", "a", "b"),
            node("Add", "b one", "c"),
            node("Mul", "x c", "d"),
            node("Mul", "d half"),
        ],
        ["Curve"],
    ),
    "Mish in three": (
        [node("Softplus", "x", "a"), node("Tanh", "a", "b"), node("Mul", "x b")],
        ["Curve"],
    ),
    "a root of a rectified sum": (
        [node("Relu", "x", "a"), node("Add", "a one", "b"), node("Sqrt", "b")],
        ["Relu", "Curve"],
    ),
    "a gate with a function of its own": (
        [node("Sigmoid", "x", "a"), node("Mul", "x a")],
        ["Sigmoid", "Elementwise"],
    ),
    "a function that two operators read": (
        [node("Exp", "x", "a"), node("Add", "a one", "b"), node("Mul", "a b")],
        ["Curve"],
    ),
}


@pytest.mark.parametrize("what", FUSED)
def test_a_function_that_needs_a_table_is_one_operator(what, tmp_path):
    nodes, kinds = FUSED[what]
    numbers = {"root": 2**0.5, "one": 1.0, "half": 0.5}
    named = {name for each in nodes for name in each.input}
    constants = {name: np.float32(n) for name, n in numbers.items() if name in named}
    graph = agrees(tmp_path, model(nodes, (3, 4), constants), (3, 4))
    whole, _ = optimize(graph)
    assert [type(each.operator).__name__ for each in whole.nodes] == kinds
    x = RNG.normal(size=(2, 3, 4)).astype(np.float32)
    np.testing.assert_allclose(
        evaluate(whole, x)["y"], evaluate(graph, x)["y"], rtol=1e-5, atol=1e-6
    )


#: Description -> nodes from x [8, 6, 4], constants, and the transpositions that remain.
RESHAPED = {
    "tokens of an image": (
        [
            node("Conv", "x w", "c"),
            node("Reshape", "c rows", "r"),
            node("Transpose", "r", perm=[0, 2, 1]),
        ],
        {"w": floats(6, 8, 1, 1), "rows": ints(1, 6, -1)},
        0,
    ),
    "an image of tokens": (
        [
            node("Reshape", "x rows", "r"),
            node("Relu", "r", "a"),
            node("Reshape", "a image", "i"),
            node("Conv", "i w"),
        ],
        {"w": floats(6, 8, 1, 1), "rows": ints(1, 8, -1), "image": ints(1, 8, 6, 4)},
        0,
    ),
    "groups of channels": (
        [node("GroupNormalization", "x g b", num_groups=2)],
        {"g": floats(8), "b": floats(8)},
        0,
    ),
    "channels among pixels": (
        [node("Reshape", "x mixed", "r"), node("Softmax", "r")],
        {"mixed": ints(1, 16, 12)},
        1,
    ),
}


@pytest.mark.parametrize("what", RESHAPED)
def test_a_reshape_that_keeps_stored_elements_moves_none(what, tmp_path):
    nodes, constants, count = RESHAPED[what]
    graph = agrees(tmp_path, model(nodes, (8, 6, 4), constants, 21), (8, 6, 4))
    whole, _ = optimize(graph)
    kinds = [type(each.operator).__name__ for each in whole.nodes]
    assert kinds.count("Transpose") == count
    x = RNG.normal(size=(2, 8, 6, 4))
    found = evaluate(whole, np.moveaxis(x, 1, -1))["y"]
    found = np.moveaxis(found, -1, 1) if "y" in whole.moved else found
    np.testing.assert_allclose(found, evaluate(graph, x)["y"], rtol=1e-6, atol=1e-9)


def test_what_moves_no_channel_needs_no_transposition(tmp_path):
    nodes = [node("DepthToSpace", "x", "a", blocksize=2), node("Resize", "a - s")]
    graph = agrees(tmp_path, model(nodes, (8, 3, 2), UPSCALED), (8, 3, 2))
    whole, _ = optimize(graph)
    assert [type(each.operator) for each in whole.nodes] == [ops.DepthToSpace, ops.Resize]
