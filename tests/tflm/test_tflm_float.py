"""Operators on float32 and int32 between quantized ones, as TensorFlow Lite Micro has them."""

from decimal import Decimal

import numpy as np
import pytest
import recorded_tflite
from decimals import rounded
from paths import SHARED
from recorded_archives import ARCHIVES
from tflite_files import File

import qemu_nn
from qemu_nn import cmsis
from qemu_nn._native import lib
from qemu_nn.errors import DeviceWarning, ModelError
from qemu_nn.functions.tflm_float import ACTIVATIONS, BINARY, COMPARE, TYPES, UNARY, bits
from qemu_nn.functions.tflm_float_axes import POOLS, SUMS
from qemu_nn.importers.tflite.parser import read

pytestmark = pytest.mark.filterwarnings("ignore::qemu_nn.errors.DeviceWarning")

RECORDED = ARCHIVES["tflm_float"]

#: Files of two operands, one of which is a constant.
WITH_A_CONSTANT = [
    n for n in RECORDED.names() if n.startswith(("div_int32", "floor_div", "floor_mod"))
]

LENET = SHARED / "models_tflite2" / "tinyengine_ptq_mnist_lenet-300-100.tflite"


@pytest.mark.parametrize("name", WITH_A_CONSTANT)
def test_a_recorded_operator_with_a_constant_has_the_bits_of_the_device(name, tmp_path):
    """Run the row by itself."""
    ends = ("div", "s32") if name == "div_int32" else ("_".join(name.split("_")[:2]), "f32")
    more = {"activation": 0} if ends[0] == "div" else {}
    model = read(RECORDED.write(name, tmp_path))
    tensors = [model.tensor(index) for index in model.operators[0].inputs]
    arrays = RECORDED.arrays(name)
    for sample, want in zip(arrays["input_0"], arrays["output_0"]):
        operands = [sample if tensor.data is None else tensor.data for tensor in tensors]
        first, second = (operand.ravel() for operand in np.broadcast_arrays(*operands))
        got = getattr(cmsis, "tflm_{}_{}".format(*ends))(input1=first, input2=second, **more)
        assert recorded_tflite.differing(got, want.ravel()) == 0


@pytest.mark.skipif(not LENET.is_file(), reason=f"{LENET} is not here")
def test_a_published_network_that_ends_with_real_numbers_has_the_bits_of_the_device():
    arrays, _ = recorded_tflite.read(LENET)
    assert recorded_tflite.differences(qemu_nn.load(LENET), arrays) == {}


@pytest.mark.skipif(not LENET.is_file(), reason=f"{LENET} is not here")
@pytest.mark.parametrize("name", recorded_tflite.SECOND_NEAREST)
def test_a_corrected_recording_is_the_real_logarithm_rounded_once(name):
    """Check that the corrected elements are the largest of their rows: log_softmax is -log(sum)
    there.
    """
    path = LENET.with_name(f"{name}.tflite")
    _, (sample, *_, column), recorded, nearest = recorded_tflite.SECOND_NEAREST[name]
    network, (arrays, _) = qemu_nn.load(path), recorded_tflite.read(path)
    x = recorded_tflite.given(network.graph, arrays)
    traced = network.session().run(x, trace=True)
    logits = traced[network.graph.nodes[-1].inputs[0]][sample]
    assert logits.argmax() == column
    total = np.float32(0)
    for below in logits - logits.max():
        total += rounded(Decimal(float(below)).exp())
    exact = -Decimal(float(total)).ln()
    assert rounded(exact) == nearest
    assert nearest < 0
    assert np.nextafter(nearest, np.float32(-1)) == recorded


def test_what_is_computed_is_counted_as_c_counts_it():
    for names in (TYPES, UNARY, BINARY, COMPARE):
        assert [getattr(lib, f"QN_F_{name.upper()}") for name in names] == [*range(len(names))]
    assert [getattr(lib, f"QN_F_{name.upper()}_POOL") for name in POOLS] == [0, 1, 2]
    assert [getattr(lib, f"QN_F_{name.upper()}") for name in SUMS] == [0, 1, 2, 3]
    kept = ["QN_F_KEEP_ALL", *(f"QN_F_KEEP_{name}" for name in ACTIVATIONS[1:])]
    assert [getattr(lib, name) for name in kept] == [0, 1, 2, 3]


# ---- networks: integers, floats between them, integers ----


class Net(File):
    """A network that begins with int8."""

    def __init__(self, *shape):
        super().__init__()
        self.shape, self.x = (1, *shape), self.input((1, *shape), 0.05, -3)

    def real(self, x=None):
        """Dequantize a tensor."""
        made = self.tensor(self.shape, "FLOAT32")
        self.operator("DEQUANTIZE", [self.x if x is None else x], [made])
        return made

    def end(self, real, **form):
        """Quantize the floats of the output."""
        self.operator("QUANTIZE", [real], [self.output(self.shape, **form)])


def run(net, folder, *inputs):
    network = qemu_nn.load(net.save(folder))
    return network.session().run([*inputs] if len(inputs) > 1 else inputs[0])[
        network.graph.outputs[0]
    ]


STEPS = np.arange(-128, 128, dtype=np.int8).reshape(1, 256)
REAL = (np.float64(np.float32(0.05)) * (STEPS.astype(int) + 3)).astype(np.float32)


@pytest.mark.parametrize(("type", "scale", "zero"), [("INT8", 0.1, 7), ("INT16", 0.001, 0)])
def test_real_numbers_between_integers(type, scale, zero, tmp_path):
    net, limits = Net(256), np.iinfo(type.lower())
    real = net.tensor(net.shape, "FLOAT32")
    net.operator("SQUARE", [net.real()], [real], "SquareOptions")
    net.end(real, type=type, scale=scale, zero=zero)
    square = REAL * REAL
    steps = (square / np.float32(scale)).astype(np.float64)
    want = np.clip(np.floor(steps + 0.5) + zero, limits.min, limits.max)
    np.testing.assert_array_equal(run(net, tmp_path, STEPS), want)


def test_a_fused_activation_of_real_numbers(tmp_path):
    net = Net(256)
    real, half = net.real(), net.tensor(net.shape, "FLOAT32")
    net.operator("NEG", [real], [half], "NegOptions")
    out = net.output(net.shape, None, type="FLOAT32")
    options = {"FusedActivationFunction": "RELU6"}
    net.operator("SUB", [real, half], [out], "SubOptions", **options)
    np.testing.assert_array_equal(run(net, tmp_path, STEPS), np.clip(REAL + REAL, 0, 6))


def test_a_sum_of_int32_leaves_out_its_activation(tmp_path):
    net = Net(256)
    wide = net.tensor(net.shape, "INT32")
    net.operator("CAST", [net.x], [wide], "CastOptions")
    out = net.output(net.shape, None, type="INT32")
    options = {"FusedActivationFunction": "RELU"}
    net.operator("ADD", [wide, wide], [out], "AddOptions", **options)
    with pytest.warns(DeviceWarning, match="the fused activation is ignored"):
        got = run(net, tmp_path, STEPS)
    np.testing.assert_array_equal(got, 2 * STEPS.astype(int))


def test_what_the_devices_library_computes_is_warned_of(tmp_path):
    net = Net(256)
    net.operator("EXP", [net.real()], [net.output(net.shape, None, type="FLOAT32")], "ExpOptions")
    with pytest.warns(DeviceWarning, match="device's C library .* its last bit may differ"):
        run(net, tmp_path, STEPS)


@pytest.mark.parametrize("back", ["INT8", "INT16"])
def test_integers_of_32_bits_between_others(back, tmp_path):
    net = Net(256)
    wide = net.tensor(net.shape, "INT32", 0.001, 17)
    net.operator("QUANTIZE", [net.x], [wide])
    zero = 5 if back == "INT8" else 0
    net.operator("QUANTIZE", [wide], [net.output(net.shape, 0.1, zero, back)])
    wide_steps = 50 * (STEPS.astype(int) + 3)  # of 0.001, which is 1/100 of the output's
    halves_away = (2 * abs(wide_steps) + 100) // 200 * np.sign(wide_steps)
    limits = np.iinfo(back.lower())
    want = np.clip(halves_away + zero, limits.min, limits.max)
    np.testing.assert_array_equal(run(net, tmp_path, STEPS), want)


# ---- what is refused ----


def refused(net, folder, match):
    with pytest.raises(ModelError, match=match):
        qemu_nn.load(net.save(folder))


@pytest.mark.parametrize(
    ("source", "target"),
    [("INT8", "UINT8"), ("INT64", "BOOL"), ("INT8", "INT64"), ("UINT8", "FLOAT32")],
)
def test_a_cast_that_the_framework_does_not_do_is_refused(source, target, tmp_path):
    net = File()
    out = net.output((1, 4), None, type=target)
    net.operator("CAST", [net.input((1, 4), None, type=source)], [out], "CastOptions")
    refused(net, tmp_path, rf"CAST \(operator 0\): it casts {source.lower()} to")


@pytest.mark.parametrize(
    ("name", "source", "target"),
    [("QUANTIZE", "FLOAT32", "UINT8"), ("DEQUANTIZE", "INT32", "FLOAT32")],
)
def test_a_conversion_that_the_framework_does_not_do_is_refused(name, source, target, tmp_path):
    net = File()
    x = net.input((1, 4), None, type=source)
    if source == "FLOAT32":  # which at the start would be left out
        x, first = net.tensor((1, 4), "FLOAT32"), x
        net.operator("NEG", [first], [x], "NegOptions")
    out = net.tensor((1, 4), target, 0.5)
    net.operator(name, [x], [out])
    last = net.output((1, 4), None, type="FLOAT32")
    net.operator("CAST" if target == "UINT8" else "NEG", [out], [last])
    refused(net, tmp_path, f"{name} .* it converts {source.lower()} to {target.lower()}")


@pytest.mark.parametrize("name", ["FLOOR_DIV", "FLOOR_MOD", "SQRT", "LESS"])
def test_types_that_the_framework_does_not_take_are_refused(name, tmp_path):
    net = File()
    type = "UINT32" if name == "LESS" else "INT32"
    inputs = [net.input((1, 4), None, type=type) for _ in range(1 if name == "SQRT" else 2)]
    out = net.output((1, 4), None, type="BOOL" if name == "LESS" else type)
    net.operator(name, inputs, [out])
    refused(net, tmp_path, rf"{name} \(operator 0\): it does not support {type.lower()}")


@pytest.mark.parametrize("name", ["FLOOR_DIV", "DIV"])
def test_a_constant_divisor_with_a_zero_is_refused(name, tmp_path):
    net, type = File(), "FLOAT32" if name == "FLOOR_DIV" else "INT32"
    zeros = net.tensor((4,), type, data=np.array([1, 2, 0, 3], type.lower()))
    x, out = net.input((1, 4), None, type=type), net.output((1, 4), None, type=type)
    net.operator(name, [x, zeros], [out], *(["DivOptions"] if name == "DIV" else []))
    refused(net, tmp_path, "its divisor contains zeros")


def test_integers_without_a_scale_are_for_casts_alone(tmp_path):
    net = File()
    x = net.input((1, 4), None)
    net.operator("RELU", [x], [net.output((1, 4))])
    refused(net, tmp_path, "without a scale; it must be quantized")


def test_a_format_of_32_bits_must_have_a_scale(tmp_path):
    net = Net(4)
    net.operator("QUANTIZE", [net.x], [net.output(net.shape, None, type="INT32")])
    refused(net, tmp_path, "is INT32 with 0 scales; it must have one")


def test_scale_bits_must_be_positive():
    for wrong in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(qemu_nn.Error, match="positive, finite float32"):
            cmsis.tflm_quantize_f32_s8(
                input=np.zeros(3, np.float32), zero_point=0, scale_bits=bits(wrong)
            )
