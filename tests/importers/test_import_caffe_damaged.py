"""Damaged and hostile files of Caffe: a sentence, and nothing is allocated for a claim."""

import io

import numpy as np
import pytest
from caffe_files import data, h5py, layer, load, new, saved, saved_h5
from hypothesis import given, settings
from hypothesis import strategies as st
from soon import soon

from qemu_nn.errors import Error, ModelError


def test_weights_must_be_finite(tmp_path):
    with pytest.raises(ModelError, match=r"net.caffemodel: not all weights of layer 'y'"):
        load(tmp_path, data(1) + layer("y", "Scale"), {"y": [[np.nan]]})


@pytest.mark.parametrize("shape", [(50_000, 50_000), (-1, -2), (2,) + (1,) * 99])
def test_an_array_is_as_large_as_its_values(tmp_path, shape):
    blob, each, net = new("BlobProto"), new("SavedLayer"), new("SavedNet")
    blob.data.extend([1, 2])
    blob.shape.dim.extend(shape)
    each.blobs.append(blob.SerializeToString())
    net.layer.append(each.SerializeToString())
    with pytest.raises(ModelError, match=r"has the shape .* and 2 values"):
        load(tmp_path, data(1) + layer("y", "Scale"), net.SerializeToString())


@pytest.mark.parametrize(
    "claim",
    [{"shape": (50_000, 50_000)}, {"shape": (1,), "maxshape": (None,), "chunks": (2**29,)}],
)
def test_an_hdf5_array_of_gigabytes_is_refused_before_it_is_made(tmp_path, claim):
    stream = io.BytesIO()
    with h5py.File(stream, "w") as file:
        file.create_dataset("data/y/0", dtype=np.float32, **claim)
    with pytest.raises(
        ModelError,
        match=r"data/y/0 is declared with the shape \[.*\], but its data does not fill it",
    ):
        load(tmp_path, data(1) + layer("y", "Scale"), stream.getvalue())


def test_hdf5_reads_nothing_but_this_file(tmp_path):
    (tmp_path / "secret").write_bytes(bytes(8))
    for make in (
        lambda file: file.create_dataset("data/y/0", 2, "f4", external=str(tmp_path / "secret")),
        lambda file: file.update({"data": h5py.ExternalLink(str(tmp_path / "secret"), "/")}),
        lambda file: file.create_virtual_dataset("data/y/0", h5py.VirtualLayout((2,), "f4")),
        lambda file: file.update({"data/y/0": ["text"]}),
    ):
        stream = io.BytesIO()
        with h5py.File(stream, "w") as file:
            make(file)
        with pytest.raises(
            ModelError, match=r"data/y/0 is not a plain array of floats|no group 'data'"
        ):
            load(tmp_path, data(2) + layer("y", "Scale"), stream.getvalue())


SMALL = data(2) + layer("y", "Scale", "scale_param { bias_term: true }")
LEARNED = {"y": [[2, 3], [5, 7]]}


def outcome(folder, text, weights):
    """Return a network or an error sentence of loading two files, within a time limit."""
    with soon(300):
        try:
            return load(folder, text, weights).evaluate(np.ones((1, 2)))["y"].tolist()
        except (Error, KeyError) as error:  # a damaged name or shape is another network, or none
            return str(error)


@pytest.mark.usefixtures("hdf5_here")
@pytest.mark.parametrize("write", [saved, saved_h5])
def test_no_beginning_of_a_file_gives_another_network(tmp_path, write):
    whole = write(LEARNED)
    step = 1 if write is saved else 29
    for n in range(0, len(whole), step):
        assert "net.caffemodel" in outcome(tmp_path, SMALL, whole[:n])
    assert outcome(tmp_path, SMALL, whole) == [[7, 10]]
    for n in range(len(SMALL) - 1):
        assert "net.prototxt" in outcome(tmp_path, SMALL[:n], whole)


flips = st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(1, 255)), min_size=1)


@pytest.mark.parametrize("kind", ["text", "binary", "hdf5"])
def test_flipped_bits_give_a_network_or_a_sentence(tmp_path, kind):
    @settings(max_examples=10 if kind == "hdf5" else 150, deadline=None)  # a process for each
    @given(flips)
    def flipped(changes):
        files = {"text": SMALL.encode(), "binary": saved(LEARNED), "hdf5": saved_h5(LEARNED)}
        data = bytearray(files[kind])
        for place, mask in changes:
            data[int(place * len(data))] ^= mask
        if kind == "text":
            outcome(tmp_path, data.decode("latin-1"), files["binary"])
        else:
            outcome(tmp_path, SMALL, bytes(data))

    flipped()
