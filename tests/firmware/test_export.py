"""An exported network is strict C that says what the graph says, and its self-test finds faults."""

import re
import shutil
import subprocess

import exported
import networks
import numpy as np
import published
import pytest
from c_compilers import COMPILERS
from click.testing import CliRunner
from exported import check, flip, needs, write
from paths import TESTS

import qemu_nn
from qemu_nn.api import golden as pipeline
from qemu_nn.cli.main import main
from qemu_nn.errors import DeviceWarning, Error
from qemu_nn.firmware.memory import plan_layout
from qemu_nn.functions import FUNCTIONS
from qemu_nn.functions.prototypes import is_own, make_prototype
from qemu_nn.importers.c_header import read_array, read_integer
from qemu_nn.ir.graph import Address, CallAddresses, Graph, Memory, Tensor
from qemu_nn.kernels.table import list_rows
from qemu_nn.runtime.plan import Plan, plan
from qemu_nn.targets import Target, all_profiles, profile

pytestmark = pytest.mark.compiles

on_pc = needs("pc")

SQUARE = {"dim_vec": 4, "num_of_rows": 4, "bias_shift": 0, "out_shift": 0}


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    network, x, _ = pipeline.example()
    return write(tmp_path_factory.mktemp("export") / "demo", network, data=x[:2], one_header=True)


@pytest.fixture
def planned(monkeypatch):
    """Return the profiles that networks are planned for, in order."""
    profiles, initialize = [], Plan.__init__

    def counted(self, graph, profile, *rest):
        profiles.append(profile)
        initialize(self, graph, profile, *rest)

    monkeypatch.setattr(Plan, "__init__", counted)
    return profiles


def test_an_export_plans_the_network_once_for_each_profile(planned, tmp_path):
    network, x, _ = pipeline.example()
    qemu_nn.export(network, tmp_path / "firmware", target="cortex-m4", data=x[:1])
    assert planned[0] == network.profile("cortex-m4")
    assert len(planned) == len(set(planned)) > 1


def test_a_description_plans_the_network_once(planned):
    pipeline.describe(pipeline.example()[0], "cortex-m4")
    assert len(planned) == 1


def copied(demo, tmp_path):
    return shutil.copytree(demo, tmp_path / "copy")


@on_pc
def test_the_self_test_passes_layer_by_layer(demo, tmp_path):
    status, lines = check(copied(demo, tmp_path))
    network, _, _ = pipeline.example()
    names = [f"PASS x{i}/{node.name}" for i in range(2) for node in network.graph.nodes]
    assert (status, lines) == (0, [*names, "PASS: 0 failures"])


@on_pc
def test_a_wrong_weight_is_found_in_its_layer_and_in_no_other(demo, tmp_path):
    folder = copied(demo, tmp_path)
    flip(folder, "conv2_wt")
    status, lines = check(folder)
    wrong = [line for line in lines if line.startswith("FAIL")]
    assert status != 0
    assert wrong[0].startswith("FAIL layer=x0/conv2 index=")
    assert {line.split()[1] for line in wrong[:-1]} <= {"layer=x0/conv2", "layer=x1/conv2"}
    assert wrong[-1] == f"FAIL: {len(wrong) - 1} failures"


#: Networks for every release and kind of core; test_export_m4.py also emulates a Cortex-M4.
SOME_DEVICES = (
    ("cortex-m4", "5.6.0", "truncate"),
    ("cortex-m55", "5.9.0", "truncate"),
    ("cortex-m0", "7.0.0", "single"),
    ("cortex-m55", "7.0.0", "double"),
)
OTHER_DEVICES = (
    ("cortex-m4", "5.9.0", "nearest"),
    ("cortex-m3", "5.9.0", "nearest"),
    ("cortex-m0", "5.6.0", "nearest"),
    ("cortex-m4", "7.0.0", "double"),
)


@on_pc
@pytest.mark.parametrize(
    "device",
    [*SOME_DEVICES, *(pytest.param(each, marks=pytest.mark.slow) for each in OTHER_DEVICES)],
    ids="-".join,
)
def test_every_function_of_a_device_gives_its_goldens_in_c(device, tmp_path):
    graph = exported.every_function(profile(*device))
    target, cmsis, rounding = device
    how = {"target": Target(target, cmsis, rounding)}
    status, lines = check(write(tmp_path / "all", graph, **how))
    assert status == 0, lines
    assert len(lines) == 2 * len(graph.nodes) + 1


@on_pc
def test_what_a_call_would_destroy_too_early_is_copied(tmp_path):
    folder = write(tmp_path / "branches", exported.branches())
    assert (folder / "network.c").read_text().count("memcpy(AT(void") == 2
    assert check(folder)[0] == 0


@on_pc
def test_a_recurrent_network_starts_and_steps(tmp_path):
    x = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
    status, lines = check(write(tmp_path / "recurrent", networks.recurrent(), data=x))
    assert (status, len(lines)) == (0, 7)
    assert lines[2] == "PASS x0/t2/sum"


@on_pc
@published.needed
@pytest.mark.parametrize("name", published.NAMES)
def test_published_networks_pass_in_their_own_memory(name, tmp_path):
    assert check(write(tmp_path / name, pipeline.load(published.FOLDER / name)))[0] == 0


@pytest.mark.parametrize("compiler", COMPILERS)
def test_the_network_is_strict_c99_and_the_kernels_strict_c11(compiler, demo):
    strict = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
    strict += ["-DNETWORK_STAND_IN"]
    files = ["network.c", "main.c", "goldens/golden_check.c"]
    for macros in ([], ["-DNETWORK_TEST"]):
        chosen = files if macros else files[:1]
        subprocess.run([compiler, "-std=c99", *strict, *macros, *chosen], cwd=demo, check=True)
    kernels = [str(path) for path in (demo / "kernels").rglob("*.c")]
    subprocess.run([compiler, "-std=c11", *strict, *kernels], cwd=demo, check=True)


@pytest.mark.skipif(not COMPILERS, reason="no C compiler is installed")
@pytest.mark.parametrize(
    ("header", "release"),
    [
        ("arm_prototypes.h", "5.9.0"),
        ("arm_prototypes_700.h", "7.0.0"),
        ("arm_prototypes_700.h", "main-2026-07"),
    ],
)
def test_our_declarations_are_arms(header, release):
    path = TESTS / "c" / header
    text = subprocess.check_output([COMPILERS[0], "-E", "-P", str(path)], text=True)
    for short, long in (("u16", "uint16_t"), ("u32", "uint32_t"), ("i32", "int32_t")):
        text = re.sub(rf"\b{short}\b", long, text)
    typed = {" ".join(line.split()).replace("( ", "(") for line in text.split(";")[:-1]}
    declared = [
        function
        for function in FUNCTIONS.values()
        if has(function, release) and not is_own(function) and not function.not_called
    ]
    assert {str(make_prototype(function, release)) for function in declared} == typed


def has(function, release):
    """True if any core has the function in that release."""
    rows = list_rows(function.op, function.type)
    return any(row.claims(p) for row in rows for p in all_profiles() if p.cmsis == release)


@on_pc
def test_a_network_that_reads_former_scratch_passes(tmp_path):
    fc = networks.node("fc", "arm_fully_connected_q7", [], None, ("wt", "bias"), **SQUARE)
    branch = networks.node("branch", "arm_add_q7", [], blockSize=4)
    at = {name: Address(name, 0) for name in ("in", "mid", "vec", "out")}
    places = {
        "fc": CallAddresses((at["in"],), at["mid"], at["vec"]),
        "branch": CallAddresses((at["mid"], at["vec"]), at["out"]),
    }
    memory = Memory(dict.fromkeys(at, 8), places, at["in"])
    arrays = {"wt": np.eye(4, dtype=np.int8), "bias": np.zeros(4, np.int8)}
    graph = Graph("odd", (Tensor("x", (4,), "int8"),), (fc, branch), ("branch",), arrays, memory)
    folder = write(tmp_path / "odd", graph)
    assert (folder / "kernels" / "q" / "fully_connected_dsp.c").exists()
    assert check(folder)[0] == 0


def test_headers_read_back_as_the_graph(demo):
    graph = pipeline.example()[0].graph
    for node in graph.nodes:
        for key, part in ((node.weights, "wt"), (node.bias, "bias")):
            if key is not None:
                expected = graph.arrays[key].ravel()
                found = read_array(demo / "weights.h", f"{node.name}_{part}", expected.dtype.name)
                np.testing.assert_array_equal(found, expected)
    parameters = demo / "parameter.h"
    conv = graph.node("conv2")
    spelled = {"dim_im_in": "IM_DIM", "ch_im_in": "IM_CH", "ch_im_out": "OUT_CH"}
    spelled.update({"out_shift": "OUT_RSHIFT", "bias_shift": "BIAS_LSHIFT", "stride": "STRIDE"})
    for name, macro in spelled.items():
        assert read_integer(parameters, f"CONV2_{macro}") == conv.params[name]
    fi, fo = graph.node("pool1").output.frac, conv.output.frac
    fw, fb = (read_integer(parameters, f"CONV2_{name}_FRAC") for name in ("WT", "BIAS"))
    assert read_integer(parameters, "CONV2_FRAC") == fo
    assert conv.params["out_shift"] == fi + fw - fo
    assert conv.params["bias_shift"] == fi + fw - fb


def test_one_header_has_shifts_and_weights_as_macros(demo):
    graph = pipeline.example()[0].graph
    conv = graph.node("conv1")
    header = demo / "layers.h"
    assert read_integer(header, "CONV1_OUT_SHIFT") == conv.params["out_shift"]
    assert read_integer(header, "CONV1_BIAS_SHIFT") == conv.params["bias_shift"]
    assert read_integer(header, "IMAGE_DEC_BITS") == graph.input.frac
    for name, macro in (("conv1.weights", "CONV1_WEIGHT"), ("conv1.bias", "CONV1_BIAS")):
        found = read_array(header, macro, "int8")
        np.testing.assert_array_equal(found, graph.arrays[name].ravel())


@on_pc
@pytest.mark.parametrize(
    "names",
    [
        ("*/ #error", "1", "conv/1", "conv-1", "conv_1"),
        ("conv", "conv_bias", "network_input", "data_memory", "int"),
    ],
    ids=["strange", "alike"],
)
def test_any_name_becomes_an_identifier_of_its_own(names, tmp_path):
    folder = write(tmp_path / "names", networks.classifier(names))
    assert check(folder)[0] == 0
    macros = [
        line.split()[1]
        for line in (folder / "parameter.h").read_text().splitlines()
        if line.startswith("#define") and line.count(" ") > 1
    ]
    assert len(set(macros)) == len(macros)


def test_memory_is_planned_for_the_device(demo):
    graph = pipeline.example()[0].graph
    on_m4 = plan_layout(plan(graph, profile("cortex-m4"), trace=True))
    on_m3 = plan_layout(plan(graph, profile("cortex-m3"), trace=True))
    assert [call.scratch_bytes for call in on_m4.calls] == [36, 0, 0, 288, 0, 0, 128, 0]
    assert not any(call.scratch for call in on_m3.calls)
    assert sum(on_m3.buffers.values()) < sum(on_m4.buffers.values())
    assert (
        f"#define NETWORK_RAM {sum(on_m4.buffers.values())}\n" in (demo / "network.h").read_text()
    )


def relu_of(address, buffers):
    node = networks.node("relu", "arm_relu_q7", [], size=8)
    memory = Memory(buffers, {"relu": CallAddresses((address,), address)}, Address("in", 0))
    return Graph("odd", (Tensor("in", (8,), "int8"),), (node,), ("relu",), {}, memory)


def test_a_network_that_reads_unwritten_memory_is_refused(tmp_path):
    graph = relu_of(Address("other", 0), {"in": 8, "other": 8})
    with pytest.warns(DeviceWarning), pytest.raises(Error, match="nothing has written"):
        qemu_nn.export(pipeline.Network(graph), tmp_path / "odd")
    assert list(tmp_path.iterdir()) == []


def test_missing_scratch_memory_is_refused_where_the_core_needs_it(tmp_path):
    graph = networks.classifier(memory=True)
    places = dict(graph.memory.calls)
    places["conv1"] = CallAddresses(places["conv1"].inputs, places["conv1"].output, None)
    memory = Memory(graph.memory.buffers, places, graph.memory.input)
    graph = Graph(graph.name, (graph.input,), graph.nodes, graph.outputs, graph.arrays, memory)
    with pytest.raises(Error, match=r"'conv1'.*needs 72 bytes of scratch memory.*none"):
        write(tmp_path / "m4", graph)
    write(tmp_path / "m3", graph, target="cortex-m3")


@on_pc
def test_an_earlier_export_is_replaced_with_its_build_and_nothing_else_is(demo, tmp_path):
    folder = copied(demo, tmp_path)
    assert check(folder)[0] == 0
    network = pipeline.Network(networks.classifier())
    qemu_nn.export(network, folder)
    assert not (folder / "build").exists()
    assert not (folder / "layers.h").exists()
    (folder / "mine.c").write_text("int mine;")
    with pytest.raises(Error, match=r"mine\.c"):
        qemu_nn.export(network, folder)
    assert (folder / "mine.c").exists()


def test_the_verb_writes_the_folder_and_says_what_it_takes(tmp_path):
    model, folder = tmp_path / "digits.qnz", tmp_path / "firmware"
    network, x, _ = pipeline.example()
    network.save(model)
    np.save(tmp_path / "x.npy", x[:1])
    arguments = ["export", str(model), "-o", str(folder), "--layers", "one"]
    done = CliRunner().invoke(main, [*arguments, "--data", str(tmp_path / "x.npy")])
    assert done.exit_code == 0, done.output
    assert "672 bytes of RAM, 1,898 of weights and biases" in done.output
    assert (folder / "layers.h").exists()
    assert "INPUTS = 1" in (folder / "main.c").read_text()
    done = CliRunner().invoke(main, ["export", str(model), "-o", str(model)])
    assert done.exit_code == 2
    assert "digits.qnz is a file" in done.output
