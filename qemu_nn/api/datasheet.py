"""The data sheet of a network: what evaluate(), Network.fit() and estimate() say, on one page."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Callable, Optional, Union

from ..analysis.datasheet import DataSheet
from ..analysis.evaluation import Evaluation
from ..analysis.fit import Fit
from ..analysis.linker_report import find_report_lines
from ..analysis.table import Table
from ..chips import find_named
from ..cycles.boards import BOARDS
from ..errors import Error
from ..io.arguments import as_path
from ..io.files import MEGABYTE, read_bytes
from ..ir.builds import find_target
from ..targets import DEFAULT_CORE, Target
from .data import Dataset
from .estimate import estimate
from .evaluate import evaluate
from .golden import describe
from .network import Network, quantized


def datasheet(
    network: Union[Network, str, Path],
    data: Any = None,
    *,
    target: Union[str, Target] = DEFAULT_CORE,
    board: Optional[str] = None,
    clock: Optional[float] = None,
    optimization: str = "-O3",
    float_abi: str = "hard",
    threads: int = 1,
    measured: Union[str, Path, None] = None,
    progress: Optional[Callable[[Iterable[Any]], Iterable[Any]]] = None,
) -> DataSheet:
    """Put together what a design review asks of a network on a device.

    Accuracy on the device's own bits, flash and RAM against the chip's, instructions, cycles and
    time, and all of these layer by layer.

    Parameters
    ----------
    network : Network or str or Path
        A quantized network, or its file.
    data : Dataset or source, optional
        Test data as evaluate() takes them; without them the sheet says nothing of accuracy.
    target : str or Target, default "cortex-m4"
        The device, as Network.session() takes it: a core ("m4") or a chip ("stm32f746").
    board, clock, optimization, float_abi : optional
        As estimate() takes them; default board of a chip: the one that has it, if it is known.
    threads, progress : optional
        As evaluate() takes them.
    measured : str or Path, optional
        A file with what `make report-m4` (or another board's) of the network's export prints:
        flash with the code of the kernels that it was linked with, RAM, and the stack of a run.

    Returns
    -------
    DataSheet
        html() is the page.

    Raises
    ------
    Error
        A name is unknown, the device could not run the network, or the data do not fit.

    Examples
    --------
    >>> sheet = datasheet("net.qnz", "test.npz", target="stm32f746")
    """
    asked = (board, clock, optimization, float_abi) != (None, None, "-O3", "hard")
    network = quantized(network)
    wanted = find_target(network.graph, target)
    summary = describe(network, wanted)
    told: Optional[Table] = None
    if measured is not None:
        path = as_path(measured, "measured")
        text = read_bytes(path, MEGABYTE).decode("utf-8", "replace")
        told = find_report_lines(text, path.name, dict(summary.facts))
    evaluation: Optional[Evaluation] = None
    data = Dataset.of(data)
    data.draw_count(0)
    if data.source is not None:
        evaluation = evaluate(network, data, target=wanted, threads=threads, progress=progress)
    fit: Optional[Fit] = None
    if find_named(wanted.device) is not None:
        fit = network.fit(wanted)
        board = board or _board_with(fit.chip.name)
    timed, notes = None, []
    try:
        timed = estimate(network, wanted, board, clock, optimization, float_abi)
    except Error as reason:
        if asked:
            raise
        notes.append(f"no cycles: {reason}")
    profile = str(summary.facts["profile"])
    name = network.graph.name
    parts = (summary, evaluation, fit, timed, tuple(notes), told)
    return DataSheet(name, wanted.device, profile, *parts)


def _board_with(chip: str) -> Optional[str]:
    """Return the board of a chip, if there is exactly one."""
    found = [name for name, board in BOARDS.items() if board.chip == chip]
    return found[0] if len(found) == 1 else None
