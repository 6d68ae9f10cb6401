"""Estimate of a network's time on a device: instructions, cycles, milliseconds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Optional, Union

from ..analysis.estimate import Estimate
from ..analysis.layer_cycles import get_arguments, iterate_calls
from ..analysis.table import Cell, Said, Table
from ..chips import Chip
from ..cycles import boards
from ..cycles.boards import SUPPLY, TimedBoard
from ..cycles.model import CLASSES, CallEstimate
from ..cycles.table import COUNTERS
from ..cycles.timing import NOT_VALIDATED, TIMINGS, Range, compute_cycles
from ..errors import DeviceWarning, Error
from ..io.stages import announce
from ..io.warn import warn
from ..ir.builds import find_target
from ..ir.graph import Graph, Node
from ..runtime.plan import plan
from ..targets import DEFAULT_CORE, KERNELS, Target, chip_of
from .network import Network, quantized

_COLUMNS = ("layer", "function", "instructions", "low", "high", "least", "cycles", "most", "share")


@dataclass(frozen=True)
class _Layer:
    """A layer's calls, none where nothing is known of its function, and their cycles."""

    node: Node
    calls: tuple[CallEstimate, ...]
    cycles: Range


class _Total(NamedTuple):
    """Totals of all layers, as fields of Estimate."""

    instructions: int
    low: int
    high: int
    cycles: tuple[int, int, int]


def estimate(
    network: Network,
    target: Union[str, Target, None] = None,
    board: Optional[str] = None,
    clock: Optional[float] = None,
    optimization: str = "-O3",
    float_abi: str = "hard",
) -> Estimate:
    """Estimate how long an inference takes on a device, layer by layer.

    Parameters
    ----------
    network : Network or str or Path
        A quantized network, or its file.
    target : str or Target, optional
        The device, as Network.session() takes it; default: that of `board`, "cortex-m4" without
        one.
    board : str, optional
        A board of cycles.boards.BOARDS, "nucleo-l4r5zi": its clock, and weights that come from
        its flash. Without one, memory answers at once.
    clock : float, optional
        MHz; default: the board's, or the highest of the chip.
    optimization, float_abi : str
        As estimate_call() takes them.

    Returns
    -------
    Estimate
        A table of layers, totals, and what they hold for.

    Raises
    ------
    Error
        There are no instruction counts of the core, the release or the compiler's setting, none
        of any layer, or the device could not run the network.

    Examples
    --------
    >>> print(estimate("net.tflite", target="m4").text())
    """
    network = quantized(network)
    place = None if board is None else boards.get_board(board)
    wanted = find_target(network.graph, target or (place.core if place else DEFAULT_CORE))
    if wanted.kernels != KERNELS[0]:
        given = f"the {wanted.device}" if wanted.esp_nn else repr(wanted.kernels)
        raise Error(
            f"the target is {given}, but instruction counts exist for CMSIS-NN only: give a "
            "Cortex-M"
        )
    core = wanted.core
    if place is not None and core != place.core:
        raise Error(
            f"the core of {place.name} is {place.core}, not {core}: leave the other target out"
        )
    part = chip_of(wanted.device) if place is None else None
    megahertz = _megahertz(clock, place, part)
    announce("estimates cycles")
    profile = network.profile(wanted)
    planned = plan(network.graph, profile, trace=True)  # the device's calls, checked
    for message in planned.warnings:
        warn(message, DeviceWarning)
    graph = planned.graph
    setting = (core, profile.cmsis, optimization, float_abi)
    layers = [_layer(graph, node, setting, place) for node in graph.nodes]
    if not any(layer.calls for layer in layers):
        names = ", ".join(sorted({layer.node.function.name for layer in layers}))
        remedy = "; give its original, which the core runs" if "ethosu_program" in names else ""
        raise Error(f"no layer has instruction counts; the network calls {names}{remedy}")
    total = _total(layers)
    facts = _facts(graph.name, layers, total, setting, place, megahertz)
    if part is not None and clock is None and megahertz is not None:
        facts["clock"] = f"the highest of {part.name}; memory answers without wait states"
    return Estimate(facts, _table(layers, total.cycles[1], megahertz), *total)


def _megahertz(
    clock: Optional[float], board: Optional[TimedBoard], chip: Optional[Chip]
) -> Optional[float]:
    if clock is None:
        own = board.clock if board else chip.clock if chip else 0
        return own or None
    if isinstance(clock, bool) or not isinstance(clock, (int, float)) or not 0 < clock < 1e5:
        raise Error(f"clock is {clock!r}, but must be MHz above 0")
    return float(clock)


def _layer(
    graph: Graph, node: Node, setting: tuple[str, str, str, str], board: Optional[TimedBoard]
) -> _Layer:
    calls = tuple(iterate_calls(node.function, get_arguments(node), setting))
    size = 0 if node.weights is None else graph.arrays[node.weights].nbytes
    waited = boards.count_stalls(board, node.function.name, node.params, size) if calls else 0.0
    timing, spent = TIMINGS[setting[0]], [0.0, waited, waited]
    for call in calls:
        for at, more in enumerate(compute_cycles(call.instructions, call.mix, timing)):
            spent[at] += more * (call.low / call.instructions, 1, call.high / call.instructions)[at]
    return _Layer(node, calls, (spent[0], spent[1], spent[2]))


def _total(layers: list[_Layer]) -> _Total:
    calls = [call for layer in layers for call in layer.calls]
    instructions, low, high = (
        sum(getattr(call, name) for call in calls) for name in ("instructions", "low", "high")
    )
    least, usual, most = (round(sum(layer.cycles[at] for layer in layers)) for at in range(3))
    return _Total(instructions, low, high, (least, usual, most))


def _table(layers: list[_Layer], usual: int, megahertz: Optional[float]) -> Table:
    """Return the layers; milliseconds where there is a clock, and how many instructions of each
    class.
    """
    timed = () if megahertz is None else ("milliseconds",)
    known = [n for n in CLASSES if any(n in call.mix for layer in layers for call in layer.calls)]
    columns = (*_COLUMNS, *timed, *(re.sub(r"\W", "_", name) for name in known))
    rows: list[tuple[Cell, ...]] = []
    for layer in layers:
        own = (layer.node.name, layer.node.function.name)
        if not layer.calls:
            rows.append((*own, *(None,) * (len(columns) - len(own))))
            continue
        counts = (
            sum(getattr(call, name) for call in layer.calls)
            for name in ("instructions", "low", "high")
        )
        part = layer.cycles[1] / usual
        share = Said(f"{part:.1%}", round(part, 4))
        took = () if megahertz is None else (_rounded(layer.cycles[1] / megahertz / 1000),)
        mix = (sum(call.mix.get(name, 0) for call in layer.calls) for name in known)
        rows.append((*own, *counts, *map(round, layer.cycles), share, *took, *mix))
    return Table(columns, tuple(rows))


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")


def _facts(
    name: str,
    layers: list[_Layer],
    total: _Total,
    setting: tuple[str, str, str, str],
    board: Optional[TimedBoard],
    megahertz: Optional[float],
) -> dict[str, Cell]:
    """Return the facts of the whole, in sentences."""
    calls = [call for layer in layers for call in layer.calls]
    core, release, optimization, _ = setting
    least, usual, most = total.cycles
    facts: dict[str, Cell] = {
        "network": name,
        "device": f"{core}, CMSIS {release}, GCC {optimization}, {calls[0].float_abi} float",
        "instructions": f"{total.instructions:,} ({total.low:,} to {total.high:,})",
        "made_of": _made_of(calls, total.instructions),
        "cycles": f"{usual:,} ({least:,} to {most:,})",
    }
    if megahertz is not None:
        shown = " to ".join(f"{count / megahertz / 1000:.3g}" for count in (least, most))
        time = f"{usual / megahertz / 1000:.3g} ms at {megahertz:g} MHz ({shown} ms)"
        times = (round(count / megahertz / 1000, 6) for count in total.cycles)
        value = dict(zip(("least", "milliseconds", "most"), times))
        facts["time"] = Said(time, {**value, "mhz": megahertz})
        if board is not None and board.current and megahertz == board.clock:
            facts["energy"] = _energy(board, usual / megahertz / 1000)
    if board is not None:
        facts["board"] = f"{board.name}: flash reads {board.line} bytes, {board.waits} wait states"
    if calls[0].counted_on != core:
        facts["counts"] = f"of {calls[0].counted_on}, which has the same instructions"
    timing = TIMINGS[core]
    facts["timing"] = timing.source
    facts["validated"] = timing.proven or NOT_VALIDATED
    own = sorted({call.function for call in calls if call.function not in COUNTERS})
    if own:
        facts["own_functions"] = (
            f"counted at -O2, which an export's Makefile has: {', '.join(own)}; their loads, "
            "multiplications and branches are the usual shares of Arm's functions"
        )
    unknown = sorted({layer.node.function.name for layer in layers if not layer.calls})
    if unknown:
        count = sum(not layer.calls for layer in layers)
        facts["not_counted"] = f"{count} layers: nothing is known of {', '.join(unknown)}"
    return facts


def _energy(board: TimedBoard, milliseconds: float) -> str:
    """Return what a chip takes for an inference, and of what that is the product."""
    currents = [f"{current:g}" for current in dict.fromkeys(board.current or ())]
    energies = [f"{float(each) * SUPPLY * milliseconds / 1000:.3g}" for each in currents]
    what = f"time x {SUPPLY} V x {' to '.join(currents)} mA ({board.measured})"
    return f"{' to '.join(energies)} mJ, a product: {what}"


def _made_of(calls: list[CallEstimate], total: int) -> Said:
    made: dict[str, int] = {}
    for call in calls:
        for name, count in call.mix.items():
            made[name] = made.get(name, 0) + count
    mix: Mapping[str, float] = {name: made.get(name, 0) / total for name in CLASSES}
    words = (f"{share:.0%} {name}" for name, share in mix.items() if share >= 0.005)
    return Said(", ".join(words), {name: round(share, 4) for name, share in mix.items()})
