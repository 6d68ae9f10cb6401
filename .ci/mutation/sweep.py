"""The everyday draws of rows on the rows of another library, in a process of its own."""

from __future__ import annotations

import ctypes
import mmap
import os
import resource
import signal
import traceback
from collections.abc import Sequence
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path
from typing import Any, Optional

import numpy as np

from qemu_nn._native import ffi, lib
from qemu_nn.functions import Function
from qemu_nn.kernels import table as kernels
from qemu_nn.testing import rows as testing

Pair = tuple[Function, kernels.Row]

#: C functions of plain rows.
PLAIN = {row.symbol for row in kernels.ROWS if row.kind == "plain"}
#: Functions and rows that the everyday suite sweeps.
PAIRS: list[Pair] = list(testing.list_pairs())
#: Bytes that one array may take, and bytes next to it that a row must leave alone.
MOST_BYTES, GUARD = 1 << 30, 64
#: Byte of memory that nobody has written.
UNWRITTEN = 0xA5

# All rows and mutants share the calls of a function, so each is drawn once.
testing._draw_call = lru_cache(maxsize=None)(testing._draw_call.__wrapped__)


def pairs_of(symbols: set[str], features: int) -> list[Pair]:
    """Return the functions and rows that these C functions compute with these features."""
    return [(f, row) for f, row in PAIRS if row.symbol in symbols and not row.cpu & ~features]


def features_of(library: Path) -> int:
    """Return the instruction sets that a library finds; it stays loaded under its name."""
    ask = ctypes.CDLL(str(library)).qn_cpu_features
    ask.restype = ctypes.c_uint32
    return int(ask())


class Area:
    """Memory between two pages that nobody may touch."""

    def __init__(self, size: int) -> None:
        page = mmap.PAGESIZE
        self.size = -(-size // page) * page
        self._map = mmap.mmap(-1, self.size + 2 * page)
        whole = np.frombuffer(self._map, np.uint8)
        for wall in (0, page + self.size):
            address = ctypes.c_void_p(whole.ctypes.data + wall)
            assert ctypes.CDLL(None).mprotect(address, ctypes.c_size_t(page), 0) == 0
        self.bytes = whole[page : page + self.size]


class Memory:
    """The arrays of calls, one call after the other: each array starts or ends at a wall."""

    def __init__(self) -> None:
        self._areas: dict[str, Area] = {}
        self._guards: list[tuple[str, np.ndarray]] = []
        self._at_end = False

    def begin(self, at_end: bool) -> None:
        """Forget the arrays of the last call."""
        self._at_end, self._guards = at_end, []

    def allocate(self, role: str, size: int, alignment: int) -> np.ndarray:
        """Return bytes for a role; MemoryError for sizes that no call has."""
        if not 0 <= size <= MOST_BYTES:
            raise MemoryError(f"{size} bytes of {role}")
        if role not in self._areas or self._areas[role].size < size + GUARD:
            self._areas[role] = Area(2 * size + GUARD)
        inside = self._areas[role].bytes
        start = (inside.size - size) // alignment * alignment if self._at_end else 0
        around = inside[max(0, start - GUARD) : start + size + GUARD]
        around[:] = UNWRITTEN
        before, after = inside[max(0, start - GUARD) : start], inside[start + size :][:GUARD]
        self._guards += [(role, before), (role, after)]
        return inside[start : start + size]

    def copy(self, role: str, given: Optional[np.ndarray]) -> Optional[np.ndarray]:
        """Return the bytes of an array."""
        if given is None:
            return None
        inside = self.allocate(role, given.nbytes, given.dtype.itemsize)
        inside[:] = np.frombuffer(given.tobytes(), np.uint8)
        return inside

    def role_written_beside(self) -> Optional[str]:
        """Return the role of an array next to which something was written."""
        return next((role for role, guard in self._guards if (guard != UNWRITTEN).any()), None)


class ChangedRow:
    """A row as a changed library has it."""

    def __init__(self, row: kernels.Row, library: ctypes.CDLL) -> None:
        library.qn_kernel_at.restype = ctypes.c_void_p
        self._row = row
        self.functions = ffi.cast("qn_kernel *", library.qn_kernel_at(row.index)).functions

    def __getattr__(self, name: str) -> Any:
        return getattr(self._row, name)

    def __str__(self) -> str:
        return str(self._row)

    def takes(self, params: Any) -> bool:
        """True if the changed row computes this shape."""
        return bool(self.functions.scratch(params) != lib.QN_NOT_TAKEN)

    def run(self, params: Any, memory: Memory, buffers: Any) -> int:
        """Pack and run; return the status."""
        scratch = memory.allocate("scratch", self.functions.scratch(params), 64)
        packed = memory.allocate("packed", self.functions.packed(params), 64)
        buffers.scratch, buffers.packed = _pointer(scratch), _pointer(packed)
        if packed.size:
            self.functions.pack(params, buffers.weights, buffers.bias, buffers.packed)
        return int(self.functions.run(params, buffers))


def _pointer(array: Optional[np.ndarray]) -> Any:
    if array is None or not array.size:
        return ffi.NULL
    return ffi.cast("void *", array.ctypes.data)


def difference(call: testing.RowCall, row: ChangedRow, memory: Memory) -> Optional[str]:
    """Return what differs from the plain row in one call."""
    function, arguments = call.function, call.arguments
    given = [arguments[array.name] for array in function.inputs]
    weights, bias = function.weights_of(arguments), function.bias_of(arguments)
    destroys = kernels.check(call.plain, call.struct).destroys
    want = np.frombuffer(call.wanted.tobytes(), np.uint8)
    for at_end in (True, False):
        memory.begin(at_end)
        inputs = [memory.copy(a.name, value) for a, value in zip(function.inputs, given)]
        output = memory.allocate("out", want.size, call.wanted.dtype.itemsize)
        output[:] = ~want
        buffers = ffi.new("qn_buffers *", {"out": _pointer(output)})
        buffers.weights = _pointer(memory.copy("weights", weights))
        buffers.bias = _pointer(memory.copy("bias", bias))
        for i, array in enumerate(inputs):
            getattr(buffers, "in")[i] = _pointer(array)
        if row.run(call.struct, memory, buffers) != lib.QN_OK:
            output[:] = 0
        if not np.array_equal(output, want):
            return "output"
        role = memory.role_written_beside()
        if role is not None:
            return f"written beside {role}"
        for index, (declared, value, array) in enumerate(zip(function.inputs, given, inputs)):
            kept = not (declared.state or (destroys and index == 0))
            if kept and array is not None and array.tobytes() != value.tobytes():
                return f"input {declared.name}"
    return None


def warm(pairs: Sequence[Pair]) -> None:
    """Draw the calls of rows, so that processes made from this one have them."""
    for pair in pairs:
        for seed, shape in testing.iterate_everyday_draws(*pair):
            _ = testing.draw_call(*pair, seed, shape).wanted


def sweep(library: Path, pairs: Sequence[Pair]) -> str:
    """Return the first difference of the rows of a library; "" if there is none."""
    loaded, memory = ctypes.CDLL(str(library)), Memory()
    rows = [ChangedRow(row, loaded) for _, row in pairs]
    for round in zip_longest(*(testing.iterate_everyday_draws(*pair) for pair in pairs)):
        for (function, _), row, draw in zip(pairs, rows, round):
            if draw is None:
                continue
            try:
                found = difference(testing.draw_call(function, row, *draw), row, memory)
            except (MemoryError, AssertionError) as error:
                found = f"{type(error).__name__}: {error}"
            if found:
                return f"{function.name}, {row}, seed {draw[0]} {draw[1] or ''}: {found}"
    return ""


def apart(library: Path, pairs: Sequence[Pair], seconds: float) -> str:
    """Run sweep() in a process of its own: a crash, or more seconds, is a difference."""
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        os.close(ours)
        code = 1
        try:
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 1))
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            os.write(theirs, sweep(library, pairs).encode()[:4000])
            code = 0
        except BaseException:
            os.write(theirs, traceback.format_exc()[-3000:].encode())
        finally:
            os._exit(code)
    os.close(theirs)
    with os.fdopen(ours, "rb") as pipe:
        said = pipe.read().decode(errors="replace")
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return "endless" if number == signal.SIGXCPU else f"signal {signal.Signals(number).name}"
    if os.WEXITSTATUS(status):
        raise RuntimeError(said)
    return said
