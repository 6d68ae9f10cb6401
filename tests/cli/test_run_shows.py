"""run prints what it computed: the best classes or the first values, and all values as CSV."""

import csv
import io
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import qemu_nn
from qemu_nn.analysis.outputs import output_values, outputs_csv, show_outputs
from qemu_nn.cli.main import main

DEMO = Path(qemu_nn.__file__).parent / "demo"
MODEL = DEMO / "digits.qnz"


@pytest.fixture(scope="module")
def images():
    with np.load(DEMO / "digits.npz") as arrays:
        return arrays["x"]


def run(tmp_path, x, *options):
    np.save(tmp_path / "x.npy", x)
    result = CliRunner().invoke(main, ["run", str(MODEL), "-d", str(tmp_path / "x.npy"), *options])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_without_output_the_best_classes_of_each_sample_are_printed(tmp_path, images):
    scores = qemu_nn.load(MODEL).predict(images[:3])
    rows = [line.split() for line in run(tmp_path, images[:3]).splitlines()]
    best = [row for row in rows if row[1:2] == ["1"]]
    assert [(int(row[2]), float(row[3])) for row in best] == [
        (int(one.argmax()), pytest.approx(one.max(), rel=1e-5)) for one in scores
    ]


def test_with_an_output_the_file_has_them(tmp_path, images):
    text = run(tmp_path, images[:3], "-o", str(tmp_path / "out.npz"))
    assert "rank" not in text
    assert "3x10" in text


@pytest.mark.parametrize("shape", [(8, 8, 1), (8, 8)], ids=str)
def test_one_sample_without_an_axis_of_samples_is_a_batch_of_one(tmp_path, images, shape):
    whole = qemu_nn.run(MODEL, images[5:6])["softmax"]
    one = images[5].reshape(shape)
    assert qemu_nn.run(MODEL, one)["softmax"].tolist() == whole.tolist()
    assert "1x10" in run(tmp_path, one)


def test_what_fits_neither_as_a_sample_nor_as_a_batch_is_refused(images):
    with pytest.raises(qemu_nn.Error, match="has the shape"):
        qemu_nn.run(MODEL, images[5].reshape(4, 16))


def test_csv_has_every_value(tmp_path, images):
    text = run(tmp_path, images[:30], "--csv")
    head, *rows = csv.reader(io.StringIO(text))
    assert head == ["sample", *(f"softmax[{i}]" for i in range(10))]
    codes = qemu_nn.run(MODEL, images[:30])["softmax"]
    assert [[int(cell) for cell in row] for row in rows] == [
        [number, *row] for number, row in enumerate(codes.tolist())
    ]


def test_outputs_that_are_no_classes_show_their_first_values():
    made = {"out": np.arange(24.0).reshape(2, 12), "more": np.array([[0.5], [1.5]])}
    table = show_outputs(made, (3,))
    assert table.rows[0] == (0, "out", "0, 1, 2, 3, 4, ... (12)")
    assert table.rows[3] == (1, "more", "1.5")
    again = show_outputs({"out": made["out"]}, (12,))  # an autoencoder
    assert again.columns == ("sample", "output", "values")


def test_all_values_are_nested_lists_or_columns():
    arrays = {"a": np.arange(4).reshape(2, 1, 2), "b": np.array([0.5, 1])}
    a, b = output_values(arrays, layouts={"a": "NHWC"})
    assert (a["name"], a["dtype"], a["shape"], a["layout"]) == ("a", "int64", [2, 1, 2], "NHWC")
    assert a["values"] == [[[0, 1]], [[2, 3]]]
    assert (b["shape"], b["layout"], b["values"]) == ([2], None, [0.5, 1.0])
    assert outputs_csv(arrays).splitlines() == [
        '"sample","a[0,0]","a[0,1]","b"',
        "0,0,1,0.5",
        "1,2,3,1.0",
    ]


def test_names_of_outputs_are_no_formulas():
    text = outputs_csv({"=SUM(A1)": np.zeros((1, 1)), "plain": np.zeros((1, 1))})
    assert text.splitlines()[0] == '"sample","\'=SUM(A1)","plain"'
