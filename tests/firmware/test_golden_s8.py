"""Goldens of affine networks say scale and zero point, and whose rounding they have."""

import json
import subprocess
from dataclasses import replace

import affine_networks
import numpy as np
import pytest
from c_compilers import COMPILERS, STRICT, compiled, needs_compiler

from qemu_nn import Target
from qemu_nn.analysis import golden_set
from qemu_nn.api import golden as pipeline
from qemu_nn.firmware import golden
from qemu_nn.firmware.golden import Golden
from qemu_nn.ir.tensors import Tensor
from qemu_nn.targets import profile

MAIN = """
#include "golden_check.h"
#include "{first}.h"
int main(void) {{
    static {type} copy[{count}];
    int i, status = qn_check("{first}", {symbol}, sizeof {symbol});
    for (i = 0; i < {count}; i++) copy[i] = {symbol}[i];
    copy[3] ^= 1;
    return status + qn_check("{first}", copy, sizeof copy) - 1;
}}
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "set"
    network = pipeline.Network(affine_networks.small())
    pipeline.golden(network, affine_networks.images(2), folder)
    return folder


def test_the_manifest_has_scale_and_zero_point_of_every_tensor(made):
    graph = affine_networks.small()
    listed = json.loads((made / "manifest.json").read_text())
    tensors = [graph.input, *(node.output for node in graph.nodes)]
    want = [(t.name, None, t.scale, t.zero_point) for t in tensors] * 2
    keys = ("layer", "frac", "scale", "zero_point")
    assert [tuple(each[key] for key in keys) for each in listed["goldens"]] == want
    assert listed["profile"] == {
        "core": "cortex-m4",
        "path": "dsp",
        "cmsis": "7.0.0",
        "rounding": "double",
    }
    assert golden_set.load(made).profile == profile("cortex-m4", "7.0.0")


def test_a_header_has_the_types_of_the_release_and_says_the_format(made):
    lines = (made / "x1" / "dw.h").read_text().splitlines()
    assert lines[1] == " * shape [5][4][8], 0.02353 x (q+128)"
    assert lines[2] == " * cortex-m4 (dsp), CMSIS 7.0.0, rounding double"
    assert "static const int8_t x1_dw[160] = {" in lines
    assert not any("q7_t" in line for line in lines)


@needs_compiler
@pytest.mark.parametrize("compiler", COMPILERS)
def test_the_c_checker_builds_and_finds_what_differs(made, compiler):
    values = np.load(made / "x0" / "dw.npy").ravel()
    main = MAIN.format(first="x0/dw", symbol="x0_dw", type="int8_t", count=160)
    got, want = values[3] ^ 1, values[3]
    fail = f"FAIL layer=x0/dw index=3 got={got} want={want} differing=1"
    assert compiled(compiler, made, main) == ["PASS x0/dw", fail]
    headers = [str(path) for path in made.rglob("x*/*.h")]
    for header in headers:
        subprocess.run([compiler, *STRICT, "-fsyntax-only", header], check=True)


@needs_compiler
def test_bytes_without_sign_are_told_as_such(tmp_path):
    values = np.array([0, 200, 255, 128], np.uint8)
    tensor = Tensor("sum", (4,), "uint8", scale=0.5, zero_point=128)
    about = golden.About("net", "0" * 64, "0", "cortex-m4", profile("cortex-m4", "7.0.0"))
    folder = tmp_path / "set"
    golden.write(folder, about, [[Golden("sum", values, tensor)]])
    main = MAIN.format(first="x0/sum", symbol="x0_sum", type="uint8_t", count=4)
    fail = "FAIL layer=x0/sum index=3 got=129 want=128 differing=1"
    assert compiled(COMPILERS[0], folder, main) == ["PASS x0/sum", fail]
    (tmp_path / "dump").mkdir()
    (tmp_path / "dump" / "sum.bin").write_bytes(bytes([0, 200, 255, 127]))
    (finding,) = pipeline.compare(folder, tmp_path / "dump").findings
    assert (finding.difference.got, finding.difference.want) == (127, 128)


def test_a_dump_with_the_other_rounding_is_recognized(made, tmp_path):
    network = pipeline.Network(affine_networks.small())
    trace = network.session(target=Target(rounding="single")).run(
        affine_networks.images(2), trace=True
    )
    for layer, values in trace.items():
        for i in range(2):
            (tmp_path / f"x{i}").mkdir(exist_ok=True)
            np.save(tmp_path / f"x{i}" / f"{layer}.npy", values[i])
    found = pipeline.compare(made, tmp_path)
    assert not found.same
    assert "rounding mode single instead of double" in found.first.difference.cause


def test_a_tensor_without_a_format_is_written_as_before(tmp_path):
    graph = affine_networks.small()
    node = graph.nodes[0]
    bare = replace(node, output=replace(node.output, scale=None, zero_point=0))
    network = pipeline.Network(replace(graph, nodes=(bare, *graph.nodes[1:])))
    pipeline.golden(network, affine_networks.images(1), tmp_path / "set")
    entry = json.loads((tmp_path / "set" / "manifest.json").read_text())["goldens"][1]
    assert entry["frac"] is None
    assert "scale" not in entry
    assert "unknown Q format" in (tmp_path / "set" / "x0" / "conv.h").read_text()
