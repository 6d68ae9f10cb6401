"""Stateless operators of the Signal library: windows, Fourier transforms, filter banks."""

from __future__ import annotations

from typing import Optional

import numpy as np

from ...errors import ModelError
from ...functions.tflm_signal_tables import twiddles
from .building import Value
from .call import SUFFIXES, Call, Converter, Options
from .checked import library

#: Minimum length of PCAN's table of gains: the largest noise estimate reads element 124.
_GAINS = 125


def of_shape(value: Value, what: str, *shape: int) -> None:
    """Raise ModelError if a tensor has a different shape."""
    if value.shape != shape:
        raise ModelError(
            f"its {what}, {value.name[:60]!r}, is {list(value.shape)}; it must be {[*shape]}"
        )


def table(call: Call, index: int, length: Optional[int] = None) -> np.ndarray:
    """Return a constant vector of int16."""
    tensor, data = call.constant(index, "INT16")
    if len(tensor.shape) != 1 or not data.size or (length is not None and data.size != length):
        wanted = "a vector" if length is None else f"[{length}]"
        raise ModelError(
            f"its input {index}, {tensor}, is {list(tensor.shape)}; it must be {wanted}"
        )
    return data


def vector(call: Call, index: int, type: str) -> Value:
    """Return an input that is a vector of this type."""
    value = typed(call, index, type)
    if len(value.shape) != 1:
        raise ModelError(f"its input {index} is {list(value.shape)}; it must be a vector")
    return value


def typed(call: Call, index: int, type: str) -> Value:
    """Return an input, which must be of this type, without a format."""
    tensor = call.tensor(index)
    if tensor.type != type:
        raise ModelError(f"its input {index}, {tensor}, is {tensor.type}; it must be {type}")
    return call.brought(index, type)


def made(call: Call, index: int, type: str) -> Value:
    """Return an output, which must be of this type, without a format."""
    tensor = call.builder.model.tensor(call.operator.outputs[index])
    if tensor.type != type:
        raise ModelError(f"its output {index}, {tensor}, is {tensor.type}; it must be {type}")
    return call.output(index, type)


def rows(value: Value) -> tuple[int, int]:
    """Return the number of rows and the length of the last axis."""
    if not value.shape:
        raise ModelError(f"{value.name[:60]!r} is a scalar; it must have at least one axis")
    return value.size // value.shape[-1], value.shape[-1]


def real_type(options: Options, *types: str) -> str:
    """Return the type that the option T gives for input and output."""
    code = options.integer("T")
    for type in types:
        if getattr(library("TensorType"), type) == code:
            return type
    raise ModelError(f"its option T is {code}; it must be the number of {', '.join(types)}")


def window(call: Call) -> None:
    """Convert SignalWindow."""
    call.counts(2, 2)
    shift = call.custom("shift").integer("shift", 0, 31)
    x, output = typed(call, 0, "INT16"), made(call, 0, "INT16")
    weights = table(call, 1)
    of_shape(output, "output", *x.shape)
    if x.size % weights.size:
        raise ModelError(
            f"its input is {list(x.shape)}; its size must be a multiple of the window's size, "
            f"{weights.size}"
        )
    params = {"outer": x.size // weights.size, "size": weights.size, "right_shift": shift}
    call.put("tflm_signal_window_s16", params, [x], output, weights)


def fft_auto_scale(call: Call) -> None:
    """Convert SignalFftAutoScale: the scaled signal, and the number of bits of its scaling."""
    call.counts(1, 1, 2)
    x, output, bits = vector(call, 0, "INT16"), made(call, 0, "INT16"), made(call, 1, "INT32")
    of_shape(output, "output", *x.shape)
    of_shape(bits, "second output")
    call.put("tflm_signal_auto_scale_s16", {"length": x.size}, [x], output)
    call.put("tflm_signal_scale_bits_s16", {"length": x.size}, [x], bits, at=1)


def rfft(call: Call) -> None:
    """Convert SignalRfft."""
    _fft(call, "rfft")


def irfft(call: Call) -> None:
    """Convert SignalIrfft."""
    _fft(call, "irfft")


def _fft(call: Call, what: str) -> None:
    call.counts(1, 1)
    options = call.custom("T", "fft_length")
    type = real_type(options, "INT16", "INT32", "FLOAT32")
    x, output = typed(call, 0, type), made(call, 0, type)
    length = options.integer("fft_length", 4, 32768)
    (outer, side), (others, other) = rows(x), rows(output)
    params = {"outer": outer, "fft_length": length}
    spectrum = length + 2
    if what == "rfft":
        params["input_length"] = side
        fits = side <= length and other == spectrum
    else:
        fits = side == spectrum and other == length
    if not fits or outer != others or len(x.shape) != len(output.shape):
        raise ModelError(
            f"its input is {list(x.shape)} and its output {list(output.shape)}; the spectrum of "
            f"{length} samples must have {spectrum} real and imaginary parts"
        )
    if not _smooth(length):
        raise ModelError(
            f"its fft_length is {length}; it must be twice a product of 2, 3 and 5, because the "
            "device otherwise writes through a null pointer"
        )
    suffix = SUFFIXES[x.dtype]
    weights = twiddles(suffix, length, what == "irfft")
    call.put(f"tflm_signal_{what}_{suffix}", params, [x], output, weights)


def _smooth(length: int) -> bool:
    n, odd = divmod(length, 2)
    for prime in (2, 3, 5):
        while n % prime == 0:
            n //= prime
    return n == 1 and not odd


def energy(call: Call) -> None:
    """Convert SignalEnergy; elements outside of start_index..end_index - 1 are 0.

    The device does not write these elements.
    """
    call.counts(1, 1)
    options = call.custom("end_index", "start_index")
    x, output = vector(call, 0, "INT16"), made(call, 0, "UINT32")
    of_shape(output, "output", x.size // 2)
    end = options.integer("end_index", 0, output.size)
    start = options.integer("start_index", 0, end)
    params = {"length": output.size, "start_index": start, "end_index": end}
    of_shape(x, "input", 2 * output.size)
    call.put("tflm_signal_energy_s16", params, [x], output)


def filter_bank(call: Call) -> None:
    """Convert SignalFilterBank."""
    call.counts(6, 6)
    channels = call.custom("num_channels").integer("num_channels", 1, 65535)
    x, output = vector(call, 0, "UINT32"), made(call, 0, "UINT64")
    of_shape(output, "output", channels)
    weights = table(call, 1)
    unweights = table(call, 2, weights.size)
    starts, weight_starts, widths = (table(call, index, channels + 1) for index in (3, 4, 5))
    for name, first, size in (("input", starts, x.size), ("weights", weight_starts, weights.size)):
        ends = first.astype(int) + widths
        outside = (widths > 0) & ((first < 0) | (ends > size))
        if outside.any():
            channel = int(outside.argmax())
            raise ModelError(
                f"its channel {channel} reads {name} {first[channel]} to {ends[channel] - 1}; it "
                f"must read 0 to {size - 1} at most"
            )
    params = {"length": x.size, "num_weights": weights.size, "num_channels": channels}
    filters = np.concatenate([weights, unweights, starts, weight_starts, widths])
    call.put("tflm_signal_filter_bank_u32", params, [x], output, filters)


def square_root(call: Call) -> None:
    """Convert SignalFilterBankSquareRoot."""
    call.counts(2, 2)
    x, bits = vector(call, 0, "UINT64"), typed(call, 1, "INT32")
    output = made(call, 0, "UINT32")
    of_shape(bits, "second input")
    of_shape(output, "output", *x.shape)
    call.put("tflm_signal_square_root_u64", {"length": x.size}, [x, bits], output)


def pcan(call: Call) -> None:
    """Convert SignalPCAN."""
    call.counts(3, 3)
    shift = call.custom("snr_shift").integer("snr_shift", 0, 63)
    x, noise, gains = vector(call, 0, "UINT32"), vector(call, 1, "UINT32"), table(call, 2)
    output = made(call, 0, "UINT32")
    of_shape(noise, "noise estimate", *x.shape)
    of_shape(output, "output", *x.shape)
    if gains.size < _GAINS:
        raise ModelError(
            f"its table of gains has {gains.size} elements; it must have at least {_GAINS}"
        )
    params = {"length": x.size, "lut_length": gains.size, "snr_shift": shift}
    call.put("tflm_signal_pcan_u32", params, [x, noise], output, gains)


def log(call: Call) -> None:
    """Convert SignalFilterBankLog."""
    call.counts(1, 1)
    options = call.custom("input_correction_bits", "output_scale")
    x, output = vector(call, 0, "UINT32"), made(call, 0, "INT16")
    of_shape(output, "output", *x.shape)
    params = {"length": x.size}
    params["input_correction_bits"] = options.integer("input_correction_bits", 0, 31)
    params["output_scale"] = options.integer("output_scale", -(2**31))
    call.put("tflm_signal_log_u32", params, [x], output)


SIGNAL: dict[str, Converter] = {
    "SignalWindow": window,
    "SignalFftAutoScale": fft_auto_scale,
    "SignalRfft": rfft,
    "SignalIrfft": irfft,
    "SignalEnergy": energy,
    "SignalFilterBank": filter_bank,
    "SignalFilterBankSquareRoot": square_root,
    "SignalPCAN": pcan,
    "SignalFilterBankLog": log,
}
