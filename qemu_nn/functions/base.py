"""Layer functions of firmware: their C arguments, their arrays and their op."""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Callable, Optional, TypeVar, Union

import numpy as np

from .. import releases
from ..errors import Error, Refused
from ..io.arguments import format_value
from ..operators import Conv, Dense
from ..targets import Profile
from .c_signature import Order
from .shapes import Array, Extent, get_extent

T = TypeVar("T")

#: C arguments by their names.
Params = Mapping[str, int]

#: Sums of a layer as an operator on integers, without the bias, from the scalar C arguments and the
#: weights.
Product = Callable[[Params, np.ndarray], Union[Conv, Dense]]

#: Declaration of every function by its name; pickles look it up.
DECLARED: dict[str, Function] = {}

#: C enumerators accepted in place of their numbers.
ENUMERATORS = {"ARM_SIGMOID": 0, "ARM_TANH": 1}


#: Words of names that describe how a function computes, not its result.
_OWN_WORDS = re.compile(r"_(basic|fast|RGB|nonsquare|wrapper|opt|even|1x1|1_x_n|3x3)(?=_|$)")


def find_no_fault(params: Mapping[str, int], profile: Profile) -> Optional[str]:
    """Return no fault."""
    return None


@dataclass(frozen=True)
class Function:
    """The declaration of one C function; bindings, plans, tests and exports derive from it.

    params: scalar C arguments in C order. inputs, weights, bias, output: pointer arguments; an
    output with the name of an input is the same buffer. op, type: the rows that compute it. fields:
    C argument -> field of the op's struct, if they differ; an argument `dim` also fills `dim_x` and
    `dim_y`, as in the square functions. fixed: fields that the C function itself sets. defaults:
    optional arguments.

    scratch: bytes of its bufferA or vec_buffer as Arm's header documents them (used on cores with
    the DSP extension only). buffer: the same if each core path has its own size, from the scalar C
    arguments and the path, as Arm's `..._get_buffer_size` returns it. macs: multiply-accumulates.
    interleave: order of a weight stream that is not row-major (see layouts.py). stack: C pointer
    arguments that are the rows of one array, `bias`, in this order; one element represents a
    constant row. parts: C pointer arguments concatenated in `weights`. An argument has_<array> is
    true if C does not get NULL for the array.

    fault: reason for a fault of Arm's library on the core of a profile in a legal call, else None.
    order: order of the C arguments; functions without one are ours, see prototypes.py. not_called:
    reason why no exported network can call it, or "". draw: random scalar C arguments, which mostly
    meet the contract. tables: arrays with fixed content -> their content. cases: scalar C arguments
    of typical calls, for tests and benchmarks; batched: cases timed with many samples at once.
    product: sums of a layer with weights, as an operator on integers. meaning: operators of a call
    in floats (a Meaning of float_semantics.py). makes: scale and zero point of the output that are
    independent of the input's.
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
    fault: Callable[[Mapping[str, int], Profile], Optional[str]] = find_no_fault
    note: str = ""
    order: Optional[Order] = None
    not_called: str = ""
    draw: Optional[Callable[[Random, Function], dict[str, int]]] = None
    tables: Optional[Callable[[], Mapping[str, np.ndarray]]] = None
    cases: tuple[Params, ...] = ()
    batched: tuple[Params, ...] = ()
    product: Optional[Product] = None
    meaning: Optional[Callable[[Any], Any]] = None
    makes: Optional[tuple[float, int]] = None

    def __repr__(self) -> str:
        return f"<Function {self.name}>"

    def __reduce__(self) -> tuple[Callable[[str], Function], tuple[str]]:
        return _get_declared, (
            self.name,
        )  # pickled by its name, because `buffer` may be any object

    @property
    def family(self) -> str:
        """Common part of the names of functions that compute the same."""
        return _OWN_WORDS.sub("", self.name)

    @property
    def arrays(self) -> tuple[Array, ...]:
        """All arrays that C reads: inputs, weights, bias, or the arrays inside these."""
        rest = (*(self.parts or (self.weights,)), *(self.stack or (self.bias,)))
        return (*self.inputs, *(array for array in rest if array))

    def list_read_inputs(self, params: Mapping[str, int]) -> tuple[Array, ...]:
        """Return the inputs except those passed as NULL; only the last ones can be omitted."""
        return tuple(a for a in self.inputs if not a.optional or a.nbytes(params))

    def weights_of(self, arrays: Mapping[str, np.ndarray]) -> Optional[np.ndarray]:
        """Return the array `weights` from arrays by their C names; None if there is none."""
        if self.weights is None or not self.parts:
            return None if self.weights is None else arrays[self.weights.name]
        flat = [arrays[part.name].ravel() for part in self.parts]
        return np.concatenate(flat).astype(self.weights.dtype)

    def bias_of(self, arrays: Mapping[str, np.ndarray]) -> Optional[np.ndarray]:
        """Return the array `bias` from arrays by their C names; None if there is none."""
        if self.bias is None or not self.stack:
            return None if self.bias is None else arrays[self.bias.name]
        rows = np.broadcast_arrays(*(arrays[row.name].ravel() for row in self.stack))
        return np.array(rows, self.bias.dtype)

    def buffer_bytes(self, params: Mapping[str, int], path: str) -> int:
        """Return bytes of scratch memory that the device's code asks for on this core path."""
        if self.buffer is not None:
            return self.buffer(params, path)
        return get_extent(self.scratch, params) if path == "dsp" else 0

    def scratch_buffers(self, params: Mapping[str, int], path: str) -> dict[str, int]:
        """Return all scratch memory of a call on this core path: C name -> bytes.

        A single piece is called ctx.
        """
        several = self.order.scratch_buffers if self.order else {}
        sizes = {
            name: needed(params, path) if callable(needed) else get_extent(needed, params)
            for name, needed in several.items()
        }
        found = sizes if several else {"ctx": self.buffer_bytes(params, path)}
        return {name: size for name, size in found.items() if size}

    @property
    def in_place(self) -> bool:
        """Is the output buffer one of the inputs?"""
        return self.output.name in {array.name for array in self.inputs}

    def parse_params(self, given: Mapping[str, object]) -> dict[str, int]:
        """Return the scalar C arguments as integers; raise an error for a missing, unknown or
        non-integer one.
        """
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
            raise Error(
                f"{name} of {self.name} must be an integer, is {format_value(value)}"
            ) from None
        if not -(2**31) <= number < 2**31:
            raise Error(f"{name} of {self.name} must fit into 32 bits, is {number}")
        return number

    def struct_values(self, params: Mapping[str, T]) -> dict[str, Union[int, T]]:
        """Return the fields of the op's struct, from the C arguments: their values, or C that has
        them.
        """
        values: dict[str, Union[int, T]] = dict(self.fixed)
        for name in self.params:
            target = self.fields.get(name, name)
            values[target] = values[f"{target}_x"] = values[f"{target}_y"] = params[name]
        return values


def check_release(function: Function, profile: Profile, in_network: bool = False) -> None:
    """Raise Refused if the profile's release does not have a function; see has_function()."""
    if profile.path == "npu":
        return
    if releases.has_function(function.name, profile.cmsis, in_network):
        return
    first = releases.BY_NAME[releases.FIRST[function.name]]
    raise Refused(
        f"CMSIS {profile.cmsis} has no {function.name}: {first.library} has it from {first.name} "
        f"({first.date}) on"
    )


def _get_declared(name: str) -> Function:
    """Return the function of a name, for a pickle."""
    declared = DECLARED.get(name)
    if declared is None:
        raise Error(f"the pickle calls {name!r}, a function that this qemu_nn does not have")
    return declared
