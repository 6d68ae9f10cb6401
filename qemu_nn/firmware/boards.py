"""Data of emulated boards: the core, its memory map, and its serial port."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Optional


@dataclass(frozen=True)
class Region:
    """Memory from one address on, in bytes."""

    start: int
    size: int


@dataclass(frozen=True)
class Board:
    """A board that QEMU emulates.

    Attributes
    ----------
    name : str
        What its targets in an export's Makefile are called after: "m4".
    title : str
        The board in words.
    core : str
        The core whose instructions the compiler makes.
    machine : str
        What QEMU's -M calls the board.
    flags : str
        The compiler's for this core: instruction set and float ABI.
    script : str
        The linker script's file in an export.
    code, data : Region
        Where program and constants lie, and where variables, heap and stack.
    uart : str
        Kind of the serial port: "cmsdk" or "nrf51".
    uart_base : int
        Address of the serial port's registers.
    clock : int
        Hertz, of the core.
    vectors : Region, optional
        Where the core starts, if that is not in `code`.
    options : tuple of str
        Further options of QEMU's, which the board needs.
    """

    name: str
    title: str
    core: str
    machine: str
    flags: str
    script: str
    code: Region
    data: Region
    uart: str
    uart_base: int
    clock: int
    vectors: Optional[Region] = None
    options: tuple[str, ...] = ()

    @property
    def emulator(self) -> tuple[str, ...]:
        """QEMU's arguments that choose this board."""
        return ("-M", self.machine, *self.options)


_MEGABYTE = 1 << 20

#: Addresses of program and variables on most boards.
_FLASH, _RAM = Region(0, 4 * _MEGABYTE), Region(0x2000_0000, 4 * _MEGABYTE)


def _mps2(name: str, title: str, machine: str, abi: str) -> Board:
    core = f"cortex-{name}"
    flags = f"-mcpu={core} -mfloat-abi={abi}"
    title = f"Arm's MPS2 board with a {title}"
    regions = (_FLASH, _RAM)
    return Board(
        name, title, core, machine, flags, f"{name}.ld", *regions, "cmsdk", 0x4000_4000, 25_000_000
    )


_ALL = (
    # A micro:bit has 256 KB of flash and 16 KB of RAM, hardly enough for a self-test. QEMU gives
    # its Cortex-M0 more.
    Board(
        "m0",
        "a micro:bit's Cortex-M0 with 4 MB of flash and of RAM",
        "cortex-m0",
        "microbit",
        "-mcpu=cortex-m0 -mfloat-abi=soft",
        "m0.ld",
        _FLASH,
        _RAM,
        "nrf51",
        0x4000_2000,
        16_000_000,
        options=tuple(
            word
            for memory in ("flash", "sram")
            for word in ("-global", f"nrf51-soc.{memory}-size={4 * _MEGABYTE}")
        ),
    ),
    _mps2("m3", "Cortex-M3 (AN385)", "mps2-an385", "soft"),
    _mps2("m4", "Cortex-M4 (AN386)", "mps2-an386", "hard"),
    _mps2("m7", "Cortex-M7 (AN500)", "mps2-an500", "hard"),
    Board(
        "m33",
        "Arm's MPS2 board with a Cortex-M33 (AN505), in secure state",
        "cortex-m33",
        "mps2-an505",
        "-mcpu=cortex-m33 -mfloat-abi=hard",
        "m33.ld",
        Region(0x1000_0000, 4 * _MEGABYTE),
        Region(0x3800_0000, 2 * _MEGABYTE),
        "cmsdk",
        0x5020_0000,
        20_000_000,
    ),
    Board(
        "m55",
        "Arm's MPS3 board with a Cortex-M55 (AN547), in secure state",
        "cortex-m55",
        "mps3-an547",
        "-mcpu=cortex-m55 -mfloat-abi=hard",
        "m55.ld",
        Region(0x0100_0000, 2 * _MEGABYTE),
        Region(0x2100_0000, 4 * _MEGABYTE),
        "cmsdk",
        0x5930_3000,
        32_000_000,
        vectors=Region(0, 512 << 10),
    ),
)

#: Name -> board.
BOARDS: Mapping[str, Board] = MappingProxyType({board.name: board for board in _ALL})
