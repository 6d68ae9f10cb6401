"""Rules for arrays, drawn at random: data of any type, and the weights and scales of a layer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from random import Random
from typing import Any, Optional

import numpy as np

from ...functions import Array, Function
from ...functions.layouts import unpack_nibbles
from ...functions.random_params import get_limits
from ...functions.shapes import Half, get_extent
from .cases import Values

#: A rule, as in Values.
Rule = dict[str, Any]

#: The smallest normalized multiplier, and the ends of 32 bits.
ONE, MOST = 2**30, 2**31 - 1

#: Kinds of a layer's arrays. "ties": small weights and few fraction bits, so many sums are rounding
#: ties. "uneven": channels with one scale and weights of different sizes, so many small sums are
#: near a rounding border. "noise": outputs suitable as inputs of further layers.
KINDS = ("any", "ties", "uneven", "noise")

#: Weights of uneven channels.
_UNEVEN = (1, -1, 2, 3, -5, 20, 50, -100, 127)

#: Sizes of groups of channels that share a number.
_GROUPS = (2, 3, 4, 8)

#: Target root mean square of outputs of 8 bits, and of more bits, for a layer's scales.
_SIGNAL, _WIDE_SIGNAL = 60.0, 9000.0


def make_noise(dtype: str) -> Rule:
    """Return a rule for uniform elements; of 64 bits, which rules cannot span, for 2^62 values."""
    low, high = get_limits(dtype)
    most = 2**61
    return {"low": max(low, -most), "high": min(high, most)}


def data(rng: Random, dtype: str) -> Rule:
    """Return a rule for elements of a type: noise, ends, few values, sparse ones, groups."""
    own = make_noise(dtype)
    low, high = own["low"], own["high"]
    return rng.choice(
        (
            own,
            own,
            own,
            {**own, "runs": rng.randint(2, 5)},
            {**own, "period": rng.choice(_GROUPS)},
            {"values": [low, low + 1, high - 1, high]},
            {"cycle": [high, low]},
            {"cycle": [low]},
            {"cycle": [high]},
            {"low": max(low, -3), "high": min(high, 3)},
            {"values": [0, 0, 0, 0, 0, 0, low, high]},
        )
    )


def make_layer_arrays(
    rng: Random,
    function: Function,
    scalars: dict[str, int],
    x: Optional[np.ndarray],
    kind: str = "any",
) -> dict[str, Values]:
    """Return the arrays of a call except inputs, and choose the shifts in `scalars`.

    x: the first input, which determines the scales of a layer with weights. kind: one of KINDS.
    """
    tables = function.tables() if function.tables else {}
    found: dict[str, Values] = {}
    for array in function.arrays:
        if array in function.inputs:
            continue
        if array.name in tables:
            rule: Rule = {"cycle": tables[array.name].ravel().tolist()}
        elif array.below:
            rule = {"low": 0, "high": array.below - 1}
        elif kind == "ties" and array.dtype == "int8":
            rule = {"low": -2, "high": 2}
        elif kind == "uneven" and array == function.weights and function.stack:
            rule = _make_uneven(rng, function, scalars)
        elif kind in ("uneven", "noise"):
            rule = make_noise(array.dtype)
        else:
            rule = data(rng, array.dtype)
        found[array.name] = Values(array.dtype_in(scalars), array.shape(scalars), rule)
    if function.weights is not None and function.macs and x is not None:
        size = _estimate_sums(function, scalars, x, found)
        if "out_shift" in function.params and "bias_shift" in function.params:
            _choose_shifts(rng, function, scalars, size, kind)
        else:
            _choose_scales(rng, function, scalars, found, size, kind)
    return found


def _make_uneven(rng: Random, function: Function, scalars: Mapping[str, int]) -> Rule:
    """Return a rule for weights that are alike within an output channel."""
    assert function.weights is not None
    channels = function.output.shape(scalars)[-1]
    size = math.prod(function.weights.shape(scalars))
    if isinstance(function.weights.axes[0], Half):  # two weights in a byte
        return {"cycle": [rng.choice((0x11, 0x1F, 0x72, -0x6F, 0x17)) for _ in range(channels)]}
    weights = {"cycle": [rng.choice(_UNEVEN) for _ in range(channels)]}
    return weights if "ch_mult" in scalars else {**weights, "runs": size // channels}


def _estimate_sums(
    function: Function, scalars: Mapping[str, int], x: np.ndarray, arrays: Mapping[str, Values]
) -> float:
    """Return the order of magnitude of a layer's sums."""
    x = x.astype(np.float64) + scalars.get("input_offset", 0)
    first: Optional[Array] = (function.parts or (function.weights,))[0]
    assert first is not None
    w = arrays[first.name].array(0)
    if isinstance(first.axes[0], Half):
        w = unpack_nibbles(w, get_extent(first.axes[0].parts, scalars))
    w = w.astype(np.float64) + scalars.get("filter_offset", 0)
    outputs = max(1, math.prod(function.output.shape(scalars)))
    taps = max(1, get_extent(function.macs, scalars) // outputs)
    noise = taps * np.mean(x**2) * np.mean(w**2)
    return max(1.0, math.sqrt(noise + (taps * np.mean(x) * np.mean(w)) ** 2))


def _choose_shifts(
    rng: Random, function: Function, scalars: dict[str, int], size: float, kind: str
) -> None:
    """Choose the shifts of a q7 or q15 layer; one time in four, any legal ones."""
    signal = _SIGNAL if function.output.dtype == "int8" else _WIDE_SIGNAL
    if kind == "ties":
        scalars.update(out_shift=rng.randint(1, 4), bias_shift=0)
    elif kind == "noise" or rng.randrange(4):
        shift = round(math.log2(size / signal)) + rng.randint(-1, 1)
        scalars["out_shift"] = min(31, max(0, shift))
        scalars["bias_shift"] = rng.randint(0, scalars["out_shift"])


def _choose_scales(
    rng: Random,
    function: Function,
    scalars: dict[str, int],
    arrays: dict[str, Values],
    size: float,
    kind: str,
) -> None:
    """Choose biases, multipliers and shifts that mostly bring sums into the output's range."""
    signal = _SIGNAL if function.output.dtype == "int8" else _WIDE_SIGNAL
    shift = min(1, max(-30, math.ceil(math.log2(signal / size))))
    ties = kind == "ties"
    if ties:
        shift = rng.randint(-4, 0)
    if "shift" in scalars:
        scalars["shift"] = shift
        scalars["multiplier"] = ONE if ties else rng.choice((ONE, MOST, rng.randint(ONE, MOST)))
    if "multiplier" in arrays:
        channels = arrays["multiplier"].shape
        rules = _make_scales(rng, channels[0], shift, ties)
        if kind == "uneven":
            rules = {"cycle": [rng.randint(ONE, MOST)]}, {"cycle": [shift + rng.randint(-1, 1)]}
        for name, rule in zip(("multiplier", "shift"), rules):
            arrays[name] = Values("int32", channels, rule)
    if "bias" in arrays:
        old = arrays["bias"]
        arrays["bias"] = Values(old.type, old.shape, _make_bias(rng, old.type, size, kind))


def _make_bias(rng: Random, dtype: str, size: float, kind: str) -> Rule:
    """Return a rule for biases: none, as large as the sums, or at the ends of 32 bits or less."""
    high = min(MOST, int(np.iinfo(dtype).max))
    low = -high - 1
    most = 4 if kind == "ties" else min(high, max(1, round(size)))
    own = {"low": -most, "high": most}
    if kind != "any":
        return own
    ends = {"values": [high, low, 0, 1, -1, high - 100, low + 100]}
    return rng.choice(({"cycle": [0]}, own, own, {**own, "period": 2}, ends))


def _make_scales(rng: Random, channels: int, shift: int, ties: bool) -> tuple[Rule, Rule]:
    """Return rules for the multiplier and the shift of each channel, in one of many structures."""
    less, least = max(-31, shift - 1), max(-31, shift - 2)
    if ties:
        return {"cycle": [ONE]}, {"values": [shift, less]}
    own, one = {"low": ONE, "high": MOST}, {"cycle": [shift]}
    shared, shifts = rng.randint(ONE, MOST), {"values": [less, shift]}
    group = {"values": [rng.randint(ONE, MOST) for _ in range(rng.randint(2, 3))]}
    period, runs = {"period": rng.choice(_GROUPS)}, {"runs": rng.choice(_GROUPS)}
    return rng.choice(
        (
            (own, shifts),
            ({"cycle": [shared]}, one),
            ({"cycle": [shared]}, {"values": [shift, less, least]}),
            ({**own, **runs}, {**shifts, **runs}),
            ({**own, **period}, {**shifts, **period}),
            (group, one),
            (group, shifts),
            ({"cycle": [MOST, *[shared] * (channels - 1)]}, one),
            ({"values": [0, ONE, MOST]}, one),
            ({"values": [ONE, ONE + 1, MOST, 0]}, {"values": [shift, less, -31]}),
        )
    )
