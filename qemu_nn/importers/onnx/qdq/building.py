"""A network of integers under construction, from a quantized file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Callable, Optional

import numpy as np

from ....errors import ModelError
from ....functions import FUNCTIONS
from ....functions.scaling import quantize_multiplier
from ....functions.tflm_float import bits
from ....ir.formats import Format, activation_limits
from ....ir.graph import Node, Tensor
from ....ir.tensors import make_free_name
from ....operators import Shape
from ...arguments import CALL_LIMIT, SUFFIXES, check_spent, have_same_bytes, moves, sides
from ..reading import Model
from ..tensors import type_name
from .symbols import Fixed, Int, Outside, Pending, Real, Value, order_of

#: Numbers of float32, which stand for themselves.
REAL = Format("float32", 1.0)

#: Integers that stand for themselves: places in an axis.
PLACES = Format("int32", 1.0)

#: All real values.
ANY = (-math.inf, math.inf)

_RESCALED = "these tensors are brought into another format by a call of their own"


class Builder:
    """Values by the file's names, and the calls that make them.

    batch: how many samples the file takes at once; here they are a batch of any size. sources: of
    which tensor of the host each input is.
    """

    def __init__(self, model: Model) -> None:
        self.opset = model.opset
        self.batch = 1
        self.nodes: list[Node] = []
        self.arrays: dict[str, np.ndarray] = {}
        self.inputs: list[Tensor] = []
        self.values: dict[str, Value] = {}
        self.notes: dict[str, list[str]] = {}
        self._model = model
        self.sources: dict[str, str] = {}
        self._starts: list[Int] = []
        self._reals: dict[str, Int] = {}
        self._names: set[str] = set()
        self._ended: set[str] = set()
        self._spent = 0

    def decode(self, proto: Any) -> np.ndarray:
        """Return the array of a TensorProto."""
        return self._model.tensors.array(proto)

    def value(self, name: str) -> Value:
        """Return what a name stands for."""
        if name not in self.values:
            if name not in self._model.constants:
                raise ModelError(f"it reads {name!r}; an earlier operator must compute that tensor")
            self.values[name] = self.decode(self._model.constants[name])
        return self.values[name]

    def spend(self, elements: int) -> None:
        """Count elements of computed constants."""
        self._spent += elements
        check_spent(self._spent)

    def note(self, what: str, name: str) -> None:
        """Keep what the user should know of a tensor, next to others of which it is true."""
        names = self.notes.setdefault(what, [])
        if name not in names:
            names.append(name)

    def unique(self, name: str) -> str:
        """Return a name that no other tensor has."""
        name = make_free_name(name, self._names)
        self._names.add(name)
        return name

    def element(self, name: str) -> str:
        """Return the type of the integers of a constant, as the file has it."""
        if name in self._model.constants:
            return type_name(self._model.constants[name].data_type)
        return getattr(getattr(self.values.get(name), "dtype", None), "name", "")

    def declared(self, name: str) -> str:
        """Return the type of the elements of an input of the file."""
        if name not in self._model.inputs:
            raise ModelError("its input is computed; it must be an input of the file, of integers")
        return type_name(self._model.declared[name].type.tensor_type.elem_type)

    def start(self, source: Outside, form: Format, element: str) -> Int:
        """Return the input of the network that a tensor of the host becomes in a format."""
        tensor = source.tensor
        if not source.before:
            raise ModelError(
                "it quantizes an output of operators after the integers; integers must not "
                "follow these"
            )
        if not tensor.batched:
            raise ModelError(f"{tensor.name!r} has no batch axis; its first axis must be the batch")
        for value in self._starts:
            if self.sources[value.name] == tensor.name and value.format == form:
                return value
        shape = tensor.sample
        value = Int(self.unique(tensor.name), shape, order_of(shape), form, element)
        self.inputs.append(tensor_of(value))
        self.sources[value.name] = tensor.name
        self._starts.append(value)
        return value

    def places(self, source: Outside) -> Int:
        """Return the input of the network that an input of the file with integers is."""
        tensor = source.tensor
        if tensor.name not in self._model.inputs or not source.before:
            raise ModelError(f"its indices {tensor.name!r} must be an input of the file")
        for value in self._starts:
            if self.sources[value.name] == tensor.name and value.format == PLACES:
                return value
        shape = tensor.sample
        value = Int(self.unique(tensor.name), shape, tuple(range(len(shape))), PLACES)
        self.inputs.append(tensor_of(value))
        self.sources[value.name] = tensor.name
        self._starts.append(value)
        return value

    def call(
        self,
        function: str,
        params: Mapping[str, int],
        inputs: Sequence[Int],
        output: Int,
        weights: Optional[np.ndarray] = None,
        bias: Optional[np.ndarray] = None,
    ) -> Int:
        """Add a call that makes `output`."""
        if len(self.nodes) == CALL_LIMIT:
            raise ModelError(f"the network needs more than {CALL_LIMIT} calls")
        if function not in FUNCTIONS:
            raise ModelError(f"no function computes its types: {function}")
        declared = FUNCTIONS[function]
        made, wanted = declared.output.dtype, output.format.dtype
        if made != wanted:
            raise ModelError(
                f"it reads {made} and computes {wanted}: give both the same type, with a "
                "pair of QuantizeLinear and DequantizeLinear between them"
            )
        output = replace(output, name=self.unique(output.name))
        taken = {name: params[name] for name in declared.params}
        self.nodes.append(
            Node(
                function=declared,
                params=declared.parse_params(taken),
                inputs=tuple(value.name for value in inputs),
                output=tensor_of(output),
                weights=self._keep(f"{output.name}/weights", weights),
                bias=self._keep(f"{output.name}/bias", bias),
            )
        )
        return output

    def _keep(self, name: str, array: Optional[np.ndarray]) -> Optional[str]:
        if array is None:
            return None
        self.spend(array.nbytes)
        self.arrays[name] = np.ascontiguousarray(array)
        return name

    def end(self, value: Int, name: str) -> str:
        """Return the name of an output: the file's, unless its call has it already for another
        output.
        """
        made = [at for at, node in enumerate(self.nodes) if node.name == value.name]
        if not made:  # an input as it is: a call copies it
            params = moves(value.memory, range(len(value.order)))
            copy = f"tflm_transpose_{value.kind}"
            return self.call(copy, params, [value], replace(value, name=name)).name
        if value.name in self._ended:
            return value.name
        new = name if name == value.name else self.unique(name)
        output = tensor_of(replace(value, name=new))
        self.nodes[made[0]] = replace(self.nodes[made[0]], output=output)
        for at, node in enumerate(self.nodes):
            inputs = tuple(new if each == value.name else each for each in node.inputs)
            self.nodes[at] = replace(node, inputs=inputs)
        renamed = {key: _renamed(held, value.name, new) for key, held in self.values.items()}
        self.values.update(renamed)
        self._ended.add(new)
        return new

    # Needs of several operators

    def ordered(self, value: Int, order: Sequence[int]) -> Int:
        """Return the same numbers with their axes in another order in memory."""
        order = tuple(order)
        if have_same_bytes(value.shape, value.order, order):
            return replace(value, order=order)
        moved = replace(value, name=f"{value.name}/moved", order=order)
        places = [value.order.index(axis) for axis in order]
        function = f"tflm_transpose_{value.kind}"
        return self.call(function, moves(value.memory, places), [value], moved)

    def table(self, value: Int, to: Format, name: str, function: Callable[..., Any]) -> Int:
        """Return a function of each integer, as 256 results: in float32, halves to even."""
        codes = np.arange(-128, 128)
        x = ((codes - value.format.zero_point) * np.float32(value.format.scale)).astype(np.float32)
        with np.errstate(all="ignore"):
            steps = np.asarray(function(x), np.float32) / np.float32(to.scale)
        if np.isnan(steps).any():
            raise ModelError(
                "its function has no value for some of the input's integers; all 256 must have one"
            )
        results = np.clip(np.rint(steps.astype(np.float64)) + to.zero_point, -128, 127)
        made = replace(value, name=name, format=to)
        params = {"length": value.size}
        table = results.astype(np.int8)
        return self.call("executorch_quantized_activation_s8", params, [value], made, table)

    def emitted(self, value: Pending, form: Format, name: str, kept: tuple[float, float]) -> Int:
        """Return the integers of a layer, those between two real values."""
        low, high = (min(max(end, kept[0]), kept[1]) for end in value.ends)
        if value.clamps:
            return value.emit(form, name, (low, high))
        free = name if (low, high) == ANY else f"{name}/free"
        return self.kept(value.emit(form, free, ANY), (low, high), name)

    def kept(self, value: Int, ends: tuple[float, float], name: str) -> Int:
        """Return integers between two real values."""
        if ends == ANY:
            return value
        if value.kind == "s8":
            low, high = (np.float32(end) for end in ends)
            return self.table(value, value.format, name, lambda x: np.clip(x, low, high))
        params = {**rescaling(value, value.format), **activation_limits(*ends, value.format)}
        made = replace(value, name=name)
        return self.call(f"tflm_relu_{value.kind}", params, [value], made)

    def rescaled(self, value: Int, to: Format, name: str) -> Int:
        """Return the same floats in another format."""
        if value.format == to:
            return value
        self.note(_RESCALED, name)
        if (value.kind, to.dtype) == ("s8", "int8"):
            return self.table(value, to, name, lambda x: x)
        types = f"{value.kind}_{SUFFIXES[to.dtype]}"
        made = replace(value, name=name, format=to)
        return self.call(f"tflm_requantize_{types}", rescaling(value, to), [value], made)

    def widened(self, value: Int) -> Int:
        """Return the same integers in 16 bits."""
        if value.kind != "s8":
            return value
        wide = replace(value.format, dtype="int16")
        made = replace(value, name=f"{value.name}/wide", format=wide)
        return self.call("tflm_cast_s8_s16", {"length": value.size}, [value], made)

    def real(self, value: Int) -> Int:
        """Return the same numbers in float32."""
        if value.format == REAL:
            return value
        if value.name not in self._reals:
            made = replace(value, name=f"{value.name}/real", format=REAL)
            function = f"tflm_dequantize_{value.kind}_f32"
            params = scaled(value.size, value.format)
            self._reals[value.name] = self.call(function, params, [value], made)
        return replace(self._reals[value.name], shape=value.shape, order=value.order)

    def constant(self, value: Fixed, shape: Shape) -> Int:
        """Return a quantized constant as integers that a call brings, in the rank of `shape`."""
        if value.scale.size != 1 or value.zero.size != 1:
            raise ModelError(
                "it reads a constant with a scale for each channel; the constant must have one "
                "scale"
            )
        form = Format(value.dtype, float(value.scale.reshape(())), int(value.zero.reshape(())))
        data = value.data.reshape((1,) * (len(shape) - value.data.ndim) + value.data.shape)
        if data.ndim > len(shape):
            data = data.reshape(data.shape[data.ndim - len(shape) :])
        whole = Int("constant", data.shape, order_of(data.shape), form)
        flat = data.transpose(whole.order).astype(value.dtype).reshape(-1)
        return self.call(f"tflm_constant_{whole.kind}", {"length": flat.size}, [], whole, flat)

    def spread(self, value: Int, shape: Shape) -> Int:
        """Return a value in a shape that it broadcasts to."""
        rank = len(shape)
        own = (1,) * (rank - len(value.shape)) + value.shape
        order = order_of(shape)
        value = self.ordered(replace(value, shape=own, order=_padded(value, rank)), order)
        if own == shape:
            return value
        inner, outer = value.memory, tuple(shape[axis] for axis in order)
        whole = replace(value, name=f"{value.name}/whole", shape=shape)
        params = {**sides("input", inner), **sides("output", outer)}
        return self.call(f"tflm_broadcast_{value.kind}", params, [value], whole)


def scaled(length: int, form: Format) -> dict[str, int]:
    """Return the arguments of a step between integers of a format and floats."""
    return {"length": length, "zero_point": form.zero_point, "scale_bits": bits(form.scale)}


def rescaling(value: Int, to: Format) -> dict[str, int]:
    """Return the arguments of a change of format."""
    factor, shift = quantize_multiplier(value.format.scale / to.scale)
    zeros = {"input_zero_point": value.format.zero_point, "output_zero_point": to.zero_point}
    return {"length": value.size, **zeros, "multiplier": factor, "shift": shift}


def _renamed(held: Value, old: str, new: str) -> Value:
    """Return a value whose tensor has another name now."""
    if isinstance(held, Real):
        return Real(_int_renamed(held.integers, old, new))
    return _int_renamed(held, old, new) if isinstance(held, Int) else held


def _int_renamed(held: Int, old: str, new: str) -> Int:
    return replace(held, name=new) if held.name == old else held


def _padded(value: Int, rank: int) -> tuple[int, ...]:
    """Return the order of the axes with more of them in front."""
    more = rank - len(value.shape)
    return (*range(more), *(axis + more for axis in value.order))


def tensor_of(value: Int) -> Tensor:
    """Return a value as a tensor of the graph."""
    in_order = value.order == tuple(range(len(value.order)))
    form, shape = value.format, value.memory
    order = () if in_order else value.order
    if form.dtype in ("float32", "int32", "bool"):  # which stand for themselves
        return Tensor(value.name, shape, form.dtype, order=order)
    return Tensor(value.name, shape, form.dtype, None, form.scale, form.zero_point, order)
