"""C signature of the s8 and s16 API: order of the arguments and members of structs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Callable, Optional, Union

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
    """An array of a struct's own: the type of its elements, and the C arguments that they are."""

    type: str
    names: tuple[str, ...]


#: Bytes of scratch memory, from the scalar C arguments and the path of the core.
Bytes = Callable[[Mapping[str, int], str], int]

#: Content of a struct member.
Member = Union[Extent, Elements]


@dataclass(frozen=True)
class Struct:
    """A struct argument: its C type; member -> what it holds, a pointer by its own C name.

    cast: before a pointer, where the member is one to variables. variable: does C take the
    address of a variable? Without members it takes NULL.
    """

    type: str
    members: Mapping[str, Member]
    cast: str = ""
    variable: bool = False


@dataclass(frozen=True)
class Order:
    """C signature of a function: their names, and those of them that are structs.

    types: of scalars that are not int32_t, or uint16_t where this is legacy; "output" is that of
    the output's elements. returns: "output" is a pointer to these. implied: scalars of our
    declaration that are no argument of C's -> C text of them. sums: where the call asks for scratch
    memory `ctx`, it wants sums of weights in there: what arm_vector_sum_s8() takes after that.
    scratch_buffers: where there are several pieces of scratch memory, the argument or member of a
    struct -> bytes, as Function.buffer. in_700: the order of release 7.0.0, where that is another.
    legacy: is it of the q7 and q15 API? scratch: type of bufferA's elements. writes_inputs: are its
    inputs no constants for C?
    """

    names: tuple[str, ...]
    structs: Mapping[str, Struct] = field(default_factory=dict)
    returns: str = STATUS
    types: Mapping[str, str] = field(default_factory=dict)
    implied: Mapping[str, str] = field(default_factory=dict)
    sums: tuple[Extent, ...] = ()
    scratch_buffers: Mapping[str, Bytes] = field(default_factory=dict)
    header: str = "arm_nnfunctions.h"
    in_700: Optional[Order] = None
    legacy: bool = False
    scratch: str = "int16"
    writes_inputs: bool = False


def order(names: str, structs: Mapping[str, Struct] = {}, **more: object) -> Order:
    """Return an order from words, and what else it has."""
    return Order(tuple(names.split()), structs, **more)  # type: ignore[arg-type]


def dims(n: Extent, h: Extent, w: Extent, c: Extent) -> Struct:
    """Return four sides; Arm's meaning of them differs."""
    return Struct("cmsis_nn_dims", {"n": n, "h": h, "w": w, "c": c})


def nhwc(name: str) -> Struct:
    """Return the sides of an argument."""
    return dims(f"{name}_n", f"{name}_h", f"{name}_w", f"{name}_c")


def pair(member: str, name: str) -> dict[str, Member]:
    """Return a tile: width and height."""
    return {f"{member}.{axis}": f"{name}_{axis}" for axis in "wh"}


def legacy(names: str, **more: object) -> Order:
    """Return the order of a q7 or q15 function, which answers nothing if nothing else is said."""
    own = {"returns": "void", "legacy": True, "types": LEGACY_TYPES, **more}
    return Order(tuple(names.split()), **own)  # type: ignore[arg-type]
