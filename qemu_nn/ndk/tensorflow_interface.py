"""TensorFlow's and Keras's files as layers."""

from __future__ import annotations

from pathlib import Path
from typing import Optional, Union

from ..npu.from_float import Loaded
from ..npu.loading import load


def load_from_pb(
    fname_pb: Union[str, Path], *, input: Optional[str] = None, output: Optional[str] = None
) -> Loaded:
    """The layers and float parameters of a frozen .pb file; the rest: see load().

    Tensors have TensorFlow's names ("conv1/relu:0"), and biases are in the layers before them.
    """
    return load(fname_pb, None, input, output)


def load_from_hdf5(
    fname_hdf5: Union[str, Path], *, input: Optional[str] = None, output: Optional[str] = None
) -> Loaded:
    """The layers and float parameters of Keras's .h5 or .hdf5 file; the rest: see load()."""
    return load(fname_hdf5, None, input, output)
