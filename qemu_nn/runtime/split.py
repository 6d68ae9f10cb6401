"""Split of calls into parts for several threads, and its cost."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

from .._native import ffi, lib
from ..kernels import table as kernels
from ..kernels.table import Row, Sizes

#: Units of a call's output from..to-1: rows, pixels or elements.
Part = tuple[int, int]

#: Multiply-accumulates, and bytes of inputs and output, in a microsecond. The benchmark networks
#: take half to twice this estimate.
_PACES = {
    "wide": (250_000, 12_000),
    "fast": (50_000, 4_000),
    "portable": (15_000, 1_000),
    "plain": (1_000, 500),
}
_WIDE = kernels.FEATURES["avx512vnni"] | kernels.FEATURES["amx"]

#: Least microseconds of a split call, and of one part: the hand-over costs less than one. _NETWORK:
#: of all split calls of a network, whose threads may have to be woken.
_CALL, _PART, _NETWORK = 20.0, 8.0, 60.0

#: Parts for each thread: if one thread is interrupted, another takes over its parts.
_SHARES = 2

#: Alignment of the scratch memory of every part, in bytes.
_ALIGNMENT = 64


def estimate_microseconds(row: Row, macs: int, sizes: Sizes) -> float:
    """Estimate the time of a call."""
    any_host = "portable" if row.kind == "fast" else "plain"
    products, moved = _PACES["wide" if row.cpu & _WIDE else "fast" if row.cpu else any_host]
    return macs / products + (sum(sizes.inputs) + sizes.output) / moved


def choose_parts(row: Row, params: Any, cost: float, threads: int) -> tuple[Part, ...]:
    """Return the parts of a call that takes `cost` microseconds; none if it stays whole."""
    grain = ffi.new("int32_t *")
    units = lib.qn_units(lib.qn_kernel_at(row.index), params, grain)
    count = min(threads * _SHARES, int(cost / _PART), units // 2)
    if threads == 1 or cost < _CALL:
        return ()
    bounds = sorted({units * i // count // grain[0] * grain[0] for i in range(count)})
    found = tuple(zip(bounds, [*bounds[1:], units]))
    return found if len(found) > 1 and all(cut_step(row, params, part) for part in found) else ()


class StepCut(NamedTuple):
    """Part of a call: its C parameters, and the bytes of its scratch memory."""

    params: Any
    step: Any
    scratch: int


def cut_step(row: Row, params: Any, part: Part, step: Any = None) -> Optional[StepCut]:
    """Return a part of a C step, or of one with parameters alone; None if there is no such part."""
    if step is None:
        step = ffi.new("qn_step *", {"kernel": lib.qn_kernel_at(row.index), "params": params})
    own, made, scratch = (ffi.new(f"{what} *") for what in (row.op.params, "qn_step", "int64_t"))
    status = lib.qn_split(step, *part, own, made, scratch)
    return StepCut(own, made, scratch[0]) if status == lib.QN_OK else None


def gains_from_splitting(costs: float) -> bool:
    """True if a network gains from splitting calls of this many microseconds."""
    return costs >= _NETWORK


def get_part_scratch(row: Row, params: Any, parts: tuple[Part, ...]) -> int:
    """Return bytes from one part's scratch memory to the next one's."""
    found = (cut_step(row, params, part) for part in parts)
    most = max((each.scratch for each in found if each), default=0)
    return -(-most // _ALIGNMENT) * _ALIGNMENT
