"""Fast rows of the Signal library, and of what stands between its calls: ranges, ends, tails."""

import itertools

import numpy as np
import pytest
from bits import calls, hold

from qemu_nn.functions.tflm_signal_tables import make_twiddles

ENDS = np.array([-32768, -32767, -1, 0, 1, 2, 32766, 32767], np.int16)
WORDS = np.array([0, 1, 2, 3, 2**13, 2**16 - 1, 2**16, 2**31 - 1, 2**31, 2**32 - 1], np.uint32)


def transform(n, outer, x, table):
    own = {"outer": outer, "input_length": x.shape[1], "fft_length": 2 * n}
    first, rest = table[: 2 * n].reshape(-1, 2), table[2 * n :].reshape(-1, 2)
    return {**own, "input": x, "twiddles": first, "super_twiddles": rest}


@pytest.mark.parametrize("n", [2**bits for bits in range(1, 12)])
def test_spectra_of_powers_of_2(n):
    rng = np.random.default_rng(n)
    own = make_twiddles("s16", 2 * n, False)
    for length in {2 * n, 2 * n - 1, n + 1, 1}:
        x = rng.integers(-32768, 32768, (2, length)).astype(np.int16)
        hold("tflm_signal_rfft_s16", transform(n, 2, x, own))
        extreme = rng.choice(ENDS, x.shape)
        hold("tflm_signal_rfft_s16", transform(n, 2, extreme, rng.choice(ENDS, own.shape)))


def test_other_lengths_of_a_spectrum_are_left_to_the_plain_row():
    for length, plain in ((512, False), (48, True), (20, True)):
        x = np.zeros((1, length), np.int16)
        arguments = transform(length // 2, 1, x, make_twiddles("s16", length, False))
        for _, found in calls("tflm_signal_rfft_s16", arguments):
            assert (set(found) == {"ref"}) == plain


def square_root(x, bits=0):
    x = np.asarray(x, np.uint64)
    return {"length": len(x), "input": x, "scale_bits": np.array([bits], np.int32)}


def test_roots_beside_every_middle():
    roots = [*range(1, 3000), 65535, 65536, 2**26 - 1, 2**31, 94906265, 2**32 - 2, 2**32 - 1]
    rng = np.random.default_rng(1)
    roots += rng.integers(1, 2**32, 4000).tolist()
    near = [r * r + step for r in roots for step in (-1, 0, 1, r - 1, r, r + 1)]
    found = [x for x in near if x < 2**64] + [0, 2**64 - 1, 2**63, 2**32 - 1, 2**32]
    hold("tflm_signal_square_root_u64", square_root(found))
    for length, bits in itertools.product(range(6), (0, 3, 31, 32, 255, 256, -1)):
        hold("tflm_signal_square_root_u64", square_root(found[-1 - length :], bits))


#: Check the lowest number after and before other values: the search restarts after it.
LOWEST = (
    *((-32768, -5, -3), (-32768, -5, -10), (-32768, -5, 40), (40, -32768, -3), (-3, -32768, 0)),
    *((-32768, -32768, -32768), (3, 40, -32768), (40, -5, -3), (-40, 5, 3), (0, 0, 0)),
)


@pytest.mark.parametrize("library", ["signal", "frontend"])
def test_scales_wherever_the_lowest_number_stands(library):
    for x in LOWEST:
        for what in ("auto_scale", "scale_bits"):
            own = {"length": 3, "input": np.array(x, np.int16)}
            hold(f"tflm_{library}_{what}_s16", own)
    for x in ENDS:
        own = {"length": 67, "input": np.full(67, x, np.int16)}
        hold(f"tflm_{library}_auto_scale_s16", own)


def test_features_and_windows_have_the_bits_of_the_plain_row():
    every = np.arange(-32768, 32768).astype(np.int16)
    hold("tflm_frontend_features_s8", {"length": every.size, "input": every})
    x, window = (np.array(v, np.int16) for v in zip(*itertools.product(ENDS, ENDS)))
    for shift in (0, 1, 12, 15, 31):
        own = {"outer": 1, "size": x.size, "right_shift": shift, "window": window}
        hold("tflm_signal_window_s16", {**own, "input": x[None]})


def test_energies_have_the_bits_of_the_plain_row():
    x = np.array([*itertools.product(ENDS, ENDS)], np.int16)
    for start, end in ((0, 64), (64, 64), *((5, end) for end in range(5, 22))):
        own = {"length": 64, "start_index": start, "end_index": end}
        hold("tflm_signal_energy_s16", {**own, "input": x})


def test_filters_of_every_width_and_those_that_leave_the_input():
    rng = np.random.default_rng(2)
    last = {"frequency_starts": 32, "weight_starts": 52, "widths": 60}
    for channels in (1, 5, *[40] * 6):
        own = {"length": 30, "num_weights": 50, "num_channels": channels}
        own["input"] = rng.choice(WORDS, 30)
        for name, most in last.items():
            drawn = rng.integers(-3, most, channels + 1)
            drawn[rng.random(drawn.size) < 0.05] = rng.choice(ENDS)
            own[name] = drawn.astype(np.int16)
        for name in ("weights", "unweights"):
            own[name] = rng.choice([*ENDS, 7, -300], 50).astype(np.int16)
        hold("tflm_signal_filter_bank_u32", own)


def words(count, seed):
    """Return values of every number of bits."""
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, 2**32, count, np.uint64) >> rng.integers(0, 32, count).astype(np.uint64)
    return np.concatenate([WORDS, drawn.astype(np.uint32)])


@pytest.mark.parametrize("what", ["subtraction", "noise_estimate"])
def test_noise_reduction_has_the_bits_of_the_plain_row(what):
    x, noise = words(61, 3), words(61, 4)[::-1].copy()
    options = (
        *(("smoothing", 409), ("one_minus_smoothing", 15975), ("alternate_smoothing", -1)),
        *(("alternate_one_minus_smoothing", 2**31 - 1), ("min_signal_remaining", -3)),
    )
    for up, bits, clamping in itertools.product((0, 10, 31), (0, 14, 32, 63), (0, 1)):
        own = {"smoothing_bits": up, "spectral_subtraction_bits": bits, "clamping": clamping}
        own.update(dict(options), length=len(x), input=x, noise_estimate=noise)
        hold(f"tflm_signal_{what}_u32", own)


def test_gains_of_every_shift_have_the_bits_of_the_plain_row():
    rng = np.random.default_rng(5)
    noise, x = (a.ravel() for a in np.meshgrid(words(300, 6), words(20, 7)))
    for shift, values in itertools.product((0, 6, 33, 63), (ENDS, np.arange(-900, 900))):
        lut = rng.choice(values, 125).astype(np.int16)
        own = {"length": x.size, "lut_length": 125, "snr_shift": shift, "gain_lut": lut}
        hold("tflm_signal_pcan_u32", {**own, "input": x, "noise_estimate": noise})


def test_logarithms_have_the_bits_of_the_plain_row():
    edges = [2**k + step for k in range(32) for step in range(-3, 4) if 0 <= 2**k + step < 2**32]
    x = np.concatenate([np.arange(5000, dtype=np.uint32), words(5001, 8), np.uint32(edges)])
    for up, scale in itertools.product((0, 3, 31), (64, 1600, -1, 2**31 - 1)):
        own = {"length": x.size, "input_correction_bits": up, "output_scale": scale}
        hold("tflm_signal_log_u32", {**own, "input": x})


INTEGERS = {"s8": np.int8, "s16": np.int16, "s32": np.int32, "u32": np.uint32}
REALS = np.array(
    [0.0, -0.0, 0.5, -1.5, 127.9, -129.0, 65537.5, 2.0**31, -(2.0**31), 2.0**32, -1e30, np.nan],
    np.float32,
)


@pytest.mark.parametrize("source", [*INTEGERS, "f32", "b8"])
@pytest.mark.parametrize("target", [*INTEGERS, "f32"])
def test_casts_have_the_bits_of_the_plain_row(source, target):
    if source == "f32":
        x = np.concatenate([REALS, np.nextafter(REALS, np.float32(0)), -REALS])
    elif source == "b8":
        x = np.array([False, True, True, False, True])
    else:
        bits = np.random.default_rng(9).integers(0, 2**32, 37, np.uint32)
        x = np.concatenate([WORDS, bits]).astype(INTEGERS[source])
    name = f"tflm_cast_{source}_{target}"
    for length in (*range(1, 6), len(x)):
        hold(name, {"length": length, "input": x[:length].copy()})


@pytest.mark.parametrize(
    "what", ["add", "sub", "mul", "div", "maximum", "minimum", "squared_difference"]
)
def test_pairs_of_32_bits(what):
    ends = [-(2**31), 1 - 2**31, -65537, -7, -1, 0, 1, 2, 3, 6, 7, 46341, 2**31 - 2, 2**31 - 1]
    x, y = (np.array(v, np.int32) for v in zip(*itertools.product(ends, ends)))
    rng = np.random.default_rng(10)
    near = rng.integers(-46340, 46341, (2, 3000))
    products = near[0] * near[1] + rng.integers(-1, 2, 3000)
    x, y = (np.concatenate(v).astype(np.int32) for v in ((x, products), (y, near[1])))
    for activation in range(4) if what in ("add", "sub", "mul", "div") else (None,):
        own = {"length": len(x), "input1": x, "input2": y}
        if activation is not None:
            own["activation"] = activation
        hold(f"tflm_{what}_s32", own)


def test_bytes_as_real_numbers():
    every = np.arange(-128, 128).astype(np.int8)
    for scale, zero in itertools.product((0.00390625, 3e38, 1e-40, 1.1), (-128, 0, 127)):
        bits = int(np.float32(scale).view(np.int32))
        own = {"length": 256, "zero_point": zero, "scale_bits": bits}
        hold("tflm_dequantize_s8_f32", {**own, "input": every})


@pytest.mark.parametrize("name", ["tflm_softmax_f32", "tflm_log_softmax_f32"])
def test_exponentials_of_every_size(name):
    rng = np.random.default_rng(11)
    for spread in (1e-3, 1.0, 30.0, 110.0):
        x = np.concatenate([[0], -np.abs(rng.normal(size=6000) * spread)]).astype(np.float32)
        own = {"num_rows": 1, "row_size": x.size, "input": x[None]}
        for beta in (1.0, -0.25) if name == "tflm_softmax_f32" else (None,):
            if beta is not None:
                own["beta_bits"] = int(np.float32(beta).view(np.int32))
            hold(name, own)


def test_16_bits_in_another_scale_of_32():
    every = np.arange(-32768, 32768).astype(np.int16)
    points = itertools.cycle([(0, 0), (-32768, 2**30), (32767, -(2**30))])
    for multiplier, shift in itertools.product((1, 1518500250, 2**31 - 1), (-31, -8, 0, 14)):
        zero, out = next(points)
        own = {"multiplier": multiplier, "shift": shift, "input_zero_point": zero}
        own.update(output_zero_point=out, length=every.size, input=every)
        hold("tflm_requantize_s16_s32", own)
