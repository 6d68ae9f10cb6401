"""Loop counts of the q7 and q15 functions."""

from __future__ import annotations

from .counts import Counter, Counts, Params
from .patches import Axis, PatchBuffer, count_copies, count_walk

#: The output is in a different buffer from the input, a multiple of four bytes away.
_APART = 1 << 30


def _get_axis(p: Params, axis: str) -> Axis:
    """Return the axis along x or y; square functions have one number for both."""
    names = ("dim_im_in", "dim_im_out", "dim_kernel", "stride", "padding")
    return Axis(*(p[f"{name}_{axis}"] if f"{name}_{axis}" in p else p[name] for name in names))


def _plain(c: Counts, p: Params, channels: int, inner: int) -> None:
    """Count the loops of cores without the DSP extension: every output for itself."""
    down, across = _get_axis(p, "y"), _get_axis(p, "x")
    above, inside, below = down.sides()
    left, middle, right = across.sides()
    pixels, rows = down.out * across.out, down.out * down.kernel
    c.add("channels", channels)
    c.add("lines", channels * down.out)
    c.add("pixel lines", down.out)
    c.add("pixels", pixels)
    c.add("outputs", channels * pixels)
    c.add("kernel rows", channels * pixels * down.kernel)
    c.add("taps", channels * pixels * down.kernel * across.kernel)
    c.add("valid rows", channels * inside * across.out)
    c.add("above", channels * above * (left + middle + right))
    c.add("left", channels * (rows - above) * left)
    c.add("below", channels * below * (middle + right))
    c.add("right", channels * inside * right)
    c.add(f"valid{'' if inner else _name_single_channel(channels)}", channels * inside * middle)
    if inner:
        c.add("products", channels * inside * middle * inner)
        for block in (2, 4):
            c.add(f"products/{block}", channels * inside * middle * (inner // block))


def _name_single_channel(channels: int) -> str:
    """Return the name of loops over one channel: at -O3, gcc has separate ones for steps of one."""
    return " of one channel" if channels == 1 else ""


def _count_patches(
    c: Counts, p: Params, length: int, lot: int, widened: bool = False, middle: int = 0
) -> None:
    """Count the filling of a buffer with patches of pixels of `length` bytes.

    middle: outputs whose kernel positions need no bounds check.
    """
    down, across = _get_axis(p, "y"), _get_axis(p, "x")
    count_walk(c, 1, down, across, unasked=middle)
    count_copies(c, "dsp", PatchBuffer(length, length, lot), down, across, widened)


def _count_valid(p: Params) -> int:
    """Return positions of the kernel within the input, of all outputs."""
    return _get_axis(p, "y").sides()[1] * _get_axis(p, "x").sides()[1]


def convolve(size: int, fast: bool = False, rgb: bool = False) -> Counter:
    """Return the count of a convolution with patches in a buffer, two columns at a time; size:
    bytes of an element.

    fast: unpadded patches are copied by kernel rows. rgb: of three channels, cleared in place
    without memset.
    """

    def count(c: Counts, p: Params, path: str) -> None:
        channels, outputs = p["ch_im_in"], p["ch_im_out"]
        if path != "dsp":
            _plain(c, p, outputs, channels)
            return
        down, across = _get_axis(p, "y"), _get_axis(p, "x")
        kernel, pixels = down.kernel * across.kernel, down.out * across.out
        middle = 0
        if fast:
            middle = max(down.out - 2 * down.pad, 0) * max(across.out - 2 * across.pad, 0)
            c.add("middle", middle)
            _widen(c, "rows", middle * down.kernel, channels * across.kernel, size)
        _count_patches(c, p, 2 * channels, 2, size == 1 or fast, middle)
        if size == 1 or fast:
            _widen(c, "widen", _count_valid(p) - middle * kernel, channels, size)
        if rgb:
            c.pop("memset", None)
        n = kernel * channels
        if size == 2:  # pairs of a row; the remainder of one is not computed
            c.add("column pairs", down.out * (across.out // 2))
            c.loop("blocks", down.out * (across.out // 2) * (outputs // 2), n, 2)
            return
        c.add("column pairs", pixels // 2)
        c.add("any blocks", pixels // 2 * (outputs > 1))
        c.loop("blocks", pixels // 2 * (outputs // 2), n, 4)
        c.loop("block", pixels // 2 * (outputs % 2), n, 4)
        c.add("odd column", pixels % 2)
        c.loop("column", pixels % 2 * outputs, n, 4)

    return count


def _widen(c: Counts, name: str, times: float, length: int, size: int) -> None:
    if size == 1:
        c.loop(name, times, length, 4)
    else:
        c.patches(name, times, 2 * length, "dsp")


def convolve_plain_q15(c: Counts, p: Params, path: str) -> None:
    """Count arm_convolve_HWC_q15_basic: patches in a buffer, one column at a time."""
    channels, outputs = p["ch_im_in"], p["ch_im_out"]
    if path != "dsp":
        _plain(c, p, outputs, channels)
        return
    down, across = _get_axis(p, "y"), _get_axis(p, "x")
    _count_patches(c, p, 2 * channels, 1)
    n = down.kernel * across.kernel * channels
    c.loop("column", down.out * across.out * outputs, n, 4)


def depthwise(c: Counts, p: Params, path: str) -> None:
    """Count arm_depthwise_separable_conv_HWC_q7: patches in a buffer, four channels at a time."""
    channels = p["ch_im_in"]
    if path != "dsp":
        _plain(c, p, channels, 0)
        return
    down, across = _get_axis(p, "y"), _get_axis(p, "x")
    pixels, kernel = down.out * across.out, down.kernel * across.kernel
    _count_patches(c, p, channels, 1)
    c.add("any quads", pixels * (channels > 3))
    c.loop("quads", pixels * (channels // 4), kernel, 2)
    c.add("any singles", pixels * (channels % 4 > 0))
    c.loop(f"singles{_name_single_channel(channels)}", pixels * (channels % 4), kernel)


def make_dense(widened: bool, rows: int, steps: tuple[int, ...]) -> Counter:
    """Return the count of a fully connected layer: `rows` at a time with the DSP extension, or in
    its weight order.
    """

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
    """Return a pooling layer: along x within the input, then along y."""

    def count(c: Counts, p: Params, path: str) -> None:
        channels = p["ch_im_in"]
        if path != "dsp":
            _plain(c, p, channels, 0)
            return
        axis = _get_axis(p, "x")
        row, line = axis.size * channels, axis.out * channels
        c.add("lines", axis.size)
        starts = [max(axis.at(out, 0), 0) for out in range(axis.out)]
        first = [out if axis.at(out, 0) < 0 else starts[out] for out in range(axis.out)]
        along_x = [
            (y * row + first[x] * channels, y * row + x * channels)
            for y in range(axis.size)
            for x in range(axis.out)
        ]
        along_y = [(starts[y] * row, y * line - _APART) for y in range(axis.out)]
        inside_of = axis.inside()
        for name, moves, times, length in (
            ("x", along_x, axis.size, channels),
            ("y", along_y, 1, line),
        ):
            c.add(f"{name} outputs", len(moves))
            c.add(f"{name} beside", times * sum(taps < axis.kernel for taps in inside_of))
            c.add(f"{name} any others", times * sum(taps > 1 for taps in inside_of))
            if average:
                c.loop("widen", len(moves), length, 4)
                c.add("scale", len(moves) * length)
            else:
                for source, target in moves:
                    c.memmove(f"{name} move", 1, length, source, target)
            c.add(f"{name} others", times * sum(inside_of) - len(moves))
            c.loop("others", times * sum(inside_of) - len(moves), length, 4)

    return count
