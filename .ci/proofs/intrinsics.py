"""Intrinsics of vectors on the lanes of symbolic.py, found by the parts of their names.

`_mm512_mask_add_epi32` is `add` on lanes of 32 bits, with a mask."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import z3
from symbolic import Cell, Int, IntType, Machine, Pointer, Unsupported, Vector, number, widened

Lane = z3.BitVecRef
NAME = re.compile(r"_mm(256|512|)_(maskz?_)?(\w+?)_(epi\d+x?|epu\d+|si\d+|epi\d+_mask)$")


def _if(condition: z3.BoolRef, a: Lane, b: Lane) -> Lane:
    return z3.If(condition, a, b)


def saturated(x: Lane, bits: int, signed: bool = True) -> Lane:
    """Return a signed x, clamped to the integers of fewer bits."""
    low = -(2 ** (bits - 1)) if signed else 0
    high = low + 2**bits - 1
    return z3.Extract(bits - 1, 0, _if(x < low, z3.BitVecVal(low, x.size()),
                                       _if(x > high, z3.BitVecVal(high, x.size()), x)))  # fmt: skip


def _shift(op: str, x: Lane, by: Lane) -> Lane:
    size = x.size()
    by = widened(by, size, False) if by.size() < size else by
    if op == "sra":
        return x >> _if(z3.ULT(by, size), by, z3.BitVecVal(size - 1, size))
    moved = x << by if op == "sll" else z3.LShR(x, by)
    return _if(z3.ULT(by, size), moved, z3.BitVecVal(0, size))


def _adds(x: Lane, y: Lane, op: str) -> Lane:
    wide = [z3.SignExt(1, lane) for lane in (x, y)]
    return saturated(wide[0] + wide[1] if op == "adds" else wide[0] - wide[1], x.size())


LANEWISE: dict[str, Callable[..., Lane]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "and": lambda x, y: x & y,
    "or": lambda x, y: x | y,
    "xor": lambda x, y: x ^ y,
    "min": lambda x, y: _if(x < y, x, y),
    "max": lambda x, y: _if(x > y, x, y),
    "abs": lambda x: _if(x < 0, -x, x),
    "sign": lambda x, y: _if(y < 0, -x, _if(y == 0, z3.BitVecVal(0, x.size()), x)),
    "cmpgt": lambda x, y: _if(x > y, z3.BitVecVal(-1, x.size()), z3.BitVecVal(0, x.size())),
    "adds": lambda x, y: _adds(x, y, "adds"),
    "subs": lambda x, y: _adds(x, y, "subs"),
    "mullo": lambda x, y: x * y,
    **{f"{op}v": (lambda o: lambda x, by: _shift(o, x, by))(op) for op in ("sll", "srl", "sra")},
}


def _shuffled(x: Vector, control: int) -> Vector:
    lanes = x.lanes(32)
    return Vector.of([lanes[i // 4 * 4 + (control >> 2 * (i % 4) & 3)] for i in range(len(lanes))])


def _blended(x: Vector, y: Vector, control: int, width: int) -> Vector:
    a, b = x.lanes(width), y.lanes(width)
    chosen = [control >> (i % 8 if width == 16 else i) & 1 for i in range(len(a))]
    return Vector.of([q if c else p for p, q, c in zip(a, b, chosen)])


def _packed(x: Vector, y: Vector, width: int, signed: bool) -> Vector:
    """Return saturated lanes of half the width: in each 128 bits those of x, then of y."""
    each = 128 // width
    lanes = []
    for i in range(0, x.bits // width, each):
        for of in (x, y):
            lanes += [saturated(v, width // 2, signed) for v in of.lanes(width)[i : i + each]]
    return Vector.of(lanes)


def _interleaved(x: Vector, y: Vector, width: int, upper: bool) -> Vector:
    each = 128 // width
    lanes = []
    for i in range(0, x.bits // width, each):
        start = i + (each // 2 if upper else 0)
        for k in range(start, start + each // 2):
            lanes += [x.lanes(width)[k], y.lanes(width)[k]]
    return Vector.of(lanes)


def _pairs(x: Vector, y: Vector) -> Vector:
    """Model VPMADDWD."""
    a, b = ([z3.SignExt(16, lane) for lane in v.lanes(16)] for v in (x, y))
    products = [p * q for p, q in zip(a, b)]
    return Vector.of([products[i] + products[i + 1] for i in range(0, len(products), 2)])


def _even_products(machine: Machine, x: Vector, y: Vector) -> Vector:
    """Model VPMULDQ."""
    pairs = zip(x.lanes(32)[::2], y.lanes(32)[::2])
    return Vector.of([machine.products.of(p, q) for p, q in pairs])


def _loaded(pointer: Pointer, bits: int) -> Vector:
    lanes, i = [], pointer.index
    while sum(lane.size() for lane in lanes) < bits:
        value = pointer.cells[i].value
        if isinstance(value, Vector):
            return value
        unset = (
            z3.BitVec(f"unset_{id(pointer.cells[i])}_", pointer.cells[i].type.bits)
            if value is None
            else None
        )
        lanes.append(value.term if unset is None else unset)
        i += 1
    return Vector.of(lanes)


def _replicated(value: Int, bits: int, width: int) -> Vector:
    return Vector.of([widened(value.term, width, value.type.signed)] * (bits // width))


def _blended_by_bytes(x: Vector, y: Vector, by: Vector) -> Vector:
    lanes = zip(x.lanes(8), y.lanes(8), by.lanes(8))
    return Vector.of([_if(z3.Extract(7, 7, m) == 1, q, p) for p, q, m in lanes])


def _looked_up(table: Vector, by: Vector) -> Vector:
    """Model VPSHUFB."""
    lanes = []
    for i, index in enumerate(by.lanes(8)):
        entries = table.lanes(8)[i // 16 * 16 : i // 16 * 16 + 16]
        value = entries[0]
        for k in range(1, 16):
            value = _if(z3.Extract(3, 0, index) == k, entries[k], value)
        lanes.append(_if(z3.Extract(7, 7, index) == 1, z3.BitVecVal(0, 8), value))
    return Vector.of(lanes)


def _mask(bits: list[z3.BoolRef]) -> Int:
    terms = [_if(b, z3.BitVecVal(1, 1), z3.BitVecVal(0, 1)) for b in reversed(bits)]
    return Int(z3.simplify(z3.Concat(*terms)), IntType(len(bits), False))


def _masked(mask: Int, source: Vector, value: Vector, width: int) -> Vector:
    lanes = []
    for i, (a, b) in enumerate(zip(source.lanes(width), value.lanes(width))):
        lanes.append(_if(z3.Extract(i, i, mask.term) == 1, b, a))
    return Vector.of(lanes)


def _operation(machine: Machine, op: str, kind: str, bits: int, *given: Any) -> Any:
    """Return the result of one instruction on registers of `bits`, without a mask."""
    width = int(re.findall(r"\d+", kind)[0])
    known = given[-1].known if given and isinstance(given[-1], Int) else None
    if op in LANEWISE:
        return Vector.of([LANEWISE[op](*lanes) for lanes in zip(*(v.lanes(width) for v in given))])
    if op in ("slli", "srli", "srai", "sll", "srl", "sra"):
        by = given[1]
        count = by.lanes(64)[0] if isinstance(by, Vector) else widened(by.term, 64, False)
        by = _if(z3.ULT(count, width), z3.Extract(width - 1, 0, count), z3.BitVecVal(width, width))
        return Vector.of([_shift(op[:3], lane, by) for lane in given[0].lanes(width)])
    if op == "set1":
        return _replicated(given[0], bits, width)
    if op == "loadu":
        return _loaded(given[0], bits)
    simple: dict[str, Callable[[], Any]] = {
        "setzero": lambda: _replicated(number(0), bits, 32),
        "mul": lambda: _even_products(machine, *given),
        "shuffle": lambda: _looked_up(*given) if width == 8 else _shuffled(given[0], known),
        "blend": lambda: _blended(*given[:2], known, width),
        "blendv": lambda: _blended_by_bytes(*given),
        "packs": lambda: _packed(*given, width, True),
        "packus": lambda: _packed(*given, width, False),
        "unpacklo": lambda: _interleaved(*given, width, False),
        "unpackhi": lambda: _interleaved(*given, width, True),
        "madd": lambda: _pairs(*given),
        "mov": lambda: given[0],
        "broadcastsi128": lambda: Vector.of(given[0].lanes(32) * (bits // 128)),
    }
    if op not in simple:
        raise Unsupported(f"no model of {op} on {kind}")
    return simple[op]()


def _compared(op: str, width: int, x: Vector, y: Vector) -> Int:
    of = {
        "cmplt": lambda a, b: a < b,
        "cmpge": lambda a, b: a >= b,
        "testn": lambda a, b: a & b == 0,
    }
    return _mask([of[op](a, b) for a, b in zip(x.lanes(width), y.lanes(width))])


def model(name: str) -> Callable[..., Any] | None:
    """Return an intrinsic as a function on terms, or None without a model."""
    if name in NAMED:
        return NAMED[name]
    match = NAME.fullmatch(name)
    if match is None:
        return None
    bits, masked, op, kind = int(match[1] or 128), match[2], match[3], match[4]

    def run(machine: Machine, *given: Any) -> Any:
        width = int(re.findall(r"\d+", kind)[0])
        if kind.endswith("_mask"):
            if masked:
                return _and(given[0], _compared(op, width, *given[1:]))
            return _compared(op, width, *given)
        if masked == "mask_":
            if op == "mov":
                return _masked(given[1], given[0], given[2], width)
            result = _operation(machine, op, kind, bits, *given[2:])
            half = op in ("packs", "packus")
            return _masked(given[1], given[0], result, width // 2 if half else width)
        return _operation(machine, op, kind, bits, *given)

    return run


def _and(a: Int, b: Int) -> Int:
    return Int(a.term & b.term, a.type)


def _half(index: int, width: int) -> Callable[..., Vector]:
    def run(machine: Machine, x: Vector, *given: Int) -> Vector:
        at = given[0].known if given else index
        each = width // 32
        return Vector.of(x.lanes(32)[at * each : (at + 1) * each])

    return run


def _dot(machine: Machine, acc: Vector, x: Vector, y: Vector) -> Vector:
    """Model VPDPWSSD."""
    return Vector.of([a + b for a, b in zip(acc.lanes(32), _pairs(x, y).lanes(32))])


def _doubling_high(machine: Machine, x: Vector, y: Vector) -> Vector:
    """Model SQRDMULH: only -2^31 * -2^31 saturates."""
    lanes = []
    for a, b in zip(x.lanes(32), y.lanes(32)):
        wide = widened(machine.products.of(a, b), 66)
        lanes.append(saturated((2 * wide + 2**31) >> 32, 32))
    return Vector.of(lanes)


def _shifted_left(machine: Machine, x: Vector, y: Vector) -> Vector:
    """Model SSHL by -31..31: a negative count shifts to the right."""
    lanes = zip(x.lanes(32), y.lanes(32))
    return Vector.of([_if(by < 0, a >> -by, a << by) for a, by in lanes])


def _less(machine: Machine, x: Vector, y: Vector) -> Vector:
    lanes = zip(x.lanes(32), y.lanes(32))
    return Vector.of([_if(a < b, z3.BitVecVal(-1, 32), z3.BitVecVal(0, 32)) for a, b in lanes])


def _lanes_of(of: Callable[..., Lane]) -> Callable[..., Vector]:
    return lambda machine, *v: Vector.of([of(*x) for x in zip(*(each.lanes(32) for each in v))])


def _cleared(machine: Machine, pointer: Pointer, *given: Int) -> Pointer:
    """Model memset() of a whole variable to zero."""

    def clear(cell: Cell) -> None:
        inner = cell.value.values() if isinstance(cell.value, dict) else cell.value
        if isinstance(cell.type, IntType):
            cell.value = number(0, cell.type)
        for each in inner if isinstance(cell.value, (dict, list)) else ():
            clear(each)

    clear(pointer.cell)
    return pointer


NAMED: dict[str, Callable[..., Any]] = {
    "_mm256_castsi256_si128": _half(0, 128),
    "_mm512_castsi512_si128": _half(0, 128),
    "_mm512_castsi512_si256": _half(0, 256),
    "_mm256_extracti128_si256": _half(0, 128),
    "_mm512_extracti64x4_epi64": _half(0, 256),
    "_mm256_srav_epi32": lambda m, *v: _operation(m, "srav", "epi32", 256, *v),
    "_mm_cvtsi32_si128": lambda m, x: Vector.of([widened(x.term, 128, False)]),
    "memset": _cleared,
    "vec_dot_s16": _dot,
    "vld1q_s32": lambda m, pointer: _loaded(pointer, 128),
    "vqrdmulhq_s32": _doubling_high,
    "vaddq_s32": _lanes_of(lambda a, b: a + b),
    "vcltq_s32": _less,
    "vreinterpretq_s32_u32": lambda m, x: x,
    "vnegq_s32": _lanes_of(lambda a: -a),
    "vshlq_s32": _shifted_left,
}


class Models(dict[str, Callable[..., Any]]):
    """All models. A model of a function replaces its definition, such as one line of assembly."""

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or model(str(name)) is not None

    def __getitem__(self, name: str) -> Callable[..., Any]:
        found = super().get(name) or model(name)
        assert found is not None
        return found
