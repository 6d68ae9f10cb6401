"""Instructions of one call: its parts times coefficients fitted to recorded counts."""

from __future__ import annotations

import functools
import json
import lzma
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import Error, shorten_middle
from ..io.arguments import format_value, have
from ..targets import resolve
from .counts import Counts, Params
from .table import COUNTERS, count_parts, get_group

#: The coefficients, which benchmarks/fit_cycles.py writes.
DATA = Path(__file__).with_name("coefficients.json.xz")

#: Core that counts are recorded on -> the path its build of CMSIS-NN takes.
PATHS = {"cortex-m3": "scalar", "cortex-m4": "dsp", "cortex-m55": "mve"}

#: Core without counts of its own -> the core whose counts replace them. Both have the same
#: instructions, although a compiler may order them differently for each.
STANDS_FOR = {
    "cortex-m7": "cortex-m4",
    "cortex-m33": "cortex-m4",
    "cortex-m35p": "cortex-m4",
    "cortex-m52": "cortex-m55",
    "cortex-m85": "cortex-m55",
}

#: Class of instructions -> its column in the recorded counts.
CLASSES = {
    "loads": "load",
    "multiply-accumulates": "mac",  # and multiplications, except on a Cortex-M3
    "multiplies": "mul",
    "divides": "divide",
    "branches taken": "branches_taken",
}


#: Arguments that may be missing.
DEFAULTS = {"bias": 1, "bias_is_int32": 0, "rhs_offset": 0}


@dataclass(frozen=True)
class CallEstimate:
    """Instructions of a call of a CMSIS-NN function; estimate_call() returns it.

    Attributes
    ----------
    function : str
        The function's name in C.
    core : str
        The core that the figures are for.
    counted_on : str
        The core that counts were recorded on: another one where there are none of `core`.
    release : str
        The release of CMSIS.
    optimization : str
        The compiler's optimization.
    float_abi : str
        The compiler's float ABI.
    instructions : int
        Instructions that the call executes on uniformly random data, its buffers aligned to 16
        bytes.
    low, high : int
        Bounds whatever the data are: by the recorded inputs, and by a margin. The margin is the
        largest error among the function's recorded calls in this build, and at least the error
        that nine in ten unseen calls do not exceed.
    mix : mapping of str to int
        What `instructions` are made of, by the classes of CLASSES. The rest are other ones; with
        Helium all vector instructions are among these.
    """

    function: str
    core: str
    counted_on: str
    release: str
    optimization: str
    float_abi: str
    instructions: int
    low: int
    high: int
    mix: Mapping[str, int]


def estimate_call(
    function: str,
    params: Params,
    target: str = "cortex-m4",
    cmsis: str = "7.0.0",
    optimization: str = "-O3",
    float_abi: str = "hard",
) -> CallEstimate:
    """Estimate how many instructions a call of a CMSIS-NN function executes.

    Parameters
    ----------
    function : str
        The function's name in C.
    params : mapping of str to int
        Its scalar arguments by the names of `qemu_nn.cmsis`; `bias` is 0 where C gets NULL for it,
        and 1 if it is missing.
    target : str, default "cortex-m4"
        A core ("m4") or a chip ("stm32f411"). Counts were recorded on Cortex-M3, M4 and M55; those
        of M4 stand for M7, M33 and M35P, those of M55 for M52 and M85.
    cmsis : str, default "7.0.0"
        "5.6.0" and "5.9.0" for the q7 and q15 functions, "7.0.0" for those of s8, s16 and s4.
    optimization : str, default "-O3"
        "-O2", "-O3", "-Os" or "-Ofast" of GCC 12.2.
    float_abi : str, default "hard"
        "hard" or "soft". It changes integer code, too; a Cortex-M3 has none.

    Returns
    -------
    CallEstimate
        Instructions, the range that they lie in, and what they are made of.

    Raises
    ------
    Error
        There are no counts of the function, core, release or setting, or an argument is missing;
        the sentence says what there is.

    Examples
    --------
    >>> call = estimate_call("arm_relu_q7", {"size": 1000}, cmsis="5.9.0")
    >>> call.low <= call.instructions <= call.high
    True
    """
    core = resolve(target)
    counted_on = STANDS_FOR.get(core, core)
    entry, abi = _get_entry(function, core, counted_on, cmsis, optimization, float_abi)
    counted = _count_parts(function, params, PATHS[counted_on], "random")
    count = _sum(entry, "instructions", counted)
    least, most, margin = entry["spans"][function]
    low, high = count * least, count * most
    for data in ("least", "most"):
        other = _sum(entry, "instructions", _count_parts(function, params, PATHS[counted_on], data))
        low, high = min(low, other), max(high, other)
    return CallEstimate(
        function, core, counted_on, cmsis, optimization, abi, max(round(count), 1),
        int(low * (1 - margin)), int(high * (1 + margin)) + 1,
        {name: round(_sum(entry, name, counted)) for name in CLASSES if name in entry},
    )  # fmt: skip


def _count_parts(function: str, params: Params, path: str, data: str) -> Mapping[str, float]:
    """Return how often each part of a call runs."""
    try:
        given = {name: operator.index(value) for name, value in params.items()}
        counted = count_parts(function, {**DEFAULTS, **given}, path, data)
    except KeyError as missing:
        raise Error(f"{function} lacks the argument {missing}") from None
    except (AttributeError, TypeError, ValueError, ZeroDivisionError):
        counted = Counts(wrong=-1.0)
    if min(counted.values()) < 0:
        raise Error(f"{function} cannot have these arguments: {shorten_middle(str(params), 200)}")
    return counted


def _sum(entry: Mapping[str, Any], name: str, counted: Mapping[str, float]) -> float:
    factors = entry.get(name, ())
    total: float = sum(
        factor * counted.get(part, 0.0) for part, factor in zip(entry["parts"], factors)
    )
    return total


def _get_entry(
    function: str, core: str, counted_on: str, release: str, optimization: str, float_abi: str
) -> tuple[Mapping[str, Any], str]:
    """Return the coefficients of a function in a build, and the build's float ABI."""
    if counted_on not in PATHS:
        raise Error(f"no instruction counts of {core}; have: {', '.join((*PATHS, *STANDS_FOR))}")
    if function not in COUNTERS:
        raise Error(
            f"no instruction counts of {format_value(function)}; {have(COUNTERS, function)}"
        )
    abi = "soft" if counted_on == "cortex-m3" else float_abi
    level = "-O3" if optimization == "-Ofast" and counted_on != "cortex-m55" else optimization
    builds = read_coefficients()
    entries = builds.get(f"{counted_on} {release} {level} {abi}")
    if entries is None:
        ours = [build.split() for build in builds if build.startswith(f"{counted_on} ")]
        choices = ", ".join(f"CMSIS {r} {o} {a} float" for _, r, o, a in sorted(ours))
        wanted = f"CMSIS {release}, {optimization}, {float_abi} float, on {counted_on}"
        raise Error(f"no instruction counts of {wanted}; have: {choices}")
    entry = entries.get(get_group(function))
    if entry is None or function not in entry["spans"]:
        known = [
            build.split()[:2] for build, found in builds.items() if _has_counts(found, function)
        ]
        places = sorted({f"CMSIS {number} on {place}" for place, number in known})
        raise Error(
            f"no instruction counts of {function} in CMSIS {release} on {counted_on}; "
            f"have: {', '.join(places)}"
        )
    return entry, abi


def _has_counts(entries: Mapping[str, Any], function: str) -> bool:
    return function in entries.get(get_group(function), {"spans": ()})["spans"]


@functools.cache
def read_coefficients() -> dict[str, dict[str, Any]]:
    """Return build ("cortex-m4 7.0.0 -O3 hard") -> group of functions -> its coefficients."""
    loaded: dict[str, dict[str, Any]] = json.loads(lzma.decompress(DATA.read_bytes()))
    return loaded
