"""Caffe's files as layers."""

from __future__ import annotations

from pathlib import Path
from typing import Union

from ..wuqi.from_float import Loaded
from ..wuqi.loading import load


def load_from_caffemodel(
    fname_prototxt: Union[str, Path], fname_caffemodel: Union[str, Path]
) -> Loaded:
    """Read a Caffe network as layers and float parameters.

    Parameters
    ----------
    fname_prototxt : str or Path
        The .prototxt of the network.
    fname_caffemodel : str or Path
        The .caffemodel with its weights.

    Returns
    -------
    layers : list of Layer
        The network, with channels first and explicit padding.
    params : dict of str to ndarray of float64
        LAYER_weight, in the layer's shape, and LAYER_bias, of shape (outputs,).

    Raises
    ------
    ModelError
        A file is missing or damaged, or the NPU has no layer for an operator; the sentence names
        it.

    References
    ----------
    The kit's manual, chapter 4.1.1.
    """
    return load(fname_prototxt, fname_caffemodel)
