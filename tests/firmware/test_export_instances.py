"""Several networks and several instances in one program, in the caller's memory, without copies."""

import re
import shutil
import subprocess
import sys

import affine_networks
import pytest
from exported import difference, needs, write

from qemu_nn.api import golden as pipeline
from qemu_nn.errors import Error

pytestmark = [needs("pc"), pytest.mark.compiles]

PROGRAM = """
#include <stdio.h>
#include <string.h>

#include "goldens/golden_check.h"
#include "network.h"
#include "../second/network.h"

static network_arena shared;
static union { network_arena one; second_arena other; } both;

int main(void) {
    network_context own, mine;
    second_context other;
    int8_t copy[NETWORK_INPUT_SIZE], result[10];
    network_init(&own, &shared);
    network_init(&mine, &both.one);
    second_init(&other, &both.other);
    const int8_t *x0 = qn_golden_values("x0/image"), *x1 = qn_golden_values("x1/image");
    memcpy(network_input(&own), x0, NETWORK_INPUT_SIZE);
    memcpy(network_input(&mine), x1, NETWORK_INPUT_SIZE);
    if (network_run_in(&own, NULL, NULL) != 0 || network_run_in(&mine, NULL, NULL) != 0) {
        return 1;
    }
    int wrong = qn_check("x0/softmax", network_output(&own), 10);
    wrong += qn_check("x1/softmax", network_output(&mine), 10);
    memcpy(second_input(&other), x0, SECOND_INPUT_SIZE);
    wrong += second_run_in(&other, NULL, result) + qn_check("x0/softmax", result, 10);
    memcpy(copy, x1, sizeof copy);
    wrong += second_run(copy, result) + qn_check("x1/softmax", result, 10);
    return wrong + network_run(x0, result) + qn_check("x0/softmax", result, 10);
}
"""


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """Export a network twice, under two names."""
    folder = tmp_path_factory.mktemp("pair")
    network, x, _ = pipeline.example()
    for name in ("network", "second"):
        write(folder / name, network, data=x[:2], name=name)
    return folder


def build(folder, program, *arguments, compiler="cc"):
    source = folder / "network" / ("program.cc" if compiler == "c++" else "program.c")
    source.write_text(program)
    flags = "-O1 -Wall -Wextra -Werror -DNETWORK_STAND_IN -Inetwork"
    command = [compiler, *flags.split(), f"network/{source.name}", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_two_networks_and_two_instances_run_side_by_side(pair):
    kernels = [str(path) for path in pair.glob("*/kernels/**/*.c")]
    sources = ["network/network.c", "second/network.c", "network/goldens/golden_check.c"]
    build(pair, PROGRAM, *sources, *kernels, "-o", "program")
    done = subprocess.run([pair / "program"], capture_output=True, text=True)
    assert (done.returncode, done.stdout.count("PASS")) == (0, 5), done.stdout


#: Runs three networks.
THREE = """
#include "network.h"
#include "vad.h"
#include "sum/network.h"

int main(void) {
    int8_t image[NETWORK_INPUT_SIZE] = {0}, sound[VAD_INPUT_SIZE] = {1}, few[SUM_INPUT_SIZE] = {2};
    int8_t scores[10], voice[5], sums[6];
    return network_run(image, scores) + vad_run(sound, voice) + sum_run(few, sums);
}
"""


def test_three_networks_for_different_devices_link_on_one_include_path(tmp_path):
    exports = {
        "network": (pipeline.example()[0], "cortex-m4"),
        "vad": (affine_networks.small(), "cortex-m55"),
        "sum": (difference(), "cortex-m4"),
    }
    for name, (network, target) in exports.items():
        write(tmp_path / name, network, target=target, name=name)
    assert (tmp_path / "vad" / "network.h").read_text() == '#include "vad.h"\n'
    own = [str(path) for path in tmp_path.glob("*/[kt]*/**/*.c")]
    sources = [f"{name}/network.c" for name in exports]
    paths = [f"-I{name}" for name in exports]
    build(tmp_path, THREE, "-I.", *paths, *sources, *own, "-o", "program")
    assert subprocess.run([tmp_path / "program"]).returncode == 0


@pytest.mark.skipif(shutil.which("c++") is None, reason="c++ is not installed")
def test_the_headers_are_those_of_c_in_cpp(pair):
    text = '#include "network.h"\n#include "../second/network.h"\n'
    body = "int main() { return second_run(0, 0) + network_run(0, 0); }"
    build(pair, text + body, "-c", "-o", "cpp.o", compiler="c++")
    told = subprocess.run(["nm", pair / "cpp.o"], capture_output=True, text=True).stdout
    assert re.search(r"U _?second_run\n", told)
    assert re.search(r"U _?network_run\n", told)


@pytest.mark.skipif(sys.platform != "linux", reason="sections have other names here")
def test_weights_and_arena_go_where_they_are_sent(pair):
    sections = ('-DNETWORK_WEIGHTS_SECTION=".far"', '-DNETWORK_ARENA_SECTION=".near"')
    build(pair, "", "network/network.c", *sections, "-r", "-o", "placed.o")
    size = ["size", "-A", pair / "placed.o"]
    sizes = subprocess.run(size, capture_output=True, text=True).stdout
    text = (pair / "network" / "network.h").read_text()
    for section, macro in ((".far", "NETWORK_FLASH"), (".near", "NETWORK_RAM")):
        held = int(re.search(rf"^\{section} +(\d+)", sizes, re.M)[1])
        wanted = int(re.search(rf"{macro} (\d+)", text)[1])
        assert wanted <= held < wanted + 64


@pytest.mark.skipif(sys.platform != "linux", reason="sections have other names here")
def test_an_arena_in_a_section_of_bss_takes_no_bytes_of_the_program(pair):
    section = '-DNETWORK_ARENA_SECTION=".bss.near"'
    build(pair, "", "network/network.c", section, "-r", "-o", "bss.o")
    told = subprocess.run(["objdump", "-h", pair / "bss.o"], capture_output=True, text=True).stdout
    flags = told.partition(".bss.near")[2].splitlines()[1]
    assert flags.split() == ["ALLOC"]


@pytest.mark.parametrize("name", ["Parameter", "string", "arm_math", "class"])
def test_a_name_of_another_header_is_refused(tmp_path, name):
    with pytest.raises(Error, match=f"^name is '{name}', which is the name of"):
        write(tmp_path / "net", pipeline.example()[0], name=name)


@pytest.mark.parametrize("name", ["", "1st", "a-b", "x" * 33, 3, None])
def test_a_name_that_c_does_not_take_is_refused(tmp_path, name):
    with pytest.raises(Error, match=r"^name is .*; it must begin with a letter"):
        write(tmp_path / "net", pipeline.example()[0], name=name)
    assert not (tmp_path / "net").exists()
