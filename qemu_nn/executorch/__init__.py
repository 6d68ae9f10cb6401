"""ExecuTorch's own workflow on PyTorch: what the device computes for each node of a program.

lower -- quantize a module for a core with ExecuTorch's own quantizer and passes

>>> from qemu_nn import executorch
>>> program = executorch.lower(module, (image,), calibration, target="cortex-m4")

run -- the device's integers of every node, by its name

>>> executorch.run(program, (image,), target="cortex-m4").nodes["cortex_m_quantized_add_default"]

compare -- each node against ExecuTorch's Python reference, or against what a board gave

>>> print(executorch.compare(program, (image,), target="cortex-m4"))

PyTorch and ExecuTorch are imported with the first call.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Optional, Union

from ..analysis.compare import Comparison
from ..api.network import Network, quantized
from ..errors import Error
from ..targets import Target
from .findings import Finder
from .lowering import lower
from .lowering_ethosu import lower_for_ethosu, name_nodes
from .program import Result, load_lowered
from .reference import reference

__all__ = ["Result", "assert_same", "compare", "from_pytorch", "lower", "run"]


def from_pytorch(
    module: Any,
    example_inputs: Sequence[Any],
    calibration: Iterable[Any],
    target: Union[str, Target] = "cortex-m55",
    explicit_layout: bool = False,
) -> Network:
    """Quantize a PyTorch module as ExecuTorch does for a device, and load the result.

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
        A core ("m4") or a chip ("stm32f411"), for which the program is made; or an NPU of
        targets.ETHOS_U, "ethos-u55-128": then ExecuTorch's Arm backend and vela compile it.
    explicit_layout : bool, default False
        Use ExecuTorch's experimental passes with layouts as operators, which also lower
        convolutions of one dimension.

    Returns
    -------
    Network
        The network, as load() gives it from the .pte file that ExecuTorch would write.

    Raises
    ------
    Error
        An argument has another type, there is no calibration data, PyTorch or ExecuTorch is
        missing, or ExecuTorch cannot lower the module.
    ModelError
        The lowered program has operators that are not supported; the sentence names them.

    Examples
    --------
    >>> network = from_pytorch(module, (image,), images, target="cortex-m4")
    >>> network.predict(image, target="cortex-m4")
    """
    npu, name = Target.of(target).npu, type(module).__name__
    if npu is None:
        program = lower(module, example_inputs, calibration, target, explicit_layout)
        return load_lowered(program, name).network
    if explicit_layout:
        raise Error(f"explicit_layout is for a Cortex-M, and {npu} is an NPU: leave it out")
    with tempfile.TemporaryDirectory() as given:
        folder = Path(given)
        content = lower_for_ethosu(module, example_inputs, calibration, npu, folder)
        network = quantized(content)
        graph = name_nodes(network.graph, npu, folder)
    return replace(network, graph=replace(graph, name=name))


def run(program: Any, inputs: Any, target: Union[str, Target] = "cortex-m55") -> Result:
    """Compute what a device computes for every node of a lowered program, bit for bit.

    Parameters
    ----------
    program : executorch.exir.EdgeProgramManager or torch.export.ExportedProgram
        A program after the passes of the cortex_m backend, with `cortex_m::` operators; it is not
        changed.
    inputs : torch.Tensor or array_like, or a sequence of these
        What the program's method "forward" takes, in its logical shapes.
    target : str or Target, default "cortex-m55"
        A core ("m4") or a chip ("stm32f411").

    Returns
    -------
    Result
        Outputs, and the value of each node.

    Raises
    ------
    Error
        The inputs do not fit, the device could not run the program, or ExecuTorch is missing.
    ModelError
        The program has operators that are not supported; the sentence names them.

    Warns
    -----
    DeviceWarning
        The program was lowered for another core, and the device computes something else.
    """
    return load_lowered(program).run(inputs, target)


def compare(
    program: Any,
    inputs: Any,
    recorded: Optional[Mapping[str, Any]] = None,
    target: Union[str, Target] = "cortex-m55",
) -> Comparison:
    """Compare each node with the device's result, with tolerance 0.

    Parameters
    ----------
    program, inputs, target
        As run() takes them.
    recorded : mapping of str to torch.Tensor or array_like, optional
        What a board or a simulator computed, by names of nodes. Default: ExecuTorch's Python
        reference of each operator, given what the device has in its inputs: so each node that
        differs does so by itself.

    Returns
    -------
    Comparison
        A finding for each node, in program order, with the likely cause of a difference; print()
        shows it. "got" is what was recorded, "want" what the device computes.

    Raises
    ------
    Error
        As run(), and for a recorded name that no node has.
    """
    device = load_lowered(program)
    own = device.run(inputs, target).nodes
    known = recorded is None
    if recorded is None:
        recorded = reference(device, inputs, own)
    strange = [str(name) for name in recorded if name not in own]
    if strange:
        raise Error(
            f"no instruction is made for {', '.join(strange[:5])}; the nodes are: "
            f"{', '.join(list(own)[:8])}, ..."
        )
    finder = Finder(device, inputs, target, own, known)
    findings = [finder.compare_node(name, recorded[name]) for name in own if name in recorded]
    missing = tuple(name for name in own if name not in recorded)
    return Comparison(tuple(findings), missing, nodes=True)


def assert_same(
    program: Any,
    inputs: Any,
    recorded: Optional[Mapping[str, Any]] = None,
    target: Union[str, Target] = "cortex-m55",
) -> None:
    """Fail a test if a node differs from the device's result, with compare()'s diagnosis.

    Parameters
    ----------
    program, inputs, recorded, target
        As compare() takes them.

    Raises
    ------
    AssertionError
        A node differs; the text has the first element, how many differ, and the likely cause.
    Error
        As compare().
    """
    __tracebackhide__ = True
    comparison = compare(program, inputs, recorded, target)
    if not comparison.same:
        differ = replace(comparison, findings=tuple(f for f in comparison.findings if not f.same))
        raise AssertionError(f"{differ}\nof {len(comparison.findings)} nodes that were compared")
