"""Reductions, resizing, products of matrices and transposed convolutions as the device has them.

Recorded of TensorFlow Lite Micro with CMSIS-NN, a file of one operator each; and what its reference
kernels do otherwise.
"""

import math

import numpy as np
import pytest
from integers import clamp, requantize64_tflm, requantize_double, saturate, wrap
from paths import SHARED
from recorded_archives import ARCHIVES
from tflite_cases import CASES, Net, inputs

import qemu_nn
from qemu_nn import cmsis
from qemu_nn.errors import DeviceWarning, Error, ModelError, Refused
from qemu_nn.functions.scaling import quantize_multiplier
from qemu_nn.importers.tflite.scaling import activation_range
from qemu_nn.targets import Target

RECORDED = ARCHIVES["tflm_reduce"]
OPS = SHARED / "golden" / "tflm_ops"
REFUSED = "fully_connected_16x8_bias32"
#: On 7.0.0 some of its rows are never written.
MENDED = "transpose_conv_same3_k5_int8_no_bias"


def arrays(name, prefix):
    """Recorded arrays whose keys begin so, in order."""
    found = RECORDED.arrays(name)
    return [found[key] for key in sorted(found) if key.startswith(f"{prefix}_")]


def outputs(network, given, lead, target="cortex-m4"):
    """Return the first output; lead: the number of leading axes of each input: samples, or also
    steps.
    """
    tensors = network.graph.inputs
    shaped = [x.reshape(*x.shape[:1], *lead, *t.shape) for x, t in zip(given, tensors)]
    results = network.session(target).run(shaped if len(shaped) > 1 else shaped[0])
    return results[network.graph.outputs[0]]


@pytest.mark.skipif(not OPS.exists(), reason="the recordings are not here")
def test_every_recording_of_these_operators_is_among_them():
    kinds = ("resize_", "reduce_", "sum_", "mean_", "arg_", "batch_matmul_", "transpose_conv_")
    there = {path.stem for path in OPS.glob("*.tflite") if path.stem.startswith(kinds)}
    assert {name for name in there if not name.endswith("_float")} <= set(RECORDED.names())


def test_rows_that_7_0_0_never_writes_are_refused(tmp_path):
    network, given = RECORDED.load(MENDED, tmp_path), arrays(MENDED, "input")
    got = outputs(network, given, (), qemu_nn.Target(cmsis="main-2026-07"))
    want = RECORDED.arrays(MENDED)["output_0_cmsis_main"]
    np.testing.assert_array_equal(got.ravel(), want.ravel())
    assert not np.array_equal(want, RECORDED.arrays(MENDED)["output_0"])
    with pytest.raises(Error, match=r"leaves the last ones unwritten; cmsis='main-2026-07' takes"):
        network.session(target=qemu_nn.Target(cmsis="7.0.0"))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("transpose_conv_relu", "TRANSPOSE_CONV: the fused activation RELU is ignored"),
        ("fully_connected_rows", "FULLY_CONNECTED: the default build of .* stops here unless"),
    ],
)
def test_what_nobody_expects_of_a_device_is_said(name, words, tmp_path):
    network = qemu_nn.load(CASES[name]().save(tmp_path))
    with pytest.warns(DeviceWarning, match=words):
        network.session()


def test_rows_of_more_than_two_axes_are_points_of_a_convolution(tmp_path):
    graph = qemu_nn.load(CASES["fully_connected_rows"]().save(tmp_path)).graph
    assert [node.function.name for node in graph.nodes] == ["arm_convolve_1x1_s8_fast"]


# ---- refused ----


def refused(net, folder, message):
    with pytest.raises(ModelError, match=message):
        qemu_nn.load(net.save(folder))


def test_a_bias_of_32_bits_of_a_layer_of_16_is_refused(tmp_path):
    with pytest.raises(Error, match=r'reads pairs .* as INT64: make it INT64, or .*"reference"'):
        RECORDED.load(REFUSED, tmp_path).session()


def transposed(bias):
    """Return a network of 16 bits; bias: its type, if there is one."""
    net = Net("INT16")
    x, w = net.begin(4, 5, 3), net.weights((2, 3, 3, 3))
    y = net.end(8, 10, 2)
    scales = net.tensors[x]["scales"] * net.tensors[w]["scales"]
    added = [net.tensor((2,), bias, scales, data=[30000, -20000])] if bias else []
    options = {"Padding": "SAME", "StrideH": 2, "StrideW": 2}
    shape = net.list(1, 8, 10, 2)
    net.operator("TRANSPOSE_CONV", [shape, w, x, *added], [y], "TransposeConvOptions", **options)
    return net


def test_a_transposed_convolution_of_16_bits_needs_a_bias_of_64(tmp_path):
    without = qemu_nn.load(transposed("").save(tmp_path))
    with pytest.raises(qemu_nn.Error, match="null pointer: give it an INT64 bias"):
        without.session()
    without.session(Target(kernels="reference"))
    refused(transposed("INT32"), tmp_path, "reads pairs .* as INT64: make it INT64")


def test_a_transposed_convolution_may_have_a_bias_of_16_bits(tmp_path):
    short, long = (qemu_nn.load(transposed(t).save(tmp_path)) for t in ("INT16", "INT64"))
    x = inputs("transposed", long.graph.inputs[0])
    first, second = (outputs(network, [x], ()) for network in (short, long))
    np.testing.assert_array_equal(first, second)


def reduced(kind, axes, out, type="INT8", keep=False, axes_type="INT32", out_scale=0.05):
    net = Net(type)
    x = net.begin(4, 5, 3)
    y = net.output(out, net.scaled(out_scale), net.zero(3), type)
    at = net.tensor((len(axes),), axes_type, data=axes)
    net.operator(kind, [x, at], [y], "ReducerOptions", KeepDims=keep)
    return net


def test_extremes_have_8_bits_and_one_format(tmp_path):
    refused(reduced("REDUCE_MAX", [1], (1, 5, 3), "INT16"), tmp_path, "does not support int16")
    refused(
        reduced("REDUCE_MIN", [1], (1, 5, 3), out_scale=0.1), tmp_path, "both must have one format"
    )


def test_axes_are_of_32_bits_and_inside(tmp_path):
    refused(reduced("SUM", [1], (1, 5, 3), axes_type="INT64"), tmp_path, "must be INT32")
    refused(reduced("SUM", [4], (1, 4, 5, 3)), tmp_path, "its axis is 4; it must be -4 to 3")
    refused(reduced("SUM", [1], (1, 4, 5)), tmp_path, r"its output is \[1, 4, 5\]; it must be")


def located(axes, type="INT32"):
    net = Net()
    x, at = net.begin(4, 5), net.list(*axes)
    y = net.output((1, 4), None, 0, type)
    net.operator("ARG_MAX", [x, at], [y], "ArgMaxOptions")
    return net


def test_a_place_is_along_one_axis(tmp_path):
    assert qemu_nn.load(located([2]).save(tmp_path)).graph.nodes[0].function.op == "arg_max"
    refused(located([1, 2]), tmp_path, "it has 2 axes; it must have one")


def multiplied(left, right, out, **flags):
    net = Net()
    x = net.input(left, 0.05, 3)
    rng = np.random.default_rng(1)
    w = net.tensor(right, "INT8", 0.02, -7, data=rng.integers(-128, 128, right))
    y = net.output(out, 0.4, -4)
    net.operator("BATCH_MATMUL", [x, w], [y], "BatchMatMulOptions", **flags)
    return net


@pytest.mark.parametrize(
    ("left", "right", "out", "message"),
    [
        ((1, 3, 8), (1, 7, 5), (1, 3, 5), "both numbers must be equal|batch axes must broadcast"),
        ((2, 3, 8), (3, 8, 5), (3, 3, 5), "both numbers must be equal|batch axes must broadcast"),
        ((1, 3, 8), (8,), (1, 3), "must have rows and columns"),
        ((1, 3, 8), (1, 8, 5), (1, 5, 3), "its output is"),
    ],
)
def test_matrices_that_do_not_fit_are_refused(left, right, out, message, tmp_path):
    refused(multiplied(left, right, out), tmp_path, message)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3, 8), (8, 5)),
        ((3, 8), (2, 8, 5)),
        ((4, 3, 8), (8, 5)),
        ((4, 2, 3, 8), (1, 8, 5)),
        ((4, 3, 8), (2, 1, 8, 5)),
        ((4, 1, 3, 8), (1, 2, 8, 5)),
        ((1, 2, 3, 8), (4, 1, 8, 5)),
    ],
)
@pytest.mark.parametrize("flags", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_products_of_matrices_broadcast(left, right, flags, tmp_path):
    """Check one multiplier for all channels, so that each is a product of its own."""
    swapped = [(*s[:-2], s[-1], s[-2]) if flag else s for s, flag in zip((left, right), flags)]
    out = np.matmul(np.zeros(left), np.zeros(right)).shape
    net = multiplied(*swapped, out, AdjX=bool(flags[0]), AdjY=bool(flags[1]))
    network = qemu_nn.load(net.save(tmp_path))
    x = inputs("matrices", network.graph.inputs[0])
    got = outputs(network, [x], ()).reshape(len(x), *out)
    values = np.frombuffer(net.buffers[1], np.int8).reshape(swapped[1]).astype(int) + 7
    shaped = x.reshape(len(x), *swapped[0]).astype(int) - 3
    a = shaped.swapaxes(-1, -2) if flags[0] else shaped
    b = values.swapaxes(-1, -2) if flags[1] else values
    factor, shift = quantize_multiplier(
        float(np.float32(0.05) * np.float32(0.02)) / np.float32(0.4)
    )
    sums = np.stack([np.matmul(each, b) for each in a])
    scaled = [requantize_double(int(s), factor, shift) for s in sums.ravel()]
    assert got.ravel().tolist() == [saturate(s - 4, 8) for s in scaled]


# ---- rows by themselves ----


def numbers(dtype, shape):
    limits = np.iinfo(dtype)
    rng = np.random.default_rng(2)
    return rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)


@pytest.mark.oracle("tflm_sum_{type}")
@pytest.mark.parametrize("type", ["s8", "s16"])
def test_a_sum_is_requantized_once(type):
    x = numbers({"s8": np.int8, "s16": np.int16}[type], (2, 3, 4, 5, 6))
    factor, shift = quantize_multiplier(0.013)
    zeros = {"input_zero_point": 3, "output_zero_point": -4}
    got = getattr(cmsis, f"tflm_sum_{type}")(input=x, multiplier=factor, shift=shift, **zeros)
    sums = (x.astype(int) - 3).sum(axis=(1, 3))
    bits = x.dtype.itemsize * 8
    scaled = [requantize_double(int(s), factor, shift) - 4 for s in sums.ravel()]
    assert got.ravel().tolist() == [saturate(s, bits) for s in scaled]


@pytest.mark.oracle("tflm_arg_{kind}_s8")
@pytest.mark.parametrize("kind", ["max", "min"])
def test_of_equal_numbers_the_first_is_the_place(kind):
    x = np.random.default_rng(3).integers(-2, 3, (3, 40, 5), np.int8)
    got = getattr(cmsis, f"tflm_arg_{kind}_s8")(input=x)
    assert np.array_equal(got, getattr(np, f"arg{kind}")(x, axis=1))


@pytest.mark.oracle("tflm_reduce_{kind}_s8")
@pytest.mark.parametrize("kind", ["max", "min"])
def test_an_extreme_is_of_all_reduced_axes(kind):
    x = numbers(np.int8, (2, 3, 4, 5, 6))
    got = getattr(cmsis, f"tflm_reduce_{kind}_s8")(input=x)
    assert np.array_equal(got, getattr(x, kind)(axis=(1, 3)))


@pytest.mark.oracle("tflm_reduce_all_b8")
def test_all_is_true_where_nothing_is_false():
    x = np.random.default_rng(4).random((2, 2, 4, 2, 6)) < 0.8
    got = cmsis.tflm_reduce_all_b8(input=x)
    assert np.array_equal(got, x.all(axis=(1, 3)))


def test_a_blend_is_rounded_as_the_build_rounds():
    """Check the middle of 0 and 1, and of 0 and -1: halves away from zero, or up."""
    pair = {"output_h": 1, "output_w": 4, "align_corners": 0, "half_pixel_centers": 0}
    x = np.array([0, 1, 0, -1], np.int8).reshape(2, 1, 2, 1)
    for rounding, want in (("double", [0, 1, 1, 1, 0, -1, -1, -1]), ("single", [0, 1, 1, 1, 0, 0])):
        got = cmsis.tflm_resize_bilinear_s8(input=x, rounding=rounding, **pair).ravel().tolist()
        assert got[: len(want)] == want


def test_a_resize_that_reads_beyond_the_image_is_refused():
    sides = {"output_h": 1, "output_w": 4096, "align_corners": 0, "half_pixel_centers": 0}
    with pytest.raises(Refused, match="reach pixel 3, beyond the image"):
        cmsis.tflm_resize_bilinear_s8(input=np.zeros((1, 1, 3, 1), np.int8), **sides)
    got = cmsis.tflm_resize_bilinear_s8(
        input=np.ones((1, 1, 4, 1), np.int8), **{**sides, "output_w": 2048}
    )
    assert (got == 1).all()


# ---- the reference kernels ----


def only_call(name, folder):
    """Function, arguments and weights of a case of tflite_cases.py, and its inputs."""
    graph = qemu_nn.load(CASES[name]().save(folder)).graph
    node = graph.nodes[-1]
    return graph, node, inputs(name, graph.inputs[0])


def of_rows(graph, node):
    bias, *scales = graph.arrays[node.bias]
    return {"bias": bias, **dict(zip(("multiplier", "shift"), np.int32(scales)))}


@pytest.mark.oracle("tflm_transpose_conv_s8")
@pytest.mark.parametrize("kind", ["RELU", "RELU6"])
def test_the_reference_kernel_has_the_activation_of_a_transposed_convolution(kind, tmp_path):
    name = f"transpose_conv_{kind.lower()}"
    graph, node, x = only_call(name, tmp_path)
    low, high = activation_range(kind, node.output.scale, node.output.zero_point, "int8")
    given = {n: v for n, v in node.params.items() if not n.startswith("pad_offset")}
    given.update(act_min=low, act_max=high, **of_rows(graph, node))
    weights = graph.arrays[node.weights]
    for sample, want in zip(x, RECORDED.content()[f"reference/{name}"]):
        got = cmsis.tflm_transpose_conv_s8(input=sample[None], filter=weights, **given)
        np.testing.assert_array_equal(got.ravel(), want.ravel())


@pytest.mark.oracle("tflm_convolve_s16")
def test_the_reference_kernel_sums_up_in_64_bits_without_a_bias(tmp_path):
    name = "convolve_s16_without_bias"
    graph, node, x = only_call(name, tmp_path)
    assert node.params["bias_is_int32"] == 1
    given = {**node.params, **of_rows(graph, node), "bias_is_int32": 0}
    for sample, want in zip(x, RECORDED.content()[f"reference/{name}"]):
        got = cmsis.tflm_convolve_s16(
            input=sample[None], filter=graph.arrays[node.weights], **given
        )
        np.testing.assert_array_equal(got.ravel(), want.ravel())


@pytest.mark.oracle("tflm_fully_connected_s16_s32")
def test_the_reference_kernel_has_sums_of_32_bits_where_the_bias_has():
    x, weights = numbers(np.int16, (3, 70)), numbers(np.int8, (5, 70))
    bias = np.array([0, 7, -(2**31), 2**31 - 1, 123456], np.int32)
    factor, shift = quantize_multiplier(0.0003)
    zeros = dict.fromkeys(("input_offset", "filter_offset", "output_offset"), 0)
    ends = {"act_min": -32768, "act_max": 30000}
    got = cmsis.tflm_fully_connected_s16_s32(
        input=x, filter=weights, bias=bias, multiplier=factor, shift=shift, **zeros, **ends
    )
    sums = x.astype(int) @ weights.T.astype(int) + bias
    want = [
        clamp(requantize_double(wrap(int(s), 32), factor, shift), -32768, 30000)
        for s in sums.ravel()
    ]
    assert got.ravel().tolist() == want
    assert math.isclose(abs(int(sums.max())), 2**31, rel_tol=0.1)


def test_the_reference_kernel_has_more_than_512_products_in_64_bits():
    """Return a reduction of one pixel, whose sum other kernels compute modulo 2^32."""
    x, weights = np.full((1, 1, 1, 1024), 32767, np.int16), np.full((1, 1, 1, 1024), 127, np.int8)
    rows = {"bias": np.zeros(1, np.int64), "multiplier": np.int32([2**30])}
    sides = {"output_h": 1, "output_w": 1, "input_offset": 0, "output_offset": 0}
    windows = {f"{n}_{a}": v for n, v in (("stride", 1), ("pad", 0), ("dilation", 1)) for a in "hw"}
    ends = {"act_min": -32768, "act_max": 32767, "bias_is_int32": 0}
    given = {**rows, "shift": np.int32([-17]), **sides, **windows, **ends}
    got = cmsis.tflm_convolve_s16(input=x, filter=weights, **given)
    assert got.item() == requantize64_tflm(1024 * 32767 * 127, 2**30, -17) == 16256
    assert cmsis.arm_convolve_s16(input=x, filter=weights, **given).item() < 0
