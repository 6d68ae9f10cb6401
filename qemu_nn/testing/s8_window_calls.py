"""Windows over images at random, for the convolutions of the s8 and s16 API."""

from __future__ import annotations

from random import Random

from ..functions import Function
from ..functions.s8_convolve import ANY, EVEN, OPT, POINT, POINT_FAST, ROW, SMALL, WRAPPER

_SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17)
#: Channels of a convolution: several vectors of a fast row, with every remainder.
_WIDTHS = (*_SIZES, 31, 33, 64, 70)
_LONGEST = 200


def random_window(rng: Random, function: Function) -> dict[str, int]:
    """Samples, sides, channels and windows that the function mostly takes."""
    kernel = function.fixed["kernel"]
    if kernel == WRAPPER and rng.randrange(2):
        kernel = rng.choice((POINT, POINT_FAST, ROW))
    p = {"batches": rng.randint(1, 3), **_axis(rng, "h"), **_axis(rng, "w")}
    if "ch_mult" in function.params:
        p.update(_depthwise(rng, function.fixed["kernel"], p))
        return p
    if function.op.startswith("transpose"):
        return _transpose(rng, p)
    p.update(_channels(rng, function.type == "s8" and kernel in (WRAPPER, ANY)))
    if kernel in (POINT, POINT_FAST):
        p.update(_point(rng, p, kernel == POINT_FAST))
    if kernel == ROW:
        p.update(_row(rng, p))
    if kernel == EVEN and rng.randrange(10):
        p["filter_w"] += p["filter_h"] * p["filter_w"] * p["input_c"] % 2
    return p


def _axis(rng: Random, axis: str) -> dict[str, int]:
    """One axis of windows; the last of them may hang over, or not reach the image's end."""
    size, kernel, stride = rng.randint(1, 11), rng.randint(1, 5), rng.randint(1, 3)
    dilation, pad = rng.choice((1, 1, 1, 2, 3)), rng.randint(0, kernel - 1)
    room = size + pad + rng.randint(-2, kernel - 1) - dilation * (kernel - 1) - 1
    found = {"input": size, "filter": kernel, "stride": stride, "dilation": dilation, "pad": pad}
    found["output"] = max(1, room // stride + 1)
    return {f"{name}_{axis}": n for name, n in found.items()}


def _channels(rng: Random, in_groups: bool) -> dict[str, int]:
    """Channels of a convolution: dense, or in groups where there may be some."""
    groups = rng.choice((1, 1, 1, 2, 3)) if in_groups else 1
    depth, width = (rng.choice(_WIDTHS if groups == 1 else _SIZES[:7]) for _ in range(2))
    return {"input_c": groups * depth, "filter_c": depth, "output_c": groups * width}


def _point(rng: Random, p: dict[str, int], fast: bool) -> dict[str, int]:
    """A convolution of single pixels."""
    found = {}
    for axis in "hw":
        size, stride = p[f"input_{axis}"], 1 if fast else p[f"stride_{axis}"]
        pixels = (size - 1) // stride + 1
        ones = {"filter": 1, "dilation": 1, "pad": 0, "stride": stride}
        ones["output"] = pixels if fast else rng.randint(1, pixels)
        found.update({f"{name}_{axis}": n for name, n in ones.items()})
    return found


def _row(rng: Random, p: dict[str, int]) -> dict[str, int]:
    """One row, padded as TFLite does, or as it comes."""
    found = dict.fromkeys(("input_h", "filter_h", "output_h", "dilation_w"), 1)
    found.update(pad_h=0, stride_w=rng.randint(1, 5), input_w=rng.randint(1, 25))
    step = next(n for n in (1, 2, 4) if found["stride_w"] * n % 4 == 0)
    found["input_c"] = found["filter_c"] = step * rng.randint(1, 9)
    stride, size, filter = found["stride_w"], found["input_w"], p["filter_w"]
    pixels = -(-size // stride)
    if rng.randrange(3) == 0:
        pixels = max(1, (size - filter) // stride + 1)
    total = (pixels - 1) * stride + filter - size
    found.update(output_w=pixels, pad_w=max(0, total // 2))
    return found


def _depthwise(rng: Random, kernel: int, p: dict[str, int]) -> dict[str, int]:
    found = {"ch_mult": rng.choice((1, 1, 1, 2, 3))}
    if kernel in (OPT, SMALL):
        found.update(ch_mult=1, batches=1, dilation_h=1, dilation_w=1)
    if kernel == SMALL:
        found.update(filter_h=3, filter_w=3, pad_w=rng.randint(0, 1))
        room = p["input_w"] + found["pad_w"] - 2
        found["output_w"] = max(1, 1 + rng.randint(0, max(0, room)) // p["stride_w"])
    elif kernel == WRAPPER and rng.randrange(3) == 0:
        found.update(batches=1, dilation_h=1, dilation_w=1)
    found["input_c"] = rng.choice((*_SIZES, rng.randint(1, _LONGEST // found["ch_mult"])))
    return found


def _transpose(rng: Random, p: dict[str, int]) -> dict[str, int]:
    """Pads that are multiples of the stride, but for many channels."""
    p.update(dilation_h=1, dilation_w=1, pad_offset_h=rng.randint(0, 1), pad_offset_w=0)
    p.update(input_c=rng.choice((*_SIZES, 33)), output_c=rng.choice(_SIZES))
    for axis in "hw":
        stride, filter, size = (p[f"{n}_{axis}"] for n in ("stride", "filter", "input"))
        pad = rng.randint(0, filter - 1)
        pad -= pad % stride
        more = rng.randint(0, max(0, filter - stride))
        p.update({f"pad_{axis}": pad, f"output_{axis}": max(1, size * stride - pad + more)})
    return p
