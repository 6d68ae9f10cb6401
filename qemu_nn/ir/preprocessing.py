"""Conversion of raw samples, such as pixels, to inputs of a network, as data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Optional, Union

import numpy as np

from ..errors import Error
from ..io.arguments import as_count, as_mapping, as_number, format_value, one_of
from ..io.optional_deps import require

Numbers = Union[float, Iterable[float]]

#: Layouts of images; element types of raw samples; most pixels of a side; most channels.
_LAYOUTS = ("NHWC", "NCHW")
_DTYPES = ("uint8", "int8", "uint16", "int16", "int32", "float32", "float64")
_SIDE, _CHANNELS = 2**14, 2**16


@dataclass(frozen=True)
class Preprocessing:
    """Conversion of raw samples to the floats that a network takes.

    An input is (raw * scale - mean) / std. quantize() keeps it with the network, so that
    every later use prepares samples alike.

    Parameters
    ----------
    size : int or (int, int), optional
        Height and width in pixels to which images are resized (bilinear, by Pillow).
    crop : int or (int, int), optional
        Height and width in pixels that are then cut out at the centre.
    layout : {"NHWC", "NCHW"}, optional
        The layout of raw images, where their shape fits both.
    scale, mean, std : float or sequence of float
        One number, or one for each channel.
    dtype : str, optional
        The element type of raw samples, such as "uint8"; default: any.

    Raises
    ------
    Error
        A number is not finite, a deviation is 0, a side is not positive, or a name is unknown.

    Examples
    --------
    >>> Preprocessing(scale=1 / 255, mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))
    """

    size: Any = None
    crop: Any = None
    layout: Optional[str] = None
    scale: Any = 1.0
    mean: Any = (0.0,)
    std: Any = (1.0,)
    dtype: Optional[str] = None

    def __post_init__(self) -> None:
        for name in ("size", "crop"):
            object.__setattr__(self, name, _parse_sides(getattr(self, name), name))
        if self.layout is not None:
            one_of(_LAYOUTS, self.layout, "layout")
        if self.dtype is not None:
            one_of(_DTYPES, self.dtype, "dtype")
        scale = _parse_numbers(self.scale, "scale")
        object.__setattr__(self, "scale", scale[0] if len(scale) == 1 else scale)
        for name in ("mean", "std"):
            object.__setattr__(self, name, _parse_numbers(getattr(self, name), name))
        if 0.0 in self.std:
            raise Error("std is 0, but samples are divided by it: give numbers other than 0")
        counts = {len(each) for each in (scale, self.mean, self.std)} - {1}
        if len(counts) > 1:
            raise Error(
                f"scale, mean and std have {len(scale)}, {len(self.mean)} and {len(self.std)} "
                "numbers: give one for each channel, or one alone"
            )
        if self.size and self.crop and any(c > s for c, s in zip(self.crop, self.size)):
            raise Error(
                f"a crop of {_format_size(self.crop)} is larger than the image of "
                f"{_format_size(self.size)} pixels"
            )

    @property
    def channels(self) -> Optional[int]:
        """Number of channels with own numbers; None if one number holds for all channels."""
        counts = {np.size(each) for each in (self.scale, self.mean, self.std)} - {1}
        return counts.pop() if counts else None

    @property
    def changes(self) -> bool:
        """True if any value changes."""
        return (np.ravel(self.scale).tolist(), {*self.mean}, {*self.std}) != ([1.0], {0.0}, {1.0})

    @property
    def spelled(self) -> str:
        """A summary such as "crop 8 x 8, (raw * 0.003922 - 0.5) / 0.25"."""
        sides = {"size": self.size, "crop": self.crop}
        words = [f"{name} {_format_size(pair)}" for name, pair in sides.items() if pair is not None]
        scale, mean, std = (_format_numbers(each) for each in (self.scale, self.mean, self.std))
        return ", ".join([*words, f"(raw * {scale} - {mean}) / {std}"])

    def apply(self, x: np.ndarray, layout: Optional[str] = None) -> np.ndarray:
        """Convert raw samples to floats, without resizing.

        Parameters
        ----------
        x : ndarray of numbers, shape (..., C), or (..., C, H, W) if the layout is "NCHW"
            Raw samples.
        layout : {"NHWC", "NCHW"}, optional
            Where the channels stand; default: as `layout` says, else they are last.

        Returns
        -------
        ndarray of float32, of float64 where x is that, in the shape of x
            (x * scale - mean) / std, computed in float64.

        Raises
        ------
        Error
            The samples have another number of channels, or are not of the type `dtype`.
        """
        self.check(x)
        first = (layout or self.layout) == "NCHW" and x.ndim > 2
        channels = self.channels
        if channels is not None and (x.ndim == 0 or x.shape[-3 if first else -1] != channels):
            raise Error(
                f"the preprocessing has {channels} channels, but samples have the shape "
                f"{list(x.shape)}: give one number, or one for each channel"
            )
        spread = (-1, 1, 1) if first else (-1,)
        scale, mean, std = (np.reshape(each, spread) for each in (self.scale, self.mean, self.std))
        if channels is None:
            scale, mean, std = scale.item(), mean.item(), std.item()
        real = (x.astype(np.float64) * scale - mean) / std
        return np.asarray(real if x.dtype == np.float64 else real.astype(np.float32))

    def check(self, x: np.ndarray) -> None:
        """Raise Error unless every number is one of the raw samples' type.

        Parameters
        ----------
        x : ndarray of numbers, any shape
            Raw samples.

        Raises
        ------
        Error
            A number is not of the type `dtype`, such as 0.5 of uint8.
        """
        if self.dtype is None or x.dtype == self.dtype or not x.size:
            return
        if self.dtype[0] == "f":
            return
        ends = np.iinfo(self.dtype)
        wrong = ~((x >= ends.min) & (x <= ends.max))
        if x.dtype.kind == "f":
            wrong |= x != np.rint(x)
        if wrong.any():
            raise Error(
                f"the preprocessing takes raw samples of {self.dtype}, but the data contain "
                f"{x[wrong].flat[0]}: give samples as they are before preprocessing"
            )

    def resize_image(self, pixels: np.ndarray) -> np.ndarray:
        """Resize and crop an image.

        Parameters
        ----------
        pixels : ndarray of uint8, shape (H, W, C)
            The image, of 1, 3 or 4 channels.

        Returns
        -------
        ndarray of uint8, shape (H', W', C)
            The image in the size that the network takes.

        Raises
        ------
        Error
            Pillow is missing, or the image is smaller than the crop.
        """
        if self.size is not None and pixels.shape[:2] != self.size:
            image = require("PIL.Image", "images", "resizing an image")
            flat = pixels[:, :, 0] if pixels.shape[2] == 1 else pixels
            resized = self.resize_picture(image.fromarray(flat))
            pixels = np.asarray(resized).reshape(*self.size, -1)
        return self.crop_image(pixels)

    def resize_picture(self, picture: Any) -> Any:
        """Return an image of Pillow in the size `size`; without a size, unchanged.

        Parameters
        ----------
        picture : PIL.Image.Image
            The image.

        Returns
        -------
        PIL.Image.Image
            The resized image.
        """
        if self.size is None or picture.size == self.size[::-1]:
            return picture
        image = require("PIL.Image", "images", "resizing an image")
        return picture.resize(self.size[::-1], getattr(image, "Resampling", image).BILINEAR)

    def crop_image(self, pixels: np.ndarray) -> np.ndarray:
        """Cut the part `crop` out at the centre; without a crop, return the image unchanged.

        Parameters
        ----------
        pixels : ndarray of uint8, shape (H, W, C)
            The image.

        Returns
        -------
        ndarray of uint8, shape (H', W', C)
            Its centre.

        Raises
        ------
        Error
            The image is smaller than the crop.
        """
        if self.crop is None:
            return pixels
        starts = [(have - want) // 2 for have, want in zip(pixels.shape, self.crop)]
        if min(starts) < 0:
            raise Error(
                f"an image of {_format_size(pixels.shape[:2])} pixels is smaller than the "
                f"crop of {_format_size(self.crop)}: give a smaller crop=, or a size="
            )
        (top, left), (height, width) = starts, self.crop
        return pixels[top : top + height, left : left + width]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields in JSON's types.

        Returns
        -------
        dict of str to object
            Numbers, names, lists of numbers and None.
        """
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Preprocessing:
        """Return the preprocessing of to_dict()'s result.

        Parameters
        ----------
        values : mapping of str to object
            Fields; those that are missing have their defaults.

        Returns
        -------
        Preprocessing
            The same preprocessing.

        Raises
        ------
        Error
            A field is unknown, or its value is not valid.
        """
        known = [field.name for field in fields(cls)]
        for name in as_mapping(values, "a preprocessing"):
            one_of(known, name, "field of a preprocessing")
        return cls(**values)


def _parse_sides(value: Any, what: str) -> Optional[tuple[int, int]]:
    """Return height and width."""
    if value is None:
        return None
    pair = tuple(value) if isinstance(value, (tuple, list)) else (value, value)
    if len(pair) != 2:
        raise Error(f"{what} must be a height and a width, or one number for both")
    height, width = (as_count(side, what, most=_SIDE) for side in pair)
    return height, width


def _parse_numbers(value: Any, what: str) -> tuple[float, ...]:
    """Return one finite number, or one for each channel."""
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, (Iterable, float, int)):
        raise Error(f"{what} must be a number, or one for each channel, not {format_value(value)}")
    given = np.ravel(value).tolist() if isinstance(value, np.ndarray) else value
    many = list(given) if isinstance(given, Iterable) else [given]
    if any(isinstance(number, (str, bytes)) for number in many):
        raise Error(f"{what} must be numbers, not text")
    if not 1 <= len(many) <= _CHANNELS:
        raise Error(f"{what} must be one number, or one for each channel, not {len(many)}")
    return tuple(as_number(number, what) for number in many)


def _format_numbers(numbers: Any) -> str:
    """Return one number, or a list, to four digits."""
    words = [f"{number:.4g}" for number in np.ravel(numbers).tolist()]
    return words[0] if len(words) == 1 else f"[{', '.join(words)}]"


def _format_size(sides: Iterable[int]) -> str:
    return " x ".join(map(str, sides))
