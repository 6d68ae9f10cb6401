"""ExecuTorch: programs of the cortex_m backend from .pte files, as on the device."""

from __future__ import annotations

import math
import re
from collections.abc import Container
from dataclasses import replace
from pathlib import Path
from typing import Optional

from ...errors import Error, ModelError
from ...ir.graph import Graph, Tensor
from ...ir.model_file import ModelFile
from ..arguments import SUFFIXES
from .building import PteBuilder, Value, scratch
from .call import Converter, PteCall
from .cortex_m import CORTEX_M
from .ethosu import ETHOSU
from .float32 import REAL
from .images import IMAGES
from .portable import PORTABLE
from .program import ETHOS_U, FileTensor, Instruction, Program

#: Operator -> function that adds its calls to a network.
CONVERTERS: dict[str, Converter] = {**CORTEX_M, **PORTABLE, **REAL, **IMAGES, **ETHOSU}

#: Operators that no firmware can load, because ExecuTorch's portable library lacks them.
_MISSING = ("aten::linear.out", "aten::hardswish.out", "aten::hardsigmoid.out")


def read(path: Path, method: str = "forward") -> ModelFile:
    """Read the network of one method of a program, with notes.

    Its calls are those of CMSIS-NN, and functions of ours for ExecuTorch's own kernels. A sample is
    the method's input, its tensors in the device's memory layout. The name of a call is its
    operator and the number of its instruction. Raises ModelError with one sentence for a damaged
    file, or for unsupported content.
    """
    try:
        program = Program(path, method)
        return ModelFile(_network(program), notes=_notes(program))
    except Error as error:
        raise ModelError(f"{path.name}: {error}") from None


#: Number of an instruction -> the value of each tensor that it writes; None if no call computes it.
Results = dict[int, tuple[Optional[Value], ...]]


def load_with_results(path: Path) -> tuple[Graph, Results]:
    """Return the network of the method "forward", and the values written by each instruction.
    Raises as read().

    Raises as read().
    """
    results: Results = {}
    try:
        return _network(Program(path, "forward"), results), results
    except Error as error:
        raise ModelError(f"{path.name}: {error}") from None


def _network(program: Program, results: Optional[Results] = None) -> Graph:
    _check_names(program)
    builder, inputs = PteBuilder(program), []
    for number, index in enumerate(program.inputs):
        inputs.append(_input(builder, program.value(index), f"input{number}"))
    for instruction in program.instructions:
        try:
            for tensor in scratch(program, instruction):
                builder.forget(tensor)
            CONVERTERS[instruction.name](PteCall(instruction, program, builder))
        except Error as error:
            raise ModelError(f"{instruction}: {error}") from None
        if results is not None:
            results[instruction.index] = _find_written(program, builder, instruction)
    outputs = []
    for index in program.outputs:
        tensor = program.value(index)
        if not isinstance(tensor, FileTensor):
            raise ModelError(f"its output {index} is no tensor")
        value = builder.read(tensor)
        if any(value.name == start.name for start in inputs):
            raise ModelError("one of its outputs is its input; every output must be computed")
        outputs.append(builder.copy_value(value) if value.name in outputs else value.name)
    _tell_formats(program, builder, outputs)
    return Graph(
        name=program.name,
        inputs=tuple(inputs),
        nodes=tuple(builder.nodes),
        outputs=tuple(outputs),
        arrays=builder.arrays,
    )


def _notes(program: Program) -> tuple[str, ...]:
    planned = sum(program.arenas)
    if planned <= 0:
        return ()
    return (
        f"the program itself plans {planned:,} bytes for its tensors, besides the needs "
        "of ExecuTorch's runtime; all other figures of memory are those of C without that "
        "runtime",
    )


def _tell_formats(program: Program, builder: PteBuilder, outputs: list[str]) -> None:
    """Give outputs of integers the formats that methods without calls say."""
    for number, name in enumerate(outputs):
        scale, zero = (
            program.run_constant_method(f"output{number}_{what}") for what in ("scale", "zp")
        )
        for at, node in enumerate(builder.nodes):
            tensor = node.output
            if node.name != name or tensor.scale is not None or scale is None or zero is None:
                continue
            if tensor.dtype in ("int8", "int16") and 0 < scale < math.inf and abs(zero) < 2**15:
                told = replace(tensor, scale=scale, zero_point=int(zero))
                builder.nodes[at] = replace(node, output=told)


def _find_written(
    program: Program, builder: PteBuilder, instruction: Instruction
) -> tuple[Optional[Value], ...]:
    """Return the values of an instruction's results: the last of its arguments."""
    made = program.value(instruction.args[-1])
    found: list[Optional[Value]] = []
    for tensor in made if isinstance(made, list) else [made]:
        try:
            found.append(builder.read(tensor))
        except Error:  # such as unread indices
            found.append(None)
    return tuple(found)


def _input(builder: PteBuilder, tensor: object, name: str) -> Tensor:
    if not isinstance(tensor, FileTensor) or not tensor.nbytes or tensor.dtype not in SUFFIXES:
        raise ModelError(f"its {name} is no tensor of a supported type")
    builder.write(tensor, Value(name, tensor.dtype, tensor.shape, tensor.moved))
    return Tensor(name, tensor.shape or (1,), tensor.dtype, order=tensor.moved)


def _check_names(program: Program) -> None:
    """Refuse all operators that are not supported, at once."""
    names = dict.fromkeys(instruction.name for instruction in program.instructions)
    unknown = [name for name in names if name not in CONVERTERS]
    absent = [name for name in unknown if name in _MISSING]
    if absent:
        raise ModelError(
            f"no device can load it: ExecuTorch's portable kernels lack {', '.join(absent)}; "
            "write the model so that the cortex_m passes lower them, and torch.nn.LSTM and GRU as "
            "steps of torch.nn.Linear (docs/importing.md)"
        )
    if unknown:
        text = ", ".join(re.sub(r"[^\w:.]", "?", name) for name in unknown[:20])
        raise ModelError(f"it has operators that are not supported: {text}. {_explain(names)}")


def _explain(names: Container[str]) -> str:
    """Return how a program comes to have operators of aten, and what to do."""
    if ETHOS_U in names:
        return "Those of aten were left to the core by the Arm backend: change the module there"
    return (
        "Those of aten were not lowered by the cortex_m passes: quantize the model with "
        "CortexMQuantizer before it is lowered"
    )
