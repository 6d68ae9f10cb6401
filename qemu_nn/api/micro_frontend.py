"""The micro frontend, which makes features of sound in firmware, as a network like any other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Optional

import numpy as np

from ..errors import Error
from ..functions import FUNCTIONS
from ..functions import micro_frontend_tables as tables
from ..functions.tflm_signal_tables import make_twiddles
from ..io.arguments import as_count, as_flag, as_number, format_value
from ..ir.graph import Graph, Node, Tensor
from .network import Network

#: Fraction bits of the smoothing of noise, and of what PCAN multiplies signals with.
_NOISE_BITS, _PCAN_BITS = 14, 12
_ONE = 1 << _NOISE_BITS

_INPUT = "samples"

#: Features of int8: the range 0..26 of float models, in 256 steps.
_FEATURE_SCALE = 26 / 256


@dataclass(frozen=True)
class Smoothing:
    """The estimate of the noise in a micro frontend.

    Parameters
    ----------
    even, odd : float, default 0.025 and 0.06
        How much of a window comes into the noise, of even and of odd channels.
    bits : int, default 10
        Fraction bits of the noise.
    """

    even: float = 0.025
    odd: float = 0.06
    bits: int = 10


@dataclass(frozen=True)
class Pcan:
    """The gain control of a micro frontend: per-channel amplitude normalization.

    Parameters
    ----------
    strength, offset : float, default 0.95 and 80
        The exponent of the gain, and what is added to the noise before.
    gain_bits : int, default 21
        Fraction bits of the gain.
    """

    strength: float = 0.95
    offset: float = 80.0
    gain_bits: int = 21


def micro_frontend(
    *,
    rate: int = 16000,
    window_ms: int = 30,
    channels: int = 40,
    lowest_hz: float = 125.0,
    highest_hz: float = 7500.0,
    smoothing: Smoothing = Smoothing(),
    min_signal_remaining: float = 0.05,
    pcan: Optional[Pcan] = Pcan(),
    scale_shift: int = 6,
    quantized: bool = True,
) -> Network:
    """Make the network that TensorFlow's "micro frontend" library computes of a window of sound.

    Window, Fourier transform, mel filter bank, noise reduction, gain control and logarithm, all in
    integers: what microWakeWord and the examples of TensorFlow Lite Micro before its Signal library
    feed their models with. Its state is the estimate of the noise. How far it moves on from one
    window to the next is up to who calls it: see chain().

    Parameters
    ----------
    rate : int, default 16000
        Samples per second.
    window_ms : int, default 30
        Length of a window in milliseconds.
    channels : int, default 40
        Features of a window.
    lowest_hz, highest_hz : float, default 125 and 7500
        The ends of the filter bank.
    smoothing : Smoothing, default Smoothing(even=0.025, odd=0.06, bits=10)
        How the noise is estimated.
    min_signal_remaining : float, default 0.05
        The least part of a signal that is left when the noise is taken away.
    pcan : Pcan, optional, default Pcan(strength=0.95, offset=80, gain_bits=21)
        How the gain of each channel is controlled; with None it is not, as in the library unless
        told to.
    scale_shift : int, default 6
        Fraction bits of the logarithm.
    quantized : bool, default True
        Give features in int8, 256 / 666 of the library's numbers, less 128, as the examples and
        microWakeWord make them; otherwise the library's own, in int16.

    Returns
    -------
    Network
        A recurrent network from int16 [samples of a window] to the features [channels].

    Raises
    ------
    Error
        An argument is out of range, or no window could be computed so.

    Examples
    --------
    >>> front = qemu_nn.micro_frontend()
    >>> front.session().run(frames)["features"]  # frames: [N, T, 480] int16
    """
    rate = as_count(rate, "rate", most=1_000_000)
    size = as_count(window_ms, "window_ms", most=10_000) * rate // 1000
    fft_length = 1 << max(size - 1, 0).bit_length()
    correction = fft_length.bit_length() - 1 - tables.BITS // 2
    if not 0 <= correction <= 9:
        raise Error(
            f"a window of {window_ms} ms at {rate} Hz has {size} samples, but must have 33 to 32768"
        )
    channels = as_count(channels, "channels", most=1000)
    low, high = as_number(lowest_hz, "lowest_hz"), as_number(highest_hz, "highest_hz")
    if not isinstance(smoothing, Smoothing):
        raise Error(f"smoothing must be a Smoothing, not {format_value(smoothing)}")
    if not isinstance(pcan, (Pcan, type(None))):
        raise Error(f"pcan must be a Pcan or None, not {format_value(pcan)}")
    bits = as_count(smoothing.bits, "smoothing.bits", least=correction, most=16)
    even, odd = _weight(smoothing.even, "smoothing.even"), _weight(smoothing.odd, "smoothing.odd")
    reduction = {
        "length": channels,
        "smoothing": even,
        "one_minus_smoothing": _ONE - even,
        "alternate_smoothing": odd,
        "alternate_one_minus_smoothing": _ONE - odd,
        "min_signal_remaining": _weight(min_signal_remaining, "min_signal_remaining"),
        "smoothing_bits": bits,
        "spectral_subtraction_bits": _NOISE_BITS,
        "clamping": 0,
    }
    scale_shift = as_count(scale_shift, "scale_shift", least=0, most=10)
    calls = _Calls(size)
    magnitude = _magnitudes(calls, rate, size, fft_length, channels, (low, high))
    x = calls.add("signal", "tflm_signal_subtraction_u32", [magnitude, "signal_noise"], reduction)
    if pcan is not None:
        noise = [magnitude, "noise_noise"]
        calls.add("noise", "tflm_signal_noise_estimate_u32", noise, reduction)
        bits_of_gain = as_count(
            pcan.gain_bits, "pcan.gain_bits", least=correction + _PCAN_BITS, most=_PCAN_BITS + 18
        )
        curve = _gains(pcan.strength, pcan.offset, bits_of_gain, bits - correction)
        gained = {
            "length": channels,
            "lut_length": curve.size,
            "snr_shift": bits_of_gain - correction - _PCAN_BITS,
        }
        x = calls.add("gained", "tflm_signal_pcan_u32", [x, "noise"], gained, curve)
    scale = {
        "length": channels,
        "input_correction_bits": correction,
        "output_scale": 1 << scale_shift,
    }
    quantized = as_flag(quantized, "quantized")
    x = calls.add("logarithm" if quantized else "features", "tflm_signal_log_u32", [x], scale)
    if quantized:
        calls.add("features", "tflm_frontend_features_s8", [x], {"length": channels})
    return Network(calls.graph())


def _magnitudes(
    calls: _Calls,
    rate: int,
    size: int,
    fft_length: int,
    channels: int,
    band: tuple[float, float],
) -> str:
    """Return the magnitude of each channel in a window."""
    low, high = band
    if not 0 <= low < high < rate / 2:
        raise Error(
            f"the filter bank is from {low:g} to {high:g} Hz, but must be between 0 and "
            f"{rate / 2:g} Hz, half of the rate"
        )
    bank, first, end = tables.make_filter_bank(rate, fft_length, channels, low, high)
    if end > fft_length // 2:
        raise Error(
            f"highest_hz is {high:g}, too close to half of the rate, {rate / 2:g} Hz: lower it"
        )
    every, spectrum = {"length": size}, {"length": fft_length // 2 + 1}
    window = {"outer": 1, "size": size, "right_shift": tables.BITS}
    x = calls.add(
        "window", "tflm_signal_window_s16", [_INPUT], window, tables.make_hann_window(size)
    )
    scaled = calls.add("scaled", "tflm_frontend_auto_scale_s16", [x], every)
    bits = calls.add("scale_bits", "tflm_frontend_scale_bits_s16", [x], every)
    transform = {"outer": 1, "input_length": size, "fft_length": fft_length}
    factors = make_twiddles("s16", fft_length, False)
    x = calls.add("spectrum", "tflm_signal_rfft_s16", [scaled], transform, factors)
    ends = {**spectrum, "start_index": first, "end_index": end}
    x = calls.add("energy", "tflm_signal_energy_s16", [x], ends)
    filters = FUNCTIONS["tflm_signal_filter_bank_u32"].weights_of(bank)
    counts = {**spectrum, "num_weights": bank["weights"].size, "num_channels": channels}
    x = calls.add("mel", "tflm_signal_filter_bank_u32", [x], counts, filters)
    return calls.add("magnitude", "tflm_signal_square_root_u64", [x, bits], {"length": channels})


def _gains(strength: float, offset: float, gain_bits: int, noise_bits: int) -> np.ndarray:
    strength, offset = as_number(strength, "pcan.strength"), as_number(offset, "pcan.offset")
    if not (0 <= strength <= 8 and 2**-10 <= offset <= 2**20):
        raise Error(
            f"pcan.strength and pcan.offset are {strength:g} and {offset:g}, but must be in "
            "0..8 and in 2^-10..2^20"
        )
    return tables.make_gain_table(strength, offset, gain_bits, noise_bits)


class _Calls:
    """Calls one after the other, and what they hold."""

    def __init__(self, size: int) -> None:
        self._input = Tensor(_INPUT, (size,), "int16")
        self._nodes: list[Node] = []
        self._states: list[Tensor] = []
        self._arrays: dict[str, np.ndarray] = {}

    def add(
        self,
        name: str,
        function: str,
        inputs: list[str],
        params: Mapping[str, int],
        weights: Optional[np.ndarray] = None,
    ) -> str:
        """Return the name of what the next call makes."""
        declared = FUNCTIONS[function]
        how: dict[str, Any] = {}
        if name == "features" and declared.output.dtype == "int8":
            how = {"scale": _FEATURE_SCALE, "zero_point": -128}
        output = Tensor(name, declared.output.shape(params), declared.output.dtype, **how)
        for array, source in zip(declared.inputs, inputs):
            if array.state:
                self._states.append(Tensor(source, array.shape(params), array.dtype))
        own = None if weights is None else f"{name}/weights"
        if own is not None and weights is not None:
            self._arrays[own] = weights
        self._nodes.append(Node(declared, dict(params), tuple(inputs), output, own))
        return name

    def graph(self) -> Graph:
        """Return the network; its output is what the last call makes."""
        return Graph(
            name="micro_frontend",
            inputs=(self._input,),
            nodes=tuple(self._nodes),
            outputs=(self._nodes[-1].name,),
            arrays=self._arrays,
            states=tuple(self._states),
        )


def _weight(value: float, what: str) -> int:
    """Return a number from 0 to 1 as the noise reduction has it, cut off."""
    number = as_number(value, what)
    if not 0 <= number <= 1:
        raise Error(f"{what} is {number:g}, but must be in 0..1")
    return int(float(np.float32(number)) * _ONE)
