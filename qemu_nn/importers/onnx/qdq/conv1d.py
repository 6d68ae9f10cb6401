"""Convolutions and pools of signals [C, L]: those of images with one row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ....ir.formats import Format
from ..call import OnnxCall
from .site import Converter, Site, once
from .symbols import LAST, Fixed, Int, Pending, Real

#: Attributes -> what they say of the row's own axis.
_ROW = {"kernel_shape": [1], "strides": [1], "dilations": [1], "pads": [0]}


def of_lines(convert: Converter) -> Converter:
    """Return a converter of images that takes signals, too."""

    def converted(site: Site) -> Any:
        if len(site.shape()) != 2:
            return convert(site)
        made = convert(Site(_lifted(site.call), site.builder))
        assert isinstance(made, Pending)  # as all of images are

        def emit(form: Format, name: str, ends: tuple[float, float]) -> Int:
            return _lowered(made.emit(form, name, ends))

        floats = made.real
        real = None if floats is None else once(lambda: _lowered(floats()))
        shape = (made.shape[0], made.shape[2])
        return replace(made, emit=emit, shape=shape, real=real)

    return converted


def _lowered(image: Int) -> Int:
    """Return an image of one row as a signal."""
    order = tuple(axis // 2 for axis in image.order if axis != 1)
    return replace(image, shape=(image.shape[0], image.shape[2]), order=order)


def _lifted(call: OnnxCall) -> OnnxCall:
    """Return the node on an image of one row."""
    attributes = dict(call.node.attributes)
    for key, row in _ROW.items():
        given = attributes.get(key)
        if isinstance(given, list):
            half = len(given) // 2 if key == "pads" else len(given)
            attributes[key] = [*row, *given[:half], *(row if key == "pads" else []), *given[half:]]
    inputs = tuple(map(_raised, call.inputs))
    return replace(call, node=replace(call.node, attributes=attributes), inputs=inputs)


def _raised_later(value: Pending) -> Pending:
    def emit(form: Format, name: str, ends: tuple[float, float]) -> Int:
        raised: Int = _raised(value.emit(form, name, ends))
        return raised

    floats = value.real

    def real() -> Int:
        assert floats is not None
        raised: Int = _raised(floats())
        return raised

    shape = (value.shape[0], 1, value.shape[1])
    return replace(value, emit=emit, shape=shape, real=None if floats is None else once(real))


def _raised(value: Any) -> Any:
    if isinstance(value, Pending):
        return _raised_later(value)
    if isinstance(value, Real):
        return Real(_raised(value.integers))
    if isinstance(value, Int):
        order = (0, 1, 2) if value.order == (0, 1) else LAST
        return replace(value, shape=(value.shape[0], 1, value.shape[1]), order=order)
    if isinstance(value, Fixed) and value.data.ndim == 3:
        axis = value.axis % 3
        data = np.expand_dims(value.data, 2)
        return replace(value, data=data, axis=axis + (axis == 2))
    if isinstance(value, np.ndarray) and value.ndim == 3:
        return np.expand_dims(value, 2)
    return value
