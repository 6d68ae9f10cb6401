"""Exact loop counts of the copies of an input's patches, byte by byte."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from .counts import Counts, Params


@dataclass(frozen=True)
class Axis:
    """Axis along which a window moves over an input."""

    size: int
    out: int
    kernel: int
    stride: int
    pad: int
    dilation: int = 1

    def at(self, out: int, tap: int) -> int:
        """Return the input index of a window position; below 0, or size and more, if outside."""
        return out * self.stride - self.pad + tap * self.dilation

    def inside(self) -> list[int]:
        """Count the window positions inside the input, for each output."""
        return [
            sum(0 <= self.at(out, tap) < self.size for tap in range(self.kernel))
            for out in range(self.out)
        ]

    def sides(self) -> tuple[int, int, int]:
        """Return positions of the window before, inside of and after the input, of all outputs."""
        every = [self.at(out, tap) for out in range(self.out) for tap in range(self.kernel)]
        before, behind = sum(at < 0 for at in every), sum(at >= self.size for at in every)
        return before, len(every) - before - behind, behind


def make_axes(p: Params) -> tuple[Axis, Axis]:
    """Return the axes down and across of a window of the s8, s16 and s4 functions."""
    names = ("input", "output", "filter", "stride", "pad", "dilation")
    given = {"dilation_h": 1, "dilation_w": 1, **p}
    down, across = ([given[f"{name}_{axis}"] for name in names] for axis in "hw")
    return Axis(*down), Axis(*across)


def count_taps(p: Params) -> tuple[list[int], list[int]]:
    """Return positions of the kernel inside of the input, for each output row and column."""
    down, across = make_axes(p)
    return down.inside(), across.inside()


def count_walk(
    c: Counts, times: int, down: Axis, across: Axis, prefix: str = "", unasked: int = 0
) -> tuple[int, int]:
    """Count the loop over all patches, and the taps outside the input.

    prefix: of the names of lines and pixels. unasked: pixels whose taps need no bounds check.
    Returns the number of taps inside and outside.
    """
    above, rows, below = down.sides()
    left, columns, right = across.sides()
    every = across.out * across.kernel
    asked = times * down.out * across.out - unasked
    c.add(f"{prefix}lines", times * down.out)
    c.add(f"{prefix}pixels", asked + unasked)
    c.add("kernel rows", asked * down.kernel)
    c.add("taps", asked * down.kernel * across.kernel)
    c.add("rows beside", times * (above + below) * across.out)
    c.add("taps above", times * above * every)
    c.add("taps below", times * below * every)
    c.add("taps left", times * rows * left)
    c.add("taps right", times * rows * right)
    inside = times * rows * columns
    return inside, times * down.out * down.kernel * every - inside


def vectors(c: Counts, taps_of: tuple[int, int], length: int) -> None:
    """Count Helium's copies of `length` bytes for taps inside and outside the input."""
    for name, times in zip(("copy", "pad"), taps_of):
        c.vectors(name, times, length, 16)


@dataclass(frozen=True)
class PatchBuffer:
    """Buffer for patches, copied one input pixel at a time.

    length: bytes copied of a pixel. pixel: bytes of a pixel. lot: columns in the buffer, one patch
    each. begins: addresses of the inputs, or of the groups of one.
    """

    length: int
    pixel: int
    lot: int
    begins: Sequence[int] = (0,)


def count_copies(
    c: Counts, path: str, into: PatchBuffer, down: Axis, across: Axis, widened: bool = False
) -> None:
    """Count the calls of memcpy for taps inside the input, and of memset for taps outside.

    widened: taps inside are widened, not copied, and counted elsewhere.
    """
    row = _count_residues(down, across.size * into.pixel, across.out, into.lot)
    column = _count_residues(across, into.pixel, 1, into.lot)
    patch = down.kernel * across.kernel * into.length
    begins = Counter(at % 4 for at in into.begins)
    for y in range(down.kernel):
        for x in range(across.kernel):
            first = (y * across.kernel + x) * into.length
            targets = [first + k * patch for k in range(into.lot)]
            for (source, target, inside), times in _count_places(
                row[y], column[x], targets
            ).items():
                if not inside:
                    c.memset("pad", times * len(into.begins), into.length, target)
                elif not widened:
                    for begin, inputs in begins.items():
                        at = (begin + source) % 4
                        c.memcpy("copy", times * inputs, into.length, path, at, target)


def _count_residues(
    axis: Axis, step: int, turn: int, lot: int
) -> list[Counter[tuple[int, int, bool]]]:
    """Return, for each tap, (address modulo 4, column of the lot, inside) -> outputs."""
    return [
        Counter(
            (axis.at(out, tap) * step % 4, out * turn % lot, 0 <= axis.at(out, tap) < axis.size)
            for out in range(axis.out)
        )
        for tap in range(axis.kernel)
    ]


def _count_places(
    rows: Counter[tuple[int, int, bool]],
    columns: Counter[tuple[int, int, bool]],
    targets: list[int],
) -> Counter[tuple[int, int, bool]]:
    """Return (addresses modulo 4 of a tap's source and target, inside) -> outputs."""
    found: Counter[tuple[int, int, bool]] = Counter()
    for (down, high, valid), times in rows.items():
        for (across, wide, also), more in columns.items():
            target = targets[(high + wide) % len(targets)] % 4
            found[(down + across) % 4, target, valid and also] += times * more
    return found
