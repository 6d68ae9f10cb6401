"""Layer calls with their arguments by name: scalars, arrays of constants, and addresses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Optional

import numpy as np

from ...functions import FUNCTIONS, Function
from ...functions.c_signature import Elements, Order, Struct
from ...functions.prototypes import CONTEXTS, SCRATCH
from ...functions.shapes import Array
from .machine import Recorded
from .values import CType, Pointer, Unknown


@dataclass(eq=False)
class Layer:
    """A layer call.

    params: scalar arguments; None where unknown. pointers: C name of an array -> its address.
    scratch: address of its scratch memory. texts: C name -> the argument as the source spells it.
    problems: what is not known of it.
    """

    recorded: Recorded
    function: Function
    params: dict[str, Optional[int]] = field(default_factory=dict)
    pointers: dict[str, Pointer] = field(default_factory=dict)
    scratch: Optional[Pointer] = None
    texts: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """True if all scalar arguments are known."""
        return all(value is not None for value in self.params.values()) and bool(self.params)

    @property
    def known(self) -> Mapping[str, int]:
        """The scalar arguments, of a layer that has them all."""
        return {name: value for name, value in self.params.items() if value is not None}

    def complain(self, what: str) -> None:
        """Add a problem, with file, line and function."""
        self.problems.append(f"{self.recorded.place}: {self.function.name}: {what}")

    def reads(self) -> Iterator[tuple[Array, Optional[Pointer]]]:
        """Yield the inputs of the call with their addresses."""
        for array in self.function.list_read_inputs(self.known):
            yield array, self.pointers.get(array.name)


def resolve(recorded: Recorded) -> Layer:
    """Return a call with the names of its arguments."""
    function = FUNCTIONS[recorded.name]
    layer = Layer(recorded, function, dict.fromkeys(function.params))
    order = _find_order(function, len(recorded.arguments))
    if order is None:
        layer.complain(f"no release takes {len(recorded.arguments)} arguments")
        return layer
    own: dict[str, Any] = {}
    for name, value, text in zip(order.names, recorded.arguments, recorded.texts):
        layer.texts[name] = text
        if name in order.structs:
            _take_struct(layer, order.structs[name], name, value)
        elif name in CONTEXTS:
            layer.scratch = layer.scratch or _read_context(value)
        elif name in SCRATCH:
            layer.scratch = layer.scratch or _as_memory(value)
        else:
            own[name] = value
    for name, value in own.items():
        _take(layer, name, _convert(function, order, name, value))
    _complete(layer, order)
    for name, known in layer.params.items():
        if known is None:  # a member of one struct may be the same as that of another
            why = layer.reasons.get(name, "")
            layer.complain(f"{name} depends on {why}" if why else f"{name} is not known")
    return layer


def _find_order(function: Function, count: int) -> Optional[Order]:
    """Return the order of arguments of a release with so many of them."""
    if function.order is None:
        return None
    orders = [function.order, *function.order.before.values()]
    return next((order for order in orders if len(order.names) == count), None)


def _convert(function: Function, order: Order, name: str, value: Any) -> Any:
    """Return an integer as the type of its parameter has it."""
    if name not in function.params or not isinstance(value, int):
        return value
    ctype = order.types.get(name, "uint16_t" if order.legacy else "int32_t")
    bits = {"output": 8 * np.dtype(function.output.dtype).itemsize, "uint16_t": 16}.get(ctype, 32)
    low = value & ((1 << bits) - 1)
    return low - (1 << bits) if not ctype.startswith("u") and low >> (bits - 1) else low


def _take(layer: Layer, name: str, value: Any) -> None:
    """Store an argument: a scalar, or an address."""
    if name in layer.params:
        if isinstance(value, (int, float)):
            layer.params[name] = int(value)
        elif isinstance(value, Unknown) and value.why:
            layer.reasons[name] = value.why
    elif isinstance(value, Pointer):
        layer.pointers[name] = value
    elif value == 0:
        layer.pointers[name] = Pointer(None, 0, None)
    else:
        why = value.why if isinstance(value, Unknown) else value
        layer.complain(f"the address {name} is not known ({why})")


def _take_struct(layer: Layer, struct: Struct, name: str, value: Any) -> None:
    """Store the members of a struct argument."""
    if not struct.members:
        return
    if not isinstance(value, Pointer) or value.block is None:
        if any(isinstance(held, str) for held in struct.members.values()):
            layer.complain(f"the struct {name} is not known")
        return
    if value.element is None or value.element.kind != "record":
        layer.complain(f"{name} does not point to a struct")
        return
    arrays = {array.name for array in (*layer.function.arrays, layer.function.output)}
    for member, held in struct.members.items():
        found = _read_member(value, member)
        if isinstance(held, Elements):
            _take_elements(layer, held, found)
        elif (isinstance(held, str) and held in layer.params) or (
            isinstance(held, str) and held in arrays
        ):
            _take(layer, held, found)


def _take_elements(layer: Layer, held: Elements, pointer: Any) -> None:
    if not isinstance(pointer, Pointer) or pointer.block is None or pointer.element is None:
        return
    for index, name in enumerate(held.names):
        at = pointer.offset + index * pointer.element.size
        _take(layer, name, pointer.block.read(at, pointer.element))


def _read_member(pointer: Pointer, member: str) -> Any:
    """Return a member of the struct that a pointer points to: "stride.w"."""
    ctype: Optional[CType] = pointer.element
    offset = 0
    for part in member.split("."):
        found = ctype.fields.get(part) if ctype is not None else None
        if found is None:
            return Unknown(f"there is no member {member}")
        offset, ctype = offset + found[0], found[1]
    block = pointer.block
    assert block is not None
    assert ctype is not None
    value = block.cells.get(pointer.offset + offset)
    return block.read(pointer.offset + offset, ctype) if value is None else value


def _read_context(value: Any) -> Optional[Pointer]:
    """Return the scratch memory of a context."""
    if not isinstance(value, Pointer) or value.block is None or value.element is None:
        return None
    return _as_memory(_read_member(value, "buf"))


def _as_memory(value: Any) -> Optional[Pointer]:
    return value if isinstance(value, Pointer) and value.block is not None else None


def _complete(layer: Layer, order: Order) -> None:
    """Store arguments that are no arguments of the C function."""
    for name in layer.params:
        if layer.params[name] is not None:
            continue
        if name in order.implied and order.implied[name].lstrip("-").isdigit():
            layer.params[name] = int(order.implied[name])
        elif name.startswith("has_"):
            pointer = layer.pointers.get(name[len("has_") :])
            layer.params[name] = int(pointer is not None and pointer.block is not None)
        elif name in layer.function.defaults:
            layer.params[name] = layer.function.defaults[name]


def read_arrays(layer: Layer) -> tuple[Optional[np.ndarray], Optional[np.ndarray]]:
    """Return weights and bias of a complete layer; complain about those that are not known."""
    function, params = layer.function, layer.known
    given = function.tables() if function.tables else {}
    found = {
        array.name: given[array.name] if array.name in given else _read_array(layer, array)
        for array in function.arrays
        if array not in function.inputs
    }
    if any(values is None for values in found.values()):
        return None, None
    shaped = {name: np.asarray(values) for name, values in found.items()}
    weights, bias = function.weights_of(shaped), function.bias_of(shaped)
    if weights is not None and function.weights is not None:
        weights = weights.astype(function.weights.dtype).reshape(function.weights.shape(params))
    if bias is not None and function.bias is not None:
        bias = bias.astype(function.bias.dtype).reshape(function.bias.shape(params))
    return weights, bias


def _read_array(layer: Layer, array: Array) -> Optional[np.ndarray]:
    """Return the constants that an array argument points to."""
    params = layer.known
    dtype = np.dtype(array.dtype_in(params))
    count = int(np.prod(array.shape(params)))
    pointer = layer.pointers.get(array.name)
    if pointer is None or pointer.block is None:
        if array.optional or (pointer is not None and count == 0):
            return np.zeros(array.shape(params), dtype)
        layer.complain(f"the array {array.name} is not known")
        return None
    block, end = pointer.block, pointer.offset + count * dtype.itemsize
    data = layer.recorded.contents.get(id(block), block.data)
    if data is None or pointer.offset < 0 or end > data.size:
        size = "no initial values" if data is None else f"{data.size} bytes"
        layer.complain(
            f"{array.name} needs {count * dtype.itemsize} bytes of {block.name}, which has {size}"
            + (f" from byte {pointer.offset} on" if pointer.offset else "")
        )
        return None
    raw = np.ascontiguousarray(data[pointer.offset : end])
    values: np.ndarray = raw.view(dtype.newbyteorder("<")).astype(dtype)
    return values.reshape(array.shape(params))
