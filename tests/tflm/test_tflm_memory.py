"""The arena and the flash that TensorFlow Lite Micro needs, as it was recorded on devices."""

import csv
import json

import numpy as np
import pytest
from click.testing import CliRunner
from paths import SHARED
from tflite_files import File

import qemu_nn
from qemu_nn.api import golden as pipeline
from qemu_nn.cli.main import main
from qemu_nn.targets import Target

MODELS = SHARED / "models_tflite2"

#: arena_used_bytes() of 2026-08 with CMSIS-NN of June 2026, on an emulated Cortex-M4 and M55.
CORES = {"m4": "arena_m4", "m55": "arena_m55"}


def recorded():
    """Yield (model, core, bytes) of the recordings."""
    if not (MODELS / "index.tsv").is_file():
        return
    with (MODELS / "index.tsv").open() as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            for core, column in CORES.items():
                if row[column] and (MODELS / f"{row['name']}.tflite").is_file():
                    yield row["name"], core, int(row[column])


RECORDED = list(recorded())


def facts_of(network, core, cmsis=None):
    return pipeline.describe(network, Target(core, cmsis=cmsis)).facts


@pytest.mark.skipif(not RECORDED, reason="no shared recordings of TensorFlow Lite Micro")
@pytest.mark.parametrize(("name", "core", "used"), RECORDED, ids=lambda value: str(value)[:40])
def test_the_arena_is_what_devices_use(name, core, used):
    network = qemu_nn.load(MODELS / f"{name}.tflite")
    facts = facts_of(network, core, cmsis="main-2026-07")
    assert facts["tflm_arena_bytes"] == facts["tflm_head_bytes"] + facts["tflm_tail_bytes"]
    assert facts["tflm_arena_bytes"] == pytest.approx(used, rel=0.01)
    assert facts["file_bytes"] == (MODELS / f"{name}.tflite").stat().st_size


def add_file(folder):
    """Write the operator of a recorded model: the sum of two inputs of 16,384 elements."""
    file = File()
    sides = file.input((1, 128, 128, 1)), file.tensor((1, 128, 128, 1), scale=0.5, name="more")
    file.inputs.append(sides[1])
    file.operator("ADD", sides, [file.output((1, 128, 128, 1))], "AddOptions")
    return file.save(folder)


def dense_file(folder, real):
    """Write a dense layer of 40 rows, perhaps between QUANTIZE and DEQUANTIZE."""
    file = File()
    outer = file.input((1, 64), None if real else 0.5, type="FLOAT32" if real else "INT8")
    inner = file.tensor((1, 64), scale=0.5) if real else outer
    if real:
        file.operator("QUANTIZE", [outer], [inner])
    weights = file.tensor((40, 64), scale=0.1, data=np.ones((40, 64)))
    bias = file.tensor((40,), "INT32", scale=0.05, data=np.zeros(40))
    made = file.tensor((1, 40), scale=0.5) if real else file.output((1, 40))
    file.operator("FULLY_CONNECTED", [inner, weights, bias], [made], "FullyConnectedOptions")
    if real:
        file.operator("DEQUANTIZE", [made], [file.output((1, 40), None, type="FLOAT32")])
    return file.save(folder, f"{real}.tflite")


@pytest.mark.parametrize("core", CORES)
def test_the_arena_of_a_sum_is_the_recorded_one(tmp_path, core):
    facts = facts_of(qemu_nn.load(add_file(tmp_path)), core)
    assert facts["tflm_head_bytes"] == 3 * 128 * 128
    assert facts["tflm_arena_bytes"] == 49604


def test_helium_keeps_sums_of_weights_in_the_tail_and_exports_in_scratch_memory(tmp_path):
    network = qemu_nn.load(dense_file(tmp_path, False))
    m4, m55 = (facts_of(network, core) for core in CORES)
    assert m55["tflm_tail_bytes"] - m4["tflm_tail_bytes"] == 4 * 40
    assert m55["tflm_head_bytes"] == m4["tflm_head_bytes"] == 64 + 40 + 8
    assert m55["activation_bytes"] == m4["activation_bytes"] + 4 * 40


def test_float_ends_are_in_the_head(tmp_path):
    heads = [
        facts_of(qemu_nn.load(dense_file(tmp_path, real)), "m4")["tflm_head_bytes"]
        for real in (False, True)
    ]
    assert heads == [64 + 40 + 8, 4 * 64 + 64]


def test_info_check_and_fit_have_the_arena(tmp_path):
    path = dense_file(tmp_path, False)
    facts = facts_of(qemu_nn.load(path), "m55")
    told = CliRunner().invoke(main, ["info", str(path), "--target", "m55"]).output
    arena, head, tail = (facts[f"tflm_{name}_bytes"] for name in ("arena", "head", "tail"))
    assert f"{path.stat().st_size:,} bytes of the file" in told
    assert f"kTensorArenaSize {arena:,} (head {head:,} + tail {tail:,})" in told
    (checked,) = qemu_nn.check(path, target="m55").models
    assert checked.arena_bytes == arena
    fit = qemu_nn.load(path).fit("apollo510", stack=100)
    rows = {row["memory"]: row["needed"] for row in fit.table().records()}
    assert rows["flash, TFLM"] == path.stat().st_size
    assert rows["RAM, TFLM"] == arena + 100
    assert rows["block, TFLM"] == arena
    assert (fit.fits, fit.fits_tflm) == (True, True)
    small = qemu_nn.load(path).fit(f"flash=64K,ram={(arena + 2048) // 1024}K,core=m55")
    assert (small.fits, small.fits_tflm) == (False, False)
    middle = qemu_nn.load(path).fit("flash=3K,ram=64K,core=m55")
    assert (middle.fits, middle.fits_tflm) == (True, False)
    assert json.loads(middle.json())["fits_tflm"] is False
    assert "as exported C; in TensorFlow Lite Micro it does not fit" in middle.text()


def test_networks_of_other_files_have_no_interpreter(tmp_path):
    network = qemu_nn.load(dense_file(tmp_path, False))
    network.save(tmp_path / "net.qnz")
    again = qemu_nn.load(tmp_path / "net.qnz")
    assert again.tflm_figures is None
    assert "tflm_arena_bytes" not in facts_of(again, "m4")
    assert again.fit("stm32f411").fits_tflm is None


def test_damage_in_a_graph_that_nothing_calls_leaves_the_figures_out(tmp_path):
    file = File()
    file.operator("RELU", [file.input((1, 8))], [file.output((1, 8))])
    file.graph().operator("FULLY_CONNECTED", [], [])
    assert qemu_nn.load(file.save(tmp_path)).tflm_figures is None
