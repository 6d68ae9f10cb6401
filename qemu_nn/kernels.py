"""The kernel table in Python, and one way to call any row on arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Optional

import numpy as np

from ._native import ffi, lib
from .errors import Error, Refused, SizeMismatch
from .targets import Profile, all_profiles

_ERRORS = {lib.QN_SIZE_MISMATCH: SizeMismatch, lib.QN_REFUSED: Refused}


@dataclass(frozen=True)
class Op:
    """What is computed: a name, an element type, and the C struct of its parameters."""

    arithmetic: str
    name: str
    type: str
    params: str

    def __str__(self) -> str:
        return f"{self.name}_{self.type}"


@dataclass(frozen=True)
class Row:
    """One line of csrc/kernels.inc: a way to compute an op, and the profiles it claims.

    kind: "plain" (the definition), "model" (the device's own way) or "fast" (this host's).
    profiles: bit p stands for the profile with number p. cpu: features it needs of the host.
    """

    index: int
    op: Op
    kind: str
    variant: str
    profiles: int
    cpu: int

    def __str__(self) -> str:
        return f"{self.op}.{self.variant}"

    def claims(self, profile: Profile) -> bool:
        """Does this row promise the bits of this profile?"""
        return bool(self.profiles >> profile.number & 1)

    def runs_here(self) -> bool:
        """Has this host the CPU features that the row needs?"""
        return self.cpu == 0

    def scratch(self, params: Any) -> int:
        """Bytes of scratch memory for these parameters."""
        return int(lib.qn_kernel_at(self.index).scratch(params))


@dataclass(frozen=True)
class Sizes:
    """What a call needs, in bytes, as its contract says for the given parameters.

    destroys: bytes at the start of the first input that the device overwrites;
    in_place: the output may start at the address of an input of its own size.
    """

    inputs: tuple[int, int]
    weights: int
    bias: int
    output: int
    destroys: int
    in_place: bool


def _text(pointer: Any) -> str:
    return str(ffi.string(pointer).decode())


def _row(index: int) -> Row:
    kernel = lib.qn_kernel_at(index)
    op = kernel.op
    return Row(
        index,
        Op(_text(op.arithmetic), _text(op.op), _text(op.type), _text(op.params)),
        _text(kernel.kind),
        _text(kernel.variant),
        kernel.profiles,
        kernel.cpu,
    )


#: Every row, best first.
ROWS = tuple(_row(index) for index in range(lib.qn_kernel_count()))


def rows_of(name: str, type: str) -> list[Row]:
    """The rows that compute an op, best first."""
    return [row for row in ROWS if (row.op.name, row.op.type) == (name, type)]


def choose(rows: Sequence[Row], profile: Profile, variant: Optional[str] = None) -> Row:
    """The row that gives the bits of `profile`: the named variant, or the best this host can run.

    A model of the device's own way is chosen only by name.
    """
    op = rows[0].op
    claiming = [row for row in rows if row.claims(profile)]
    if not claiming:
        raise Refused(f"no kernel for {op} with the bits of '{profile}'; have: {_claimed(rows)}")
    if variant is None:
        return next(row for row in claiming if row.kind != "model" and row.runs_here())
    for row in claiming:
        if row.variant == variant and row.runs_here():
            return row
    names = ", ".join(row.variant for row in claiming if row.runs_here())
    raise Error(f"no variant {variant!r} of {op} with the bits of '{profile}' here; have: {names}")


def _claimed(rows: Sequence[Row]) -> str:
    """The profiles that any of these rows claims, in words: paths by release."""
    paths: dict[str, dict[str, None]] = {}
    for profile in all_profiles():
        if any(row.claims(profile) for row in rows):
            paths.setdefault(profile.cmsis, {})[profile.path] = None
    return "; ".join(f"CMSIS {cmsis} ({', '.join(names)})" for cmsis, names in paths.items())


def make_params(op: Op, profile: Profile, values: Mapping[str, int]) -> Any:
    """The C parameters of an op as a cffi struct; every field of it must be among `values`."""
    params = ffi.new(f"{op.params} *")
    for field, _ in ffi.typeof(op.params).fields:
        setattr(params, field, profile.number if field == "profile" else values[field])
    return params


def raise_for(status: int, message: str) -> None:
    """Raise the exception that belongs to a status of csrc/qn.h; QN_OK passes."""
    if status != lib.QN_OK:
        raise _ERRORS[status](message)


def check(row: Row, params: Any) -> Sizes:
    """Ask the contract of a row's op: sizes, or the exception that names the broken constraint."""
    sizes = ffi.new("qn_sizes *")
    why = ffi.new("char[]", lib.QN_WHY)
    raise_for(lib.qn_kernel_at(row.index).op.check(params, sizes, why), _text(why))
    first, second = getattr(sizes, "in")  # a keyword of Python
    return Sizes(
        (first, second), sizes.weights, sizes.bias, sizes.out, sizes.destroys, bool(sizes.in_place)
    )


def _pointer(array: Optional[np.ndarray], writable: bool = False) -> Any:
    if array is None or array.size == 0:
        return ffi.NULL
    return ffi.from_buffer(array, require_writable=writable)


def call(
    row: Row,
    params: Any,
    inputs: Sequence[np.ndarray],
    output: np.ndarray,
    weights: Optional[np.ndarray] = None,
    bias: Optional[np.ndarray] = None,
) -> None:
    """Run one row on C-contiguous arrays of the sizes that check() named; fills `output`.

    The first input is written to where the contract says that the device destroys it.
    """
    sizes = check(row, params)
    needed = (*sizes.inputs[: len(inputs)], sizes.output, sizes.weights, sizes.bias)
    given = [0 if array is None else array.nbytes for array in (*inputs, output, weights, bias)]
    if any(have < want for have, want in zip(given, needed)):
        raise Error(f"{row} needs arrays of {list(needed)} bytes, got {given}")
    scratch = np.empty(row.scratch(params), np.uint8)
    buffers = ffi.new("qn_buffers *")
    for i, array in enumerate(inputs):
        getattr(buffers, "in")[i] = _pointer(array)
    buffers.weights = _pointer(weights)
    buffers.bias = _pointer(bias)
    buffers.out = _pointer(output, writable=True)
    buffers.scratch = _pointer(scratch)
    raise_for(lib.qn_kernel_at(row.index).run(params, buffers), f"{row} failed")
