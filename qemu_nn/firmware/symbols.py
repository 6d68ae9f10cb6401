"""C names of a network: macros of its arguments and arrays of its weights, all unique."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Optional

import numpy as np

from ..functions.base import ENUMERATORS
from ..ir.formats import name_q_format
from ..ir.graph import Graph, Node, Tensor
from ..ir.stored import list_stored_arrays
from .c_text import sanitize_comment
from .golden import describe_format

#: C argument -> suffix of its macro after the layer's name, if it differs from the argument.
_SPELLED = {
    "dim_im_in": "IM_DIM",
    "ch_im_in": "IM_CH",
    "ch_im_out": "OUT_CH",
    "dim_kernel": "KER_DIM",
    "dim_im_out": "OUT_DIM",
    "bias_shift": "BIAS_LSHIFT",
    "out_shift": "OUT_RSHIFT",
    "dim_vec": "DIM",
    "num_of_rows": "OUT",
    "blockSize": "BLOCK_SIZE",
}

#: Name of the network in C.
DEFAULT_NAME = "network"

_TABLES = {number: name for name, number in ENUMERATORS.items()}


@dataclass(frozen=True)
class Macro:
    """`#define name value`."""

    name: str
    value: str


@dataclass(frozen=True)
class Formats:
    """Fraction bits of one call's numbers; None if the graph does not know them."""

    input: Optional[int]
    weights: Optional[int]
    bias: Optional[int]
    output: Optional[int]


@dataclass(frozen=True)
class LayerSymbols:
    """A node in C.

    stem: its identifier. params: C argument -> macro. numbers: macros of its formats. arrays: C
    argument -> symbol.
    """

    node: Node
    stem: str
    formats: Formats
    params: Mapping[str, Macro]
    numbers: tuple[Macro, ...]
    arrays: Mapping[str, str]

    @property
    def macros(self) -> tuple[Macro, ...]:
        """Definitions of parameter.h for the layer."""
        return (*self.params.values(), *self.numbers)

    @property
    def words(self) -> str:
        """The layer in words, harmless in a C comment."""
        node, formats = self.node, self.formats
        words = [describe_tensor(node.output)]
        for name, frac in (("weights", formats.weights), ("bias", formats.bias)):
            array = getattr(node.function, name)
            if array is not None and frac is not None:
                words.append(f"{name} {name_q_format(array.dtype, frac)}")
        return f"{sanitize_comment(node.name)}: {node.function.name}, {', '.join(words)}"


@dataclass(frozen=True)
class Constant:
    """Target of a pointer argument.

    key: equal for two layers that share it. part: its role in the layer.
    """

    key: tuple[str, str]
    part: str
    values: np.ndarray


@dataclass(frozen=True)
class Symbols:
    """A whole network in C.

    stems: inputs, states and layers -> identifiers. inputs: each -> its macros. arrays: symbol ->
    its content. resets: state -> symbol of its value after reset, if not zeros.
    """

    stems: Mapping[str, str]
    inputs: Mapping[str, tuple[Macro, ...]]
    layers: tuple[LayerSymbols, ...]
    arrays: Mapping[str, Constant]
    resets: Mapping[str, str]


def describe_tensor(tensor: Tensor) -> str:
    """Return a tensor in words: int8 8x8x1 Q0.7."""
    shape = "x".join(map(str, tensor.shape))
    return " ".join(filter(None, (tensor.dtype, shape, describe_format(tensor))))


def make_symbols(graph: Graph, stems: Mapping[str, str], name: str = DEFAULT_NAME) -> Symbols:
    """Return C names for everything; stems: inputs and layers -> unique words of letters, digits
    and _.

    name: the network's in C. Macros and arrays begin with it, unless it is the default one.
    """
    ends = ["", *(f"_{stems[tensor.name]}" for tensor in graph.inputs)]
    taken = {f"{name}_INPUT{end}_SIZE".upper() for end in ends}
    lead = "" if name == DEFAULT_NAME else f"{name}_"
    tensors = {tensor.name: tensor for tensor in (*graph.inputs, *graph.states)}
    inputs = {
        each.name: _make_number_macros(taken, lead + stems[each.name], each)
        for each in graph.inputs
    }
    layers: list[LayerSymbols] = []
    named: dict[tuple[str, str], str] = {}
    arrays: dict[str, Constant] = {}
    for node in graph.nodes:
        stem = stems[node.name]
        formats = _solve_formats(node, {name: tensor.frac for name, tensor in tensors.items()})
        tensors[node.name] = node.output
        params = {
            param: Macro(
                reserve_macro(lead + stem, _spell_ending(node, param), taken), _value(param, value)
            )
            for param, value in node.params.items()
        }
        own = {}
        for argument, constant in list_constants(graph, node).items():
            if constant.key not in named:
                symbol = named[constant.key] = reserve_array(lead + stem, constant.part, taken)
                arrays[symbol] = constant
            own[argument] = named[constant.key]
        numbers = _make_number_macros(taken, lead + stem, node.output, formats)
        layers.append(LayerSymbols(node, stem, formats, params, numbers, own))
    resets = {}
    for state in graph.states:
        if state.name in graph.arrays:
            resets[state.name] = reserve_array(lead + stems[state.name], "reset", taken)
            key = (state.name, "reset")
            arrays[resets[state.name]] = Constant(key, "reset", graph.arrays[state.name])
    return Symbols(stems, inputs, tuple(layers), arrays, resets)


def _solve_formats(node: Node, fracs: Mapping[str, Optional[int]]) -> Formats:
    """out_shift = fi + fw - fo and bias_shift = fi + fw - fb, solved for fw and fb."""
    input, output = fracs.get(node.inputs[0]) if node.inputs else None, node.output.frac
    if node.weights is None or input is None or output is None:
        return Formats(input, None, None, output)
    weights = node.params["out_shift"] - input + output
    return Formats(input, weights, input + weights - node.params["bias_shift"], output)


def _make_number_macros(
    taken: set[str], stem: str, tensor: Tensor, formats: Optional[Formats] = None
) -> tuple[Macro, ...]:
    """Return macros of the format of a tensor's integers, and of its arrays."""
    values: dict[str, Optional[str]] = {}
    weights, bias = (formats.weights, formats.bias) if formats else (None, None)
    for what, frac in (("FRAC", tensor.frac), ("WT_FRAC", weights), ("BIAS_FRAC", bias)):
        values[what] = None if frac is None else _value(what, frac)
    if tensor.scale is not None:
        values["SCALE"] = f"{tensor.scale!r}f"
        values["ZERO_POINT"] = _value("ZERO_POINT", tensor.zero_point)
    return tuple(
        Macro(reserve_macro(stem, what, taken), value)
        for what, value in values.items()
        if value is not None
    )


def _spell_ending(node: Node, name: str) -> str:
    """Return the macro's ending of a C argument: OUT_CH for ch_im_out, KER_DIM_X for
    dim_kernel_x.
    """
    if node.function.order is None or not node.function.order.legacy:
        return name.upper()
    stem, axis = (name[:-2], name[-2:]) if name.endswith(("_x", "_y")) else (name, "")
    return f"{_SPELLED.get(stem, stem)}{axis}".upper()


def _value(name: str, value: int) -> str:
    if name == "type":
        return _TABLES[int(value != 0)]
    return str(value) if value >= 0 else f"({value})"


def reserve_macro(stem: str, what: str, taken: set[str]) -> str:
    """Reserve STEM_WHAT, with a number if the name exists."""
    return _make_unique(f"{_start(stem)}_{what}".upper(), taken)


def reserve_array(stem: str, what: str, taken: set[str]) -> str:
    """Reserve stem_what, with a number if the name exists."""
    return _make_unique(f"{_start(stem)}_{what}".lower(), taken)


def _make_unique(wanted: str, taken: set[str]) -> str:
    name, count = wanted, 1
    while name in taken:
        count += 1
        name = f"{wanted}_{count}"
    taken.add(name)
    return name


def _start(stem: str) -> str:
    """Return an identifier that begins with a letter, because further ones are numbers
    or reserved.
    """
    legal = re.sub(r"[^A-Za-z0-9_]", "_", stem)
    return legal if legal[:1].isalpha() else f"layer_{legal.lstrip('_')}"


# ---- the arrays that the pointer arguments of its calls point to ----

#: Name of a layer's weights in C.
_WEIGHTS = ("wt", "pM", "pA", "filter", "filter_packed_s4")


def _part(argument: str) -> str:
    return "wt" if argument in _WEIGHTS else argument


def list_constants(graph: Graph, node: Node) -> Mapping[str, Constant]:
    """Return C argument -> its array, in C's order of the arguments' declaration."""
    return {
        each.argument: Constant(each.key, _part(each.argument), each.values)
        for each in list_stored_arrays(graph, node)
    }
