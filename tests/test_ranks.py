"""Functions that give a layer's bits are ranked by their cycles, and no others."""

import json
from pathlib import Path

import networks
import pytest
from click.testing import CliRunner

import qemu_nn
from qemu_nn.api.golden import example
from qemu_nn.api.network import Network
from qemu_nn.api.ranks import ranked
from qemu_nn.cli.main import main
from qemu_nn.errors import Error

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
        assert [row["function"] for row in rows if row["used"] == "yes"] == [functions[layer]]
    names = {row["function"] for row in found["conv2"]}
    assert {"arm_convolve_HWC_q7_basic", "arm_convolve_HWC_q7_fast"} <= names
    figures = {row["layer"]: row for row in qemu_nn.estimate(network).layers.records()}
    used = next(row for row in found["conv2"] if row["used"] == "yes")
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
        main, ["variants", str(FOLDER / "digits.qnz"), "--cycles", "-i", "x"]
    )
    assert (refused.exit_code, "leave --input" in refused.output) == (2, True)


def test_where_there_is_no_choice_or_no_count_it_says_so():
    with pytest.raises(Error, match="not of 'reference'"):
        ranked(example()[0], kernels="reference")
    with pytest.raises(Error, match="m0"):
        ranked(Network(networks.classifier()), "m0")
