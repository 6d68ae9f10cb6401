"""Models to files and back: .prototxt for the layers, .npz for the parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Optional, Union

import numpy as np

from .. import files
from ..arrays import read_npz, write_npz
from ..errors import Error, ModelError
from .layers import Layer
from .prototxt import read_layers, write_layers

_TEXT_LIMIT = 16 * files.MEGABYTE

PathLike = Union[str, Path]


def save_to_file(
    layer_list: Sequence[Layer],
    fname_prototxt: PathLike,
    param_dict: Optional[Mapping[str, Any]] = None,
    fname_npz: Optional[PathLike] = None,
) -> None:
    """Write the layers as text, and the parameters, if given, as arrays.

    Raises Error where parameters are given without a file for them.
    """
    if param_dict is not None and fname_npz is None:
        raise Error("param_dict is given, but no fname_npz to write it to")
    files.write_bytes(Path(fname_prototxt), write_layers(layer_list).encode("utf-8"))
    if param_dict is not None and fname_npz is not None:
        write_npz(fname_npz, {key: np.asarray(value) for key, value in param_dict.items()})


def load_from_file(
    fname_prototxt: PathLike, fname_npz: PathLike
) -> tuple[list[Layer], dict[str, Any]]:
    """The layers and parameters that save_to_file() wrote, equal to what they were.

    Raises ModelError for anything else in the text, Error for other arrays.
    """
    try:
        text = files.read_bytes(Path(fname_prototxt), _TEXT_LIMIT).decode("utf-8")
    except UnicodeDecodeError:
        raise ModelError(f"{fname_prototxt} is not UTF-8 text") from None
    params = {key: _plain(value) for key, value in read_npz(fname_npz).items()}
    return read_layers(text, str(fname_prototxt)), params


def _plain(value: np.ndarray) -> Any:
    """A number where a number was saved."""
    return value.item() if value.ndim == 0 else value
