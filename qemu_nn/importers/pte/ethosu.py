"""Delegates of ExecuTorch's EthosUBackend: a program of the Ethos-U between kernels of the core."""

from __future__ import annotations

import numpy as np

from ...errors import ModelError
from ...ethosu.payload import Payload, read_payload
from ..arguments import SUFFIXES
from .building import Value
from .call import Converter, PteCall
from .program import ETHOS_U, FileTensor


def _find_tensors(call: PteCall, payload: Payload) -> list[FileTensor]:
    """Return the tensors of the payload's inputs, then of its outputs; their bytes must match."""
    ends = (*payload.inputs, *payload.outputs)
    call.expect(len(ends))
    tensors = [call.tensor(at) for at in range(len(ends))]
    for tensor, end in zip(tensors, ends):
        if tensor.nbytes != end.place.nbytes or tensor.dtype not in SUFFIXES:
            raise ModelError(
                f"{tensor} is {tensor.dtype} of {tensor.nbytes} bytes; its program has "
                f"{end.place.nbytes} bytes there"
            )
    return tensors


def convert_delegate(call: PteCall) -> None:
    """Convert a delegate: one call that runs its command stream, between copies of bytes."""
    payload = read_payload(call.instruction.payload, call.program.named_data)
    tensors = _find_tensors(call, payload)
    count, stem = len(payload.inputs), f"{ETHOS_U}_{call.instruction.index}"
    if not count:
        raise ModelError("its program has no inputs; it must have at least one")
    joined: list[Value] = []
    for at, tensor in enumerate(tensors[:count]):
        value, before = call.builder.read(tensor), sum(each.size for each in joined)
        size = value.size * np.dtype(value.dtype).itemsize
        params = {"length": value.size, "others": before}
        made = Value(f"{stem}/bytes{at}", "uint8", (before + size,))
        name = f"ethosu_append_{SUFFIXES[value.dtype]}"
        joined = [call.builder.call(name, params, [value, *joined], made)]
    program = payload.program
    params = program.params
    run = Value(f"{stem}/{program.stream.target}", "uint8", (params["out_bytes"],))
    arrays = (program.commands, program.constants)
    call.builder.call("ethosu_program", params, joined, run, *arrays)
    offset = 0
    for at, tensor in enumerate(tensors[count:]):
        name = stem if len(tensors) == count + 1 else f"{stem}_{at}"
        made = Value(name, tensor.dtype, tensor.shape, tensor.moved)
        params = {"length": made.size, "others": run.size, "offset": offset}
        call.builder.call(f"ethosu_take_{SUFFIXES[tensor.dtype]}", params, [run], made)
        call.builder.write(tensor, made)
        offset += tensor.nbytes


ETHOSU: dict[str, Converter] = {ETHOS_U: convert_delegate}
