"""Shape of a Caffe network's input, including networks fed from a database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...errors import ModelError
from ...operators import Shape
from .layers import build
from .net import Net, Step

_LARGEST = 512
_WAY_OUT = (
    'put an Input layer in its place: layer { name: "data" type: "Input" top: "data" '
    "input_param { shape { dim: 1 dim: 3 dim: 32 dim: 32 } } }"
)


def find_input_shape(
    net: Net, source: str, steps: Sequence[Step], weights: Mapping[str, Sequence[np.ndarray]]
) -> Shape:
    """Return the shape of one sample.

    If the file lacks it, the first convolution determines the channels. crop_size determines height
    and width; without it, the first inner product does by its number of inputs. Several sizes may
    round to this number. The one with the most factors of two is taken, because the strides divide
    it.
    """
    shape = net.sources[source]
    if shape is not None:
        if len(shape) < 2:
            raise ModelError(
                f"the input {source!r} has the shape {list(shape)}, without a sample's axes"
            )
        return shape[1:]
    channels = _count_channels(steps, weights)
    if channels and net.crops.get(source):
        return (channels, net.crops[source], net.crops[source])
    sizes = _guess_sizes(source, channels, steps, weights)
    if not sizes or sizes[-1] == _LARGEST:
        raise ModelError(f"the files do not tell the shape of the input {source!r}; {_WAY_OUT}")
    size = max(sizes, key=lambda size: size & -size)
    return (channels, size, size)


def _count_channels(steps: Sequence[Step], weights: Mapping[str, Sequence[np.ndarray]]) -> int:
    """Return the input channels of the first convolution; 0 if there is none."""
    for step in steps:
        learned = weights.get(step.name)
        if step.type == "Convolution" and learned and learned[0].ndim == 4:
            channels: int = learned[0].shape[1] * step.fields.convolution_param.group
            return channels
    return 0


def _guess_sizes(
    source: str, channels: int, steps: Sequence[Step], weights: Mapping[str, Sequence[np.ndarray]]
) -> list[int]:
    """Return the sides of square images that the layers up to the first inner product can take."""
    kinds = [step.type for step in steps]
    if not channels or "InnerProduct" not in kinds:
        return []
    steps, sizes, reason = steps[: kinds.index("InnerProduct") + 1], list[int](), ""
    for size in range(1, _LARGEST + 1):
        try:
            build(steps, {source: (channels, size, size)}, weights)
            sizes.append(size)
        except ModelError as error:
            reason = str(error)
            if sizes:
                break
    if not sizes:
        raise ModelError(
            f"the files do not tell the shape of the input {source!r}, and no square of up to "
            f"{_LARGEST} x {_LARGEST} fits ({reason}); {_WAY_OUT}"
        )
    return sizes
