"""Counts calls of Arm's functions that the recorded counts have few of, on emulated boards.

    python -m benchmarks.count_arm CMSIS-NN benchmarks/arm_counts.csv.gz

compiles a checkout of CMSIS-NN 7.0.0 in all builds, exports the calls as one network, and runs it
with a hook that reads the clock of the board, which counts instructions (`-icount shift=0`, 40 for
each tick of the Cortex-M3 and M4). benchmarks/fit_cycles.py reads the file. It needs
arm-none-eabi-gcc and qemu-system-arm.
"""

import csv
import gzip
import io
import itertools
import json
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

import qemu_nn
from qemu_nn.api.network import Network
from qemu_nn.firmware.boards import BOARDS
from qemu_nn.functions import FUNCTIONS
from qemu_nn.ir.graph import Graph, Node, Tensor
from qemu_nn.targets import Target, profile
from qemu_nn.testing.calls import is_legal
from qemu_nn.testing.s8_calls import draw_affine_arrays

CMSIS = "7.0.0"

#: Board, optimization, float ABI.
BUILDS = [
    *(("m3", level, "soft") for level in ("-O2", "-O3", "-Os")),
    *(("m4", level, "hard") for level in ("-O2", "-O3", "-Os")),
    *(("m4", level, "soft") for level in ("-O2", "-O3")),
    *(("m55", level, "hard") for level in ("-O2", "-O3", "-Os", "-Ofast")),
]

#: Ticks of SysTick count the core's clock, and -icount a nanosecond for each instruction.
NANOSECONDS = 1e9

COLUMNS = ("core", "release", "optimization", "abi", "function", "params", "instructions")

MAIN = """
#include "network.h"
#include <stdint.h>
#include <stdio.h>
#define CONTROL (*(volatile uint32_t *)0xE000E010)
#define RELOAD (*(volatile uint32_t *)0xE000E014)
#define CLOCK (*(volatile uint32_t *)0xE000E018)
static uint32_t before, ticks[%(calls)d + 1];
static network_arena arena;
static network_context context;
int network_hook(network_context *own, int layer) {
    (void)own;
    ticks[layer] = (before - CLOCK) & 0xffffff;
    before = CLOCK;
    return 0;
}
int main(void) {
    int8_t *bytes = (int8_t *)&arena;
    uint32_t state = 1;
    RELOAD = 0xffffff;
    CLOCK = 0;
    CONTROL = 5;
    network_init(&context, &arena);
    for (unsigned i = 0; i < sizeof arena; i++) {
        state = state * 1664525u + 1013904223u;
        bytes[i] = (int8_t)(state >> 24);
    }
    before = CLOCK;
    if (network_run_in(&context, %(nothing)s) != 0) {
        return 1;
    }
    for (int i = 1; i <= %(calls)d; i++) {
        printf("%%lu\\n", (unsigned long)ticks[i]);
    }
    return 0;
}
"""


def list_calls():
    """Return functions and arguments: channel multipliers, and dilated weights of 4 bits."""
    found = []
    for times, channels, side in itertools.product((2, 3, 4, 8, 12), (2, 5, 8), (3, 5)):
        found.append(make_call("arm_depthwise_conv_wrapper_s8", channels, side, 1, ch_mult=times))
    for channels, times in itertools.product((4, 7), (1, 2)):
        found.append(make_call("arm_depthwise_conv_wrapper_s4", channels, 3, 2, ch_mult=times))
    for channels, out in itertools.product((4, 7), (4, 5)):
        sizes = {"filter_c": channels, "output_c": out}
        found.append(make_call("arm_convolve_wrapper_s4", channels, 3, 2, **sizes))
    return found


def make_call(name, channels, side, dilation, **more):
    """Return a function and its arguments for an image that keeps its size."""
    params = {"batches": 1, "input_c": channels, "input_offset": 5, "output_offset": -3}
    params.update(act_min=-128, act_max=127, **more)
    for axis, size in (("h", 9), ("w", 11)):
        params.update({f"{end}_{axis}": size for end in ("input", "output")})
        params.update({f"filter_{axis}": side, f"pad_{axis}": dilation * (side // 2)})
        params.update({f"stride_{axis}": 1, f"dilation_{axis}": dilation})
    return FUNCTIONS[name], params


def make_network(calls):
    """Return a network with a call each, of inputs of their own."""
    sources, nodes, arrays = [], [], {}
    rng = np.random.default_rng(1)
    for at, (function, params) in enumerate(calls):
        image = function.inputs[0]
        sources.append(Tensor(f"x{at}", image.shape(params), image.dtype))
        keys = {}
        for role, values in draw_affine_arrays(rng, function, params).items():
            keys[role] = f"{role}{at}"
            arrays[keys[role]] = values
        output = Tensor(f"y{at}", function.output.shape(params), function.output.dtype)
        nodes.append(Node(function, params, (f"x{at}",), output, **keys))
    return Network(Graph("calls", tuple(sources), tuple(nodes), (nodes[-1].name,), arrays))


def compile_library(sources, flags, folder):
    """Return the library of these flags."""
    (folder / "objects").mkdir()
    for path in sorted((sources / "Source").rglob("*.c")):
        command = ["arm-none-eabi-gcc", *flags, "-c", str(path), "-o"]
        subprocess.run([*command, str(folder / "objects" / f"{path.stem}.o")], check=True)
    objects = map(str, (folder / "objects").glob("*.o"))
    subprocess.run(["arm-none-eabi-ar", "rc", str(folder / "arm.a"), *objects], check=True)
    return folder / "arm.a"


def count(sources, board, level, abi):
    """Yield the rows of a build."""
    own = BOARDS[board]
    calls = [call for call in list_calls() if is_legal(*call, profile(board, CMSIS, "double"))]
    floats = f"-mfloat-abi={abi}"
    cpu = [*(flag for flag in own.flags.split() if "float" not in flag), floats, "-mthumb"]
    flags = [*cpu, level, f"-I{sources / 'Include'}", "-ffunction-sections", "-w"]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            qemu_nn.export(make_network(calls), folder / "net", target=Target(board, CMSIS))
        values = {"calls": len(calls), "nothing": ", ".join(["NULL"] * (len(calls) + 1))}
        (folder / "net" / "count.c").write_text(MAIN % values)
        library = compile_library(sources, flags, folder)
        build = ["-DNETWORK_HOOK", "-DNETWORK_ANY_COMPILER", "--specs=rdimon.specs"]
        build += ["-nostartfiles", "-T", f"boards/{own.script}", "boards/startup.c", "count.c"]
        build += ["network.c", str(library), "-o", "count.elf"]
        subprocess.run(["arm-none-eabi-gcc", *flags, *build], cwd=folder / "net", check=True)
        run = ["qemu-system-arm", "-nographic", "-monitor", "none", "-semihosting", *own.emulator]
        run += ["-icount", "shift=0", "-kernel", "count.elf"]
        said = subprocess.run(run, cwd=folder / "net", check=True, capture_output=True, text=True)
    tick = NANOSECONDS / own.clock
    for (function, params), ticks in zip(calls, said.stdout.split()):
        numbers = json.dumps({**params, "bias": 1}, separators=(",", ":"))
        instructions = round(int(ticks) * tick)
        yield own.core, CMSIS, level, abi, function.name, numbers, instructions


def main(sources, path):
    """Write the counts of all builds."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    for build in BUILDS:
        rows.writerows(count(Path(sources), *build))
    Path(path).write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))


if __name__ == "__main__":
    main(*sys.argv[1:])
