"""Tables of results as CSV and Parquet files, and as data frames."""

import csv
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import qemu_nn
from qemu_nn.analysis.table import Table, shape_cell, verdict
from qemu_nn.cli.main import main

DEMO = Path(qemu_nn.__file__).parent / "demo"
TABLE = Table(
    ("layer", "shape", "fits", "db"),
    (("=a", shape_cell((8, 1)), verdict(True), 1.5), ("b", shape_cell((2,)), verdict(False), None)),
)
VALUES = [("=a", [8, 1], True, 1.5), ("b", [2], False, None)]


def test_csv_files_are_those_that_are_printed(tmp_path):
    TABLE.to_csv(tmp_path / "t.csv")
    rows = list(csv.reader((tmp_path / "t.csv").read_text("utf-8").splitlines()))
    assert rows == [
        ["layer", "shape", "fits", "db"],
        ["'=a", "8x1", "yes", "1.5"],
        ["b", "2", "no", ""],
    ]
    found = qemu_nn.estimate(DEMO / "digits.tflite")
    found.to_csv(tmp_path / "e.csv")
    assert (tmp_path / "e.csv").read_text("utf-8") == f"{found.csv()}\n"


def test_parquet_files_have_values_of_their_types(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    TABLE.to_parquet(tmp_path / "t.parquet")
    found = parquet.read_table(tmp_path / "t.parquet").to_pylist()
    assert [tuple(row.values()) for row in found] == VALUES
    with np.load(DEMO / "digits.npz") as arrays:
        np.save(tmp_path / "x.npy", arrays["x"][:20])
    command = ["analyze", str(DEMO / "digits.tflite"), "-d", str(tmp_path / "x.npy")]
    result = CliRunner().invoke(main, [*command, "--parquet", str(tmp_path / "a.parquet")])
    assert result.exit_code == 0, result.output
    layers = parquet.read_table(tmp_path / "a.parquet")["layer"].to_pylist()
    assert layers[1:] == ["relu1", "pool1", "relu2", "pool2", "fc", "softmax"]


def test_data_frames_have_the_same_values():
    pytest.importorskip("pandas")
    frame = TABLE.to_pandas()
    assert list(frame.columns) == list(TABLE.columns)
    assert frame["shape"].tolist() == [[8, 1], [2]]
    assert frame["fits"].tolist() == [True, False]
