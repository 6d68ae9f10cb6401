"""ONNX files as layers."""

from __future__ import annotations

from pathlib import Path
from typing import Optional, Union

from ..wuqi.from_float import Loaded
from ..wuqi.loading import load


def load_from_onnx(
    fname_onnx: Union[str, Path], *, input: Optional[str] = None, output: Optional[str] = None
) -> Loaded:
    """Read an ONNX network as layers and float parameters.

    Parameters
    ----------
    fname_onnx : str or Path
        An .onnx file.
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
    The kit's manual, chapter 4.1.3.
    """
    return load(fname_onnx, None, input, output)
