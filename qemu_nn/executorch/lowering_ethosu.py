"""From a module to a program for an Ethos-U: ExecuTorch's Arm backend, which calls vela."""

from __future__ import annotations

import copy
import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import Error
from ..ethosu.record import find_record
from ..importers.ethosu import read_program
from ..importers.tosa_names import name_by_tosa
from ..io.optional_deps import require
from ..ir.graph import Graph
from ..runtime.npu import list_programs
from .libraries import import_library
from .lowering import read_samples

_ARM = "executorch.backends.arm"

#: The backend's types of a quantized module: 8 bits, with a scale for each channel of weights.
INT8 = "get_symmetric_quantization_config"


def lower_for_ethosu(
    module: Any,
    example_inputs: Sequence[Any],
    calibration: Iterable[Any],
    npu: str,
    folder: Path,
    configuration: str = INT8,
) -> bytes:
    """Return the .pte file of a module for an Ethos-U, of an NPU of targets.ETHOS_U.

    folder: for the backend's TOSA files, which name_nodes() reads. configuration: the backend's
    function that returns the types of a quantized module.

    Quantization at the ends, and what the backend leaves out, is computed by kernels of the core.
    Raises Error as lower() does, and if vela is missing.
    """
    examples, samples = read_samples(module, example_inputs, calibration)
    require("ethosu.vela", "ethosu", "compiling for an Ethos-U")
    module = copy.deepcopy(module).eval()
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):  # vela's text
            return _lower(module, examples, samples, npu, folder, configuration)
    except Error:
        raise
    except Exception as error:
        said = str(error).strip().partition("\n")[0][:300] or type(error).__name__
        raise Error(f"ExecuTorch cannot lower {type(module).__name__} for {npu}: {said}") from error


def _lower(
    module: Any,
    examples: tuple[Any, ...],
    samples: list[tuple[Any, ...]],
    npu: str,
    folder: Path,
    configuration: str,
) -> bytes:
    torch = import_library("torch")
    pt2e = import_library("torchao.quantization.pt2e.quantize_pt2e")
    exir = import_library("executorch.exir")
    backend = import_library(f"{_ARM}.ethosu")
    quantizers = import_library(f"{_ARM}.quantizer")
    passes = import_library("executorch.backends.cortex_m.passes.replace_quant_nodes_pass")
    spec = backend.EthosUCompileSpec(target=npu)
    spec.dump_intermediate_artifacts_to(str(folder))
    spec.dump_debug_info(spec.DebugMode.TOSA)  # nodes of the program, in the TOSA files
    quantizer = quantizers.EthosUQuantizer(spec)
    quantizer.set_global(getattr(quantizers, configuration)())
    exported = torch.export.export(module, examples).module(check_guards=False)
    prepared = pt2e.prepare_pt2e(exported, quantizer)
    for sample in samples:
        prepared(*sample)
    quantized = torch.export.export(pt2e.convert_pt2e(prepared), examples)
    partitioners = [backend.EthosUPartitioner(spec)]
    program = exir.to_edge_transform_and_lower(quantized, partitioner=partitioners)
    program = program.transform([passes.ReplaceQuantNodesPass()])
    return bytes(program.to_executorch().buffer)


def name_nodes(graph: Graph, npu: str, folder: Path) -> Graph:
    """Return the network whose streams name their tensors by nodes of the exported program.

    folder: of lower_for_ethosu(). The backend writes all its TOSA files, and vela's record of the
    last one only, so vela compiles each file again. A stream without an equal one stays as it is.
    """
    pairs = [
        (read_program(compiled).program, tosa, find_record(compiled))
        for tosa, compiled in compile_again(folder, npu)
    ]
    for node in list_programs(graph):
        stream = graph.arrays[node.weights or ""].view("<u4")
        constants = graph.arrays[node.bias or ""]
        for at, (program, tosa, record) in enumerate(pairs):
            words = program.stream.words
            same = np.array_equal(stream[-words.size :], words)
            if record and same and np.array_equal(constants, program.constants):
                graph = name_by_tosa(graph, [node], tosa, record)
                del pairs[at]
                break
    return graph


def compile_again(folder: Path, npu: str) -> Iterator[tuple[Path, Path]]:
    """Yield the backend's TOSA files and vela's raw output, with a record next to it."""
    vela = import_library("ethosu.vela.vela")
    flags = import_library(f"{_ARM}.ethosu").EthosUCompileSpec(target=npu).compiler_flags
    for tosa in sorted(folder.glob("output*.tosa")):
        own = folder / tosa.stem
        given = [*flags, "--enable-debug-db", "--verbose-performance", f"--output-dir={own}"]
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            vela.main([*given, str(tosa)])
        yield tosa, own / f"{tosa.stem}_vela.npz"
