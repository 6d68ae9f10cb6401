"""The cache of decoded images: the same figures with and without, bounds, and damaged entries."""

import os
import re
import stat
import sys
from multiprocessing import get_context
from pathlib import Path

import affine_networks
import numpy as np
import pytest

import qemu_nn
from qemu_nn import Dataset, Error, Preprocessing
from qemu_nn.api.network import Network
from qemu_nn.io import images, sample_cache
from qemu_nn.io.sample_cache import SampleCache, open_cache

STEPS = Preprocessing(size=(11, 10), crop=(9, 8), scale=1 / 255, mean=(0.1, 0.2, 0.3), std=0.5)
KEYS = [bytes([number]) * 32 for number in range(9)]
ARRAYS = [np.full((2, 5), number, np.uint8) for number in range(9)]
ENTRY = 32 + ARRAYS[0].size


@pytest.fixture
def folder(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv(sample_cache.FOLDER, str(folder))
    monkeypatch.setenv(sample_cache.SIZE, "10M")
    monkeypatch.setattr(images, "_STORED", 100)
    return folder


@pytest.fixture
def pictures(tmp_path):
    """Return a folder of 70 JPEG images of two classes."""
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    rng = np.random.default_rng(3)
    for number in range(70):
        path = tmp_path / "data" / str(number % 2) / f"{number}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        image.fromarray(rng.integers(0, 256, (20, 30, 3), np.uint8)).save(path)
    return tmp_path / "data"


def entries(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def run(pictures, **how):
    data = Dataset(pictures, preprocessing=how.pop("steps", STEPS), **how)
    (found,) = qemu_nn.run(Network(affine_networks.small()), data).values()
    return found


def forbid_decoding(monkeypatch):
    def decode(self, image, path, file):
        raise AssertionError(f"{path} is decoded again")

    monkeypatch.setattr(images.ImageSource, "_decode", decode)


def test_a_second_run_and_another_network_read_the_same_samples_from_the_cache(
    folder, pictures, monkeypatch
):
    without = run(pictures, cache=False)
    assert not folder.exists()
    np.testing.assert_array_equal(run(pictures), without)
    assert len(entries(folder)) == 70
    whole = qemu_nn.evaluate(
        Network(affine_networks.small()), Dataset(pictures, preprocessing=STEPS)
    )
    forbid_decoding(monkeypatch)
    np.testing.assert_array_equal(run(pictures), without)
    again = qemu_nn.evaluate(
        Network(affine_networks.small()), Dataset(pictures, preprocessing=STEPS)
    )
    assert again.to_dict() == whole.to_dict()


def test_a_changed_file_or_preprocessing_is_decoded_anew(folder, pictures, image_of):
    run(pictures)
    other = sorted(pictures.rglob("*.jpg"))[0]
    before = other.stat()
    image_of(7).save(other)
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    np.testing.assert_array_equal(run(pictures), run(pictures, cache=False))
    assert len(entries(folder)) == 71
    steps = Preprocessing(size=(9, 8), scale=1 / 255)
    np.testing.assert_array_equal(
        run(pictures, steps=steps), run(pictures, steps=steps, cache=False)
    )
    assert len(entries(folder)) == 141


@pytest.fixture
def image_of():
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    return lambda value: image.fromarray(np.full((20, 30, 3), value, np.uint8))


def damage_byte(path):
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def make_pipe(path):
    path.unlink()
    os.mkfifo(path)


def make_link(path):
    copy = path.with_name("copy")
    path.rename(copy)
    path.symlink_to(copy)


DAMAGES = {
    "a byte": damage_byte,
    "cut short": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "too long": lambda path: path.write_bytes(path.read_bytes() + b"x"),
    "empty": lambda path: path.write_bytes(b""),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "a pipe": make_pipe,
    "a link": make_link,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_entry_is_none(folder, damage):
    if sys.platform == "win32" and damage in ("a pipe", "a link"):
        pytest.skip("Windows has no named pipes in folders, and links need a privilege")
    cache = open_cache()
    cache.write(KEYS[0], ARRAYS[3])
    np.testing.assert_array_equal(cache.read(KEYS[0], (2, 5)), ARRAYS[3])
    assert cache.read(KEYS[0], (2, 4)) is None
    assert cache.read(KEYS[1], (2, 5)) is None
    DAMAGES[damage](entries(folder)[0])
    assert cache.read(KEYS[0], (2, 5)) is None


def test_an_entry_under_the_name_of_another_is_none(folder):
    cache = open_cache()
    cache.write(KEYS[0], ARRAYS[0])
    cache.write(KEYS[1], ARRAYS[1])
    first, second = entries(folder)
    os.replace(first, second)
    assert cache.read(KEYS[1], (2, 5)) is None


def test_the_cache_removes_what_was_not_used_for_longest_and_nothing_else(folder):
    strange = folder / "ab" / "letter.txt"
    old = SampleCache(folder, 5 * ENTRY)
    folder.mkdir(mode=0o700)
    strange.parent.mkdir()
    strange.write_text("not an entry")
    for number in range(5):
        old.write(KEYS[number], ARRAYS[number])
        os.utime(folder / KEYS[number].hex()[:2] / KEYS[number].hex()[2:], (number, number))
    new = SampleCache(folder, 5 * ENTRY)
    np.testing.assert_array_equal(new.read(KEYS[0], (2, 5)), ARRAYS[0])
    new.write(KEYS[5], ARRAYS[5])
    left = [number for number in range(9) if new.read(KEYS[number], (2, 5)) is not None]
    assert left == [0, 3, 4, 5]
    assert strange.read_text() == "not an entry"


def test_data_larger_than_the_cache_keep_their_first_part(folder, monkeypatch):
    folder.mkdir(mode=0o700)
    cache = SampleCache(folder, 4 * ENTRY)
    looked, list_entries = [], SampleCache._list_entries
    monkeypatch.setattr(
        SampleCache, "_list_entries", lambda self: looked.append(1) or list_entries(self)
    )
    for key, array in zip(KEYS, ARRAYS):
        cache.write(key, array)
    assert len(entries(folder)) == 4
    assert len(looked) == 2  # a full cache is not looked through for each further entry
    assert all(cache.read(KEYS[number], (2, 5)) is not None for number in range(4))


def test_a_full_disk_ends_the_writing(folder, monkeypatch):
    folder.mkdir(mode=0o700)
    cache = SampleCache(folder, 4 * ENTRY)

    def replace(old, new):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(sample_cache.os, "replace", replace)
        cache.write(KEYS[0], ARRAYS[0])
    cache.write(KEYS[1], ARRAYS[1])
    assert entries(folder) == []


def write_and_read(folder, most, seed):
    """Write and read entries of three keys in random order; return how many were wrong."""
    cache, rng = SampleCache(Path(folder), most), np.random.default_rng(seed)
    wrong = 0
    for number in rng.integers(0, 9, 300):
        cache = SampleCache(Path(folder), most) if number == 0 else cache
        cache.write(KEYS[number], ARRAYS[number])
        found = cache.read(KEYS[number], (2, 5))
        wrong += found is not None and not np.array_equal(found, ARRAYS[number])
    return wrong


def test_two_processes_share_a_folder(folder):
    folder.mkdir(mode=0o700)
    with get_context("spawn").Pool(2) as pool:
        found = pool.starmap(write_and_read, [(folder, 5 * ENTRY, seed) for seed in (1, 2)])
    assert found == [0, 0]
    assert not [path for path in entries(folder) if path.suffix == ".tmp"]


def test_the_environment_names_folder_and_size(folder, monkeypatch):
    assert (open_cache().folder, open_cache().most) == (folder, 10 * 2**20)
    assert sys.platform == "win32" or stat.S_IMODE(folder.stat().st_mode) == 0o700
    for text, most in {"0": None, "3": 3, "20 GiB": 20 * 2**30, "": 4 * 2**30}.items():
        monkeypatch.setenv(sample_cache.SIZE, text)
        assert getattr(open_cache(), "most", None) == most
    monkeypatch.setenv(sample_cache.SIZE, "much")
    with pytest.raises(Error, match="QEMU_NN_CACHE_SIZE is 'much', but must be a size such as"):
        open_cache()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other permissions")
def test_a_folder_that_others_may_write_is_no_cache(folder, monkeypatch):
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(Error, match="cannot be the cache: other users may write into it"):
        open_cache()
    monkeypatch.setenv(sample_cache.FOLDER, str(Path(__file__)))
    with pytest.raises(Error, match="cannot be the cache"):
        open_cache()
    monkeypatch.delenv(sample_cache.FOLDER)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    monkeypatch.setenv("HOME", str(folder))
    assert open_cache().folder.name == "samples"
    open_cache().folder.chmod(0o777)
    assert open_cache() is None


def test_failed_images_are_named_in_order_and_blocks_read_ahead_come_once(folder, pictures):
    paths = sorted(pictures.rglob("*.jpg"))
    for number in (40, 9):
        paths[number].write_bytes(b"no image")
    said = f"cannot read the image {paths[9]}: it has no known format"
    for _ in range(2):
        with pytest.raises(Error, match=re.escape(said)):
            run(pictures)


@pytest.mark.parametrize("steps", [None, STEPS, Preprocessing(scale=2, mean=60, dtype="uint8")])
def test_bytes_through_tables_are_the_codes_that_floats_give(steps):
    network = Network(affine_networks.small())
    host = Network(network.graph, preprocessing=steps).host
    pixels = np.random.default_rng(1).integers(0, 256, (5, 9, 8, 3), np.uint8)
    want = host.codes(pixels.astype(np.int64))
    found = host.codes(pixels)
    assert found.dtype == want.dtype
    np.testing.assert_array_equal(found, want)
    np.testing.assert_array_equal(host.codes(pixels[0]), want[:1])
    np.testing.assert_array_equal(host.codes(np.moveaxis(pixels, -1, 1)), want)


def test_figures_are_the_same_from_codes_and_from_floats(pictures, monkeypatch, folder):
    data = Dataset(pictures, preprocessing=STEPS)

    def evaluate():
        network = Network(affine_networks.small())
        return qemu_nn.evaluate(network, data, reference=False, profiles="m55").to_dict()

    found = evaluate()
    monkeypatch.setattr(qemu_nn.api.eval_target.Subject, "takes_codes", lambda self, kind: False)
    assert evaluate() == found
