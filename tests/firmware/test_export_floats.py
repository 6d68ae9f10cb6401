"""Exported float helpers have the integers and floats of the emulator; the C++ header its spans."""

import subprocess

import affine_networks
import numpy as np
import pytest
from exported import difference, needs, write

from qemu_nn.api import golden as pipeline
from qemu_nn.api.network import Network

pytestmark = [needs("pc"), pytest.mark.compiles]

FLAGS = ["-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-DNETWORK_STAND_IN", "-Inet"]

#: Reads floats, writes the integers of the input, the floats of the output, and the class.
PROGRAM = """
#include <stdio.h>
#include "net/floats.h"

int main(void) {
    static float values[NETWORK_INPUT_SIZE], scores[SCORES];
    int bad = 0;
    while (fread(values, sizeof values, 1, stdin) == 1) {
        network_context *context = network_instance();
        network_quantize_input(context, values);
        fwrite(network_input(context), NETWORK_INPUT_SIZE, 1, stdout);
        bad |= network_run_float(values, scores);
        fwrite(scores, sizeof scores, 1, stdout);
        const int32_t best = network_argmax_output(network_output(context));
        fwrite(&best, sizeof best, 1, stdout);
    }
    return bad;
}
"""


def build(folder, program, *flags):
    """Compile a program with the export `net` below a folder; returns it."""
    ending, compiler = ("cc", "c++") if "-std=c++" in "".join(flags) else ("c", "cc")
    (folder / f"program.{ending}").write_text(program)
    sources = [*folder.glob("net/kernels/**/*.c"), folder / "net/network.c"]
    sources += [path for path in [folder / "net/floats.c"] if path.exists()]
    command = ["cc", *FLAGS, "-std=c11", "-c", *map(str, sources)]
    subprocess.run(command, cwd=folder, check=True)
    objects = [str(path) for path in folder.glob("*.o")]
    command = [compiler, *FLAGS, *flags, f"program.{ending}", *objects, "-o", "program"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / "program"


def draw_floats(network, count):
    """Return samples near all integers, at halves, beyond the range, and of both infinities."""
    rng = np.random.default_rng(8)
    tensor = network.graph.input
    low, high = tensor.format.ends
    x = rng.uniform(2 * low, 2 * high, (count, *tensor.shape)).astype(np.float32)
    steps = rng.integers(-600, 600, x.shape) / np.float32(2)
    x[1::2] = (steps * np.float32(tensor.format.scale))[1::2]
    x[0].flat[:3] = np.inf, -np.inf, 1e30
    return x


@pytest.mark.parametrize("name", ["digits", "small"])
def test_floats_become_the_integers_of_the_emulator_and_back(tmp_path, name):
    network = pipeline.example()[0] if name == "digits" else Network(affine_networks.small())
    write(tmp_path / "net", network)
    (output,) = network.outputs
    classes = int(np.prod(output.shape))
    program = build(tmp_path, PROGRAM, "-std=c11", f"-DSCORES={classes}")
    x = draw_floats(network, 40)
    done = subprocess.run([program], input=x.tobytes(), capture_output=True, check=True)
    size = x[0].size
    row = np.dtype([("codes", "i1", size), ("scores", "f4", classes), ("best", "i4")])
    rows = np.frombuffer(done.stdout, row)
    codes = network.graph.input.format.quantize(x)
    np.testing.assert_array_equal(rows["codes"], codes.reshape(len(x), -1))
    wanted = network.session(target="cortex-m4").predict(codes).reshape(len(x), -1)
    np.testing.assert_array_equal(rows["scores"], wanted.astype(np.float32))
    np.testing.assert_array_equal(rows["best"], wanted.argmax(axis=1))


def test_class_names_are_strings(tmp_path):
    folder = write(tmp_path / "net", pipeline.example()[0])
    assert (
        'network_classes[NETWORK_CLASSES] = {\n    "0",\n    "1",'
        in (folder / "floats.c").read_text()
    )
    assert "classes" not in (write(tmp_path / "sum", difference()) / "floats.h").read_text()


#: Runs on arrays, then on the inputs in place.
SPANS = """
#include <algorithm>
#include "network.hpp"

int main() {
    static network_arena arena;
    network::instance net(arena);
    std::array<int8_t, NETWORK_INPUT_SIZE> image{};
    image.fill(3);
    int8_t scores[10];
    if (net.run(image, scores) != 0) {
        return 1;
    }
    auto input = net.input();
    std::fill(input.begin(), input.end(), int8_t{3});
    if (net.run() != 0 || net.output().size() != 10) {
        return 2;
    }
    return std::equal(net.output().begin(), net.output().end(), scores) ? 0 : 3;
}
"""


@needs("pc")
@pytest.mark.parametrize("standard", ["c++17", "c++20"])
def test_the_header_of_cpp_takes_arrays_and_spans(tmp_path, standard):
    write(tmp_path / "net", pipeline.example()[0])
    program = build(tmp_path, SPANS, f"-std={standard}")
    assert subprocess.run([program]).returncode == 0
