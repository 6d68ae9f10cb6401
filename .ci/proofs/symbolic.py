"""Runs C functions on terms of z3, so that a proof is about the source itself.

Integers are bit vectors with the widths and conversions of C11. A signed operation that overflows,
and a shift by too much, become obligations, and claims prove these, too. Vectors are lanes, with
the intrinsics of intrinsics.py. A condition that is not decided forks the run: each path runs from
the start.

The product of two 32-bit numbers, 64 bits wide, is any number between -2^62 and 2^62, the same for
the same factors. A claim that holds for each such number holds for products."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import product
from typing import Any

import z3
from pycparser import c_ast
from source import Program


@dataclass(frozen=True)
class IntType:
    """An integer type of C."""

    bits: int
    signed: bool


INT, UINT, LONG, ULONG = (
    IntType(32, True),
    IntType(32, False),
    IntType(64, True),
    IntType(64, False),
)
NAMED = {
    "char": IntType(8, True),
    "signed char": IntType(8, True),
    "unsigned char": IntType(8, False),
    "short": IntType(16, True),
    "unsigned short": IntType(16, False),
    "int": INT,
    "unsigned int": UINT,
    "unsigned": UINT,
    "long long": LONG,
    "unsigned long long": ULONG,
}


@dataclass(frozen=True)
class VectorType:
    """A vector register."""

    bits: int


VECTORS = {"__m128i": 128, "__m256i": 256, "__m512i": 512, "int32x4_t": 128, "uint32x4_t": 128}
VECTORS.update({"int16x8_t": 128, "int8x16_t": 128, "__m512": 512, "__m256": 256})


@dataclass(frozen=True)
class PointerType:
    """A pointer."""

    to: Any


@dataclass(frozen=True)
class ArrayType:
    """An array of known length."""

    of: Any
    length: int


@dataclass(frozen=True)
class StructType:
    """A struct, by its tag."""

    tag: str


@dataclass(frozen=True)
class Int:
    """A value of an integer type."""

    term: z3.BitVecRef
    type: IntType

    @property
    def known(self) -> int | None:
        """Return the value of a constant, None for an unknown."""
        term = z3.simplify(self.term)
        if not z3.is_bv_value(term):
            return None
        return term.as_signed_long() if self.type.signed else term.as_long()


@dataclass(frozen=True)
class Vector:
    """A vector register as lanes of one width, lowest first."""

    parts: tuple[z3.BitVecRef, ...]

    @staticmethod
    def of(lanes: Sequence[z3.BitVecRef]) -> Vector:
        return Vector(tuple(z3.simplify(lane) for lane in lanes))

    @property
    def bits(self) -> int:
        return len(self.parts) * self.parts[0].size()

    def lanes(self, width: int) -> list[z3.BitVecRef]:
        """Return the same bits as lanes of another width."""
        own = self.parts[0].size()
        if own == width:
            return list(self.parts)
        if own < width:
            each = width // own
            groups = [self.parts[i : i + each] for i in range(0, len(self.parts), each)]
            return [z3.simplify(z3.Concat(*reversed(group))) for group in groups]
        cuts = range(0, own, width)
        return [z3.simplify(z3.Extract(i + width - 1, i, p)) for p in self.parts for i in cuts]


@dataclass
class Cell:
    """A variable."""

    type: Any
    value: Any = None


@dataclass(frozen=True)
class Pointer:
    """The address of a cell among others."""

    cells: list[Cell]
    index: int = 0

    @property
    def cell(self) -> Cell:
        return self.cells[self.index]


def number(value: int, type_: IntType = INT) -> Int:
    """Return a constant."""
    return Int(z3.BitVecVal(value, type_.bits), type_)


def widened(term: z3.BitVecRef, bits: int, signed: bool = True) -> z3.BitVecRef:
    """Return a term extended or cut to a number of bits."""
    size = term.size()
    if bits <= size:
        return z3.Extract(bits - 1, 0, term) if bits < size else term
    return z3.SignExt(bits - size, term) if signed else z3.ZeroExt(bits - size, term)


MOST_ITERATIONS = 300


class Fork(Exception):
    """The end of a run without a decision for a condition."""


class Unsupported(Exception):
    """An error about C that this module cannot run."""


class _Return(Exception):
    pass


class _Break(Exception):
    pass


def _within(x: z3.BitVecRef, bits: int) -> z3.BoolRef:
    return z3.And(x >= -(2**bits), x <= 2**bits)


PRODUCT = z3.Function("product", z3.BitVecSort(32), z3.BitVecSort(32), z3.BitVecSort(64))


@dataclass
class Products:
    """Products of 32 by 32 bits: unknown 64-bit numbers."""

    known: dict[tuple[str, str], z3.BitVecRef] = field(default_factory=dict)
    factors: list[tuple[z3.BitVecRef, z3.BitVecRef, z3.BitVecRef]] = field(default_factory=list)
    facts: list[z3.BoolRef] = field(default_factory=list)

    def of(self, a: z3.BitVecRef, b: z3.BitVecRef) -> z3.BitVecRef:
        """Return the product of two 32-bit terms."""
        a, b = z3.simplify(a), z3.simplify(b)
        if z3.is_bv_value(a) or z3.is_bv_value(b):
            return z3.simplify(z3.SignExt(32, a) * z3.SignExt(32, b))
        key = tuple(sorted((a.sexpr(), b.sexpr())))
        if key not in self.known:
            of = PRODUCT(*(b, a) if a.sexpr() > b.sexpr() else (a, b))
            both_least = z3.And(a == -(2**31), b == -(2**31))
            self.facts += [
                of >= -(2**62) + 2**31,
                z3.If(both_least, of == 2**62, of <= 2**62 - 2**31),
                z3.Implies(z3.Or(a == 0, b == 0), of == 0),
                z3.Implies(_within(a, 30), _within(of, 61)),
                z3.Implies(_within(b, 30), _within(of, 61)),
            ]
            self.known[key] = of
            self.factors.append((a, b, of))
        return self.known[key]

    def link(self, assumed: list[z3.BoolRef]) -> None:
        """Add that one product is twice another, if they share a factor and the rest is twice.

        Multiplication of 64 bits is associative, so it is enough to prove that of the factors.
        """
        alike: dict[frozenset[str], list[tuple[z3.BitVecRef, ...]]] = {}
        for factors in self.factors:
            alike.setdefault(_variables(factors[2]), []).append(factors)
        for (a, b, p), (c, d, twice) in (pair for of in alike.values() for pair in product(of, of)):
            if p is not twice:
                for x, rest, y, other in ((a, b, c, d), (a, b, d, c), (b, a, c, d), (b, a, d, c)):
                    if rest.eq(other) and _variables(x) == _variables(y) and not x.eq(y):
                        doubled = z3.SignExt(32, y) == 2 * z3.SignExt(32, x)
                        if entails(assumed, doubled) is True:
                            self.facts.append(twice == 2 * p)


#: Term number -> the term and the names of its unknowns. The term keeps its number in use.
_NAMES: dict[int, tuple[z3.ExprRef, frozenset[str]]] = {}


def _variables(term: z3.ExprRef) -> frozenset[str]:
    """Return the names of the unknowns in a term."""
    stack = [] if term.get_id() in _NAMES else [term]
    while stack:
        each = stack[-1]
        children = each.children()
        new = [c for c in children if c.get_id() not in _NAMES]
        if new:
            stack += new
            continue
        own = z3.is_const(each) and each.decl().kind() == z3.Z3_OP_UNINTERPRETED
        names = frozenset([each.decl().name()] if own else [])
        _NAMES[each.get_id()] = each, names.union(*(_NAMES[c.get_id()][1] for c in children))
        stack.pop()
    return _NAMES[term.get_id()][1]


#: Queries that z3 has answered with unsat, with their unknowns numbered in one order.
_PROVEN: set[z3.BoolRef] = set()


def _renamed(query: z3.BoolRef) -> z3.BoolRef:
    """Return a query about lanes i, k, ... as one about lanes 0, 1, ...: x7 becomes x0."""
    parts = [re.fullmatch(r"(\D+)(\d+)", name) for name in _variables(query)]
    lanes = sorted({int(p[2]) for p in parts if p})
    if lanes == list(range(len(lanes))):
        return query
    pairs = [(p[0], f"{p[1]}{lanes.index(int(p[2]))}") for p in parts if p]
    to = [(z3.BitVec(old, 32), z3.BitVec(new, 32)) for old, new in pairs]
    return z3.substitute(query, *to)


def entails(known: list[z3.BoolRef], goal: z3.BoolRef, timeout: int = 120_000) -> bool | str:
    """True if a goal follows from what is known, else the numbers that refute it.

    Facts that contradict each other prove nothing. Only facts that share an unknown with the goal
    count. A proof for some lanes is a proof for all lanes with the same query.
    """
    goal = z3.simplify(goal)
    if z3.is_true(goal):
        return True
    names = set(_variables(goal))
    left = [(fact, _variables(fact)) for fact in known]
    used = []
    while near := [item for item in left if item[1] & names]:
        left = [item for item in left if not item[1] & names]
        used += [fact for fact, _ in near]
        names.update(*(of for _, of in near))
    query = _renamed(z3.And(*used, z3.Not(goal)))
    if query in _PROVEN:
        return True
    solver = z3.Solver()
    solver.set("timeout", timeout)
    solver.add(query)
    answer = solver.check()
    if answer == z3.sat:
        model = solver.model()
        inputs = [d for d in model.decls() if d.arity() == 0]
        return (
            ", ".join(sorted(f"{d.name()} = {model[d].as_signed_long()}" for d in inputs))
            or "false"
        )
    if answer == z3.unknown:
        return "not decided"
    contradiction = z3.Solver()
    contradiction.add(*used)
    if contradiction.check() != z3.sat:
        return "what is assumed is false"
    _PROVEN.add(query)
    return True


def _narrow(term: z3.BitVecRef) -> z3.BitVecRef | None:
    """Return the 32 bits that a 64-bit term extends by its sign, or None."""
    term = z3.simplify(term)
    low = z3.simplify(z3.Extract(31, 0, term))
    return low if z3.simplify(z3.SignExt(32, low)).eq(term) else None


class Machine:
    """A C program, and the assumptions about its inputs."""

    def __init__(self, program: Program, models: dict[str, Callable[..., Any]]) -> None:
        self.program, self.models = program, models
        _NAMES.clear()  # of terms of the machine before
        self.products = Products()
        self.assumed: list[z3.BoolRef] = []
        self.obligations: list[z3.BoolRef] = []
        self.path: list[z3.BoolRef] = []
        self.decisions: list[bool] = []
        self.taken = 0
        self.frames: list[dict[str, Cell]] = []

    # ---- runs ----

    def call(self, name: str, *arguments: Any) -> Any:
        """Return the result of a function, merged from all paths through it."""
        results = []
        pending: list[list[bool]] = [[]]
        while pending:
            self.decisions, self.taken, self.path = pending.pop(), 0, []
            start = len(self.obligations)
            try:
                value = self.invoke(name, list(arguments))
            except Fork:
                del self.obligations[start:]
                pending += [[*self.decisions, False], [*self.decisions, True]]
                continue
            results.append((list(self.path), value))
        self.path = []
        return _merged(results)

    def decide(self, condition: z3.BoolRef) -> bool:
        """True if a condition is true on this path. Forks if both are possible."""
        condition = z3.simplify(condition)
        if z3.is_true(condition) or z3.is_false(condition):
            return z3.is_true(condition)
        if self.taken < len(self.decisions):
            chosen = self.decisions[self.taken]
            self.taken += 1
            self.path.append(condition if chosen else z3.Not(condition))
            return chosen
        solver = z3.Solver()
        solver.add(*self.assumed, *self.path, *self.products.facts)
        for chosen in (True, False):
            if solver.check(z3.Not(condition) if chosen else condition) == z3.unsat:
                return chosen
        raise Fork

    def require(self, condition: z3.BoolRef) -> None:
        """Add an obligation on this path."""
        condition = z3.simplify(condition)
        if not z3.is_true(condition):
            self.obligations.append(z3.Implies(z3.And(*self.path), condition))

    def invoke(self, name: str, arguments: list[Any]) -> Any:
        if name in self.models:
            return self.models[name](self, *arguments)
        if name not in self.program.functions:
            raise Unsupported(f"no function {name}")
        node = self.program.functions[name]
        frame: dict[str, Cell] = {}
        parameters = node.decl.type.args.params if node.decl.type.args else []
        for parameter, value in zip(parameters, arguments):
            if isinstance(parameter, c_ast.Decl):
                type_ = self.type_of(parameter.type)
                type_ = PointerType(type_.of) if isinstance(type_, ArrayType) else type_
                frame[parameter.name] = Cell(type_, self.converted(value, type_))
        self.frames.append(frame)
        try:
            self.execute(node.body)
        except _Return as done:
            result = done.args[0]
            return self.converted(result, self.type_of(node.decl.type.type))
        finally:
            self.frames.pop()
        return None

    def make(self, name: str, **fields: Any) -> Any:
        """Return a struct by the name of its type, with some fields set."""
        value = self.new(self.type_of(self.program.typedefs[name]))
        for field_name, given in fields.items():
            cell = value[field_name]
            cell.value = self.converted(given, cell.type)
        return value

    # ---- types ----

    def type_of(self, node: c_ast.Node) -> Any:
        if isinstance(node, c_ast.Typename):
            return self.type_of(node.type)
        if isinstance(node, c_ast.PtrDecl):
            return PointerType(None if isinstance(node.type, c_ast.FuncDecl) else node.type)
        if isinstance(node, c_ast.ArrayDecl):
            length = self.evaluate(node.dim).known if node.dim is not None else 0
            return ArrayType(self.type_of(node.type), length or 0)
        if isinstance(node, c_ast.TypeDecl):
            return self.type_of(node.type)
        if isinstance(node, (c_ast.Struct, c_ast.Union)):
            return StructType(node.name or f"unnamed {id(node)}")
        if isinstance(node, c_ast.Enum):
            return INT
        if isinstance(node, c_ast.IdentifierType):
            name = " ".join(node.names)
            if name in NAMED:
                return NAMED[name]
            if name in VECTORS:
                return VectorType(VECTORS[name])
            if name in self.program.typedefs:
                return self.type_of(self.program.typedefs[name])
            return name
        raise Unsupported(type(node).__name__)

    def new(self, type_: Any) -> Any:
        """Return the value of a variable without an initializer."""
        if isinstance(type_, ArrayType):
            return [Cell(type_.of, self.new(type_.of)) for _ in range(type_.length)]
        if isinstance(type_, StructType):
            value: dict[str, Cell] = {}
            for each in self.program.structs.get(type_.tag, []):
                of = self.type_of(each.type)
                inner = self.new(of)
                value.update(inner if each.name is None else {each.name: Cell(of, inner)})
            return value
        return None

    def converted(self, value: Any, type_: Any) -> Any:
        if isinstance(type_, IntType) and isinstance(value, Int):
            return Int(z3.simplify(widened(value.term, type_.bits, value.type.signed)), type_)
        if isinstance(value, dict):
            return {n: Cell(c.type, self.converted(c.value, c.type)) for n, c in value.items()}
        return value

    # ---- statements ----

    def execute(self, node: c_ast.Node | None) -> None:
        if node is None:
            return
        getattr(self, f"on_{type(node).__name__}", self.discard)(node)

    def discard(self, node: c_ast.Node) -> None:
        self.evaluate(node)

    def on_Compound(self, node: c_ast.Compound) -> None:
        for each in node.block_items or []:
            self.execute(each)

    def on_DeclList(self, node: c_ast.DeclList) -> None:
        for each in node.decls:
            self.execute(each)

    def on_EmptyStatement(self, node: c_ast.Node) -> None:
        pass

    def on_Decl(self, node: c_ast.Decl) -> None:
        if node.name:
            self.frames[-1][node.name] = self.declared(node)

    def declared(self, node: c_ast.Decl) -> Cell:
        type_ = self.type_of(node.type)
        if isinstance(type_, ArrayType) and not type_.length and node.init is not None:
            type_ = ArrayType(type_.of, len(node.init.exprs))
        cell = Cell(type_, self.new(type_))
        if node.init is not None:
            cell.value = self.initial(node.init, type_)
        return cell

    def initial(self, node: c_ast.Node, type_: Any) -> Any:
        if not isinstance(node, c_ast.InitList):
            return self.converted(self.evaluate(node), type_)
        value = self.new(type_)
        items = list(value.values()) if isinstance(value, dict) else value
        for cell in items:
            cell.value = number(0, cell.type) if isinstance(cell.type, IntType) else cell.value
        for i, each in enumerate(node.exprs):
            if isinstance(each, c_ast.NamedInitializer):
                cell, each = value[each.name[0].name], each.expr
            else:
                cell = items[i]
            cell.value = self.initial(each, cell.type)
        return value

    def on_If(self, node: c_ast.If) -> None:
        self.execute(node.iftrue if self.decide(self.truth(node.cond)) else node.iffalse)

    def on_For(self, node: c_ast.For) -> None:
        self.execute(node.init)
        for _ in range(MOST_ITERATIONS):
            if node.cond is not None and not self.decide(self.truth(node.cond)):
                return
            self.execute(node.stmt)
            self.execute(node.next)
        raise Unsupported("a loop of very many iterations")

    def on_While(self, node: c_ast.While) -> None:
        while self.decide(self.truth(node.cond)):
            self.execute(node.stmt)

    def on_Switch(self, node: c_ast.Switch) -> None:
        value = self.evaluate(node.cond)
        for case in node.stmt.block_items:
            default = isinstance(case, c_ast.Default)
            if default or self.decide(value.term == self.evaluate(case.expr).term):
                try:
                    for each in case.stmts:
                        self.execute(each)
                except _Break:
                    pass
                return

    def on_Break(self, node: c_ast.Break) -> None:
        raise _Break

    def on_Return(self, node: c_ast.Return) -> None:
        raise _Return(self.evaluate(node.expr) if node.expr is not None else None)

    # ---- expressions ----

    def truth(self, node: c_ast.Node) -> z3.BoolRef:
        value = self.evaluate(node)
        if isinstance(value, Pointer):
            return z3.BoolVal(True)
        return z3.simplify(value.term != 0)

    def evaluate(self, node: c_ast.Node) -> Any:
        method = getattr(self, f"value_{type(node).__name__}", None)
        if method is None:
            raise Unsupported(type(node).__name__)
        return method(node)

    def value_Constant(self, node: c_ast.Constant) -> Int:
        text = node.value.lower()
        if node.type in ("float", "double"):
            raise Unsupported("floats")
        digits = text.rstrip("ul")
        value = int(digits, 0)
        long = "l" in text[len(digits) :] or value >= 2**32 or ("u" not in text and value >= 2**31)
        return number(value, IntType(64 if long else 32, "u" not in text[len(digits) :]))

    def value_ID(self, node: c_ast.ID) -> Any:
        cell = self.cell(node)
        return Pointer(cell.value) if isinstance(cell.type, ArrayType) else cell.value

    def value_ExprList(self, node: c_ast.ExprList) -> Any:
        return [self.evaluate(each) for each in node.exprs][-1]

    def cell(self, node: c_ast.Node) -> Cell:
        if isinstance(node, c_ast.ID):
            return self.variable(node.name)
        if isinstance(node, c_ast.ArrayRef):
            base, index = self.evaluate(node.name), self.evaluate(node.subscript).known
            if index is None or not 0 <= base.index + index < len(base.cells):
                raise Unsupported("an index that is not known, or outside of its array")
            return base.cells[base.index + index]
        if isinstance(node, c_ast.StructRef):
            value = self.evaluate(node.name)
            value = value.cell.value if node.type == "->" else value
            return value[node.field.name]
        if isinstance(node, c_ast.UnaryOp) and node.op == "*":
            return self.evaluate(node.expr).cell
        raise Unsupported(f"an assignment to {type(node).__name__}")

    def variable(self, name: str) -> Cell:
        if self.frames and name in self.frames[-1]:
            return self.frames[-1][name]
        if name in self.program.enumerators:
            return Cell(INT, self.enumerator(name))
        if name in self.program.variables:
            return self.declared(self.program.variables[name])
        raise Unsupported(f"no variable {name}")

    def enumerator(self, name: str) -> Int:
        value = self.program.enumerators[name]
        if value is None:
            return number(0)
        if isinstance(value, tuple):
            return number((self.enumerator(value[0]).known or 0) + value[1])
        return self.converted(self.evaluate(value), INT)

    def value_ArrayRef(self, node: c_ast.ArrayRef) -> Any:
        cell = self.cell(node)
        return Pointer(cell.value) if isinstance(cell.type, ArrayType) else cell.value

    value_StructRef = value_ArrayRef

    def value_Cast(self, node: c_ast.Cast) -> Any:
        return self.converted(self.evaluate(node.expr), self.type_of(node.to_type))

    def value_CompoundLiteral(self, node: c_ast.CompoundLiteral) -> Any:
        return self.initial(node.init, self.type_of(node.type))

    def settled(self, condition: z3.BoolRef) -> z3.BoolRef:
        """Return a condition, or the constant that the assumptions make of it."""
        if z3.is_true(condition) or z3.is_false(condition):
            return condition
        solver = z3.Solver()
        solver.add(*self.assumed)
        for chosen in (True, False):
            if solver.check(z3.Not(condition) if chosen else condition) == z3.unsat:
                return z3.BoolVal(chosen)
        return condition

    def value_TernaryOp(self, node: c_ast.TernaryOp) -> Any:
        condition = self.settled(self.truth(node.cond))
        if z3.is_true(condition) or z3.is_false(condition):
            return self.evaluate(node.iftrue if z3.is_true(condition) else node.iffalse)
        values = []
        for branch, holds in ((node.iftrue, condition), (node.iffalse, z3.Not(condition))):
            self.path.append(holds)
            values.append(self.evaluate(branch))
            self.path.pop()
        if not all(isinstance(value, Int) for value in values):
            return values[0 if self.decide(condition) else 1]
        type_ = _common(values[0].type, values[1].type)
        a, b = (self.converted(value, type_).term for value in values)
        return Int(z3.simplify(z3.If(condition, a, b)), type_)

    def value_FuncCall(self, node: c_ast.FuncCall) -> Any:
        arguments = [self.evaluate(each) for each in (node.args.exprs if node.args else [])]
        return self.invoke(node.name.name, arguments)

    def value_Assignment(self, node: c_ast.Assignment) -> Any:
        cell = self.cell(node.lvalue)
        value = self.evaluate(node.rvalue)
        if node.op != "=":
            value = self.binary(node.op[:-1], cell.value, value)
        cell.value = self.converted(value, cell.type)
        return cell.value

    def value_UnaryOp(self, node: c_ast.UnaryOp) -> Any:
        if node.op == "&":
            if isinstance(node.expr, c_ast.ArrayRef):
                base, index = self.evaluate(node.expr.name), self.evaluate(node.expr.subscript)
                return Pointer(base.cells, base.index + index.known)
            return Pointer([self.cell(node.expr)])
        if node.op == "*":
            return self.cell(node).value
        if node.op in ("p++", "p--", "++", "--"):
            cell = self.cell(node.expr)
            before = cell.value
            added = self.binary(node.op[-1], before, number(1))
            cell.value = self.converted(added, cell.type)
            return before if node.op[0] == "p" else cell.value
        if node.op == "sizeof":
            return number(0, ULONG)  # the model of memset() ignores sizes
        value = self.evaluate(node.expr)
        if node.op == "!":
            return self.boolean(value.term == 0)
        value = _promoted(value)
        if node.op == "-":
            return self.binary("-", number(0, value.type), value)
        return Int(~value.term, value.type) if node.op == "~" else value

    def boolean(self, condition: z3.BoolRef) -> Int:
        return Int(z3.simplify(z3.If(condition, z3.BitVecVal(1, 32), z3.BitVecVal(0, 32))), INT)

    def value_BinaryOp(self, node: c_ast.BinaryOp) -> Any:
        if node.op not in ("&&", "||"):
            return self.binary(node.op, self.evaluate(node.left), self.evaluate(node.right))
        left = self.truth(node.left)
        if z3.is_true(left) or z3.is_false(left):
            short = z3.is_true(left) == (node.op == "||")
            return self.boolean(left if short else self.truth(node.right))
        self.path.append(left if node.op == "&&" else z3.Not(left))
        right = self.truth(node.right)
        self.path.pop()
        return self.boolean(z3.And(left, right) if node.op == "&&" else z3.Or(left, right))

    def binary(self, op: str, a: Any, b: Any) -> Any:
        if isinstance(a, Pointer):
            step = b.known if op == "+" else -b.known
            return Pointer(a.cells, a.index + step)
        if isinstance(b, Pointer):
            return self.binary(op, b, a)
        if op in ("<<", ">>"):
            return self.shifted(op, _promoted(a), _promoted(b))
        type_ = _common(a.type, b.type)
        x, y = self.converted(a, type_).term, self.converted(b, type_).term
        if op in _COMPARED:
            return self.boolean(_COMPARED[op](x, y, type_.signed))
        if op == "*":
            return Int(self.multiplied(x, y, type_), type_)
        if type_.signed and op in ("+", "-"):
            wide = [z3.SignExt(1, term) for term in (x, y)]
            exact = wide[0] + wide[1] if op == "+" else wide[0] - wide[1]
            self.require(exact == z3.SignExt(1, x + y if op == "+" else x - y))
        return Int(z3.simplify(_ARITHMETIC[op](x, y, type_.signed)), type_)

    def multiplied(self, x: z3.BitVecRef, y: z3.BitVecRef, type_: IntType) -> z3.BitVecRef:
        narrow = [_narrow(term) for term in (x, y)] if type_ == LONG else [None]
        if None not in narrow:
            return self.products.of(*narrow)
        if type_.signed:
            self.require(z3.BVMulNoOverflow(x, y, True))
            self.require(z3.BVMulNoUnderflow(x, y))
        return z3.simplify(x * y)

    def shifted(self, op: str, a: Int, b: Int) -> Int:
        bits = a.type.bits
        by = widened(b.term, bits, b.type.signed)
        self.require(z3.ULT(by, bits))
        if op == "<<":
            if a.type.signed:
                self.require(z3.And(a.term >= 0, z3.LShR(a.term << by, by) == a.term))
            return Int(z3.simplify(a.term << by), a.type)
        return Int(z3.simplify(a.term >> by if a.type.signed else z3.LShR(a.term, by)), a.type)


def _promoted(value: Int) -> Int:
    if value.type.bits >= 32:
        return value
    return Int(z3.simplify(widened(value.term, 32, value.type.signed)), INT)


def _common(a: IntType, b: IntType) -> IntType:
    """Return the type of the usual arithmetic conversions."""
    a, b = (t if t.bits >= 32 else INT for t in (a, b))
    if a.bits != b.bits:
        return a if a.bits > b.bits else b
    return a if not a.signed else b


_COMPARED: dict[str, Callable[..., z3.BoolRef]] = {
    "<": lambda x, y, signed: x < y if signed else z3.ULT(x, y),
    "<=": lambda x, y, signed: x <= y if signed else z3.ULE(x, y),
    ">": lambda x, y, signed: x > y if signed else z3.UGT(x, y),
    ">=": lambda x, y, signed: x >= y if signed else z3.UGE(x, y),
    "==": lambda x, y, signed: x == y,
    "!=": lambda x, y, signed: x != y,
}
_ARITHMETIC: dict[str, Callable[..., z3.BitVecRef]] = {
    "+": lambda x, y, signed: x + y,
    "-": lambda x, y, signed: x - y,
    "&": lambda x, y, signed: x & y,
    "|": lambda x, y, signed: x | y,
    "^": lambda x, y, signed: x ^ y,
    "/": lambda x, y, signed: x / y if signed else z3.UDiv(x, y),
    "%": lambda x, y, signed: z3.SRem(x, y) if signed else z3.URem(x, y),
}


def _merged(results: list[tuple[list[z3.BoolRef], Any]]) -> Any:
    values = [value for _, value in results]
    if len(values) == 1:
        return values[0]

    def one(a: Any, b: tuple[list[z3.BoolRef], Any]) -> Any:
        path, value = b
        return Int(z3.simplify(z3.If(z3.And(*path), value.term, a.term)), value.type)

    if not all(isinstance(value, Int) for value in values):
        raise Unsupported("paths with results that are no integers")
    return reduce(one, results[1:], values[0])
