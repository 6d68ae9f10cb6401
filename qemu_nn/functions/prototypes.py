"""C prototype of every layer function: its header, and the order and types of its arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Optional

from ..errors import Error
from ..releases import AFFINE, FIRST, c_name, has_function, is_brought, place_of
from ..targets import is_affine
from .base import Function
from .c_signature import STATUS, Order, Struct
from .flat_orders import find_flat_order
from .shapes import Extent

_LEGACY_TYPES = {"int8": "q7_t", "int16": "q15_t", "int32": "q31_t"}
_WIDTHS = ("int8", "uint8", "int16", "int32", "uint32", "int64", "uint64")
#: Element type -> its name in C without headers of Arm.
C_TYPES: Mapping[str, str] = {
    **{name: f"{name}_t" for name in _WIDTHS},
    "float32": "float",
    "bool": "uint8_t",
}

#: Names of scratch buffers, which are in no declaration.
SCRATCH = ("bufferA", "bufferB", "vec_buffer")
CONTEXTS = ("ctx", "input_ctx", "output_ctx", "reverse_conv_ctx")

#: Functions of our own: prefix of their names, and the header that declares them.
_OWN, OWN_HEADER = ("tflm_", "executorch_"), "tflm.h"

_STATUS_TYPES = ("arm_status", "arm_cmsis_nn_status")


@dataclass(frozen=True)
class Argument:
    """A C argument: its type, as C writes it before the name, and its name.

    struct: content of the struct whose address it is, if any.
    """

    type: str
    name: str
    struct: Optional[Struct] = None

    def __str__(self) -> str:
        return f"{self.type}{'' if self.type.endswith('*') else ' '}{self.name}"


@dataclass(frozen=True)
class Prototype:
    """C declaration of a function.

    returns: its type. header: the one that declares it. implied: scalars that are not C arguments
    -> their C text. derived, sums: see Order.
    """

    header: str
    returns: str
    name: str
    arguments: tuple[Argument, ...]
    implied: Mapping[str, str] = field(default_factory=dict)
    derived: Mapping[str, Extent] = field(default_factory=dict)
    sums: tuple[Extent, ...] = ()

    def __str__(self) -> str:
        space = "" if self.returns.endswith("*") else " "
        return f"{self.returns}{space}{self.name}({', '.join(map(str, self.arguments))})"

    @property
    def answers(self) -> bool:
        """True if the function returns a status."""
        return self.returns in _STATUS_TYPES


def get_c_types(cmsis: str) -> Mapping[str, str]:
    """Return element type -> its name in the headers of a release."""
    return C_TYPES if is_affine(cmsis) else {**C_TYPES, **_LEGACY_TYPES}


def make_prototype(function: Function, cmsis: str) -> Prototype:
    """Return the prototype of a declared function in that release of CMSIS-NN or CMSIS-DSP.

    Raises Error for a function that no network calls, or that the release has not or otherwise.
    """
    if function.not_called:
        raise Error(
            f"{function.name} cannot be exported: {function.not_called}; run it on this host only"
        )
    order = _find_order(function, cmsis)
    types = C_TYPES if is_own(function, cmsis) else get_c_types(cmsis)
    status = get_status_type(cmsis)
    returns = {STATUS: status, "output": f"{types[function.output.dtype]} *"}
    arguments = tuple(
        Argument(_get_type(function, order, name, types), name, order.structs.get(name))
        for name in order.names
    )
    return Prototype(
        order.header,
        returns.get(order.returns, order.returns),
        _name(function, cmsis),
        arguments,
        order.implied,
        order.derived,
        order.sums,
    )


def _name(function: Function, cmsis: str) -> str:
    """Return the C name of a function in exports for a state."""
    if is_brought(function.name, cmsis):
        return f"tflm_{function.name}"
    return c_name(function.name, cmsis)


def find_absent(
    function: Function, params: Mapping[str, int], cmsis: str
) -> Optional[tuple[str, str]]:
    """Return a scalar that a state has no C argument for and that has a different value there.

    The pair is its name, and its value as C text; None if there is none, or no firmware calls the
    function.
    """
    if function.not_called:
        return None
    for name, text in make_prototype(function, cmsis).implied.items():
        if name.startswith("has_"):  # NULL in the struct of an LSTM says the same
            continue
        value = int(text) if text.isdigit() else params.get(text)
        if value is not None and params.get(name, value) != value:
            return name, text
    return None


def get_status_type(cmsis: str) -> str:
    """Return the type of the answers of a release's functions (commit 6a18a74b)."""
    return _STATUS_TYPES[place_of(cmsis) >= place_of("6a18a74b")]


def _find_order(function: Function, cmsis: str) -> Order:
    """Return the order of a function's arguments in a release."""
    if is_brought(function.name, cmsis):
        return _make_own_order(function)
    order, place = function.order or _make_own_order(function), place_of(cmsis)
    if not has_function(function.name, cmsis):
        first = FIRST[function.name]
        raise Error(
            f"CMSIS {cmsis} has no {function.name}, which {first} was first to have; export for "
            "that release or a newer one"
        )
    flat = find_flat_order(function.name, cmsis)
    if flat is not None:
        return flat
    older = (own for last, own in order.before.items() if place <= place_of(last))
    return next(older, order)


#: Sums of weights, which some functions want in their scratch memory.
VECTOR_SUM = "arm_vector_sum_s8"


def make_vector_sum(cmsis: str) -> Optional[Prototype]:
    """Return the prototype of the function that sums weights; None if the release has none."""
    place = place_of(cmsis)
    if place < place_of("58f17705"):
        return None
    arguments = [
        Argument("int32_t *", "vector_sum_buf"),
        Argument("const int32_t", "vector_cols"),
        Argument("const int32_t", "vector_rows"),
        Argument("const int8_t *", "vector_data"),
    ]
    if place >= place_of("2a999a2f"):
        arguments += [Argument("const int32_t", "lhs_offset")]
    if place >= place_of("f2cb41ca"):
        arguments += [Argument("const int32_t", "rhs_offset")]
    if place >= place_of("2a999a2f"):
        arguments += [Argument("const int32_t *", "bias_data")]
    status = get_status_type(cmsis)
    return Prototype("arm_nnfunctions.h", status, VECTOR_SUM, tuple(arguments))


def list_sums(declared: Prototype, cmsis: str) -> tuple[Extent, ...]:
    """Return the arguments of VECTOR_SUM after the buffer, for a function that wants sums.

    Before f2cb41ca the function itself multiplied the sums by its offset: that of VECTOR_SUM is 1.
    """
    place = place_of(cmsis)
    if not declared.sums or place < place_of("58f17705"):
        return ()
    if place < place_of("2a999a2f"):
        return declared.sums[:3]
    return declared.sums if place >= place_of("f2cb41ca") else (*declared.sums[:3], 1, "NULL")


def is_own(function: Function, cmsis: str = AFFINE) -> bool:
    """True if a state of CMSIS-NN does not have the function, but the network's framework does."""
    return function.name.startswith(_OWN) or is_brought(function.name, cmsis)


def _make_own_order(function: Function) -> Order:
    """Return the order of our own functions: input arrays, scalars, output."""
    arrays = [array.name for array in function.arrays]
    names = (*arrays, *function.params, function.output.name)
    return Order(tuple(dict.fromkeys(names)), returns="void", header=OWN_HEADER)


def _get_type(function: Function, order: Order, name: str, types: Mapping[str, str]) -> str:
    if name in order.structs:
        struct = order.structs[name]
        return f"{'' if struct.variable else 'const '}{struct.type} *"
    if name in CONTEXTS:
        return "const cmsis_nn_context *"
    if name in SCRATCH:
        return f"{types['int8' if name == 'bufferB' else order.scratch]} *"
    if name in function.params or name in order.derived:
        type = order.types.get(name, "uint16_t" if order.legacy else "int32_t")
        return types[function.output.dtype] if type == "output" else type
    if name == function.output.name:
        return f"{types[function.output.dtype]} *"
    array = next(array for array in function.arrays if array.name == name)
    written = array.state or (order.writes_inputs and array in function.inputs)
    const = "" if written else "const "
    is_open = array.narrow and array.narrow not in order.implied
    return f"{const}{'void' if is_open else types[array.dtype]} *"
