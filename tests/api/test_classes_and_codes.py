"""The meaning of a number is never guessed: names of classes, codes or floats, one-hot labels."""

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from float_classifiers import float_network

import qemu_nn
from qemu_nn import Dataset, Preprocessing
from qemu_nn.api.golden import example
from qemu_nn.cli.main import main
from qemu_nn.errors import Error
from qemu_nn.evaluation.class_numbers import number_classes, order_names
from qemu_nn.io.sources import MemorySource

WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


@pytest.fixture(scope="module")
def digits():
    """Return the example's network without names of classes, images as codes, and their classes."""
    network, x, y = example()
    return replace(network, graph=replace(network.graph, classes=())), x, y


def share(network, data):
    return qemu_nn.evaluate(network, data).figures["accuracy"]


def folder_of(path, x, y, name):
    """Write images into a folder for each class."""
    image = pytest.importorskip("PIL.Image")
    for number, (pixels, label) in enumerate(zip(x, y)):
        (path / name(label)).mkdir(parents=True, exist_ok=True)
        image.fromarray(pixels[..., 0].astype(np.uint8) * 2).save(
            path / name(label) / f"{number}.png"
        )
    return path


STEPS = Preprocessing(scale=1 / 256)


# ---- classes ----


@pytest.mark.parametrize("name", ["{}", "{:02}"])
def test_folders_named_by_integers_are_these_classes_also_without_the_first(digits, tmp_path, name):
    network, x, y = digits
    some = y > 0
    path = folder_of(tmp_path / "test", x[some], y[some], name.format)
    wanted = share(network, (x[some], y[some]))
    assert wanted > 0.9
    assert share(network, Dataset(path, preprocessing=STEPS)) == wanted


def test_names_need_an_order_where_numbers_tell_another(digits, tmp_path):
    network, x, y = digits
    path = folder_of(tmp_path / "test", x, y, lambda label: WORDS[label])
    with pytest.raises(
        Error, match=r"classes= with all names in order, eight, five, four, \.\.\. or zero, one"
    ):
        qemu_nn.evaluate(network, Dataset(path, preprocessing=STEPS))
    found = qemu_nn.evaluate(network, Dataset(path, preprocessing=STEPS, classes=WORDS))
    assert found.figures["accuracy"] == share(network, (x, y))
    assert found.notes[0].startswith("labels by name: 'zero' is 0, 'one' is 1, 'two' is 2")
    assert [row[0] for row in found.classes] == list(WORDS)
    (tmp_path / "names.txt").write_text("\n".join(WORDS))
    same = Dataset(path, preprocessing=STEPS, classes=tmp_path / "names.txt")
    assert qemu_nn.evaluate(network, same).json() == found.json()


def test_names_of_fewer_classes_than_outputs_are_refused(digits):
    network, x, y = digits
    names = np.array([f"digit {'abcdefghij'[label]}" for label in y])
    whole = qemu_nn.evaluate(network, Dataset(x, names))
    assert whole.figures["accuracy"] == share(network, (x, y))
    assert "'digit a' is 0" in whole.notes[0]
    some = y > 0
    with pytest.raises(Error, match=r"labels are 9 names .* but the network has 10 classes"):
        qemu_nn.evaluate(network, Dataset(x[some], names[some]))
    with pytest.raises(Error, match="there are 3 class names for 10 outputs"):
        qemu_nn.evaluate(network, Dataset(x, names, classes=["a", "b", "c"]))


def test_the_names_of_the_network_count(digits):
    network, x, y = digits
    named = replace(network, graph=replace(network.graph, classes=WORDS))
    some = y > 0
    found = qemu_nn.evaluate(named, Dataset(x[some], np.array(WORDS)[y[some]]))
    assert found.figures["accuracy"] == share(network, (x[some], y[some]))
    with pytest.raises(Error, match="the label 'ten' is not among the classes zero, one"):
        qemu_nn.evaluate(named, Dataset(x, np.full(len(x), "ten")))


def test_every_report_tells_the_mapping():
    names = np.array(["b", "a", "c", "e", "d"])
    net, x = float_network(), np.random.default_rng(0).normal(size=(40, 8, 8, 1))
    count = net.graph.shapes[net.graph.outputs[-1]][-1]
    labels = np.resize(names[:count], 40)
    data, told = Dataset(x, labels), "labels by name: 'a' is 0, 'b' is 1"
    quantized = qemu_nn.quantize(net, data)
    assert quantized.notes[0].startswith(told)
    report = qemu_nn.analyze(quantized, data)
    assert report.notes[0].startswith(told)
    assert told in report.text()
    assert json.loads(report.json())["notes"] == list(report.notes)
    sheet = qemu_nn.datasheet(quantized, data, target="m4")
    assert told in sheet.text()


@pytest.mark.parametrize(
    ("names", "orders"),
    [
        (("a", "b"), 1),
        (("c1", "c2"), 1),
        (("c1", "c10", "c2"), 2),
        (("n01440764", "n01443537"), 1),
        (("one", "three", "two"), 2),
        (("left", "right"), 1),
    ],
)
def test_the_alphabet_decides_where_no_number_contradicts(names, orders):
    if orders == 1:
        assert order_names(names, (), len(names)) == (names, tuple(range(len(names))))
    else:
        with pytest.raises(Error, match="may be that of the alphabet or of numbers"):
            order_names(names, (), len(names))


# ---- codes or floats ----


def outputs(network, data):
    return qemu_nn.run(network, data)["softmax"]


def test_the_same_values_in_another_type_are_refused_until_it_is_said(digits):
    network, x, _ = digits
    wide = x.astype(np.int64)
    with pytest.raises(Error, match=r"int64, all in -128..127: .*codes=True.*codes=False"):
        qemu_nn.run(network, wide)
    codes = outputs(network, x)
    np.testing.assert_array_equal(outputs(network, Dataset(wide, codes=True)), codes)
    floats = outputs(network, Dataset(wide, codes=False))
    np.testing.assert_array_equal(floats, outputs(network, wide.astype(float)))
    np.testing.assert_array_equal(outputs(network, Dataset(x, codes=False)), floats)
    assert (floats != codes).any()


def test_values_beyond_the_codes_are_floats_and_not_codes(digits):
    network, x, _ = digits
    pixels = x.astype(np.uint8) * 2
    np.testing.assert_array_equal(
        outputs(network, pixels), outputs(network, pixels.astype(np.float32))
    )
    with pytest.raises(Error, match=r"codes=True, but the data have values outside -128\.\.127"):
        qemu_nn.run(network, Dataset(pixels, codes=True))
    with pytest.raises(Error, match="codes=True needs integers, but the data are float64"):
        qemu_nn.run(network, Dataset(x / 2, codes=True))
    with pytest.raises(Error, match="codes must be True or False"):
        Dataset(x, codes="yes")


def test_codes_beside_a_preprocessing_are_refused_until_it_is_said(digits):
    network, x, _ = digits
    prepared = replace(network, preprocessing=Preprocessing(scale=1 / 128))
    with pytest.raises(
        Error, match=r"int8, the type of the input's codes and of raw samples .*codes=True"
    ):
        qemu_nn.run(prepared, x)
    codes = outputs(prepared, Dataset(x, codes=True))
    np.testing.assert_array_equal(codes, outputs(network, x))
    raw = outputs(prepared, Dataset(x, codes=False))
    np.testing.assert_array_equal(raw, outputs(network, x / 128))


@pytest.mark.parametrize("verb", ["golden", "export", "variants", "evaluate", "analyze", "stream"])
def test_every_function_asks(digits, verb, tmp_path):
    network, x, y = digits
    wide = Dataset((x.astype(np.int64), y))
    calls = {
        "golden": lambda: qemu_nn.golden(network, wide, tmp_path / "g"),
        "export": lambda: qemu_nn.export(network, tmp_path / "e", data=wide),
        "variants": lambda: qemu_nn.variants(network, wide),
        "evaluate": lambda: qemu_nn.evaluate(network, wide),
        "analyze": lambda: qemu_nn.analyze(replace(network, reference=None), wide),
        "stream": lambda: qemu_nn.run(network, iter([x.astype(np.int64)])),
    }
    words = "no float reference" if verb == "analyze" else "say codes=True for codes"
    with pytest.raises(Error, match=words):
        calls[verb]()


def test_a_float_network_has_no_codes():
    with pytest.raises(Error, match="codes=True needs a quantized network"):
        qemu_nn.quantize(float_network(), Dataset(np.zeros((2, 8, 8, 1), int), codes=True))


def test_the_command_line_has_both_spellings(digits, tmp_path, monkeypatch):
    network, x, _ = digits
    monkeypatch.chdir(tmp_path)
    network.save("net.qnz")
    np.save("x.npy", x.astype(np.int32))
    words = ["run", "net.qnz", "-d", "x.npy", "-o", "out.npz"]
    refused = CliRunner().invoke(main, words)
    assert refused.exit_code == 2
    assert "say --codes for codes, or --floats for floats" in refused.output
    assert CliRunner().invoke(main, [*words, "--codes"]).exit_code == 0
    with np.load("out.npz") as arrays:
        np.testing.assert_array_equal(arrays["softmax"], outputs(network, x))
    told = CliRunner().invoke(main, [*words, "--floats", "-v"])
    assert told.exit_code == 0
    assert "x.npy are int32, taken as floats" in told.output


# ---- labels as floats ----


def test_one_hot_rows_and_float_class_numbers_are_classes(digits):
    network, x, y = digits
    wanted = qemu_nn.evaluate(network, (x, y)).json()
    for labels in (np.eye(10)[y], np.eye(10, dtype=np.uint8)[y], y.astype(float)):
        assert qemu_nn.evaluate(network, (x, labels)).json() == wanted
    pieces = ((x[at : at + 100], np.eye(10)[y[at : at + 100]]) for at in range(0, 360, 100))
    assert qemu_nn.evaluate(network, pieces).json() == wanted


def test_rows_of_zeros_and_ones_that_are_not_one_hot_are_refused(digits):
    network, x, y = digits
    labels = np.eye(10)[y]
    labels[3, :2] = 1
    with pytest.raises(Error, match=r"row 3 has [23] ones: one-hot rows have one"):
        qemu_nn.evaluate(network, (x, labels))
    assert qemu_nn.evaluate(network, (x, labels), kind="regressor").kind == "regressor"


def test_values_stay_values():
    values = MemorySource(np.array([[0.5, 0.25], [1.0, 0.0]]))
    assert number_classes(values, 2) is values
    assert number_classes(values, None) is values
    halves = MemorySource(np.array([0.5, 1.0]))
    assert number_classes(halves, 10) is halves
