"""Estimated time of networks on a device: totals of real firmware, and the report."""

import json

import pytest
from click.testing import CliRunner
from paths import SHARED

import qemu_nn
from qemu_nn.api import golden
from qemu_nn.chips import CHIPS
from qemu_nn.cli.main import main
from qemu_nn.cycles.boards import BOARDS, count_stalls, get_board
from qemu_nn.cycles.model import PATHS, STANDS_FOR
from qemu_nn.cycles.timing import NOT_VALIDATED, TIMINGS, compute_cycles

MODELS = SHARED / "models_tflite"

#: Instructions of an inference, counted on exported firmware: network, core, setting -> two inputs.
COUNTED = {
    ("hello_world_int8", "cortex-m3", "-O2", "soft"): (2_661, 2_661),
    ("hello_world_int8", "cortex-m4", "-O3", "hard"): (2_484, 2_484),
    ("hello_world_int8", "cortex-m55", "-O3", "hard"): (2_001, 2_001),
    ("kws_ref_model", "cortex-m3", "-O2", "soft"): (10_528_522, 10_529_432),
    ("kws_ref_model", "cortex-m4", "-O3", "hard"): (7_841_291, 7_842_281),
    ("kws_ref_model", "cortex-m55", "-O3", "hard"): (1_781_739, 1_782_790),
    ("pretrainedResnet_quant", "cortex-m3", "-O3", "soft"): (41_752_309, 41_754_239),
    ("pretrainedResnet_quant", "cortex-m4", "-O2", "soft"): (29_775_042, 29_776_712),
    ("pretrainedResnet_quant", "cortex-m55", "-O2", "hard"): (4_906_075, 4_908_153),
}


@pytest.fixture(scope="module")
def digits():
    return golden.example()[0]


@pytest.mark.parametrize(("name", "core", "optimization", "abi"), COUNTED)
def test_whole_networks_are_within_half_a_percent(name, core, optimization, abi):
    path = MODELS / f"{name}.tflite"
    if not path.exists():
        pytest.skip(f"the published network is not in {MODELS}")
    counted = COUNTED[name, core, optimization, abi]
    found = qemu_nn.estimate(path, core, optimization=optimization, float_abi=abi)
    assert found.instructions == pytest.approx(sum(counted) / 2, rel=0.005)
    assert found.low <= min(counted)
    assert max(counted) <= found.high


def test_totals_are_the_sums_of_layers(digits):
    found = qemu_nn.estimate(digits, "m4", clock=100)
    rows = found.layers.records()
    assert [row["layer"] for row in rows] == [node.name for node in digits.graph.nodes]
    for total, column in ((found.instructions, "instructions"), (found.high, "high")):
        assert total == sum(row[column] for row in rows)
    assert found.cycles[1] == pytest.approx(sum(row["cycles"] for row in rows), abs=len(rows))
    assert found.low <= found.instructions <= found.high
    assert found.cycles[0] <= found.cycles[1] <= found.cycles[2]
    assert all(row["milliseconds"] == pytest.approx(row["cycles"] / 1e5, rel=0.01) for row in rows)
    assert all(0 < row["loads"] + row["branches_taken"] < row["instructions"] for row in rows)
    assert "milliseconds" not in qemu_nn.estimate(digits, "m4").layers.columns
    milliseconds = float(str(found.facts["time"]).split()[0])
    assert milliseconds == pytest.approx(found.cycles[1] / 1e5, rel=0.01)


def test_a_call_of_a_layer_is_estimated_alone_as_in_its_network(digits):
    node = digits.graph.nodes[0]
    alone = qemu_nn.estimate_call(node.function.name, node.params, "m4", "5.9.0")
    row = qemu_nn.estimate(digits, "m4").layers.records()[0]
    assert (row["instructions"], row["low"]) == (alone.instructions, alone.low)


def test_flash_makes_a_board_slower_than_memory_that_answers_at_once(digits):
    fast = qemu_nn.estimate(digits, "m4")
    slow = qemu_nn.estimate(digits, board="nucleo-l4r5zi")
    assert slow.instructions == fast.instructions
    assert slow.cycles[0] == fast.cycles[0]
    assert slow.cycles[1] > fast.cycles[1]
    dense = {"batches": 1, "input_c": 100, "output_c": 80}
    waited = count_stalls(get_board("nucleo-l4r5zi"), "arm_fully_connected_s8", dense, 8000)
    assert waited == 8000 / 8 * 5


def test_cycles_follow_the_timing_of_the_core():
    mix = {"loads": 20, "branches taken": 10}
    least, usual, most = compute_cycles(100, mix, TIMINGS["cortex-m4"])
    assert (least, usual, most) == (100 + 10, 100 + 10 + 20, 100 + 20 + 30)


def test_every_core_with_counts_has_a_timing_and_every_board_a_chip():
    assert set(TIMINGS) == {*PATHS, *STANDS_FOR}
    assert all(known.chip in CHIPS and known.core in TIMINGS for known in BOARDS.values())


def test_what_nothing_public_holds_is_said_not_to_be_validated(digits):
    assert qemu_nn.estimate(digits, "m3").facts["validated"] == NOT_VALIDATED
    assert "conv1" in str(qemu_nn.estimate(digits, "m7").facts["validated"])
    assert qemu_nn.estimate(digits, "m7").facts["counts"].startswith("of cortex-m4")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"target": "cortex-m0+"}, "no instruction counts of cortex-m0\\+; have: cortex-m3"),
        ({"board": "nucleo"}, "no board 'nucleo'; have: nucleo-f103rb"),
        ({"board": "nucleo-l4r5zi", "target": "m7"}, "is cortex-m4, not cortex-m7"),
        ({"clock": -1}, "clock is -1, but must be MHz above 0"),
        (
            {"target": qemu_nn.Target("m4", cmsis="5.6.0"), "optimization": "-O0"},
            "have: CMSIS 5.6.0 -O2",
        ),
    ],
)
def test_what_cannot_be_estimated_is_a_sentence(digits, options, sentence):
    with pytest.raises(qemu_nn.Error, match=sentence):
        qemu_nn.estimate(digits, **options)


@pytest.fixture(scope="module")
def saved(digits, tmp_path_factory):
    path = tmp_path_factory.mktemp("estimate") / "digits.qnz"
    digits.save(path)
    return str(path)


def test_info_prints_cycles_within_120_columns(saved):
    told = CliRunner().invoke(main, ["info", saved, "--cycles", "--board", "nucleo-f411re"])
    assert told.exit_code == 0, told.output
    assert max(map(len, told.output.splitlines())) <= 120
    assert "ms at 100 MHz" in told.output
    assert "3 wait states" in told.output
    as_json = ["info", saved, "--cycles", "--target", "m3", "--optimization", "-Os", "--json"]
    found = json.loads(CliRunner().invoke(main, as_json).output)
    assert found["least_cycles"] < found["cycles"] < found["most_cycles"]
    assert "GCC -Os" in found["device"]


def test_info_refuses_options_of_cycles_without_them(saved):
    told = CliRunner().invoke(main, ["info", saved, "--board", "nucleo-f411re"])
    assert isinstance(told.exception, qemu_nn.Error) or "--board needs --cycles" in told.output
    assert told.exit_code != 0


@pytest.mark.parametrize(
    ("name", "megahertz", "currents", "source"),
    [
        ("nucleo-f103rb", 72, (27, 27), "DS5319 Rev 19, table 17"),
        ("nucleo-f411re", 100, (11.6, 22.5), "DS10314 Rev 8, tables 23 and 25, at 3.6 V"),
        ("stm32f407g-disc1", 168, (40, 46), "DS8626 Rev 12, tables 20 and 21"),
        ("stm32f429i-disc1", 180, (44, 57), "DS9405 Rev 13, tables 24 and 25"),
    ],
)
def test_energy_is_a_product_and_says_so(name, megahertz, currents, source, digits):
    found = qemu_nn.estimate(digits, board=name)
    milliseconds = found.cycles[1] / megahertz / 1000
    words = str(found.facts["energy"])
    shown = " to ".join(f"{current:g}" for current in dict.fromkeys(currents))
    assert f"mJ, a product: time x 3.3 V x {shown} mA ({source})" in words
    energies = [float(word) for word in words.partition(" mJ,")[0].split(" to ")]
    expected = [current * 3.3 * milliseconds / 1000 for current in dict.fromkeys(currents)]
    assert energies == pytest.approx(expected, rel=0.01)


def test_every_current_has_its_document():
    for each in BOARDS.values():
        assert bool(each.current) == bool(each.measured)
        low, high = each.current or (1, 1)
        assert 0 < low <= high < 500


def test_there_is_no_energy_where_no_current_is_known(digits):
    assert "energy" not in qemu_nn.estimate(digits, board="nucleo-l4r5zi").facts
    assert "energy" not in qemu_nn.estimate(digits, board="nucleo-f411re", clock=50).facts
    assert "energy" not in qemu_nn.estimate(digits, target="m4", clock=100).facts
