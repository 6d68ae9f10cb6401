"""Operators of float networks on integer functions: values, functions, refusals, and firmware."""

import numpy as np
import pytest
from affine_operators import errors, functions, quantized
from exported import check, needs, write

import qemu_nn
from qemu_nn.api import golden as pipeline
from qemu_nn.errors import ModelError
from qemu_nn.ir.float_graph import FloatGraph, FloatNode
from qemu_nn.operators import (
    Affine,
    ArgMax,
    ConvTranspose,
    Dense,
    DepthToSpace,
    Elementwise,
    Gather,
    Identity,
    Lstm,
    MatMul,
    Normalize,
    Pad,
    PRelu,
    Reduce,
    Relu,
    Reshape,
    Resize,
    Softmax,
    SpaceToDepth,
    Transpose,
)
from qemu_nn.operators.curve import X, elu, gelu, mish
from qemu_nn.runtime.evaluate import evaluate

RNG = np.random.default_rng(1)
TABLE = "executorch_quantized_activation_s8"
NARROW = "of 8 bits only"


def normal(*shape):
    return RNG.normal(size=shape)


#: Description -> nodes from x [4, 6, 8]; the function of the last one with 8 and with 16 bits, or
#: why it is refused; the largest error in steps of the output.
CASES = {
    "gelu": ([("out", gelu(), ("x",))], TABLE, NARROW, 1.8),
    "mish": ([("out", mish(), ("x",))], TABLE, NARROW, 1.8),
    "elu": ([("out", elu(0.7), ("x",))], TABLE, NARROW, 1.6),
    "elu of tflite": ([("out", elu(), ("x",))], "tflm_elu_s8", NARROW, 1.6),
    "absolute": ([("out", X.of("abs"), ("x",))], "tflm_abs_s8", "tflm_abs_s16", 1.6),
    "transposed convolution": (
        [("out", ConvTranspose(normal(3, 2, 2, 8), normal(3), (2, 2)), ("x",))],
        "arm_transpose_conv_wrapper_s8",
        "tflm_transpose_conv_s16",
        2,
    ),
    "transposed convolution with output padding": (
        [("out", ConvTranspose(normal(3, 3, 3, 8), normal(3), (2, 2), (1, 1, 0, 0)), ("x",))],
        "tflm_slice_s8",
        "tflm_transpose_conv_s16",
        2,
    ),
    "transposed depthwise convolution": (
        [("out", ConvTranspose(normal(8, 5, 4, 1), None, (3, 2), (2, 3, 1, -2), groups=8), ("x",))],
        "tflm_slice_s8",
        "tflm_transpose_conv_s16",
        2,
    ),
    "transposed dilated convolution": (
        [("out", ConvTranspose(normal(4, 3, 3, 8), None, (1, 2), (1, 0, 1, 0), (2, 1)), ("x",))],
        "arm_transpose_conv_wrapper_s8",
        "tflm_transpose_conv_s16",
        2,
    ),
    "nearest": (
        [("out", Resize("nearest", (7, 12), half_pixel=True), ("x",))],
        "tflm_resize_nearest_s8",
        "tflm_resize_nearest_s16",
        0.6,
    ),
    "bilinear": (
        [("out", Resize("bilinear", (8, 12), half_pixel=True), ("x",))],
        "tflm_resize_bilinear_s8",
        NARROW,
        1.6,
    ),
    "depth to space": (
        [("out", DepthToSpace(2), ("x",))],
        "arm_transpose_s8",
        "tflm_transpose_s16",
        0.6,
    ),
    "pixel shuffle": (
        [("out", DepthToSpace(2, False), ("x",))],
        "tflm_transpose_s8",
        "tflm_transpose_s16",
        0.6,
    ),
    "space to depth": (
        [("out", SpaceToDepth(2), ("x",))],
        "arm_transpose_s8",
        "tflm_transpose_s16",
        0.6,
    ),
    "five axes": (
        [
            ("deep", Reshape((2, 2, 3, 2, 8)), ("x",)),
            ("out", Transpose((4, 2, 0, 3, 1)), ("deep",)),
        ],
        "tflm_transpose_s8",
        "tflm_transpose_s16",
        0.6,
    ),
    "product of matrices": (
        [
            ("a", Reshape((24, 8)), ("x",)),
            ("b", Reshape((8, 24)), ("x",)),
            ("out", MatMul(), ("a", "b")),
        ],
        "arm_batch_matmul_s8",
        "arm_batch_matmul_s16",
        2.5,
    ),
    "product with a transposed matrix": (
        [("a", Reshape((2, 12, 8)), ("x",)), ("out", MatMul(True), ("a", "a"))],
        "arm_batch_matmul_s8",
        "arm_batch_matmul_s16",
        2.5,
    ),
    "mean": ([("out", Reduce("mean", (0, 2)), ("x",))], "tflm_mean_s8", "tflm_mean_s16", 2),
    "sum": ([("out", Reduce("sum", (2,)), ("x",))], "tflm_sum_s8", "tflm_sum_s16", 2),
    "maximum": (
        [("out", Reduce("max", (2,)), ("x",))],
        "tflm_reduce_max_s8",
        "arm_max_pool_s16",
        0.6,
    ),
    "minimum": ([("out", Reduce("min", (0, 1)), ("x",))], "tflm_reduce_min_s8", NARROW, 0.6),
    "layer normalization": (
        [("out", Normalize((2,)), ("x",))],
        "tflm_requantize_s16_s8",
        "arm_elementwise_mul_s16",
        4,
    ),
    "root mean square": (
        [("out", Normalize((2,), 1e-6, centered=False), ("x",))],
        "tflm_requantize_s16_s8",
        "arm_elementwise_mul_s16",
        4,
    ),
    "lookup": ([("out", Gather(1, (1, 0, 0, 1, 4, 5)), ("x",))], "tflm_gather_s8", None, 0.6),
    "quotient": (
        [("e", X.of("abs") + 1.0, ("x",)), ("out", Elementwise("divide"), ("x", "e"))],
        "executorch_quantized_div_s8",
        NARROW,
        4,
    ),
    "slopes": ([("out", PRelu(normal(8)), ("x",))], "tflm_prelu_s8", "tflm_prelu_s16", 2.5),
    "slopes of columns": (
        [("out", PRelu(normal(6, 1) / 4), ("x",))],
        "tflm_prelu_s8",
        "tflm_prelu_s16",
        2.5,
    ),
    "softmax of rows": (
        [("out", Softmax(0), ("x",))],
        "arm_transpose_s8",
        "tflm_transpose_s16",
        2.6,
    ),
    "a factor for each pixel": (
        [("out", Affine(normal(4, 6, 1), np.zeros(())), ("x",))],
        "arm_elementwise_mul_s8",
        "arm_elementwise_mul_s16",
        3,
    ),
    "a term for each element": (
        [("out", Affine(np.ones(()), normal(6, 8)), ("x",))],
        "arm_elementwise_add_s8",
        "arm_elementwise_add_s16",
        2.5,
    ),
    "a factor and a term": (
        [("out", Affine(np.array(-0.5), np.array(0.2)), ("x",))],
        TABLE,
        "arm_depthwise_conv_wrapper_s16",
        1.6,
    ),
    "cropped and padded": (
        [("out", Pad(((-1, 0), (2, -1), (0, 0)), 0.5), ("x",))],
        "arm_pad_s8",
        "tflm_pad_s16",
        0.6,
    ),
    "cropped": (
        [("out", Pad(((-1, 0), (0, -1), (0, 0))), ("x",))],
        "tflm_slice_s8",
        "tflm_slice_s16",
        0.6,
    ),
}

#: Steps of 16 bits by which weights of 8 bits differ.
WIDE = 300


@pytest.mark.parametrize("what", CASES)
def test_an_operator_of_8_bits_is_off_by_steps_alone(what):
    nodes, function, _, limit = CASES[what]
    made, x = quantized(nodes)
    assert [*functions(made).values()][-1] == function
    assert errors(made, x)["out"] < limit


@pytest.mark.parametrize("what", CASES)
def test_an_operator_of_16_bits_runs_or_is_refused_with_the_reason(what):
    nodes, _, function, _ = CASES[what]
    if function == NARROW:
        with pytest.raises(ModelError, match=NARROW):
            quantized(nodes, dtype="int16")
        return
    made, x = quantized(nodes, dtype="int16")
    assert [*functions(made).values()][-1] == (function or "tflm_concatenation_s16")
    found = errors(made, x).get("out", [0])
    assert np.max(found) < WIDE


def test_a_table_has_a_result_where_its_function_has_none():
    made, _ = quantized([("out", X / X.of("abs"), ("x",))])
    table, held = made.graph.arrays["out_weights"], made.graph.node("out").output.format
    zero = made.graph.input.format.zero_point + 128
    values = held.dequantize(table[zero - 1 : zero + 2])
    np.testing.assert_allclose(values, [-1, 0, 1], atol=held.scale)


def test_an_index_is_an_integer_of_32_bits():
    for operator, find in ((ArgMax(2), np.argmax), (ArgMax(1, True), np.argmin)):
        made, x = quantized([("out", operator, ("x",))])
        codes = made.graph.input.format.quantize(x)
        (found,) = made.session().run(codes).values()
        assert found.dtype == np.int32
        axis = operator.axis + 1
        np.testing.assert_array_equal(found, np.expand_dims(find(codes, axis=axis), axis))


def test_a_normalization_of_equal_elements_is_zero():
    made, x = quantized([("out", Normalize((2,), 0.5), ("x",))])
    alike = np.repeat(x[..., :1], 8, axis=3) / 4  # whose means the calibration covers
    assert errors(made, alike)["out"] < 1


MEMORY = (
    ("flat", Reshape((24, 8)), ("x",)),
    ("out", Lstm(normal(4, 5, 8) / 3, normal(4, 5, 5) / 2, normal(4, 5)), ("flat",)),
)


@pytest.mark.parametrize(("bits", "least"), [(8, 25), (16, 40)])
def test_a_whole_sequence_is_one_call(bits, least):
    made, x = quantized(MEMORY, dtype=f"int{bits}")
    assert [*functions(made).values()] == [f"arm_lstm_unidirectional_s{min(bits, 16)}"]
    held = made.graph.node("out").output.format
    got = held.dequantize(made.session().run(made.graph.input.format.quantize(x))["out"])
    real = evaluate(made.reference, x)["out"]
    assert 10 * np.log10((real**2).sum() / ((got - real) ** 2).sum()) > least


def of_16_bits(nodes, **options):
    x = np.abs(normal(24, 4, 6, 8)).astype(np.float32) + 0.1
    graph = FloatGraph("net", "x", (4, 6, 8), "NHWC", nodes, (nodes[-1].name,))
    network = pipeline.FloatNetwork(graph)
    return qemu_nn.quantize(network, x, scheme="affine", bits=16, options=options), x


#: Description -> an operator of x [4, 6, 8] without a function of 16 bits.
FLOATS = {
    "gelu": gelu(),
    "mish": mish(),
    "elu": elu(0.7),
    "sign": X.of("sign") * X,
    "power": X**1.5,
    "constants": 1.0 / (X + 0.5) - X * 0.25,
    "bilinear": Resize("bilinear", (8, 12), half_pixel=True),
    "minimum": Reduce("min", (0, 1)),
    "logarithm": Softmax(2, log=True),
    "bent": Relu(slope=0.1, limit=1.0),
    "index": ArgMax(2),
}


@pytest.mark.parametrize("what", FLOATS)
def test_a_layer_without_an_integer_function_falls_back_to_floats(what):
    nodes = (FloatNode("out", FLOATS[what], ("x",)), FloatNode("end", Identity(), ("out",)))
    nodes = nodes[:1] if what != "logarithm" else (*nodes[:1], FloatNode("r", Relu(), ("out",)))
    with pytest.raises(ModelError, match="fallback='float' computes it in float32"):
        of_16_bits(nodes)
    made, x = of_16_bits(nodes, fallback="float")
    assert any("out: computed in float32 between" in note for note in made.notes)
    got, exact = made.predict(x), evaluate(made.reference, x)[made.graph.outputs[0]]
    if what == "index":
        np.testing.assert_array_equal(got.ravel(), exact.ravel())
    else:
        span = max(np.abs(exact).max(), 1e-3)
        assert np.abs(got.ravel() - exact.ravel()).max() < span / 4000


@pytest.mark.parametrize("options", [{}, {"fallback": "float"}])
def test_an_operator_that_floats_do_not_compute_either_is_named(options):
    nodes = (FloatNode("out", X**X, ("x",)),)
    with pytest.raises(ModelError, match=r"Curve 'out': .*that float32 does not represent$"):
        of_16_bits(nodes, **options)


def test_a_runtime_of_cmsis_nn_alone_refuses_other_functions():
    nodes = (FloatNode("out", Reduce("mean", (2,)), ("x",)),)
    with pytest.raises(ModelError, match="alone: out call tflm_mean_s16; runtime='tflm' brings"):
        of_16_bits(nodes, runtime="cmsis-nn")
    made, _ = of_16_bits(nodes)
    assert made.notes == ("CMSIS-NN does not have tflm_mean_s16; an export brings their C code",)
    alone = (FloatNode("out", Softmax(2), ("x",)),)
    assert of_16_bits(alone, runtime="cmsis-nn")[0].notes == ()


@pytest.mark.compiles
@needs("pc")
def test_firmware_with_layers_in_floats_passes_its_self_test(tmp_path):
    nodes = tuple(FloatNode(what, FLOATS[what], ("x",)) for what in FLOATS if what != "logarithm")
    x = np.abs(normal(8, 4, 6, 8)).astype(np.float32) + 0.1
    graph = FloatGraph("net", "x", (4, 6, 8), "NHWC", nodes, tuple(node.name for node in nodes))
    network = pipeline.FloatNetwork(graph)
    made = qemu_nn.quantize(network, x, scheme="affine", bits=16, options={"fallback": "float"})
    status, lines = check(write(tmp_path / "net", made, data=x[:2]))
    assert (status, lines[-1]) == (0, "PASS: 0 failures"), lines


def test_a_sequence_is_written_as_an_operator_of_tflite(tmp_path):
    made, x = quantized(MEMORY)
    made.save(tmp_path / "net.tflite")
    again = qemu_nn.load(tmp_path / "net.tflite")
    (expected,) = made.session().run(made.graph.input.format.quantize(x)).values()
    (found,) = again.session().run(made.graph.input.format.quantize(x)).values()
    np.testing.assert_array_equal(found.reshape(expected.shape), expected)


@pytest.mark.parametrize("how", [{"effort": "best"}, {"budget": {"ram": 100_000}}], ids=str)
def test_a_normalization_keeps_its_widths_in_every_step(how, tmp_path):
    """Check steps and budgets, which prepare and observe a network that is prepared already."""
    nodes = (
        FloatNode("a", Dense(normal(8, 6)), ("x",)),
        FloatNode("n", Normalize((1,)), ("a",)),
        FloatNode("g", gelu(), ("n",)),
        FloatNode("out", Dense(normal(3, 8)), ("g",)),
    )
    network = pipeline.FloatNetwork(FloatGraph("net", "x", (4, 6), None, nodes, ("out",)))
    x = normal(20, 4, 6).astype(np.float32)
    if "effort" in how:
        how = {"effort": {"level": "best", "minutes": 0.1}}
    made = qemu_nn.quantize(network, x, target="m4", **how)
    made.save(tmp_path / "net.qnz")
    real = network.evaluate(x)["out"]
    got = qemu_nn.load(tmp_path / "net.qnz").predict(x)
    assert 10 * np.log10((real**2).sum() / ((got - real) ** 2).sum()) > 22
    qemu_nn.analyze(made, x)


@pytest.mark.compiles
@needs("pc")
@pytest.mark.parametrize("bits", [8, 16])
def test_firmware_of_every_operator_passes_its_self_test(bits, tmp_path):
    """Export one network that has all operators on one input."""
    nodes = list(MEMORY)
    for number, what in enumerate(CASES):
        own, _, function, _ = CASES[what]
        if bits == 16 and function == NARROW:
            continue
        for name, operator, inputs in own:
            renamed = tuple(n if n == "x" else f"{n}{number}" for n in inputs)
            nodes.append((f"{name}{number}", operator, renamed))
    ends = tuple(name for name, _, _ in nodes if name.startswith("out"))
    made, x = quantized(nodes, dtype=f"int{bits}", outputs=ends)
    status, lines = check(write(tmp_path / "net", made, data=x[:2].astype(np.float32)))
    assert (status, lines[-1]) == (0, "PASS: 0 failures"), lines
