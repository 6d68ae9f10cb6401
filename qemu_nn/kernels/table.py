"""The kernel table in Python, and one way to call any row on arrays."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Optional

import numpy as np

from .._native import ffi, lib
from ..errors import Error, Refused, SizeMismatch
from ..io.arguments import have
from ..releases import BY_NAME, NPU_BIT, NPU_PROFILE, Call, computed_as
from ..targets import Profile, all_profiles

#: Instruction sets that rows may need -> their bits in csrc/include/qn.h, from old to new.
FEATURES: dict[str, int] = {
    name[len("QN_CPU_") :].lower(): bit
    for bit, name in sorted(ffi.typeof("enum qn_cpu").elements.items())
    if bit
}

#: Instruction sets of this host, as bits; queried once, because a virtual machine may be slow.
HOST = int(lib.qn_cpu_features())

#: Environment variable that caps the instruction sets: "none", or the newest one to use.
CAP = "QEMU_NN_CPU"

#: True in a context that plans for another host, one without these instruction sets.
_PORTABLE: ContextVar[bool] = ContextVar("_PORTABLE", default=False)

_ERRORS = {lib.QN_SIZE_MISMATCH: SizeMismatch, lib.QN_REFUSED: Refused}


@dataclass(frozen=True)
class Op:
    """Computation: a name, an element type, and the C struct of its parameters."""

    arithmetic: str
    name: str
    type: str
    params: str

    def __str__(self) -> str:
        return f"{self.name}_{self.type}"


@dataclass(frozen=True)
class Row:
    """Line of a list of kernels (kernels.inc): an implementation of an op, for some profiles.

    kind: "plain" (the definition), "model" (the device's path) or "fast" (this host's). symbol: its
    C name, of a function or of a struct of functions. profiles: bit p is profile number p. cpu: CPU
    features that it needs.
    """

    index: int
    op: Op
    kind: str
    variant: str
    symbol: str
    profiles: int
    cpu: int

    def __str__(self) -> str:
        return f"{self.op}.{self.variant}"

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the CPU features that it needs."""
        return tuple(name for name, bit in FEATURES.items() if self.cpu & bit)

    def is_called(self, variant: Optional[str]) -> bool:
        """True if this is the row's variant; "plain" names the plain row, whatever its variant."""
        return variant == self.variant or variant == self.kind == "plain"

    def claims(self, profile: Profile) -> bool:
        """True if this row promises the bits of this profile, if no parameters change that."""
        return bool(self.profiles >> bit_of(self.op, profile) & 1)

    def runs_here(self) -> bool:
        """True if this host has the CPU features of the row, and the cap allows them."""
        return not self.cpu & ~cpu_features()

    def takes(self, params: Any) -> bool:
        """True if the row computes this shape. Plain rows compute every legal call."""
        taken: bool = self.scratch(params) != lib.QN_NOT_TAKEN
        return taken

    def serves(self, params: Any) -> bool:
        """True if this host can run the row for this call, with the bits of its profile."""
        claimed = self.profiles >> bit_in_masks(params) & 1
        return bool(claimed) and self.runs_here() and self.takes(params)

    def pays(self, params: Any) -> bool:
        """True if the row is faster on this shape than the rows after it."""
        return bool(self._traits(params) & lib.QN_PAYS)

    def sign_flips(self, params: Any) -> tuple[int, int]:
        """Return the flags for reading and writing sign-flipped images; 0 if unsupported."""
        traits = self._traits(params)
        return traits & lib.QN_SIGN_FLIPPED_IN, traits & lib.QN_SIGN_FLIPPED_OUT

    def _traits(self, params: Any) -> int:
        return int(lib.qn_kernel_at(self.index).functions.traits(params))

    def scratch(self, params: Any) -> int:
        """Return bytes of scratch memory for these parameters."""
        return int(lib.qn_kernel_at(self.index).functions.scratch(params))

    def pack(
        self, params: Any, weights: Optional[np.ndarray], bias: Optional[np.ndarray]
    ) -> Optional[np.ndarray]:
        """Pack weights and bias for the row, once; return None if it reads them unpacked."""
        kernel = lib.qn_kernel_at(self.index)
        size = kernel.functions.packed(params)
        if not size:
            return None
        packed = allocate_aligned(size)
        given = ffi.new(
            "qn_buffers *", {"weights": _make_pointer(weights), "bias": _make_pointer(bias)}
        )
        lib.qn_pack_row(kernel, params, given, _make_pointer(packed, writable=True))
        return packed


@dataclass(frozen=True)
class Sizes:
    """Bytes of a call's buffers, by its contract for the given parameters.

    destroys: bytes at the start of the first input that the device overwrites. in_place: true if
    the output may have the address of an input of its own size.
    """

    inputs: tuple[int, ...]
    weights: int
    bias: int
    output: int
    destroys: int
    in_place: bool


def cpu_features() -> int:
    """Return the instruction sets that rows may use on this host, as bits; the environment may cap
    it.
    """
    if _PORTABLE.get():
        return 0
    cap = os.environ.get(CAP, "")
    if not cap:
        return HOST
    if cap == "none":
        return 0
    if cap not in FEATURES:
        raise Error(f"{CAP} is {cap!r}; have: none, {', '.join(FEATURES)}")
    return HOST & (2 * FEATURES[cap] - 1)


@contextmanager
def portable_rows() -> Iterator[None]:
    """Restrict this thread's rows to those that need no instruction set."""
    token = _PORTABLE.set(True)
    try:
        yield
    finally:
        _PORTABLE.reset(token)


def allocate_aligned(size: int, alignment: int = 64) -> np.ndarray:
    """Return a zeroed byte array that starts at a multiple of the alignment."""
    raw = np.zeros(size + alignment, np.uint8)
    start = -int(ffi.cast("uintptr_t", ffi.from_buffer(raw))) % alignment
    return raw[start : start + size]


def _decode_text(pointer: Any) -> str:
    return str(ffi.string(pointer).decode())


def _make_row(index: int) -> Row:
    kernel = lib.qn_kernel_at(index)
    op = Op(
        *(_decode_text(getattr(kernel.op, part)) for part in ("arithmetic", "op", "type", "params"))
    )
    kind, variant, symbol = map(_decode_text, (kernel.kind, kernel.variant, kernel.symbol))
    return Row(index, op, kind, variant, symbol, kernel.profiles, kernel.cpu)


#: Every row, best first.
ROWS = tuple(_make_row(index) for index in range(lib.qn_kernel_count()))


@functools.cache
def list_rows(name: str, type: str) -> tuple[Row, ...]:
    """Return the rows that compute an op, best first."""
    return tuple(row for row in ROWS if (row.op.name, row.op.type) == (name, type))


def choose(
    rows: Sequence[Row],
    profile: Profile,
    params: Any,
    variant: Optional[str] = None,
) -> Row:
    """Return the row with the bits of `profile`: the named variant, or the best of this host.

    A model of the device's path is chosen only by name. Only "plain" rows leave the correct remains
    of an input that the device destroys.
    """
    op = rows[0].op
    if not any(row.claims(profile) for row in rows):
        raise Refused(f"no kernel of {op} has the bits of '{profile}'; have: {_list_claimed(rows)}")
    able = (row for row in rows if row.serves(params))
    if variant is None:
        return next(row for row in able if row.kind in ("plain", "fast") and row.pays(params))
    for row in rows:
        if row.is_called(variant) and row.serves(params):
            return row
    choices = have([row.variant for row in able], variant)
    raise Error(f"no variant {variant!r} of {op} has the bits of '{profile}' here; {choices}")


def _list_claimed(rows: Sequence[Row]) -> str:
    """Return the profiles that any of these rows claims, in words: paths by release."""
    paths: dict[str, dict[str, None]] = {}
    for profile in all_profiles():
        if any(row.claims(profile) for row in rows):
            paths.setdefault(profile.cmsis, {})[profile.path] = None
    return "; ".join(f"CMSIS {cmsis} ({', '.join(names)})" for cmsis, names in paths.items())


def apply_rules(
    op: Op, profile: Profile, values: Optional[Mapping[str, int]] = None, null_bias: bool = False
) -> Call:
    """Return a call under the rules of a release: its rows, fields and warnings.

    values: fields of the op's struct; None: any. null_bias: C gets NULL as the bias. Raises Refused
    if the release has no defined result.
    """
    legacy = not profile.is_affine or (
        op.arithmetic == "q" and not BY_NAME[profile.cmsis].is_affine
    )
    rounding = "nearest" if legacy and profile.is_affine else profile.rounding
    call = Call(str(op), legacy, profile.library.path, rounding, fields=values, null_bias=null_bias)
    return computed_as(profile.cmsis, call)


@functools.cache
def bit_of(op: Op, profile: Profile) -> int:
    """Return the bit of a profile in the masks of an op's rows, if no parameters change that."""
    return NPU_BIT if profile.path == "npu" else apply_rules(op, profile).bit


def bit_in_masks(params: Any) -> int:
    """Return the bit of the profile of C parameters in the masks of rows."""
    number = params.profile
    if number == NPU_PROFILE:
        return NPU_BIT
    release, path, second = number >> 3, number >> 1 & 3, number & 1
    return int(5 * release + (4 if path == 2 and second else path))


def make_params(
    op: Op, profile: Profile, values: Mapping[str, int], null_bias: bool = False
) -> Any:
    """Return the C parameters of an op as a cffi struct, from its fields; `relu` is
    fuse_relu()'s. Rules of the release change them, or raise Refused.
    """
    if profile.path == "npu":
        own = {**values, "profile": NPU_PROFILE, "relu": 0}
    else:
        call = apply_rules(op, profile, values, null_bias)
        own = {**(call.fields or {}), "profile": call.number, "relu": 0}
    return ffi.new(f"{op.params} *", {field: own[field] for field in _make_fields(op.params)})


def read_bytes(params: Any) -> bytes:
    """Return C parameters as they lie in memory: 32-bit fields, alike on every host."""
    return bytes(ffi.buffer(params))


@functools.cache
def _make_fields(struct: str) -> tuple[str, ...]:
    return tuple(name for name, _ in ffi.typeof(struct).fields)


def fuse_relu(row: Row, params: Any) -> bool:
    """Make the row apply the next rectifier; return False if it cannot."""
    if row.kind != "fast" or not hasattr(params, "relu"):
        return False
    params.relu = 1
    return True


def raise_for(status: int, message: str) -> None:
    """Raise the exception of a status of csrc/include/qn.h; QN_OK passes."""
    if status != lib.QN_OK:
        raise _ERRORS[status](message)


def check(row: Row, params: Any) -> Sizes:
    """Ask the contract of a row's op: sizes, or the exception that names the broken constraint."""
    sizes, why = ffi.new("qn_sizes *"), ffi.new("char[]", lib.QN_WHY)
    raise_for(lib.qn_kernel_at(row.index).op.check(params, sizes, why), _decode_text(why))
    inputs = tuple(getattr(sizes, "in"))  # a keyword of Python
    return Sizes(inputs, sizes.weights, sizes.bias, sizes.out, sizes.destroys, bool(sizes.in_place))


def _make_pointer(array: Optional[np.ndarray], writable: bool = False) -> Any:
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
    scratch: Optional[np.ndarray] = None,
) -> None:
    """Run one row on C-contiguous arrays of the sizes that check() named.

    Fills `output`, and overwrites the first input if the contract says that the device destroys it.
    scratch: memory of the caller's, by default allocated.
    """
    check_arrays(row, check(row, params), inputs, output, weights, bias)
    run_row(row, params, inputs, output, weights, bias, scratch)


def check_arrays(
    row: Row,
    sizes: Sizes,
    inputs: Sequence[np.ndarray],
    output: np.ndarray,
    weights: Optional[np.ndarray],
    bias: Optional[np.ndarray],
) -> None:
    """Raise Error if an array of a call is too short."""
    needed = (*sizes.inputs[: len(inputs)], sizes.output, sizes.weights, sizes.bias)
    given = [0 if array is None else array.nbytes for array in (*inputs, output, weights, bias)]
    if any(have < want for have, want in zip(given, needed)):
        raise Error(f"{row} needs arrays of {list(needed)} bytes, but has {given}")


def run_row(
    row: Row,
    params: Any,
    inputs: Sequence[np.ndarray],
    output: np.ndarray,
    weights: Optional[np.ndarray] = None,
    bias: Optional[np.ndarray] = None,
    scratch: Optional[np.ndarray] = None,
) -> None:
    """Run one row as call() does, on arrays that the caller has checked."""
    scratch_bytes = row.scratch(params)
    if not row.runs_here() or scratch_bytes == lib.QN_NOT_TAKEN:
        raise Error(f"{row} cannot run this call on this host; choose() names a row that can")
    if scratch is None and scratch_bytes:
        scratch = allocate_aligned(scratch_bytes)
    packed = row.pack(params, weights, bias)
    buffers = ffi.new("qn_buffers *")
    for i, array in enumerate(inputs):
        getattr(buffers, "in")[i] = _make_pointer(array)
    buffers.weights, buffers.bias = _make_pointer(weights), _make_pointer(bias)
    buffers.out = _make_pointer(output, writable=True)
    buffers.scratch, buffers.packed = _make_pointer(scratch), _make_pointer(packed)
    status = lib.qn_run_row(lib.qn_kernel_at(row.index), params, buffers)
    raise_for(status, f"{row} failed")
