"""The Signal library of TensorFlow Lite Micro, which turns sound into features."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Optional

from .base import Function, Params
from .random_params import SIZES, Draw, Drawn, draw_length, draw_only_length
from .shapes import Array, Extent, Half, Total, join_arrays, vector

_DTYPES = {"s16": "int16", "s32": "int32", "f32": "float32", "u32": "uint32", "u64": "uint64"}

#: Lengths of transforms: every radix, alone and combined.
_FFT_LENGTHS = (4, 6, 8, 10, 12, 16, 18, 20, 30, 32, 40, 48, 50, 60, 64, 120, 128, 150, 256, 480)

#: Fields of the structs of parameters that a function has no argument for.
_UNUSED = dict.fromkeys(("outer", "frame_size", "frame_step", "kept_length"), 1)

# ---- random arguments ----


def _draw_window(rng: Random, function: Function) -> Drawn:
    return {"outer": rng.choice(SIZES), "size": draw_length(rng), "right_shift": rng.randint(0, 18)}


def _draw_fft(rng: Random, function: Function) -> Drawn:
    p = {"outer": rng.randint(1, 3), "fft_length": rng.choice(_FFT_LENGTHS)}
    if "input_length" in function.params:
        p["input_length"] = rng.choice((p["fft_length"], rng.randint(1, p["fft_length"])))
    return p


def _draw_energy(rng: Random, function: Function) -> Drawn:
    start, end, whole = sorted(rng.randint(0, 70) for _ in range(3))
    return {"length": whole + 1, "start_index": start, "end_index": end}


def _draw_bank(rng: Random, function: Function) -> Drawn:
    p = {"length": rng.randint(1, 70), "num_weights": rng.randint(1, 70)}
    return {**p, "num_channels": rng.choice(SIZES)}


def _draw_subtraction(rng: Random, function: Function) -> Drawn:
    p = {name: rng.randint(0, 2**14) for name in _SUBTRACTION if "smoothing" in name}
    p.update(length=draw_length(rng), min_signal_remaining=rng.randint(-(2**14), 2**14))
    p.update(smoothing_bits=rng.randint(0, 31), spectral_subtraction_bits=rng.randint(0, 40))
    return {**p, "clamping": rng.randrange(2)}


def _draw_pcan(rng: Random, function: Function) -> Drawn:
    p = {"length": draw_length(rng), "lut_length": rng.randint(125, 130)}
    return {**p, "snr_shift": rng.randint(0, 40)}


def _draw_log(rng: Random, function: Function) -> Drawn:
    p = {"length": draw_length(rng), "input_correction_bits": rng.randint(0, 31)}
    return {**p, "output_scale": rng.choice((1600, 65536, -1, rng.randint(0, 2**31 - 1)))}


def _draw_frames(rng: Random, function: Function) -> Drawn:
    p = {"n_frames": rng.randint(1, 4), "wait": rng.randint(0, 3), "every": rng.randint(1, 3)}
    if "kept_length" in function.params:
        step, size = rng.randint(1, 9), rng.randint(1, 20)
        p.update(outer=rng.randint(1, 3), frame_step=step, frame_size=size, fill=rng.randrange(2))
        p["kept_length"] = max(step, size + (p["every"] - 1) * step) + rng.randrange(3)
    return p


def _draw_overlap(rng: Random, function: Function) -> Drawn:
    size = rng.choice(SIZES)
    p = {"outer": rng.randint(1, 3), "n_frames": rng.randint(1, 3), "frame_size": size}
    return {**p, "frame_step": rng.randint(1, size)}


# ---- declarations ----


def _signal(
    what: str,
    type: str,
    params: tuple[str, ...],
    inputs: tuple[Array, ...],
    output: Array,
    draw: Draw,
    case: Params,
    weights: Optional[Array] = None,
    parts: tuple[Array, ...] = (),
    fixed: Mapping[str, int] = {},
    note: str = "",
) -> Function:
    return Function(
        name=f"tflm_signal_{what}_{type}",
        op=f"signal_{what}",
        type=type,
        params=params,
        inputs=inputs,
        output=output,
        weights=weights,
        parts=parts,
        fixed=fixed,
        note=note,
        draw=draw,
        cases=(case,),
    )


def _fft(what: str, type: str) -> Function:
    """Return a transform; its tables are those of tflm_signal_tables.py."""
    dtype, spectrum = _DTYPES[type], Total(("fft_length", 2))
    twiddles = Array("twiddles", dtype, (Half(("fft_length",)), 2))
    super_twiddles = Array("super_twiddles", dtype, (Half((Half(("fft_length",)),)), 2))
    real = what == "rfft"
    ends: tuple[tuple[Extent, ...], ...] = (("outer", "input_length"), ("outer", spectrum))
    if not real:
        ends = (("outer", spectrum), ("outer", "fft_length"))
    case = {"outer": 1, "input_length": 480, "fft_length": 512}
    params = ("outer", "input_length", "fft_length") if real else ("outer", "fft_length")
    return _signal(
        what,
        type,
        params,
        (Array("input", dtype, ends[0]),),
        Array("output", dtype, ends[1]),
        _draw_fft,
        {name: case[name] for name in params},
        join_arrays("weights", dtype, twiddles, super_twiddles),
        (twiddles, super_twiddles),
        {} if real else {"input_length": 1},
        "twiddles and super_twiddles: functions.tflm_signal_tables.twiddles().",
    )


def _bank() -> Function:
    weights = tuple(vector(name, "int16", "num_weights") for name in ("weights", "unweights"))
    bounds = ("frequency_starts", "weight_starts", "widths")
    channels = tuple(vector(name, "int16", Total(("num_channels", 1))) for name in bounds)
    return _signal(
        "filter_bank",
        "u32",
        ("length", "num_weights", "num_channels"),
        (vector("input", "uint32", "length"),),
        vector("output", "uint64", "num_channels"),
        _draw_bank,
        {"length": 257, "num_weights": 480, "num_channels": 40},
        join_arrays("filters", "int16", *weights, *channels),
        (*weights, *channels),
    )


_SUBTRACTION: tuple[str, ...] = (
    *("length", "smoothing", "one_minus_smoothing", "alternate_smoothing"),
    *("alternate_one_minus_smoothing", "min_signal_remaining", "smoothing_bits"),
    *("spectral_subtraction_bits", "clamping"),
)
_SUBTRACTION_CASE = (40, 409, 15974, 409, 15974, 819, 10, 14, 0)


def _subtraction(what: str) -> Function:
    noise = Array("noise_estimate", "uint32", ("length",), state=True)
    return _signal(
        what,
        "u32",
        _SUBTRACTION,
        (vector("input", "uint32", "length"), noise),
        vector("output", "uint32", "length"),
        _draw_subtraction,
        dict(zip(_SUBTRACTION, _SUBTRACTION_CASE)),
        note="Smoothings and min_signal_remaining: 32 bits, read as unsigned.",
    )


def _overlap_add(type: str) -> Function:
    dtype = _DTYPES[type]
    return _signal(
        "overlap_add",
        type,
        ("outer", "n_frames", "frame_size", "frame_step"),
        (
            Array("input", dtype, ("outer", "n_frames", "frame_size")),
            Array("sum", dtype, ("outer", "frame_size"), state=True),
        ),
        Array("output", dtype, ("outer", ("n_frames", "frame_step"))),
        _draw_overlap,
        {"outer": 1, "n_frames": 1, "frame_size": 512, "frame_step": 128},
    )


_COUNT = Array("count", "int32", (1,), state=True)
_FRAMES: tuple[str, ...] = (
    *("outer", "n_frames", "frame_size", "frame_step", "kept_length", "wait", "every", "fill"),
)

FUNCTIONS = (
    _signal(
        "window",
        "s16",
        ("outer", "size", "right_shift"),
        (Array("input", "int16", ("outer", "size")),),
        Array("output", "int16", ("outer", "size")),
        _draw_window,
        {"outer": 1, "size": 480, "right_shift": 12},
        vector("window", "int16", "size"),
    ),
    _signal(
        "auto_scale",
        "s16",
        ("length",),
        (vector("input", "int16", "length"),),
        vector("output", "int16", "length"),
        draw_only_length(),
        {"length": 480},
        fixed={"skips_lowest": 0},
    ),
    _signal(
        "scale_bits",
        "s16",
        ("length",),
        (vector("input", "int16", "length"),),
        vector("output", "int32", 1),
        draw_only_length(),
        {"length": 480},
        fixed={"skips_lowest": 0},
    ),
    *(_fft(what, type) for what in ("rfft", "irfft") for type in ("s16", "s32", "f32")),
    _signal(
        "energy",
        "s16",
        ("length", "start_index", "end_index"),
        (Array("input", "int16", ("length", 2)),),
        vector("output", "uint32", "length"),
        _draw_energy,
        {"length": 257, "start_index": 4, "end_index": 240},
    ),
    _bank(),
    _signal(
        "square_root",
        "u64",
        ("length",),
        (vector("input", "uint64", "length"), vector("scale_bits", "int32", 1)),
        vector("output", "uint32", "length"),
        draw_only_length(),
        {"length": 40},
    ),
    *(_subtraction(what) for what in ("subtraction", "noise_estimate")),
    _signal(
        "pcan",
        "u32",
        ("length", "lut_length", "snr_shift"),
        (vector("input", "uint32", "length"), vector("noise_estimate", "uint32", "length")),
        vector("output", "uint32", "length"),
        _draw_pcan,
        {"length": 40, "lut_length": 125, "snr_shift": 6},
        vector("gain_lut", "int16", "lut_length"),
    ),
    _signal(
        "log",
        "u32",
        ("length", "input_correction_bits", "output_scale"),
        (vector("input", "uint32", "length"),),
        vector("output", "int16", "length"),
        _draw_log,
        {"length": 40, "input_correction_bits": 3, "output_scale": 1600},
        note="output_scale: 32 bits, read as unsigned.",
    ),
    _signal(
        "frames",
        "s16",
        _FRAMES,
        (
            Array("input", "int16", ("outer", ("n_frames", "frame_step"))),
            Array("kept", "int16", ("outer", "kept_length"), state=True),
            _COUNT,
        ),
        Array("output", "int16", ("outer", "n_frames", "frame_size")),
        _draw_frames,
        dict(zip(_FRAMES, (1, 1, 480, 160, 480, 0, 1, 0))),
    ),
    _signal(
        "valid",
        "b8",
        ("n_frames", "wait", "every"),
        (_COUNT,),
        vector("output", "bool", 1),
        _draw_frames,
        {"n_frames": 1, "wait": 2, "every": 1},
        fixed={**_UNUSED, "fill": 0},
    ),
    *(_overlap_add(type) for type in ("s16", "f32")),
)
