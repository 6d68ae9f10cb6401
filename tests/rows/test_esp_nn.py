"""ESP-NN on the chips of the ESP32 family: recorded calls, and models of the vendor's steps."""

import json
from random import Random

import esp_nn_models as models
import numpy as np
import pytest
from paths import GOLDEN, SHARED

from qemu_nn import cmsis
from qemu_nn.errors import Refused
from qemu_nn.functions import FUNCTIONS, esp_nn_rules
from qemu_nn.functions.esp_nn_memory import count_scratch
from qemu_nn.functions.esp_nn_rules import RULES, EspCall, compute_as
from qemu_nn.targets import ESP_NN, Target, esp_profiles, profile
from qemu_nn.testing import recordings
from qemu_nn.testing.calls import draw_arguments, draw_params, draw_recipe

PLAIN_C = profile("scalar", "7.0.0", "double")
CALLED = tuple(recordings.ESP_BASES)


def outcomes(folder):
    """Return (function, case, device) -> outcome and reason of each recorded call of ESP-NN."""
    return {
        (each.function, each.case, each.device): recordings.outcome(each)
        for each in recordings.read(folder)
        if each.function in CALLED
    }


@pytest.fixture(scope="module")
def recorded():
    return outcomes(GOLDEN / "esp")


def test_every_recorded_call_is_equal_or_refused_with_a_reason(recorded):
    assert len(recorded) > 120
    assert {kind for kind, _ in recorded.values()} == {"equal", "refused"}
    refused = {name for name, (kind, _) in recorded.items() if kind == "refused"}
    assert {(function, device) for function, _, device in refused} == {
        ("esp_nn_depthwise_conv_s8", "esp32s3/1.2.3")
    }


@pytest.mark.skipif(
    not (SHARED / "esp").exists(), reason="the recordings are not next to the clone"
)
def test_all_recordings_are_equal():
    found = [kind for kind, _ in outcomes(SHARED / "esp").values()]
    assert (found.count("equal"), found.count("refused")) == (713, 3)
    assert "different" not in found


#: Rules that change bits of recorded calls of 1.2.3. Of dense layers with a scale for each channel,
#: the recordings differ in elements alone that depend on memory before the input.
CHANGING = [
    rule
    for rule in RULES
    if rule.becomes and rule.functions != ("arm_fully_connected_per_channel_s8",)
]


@pytest.mark.parametrize("rule", CHANGING, ids=lambda rule: f"{rule.operator}: {rule.when[:40]}")
def test_without_a_rule_a_recorded_call_differs(rule, monkeypatch):
    rest = tuple(each for each in RULES if each is not rule)
    monkeypatch.setattr(esp_nn_rules, "RULES", rest)
    functions = {name for name, base in recordings.ESP_BASES.items() if base in rule.functions}
    kinds = [
        recordings.outcome(each)[0]
        for each in recordings.read(GOLDEN / "esp")
        if each.function in functions
    ]
    assert "different" in kinds


def test_scratch_memory_is_as_recorded():
    """Compare the bytes that the vendor's functions ask for, and those written after them."""
    (path,) = (GOLDEN / "esp").glob("*.npz")
    cases = {case["id"]: case for case in json.loads(str(np.load(path)["manifest"]))["cases"]}
    overruns = 0
    for each in recordings.read(GOLDEN / "esp"):
        case = cases[each.case]
        if each.device != "esp32s3/1.2.3" or "s3_scratch_bytes" not in case:
            continue
        call, _ = recordings.read_esp_nn(each)
        given = count_scratch(call.function, call.params, each.wanted)
        assert given == case["s3_scratch_bytes"], each.case
        if "s3_scratch_overrun_bytes" in case:
            overruns += 1
            written = f"it writes {case['s3_scratch_overrun_bytes']} bytes after"
            assert any(written in said for said in compute_as(call, each.wanted).warnings)
    assert overruns


# ---- the plain rows against models of the vendor's steps ----


def draw(name, seed, **own):
    """Return a random call of a function: its scalar arguments, and its arrays."""
    function, rng = FUNCTIONS[name], Random(seed)
    recipe = draw_recipe(rng, function)
    undilated = {name: 1 for name in ("dilation_h", "dilation_w") if name in function.params}
    params = {**draw_params(rng, function, recipe), **undilated, **own}
    arguments = draw_arguments(rng, function, params, recipe)
    arrays = {array.name: arguments.pop(array.name) for array in function.arrays}
    return function, arguments, arrays


def run(function, params, arrays):
    """Return the output of the plain row; that of the best row here is the same."""
    plain, best = (
        cmsis.invoke(function, {**params, **arrays}, PLAIN_C, variant).ravel()
        for variant in ("plain", None)
    )
    assert np.array_equal(plain, best)
    return plain


def layer(p, arrays):
    """Return the arrays of a layer with a scale for each channel."""
    names = ("input", "filter", "bias", "multiplier", "shift")
    return p, *(np.asarray(arrays[name]) for name in names)


CONV, DEPTHWISE = "esp_nn_conv_s8_esp32s3", "esp_nn_depthwise_conv_s8_esp32s3"


@pytest.mark.oracle(CONV)
@pytest.mark.parametrize("pads", [(0, 0), (1, 0), (0, 1), (1, 1), (2, 1)])
def test_convolutions_read_the_padded_copy_and_what_follows(pads):
    for seed in range(12):
        sides = dict(zip(("pad_h", "pad_w"), pads), batches=1 + seed % 2)
        sides.update(input_h=4 + seed % 3, input_w=5, output_h=4, output_w=3 + seed % 3)
        sides.update(filter_h=2, filter_w=1 + seed % 3, stride_h=1, stride_w=1 + seed % 2)
        sides.update(input_c=1 + seed % 5, filter_c=1 + seed % 5, output_c=3)
        function, p, arrays = draw(CONV, seed, **sides)
        assert np.array_equal(run(function, p, arrays), models.convolve(*layer(p, arrays)))


@pytest.mark.oracle(DEPTHWISE)
@pytest.mark.parametrize("filter_h", [1, 2, 5])
def test_depthwise_strips_count_padding_rows_as_zero(filter_h):
    for seed in range(8):
        sides = {"batches": 1, "ch_mult": 1, "input_c": 8, "filter_h": filter_h, "filter_w": 3}
        sides.update(input_h=5, input_w=4, output_h=5, output_w=4, stride_h=1, stride_w=1)
        sides.update(pad_h=filter_h // 2, pad_w=1, input_offset=-9 + seed)
        if seed % 2:
            sides.update(output_h=2)  # the last rows of the image are in no window
        function, p, arrays = draw(DEPTHWISE, seed, **sides)
        wanted = models.depthwise_in_strips(*layer(p, arrays))
        assert np.array_equal(run(function, p, arrays), wanted)


@pytest.mark.oracle("esp_nn_fully_connected_per_ch_s8_esp32s3", "esp_nn_fully_connected_s8_esp32s3")
@pytest.mark.parametrize("align", [0, 1, 7, 8, 12, 15])
def test_dense_rows_load_from_multiples_of_eight_bytes(align):
    for seed, depth in enumerate((3, 7, 8, 9, 15, 16, 17, 20, 33)):
        sides = {"batches": 3, "input_c": depth, "output_c": 4, "input_align": align}
        function, p, arrays = draw("esp_nn_fully_connected_per_ch_s8_esp32s3", seed, **sides)
        assert np.array_equal(run(function, p, arrays), models.dense(*layer(p, arrays)))
        function, p, arrays = draw("esp_nn_fully_connected_s8_esp32s3", seed, **sides)
        one = {name: np.full(4, p[name]) for name in ("multiplier", "shift")}
        wanted = models.dense(*layer(p, {**arrays, **one}))
        assert np.array_equal(run(function, p, arrays), wanted)


@pytest.mark.oracle("esp_nn_avg_pool_s8_esp32s3")
@pytest.mark.parametrize("sides", [(2, 3), (3, 2), (5, 1), (2, 7), (4, 4), (7, 3)])
def test_average_pooling_spaces_rows_by_the_height(sides):
    for seed, batches in enumerate((1, 2, 3)):
        own = dict(zip(("output_h", "output_w"), sides), batches=batches, channels=4)
        own.update(input_h=sides[0] * 2, input_w=sides[1] * 2, pad_h=seed % 2, pad_w=0)
        own.update(filter_h=2, filter_w=2, stride_h=2, stride_w=2)
        function, p, arrays = draw("esp_nn_avg_pool_s8_esp32s3", seed, **own)
        wanted = models.average_pool(p, np.asarray(arrays["input"]))
        assert np.array_equal(run(function, p, arrays), wanted)


@pytest.mark.oracle("esp_nn_mul_elementwise_s8_esp32s3")
@pytest.mark.parametrize("align", [0, 3])
def test_products_outside_of_vectors_round_otherwise(align):
    for seed, size in enumerate((1, 7, 8, 8, 9, 15, 16, 24, 23, 71, 200, 1000)):
        for shift in (-31, -9, -7, -1, 0, 2):
            own = {"block_size": size, "input_align": align, "out_shift": shift}
            function, p, arrays = draw("esp_nn_mul_elementwise_s8_esp32s3", seed, **own)
            wanted = models.multiply(p, *(np.asarray(arrays[f"input{i}"]) for i in (1, 2)))
            assert np.array_equal(run(function, p, arrays), wanted)


@pytest.mark.parametrize("size", [7, 8, 15, 24, 40, 71])
@pytest.mark.parametrize("shift", [-4, -3, -2, -1])
def test_negative_ties_round_up_outside_of_vectors_alone(size, shift):
    rng, function = np.random.default_rng(size), FUNCTIONS["esp_nn_mul_elementwise_s8_esp32s3"]
    p = dict.fromkeys(("input_1_offset", "input_2_offset", "out_offset", "input_align"), 0)
    p.update(out_mult=1 << 30, out_shift=shift, act_min=-128, act_max=127, block_size=size)
    first, second = rng.integers(-16, 17, (2, size)).astype(np.int8)
    got = run(function, p, {"input1": first, "input2": second})
    assert np.array_equal(got, models.multiply(p, first, second))


@pytest.mark.oracle("esp_nn_softmax_s8")
def test_softmax_takes_the_maximum_of_a_shifted_window():
    function, missed = FUNCTIONS["esp_nn_softmax_s8"], 0
    rng = np.random.default_rng(1)
    for width in (31, 32, 33, 47, 48, 63, 100):
        p = {"mult": 3 << 29, "shift": 25, "diff_min": -62, "num_rows": 4, "row_size": width}
        x = rng.integers(-20, 20, (4, width)).astype(np.int8)
        x[:, width // 16 * 16 - 1] = 70  # of most rows, the vectors miss it
        x[2] -= 80  # its window has the maximum of the row before
        got = cmsis.invoke(function, {**p, "in_vectors": 1, "input": x}, PLAIN_C)
        for n, row in enumerate(x):
            most = models.row_maximum(row, x.ravel(), n * width) if width >= 32 else row.max()
            missed += most != row.max()
            assert np.array_equal(got[n], models.softmax(row, int(most), p))
    assert missed > 3


@pytest.mark.parametrize("in_vectors", [0, 1])
def test_softmax_equals_the_steps_of_the_vendor(in_vectors):
    for seed in range(30):
        own = {"num_rows": 1, "row_size": 1 + seed * 29, "in_vectors": in_vectors}
        function, p, arrays = draw("esp_nn_softmax_s8", seed, **own)
        row = np.asarray(arrays["input"]).ravel()
        assert np.array_equal(run(function, p, arrays), models.softmax(row, int(row.max()), p))


def test_512_equal_classes_get_127():
    p = {"num_rows": 1, "mult": 1 << 30, "shift": 23, "diff_min": -248}
    for size, wanted in ((511, -127), (512, 127), (1024, 127), (2048, 127)):
        row = np.zeros((1, size), np.int8)
        found = compute_as(EspCall("arm_softmax_s8", {**p, "row_size": size}), esp_profiles()[0])
        got = cmsis.invoke(FUNCTIONS[found.function], {**found.params, "input": row}, PLAIN_C)
        assert set(got.ravel().tolist()) == {wanted}


# ---- conditions ----

WINDOW = {"batches": 1, "input_offset": 3, "output_offset": 0, "act_min": -128, "act_max": 127}


def window(size, kernel, stride, channels, valid=False):
    """Return the arguments of a convolution as TensorFlow Lite pads it."""
    p = dict(WINDOW, input_c=channels, filter_c=channels, output_c=4, ch_mult=1, channels=channels)
    for axis, n, k in zip("hw", size, kernel):
        out = (n - k) // stride + 1 if valid else -(-n // stride)
        pad = max((out - 1) * stride + k - n, 0) // 2
        p.update({f"input_{axis}": n, f"filter_{axis}": k, f"output_{axis}": out})
        p.update({f"stride_{axis}": stride, f"pad_{axis}": pad, f"dilation_{axis}": 1})
    return p


def changed(function, params, device="esp32s3", release="1.2.3", **how):
    """Return the function that replaces a call, None if nothing does; and the warnings."""
    call = EspCall(function, params, **how)
    found = compute_as(call, Target(device, esp_nn=release).profile())
    other = (found.function, found.params) != (call.function, call.params)
    return found.function if other else None, len(found.warnings)


#: Image, kernel, stride, channels -> is a convolution changed in 1.1.2 and in 1.2.3?
CONVOLUTIONS = {
    ((8, 8), (3, 3), 1, 8): (False, False),
    ((8, 8), (3, 3), 2, 8): (True, False),  # pads (0, 1) on both axes
    ((7, 7), (3, 3), 2, 8): (False, False),
    ((8, 7), (3, 3), 2, 8): (True, True),  # pads 0 above, 1 below, 1 on both sides
    ((8, 8), (2, 2), 1, 8): (True, False),
    ((8, 8), (4, 4), 1, 8): (True, True),
    ((8, 8), (5, 5), 2, 8): (True, True),
    ((8, 8), (5, 5), 2, 2): (True, False),  # windows of 10 elements are gathered by 1.2.3
    ((8, 8), (5, 5), 2, 4): (True, True),
    ((8, 8), (1, 1), 2, 8): (False, False),
    ((1, 10), (1, 4), 1, 1): (True, True),  # 4 elements, and 4 in all: not gathered
}


@pytest.mark.parametrize("shape", CONVOLUTIONS, ids=str)
def test_which_convolutions_leave_the_image(shape):
    old, new = CONVOLUTIONS[shape]
    first = {**dict.fromkeys(ESP_NN[:3], old), **dict.fromkeys(ESP_NN[3:6], new)}
    for release, is_changed in first.items():
        found, _ = changed("arm_convolve_wrapper_s8", window(*shape), release=release)
        assert found == ("esp_nn_conv_s8_esp32s3" if is_changed else None)
        assert changed("arm_convolve_wrapper_s8", window(*shape), release="1.2.6") == (None, 0)
        generic, warnings = changed("arm_convolve_wrapper_s8", window(*shape), "esp32", release)
        assert (generic, warnings) == (None, 0)


@pytest.mark.parametrize("shape", CONVOLUTIONS, ids=str)
def test_a_convolution_is_changed_if_the_copy_differs_from_the_padding_of_tflite(shape):
    """Compare a model on the vendor's memory with TensorFlow Lite's padding."""
    p = window(*shape)
    arrays = {}
    rng = np.random.default_rng(5)
    for array in FUNCTIONS[CONV].arrays:
        low, high = (-100, 100) if array.dtype == "int8" else (0, 1)
        arrays[array.name] = rng.integers(low, high, array.shape(p)).astype(array.dtype)
    arrays["multiplier"][:], arrays["shift"][:] = 1 << 30, -5
    kept = {name: p[name] for name in FUNCTIONS[CONV].params}
    reference = cmsis.invoke(
        FUNCTIONS["arm_convolve_wrapper_s8"], {**kept, **arrays}, PLAIN_C
    ).ravel()
    found, _ = changed("arm_convolve_wrapper_s8", p, release="1.1.2")
    assert (found is not None) == (
        not np.array_equal(run(FUNCTIONS[CONV], kept, arrays), reference)
    )


@pytest.mark.parametrize(
    ("height", "width", "channels"), [(1, 5, 4), (4, 4, 4), (3, 5, 3), (5, 3, 4)]
)
def test_which_average_poolings_are_changed(height, width, channels):
    p = {"output_h": height, "output_w": width, "channels": channels}
    found, _ = changed("arm_avgpool_s8", p)
    assert (found is not None) == (height > 1 and height != width and channels % 4 == 0)
    assert changed("arm_avgpool_s8", p, "esp32c3") == (None, 0)


@pytest.mark.parametrize("channels", range(1, 25))
def test_which_max_poolings_lose_the_lower_bound(channels):
    p = {"channels": channels, "act_min": -5}
    target = Target("esp32s3", esp_nn="1.2.6")
    call = compute_as(EspCall("arm_max_pool_s8", p), target.profile())
    assert call.params["act_min"] == (-128 if channels % 8 == 4 else -5)
    free = {**p, "act_min": -128}
    assert changed("arm_max_pool_s8", free) == (None, 0)


@pytest.mark.parametrize("size", [1, 7, 8, 9, 16, 24, 25])
def test_which_products_have_a_tail(size):
    assert bool(changed("arm_elementwise_mul_s8", {"block_size": size})[0]) == (size % 8 != 0)


@pytest.mark.parametrize(
    ("rows", "depth"), [(1, 9), (2, 8), (2, 7), (2, 9), (3, 12), (9, 16), (2, 20)]
)
def test_which_dense_rows_are_unaligned(rows, depth):
    p = {"batches": rows, "input_c": depth}
    found, _ = changed("arm_fully_connected_s8", p)
    assert (found is not None) == (rows > 1 and depth > 8 and depth % 8 != 0)
    if found:
        with pytest.raises(Refused, match="its weights are computed"):
            changed("tflm_fully_connected_tensor_s8", p)


@pytest.mark.parametrize("release", ["1.1.2", "1.2.3"])
@pytest.mark.parametrize(
    ("rows", "classes"), [(1, 33), (2, 31), (2, 32), (2, 33), (5, 48), (2, 50)]
)
def test_which_softmax_rows_miss_their_maximum(rows, classes, release):
    p = {"num_rows": rows, "row_size": classes}
    found, _ = changed("arm_softmax_s8", p, release=release)
    shifted = rows > 1 and classes >= 32 and classes % 16 != 0
    assert (found is not None) == (shifted and release == "1.2.3")


@pytest.mark.parametrize("size", [15, 16, 17])
@pytest.mark.parametrize("offset", [0, 3])
def test_which_depthwise_convolutions_take_strips(size, offset):
    """Take 64 channels of 16 bits: filters of 3,200 bytes, 17 x 17 pixels of 36,992."""
    p = {**window((size, size + 4), (5, 5), 1, 64), "input_offset": offset}
    found, _ = changed("arm_depthwise_conv_wrapper_s8", p)
    large = 2 * 64 * (25 + size * (size + 4)) > 49152
    assert (found is not None) == (large and offset != 0)
    assert changed("arm_depthwise_conv_wrapper_s8", p, release="1.1.2")[0] is None


def test_an_overrun_of_scratch_memory_is_counted():
    p = window((49, 49), (3, 3), 1, 48, valid=True)
    assert changed("arm_depthwise_conv_wrapper_s8", p) == (None, 0)
    p = window((48, 47), (3, 3), 2, 48)
    rule = next(rule for rule in RULES if "padding (1, 0) or (0, 1)" in rule.when)
    call = EspCall("arm_depthwise_conv_wrapper_s8", p)
    assert rule.holds(call, "1.2.3")
    assert rule.warning is not None
    assert "bytes after its scratch memory" in rule.warning(call, "1.2.3")
    assert changed("arm_depthwise_conv_wrapper_s8", p) == (None, 1)


#: Image, kernel, stride, channels, multiplier -> are images of a batch at odd multiples of 8 bytes
#: refused in 1.1.2 and in 1.2.3?
BATCHES = {
    ((3, 3), (5, 5), 1, 8, 1): (False, True),
    ((3, 3), (3, 3), 1, 8, 1): (True, True),
    ((3, 3), (3, 3), 1, 24, 1): (True, False),
    ((4, 4), (3, 3), 1, 24, 1): (False, False),
    ((3, 3), (3, 3), 1, 16, 1): (False, False),
    ((3, 3), (3, 3), 1, 6, 4): (True, True),
    ((3, 3), (3, 3), 1, 6, 2): (False, False),
    ((63, 61), (5, 5), 1, 8, 1): (False, False),
}


@pytest.mark.parametrize("shape", BATCHES, ids=str)
def test_which_images_of_a_batch_are_refused_for_their_address(shape):
    p = {**window(*shape[:4]), "ch_mult": shape[4], "batches": 2, "input_offset": 0}
    for release, is_refused in zip(("1.1.2", "1.2.3"), BATCHES[shape]):
        if is_refused:
            with pytest.raises(Refused, match="no multiple of 16 bytes"):
                changed("arm_depthwise_conv_wrapper_s8", p, release=release)
        else:
            assert changed("arm_depthwise_conv_wrapper_s8", p, release=release)[0] is None
    assert changed("arm_depthwise_conv_wrapper_s8", p, "esp32") == (None, 0)


@pytest.mark.parametrize("device", ["esp32", "esp32s3", "esp32p4"])
def test_groups_are_refused_by_the_port_alone(device):
    p = {**window((8, 8), (3, 3), 1, 8), "filter_c": 4}
    with pytest.raises(Refused, match="it has groups"):
        changed("arm_convolve_wrapper_s8", p, device)
    assert changed("arm_convolve_wrapper_s8", p, device, in_port=False) == (None, 0)


#: Calls that differ -> the releases of the ESP32-S3 whose own bits, or refusal, are computed: the
#: first and the last; and the last whose bits are in doubt.
HISTORY = {
    "convolution": (window((8, 7), (3, 3), 2, 8), "1.1.1", "1.2.3", "1.2.5"),
    "dense": ({"batches": 2, "input_c": 9}, "1.1.1", "1.2.5", ""),
    "average": ({"channels": 4, "output_h": 3, "output_w": 2}, "1.1.1", "1.4.2", "1.5.0"),
    "maximum": ({"channels": 4, "act_min": 0}, "1.1.1", "1.2.6", "1.5.0"),
    "product": ({"block_size": 9}, "1.1.1", "1.2.6", "1.5.0"),
    "softmax": ({"num_rows": 2, "row_size": 33}, "1.2.1", "1.2.6", "1.4.2"),
    "strips": (window((30, 30), (5, 5), 1, 64), "1.2.1", "1.2.6", "1.4.2"),
    "images": ({**window((3, 3), (3, 3), 1, 8), "batches": 2}, "1.1.1", "1.4.2", "1.5.0"),
}

CALLS = {
    "convolution": "arm_convolve_wrapper_s8",
    "dense": "arm_fully_connected_s8",
    "average": "arm_avgpool_s8",
    "maximum": "arm_max_pool_s8",
    "product": "arm_elementwise_mul_s8",
    "softmax": "arm_softmax_s8",
    "strips": "arm_depthwise_conv_wrapper_s8",
    "images": "arm_depthwise_conv_wrapper_s8",
}


@pytest.mark.parametrize("name", HISTORY)
def test_each_release_computes_its_own_bits_or_says_that_they_are_in_doubt(name):
    params, first, last, doubtful = HISTORY[name]
    own, doubted, same = [], [], []
    for release in ESP_NN:
        call = EspCall(CALLS[name], params)
        try:
            found = compute_as(call, Target("esp32s3", esp_nn=release).profile())
        except Refused:
            own.append(release)
            continue
        is_own = (found.function, found.params) != (call.function, call.params)
        said = any("may still differ" in each for each in found.warnings)
        (own if is_own else doubted if said else same).append(release)
    start, end = ESP_NN.index(first), ESP_NN.index(last) + 1
    assert own == list(ESP_NN[start:end])
    assert doubted == list(ESP_NN[end : ESP_NN.index(doubtful) + 1] if doubtful else ())
    assert len(own + doubted + same) == len(ESP_NN)


@pytest.mark.parametrize(("release", "is_wrong"), [("1.1.2", 0), ("1.2.1", 1), ("1.2.3", 0)])
@pytest.mark.parametrize(
    ("depth", "is_odd"), [(16, 0), (32, 0), (48, 1), (50, 1), (80, 1), (64, 0)]
)
def test_an_odd_number_of_vectors_is_named_where_the_last_one_is_wrong(
    depth, is_odd, release, is_wrong
):
    p = {"batches": 1, "input_c": depth}
    assert changed("arm_fully_connected_s8", p, release=release) == (None, is_odd * is_wrong)


@pytest.mark.parametrize("margins", [("1.1.2", 32, 16), ("1.2.0~1", 32, 32), ("1.2.3", 64, 32)])
def test_early_releases_ask_for_other_margins_of_scratch_memory(margins):
    release, around, between = margins
    device = Target("esp32s3", esp_nn=release).profile()
    p = {**window((4, 4), (1, 1), 1, 8), "output_c": 4}
    assert count_scratch(CALLS["convolution"], p, device) == 8 * 4 + 16 * 8 + around
    p = {**window((4, 4), (3, 3), 1, 8), "ch_mult": 4}
    wide = 2 * (9 * 8 * 4 + 4 * 4 * 8)
    assert count_scratch(CALLS["strips"], p, device) == wide + between


def test_later_releases_ask_for_no_less_scratch_memory():
    shapes = [*CONVOLUTIONS, ((9, 9), (3, 3), 1, 32), ((4, 4), (1, 1), 1, 3000)]
    for shape in shapes:
        p = {**window(*shape), "output_c": 9}
        sizes = [
            count_scratch(CALLS["convolution"], p, Target("esp32s3", esp_nn=release).profile())
            for release in ("1.2.6", "1.5.0")
        ]
        assert 0 < sizes[0] <= sizes[1]
    assert sizes[1] == 24 * 3000 + 16 * 1024 + 64


@pytest.mark.parametrize(
    ("device", "release", "how"),
    [
        ("esp32s3", "1.2.6", ""),
        ("esp32s3", "1.3.2", "ESP32-S3 were read in part in release 1.3.2 (ADD, CONV_2D);"),
        ("esp32s3", "1.5.0", "ESP32-S3 were not read in release 1.5.0 (ADD, CONV_2D);"),
        ("esp32p4", "1.2.6", "ESP32-P4 were read, not run (ADD, CONV_2D);"),
        ("esp32c3", "1.5.0", ""),
    ],
)
def test_each_session_says_how_its_kernels_are_known(device, release, how):
    profile = Target(device, esp_nn=release).profile()
    names = ("arm_elementwise_add_s8", "tflm_mean_s8", "arm_convolve_wrapper_s8")
    said = esp_nn_rules.describe_evidence(profile, names)
    assert how in said
    assert bool(said) == bool(how)
    assert esp_nn_rules.describe_evidence(profile, ["tflm_mean_s8"]) == ""


def test_a_call_of_no_rule_is_unchanged():
    p = {**window((8, 8), (3, 3), 1, 8), "block_size": 9, "num_rows": 1, "row_size": 10}
    for name in ("arm_elementwise_add_s8", "arm_svdf_s8", "tflm_mean_s8"):
        assert changed(name, p) == (None, 0)
