"""Exports and goldens with elements of every type, states, and what they are after reset."""

import re

import numpy as np
import pytest
import recorded_tflite as recordings
from exported import check, needs, write
from paths import SHARED
from tflite_states import STATES, kept

import qemu_nn
from qemu_nn.api import golden as pipeline
from qemu_nn.firmware.c_text import format_definition, format_lines
from qemu_nn.functions.prototypes import C_TYPES

pytestmark = pytest.mark.compiles

#: Numbers that C could read as others.
NUMBERS = {
    "float32": [0.1, -0.0, 1, 1e-45, 3.4028235e38, -1.1754944e-38, 16777217, np.inf, -np.inf],
    "int64": [-(2**63), 2**63 - 1, -1, 0, 2**31],
    "uint64": [2**64 - 1, 2**63, 0],
    "uint32": [2**32 - 1, 2**31, 0],
    "int32": [-(2**31), 2**31 - 1],
    "bool": [True, False],
    "uint8": [255, 0],
}

FILES = {
    "FLOAT32": np.nan,
    "INT32": -(2**31),
    "BOOL": True,
    "UINT8": 255,
    "INT16": -300,
}


def network(type, folder):
    return qemu_nn.load(kept(type, FILES[type]).save(folder, f"{type}.tflite"))


def sequence(graph):
    """Return two samples of three steps; among the floats are some with long spellings."""
    tensor = graph.input
    numbers = np.resize(NUMBERS.get(tensor.dtype, [1, 2, 3, 4]), (2, 3, *tensor.shape))
    if tensor.dtype == "float32":
        numbers[0, 1, 1] = np.nan
    return numbers.astype(tensor.dtype)


@pytest.mark.parametrize("dtype", NUMBERS)
def test_c_spells_numbers_that_a_compiler_reads_back(dtype):
    values = np.array(NUMBERS[dtype], dtype)
    words = ", ".join(format_lines(values)).split(", ")
    for word, value in zip(words, values, strict=True):
        word = word.replace("INFINITY", "inf").replace("- 1", "-1").strip("()").rstrip("uf")
        word = {"in": "inf", "-in": "-inf"}.get(word, word)
        read = sum(int(part) for part in word.split()) if dtype[0] in "iub" else float(word)
        back = np.float32(read) if dtype == "float32" else np.array(read).astype(dtype)
        assert back.tobytes() == value.tobytes(), word


def test_a_name_of_c_for_what_is_no_number():
    assert format_lines(np.float32([np.nan, 2, 1e10])) == ["NAN, 2.0f, 1e+10f"]
    assert format_definition("x", np.array([True]), C_TYPES) == (
        "static const uint8_t x[1] = {\n    1,\n};"
    )


@needs("pc")
@pytest.mark.parametrize("type", FILES)
def test_an_export_passes_with_elements_of_every_type(type, tmp_path):
    made = network(type, tmp_path)
    folder = write(tmp_path / "firmware", made, data=sequence(made.graph), one_header=True)
    status, passed = check(folder)
    assert (status, passed[-1], len(passed)) == (0, "PASS: 0 failures", 1 + 2 * 3 * 2)


@needs("m4")
@pytest.mark.parametrize("type", FILES)
def test_and_on_the_device(type, tmp_path):
    made = network(type, tmp_path)
    status, passed = check(write(tmp_path / "firmware", made, data=sequence(made.graph)), "m4")
    assert (status, passed[-1], len(passed)) == (0, "PASS: 0 failures", 1 + 2 * 3 * 2)


@needs("m4")
@pytest.mark.parametrize("name", STATES)
def test_variables_and_branches_on_the_device(name, tmp_path):
    made = qemu_nn.load(STATES[name]().save(tmp_path, f"{name}.tflite"))
    status, passed = check(write(tmp_path / "firmware", made), "m4")
    assert (status, passed[-1]) == (0, "PASS: 0 failures")


@needs("pc")
def test_what_differs_is_said_in_bits(tmp_path):
    made = network("FLOAT32", tmp_path)
    folder = write(tmp_path / "firmware", made, data=sequence(made.graph))
    changed = max((folder / "goldens" / "x0" / "t1").glob("*.h"))
    text = changed.read_text()
    assert "0.100000001f" in text
    changed.write_text(text.replace("0.100000001f", "0.5f", 1))
    status, passed = check(folder)
    assert status != 0
    wrong = [line for line in passed if line.startswith("FAIL layer=")]
    assert len(wrong) == 1
    assert re.search(r"index=0 got=0x3dcccccd want=0x3f000000 differing=1$", wrong[0])


@needs("pc")
def test_without_its_reset_the_first_run_fails(tmp_path):
    made = qemu_nn.load(STATES["window"]().save(tmp_path))
    folder = write(tmp_path / "firmware", made)
    text = (folder / "weights.h").read_text()
    assert "static const int8_t past_state_reset[12] = {" in text
    assert check(folder)[0] == 0
    (folder / "weights.h").write_text(text.replace("-120, ", "-119, ", 1))
    status, passed = check(folder)
    assert status != 0
    assert passed[0].startswith("FAIL layer=x0/t0/")
    assert not any(line.startswith("FAIL") and "x1" in line for line in passed)  # network_start()


def test_goldens_of_real_numbers_and_truth_values_compare(tmp_path):
    for type in ("FLOAT32", "BOOL"):
        made = network(type, tmp_path)
        x = sequence(made.graph)
        folder = tmp_path / type
        pipeline.golden(made, x, folder)
        assert pipeline.compare(folder, folder).same
        group = tmp_path / f"{type}_dump" / "x0" / "t0"
        group.mkdir(parents=True)
        values = np.load(folder / "x0" / "t0" / "input.npy")
        (group / "input.bin").write_bytes(values.tobytes())
        assert pipeline.compare(folder, group.parents[1]).same
        bits = values.view(np.uint8).copy()
        bits[..., -1] ^= 128  # of a float, -0.0 for 0.0; of a truth value, a byte that is no 1
        (group / "input.bin").write_bytes(bits.tobytes())
        comparison = pipeline.compare(folder, group.parents[1])
        (finding,) = comparison.findings
        assert finding.difference.differing == 1
        assert "DIFFERS" in str(comparison)
        np.save(group / "input.npy", values.astype(np.float64))
        unlike = [f.unlike for f in pipeline.compare(folder, group.parents[1]).findings]
        assert f"it contains float64, but the golden {made.graph.input.dtype}" in unlike


MODELS = SHARED / "models_tflite2"
PUBLISHED = (
    *("esphome_v2_alexa", "esphome_alexa", "tflm_keyword_scrambled", "coral_keras_lstm_mnist_ptq"),
    *("tflm_simple_add_model", "if"),
)


@needs("m4")
@pytest.mark.skipif(not MODELS.is_dir(), reason=f"the published networks are not in {MODELS}")
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_networks_step_as_recorded_on_the_device(name, tmp_path):
    folder = MODELS if name != "if" else SHARED / "golden" / "tflm_ops"
    made = qemu_nn.load(folder / f"{name}.tflite")
    arrays, _ = recordings.read(folder / f"{name}.tflite")
    graph, steps = made.graph, 5
    x = recordings.given(graph, arrays, "walk_" if graph.states else "")
    x = {key: v[None, :steps] if graph.states else v[:2] for key, v in x.items()}
    status, passed = check(write(tmp_path / "firmware", made, data=x), "m4")
    assert (status, passed[-1]) == (0, "PASS: 0 failures")
    groups = 2 if not graph.states else steps
    assert len(passed) == 1 + groups * len(graph.nodes)
