"""Programs of Arm's Ethos-U without a model: vela's raw .npz, and ExecuTorch's payload."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import Any, Optional

import numpy as np

from ..errors import Error, ModelError
from ..ethosu.payload import End, Payload, is_payload, read_payload, read_raw
from ..functions import NETWORK_FUNCTIONS
from ..io.archive import open_archive
from ..io.files import read_bytes
from ..ir.graph import Graph, Node, Tensor
from ..ir.model_file import ModelFile
from .arguments import SUFFIXES

#: Most bytes of a file.
_FILE_LIMIT = 2**28

#: Names of the arrays that are read; those of quantization are pickles, which are not.
_ARRAYS = (
    *("cmd_data", "weight_data", "scratch_size", "scratch_fast_size"),
    *(f"{kind}_{name}" for kind in ("input", "output")
      for name in ("shape", "elem_size", "region", "offset")),
)  # fmt: skip


def read(path: Path) -> ModelFile:
    """Read a program; raise ModelError if the file is damaged.

    Its inputs and outputs are integers without a scale.
    """
    try:
        return ModelFile(build_graph(path.stem, read_program(path)))
    except Error as error:
        raise ModelError(f"{path.name}: {error}") from None


def read_program(path: Path) -> Payload:
    """Return the program of vela's raw output, or of ExecuTorch's payload."""
    start = read_bytes(path, _FILE_LIMIT)
    return read_payload(start) if is_payload(start) else _read_npz(path)


def _read_npz(path: Path) -> Payload:
    with open_archive(path) as archive:
        missing = [name for name in _ARRAYS if f"{name}.npy" not in archive.names]
        if missing:
            raise ModelError(
                "it has arrays and no network; of networks, only vela's raw output is .npz, and "
                f"this lacks {', '.join(missing[:3])}"
            )
        return read_raw({name: _parse(archive.read(f"{name}.npy")) for name in _ARRAYS})


def _parse(data: bytes) -> Any:
    try:
        return np.load(io.BytesIO(data), allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise ModelError(f"one of its arrays is damaged: {error}") from None


def build_graph(name: str, payload: Payload) -> Graph:
    """Return the network of a program: one call that runs it, after and before copies of bytes."""
    inputs = tuple(_tensor(f"input_{at}", end) for at, end in enumerate(payload.inputs))
    if not inputs:
        raise ModelError("its program has no inputs; it must have at least one")
    nodes, joined = [], ""
    for at, (tensor, end) in enumerate(zip(inputs, payload.inputs)):
        before = sum(each.place.nbytes for each in payload.inputs[:at])
        params = {"length": math.prod(tensor.shape), "others": before}
        made = Tensor(f"{tensor.name}/bytes", (before + end.place.nbytes,), "uint8")
        given = (tensor.name, joined) if joined else (tensor.name,)
        nodes.append(_node(f"ethosu_append_{SUFFIXES[end.dtype]}", params, given, made))
        joined = made.name
    program = payload.program
    run = Tensor(program.stream.target, (program.params["out_bytes"],), "uint8")
    names = ("weights", "bias")
    nodes.append(_node("ethosu_program", program.params, (joined,), run, *names))
    offset = 0
    for at, end in enumerate(payload.outputs):
        made = _tensor(f"output_{at}", end)
        params = {
            "length": math.prod(made.shape),
            "others": program.params["out_bytes"],
            "offset": offset,
        }
        nodes.append(_node(f"ethosu_take_{SUFFIXES[end.dtype]}", params, (run.name,), made))
        offset += end.place.nbytes
    outputs = tuple(f"output_{at}" for at in range(len(payload.outputs)))
    arrays = dict(zip(names, (program.commands, program.constants)))
    return Graph(name, inputs, tuple(nodes), outputs, arrays)


def _tensor(name: str, end: End) -> Tensor:
    return Tensor(name, end.shape, end.dtype)


def _node(
    function: str,
    params: dict[str, int],
    inputs: tuple[str, ...],
    made: Tensor,
    weights: Optional[str] = None,
    bias: Optional[str] = None,
) -> Node:
    declared = NETWORK_FUNCTIONS[function]
    return Node(declared, declared.parse_params(params), inputs, made, weights, bias)
