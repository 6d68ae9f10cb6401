"""Files that TensorFlow Lite Micro runs: formats that it ignores, missing parts, constants."""

import numpy as np
import pytest
from tflite_files import File

import qemu_nn
from qemu_nn.errors import DeviceWarning, ModelError

DEFAULT = qemu_nn.Target()
REFERENCE = qemu_nn.Target(kernels="reference", tflm="2026-10")
X = np.int8([[[[-100, 3], [7, 90]], [[0, -5], [127, -128]]]])


def run(net, folder, x=X, target=REFERENCE):
    """Return the outputs of a file, in its order."""
    network = qemu_nn.load(net.save(folder))
    made = network.session(target).run(x)
    return [made[name] for name in network.graph.outputs]


def one(name, shape, options=None, rest=(), out=(0.3, -7), ends=None, **fields):
    """Return a file of an operator on X, 0.1 * (q - 3), with an output of another format."""
    net = File()
    x = net.input((1, 2, 2, 2), 0.1, 3)
    more = [net.tensor(np.shape(values), "INT32", data=values) for values in rest]
    inputs = [more[0], x] if ends == "last" else [x, *more]
    net.operator(name, inputs, [net.output(shape, *out)], options, **fields)
    return net


WINDOW = {"FilterHeight": 2, "FilterWidth": 2, "StrideH": 2, "StrideW": 2, "Padding": "VALID"}


@pytest.mark.parametrize(
    ("net", "want"),
    [
        (one("RESHAPE", (1, 8), "ReshapeOptions"), X.reshape(1, 8)),
        (one("TRANSPOSE", (1, 2, 2, 2), rest=[[0, 3, 1, 2]]), X.transpose(0, 3, 1, 2)),
        (one("GATHER", (1, 2, 2, 1), "GatherOptions", [[1]], Axis=3), X[..., 1:]),
        (one("SPLIT", (1, 2, 2, 2), "SplitOptions", [0], ends="last", NumSplits=1), X),
        (one("SLICE", (1, 1, 2, 2), rest=[[0, 1, 0, 0], [1, 1, 2, 2]]), X[:, 1:]),
        (one("REVERSE_V2", (1, 2, 2, 2), rest=[[3]]), X[..., ::-1]),
        (one("PACK", (1, 1, 2, 2, 2), "PackOptions", Axis=0, ValuesCount=1), X[None]),
        (one("BROADCAST_TO", (2, 2, 2, 2), rest=[[2, 2, 2, 2]]), np.concatenate([X, X])),
    ],
    ids=lambda value: value.operators[0][0] if isinstance(value, File) else "",
)
def test_operators_that_move_elements_ignore_formats(net, want, tmp_path):
    with pytest.warns(DeviceWarning, match="differs from that of its output; it is ignored"):
        (got,) = run(net, tmp_path, target=DEFAULT)
    np.testing.assert_array_equal(got.ravel(), want.ravel())


def test_noise_in_a_scale_is_no_warning(tmp_path, recwarn):
    (got,) = run(one("REVERSE_V2", (1, 2, 2, 2), rest=[[1]], out=(0.1 * (1 + 1e-6), 3)), tmp_path)
    np.testing.assert_array_equal(got, X[:, ::-1])
    assert not [each for each in recwarn if issubclass(each.category, DeviceWarning)]


@pytest.mark.parametrize(("noise", "runs"), [(5e-7, True), (1e-5, False)])
def test_a_pool_needs_scales_within_a_millionth(noise, runs, tmp_path):
    net = one("MAX_POOL_2D", (1, 1, 1, 2), "Pool2DOptions", out=(0.1 + noise, 3), **WINDOW)
    if not runs:
        with pytest.raises(ModelError, match=r"refuses it: scale_diff <= 1\.0e-6 was not true"):
            run(net, tmp_path)
        return
    np.testing.assert_array_equal(run(net, tmp_path)[0].ravel(), X.max(axis=(1, 2)).ravel())


def test_relu6_clamps_in_the_format_of_its_input(tmp_path):
    with pytest.warns(DeviceWarning, match="it is ignored"):
        (got,) = run(one("RELU6", (1, 2, 2, 2)), tmp_path, target=DEFAULT)
    np.testing.assert_array_equal(got, np.clip(X, 3, 63))


@pytest.mark.parametrize("name", ["LOGISTIC", "TANH"])
def test_logistic_and_tanh_ignore_their_output_scale(name, tmp_path):
    zero = -128 if name == "LOGISTIC" else 0
    usual = 2.0**-8 if name == "LOGISTIC" else 2.0**-7
    got, want = (run(one(name, (1, 2, 2, 2), out=(s, zero)), tmp_path)[0] for s in (0.7, usual))
    np.testing.assert_array_equal(got, want)


def test_a_scale_beyond_all_shifts_saturates(tmp_path):
    net = File()
    net.operator("LOGISTIC", [net.input((1, 4), 30.0)], [net.output((1, 4), 2.0**-8, -128)])
    (got,) = run(net, tmp_path, np.int8([[-9, 0, 1, 99]]))
    assert got.tolist() == [[-128, -128, 127, 127]]


def test_missing_options_are_zeros(tmp_path):
    net = File()
    ends = [net.input((1, 3), 0.1), net.input((1, 3), 0.1)]
    net.operator("ADD", ends, [net.output((1, 3), 0.1)])
    network = qemu_nn.load(net.save(tmp_path))
    x = {tensor.name: np.int8([[1, -2, 100]]) for tensor in network.graph.inputs}
    assert network.session(REFERENCE).run(x)["output"].tolist() == [[2, -4, 127]]


def test_options_whose_zeros_have_no_meaning_are_required(tmp_path):
    with pytest.raises(ModelError, match=r"it lacks its options \(SoftmaxOptions\)"):
        run(one("SOFTMAX", (1, 2, 2, 2), out=(2.0**-8, -128)), tmp_path)


def test_an_activation_that_no_kernel_computes_is_ignored(tmp_path):
    options = {**WINDOW, "FusedActivationFunction": "TANH"}
    net = one("MAX_POOL_2D", (1, 1, 1, 2), "Pool2DOptions", out=(0.1, 3), **options)
    with pytest.warns(DeviceWarning, match="its fused activation TANH is ignored"):
        (got,) = run(net, tmp_path, target=DEFAULT)
    np.testing.assert_array_equal(got.ravel(), X.max(axis=(1, 2)).ravel())


@pytest.mark.parametrize("mask", ["EllipsisMask", "NewAxisMask"])
def test_masks_of_a_strided_slice_are_ignored_or_refused(mask, tmp_path):
    rest = [[0, 1, 0, 0], [1, 2, 2, 2], [1, 1, 1, 1]]
    net = one("STRIDED_SLICE", (1, 1, 2, 2), "StridedSliceOptions", rest, (0.1, 3), **{mask: 1})
    with pytest.warns(DeviceWarning, match=f"its {mask} is ignored"):
        (got,) = run(net, tmp_path, target=DEFAULT)
    np.testing.assert_array_equal(got, X[:, 1:])
    net.tensors[net.outputs[0]]["shape"] = [1, 2, 2]
    with pytest.raises(ModelError, match=r"refuses it: output_shape->data.* != dim_shape"):
        run(net, tmp_path)


def dense(scale, zeros, new_code=False):
    """Return a file of a 1 x 1 convolution, two channels of weights [[1, 2], [3, 4]]."""
    net = File()
    x = net.input((1, 2, 2, 2), 1.0)
    w = net.tensor((2, 1, 1, 2), "INT8", scale, zeros, [1, 2, 3, 4])
    net.tensors[w]["zeros"] = np.int64(np.atleast_1d(zeros))
    options = {"Padding": "VALID", "StrideH": 1, "StrideW": 1}
    net.operator("CONV_2D", [x, w], [net.output((1, 2, 2, 2), 1.0)], "Conv2DOptions", **options)
    net.changes["new_code_only"] = new_code
    return net


@pytest.mark.parametrize(
    ("net", "scales"),
    [
        (dense([1.0, 1.0], 0), [1, 1]),
        (dense([1.0, 0.0], [0, 0]), [1, 0]),
        (dense([1.0, 1.0], [0, 0], new_code=True), [1, 1]),
    ],
    ids=["one zero point", "a scale of 0", "builtin_code alone"],
)
def test_weights_of_a_convolution(net, scales, tmp_path):
    x = np.int8([[[[1, 2], [3, -4]], [[5, 6], [-7, 8]]]])
    (got,) = run(net, tmp_path, x)
    np.testing.assert_array_equal(got, x @ np.array([[1, 3], [2, 4]]) * scales)


def test_zero_points_of_weights_are_ignored(tmp_path):
    with pytest.warns(DeviceWarning, match="the zero points of its weights, .*, are ignored"):
        (got,) = run(
            dense([1.0, 1.0], [5, 6]), tmp_path, np.ones((1, 2, 2, 2), np.int8), target=DEFAULT
        )
    assert got.ravel().tolist() == [3, 7] * 4


def test_scales_without_zero_points_do_not_count(tmp_path):
    net = dense([1.0, 1.0], [0, 0])
    net.tensors[0]["zeros"] = np.empty(0, np.int64)
    words = "refuses it: input->quantization.type != kTfLiteAffineQuantization"
    with pytest.raises(ModelError, match=words):
        run(net, tmp_path)


def test_a_factor_of_scale_0_gives_the_zero_point(tmp_path):
    net = File()
    zeros = net.tensor((1, 2, 2, 2), "INT8", 0.0, 4, X)
    ends = [net.input((1, 2, 2, 2)), zeros]
    net.operator("MUL", ends, [net.output((1, 2, 2, 2), 0.5, 9)], "MulOptions")
    assert (run(net, tmp_path)[0] == 9).all()


@pytest.mark.parametrize("name", ["QUANTIZE", "RELU", "LOGISTIC", "MEAN", "SOFTMAX"])
def test_a_constant_is_an_operand_of_any_operator(name, tmp_path):
    """Give X as an input, and as a constant next to an input that nobody reads."""
    made = []
    for constant in (False, True):
        rest, shape = ([[1, 2]], (1, 2)) if name == "MEAN" else ([], (1, 2, 2, 2))
        kinds = {"MEAN": "ReducerOptions", "SOFTMAX": "SoftmaxOptions"}
        fields = {"Beta": 1.0} if name == "SOFTMAX" else {}
        net = one(name, shape, kinds.get(name), rest, (2.0**-8, -128), **fields)
        if constant:
            net.buffers.append(X.tobytes())
            net.tensors[0]["buffer"] = len(net.buffers) - 1
            net.inputs = [net.tensor((1, 2, 2, 2), "INT8", 1.0, name="unread")]
        made += run(net, tmp_path)
    np.testing.assert_array_equal(*made)


def test_an_empty_operand_of_a_concatenation_adds_nothing(tmp_path):
    net = File()
    ends = [net.tensor((1, 0), "INT8", 0.5), net.input((1, 3)), net.tensor((1, 1), "INT8", 0.5,
                                                                            data=[7])]  # fmt: skip
    net.operator("CONCATENATION", ends, [net.output((1, 4))], "ConcatenationOptions", Axis=1)
    assert run(net, tmp_path, np.int8([[1, 2, 3]]))[0].tolist() == [[1, 2, 3, 7]]


@pytest.mark.parametrize(
    ("shape", "words"),
    [((1, 0), "all its inputs are empty; at least one must"), ((4,), "all axes except 1 must be")],
)
def test_operands_of_a_concatenation_that_do_not_fit_are_refused(shape, words, tmp_path):
    net = File()
    ends, y = [net.tensor(shape, "INT8", 0.5, data=[7] * (4 * (shape == (4,))))], net.output((1, 4))
    net.input((1, 4))
    net.operator("CONCATENATION", ends, [y], "ConcatenationOptions", Axis=1)
    with pytest.raises(ModelError, match=words):
        qemu_nn.load(net.save(tmp_path))


@pytest.mark.parametrize("computed", [False, True])
def test_the_shape_of_a_transposed_convolution_is_ignored(computed, tmp_path):
    net = File()
    x = net.input((1, 2, 2, 2), 1.0)
    shape = net.tensor((4,), "INT32", data=None if computed else [9, 9, 9, 9])
    if computed:
        net.operator("SHAPE", [x], [shape], "ShapeOptions", OutType=2)
    w = net.tensor((1, 1, 1, 2), "INT8", 1.0, data=[1, 2])
    options = {"Padding": "VALID", "StrideH": 1, "StrideW": 1}
    y = net.output((1, 2, 2, 1), 1.0)
    net.operator("TRANSPOSE_CONV", [shape, w, x], [y], "TransposeConvOptions", **options)
    x = np.arange(8, dtype=np.int8).reshape(1, 2, 2, 2)
    np.testing.assert_array_equal(run(net, tmp_path, x)[0], x @ np.array([[1], [2]]))


def test_a_file_without_operators_copies_its_inputs(tmp_path):
    net = File()
    first, second = net.input((1, 2)), net.input((1, 3))
    net.outputs = [second, first]
    network = qemu_nn.load(net.save(tmp_path))
    x = {tensor.name: np.ones((1, *tensor.shape), np.int8) for tensor in network.graph.inputs}
    made = network.session().run(x)
    assert [made[name].shape for name in network.graph.outputs] == [(1, 3), (1, 2)]


@pytest.mark.parametrize(
    ("name", "rest", "shape", "words"),
    [
        ("SQUEEZE", [], (1, 4, 2), "it must remove axes of size 1.*current < input_num_dims"),
        ("SQUEEZE", None, (1, 8), r"its output is \[1, 8\]; it must be \[2, 2, 2\].*out_idx"),
        ("EXPAND_DIMS", [4], (1, 2, 2, 1, 2), r"its output is .*; it must be \[1, 2, 2, 2, 1\]"),
    ],
)
def test_axes_to_remove_and_to_add_are_checked(name, rest, shape, words, tmp_path):
    if name == "SQUEEZE":
        fields = {} if rest is None else {"SqueezeDims": [1]}
        net = one(name, shape, "SqueezeOptions", out=(0.1, 3), **fields)
    else:
        net = one(name, shape, rest=[rest], out=(0.1, 3))
    with pytest.raises(ModelError, match=words):
        run(net, tmp_path)


@pytest.mark.parametrize(
    ("paddings", "words"),
    [([[0, 0], [0, 0], [0, 0], [0, 0]], ""),
     ([[0, 0], [1, 2], [0, 0], [0, 0]], "INT64 and read as INT32; .*output_dim != expected_dim")],
)  # fmt: skip
def test_paddings_of_int64_are_read_as_pairs(paddings, words, tmp_path):
    net = one("PAD", [1, 2 + sum(paddings[1]), 2, 2], rest=[paddings], out=(0.1, 3))
    net.tensors[1]["type"] = "INT64"
    net.buffers[net.tensors[1]["buffer"]] = np.int64(paddings).tobytes()
    if words:
        with pytest.raises(ModelError, match=words):
            run(net, tmp_path)
    else:
        np.testing.assert_array_equal(run(net, tmp_path)[0], X)


def test_a_row_of_one_element_is_the_largest_number_with_reference_kernels(tmp_path):
    net = File()
    x, y = net.input((1, 1), 1e-3, type="INT16"), net.output((1, 1), 2.0**-15, type="INT16")
    net.operator("SOFTMAX", [x], [y], "SoftmaxOptions", Beta=1.0)
    (got,) = run(net, tmp_path, np.int16([[5], [-9]]))
    assert got.tolist() == [[32767], [32767]]
    (other,) = run(net, tmp_path, np.int16([[5]]), DEFAULT)
    assert other.tolist() == [[-32768]]
