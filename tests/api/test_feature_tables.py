"""Features as people have them: CSV files and data frames, with a column of labels."""

from pathlib import Path

import numpy as np
import pytest

import qemu_nn
from qemu_nn import Error
from qemu_nn.api.network import FloatNetwork
from qemu_nn.io.feature_tables import is_feature_table
from qemu_nn.ir.float_graph import FloatGraph, FloatNode
from qemu_nn.operators import Dense, Softmax

RNG = np.random.default_rng(5)
X = RNG.normal(size=(40, 4)).round(3)
NAMES = ["run", "idle", "walk"]


@pytest.fixture(scope="module")
def network():
    dense = Dense(RNG.normal(size=(3, 4)))
    nodes = (FloatNode("dense", dense, ("x",)), FloatNode("out", Softmax(0), ("dense",)))
    return FloatNetwork(FloatGraph("net", "x", (4,), None, nodes, ("out",)))


@pytest.fixture(scope="module")
def right(network):
    return network.predict(X).argmax(-1)


def csv_of(path, labels=None, head=True, sep=","):
    lines = [sep.join(["a", "b", "c", "d", *(["label"] if labels is not None else [])])]
    for number, row in enumerate(X):
        own = [str(labels[number])] if labels is not None else []
        lines.append(sep.join([*map(str, row), *own]))
    Path(path).write_text("\n".join(lines if head else lines[1:]) + "\n")
    return path


def test_a_table_of_features_is_run(network, tmp_path):
    quantized = qemu_nn.quantize(network, csv_of(tmp_path / "x.csv"), scheme="affine")
    expected = qemu_nn.run(quantized, X)
    for path in (
        csv_of(tmp_path / "head.csv"),
        csv_of(tmp_path / "plain.csv", head=False),
        csv_of(tmp_path / "tabs.tsv", sep="\t"),
    ):
        found = qemu_nn.run(quantized, path)
        assert {n: v.tolist() for n, v in found.items()} == {
            n: v.tolist() for n, v in expected.items()
        }


def test_a_column_of_labels_is_used(network, right, tmp_path):
    wrong = right.copy()
    wrong[:10] = (wrong[:10] + 1) % 3
    assert qemu_nn.evaluate(network, csv_of(tmp_path / "x.csv", right)).accuracy == 1
    assert qemu_nn.evaluate(network, csv_of(tmp_path / "x.csv", wrong)).accuracy == 0.75
    plain = csv_of(tmp_path / "x.csv")
    assert qemu_nn.evaluate(network, qemu_nn.Dataset(plain, wrong)).accuracy == 0.75


def test_labels_of_a_table_may_be_names_or_values(network, right, tmp_path):
    ordered = sorted(NAMES)
    found = qemu_nn.evaluate(network, csv_of(tmp_path / "x.csv", [ordered[y] for y in right]))
    assert found.accuracy == 1
    assert [row[0] for row in found.classes] == ordered


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_data_frame_is_such_a_table(library, network, right):
    frames = pytest.importorskip(library, reason="makes a data frame")
    columns = {name: X[:, number] for number, name in enumerate("abcd")}
    plain = frames.DataFrame(columns)
    labelled = frames.DataFrame({**columns, "target": [sorted(NAMES)[y] for y in right]})
    quantized = qemu_nn.quantize(network, plain, scheme="affine")
    assert (qemu_nn.run(quantized, plain)["out"] == qemu_nn.run(quantized, X)["out"]).all()
    assert qemu_nn.evaluate(network, labelled).accuracy == 1
    with pytest.raises(Error, match=r"column 'a' of the .* is .*; features must be numbers"):
        qemu_nn.run(quantized, frames.DataFrame({**columns, "a": ["x"] * 40}))


def test_features_get_the_shape_of_the_network(tmp_path):
    demo = Path(qemu_nn.__file__).parent / "demo"
    with np.load(demo / "digits.npz") as arrays:
        x, y = arrays["x"][:30], arrays["y"][:30]
    rows = [",".join(map(str, [label, *(image / 128).ravel()])) for label, image in zip(y, x)]
    head = ",".join(["label", *(f"p{i}" for i in range(64))])
    (tmp_path / "digits.csv").write_text("\n".join([head, *rows]))
    network = qemu_nn.load(demo / "digits.qnz")
    found = qemu_nn.evaluate(network, tmp_path / "digits.csv")
    assert found.figures == qemu_nn.evaluate(network, qemu_nn.Dataset(x, y)).figures


BAD = {
    "a,b,c,d\n1,2,3\n": "line 2 has 3 cells, but the first line has 4",
    "a,b,c,d\n1,2,3,4\n1,2,x,4\n": "line 3 has the cell 'x'; cells must be numbers",
    "a,b,c,d\n1,2,3,4\n1,2,nan,4\n": "line 3 has the cell 'nan'; cells must be numbers",
    "1,2,3,4,0\n": "call the one with the labels 'label'",
    "1,2,3\n": r"samples \[4\].*has the shape \[1, 3\]",
}


@pytest.mark.parametrize("text", BAD, ids=repr)
def test_a_table_that_does_not_fit_is_refused(text, network, tmp_path):
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(Error, match=BAD[text]):
        qemu_nn.evaluate(network, tmp_path / "x.csv")


FILES = {
    "file,label\nx.png,0\n": False,
    "x.png,0\n": False,
    "image,width\na.png,3\n": False,
    "label\n3\n": False,
    "a,label\n0.5,walk\n": True,
    "0.5\n0.25\n": True,
    "a,b\n": False,
    "": False,
}


@pytest.mark.parametrize("text", FILES, ids=repr)
def test_tables_of_files_are_told_from_tables_of_features(text, tmp_path):
    (tmp_path / "x.csv").write_text(text)
    assert is_feature_table(tmp_path / "x.csv") == FILES[text]
