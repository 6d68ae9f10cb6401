"""Microcontrollers as data: the core, flash and memory of popular parts."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import Optional


@dataclass(frozen=True)
class Chip:
    """A microcontroller, as its data sheet describes the largest variant of its name.

    Attributes
    ----------
    name : str
        The part, as it is written in small letters without its package: "stm32f411".
    vendor : str
        The company that makes it.
    core : str
        A core of targets.CORES, or a chip of targets.ESP_CHIPS; of several the one that is meant
        for applications.
    flash : int
        KiB of flash, or of MRAM or RRAM, on the chip; 0 where programs lie in a memory outside.
    ram : int
        KiB of static memory on the chip, all its blocks together, as the data sheet counts them.
    block : int
        KiB of the largest stretch of it without a gap between addresses, where one arena can lie.
    clock : int
        MHz, the highest of that core; 0 if unknown.
    source : str
        The vendor's document that describes the part.
    cross_check : str
        The public description of the part that flash and RAM were compared with; "" if none.
    psram : int
        KiB of PSRAM outside the chip that programs can address; 0 if none.
    """

    name: str
    vendor: str
    core: str
    flash: int
    ram: int
    block: int
    clock: int
    source: str
    cross_check: str
    psram: int = 0

    @property
    def note(self) -> str:
        """A sentence on what the figures leave out; "" if there is none."""
        outside = f"RAM is that of the chip; boards have up to {self.psram // 1024} MiB of PSRAM"
        return _NOTES.get(self.name, f"{outside} besides" if self.psram else "")

    @property
    def npus(self) -> tuple[str, ...]:
        """Arm's Ethos-U on the chip, such as "ethos-u55-128"; most chips have none."""
        return _NPUS.get(self.name, ())


#: Chip -> its NPUs, in the names of targets.ETHOS_U: those next to the high-performance and the
#: high-efficiency core.
_NPUS = {
    "ensemblee3": ("ethos-u55-256", "ethos-u55-128"),
    "ensemblee7": ("ethos-u55-256", "ethos-u55-128"),
}

#: Chip -> what computes networks there besides the core with CMSIS-NN.
_NOTES = {
    "stm32n657": "its NPU, Neural-ART, is not computed: figures are of the Cortex-M55",
    "mcxn947": "its NPU, eIQ Neutron, is not computed: figures are of the Cortex-M33",
    "ensemblee3": "figures are of the Cortex-M55; its Ethos-U55 runs files that vela compiled",
    "ensemblee7": "figures are of the Cortex-M55; its Ethos-U55 runs files that vela compiled",
    "apollo510": "Ambiq's heliaCORE has kernels of its own: figures are of CMSIS-NN",
}

# Most agree with PlatformIO's boards, too. Linkers may take less flash: an LPC55S69 keeps 10 KiB,
# an STM32WB55 what its radio's firmware needs, an Apollo510 64 KiB. block leaves out what a radio's
# core shares, and ends at 0x2000_0000, across which a Cortex-M4 reads no unaligned words; FlexRAM
# of i.MX RT, which firmware divides as it likes, is one block. An STM32N6's memories of caches and
# of the video encoder are left out. "probe-rs but TCM": nobody names its
# 128 KiB of tightly coupled memory. Cores agree as far as the descriptions tell them apart; every
# Cortex-M33 has the DSP extension according to Zephyr or the vendor.
_ROWS = {
    "ST": (
        ("stm32f072", "cortex-m0", 128, 16, 16, 48, "DS9826", "probe-rs"),
        ("stm32g071", "cortex-m0+", 128, 36, 36, 64, "DS12232", "probe-rs"),
        ("stm32f103c8", "cortex-m3", 64, 20, 20, 72, "DS5319", "probe-rs"),
        ("stm32f401", "cortex-m4", 512, 96, 96, 84, "DS10086", "probe-rs"),
        ("stm32f407", "cortex-m4", 1024, 192, 128, 168, "DS8626", "probe-rs"),
        ("stm32f411", "cortex-m4", 512, 128, 128, 100, "DS10314", "probe-rs"),
        ("stm32f429", "cortex-m4", 2048, 256, 192, 180, "DS9405", "probe-rs"),
        ("stm32f446", "cortex-m4", 512, 128, 128, 180, "DS10693", "probe-rs"),
        ("stm32g431", "cortex-m4", 128, 32, 32, 170, "DS12589", "probe-rs"),
        ("stm32g474", "cortex-m4", 512, 128, 128, 170, "DS12288", "probe-rs"),
        ("stm32l432", "cortex-m4", 256, 64, 64, 80, "DS11451", "probe-rs"),
        ("stm32l476", "cortex-m4", 1024, 128, 96, 80, "DS10198", "probe-rs"),
        ("stm32l4r5", "cortex-m4", 2048, 640, 640, 120, "DS12023", "probe-rs"),
        ("stm32wb55", "cortex-m4", 1024, 256, 192, 64, "DS11929", "RIOT"),
        ("stm32f746", "cortex-m7", 1024, 320, 320, 216, "DS10916", "probe-rs"),
        ("stm32f767", "cortex-m7", 2048, 512, 512, 216, "DS11532", "probe-rs"),
        ("stm32h743", "cortex-m7", 2048, 1056, 512, 480, "DS12110", "probe-rs"),
        ("stm32h747", "cortex-m7", 2048, 1056, 512, 480, "DS12930", "probe-rs"),
        ("stm32l552", "cortex-m33", 512, 256, 256, 110, "DS12737", "probe-rs"),
        ("stm32u575", "cortex-m33", 2048, 786, 768, 160, "DS13737", "Zephyr"),
        ("stm32u585", "cortex-m33", 2048, 786, 768, 160, "DS13086", "Zephyr"),
        ("stm32h563", "cortex-m33", 2048, 640, 640, 250, "DS14258", "probe-rs"),
        ("stm32f469", "cortex-m4", 2048, 384, 320, 180, "DS11189", "Zephyr"),
        ("stm32l475", "cortex-m4", 1024, 128, 96, 80, "DS10969", "Zephyr"),
        ("stm32h750", "cortex-m7", 128, 1056, 512, 480, "DS12556", "Zephyr"),
        ("stm32h7a3", "cortex-m7", 2048, 1376, 1024, 280, "DS13195", "Zephyr"),
        ("stm32wba52", "cortex-m33", 1024, 128, 128, 100, "DS14127", "Zephyr"),
        ("stm32wba55", "cortex-m33", 1024, 128, 128, 100, "DS14127", "Zephyr"),
        ("stm32wba65", "cortex-m33", 2048, 512, 512, 100, "DS14736", "Zephyr"),
        ("stm32u5a9", "cortex-m33", 4096, 2514, 2496, 160, "DS13543", "Zephyr"),
        ("stm32n657", "cortex-m55", 0, 3840, 3840, 800, "DS14791", "Zephyr"),
    ),
    "Nordic": (
        ("nrf51822", "cortex-m0", 256, 32, 32, 16, "nRF51822 product spec.", "probe-rs"),
        ("nrf52832", "cortex-m4", 512, 64, 64, 64, "nRF52832 product spec.", "probe-rs"),
        ("nrf52833", "cortex-m4", 512, 128, 128, 64, "nRF52833 product spec.", "probe-rs"),
        ("nrf52840", "cortex-m4", 1024, 256, 256, 64, "nRF52840 product spec.", "probe-rs"),
        ("nrf5340", "cortex-m33", 1024, 512, 512, 128, "nRF5340 product spec.", "probe-rs"),
        ("nrf54l15", "cortex-m33", 1524, 256, 256, 128, "nRF54L15 data sheet", "Nordic's page"),
        ("nrf9160", "cortex-m33", 1024, 256, 256, 64, "nRF9160 product spec.", "probe-rs"),
    ),
    "Raspberry Pi": (
        ("rp2040", "cortex-m0+", 0, 264, 264, 133, "RP2040 data sheet", "probe-rs"),
        ("rp2350", "cortex-m33", 0, 520, 520, 150, "RP2350 data sheet", "probe-rs"),
    ),
    "NXP": (
        ("lpc1768", "cortex-m3", 512, 64, 32, 100, "LPC1769/68/67/66/65/64/63", "PlatformIO"),
        ("mkl25z128", "cortex-m0+", 128, 16, 16, 48, "KL25P80M48SF0", "PlatformIO"),
        ("mk64fn1m0", "cortex-m4", 1024, 256, 192, 120, "K64P144M120SF5", "PlatformIO"),
        ("lpc55s69", "cortex-m33", 640, 320, 272, 150, "LPC55S6x data sheet", "probe-rs"),
        ("mcxn947", "cortex-m33", 2048, 512, 416, 150, "MCXNx4x data sheet", "probe-rs"),
        ("imxrt1052", "cortex-m7", 0, 512, 512, 600, "IMXRT1050CEC", "probe-rs"),
        ("imxrt1062", "cortex-m7", 0, 1024, 1024, 600, "IMXRT1060CEC", "probe-rs"),
        ("imxrt1176", "cortex-m7", 0, 2048, 1792, 1000, "IMXRT1170CEC", "Zephyr"),
        ("imxrt685", "cortex-m33", 0, 4608, 4608, 300, "RT600 data sheet", "probe-rs"),
    ),
    "Renesas": (
        ("ra4m1", "cortex-m4", 256, 32, 32, 48, "RA4M1 group data sheet", "probe-rs"),
        ("ra6m3", "cortex-m4", 2048, 640, 512, 120, "RA6M3 group data sheet", "Zephyr"),
        ("ra6m4", "cortex-m33", 1024, 256, 256, 200, "RA6M4 group data sheet", "probe-rs"),
        ("ra6m5", "cortex-m33", 2048, 512, 512, 200, "RA6M5 group data sheet", "probe-rs"),
        ("ra8m1", "cortex-m85", 2016, 1024, 896, 480, "RA8M1 group data sheet", "probe-rs but TCM"),
    ),
    "TI": (
        ("mspm0g3507", "cortex-m0+", 128, 32, 32, 80, "MSPM0G350x data sheet", "probe-rs"),
        ("msp432p401r", "cortex-m4", 256, 64, 64, 48, "SLAS826", "probe-rs"),
        ("tm4c123gh6pm", "cortex-m4", 256, 32, 32, 80, "SPMS376", "probe-rs"),
        ("tm4c1294ncpdt", "cortex-m4", 1024, 256, 256, 120, "SPMS433", "probe-rs"),
        ("cc2652r1", "cortex-m4", 352, 80, 80, 48, "SWRS207", "probe-rs"),
    ),
    "Silicon Labs": (
        ("efm32gg11", "cortex-m4", 2048, 512, 512, 72, "EFM32GG11 family data sheet", "probe-rs"),
        ("efr32mg12", "cortex-m4", 1024, 256, 256, 40, "EFR32MG12 family data sheet", "probe-rs"),
        ("efr32mg21", "cortex-m33", 1024, 96, 96, 80, "EFR32MG21 family data sheet", "probe-rs"),
        ("efr32mg24", "cortex-m33", 1536, 256, 256, 78, "EFR32MG24 family data sheet", "probe-rs"),
    ),
    "Microchip": (
        ("samd21", "cortex-m0+", 256, 32, 32, 48, "DS40001882", "probe-rs"),
        ("sam3x8e", "cortex-m3", 512, 96, 96, 84, "SAM3X/SAM3A series data sheet", "probe-rs"),
        ("samd51", "cortex-m4", 1024, 256, 256, 120, "DS60001507", "probe-rs"),
        ("same54", "cortex-m4", 1024, 256, 256, 120, "DS60001507", "probe-rs"),
        ("same70", "cortex-m7", 2048, 384, 384, 300, "DS60001527", "probe-rs"),
    ),
    "Infineon": (
        ("xmc4500", "cortex-m4", 1024, 160, 64, 120, "XMC4500 data sheet", "Zephyr"),
        ("xmc4700", "cortex-m4", 2048, 352, 256, 144, "XMC4700/XMC4800 data sheet", "probe-rs"),
        (
            "cy8c624a",
            "cortex-m4",
            2048,
            1024,
            1024,
            150,
            "CY8C62x8/CY8C62xA data sheet",
            "probe-rs",
        ),
    ),
    "Espressif": (
        ("esp32", "esp32", 0, 520, 160, 240, "ESP32 data sheet", "ESP-IDF", 4096),
        ("esp32s2", "esp32s2", 0, 320, 320, 240, "ESP32-S2 data sheet", "ESP-IDF", 10240),
        ("esp32s3", "esp32s3", 0, 512, 416, 240, "ESP32-S3 data sheet", "ESP-IDF", 32768),
        ("esp32c3", "esp32c3", 0, 400, 384, 160, "ESP32-C3 data sheet", "ESP-IDF"),
        ("esp32c6", "esp32c6", 0, 512, 512, 160, "ESP32-C6 data sheet", "ESP-IDF"),
        ("esp32p4", "esp32p4", 0, 768, 768, 400, "ESP32-P4 data sheet", "ESP-IDF", 65536),
    ),
    "Ambiq": (
        ("apollo3", "cortex-m4", 1024, 384, 384, 48, "Apollo3 Blue data sheet", "Ambiq's HAL"),
        (
            "apollo510",
            "cortex-m55",
            4096,
            3840,
            3072,
            250,
            "Apollo510 product brief",
            "Ambiq's HAL",
        ),
    ),
    "Alif": (
        (
            "ensemblee3",
            "cortex-m55",
            5632,
            13824,
            4096,
            400,
            "Ensemble E3 data sheet",
            "CMSIS pack 2.0.2",
        ),
        (
            "ensemblee7",
            "cortex-m55",
            5632,
            13824,
            4096,
            400,
            "Ensemble E7 data sheet",
            "CMSIS pack 2.0.2",
        ),
    ),
}

#: Name -> chip.
CHIPS = {row[0]: Chip(row[0], vendor, *row[1:]) for vendor, rows in _ROWS.items() for row in rows}

#: Board -> chip, of those whose name does not contain that of the chip.
BOARDS = {
    "nano33ble": "nrf52840",
    "nano33iot": "samd21",
    "nicla-vision": "stm32h747",
    "nicla-voice": "nrf52832",
    "portenta-h7": "stm32h747",
    "giga-r1": "stm32h747",
    "uno-r4": "ra4m1",
    "due": "sam3x8e",
    "microbit-v2": "nrf52833",
    "microbit": "nrf51822",
    "pico2": "rp2350",
    "pico": "rp2040",
    "teensy40": "imxrt1062",
    "teensy41": "imxrt1062",
    "sparkfun-edge": "apollo3",
    "feather-m4": "samd51",
    "wio-terminal": "samd51",
    "openmv-h7": "stm32h743",
    "openmv-rt1062": "imxrt1062",
    "stm32f4discovery": "stm32f407",
    "mimxrt1050-evk": "imxrt1052",
    "mimxrt1060-evk": "imxrt1062",
    "mimxrt1170-evk": "imxrt1176",
    "bluepill": "stm32f103c8",
    "blackpill": "stm32f411",
    "b-l475e-iot01a": "stm32l475",
    "b-u585i-iot02a": "stm32u585",
    "thingy53": "nrf5340",
    "frdm-k64f": "mk64fn1m0",
    "frdm-kl25z": "mkl25z128",
    "ek-tm4c123gxl": "tm4c123gh6pm",
    "xg24-dk2601b": "efr32mg24",
    "thunderboard-sense-2": "efr32mg12",
    "esp-wroom-32": "esp32",
    "esp-wrover": "esp32",
    "esp-eye": "esp32",
    "ai-thinker": "esp32",
    "nodemcu-32s": "esp32",
    "lolin-d32": "esp32",
    "lolin-s2-mini": "esp32s2",
    "lolin-s3": "esp32s3",
    "lolin-c3-mini": "esp32c3",
    "m5stack-core2": "esp32",
    "m5stack-cores3": "esp32s3",
    "m5stack-atoms3": "esp32s3",
    "m5stack-atom-echo": "esp32",
    "m5stack-tab5": "esp32p4",
    "t-display-s3": "esp32s3",
    "nano-esp32": "esp32s3",
    "huzzah32": "esp32",
    "home-assistant-voice": "esp32s3",
    "respeaker-lite": "esp32s3",
}

#: Words before the name of a chip in the name of a board, and what stands for them.
_LEADS = (
    ("arduino", ""),
    ("raspberrypi", ""),
    ("seeed", ""),
    ("xiao", ""),
    ("adafruit", ""),
    ("itsybitsy", ""),
    ("feather", ""),
    ("nucleo", "stm32"),
    ("disco", "stm32"),
    ("lpcxpresso", "lpc"),
    ("frdm", ""),
    ("evk", ""),
    ("lilygo", ""),
)

#: Before a part's name, what orders and parts lists add: ATSAMD21, AT91SAM3X8E, MIMXRT1062.
_PREFIXES = ("", "at", "at91", "m")


def find_named(word: str) -> Optional[Chip]:
    """Return the chip that a word begins with, however it is written: "STM32F411RE", "i.MX RT1062",
    or that of a board: "nucleo-f411re", "nano33ble".

    Packages and temperatures follow the name of a part. The longest name wins; None if no chip of
    CHIPS is meant.
    """
    plain = _plain(word)
    spelled = [plain[len(prefix) :] for prefix in _PREFIXES if plain.startswith(prefix)]
    for lead, stand_in in _LEADS:
        if plain.startswith(lead):
            plain = plain[len(lead) :]
            spelled += [plain, stand_in + plain]
    boards = [name for name in BOARDS if any(text.startswith(_plain(name)) for text in spelled)]
    if boards:
        return CHIPS[BOARDS[max(boards, key=len)]]
    found = max(
        (name for name in CHIPS if any(text.startswith(name) for text in spelled)),
        key=len,
        default="",
    )
    longer = any(text.startswith(s) for s in _STRANGERS for text in spelled if len(s) > len(found))
    unknown = any(re.match(rf"{found}{_NEW_ESP32}", text) for text in spelled)
    return None if longer or unknown or not found else CHIPS[found]


def find_near(word: str) -> list[str]:
    """Return the chips whose number has most in common with a word, at most three, best first."""
    plain = _plain(word).replace("stm32", "")
    numbers = re.findall(r"\d{3,}", plain)
    common: dict[str, float] = {}
    for name in CHIPS:
        own = name.replace("stm32", "")
        match = difflib.SequenceMatcher(None, plain, own, autojunk=False).find_longest_match(
            0, len(plain), 0, len(own)
        )
        text = own[match.b : match.b + match.size]
        shared = [number for number in numbers if number in own]
        whole = match.size == len(plain) > 1
        if shared or ((match.size >= 3 or whole) and any(c.isdigit() for c in text)):
            common[name] = match.size + sum(map(len, shared)) - match.b / 100
    return sorted(common, key=lambda name: -common[name])[:3]


def _plain(word: str) -> str:
    return "".join(c for c in word.lower() if c.isalnum())


#: After the name of an ESP32: letter and digit of a chip that is not in the table.
_NEW_ESP32 = r"((?<=esp32)[schp]?\d|(?<=esp32[schp]\d)\d)"

#: Beginning of a name -> the reason why it is no target.
_STRANGERS = {
    **dict.fromkeys(
        ("esp32c2", "esp32c5", "esp32c61", "esp32h2"),
        "its memory is not in the table; ESP-NN computes the bits of esp32c3 there: give that",
    ),
    **dict.fromkeys(("esp32s31", "esp32h4"), "nobody read or ran the kernels of ESP-NN there"),
    "esp8266": "it has no Cortex-M, and ESP-NN does not support it",
    "max7800": "its CNN accelerator has an arithmetic of its own; its core is m4",
    "ethosu": "it names no size of an Ethos-U; give one of 55-32, 55-64, 55-128, 55-256, 65-256, "
    "65-512, 85-128 to 85-2048, such as ethos-u55-128, or a core, such as m55",
    "neuralart": "it is the NPU of the STM32N6, whose arithmetic is not computed; its core is m55",
    "stm32n6npu": "its NPU, Neural-ART, is not computed; its core is m55",
    "helia": "Ambiq's heliaCORE has kernels of its own; for those of CMSIS-NN give m55",
    "hexagon": "it is no Cortex-M",
    "xtensa": "it is no Cortex-M",
    "riscv": "it is no Cortex-M",
    "k210": "it has RISC-V cores and an accelerator of its own",
    "gap8": "it has RISC-V cores",
    "gap9": "it has RISC-V cores",
    "ch32v": "it has RISC-V cores",
    "bl602": "it has a RISC-V core",
    "bl616": "it has a RISC-V core",
    "atmega": "it has an 8-bit core",
    "avr": "it has an 8-bit core",
    "cortexa": "it runs LiteRT, whose kernels are other ones; Cortex-M cores are computed",
    "raspberrypi3": "it has a Cortex-A, which runs LiteRT",
    "raspberrypi4": "it has a Cortex-A, which runs LiteRT",
    "raspberrypi5": "it has a Cortex-A, which runs LiteRT",
}


def stranger(word: str) -> str:
    """Return why a device is no Cortex-M with CMSIS-NN; "" if nothing is known."""
    plain = _plain(word)
    found = [start for start in _STRANGERS if plain.startswith(start)]
    return _STRANGERS[max(found, key=len)] if found else ""
