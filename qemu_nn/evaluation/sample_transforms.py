"""Conversion of a user's samples to a network's inputs: floats or integers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Callable, Optional

import numpy as np

from ..errors import Error
from ..ir.formats import Format
from ..ir.preprocessing import Preprocessing
from ..ir.tensors import Tensor
from ..runtime.host import Host, resize_images
from ..runtime.samples import shape_samples

Shape = tuple[int, ...]

#: Name of a row's sample in errors.
Name = Callable[[int], str]


class Take:
    """A conversion of samples; can be pickled.

    Attributes
    ----------
    start : tuple
        Shape and layout of a sample as the network has it.
    names : tuple of str
        The inputs, where there are several.
    preprocessing : Preprocessing or None
        What raw samples become.
    """

    start: Any
    names: Any = ()
    preprocessing: Any = None

    def __call__(self, x: Any, name: Name) -> Any:
        """Return samples [n, ...] in the network's form, a dict if there are several inputs."""
        raise NotImplementedError

    @property
    def copies(self) -> bool:
        """True if firmware copies features to the network's integers byte for byte."""
        return False

    def for_layout(self, given: Optional[str]) -> Take:
        """Return the same for data of this layout."""
        return self

    def without_checks(self) -> Take:
        """Return the same without a look at samples."""
        return self

    def image_shape(self) -> tuple[int, int, int]:
        """Return height, width and channels of the images that the network takes."""
        shape, layout = self.start
        if layout is None or len(shape) != 3:
            raise Error(
                f"the data are images, but the network reads {list(shape)}, which is no image: "
                "give arrays"
            )
        a, b, c = shape
        height, width, channels = (a, b, c) if layout == "NHWC" else (b, c, a)
        if channels not in (1, 3):
            raise Error(
                f"images have 1 or 3 channels, but the network reads {channels}: give arrays"
            )
        return height, width, channels


@dataclass(frozen=True)
class Arrange(Take):
    """Conversion of one input's samples to floats.

    shape, layout: the network's. given: the layout of images in the data, if their shape is
    ambiguous. own: the format of integers of this type in the data. tensor: its axis order in
    memory, if it differs from `shape`.
    """

    shape: Shape
    layout: Optional[str] = None
    given: Optional[str] = None
    own: Optional[Format] = None
    preprocessing: Optional[Preprocessing] = None
    tensor: Optional[Tensor] = None

    @property
    def start(self) -> tuple[Shape, Optional[str]]:
        """Shape and layout of a sample."""
        return self.shape, self.layout

    @property
    def copies(self) -> bool:
        """True if integers of the network's type are codes."""
        return self.own is not None

    def for_layout(self, given: Optional[str]) -> Arrange:
        """Return the same for data of this layout."""
        return replace(self, given=given)

    def __call__(self, x: Any, name: Name) -> np.ndarray:
        """Return samples as float32 (float64 stays) in the network's shape."""
        expect_finite(x, name)
        given, steps = self.given, self.preprocessing
        if self.own is not None and x.dtype == self.own.dtype:
            x = self.own.dequantize(x)
        if steps is not None:
            given = given or steps.layout
            x = resize_images(steps, x, self.shape, given)
        default = None if self.own is None else self.layout
        real, _ = shape_samples(x, "the data", self.shape, self.layout, given, default)
        if len(real) != len(x):
            raise require_batch_axis(x)
        if steps is not None:
            real = steps.apply(real, self.layout)
        if self.tensor is not None:
            real = self.tensor.to_memory(real)
        return real.astype(np.float64 if real.dtype == np.float64 else np.float32)


def convert_tensor(tensor: Tensor) -> Arrange:
    """Return the samples of one of several inputs as floats, or its own integers unchanged."""
    return Arrange(tensor.logical, None, None, tensor.format, tensor=tensor)


@dataclass(frozen=True)
class ByName(Take):
    """Real samples of several inputs."""

    parts: Mapping[str, Arrange]

    @property
    def names(self) -> tuple[str, ...]:
        """The inputs."""
        return tuple(self.parts)

    def __call__(self, x: Any, name: Name) -> dict[str, np.ndarray]:
        """Return samples of each input."""
        return {key: part(x[key], name) for key, part in self.parts.items()}


@dataclass(frozen=True)
class Coded(Take):
    """Conversion to the inputs of Session.run(): the network's integers.

    look: called with each batch before its conversion, and with its layout.
    """

    host: Host
    given: Optional[str] = None
    look: Optional[Callable[[Any, Optional[str]], None]] = None

    @property
    def start(self) -> tuple[Shape, Optional[str]]:
        """Shape and layout of a sample."""
        return self.host.start

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the inputs, if there are several."""
        names = tuple(tensor.name for tensor in self.host.graph.inputs)
        return names if len(names) > 1 else ()

    @property
    def preprocessing(self) -> Optional[Preprocessing]:
        """Preprocessing of raw samples."""
        return self.host.preprocessing

    @property
    def copies(self) -> bool:
        """True if the network's floats are exactly the values of its integers."""
        return self.host.reference is None

    def without_checks(self) -> Coded:
        """Return the same without a look at samples."""
        return replace(self, look=None)

    def for_layout(self, given: Optional[str]) -> Coded:
        """Return the same for data of this layout."""
        return replace(self, given=given)

    def __call__(self, x: Any, name: Name) -> Any:
        """Return samples of each input; a float32 input may contain any float32."""
        for tensor in self.host.graph.inputs:
            if tensor.dtype != "float32":
                expect_finite(x[tensor.name] if isinstance(x, Mapping) else x, name)
        codes = self.host.codes(x, self.given)
        if self.look is not None:
            self.look(x, self.given)
        (made,), (had,) = {*map(len, iterate_arrays(codes))}, {*map(len, iterate_arrays(x))}
        if made != had:
            raise require_batch_axis(next(iterate_arrays(x)))
        return codes


@dataclass(frozen=True)
class Reals(Coded):
    """Conversion to the inputs of the float reference, including integers in the network's own
    format.
    """

    def __call__(self, x: Any, name: Name) -> np.ndarray:
        """Return samples of the one input."""
        expect_finite(x, name)
        real = self.host.reals(x, self.given)
        if len(real) != len(x):
            raise require_batch_axis(x)
        return real.astype(np.float64 if real.dtype == np.float64 else np.float32)


def iterate_arrays(x: Any) -> Iterator[np.ndarray]:
    """Yield the arrays of all inputs."""
    yield from x.values() if isinstance(x, Mapping) else (x,)


def expect_finite(x: Any, name: Name) -> None:
    """Refuse NaN and infinite numbers, naming the sample."""
    for part in iterate_arrays(x):
        if part.dtype.kind == "f" and not np.isfinite(part).all():
            rows = part.reshape(len(part), math.prod(part.shape[1:]))
            bad = int(np.argwhere(~np.isfinite(rows).all(1))[0, 0])
            what = "NaN" if np.isnan(part[bad]).any() else "infinite numbers"
            raise Error(
                f"{name(bad)} contains {what}; samples must be finite: remove or replace it"
            )


def require_batch_axis(x: np.ndarray) -> Error:
    """Raise Error for data that are one sample instead of a batch."""
    return Error(
        f"the data have the shape {list(x.shape)}, without an axis of samples: for one "
        f"sample give {[1, *x.shape]}"
    )
