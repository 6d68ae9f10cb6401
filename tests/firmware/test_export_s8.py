"""Exported networks of the s8 API call Arm's functions with structs, and pass their self-test."""

import re
import shutil
import subprocess

import affine_networks
import numpy as np
import pytest
from c_compilers import COMPILERS
from exported import check, difference, flip, needs, write
from paths import TESTS

from qemu_nn import Target
from qemu_nn.api import golden as pipeline
from qemu_nn.bench.s8_networks import S8_NETWORKS
from qemu_nn.importers.c_header import read_array, read_integer

pytestmark = pytest.mark.compiles

on_pc, on_m4 = needs("pc"), needs("m4")

everywhere = pytest.mark.parametrize(
    "target", [pytest.param("pc", marks=on_pc), pytest.param("m4", marks=on_m4)]
)

TYPED = TESTS / "c" / "arm_prototypes_700.h"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    graph = affine_networks.small()
    x = affine_networks.images(2)
    return write(tmp_path_factory.mktemp("export") / "small", graph, data=x, one_header=True)


def copied(project, tmp_path):
    return shutil.copytree(project, tmp_path / "copy")


@everywhere
def test_the_self_test_passes_until_a_weight_is_wrong(project, tmp_path, target):
    folder = copied(project, tmp_path)
    names = [node.name for node in affine_networks.small().nodes]
    passed = [f"PASS x{i}/{name}" for i in range(2) for name in names]
    assert check(folder, target) == (0, [*passed, "PASS: 0 failures"])
    flip(folder, "dw_wt")
    status, lines = check(folder, target)
    wrong = [line for line in lines if line.startswith("FAIL")]
    assert status != 0
    assert wrong[0].startswith("FAIL layer=x0/dw index=")
    assert {line.split()[1] for line in wrong[:-1]} <= {"layer=x0/dw", "layer=x1/dw"}


@on_pc
@pytest.mark.parametrize("part", ["bias", "multiplier", "shift"])
def test_what_belongs_to_a_channel_is_read(project, tmp_path, part):
    folder = copied(project, tmp_path)
    flip(folder, f"pw_{part}")
    wrong = [line for line in check(folder)[1] if line.startswith("FAIL layer")]
    assert {line.split()[1] for line in wrong} == {"layer=x0/pw", "layer=x1/pw"}


@on_pc
@pytest.mark.parametrize("name", ["resnet8_s8", "kws_dscnn_s8", "ad_s8"])
def test_networks_of_mlperf_tiny_pass(name, tmp_path):
    status, lines = check(write(tmp_path / name, S8_NETWORKS[name]()))
    assert (status, lines[-1]) == (0, "PASS: 0 failures")


@on_pc
@pytest.mark.parametrize("core", ["cortex-m0", "cortex-m55"])
def test_other_cores_and_the_other_rounding_have_their_own_goldens(core, tmp_path):
    graph = affine_networks.small()
    assert check(write(tmp_path / "net", graph, target=Target(core, rounding="single")))[0] == 0


@pytest.mark.parametrize("compiler", COMPILERS)
def test_the_network_is_strict_c99_and_the_kernels_strict_c11(compiler, project):
    strict = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
    strict += ["-DNETWORK_STAND_IN"]
    files = ["network.c", "main.c", "goldens/golden_check.c"]
    subprocess.run([compiler, "-std=c99", *strict, "network.c"], cwd=project, check=True)
    test = [compiler, "-std=c99", *strict, "-DNETWORK_TEST", *files]
    subprocess.run(test, cwd=project, check=True)
    kernels = [str(path) for path in (project / "kernels").rglob("*.c")]
    subprocess.run([compiler, "-std=c11", *strict, *kernels], cwd=project, check=True)


@pytest.mark.skipif(not COMPILERS, reason="no C compiler is installed")
def test_the_network_compiles_behind_arms_own_declarations(project, tmp_path):
    names = {"i32": "int32_t", "u16": "uint16_t", "u32": "uint32_t"}
    short = "".join(f"#define {name} {type}\n" for name, type in names.items())
    unit = tmp_path / "unit.c"
    unit.write_text(f'#include "arm_nn_types.h"\n{short}#include "{TYPED}"\n#include "network.c"\n')
    strict = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
    command = [COMPILERS[0], *strict, "-I.", "-Ikernels", "-DNETWORK_STAND_IN", str(unit)]
    subprocess.run(command, cwd=project, check=True)


def test_calls_are_arms_with_structs_of_their_own(project):
    text = " ".join((project / "network.c").read_text().split())
    found = re.search(r"arm_convolve_wrapper_s8\((.*?)\) != 0", text)[1]
    assert re.sub(r"AT\(int8_t, arena_memory, \d+\)", "AT", found) == (
        "&ctx, &conv_params, &quant_params, &input_dims, AT, &filter_dims, conv_wt, "
        "&bias_dims, conv_bias, &output_dims, AT"
    )
    assert ".multiplier = (int32_t *)conv_multiplier, .shift = (int32_t *)conv_shift" in text
    assert "cmsis_nn_dims filter_dims = {.n = 1, .h = DW_FILTER_H, .w = DW_FILTER_W," in text
    assert ".c = DW_INPUT_C * DW_CH_MULT}" in text
    assert "q7_t" not in text


def test_headers_read_back_as_the_graph(project):
    graph = affine_networks.small()
    weights, parameters, one = (project / f"{n}.h" for n in ("weights", "parameter", "layers"))
    for node in graph.nodes:
        stem = node.name.upper()
        for name, value in node.params.items():
            assert read_integer(parameters, f"{stem}_{name.upper()}") == value
        assert read_integer(parameters, f"{stem}_ZERO_POINT") == node.output.zero_point
        assert read_integer(one, f"{stem}_ZERO_POINT") == node.output.zero_point
        if node.weights:
            own = graph.arrays[node.weights].ravel()
            np.testing.assert_array_equal(read_array(weights, f"{node.name}_wt", "int8"), own)
            np.testing.assert_array_equal(read_array(one, f"{stem}_WEIGHT", "int8"), own)
        rows = graph.arrays[node.bias].reshape(-1, node.output.shape[-1]) if node.bias else ()
        for part, row in zip(("bias", "multiplier", "shift"), rows):
            name = f"{node.name}_{part}"
            np.testing.assert_array_equal(read_array(weights, name, "int32"), row)
            np.testing.assert_array_equal(read_array(one, name.upper(), "int32"), row)
    scale = re.search(r"#define CONV_SCALE (.*)f\n", parameters.read_text())[1]
    assert float(scale) == graph.node("conv").output.scale


def test_memory_is_what_the_report_says(project):
    told = pipeline.describe(pipeline.Network(affine_networks.small())).facts
    header = (project / "network.h").read_text()
    assert f"#define NETWORK_RAM {told['activation_bytes']}\n" in header
    assert f"#define NETWORK_FLASH {told['weight_bytes']}\n" in header


@everywhere
def test_functions_that_arm_has_not_come_along_apart(tmp_path, target):
    folder = write(tmp_path / "net", difference())
    assert check(folder, target) == (
        0,
        [*(f"PASS x{i}/{n}" for i in (0, 1) for n in ("sub", "sum")), "PASS: 0 failures"],
    )
    assert "tflm_sub_s8(" in (folder / "tflm" / "tflm.c").read_text()
    assert "tflm" not in (folder / "kernels" / "stand_in.c").read_text()
    sources = [path.name for path in folder.rglob("*.c") if path.parent.name != "src"]
    assert len(set(sources)) == len(sources)
    assert '#include "tflm/tflm.h"' in (folder / "network.c").read_text()


@on_pc
def test_functions_that_come_along_have_names_of_their_own(tmp_path):
    folder = write(tmp_path / "net", difference(), name="kws")
    assert check(folder) == (
        0,
        [*(f"PASS x{i}/{n}" for i in (0, 1) for n in ("sub", "sum")), "PASS: 0 failures"],
    )
    names = (folder / "tflm" / "names.h").read_text()
    assert "#define tflm_sub_s8 kws_tflm_sub_s8\n" in names


@on_pc
def test_cores_that_want_sums_of_weights_get_them(tmp_path):
    graph = affine_networks.small()
    folder = write(tmp_path / "m55", graph, target="cortex-m55")
    text = " ".join((folder / "network.c").read_text().split())
    assert re.search(
        r"arm_vector_sum_s8\(AT\(int32_t, arena_memory, \d+\), DENSE_INPUT_C, DENSE_OUTPUT_C, "
        r"dense_wt, DENSE_INPUT_OFFSET, DENSE_FILTER_OFFSET, dense_bias\); \{ "
        r"const cmsis_nn_context ctx = \{.buf = AT\(void, arena_memory, \d+\), .size = 20\};",
        text,
    )
    assert check(folder)[0] == 0
    assert "arm_vector_sum_s8" not in (write(tmp_path / "m4", graph) / "network.c").read_text()
