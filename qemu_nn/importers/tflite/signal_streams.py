"""Operators of the Signal library that keep a state between runs."""

from __future__ import annotations

from ...errors import ModelError
from .building import Value
from .call import SUFFIXES, Call, Converter
from .signal import made, of_shape, real_type, rows, typed, vector

_UNWRITTEN = "while its second output is false, its first output is uninitialized on the device"

#: Options of SignalFilterBankSpectralSubtraction except the number of channels.
_SUBTRACTION = (
    *("smoothing", "one_minus_smoothing", "alternate_smoothing", "alternate_one_minus_smoothing"),
    *("min_signal_remaining", "smoothing_bits", "spectral_subtraction_bits", "clamping"),
)


def spectral_subtraction(call: Call) -> None:
    """Convert SignalFilterBankSpectralSubtraction: the signal, and the noise estimate.

    The call for each output keeps a separate noise state.
    """
    call.counts(1, 1, 2)
    options = call.custom("num_channels", *_SUBTRACTION)
    x = vector(call, 0, "UINT32")
    channels = options.integer("num_channels", 1)
    of_shape(x, "input", channels)
    limits = {"smoothing_bits": (0, 31), "spectral_subtraction_bits": (0, 63)}
    params = {
        name: options.integer(name, *limits.get(name, (-(2**31),)))
        for name in _SUBTRACTION
        if name != "clamping"
    }
    params.update(length=channels, clamping=int(options.flag("clamping")))
    for at, what in enumerate(("subtraction", "noise_estimate")):
        output = made(call, at, "UINT32")
        of_shape(output, f"output {at}", channels)
        noise = call.memory(f"{what} state", (channels,), "uint32")
        call.put(f"tflm_signal_{what}_u32", params, [x, noise], output, at=at)


def _frames(call: Call, x: Value, output: Value, params: dict[str, int]) -> None:
    """Add the call that splits a stream into frames."""
    kept = call.memory("kept", (params["outer"], params["kept_length"]), "int16")
    count = call.memory("count", (1,), "int32")
    call.put("tflm_signal_frames_s16", params, [x, kept, count], output)


def _valid(call: Call, params: dict[str, int]) -> None:
    """Add the call for the output that is true if the frames are valid."""
    valid = made(call, 1, "BOOL")
    of_shape(valid, "second output")
    own = {name: params[name] for name in ("n_frames", "wait", "every")}
    count = call.memory("valid count", (1,), "int32")
    call.put("tflm_signal_valid_b8", own, [count], valid, at=1)


def framer(call: Call) -> None:
    """Convert SignalFramer."""
    call.counts(1, 1, 2)
    options = call.custom("frame_size", "frame_step", "prefill")
    x, output = typed(call, 0, "INT16"), made(call, 0, "INT16")
    outer, side = rows(x)
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
    of_shape(output, "output", *x.shape[:-1], side // step, size)
    memory = size if prefill else -(-size // step) * step
    wait = 0 if prefill else memory // step - 1
    params = {
        **{"outer": outer, "n_frames": side // step, "frame_size": size, "frame_step": step},
        **{"kept_length": memory, "wait": wait, "every": 1, "fill": 0},
    }
    if wait:
        call.warn(_UNWRITTEN)
    _frames(call, x, output, params)
    _valid(call, params)


def stacker(call: Call) -> None:
    """Convert SignalStacker."""
    call.counts(1, 1, 2)
    names = ("stacker_left_context", "stacker_right_context")
    options = call.custom("num_channels", *names, "stacker_step")
    x, output = vector(call, 0, "INT16"), made(call, 0, "INT16")
    channels = options.integer("num_channels", 1)
    left, right = (options.integer(name, 0, 2**16) for name in names)
    every = options.integer("stacker_step", 1, left + right + 1)
    of_shape(x, "input", channels)
    of_shape(output, "output", channels * (left + right + 1))
    params = {
        **{"outer": 1, "n_frames": 1, "frame_size": output.size, "frame_step": channels},
        **{"kept_length": output.size + (every - 1) * channels, "wait": right, "every": every},
        "fill": 1,
    }
    if right or every > 1:
        call.warn(_UNWRITTEN)
    _frames(call, x, output, params)
    _valid(call, params)


def delay(call: Call) -> None:
    """Convert SignalDelay."""
    call.counts(1, 1)
    length = call.custom("delay_length").integer("delay_length")
    x, output = typed(call, 0, "INT16"), made(call, 0, "INT16")
    outer, side = rows(x)
    of_shape(output, "output", *x.shape)
    params = {
        **{"outer": outer, "n_frames": 1, "frame_size": side, "frame_step": side},
        **{"kept_length": side + length, "wait": 0, "every": 1, "fill": 0},
    }
    _frames(call, x, output, params)


def overlap_add(call: Call) -> None:
    """Convert SignalOverlapAdd."""
    call.counts(1, 1)
    options = call.custom("T", "frame_step")
    type = real_type(options, "INT16", "FLOAT32")
    x, output = typed(call, 0, type), made(call, 0, type)
    if len(x.shape) < 2:
        raise ModelError(f"its input is {list(x.shape)}; it must be [..., frames, elements]")
    *others, frames, size = x.shape
    step = options.integer("frame_step", 1, size)
    of_shape(output, "output", *others, frames * step)
    params = {"outer": x.size // (frames * size), "n_frames": frames, "frame_size": size}
    params["frame_step"] = step
    suffix = SUFFIXES[x.dtype]
    total = call.memory("sum", (params["outer"], size), x.dtype)
    call.put(f"tflm_signal_overlap_add_{suffix}", params, [x, total], output)


STREAMS: dict[str, Converter] = {
    "SignalFilterBankSpectralSubtraction": spectral_subtraction,
    "SignalFramer": framer,
    "SignalStacker": stacker,
    "SignalDelay": delay,
    "SignalOverlapAdd": overlap_add,
}
