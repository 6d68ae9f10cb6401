"""Names of a network made into C: macros of its arguments, arrays of its weights, each its own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Optional

from ..formats import q_format
from ..graph import Graph, Node, Tensor
from ..layers.base import ENUMERATORS
from .c_array import in_comment

#: C argument -> how firmware spells its macro behind the layer's name, where that is not itself.
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

#: What a layer's macro could be called, but is a template's own.
_OWN = {"NETWORK_INPUT_SIZE"}

_TABLES = {number: name for name, number in ENUMERATORS.items()}


@dataclass(frozen=True)
class Macro:
    """`#define name value`."""

    name: str
    value: str


@dataclass(frozen=True)
class Formats:
    """Fraction bits of one call's numbers; None where the graph does not say."""

    input: Optional[int]
    weights: Optional[int]
    bias: Optional[int]
    output: Optional[int]


@dataclass(frozen=True)
class Layer:
    """A node in C. stem: its identifier; params: C argument -> macro; macros: of its formats too.

    weights, bias: symbols of the arrays.
    """

    node: Node
    stem: str
    formats: Formats
    params: Mapping[str, Macro]
    fractions: tuple[Macro, ...]
    weights: Optional[str] = None
    bias: Optional[str] = None

    @property
    def macros(self) -> tuple[Macro, ...]:
        """What parameter.h defines for it."""
        return (*self.params.values(), *self.fractions)

    @property
    def words(self) -> str:
        """The layer in words, harmless in a C comment."""
        node, formats = self.node, self.formats
        words = [described(node.output)]
        for name, frac in (("weights", formats.weights), ("bias", formats.bias)):
            array = getattr(node.function, name)
            if array is not None and frac is not None:
                words.append(f"{name} {q_format(array.dtype, frac)}")
        return f"{in_comment(node.name)}: {node.function.name}, {', '.join(words)}"


@dataclass(frozen=True)
class Symbols:
    """A whole network in C. stems: input, states and layers -> identifiers; input: macros of the
    input; arrays: name in the graph -> symbol."""

    stems: Mapping[str, str]
    input: tuple[Macro, ...]
    layers: tuple[Layer, ...]
    arrays: Mapping[str, str]


def described(tensor: Tensor) -> str:
    """A tensor in words: int8 8x8x1 Q0.7."""
    shape = "x".join(map(str, tensor.shape))
    frac = "" if tensor.frac is None else f" {q_format(tensor.dtype, tensor.frac)}"
    return f"{tensor.dtype} {shape}{frac}"


def symbols(graph: Graph, stems: Mapping[str, str]) -> Symbols:
    """C names for everything; stems: input and layers -> unique words of letters, digits and _."""
    taken = set(_OWN)
    fracs = {tensor.name: tensor.frac for tensor in (graph.input, *graph.states)}
    entry = _fractions(taken, stems[graph.input.name], {"FRAC": graph.input.frac})
    layers, arrays = [], {}
    for node in graph.nodes:
        stem = stems[node.name]
        formats = _formats(node, fracs)
        fracs[node.name] = node.output.frac
        params = {
            name: Macro(macro_name(stem, _spelled(name), taken), _value(name, value))
            for name, value in node.params.items()
        }
        named = {"FRAC": formats.output, "WT_FRAC": formats.weights, "BIAS_FRAC": formats.bias}
        for array, part in ((node.weights, "wt"), (node.bias, "bias")):
            if array is not None and array not in arrays:
                arrays[array] = array_name(stem, part, taken)
        weights, bias = (arrays.get(name or "") for name in (node.weights, node.bias))
        fractions = tuple(_fractions(taken, stem, named))
        layers.append(Layer(node, stem, formats, params, fractions, weights, bias))
    return Symbols(stems, tuple(entry), tuple(layers), arrays)


def _formats(node: Node, fracs: Mapping[str, Optional[int]]) -> Formats:
    """out_shift = fi + fw - fo and bias_shift = fi + fw - fb, solved for fw and fb."""
    read, made = fracs.get(node.inputs[0]) if node.inputs else None, node.output.frac
    if node.weights is None or read is None or made is None:
        return Formats(read, None, None, made)
    weights = node.params["out_shift"] - read + made
    return Formats(read, weights, read + weights - node.params["bias_shift"], made)


def _fractions(taken: set[str], stem: str, fracs: Mapping[str, Optional[int]]) -> Iterator[Macro]:
    for what, frac in fracs.items():
        if frac is not None:
            yield Macro(macro_name(stem, what, taken), _value(what, frac))


def _spelled(name: str) -> str:
    """The macro's ending of a C argument: OUT_CH for ch_im_out, KER_DIM_X for dim_kernel_x."""
    stem, axis = (name[:-2], name[-2:]) if name.endswith(("_x", "_y")) else (name, "")
    return f"{_SPELLED.get(stem, stem)}{axis}".upper()


def _value(name: str, value: int) -> str:
    if name == "type":
        return _TABLES[int(value != 0)]
    return str(value) if value >= 0 else f"({value})"


def macro_name(stem: str, what: str, taken: set[str]) -> str:
    """STEM_WHAT, or with a number behind it where that is taken; taken from now on."""
    return _unique(f"{_start(stem)}_{what}".upper(), taken)


def array_name(stem: str, what: str, taken: set[str]) -> str:
    """stem_what, or with a number behind it where that is taken; taken from now on."""
    return _unique(f"{_start(stem)}_{what}".lower(), taken)


def _unique(wanted: str, taken: set[str]) -> str:
    name, count = wanted, 1
    while name in taken:
        count += 1
        name = f"{wanted}_{count}"
    taken.add(name)
    return name


def _start(stem: str) -> str:
    """An identifier with a letter in front: what starts otherwise is a number or reserved."""
    legal = re.sub(r"[^A-Za-z0-9_]", "_", stem)
    return legal if legal[:1].isalpha() else f"layer_{legal.lstrip('_')}"
