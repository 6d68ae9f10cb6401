"""CMSIS-NN 7.0.0 and Arm's main branch of July 2026: where their bits, and their C, differ."""

import shutil
import subprocess

import numpy as np
import pytest
from exported import check, needs, write
from lstm_networks import lstm_network
from paths import SHARED

import qemu_nn
from qemu_nn import cmsis, releases
from qemu_nn._native import lib
from qemu_nn.api.golden import FloatNetwork
from qemu_nn.errors import Error, Refused
from qemu_nn.ir.float_graph import FloatGraph, FloatNode
from qemu_nn.kernels.table import ROWS, bit_of
from qemu_nn.operators import Dense
from qemu_nn.releases import NPU_BIT
from qemu_nn.releases.table import NUMBERS
from qemu_nn.targets import NPU, all_profiles, profile

MAIN = "main-2026-07"
OPS = SHARED / "golden" / "tflm_ops"


def test_each_is_a_release_to_choose():
    assert str(profile("cortex-m55", MAIN)) == f"CMSIS {MAIN}, mve, double"
    assert profile(rounding="single").cmsis == "7.0.0"
    with pytest.raises(Error, match=rf"'7\.1'; have: .*7\.0\.0, .*{MAIN}"):
        profile(cmsis="7.1")


def test_rows_claim_every_profile_and_no_other():
    """Most rows claim what QN_ANY has, CMSIS 5.6.0 on Helium among it, which no profile is."""
    op = ROWS[0].op
    known = {bit_of(op, each) for each in (*all_profiles(), NPU)}
    assert len(known) == len({each.cmsis for each in all_profiles()}) * 5 - 2 + 1
    claimed = {bit for row in ROWS for bit in range(64) if row.profiles >> bit & 1}
    numbers = {bit // 5 for bit in claimed - {NPU_BIT}}
    assert known <= claimed
    assert numbers == set(NUMBERS.values())


def test_c_has_the_releases_of_the_table():
    names = {name for name in dir(lib) if name.startswith("QN_RELEASE_")}
    numbers = {releases.BY_NAME[name].symbol: number for name, number in NUMBERS.items()}
    assert {name: getattr(lib, name) for name in names} == numbers
    assert lib.QN_NPU_BIT == NPU_BIT


def test_the_history_is_in_order():
    days = [each.date for each in releases.ALL]
    assert len(set(releases.BY_NAME)) == len(releases.ALL) == len(days)
    assert [each.place for each in releases.ALL] == list(range(len(releases.ALL)))


def test_the_affine_scheme_is_for_either():
    weights = np.random.default_rng(1).normal(size=(3, 8))
    nodes = (FloatNode("fc", Dense(weights, np.zeros(3)), ("x",)),)
    net = FloatNetwork(FloatGraph("net", "x", (8,), None, nodes, ("fc",)))
    x = np.random.default_rng(2).normal(size=(8, 8))
    for release in ("7.0.0", MAIN):
        made = qemu_nn.quantize(net, x, scheme="affine", target=qemu_nn.Target(cmsis=release))
        assert made.session(target=qemu_nn.Target(cmsis=release)).profile.cmsis == release
    with pytest.raises(Error, match=f"CMSIS {MAIN} has no q7 and q15 functions: use 5.9.0"):
        qemu_nn.quantize(net, x, target=qemu_nn.Target(cmsis=MAIN), scheme="power2")


# ---- rounding once ----


@pytest.mark.parametrize("release", ["7.0.0", MAIN])
def test_rounding_once_leaves_31_bits_in_7_0_0(release):
    x = np.array([2**30 - 1, 2**30, -(2**30), -(2**30) - 1], np.int32)
    call = {"a": x, "b": np.full(4, 2**30, np.int32), "c": np.ones(4, np.int32), "cmsis": release}
    got = cmsis.arm_nn_requantize(**call, rounding="single")
    wanted = {MAIN: x, "7.0.0": [2**30 - 1, -(2**30), -(2**30), 2**30 - 1]}
    assert got.tolist() == list(wanted[release])


@pytest.mark.parametrize("variant", [None, "ref"])
def test_a_sum_beyond_30_bits_clamps_to_the_other_end_in_7_0_0(variant):
    call = {
        "input": np.full((1, 64), 127, np.int8),
        "filter": np.full((32, 64), 127, np.int8),
        "bias": np.full(32, 2**30, np.int32),
        "input_offset": 0,
        "filter_offset": 0,
        "output_offset": 0,
        "act_min": -128,
        "act_max": 127,
        "multiplier": 2**30,
        "shift": 1,
        "rounding": "single",
        "variant": variant,
    }
    assert set(cmsis.arm_fully_connected_s8(**call, cmsis=MAIN).ravel().tolist()) == {127}
    assert set(cmsis.arm_fully_connected_s8(**call, cmsis="7.0.0").ravel().tolist()) == {-128}


# ---- transposed convolution ----


def spread(release, **more):
    """Check one input pixel of 1 with weights 1, 2, 3 in rows, stride 2, pad_h 1: rows 2 and 3
    remain.
    """
    sides = {"stride_h": 2, "stride_w": 1, "pad_h": 1, "pad_w": 0, "dilation_h": 1, "dilation_w": 1}
    return cmsis.arm_transpose_conv_s8(
        input=np.ones((1, 1, 1, 1), np.int8),
        filter=np.array([1, 2, 3], np.int8).reshape(1, 3, 1, 1),
        **{"bias": None, "multiplier": np.array([2**30], np.int32), "shift": np.ones(1, np.int32)},
        **{**sides, "output_h": 2, "output_w": 1, "pad_offset_h": 0, "pad_offset_w": 0},
        **{"input_offset": 0, "output_offset": 0, "act_min": -128, "act_max": 127},
        cmsis=release,
        **more,
    ).ravel()


def test_a_pad_that_is_no_multiple_of_the_stride_is_of_main_alone():
    assert spread(MAIN).tolist() == [2, 3]
    with pytest.raises(
        Refused, match=r"7\.0\.0 puts the rows too high .*cmsis='main-2026-07' takes"
    ):
        spread("7.0.0")


@pytest.mark.skipif(not OPS.is_dir(), reason=f"{OPS} is missing")
def test_the_recorded_transposed_convolution_of_main_has_its_bits():
    name = OPS / "transpose_conv_same3_k5_int8_no_bias"
    network = qemu_nn.load(name.with_suffix(".tflite"))
    with np.load(name.with_suffix(".npz")) as recorded:
        x, wanted = recorded["input_0"], recorded["output_0_cmsis_main"]
    got = network.session(target=qemu_nn.Target(cmsis=MAIN)).run(
        x.reshape(len(x), *network.graph.input.shape)
    )
    (output,) = network.graph.outputs
    np.testing.assert_array_equal(got[output].ravel(), wanted.ravel())
    with pytest.raises(Refused, match="takes any pad"):
        network.session()


# ---- LSTM ----

#: The declaration in each release's header, and our stand-in for it.
CONTEXT = {"7.0.0": "{ void *temp1, *temp2, *cell_state; }"}
CONTEXT[MAIN] = CONTEXT["7.0.0"].replace("; }", "; void *hidden_state; }")


@needs("pc")
@pytest.mark.parametrize(("release", "kept"), [("7.0.0", False), (MAIN, False), (MAIN, True)])
def test_an_exported_lstm_is_for_the_header_of_its_release(release, kept, tmp_path):
    folder = write(tmp_path / "net", lstm_network(kept)[0], target=qemu_nn.Target(cmsis=release))
    assert ("hidden_state" in (folder / "network.c").read_text()) == (release == MAIN)
    header = " ".join((folder / "kernels" / "arm_nn_types.h").read_text().split())
    assert f"typedef struct cmsis_nn_lstm_context {CONTEXT[release]}" in header
    assert f"CMSIS {release}" in (folder / "network.c").read_text()
    assert check(folder)[0] == 0


def test_an_lstm_with_a_hidden_state_is_not_exported_for_7_0_0(tmp_path):
    with pytest.raises(Refused, match=r"7\.0\.0 takes no hidden state"):
        write(tmp_path / "net", lstm_network(True)[0], target=qemu_nn.Target(cmsis="7.0.0"))


# ---- stand-ins for Arm's headers ----


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler is installed")
def test_firmware_compiles_against_the_stand_ins_only_if_it_says_so(tmp_path):
    folder = write(tmp_path / "net", lstm_network(False)[0])
    command = ["cc", "-fsyntax-only", "-Ikernels", "network.c"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert "take kernels/ off the include path" in done.stderr
    assert subprocess.run([*command, "-DNETWORK_STAND_IN"], cwd=folder).returncode == 0
