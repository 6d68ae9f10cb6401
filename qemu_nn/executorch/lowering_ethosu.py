"""From a module to a program for an Ethos-U: ExecuTorch's Arm backend, which calls vela."""

from __future__ import annotations

import copy
import io
from collections.abc import Iterable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

from ..errors import Error
from ..io.optional_deps import require
from .libraries import import_library
from .lowering import read_samples

_ARM = "executorch.backends.arm"


def lower_for_ethosu(
    module: Any, example_inputs: Sequence[Any], calibration: Iterable[Any], npu: str
) -> bytes:
    """Return the .pte file of a module for an Ethos-U, of an NPU of targets.ETHOS_U.

    The backend quantizes to int8, with a scale for each channel of weights. Quantization at the
    ends, and what the backend leaves out, is computed by kernels of the core. Raises Error as
    lower() does, and if vela is missing.
    """
    examples, samples = read_samples(module, example_inputs, calibration)
    require("ethosu.vela", "ethosu", "compiling for an Ethos-U")
    module = copy.deepcopy(module).eval()
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):  # vela's text
            return _lower(module, examples, samples, npu)
    except Error:
        raise
    except Exception as error:
        said = str(error).strip().partition("\n")[0][:300] or type(error).__name__
        raise Error(f"ExecuTorch cannot lower {type(module).__name__} for {npu}: {said}") from error


def _lower(
    module: Any, examples: tuple[Any, ...], samples: list[tuple[Any, ...]], npu: str
) -> bytes:
    torch = import_library("torch")
    pt2e = import_library("torchao.quantization.pt2e.quantize_pt2e")
    exir = import_library("executorch.exir")
    backend = import_library(f"{_ARM}.ethosu")
    quantizers = import_library(f"{_ARM}.quantizer")
    passes = import_library("executorch.backends.cortex_m.passes.replace_quant_nodes_pass")
    spec = backend.EthosUCompileSpec(target=npu)
    quantizer = quantizers.EthosUQuantizer(spec)
    quantizer.set_global(quantizers.get_symmetric_quantization_config())
    exported = torch.export.export(module, examples).module(check_guards=False)
    prepared = pt2e.prepare_pt2e(exported, quantizer)
    for sample in samples:
        prepared(*sample)
    quantized = torch.export.export(pt2e.convert_pt2e(prepared), examples)
    partitioners = [backend.EthosUPartitioner(spec)]
    program = exir.to_edge_transform_and_lower(quantized, partitioner=partitioners)
    program = program.transform([passes.ReplaceQuantNodesPass()])
    return bytes(program.to_executorch().buffer)
