"""From a module to a program: ExecuTorch's quantizer and passes for Cortex-M."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any, Union

from ..errors import Error
from ..io.arguments import format_value
from ..targets import Target
from .libraries import import_library


def lower(
    module: Any,
    example_inputs: Sequence[Any],
    calibration: Iterable[Any],
    target: Union[str, Target] = "cortex-m55",
    explicit_layout: bool = False,
) -> Any:
    """Quantize and lower a module with ExecuTorch's Cortex-M quantizer and passes.

    Images have their channels last in memory, as the backend requires.

    Parameters
    ----------
    module : torch.nn.Module
        A float network; it is not changed.
    example_inputs : torch.Tensor or sequence of torch.Tensor
        What the module takes, of the shapes that the program is for.
    calibration : iterable
        Samples from which the quantizer takes ranges: each a sequence of tensors as
        example_inputs, or a tensor where there is one input.
    target : str or Target, default "cortex-m55"
        A core ("m4") or a chip ("stm32f411"), for which the program is made.
    explicit_layout : bool, default False
        Use ExecuTorch's experimental passes with layouts as operators, which also lower
        convolutions of one dimension.

    Returns
    -------
    executorch.exir.EdgeProgramManager
        The program; its to_executorch() makes the .pte file for the device.

    Raises
    ------
    Error
        An argument has another type, there is no calibration data, PyTorch or ExecuTorch is
        missing, or ExecuTorch cannot lower the module.
    """
    torch = import_library("torch")
    example, given = read_samples(module, example_inputs, calibration)
    examples = _move_channels_last(torch, example)
    samples = [_move_channels_last(torch, sample) for sample in given]
    config = _target_config(target)
    module = copy.deepcopy(module).eval().to(memory_format=torch.channels_last)
    try:
        return _lower_program(torch, module, examples, samples, config, explicit_layout)
    except Error:
        raise
    except Exception as error:
        said = str(error).strip().partition("\n")[0][:300] or type(error).__name__
        raise Error(f"ExecuTorch cannot lower {type(module).__name__}: {said}") from error


def _lower_program(
    torch: Any,
    module: Any,
    examples: tuple[Any, ...],
    samples: list[Any],
    config: Any,
    explicit: bool,
) -> Any:
    pt2e = import_library("torchao.quantization.pt2e.quantize_pt2e")
    exir = import_library("executorch.exir")
    edge = import_library("executorch.backends.cortex_m.edge_compile_config")
    quantizer = import_library("executorch.backends.cortex_m.quantizer.quantizer")
    passes = import_library("executorch.backends.cortex_m.passes.cortex_m_pass_manager")
    exported = torch.export.export(module, examples)
    prepared = pt2e.prepare_pt2e(
        exported.module(check_guards=False),
        quantizer.CortexMQuantizer(use_explicit_layout=explicit),
    )
    for sample in samples:
        prepared(*sample)
    quantized = torch.export.export(pt2e.convert_pt2e(prepared), examples)
    settings = edge.cortex_m_edge_compile_config()
    program = exir.to_edge(quantized, compile_config=settings).exported_program()
    manager = passes.CortexMPassManager(program, target_config=config, use_explicit_layout=explicit)
    return exir.EdgeProgramManager(manager.transform(), compile_config=settings)


def _target_config(target: Union[str, Target]) -> Any:
    """ExecuTorch's words for a core."""
    configs = import_library("executorch.backends.cortex_m.target_config")
    core = Target.of(target).core
    try:
        return configs.CortexMTargetConfig.from_target_string(core.replace("m0+", "m0plus"))
    except ValueError:
        raise Error(f"ExecuTorch's Cortex-M backend has no {core}") from None


def read_samples(
    module: Any, example_inputs: Sequence[Any], calibration: Iterable[Any]
) -> tuple[tuple[Any, ...], list[tuple[Any, ...]]]:
    """Return the tensors of the example and of each sample; raise Error for other types."""
    torch = import_library("torch")
    if not isinstance(module, torch.nn.Module):
        raise Error(f"module is {format_value(module)}, but must be a torch.nn.Module")
    examples = _as_tensors(torch, example_inputs, "example_inputs")
    samples = [_as_tensors(torch, sample, "a calibration sample") for sample in calibration]
    if not samples:
        raise Error("calibration has no samples; give some, each as example_inputs")
    return examples, samples


def _as_tensors(torch: Any, inputs: Any, what: str) -> tuple[Any, ...]:
    """Return the tensors of a sample."""
    parts = (inputs,) if isinstance(inputs, torch.Tensor) else inputs
    if not isinstance(parts, (list, tuple)) or not parts:
        raise Error(f"{what} must be a tensor or a sequence of tensors, not {format_value(inputs)}")
    for part in parts:
        if not isinstance(part, torch.Tensor):
            raise Error(
                f"{what} contains {format_value(part)}, which is no tensor: give tensors only"
            )
    return tuple(parts)


def _move_channels_last(torch: Any, parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return tensors, images with their channels last in memory."""
    last = torch.channels_last
    return tuple(p.to(memory_format=last) if p.dim() == 4 else p for p in parts)
