"""Operators that vela 5.2 compiles into wrong programs, as the original file shows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

import numpy as np

from ...errors import ModelError
from .call import read_options
from .parser import TfliteModel, TfliteOperator, TfliteTensor

#: Layers with weights.
_WEIGHTED = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")

#: Operators that vela turns into reads of a part of a tensor, and into writes of one.
_SLICES = ("STRIDED_SLICE", "SLICE", "SPLIT", "SPLIT_V", "UNPACK")
_JOINS = ("CONCATENATION", "PAD", "PADV2")

_MISPLACED = (
    "vela 5.2 writes its elements to other places than CONCATENATION or PAD after it has them: its "
    "output is wrong"
)

#: Least stride of a padded average whose elements vela adds one operation after another.
_SUMMED_STRIDE = 4

#: Axes of a map: rows, columns and channels are the last three.
_AXES = 4


@dataclass(frozen=True)
class CompiledFile:
    """An original file and how vela compiled it. core: operators that stay on the core."""

    model: TfliteModel
    npu: str
    core: frozenset[int] = frozenset()

    def tensor(self, operator: TfliteOperator, at: int) -> Optional[TfliteTensor]:
        """Return an input; None if it is missing."""
        given = operator.inputs
        return self.model.tensor(given[at]) if at < len(given) and given[at] >= 0 else None

    def find_source(self, operator: TfliteOperator) -> Optional[TfliteOperator]:
        """Return the operator of the NPU that computes the first input."""
        made = (each for each in self.model.operators if operator.inputs[0] in each.outputs)
        return next((each for each in made if each.index not in self.core), None)

    def find_reader(self, operator: TfliteOperator) -> Optional[TfliteOperator]:
        """Return the operator of the NPU that alone reads the output."""
        (made, *_) = operator.outputs
        readers = [each for each in self.model.operators if made in each.inputs]
        alone = len(readers) == 1 and made not in self.model.outputs
        return readers[0] if alone and readers[0].index not in self.core else None


def find_fault(file: CompiledFile, operator: TfliteOperator) -> Optional[str]:
    """Return the effect of a wrong program on an operator that the NPU computes; else None."""
    try:
        if operator.name == "SUM":
            return _find_axes(file, operator)
        if operator.name == "MIRROR_PAD":
            return _find_channels(file, operator)
        if operator.name in ("REDUCE_MAX", "REDUCE_MIN"):
            return _find_reduction(file, operator)
        if file.npu.startswith("ethos-u85"):
            return _find_of_u85(file, operator)
        if operator.name == "SOFTMAX":
            return _find_rows(file, operator)
    except (ModelError, IndexError):
        return None  # the reader of the file has its own sentence
    return None


def _find_axes(file: CompiledFile, operator: TfliteOperator) -> Optional[str]:
    """Return the effect on a SUM over several axes that have more than one element."""
    image, axes = (file.tensor(operator, at) for at in (0, 1))
    if image is None or axes is None or axes.data is None:
        return None
    sides = [image.shape[int(axis)] for axis in np.ravel(axes.data)]
    if sum(side > 1 for side in sides) < 2:
        return None
    return f"vela 5.2 sums only one of its axes {np.ravel(axes.data).tolist()}: its output is wrong"


def _find_channels(file: CompiledFile, operator: TfliteOperator) -> Optional[str]:
    """Return the effect on a MIRROR_PAD of the last axis."""
    pads = file.tensor(operator, 1)
    if pads is None or pads.data is None or not np.any(pads.data.reshape(-1, 2)[-1]):
        return None
    return "vela 5.2 does not mirror channels: the padded channels of its output are wrong"


def _find_reduction(file: CompiledFile, operator: TfliteOperator) -> Optional[str]:
    """Return the effect on an extreme whose output vela reshapes or places wrongly."""
    image, given = (file.tensor(operator, at) for at in (0, 1))
    if image is None or given is None or given.data is None:
        return None
    axes = {int(axis) % len(image.shape) for axis in np.ravel(given.data)}
    kept = [1 if axis in axes else side for axis, side in enumerate(image.shape)]
    made = file.model.tensor(operator.outputs[0]).shape
    lead = [1] * _AXES
    if [*lead, *made][-_AXES:] != [*lead, *kept][-_AXES:]:
        return (
            "vela 5.2 keeps the reduced axes of an output that has none, so its axes are shifted: "
            "its output is wrong"
        )
    if image.shape[-1] == 1 or len(image.shape) - 1 not in axes:
        return None
    source = file.find_source(operator)
    others = {axis - len(image.shape) for axis in axes if image.shape[axis] > 1} - {-1}
    slices = not others or (-3 in others and not file.npu.startswith("ethos-u85"))
    if source is not None and source.name in _SLICES and slices:
        return (
            f"vela 5.2 reads the channels of another part than that of {source.name} before it: "
            "its output is wrong"
        )
    before, whole = _find_place(file, operator)
    if any(before) or whole[-2:-1] != [*lead, *made][-2:-1]:
        return _MISPLACED
    return None


def _find_place(file: CompiledFile, operator: TfliteOperator) -> tuple[list[int], list[int]]:
    """Return the first row, column and so on of an output in the tensor that it is a part of, and
    the shape of that tensor: its own, if no operator joins it alone.
    """
    made, reader = file.model.tensor(operator.outputs[0]), file.find_reader(operator)
    before, whole = [0] * len(made.shape), [*made.shape]
    if reader is None or reader.name not in _JOINS:
        return before, whole
    whole = [*file.model.tensor(reader.outputs[0]).shape]
    if reader.name == "CONCATENATION":
        axis = read_options(reader, "ConcatenationOptions").integer("Axis", -_AXES) % len(whole)
        earlier = reader.inputs[: reader.inputs.index(operator.outputs[0])]
        before[axis] = sum(file.model.tensor(index).shape[axis] for index in earlier)
    else:
        pads = file.tensor(reader, 1)
        if pads is not None and pads.data is not None:
            before = [int(pad) for pad in pads.data.reshape(-1, 2)[:, 0]]
    return before, whole


def _find_rows(file: CompiledFile, operator: TfliteOperator) -> Optional[str]:
    """Return the effect on a SOFTMAX of a STRIDED_SLICE that leaves out rows or columns."""
    source = file.find_source(operator)
    if source is None or source.name != "STRIDED_SLICE":
        return None
    strides = file.tensor(source, 3)
    made = file.model.tensor(source.outputs[0]).shape
    if strides is None or strides.data is None or len(made) != strides.data.size:
        return None
    steps = zip(np.ravel(strides.data)[:-1], made)
    if not any(abs(int(step)) > 1 and side > 1 for step, side in steps):
        return None
    return (
        "vela 5.2 takes the maxima of rows and columns that the STRIDED_SLICE before it leaves "
        "out: its output may be wrong"
    )


def _find_transposed(file: CompiledFile, operator: TfliteOperator) -> Optional[str]:
    """Return the effect on a transposed convolution: a part of a tensor, or gaps of its windows."""
    before, _ = _find_place(file, operator)
    if any(before[1:3]):
        return _MISPLACED
    weights = file.tensor(operator, 1)
    options = read_options(operator, "TransposeConvOptions")
    strides = options.integer("StrideH"), options.integer("StrideW")
    if weights is None or options.choice("Padding", "Padding") != "SAME":
        return None
    if not any(side <= stride - 2 for side, stride in zip(weights.shape[1:3], strides)):
        return None
    return (
        "vela 5.2 places the windows of a kernel that is smaller than its stride by two or more at "
        "other pixels: its output is wrong"
    )


def _find_images(file: CompiledFile, operator: TfliteOperator) -> Optional[str]:
    """Return the effect on an average of several images that vela sums pixel by pixel."""
    image, made = file.tensor(operator, 0), file.model.tensor(operator.outputs[0])
    options = read_options(operator, "Pool2DOptions")
    strides = options.integer("StrideH"), options.integer("StrideW")
    filters = options.integer("FilterHeight"), options.integer("FilterWidth")
    if image is None or image.shape[0] == 1 or max(strides) < _SUMMED_STRIDE:
        return None
    if options.choice("Padding", "Padding") != "SAME":
        return None
    axes = zip(image.shape[1:3], made.shape[1:3], strides, filters)
    if all((outs - 1) * stride + side <= ins for ins, outs, stride, side in axes):
        return None  # nothing is padded
    return "vela 5.2 repeats the output of the first image: those of the rest are wrong"


def _find_of_u85(file: CompiledFile, operator: TfliteOperator) -> Optional[str]:
    """Return the effect on an operator of the U85."""
    image = file.tensor(operator, 0)
    if operator.name == "DIV" and image is not None and image.type in ("INT8", "INT16"):
        return (
            "vela 5.2 divides the numbers as integers, without their scales and zero points: its "
            "output is wrong"
        )
    if operator.name == "TRANSPOSE_CONV":
        return _find_transposed(file, operator)
    if operator.name == "AVERAGE_POOL_2D":
        return _find_images(file, operator)
    if operator.name in _WEIGHTED:
        bias = file.tensor(operator, 2)
        if image is not None and bias is not None and (image.type, bias.type) == ("INT16", "INT32"):
            return (
                "vela 5.2 cuts the multiplier of a 16x8 layer with a 32-bit bias to 15 bits: its "
                "output is wrong"
            )
    if operator.name == "RESIZE_NEAREST_NEIGHBOR":
        options = read_options(operator, "ResizeNearestNeighborOptions")
        image, made = file.tensor(operator, 0), file.model.tensor(operator.outputs[0])
        centers = options.flag("HalfPixelCenters") or options.flag("AlignCorners")
        twice = image is not None and [2 * side for side in image.shape[1:3]] == [*made.shape[1:3]]
        if not centers and not twice:
            return (
                "vela 5.2 compiles it with half-pixel centers, which the file does not ask for: "
                "its output has other pixels"
            )
    return None
