"""Convolutions of the s8 and s16 API as their formulas say, in numpy's 64-bit integers."""

import numpy as np


def wrap32(x):
    return x.astype(np.int32).astype(np.int64)


def requantize(x, multiplier, shift, single, narrow=False):
    """Sums of 32 bits; all arguments are int64 and broadcast. narrow: as 7.0.0 rounds once."""
    if single:
        twice = x * multiplier >> (30 - shift)
        return wrap32(wrap32(twice) + 1) >> 1 if narrow else wrap32(twice + 1 >> 1)
    high = (wrap32(x << np.maximum(shift, 0)) * multiplier + 2**30) >> 31
    half = (1 << np.maximum(-shift, 0)) >> 1
    return np.sign(high) * ((np.abs(high) + half) >> np.maximum(-shift, 0))


def requantize64(x, multiplier, shift, tflm=False):
    """Sums of 64 bits, which must stay small enough for a factor of 15 bits."""
    narrow = np.minimum((multiplier + 2**15) >> 16, 2**15 - 1)
    if tflm:
        return wrap32((x * narrow + (1 << (14 - shift))) >> (15 - shift))
    return (wrap32(x * narrow >> (14 - shift)) + 1) >> 1


def unpacked(packed, shape):
    """Values of 4 bits, two in a byte, the first in the low half."""
    both = np.stack([packed << 4, packed], -1).astype(np.int8) >> 4
    return both.ravel()[: np.prod(shape)].reshape(shape).astype(np.int64)


def taps(p, x):
    """Return the input of each tap of each window, 0 outside the image: [n, y, x, ky, kx, c]."""
    n, height, width, channels = x.shape
    sides = [p[f"{name}_{axis}"] for name in ("output", "filter") for axis in "hw"]
    met = np.zeros((n, sides[0], sides[1], sides[2], sides[3], channels), np.int64)
    for index in np.ndindex(*sides):
        at = [
            index[i] * p[f"stride_{a}"] + index[2 + i] * p[f"dilation_{a}"] - p[f"pad_{a}"]
            for i, a in enumerate("hw")
        ]
        if 0 <= at[0] < height and 0 <= at[1] < width:
            met[:, index[0], index[1], index[2], index[3]] = x[:, at[0], at[1]]
    return met


def scattered(p, x, w):
    """Return the sums of a transposed convolution."""
    sums = np.zeros((len(x), p["output_h"], p["output_w"], len(w)), np.int64)
    for y, column, ky, kx in np.ndindex(x.shape[1], x.shape[2], w.shape[1], w.shape[2]):
        at = y * p["stride_h"] + ky - p["pad_h"], column * p["stride_w"] + kx - p["pad_w"]
        if 0 <= at[0] < sums.shape[1] and 0 <= at[1] < sums.shape[2]:
            sums[:, at[0], at[1]] += x[:, y, column] @ w[:, ky, kx].T
    return sums


def sums(function, p, x, weights):
    """Return the sum of products of every output."""
    if function.op.startswith("transpose"):
        return scattered(p, x, weights)
    met = taps(p, x)
    if "ch_mult" in p:
        return np.einsum("nyxabo,abo->nyxo", np.repeat(met, p["ch_mult"], -1), weights[0])
    groups = p["input_c"] // p["filter_c"]
    parts = zip(np.split(met, groups, -1), np.split(weights, groups))
    return np.concatenate([np.einsum("nyxabc,oabc->nyxo", *part) for part in parts], -1)


def expected(function, arguments, profile):
    """Return the output of a call that follows the formula, from all of its arguments."""
    p = {name: arguments[name] for name in function.params}
    wide = function.type == "s16"
    x = arguments["input"].astype(np.int64) + (0 if wide else p["input_offset"])
    if function.type == "s4":
        axes = function.weights.axes[0].parts
        shape = [np.prod([p.get(i, i) for i in np.ravel(axis)], dtype=int) for axis in axes]
        weights = unpacked(arguments["filter_packed_s4"], shape)
    else:
        weights = arguments["filter"].astype(np.int64)
    bias, multiplier, shift = (
        arguments[name].ravel().astype(np.int64) for name in ("bias", "multiplier", "shift")
    )
    acc = sums(function, p, x, weights) + bias
    if wide and not p.get("bias_is_int32"):
        scaled = requantize64(acc, multiplier, shift, function.name.startswith("tflm_"))
    else:
        how = (profile.rounding == "single", profile.cmsis == "7.0.0")
        scaled = requantize(wrap32(acc), multiplier, shift, *how)
    moved = scaled + (0 if wide else p["output_offset"])
    return np.clip(wrap32(moved), p["act_min"], p["act_max"])
