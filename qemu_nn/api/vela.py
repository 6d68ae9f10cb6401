"""Compilation of .tflite files for Arm's Ethos-U by the installed vela."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Optional, Union

from ..errors import Error
from ..ethosu.record import read_reasons
from ..io.arguments import as_path, one_of
from ..io.optional_deps import require
from ..io.stages import announce
from ..ir.original import CORE, CompiledOperator
from ..runtime.npu import list_programs
from ..targets import ETHOS_U
from .network import Network, attach_original, load_quantized

#: Strategies of vela.
STRATEGIES = ("Performance", "Size")

#: Characters of vela's error text that an error quotes.
_QUOTED = 300


def vela(
    path: Union[str, Path],
    target: str,
    *,
    optimise: str = "Performance",
    output: Optional[Union[str, Path]] = None,
) -> Network:
    """Compile a .tflite file for an Ethos-U with the installed vela, and load the result.

    The network computes what the NPU computes, and its operations have the names of the file's
    operators. `network.original` is the file's own network: variants() compares the two, and
    analyze() compares the NPU with the float meaning of the file.

    Parameters
    ----------
    path : str or Path
        A quantized .tflite file.
    target : str
        An NPU of targets.ETHOS_U, such as "ethos-u55-128".
    optimise : {"Performance", "Size"}, default "Performance"
        vela's strategy: fewer cycles, or less memory.
    output : str or Path, optional
        A folder for vela's files, NAME_vela.tflite among them; default: they are not kept.

    Returns
    -------
    Network
        The compiled network.

    Raises
    ------
    Error
        vela is not installed, or refuses the file; the sentence has its text.

    Examples
    --------
    >>> network = vela("net.tflite", "ethos-u55-128", output="compiled")
    """
    source = as_path(path, "path")
    one_of(ETHOS_U, target, "NPU")
    one_of(STRATEGIES, optimise, "strategy")
    if not source.is_file():
        raise Error(f"there is no file {source}")
    announce("runs vela")
    require("ethosu.vela", "ethosu", "compiling for an Ethos-U")
    with tempfile.TemporaryDirectory() as spare:
        folder = Path(spare) if output is None else as_path(output, "output")
        return _load_compiled(source, folder, _run(source, target, optimise, folder))


def _load_compiled(source: Path, folder: Path, text: str) -> Network:
    """Return the network of vela's file, with its original; text: what vela said."""
    compiled = folder / f"{source.stem}_vela.tflite"
    network = load_quantized(compiled)
    if not list_programs(network.graph):
        return network  # all operators stay on the core
    return attach_original(network, source, compiled, read_reasons(text))


def compile_for_check(
    source: Path, target: str, folder: Path
) -> tuple[Network, tuple[CompiledOperator, ...]]:
    """Return the network that vela compiles, and the operators that stay on the core."""
    require("ethosu.vela", "ethosu", "compiling for an Ethos-U")
    text = _run(source, target, STRATEGIES[0], folder)
    network = _load_compiled(source, folder, text)
    if network.original is not None:
        return network, tuple(e for e in network.original.operators if e.place == CORE)
    reasons = read_reasons(text).items()
    return network, tuple(CompiledOperator(n, op, CORE, reason=why) for n, (op, why) in reasons)


def _run(source: Path, target: str, optimise: str, folder: Path) -> str:
    """Run vela, and return what it says."""
    command = [sys.executable, "-m", "ethosu.vela", str(source), "--output-dir", str(folder)]
    command += ["--accelerator-config", target, "--optimise", optimise]
    command += ["--enable-debug-db", "--verbose-performance"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode or not (folder / f"{source.stem}_vela.tflite").is_file():
        said = " ".join((done.stderr or done.stdout).split())[-_QUOTED:]
        raise Error(f"vela cannot compile {source} for {target}: {said}")
    return done.stdout
