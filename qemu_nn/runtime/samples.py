"""Conversion of a user's numbers, of any library and layout, to a batch of one shape."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Callable, Optional

import numpy as np

from ..errors import Error, LayerFault
from ..io.arguments import as_array, format_value, one_of

Shape = tuple[int, ...]


def convert_to_numbers(x: Any, name: str) -> np.ndarray:
    """Return an array of floats from a torch tensor, an object with `__array__` or DLPack, or
    lists.

    Raises Error, which begins with the name, for strings, objects, complex numbers and rows of
    different lengths.
    """
    array = _convert_to_array(x, name)
    if array.dtype.name == "bfloat16":  # of a library that brings the type along
        array = array.astype(np.float32)
    if array.dtype.kind not in "fiub":
        raise Error(f"{name} must be numbers, not {format_value(x)}, whose type is {array.dtype}")
    if array.dtype.itemsize > 8:  # long doubles
        array = array.astype(np.float64)
    return array


def _convert_to_array(x: Any, name: str) -> np.ndarray:
    if isinstance(x, np.ndarray):
        return x
    if isinstance(x, (str, os.PathLike)):
        raise Error(
            f"{name} must be an array, not {format_value(x)}: run() and evaluate() read files"
        )
    if isinstance(x, Mapping) or x is None:
        raise Error(f"{name} must be an array, not {format_value(x)}")
    try:
        if all(hasattr(x, method) for method in ("detach", "cpu", "numpy")):  # a torch tensor
            held = x.detach().cpu()
            return np.asarray((held.float() if "bfloat16" in str(held.dtype) else held).numpy())
        if isinstance(x, (list, tuple)) and any(_is_foreign(part) for part in x):
            return np.stack([_convert_to_array(part, name) for part in x])
        if hasattr(x, "__dlpack__") and not hasattr(x, "__array__"):
            return np.asarray(np.from_dlpack(x))
    except Error:
        raise
    except Exception as error:  # a library may raise any exception
        raise Error(f"{name} cannot be read as an array: {error}") from None
    return as_array(x, name)


def _is_foreign(part: Any) -> bool:
    """True for an array of a library other than numpy."""
    return not isinstance(part, (np.ndarray, np.generic)) and (
        hasattr(part, "__array__") or hasattr(part, "__dlpack__")
    )


def shape_samples(
    x: np.ndarray,
    what: str,
    shape: Shape,
    layout: Optional[str] = None,
    given: Optional[str] = None,
    default: Optional[str] = None,
    axes: Sequence[str] = ("N",),
) -> tuple[np.ndarray, bool]:
    """Return samples as an array [*axes, *shape], and true if x was a single sample.

    A single sample has no first axis. layout: of `shape`, if it is an image. given: the layout of
    x; without one its shape decides, and `default` if both fit. An axis of one channel may be
    missing, and each sample may be a batch of one. Raises Error for all further shapes.
    """
    forms = list(_list_forms(shape, layout, given))
    leads = (len(axes), len(axes) - 1)
    fits = [
        f for f in forms if x.ndim - len(f[1]) in leads and x.shape[-len(f[1]) or x.ndim :] == f[1]
    ]
    exact = [form for form in fits if form[1] == form[2]]
    taken = exact or fits
    if not taken and x.shape[len(axes) :] == (1, *shape):
        taken = [(layout, (1, *shape), shape)]
    if not taken:
        raise _make_shape_error(x, what, forms, axes)
    if len(exact) > 1 and 1 not in shape:
        taken = [form for form in exact if form[0] == default]
        if not taken:
            raise Error(
                f"{what} {list(x.shape)} fits the network as NHWC and as NCHW: give layout="
            )
    own, has, whole = taken[0]
    lead = x.ndim - len(has)
    single = lead < len(axes)
    x = x.reshape(*((1,) if single else ()), *x.shape[:lead], *whole)
    if own != layout:
        x = np.moveaxis(x, -3, -1) if layout == "NHWC" else np.moveaxis(x, -1, -3)
    return x, single


def expect_finite(x: np.ndarray, what: str) -> None:
    """Refuse NaN and infinite numbers, naming the sample."""
    if x.dtype.kind == "f" and not np.isfinite(x).all():
        bad = int(np.argwhere(~np.isfinite(x.reshape(len(x), -1)).all(1))[0, 0])
        found = "NaN" if np.isnan(x[bad]).any() else "infinite numbers"
        raise Error(
            f"sample {bad} of {what} contains {found}; samples must be finite: remove or replace it"
        )


#: Layout, a possible shape of a sample, and its complete shape.
Form = tuple[Optional[str], Shape, Shape]


def _list_forms(shape: Shape, layout: Optional[str], given: Optional[str]) -> Iterator[Form]:
    """Yield the network's own first."""
    if given is not None:
        one_of(("NHWC", "NCHW"), given, "layout")
    wholes: dict[Optional[str], Shape] = {layout: shape}
    if layout is not None:
        a, b, c = shape
        wholes.update({"NCHW": (c, a, b)} if layout == "NHWC" else {"NHWC": (b, c, a)})
        wholes = wholes if given is None else {given: wholes[given]}
    for name, whole in wholes.items():
        yield name, whole, whole
        for axis in (0, -1):
            if whole and whole[axis] == 1:
                yield name, whole[1:] if axis == 0 else whole[:-1], whole


def _make_shape_error(
    x: np.ndarray, what: str, forms: Sequence[Form], axes: Sequence[str]
) -> Error:
    wanted = dict.fromkeys((name, whole) for name, _, whole in forms)
    samples = " or ".join(f"{list(s)}{f' ({n})' if n else ''}" for n, s in wanted)
    steps = f" of {axes[1]} time steps each" if len(axes) > 1 else ""
    return Error(
        f"the network takes samples {samples}, one or a batch [{', '.join(axes)}, ...] of them"
        f"{steps}, but {what} has the shape {list(x.shape)}"
    )


@contextmanager
def naming_samples(name: Callable[[int], str], first: int = 0) -> Iterator[None]:
    """Name the sample of a LayerFault by its name in the data.

    name: of a sample, by its number in the data of the batch. first: number of the batch's first
    sample.
    """
    try:
        yield
    except LayerFault as fault:
        if fault.sample is None:
            raise
        parts = (fault.network, fault.layer, fault.reason, fault.sample + first, fault.time)
        raise LayerFault(*parts, name(fault.sample + first)) from None
