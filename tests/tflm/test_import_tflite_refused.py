"""Refused .tflite files: one sentence names the operator, the tensor and the reason."""

import math

import numpy as np
import pytest
from tflite_cases import CASES, Net

import qemu_nn
from qemu_nn.errors import ModelError


def refused(net, folder, message):
    with pytest.raises(ModelError, match=message) as caught:
        qemu_nn.load(net.save(folder))
    assert "\n" not in str(caught.value)
    assert "net.tflite" in str(caught.value)


def tensor(index, **changes):
    """Return a change of one tensor of the convolution's file: 0 input, 1 weights, 2 output, 3
    bias.
    """
    return lambda net: net.tensors[index].update(changes)


def quantized(index, scale=0.05, zero=0):
    return tensor(
        index, scales=np.float32(np.atleast_1d(scale)), zeros=np.int64(np.atleast_1d(zero))
    )


def options(**changes):
    return lambda net: net.operators[0][4].update(changes)


def operator(**changes):
    """Other inputs, outputs or options than those of the file."""

    def change(net):
        name, inputs, outputs, table, fields = net.operators[0]
        parts = {"name": name, "inputs": inputs, "outputs": outputs, "table": table, **changes}
        net.operators[0] = (*parts.values(), fields)

    return change


def data(index, content):
    return lambda net: net.buffers.__setitem__(net.tensors[index]["buffer"], content)


REFUSED = {
    "it has the format version 4": lambda net: net.changes.update(version=4),
    "it has no network": lambda net: net.changes.update(subgraphs=0),
    "it has no inputs": lambda net: net.inputs.clear(),
    "the input: its output, tensor 3 .*, is already a constant": lambda net: net.inputs.append(3),
    "it has no outputs": lambda net: net.outputs.clear(),
    "its inputs name tensor 99; the graph has 4": lambda net: net.inputs.__setitem__(0, 99),
    "its inputs name tensor -1; the graph has 4": lambda net: net.inputs.__setitem__(0, -1),
    r"CONV_2D \(operator 0\): its inputs name tensor 4; the graph has 4": operator(
        inputs=[0, 1, 4]
    ),
    r"CONV_2D \(operator 0\): its outputs name tensor -1": operator(outputs=[-1]),
    r"CONV_2D \(operator 0\): its input 1 is missing": operator(inputs=[0, -1, 3]),
    "it has 1 inputs and 1 outputs": operator(inputs=[0]),
    "it has 4 inputs": operator(inputs=[0, 1, 3, 3]),
    "has 3 inputs and 2 outputs": operator(outputs=[2, 0]),
    "it reads tensor 2 .'output'.; an earlier operator must compute": operator(inputs=[2, 1, 3]),
    "its output, tensor 0 .'input'., is already an output of an earlier operator": operator(
        outputs=[0]
    ),
    "its output, tensor 1 .'t1'., is already a constant": operator(outputs=[1]),
    "its output, tensor 2 .*, is already a variable": tensor(2, variable=True),
    "tensor 1 .'t1'. is a variable with data in the file; it must have none": tensor(
        1, variable=True
    ),
    "it lacks its options": operator(table=None),
    r"it lacks its options \(Conv2DOptions\)": operator(table="Pool2DOptions"),
    "its input 1, tensor 1 .*, must be a constant": tensor(1, buffer=0),
    "its input 2, .* is INT8; it must be INT32": operator(inputs=[0, 1, 1]),
    "tensor 1 .'t1'. is in buffer 9; the file has 3": tensor(1, buffer=9),
    r"tensor 1 .'t1'. has 144 bytes of data; INT8 \[6, 3, 2, 5\] needs 180": tensor(
        1, shape=[6, 3, 2, 5]
    ),
    r"144 bytes of data; INT8 \[6, 3, 2\] needs 36": tensor(1, shape=[6, 3, 2]),
    "its bias, .*, has 5 elements; for 6 channels it must have 6": lambda net: (
        tensor(3, shape=[5])(net),
        data(3, bytes(20))(net),
    ),
    "tensor 2 cannot have the shape .*-9": tensor(2, shape=[1, -9, 10, 6]),
    "tensor 2 is too large": tensor(2, shape=[1, 2**30, 2**30, 6]),
    "its output, tensor 2 .* has the empty shape": tensor(2, shape=[1, 0, 10, 6]),
    "tensor 2 cannot have the shape .1, 1, 1, 1, 1": tensor(2, shape=[1] * 200),
    "tensor 2 .* is FLOAT32; it must be INT8": tensor(2, type="FLOAT32"),
    "tensor 2 .* is STRING; it must be one of INT4": tensor(2, type="STRING"),
    "its tensors have different types": tensor(2, type="INT16", zeros=np.zeros(1, np.int64)),
    "tensor 2 .* has 0 scales and 0 zero points": tensor(2, scales=[], zeros=[]),
    "tensor 2 .* has 2 scales": quantized(2, [1, 2], [0, 0]),
    "tensor 2 .* has the scale 0.0": quantized(2, 0.0),
    "tensor 2 .* has the scale -1.0": quantized(2, -1),
    "tensor 2 .* has the scale nan": quantized(2, math.nan),
    "tensor 2 .* has the scale inf": quantized(2, math.inf),
    "tensor 2 .* has the zero point 128; it must be -128 to 127": quantized(2, 1, 128),
    "tensor 2 .* has the zero point 5764607523034234880": quantized(2, 1, 5 << 60),
    "the ratio of its scales is": quantized(2, 1e-38),
    "the scales of its weights, .*, must be finite and not negative": quantized(
        1, [1] * 5 + [np.nan], [0] * 6
    ),
    "have 5 scales; for 6 channels they must have 1 or 6": quantized(1, [1] * 5, [0] * 5),
    "have scales along axis 3; scales must be along axis 0": tensor(1, axis=3),
    "its option StrideH is 0": options(StrideH=0),
    "its option StrideW is -1": options(StrideW=-1),
    "its option DilationHFactor is 0": options(DilationHFactor=0),
    "its option Padding is 2; it must be a value of Padding": options(Padding=2),
    "its window covers 19 of an image of 9": options(DilationHFactor=9, Padding="VALID"),
    "height 9; it must have 5: windows of 3 with stride 2 over 9": options(StrideH=2),
    "must have 1 images of 6 channels": tensor(2, shape=[1, 9, 10, 7]),
    r"'input' is \[9, 40\]; images must have 4 axes": tensor(0, shape=[9, 40]),
    "its weights are .* for 3 input channels; the last axis must divide 3": tensor(
        0, shape=[1, 9, 10, 3]
    ),
    r"the input: tensor 0 .* has no fixed size on axis 1": tensor(0, signature=[-1, -1, 10, 4]),
    r"CONV_2D \(operator 0\): it reads tensor 0 .* of FLOAT32; it must be quantized": tensor(
        0, type="FLOAT32"
    ),
    "it has too many inputs: 1001 more": operator(inputs=[0] * 1001),
    "has 20000 characters": tensor(2, name="x" * 20000),
}


@pytest.mark.parametrize("message", REFUSED)
def test_a_file_that_does_not_hold_together(message, tmp_path):
    net = CASES["convolve_same"]()
    REFUSED[message](net)
    refused(net, tmp_path, message)


def test_an_operator_that_is_not_read_is_named(tmp_path):
    net = CASES["convolve_same"]()
    net.operator("LSH_PROJECTION", [2], [net.middle(9, 10, 6)])
    refused(net, tmp_path, r"LSH_PROJECTION \(operator 1\): the operator is not supported\. Tensor")


@pytest.mark.parametrize(
    ("case", "change", "message"),
    [
        ("blocks_depth_to_space", {"shape": [1, 6, 8, 2]}, r"its output is \[1, 6, 8, 2\]; it"),
        ("pack_front", {"shape": [1, 3, 5, 4]}, r"its output is \[1, 3, 5, 4\]; it must be"),
        (
            "unpack_front",
            {"shape": [1, 2, 4]},
            r"its output is \[1, 2, 4\]; it must be \[1, 4, 2\]",
        ),
    ],
)
def test_outputs_of_other_shapes_and_formats_are_refused(case, change, message, tmp_path):
    net = CASES[case]()
    net.tensors[net.outputs[0]].update(change)
    refused(net, tmp_path, message)


def test_an_operator_of_somebody_is_named(tmp_path):
    net = CASES["convolve_same"]()
    net.operator("CUSTOM:Ethos", [2], [net.middle(9, 10, 6)])
    refused(net, tmp_path, r"Ethos \(operator 1\): the operator is not supported")


@pytest.mark.parametrize("form", [{"scale": 0.06, "zero": 3}, {"scale": 0.05, "zero": 4}])
def test_pooling_keeps_its_format(form, tmp_path):
    net = Net()
    x = net.begin(4, 4, 2)
    y = net.end(4, 4, 2, **form)
    window = {"StrideH": 1, "StrideW": 1, "FilterHeight": 2, "FilterWidth": 2, "Padding": "SAME"}
    net.operator("MAX_POOL_2D", [x], [y], "Pool2DOptions", **window)
    refused(net, tmp_path, "its input is int8 0.05")


def test_numbers_of_16_bits_have_no_zero_point(tmp_path):
    net = CASES["elementwise_add_s16"]()
    net.tensors[2]["zeros"] = np.int64([3])
    refused(net, tmp_path, r"ADD \(operator 1\): 'output' is int16 with the zero point 3")


def test_a_bias_in_other_steps_is_refused_as_the_device_does(tmp_path):
    net = CASES["fully_connected_plain"]()
    net.tensors[3]["scales"] = np.float32([0.5])
    refused(net, tmp_path, "its bias, .*, has the scale 0.5")


@pytest.mark.parametrize("name", ["depthwise_s16"])
def test_a_bias_of_16_bit_numbers_has_64_bits(name, tmp_path):
    net = CASES[name]()
    inputs = net.operators[0][1]
    bias = net.tensors[inputs[2]]
    inputs[2] = net.tensor(bias["shape"], "INT32", bias["scales"], data=np.zeros(bias["shape"]))
    refused(net, tmp_path, "its bias, .*, is INT32; .*: make it INT64")


def test_the_dimension_of_a_bias_does_not_matter(tmp_path):
    net = CASES["convolve_same"]()
    net.tensors[3]["axis"] = 3
    qemu_nn.load(net.save(tmp_path))


def test_softmax_has_the_format_of_its_kernel(tmp_path):
    net = CASES["softmax_s8"]()
    net.tensors[1]["zeros"] = np.int64([0])
    refused(
        net, tmp_path, "its output has the scale 0.00390625 and the zero point 0; it must have 0.0"
    )


def test_the_operator_that_needs_a_shape_is_named_not_the_one_that_makes_it(tmp_path):
    net = CASES["convolve_same"]()
    shape = net.tensor((4,), "INT32")
    tiled = net.output((1, 4, 4, 4))
    net.operator("SHAPE", [0], [shape], "ShapeOptions")
    net.operator("TILE", [2, shape], [tiled])
    refused(net, tmp_path, r"TILE \(operator 2\): the operator is not supported")


@pytest.mark.parametrize("beta", [0.0, -1.0, math.nan, math.inf, 1e-30])
def test_softmax_needs_a_slope(beta, tmp_path):
    net = CASES["softmax_s8"]()
    net.operators[0][4]["Beta"] = beta
    refused(net, tmp_path, "beta|Beta")


def test_constants_that_share_the_files_bytes_do_not_grow_without_end(tmp_path):
    net = Net()
    x, rows = net.begin(256), 2**15
    w = net.weights((rows, 256), 0, False)
    for _ in range(40):
        y = net.middle(rows)
        net.operator("FULLY_CONNECTED", [x, w, -1], [y], "FullyConnectedOptions")
    net.outputs.append(y)
    refused(net, tmp_path, "its constants take more than 256 MiB")


def test_operators_that_share_the_files_bytes_do_not_come_to_calls_without_end(tmp_path):
    net = Net()
    x, y = net.begin(1, 1), net.middle(1, 1, 900, zero=3)
    for _ in range(20):
        net.operator("PACK", [x] * 900, [y], "PackOptions", Axis=3)
        y = net.middle(1, 1, 900, zero=3)
    net.outputs.append(net.operators[-1][2][0])
    refused(net, tmp_path, r"operator 5\): the network needs more than 5000 calls")
    net.operators *= 2
    refused(net, tmp_path, r"operator 22\): it has too many inputs: 900 more")


def test_channels_beyond_all_measure_are_refused_before_they_are_scaled(tmp_path):
    net = Net()
    x, w = net.begin(1), net.weights((2**16, 1), 0, False)
    y = net.end(2**16)
    net.operator("FULLY_CONNECTED", [x, w, -1], [y], "FullyConnectedOptions")
    refused(net, tmp_path, "have 65536 channels; up to 65535")


def test_operators_beyond_all_measure_are_refused(tmp_path):
    net = Net()
    net.begin(8)
    for _ in range(5001):
        net.operator("SQUEEZE", [0], [0])
    refused(net, tmp_path, "it has 5001 operators; up to 5000 are supported")


@pytest.mark.parametrize("content", [b"", b"TFL3", b"\0\0\0\0TFL3", b"\x08\0\0\0TFL3" + bytes(99)])
def test_what_is_no_model_is_refused(content, tmp_path):
    path = tmp_path / "net.tflite"
    path.write_bytes(content)
    known = "(: it is damaged| is not a TensorFlow Lite| is empty)"
    with pytest.raises(ModelError, match=rf"net.tflite{known}"):
        qemu_nn.load(path)


@pytest.mark.parametrize("shape", [(4, 2), (3,), (2, 1, 6, 5, 4)])
def test_slopes_that_do_not_fit_the_tensor_are_refused(shape, tmp_path):
    net = Net()
    x, y = net.begin(6, 5, 4), net.end(6, 5, 4)
    slopes = net.tensor(shape, "INT8", 0.01, 7, data=np.ones(shape, int))
    net.operator("PRELU", [x, slopes], [y])
    refused(net, tmp_path, r"\[.*\] do not broadcast to its output \[1, 6, 5, 4\]")
