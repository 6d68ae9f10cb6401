"""Damaged .tflite files: a sentence, soon, and never anything else."""

import numpy as np
import pytest
from click.testing import CliRunner
from soon import soon
from tflite_cases import CASES
from tflite_damage import changed
from tflite_states import STATES

import qemu_nn
from qemu_nn.cli.main import main
from qemu_nn.errors import Error, ModelError
from qemu_nn.importers.tflite.checked import TfliteTable


def outcome(data, path):
    """Return the network of a file's bytes, or the sentence that refuses them."""
    path.write_bytes(data)
    with soon(300):
        try:
            return qemu_nn.load(path)
        except ModelError as error:
            sentence = str(error)
    assert "net.tflite" in sentence
    assert "\n" not in sentence
    return sentence


@pytest.mark.parametrize("name", [*list(CASES)[::4], *STATES])
def test_damage_of_any_kind_is_refused_or_harmless(name, tmp_path):
    data = {**CASES, **STATES}[name]().bytes()
    for number in range(40):
        rng = np.random.default_rng(number)
        network = outcome(changed(data, rng), tmp_path / "net.tflite")
        if isinstance(network, str):
            continue
        inputs, lead = network.graph.inputs, (1, 2) if network.graph.states else (1,)
        if sum(tensor.nbytes for tensor in inputs) < 2**20:
            try:
                network.session().run({t.name: np.ones((*lead, *t.shape), t.dtype) for t in inputs})
            except Error:  # a stride or an offset that the device has not
                continue


def test_no_beginning_of_a_file_is_read(tmp_path):
    data = CASES["convolve_same"]().bytes()
    for size in range(0, len(data) - 8, 3):
        assert isinstance(outcome(data[:size], tmp_path / "net.tflite"), str), size


@pytest.mark.parametrize(
    ("kind", "path", "slot"),
    [
        ("Model", (), 6),
        ("SubGraph", ("Subgraphs",), 10),
        ("Operator", ("Subgraphs", "Operators"), 6),
    ],
)
def test_a_vector_is_not_longer_than_the_file(kind, path, slot, tmp_path):
    data = bytearray(CASES["convolve_same"]().bytes())
    table = TfliteTable.root("Model", bytes(data))
    for field in path:
        table = table.member(field, field[:-1].replace("Subgraph", "SubGraph"), 0)
    tab = table._reader._tab
    at = tab.Indirect(tab.Pos + tab.Offset(slot))
    data[at : at + 4] = (len(data) - at).to_bytes(4, "little")
    assert f"it is damaged: a table {kind}" in outcome(bytes(data), tmp_path / "net.tflite")


def test_the_command_line_says_one_sentence(tmp_path):
    path = tmp_path / "net.tflite"
    path.write_bytes(CASES["convolve_same"]().bytes()[:200])
    result = CliRunner().invoke(main, ["info", str(path)])
    assert result.exit_code == 2
    assert result.output.startswith("Error: ")
    assert len(result.output.splitlines()) == 1
