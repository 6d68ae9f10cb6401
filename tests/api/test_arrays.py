"""The user's array files: round trips, and nothing but an Error from files that are damaged."""

import io
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qemu_nn.errors import Error
from qemu_nn.io.arrays import read_array, read_npz, write_npz

X = np.arange(-6, 6, dtype=np.int16).reshape(3, 4)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("arrays") / "some.npz"


def file_bytes(save, *arguments, **named):
    stream = io.BytesIO()
    save(stream, *arguments, **named)
    return stream.getvalue()


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("name", ["x", "file", "clobber.pool1", "../x", "a b", "ä"])
def test_arrays_come_back_under_any_name(path, name, compressed):
    write_npz(path, {name: X, "other": X[:0]}, compressed)
    got = read_npz(path)
    assert list(got) == [name, "other"]
    assert got[name].dtype == X.dtype
    np.testing.assert_array_equal(got[name], X)
    np.testing.assert_array_equal(read_array(path, name), X)
    assert got["other"].shape == (0, 4)


def test_the_same_arrays_give_the_same_bytes(path):
    write_npz(path, {"x": X}, compressed=True)
    first = path.read_bytes()
    write_npz(path, {"x": X.copy()}, compressed=True)
    assert path.read_bytes() == first


def test_a_failed_write_leaves_the_earlier_file_alone(path):
    write_npz(path, {"x": X})
    with pytest.raises(Error, match="cannot write"):
        write_npz(path, {"x": X, "y": np.array([{}], object)})
    np.testing.assert_array_equal(read_array(path, "x"), X)
    assert list(path.parent.iterdir()) == [path]


FILES = (
    file_bytes(np.save, X),
    file_bytes(np.savez, x=X),
    file_bytes(np.savez_compressed, x=np.arange(300)),
)


@given(st.sampled_from(FILES), st.data())
def test_a_damaged_file_is_an_error_or_still_an_array(path, content, data):
    damaged = bytearray(content)
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(damaged[: data.draw(st.integers(1, len(damaged)))])
    with suppress(Error):
        assert isinstance(read_array(path, "x"), np.ndarray)
