"""Microcontrollers as data: the core, flash and memory of popular parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional


@dataclass(frozen=True)
class Chip:
    """A microcontroller, as its data sheet describes the largest variant of its name.

    Attributes
    ----------
    name : str
        The part, as it is written in small letters without its package: "stm32f411".
    maker : str
        Who makes it.
    core : str
        A core of targets.CORES; of several the one that is meant for applications.
    flash : int
        KiB of flash, or of MRAM or RRAM, on the chip; 0 where programs lie in a memory outside.
    ram : int
        KiB of static memory on the chip, all its blocks together, as the data sheet counts them.
    block : int
        KiB of the largest stretch of it without a gap between addresses, where one arena can lie.
    source : str
        The vendor's document that describes the part.
    held : str
        Whose public description of the part flash and RAM were compared with.
    """

    name: str
    maker: str
    core: str
    flash: int
    ram: int
    block: int
    source: str
    held: str


# Most agree with PlatformIO's boards, too. Linkers may take less flash: an LPC55S69 keeps 10 KiB,
# an STM32WB55 what its radio's firmware needs, an Apollo510 64 KiB. block leaves out what a radio's
# core shares, and ends at 0x2000_0000, across which a Cortex-M4 reads no unaligned words; FlexRAM
# of i.MX RT, which firmware divides as it likes, is one block. "probe-rs but TCM": nobody names its
# 128 KiB of tightly coupled memory. Cores agree as far as the descriptions tell them apart; every
# Cortex-M33 has the DSP extension according to Zephyr or the vendor.
_ROWS = {
    "ST": (
        ("stm32f072", "cortex-m0", 128, 16, 16, "DS9826", "probe-rs"),
        ("stm32g071", "cortex-m0+", 128, 36, 36, "DS12232", "probe-rs"),
        ("stm32f103c8", "cortex-m3", 64, 20, 20, "DS5319", "probe-rs"),
        ("stm32f401", "cortex-m4", 512, 96, 96, "DS10086", "probe-rs"),
        ("stm32f407", "cortex-m4", 1024, 192, 128, "DS8626", "probe-rs"),
        ("stm32f411", "cortex-m4", 512, 128, 128, "DS10314", "probe-rs"),
        ("stm32f429", "cortex-m4", 2048, 256, 192, "DS9405", "probe-rs"),
        ("stm32f446", "cortex-m4", 512, 128, 128, "DS10693", "probe-rs"),
        ("stm32g431", "cortex-m4", 128, 32, 32, "DS12589", "probe-rs"),
        ("stm32g474", "cortex-m4", 512, 128, 128, "DS12288", "probe-rs"),
        ("stm32l432", "cortex-m4", 256, 64, 64, "DS11451", "probe-rs"),
        ("stm32l476", "cortex-m4", 1024, 128, 96, "DS10198", "probe-rs"),
        ("stm32l4r5", "cortex-m4", 2048, 640, 640, "DS12023", "probe-rs"),
        ("stm32wb55", "cortex-m4", 1024, 256, 192, "DS11929", "RIOT"),
        ("stm32f746", "cortex-m7", 1024, 320, 320, "DS10916", "probe-rs"),
        ("stm32f767", "cortex-m7", 2048, 512, 512, "DS11532", "probe-rs"),
        ("stm32h743", "cortex-m7", 2048, 1056, 512, "DS12110", "probe-rs"),
        ("stm32h747", "cortex-m7", 2048, 1056, 512, "DS12930", "probe-rs"),
        ("stm32l552", "cortex-m33", 512, 256, 256, "DS12737", "probe-rs"),
        ("stm32u575", "cortex-m33", 2048, 786, 768, "DS13737", "Zephyr"),
        ("stm32u585", "cortex-m33", 2048, 786, 768, "DS13086", "Zephyr"),
        ("stm32h563", "cortex-m33", 2048, 640, 640, "DS14258", "probe-rs"),
    ),
    "Nordic": (
        ("nrf51822", "cortex-m0", 256, 32, 32, "nRF51822 product specification", "probe-rs"),
        ("nrf52832", "cortex-m4", 512, 64, 64, "nRF52832 product specification", "probe-rs"),
        ("nrf52833", "cortex-m4", 512, 128, 128, "nRF52833 product specification", "probe-rs"),
        ("nrf52840", "cortex-m4", 1024, 256, 256, "nRF52840 product specification", "probe-rs"),
        ("nrf5340", "cortex-m33", 1024, 512, 512, "nRF5340 product specification", "probe-rs"),
        ("nrf54l15", "cortex-m33", 1524, 256, 256, "nRF54L15 data sheet", "Nordic's page"),
        ("nrf9160", "cortex-m33", 1024, 256, 256, "nRF9160 product specification", "probe-rs"),
    ),
    "Raspberry Pi": (
        ("rp2040", "cortex-m0+", 0, 264, 264, "RP2040 data sheet", "probe-rs"),
        ("rp2350", "cortex-m33", 0, 520, 520, "RP2350 data sheet", "probe-rs"),
    ),
    "NXP": (
        ("lpc1768", "cortex-m3", 512, 64, 32, "LPC1769/68/67/66/65/64/63", "PlatformIO"),
        ("mkl25z128", "cortex-m0+", 128, 16, 16, "KL25P80M48SF0", "PlatformIO"),
        ("mk64fn1m0", "cortex-m4", 1024, 256, 192, "K64P144M120SF5", "PlatformIO"),
        ("lpc55s69", "cortex-m33", 640, 320, 272, "LPC55S6x data sheet", "probe-rs"),
        ("mcxn947", "cortex-m33", 2048, 512, 416, "MCXNx4x data sheet", "probe-rs"),
        ("imxrt1052", "cortex-m7", 0, 512, 512, "IMXRT1050CEC", "probe-rs"),
        ("imxrt1062", "cortex-m7", 0, 1024, 1024, "IMXRT1060CEC", "probe-rs"),
        ("imxrt1176", "cortex-m7", 0, 2048, 1792, "IMXRT1170CEC", "Zephyr"),
        ("imxrt685", "cortex-m33", 0, 4608, 4608, "RT600 data sheet", "probe-rs"),
    ),
    "Renesas": (
        ("ra4m1", "cortex-m4", 256, 32, 32, "RA4M1 group data sheet", "probe-rs"),
        ("ra6m3", "cortex-m4", 2048, 640, 512, "RA6M3 group data sheet", "Zephyr"),
        ("ra6m4", "cortex-m33", 1024, 256, 256, "RA6M4 group data sheet", "probe-rs"),
        ("ra6m5", "cortex-m33", 2048, 512, 512, "RA6M5 group data sheet", "probe-rs"),
        ("ra8m1", "cortex-m85", 2016, 1024, 896, "RA8M1 group data sheet", "probe-rs but TCM"),
    ),
    "TI": (
        ("mspm0g3507", "cortex-m0+", 128, 32, 32, "MSPM0G350x data sheet", "probe-rs"),
        ("msp432p401r", "cortex-m4", 256, 64, 64, "SLAS826", "probe-rs"),
        ("tm4c123gh6pm", "cortex-m4", 256, 32, 32, "SPMS376", "probe-rs"),
        ("tm4c1294ncpdt", "cortex-m4", 1024, 256, 256, "SPMS433", "probe-rs"),
        ("cc2652r1", "cortex-m4", 352, 80, 80, "SWRS207", "probe-rs"),
    ),
    "Silicon Labs": (
        ("efm32gg11", "cortex-m4", 2048, 512, 512, "EFM32GG11 family data sheet", "probe-rs"),
        ("efr32mg12", "cortex-m4", 1024, 256, 256, "EFR32MG12 family data sheet", "probe-rs"),
        ("efr32mg21", "cortex-m33", 1024, 96, 96, "EFR32MG21 family data sheet", "probe-rs"),
        ("efr32mg24", "cortex-m33", 1536, 256, 256, "EFR32MG24 family data sheet", "probe-rs"),
    ),
    "Microchip": (
        ("samd21", "cortex-m0+", 256, 32, 32, "DS40001882", "probe-rs"),
        ("sam3x8e", "cortex-m3", 512, 96, 96, "SAM3X/SAM3A series data sheet", "probe-rs"),
        ("samd51", "cortex-m4", 1024, 256, 256, "DS60001507", "probe-rs"),
        ("same54", "cortex-m4", 1024, 256, 256, "DS60001507", "probe-rs"),
        ("same70", "cortex-m7", 2048, 384, 384, "DS60001527", "probe-rs"),
    ),
    "Infineon": (
        ("xmc4500", "cortex-m4", 1024, 160, 64, "XMC4500 data sheet", "Zephyr"),
        ("xmc4700", "cortex-m4", 2048, 352, 256, "XMC4700/XMC4800 data sheet", "probe-rs"),
        ("cy8c624a", "cortex-m4", 2048, 1024, 1024, "CY8C62x8/CY8C62xA data sheet", "probe-rs"),
    ),
    "Ambiq": (
        ("apollo3", "cortex-m4", 1024, 384, 384, "Apollo3 Blue data sheet", "Ambiq's HAL"),
        ("apollo510", "cortex-m55", 4096, 3840, 3072, "Apollo510 product brief", "Ambiq's HAL"),
    ),
    "Alif": (
        (
            "ensemblee3",
            "cortex-m55",
            5632,
            13824,
            4096,
            "Ensemble E3 data sheet",
            "CMSIS pack 2.0.2",
        ),
        (
            "ensemblee7",
            "cortex-m55",
            5632,
            13824,
            4096,
            "Ensemble E7 data sheet",
            "CMSIS pack 2.0.2",
        ),
    ),
}

#: Name -> chip.
CHIPS = {row[0]: Chip(row[0], maker, *row[1:]) for maker, rows in _ROWS.items() for row in rows}

#: Before a part's name, what orders and parts lists add: ATSAMD21, AT91SAM3X8E, MIMXRT1062.
_PREFIXES = ("", "at", "at91", "m")


def named(word: str) -> Optional[Chip]:
    """Return the chip that a word begins with, however it is written: "STM32F411RE", "i.MX RT1062".

    Packages and temperatures follow the name of a part. The longest name wins; None if no chip of
    CHIPS is meant.
    """
    plain = "".join(c for c in word.lower() if c.isalnum())
    spelled = [plain[len(prefix) :] for prefix in _PREFIXES if plain.startswith(prefix)]
    found = [name for name in CHIPS if any(text.startswith(name) for text in spelled)]
    return CHIPS[max(found, key=len)] if found else None
