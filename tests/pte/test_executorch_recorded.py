"""Programs of ExecuTorch's cortex_m backend: what an emulated Cortex-M computes, byte for byte."""

import re
import warnings
from fractions import Fraction

import numpy as np
import pytest
from recorded_files import PTE
from tflite_damage import changed, tables

import qemu_nn
import qemu_nn.cmsis
from qemu_nn.errors import DeviceWarning, Error, ModelError, Refused

CORES = {"m4": "cortex-m4", "m55": "cortex-m55", "m3": "cortex-m3", "m0plus": "cortex-m0plus"}

#: Programs that stop on the device, and what is said of them.
STOPPED = {
    "add_scalar_m55": "different orders of axes",
    "hardsigmoid_m55": "no device can load it",
    "permute_nhwc_in_m55": "must have its channels last",
    "pixel_shuffle_m55": "up to 4, and the program stops",
}


own, recorded = PTE.own, PTE.arrays


@pytest.fixture
def file(tmp_path):
    """Write a program to a file, by its name."""
    return lambda name: PTE.file(name, tmp_path)


def core(name):
    return next(CORES[part] for part in reversed(name.split("_")) if part in CORES)


def memory(array, tensor):
    """Return a recorded array [N, *logical sizes] in memory order."""
    order = tensor.order or range(array.ndim - 1)
    moved = array.transpose(0, *(axis + 1 for axis in order)) if array.ndim > 1 else array
    return np.ascontiguousarray(moved).reshape(len(array), *tensor.shape)


def given(network, arrays):
    """Return the recorded inputs of all samples, as one batch."""
    numbers = {int(key[2 : key.index("_")]) for key in arrays if key.startswith("in")}
    samples = sorted(numbers)
    return {
        tensor.name: memory(np.stack([arrays[f"in{s}_{j}"] for s in samples]), tensor)
        for j, tensor in enumerate(network.graph.inputs)
    }


#: Operators that ask the device's libm, which may round otherwise in the last bit.
LIBM = ("elu",)


def wrong(network, results, arrays):
    """Count the differing bytes of the outputs, and of the calls if they are recorded."""
    tensors, count = network.graph.tensors, 0
    for key, array in arrays.items():
        match = re.fullmatch(r"(out|trace)(\d+)_(\d+)(_\d+)?", key)
        if match is None:
            continue
        kind, sample, number, part = match.groups(default="")
        if kind == "out":
            name = network.graph.outputs[int(number)]
        else:
            part = part or "(_0)?"  # which the first of a list may lack
            wanted = rf"[a-z]\w*[a-z2d]_{number}{part}"
            name = next(
                (n for n in results if re.fullmatch(wanted, n) and "constant" not in n), None
            )
            if name is None:  # a view, or indices that nothing reads
                continue
        want = memory(array[None], tensors[name])[0]
        got = results[name][int(sample)]
        assert got.dtype == want.dtype
        if name.startswith(LIBM):
            steps = got.view(np.int32).astype(np.int64) - want.view(np.int32)
            assert np.abs(steps).max() <= 1
            continue
        count += np.count_nonzero(got.view(np.uint8) != want.view(np.uint8))
    return count


@pytest.mark.caps
@pytest.mark.parametrize("name", sorted({*PTE.names()} - {*STOPPED}))
def test_outputs_and_every_call_have_the_device_s_bytes(name, file):
    network, arrays = qemu_nn.load(file(name)), recorded(name)
    x = given(network, arrays)
    session = network.session(target=core(name))
    assert wrong(network, session.run(x, trace=True), arrays) == 0
    outputs = {key: array for key, array in arrays.items() if key.startswith("out")}
    assert outputs
    assert wrong(network, session.run(x), outputs) == 0


@pytest.mark.parametrize("name", sorted(own())[::5])
def test_a_program_is_the_same_from_a_qnz_file_and_on_threads(name, file, tmp_path):
    network, arrays = qemu_nn.load(file(name)), recorded(name)
    network.save(tmp_path / "net.qnz")
    again = qemu_nn.load(tmp_path / "net.qnz")
    assert again.graph.inputs == network.graph.inputs
    outputs = {key: array for key, array in arrays.items() if key.startswith("out")}
    x = given(network, arrays)
    assert wrong(again, again.session(target=core(name), threads=2).run(x), outputs) == 0


@pytest.mark.parametrize("name", STOPPED)
def test_what_stops_is_refused_with_the_reason(name, file):
    if not PTE.folder.is_dir():
        pytest.skip(f"the recorded programs are not in {PTE.folder}")
    with pytest.raises(Error, match=re.escape(STOPPED[name])):
        qemu_nn.load(file(name)).session(target=core(name))


def test_a_program_for_helium_loses_its_bias_on_other_cores(file):
    network, arrays = qemu_nn.load(file("linear_m55")), recorded("linear_m55")
    with pytest.warns(DeviceWarning, match=r"built for Helium .* lack the bias"):
        session = network.session(target="cortex-m4")
    result = session.run(given(network, arrays), trace=True)
    other = qemu_nn.load(file("linear_m4"))
    (dense,) = [node for node in other.graph.nodes if "fully" in node.function.name]
    without = other.graph.arrays.copy()
    without[dense.bias] = np.zeros_like(without[dense.bias])
    x = given(other, recorded("linear_m4"))
    assert (x["input0"] == given(network, arrays)["input0"]).all()
    plain = qemu_nn.Network(type(other.graph)(**{**vars(other.graph), "arrays": without}))
    assert wrong(network, result, arrays) > 0
    want = plain.session(target="cortex-m4").run(x, trace=True)[dense.name]
    assert (result["quantized_linear_1"] == want).all()


def test_a_program_for_other_cores_stops_with_helium(file):
    with pytest.raises(Refused, match="built for cores without Helium"):
        qemu_nn.load(file("linear_m4")).session(target="cortex-m55")


def test_a_method_is_chosen_by_its_name(file, tmp_path):
    path = file("linear_m4_i8io")
    with pytest.raises(ModelError, match="no method 'backward'; have: forward, "):
        qemu_nn.load(path, method="backward")
    with pytest.raises(ModelError, match="0 inputs"):
        qemu_nn.load(path, method="input0_scale")
    assert qemu_nn.load(path, method="forward").graph.input.dtype == "int8"
    (tmp_path / "net.tflite").touch()
    with pytest.raises(Error, match="takes input, output, signature, not method="):
        qemu_nn.load(tmp_path / "net.tflite", method="forward")


@pytest.mark.parametrize("name", sorted(own())[::3])
def test_a_damaged_program_is_refused_or_harmless(name, tmp_path):
    data, path = own()[name]["file"].tobytes(), tmp_path / "net.pte"
    refused = 0
    for number in range(60):
        path.write_bytes(changed(data, np.random.default_rng(number), tables))
        try:
            network = qemu_nn.load(path)
        except ModelError:
            refused += 1
            continue
        inputs = network.graph.inputs
        if sum(tensor.nbytes for tensor in inputs) < 2**20:
            x = {t.name: np.ones((1, *t.shape), t.dtype) for t in inputs}
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", DeviceWarning)
                    network.session(target=core(name)).run(x)
            except Error:  # an offset, or a shape, that the device has not
                continue
    assert refused > 10


def test_no_beginning_of_a_program_is_read(tmp_path):
    data, path = own()["conv2d_3x3_m4"]["file"].tobytes(), tmp_path / "net.pte"
    for size in range(0, len(data) - 300, 7):
        path.write_bytes(data[:size])
        with pytest.raises(ModelError):
            qemu_nn.load(path)


@pytest.mark.parametrize("name", ["conv2d_3x3_m4", "lstm_cell_manual_m4", "permute_4d_cl_m55"])
def test_predict_takes_and_returns_the_program_s_own_shapes(name, file):
    network, arrays = qemu_nn.load(file(name)), recorded(name)
    count = len(network.graph.inputs)
    x = [arrays[f"in0_{j}"] for j in range(count)]
    result = network.session(target=core(name)).predict(x if count > 1 else x[0])
    outputs = list(result.values()) if isinstance(result, dict) else [result]
    named = dict(zip(result if isinstance(result, dict) else network.graph.outputs, outputs))
    for j, output in enumerate(network.graph.outputs):
        want = arrays[f"out0_{j}"]
        assert (named[output].shape, named[output].dtype) == (want.shape, want.dtype)
        assert named[output].tobytes() == want.tobytes()


# ---- the functions that CMSIS-NN has not, against their formulas in exact numbers ----


single = np.float32


def nearest(fraction):
    """Round to the nearest integer, halves to even: Python's own rule."""
    return round(fraction)


def half_up(x):
    return float(np.copysign(np.floor(np.abs(np.float64(x)) + 0.5), x))


@pytest.mark.oracle("executorch_quantize_per_tensor_{type}")
@pytest.mark.parametrize("type", ["s8", "s16"])
@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m55"])
def test_quantizing_has_the_formula_of_each_core(type, core):
    rng = np.random.default_rng(5)
    low, high = (-100, 90) if type == "s8" else (-30000, 32000)
    scale, zero, length = single(0.0371), -7, 16 * 20 + 5
    inverse = single(1) / scale
    x = rng.normal(size=length).astype(np.float32) * single(60 if type == "s8" else 600)
    x[:160:3] = (np.arange(54) - 27 + 0.5) * scale  # as near to halves as float32 comes
    call = getattr(qemu_nn.cmsis, f"executorch_quantize_per_tensor_{type}")
    bits = int(scale.view(np.int32))
    found = call(
        input=x, length=length, zero_point=zero, scale_bits=bits, quant_min=low, quant_max=high,
        target=core,
    )  # fmt: skip
    group = 16 if type == "s8" else 8
    for i, value in enumerate(x):
        product = Fraction(float(value)) * Fraction(float(inverse))
        if core == "cortex-m4" or i >= length // group * group:
            product = Fraction(float(value * inverse))  # rounded to single precision first
        assert found[i] == min(max(nearest(product) + zero, low), high), (i, value)


def test_with_helium_what_is_far_outside_wraps():
    x = np.full(17, 40000, np.float32)
    ends = {"quant_min": -128, "quant_max": 127}
    how = {"input": x, "length": 17, "zero_point": 0, "scale_bits": 0x3F800000, **ends}
    call = qemu_nn.cmsis.executorch_quantize_per_tensor_s8
    assert (call(**how, target="cortex-m4") == 127).all()
    assert call(**how, target="cortex-m55").tolist() == [-128] * 16 + [127]


@pytest.mark.oracle("executorch_quantized_div_{type}")
@pytest.mark.parametrize("type", ["s8", "s16"])
def test_a_quotient_is_rounded_away_from_zero(type):
    rng = np.random.default_rng(6)
    least, most = (-128, 127) if type == "s8" else (-32768, 32767)
    one, two = rng.integers(least, most + 1, (2, 900)).astype(f"int{8 if type == 's8' else 16}")
    two[:50] = 9  # the zero point: a division by zero gives 0
    factor = single(17.5)
    call = getattr(qemu_nn.cmsis, f"executorch_quantized_div_{type}")
    found = call(
        input1=one, input2=two, length=900, zero_point_1=-3, zero_point_2=9, output_zero_point=4,
        factor_bits=int(factor.view(np.int32)),
    )  # fmt: skip
    for a, b, result in zip(one.astype(int), two.astype(int), found):
        quotient = single(a + 3) / single(b - 9) if b != 9 else single(0)
        want = half_up(quotient * factor) + 4
        assert result == min(max(want, least), most), (a, b)
