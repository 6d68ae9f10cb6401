"""ESP-DL on the chips of the ESP32 family: recorded operators, and models in exact numbers."""

from fractions import Fraction
from random import Random

import esp_dl_models as models
import numpy as np
import pytest
from paths import GOLDEN, SHARED

from qemu_nn import cmsis
from qemu_nn.errors import Refused
from qemu_nn.functions import FUNCTIONS
from qemu_nn.functions.esp_dl import fold_axes
from qemu_nn.functions.tflm_reduce import AXES
from qemu_nn.kernels import table as kernels
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


#: Operators with a recorded result that is not the chip's, or that no function computes.
REFUSED = {
    ("espdl_PRelu_s8", "esp32p4"),
    ("espdl_Resize_s8", "esp32s3"),
    *(("espdl_Resize_s16", chip) for chip in ("esp32", "esp32s3", "esp32p4")),
}


def test_recorded_operators_are_equal_or_refused_with_a_reason():
    found = outcomes(GOLDEN / "esp_dl")
    operators = {function for function, _, _ in found}
    assert len(operators) == 105
    kinds = {kind for kind, _ in found.values()}
    assert kinds == {"equal", "refused"}
    refused = {
        (function, device.partition("/")[0])
        for (function, _, device), (kind, _) in found.items()
        if kind == "refused"
    }
    assert refused == REFUSED


@pytest.mark.skipif(
    not (SHARED / "esp").exists(), reason="the recordings are not next to the clone"
)
def test_no_recorded_operator_differs():
    found = [kind for kind, _ in outcomes(SHARED / "esp").values()]
    assert (found.count("equal"), found.count("refused")) == (760, 14)
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


@pytest.mark.oracle("esp_dl_{name}_per_channel_{type}")
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("name", ["conv", "depthwise_conv", "dense"])
def test_channels_with_shifts_of_their_own(name, type):
    """Halves, shifts of 0, results of a saturated sum; an ESP32-P4 alone has such kernels."""
    for seed, width in enumerate((1, 15, 16, 17, 33)):
        sides = list_sides(seed, chip=2, rectified=seed % 2)
        sides.update({"input_c": width} if "depth" in name else {"input_c": 5, "output_c": width})
        if name == "dense":
            sides = {k: sides[k] for k in ("batches", "input_c", "output_c", "chip", "rectified")}
        function, p, arrays = draw(f"esp_dl_{name}_per_channel_{type}", seed, **sides)
        rng = np.random.default_rng(seed)
        dtype = arrays["bias"].dtype
        arrays["bias"] = rng.integers(-(2**9), 2**9, width).astype(dtype)
        shifts = arrays["right_shifts"] = (np.arange(width) % 14).astype(dtype)
        x, filters, bias = take(function, p, arrays)
        if name == "dense":
            wanted = models.multiply(p, x, filters, bias, shifts)
        else:
            wanted = models.convolve(p, x, filters, bias, "depth" in name, shifts)
        assert np.array_equal(run(function, p, arrays).reshape(wanted.shape), wanted)
        with pytest.raises(Refused, match="kernels of an ESP32-P4 alone"):
            run(function, {**p, "chip": seed % 2}, arrays)


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


def make_limits(name, seed):
    """Return a layer whose sums reach the limits of accumulators and the middles of roundings."""
    rng = np.random.default_rng(seed)
    width, chip, shift = (int(rng.choice(n)) for n in ((15, 16, 17, 33), 3, (0, 1, 5, 9, 12)))
    sides = {"rectified": seed % 2, "chip": chip, "right_shift": shift}
    if name == "esp_dl_dense_s8":
        sides.update(batches=5, input_c=160, output_c=width)
    else:
        own = {} if "depthwise" in name else {"output_c": width}
        sides = list_sides(seed, **sides, **own, input_c=24 if own else width)
        sides.update(filter_h=3, filter_w=3)
    function = FUNCTIONS[name]
    shapes = {array.name: array.shape(sides) for array in function.arrays}
    sizes = (np.int8([-128, 127]), np.int8([-2, 0, 2]), np.int8([-64, -32, 32, 64]))
    x = rng.choice(sizes[rng.integers(3)], shapes["input"])
    filters = rng.choice(
        np.int8([-128, 127, 1, 0] if rng.integers(3) else [1, -1]), shapes["filter"]
    )
    if rng.integers(2):  # sums that leave a range and return
        x = np.where(rng.random(x.shape) < 0.05, x, x.flat[0])
        rest = np.arange(filters.size) % (filters.size // width) >= filters.size // width // 2
        sizes = np.abs(filters.astype(np.int16)).clip(0, 127) * (
            1 - 2 * rest.reshape(filters.shape)
        )
        filters = sizes.astype(np.int8)
    near = np.array([0, 2**19 - 1, -(2**19), 2**19, 2**20 + 3, 2**31 - 1, -(2**31), 16, -16, 2**18])
    bias = rng.choice(near[: rng.choice((1, 3, 5, 10))], shapes["bias"])
    return function, sides, {"input": x, "filter": filters, "bias": bias.astype(np.int32)}


@pytest.mark.parametrize("name", [f"esp_dl_{n}_s8" for n in ("conv", "depthwise_conv", "dense")])
def test_fast_layers_at_the_limits_of_their_sums(name):
    rows = [row for row in kernels.list_rows(FUNCTIONS[name].op, "s8") if row.runs_here()]
    assert {row.kind for row in rows} == {"fast", "plain"}
    changed = 0
    for seed in range(60):
        function, sides, arrays = make_limits(name, seed)
        outputs = [
            cmsis.invoke(function, {**sides, **arrays}, PLAIN_C, row.variant) for row in rows
        ]
        for row, found in zip(rows, outputs):
            assert found.tobytes() == outputs[-1].tobytes(), (seed, row.variant)
        as_c = cmsis.invoke(function, {**sides, "chip": 0, **arrays}, PLAIN_C, "plain")
        changed += as_c.tobytes() != outputs[-1].tobytes()
    assert changed > 15, "the draws hardly reach what chips do differently"


def test_fast_layers_of_16_bits_saturate_as_an_esp32s3_does():
    """Sums of 40 bits pass 2^39 and return; products of pairs of -32768 have 32 bits."""
    function, width = FUNCTIONS["esp_dl_dense_s16"], 1200
    rows = [row for row in kernels.list_rows(function.op, "s16") if row.runs_here()]
    sides = {"batches": 2, "input_c": width, "output_c": 3, "right_shift": 25, "rectified": 0}
    x = np.full((2, width), -32768, np.int16)
    x[1] = 32767
    filters = np.full((3, width), -32768, np.int16)
    filters[0, 600:] = 32767  # the sums saturate at the end of a range, and return
    filters[1, :600] = 32767
    arrays = {"input": x, "filter": filters, "bias": np.array([0, 2**39, -5], np.int64)}
    wanted = {chip: [] for chip in (0, 1)}
    for chip, row, channel in np.ndindex(2, 2, 3):
        total = int(arrays["bias"][channel])
        total -= 2**40 * (chip and total >= 2**39)
        for product in (x[row].astype(int) * filters[channel].astype(int)).tolist():
            total = min(max(total + product, -(2**39)), 2**39 - 1) if chip else total + product
        wanted[chip].append(min(max((total + 2**24) >> 25, -32768), 32767))
    assert wanted[0] != wanted[1]
    for row in rows:
        for chip, expected in wanted.items():
            given = {**sides, "chip": chip, **arrays}
            found = cmsis.invoke(function, given, PLAIN_C, row.variant)
            assert found.ravel().tolist() == expected, row.variant


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
    for chip, least in enumerate((-31, -6, -6)):
        for shift in (least, -1, 0, 1, 2, 8, 16, 31):
            own = {"block_size": 300, "right_shift": shift, "chip": chip}
            function, p, arrays = draw(f"esp_dl_requantize_{types}", shift + 40, **own)
            x = np.asarray(arrays["input"]).ravel()
            wanted = models.requantize(p, x, np.dtype(function.output.dtype))
            assert np.array_equal(run(function, p, arrays), wanted)


@pytest.mark.oracle("esp_dl_{name}_{type}")
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("name", [*models.CURVES])
def test_curves(name, type):
    for chip in range(3):
        exponents = {"input_exponent": -4 - 8 * (type == "s16"), "output_exponent": -5}
        function, p, arrays = draw(f"esp_dl_{name}_{type}", chip, block_size=500, chip=chip)
        p.update(exponents)
        x = np.asarray(arrays["input"]).ravel()
        assert np.array_equal(run(function, p, {"input": x}), models.curve(name, p, x))


@pytest.mark.oracle("esp_dl_div_{type}")
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("scalar", [0, 1, 2])
def test_quotients(type, scalar):
    for seed in range(6):
        sides = {"block_size": 200, "row_size": (200, 8)[seed // 3], "chip": seed % 3}
        shift = -5 * (1 + (type == "s16"))
        own = {**sides, "scalar": scalar, "right_shift": shift}
        function, p, arrays = draw(f"esp_dl_div_{type}", seed, **own)
        x, y = (np.asarray(each).ravel().copy() for each in arrays.values())
        x[::7], y[::5] = 0, 0
        if scalar:
            (x if scalar == 1 else y)[:] = seed - 2 if scalar == 1 else 3
        wanted = models.divide(p, x, y)
        assert np.array_equal(run(function, p, {"input1": x, "input2": y}), wanted)


@pytest.mark.oracle("esp_dl_neg_{type}", "esp_dl_relu_{type}", "esp_dl_clip_{type}")
@pytest.mark.parametrize("type", TYPES)
def test_negation_rectifier_and_clipping(type):
    function, p, arrays = draw(f"esp_dl_neg_{type}", 1, block_size=300)
    x = np.asarray(arrays["input"]).ravel()
    high = np.iinfo(x.dtype).max
    x[:2] = -high - 1, high
    wide = x.astype(np.int64)
    assert np.array_equal(run(function, p, {"input": x}), np.minimum(-wide, high))
    rectified = run(FUNCTIONS[f"esp_dl_relu_{type}"], p, {"input": x})
    assert np.array_equal(rectified, np.maximum(x, 0))
    for chip in range(3):
        own = {**p, "low": -100, "high": 90, "right_shift": 2, "chip": chip}
        wanted = models.requantize(own, np.clip(x, -100, 90), x.dtype)
        assert np.array_equal(run(FUNCTIONS[f"esp_dl_clip_{type}"], own, {"input": x}), wanted)


@pytest.mark.oracle("esp_dl_prelu_{type}")
@pytest.mark.parametrize("type", TYPES)
def test_slopes_of_channels(type):
    for seed in range(6):
        sides = {"outer": 9, "inner": 5, "chip": seed % 3, "alpha_right_shift": 3 + seed}
        function, p, arrays = draw(f"esp_dl_prelu_{type}", seed, **sides)
        x, alpha = (np.asarray(arrays[name]) for name in ("input", "alpha"))
        assert np.array_equal(run(function, p, arrays).ravel(), models.prelu(p, x, alpha))


@pytest.mark.oracle("esp_dl_lut_s8", "esp_dl_lut_s16")
def test_tables():
    rng = np.random.default_rng(5)
    x = np.arange(-128, 128).astype(np.int8)
    table = rng.integers(-128, 128, 256).astype(np.int8)
    found = run(FUNCTIONS["esp_dl_lut_s8"], {"block_size": 256}, {"input": x, "table": table})
    assert np.array_equal(found, table)
    x = np.append(rng.integers(-32768, 32768, 500), [-32768, 32767, -32767, 0]).astype(np.int16)
    for places, step in ((65536, 1), (32769, 2), (2049, 32), (3, 32768)):
        table = rng.integers(-32768, 32768, places).astype(np.int16)
        for chip in range(3):
            p = {"block_size": len(x), "places": places, "chip": chip}
            at = [models.round_on(chip, Fraction(int(each) + 32768, step)) for each in x]
            found = run(FUNCTIONS["esp_dl_lut_s16"], p, {"input": x, "table": table})
            assert np.array_equal(found, table[at])
    with pytest.raises(Refused, match="a table of 16-bit numbers has 65536 places"):
        run(FUNCTIONS["esp_dl_lut_s16"], {**p, "places": 100}, {"input": x, "table": table[:1]})


@pytest.mark.oracle("esp_dl_quantize_f32_{type}", "esp_dl_dequantize_{type}_f32")
@pytest.mark.parametrize("type", TYPES)
def test_changes_between_floats_and_integers(type):
    x = np.arange(-40, 40, dtype=np.float32) / 8
    x = np.append(x, np.float32([1e9, -1e30, np.nextafter(np.float32(0.5), np.float32(0))]))
    quantize, back = (
        FUNCTIONS[f"esp_dl_{n}"] for n in (f"quantize_f32_{type}", f"dequantize_{type}_f32")
    )
    for chip in range(3):
        p = {"block_size": len(x), "right_shift": -1, "chip": chip}
        found = run(quantize, p, {"input": x})
        assert np.array_equal(found, models.round_floats(chip, x * models.F(2), found.dtype))
    found = run(back, {"block_size": len(x), "right_shift": 3}, {"input": found})
    assert found.dtype == np.float32
    assert np.array_equal(found * 8, run(quantize, p, {"input": x}).astype(np.float32))


@pytest.mark.oracle("esp_dl_average_pool_{type}")
@pytest.mark.parametrize("type", TYPES)
def test_average_pooling_counts_the_whole_window(type):
    for seed in range(9):
        sides = list_sides(
            seed, channels=(1, 5, 20)[seed % 3], chip=seed // 3, right_shift=seed % 2
        )
        own = {name: n for name, n in sides.items() if "dilation" not in name}
        function, p, arrays = draw(f"esp_dl_average_pool_{type}", seed, **own)
        (image,) = (np.asarray(arrays[a.name]).reshape(a.shape(p)) for a in function.inputs)
        wanted = models.average_pool(p, image)
        assert np.array_equal(run(function, p, arrays).ravel(), wanted.ravel())


@pytest.mark.oracle("esp_dl_reduce_{name}_{type}")
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("name", ["mean", "sum", "max", "min"])
def test_reductions(name, type):
    for seed in range(6):
        own = {"right_shift": seed % 4, "chip": seed % 3} if name in ("mean", "sum") else {}
        sides = dict(zip(AXES, (2, 3, 4, 5, 3)))
        function, p, arrays = draw(f"esp_dl_reduce_{name}_{type}", seed, **sides, **own)
        x = np.asarray(arrays["input"]).reshape(2, 3, 4, 5, 3)
        wanted = models.reduce(name, p, x)
        assert np.array_equal(run(function, p, arrays).reshape(wanted.shape), wanted)


@pytest.mark.oracle("esp_dl_softmax_{type}_f32", "esp_dl_log_softmax_{type}_f32")
@pytest.mark.parametrize("type", TYPES)
def test_softmax_in_floats(type):
    for name in ("softmax", "log_softmax"):
        exponent = -4 if type == "s8" else -11
        own = {"outer": 3, "size": 7, "inner": 2, "input_exponent": exponent}
        function, p, arrays = draw(f"esp_dl_{name}_{type}_f32", 3, **own)
        x = np.asarray(arrays["input"]).reshape(3, 7, 2)
        wanted = models.softmax(p, x, name.startswith("log"))
        assert np.array_equal(run(function, p, arrays).reshape(3, 7, 2), wanted)


@pytest.mark.oracle("esp_dl_resize_nearest_s8", "esp_dl_resize_linear_s8")
def test_resizing():
    for seed in range(18):
        for name in ("nearest", "linear"):
            own = {"chip": seed % 3, "channels": 17}
            function, p, arrays = draw(f"esp_dl_resize_{name}_s8", seed, **own)
            image = np.asarray(arrays["input"]).reshape(function.inputs[0].shape(p))
            wanted = getattr(models, f"resize_{name}")(p, image)
            assert np.array_equal(run(function, p, arrays).ravel(), wanted.ravel())


def test_few_channels_are_not_resized_on_an_esp32s3():
    sides = dict.fromkeys(("batches", "input_h", "output_h", "output_w"), 2)
    own = {**sides, "input_w": 1, "channels": 15, "chip": 1}
    function, p, arrays = draw("esp_dl_resize_nearest_s8", 1, **own)
    with pytest.raises(Refused, match="uses a register that it has not loaded"):
        run(function, p, arrays)
    function, p, arrays = draw("esp_dl_resize_nearest_s8", 1, **{**own, "output_h": 4})
    run(function, p, arrays)


def test_shifts_to_the_left_are_refused_on_an_esp32s3():
    function, p, arrays = draw("esp_dl_dense_s8", 1, chip=1, right_shift=-1)
    with pytest.raises(Refused, match=r"right_shift must be in 0\.\.31, is -1"):
        cmsis.invoke(function, {**p, **arrays}, PLAIN_C)


def test_factors_that_a_vector_of_8_bits_cannot_have_are_refused():
    function, p, arrays = draw("esp_dl_requantize_s8", 1, chip=1, right_shift=-6)
    cmsis.invoke(function, {**p, **arrays}, PLAIN_C)
    with pytest.raises(Refused, match=r"right_shift must be in -6\.\.31, is -7"):
        cmsis.invoke(function, {**p, **arrays, "right_shift": -7}, PLAIN_C)


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


# ---- comparisons, powers, reductions, normalizations, updates ----


@pytest.mark.oracle("esp_dl_{name}_{type}")
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("name", ["equal", "greater", "greater_or_equal", "less", "less_or_equal"])
def test_comparisons(name, type):
    function, p, arrays = draw(f"esp_dl_{name}_{type}", 3, block_size=300)
    x, y = (np.asarray(each).ravel() for each in arrays.values())
    y = np.where(np.arange(300) % 3 == 0, x, y)
    of = {"greater_or_equal": np.greater_equal, "less_or_equal": np.less_equal}
    wanted = of.get(name, getattr(np, name, None))(x, y)
    found = run(function, p, {"input1": x, "input2": y})
    assert found.dtype == bool
    assert np.array_equal(found, wanted)


@pytest.mark.oracle("esp_dl_pow_{type}", "esp_dl_mod_{type}")
@pytest.mark.parametrize("type", TYPES)
def test_powers_and_remainders(type):
    """Powers that are exact, halves among them; of negative numbers; of fractions."""
    dtype = np.dtype({"s8": "int8", "s16": "int16"}[type])
    base = np.array([3, -3, 5, 5, 0, 0, 0, 7, -7, 1, 2, 9, 16, -2, 11, 100], dtype)
    power = np.array([2, 3, 1, -1, 2, 0, -1, 0, 1, 99, -2, 1, 1, -1, 2, 2], dtype)
    for chip, halves in ((0, 0), (0, 1), (2, 1)):
        p = {"block_size": 16, "input1_exponent": 0, "output_exponent": halves, "chip": chip}
        p["input2_exponent"] = 0
        with np.errstate(divide="ignore"):
            exact = np.power(base.astype(float), power) * 0.5**halves
        wanted = models.round_floats(chip, np.clip(exact, -1e9, 1e9).astype(np.float32), dtype)
        found = run(FUNCTIONS[f"esp_dl_pow_{type}"], p, {"input1": base, "input2": power})
        assert np.array_equal(found, wanted)
        with np.errstate(invalid="ignore"):
            rest = np.where(power == 0, 0, np.fmod(base.astype(float), power)) * 0.5**halves
        wanted = models.round_floats(chip, rest.astype(np.float32), dtype)
        found = run(FUNCTIONS[f"esp_dl_mod_{type}"], p, {"input1": base, "input2": power})
        assert np.array_equal(found, wanted)
    p.update(input2_exponent=-1, output_exponent=-2, chip=0)  # 9^(1/2) = 3, 2^-1, 100^1
    found = run(FUNCTIONS[f"esp_dl_pow_{type}"], p, {"input1": base, "input2": power})
    assert found[[11, 10, 12]].tolist() == [12, 2, 16]


@pytest.mark.oracle("esp_dl_reduce_{name}_{type}")
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("name", ["l1", "sum_square", "l2", "log_sum"])
def test_norms_and_logarithms_of_sums(name, type):
    for seed in range(6):
        sides = dict(zip(AXES, (2, 3, 2, 1 + seed % 3, 2)))
        function, p, arrays = draw(f"esp_dl_reduce_{name}_{type}", seed, **sides, chip=seed % 3)
        x = np.asarray(arrays["input"]).reshape([p[axis] for axis in AXES])
        if name == "log_sum":
            x = np.maximum(x, 1)
        wanted = models.reduce_norm(name, p, x)
        assert np.array_equal(run(function, p, {"input": x}).reshape(wanted.shape), wanted)


@pytest.mark.oracle("esp_dl_reduce_prod_{type}", "esp_dl_reduce_log_sum_exp_{type}")
@pytest.mark.parametrize("type", TYPES)
def test_products_and_logarithms_of_powers(type):
    dtype = np.dtype({"s8": "int8", "s16": "int16"}[type])
    x = np.array([3, -2, 5, 7, 1, 1], dtype)
    sides = dict(zip(AXES, (1, 2, 1, 3, 1)))
    p = {**sides, "input_exponent": -1, "output_exponent": -1, "chip": 0}
    product = FUNCTIONS[f"esp_dl_reduce_prod_{type}"]
    assert run(product, p, {"input": x}).ravel() == [-7]  # -210 / 2^6 * 2 = -6.5625
    assert run(product, {**p, "output_exponent": 0}, {"input": x}).ravel() == [-3]
    powers = FUNCTIONS[f"esp_dl_reduce_log_sum_exp_{type}"]
    x = np.array([0, 0, 0, 0, 0, 2], dtype)  # log(5 + e) = 2.0436
    assert run(powers, {**p, "output_exponent": -4}, {"input": x}).ravel() == [33]


def test_a_product_of_8_bits_is_rounded_to_a_float32_at_each_step():
    """Multiply to 55.499996 * 2^34; the exact product is nearest to 55.5 * 2^34."""
    x = np.array([92, 114, 121, 61, 113, 109], np.int8)
    p = {**dict(zip(AXES, (1, 1, 1, 6, 1))), "input_exponent": -1, "output_exponent": 28}
    found = run(FUNCTIONS["esp_dl_reduce_prod_s8"], {**p, "chip": 0}, {"input": x})
    assert found.ravel() == [55]


def test_a_product_of_16_bits_near_a_half_is_even_on_an_esp32p4():
    x = np.array([5, 1], np.int16)
    p = {**dict(zip(AXES, (1, 2, 1, 1, 1))), "input_exponent": 0, "output_exponent": 1}
    found = [
        int(run(FUNCTIONS["esp_dl_reduce_prod_s16"], {**p, "chip": chip}, {"input": x}).item())
        for chip in (0, 2)
    ]
    assert found == [3, 2]


@pytest.mark.oracle("esp_dl_{name}_norm_{type}")
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("name", ["layer", "rms", "lp"])
def test_normalizations(name, type):
    for seed in range(9):
        sides = {"outer": 3, "size": 5 + 13 * (seed % 3), "chip": seed // 3}
        sides.update({"inner": 3} if name == "lp" else {})
        function, p, arrays = draw(f"esp_dl_{name}_norm_{type}", seed, **sides)
        given = {
            each.name: np.asarray(arrays[each.name]).reshape(each.shape(p))
            for each in function.arrays
        }
        if name == "lp":
            given["input"][0] = 0
        if "bias" in given:
            given["bias"] = given["scale"][::-1].copy()
        wanted = getattr(models, f"normalize_{name}")(p, *given.values())
        assert np.array_equal(run(function, p, given), wanted)


@pytest.mark.oracle("esp_dl_scatter_{type}")
@pytest.mark.parametrize("type", TYPES)
def test_updates_of_slices(type):
    dtype = np.dtype({"s8": "int8", "s16": "int16"}[type])
    most = np.iinfo(dtype).max
    data = np.array([1, 2, 3, 4, 5, most], dtype)
    updates = np.array([[10, -20], [9, 9]], dtype)
    wanted = {
        0: [1, 10, -20, 4, 9, 9],
        1: [1, 12, -17, 4, 14, most],
        2: [1, 20, -60, 4, 45, most],
        3: [1, 10, 3, 4, 9, most],
        4: [1, 2, -20, 4, 5, 9],
    }
    function = FUNCTIONS[f"esp_dl_scatter_{type}"]
    for kind, result in wanted.items():
        p = {"block_size": 6, "slices": 2, "slice": 2, "kind": kind}
        arrays = {"data": data, "updates": updates, "offsets": np.array([1, 4], np.int32)}
        assert run(function, p, arrays).tolist() == result
        with pytest.raises(Refused):
            run(function, p, {**arrays, "offsets": np.array([1, 5], np.int32)})


@pytest.mark.oracle("esp_dl_{name}_{type}")
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("name", ["gru", "lstm", "lstm_cell"])
def test_recurrent_layers(name, type):
    """Vector kernels take rows of 16 and 8 elements; portable C, and other rows, round floats."""
    wide, gates = type == "s16", 3 if name == "gru" else 4
    for seed in range(9):
        rng = np.random.default_rng(seed)
        sides = {"time_steps": 3, "input_size": (5, 16)[seed % 2], "directions": 1 + seed % 2}
        sides.update(hidden_size=(3, 16)[seed // 2 % 2], chip=seed // 3, gate_exponent=-8)
        sides.update(right_shift=5 + 14 * wide, state_right_shift=5 + 14 * wide)
        sides.update(output_exponent=-7 - 8 * wide)
        function, p, arrays = draw(f"esp_dl_{name}_{type}", seed, **sides)
        given = {a.name: np.asarray(arrays[a.name]).reshape(a.shape(p)) for a in function.arrays}
        given["bias"] = rng.integers(-600, 600, given["bias"].shape).astype(np.int16)
        if name != "gru":
            given["initial_c"] = rng.integers(-900, 900, given["initial_c"].shape).astype(np.int16)
        names = ("input", "w", "r", "bias", "initial_h", "initial_c")
        wanted, cells = models.recur(name, p, *(given[n] for n in names[: gates + 2]))
        wanted = cells if name == "lstm_cell" else wanted
        assert np.array_equal(run(function, p, given).reshape(wanted.shape), wanted)


def test_portable_c_rounds_the_sum_of_a_gate_to_a_float32():
    """Round 2^28 + 8191 to 2^28 + 8192, of which R(sum / 2^14) is one more."""
    x, w = np.zeros((1, 8), np.int16), np.zeros((1, 3, 8), np.int16)
    x[0, :2], w[0, 2, :2] = (16384, 8191), (16384, 1)
    bias = np.array([0, 0, -16384, 0, 0, 0], np.int16).reshape(1, 2, 3, 1)
    arrays = {"input": x, "w": w, "r": np.zeros((1, 3, 1), np.int16), "bias": bias}
    arrays["initial_h"] = np.zeros((1, 1), np.int16)
    sides = {"time_steps": 1, "input_size": 8, "hidden_size": 1, "directions": 1}
    p = {**sides, "right_shift": 14, "state_right_shift": 14, "gate_exponent": -8}
    p["output_exponent"] = -15
    found = [
        int(run(FUNCTIONS["esp_dl_gru_s16"], {**p, "chip": chip}, arrays).item())
        for chip in range(3)
    ]
    assert found == [64, 0, 0]  # 2^15 * (1 - 1/2) * tanh(1 / 256)


def test_the_cell_state_of_an_lstm_wraps():
    """Add 1 * 2^8 to 0.998 * 32767, with gates that are open."""
    arrays = {"input": np.zeros((1, 1), np.int8), "initial_h": np.zeros((1, 1), np.int8)}
    arrays.update(initial_c=np.full((1, 1), 32767, np.int16), w=np.zeros((1, 4, 1), np.int8))
    bias = np.zeros((1, 2, 4, 1), np.int16)
    bias[0, 0] = 4000
    arrays.update(r=np.zeros((1, 4, 1), np.int8), bias=bias)
    sides = {"time_steps": 1, "input_size": 1, "hidden_size": 1, "directions": 1}
    p = {**sides, "right_shift": 0, "state_right_shift": 0, "gate_exponent": -8, "chip": 0}
    found = run(FUNCTIONS["esp_dl_lstm_cell_s8"], {**p, "output_exponent": -7}, arrays).item()
    assert found in range(-32768, -32500)
