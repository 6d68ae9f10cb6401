"""Functions that give a layer's bits are ranked by their cycles, and no others."""

import json
from pathlib import Path

import networks
import numpy as np
import pytest
from click.testing import CliRunner

import qemu_nn
from qemu_nn.api.golden import example
from qemu_nn.api.kernel_ranking import quickest, ranked
from qemu_nn.api.network import FloatNetwork, Network
from qemu_nn.cli.main import main
from qemu_nn.errors import DeviceWarning, Error
from qemu_nn.ir.float_graph import FloatGraph, FloatNode
from qemu_nn.ir.graph import Graph, Tensor
from qemu_nn.operators import Conv
from qemu_nn.targets import profile

FOLDER = Path(qemu_nn.__file__).parent / "demo"


def by_layer(table):
    found = {}
    for row in table.records():
        found.setdefault(row["layer"], []).append(row)
    return found


def test_functions_of_a_layer_are_sorted_by_cycles_and_hold_the_one_that_is_used():
    network = example()[0]
    functions = {node.name: node.function.name for node in network.graph.nodes}
    found = by_layer(ranked(network))
    assert {"conv1", "conv2"} <= set(found)
    for layer, rows in found.items():
        assert [row["rank"] for row in rows] == list(range(1, len(rows) + 1))
        assert sorted(rows, key=lambda row: row["cycles"]) == rows
        assert [row["function"] for row in rows if row["used"]] == [functions[layer]]
    names = {row["function"] for row in found["conv2"]}
    assert {"arm_convolve_HWC_q7_basic", "arm_convolve_HWC_q7_fast"} <= names
    figures = {row["layer"]: row for row in qemu_nn.estimate(network).layers.records()}
    used = next(row for row in found["conv2"] if row["used"])
    assert used["cycles"] == figures["conv2"]["cycles"]


def test_functions_that_refuse_the_shape_or_give_other_bits_are_left_out():
    """conv1 has one channel, which _fast and _RGB do not take."""
    names = {row["function"] for row in by_layer(ranked(example()[0]))["conv1"]}
    assert names == {"arm_convolve_HWC_q7_basic", "arm_convolve_HWC_q7_basic_nonsquare"}


def test_layers_of_the_s8_api_on_helium():
    network = qemu_nn.load(FOLDER / "digits.tflite")
    found = by_layer(ranked(network, "m55"))
    names = [{row["function"] for row in rows} for rows in found.values()]
    assert {"arm_convolve_s8", "arm_convolve_wrapper_s8"} <= names[0]


def test_the_verb_prints_the_ranks():
    result = CliRunner().invoke(
        main, ["variants", str(FOLDER / "digits.qnz"), "--cycles", "--json"]
    )
    assert result.exit_code == 0, result.output
    assert json.loads(result.output)[0]["rank"] == 1
    refused = CliRunner().invoke(
        main, ["variants", str(FOLDER / "digits.qnz"), "--cycles", "-d", "x"]
    )
    assert (refused.exit_code, "leave --data" in refused.output) == (2, True)


def test_where_there_is_no_choice_or_no_count_it_says_so():
    with pytest.raises(Error, match="the target is 'reference'"):
        ranked(example()[0], target=qemu_nn.Target(kernels="reference"))
    with pytest.raises(Error, match="m0"):
        ranked(Network(networks.classifier()), "m0")


def test_a_layer_of_interleaved_weights_is_ranked_beside_the_plain_one():
    rows = by_layer(ranked(example()[0]))["fc"]
    assert {row["function"] for row in rows} >= {
        "arm_fully_connected_q7",
        "arm_fully_connected_q7_opt",
    }
    assert [row["function"] for row in rows if row["used"]] == [rows[0]["function"]]


RNG = np.random.default_rng(3)
DATA = RNG.normal(size=(16, 10, 10, 8))


def float_network(kernel, stride=(1, 1), pads=(0, 0, 0, 0), channels=8):
    weights = RNG.normal(size=(channels, *kernel, 8)) / 9
    conv = FloatNode("conv", Conv(weights, None, stride, pads), ("x",))
    return FloatNetwork(FloatGraph("net", "x", (10, 10, 8), "NHWC", (conv,), ("conv",)))


def outputs(network, target):
    x = np.random.default_rng(0).integers(-128, 128, (8, 10, 10, 8), np.int8)
    return network.session(target).run(x)["conv"]


def test_a_target_gets_the_function_of_the_fewest_cycles_and_the_same_bits():
    network, where = float_network((3, 3), pads=(1, 1, 1, 1)), qemu_nn.Target("m3", "5.9.0")
    plain = qemu_nn.quantize(
        network, DATA, target=qemu_nn.Target("dsp", cmsis="5.9.0"), scheme="power2"
    )
    quick = qemu_nn.quantize(network, DATA, target=where, scheme="power2")
    rows = by_layer(ranked(plain, where))["conv"]
    assert plain.graph.nodes[0].function.name == "arm_convolve_HWC_q7_fast"
    assert quick.graph.nodes[0].function.name == rows[0]["function"] != rows[-1]["function"]
    assert [row["function"] for row in rows if row["used"]] != [rows[0]["function"]]
    assert [note for note in quick.notes if "fewer cycles on cortex-m3, same bits" in note]
    assert not [note for note in plain.notes if "fewer cycles" in note]
    np.testing.assert_array_equal(outputs(quick, where), outputs(plain, where))


def test_a_faster_function_that_takes_more_memory_than_the_budget_is_no_choice():
    def made(**budget):
        network = float_network((1, 1), (2, 2), channels=64)
        found = qemu_nn.quantize(network, DATA, scheme="affine", target="m4", budget=budget)
        return found.graph.nodes[0].function.name, found.fit(
            qemu_nn.Target("stm32f411", cmsis="7.0.0"), stack=0
        ).ram

    name, most = made()
    assert name == "arm_convolve_s8"
    assert made(ram=most) == (name, most)
    name, less = made(ram=most - 1)
    assert name == "arm_convolve_wrapper_s8"
    assert less < most


def test_a_function_that_the_user_names_stays():
    named = {"conv": "arm_convolve_HWC_q7_fast"}
    network = float_network((3, 3), pads=(1, 1, 1, 1))
    quick = qemu_nn.quantize(
        network,
        DATA,
        target=qemu_nn.Target("m3", cmsis="5.6.0"),
        scheme="power2",
        options={"functions": named},
    )
    assert quick.graph.nodes[0].function.name == named["conv"]


def test_without_counts_or_bits_of_its_own_nothing_changes():
    network = float_network((3, 3), pads=(1, 1, 1, 1))
    plain = qemu_nn.quantize(
        network, DATA, target=qemu_nn.Target("dsp", cmsis="5.6.0"), scheme="power2"
    ).graph
    for target in ("m0", "dsp"):
        assert quickest(plain, target, profile(target, "5.6.0"), ()) == (plain, ())


def test_a_function_that_ends_in_a_fault_is_no_choice():
    """Show that with CMSIS 5.6.0, _basic of 5 input channels faults on a Cortex-M4."""
    params = {"dim_im_in": 4, "dim_kernel": 3, "padding": 1, "stride": 1, "dim_im_out": 4}
    params.update(ch_im_in=5, ch_im_out=2, bias_shift=0, out_shift=7)
    arrays = {"wt": np.ones((2, 3, 3, 5), np.int8), "bias": np.zeros(2, np.int8)}
    call = ("conv", "arm_convolve_HWC_q7_basic", ["x"], 5, ("wt", "bias"))
    graph = Graph(
        "odd", (Tensor("x", (4, 4, 5), "int8", 7),), (networks.node(*call, **params),), ("conv",),
        arrays,
    )  # fmt: skip
    with pytest.warns(DeviceWarning):
        assert not ranked(Network(graph), qemu_nn.Target("m4", "5.6.0")).rows
    assert ranked(Network(graph), qemu_nn.Target("m3", "5.6.0")).rows


def test_a_note_says_where_functions_part():
    """Show that with DSP instructions, _fast refuses windows that reach beyond the image."""
    plain = {"conv": "arm_convolve_HWC_q7_basic"}
    network = float_network((3, 3), pads=(1, 1, 2, 2))
    graph = qemu_nn.quantize(network, DATA, scheme="power2", options={"functions": plain}).graph
    quick, notes = quickest(graph, "m3", profile("m3"), ())
    assert quick.nodes[0].function.name == "arm_convolve_HWC_q7_fast_nonsquare"
    assert notes[0].startswith("conv: arm_convolve_HWC_q7_fast_nonsquare instead of")
    assert notes[1].startswith("Cortex-M4, M7, M33, M35P do not take these functions")


def test_files_of_an_affine_network_have_the_operator_and_not_the_function(tmp_path):
    pytest.importorskip("flatbuffers", reason="needs the writer of .tflite files")
    network = float_network((1, 1), (2, 2), channels=64)
    quick = qemu_nn.quantize(network, DATA, scheme="affine", target="m3")
    assert quick.graph.nodes[0].function.name == "arm_convolve_s8"
    quick.save(tmp_path / "net.tflite")
    read = qemu_nn.load(tmp_path / "net.tflite")
    assert read.graph.nodes[0].function.name == "arm_convolve_wrapper_s8"
    x = np.random.default_rng(0).integers(-128, 128, (8, 10, 10, 8), np.int8)
    (ours,), (theirs,) = (n.session("m3").run(x).values() for n in (quick, read))
    np.testing.assert_array_equal(ours, theirs)
