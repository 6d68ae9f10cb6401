"""Devices as data: which core takes which path through CMSIS-NN, and what a profile is."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any, NoReturn, Optional

from . import releases
from .chips import Chip, find_named, find_near, stranger
from .errors import Error
from .io.arguments import format_value, have, one_of

#: Path through the library -> its number in csrc/include/qn.h. "m0" is Armv6-M and Armv8-M
#: Baseline, "scalar" the portable path as a Cortex-M3 runs it, "mve" the portable path of a core
#: with Helium (a few support functions keep their DSP body there), "dsp" the DSP extension.
PATHS = {"m0": 0, "scalar": 1, "mve": 2, "dsp": 3}

#: Core -> the path its build of CMSIS-NN takes.
CORES = {
    "cortex-m0": "m0",
    "cortex-m0+": "m0",
    "cortex-m0plus": "m0",
    "cortex-m1": "m0",
    "cortex-m3": "scalar",
    "cortex-m4": "dsp",
    "cortex-m7": "dsp",
    "cortex-m23": "m0",
    "cortex-m33": "dsp",
    "cortex-m35p": "dsp",
    "cortex-m52": "mve",
    "cortex-m55": "mve",
    "cortex-m85": "mve",
}

#: Chip of the ESP32 family -> the kernels of ESP-NN that it runs: "esp32" is generic C.
ESP_CHIPS = {
    **dict.fromkeys(("esp32", "esp32s2", "esp32c3", "esp32c6"), "esp32"),
    "esp32s3": "esp32s3",
    "esp32p4": "esp32p4",
}

#: Releases of ESP-NN by their names in Espressif's component registry, the oldest first; the first
#: is the oldest that esp-tflite-micro takes.
ESP_NN = (
    *("1.1.1", "1.1.2", "1.2.0~1", "1.2.1", "1.2.2", "1.2.3", "1.2.4", "1.2.5", "1.2.6", "1.2.7"),
    *("1.2.8", "1.2.9", "1.3.0", "1.3.1", "1.3.2", "1.4.0", "1.4.1", "1.4.2", "1.5.0"),
)

#: Newest release whose kernels for the ESP32-S3 are known whole; an export pins it.
DEFAULT_ESP_NN = "1.2.6"

#: Releases whose results on an ESP32-S3 differ from each other; all others have those of one.
ESP_NN_DISTINCT = ("1.1.2", "1.2.3", DEFAULT_ESP_NN, ESP_NN[-1])

#: Release of ESP-DL whose functions are computed, on the same chips.
ESP_DL = "3.3.9"

#: CMSIS release -> its place in the history.
RELEASES = {each.name: each.place for each in releases.ALL}

#: Rounding -> its number: of the q7 and q15 functions "nearest" as Arm ships them, "truncate" as
#: with ARM_NN_TRUNCATE; from 7.0.0 on "double" as Arm ships it, "single" as with
#: CMSIS_NN_USE_SINGLE_ROUNDING.
ROUNDINGS = {"nearest": 0, "truncate": 1, "double": 0, "single": 1}

_LEGACY_ROUNDINGS, _AFFINE_ROUNDINGS = ("nearest", "truncate"), ("double", "single")

#: Whose kernels a build of TensorFlow Lite Micro has, where CMSIS-NN has some: those, or the
#: framework's own.
KERNELS = ("cmsis-nn", "reference")

#: Months of TensorFlow Lite Micro between which bits changed, the oldest first;
#: functions/tflm_builds.py says which. The default is the newest with recordings of CMSIS-NN's
#: kernels: commit 90b983c2 of 20 August 2026.
TFLM = ("2022-12", "2023-02", "2026-02", "2026-04", "2026-05", "2026-06", "2026-08", "2026-10")
DEFAULT_TFLM = "2026-08"

#: Configurations of Arm's Ethos-U: products, with the multiply-accumulates of a cycle.
ETHOS_U = (
    *(f"ethos-u55-{macs}" for macs in (32, 64, 128, 256)),
    *(f"ethos-u65-{macs}" for macs in (256, 512)),
    *(f"ethos-u85-{macs}" for macs in (128, 256, 512, 1024, 2048)),
)

#: Core next to an Ethos-U that a target names.
ETHOS_U_CORE = "cortex-m55"

DEFAULT_CORE = "cortex-m4"
LEGACY_CMSIS, AFFINE_CMSIS = releases.LEGACY, releases.AFFINE


@dataclass(frozen=True)
class Target:
    """A device as its user names it; every function that runs or plans a network takes one.

    A text for the device alone does as well: `target="m4"`.

    Attributes
    ----------
    device : str, default "cortex-m4"
        A core ("m4"), a chip ("stm32f411", "esp32s3"), a path of PATHS, or an NPU of ETHOS_U, for
        files that vela compiled for it. Operators outside of its command streams run on a
        Cortex-M55, or on the core after a plus sign: "ethos-u55-128+m85".
    cmsis : str, optional
        A release of RELEASES; default: the newest numbered one with the network's functions.
    rounding : str, optional
        A rounding of ROUNDINGS; default: as Arm ships the release.
    kernels : str, default "cmsis-nn"
        Whose kernels TensorFlow Lite Micro is built with, for a network that it runs: those of
        CMSIS-NN, or its own "reference". On a chip of the ESP32 family it is "reference": seven
        operators call ESP-NN, and all others are the framework's own.
    tflm : str, default "2026-08"
        The month of TensorFlow Lite Micro, one of TFLM.
    esp_nn : str, optional
        Of a chip of the ESP32 family: a release of ESP_NN; default: the newest whose kernels are
        known whole, DEFAULT_ESP_NN.

    Raises
    ------
    Error
        A name is unknown; the sentence has the choices.

    Examples
    --------
    >>> Target("stm32f411", cmsis="5.6.0").core
    'cortex-m4'
    """

    device: str = DEFAULT_CORE
    cmsis: Optional[str] = None
    rounding: Optional[str] = None
    kernels: str = KERNELS[0]
    tflm: str = DEFAULT_TFLM
    esp_nn: Optional[str] = None

    def __post_init__(self) -> None:
        core = resolve(self.device)
        if self.cmsis is not None:
            object.__setattr__(self, "cmsis", release_name(self.cmsis))
        if self.rounding is not None:
            one_of(ROUNDINGS, self.rounding, "rounding")
        one_of(KERNELS, self.kernels, "kernels")
        one_of(TFLM, self.tflm, "month of TFLM")
        if core in ESP_CHIPS:
            self._complete_esp()
        elif self.esp_nn is not None:
            raise Error(
                f"esp_nn is {format_value(self.esp_nn)}, but {self.device} is no chip of the ESP32 "
                "family; leave esp_nn out, or give such a target: esp32s3"
            )

    def _complete_esp(self) -> None:
        """Fill in the build of a chip of the ESP32 family; raise Error if CMSIS-NN's is named."""
        if self.cmsis is not None:
            raise Error(
                f"cmsis is {self.cmsis}, but {self.device} runs ESP-NN, not CMSIS-NN; "
                f"give esp_nn, a release from {ESP_NN[0]} to {ESP_NN[-1]}"
            )
        if self.rounding not in (None, "double"):
            raise Error(
                f"rounding is {self.rounding!r}, but ESP-NN rounds twice; leave it out, or give "
                "'double'"
            )
        object.__setattr__(self, "kernels", "reference")
        object.__setattr__(self, "esp_nn", self.esp_nn or DEFAULT_ESP_NN)
        one_of(ESP_NN, self.esp_nn, "release of ESP-NN")

    @classmethod
    def of(cls, value: Any) -> Target:
        """Return a target that a caller gives.

        Parameters
        ----------
        value : Target, str or Profile
            A target, the name of its device, or a profile of CMSIS-NN.

        Returns
        -------
        Target
            The target.

        Raises
        ------
        Error
            It is something else, or a name is unknown.
        """
        if isinstance(value, Target):
            return value
        if isinstance(value, Profile):
            cmsis = None if value.espressif else value.cmsis
            build = (value.kernels, value.tflm, value.esp_nn or None)
            return cls(value.path, cmsis, value.rounding, *build)
        if not isinstance(value, str):
            raise Error(
                f"target must be a Target or the name of a device, not {format_value(value)}"
            )
        return cls(value)

    def on(self, device: str) -> Target:
        """Return this build on another device.

        Parameters
        ----------
        device : str
            A core, a chip, or a path of PATHS. From CMSIS-NN to a chip of the ESP32 family or back,
            only the month of TensorFlow Lite Micro is kept.

        Returns
        -------
        Target
            The target.

        Raises
        ------
        Error
            The name is unknown, or the device has no such build.

        Examples
        --------
        >>> Target("m4", tflm="2026-05").on("esp32s3").tflm
        '2026-05'
        """
        is_esp = resolve(device) in ESP_CHIPS
        same = is_esp == (self.esp_nn is not None)
        return replace(self, device=device) if same else Target(device, tflm=self.tflm)

    @property
    def core(self) -> str:
        """The core of the device, or its path of PATHS."""
        return resolve(self.device)

    @property
    def npu(self) -> Optional[str]:
        """The Ethos-U that the device names, of ETHOS_U; None of a core or a chip."""
        word = _join_words(self.device).partition("+")[0]
        return word if word in ETHOS_U else None

    @property
    def npus(self) -> Optional[tuple[str, ...]]:
        """The Ethos-U of the device, of ETHOS_U; none of most chips, None of a core: any."""
        if self.npu is not None:
            return (self.npu,)
        found = chip_of(self.device)
        return None if found is None or "=" in self.device else found.npus

    def profile(self) -> Profile:
        """Return whose arithmetic it is, of the release that profile() takes without one.

        Returns
        -------
        Profile
            Release, path, rounding, and the build of TensorFlow Lite Micro.

        Raises
        ------
        Error
            The release does not have the core or the rounding; the sentence has the choices.
        """
        if self.esp_nn is not None:
            kernels = ESP_CHIPS[self.core]
            return Profile(AFFINE_CMSIS, kernels, "double", self.kernels, self.tflm, self.esp_nn)
        return profile(self.device, self.cmsis, self.rounding, self.kernels, self.tflm)

    def esp_dl_profile(self) -> Profile:
        """Return whose arithmetic it is for a network of ESP-DL.

        Returns
        -------
        Profile
            The chip's functions of ESP-DL.

        Raises
        ------
        Error
            The device is no chip of the ESP32 family.
        """
        if self.esp_nn is None:
            raise Error(
                f"the network calls ESP-DL, which runs on chips of the ESP32 family, not on "
                f"{self.device}; give such a target: {', '.join(ESP_CHIPS)}"
            )
        path = ESP_CHIPS[self.core]
        return Profile(AFFINE_CMSIS, path, "double", "reference", esp_dl=ESP_DL)


@dataclass(frozen=True)
class Profile:
    """Whose arithmetic it is. It shows in the bits, so the user chooses it.

    Attributes
    ----------
    cmsis : str
        A release of RELEASES; with ESP-NN, the one whose portable C has the bits of the
        framework's own kernels.
    path : str
        A path of PATHS; with ESP-NN, one of the values of ESP_CHIPS.
    rounding : str
        A rounding of ROUNDINGS.
    kernels : str
        Of a network from TensorFlow Lite: one of KERNELS.
    tflm : str
        Of a network from TensorFlow Lite: a month of TFLM.
    esp_nn : str
        On a chip of the ESP32 family: a release of ESP_NN; otherwise "".
    esp_dl : str
        Of a network of ESP-DL: its release; otherwise "".
    """

    cmsis: str
    path: str
    rounding: str
    kernels: str = KERNELS[0]
    tflm: str = DEFAULT_TFLM
    esp_nn: str = ""
    esp_dl: str = ""

    @property
    def espressif(self) -> dict[str, str]:
        """The library of a chip of the ESP32 family, "esp_nn" or "esp_dl", and its release."""
        return {name: getattr(self, name) for name in ("esp_nn", "esp_dl") if getattr(self, name)}

    @property
    def is_affine(self) -> bool:
        """True if the rounding is that of the s8 and s16 functions."""
        return self.rounding in _AFFINE_ROUNDINGS

    @property
    def library(self) -> Profile:
        """The profile whose rows compute its calls: on an ESP32, that of portable C."""
        return replace(self, path="scalar", esp_nn="", esp_dl="") if self.espressif else self

    @property
    def build(self) -> dict[str, str]:
        """Properties of TensorFlow Lite Micro's build that are not the default, by name."""
        defaults = {"kernels": "reference" if self.espressif else KERNELS[0], "tflm": DEFAULT_TFLM}
        own = {name: str(getattr(self, name)) for name in defaults}
        return {name: own[name] for name in own if own[name] != defaults[name]}

    def __str__(self) -> str:
        if self.path == "npu":
            return "NPU"
        words = {"kernels": "{} kernels", "tflm": "TFLM {}"}
        build = (words[name].format(value) for name, value in self.build.items())
        for name, release in self.espressif.items():
            return ", ".join([f"{name.upper().replace('_', '-')} {release}", self.path, *build])
        return ", ".join([f"CMSIS {self.cmsis}", self.path, self.rounding, *build])


#: The NPU of the WuQi WQ5007: every shift rounds down.
NPU = Profile("none", "npu", "floor")


def is_affine(cmsis: str) -> bool:
    """Say whether a release has the s8 and s16 functions, and not those of q7 and q15.

    Parameters
    ----------
    cmsis : str
        A release of RELEASES.

    Returns
    -------
    bool
        True from 4.0.0 on.
    """
    return releases.BY_NAME[cmsis].is_affine


def release_name(name: object) -> str:
    """Return the release that a name means.

    Parameters
    ----------
    name : str
        A version ("5.8.0"), a commit of at least seven digits, or an SDK with a date
        ("zephyr-2024-06"): the newest state that it shipped by then.

    Returns
    -------
    str
        A release of RELEASES.

    Raises
    ------
    Error
        The name is unknown; the sentence has the choices.

    Examples
    --------
    >>> release_name("zephyr-2024-06"), release_name("v5.0.0")
    ('6.0.0', '5.0.0')
    """
    found = releases.canonical(name) if isinstance(name, str) else None
    if found is None:
        tags = [each.name for each in releases.ALL if each.is_tag or each.name in releases.WHOLE]
        names = [*tags, "a commit", "an SDK of docs/releases.md such as zephyr-2024-06"]
        choices = have(names, name, {each: each for each in (*tags, *releases.SDKS)})
        raise Error(f"no CMSIS release {format_value(name)}; {choices}")
    return found


def roundings(cmsis: str) -> tuple[str, ...]:
    """Return the roundings that a release of CMSIS can be built with.

    Parameters
    ----------
    cmsis : str
        A release of RELEASES.

    Returns
    -------
    tuple of str
        Arm's own choice first: of the q7 and q15 functions, then of the s8 and s16 functions.
    """
    release = releases.BY_NAME[cmsis]
    affine = _AFFINE_ROUNDINGS if release.has_single else _AFFINE_ROUNDINGS[:1]
    if release.is_affine:
        return affine
    return _LEGACY_ROUNDINGS if release.is_legacy else (*_LEGACY_ROUNDINGS, *affine)


def resolve(target: str) -> str:
    """Return what a user calls a device, in the words of this module.

    Parameters
    ----------
    target : str
        A core ("m4", "Cortex-M4F"), a chip ("stm32f411", "STM32F411RE"), or a path of PATHS.

    Returns
    -------
    str
        A core ("m4"), a chip ("stm32f411"), or a path of PATHS.

    Raises
    ------
    Error
        The word is unknown; the sentence has the choices, and what is close to it.

    Examples
    --------
    >>> resolve("M55"), resolve("stm32f411"), resolve("dsp")
    ('cortex-m55', 'cortex-m4', 'dsp')
    """
    word = _join_words(target)
    if "=" in word:
        return own_chip(word).core
    npu, plus, core = word.partition("+")
    if npu in ETHOS_U:
        return _find_core(target, core) if plus else ETHOS_U_CORE
    if word in PATHS:
        return word
    core = _short(word)
    for name in (core, core.rstrip("f")):  # "m4f" is a Cortex-M4 with a floating-point unit
        if f"cortex-{name}" in CORES:
            return f"cortex-{name}"
    found = find_named(word)
    return _unknown(target, word, core) if found is None else found.core


def _find_core(target: str, core: str) -> str:
    """Return the core next to an Ethos-U; raise Error unless it is a Cortex-M."""
    found = resolve(core) if core else ""
    if found not in CORES:
        raise Error(
            f"the target is {target!r}; after the plus sign it must name a Cortex-M core, such as "
            f"{ETHOS_U[0]}+cortex-m85"
        )
    return found


def _join_words(target: object) -> str:
    """Return a device in lower case, without spaces."""
    return "".join(target.lower().split()) if isinstance(target, str) else ""


def _unknown(target: object, word: str, core: str) -> NoReturn:
    """Raise Error for a word that is no device."""
    if reason := stranger(word):
        raise Error(f"{format_value(target)} is no target: {reason}")
    if chips_near := find_near(word):
        hint = f"a core, a path, or a chip of chips.CHIPS; did you mean {' or '.join(chips_near)}?"
        raise Error(f"no core or chip {format_value(target)}; give {hint}")
    choices = [*CORES, *PATHS, "a chip or board of chips.CHIPS"]
    known = have(choices, core, {_short(c): c for c in CORES})
    raise Error(f"no core or chip {format_value(target)}; {known}")


def chip(name: str) -> Chip:
    """Return the chip of a name.

    Parameters
    ----------
    name : str
        A chip of chips.CHIPS, with or without its package: "stm32f411", "STM32F411RE".

    Returns
    -------
    Chip
        Its core, flash and memory.

    Raises
    ------
    Error
        The chip is unknown; the sentence has the choices, and what is close to it.

    Examples
    --------
    >>> chip("STM32F411RE").flash
    512
    """
    word = name if isinstance(name, str) else ""
    found = chip_of(word)
    if found is not None:
        return found
    if reason := stranger(word):
        raise Error(f"{format_value(name)} is no chip for this: {reason}")
    hint = (
        f"did you mean {' or '.join(find_near(word))}?" if find_near(word) else "have chips.CHIPS;"
    )
    raise Error(f"no chip {format_value(name)}; {hint} of another one give 'flash=512K,ram=128K'")


def chip_of(device: str) -> Optional[Chip]:
    """Return the chip that a device is.

    Parameters
    ----------
    device : str
        The name of a chip or a board, the figures of a chip, a core or a path.

    Returns
    -------
    Chip or None
        None for a core, a path and any other word.

    Raises
    ------
    Error
        The figures are those of no chip.

    Examples
    --------
    >>> chip_of("nucleo-f411re").name, chip_of("m4")
    ('stm32f411', None)
    """
    return own_chip(device) if "=" in device else find_named(device)


#: Factor of a size by its last letter.
_UNITS = {"K": 1, "M": 1024}


def own_chip(text: str) -> Chip:
    """Return a chip that is not in the table, from its figures.

    Parameters
    ----------
    text : str
        "flash=512K,ram=128K", and perhaps ",block=96K,core=m4,clock=100": sizes in KiB or MiB,
        MHz. The block is all of the RAM by default, the core "cortex-m4".

    Returns
    -------
    Chip
        A chip with these figures; flash=0 is flash outside.

    Raises
    ------
    Error
        A name or a figure is missing or unknown.

    Examples
    --------
    >>> own_chip("flash=512K,ram=128K").ram
    128
    """
    given = dict(pair.strip().partition("=")[::2] for pair in text.lower().split(","))
    names = ("flash", "ram", "block", "core", "clock")
    for name in given:
        one_of(names, name, "figure of a chip")
    if "ram" not in given or "flash" not in given:
        raise Error(f"{format_value(text)} must have flash= and ram=, such as flash=512K,ram=128K")
    ram = _kib(given["ram"], "ram")
    clock = given.get("clock", "0")
    if not clock.isdecimal():
        raise Error(f"clock= is {clock!r}, but must be MHz, such as 100")
    return Chip(
        "own chip",
        "",
        resolve(given.get("core", DEFAULT_CORE)),
        _kib(given["flash"], "flash"),
        ram,
        _kib(given.get("block", given["ram"]), "block"),
        int(clock),
        text,
        "",
    )


def _kib(text: str, name: str) -> int:
    """Return KiB of a text such as 512K or 2M."""
    plain = text.upper().removesuffix("B").removesuffix("I")
    number, unit = (plain, "") if plain == "0" else (plain[:-1], plain[-1:])
    if not number.isdecimal() or (unit and unit not in _UNITS):
        raise Error(f"{name}= is {text!r}, but must be a size in KiB or MiB, such as 512K or 2M")
    return int(number) * _UNITS.get(unit, 1)


def _short(word: str) -> str:
    """Return a core without the word "cortex", which all have in common."""
    for start in ("cortex", "arm", "c"):
        rest = word[len(start) :].lstrip("-_") if word.startswith(start) else word
        if rest.startswith("m"):
            return rest
    return word


def core_path(core: str) -> str:
    """Return the path that a device takes through the library.

    Parameters
    ----------
    core : str
        A core ("m4"), a chip ("stm32f411"), or a path of PATHS.

    Returns
    -------
    str
        A path of PATHS, or of a chip of the ESP32 family a value of ESP_CHIPS.

    Raises
    ------
    Error
        The word is unknown; the sentence has the choices.

    Examples
    --------
    >>> core_path("cortex-m55")
    'mve'
    """
    name = resolve(core)
    return {**CORES, **ESP_CHIPS}.get(name, name)


def cores_of(paths: Collection[str]) -> list[str]:
    """Return the cores that take one of these paths.

    Parameters
    ----------
    paths : collection of str
        Paths of PATHS.

    Returns
    -------
    list of str
        Cores of CORES, or chips of ESP_CHIPS.
    """
    return [core for core, path in {**CORES, **ESP_CHIPS}.items() if path in paths]


def core_words(cores: Iterable[str]) -> str:
    """Return cores as Arm writes them.

    Parameters
    ----------
    cores : iterable of str
        Cores of CORES, or chips of ESP_CHIPS.

    Returns
    -------
    str
        Text such as "Cortex-M4, M7, M33", or "ESP32-S3".
    """
    given = [*cores]
    if any(core in ESP_CHIPS for core in given):
        return ", ".join(_spell_esp(core) for core in given)
    names = (core[len("cortex-") :].upper().replace("PLUS", "+") for core in given)
    return f"Cortex-{', '.join(dict.fromkeys(names))}"


def _spell_esp(chip: str) -> str:
    """Return a chip of the ESP32 family as Espressif writes it."""
    series = chip[len("esp32") :].upper()
    return f"ESP32-{series}" if series else "ESP32"


def esp_profiles() -> list[Profile]:
    """List the profiles of ESP-NN, of the default month of TensorFlow Lite Micro.

    Returns
    -------
    list of Profile
        Every kernel set of ESP_CHIPS in the default release, that of the ESP32-S3 in every release
        of ESP_NN_DISTINCT.
    """
    return [
        Target(each, esp_nn=release).profile()
        for each in dict.fromkeys(ESP_CHIPS.values())
        for release in (ESP_NN_DISTINCT if each == "esp32s3" else (DEFAULT_ESP_NN,))
    ]


def profile(
    core: str = DEFAULT_CORE,
    cmsis: Optional[str] = None,
    rounding: Optional[str] = None,
    kernels: str = KERNELS[0],
    tflm: str = DEFAULT_TFLM,
) -> Profile:
    """Return the profile of a device, from names.

    Parameters
    ----------
    core : str, default "cortex-m4"
        A core ("m4"), a chip ("stm32f411"), a path of PATHS, or an NPU of ETHOS_U, for files that
        vela compiled for it; its core is a Cortex-M55.
    cmsis : str, optional
        A release of RELEASES; default: the one that has `rounding`, "5.9.0" without one.
    rounding : str, optional
        A rounding of ROUNDINGS; default: as Arm ships the release.
    kernels : str, default "cmsis-nn"
        Whose kernels TensorFlow Lite Micro is built with: "cmsis-nn", or its own "reference".
    tflm : str, default "2026-08"
        The month of TensorFlow Lite Micro, one of TFLM.

    Returns
    -------
    Profile
        Release, path, rounding, and the build of TensorFlow Lite Micro.

    Raises
    ------
    Error
        A name is unknown, or the release does not have the core or the rounding; the sentence has
        the choices.

    Examples
    --------
    >>> print(profile("cortex-m4"))
    CMSIS 5.9.0, dsp, nearest
    """
    path = core_path(core)
    if rounding is not None:
        one_of(ROUNDINGS, rounding, "rounding")
    if cmsis is None:
        cmsis = AFFINE_CMSIS if rounding in _AFFINE_ROUNDINGS else LEGACY_CMSIS
    cmsis = release_name(cmsis)
    have = roundings(cmsis)
    if rounding is None:
        rounding = have[0]
    one_of(have, rounding, f"rounding of CMSIS {cmsis}:")
    if path == "mve" and not releases.BY_NAME[cmsis].has_helium:
        raise Error(
            f"CMSIS {cmsis} does not support {core} (Helium came later); use cmsis={LEGACY_CMSIS!r}"
        )
    if one_of(KERNELS, kernels, "kernels") != KERNELS[0]:
        path = "scalar"  # portable code, which no core has a way of its own through
    return Profile(cmsis, path, rounding, kernels, one_of(TFLM, tflm, "month of TFLM"))


def list_ruled_profiles() -> list[Profile]:
    """List the profiles of the releases that rules describe; few rows claim them.

    Returns
    -------
    list of Profile
        The releases that are not in releases.WHOLE, with their paths and roundings.
    """
    return [
        Profile(release.name, path, rounding)
        for release in releases.ALL
        if release.name not in releases.WHOLE
        for path in PATHS
        for rounding in roundings(release.name)
        if release.has_helium or path != "mve"
    ]


def all_profiles() -> list[Profile]:
    """List the profiles that most rows claim; rules compute the others as these.

    Returns
    -------
    list of Profile
        The releases of releases.WHOLE, with the paths and roundings of their first API.
    """
    return [
        Profile(cmsis, path, rounding)
        for cmsis in releases.WHOLE
        for path in PATHS
        for rounding in roundings(cmsis)[:2]
        if releases.BY_NAME[cmsis].has_helium or path != "mve"
    ]


def list_comparable(own: Profile) -> list[Profile]:
    """List the profiles that a network on a device is compared with.

    Parameters
    ----------
    own : Profile
        That of the device.

    Returns
    -------
    list of Profile
        Those of all_profiles() in the same build of TensorFlow Lite Micro. Of a chip of the ESP32
        family, those of esp_profiles(), and then those of CMSIS-NN with its s8 and s16 functions.
        Of a network of ESP-DL, those of all its chips.
    """
    if own.esp_dl:
        return [replace(own, path=path) for path in dict.fromkeys(ESP_CHIPS.values())]
    if not own.esp_nn:
        return [replace(p, kernels=own.kernels, tflm=own.tflm) for p in all_profiles()]
    others = (*esp_profiles(), *(p for p in all_profiles() if p.is_affine))
    return [replace(p, tflm=own.tflm) for p in others]
