"""run --real: real scores, and the best classes of each sample by name."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import qemu_nn
from qemu_nn import Error
from qemu_nn.analysis.scores import list_best_classes
from qemu_nn.api.network import FloatNetwork
from qemu_nn.cli.main import main
from qemu_nn.io.labels import read_classes
from qemu_nn.ir.float_graph import FloatGraph, FloatNode
from qemu_nn.operators import Dense

DEMO = Path(qemu_nn.__file__).parent / "demo"
MODEL, IMAGES = DEMO / "digits.qnz", DEMO / "digits.npz"


def run(*options):
    result = CliRunner().invoke(main, ["run", str(MODEL), "-d", str(IMAGES), *map(str, options)])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.output


@pytest.fixture(scope="module")
def scores():
    with np.load(IMAGES) as arrays:
        return qemu_nn.load(MODEL).predict(arrays["x"])


def test_the_best_classes_are_listed_by_name_and_scores_are_written(tmp_path, scores):
    names = [f"digit {number}" for number in range(10)]
    (tmp_path / "labels.txt").write_text("\n".join(names) + "\n")
    out = tmp_path / "out.npz"
    code, text = run("--real", "--top", 3, "--classes", tmp_path / "labels.txt", "-o", out)
    assert code == 0, text
    best = np.argsort(-scores, axis=1, kind="stable")[:, :3]
    rows = [line.split("  ") for line in text.splitlines() if "digit" in line]
    assert len(rows) == 60  # of 20 samples
    listed = [next(part for part in row if "digit" in part) for row in rows]
    assert listed == [names[index] for index in best[:20].ravel()]
    assert f"and {len(scores) - 20} samples more; --output writes all scores" in text
    with np.load(out) as arrays:
        np.testing.assert_array_equal(arrays["softmax"], scores)


def test_without_names_classes_are_the_networks_or_numbers():
    code, text = run("--real")
    assert code == 0
    assert len([line for line in text.splitlines() if line.split()[:1] == ["0"]]) >= 1
    assert "softmax" in text


def test_a_folder_of_classes_names_them(tmp_path):
    for number in range(10):
        (tmp_path / f"class{9 - number}").mkdir()
    (tmp_path / "notes.txt").write_text("")
    assert read_classes(tmp_path) == tuple(f"class{number}" for number in range(10))
    code, text = run("--classes", tmp_path)
    assert (code, "class7" in text) == (0, True)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"one\ntwo\n", "there are 2 class names for 10 scores in 'softmax'"),
        (b"\xff\xfe\xff", "is not a text of names in UTF-8"),
        (b"", "must have one name a line"),
    ],
)
def test_names_that_do_not_fit_are_refused(tmp_path, content, told):
    (tmp_path / "labels.txt").write_bytes(content)
    code, text = run("--classes", tmp_path / "labels.txt")
    assert (code, told in text) == (2, True), text


def test_layers_have_no_real_scores():
    code, text = run("--real", "--trace")
    assert (code, "--trace and --real are given" in text) == (2, True)


def test_tables_of_scores_of_any_shape():
    flat = np.array([[0.25, 0.5, 0.5], [3, 2, 1]])
    rows = list_best_classes({"other": flat[:, :1], "y": flat}, ("a", "b", "c\x1b"), top=2).rows
    assert rows == ((0, 1, "b", 0.5), (None, 2, "c\\x1b", 0.5), (1, 1, "a", 3), (None, 2, "b", 2))
    image = list_best_classes({"y": flat.reshape(2, 3, 1, 1)}, top=1)
    assert [row[2] for row in image.rows] == ["1", "0"]
    steps = list_best_classes({"y": flat[np.newaxis]}, top=1)  # the last of two time steps
    assert [row[2] for row in steps.rows] == ["0"]
    with pytest.raises(Error, match="must have a score for each class"):
        list_best_classes({"y": flat[:, 0]})
    with pytest.raises(Error, match="must have a score for each class"):
        list_best_classes({"y": np.ones((2, 4, 5, 3))})
    assert list_best_classes({"y": flat[:0]}).rows == ()


def test_the_line_on_inputs_comes_on_stderr(tmp_path):
    real = np.random.default_rng(0).random((9, 8, 8, 1)) / 40
    for factor, told in ((1, "warning: 'image': inputs lie in "), (39, "of 256 codes, ")):
        np.save(tmp_path / "x.npy", real * factor)
        result = CliRunner().invoke(main, ["run", str(MODEL), "-v", "-d", str(tmp_path / "x.npy")])
        assert told in result.output
        assert ("were they scaled as in training?" in result.output) == (factor == 1)


def test_accuracy_is_that_of_the_last_output_in_whatever_order_layers_run(tmp_path):
    a, b = (Dense(np.random.default_rng(n).normal(size=(3, 4))) for n in (1, 2))
    nodes = (FloatNode("a", a, ("x",)), FloatNode("b", b, ("x",)))
    graph = FloatGraph("net", "x", (4,), None, nodes, ("b", "a"))
    x = np.random.default_rng(3).normal(size=(40, 4))
    network = qemu_nn.quantize(FloatNetwork(graph), x, scheme="affine")
    network.save(tmp_path / "net.qnz")
    np.savez(tmp_path / "data.npz", x=x, y=network.predict(x)["a"].argmax(1))
    data = str(tmp_path / "data.npz")
    for more in ([], ["--trace"], ["--real"]):
        options = ["run", str(tmp_path / "net.qnz"), "-d", data, "--labels", data, *more]
        assert "accuracy: 100.00 % (40 of 40)" in CliRunner().invoke(main, options).output
