"""Programs decide on memory, hooks and saved states of an exported network, at compile time."""

import re
import subprocess
import sys

import affine_networks
import networks
import numpy as np
import pytest
from exported import needs, write

from qemu_nn.api import golden as pipeline

pytestmark = [needs("pc"), pytest.mark.compiles]

FLAGS = ["-O1", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-DNETWORK_STAND_IN"]


def build(folder, program, *arguments):
    """Compile a program with the exports below a folder, and run it; returns its output."""
    (folder / "program.c").write_text(program)
    sources = [*folder.glob("*/network.c"), *folder.glob("*/kernels/**/*.c")]
    command = ["cc", *FLAGS, *arguments, "program.c", *map(str, sources), "-o", "program"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    done = subprocess.run([folder / "program"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    return done.stdout


#: Prints the layers of two runs; the second one is ended after layer 3.
HOOK = """
#include <stdio.h>
#include "net/network.h"

static int last = 100;

int network_hook(network_context *context, int layer) {
    printf("%d%s ", layer, context != NULL ? "" : "?");
    return layer == last ? -7 : 0;
}

int main(void) {
    static int8_t input[NETWORK_INPUT_SIZE], output[5];
    printf("= %d\\n", network_run(input, output));
    last = 3;
    printf("= %d\\n", network_run(input, output));
    return 0;
}
"""


def test_a_hook_runs_after_each_layer_and_ends_the_run_with_its_reason(tmp_path):
    write(tmp_path / "net", affine_networks.small())
    told = build(tmp_path, HOOK, "-DNETWORK_HOOK")
    assert told == "1 2 3 4 5 6 7 = 0\n1 2 3 = -7\n"


#: Two networks take turns in one union of their arenas.
SHARED = """
#include <string.h>
#include "kws/kws.h"
#include "vad/vad.h"

static union { kws_arena kws; vad_arena vad; } arena;
kws_arena *const kws_shared_arena = &arena.kws;
vad_arena *const vad_shared_arena = &arena.vad;

int main(void) {
    static int8_t image[KWS_INPUT_SIZE], first[10], again[10], sound[VAD_INPUT_SIZE], voice[5];
    memset(image, 9, sizeof image);
    if (kws_run(image, first) != 0 || vad_run(sound, voice) != 0 || kws_run(image, again) != 0) {
        return 1;
    }
    return memcmp(first, again, sizeof first) != 0;
}
"""


def test_several_networks_share_one_arena(tmp_path):
    write(tmp_path / "kws", pipeline.example()[0], name="kws")
    write(tmp_path / "vad", affine_networks.small(), name="vad")
    build(tmp_path, SHARED, "-DNETWORK_SHARED_ARENA")
    sizes = [
        int(re.search(r"_RAM (\d+)", (tmp_path / name / f"{name}.h").read_text())[1])
        for name in ("kws", "vad")
    ]
    told = subprocess.run(["size", "-A", tmp_path / "program"], capture_output=True, text=True)
    zeros = int(re.search(r"^\.bss +(\d+)", told.stdout, re.M)[1])
    assert max(sizes) < zeros < sum(sizes) + 1024


@pytest.mark.skipif(sys.platform != "linux", reason="sections have other names here")
def test_each_class_of_tensors_has_a_section_and_an_alignment(tmp_path):
    folder = write(tmp_path / "net", affine_networks.small())
    sections = {"WEIGHTS": ".far", "PARAMETERS": ".near", "ARENA": ".bss.a", "STATE": ".bss.s"}
    flags = [f'-DNETWORK_{name}_SECTION="{section}"' for name, section in sections.items()]
    flags += ["-DNETWORK_WEIGHTS_ALIGNMENT=32", "-DNETWORK_ARENA_ALIGNMENT=64"]
    command = ["cc", *FLAGS, *flags, "-c", "network.c", "-o", "net.o"]
    subprocess.run(command, cwd=folder, check=True)
    told = subprocess.run(["objdump", "-h", folder / "net.o"], capture_output=True, text=True)
    found = re.findall(r"^ *\d+ (\.[\w.]+) +(\w+) .*2\*\*(\d+)$", told.stdout, re.M)
    held = {name: (int(size, 16), 2 ** int(power)) for name, size, power in found}
    assert {held[name][1] for name in (".far", ".near")} == {32}
    assert held[".bss.a"][1] == 64
    graph = affine_networks.small()
    weights = sum(graph.arrays[node.weights].nbytes for node in graph.nodes if node.weights)
    assert weights <= held[".far"][0] < weights + 4 * 32


#: Saves three states into two slots; the last write ends after every number of bytes.
SAVED = """
#include <string.h>
#include "net/network.h"

int main(void) {
    static network_context here, there;
    static network_saved slots[2], before[2], record;
    int16_t input[NETWORK_INPUT_SIZE] = {1, 2, 3, 4}, output[4];
    memset(slots, 0xff, sizeof slots);
    network_init(&here);
    network_init(&there);
    if (network_restore_in(&here, slots, 2) != -1) {
        return 1;
    }
    for (int turn = 0; turn < 3; turn++) {
        network_run_in(&here, input, output);
        const int slot = network_save_in(&here, slots, 2, &record);
        if (slot != turn % 2) {
            return 2;
        }
        memcpy(before, slots, sizeof slots);
        for (size_t written = 0; written <= sizeof record; written++) {
            memcpy(slots, before, sizeof slots);
            memcpy(&slots[slot], &record, written);
            const int restored = network_restore_in(&there, slots, 2);
            const int whole = memcmp(&slots[slot], &record, sizeof record) == 0;
            if (restored != (whole ? slot : turn > 0 ? 1 - slot : -1)) {
                return 3;
            }
        }
        if (memcmp(network_output(&here), network_output(&there), sizeof output) != 0) {
            return 4;
        }
    }
    slots[0].network ^= 1;
    return network_restore_in(&there, slots, 2) == 1 ? 0 : 5;
}
"""


def test_a_saved_state_outlives_a_power_failure_at_any_byte(tmp_path):
    x = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
    write(tmp_path / "net", networks.recurrent(), data=x)
    build(tmp_path, SAVED)
