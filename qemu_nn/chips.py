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
        KiB of static memory on the chip, all its blocks together.
    source : str
        The name of the document that says so.
    """

    name: str
    maker: str
    core: str
    flash: int
    ram: int
    source: str


# Two of three agree with the boards of PlatformIO, and of the others these with the device trees
# of Zephyr, as far as one names a size: nRF51822, nRF5340, nRF9160, RP2350, i.MX RT1052 and RT1062,
# RA6M3, RA6M4, RA8M1, MSPM0G3507, MSP432P401R, CC2652R, EFR32MG21 and MG24, SAM E54 and E70,
# XMC4500 and XMC4700, Apollo3. Linkers may take less: an LPC55S69 keeps 10 KiB of its flash.
_ROWS = {
    "ST": (
        ("stm32f072", "cortex-m0", 128, 16, "DS9826, STM32F072x8 STM32F072xB"),
        ("stm32g071", "cortex-m0+", 128, 36, "DS12232, STM32G071x8/xB"),
        ("stm32f103c8", "cortex-m3", 64, 20, "DS5319, STM32F103x8 STM32F103xB"),
        ("stm32f401", "cortex-m4", 512, 96, "DS10086, STM32F401xD STM32F401xE"),
        ("stm32f407", "cortex-m4", 1024, 192, "DS8626, STM32F405xx STM32F407xx"),
        ("stm32f411", "cortex-m4", 512, 128, "DS10314, STM32F411xC STM32F411xE"),
        ("stm32f429", "cortex-m4", 2048, 256, "DS9405, STM32F427xx STM32F429xx"),
        ("stm32f446", "cortex-m4", 512, 128, "DS10693, STM32F446xC/E"),
        ("stm32g431", "cortex-m4", 128, 32, "DS12589, STM32G431x6 STM32G431x8 STM32G431xB"),
        ("stm32g474", "cortex-m4", 512, 128, "DS12288, STM32G474xB STM32G474xC STM32G474xE"),
        ("stm32l432", "cortex-m4", 256, 64, "DS11451, STM32L432KB STM32L432KC"),
        ("stm32l476", "cortex-m4", 1024, 128, "DS10198, STM32L476xx"),
        ("stm32l4r5", "cortex-m4", 2048, 640, "DS12023, STM32L4R5xx STM32L4R7xx STM32L4R9xx"),
        ("stm32wb55", "cortex-m4", 1024, 256, "DS11929, STM32WB55xx STM32WB35xx"),
        ("stm32f746", "cortex-m7", 1024, 320, "DS10916, STM32F745xx STM32F746xx"),
        ("stm32f767", "cortex-m7", 2048, 512, "DS11532, STM32F765xx STM32F767xx"),
        ("stm32h743", "cortex-m7", 2048, 1024, "DS12110, STM32H742xI/G STM32H743xI/G"),
        ("stm32h747", "cortex-m7", 2048, 1024, "DS12930, STM32H747xI/G"),
        ("stm32l552", "cortex-m33", 512, 256, "DS12737, STM32L552xx"),
        ("stm32u575", "cortex-m33", 2048, 786, "DS13737, STM32U575xx"),
        ("stm32u585", "cortex-m33", 2048, 786, "DS13086, STM32U585xx"),
        ("stm32h563", "cortex-m33", 2048, 640, "DS14258, STM32H562xx STM32H563xx"),
    ),
    "Nordic": (
        ("nrf51822", "cortex-m0", 256, 32, "nRF51822 product specification"),
        ("nrf52832", "cortex-m4", 512, 64, "nRF52832 product specification"),
        ("nrf52833", "cortex-m4", 512, 128, "nRF52833 product specification"),
        ("nrf52840", "cortex-m4", 1024, 256, "nRF52840 product specification"),
        ("nrf5340", "cortex-m33", 1024, 512, "nRF5340 product specification"),
        ("nrf54l15", "cortex-m33", 1524, 256, "nRF54L15 data sheet"),
        ("nrf9160", "cortex-m33", 1024, 256, "nRF9160 product specification"),
    ),
    "Raspberry Pi": (
        ("rp2040", "cortex-m0+", 0, 264, "RP2040 data sheet"),
        ("rp2350", "cortex-m33", 0, 520, "RP2350 data sheet"),
    ),
    "NXP": (
        ("lpc1768", "cortex-m3", 512, 64, "LPC1769/68/67/66/65/64/63 data sheet"),
        ("mkl25z128", "cortex-m0+", 128, 16, "KL25P80M48SF0, KL25 sub-family"),
        ("mk64fn1m0", "cortex-m4", 1024, 256, "K64P144M120SF5, K64 sub-family"),
        ("lpc55s69", "cortex-m33", 640, 320, "LPC55S6x data sheet"),
        ("mcxn947", "cortex-m33", 2048, 512, "MCXNx4x data sheet"),
        ("imxrt1052", "cortex-m7", 0, 512, "IMXRT1050CEC, i.MX RT1050"),
        ("imxrt1062", "cortex-m7", 0, 1024, "IMXRT1060CEC, i.MX RT1060"),
        ("imxrt1176", "cortex-m7", 0, 2048, "IMXRT1170CEC, i.MX RT1170"),
        ("imxrt685", "cortex-m33", 0, 4608, "RT600 data sheet, i.MX RT600"),
    ),
    "Renesas": (
        ("ra4m1", "cortex-m4", 256, 32, "RA4M1 group data sheet"),
        ("ra6m3", "cortex-m4", 2048, 640, "RA6M3 group data sheet"),
        ("ra6m4", "cortex-m33", 1024, 256, "RA6M4 group data sheet"),
        ("ra6m5", "cortex-m33", 2048, 512, "RA6M5 group data sheet"),
        ("ra8m1", "cortex-m85", 2016, 1024, "RA8M1 group data sheet"),
    ),
    "TI": (
        ("mspm0g3507", "cortex-m0+", 128, 32, "MSPM0G350x data sheet"),
        ("msp432p401r", "cortex-m4", 256, 64, "SLAS826, MSP432P401R MSP432P401M"),
        ("tm4c123gh6pm", "cortex-m4", 256, 32, "SPMS376, TM4C123GH6PM"),
        ("tm4c1294ncpdt", "cortex-m4", 1024, 256, "SPMS433, TM4C1294NCPDT"),
        ("cc2652r1", "cortex-m4", 352, 80, "SWRS207, CC2652R"),
    ),
    "Silicon Labs": (
        ("efm32gg11", "cortex-m4", 2048, 512, "EFM32GG11 family data sheet"),
        ("efr32mg12", "cortex-m4", 1024, 256, "EFR32MG12 family data sheet"),
        ("efr32mg21", "cortex-m33", 1024, 96, "EFR32MG21 family data sheet"),
        ("efr32mg24", "cortex-m33", 1536, 256, "EFR32MG24 family data sheet"),
    ),
    "Microchip": (
        ("samd21", "cortex-m0+", 256, 32, "DS40001882, SAM D21/DA1 family"),
        ("sam3x8e", "cortex-m3", 512, 96, "SAM3X/SAM3A series data sheet"),
        ("samd51", "cortex-m4", 1024, 256, "DS60001507, SAM D5x/E5x family"),
        ("same54", "cortex-m4", 1024, 256, "DS60001507, SAM D5x/E5x family"),
        ("same70", "cortex-m7", 2048, 384, "DS60001527, SAM E70/S70/V70/V71 family"),
    ),
    "Infineon": (
        ("xmc4500", "cortex-m4", 1024, 160, "XMC4500 data sheet"),
        ("xmc4700", "cortex-m4", 2048, 352, "XMC4700/XMC4800 data sheet"),
        ("cy8c624a", "cortex-m4", 2048, 1024, "PSoC 6 CY8C62x8/CY8C62xA data sheet"),
    ),
    "Ambiq": (
        ("apollo3", "cortex-m4", 1024, 384, "Apollo3 Blue SoC data sheet"),
        ("apollo510", "cortex-m55", 4096, 3840, "Apollo510 SoC product brief"),
    ),
    "Alif": (
        ("ensemblee3", "cortex-m55", 5632, 13824, "Ensemble E3 series data sheet"),
        ("ensemblee7", "cortex-m55", 5632, 13824, "Ensemble E7 series data sheet"),
    ),
}

#: Name -> chip.
CHIPS = {row[0]: Chip(row[0], maker, *row[1:]) for maker, rows in _ROWS.items() for row in rows}

#: In front of a part's name, what orders and parts lists add: ATSAMD21, MIMXRT1062.
_PREFIXES = ("", "at", "m")


def named(word: str) -> Optional[Chip]:
    """The chip that a word begins with, however it is written: "STM32F411RE", "i.MX RT1062".

    Packages and temperatures follow the name of a part. The longest name wins; None if no chip of
    CHIPS is meant.
    """
    plain = "".join(c for c in word.lower() if c.isalnum())
    spelled = [plain[len(prefix) :] for prefix in _PREFIXES if plain.startswith(prefix)]
    found = [name for name in CHIPS if any(text.startswith(name) for text in spelled)]
    return CHIPS[max(found, key=len)] if found else None
