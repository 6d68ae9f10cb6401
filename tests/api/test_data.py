"""Data: every kind of source becomes the same batches, in the layout of the network."""

import struct

import numpy as np
import pytest
from float_classifiers import float_network

import qemu_nn
from qemu_nn.api.data import Dataset, batches, batches_by_name
from qemu_nn.errors import Error
from qemu_nn.ir.tensors import Tensor

HWC, CHW = (4, 5, 3), (3, 4, 5)
X = np.arange(7 * 60, dtype=np.float32).reshape(7, *HWC)
Y = np.array([0, 1, 2, 0, 1, 2, 0])


def gathered(source, shape=HWC, own="NHWC", size=64, **how):
    """Return all batches of a source as one x and one y."""
    found = list(batches(Dataset(source, **how), shape, own, size))
    labels = [batch.y for batch in found if batch.y is not None]
    x = np.concatenate([batch.x for batch in found])
    return x, np.concatenate(labels) if labels else None


def saved(tmp_path, name, **arrays):
    path = tmp_path / name
    if path.suffix == ".npy":
        np.save(path, arrays["x"])
    else:
        np.savez(path, **arrays)
    return path


class CalibrationReader:
    """A reader as ONNX Runtime's quantization takes it: dictionaries, and None at the end."""

    def __init__(self, batches):
        self.batches = batches
        self.rest = iter(batches)

    def get_next(self):
        return next(self.rest, None)


class RewindingReader(CalibrationReader):
    def rewind(self):
        self.rest = iter(self.batches)


def sources(tmp_path):
    return {
        "array": X,
        "pair": (X, Y),
        "npy": saved(tmp_path, "x.npy", x=X),
        "npz": saved(tmp_path, "xy.npz", x=X, y=Y),
        "one array of any name": saved(tmp_path, "one.npz", images=X),
        "list of batches": [X[:3], X[3:]],
        "generator of pairs": ((X[i : i + 2], Y[i : i + 2]) for i in range(0, 7, 2)),
        "list of dictionaries": [{"image": X[:3]}, {"image": X[3:]}],
        "labelled dictionaries": [{"x": X[:3], "y": Y[:3]}, {"x": X[3:], "y": Y[3:]}],
        "calibration reader": CalibrationReader([{"image": X[:3]}, {"image": X[3:]}]),
    }


def test_every_source_gives_the_same_samples_and_its_labels(tmp_path):
    for name, source in sources(tmp_path).items():
        x, y = gathered(source, size=3)
        assert x.dtype == np.float32, name
        np.testing.assert_array_equal(x, X, err_msg=name)
        if name in ("pair", "npz", "generator of pairs", "labelled dictionaries"):
            np.testing.assert_array_equal(y, Y, err_msg=name)
        else:
            assert y is None, name


def test_the_number_of_batches_is_known_unless_they_come_from_a_generator():
    assert len(batches(X, HWC, "NHWC", size=3)) == 3
    assert len(batches([X, X], HWC, "NHWC")) == 2
    with pytest.raises(TypeError):
        len(batches((x for x in [X]), HWC, "NHWC"))


def test_a_calibration_reader_is_read_again_if_it_can_be_rewound():
    items = [{"image": X[:3]}, {"image": X[3:]}]
    again = batches(RewindingReader(items), HWC, "NHWC")
    for _ in range(2):
        np.testing.assert_array_equal(np.concatenate([batch.x for batch in again]), X)
    once = batches(CalibrationReader(items), HWC, "NHWC")
    assert len(list(once)) == 2
    with pytest.raises(Error, match="used up: create it again"):
        list(once)


def test_a_calibration_reader_calibrates_as_its_arrays_do():
    network = float_network()
    x = np.random.default_rng(5).normal(size=(6, *network.graph.shape)).astype(np.float32)
    whole = qemu_nn.quantize(network, x, scheme="power2")
    for source in (
        [{"x": x[:3]}, {"x": x[3:]}],
        CalibrationReader([{"x": each[None]} for each in x]),
    ):
        found = qemu_nn.quantize(network, source, scheme="power2")
        assert found.graph.nodes == whole.graph.nodes
        assert all(np.array_equal(found.graph.arrays[k], v) for k, v in whole.graph.arrays.items())


def test_dictionaries_of_several_inputs_are_read_by_name_or_in_order():
    tensors = (Tensor("a", (2,), "int8", 7), Tensor("b", (2,), "int8", 7))
    a, b = (np.array([[v, -v]], np.float32) for v in (0.25, 0.5))
    for item in ({"a": a, "b": b}, {"x0": a, "x1": b}, {"a": a, "b": b, "y": np.array([1])}):
        (batch,) = batches_by_name([item], tensors)
        np.testing.assert_array_equal(batch.x["a"], a)
        np.testing.assert_array_equal(batch.x["b"], b)
        assert (batch.y is None) == ("y" not in item)
    with pytest.raises(Error, match="has c, b; name the inputs 'a', 'b', or x0, x1"):
        list(batches_by_name([{"c": a, "b": b}], tensors))
    with pytest.raises(Error, match="a batch of the data has c, b; name the inputs 'x'"):
        list(batches([{"c": X, "b": X}], HWC, "NHWC"))


def test_a_generator_is_read_no_further_than_it_is_used():
    asked = []

    def endless():
        while True:
            asked.append(1)
            yield X

    stream = iter(batches(endless(), HWC, "NHWC"))
    next(stream)
    assert len(asked) == 1


@pytest.mark.parametrize(("shape", "layout"), [(HWC, "NHWC"), (CHW, "NCHW")])
@pytest.mark.parametrize("given", [None, "other", "own"])
def test_channels_move_to_where_the_network_has_them(shape, layout, given):
    own = X if layout == "NHWC" else np.moveaxis(X, -1, 1)
    other = np.moveaxis(X, -1, 1) if layout == "NHWC" else X
    name = {"NHWC": "NCHW", "NCHW": "NHWC"}[layout]
    named = {None: None, "own": layout, "other": name}[given]
    if given != "own":
        np.testing.assert_array_equal(gathered(other, shape, layout, layout=named)[0], own)
    if given != "other":
        np.testing.assert_array_equal(gathered(own, shape, layout, layout=named)[0], own)


@pytest.mark.parametrize("shape", [(4, 5, 1), (1, 4, 5)])
@pytest.mark.parametrize("given", [(4, 5), (4, 5, 1), (1, 4, 5)])
def test_a_channel_axis_of_one_may_be_missing_or_elsewhere(shape, given):
    x = np.arange(40.0).reshape(2, 4, 5)
    layout = "NHWC" if shape[-1] == 1 else "NCHW"
    np.testing.assert_array_equal(
        gathered(x.reshape(2, *given), shape, layout)[0], x.reshape(2, *shape)
    )


def test_images_that_fit_both_ways_are_refused_until_the_layout_is_given():
    x = np.zeros((2, 3, 3, 3))
    with pytest.raises(Error, match=r"fits the network as NHWC and as NCHW: give layout="):
        gathered(x, (3, 3, 3))
    assert gathered(x, (3, 3, 3), layout="NCHW")[0].shape == (2, 3, 3, 3)


def test_integers_become_float32_and_float64_stays():
    assert gathered(X.astype(np.uint8))[0].dtype == np.float32
    assert gathered(X.astype(np.float64))[0].dtype == np.float64


def test_networks_of_vectors_take_vectors():
    assert gathered(np.zeros((3, 8)), (8,), None)[0].shape == (3, 8)
    with pytest.raises(Error, match=r"takes samples \[8\], one or a batch"):
        gathered(np.zeros((3, 9)), (8,), None)


def broken_npy(tmp_path):
    path = tmp_path / "broken.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00")
    return path


def objects_npy(tmp_path):
    path = tmp_path / "objects.npy"
    np.save(path, np.array([{}], object), allow_pickle=True)
    return path


def two_arrays(tmp_path):
    return saved(tmp_path, "two.npz", a=X, b=X)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (
            np.zeros((2, 4, 5, 4)),
            r"takes samples \[4, 5, 3\] \(NHWC\) or \[3, 4, 5\] \(NCHW\), one",
        ),
        (np.zeros((0, 4, 5, 3)), "empty"),
        (np.float32(3), "data is of type float32"),
        (np.full((2, 4, 5, 3), "a"), "numbers, not of type ndarray, whose type is <U1"),
        (np.where(X == 100, np.nan, X), "sample 1 of the data contains NaN"),
        (np.where(X == 100, -np.inf, X), "sample 1 of the data contains infinite numbers"),
        (objects_npy, "objects.npy is not .* of plain numbers: it holds Python objects"),
        ((X, Y[:3]), r"int64 \[3\], but must be one integer for each of the 7 samples"),
        ((X, Y / 2), r"float64 \[7\], but must be one integer for each of the 7 samples"),
        (5, "data is of type int"),
        ([5], "single numbers"),
        (broken_npy, "broken.npy is not a .npy or .npz file of plain numbers: it is broken"),
        (two_arrays, "two.npz has a, b; name the inputs 'x'"),
    ],
)
def test_data_that_can_not_be_used_are_refused_with_the_reason(tmp_path, source, reason):
    with pytest.raises(Error, match=reason):
        gathered(source(tmp_path) if callable(source) else source)


def test_the_sample_with_nan_is_counted_through_all_batches():
    x = X.copy()
    x[5, 0, 0, 0] = np.nan
    for source in (x, [x[:3], x[3:]]):
        with pytest.raises(Error, match="sample 5 "):
            gathered(source, size=2)


@pytest.mark.parametrize(("shape", "layout"), [(HWC, "NHWC"), (CHW, "NCHW"), ((4, 5, 1), "NHWC")])
@pytest.mark.parametrize("classes", [(), ("cat", "dog")])
def test_a_folder_of_images_is_data_and_its_folders_are_the_labels(
    tmp_path, shape, layout, classes
):
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    pixels = X.astype(np.uint8)
    for i, each in enumerate(pixels[:4]):
        folder = tmp_path / classes[i % 2] if classes else tmp_path
        folder.mkdir(exist_ok=True)
        image.fromarray(each).save(folder / f"{i}.png")
    x, y = gathered(tmp_path, shape, layout, size=3)
    order = [0, 2, 1, 3] if classes else [0, 1, 2, 3]
    assert (None if y is None else y.tolist()) == ([0, 0, 1, 1] if classes else None)
    if 1 not in shape:
        expected = pixels[order] if layout == "NHWC" else np.moveaxis(pixels[order], -1, 1)
        np.testing.assert_array_equal(x, expected)
    assert x.shape == (4, *shape)


def test_images_of_another_size_and_files_that_are_no_images_are_refused(tmp_path):
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    with pytest.raises(Error, match="no images"):
        gathered(tmp_path)
    image.fromarray(np.zeros((9, 9), np.uint8)).save(tmp_path / "a.png")
    with pytest.raises(Error, match=r"a\.png is 9 x 9 pixels, but the network takes 5 x 4"):
        gathered(tmp_path)
    (tmp_path / "a.png").write_bytes(b"not an image")
    with pytest.raises(Error, match=r"cannot read the image .*a\.png"):
        gathered(tmp_path)
    with pytest.raises(Error, match=r"are images, but the network reads \[8\]"):
        gathered(tmp_path, (8,), None)


def test_an_enormous_image_is_refused_by_its_name(tmp_path):
    pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    screen, frame = struct.pack("<2H3x", 4, 5), struct.pack("<4Hx", 0, 0, 65535, 65535)
    (tmp_path / "bomb.gif").write_bytes(b"GIF89a" + screen + b"," + frame + b"\2\1\0\0;")
    with pytest.raises(Error, match=r"cannot read the image .*bomb\.gif: .*exceeds"):
        list(batches(tmp_path, (5, 4, 1), "NHWC"))


def test_whatever_an_image_makes_its_reader_raise_is_a_sentence(tmp_path, monkeypatch):
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    image.fromarray(np.zeros((5, 4), np.uint8)).save(tmp_path / "a.png")

    def stumbles(self, mode):
        raise KeyError

    monkeypatch.setattr(image.Image, "convert", stumbles)
    with pytest.raises(Error, match=r"cannot read the image .*a\.png: KeyError"):
        list(batches(tmp_path, (5, 4, 1), "NHWC"))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"limit": 0}, "limit must be at least 1"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"shuffle": "yes"}, "shuffle must be True or False"),
        ({"index": "1,,2"}, "numbers of samples and ranges"),
        ({"preprocessing": "x"}, "preprocessing must be a Preprocessing, not 'x'"),
    ],
)
def test_a_data_set_refuses_options_that_mean_nothing(options, reason):
    with pytest.raises(Error, match=reason):
        Dataset(X, **options)


def test_a_data_set_is_its_source_and_what_it_says_of_it():
    data = Dataset(X, Y, limit=2)
    assert Dataset.of(data) is data
    assert Dataset.of(X).source is X
    assert (data.draw_count(4), Dataset(None, limit=2).draw_count(4)) == (0, 2)
    assert Dataset(None).draw_count(4) == 4
    with pytest.raises(Error, match="labels= is given without data"):
        Dataset(None, Y[:1]).draw_count(4)
    with pytest.raises(TypeError):
        Dataset(X, Y, "NHWC")
