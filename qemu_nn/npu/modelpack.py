"""Models to files and back: .prototxt and .npz of a kit, and the .bin that a device loads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Optional, Union

import numpy as np

from ..errors import Error, ModelError
from ..io import files
from ..io.arrays import read_npz, write_npz
from ..runtime.session import Session
from ..targets import NPU
from .as_fixed import fixed_graph
from .check import warnings
from .integers import checked_width
from .layers import Layer, with_log_softmax
from .pack_format import encode
from .prototxt import read_layers, write_layers
from .unpack import decode

_TEXT_LIMIT = 16 * files.MEGABYTE
_PACK_LIMIT = 512 * files.MEGABYTE

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
        raise Error("param_dict needs a file; give fname_npz, too")
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


def modelpack(
    bitwidth: int,
    layer_list: Sequence[Layer],
    param_dict: Mapping[str, Any],
    out_file_path: PathLike,
    model_name: str = "model",
) -> None:
    """Write a quantized network as `<out_file_path>/<model_name>.bin`, docs/npu_pack.md.

    bitwidth: 8 or 16. out_file_path: a folder, made if it is not there. model_name: the manual
    has a default but its value is lost; here it is "model". A Softmax at the end is packed as a
    LogSoftmax, with a warning. Raises ModelError, before anything is written, for a limit of the
    hardware that the network breaks, and for what is not quantized.
    """
    bitwidth = checked_width("bitwidth", bitwidth)
    if not isinstance(model_name, str) or not model_name or set(model_name) & set("/\\\0"):
        raise Error(f"model_name must be a file name without a folder, is {model_name!r}")
    layers = with_log_softmax(layer_list)
    broken = warnings(layers, bitwidth=bitwidth)
    if broken:
        raise ModelError(f"the NPU cannot run this network: {broken[0]}")
    data = encode(bitwidth, layers, param_dict)
    Session(fixed_graph(layers, param_dict, bitwidth), NPU)  # the kernels check it, too
    folder = Path(out_file_path)
    files.make_folder(folder)
    files.write_bytes(folder / f"{model_name}.bin", data)


def modelpack_from_file(
    bitwidth: int,
    fname_prototxt: PathLike,
    fname_npz: PathLike,
    out_file_path: PathLike,
    model_name: str = "model",
) -> None:
    """modelpack() of what save_to_file() wrote; raises what both of them raise."""
    layers, params = load_from_file(fname_prototxt, fname_npz)
    modelpack(bitwidth, layers, params, out_file_path, model_name)


def load_pack(path: PathLike) -> tuple[int, list[Layer], dict[str, Any]]:
    """Bit width, layers and fixed-point parameters of a pack; they compute the same bits.

    A negative_slope comes back in the 64ths that the hardware has. Raises ModelError with the
    reason for a file that is truncated, damaged, of another version, or no pack at all.
    """
    return decode(files.read_bytes(Path(path), _PACK_LIMIT), Path(path).name)
