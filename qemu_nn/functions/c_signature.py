"""C signature of the s8 and s16 API: order of the arguments and members of structs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Callable, Union

from .shapes import Extent

#: Placeholder of a release's status type.
STATUS = "status"

SUPPORT = "arm_nnsupportfunctions.h"

#: Scalars of the q7 and q15 functions that are not uint16_t.
LEGACY_TYPES = {
    **dict.fromkeys(("blockSize", "block_size", "length"), "uint32_t"),
    "type": "arm_nn_activation_type",
    "offset": "output",
}


@dataclass(frozen=True)
class Elements:
    """Array owned by a struct: the type of its elements, and the C arguments that they are."""

    type: str
    names: tuple[str, ...]


#: Bytes of scratch memory, from the scalar C arguments and the path of the core.
Bytes = Callable[[Mapping[str, int], str], int]

#: Content of a struct member.
Member = Union[Extent, Elements]


@dataclass(frozen=True)
class Struct:
    """A struct argument: its C type, and its members.

    members: name -> content, a pointer by its own C name; without members C gets NULL. cast: before
    a pointer, if the member points to variables. variable: true if C takes the address of a
    variable.
    """

    type: str
    members: Mapping[str, Member]
    cast: str = ""
    variable: bool = False


@dataclass(frozen=True)
class Order:
    """C signature of a function: the names of the arguments, and the structs among them.

    types: of scalars that are not int32_t (uint16_t in a legacy function); "output" is the type of
    the output's elements. returns: "output" is a pointer to these. implied: scalars of our
    declaration that are not C arguments -> their C text. derived: C arguments that are products of
    scalars of our declaration -> these. sums: if the call needs scratch memory
    `ctx`, it expects sums of weights in it, computed by arm_vector_sum_s8() with these arguments.
    scratch_buffers: if there are several pieces of scratch memory, the argument or struct member ->
    bytes, as Function.buffer, or as an extent if C passes no size. before: last state of CMSIS-NN
    -> the order up to it, if it differs; the oldest first. legacy: true for the q7 and q15 API.
    scratch: type of bufferA's elements. writes_inputs: true if C declares the inputs without const.
    """

    names: tuple[str, ...]
    structs: Mapping[str, Struct] = field(default_factory=dict)
    returns: str = STATUS
    types: Mapping[str, str] = field(default_factory=dict)
    implied: Mapping[str, str] = field(default_factory=dict)
    derived: Mapping[str, Extent] = field(default_factory=dict)
    sums: tuple[Extent, ...] = ()
    scratch_buffers: Mapping[str, Union[Bytes, Extent]] = field(default_factory=dict)
    header: str = "arm_nnfunctions.h"
    before: Mapping[str, Order] = field(default_factory=dict)
    legacy: bool = False
    scratch: str = "int16"
    writes_inputs: bool = False


def order(names: str, structs: Mapping[str, Struct] = {}, **more: object) -> Order:
    """Return an order from words and further properties."""
    return Order(tuple(names.split()), structs, **more)  # type: ignore[arg-type]


def dims(n: Extent, h: Extent, w: Extent, c: Extent) -> Struct:
    """Return four sides; their meaning differs between Arm's structs."""
    return Struct("cmsis_nn_dims", {"n": n, "h": h, "w": w, "c": c})


def nhwc(name: str) -> Struct:
    """Return the sides of an argument."""
    return dims(f"{name}_n", f"{name}_h", f"{name}_w", f"{name}_c")


def pair(member: str, name: str) -> dict[str, Member]:
    """Return a tile: width and height."""
    return {f"{member}.{axis}": f"{name}_{axis}" for axis in "wh"}


def legacy(names: str, **more: object) -> Order:
    """Return the order of a q7 or q15 function, which by default returns no status."""
    own = {"returns": "void", "legacy": True, "types": LEGACY_TYPES, **more}
    return Order(tuple(names.split()), **own)  # type: ignore[arg-type]
