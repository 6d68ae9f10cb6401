"""MNIST as the NPU's kit takes its data, from the four files in a folder of yours.

    from qemu_nn.examples.data_generator_mnist import data_generator_mnist
    g_train = data_generator_mnist("mnist", batch_size=32)

Nothing is fetched: put train-images-idx3-ubyte.gz, train-labels-idx1-ubyte.gz and the two of
t10k-..., packed or unpacked, into the folder.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Optional, Union

import numpy as np

from ..errors import Error
from ..io import files

#: Sides of an image in the file and as the network of the manual reads it.
STORED, PADDED = 28, 32
CLASSES = 10
LIMIT = 64 * files.MEGABYTE


def data_generator_mnist(
    folder: Union[str, Path],
    batch_size: int,
    random_order: bool = True,
    test_set: bool = False,
    seed: Optional[int] = None,
) -> Iterator[dict[str, np.ndarray]]:
    """Return batches without end: "input" [N, 1, 32, 32], 0 to 255/256, "output" one-hot [N, 10, 1,
    1].

    random_order: drawn at random, by `seed` if one is given; False: all in turn, then again from
    the first. test_set: the 10,000 images of t10k in place of the 60,000 of train. Raises Error,
    before the first batch, for files that are not there or are no such files.
    """
    if batch_size < 1:
        raise Error(f"batch_size is at least 1, not {batch_size}")
    kind = "t10k" if test_set else "train"
    labels = _read_stored(Path(folder), f"{kind}-labels-idx1-ubyte", ())
    images = _read_stored(Path(folder), f"{kind}-images-idx3-ubyte", (STORED, STORED))
    if len(images) != len(labels) or not len(labels) or labels.max() >= CLASSES:
        raise Error(f"{folder}: its {len(images)} images and {len(labels)} labels are no digits")
    return _batches(images, labels, batch_size, random_order, seed)


def _batches(
    images: np.ndarray, labels: np.ndarray, size: int, random_order: bool, seed: Optional[int]
) -> Iterator[dict[str, np.ndarray]]:
    rng, first, edge = np.random.default_rng(seed), 0, (PADDED - STORED) // 2
    while True:
        chosen = np.arange(first, first + size) % len(images)
        if random_order:
            chosen = rng.integers(len(images), size=size)
        first = (first + size) % len(images)
        pixels = np.pad(images[chosen], ((0, 0), (edge, edge), (edge, edge)))
        one_hot = np.eye(CLASSES)[labels[chosen]]
        yield {"input": pixels[:, None] / 256, "output": one_hot[:, :, None, None]}


def _read_stored(folder: Path, name: str, size: tuple[int, ...]) -> np.ndarray:
    """Return the bytes of one file [count, ...]; its header says their number and sides."""
    path, packed = folder / name, folder / f"{name}.gz"
    if not path.is_file() and not packed.is_file():
        raise Error(f"there is neither {path} nor {packed.name}: put MNIST's files there")
    data = files.read_bytes(path if path.is_file() else packed, LIMIT)
    if not path.is_file():
        try:
            data = zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(data, LIMIT)
        except zlib.error as error:
            raise Error(f"{packed} cannot be unpacked: {error}") from None
    sides = np.frombuffer(data[: 4 * (2 + len(size))].ljust(16, b"\0"), ">i4")
    count, start = int(sides[1]), 4 * (2 + len(size))
    wanted = start + count * int(np.prod(size, dtype=int))
    if sides[0] != 0x801 + 2 * (len(size) > 0) or tuple(sides[2 : 2 + len(size)]) != size:
        raise Error(f"{path} does not start as MNIST's file of that name")
    if len(data) != wanted:
        raise Error(f"{path} has {len(data)} bytes, not {wanted}: it is truncated or altered")
    return np.frombuffer(data, np.uint8, offset=start).reshape(count, *size)
