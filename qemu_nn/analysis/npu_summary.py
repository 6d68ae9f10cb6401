"""Facts and tables of command streams of an NPU: memory, operators of the original, estimates."""

from __future__ import annotations

from typing import Optional

from ..ethosu.program import read_regions
from ..ir.graph import Graph
from ..ir.original import Original
from ..runtime.npu import list_programs, name_npu
from .table import Cell, Said, Table

#: Columns of the operators of an original network.
COLUMNS = ("layer", "operator", "place", "operations", "vela_cycles", "reason")

#: Names of the facts of command streams.
NPU_FACTS = ("npu", "npu_memory", "vela_estimate", "vela_memory")

#: Memory of vela's summary -> its name in words.
_MEMORY = {
    "sram_memory_used": "SRAM",
    "dram_memory_used": "DRAM",
    "on_chip_flash_memory_used": "on-chip flash",
    "off_chip_flash_memory_used": "off-chip flash",
}

#: Cycles of vela's summary -> the unit in words.
_CYCLES = {
    "cycles_npu": "NPU",
    "cycles_sram_access": "SRAM",
    "cycles_dram_access": "DRAM",
    "cycles_on_chip_flash_access": "on-chip flash",
    "cycles_off_chip_flash_access": "off-chip flash",
}

_SETTINGS = ("system_config", "memory_mode")


def list_npu_facts(graph: Graph, original: Optional[Original]) -> dict[str, Cell]:
    """Return the facts of the command streams of a network; none without a stream."""
    programs = list_programs(graph)
    if not programs:
        return {}
    operations, macs = (
        sum(node.params[name] for node in programs) for name in ("operations", "macs")
    )
    sizes = [read_regions(graph.arrays[node.weights or ""]) for node in programs]
    memory = {
        "constants": sum(each[0] for each in sizes),
        "arena": max(each[1] for each in sizes),
        "fast": max(each[2] for each in sizes),
    }
    words = ", ".join(f"{name} {size:,}" for name, size in memory.items())
    streams = "1 command stream" if len(programs) == 1 else f"{len(programs)} command streams"
    npu = name_npu(graph, programs[0])
    facts: dict[str, Cell] = {
        "npu": f"{npu}: {streams}, {operations:,} operations, {macs:,} MACs",
        "npu_memory": Said(f"bytes: {words}", memory),
    }
    if original is not None and original.estimate:
        facts.update(_say_estimate(original))
    return facts


def _say_estimate(original: Original) -> dict[str, Cell]:
    """Return vela's own figures: cycles, and KiB of each memory, in words and as numbers."""
    cycles = {name: round(original.figure(name)) for name in ("cycles_total", *_CYCLES)}
    memory = {name: original.figure(name) for name in _MEMORY}
    given = original.estimate
    settings = {name: given[name] for name in _SETTINGS if name in given}
    units = ", ".join(f"{unit} {cycles[name]:,}" for name, unit in _CYCLES.items() if cycles[name])
    sizes = ((unit, memory[name]) for name, unit in _MEMORY.items())
    used = ", ".join(f"{unit} {size:,.1f}" for unit, size in sizes if size)
    total = f"{cycles['cycles_total']:,} cycles, estimated by vela ({units})"
    return {
        "vela_estimate": Said(total, cycles),
        "vela_memory": Said(f"KiB: {used}; {', '.join(settings.values())}", {**memory, **settings}),
    }


def tabulate_operators(original: Original) -> Table:
    """Return a row for each operator of the original file; vela_cycles: vela's estimate."""
    rows = tuple(
        (
            each.layer,
            each.operator,
            each.place,
            each.operations,
            each.cycles,
            each.effect or each.reason or None,
        )
        for each in original.operators
    )
    return Table(COLUMNS, rows)
