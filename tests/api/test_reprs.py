"""What the nouns print: a few lines that say what they are, never their weights."""

import affine_networks
import numpy as np
import pytest
from networks import classifier, node, recurrent
from test_pickle import float_network

import qemu_nn
from qemu_nn import Preprocessing
from qemu_nn.api.golden import Network, describe, example, golden
from qemu_nn.ir.graph import Graph, Tensor

HOSTILE = "<script>alert(1)</script>\x1b[2J\n" + 10_000 * "long"


def many(count):
    """As many rectifiers one after the other."""
    names = ["x", *(f"{HOSTILE}{i}" for i in range(count))]
    nodes = tuple(
        node(n, "arm_relu_q7", [source], 7, size=4) for source, n in zip(names, names[1:])
    )
    return Graph(HOSTILE, (Tensor("x", (4,), "int8", 7),), nodes, (names[-1],), {})


STEPS = Preprocessing(256, 224, scale=1 / 255, mean=[0.485, 0.456] * 9, std=0.25)

NETWORKS = {
    "prepared": Network(recurrent(), float_network().graph, ("coarser",), STEPS),
    "q7": Network(classifier(), float_network().graph, ("conv1: coarser",) * 50),
    "memory": Network(classifier(memory=True)),
    "recurrent": Network(recurrent()),
    "affine": Network(affine_networks.small()),
    "float": float_network(),
    "many": Network(many(300)),
}


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
    made = qemu_nn.quantize(float_network(), real)
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
    report = qemu_nn.analyze(qemu_nn.quantize(float_network(), real), real)
    assert report._repr_html_().count("<tr>") == 1 + len(report.layers)
    summary = describe(example()[0])
    assert summary._repr_html_().count("<tr>") == 1 + len(summary.layers.rows)


def test_goldens_and_comparisons_print_no_lists_of_files(tmp_path):
    demo, x, _ = example()
    goldens = golden(demo, x[:9], tmp_path / "goldens")
    assert len(repr(goldens)) < 300
    comparison = qemu_nn.api.golden.compare(tmp_path / "goldens", tmp_path / "goldens")
    assert repr(comparison) == "<Comparison: all 162 dumps are equal to their goldens>"
