"""Operators of the Signal library that keep a state between runs."""

from __future__ import annotations

from ...errors import ModelError
from .building import TfliteValue
from .call import SUFFIXES, Converter, TfliteCall
from .signal import check_vector, count_rows, declare_typed, read_type, read_typed, read_vector

_UNWRITTEN = "while its second output is false, its first output is uninitialized on the device"

#: Options of SignalFilterBankSpectralSubtraction except the number of channels.
_SUBTRACTION = (
    *("smoothing", "one_minus_smoothing", "alternate_smoothing", "alternate_one_minus_smoothing"),
    *("min_signal_remaining", "smoothing_bits", "spectral_subtraction_bits", "clamping"),
)


def spectral_subtraction(call: TfliteCall) -> None:
    """Convert SignalFilterBankSpectralSubtraction: the signal, and the noise estimate.

    The call for each output keeps a separate noise state.
    """
    call.check_counts(1, 1, 2)
    options = call.read_custom_options("num_channels", *_SUBTRACTION)
    x = read_vector(call, 0, "UINT32")
    channels = options.integer("num_channels", 1)
    check_vector(x, "input", channels)
    limits = {"smoothing_bits": (0, 31), "spectral_subtraction_bits": (0, 63)}
    params = {
        name: options.integer(name, *limits.get(name, (-(2**31),)))
        for name in _SUBTRACTION
        if name != "clamping"
    }
    params.update(length=channels, clamping=int(options.flag("clamping")))
    for at, what in enumerate(("subtraction", "noise_estimate")):
        output = declare_typed(call, at, "UINT32")
        check_vector(output, f"output {at}", channels)
        noise = call.add_state(f"{what} state", (channels,), "uint32")
        call.put(f"tflm_signal_{what}_u32", params, [x, noise], output, at=at)


def _put_frames(
    call: TfliteCall, x: TfliteValue, output: TfliteValue, params: dict[str, int]
) -> None:
    """Add the call that splits a stream into frames."""
    kept = call.add_state("kept", (params["outer"], params["kept_length"]), "int16")
    count = call.add_state("count", (1,), "int32")
    call.put("tflm_signal_frames_s16", params, [x, kept, count], output)


def _put_valid(call: TfliteCall, params: dict[str, int]) -> None:
    """Add the call for the output that is true if the frames are valid."""
    valid = declare_typed(call, 1, "BOOL")
    check_vector(valid, "second output")
    own = {name: params[name] for name in ("n_frames", "wait", "every")}
    count = call.add_state("valid count", (1,), "int32")
    call.put("tflm_signal_valid_b8", own, [count], valid, at=1)


def framer(call: TfliteCall) -> None:
    """Convert SignalFramer."""
    call.check_counts(1, 1, 2)
    options = call.read_custom_options("frame_size", "frame_step", "prefill")
    x, output = read_typed(call, 0, "INT16"), declare_typed(call, 0, "INT16")
    outer, side = count_rows(x)
    step = options.integer("frame_step", 1, side)
    size = options.integer("frame_size", 1)
    prefill = options.flag("prefill")
    if side % step:
        raise ModelError(
            f"its input has {side} elements; it must have a multiple of its frame_step, {step}"
        )
    if prefill and size < step:
        raise ModelError(
            f"its prefill has {size} - {step} elements; frame_size must be at least frame_step"
        )
    check_vector(output, "output", *x.shape[:-1], side // step, size)
    memory = size if prefill else -(-size // step) * step
    wait = 0 if prefill else memory // step - 1
    params = {
        **{"outer": outer, "n_frames": side // step, "frame_size": size, "frame_step": step},
        **{"kept_length": memory, "wait": wait, "every": 1, "fill": 0},
    }
    if wait:
        call.warn(_UNWRITTEN)
    _put_frames(call, x, output, params)
    _put_valid(call, params)


def stacker(call: TfliteCall) -> None:
    """Convert SignalStacker."""
    call.check_counts(1, 1, 2)
    names = ("stacker_left_context", "stacker_right_context")
    options = call.read_custom_options("num_channels", *names, "stacker_step")
    x, output = read_vector(call, 0, "INT16"), declare_typed(call, 0, "INT16")
    channels = options.integer("num_channels", 1)
    left, right = (options.integer(name, 0, 2**16) for name in names)
    every = options.integer("stacker_step", 1, left + right + 1)
    check_vector(x, "input", channels)
    check_vector(output, "output", channels * (left + right + 1))
    params = {
        **{"outer": 1, "n_frames": 1, "frame_size": output.size, "frame_step": channels},
        **{"kept_length": output.size + (every - 1) * channels, "wait": right, "every": every},
        "fill": 1,
    }
    if right or every > 1:
        call.warn(_UNWRITTEN)
    _put_frames(call, x, output, params)
    _put_valid(call, params)


def delay(call: TfliteCall) -> None:
    """Convert SignalDelay."""
    call.check_counts(1, 1)
    length = call.read_custom_options("delay_length").integer("delay_length")
    x, output = read_typed(call, 0, "INT16"), declare_typed(call, 0, "INT16")
    outer, side = count_rows(x)
    check_vector(output, "output", *x.shape)
    params = {
        **{"outer": outer, "n_frames": 1, "frame_size": side, "frame_step": side},
        **{"kept_length": side + length, "wait": 0, "every": 1, "fill": 0},
    }
    _put_frames(call, x, output, params)


def overlap_add(call: TfliteCall) -> None:
    """Convert SignalOverlapAdd."""
    call.check_counts(1, 1)
    options = call.read_custom_options("T", "frame_step")
    type = read_type(options, "INT16", "FLOAT32")
    x, output = read_typed(call, 0, type), declare_typed(call, 0, type)
    if len(x.shape) < 2:
        raise ModelError(f"its input is {list(x.shape)}; it must be [..., frames, elements]")
    *others, frames, size = x.shape
    step = options.integer("frame_step", 1, size)
    check_vector(output, "output", *others, frames * step)
    params = {"outer": x.size // (frames * size), "n_frames": frames, "frame_size": size}
    params["frame_step"] = step
    suffix = SUFFIXES[x.dtype]
    total = call.add_state("sum", (params["outer"], size), x.dtype)
    call.put(f"tflm_signal_overlap_add_{suffix}", params, [x, total], output)


STREAMS: dict[str, Converter] = {
    "SignalFilterBankSpectralSubtraction": spectral_subtraction,
    "SignalFramer": framer,
    "SignalStacker": stacker,
    "SignalDelay": delay,
    "SignalOverlapAdd": overlap_add,
}
