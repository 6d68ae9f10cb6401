"""TensorFlow's and Keras's files as layers."""

from __future__ import annotations

from pathlib import Path
from typing import Union

from .from_float import Loaded
from .loading import load


def load_from_pb(fname_pb: Union[str, Path]) -> Loaded:
    """The layers and float parameters of a frozen .pb file; errors: see load()."""
    return load(fname_pb)


def load_from_hdf5(fname_hdf5: Union[str, Path]) -> Loaded:
    """The layers and float parameters of Keras's .h5 or .hdf5 file; errors: see load()."""
    return load(fname_hdf5)
