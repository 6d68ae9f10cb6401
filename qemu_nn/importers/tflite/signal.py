"""Stateless operators of the Signal library: windows, Fourier transforms, filter banks."""

from __future__ import annotations

from typing import Optional

import numpy as np

from ...errors import ModelError
from ...functions.tflm_signal_tables import make_twiddles
from .building import TfliteValue
from .call import SUFFIXES, Converter, Options, TfliteCall
from .checked import library

#: Minimum length of PCAN's table of gains: the largest noise estimate reads element 124.
_GAINS = 125


def check_vector(value: TfliteValue, what: str, *shape: int) -> None:
    """Raise ModelError if a tensor has a different shape."""
    if value.shape != shape:
        raise ModelError(
            f"its {what}, {value.name[:60]!r}, is {list(value.shape)}; it must be {[*shape]}"
        )


def read_table(call: TfliteCall, index: int, length: Optional[int] = None) -> np.ndarray:
    """Return a constant vector of int16."""
    tensor, data = call.constant(index, "INT16")
    if len(tensor.shape) != 1 or not data.size or (length is not None and data.size != length):
        wanted = "a vector" if length is None else f"[{length}]"
        raise ModelError(
            f"its input {index}, {tensor}, is {list(tensor.shape)}; it must be {wanted}"
        )
    return data


def read_vector(call: TfliteCall, index: int, type: str) -> TfliteValue:
    """Return an input that is a vector of this type."""
    value = read_typed(call, index, type)
    if len(value.shape) != 1:
        raise ModelError(f"its input {index} is {list(value.shape)}; it must be a vector")
    return value


def read_typed(call: TfliteCall, index: int, type: str) -> TfliteValue:
    """Return an input without a format; it must be of this type."""
    tensor = call.tensor(index)
    if tensor.type != type:
        raise ModelError(f"its input {index}, {tensor}, is {tensor.type}; it must be {type}")
    return call.value(index, type)


def declare_typed(call: TfliteCall, index: int, type: str) -> TfliteValue:
    """Return an output without a format; it must be of this type."""
    tensor = call.builder.model.tensor(call.operator.outputs[index])
    if tensor.type != type:
        raise ModelError(f"its output {index}, {tensor}, is {tensor.type}; it must be {type}")
    return call.output(index, type)


def count_rows(value: TfliteValue) -> tuple[int, int]:
    """Return the number of rows and the length of the last axis."""
    if not value.shape:
        raise ModelError(f"{value.name[:60]!r} is a scalar; it must have at least one axis")
    return value.size // value.shape[-1], value.shape[-1]


def read_type(options: Options, *types: str) -> str:
    """Return the type that the option T gives for input and output."""
    code = options.integer("T")
    for type in types:
        if getattr(library("TensorType"), type) == code:
            return type
    raise ModelError(f"its option T is {code}; it must be the number of {', '.join(types)}")


def window(call: TfliteCall) -> None:
    """Convert SignalWindow."""
    call.check_counts(2, 2)
    shift = call.read_custom_options("shift").integer("shift", 0, 31)
    x, output = read_typed(call, 0, "INT16"), declare_typed(call, 0, "INT16")
    weights = read_table(call, 1)
    check_vector(output, "output", *x.shape)
    if x.size % weights.size:
        raise ModelError(
            f"its input is {list(x.shape)}; its size must be a multiple of the window's size, "
            f"{weights.size}"
        )
    params = {"outer": x.size // weights.size, "size": weights.size, "right_shift": shift}
    call.put("tflm_signal_window_s16", params, [x], output, weights)


def fft_auto_scale(call: TfliteCall) -> None:
    """Convert SignalFftAutoScale: the scaled signal, and the number of bits of its scaling."""
    call.check_counts(1, 1, 2)
    x, output, bits = (
        read_vector(call, 0, "INT16"),
        declare_typed(call, 0, "INT16"),
        declare_typed(call, 1, "INT32"),
    )
    check_vector(output, "output", *x.shape)
    check_vector(bits, "second output")
    call.put("tflm_signal_auto_scale_s16", {"length": x.size}, [x], output)
    call.put("tflm_signal_scale_bits_s16", {"length": x.size}, [x], bits, at=1)


def rfft(call: TfliteCall) -> None:
    """Convert SignalRfft."""
    _fft(call, "rfft")


def irfft(call: TfliteCall) -> None:
    """Convert SignalIrfft."""
    _fft(call, "irfft")


def _fft(call: TfliteCall, what: str) -> None:
    call.check_counts(1, 1)
    options = call.read_custom_options("T", "fft_length")
    type = read_type(options, "INT16", "INT32", "FLOAT32")
    x, output = read_typed(call, 0, type), declare_typed(call, 0, type)
    length = options.integer("fft_length", 4, 32768)
    (outer, side), (others, other) = count_rows(x), count_rows(output)
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
    if not _is_smooth(length):
        raise ModelError(
            f"its fft_length is {length}; it must be twice a product of 2, 3 and 5, because the "
            "device otherwise writes through a null pointer"
        )
    suffix = SUFFIXES[x.dtype]
    weights = make_twiddles(suffix, length, what == "irfft")
    call.put(f"tflm_signal_{what}_{suffix}", params, [x], output, weights)


def _is_smooth(length: int) -> bool:
    n, odd = divmod(length, 2)
    for prime in (2, 3, 5):
        while n % prime == 0:
            n //= prime
    return n == 1 and not odd


def energy(call: TfliteCall) -> None:
    """Convert SignalEnergy; elements outside of start_index..end_index - 1 are 0.

    The device does not write these elements.
    """
    call.check_counts(1, 1)
    options = call.read_custom_options("end_index", "start_index")
    x, output = read_vector(call, 0, "INT16"), declare_typed(call, 0, "UINT32")
    check_vector(output, "output", x.size // 2)
    end = options.integer("end_index", 0, output.size)
    start = options.integer("start_index", 0, end)
    params = {"length": output.size, "start_index": start, "end_index": end}
    check_vector(x, "input", 2 * output.size)
    call.put("tflm_signal_energy_s16", params, [x], output)


def filter_bank(call: TfliteCall) -> None:
    """Convert SignalFilterBank."""
    call.check_counts(6, 6)
    channels = call.read_custom_options("num_channels").integer("num_channels", 1, 65535)
    x, output = read_vector(call, 0, "UINT32"), declare_typed(call, 0, "UINT64")
    check_vector(output, "output", channels)
    weights = read_table(call, 1)
    unweights = read_table(call, 2, weights.size)
    starts, weight_starts, widths = (read_table(call, index, channels + 1) for index in (3, 4, 5))
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


def square_root(call: TfliteCall) -> None:
    """Convert SignalFilterBankSquareRoot."""
    call.check_counts(2, 2)
    x, bits = read_vector(call, 0, "UINT64"), read_typed(call, 1, "INT32")
    output = declare_typed(call, 0, "UINT32")
    check_vector(bits, "second input")
    check_vector(output, "output", *x.shape)
    call.put("tflm_signal_square_root_u64", {"length": x.size}, [x, bits], output)


def pcan(call: TfliteCall) -> None:
    """Convert SignalPCAN."""
    call.check_counts(3, 3)
    shift = call.read_custom_options("snr_shift").integer("snr_shift", 0, 63)
    x, noise, gains = (
        read_vector(call, 0, "UINT32"),
        read_vector(call, 1, "UINT32"),
        read_table(call, 2),
    )
    output = declare_typed(call, 0, "UINT32")
    check_vector(noise, "noise estimate", *x.shape)
    check_vector(output, "output", *x.shape)
    if gains.size < _GAINS:
        raise ModelError(
            f"its table of gains has {gains.size} elements; it must have at least {_GAINS}"
        )
    params = {"length": x.size, "lut_length": gains.size, "snr_shift": shift}
    call.put("tflm_signal_pcan_u32", params, [x, noise], output, gains)


def log(call: TfliteCall) -> None:
    """Convert SignalFilterBankLog."""
    call.check_counts(1, 1)
    options = call.read_custom_options("input_correction_bits", "output_scale")
    x, output = read_vector(call, 0, "UINT32"), declare_typed(call, 0, "INT16")
    check_vector(output, "output", *x.shape)
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
