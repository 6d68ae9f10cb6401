"""Execution of firmware as far as values are known: the layer calls, with their arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Callable, Optional

import numpy as np

from .c_headers import COPIES, FILLS, HELPERS
from .initializers import fill
from .program import Program, Routine, is_layer
from .source import Place
from .tree import CASTS, Node
from .values import Block, CType, Pointer, Struct, Unknown, iterate_cells

#: Most nodes that are evaluated in all, and in a loop without layers.
_MOST_STEPS, _MOST_LOOP_STEPS = 2_000_000, 200_000

#: Most layer calls, and turns of a loop with layers that reach none.
_MOST_CALLS, _MOST_IDLE = 600, 100

#: Most turns of a loop that never ends.
_MOST_TURNS = 20_000

#: Most bytes whose values a copy keeps.
_MOST_COPIED = 1 << 16

#: Most calls inside of each other.
_MOST_DEPTH = 60

_BREAK, _CONTINUE = "break", "continue"

#: Functions that write nothing that matters.
_SILENT = ("printf", "puts", "free", "assert", "srand", "exit", *HELPERS)


@dataclass(frozen=True, eq=False)
class Frame:
    """A running function. number: of its run. variables: identity -> memory."""

    routine: Routine
    number: int
    this: Optional[Pointer]
    variables: dict[str, Block] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Recorded:
    """A layer call.

    stack: running functions and loops, as (identity, number). contents: id of a block of variables
    -> its bytes at this moment.
    """

    name: str
    arguments: tuple[Any, ...]
    texts: tuple[str, ...]
    place: Place
    stack: tuple[tuple[str, int], ...]
    order: int
    contents: dict[int, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Write:
    """Bytes that code other than layers writes."""

    block: Block
    start: int
    end: int
    order: int
    place: str


class _Abandoned(Exception):
    """A loop without layers takes too many steps."""


class TooLong(Exception):
    """The program takes more steps than are tried."""


class Machine:
    """A program in execution.

    calls, writes: in order. problems: what could not be followed, and concerns layers. notes: what
    else was not followed.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.calls: list[Recorded] = []
        self.writes: list[Write] = []
        self.problems: dict[str, None] = {}
        self.notes: dict[str, None] = {}
        self._globals: dict[str, Block] = {}
        self._stack: list[Frame] = []
        self._numbers = 0
        self._order = 0
        self._steps = 0
        self._reaching: set[str] = program.reaching()
        self._reaches: dict[int, bool] = {}
        self._returned: Any = None
        self._loops: list[tuple[str, int]] = []
        self._limit: Optional[int] = None
        self._place = ""

    # ---- functions ----

    def run(self, routine: Routine) -> None:
        """Run a function; its pointers are memory of unknown size, its integers unknown."""
        try:
            this = self._make_this(routine)
            arguments = [self._make_argument(each) for each in routine.parameters]
            self.call(routine, arguments, this)
        except TooLong:
            self.problems[f"{routine.node.place}: {routine.name} takes too many steps"] = None
        except RecursionError:
            self.problems[f"{routine.node.place}: {routine.name} nests too deeply"] = None

    def _make_argument(self, parameter: Node) -> Any:
        ctype, name = parameter.ctype, parameter.cursor.spelling
        if ctype.kind == "pointer":
            block = Block(name, None, str(parameter.place), is_memory=True)
            return Pointer(block, 0, ctype.element)
        if ctype.kind == "record":
            return Struct(Block(name, ctype.size, str(parameter.place)), 0, ctype)
        return Unknown(f"the argument {name}")

    def _make_this(self, routine: Routine) -> Optional[Pointer]:
        """Return an object for a method, after its constructor."""
        parent = routine.node.cursor.semantic_parent
        if routine.node.kind != "CXX_METHOD" or parent is None:
            return None
        ctype = CType(parent.type)
        block = Block(parent.spelling, ctype.size, record=ctype)
        this = Pointer(block, 0, ctype)
        self._construct(this, parent)
        return this

    def _construct(self, this: Pointer, record: Any, arguments: Sequence[Any] = ()) -> None:
        """Run the constructor of a class, if its source is there."""
        for child in record.get_children():
            if child.kind.name == "CONSTRUCTOR":
                usr, name = child.get_usr(), child.spelling
                found = self.program.find_routine(usr, name)
                if found is not None and len(found.parameters) == len(arguments):
                    self.call(found, arguments, this)
                    return

    def call(self, routine: Routine, arguments: Sequence[Any], this: Optional[Pointer]) -> Any:
        """Run a function of the program, and return its value."""
        if len(self._stack) >= _MOST_DEPTH:
            raise TooLong
        for lost in routine.lost:
            self.problems[f"{lost.place}: {lost.text}"] = None
        self._numbers += 1
        frame = Frame(routine, self._numbers, this)
        for parameter, value in zip(routine.parameters, arguments):
            self._declare(frame, parameter, value)
        self._stack.append(frame)
        self._loops.append((routine.usr, frame.number))
        try:
            for child in routine.node.children:
                if child.kind == "MEMBER_REF":  # a constructor's list of initializers
                    self._initialize_member(routine, child)
            self._returned = None
            self.execute(routine.body)
            returned, self._returned = self._returned, None
        finally:
            self._stack.pop()
            self._loops.pop()
        return Unknown(f"result of {routine.name}") if returned is None else returned

    def _initialize_member(self, routine: Routine, member: Node) -> None:
        children = routine.node.children
        value = children[children.index(member) + 1]
        this = self._stack[-1].this
        if this is not None and this.block is not None and this.element is not None:
            found = this.element.fields.get(member.cursor.spelling)
            if found is not None:
                self.store(this.block, this.offset + found[0], found[1], self.evaluate(value))

    def _declare(self, frame: Frame, variable: Node, value: Any) -> None:
        ctype = variable.ctype
        block = Block(variable.cursor.spelling, max(ctype.size, 4), str(variable.place))
        frame.variables[variable.cursor.get_usr()] = block
        self.store(block, 0, ctype, value)

    # ---- memory ----

    def store(self, block: Block, offset: int, ctype: CType, value: Any) -> None:
        """Write a value."""
        if isinstance(value, Struct):
            for at, cell, inner in iterate_cells(value):
                block.cells[offset + at] = inner.convert(cell)
            return
        if block.is_memory:
            self._note_write(block, offset, offset + max(1, ctype.size))
        block.cells[offset] = ctype.convert(value)
        if ctype.kind == "int":
            block.widths[offset] = ctype.size

    def _store_at(self, place: tuple[Block, int, CType], value: Any) -> None:
        self.store(place[0], place[1], place[2], value)

    def _note_write(self, block: Block, start: int, end: int) -> None:
        self._order += 1
        last = self.writes[-1] if self.writes else None
        same = last is not None and last.block is block and last.end == start
        if last is not None and same and not any(c.order > last.order for c in self.calls[-1:]):
            self.writes[-1] = Write(block, last.start, end, self._order, last.place)
        else:
            self.writes.append(Write(block, start, end, self._order, self._place))

    def overwrite(self, pointer: Any, size: Any) -> None:
        """Forget bytes that a run computes."""
        if isinstance(pointer, Pointer) and pointer.block is not None and isinstance(size, int):
            pointer.block.overwrite(pointer.offset, pointer.offset + size)
            self._note_write(pointer.block, pointer.offset, pointer.offset + size)

    def copy(self, target: Any, source: Any, size: Any) -> None:
        """Copy bytes, as far as they are known."""
        self.overwrite(target, size)
        pointers = isinstance(target, Pointer) and isinstance(source, Pointer)
        if not pointers or not isinstance(size, int) or size > _MOST_COPIED:
            return
        known = source.block.snapshot(source.offset, size) if source.block is not None else None
        if known is not None and target.block is not None:
            for at, byte in enumerate(known.tolist()):
                target.block.bytes_[target.offset + at] = byte

    def load(self, place: Any) -> Any:
        """Return the value of a place in memory: (block, offset, type)."""
        if isinstance(place, Unknown):
            return place
        block, offset, ctype = place
        if ctype.kind == "array":
            return Pointer(block, offset, ctype.element)
        if ctype.kind == "record":
            return Struct(block, offset, ctype)
        return block.read(offset, ctype)

    def find_variable(self, node: Node) -> Any:
        """Return the memory of a variable that a name refers to."""
        usr = node.usr
        for frame in self._stack[-1:]:
            if usr in frame.variables:
                return frame.variables[usr]
        if usr not in self._globals:
            referenced = node.referenced
            if referenced is None:
                return None
            found = self.program.find_variable(usr, referenced.spelling)
            made = found or Node(referenced, node.library)
            self._globals[usr] = self._make_global(made)
            self._initialize(self._globals[usr], made)
        return self._globals[usr]

    def _make_global(self, variable: Node) -> Block:
        ctype = variable.ctype
        size = ctype.size or None
        where = str(variable.place)
        is_memory = ctype.kind == "array"
        defined = variable.cursor.is_definition()
        record = ctype if ctype.kind == "record" else None
        return Block(variable.cursor.spelling, size, where, None, defined, is_memory, record)

    def _initialize(self, block: Block, variable: Node) -> None:
        """Store the initial value of a variable."""
        ctype = variable.ctype
        values = [child for child in variable.values if child.kind != "PARM_DECL"]
        if ctype.kind == "array":  # without the length, which is a child, too
            values = [child for child in values if child.strip().kind == "INIT_LIST_EXPR"]
        if not values:
            complaint = self.program.complaints.get(block.where)
            if complaint is not None:
                block.cells[0] = Unknown(complaint)
            return
        value = values[-1]
        target = value.strip()
        if target.kind == "INIT_LIST_EXPR" and ctype.kind in ("array", "record"):
            fill(self, block, 0, ctype, target)
            if not block.size and block.data is not None:
                block.size = int(block.data.size)
        elif ctype.kind == "record" and target.kind == "CALL_EXPR":
            self._construct_variable(block, ctype, target.values)
        elif ctype.kind == "pointer" and ctype.is_reference:
            place = self.locate(target)
            if not isinstance(place, Unknown):
                block.cells[0] = Pointer(place[0], place[1], place[2])
        else:
            self.store(block, 0, ctype, self.evaluate(value))

    def _construct_variable(self, block: Block, ctype: CType, values: Sequence[Node]) -> None:
        record = ctype.declaration
        arguments = [self.evaluate(each) for each in values if each.kind != "MEMBER_REF_EXPR"]
        self._construct(Pointer(block, 0, ctype), record, arguments)

    # ---- places ----

    def locate(self, node: Node) -> Any:
        """Return the place of an expression: (block, offset, type), or Unknown."""
        node = node.strip()
        finder = _PLACES.get(node.kind)
        if finder is not None:
            return finder(self, node)
        value = self.evaluate(node)
        if isinstance(value, Struct):
            return value.block, value.offset, value.ctype
        return Unknown(f"{node.place}: {node.kind}")

    def _locate_name(self, node: Node) -> Any:
        block = self.find_variable(node)
        if block is None:
            return Unknown(node.cursor.spelling)
        declared = CType(node.referenced.type) if node.referenced is not None else node.ctype
        if declared.is_reference:
            value = block.cells.get(0)
            if isinstance(value, Pointer) and value.block is not None:
                return value.block, value.offset, node.ctype
            return Unknown(node.cursor.spelling)
        return block, 0, declared if declared.size else node.ctype

    def _locate_member(self, node: Node) -> Any:
        name = node.cursor.spelling
        if not node.values:  # of this object
            this = self._stack[-1].this
            referenced = node.referenced
            if referenced is not None and referenced.kind.name == "VAR_DECL":
                return self._locate_name(node)
            if this is None or this.block is None or this.element is None:
                return Unknown(name)
            base: Any = (this.block, this.offset, this.element)
        else:
            if node.referenced is not None and node.referenced.kind.name == "VAR_DECL":
                return self._locate_name(node)
            inner = node.values[0]
            if inner.ctype.kind == "pointer":
                value = self.evaluate(inner)
                if not isinstance(value, Pointer) or value.block is None or value.element is None:
                    return Unknown(name)
                base = (value.block, value.offset, value.element)
            else:
                base = self.locate(inner)
        if isinstance(base, Unknown):
            return base
        block, offset, ctype = base
        found = ctype.fields.get(name)
        if found is None:
            return Unknown(name)
        return block, offset + found[0], found[1]

    def _locate_element(self, node: Node) -> Any:
        base, index = (self.evaluate(each) for each in node.values[:2])
        if isinstance(index, Pointer):
            base, index = index, base
        if not isinstance(base, Pointer) or base.block is None or not isinstance(index, int):
            return Unknown(f"{node.place}: an element")
        moved = base.move(index)
        return moved.block, moved.offset, node.ctype

    def _locate_target(self, node: Node) -> Any:
        if node.operator != "*":
            return Unknown(f"{node.place}: {node.operator}")
        value = self.evaluate(node.values[0])
        if not isinstance(value, Pointer) or value.block is None:
            return Unknown(f"{node.place}: a pointer")
        return value.block, value.offset, node.ctype

    def _locate_literal(self, node: Node) -> Any:
        block = Block("a literal", node.ctype.size, str(node.place), zeroed=True)
        for child in node.values:
            if child.kind == "INIT_LIST_EXPR":
                fill(self, block, 0, node.ctype, child)
        return block, 0, node.ctype

    # ---- expressions ----

    def evaluate(self, node: Node) -> Any:
        """Return the value of an expression."""
        self._steps += 1
        if self._limit is not None and self._steps > self._limit:
            raise _Abandoned
        if self._steps > _MOST_STEPS:
            raise TooLong
        evaluator = _VALUES.get(node.kind)
        if evaluator is not None:
            return evaluator(self, node)
        if node.kind in CASTS:
            return self._cast(node)
        if node.kind in _PLACES:
            return self.load(self.locate(node))
        constant = node.constant
        if constant is not None:
            return constant
        return Unknown(f"{node.place}: {node.kind}")

    def _wrapped(self, node: Node) -> Any:
        if len(node.values) != 1:
            constant = node.constant
            return Unknown(str(node.place)) if constant is None else constant
        value = self.evaluate(node.values[0])
        return node.ctype.convert(value) if node.ctype.kind in ("int", "float") else value

    def _cast(self, node: Node) -> Any:
        value = self.evaluate(node.values[-1])
        if node.ctype.kind == "int" and isinstance(value, Pointer):
            return value  # an address as an integer
        return node.ctype.convert(value)

    def _literal(self, node: Node) -> Any:
        constant = node.constant
        return Unknown(str(node.place)) if constant is None else constant

    def _name(self, node: Node) -> Any:
        referenced = node.referenced
        if referenced is not None and referenced.kind.name == "ENUM_CONSTANT_DECL":
            return int(referenced.enum_value)
        if referenced is None or referenced.kind.name not in ("VAR_DECL", "PARM_DECL"):
            return Unknown(node.cursor.spelling)
        return self.load(self._locate_name(node))

    def _null(self, node: Node) -> Any:
        return Pointer(None, 0, None)

    def _this(self, node: Node) -> Any:
        this = self._stack[-1].this
        return Unknown("this") if this is None else this

    def _unary(self, node: Node) -> Any:
        operator, operand = node.operator, node.values[0]
        if operator == "&":
            place = self.locate(operand)
            return place if isinstance(place, Unknown) else Pointer(*place)
        if operator == "*":
            return self.load(self._locate_target(node))
        if "x" in operator:
            return self._step(node, operand)
        value = self.evaluate(operand)
        if operator == "!":
            truth = _get_truth(value)
            return Unknown(str(node.place)) if truth is None else int(not truth)
        if not isinstance(value, (int, float)):
            return Unknown(str(node.place))
        if operator == "~":
            return node.ctype.convert(~int(value))
        return node.ctype.convert(-value if operator == "-" else value)

    def _step(self, node: Node, operand: Node) -> Any:
        """Increment or decrement a variable."""
        place = self.locate(operand)
        if isinstance(place, Unknown):
            return place
        old = self.load(place)
        change = 1 if "++" in node.operator else -1
        new = _add(old, change)
        self._store_at(place, new)
        return old if node.operator.startswith("x") else new

    def _binary(self, node: Node) -> Any:
        operator = node.operator
        left, right = node.values[0], node.values[-1]
        if operator == "=":
            return self._assign(node, left, self.evaluate(right))
        if operator == ",":
            self.evaluate(left)
            return self.evaluate(right)
        first = self.evaluate(left)
        if operator in ("&&", "||"):
            truth = _get_truth(first)
            if truth is not None and truth == (operator == "||"):
                return int(truth)
            second = _get_truth(self.evaluate(right))
            unknown = truth is None or second is None
            return Unknown(str(node.place)) if unknown else int(bool(second))
        return _compute(operator, first, self.evaluate(right), node)

    def _assign(self, node: Node, left: Node, value: Any) -> Any:
        place = self.locate(left)
        if not isinstance(place, Unknown):
            if isinstance(value, Pointer) and value.block is not None and not value.block.name:
                value.block.name = left.strip().cursor.spelling
            self._store_at(place, value)
        return value

    def _compound(self, node: Node) -> Any:
        place = self.locate(node.values[0])
        value = self.evaluate(node.values[-1])
        if isinstance(place, Unknown):
            return place
        made = _compute(node.operator[:-1], self.load(place), value, node)
        self._store_at(place, made)
        return made

    def _choose(self, node: Node) -> Any:
        condition, yes, no = node.values[:3]
        truth = _get_truth(self.evaluate(condition))
        if truth is None:
            return Unknown(f"{node.place}: a condition")
        return self.evaluate(yes if truth else no)

    def _allocate(self, node: Node) -> Any:
        """Return the memory of `new`."""
        element = CType(node.cursor.type.get_pointee())
        counts = [
            child for child in node.values if child.kind not in ("CALL_EXPR", "INIT_LIST_EXPR")
        ]
        count = self.evaluate(counts[0]) if counts else 1
        size = count * element.size if isinstance(count, int) else None
        record = element if element.kind == "record" else None
        block = Block("", size, str(node.place), is_memory=record is None, record=record)
        pointer = Pointer(block, 0, element)
        if element.kind == "record":
            calls = [child for child in node.values if child.kind == "CALL_EXPR"]
            values = calls[0].values if calls else ()
            self._construct_variable(block, element, values)
        return pointer

    # ---- calls ----

    def _call(self, node: Node) -> Any:
        cursor = node.cursor
        name = cursor.spelling
        arguments = [Node(each, node.library) for each in cursor.get_arguments()]
        referenced = node.referenced
        if referenced is not None and referenced.kind.name == "CONSTRUCTOR":
            return self.evaluate(arguments[0]) if len(arguments) == 1 else Unknown(name)
        values = [self.evaluate(each) for each in arguments]
        if is_layer(name):
            return self._record(node, name, values, arguments)
        known = self._call_known(name, values, node)
        if known is not None:
            return known
        this = self._find_object(node)
        usr = self._find_override(node, this)
        routine = self.program.find_routine(usr, name) if usr else None
        if routine is None:
            return self._leave_out(node, name, values)
        self._reaching = self.program.reaching()
        return self.call(routine, self._bind(routine, arguments, values), this)

    def _find_override(self, node: Node, this: Optional[Pointer]) -> str:
        """Return the identity of a called function: of a virtual method the object's own."""
        method = node.referenced
        record = this.block.record if this is not None and this.block is not None else None
        if method is None or record is None or method.kind.name != "CXX_METHOD":
            return node.usr
        for child in record.declaration.get_children():
            same = child.kind.name == "CXX_METHOD" and child.displayname == method.displayname
            if same and method.is_virtual_method():
                return str(child.get_usr())
        return node.usr

    def _bind(
        self, routine: Routine, arguments: Sequence[Node], values: Sequence[Any]
    ) -> list[Any]:
        """Return the values of parameters: of references their places, of absent ones defaults."""
        bound = []
        for index, parameter in enumerate(routine.parameters):
            if index >= len(values):
                defaults = parameter.values
                bound.append(self.evaluate(defaults[-1]) if defaults else Unknown("a default"))
            elif parameter.ctype.is_reference:
                place = self.locate(arguments[index])
                bound.append(place if isinstance(place, Unknown) else Pointer(*place))
            else:
                bound.append(values[index])
        return bound

    def _find_object(self, node: Node) -> Optional[Pointer]:
        """Return the object of a method's call."""
        callee = node.values[0].strip() if node.values else None
        if callee is None or callee.kind != "MEMBER_REF_EXPR":
            return None
        if not callee.values:
            return self._stack[-1].this
        inner = callee.values[0]
        if inner.ctype.kind == "pointer":
            value = self.evaluate(inner)
            if not isinstance(value, Pointer) or value.block is None:
                return None
            element = value.block.record if value.block.record is not None else value.element
            return Pointer(value.block, value.offset, element)
        place = self.locate(inner)
        return None if isinstance(place, Unknown) else Pointer(*place)

    def _record(
        self, node: Node, name: str, values: Sequence[Any], arguments: Sequence[Node]
    ) -> int:
        self._order += 1
        stack = tuple(self._loops)
        texts = tuple(each.strip().cursor.spelling for each in arguments)
        frozen = tuple(_freeze(value) for value in values)
        call = Recorded(name, frozen, texts, node.place, stack, self._order)
        for value in frozen:
            _keep_content(call.contents, value)
        self.calls.append(call)
        if len(self.calls) > _MOST_CALLS:
            raise TooLong
        return 0

    def _call_known(self, name: str, values: Sequence[Any], node: Node) -> Any:
        """Return the value of a function of a library; None for any other."""
        if name in ("malloc", "calloc", "pvPortMalloc", "aligned_alloc"):
            size = values[-1] if name != "calloc" else _multiply(values)
            block = Block("", size if isinstance(size, int) else None, str(node.place))
            block.is_memory, block.zeroed = True, name == "calloc"
            return Pointer(block, 0, None)
        if name in ("memcpy", "memmove") and len(values) == 3:
            self.copy(values[0], values[1], values[2])
            return values[0]
        if name == "memset" and len(values) == 3:
            self.overwrite(values[0], values[2])
            return values[0]
        if name in COPIES and len(values) == 3 and isinstance(values[2], int):
            self.copy(values[1], values[0], COPIES[name] * values[2])
            return 0
        if name in FILLS and len(values) == 3 and isinstance(values[2], int):
            self.overwrite(values[1], FILLS[name] * values[2])
            return 0
        return 0 if name in _SILENT else None

    def _leave_out(self, node: Node, name: str, values: Sequence[Any]) -> Unknown:
        """Note a function without a source, if it may write memory."""
        if any(
            isinstance(v, Pointer) and v.block is not None and v.block.is_memory for v in values
        ):
            self.notes[f"{node.place}: {name or 'a call'}() has no source here"] = None
        return Unknown(f"result of {name}")

    # ---- statements ----

    def execute(self, node: Node) -> Optional[str]:
        """Run a statement; return how it leaves the one around it: break, continue or return."""
        if self._limit is None and node.kind != "COMPOUND_STMT":
            self._place = str(node.place)
        runner = _STATEMENTS.get(node.kind)
        if runner is not None:
            return runner(self, node)
        self.evaluate(node)
        return None

    def _block(self, node: Node) -> Optional[str]:
        for child in node.children:
            left = self.execute(child)
            if left is not None:
                return left
        return None

    def _declaration(self, node: Node) -> Optional[str]:
        for variable in node.children:
            if variable.kind != "VAR_DECL":
                continue
            usr = variable.cursor.get_usr()
            static = variable.cursor.storage_class.name == "STATIC"
            table = self._globals if static else self._stack[-1].variables
            if static and usr in table:
                self._stack[-1].variables[usr] = table[usr]
                continue
            block = self._make_global(variable)
            block.zeroed = static
            table[usr] = self._stack[-1].variables[usr] = block
            self._initialize(block, variable)
        return None

    def _if(self, node: Node) -> Optional[str]:
        children = [child for child in node.children if child.kind != "DECL_STMT"]
        for child in node.children:
            if child.kind == "DECL_STMT":
                self.execute(child)
        condition, branches = children[0], children[1:]
        value = self.evaluate(condition)
        truth = _get_truth(value)
        if truth is None:
            return self._doubt(node, condition, branches)
        if truth:
            return self.execute(branches[0]) if branches else None
        return self.execute(branches[1]) if len(branches) > 1 else None

    def _doubt(self, node: Node, condition: Node, branches: Sequence[Node]) -> Optional[str]:
        """Treat a condition that only a run decides."""
        reaching = [branch for branch in branches if self.reaches(branch)]
        for branch in branches:
            if branch not in reaching:
                self.invalidate(branch)
        if not reaching:
            return None
        if len(reaching) > 1:
            self.problems[
                f"{node.place}: a condition that only a run decides chooses between layers"
            ] = None
        else:
            self.notes[f"{node.place}: a condition is taken as true for its layers"] = None
        left = self.execute(reaching[0])
        return left if left == "return" else None

    def _for(self, node: Node) -> Optional[str]:
        *head, body = node.children
        first, condition, step = _split_head(head)
        if first is not None:
            self.execute(first)
        return self._loop(node, condition, body, step)

    def _while(self, node: Node) -> Optional[str]:
        condition, body = node.children[0], node.children[-1]
        return self._loop(node, condition, body, None)

    def _do(self, node: Node) -> Optional[str]:
        body, condition = node.children[0], node.children[-1]
        left = self.execute(body)
        if left in (_BREAK, "return"):
            return None if left == _BREAK else left
        return self._loop(node, condition, body, None)

    def _loop(
        self, node: Node, condition: Optional[Node], body: Node, step: Optional[Node]
    ) -> Optional[str]:
        layers = self.reaches(body)
        if layers or self._limit is not None:
            return self._turn(node, condition, body, step, layers)
        self._limit = self._steps + _MOST_LOOP_STEPS
        before = self._steps
        try:
            return self._turn(node, condition, body, step, layers)
        except _Abandoned:
            self._steps = before + _MOST_LOOP_STEPS // 8  # it is skipped, and costs little
            self._limit = None
            self.invalidate(body)
            return None
        finally:
            self._limit = None

    def _turn(
        self,
        node: Node,
        condition: Optional[Node],
        body: Node,
        step: Optional[Node],
        layers: bool,
    ) -> Optional[str]:
        """Run a loop; one that runs the network again and again is run twice."""
        endless = condition is None or condition.strip().constant not in (None, 0)
        turns: list[list[Recorded]] = []
        while True:
            if not endless and condition is not None:
                truth = _get_truth(self.evaluate(condition))
                if truth is False:
                    return None
                if truth is None:
                    return self._doubt_loop(node, body, layers)
            start = len(self.calls)
            self._loops.append((f"loop {id(node)}", len(turns)))
            try:
                left = self.execute(body)
            finally:
                self._loops.pop()
            if left == "return":
                return left
            turns.append(self.calls[start:])
            if left == _BREAK or (layers and _repeats(turns)) or (endless and layers):
                return None
            if step is not None:
                self.evaluate(step)
            idle = layers and len(turns) >= _MOST_IDLE and not any(turns[-_MOST_IDLE:])
            if idle or len(turns) > _MOST_TURNS:
                raise _Abandoned if self._limit is not None else TooLong

    def _doubt_loop(self, node: Node, body: Node, layers: bool) -> Optional[str]:
        """Treat a loop whose turns only a run decides."""
        self.invalidate(body)
        if not layers:
            return None
        message = f"{node.place}: only a run decides how often this loop iterates"
        if node.kind == "FOR_STMT":
            self.problems[message] = None
        else:
            self.notes[f"{message}: taken once"] = None
        left = self.execute(body)
        return left if left == "return" else None

    def _switch(self, node: Node) -> Optional[str]:
        value = self.evaluate(node.children[0])
        statements = node.children[-1].children
        if not isinstance(value, int):
            return self._doubt(node, node.children[0], statements)
        start = None
        for index, each in enumerate(statements):
            if each.kind == "CASE_STMT" and each.children[0].constant == value:
                start = index
                break
            if each.kind == "DEFAULT_STMT" and start is None:
                start = index
        for each in statements[start:] if start is not None else ():
            inner = each
            while inner.kind in ("CASE_STMT", "DEFAULT_STMT"):
                inner = inner.children[-1]
            left = self.execute(inner)
            if left is not None:
                return None if left == _BREAK else left
        return None

    def _return(self, node: Node) -> Optional[str]:
        if node.children:
            self._returned = self.evaluate(node.children[0])
        return "return"

    # ---- what a statement contains ----

    def reaches(self, node: Node) -> bool:
        """True if a statement calls layers, itself or by functions."""
        key = id(node)
        if key not in self._reaches or not self._reaches[key]:
            self._reaches[key] = any(
                each.kind == "CALL_EXPR"
                and (is_layer(each.cursor.spelling) or each.usr in self._reaching)
                for each in node.walk()
            )
        return self._reaches[key]

    def invalidate(self, node: Node) -> None:
        """Forget all variables that a statement may change."""
        for each in node.walk():
            changes = each.kind == "COMPOUND_ASSIGNMENT_OPERATOR"
            changes |= each.kind == "BINARY_OPERATOR" and each.operator == "="
            changes |= each.kind == "UNARY_OPERATOR" and "x" in each.operator
            if changes and each.values:
                target = each.values[0].strip()
                if target.kind == "ARRAY_SUBSCRIPT_EXPR":
                    base = self.evaluate(target.values[0])
                    if isinstance(base, Pointer) and base.block is not None and base.block.size:
                        self.overwrite(base, base.block.size - base.offset)
                elif target.kind in ("DECL_REF_EXPR", "MEMBER_REF_EXPR"):
                    place = self.locate(target)
                    if not isinstance(place, Unknown) and place[2].kind in ("int", "float"):
                        place[0].cells[place[1]] = Unknown(f"{each.place}")


def make_key(recorded: Recorded, with_inputs: bool) -> tuple[Any, ...]:
    """Return what is equal in repeated calls; of the first call the inputs may differ."""
    parts: list[Any] = []
    for value in recorded.arguments:
        if isinstance(value, Pointer) and value.block is not None:
            cells = value.block.cells.items() if value.element is not None else ()
            inner = tuple(v if isinstance(v, int) else 0 for _, v in sorted(cells, key=_get_at))
            is_struct = value.element is not None and value.element.kind == "record"
            constant = value.block.data is not None
            place = (value.block.name, value.offset) if with_inputs and not is_struct else ()
            parts.append((place or constant, inner if is_struct else ()))
        else:
            parts.append(value if isinstance(value, (int, float)) else None)
    return recorded.name, *parts


def _get_at(cell: tuple[int, Any]) -> int:
    return cell[0]


def are_alike(one: Sequence[Recorded], two: Sequence[Recorded]) -> bool:
    """True if two runs make the same calls; the inputs of the first call may differ."""
    pairs = enumerate(zip(one, two))
    return len(one) == len(two) and all(
        make_key(a, at > 0) == make_key(b, at > 0) for at, (a, b) in pairs
    )


def _repeats(turns: Sequence[Sequence[Recorded]]) -> bool:
    """True if the last two turns of a loop make the same two calls or more."""
    return len(turns) > 1 and len(turns[-1]) > 1 and are_alike(turns[-1], turns[-2])


def _split_head(head: Sequence[Node]) -> tuple[Optional[Node], Optional[Node], Optional[Node]]:
    """Return first, condition and step of a for statement, whose empty parts have no node."""
    first = condition = step = None
    for node in head:
        inner = node.strip()
        assigns = inner.kind == "DECL_STMT" or (
            inner.kind == "BINARY_OPERATOR" and inner.operator in ("=", ",")
        )
        steps = inner.kind == "COMPOUND_ASSIGNMENT_OPERATOR" or (
            inner.kind == "UNARY_OPERATOR" and "x" in inner.operator
        )
        if assigns and condition is None and first is None:
            first = node
        elif (steps or assigns) and (condition is not None or first is not None):
            step = node
        elif condition is None:
            condition = node
        else:
            step = node
    return first, condition, step


def _freeze(value: Any) -> Any:
    """Return an argument as it is now: structs may change for the next call."""
    if not isinstance(value, Pointer) or value.block is None or value.element is None:
        return value
    if value.element.kind != "record":
        return value
    copy = Block(value.block.name, value.block.size, value.block.where)
    for at, cell, _ in iterate_cells(Struct(value.block, value.offset, value.element)):
        copy.cells[at] = cell
    return Pointer(copy, 0, value.element)


def _keep_content(contents: dict[int, np.ndarray], value: Any) -> None:
    """Keep the bytes of variables that a call may read as constants: of small changed arrays."""
    if not isinstance(value, Pointer) or value.block is None:
        return
    block = value.block
    if value.element is not None and value.element.kind == "record":
        for cell in block.cells.values():
            _keep_content(contents, cell)
    elif block.size and block.size <= _MOST_COPIED and (block.cells or block.bytes_):
        for size in (block.size, block.find_known()):
            known = block.snapshot(0, size) if size else None
            if known is not None:
                contents[id(block)] = known
                break


def _get_truth(value: Any) -> Optional[bool]:
    """Return a condition, None if only a run knows it."""
    if isinstance(value, (int, float)):
        return bool(value)
    return value.block is not None if isinstance(value, Pointer) else None


def _add(value: Any, change: Any) -> Any:
    if isinstance(value, Pointer) and isinstance(change, int):
        return value.move(change)
    if isinstance(value, (int, float)) and isinstance(change, (int, float)):
        return value + change
    return Unknown("a sum")


def _multiply(values: Sequence[Any]) -> Any:
    known = all(isinstance(value, int) for value in values)
    return int(np.prod(values)) if known and values else Unknown("a size")


def _compute(operator: str, first: Any, second: Any, node: Node) -> Any:
    """Return the value of a binary operator."""
    if isinstance(first, Pointer) or isinstance(second, Pointer):
        return _compute_address(operator, first, second, node)
    if not isinstance(first, (int, float)) or not isinstance(second, (int, float)):
        return Unknown(str(node.place))
    made = _ARITHMETIC[operator](first, second) if operator in _ARITHMETIC else None
    if made is None:
        return Unknown(str(node.place))
    return node.ctype.convert(made) if node.ctype.kind in ("int", "float") else made


def _compute_address(operator: str, first: Any, second: Any, node: Node) -> Any:
    if operator == "+":
        return _add(first, second) if isinstance(first, Pointer) else _add(second, first)
    if operator == "-" and isinstance(first, Pointer):
        if isinstance(second, int):
            return first.move(-second)
        if isinstance(second, Pointer) and first.block is second.block:
            step = first.element.size if first.element is not None else 1
            return (first.offset - second.offset) // max(step, 1)
    if operator in ("==", "!="):
        null = Pointer(None, 0, None)
        pair = [null if value == 0 else value for value in (first, second)]
        if all(isinstance(value, Pointer) for value in pair):
            return int(pair[0].same(pair[1]) == (operator == "=="))
    return Unknown(str(node.place))


def _divide(first: Any, second: Any) -> Any:
    if second == 0:
        return None
    if isinstance(first, float) or isinstance(second, float):
        return first / second
    return abs(first) // abs(second) * (1 if (first < 0) == (second < 0) else -1)


def _shift(first: Any, second: Any) -> Any:
    return int(first) << int(second) if 0 <= second < 64 else None


_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _divide,
    "%": lambda a, b: None if b == 0 else a - b * _divide(a, b),
    "<<": _shift,
    ">>": lambda a, b: int(a) >> int(b) if 0 <= b < 64 else None,
    "<": lambda a, b: int(a < b),
    ">": lambda a, b: int(a > b),
    "<=": lambda a, b: int(a <= b),
    ">=": lambda a, b: int(a >= b),
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
    "&": lambda a, b: int(a) & int(b),
    "^": lambda a, b: int(a) ^ int(b),
    "|": lambda a, b: int(a) | int(b),
}

_PLACES: dict[str, Callable[[Machine, Node], Any]] = {
    "DECL_REF_EXPR": Machine._locate_name,
    "MEMBER_REF_EXPR": Machine._locate_member,
    "ARRAY_SUBSCRIPT_EXPR": Machine._locate_element,
    "UNARY_OPERATOR": Machine._locate_target,
    "COMPOUND_LITERAL_EXPR": Machine._locate_literal,
}

_VALUES: dict[str, Callable[[Machine, Node], Any]] = {
    "UNEXPOSED_EXPR": Machine._wrapped,
    "PAREN_EXPR": Machine._wrapped,
    "INTEGER_LITERAL": Machine._literal,
    "FLOATING_LITERAL": Machine._literal,
    "CHARACTER_LITERAL": Machine._literal,
    "CXX_BOOL_LITERAL_EXPR": Machine._literal,
    "CXX_UNARY_EXPR": Machine._literal,
    "CXX_NULL_PTR_LITERAL_EXPR": Machine._null,
    "GNU_NULL_EXPR": Machine._null,
    "CXX_THIS_EXPR": Machine._this,
    "DECL_REF_EXPR": Machine._name,
    "UNARY_OPERATOR": Machine._unary,
    "BINARY_OPERATOR": Machine._binary,
    "COMPOUND_ASSIGNMENT_OPERATOR": Machine._compound,
    "CONDITIONAL_OPERATOR": Machine._choose,
    "CALL_EXPR": Machine._call,
    "CXX_NEW_EXPR": Machine._allocate,
}

_STATEMENTS: dict[str, Callable[[Machine, Node], Optional[str]]] = {
    "COMPOUND_STMT": Machine._block,
    "DECL_STMT": Machine._declaration,
    "IF_STMT": Machine._if,
    "FOR_STMT": Machine._for,
    "WHILE_STMT": Machine._while,
    "DO_STMT": Machine._do,
    "SWITCH_STMT": Machine._switch,
    "RETURN_STMT": Machine._return,
    "BREAK_STMT": lambda machine, node: _BREAK,
    "CONTINUE_STMT": lambda machine, node: _CONTINUE,
    "NULL_STMT": lambda machine, node: None,
}
