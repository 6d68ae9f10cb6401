"""What a layer function of the firmware is: its C arguments, its arrays and the op it computes."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Callable, Optional, TypeVar, Union

import numpy as np

from ..errors import Error
from ..io.arguments import shown
from ..targets import Profile

T = TypeVar("T")

#: The declaration of every function by its name: what a pickle that holds one asks.
DECLARED: dict[str, Function] = {}

#: Enumerators of C that may stand for their numbers.
ENUMERATORS = {"ARM_SIGMOID": 0, "ARM_TANH": 1}


@dataclass(frozen=True)
class Total:
    """An extent: the sum of others."""

    parts: tuple[Extent, ...]

    def __str__(self) -> str:
        return f"({' + '.join(map(str, self.parts))})"


@dataclass(frozen=True)
class Largest:
    """An extent: the largest of others."""

    parts: tuple[Extent, ...]

    def __str__(self) -> str:
        return f"max({', '.join(map(str, self.parts))})"


@dataclass(frozen=True)
class Half:
    """An extent: half of a product, rounded up; bytes that hold so many values of 4 bits."""

    parts: tuple[Extent, ...]

    def __str__(self) -> str:
        return f"ceil({spell(self.parts)} / 2)"


@dataclass(frozen=True)
class Either:
    """An extent: one of two, as a C argument says that is 1 or 0."""

    flag: str
    yes: Extent
    no: Extent

    def __str__(self) -> str:
        return f"({self.flag} ? {spell(self.yes)} : {spell(self.no)})"


#: One extent: the name of a C argument, a number, a tuple of both (their product), or one of these.
Extent = Union[str, int, tuple["Extent", ...], Total, Largest, Half, Either]


def spell(value: Extent) -> str:
    """An extent as people write it."""
    return "*".join(map(spell, value)) if isinstance(value, tuple) else str(value)


def extent(value: Extent, params: Mapping[str, int]) -> int:
    """The number that an extent stands for with these C arguments."""
    if isinstance(value, Either):
        return extent(value.yes if params[value.flag] else value.no, params)
    if isinstance(value, (Total, Largest)):
        combine = sum if isinstance(value, Total) else max
        return combine(extent(part, params) for part in value.parts)
    if isinstance(value, Half):
        return (extent(value.parts, params) + 1) // 2
    if isinstance(value, tuple):
        return math.prod(extent(part, params) for part in value)
    return params[value] if isinstance(value, str) else value


@dataclass(frozen=True)
class Array:
    """A pointer argument: its C name, numpy dtype and shape (extents, outermost axis first).

    optional: C takes NULL, which stands for zeros. state: the call writes a new value back. narrow:
    the C argument that, where it is not 0, makes the elements int32.
    """

    name: str
    dtype: str
    axes: tuple[Extent, ...]
    optional: bool = False
    state: bool = False
    narrow: str = ""

    def dtype_in(self, params: Mapping[str, int]) -> str:
        """The type of the elements with these C arguments."""
        return "int32" if self.narrow and params[self.narrow] else self.dtype

    def shape(self, params: Mapping[str, int]) -> tuple[int, ...]:
        """The shape with these C arguments."""
        return tuple(extent(axis, params) for axis in self.axes)

    def nbytes(self, params: Mapping[str, int]) -> int:
        """Bytes with these C arguments."""
        return math.prod(self.shape(params)) * np.dtype(self.dtype).itemsize


def never(params: Mapping[str, int], profile: Profile) -> Optional[str]:
    """No fault."""
    return None


@dataclass(frozen=True)
class Function:
    """One C function, declared: from here come its binding, its plan step and its costs.

    params: scalar C arguments in C order. inputs, weights, bias, output: pointer arguments; an
    output that has an input's name is that same buffer. op, type: the rows that compute it. fields:
    C argument -> field of the op's struct where they differ; an argument `dim` also fills `dim_x`
    and `dim_y`, as the square functions mean it. fixed: fields the C function itself sets.
    defaults: arguments that may be left out. scratch: bytes of its bufferA or vec_buffer as Arm's
    header documents them (used on cores with the DSP extension only); buffer: the same where every
    core path has its own, from the scalar C arguments and the path, as Arm's `..._get_buffer_size`
    answers. macs: multiply-accumulates. interleave: order of a weight stream that is not row-major
    (see layers/layouts.py). stack: C pointer arguments that one array, `bias`, holds as its rows,
    in this order; one element stands for a whole row. parts: those that `weights` holds, one after
    the other. An argument has_<array> tells that C does not get NULL for it. fault: why builds of
    Arm's library stop the core of a profile in a call that is legal, None where they do not.
    """

    name: str
    op: str
    type: str
    params: tuple[str, ...]
    inputs: tuple[Array, ...]
    output: Array
    weights: Optional[Array] = None
    bias: Optional[Array] = None
    fields: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, int] = field(default_factory=dict)
    defaults: Mapping[str, int] = field(default_factory=dict)
    scratch: Extent = 0
    buffer: Optional[Callable[[Mapping[str, int], str], int]] = None
    macs: Extent = 0
    interleave: Optional[str] = None
    stack: tuple[Array, ...] = ()
    parts: tuple[Array, ...] = ()
    fault: Callable[[Mapping[str, int], Profile], Optional[str]] = never
    note: str = ""

    def __repr__(self) -> str:
        return f"<Function {self.name}>"

    def __reduce__(self) -> tuple[Callable[[str], Function], tuple[str]]:
        return _declared, (self.name,)  # pickled by its name: `buffer` may be anything

    @property
    def arrays(self) -> tuple[Array, ...]:
        """All arrays that are read, as C takes them: inputs, weights, bias or what is in those."""
        rest = (*(self.parts or (self.weights,)), *(self.stack or (self.bias,)))
        return (*self.inputs, *(array for array in rest if array))

    def read(self, params: Mapping[str, int]) -> tuple[Array, ...]:
        """The inputs but for those for which C gets NULL; only the last of them can be left out."""
        return tuple(a for a in self.inputs if not a.optional or a.nbytes(params))

    def weights_of(self, arrays: Mapping[str, np.ndarray]) -> Optional[np.ndarray]:
        """The array `weights` from arrays by their C names; None if there is none."""
        if self.weights is None or not self.parts:
            return None if self.weights is None else arrays[self.weights.name]
        flat = [arrays[part.name].ravel() for part in self.parts]
        return np.concatenate(flat).astype(self.weights.dtype)

    def bias_of(self, arrays: Mapping[str, np.ndarray]) -> Optional[np.ndarray]:
        """The array `bias` from arrays by their C names; None if there is none."""
        if self.bias is None or not self.stack:
            return None if self.bias is None else arrays[self.bias.name]
        rows = np.broadcast_arrays(*(arrays[row.name].ravel() for row in self.stack))
        return np.array(rows, self.bias.dtype)

    def buffer_bytes(self, params: Mapping[str, int], path: str) -> int:
        """Bytes of scratch memory that the device's code asks for on this core path."""
        if self.buffer is not None:
            return self.buffer(params, path)
        return extent(self.scratch, params) if path == "dsp" else 0

    @property
    def in_place(self) -> bool:
        """Is the output buffer one of the inputs?"""
        return self.output.name in {array.name for array in self.inputs}

    def parse_params(self, given: Mapping[str, object]) -> dict[str, int]:
        """The scalar C arguments as integers; a missing, unknown or other one is an error."""
        unknown = [str(name) for name in given if name not in self.params]
        given = {**self.defaults, **given}
        missing = [name for name in self.params if name not in given]
        if unknown or missing:
            what = "does not take " + ", ".join(unknown) if unknown else "lacks "
            raise Error(
                f"{self.name} {what if unknown else what + ', '.join(missing)}; "
                f"its scalar arguments are: {', '.join(self.params)}"
            )
        return {name: self._integer(name, given[name]) for name in self.params}

    def _integer(self, name: str, value: object) -> int:
        if isinstance(value, str) and value in ENUMERATORS:
            return ENUMERATORS[value]
        try:
            number = operator.index(value)  # type: ignore[arg-type]
        except TypeError:
            raise Error(f"{name} of {self.name} must be an integer, is {shown(value)}") from None
        if not -(2**31) <= number < 2**31:
            raise Error(f"{name} of {self.name} must fit into 32 bits, is {number}")
        return number

    def struct_values(self, params: Mapping[str, T]) -> dict[str, Union[int, T]]:
        """The fields of the op's struct, from the C arguments: their values, or C that has them."""
        values: dict[str, Union[int, T]] = dict(self.fixed)
        for name in self.params:
            target = self.fields.get(name, name)
            values[target] = values[f"{target}_x"] = values[f"{target}_y"] = params[name]
        return values


def _declared(name: str) -> Function:
    """The function of a name, for a pickle that holds it."""
    declared = DECLARED.get(name)
    if declared is None:
        raise Error(f"the pickle calls {name!r}, a function that this qemu_nn does not have")
    return declared


def stack(dtype: str, *rows: Array) -> Array:
    """The array that holds these arrays of one length as its rows."""
    return Array("_and_".join(row.name for row in rows), dtype, (len(rows), *rows[0].axes))


def vector(name: str, dtype: str, length: Extent) -> Array:
    """A one-dimensional array argument."""
    return Array(name, dtype, (length,))


def joined(name: str, dtype: str, *parts: Array) -> Array:
    """The array that holds these arrays one after the other."""
    return Array(name, dtype, (Total(tuple(part.axes for part in parts)),))
