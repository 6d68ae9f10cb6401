"""Name of this host's processor."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from functools import cache

#: Keys of /proc/cpuinfo for the processor's name: on x86, Arm, RISC-V and POWER.
_LINES = (
    *("model name", "cpu family", "model", "stepping"),
    *("CPU implementer", "CPU part", "CPU variant", "CPU revision"),
    *("uarch", "cpu"),
)


@cache
def identify_processor() -> str:
    """Return the processor's name, and on Linux its model numbers; without a name, the
    machine's.
    """
    named = ""
    with suppress(OSError, subprocess.SubprocessError):
        if platform.system() == "Linux":
            with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
                named = describe_processor(lines)
        elif platform.system() == "Darwin":
            asked = ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"]
            done = subprocess.run(asked, capture_output=True, timeout=5, check=True)
            named = done.stdout.decode(errors="replace").strip()
    return named or platform.processor() or platform.machine() or "unknown"


def describe_processor(lines: Iterable[str]) -> str:
    """Return the first processor of /proc/cpuinfo: "AMD EPYC, cpu family 25, model 17, stepping
    1".
    """
    found: dict[str, str] = {}
    for line in lines:
        if not line.strip() and found:
            break
        name, _, value = line.partition(":")
        if name.strip() in _LINES:
            found.setdefault(name.strip(), value.strip())
    named = [found.pop("model name")] if "model name" in found else []
    return ", ".join([*named, *(f"{name} {value}" for name, value in found.items())])
