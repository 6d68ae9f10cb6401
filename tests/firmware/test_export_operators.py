"""Every operator of .tflite files, as firmware: the self-test holds what the session computes."""

import re

import numpy as np
import pytest
from exported import check, needs, write
from tflite_cases import CASES, REFERENCE, STEPS, Net, inputs

import qemu_nn
from qemu_nn.api import golden as pipeline

pytestmark = pytest.mark.compiles


#: Those that are emulated every day.
EMULATED = ("convolve_s4", "transpose_conv_wide", "lstm_s16", "softmax_s16", "svdf_s8")

#: One call for every kind of argument and memory.
SOME = (
    *("convolve_s16_short_bias", "convolve_s4", "depthwise_s16", "transpose_conv_wide"),
    *("fully_connected_per_channel", "svdf_rank", "svdf_s8", "lstm_s8", "lstm_s16"),
    *("softmax_s16", "requantize_s8_u8", "concatenation_columns", "transpose_image"),
)


def exported(name, tmp_path, **how):
    network = qemu_nn.load(CASES[name]().save(tmp_path))
    steps = {"steps": STEPS} if network.graph.states else {}
    x = inputs(name, network.graph.input, **steps)[:2]
    return network, write(tmp_path / "net", network, data=x, **how)


@needs("pc")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, marks=() if n in SOME else pytest.mark.slow)
        for n in CASES
        if n not in REFERENCE
    ],
)
def test_an_operator_passes_its_self_test(name, tmp_path):
    status, lines = check(exported(name, tmp_path)[1])
    assert (status, lines[-1]) == (0, "PASS: 0 failures"), lines


@needs("m4")
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in EMULATED else pytest.mark.slow) for n in SOME]
)
def test_an_operator_passes_on_an_emulated_device(name, tmp_path):
    status, lines = check(exported(name, tmp_path)[1], "m4")
    assert (status, lines[-1]) == (0, "PASS: 0 failures"), lines


@needs("pc")
def test_states_have_memory_that_nothing_shares(tmp_path):
    network, folder = exported("svdf_s8", tmp_path, target="cortex-m55")
    text = (folder / "network.c").read_text()
    kept = sum(-(-state.nbytes // 16) * 16 for state in network.graph.states)
    assert "} states_memory;" in (folder / "network.h").read_text()
    started_and_restored = 2 * len(network.graph.states)
    assert text.count("memcpy(AT(") - started_and_restored == 1  # the input
    told = pipeline.describe(network, "cortex-m55").facts
    assert f" + states {kept}," in told["activation_memory"]
    assert check(folder)[0] == 0


def test_a_device_with_helium_sums_the_features_first(tmp_path):
    folder = exported("svdf_s8", tmp_path, target="cortex-m55")[1]
    text = " ".join((folder / "network.c").read_text().split())
    assert re.search(
        r"arm_vector_sum_s8\(AT\(int32_t, arena_memory, \d+\), \w+_INPUT_SIZE, "
        r"\w+_UNITS \* \w+_RANK, \w+_weights_feature, -\w+_INPUT_OFFSET, \w+_STATE_OFFSET, NULL\);"
        r" \{",
        text,
    )
    assert "arm_svdf_s8(&ctx, &input_ctx, &output_ctx, &svdf_params, &input_quant_params," in text


@needs("pc")
@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m55"])
def test_the_zero_point_of_a_state_is_the_firmwares_too(core, tmp_path):
    net = CASES["svdf_s8"]()
    net.tensors[net.operators[0][1][4]]["zeros"] = np.int64([-50])
    network = qemu_nn.load(net.save(tmp_path))
    x = inputs("svdf_s8", network.graph.input, steps=STEPS)[:2]
    folder = write(tmp_path / "net", network, data=x, target=core)
    status, lines = check(folder)
    assert (status, lines[-1]) == (0, "PASS: 0 failures"), lines


@needs("pc")
def test_an_output_of_32_bits_passes(tmp_path):
    net = Net("INT16")
    x, y = net.input((1, 5), 2.0**-16, -32768, "INT16"), net.output((1, 5), 2.0**-15, 7, "INT32")
    net.operator("QUANTIZE", [x], [y])
    status, lines = check(write(tmp_path / "net", qemu_nn.load(net.save(tmp_path))))
    assert (status, lines[-1]) == (0, "PASS: 0 failures"), lines


def test_scratch_memory_has_as_many_pieces_as_c_asks_for(tmp_path):
    text = (exported("transpose_conv_wide", tmp_path)[1] / "network.c").read_text()
    assert "cmsis_nn_context ctx = {.buf = AT(void, arena_memory," in text
    assert "cmsis_nn_context reverse_conv_ctx = {.buf = NULL, .size = 0};" in text
