"""Every operator of .tflite files, as firmware: the self-test holds what the session computes."""

import re

import pytest
from exported import check, needs, write
from tflite_cases import CASES, STEPS, inputs

import qemu_nn
from qemu_nn import pipeline

pytest.importorskip("tflite")

#: Those that are emulated every day.
EMULATED = ("convolve_s4", "transpose_conv_wide", "lstm_s16", "softmax_s16", "svdf_s8")

#: Of every kind of argument and memory one.
SOME = (
    *("convolve_s16_short_bias", "convolve_s4", "depthwise_s16", "transpose_conv_wide"),
    *("fully_connected_per_channel", "svdf_rank", "svdf_s8", "lstm_s8", "lstm_s16"),
    *("softmax_s16", "requantize_s8_u8", "concatenation_columns", "transpose_image"),
)


def exported(name, tmp_path, **how):
    network = qemu_nn.load(CASES[name]().save(tmp_path))
    steps = {"steps": STEPS} if network.graph.states else {}
    x = inputs(name, network.graph.input, **steps)[:2]
    return network, write(tmp_path / "net", network, x=x, **how)


@needs("pc")
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in SOME else pytest.mark.slow) for n in CASES]
)
def test_an_operator_passes(name, tmp_path):
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
    kept = sum(state.nbytes for state in network.graph.states)
    assert "} states_memory;" in text
    assert text.count("memcpy(AT(") - len(network.graph.states) == 1  # the input
    told = pipeline.describe(network, "cortex-m55").facts
    assert told["state_bytes"] == kept
    assert check(folder)[0] == 0


def test_a_device_with_helium_sums_the_features_first(tmp_path):
    folder = exported("svdf_s8", tmp_path, target="cortex-m55")[1]
    text = " ".join((folder / "network.c").read_text().split())
    assert re.search(
        r"arm_vector_sum_s8\(AT\(int32_t, arena_memory, \d+\), \w+_INPUT_SIZE, "
        r"\w+_UNITS \* \w+_RANK, \w+_weights_feature, -\w+_INPUT_OFFSET, 0, NULL\); \{",
        text,
    )
    assert "arm_svdf_s8(&ctx, &input_ctx, &output_ctx, &svdf_params, &input_quant_params," in text


def test_scratch_memory_has_as_many_pieces_as_c_asks_for(tmp_path):
    text = (exported("transpose_conv_wide", tmp_path)[1] / "network.c").read_text()
    assert "cmsis_nn_context ctx = {.buf = AT(void, arena_memory," in text
    assert "cmsis_nn_context reverse_conv_ctx = {.buf = NULL, .size = 0};" in text
