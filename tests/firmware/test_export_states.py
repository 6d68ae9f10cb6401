"""Exports call each state of CMSIS-NN by its own headers; stand-ins have the same prototypes."""

import re
import subprocess

import numpy as np
import pytest
from exported import check, needs, write

import qemu_nn
from qemu_nn.api.golden import FloatNetwork
from qemu_nn.errors import Error, Refused
from qemu_nn.firmware.releases import list_releases
from qemu_nn.functions import FUNCTIONS
from qemu_nn.functions.older_buffers import list_older_bytes
from qemu_nn.functions.prototypes import make_prototype, make_vector_sum
from qemu_nn.ir.float_graph import FloatGraph, FloatNode
from qemu_nn.operators import Dense
from qemu_nn.runtime.session import Session
from qemu_nn.targets import Target, profile
from qemu_nn.testing.builder import Builder

WINDOW = {
    **dict.fromkeys(("stride_h", "stride_w", "dilation_h", "dilation_w"), 1),
    **{"batches": 1, "filter_h": 3, "filter_w": 3, "pad_h": 1, "pad_w": 1},
    **{"input_offset": 7, "output_offset": -3, "act_min": -128, "act_max": 127},
}


def network(filter_offset=0, batches=1):
    """Return a network of the s8 functions that most networks have."""
    net = Builder("states", (batches, 6, 6, 4))
    sides = {"input_h": 6, "input_w": 6, "output_h": 6, "output_w": 6}
    window = {**WINDOW, **sides, "batches": batches}
    net.call("conv", "arm_convolve_s8", {**window, "input_c": 4, "filter_c": 4, "output_c": 8})
    net.call("depth", "arm_depthwise_conv_wrapper_s8", {**window, "input_c": 8, "ch_mult": 1})
    pool = {"batches": batches, "input_h": 6, "input_w": 6, "channels": 8, "filter_h": 2}
    pool.update(filter_w=2, stride_h=2, stride_w=2, pad_h=0, pad_w=0, output_h=3, output_w=3)
    net.call("pool", "arm_max_pool_s8", {**pool, "act_min": -128, "act_max": 127})
    dense = {"batches": batches, "input_c": 72, "output_c": 5, "input_offset": 3}
    dense.update(filter_offset=filter_offset, output_offset=0, act_min=-128, act_max=127)
    net.call("fc", "arm_fully_connected_s8", {**dense, "multiplier": 2**30, "shift": -9})
    soft = {"num_rows": 1, "row_size": 5, "mult": 2**30, "shift": 22, "diff_min": -128}
    net.call("soft", "arm_softmax_s8", {**soft, "num_rows": batches})
    return net.graph()


#: State -> arguments of arm_convolve_s8, and of arm_vector_sum_s8 as called on Helium.
STATES = {
    "b214a23d": (24, 0),
    "5.7.0": (24, 0),
    "f7e96efd": (11, 0),
    "01f5b32b": (11, 0),
    "5.8.0": (11, 0),
    "5.9.0": (11, 0),
    "51263182": (11, 0),
    "4.1.0": (11, 0),
    "5.0.0": (11, 4),
    "72e1ebf6": (11, 6),
    "6.0.0": (11, 6),
    "f2cb41ca": (11, 7),
    "7.0.0": (12, 7),
    "main-2026-07": (12, 7),
}


#: States whose functions answer ARM_MATH_SUCCESS.
OLD = ("b214a23d", "5.7.0", "f7e96efd", "01f5b32b", "5.8.0", "5.9.0")


@pytest.mark.parametrize("state", STATES)
def test_prototypes_have_the_arguments_of_the_state(state):
    arguments, sums = STATES[state]
    declared = make_prototype(FUNCTIONS["arm_convolve_s8"], state)
    assert len(declared.arguments) == arguments
    assert declared.returns == ("arm_status" if state in OLD else "arm_cmsis_nn_status")
    made = make_vector_sum(state)
    assert (len(made.arguments) if made else 0) == sums


def test_arguments_that_were_added_or_renamed():
    svdf = [len(make_prototype(FUNCTIONS["arm_svdf_s8"], s).arguments) for s in ("4.1.0", "5.0.0")]
    assert svdf == [17, 18]
    older = make_prototype(FUNCTIONS["arm_svdf_state_s16_s8"], "5.8.0")
    assert older.name == "arm_svdf_s8"
    assert make_prototype(FUNCTIONS["arm_svdf_state_s16_s8"], "5.9.0").name != older.name
    bias = [
        next(
            str(a)
            for a in make_prototype(FUNCTIONS["arm_convolve_s16"], s).arguments
            if "bias" in str(a) and "dims" not in str(a)
        )
        for s in ("5.9.0", "6.0.0")
    ]
    assert bias == ["const int64_t *bias", "const cmsis_nn_bias_data *bias_data"]


def test_functions_of_frameworks_have_types_of_their_own():
    """Their header includes none of Arm's, which define q7_t."""
    declared = make_prototype(FUNCTIONS["tflm_prelu_s8"], "5.8.0")
    assert not any("q7_t" in str(argument) for argument in declared.arguments)


def test_quantized_networks_have_functions_of_their_release():
    weights = np.random.default_rng(1).normal(size=(3, 8))
    nodes = (FloatNode("fc", Dense(weights, np.zeros(3)), ("x",)),)
    net = FloatNetwork(FloatGraph("net", "x", (8,), None, nodes, ("fc",)))
    x = np.random.default_rng(2).normal(size=(8, 8))
    made = {
        state: qemu_nn.quantize(net, x, scheme="affine", target=Target("m4", state)).graph.nodes[0]
        for state in ("5.8.0", "zephyr-2024-06", "7.0.0")
    }
    assert [node.function.name for node in made.values()] == [
        *("arm_fully_connected_s8", "arm_fully_connected_s8", "arm_fully_connected_per_channel_s8"),
    ]


def test_flat_arguments_have_the_order_of_the_state():

    names = [
        [argument.name for argument in make_prototype(FUNCTIONS[name], state).arguments]
        for name, state in (
            ("arm_convolve_s8", "5.7.0"),
            ("arm_depthwise_conv_s8", "f7e96efd"),
            ("arm_avgpool_s8", "5.7.0"),
        )
    ]
    assert " ".join(names[0]) == (
        "input input_w input_h input_c batches filter output_c filter_w filter_h pad_w pad_h "
        "stride_w stride_h bias output shift multiplier output_offset input_offset act_min act_max "
        "output_w output_h bufferA"
    )
    assert " ".join(names[1][-9:]) == (
        "output_w output_h output_offset input_offset act_min act_max dilation_w dilation_h bufferA"
    )
    assert names[2][:2] == ["input_h", "input_w"]
    assert "ctx" in str(make_prototype(FUNCTIONS["arm_avgpool_s8"], "01f5b32b"))


def test_absent_functions_are_refused():
    with pytest.raises(Error, match=r"has no arm_convolve_wrapper_s8, which f7e96efd was first"):
        make_prototype(FUNCTIONS["arm_convolve_wrapper_s8"], "5.7.0")


@needs("pc")
@pytest.mark.compiles
@pytest.mark.parametrize("core", ["m4", "m55"])
@pytest.mark.parametrize(
    "state", ["5.7.0", "f7e96efd", "5.8.0", "51263182", "4.1.0", "5.0.0", "6.0.0"]
)
def test_the_self_test_passes_with_the_stand_ins_of_a_state(state, core, tmp_path):
    folder = write(tmp_path / "net", network(), target=Target(core, state))
    code, lines = check(folder)
    assert (code, lines[-1]) == (0, "PASS: 0 failures")
    called = re.findall(r"arm_vector_sum_s8\(([^;]*)\);", (folder / "network.c").read_text())
    wanted = STATES[state][1] if core == "m55" else 0
    assert [text.count(",") - text.count("AT(") * 2 + 1 for text in called] == [wanted] * bool(
        wanted
    )


@needs("m4")
@pytest.mark.compiles
@pytest.mark.parametrize("state", ["5.8.0", "6.0.0"])
def test_the_self_test_passes_on_an_emulated_cortex_m4(state, tmp_path):
    folder = write(tmp_path / "net", network(), target=Target("m4", state))
    assert check(folder, "m4")[0] == 0


@needs("pc")
@pytest.mark.compiles
def test_a_stand_in_ignores_what_the_state_ignores(tmp_path):
    folder = write(tmp_path / "net", network(filter_offset=4), target=Target("m4", "5.0.0"))
    assert ".filter_offset = 0" in (folder / "kernels" / "stand_in.c").read_text()
    assert check(folder)[0] == 0


def mixed():
    """Return a network with a convolution of one row, one of an image, padding and a maximum."""
    net = Builder("mixed", (1, 1, 12, 4))
    sides = {"input_h": 1, "input_w": 12, "output_h": 1, "output_w": 12, "filter_h": 1}
    row = {**WINDOW, **sides, "pad_h": 0, "input_c": 4, "filter_c": 4, "output_c": 4}
    net.call("row", "arm_convolve_wrapper_s8", row)
    net.call("wide", "arm_convolve_wrapper_s8", {**row, "dilation_w": 2, "pad_w": 2})
    pad = {"input_n": 1, "input_h": 1, "input_w": 12, "input_c": 4, "pad_value": 3}
    pad.update(pre_n=0, pre_h=1, pre_w=0, pre_c=0, post_n=0, post_h=0, post_w=2, post_c=0)
    net.call("pad", "arm_pad_s8", pad)
    return net.graph()


@needs("pc")
@pytest.mark.compiles
def test_calls_of_a_function_that_the_state_computes_in_two_ways(tmp_path):
    """Compute rows on Helium by 5.0.0 with the bits of plain cores, and images with its own."""
    folder = write(tmp_path / "net", mixed(), target=Target("m55", "5.0.0"))
    text = (folder / "kernels" / "stand_in.c").read_text()
    assert re.search(r"\.profile = \(\w+->\w+(\.\w+)? == \d+ \? \d+ : \d+\)", text)
    code, lines = check(folder)
    assert (code, lines[-1]) == (0, "PASS: 0 failures")


@needs("pc")
@pytest.mark.compiles
def test_frameworks_bring_functions_that_a_state_has_not(tmp_path):
    folder = write(tmp_path / "net", mixed(), target=Target("m4", "5.9.0"))
    assert "tflm_arm_pad_s8(" in (folder / "network.c").read_text()
    assert "tflm_arm_pad_s8(" in (folder / "tflm" / "tflm.c").read_text()
    assert check(folder)[0] == 0


def test_a_batch_of_which_one_image_is_computed_is_not_exported(tmp_path):
    with pytest.raises(Error, match=r"layer .pool. .* only the first image of a batch"):
        write(tmp_path / "net", network(batches=2), target=Target("m4", "5.0.0"))


def test_an_argument_that_the_state_does_not_have_is_refused(tmp_path):
    net = Builder("product", (2, 8), "int16")
    call = {"out_offset": 0, "out_mult": 2**30, "out_shift": -9, "block_size": 8}
    net.call("mul", "arm_elementwise_mul_s16_s8", {**call, "batch_size": 2, "batch_offset": 1})
    with pytest.raises(Error, match=r"batch_size is 2, but in CMSIS 5\.0\.0 it is always 1"):
        write(tmp_path / "net", net.graph(), target=Target("m4", "5.0.0"))


def test_scratch_memory_covers_what_older_states_ask_for():
    point = {"filter_h": 1, "filter_w": 1, "input_c": 7, "filter_c": 7}
    assert list_older_bytes("arm_convolve_wrapper_s8", point, "dsp", "5.9.0") == {"ctx": 4 * 8}
    assert list_older_bytes("arm_convolve_wrapper_s8", point, "dsp", "4.1.0") == {}
    taps = {"filter_h": 3, "filter_w": 3, "input_c": 200, "ch_mult": 1}
    assert list_older_bytes("arm_depthwise_conv_s8_opt", taps, "mve", "5.9.0") == {
        "ctx": 4 * 1800 + 4
    }
    assert list_older_bytes("arm_depthwise_conv_s8_opt", taps, "mve", "7.0.0") == {}
    assert list_older_bytes("arm_depthwise_conv_wrapper_s8", taps, "dsp", "5.8.0") == {
        "ctx": 2 * 1800
    }
    spread = {"filter_h": 2, "filter_w": 3, "input_h": 4, "input_w": 5, "output_c": 6}
    spread.update(output_h=7, output_w=8)
    assert list_older_bytes("arm_transpose_conv_s8", spread, "dsp", "6.0.0") == {
        "ctx": 4 * 720,
        "output_ctx": 4 * 336,
    }


# ---- headers of another release ----


def preprocessed(state, *defined):
    """Return the errors of the conditions on headers that network.c has for a state."""
    conditions = list_releases(profile("m4", state))["releases"]
    lines = []
    for at, each in enumerate(conditions):
        lines += [f"{'#elif' if at else '#if'} {each['condition']}"]
        lines += [f'#error "{each["words"]}"'] if each["other"] else []
    text = "\n".join([*lines, "#endif", ""])
    flags = [f"-D{macro}" for macro in defined]
    done = subprocess.run(
        ["cc", "-E", "-x", "c", *flags, "-"], input=text, text=True, capture_output=True
    )
    return done.stderr


OLDEST = "_ARM_NNFUNCTIONS_H"
TYPES = (OLDEST, "_ARM_NN_TYPES_H")


@needs("pc")
@pytest.mark.compiles
def test_5_4_0_does_not_pass_as_5_6_0():
    old, new = "__CM_CMSIS_VERSION=((5U<<16U)|1U)", "__CM_CMSIS_VERSION=((5U<<16U)|3U)"
    assert "5.5.1" in preprocessed("5.6.0", OLDEST, old)
    assert preprocessed("5.6.0", OLDEST, new) == ""
    assert preprocessed("5.4.0", OLDEST, old) == ""
    assert "or 5.7.0" in preprocessed("5.4.0", OLDEST, new)
    assert "CMSIS 5.3.0 or 5.4.0" in preprocessed("5.9.0", OLDEST)
    assert "5.8.0" in preprocessed("5.6.0", *TYPES, new)
    assert preprocessed("07bb28ed", *TYPES) == ""


@needs("pc")
@pytest.mark.compiles
@pytest.mark.parametrize(("state", "rounds"), [("5.6.0", "0x1u"), ("5.4.0", "")])
def test_make_tells_states_of_one_revision_apart_by_their_code(state, rounds, tmp_path):
    net = Builder("relu", (8,))
    net.call("relu", "arm_relu_q7", {"size": 8})
    folder = write(tmp_path / "net", net.graph(), target=Target("m4", state))
    include = folder / "arm" / "Include"
    include.mkdir(parents=True)
    (include / "arm_nnfunctions.h").write_text("/* $Revision:    V.1.0.0 */\n")
    for text in ("0x1u", ""):
        (include / "arm_nnsupportfunctions.h").write_text(
            f"#define NN_ROUND(s) (({text} 1 << s))\n"
        )
        command = ["make", "-n", "CMSIS=arm", "LIBRARY=x.a"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert ("is exported for CMSIS" in done.stderr) == (text != rounds), done.stderr


def test_the_network_has_the_same_bits_in_every_exported_state():
    graph = network()
    x = np.random.default_rng(1).integers(-128, 128, (4, 1, 6, 6, 4)).astype(np.int8)
    results = [Session(graph, profile("m4", s, "double")).run(x)["soft"] for s in STATES]
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])
    with pytest.raises(Refused):
        Session(graph, profile("m4", "5.6.0"))
