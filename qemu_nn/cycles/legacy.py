"""Loop counts of the q7 and q15 functions."""

from __future__ import annotations

from .counts import Counter, Counts, Params, inside


def _axis(p: Params, axis: str) -> tuple[int, int, int, int, int]:
    """Input, output, kernel, stride and padding along x or y; of squares there is one of each."""
    names = ("dim_im_in", "dim_im_out", "dim_kernel", "stride", "padding")
    values = [p[f"{name}_{axis}"] if f"{name}_{axis}" in p else p[name] for name in names]
    return (values[0], values[1], values[2], values[3], values[4])


def _before(out: int, kernel: int, stride: int, pad: int) -> int:
    """Positions of a window that lie before the input, of all outputs along an axis."""
    return sum(min(max(pad - at * stride, 0), kernel) for at in range(out))


class _Window:
    """How often a window meets the input, for both axes."""

    def __init__(self, p: Params) -> None:
        down, across = _axis(p, "y"), _axis(p, "x")
        self.rows, self.columns = inside(*down), inside(*across)
        self.high, self.wide = down[1], across[1]
        self.kernel_y, self.kernel_x = down[2], across[2]
        self.pad_y, self.pad_x = down[4], across[4]
        self.above, self.left = _before(*down[1:]), _before(*across[1:])
        self.pixels = self.high * self.wide
        self.kernel = self.kernel_y * self.kernel_x
        self.valid = sum(self.rows) * sum(self.columns)


def _plain(c: Counts, w: _Window, channels: int, inner: int) -> None:
    """The loops of cores without the DSP extension: every output for itself."""
    c.add("channels", channels)
    c.add("lines", channels * w.high)
    c.add("pixel lines", w.high)
    c.add("pixels", w.pixels)
    c.add("outputs", channels * w.pixels)
    c.add("kernel rows", channels * w.pixels * w.kernel_y)
    c.add("taps", channels * w.pixels * w.kernel)
    rows, columns = w.high * w.kernel_y, w.wide * w.kernel_x
    below = rows - w.above - sum(w.rows)
    c.add("valid rows", channels * sum(w.rows) * w.wide)
    c.add("above", channels * w.above * columns)
    c.add("left", channels * (rows - w.above) * w.left)
    c.add("below", channels * below * (columns - w.left))
    c.add("right", channels * sum(w.rows) * (columns - w.left - sum(w.columns)))
    c.add("valid", channels * w.valid)
    if inner:
        c.add("products", channels * w.valid * inner)
        for block in (2, 4):
            c.add(f"products/{block}", channels * w.valid * (inner // block))


def _positions(c: Counts, w: _Window, asked: int) -> None:
    """The outputs, and the positions of the kernel of those that ask whether it meets the input."""
    c.add("lines", w.high)
    c.add("pixels", w.pixels)
    c.add("kernel rows", asked * w.kernel_y)
    c.add("taps", asked * w.kernel)
    c.add("taps above", (w.high * w.kernel_y - sum(w.rows)) * w.wide * w.kernel_x)


def convolve(size: int, fast: bool = False) -> Counter:
    """A convolution with patches in a buffer, two columns at a time; size: bytes of an element.

    fast: what is needs no padding is copied a row of the kernel at a time.
    """

    def count(c: Counts, p: Params, path: str) -> None:
        w = _Window(p)
        channels, outputs = p["ch_im_in"], p["ch_im_out"]
        if path != "dsp":
            _plain(c, w, outputs, channels)
            return
        middle = 0
        if fast:
            middle = max(w.high - 2 * w.pad_y, 0) * max(w.wide - 2 * w.pad_x, 0)
            c.add("middle", middle)
            _widen(c, "rows", middle * w.kernel_y, channels * w.kernel_x, size)
        valid = w.valid - middle * w.kernel
        edge = (w.pixels - middle) * w.kernel
        _positions(c, w, w.pixels - middle)
        _widen(c, "widen", valid, channels, size)
        c.gaps("clear", edge - valid, 2 * channels, "dsp")
        n = w.kernel * channels
        if size == 2:  # pairs of a row; what is left over in one is not computed
            c.add("column pairs", w.high * (w.wide // 2))
            c.loop("blocks", w.high * (w.wide // 2) * (outputs // 2), n, 2)
            return
        c.add("column pairs", w.pixels // 2)
        c.loop("blocks", w.pixels // 2 * (outputs // 2), n, 4)
        c.loop("block", w.pixels // 2 * (outputs % 2), n, 4)
        c.add("odd column", w.pixels % 2)
        c.loop("column", w.pixels % 2 * outputs, n, 4)

    return count


def _widen(c: Counts, name: str, times: float, length: int, size: int) -> None:
    if size == 1:
        c.loop(name, times, length, 4)
    else:
        c.patches(name, times, 2 * length, "dsp")


def convolve_plain_q15(c: Counts, p: Params, path: str) -> None:
    """arm_convolve_HWC_q15_basic: patches in a buffer, one column at a time."""
    w = _Window(p)
    channels, outputs = p["ch_im_in"], p["ch_im_out"]
    if path != "dsp":
        _plain(c, w, outputs, channels)
        return
    _positions(c, w, w.pixels)
    _widen(c, "copy", w.valid, channels, 2)
    c.gaps("clear", w.pixels * w.kernel - w.valid, 2 * channels, "dsp")
    c.loop("column", w.pixels * outputs, w.kernel * channels, 4)


def depthwise(c: Counts, p: Params, path: str) -> None:
    """arm_depthwise_separable_conv_HWC_q7: patches in a buffer, four channels at a time."""
    w, channels = _Window(p), p["ch_im_in"]
    if path != "dsp":
        _plain(c, w, channels, 0)
        return
    _positions(c, w, w.pixels)
    c.patches("copy", w.valid, channels, "dsp")
    c.gaps("clear", w.pixels * w.kernel - w.valid, channels, "dsp")
    c.loop("quads", w.pixels * (channels // 4), w.kernel, 2)
    c.loop("singles", w.pixels * (channels % 4), w.kernel)


def connected(widened: bool, rows: int, steps: tuple[int, ...]) -> Counter:
    """A fully connected layer: `rows` at a time with the DSP extension or in the order for it."""

    def count(c: Counts, p: Params, path: str) -> None:
        n, outputs = p["dim_vec"], p["num_of_rows"]
        several = rows if path == "dsp" or rows == 4 else 1
        if widened and path == "dsp":
            c.loop("widen", 1, n, 4)
        c.add("any rows", outputs >= several)
        c.add("any row", outputs % several > 0)
        c.loop("rows", outputs // several, n, *(steps if several > 1 else (4,)))
        c.loop("row", outputs % several, n, *((4,) if path == "dsp" else ()))

    return count


def pool(average: bool) -> Counter:
    """A pooling layer: along x within the input, then along y."""

    def count(c: Counts, p: Params, path: str) -> None:
        w, channels = _Window({**p, "ch_im_out": p["ch_im_in"]}), p["ch_im_in"]
        if path != "dsp":
            _plain(c, w, channels, 0)
            return
        size = p["dim_im_in"]
        line = w.wide * channels
        c.add("lines", size)
        for name, times, taps_of, length in (
            ("x", size * w.wide, size * sum(w.columns), channels),
            ("y", w.high, sum(w.rows), line),
        ):
            if average:
                c.loop(f"{name} widen", times, length, 4)
                c.add(f"{name} scale", times * length)
            else:
                c.patches(f"{name} copy", times, length, "dsp")
            c.loop(f"{name} others", taps_of - times, length, 4)

    return count
