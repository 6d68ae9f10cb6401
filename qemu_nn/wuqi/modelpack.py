"""Files of models: .prototxt and .npz of the kit, and the .bin that a device loads."""

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
from .as_fixed import make_fixed_graph
from .check import list_warnings
from .integers import check_width
from .kit_arguments import check_arguments
from .layers import Layer, replace_softmax
from .pack_format import encode
from .prototxt import read_layers, write_layers
from .unpack import decode

_TEXT_LIMIT = 16 * files.MEGABYTE
_PACK_LIMIT = 512 * files.MEGABYTE

PathLike = Union[str, Path]


@check_arguments
def save_to_file(
    layer_list: Sequence[Layer],
    fname_prototxt: PathLike,
    param_dict: Optional[Mapping[str, Any]] = None,
    fname_npz: Optional[PathLike] = None,
) -> None:
    """Write the layers as text, and the parameters as arrays.

    Parameters
    ----------
    layer_list : sequence of Layer
        The network.
    fname_prototxt : str or Path
        The text file to write.
    param_dict : mapping of str to object, optional
        Parameters, float or fixed-point.
    fname_npz : str or Path, optional
        The file to write them to.

    Raises
    ------
    Error
        Parameters are given without a file, or a file cannot be written.

    References
    ----------
    The kit's manual, chapter 4.6.1.
    """
    if param_dict is not None and fname_npz is None:
        raise Error("param_dict is given without its file: give fname_npz, too")
    files.write_bytes(Path(fname_prototxt), write_layers(layer_list).encode("utf-8"))
    if param_dict is not None and fname_npz is not None:
        write_npz(fname_npz, {key: np.asarray(value) for key, value in param_dict.items()})


def load_from_file(
    fname_prototxt: PathLike, fname_npz: PathLike
) -> tuple[list[Layer], dict[str, Any]]:
    """Read the files of save_to_file().

    Parameters
    ----------
    fname_prototxt : str or Path
        The text file of the layers.
    fname_npz : str or Path
        The arrays of the parameters.

    Returns
    -------
    layers : list of Layer
        The network.
    params : dict of str to object
        Its parameters.

    Raises
    ------
    ModelError
        The text is not a list of layers; the sentence names the line.
    Error
        The arrays cannot be read.

    References
    ----------
    The kit's manual, chapter 4.6.2.
    """
    try:
        text = files.read_bytes(Path(fname_prototxt), _TEXT_LIMIT).decode("utf-8")
    except UnicodeDecodeError:
        raise ModelError(f"{fname_prototxt} is not UTF-8 text: save it as UTF-8") from None
    params = {key: _to_plain_number(value) for key, value in read_npz(fname_npz).items()}
    return read_layers(text, str(fname_prototxt)), params


def _to_plain_number(value: np.ndarray) -> Any:
    """Return a saved scalar as a Python number."""
    return value.item() if value.ndim == 0 else value


@check_arguments
def modelpack(
    bitwidth: int,
    layer_list: Sequence[Layer],
    param_dict: Mapping[str, Any],
    out_file_path: PathLike,
    model_name: str = "model",
) -> None:
    """Write a quantized network as `<out_file_path>/<model_name>.bin`, which the SDK loads.

    A Softmax at the end is packed as a LogSoftmax, with a printed warning.

    Parameters
    ----------
    bitwidth : {8, 16}
        The width of weights and features.
    layer_list : sequence of Layer
        The network.
    param_dict : mapping of str to object
        Its fixed-point parameters, as quantize_model() returns them.
    out_file_path : str or Path
        A folder, which is created where it is missing.
    model_name : str, default "model"
        The name of the file without its ending.

    Raises
    ------
    ModelError
        The network breaks a limit of the hardware or is not quantized; nothing is written.
    Error
        The bit width or the name is wrong, or the file cannot be written.

    Notes
    -----
    docs/npu_pack.md describes the file. The format is this project's own: a chip cannot read it.

    References
    ----------
    The kit's manual, chapter 4.4.
    """
    bitwidth = check_width("bitwidth", bitwidth)
    if not isinstance(model_name, str) or not model_name or set(model_name) & set("/\\\0"):
        raise Error(f"model_name is {model_name!r}, but must be a file name without a folder")
    if model_name.lower().endswith(".bin"):
        raise Error(f"model_name is {model_name!r}, but must be a name without the ending .bin")
    layers = replace_softmax(layer_list)
    broken = list_warnings(layers, bitwidth=bitwidth)
    if broken:
        raise ModelError(f"the NPU cannot run this network: {broken[0]}")
    data = encode(bitwidth, layers, param_dict)
    Session(make_fixed_graph(layers, param_dict, bitwidth), NPU)  # the kernels check it as well
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
    """Pack the files of save_to_file(), as modelpack() does.

    Parameters
    ----------
    bitwidth : {8, 16}
        The width of weights and features.
    fname_prototxt, fname_npz : str or Path
        The files of save_to_file().
    out_file_path : str or Path
        A folder, which is created where it is missing.
    model_name : str, default "model"
        The name of the file without its ending.

    Raises
    ------
    ModelError
        A file cannot be read, or modelpack() refuses the network.
    Error
        See load_from_file() and modelpack().

    References
    ----------
    The kit's manual, chapter 4.4.
    """
    layers, params = load_from_file(fname_prototxt, fname_npz)
    modelpack(bitwidth, layers, params, out_file_path, model_name)


def load_pack(path: PathLike) -> tuple[int, list[Layer], dict[str, Any]]:
    """Read a packed network back; it computes the same bits.

    A negative_slope is read as the hardware's multiple of 1/64.

    Parameters
    ----------
    path : str or Path
        A .bin file of modelpack().

    Returns
    -------
    bitwidth : int
        8 or 16.
    layers : list of Layer
        The network.
    params : dict of str to object
        Its fixed-point parameters.

    Raises
    ------
    ModelError
        The file is truncated, damaged, of another version, or not a packed network.
    """
    return decode(files.read_bytes(Path(path), _PACK_LIMIT), Path(path).name)
