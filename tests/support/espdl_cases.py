"""Networks of .espdl files, one for each kind of operator: their random weights are always the
same."""

import numpy as np
from espdl_files import Model


def draw(shape, dtype="int8", seed=0, low=-20, high=21):
    """Return random weights."""
    return np.random.default_rng(seed).integers(low, high, shape).astype(dtype)


def bias_of(dtype):
    return {"int8": "int32", "int16": "int64"}[dtype]


def kind_of(dtype):
    return {"int8": "S8", "int16": "S16", "float32": "F32"}[dtype]


def single(operator, shapes, output, dtype="int8", exponents=(-5, -5), made=None, **more):
    """Return a network of one node on inputs x0, x1 ...; made: exponent of its output."""
    model = Model(blocks=more.pop("blocks", True), target=more.pop("target", None))
    constants = more.pop("constants", {})
    for at, shape in enumerate(shapes):
        model.inputs.append(model.value(f"x{at}", dtype, shape, exponents[at]))
    names = [*model.inputs]
    for name, data in constants.items():
        names.append(model.constant(name, *data) if name else "")
    model.outputs.append(model.value("y", more.pop("type", dtype), output, made or exponents[0]))
    model.node(operator, names, ["y"], quant_type=kind_of(dtype), **more)
    return model


def conv(filters, shape, dtype="int8", bias=True, exponents=(-5, -7, -4), **more):
    """Return a network of one Conv of an image or a row; filters [(h), w, in, out]."""
    blocks, out = more.pop("blocks", True), filters.shape[-2 if more.get("group", 1) > 1 else -1]
    model = Model(blocks, more.pop("target", None), more.pop("labels", True))
    model.inputs.append(model.value("x", dtype, shape, exponents[0]))
    # The description has a wrong height and width, as in streaming models: nothing reads it.
    model.outputs.append(model.value("y", dtype, (*[1] * (len(shape) - 1), out), exponents[2]))
    flat = filters if filters.ndim == 4 else filters[None]
    model.filters("w", flat, exponents[1])
    name, data, _, *told = model.constants.pop()
    model.constants.append((name, data, filters.shape, *told))
    names = ["x", "w"]
    if bias:
        names.append(model.constant("b", draw(out, bias_of(dtype), 1, -900, 900)))
    model.node("Conv", names, ["y"], quant_type=kind_of(dtype), **more)
    return model


def streaming():
    """Return a network with a cache of two rows before a Conv of three."""
    model = Model()
    model.inputs.append(model.value("x", "int8", (1, 2, 4), -5))
    model.value("seen", "int8", (1, 9, 4), -5)
    model.outputs.append(model.value("y", "int8", (1, 9, 5), -4))
    model.node("StreamingCache", ["x"], ["seen"], quant_type="S8", window_size=3, frame_axis=1)
    model.filters("w", draw((1, 3, 4, 5)), -7)
    name, data, _, *told = model.constants.pop()
    model.constants.append((name, data, (3, 4, 5), *told))
    model.node("Conv", ["seen", "w"], ["y"], quant_type="S8")
    return model


def classifier(blocks=True, target=None):
    """Return a small network of images: three layers, a sum, and rows of scores."""
    model = Model(blocks, target)
    model.inputs.append(model.value("x", "int8", (1, 6, 6, 3), -6))
    sides = {"a": (1, 6, 6, 20), "d": (1, 6, 6, 20), "s": (1, 6, 6, 20), "p": (1, 3, 3, 20)}
    for name, shape in {**sides, "f": (1, 180)}.items():
        model.value(name, "int8", shape, -5)
    model.outputs.append(model.value("y", "int8", (1, 10), -4))
    model.filters("w0", draw((3, 3, 3, 20), seed=1), -7)
    model.constant("b0", draw(20, "int32", 2, -2000, 2000), -13)
    pads = {"pads": [1, 1, 1, 1], "quant_type": "S8"}
    model.node("Conv", ["x", "w0", "b0"], ["a"], activation="Relu", group=1, **pads)
    model.filters("w1", draw((3, 3, 20, 1), seed=3), -6)
    model.node("Conv", ["a", "w1"], ["d"], activation="Linear", group=20, **pads)
    model.node("Add", ["a", "d"], ["s"], quant_type="S8")
    model.node("MaxPool", ["s"], ["p"], quant_type="S8", kernel_shape=[2, 2], strides=[2, 2])
    model.node("Flatten", ["p"], ["f"], quant_type="S8", axis=1)
    model.filters("w2", draw((1, 1, 180, 10), seed=4), -8)
    model.constant("b2", draw(10, "int32", 5, -2000, 2000), -13)
    model.node("Gemm", ["f", "w2", "b2"], ["y"], quant_type="S8", activation="Linear")
    return model


def table(operator, dtype="int8"):
    """Return a network of one node with a table of its function."""
    model = single(operator, [(1, 9)], (1, 9), dtype, made=-7, lut="table")
    places = 256 if dtype == "int8" else 65536 // 32 + 1
    model.constant("table", draw(places, dtype, low=-99, high=99), -7)
    return model


def scatter(reduction, places=((0, 2), (0, 0))):
    """Return a network that updates slices of 4 elements at constant places."""
    model = Model()
    for name, shape in (("x0", (1, 3, 4)), ("x1", (1, 2, 4))):
        model.inputs.append(model.value(name, "int8", shape, -5))
    model.constant("at", np.array([places], np.int64))
    model.outputs.append(model.value("y", "int8", (1, 3, 4), -5))
    model.node("ScatterND", ["x0", "at", "x1"], ["y"], quant_type="S8", reduction=reduction)
    return model


def recurrent(operator, directions=1, states=True, dtype="int8", hidden=5, **attributes):
    """Return a network of a GRU or LSTM of four time steps, with its states as inputs."""
    gates, model = {"GRU": 3, "LSTM": 4}[operator], Model()
    model.inputs.append(model.value("x", dtype, (4, 1, 3), -6))
    model.constant("w", draw((directions, gates * hidden, 3), dtype), -6)
    model.constant("r", draw((directions, gates * hidden, hidden), dtype, 1), -6)
    model.constant("b", draw((directions, 2 * gates * hidden), "int16", 2, -99, 99), -8)
    outputs, shape = ["y", "h"], (directions, 1, hidden)
    model.outputs.append(model.value("y", dtype, (4, directions, 1, hidden), -7))
    model.outputs.append(model.value("h", dtype, shape, -7))
    names = ["x", "w", "r", "b", ""]
    if operator == "LSTM":
        outputs.append("c")
        model.outputs.append(model.value("c", "int16", shape, -8))
    if states:
        for name, exponent, kind in (("h0", -7, dtype), ("c0", -8, "int16"))[: gates - 2]:
            model.inputs.append(model.value(name, kind, shape, exponent))
            names.append(name)
    attributes = {"hidden_size": hidden, "gate_exponent": -8, **attributes}
    if operator == "GRU":
        attributes.setdefault("linear_before_reset", 1)
    direction = "bidirectional" if directions == 2 else "forward"
    kind = kind_of(dtype)
    model.node(operator, names, outputs, quant_type=kind, direction=direction, **attributes)
    return model


def integers(*numbers):
    return (np.array(numbers, np.int64),)


#: Name -> function that makes the network.
CASES = {
    "classifier": classifier,
    "streaming": streaming,
    "conv": lambda: conv(draw((3, 2, 3, 17)), (1, 5, 4, 3), pads=[1, 0, 2, 1], strides=[2, 1]),
    "conv_rows": lambda: conv(draw((3, 3, 5)), (1, 9, 3), dilations=[2], pads=[2, 0]),
    "conv_s16": lambda: conv(draw((2, 2, 3, 9), "int16"), (1, 4, 4, 3), "int16"),
    "depthwise": lambda: conv(draw((3, 3, 18, 1)), (1, 5, 5, 18), group=18),
    "gemm": lambda: single(
        *("Gemm", [(1, 7)], (1, 19)),
        constants={"w": (draw((1, 1, 7, 19)), -7, "layout ==> (N/16)HWC16_UNALIGNED")},
        activation="Relu",
    ),
    "matmul": lambda: single(
        "MatMul", [(1, 2, 3, 8), (1, 2, 8, 19)], (1, 2, 3, 19), made=-4, target="esp32s3"
    ),
    "mul": lambda: single("Mul", [(1, 3, 4, 5), (1, 1, 1, 5)], (1, 3, 4, 5), made=-4),
    "sub": lambda: single("Sub", [(1, 3, 4, 5), (1, 3, 4, 5)], (1, 3, 4, 5)),
    "requantize": lambda: single("RequantizeLinear", [(1, 9)], (1, 9), made=-3),
    "max_pool": lambda: single(
        "MaxPool", [(1, 5, 5, 3)], (1, 3, 3, 3), kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4
    ),
    "concat": lambda: single(
        *("Concat", [(1, 2, 3), (1, 4, 3), (1, 1, 3)], (1, 7, 3)), exponents=(-5, -5, -4), axis=1
    ),
    "transpose": lambda: single("Transpose", [(1, 2, 3, 4)], (1, 4, 2, 3), perm=[0, -1, 1, 2]),
    "slice": lambda: single(
        *("Slice", [(1, 9, 4)], (1, 3, 2)),
        constants={
            **{"starts": integers(-8, 1), "ends": integers(9, 2**40), "axes": integers(1, -1)},
            "steps": integers(3, 2),
        },
    ),
    "gather": lambda: single(
        *("Gather", [(1, 5, 4)], (1, 3, 4)), constants={"at": integers(4, 0, 4)}, axis=-2
    ),
    "space_to_depth": lambda: single("SpaceToDepth", [(1, 4, 6, 3)], (1, 2, 3, 12), blocksize=2),
    "depth_to_space": lambda: single(
        *("DepthToSpace", [(1, 2, 3, 12)], (1, 4, 6, 3), "int16"), blocksize=2, mode="CRD"
    ),
    "reshape": lambda: single(
        "Reshape", [(1, 6, 4)], (1, 3, 8), constants={"shape": integers(0, -1, 8)}
    ),
    "pad": lambda: single(
        "Pad", [(1, 2, 3)], (1, 4, 4), constants={"pads": integers(0, 2, 0, 0, 0, 1)}
    ),
    "div": lambda: single("Div", [(1, 3, 4), (1, 1, 4)], (1, 3, 4), made=-3),
    "lut": lambda: table("Sigmoid"),
    "lut_s16": lambda: table("LUT", "int16"),
    "swish_s16": lambda: single("Swish", [(1, 9)], (1, 9), "int16", exponents=(-12,)),
    "leaky_relu": lambda: single("LeakyRelu", [(1, 9)], (1, 9), alpha=0.25),
    "relu": lambda: single("Relu", [(1, 9)], (1, 9), made=-4),
    "neg": lambda: single("Neg", [(1, 9)], (1, 9)),
    "clip": lambda: single(
        "Clip", [(1, 9)], (1, 9), constants={"low": (np.int8([-9]),), "high": (np.int8([40]),)}
    ),
    "prelu": lambda: single(
        "PRelu", [(1, 3, 4, 5)], (1, 3, 4, 5), constants={"a": (draw((5, 1, 1)), -6)}
    ),
    "quantize": lambda: single(
        "QuantizeLinear", [(1, 9)], (1, 9), "float32", exponents=(0,), made=-4, type="int8"
    ),
    "average_pool": lambda: single(
        "AveragePool",
        [(1, 5, 5, 3)],
        (1, 3, 3, 3),
        kernel_shape=[3, 3],
        strides=[2, 2],
        pads=[1] * 4,
    ),
    "global_average_pool": lambda: single("GlobalAveragePool", [(1, 5, 4, 3)], (1, 1, 1, 3)),
    "reduce_mean": lambda: single(
        "ReduceMean", [(1, 5, 4, 3)], (1, 5, 1, 3), constants={"axes": integers(-2)}, keepdims=1
    ),
    "greater": lambda: single("Greater", [(1, 3, 4), (1, 1, 4)], (1, 3, 4), type="bool"),
    "pow": lambda: single("Pow", [(1, 9), (1, 9)], (1, 9)),
    "mod": lambda: single("Mod", [(1, 3, 4), (1, 1, 4)], (1, 3, 4), "int16", fmod=1),
    "reduce_l2": lambda: single(
        "ReduceL2", [(1, 5, 4, 3)], (1, 5, 1, 3), constants={"axes": integers(-2)}, keepdims=1
    ),
    "layer_norm": lambda: single(
        "LayerNormalization",
        [(1, 3, 4)],
        (1, 3, 4),
        constants={"scale": (draw((4,)), -4), "bias": (draw((4,), seed=1), -5)},
        epsilon=1e-5,
    ),
    "rms_norm": lambda: single(
        "RMSNormalization",
        [(1, 3, 4)],
        (1, 3, 4),
        constants={"scale": (np.float32([1, -0.5, 2, 3]),)},
    ),
    "lp_norm": lambda: single("LpNormalization", [(1, 3, 4)], (1, 3, 4), made=-7, axis=1, p=1),
    "scatter": lambda: scatter("add"),
    "reverse": lambda: single(
        "ReverseSequence",
        [(1, 3, 4)],
        (1, 3, 4),
        constants={"lengths": integers(2)},
        time_axis=1,
        batch_axis=0,
    ),
    "gru": lambda: recurrent("GRU"),
    "lstm": lambda: recurrent("LSTM", 2, dtype="int16"),
    "softmax": lambda: single("Softmax", [(1, 4, 10)], (1, 4, 10), axis=-1, type="float32"),
    "resize": lambda: single(
        "Resize",
        [(1, 3, 4, 2)],
        (1, 6, 8, 2),
        constants={"": None, "scales": (np.float32([1, 1, 2, 2]),)},
        mode="nearest",
        coordinate_transformation_mode="asymmetric",
    ),
    "insert_zeros": lambda: single(
        "InsertZeros", [(1, 2, 3, 4)], (1, 5, 5, 4), stride=[3, 2], output_padding=[1, 0]
    ),
}
