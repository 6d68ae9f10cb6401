"""The host's part of an inference: conversion of numbers to a network's integers and back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Optional, Union

import numpy as np

from ..errors import Error
from ..ir.float_graph import FloatGraph
from ..ir.formats import limits
from ..ir.graph import Graph
from ..ir.preprocessing import Preprocessing
from ..ir.tensors import Tensor
from ..operators import Identity, Operator, Reshape, Shape, Softmax
from .byte_tables import look_up
from .evaluate import evaluate, fix_sum_order, iterate_tensors
from .input_checks import Gauge
from .inputs import arrange_by_name, name_arrays
from .samples import convert_to_numbers, expect_finite, shape_samples

#: The network's integers: an array, of several inputs by their names.
Codes = Union[np.ndarray, dict[str, np.ndarray]]
Arrays = Mapping[str, np.ndarray]

#: Operators after the last call that the host applies: the device omits the first two, and may omit
#: a softmax.
_BEHIND = (Reshape, Identity, Softmax)

_MIXED = "some inputs are a single sample and some a batch: give all as one of them"


@dataclass(frozen=True)
class Host:
    """Conversion between the numbers of users and the integers of a network.

    Network.host is one. It can be pickled, and several threads may use it.

    Attributes
    ----------
    graph : ir.graph.Graph
        The network.
    reference : ir.float_graph.FloatGraph or None
        The float network that it was quantized from, channels last: the host computes its
        operators before the device's input and after the device's outputs.
    preprocessing : ir.preprocessing.Preprocessing or None
        The conversion of raw samples, applied first.

    Raises
    ------
    Error
        There is a preprocessing, but the network has several inputs.
    """

    graph: Graph
    reference: Optional[FloatGraph] = None
    preprocessing: Optional[Preprocessing] = None
    before: Optional[FloatGraph] = None
    after: Optional[FloatGraph] = None

    def __post_init__(self) -> None:
        if self.preprocessing is not None and len(self.inputs) > 1:
            raise Error(
                f"{self.graph.name} has {len(self.inputs)} inputs, but a preprocessing "
                "needs a network of one"
            )
        tensors = self.graph.tensors
        starts = {} if self.after is None else self.after.starts
        ends = {} if self.before is None else self.before.shapes
        made = set() if self.before is None else set(self.before.outputs)
        fits = all(n in self.graph.outputs and tensors[n].logical == starts[n] for n in starts)
        fits &= self.before is None or made == {tensor.name for tensor in self.graph.inputs}
        if not fits or any(tensors[name].logical != ends[name] for name in made):
            raise Error(
                f"the steps around {self.graph.name} are of another network: quantize it again"
            )

    @property
    def inputs(self) -> dict[str, Shape]:
        """Shapes of a user's samples, by the names of the inputs."""
        if self.before is not None:
            return self.before.starts
        return {tensor.name: tensor.logical for tensor in self.graph.inputs}

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the scores."""
        known = self.reference or self.after
        return self.graph.outputs if known is None else known.outputs

    def codes(self, x: Any, layout: Optional[str] = None) -> Codes:
        """Convert the numbers of Network.predict() to the inputs of Session.run().

        Parameters
        ----------
        x : array_like
            A sample or a batch.
        layout : {"NHWC", "NCHW"}, optional
            The layout of images.

        Returns
        -------
        ndarray of the input's integers, shape (N, *input shape)
            The batch; N is 1 for a single sample. Of several inputs a dictionary by their names.

        Raises
        ------
        Error
            The numbers do not fit the network.
        """
        return self.prepare(x, layout)[0]

    def prepare(self, x: Any, layout: Optional[str] = None) -> tuple[Codes, bool]:
        """Return the codes, and true if x is a single sample, not a batch."""
        looked_up = self._look_up_codes(x, layout)
        if looked_up is not None:
            return looked_up
        codes, _, single = self._prepare_codes(x, layout)
        return codes if len(codes) > 1 else codes[self.graph.input.name], single

    def gauges(self, x: Any, layout: Optional[str] = None) -> list[Gauge]:
        """Return gauges of these numbers in the formats of the inputs.

        Parameters
        ----------
        x : array_like
            A sample or a batch.
        layout : {"NHWC", "NCHW"}, optional
            The layout of images.

        Returns
        -------
        list of runtime.sanity.Gauge
            One for each input, which has seen the batch.

        Raises
        ------
        Error
            The numbers do not fit the network.
        """
        codes, reals, _ = self._prepare_codes(x, layout)
        gauges = [Gauge(tensor) for tensor in self.graph.inputs]
        for gauge, (name, array) in zip(gauges, codes.items()):
            gauge.add(array, reals.get(name))
        return gauges

    def reals(self, x: Any, layout: Optional[str] = None) -> np.ndarray:
        """Return the float samples of the numbers, as inputs of the float reference.

        Parameters
        ----------
        x : array_like
            A sample or a batch, as Network.predict() takes it, for a network of one input.
        layout : {"NHWC", "NCHW"}, optional
            The layout of images.

        Returns
        -------
        ndarray of float, shape (N, *shape of the reference's input)
            The batch; without a reference in the shape of the network's input.

        Raises
        ------
        Error
            The numbers do not fit, or the network has several inputs.
        """
        if len(self.graph.inputs) > 1:
            raise Error(
                f"{self.graph.name} has {len(self.graph.inputs)} inputs, but this needs a "
                "network of one"
            )
        array, tensor = convert_to_numbers(self._take_unnamed(x), "the input"), self.graph.input
        if not self._are_codes(array, tensor):
            if self.before is not None:
                return self._before(array, layout)[0][tensor.name]
            return self._make_reals(array, layout)[0]
        if self._prepares:
            raise Error(
                f"{array.dtype} is the type of the device's own input {tensor.name!r}, "
                "which the host computes: give floats"
            )
        codes, _ = self._shape_samples(array, tensor, layout)
        real = tensor.format.dequantize(codes)
        return real.reshape(*codes.shape[: len(self._axes)], *self.start[0])

    def scores(self, outputs: Arrays) -> dict[str, np.ndarray]:
        """Return the float values of a network's outputs.

        Parameters
        ----------
        outputs : mapping of str to ndarray of integers, shape (N, *output shape)
            What Session.run() returned.

        Returns
        -------
        dict of str to ndarray of float64, shape (N, *output shape)
            The outputs of the source file, under its names. A softmax that quantize() left out is
            computed here; images have their channels last.

        Raises
        ------
        Error
            An output is missing, or the float reference is that of another network.
        """
        tensors = self.graph.tensors
        missing = [name for name in self.graph.outputs if name not in outputs]
        if missing:
            raise Error(f"the outputs lack {missing[0]!r}: give what run() returned")
        real = {
            name: _dequantize_output(tensors[name], outputs[name]) for name in self.graph.outputs
        }
        if self.after is not None:
            made = _apply_steps(self.after, real)
            return {name: real.get(name, made[name].astype(np.float64)) for name in made}
        return real if self.reference is None else self._evaluate_rest(self.reference, real)

    def arrange(self, scores: Arrays, layout: Optional[str] = None) -> dict[str, np.ndarray]:
        """Return scores with images in one layout.

        Parameters
        ----------
        scores : mapping of str to ndarray, shape (N, *output shape)
            What scores() returned: images have their channels last, or the order of the file.
        layout : {"NHWC", "NCHW"}, optional
            The layout of outputs of three axes, if the network takes images; default: the file's.

        Returns
        -------
        dict of str to ndarray, shape (N, *output shape)
            The scores in the layout.
        """
        wanted, own = self.output_layouts(layout), self._output_layout
        return {name: move_channels(x, own, wanted[name] or own) for name, x in scores.items()}

    def output_layouts(self, layout: Optional[str] = None) -> dict[str, Optional[str]]:
        """Return the layout of each output of predict().

        Parameters
        ----------
        layout : {"NHWC", "NCHW"}, optional
            The layout that predict() is given.

        Returns
        -------
        dict of str to str or None
            Output -> "NHWC" or "NCHW"; None if the output is no image.
        """
        known = self.reference or self.after
        moved = () if self.reference is None else self.reference.moved
        layouts: dict[str, Optional[str]] = {}
        for name in self.outputs:
            shape = self.graph.tensors[name].logical if known is None else known.shapes[name]
            file = "NCHW" if name in moved else self._output_layout
            image = self._output_layout is not None and len(shape) == 3
            layouts[name] = (layout or file) if image else None
        return layouts

    @property
    def _output_layout(self) -> Optional[str]:
        """The layout of images among scores(); None if the network takes no images."""
        if self.reference is not None or self.before is not None:
            return self.start[1]
        tensor = self.graph.input
        return "NCHW" if len(tensor.shape) == 3 and tensor.order else _get_layout(tensor)

    def answers(self, outputs: Arrays) -> dict[str, np.ndarray]:
        """Return the same, but integers without a format unchanged.

        Parameters
        ----------
        outputs : mapping of str to ndarray, shape (N, *output shape)
            What Session.run() returned.

        Returns
        -------
        dict of str to ndarray, shape (N, *output shape)
            As scores(); outputs whose number format is not known keep their type, and so do all
            outputs of a network that takes integers of 8 or 16 bits of an unknown format.

        Raises
        ------
        Error
            As scores().
        """
        found = self.scores(outputs)
        if self.reference is None and self.after is None:
            tensors = self.graph.tensors
            inputs = (tensor for tensor in self.graph.inputs if np.dtype(tensor.dtype).itemsize < 4)
            strange = any(map(_stands_for_itself, inputs))
            plain = (name for name in found if strange or _stands_for_itself(tensors[name]))
            found.update((name, tensors[name].from_memory(outputs[name])) for name in plain)
        return found

    # ---- numbers to integers ----

    @property
    def _prepares(self) -> bool:
        """True if the host computes the device's input."""
        return self.reference is not None and self.reference.input != self.graph.input.name

    @property
    def front(self) -> tuple[Operator, ...]:
        """The operators of the float network before the device's input."""
        nodes = self.reference.nodes if self.reference is not None and self._prepares else ()
        names = [node.name for node in nodes]
        known = self.graph.input.name in names
        end = names.index(self.graph.input.name) + 1 if known else 0
        return tuple(node.operator for node in nodes[:end])

    @property
    def start(self) -> tuple[Shape, Optional[str]]:
        """Shape and layout of real samples."""
        known = self.reference or self.before
        if known is not None:
            return known.shape, known.layout
        return self.graph.input.shape, _get_layout(self.graph.input)

    @property
    def _axes(self) -> tuple[str, ...]:
        return ("N", "T") if self.graph.states else ("N",)

    @property
    def _default(self) -> Optional[str]:
        """Layout of images with an ambiguous shape."""
        own = None if self.reference is not None else "NHWC"
        return (self.preprocessing and self.preprocessing.layout) or own

    def _take_unnamed(self, x: Any) -> Any:
        """Return the samples alone if their key is the name of the float network's input."""
        name = "" if self.reference is None else self.reference.input
        return x[name] if _names_input(x, name) else x

    def _name_samples(self, tensor: Tensor) -> str:
        return "the input" if len(self.graph.inputs) == 1 else f"the input {tensor.name!r}"

    def _are_codes(self, x: np.ndarray, tensor: Tensor) -> bool:
        if x.dtype != tensor.dtype or x.dtype.kind not in "iub":
            return False
        steps = self.preprocessing
        return steps is None or not steps.changes or steps.dtype not in (None, tensor.dtype)

    def _shape_samples(
        self, array: np.ndarray, tensor: Tensor, layout: Optional[str]
    ) -> tuple[np.ndarray, bool]:
        what, own = self._name_samples(tensor), _get_layout(tensor)
        if tensor.order:
            x, single = shape_samples(array, what, tensor.logical, axes=self._axes)
            return tensor.to_memory(x), single
        return shape_samples(array, what, tensor.shape, own, layout, self._default, self._axes)

    def _prepare_codes(
        self, x: Any, layout: Optional[str]
    ) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], bool]:
        """Return codes of every input, the floats they were rounded from, if any, and true for a
        single sample.
        """
        if self.before is not None and not self._names_codes(x):
            reals, single = self._before(x, layout)
            tensors = self.graph.inputs
            return (
                {each.name: self._round_floats(reals[each.name], each) for each in tensors},
                reals,
                single,
            )
        arrays = arrange_by_name(self.graph, self._take_unnamed(x), convert_to_numbers)
        codes, reals, singles = {}, {}, []
        for tensor in self.graph.inputs:
            array = arrays[tensor.name]
            given = self._are_codes(array, tensor)
            if given or len(arrays) > 1:
                taken, single = self._shape_samples(array, tensor, layout)
            else:
                taken, single = self._compute_device_reals(array, tensor, layout)
            if not given:
                reals[tensor.name], taken = taken, self._round_floats(taken, tensor)
            codes[tensor.name] = taken
            singles.append(single)
        if len({*singles}) > 1:
            raise Error(_MIXED)
        return codes, reals, singles[0]

    def _names_codes(self, x: Any) -> bool:
        """True if x contains integers of the device's own inputs, which the host
        normally computes.
        """
        tensors = self.graph.inputs
        given = x if isinstance(x, Mapping) else {tensors[0].name: x}
        names = {tensor.name for tensor in tensors}
        arrays = {name: convert_to_numbers(part, "the input") for name, part in given.items()}
        return set(arrays) == names and all(self._are_codes(arrays[t.name], t) for t in tensors)

    def _before(self, x: Any, layout: Optional[str]) -> tuple[dict[str, np.ndarray], bool]:
        """Return the float values of the device's inputs, and true for a single sample."""
        assert self.before is not None
        steps, own = self.preprocessing, self.before.layout
        arrays = name_arrays(self.before.name, list(self.before.starts), x, convert_to_numbers)
        starts, singles = {}, set()
        for name, shape in self.before.starts.items():
            what = "the input" if len(arrays) == 1 else f"the input {name!r}"
            array = (
                arrays[name] if steps is None else resize_images(steps, arrays[name], shape, layout)
            )
            image = own if name == self.before.input else None
            real, single = shape_samples(array, what, shape, image, layout, image, self._axes)
            starts[name] = real if steps is None else steps.apply(real, own or "NHWC")
            expect_finite(starts[name], what)
            singles.add(single)
        if len(singles) > 1:
            raise Error(_MIXED)
        made = _apply_steps(self.before, starts)
        tensors = self.graph.inputs
        return {each.name: each.to_memory(made[each.name]) for each in tensors}, singles.pop()

    def _compute_device_reals(
        self, array: np.ndarray, tensor: Tensor, layout: Optional[str]
    ) -> tuple[np.ndarray, bool]:
        """Return the real values of the only input, from numbers that are not codes."""
        real, single = self._make_reals(array, layout)
        lead = real.shape[: len(self._axes)]
        real = self._compute_device_input(real) if self._prepares else real
        if real.size != math.prod((*lead, *tensor.shape)):
            raise self._make_unknown_output_error()
        return real.reshape(*lead, *tensor.shape), single

    def _look_up_codes(self, x: Any, layout: Optional[str]) -> Optional[tuple[np.ndarray, bool]]:
        """Return the codes of bytes by tables, and true for a single sample; None if the samples or
        the network need the conversion through floats.
        """
        if not isinstance(x, np.ndarray) or x.dtype != np.uint8 or not x.size:
            return None
        tensor, steps = self.graph.input, self.preprocessing
        direct = self.before is None and not self._prepares and len(self.graph.inputs) == 1
        if not direct or tensor.dtype not in ("int8", "uint8") or tensor.spelled is None:
            return None
        if self._are_codes(x, tensor) or (steps and steps.dtype not in (None, "uint8")):
            return None
        raw, single = self._shape_raw(x, layout)
        lead, channels = raw.shape[: len(self._axes)], (steps and steps.channels) or 1
        if raw.size != math.prod((*lead, *tensor.shape)) or channels not in (1, raw.shape[-1]):
            return None
        real = np.repeat(np.arange(256, dtype=np.uint8)[:, np.newaxis], channels, 1)
        real = real if steps is None else steps.apply(real, "NHWC")
        codes = look_up(raw, self._round_floats(real, tensor).T)
        return codes.reshape(*lead, *tensor.shape), single

    def _make_reals(self, array: np.ndarray, layout: Optional[str]) -> tuple[np.ndarray, bool]:
        """Return real samples, of numbers that are not codes."""
        x, single = self._shape_raw(array, layout)
        steps = self.preprocessing
        return (x if steps is None else steps.apply(x, "NHWC")), single

    def _shape_raw(self, array: np.ndarray, layout: Optional[str]) -> tuple[np.ndarray, bool]:
        """Return resized samples in the network's layout, and true for a single sample."""
        (shape, own), steps = self.start, self.preprocessing
        if steps is not None:
            array = resize_images(steps, array, shape, layout)
        if self.reference is None and self.graph.input.order:
            return self._shape_samples(array, self.graph.input, layout)
        return shape_samples(array, "the input", shape, own, layout, self._default, self._axes)

    def _compute_device_input(self, real: np.ndarray) -> np.ndarray:
        """Compute the device's input from float samples by the float network."""
        assert self.reference is not None
        expect_finite(real, "the input")
        x = real if real.dtype == np.float64 else real.astype(np.float32)
        for name, value in iterate_tensors(self.reference, x):
            if name == self.graph.input.name:
                return value
        raise self._make_unknown_output_error()

    def _round_floats(self, real: np.ndarray, tensor: Tensor) -> np.ndarray:
        """Round floats to integers; the NPU's kit rounds down."""
        if tensor.dtype == "float32":
            return real.astype(np.float32)
        what = self._name_samples(tensor)
        expect_finite(real, what)
        if tensor.spelled is None:
            return _check_whole(real, tensor, what)
        x = real if real.dtype == np.float64 else real.astype(np.float32)
        if self.graph.nodes[0].function.name.startswith("npu_"):
            floors = np.floor(tensor.format.scale_unrounded(x))
            integers: np.ndarray = np.clip(floors, *tensor.format.limits).astype(tensor.dtype)
            return integers
        return tensor.format.quantize(x)

    # ---- integers to numbers ----

    def _evaluate_rest(self, reference: FloatGraph, real: Arrays) -> dict[str, np.ndarray]:
        """Return the float network's outputs, of the device's."""
        ways = {name: self._trace_output(reference, name, real) for name in reference.outputs}
        ends = dict.fromkeys(end for end, _ in ways.values())  # in the order of the device's own
        devices = dict(zip(ends, self.graph.outputs))
        found = {}
        for name, (end, operators) in ways.items():
            values, shape = real.get(devices.get(end, "")), reference.shapes[end]
            if values is None or math.prod(values.shape[1:]) != math.prod(shape):
                raise self._make_unknown_output_error()
            values = values.reshape(len(values), *shape)
            for operator in operators:
                values = operator.evaluate(values)
            found[name] = values
        return found

    def _trace_output(
        self, reference: FloatGraph, name: str, real: Arrays
    ) -> tuple[str, tuple[Operator, ...]]:
        """Return the device's tensor of an output, and the operators after it."""
        makers = {node.name: node for node in reference.nodes}
        operators: tuple[Operator, ...] = ()
        while name not in real and isinstance(makers[name].operator, _BEHIND):
            node = makers[name]
            operators, name = (node.operator, *operators), node.inputs[0]
            if name not in makers:
                raise self._make_unknown_output_error()
        return name, operators

    def _make_unknown_output_error(self) -> Error:
        return Error(
            f"the float reference of {self.graph.name} is of another network: quantize it again"
        )


class Images(np.ndarray):
    """Array of images that tells its layout; arrays that are made of it tell none.

    Attributes
    ----------
    layout : {"NHWC", "NCHW", "HWC", "CHW"} or None
        Its axes: of a batch, or of one image.
    """

    layout: Optional[str]

    def __array_finalize__(self, source: Optional[np.ndarray]) -> None:
        self.layout = None

    def __reduce__(self) -> Any:
        return _tell_layout, (np.asarray(self), self.layout)


def _tell_layout(array: np.ndarray, layout: Optional[str]) -> Images:
    found = array.view(Images)
    found.layout = layout
    return found


def name_results(
    scores: Arrays, single: bool, layouts: Mapping[str, Optional[str]] = MappingProxyType({})
) -> Union[np.ndarray, dict[str, np.ndarray]]:
    """Return the scores of a batch as predict() does.

    A single sample has no batch axis, and a single output is an array. layouts: of the outputs that
    are images; None for others.
    """
    named = {name: values[0] if single else values for name, values in scores.items()}
    for name, layout in layouts.items():
        if layout is not None and named[name].ndim == len(layout) - single:
            named[name] = _tell_layout(named[name], layout[1:] if single else layout)
    return named if len(named) > 1 else next(iter(named.values()))


def predict_float(
    graph: FloatGraph, x: Any, layout: Optional[str] = None
) -> Union[np.ndarray, dict[str, np.ndarray]]:
    """Return the same of a float network, computed in numpy."""
    arrays = name_arrays(graph.name, list(graph.starts), x, convert_to_numbers)
    own, real, singles = graph.layout, {}, set()
    for name, shape in graph.starts.items():
        what = "the input" if len(arrays) == 1 else f"the input {name!r}"
        image = own if len(shape) == 3 else None
        real[name], single = shape_samples(arrays[name], what, shape, image, layout, image)
        expect_finite(real[name], what)
        singles.add(single)
    if len(singles) > 1:
        raise Error(_MIXED)
    single, scores = singles.pop(), dict(evaluate(graph, real))
    images = {n: layout or own for n, values in scores.items() if own and values.ndim == 4}
    for name, wanted in images.items():
        scores[name] = move_channels(scores[name], own, wanted)
    return name_results(scores, single, images)


def move_channels(values: np.ndarray, held: Optional[str], wanted: Optional[str]) -> np.ndarray:
    """Return images [N, three axes] of one layout in another."""
    if held == wanted:
        return values
    return np.moveaxis(values, *((-1, -3) if wanted == "NCHW" else (-3, -1)))


def _apply_steps(graph: FloatGraph, starts: Arrays) -> dict[str, np.ndarray]:
    """Compute the host's steps in float32, independently for each sample."""
    x = {name: starts[name].astype(np.float32) for name in graph.starts}
    found = {
        n: value for n, value in iterate_tensors(fix_sum_order(graph), x) if n in graph.outputs
    }
    return {name: found[name] for name in graph.outputs}


def _names_input(x: Any, name: str) -> bool:
    """True if x is the array of one input by its name."""
    return isinstance(x, Mapping) and set(x) == {name}


def _stands_for_itself(tensor: Tensor) -> bool:
    """True if a tensor has integers of unknown format."""
    return tensor.spelled is None and tensor.dtype != "float32"


def _dequantize_output(tensor: Tensor, values: np.ndarray) -> np.ndarray:
    """Return the float values of an output, in the source file's order of axes."""
    real = values if tensor.dtype == "float32" else tensor.format.dequantize(values)
    return tensor.from_memory(real)


def _get_layout(tensor: Tensor) -> Optional[str]:
    return "NHWC" if len(tensor.shape) == 3 else None


def resize_images(
    preprocessing: Preprocessing, x: np.ndarray, shape: Shape, layout: Optional[str]
) -> np.ndarray:
    """Resize uint8 images to the network's size; return all further data unchanged."""
    if x.dtype != np.uint8 or x.ndim not in (3, 4) or len(shape) != 3:
        return x
    first = (layout or preprocessing.layout) == "NCHW"
    images = np.moveaxis(x, -3, -1) if first else x
    fits = images.shape[-3:] == shape or images.shape[-1] != shape[-1]
    if fits or (preprocessing.size or preprocessing.crop) is None:
        return x
    pictures = images.reshape(-1, *images.shape[-3:])
    done = np.stack([preprocessing.resize_image(each) for each in pictures])
    done = done.reshape(*images.shape[:-3], *done.shape[1:])
    return np.moveaxis(done, -1, -3) if first else done


def _check_whole(x: np.ndarray, tensor: Tensor, what: str) -> np.ndarray:
    """Return the integers of a tensor of unknown format; raise Error for fractions."""
    low, high = limits(tensor.dtype)
    if not ((x >= low) & (x <= high) & (x == np.rint(x))).all():
        raise Error(
            f"{what} has fractions or numbers outside {low}..{high}, but its {tensor.dtype} "
            "codes have no known scale; quantize the numbers yourself and give integers"
        )
    return x.astype(tensor.dtype)
