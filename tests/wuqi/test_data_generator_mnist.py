"""The example's generator of digits: what it gives of files in MNIST's form, what it refuses."""

import gzip
import struct

import numpy as np
import pytest

from qemu_nn.errors import Error
from qemu_nn.examples.data_generator_mnist import data_generator_mnist

RNG = np.random.default_rng(28)
IMAGES = RNG.integers(0, 256, (7, 28, 28), np.uint8)
LABELS = np.array([3, 1, 4, 1, 5, 9, 2], np.uint8)


def images(x=IMAGES):
    return struct.pack(">4i", 0x803, *x.shape) + x.tobytes()


def labels(y=LABELS):
    return struct.pack(">2i", 0x801, len(y)) + y.tobytes()


WHOLE, TOLD = images(), labels()


def write(folder, kind="train", packed=True, images=WHOLE, labels=TOLD):
    for name, data in (
        (f"{kind}-images-idx3-ubyte", images),
        (f"{kind}-labels-idx1-ubyte", labels),
    ):
        path = folder / (f"{name}.gz" if packed else name)
        path.write_bytes(gzip.compress(data) if packed else data)


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("kind", ["train", "t10k"])
def test_batches_in_turn_begin_again_behind_the_last_image(tmp_path, packed, kind):
    write(tmp_path, kind, packed)
    source = data_generator_mnist(tmp_path, 4, random_order=False, test_set=kind == "t10k")
    first, second = next(source), next(source)
    x = np.concatenate([first["input"], second["input"]])
    assert x.shape == (8, 1, 32, 32)
    expected = np.pad(IMAGES[[0, 1, 2, 3, 4, 5, 6, 0]], ((0, 0), (2, 2), (2, 2)))
    np.testing.assert_array_equal(x[:, 0] * 256, expected)
    assert second["output"].shape == (4, 10, 1, 1)
    assert second["output"].sum((1, 2, 3)).tolist() == [1] * 4
    assert second["output"].argmax(1).ravel().tolist() == [5, 9, 2, 3]


def test_batches_at_random_are_images_with_their_labels_the_same_for_the_same_seed(tmp_path):
    write(tmp_path)
    batch = next(data_generator_mnist(tmp_path, 50, seed=1))
    again = next(data_generator_mnist(tmp_path, 50, seed=1))
    np.testing.assert_array_equal(batch["input"], again["input"])
    known = {image.tobytes(): label for image, label in zip(IMAGES, LABELS)}
    inner = (batch["input"][:, 0, 2:30, 2:30] * 256).astype(np.uint8)
    assert [known[each.tobytes()] for each in inner] == batch["output"].argmax(1).ravel().tolist()


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ({"images": images()[:-1]}, "bytes, not 5504: it is truncated or altered"),
        ({"images": labels()}, "does not start as MNIST's file"),
        ({"labels": b""}, "does not start as MNIST's file"),
        ({"labels": labels(LABELS[:6])}, "7 images and 6 labels"),
        ({"labels": labels(LABELS + 1)}, "are no digits"),
        ({"images": images(IMAGES[:, :27])}, "does not start as MNIST's file"),
    ],
)
def test_files_that_are_not_mnist_are_refused_before_the_first_batch(tmp_path, how, reason):
    write(tmp_path, **how)
    with pytest.raises(Error, match=reason):
        data_generator_mnist(tmp_path, 4)


def test_folders_and_sizes_that_can_not_be_are_refused(tmp_path):
    with pytest.raises(Error, match=r"neither .*train-labels-idx1-ubyte nor .*\.gz: put MNIST"):
        data_generator_mnist(tmp_path, 4)
    write(tmp_path)
    (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(b"\x1f\x8b and nothing more")
    with pytest.raises(Error, match="cannot be unpacked"):
        data_generator_mnist(tmp_path, 4)
    with pytest.raises(Error, match="batch_size is at least 1, not 0"):
        data_generator_mnist(tmp_path, 0)
