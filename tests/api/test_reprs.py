"""Printed networks and results: a few lines of description, never their weights."""

import numpy as np
import pytest
from float_classifiers import float_network
from shown_networks import NETWORKS, many

import qemu_nn
from qemu_nn.api.golden import Network, describe, example, golden


def nouns():
    """Everything that the package's functions return."""
    demo, x, _ = example()
    yield from NETWORKS.values()
    yield from (network.graph for network in NETWORKS.values())
    yield from demo.graph.nodes
    yield from float_network().graph.nodes
    session = demo.session()
    yield from (session, session.plan, session.profile, describe(demo), describe(demo).layers)
    real = demo.graph.input.format.dequantize(x[:8])
    made = qemu_nn.quantize(float_network(), real, scheme="power2")
    report = qemu_nn.analyze(made, real)
    yield from (made, report, report.table())


@pytest.mark.parametrize("kind", NETWORKS)
def test_a_network_fits_ten_lines_and_says_what_it_is(kind):
    text = repr(NETWORKS[kind])
    lines = text.splitlines()
    assert len(lines) <= 10
    assert max(map(len, lines)) <= 130
    assert "input" in text
    assert "outputs" in text
    assert "\x1b" not in text


def test_the_lines_of_a_network():
    assert repr(NETWORKS["memory"]).splitlines() == [
        "Network 'classifier'",
        "calls            5: 1 arm_convolve_HWC_q7_basic, 1 arm_relu_q7, 1 arm_maxpool_q7_HWC, "
        "2 more",
        "input            data: int8 8x8x2 Q0.7",
        "outputs          softmax: int8 10 Q0.7",
        "macs             5,248",
        "weight bytes     726",
        "float reference  no",
    ]
    assert repr(float_network()).splitlines() == [
        "FloatNetwork 'small'",
        "operators   4: 1 Conv, 1 Relu, 1 Reshape, 1 more",
        "input       x: 8x8x1 NHWC",
        "outputs     y: 3",
        "parameters  236",
    ]


def test_nothing_prints_its_weights():
    for noun in nouns():
        assert len(repr(noun)) < 1500, type(noun)
        assert "array(" not in repr(noun), type(noun)


@pytest.mark.parametrize("kind", NETWORKS)
def test_a_network_in_a_notebook_is_a_table_of_its_layers(kind):
    page, network = NETWORKS[kind]._repr_html_(), NETWORKS[kind]
    rows = len(network.graph.nodes) + (kind == "float")  # the input has a row there
    assert page.count("<tr>") == 1 + min(rows, 200)
    assert ("more</p>" in page) == (rows > 200)


def test_a_page_escapes_what_a_stranger_wrote():
    for page in (NETWORKS["many"]._repr_html_(), describe(Network(many(3)))._repr_html_()):
        assert "<script" not in page
        assert "&lt;script&gt;" in page
        assert "\x1b" not in page


def test_reports_and_summaries_are_tables_in_a_notebook():
    real = np.random.default_rng(1).normal(size=(4, 8, 8, 1))
    report = qemu_nn.analyze(qemu_nn.quantize(float_network(), real, scheme="power2"), real)
    assert report._repr_html_().count("<tr>") == 1 + len(report.layers)
    summary = describe(example()[0])
    assert summary._repr_html_().count("<tr>") == 1 + len(summary.layers.rows)


def test_goldens_and_comparisons_print_no_lists_of_files(tmp_path):
    demo, x, _ = example()
    goldens = golden(demo, x[:9], tmp_path / "goldens")
    assert len(repr(goldens)) < 300
    comparison = qemu_nn.api.golden.compare(tmp_path / "goldens", tmp_path / "goldens")
    assert repr(comparison) == "<Comparison: all 162 dumps are equal to their goldens>"
