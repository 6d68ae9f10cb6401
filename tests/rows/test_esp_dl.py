"""ESP-DL on the chips of the ESP32 family: recorded operators, and models in exact numbers."""

from random import Random

import esp_dl_models as models
import numpy as np
import pytest
from paths import SHARED

from qemu_nn import cmsis
from qemu_nn.errors import Refused
from qemu_nn.functions import FUNCTIONS
from qemu_nn.functions.esp_dl import fold_axes
from qemu_nn.targets import profile
from qemu_nn.testing import recordings
from qemu_nn.testing.calls import draw_arguments, draw_params, draw_recipe

PLAIN_C = profile("scalar", "7.0.0", "double")
TYPES = ("s8", "s16")


def outcomes(folder):
    """Return (operator, case, device) -> outcome and reason of each recorded operator."""
    return {
        (each.function, each.case, each.device): recordings.outcome(each)
        for each in recordings.read(folder)
        if each.function.startswith("espdl_")
    }


@pytest.mark.skipif(
    not (SHARED / "esp").exists(), reason="the recordings are not next to the clone"
)
def test_no_recorded_operator_differs():
    found = [kind for kind, _ in outcomes(SHARED / "esp").values()]
    assert len(found) == 3 * 258
    assert "different" not in found


# ---- the plain rows against models in exact numbers ----


def draw(name, seed, **own):
    """Return a random call of a function: its scalar arguments, and its arrays."""
    function, rng = FUNCTIONS[name], Random(seed)
    recipe = draw_recipe(rng, function)
    params = {**draw_params(rng, function, recipe), **own}
    arguments = draw_arguments(rng, function, params, recipe)
    arrays = {array.name: arguments.pop(array.name) for array in function.arrays}
    return function, arguments, arrays


def run(function, params, arrays):
    """Return the output of the plain row; that of the best row here is the same."""
    plain, best = (
        cmsis.invoke(function, {**params, **arrays}, PLAIN_C, variant)
        for variant in ("plain", None)
    )
    assert plain.tobytes() == best.tobytes()
    return plain


def list_sides(seed, **own):
    """Return the geometry of small windows."""
    sides = {"batches": 1 + seed % 2, "input_h": 3 + seed % 3, "input_w": 4, "output_h": 3}
    sides.update(output_w=2, filter_h=1 + seed % 3, filter_w=3, stride_h=1, stride_w=2)
    sides.update(pad_h=seed % 2, pad_w=1, dilation_h=1 + seed // 4 % 2, dilation_w=1)
    return {**sides, **own}


@pytest.mark.oracle("esp_dl_conv_{type}")
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("width", [1, 15, 16, 17, 33])
def test_convolutions(type, width):
    for seed in range(9):
        sides = list_sides(seed, input_c=(1, 5, 40)[seed % 3], output_c=width, chip=seed // 3)
        sides.update(right_shift=seed, rectified=seed % 2)
        function, p, arrays = draw(f"esp_dl_conv_{type}", seed, **sides)
        wanted = models.convolve(p, *take(function, p, arrays), depthwise=False)
        assert np.array_equal(run(function, p, arrays).reshape(wanted.shape), wanted)


@pytest.mark.oracle("esp_dl_depthwise_conv_{type}")
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("width", [1, 16, 20])
def test_depthwise_convolutions(type, width):
    for seed in range(9):
        sides = list_sides(seed, input_c=width, chip=seed // 3, rectified=seed % 2)
        function, p, arrays = draw(f"esp_dl_depthwise_conv_{type}", seed, **sides, right_shift=seed)
        wanted = models.convolve(p, *take(function, p, arrays), depthwise=True)
        assert np.array_equal(run(function, p, arrays).reshape(wanted.shape), wanted)


def take(function, p, arrays):
    """Return the input, the filter and the bias of a call in their shapes."""
    shapes = {array.name: array.shape(p) for array in function.arrays}
    return [
        None if arrays[name] is None else np.asarray(arrays[name]).reshape(shapes[name])
        for name in ("input", "filter", "bias")
    ]


@pytest.mark.oracle("esp_dl_dense_{type}")
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("width", [15, 16, 17])
def test_dense_layers(type, width):
    for seed in range(9):
        sides = {"input_c": (3, 64, 130)[seed % 3], "output_c": width, "batches": 2}
        sides.update(chip=seed // 3, right_shift=(0, 1, 8)[seed % 3], rectified=seed % 2)
        function, p, arrays = draw(f"esp_dl_dense_{type}", seed, **sides)
        wanted = models.multiply(p, *take(function, p, arrays))
        assert np.array_equal(run(function, p, arrays).reshape(wanted.shape), wanted)


@pytest.mark.oracle("esp_dl_matmul_{type}")
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("chip", [0, 1, 2])
def test_products_of_matrices(type, chip):
    sides = {"matrices": 2, "batches": 3, "input_c": 70, "output_c": 18, "chip": chip}
    function, p, arrays = draw(f"esp_dl_matmul_{type}", chip, **sides, right_shift=3)
    left, right = (np.asarray(arrays[a.name]).reshape(a.shape(p)) for a in function.inputs)
    wanted = np.array([models.multiply(p, *both) for both in zip(left, right)])
    assert np.array_equal(run(function, p, arrays).reshape(wanted.shape), wanted)


def test_sums_on_an_esp32s3_saturate_at_20_bits_after_each_product():
    """Sums pass 2^19 and return; a bias of 2^19 wraps; channels of a rest have 40 bits."""
    row = np.array([[127] * 40 + [-128] * 40], np.int8)
    filters = np.full((17, 80), 127, np.int8)
    bias = np.zeros(17, np.int32)
    bias[1], bias[2], bias[16] = 2**19, 2**20 + 5, 2**19
    sides = {"batches": 1, "input_c": 80, "output_c": 17, "right_shift": 12, "rectified": 0}
    own = {"input": row, "filter": filters, "bias": bias}
    s3, c = (
        cmsis.invoke(FUNCTIONS["esp_dl_dense_s8"], {**sides, "chip": chip, **own}, PLAIN_C).ravel()
        for chip in (1, 0)
    )
    assert s3[:3].tolist() == [-31, -128, -31]  # floor((2^19 - 1 - 40 * 128 * 127) / 2^12 + 1/2)
    assert s3[16] == c[16] == 127 != s3[1]
    assert c[0] == -1 != s3[0]


@pytest.mark.oracle("esp_dl_{name}_{type}")
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("name", ["add", "sub", "mul"])
def test_sums_differences_and_products(name, type):
    for seed in range(12):
        own = {"chip": seed % 3, "row_size": (7, 8)[seed // 3 % 2]} if name == "mul" else {}
        function, p, arrays = draw(f"esp_dl_{name}_{type}", seed, block_size=200, **own)
        wanted = models.combine(name, p, *(np.asarray(x).ravel() for x in arrays.values()))
        assert np.array_equal(run(function, p, arrays), wanted)


@pytest.mark.oracle("esp_dl_requantize_{types}")
@pytest.mark.parametrize("types", ["s8", "s16", "s8_s16", "s16_s8"])
def test_requantization(types):
    for shift in (-31, -9, -1, 0, 1, 2, 8, 16, 31):
        for chip in range(3):
            own = {"block_size": 300, "right_shift": shift, "chip": chip}
            function, p, arrays = draw(f"esp_dl_requantize_{types}", shift + 40, **own)
            x = np.asarray(arrays["input"]).ravel()
            wanted = models.requantize(p, x, np.dtype(function.output.dtype))
            assert np.array_equal(run(function, p, arrays), wanted)


def test_shifts_to_the_left_are_refused_on_an_esp32s3():
    function, p, arrays = draw("esp_dl_dense_s8", 1, chip=1, right_shift=-1)
    with pytest.raises(Refused, match=r"right_shift must be in 0\.\.31, is -1"):
        cmsis.invoke(function, {**p, **arrays}, PLAIN_C)


@pytest.mark.parametrize(
    ("first", "second", "row"),
    [
        ((1, 4, 5, 16), (1, 4, 5, 16), 320),
        ((1, 3, 3, 8), (1, 1, 1, 8), 8),
        ((2, 3, 4, 1), (2, 3, 1, 1), 4),
        ((40,), (1,), 40),
        ((1, 1, 6), (5, 1, 6), 6),
    ],
)
def test_equal_axes_are_folded_into_rows(first, second, row):
    assert fold_axes(first, second) == row
