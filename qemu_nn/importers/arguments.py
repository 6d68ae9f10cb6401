"""Arguments of calls shared by importers of integers, and limits of a network's size."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..errors import ModelError
from ..functions.shapes import DTYPES

#: Suffix of functions by element type.
SUFFIXES = {dtype: suffix for suffix, dtype in DTYPES.items()}

#: Most bytes of all constants, which may share the file's bytes, and most calls, because one
#: operator may become many. No device has as many.
ARRAY_LIMIT, CALL_LIMIT = 256 * 2**20, 5000

#: Most elements of a side of an image, and most cells of a window with gaps.
SIDE_LIMIT, CELL_LIMIT = 65535, 1024

#: Most axes that a call moves.
MOVES = 6


def check_spent(total: int) -> None:
    """Raise ModelError if this many bytes of constants exceed the limit."""
    if total > ARRAY_LIMIT:
        raise ModelError(f"its constants take more than {ARRAY_LIMIT // 2**20} MiB")


def sides(prefix: str, shape: Sequence[int]) -> dict[str, int]:
    """Return a shape of up to four axes as arguments, with missing leading axes as 1."""
    if len(shape) > 4:
        raise ModelError(f"it has {len(shape)} axes {list(shape)}; functions take up to 4")
    whole = (1,) * (4 - len(shape)) + tuple(shape)
    return {f"{prefix}_{axis}": side for axis, side in zip("nhwc", whole)}


def have_same_bytes(sizes: Sequence[int], one: Sequence[int], two: Sequence[int]) -> bool:
    """True if two orders of the axes are the same in memory."""
    return [a for a in one if sizes[a] > 1] == [a for a in two if sizes[a] > 1]


def moves(whole: Sequence[int], order: Sequence[int]) -> dict[str, int]:
    """Return the sides of up to six axes, and their new order."""
    missing = MOVES - len(whole)
    if missing < 0:
        raise ModelError(f"it moves {len(whole)} axes; at most {MOVES} are supported")
    lengths = [*[1] * missing, *whole]
    perm = [*range(missing), *(missing + axis for axis in order)]
    return {
        **{f"input_{i}": side for i, side in enumerate(lengths)},
        **{f"output_{i}": lengths[axis] for i, axis in enumerate(perm)},
        **{f"perm_{i}": axis for i, axis in enumerate(perm)},
    }


def groups(shape: Sequence[int], axes: set[int]) -> dict[str, int]:
    """Return alternating groups of kept and reduced axes; the first and last are kept."""
    turns: list[list[int]] = [[]]  # even-numbered groups are kept
    for axis, side in enumerate(shape):
        if side == 1:
            continue
        if (len(turns) - 1) % 2 != (axis in axes):
            turns.append([])
        turns[-1].append(side)
    if len(turns) > 5:
        raise ModelError(f"it reduces {len(turns) // 2} groups of axes; up to 2 are supported")
    turns += [[] for _ in range(5 - len(turns))]
    names = ("kept_0", "reduced_0", "kept_1", "reduced_1", "kept_2")
    return {name: math.prod(group) for name, group in zip(names, turns)}
