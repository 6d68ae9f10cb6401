"""TensorFlow's and Keras's files as layers."""

from __future__ import annotations

from pathlib import Path
from typing import Optional, Union

from ..wuqi.from_float import Loaded
from ..wuqi.loading import load


def load_from_pb(
    fname_pb: Union[str, Path], *, input: Optional[str] = None, output: Optional[str] = None
) -> Loaded:
    """Read a frozen TensorFlow graph as layers and float parameters.

    Tensors have TensorFlow's names ("conv1/relu:0"), and biases are in the layers before them.

    Parameters
    ----------
    fname_pb : str or Path
        A frozen .pb file.
    input, output : str, optional
        Tensors of the file between which the network is cut out; default: its own ends.

    Returns
    -------
    layers : list of Layer
        The network, with channels first and explicit padding.
    params : dict of str to ndarray of float64
        LAYER_weight, in the layer's shape, and LAYER_bias, of shape (outputs,).

    Raises
    ------
    ModelError
        The file is missing or damaged, or the NPU has no layer for an operator; the sentence names
        it.

    References
    ----------
    The kit's manual, chapter 4.1.2.
    """
    return load(fname_pb, None, input, output)


def load_from_hdf5(
    fname_hdf5: Union[str, Path], *, input: Optional[str] = None, output: Optional[str] = None
) -> Loaded:
    """Read a Keras network as layers and float parameters.

    Parameters
    ----------
    fname_hdf5 : str or Path
        An .h5 or .hdf5 file.
    input, output : str, optional
        Tensors of the file between which the network is cut out; default: its own ends.

    Returns
    -------
    layers : list of Layer
        The network, with channels first and explicit padding.
    params : dict of str to ndarray of float64
        LAYER_weight, in the layer's shape, and LAYER_bias, of shape (outputs,).

    Raises
    ------
    ModelError
        The file is missing or damaged, or the NPU has no layer for an operator; the sentence names
        it.

    References
    ----------
    The kit's manual, chapter 4.1.2.
    """
    return load(fname_hdf5, None, input, output)
