"""Data of images, of sound, in chunks, and from loaders: what files and libraries hold."""

import os
import pickle

import numpy as np
import pytest
from feature_networks import chain, network, put
from sound import sound

import qemu_nn
from qemu_nn.api.data import Dataset, batches, coded_batches
from qemu_nn.errors import Error
from qemu_nn.io.selection import Selection
from qemu_nn.ir.preprocessing import Preprocessing

HWC = (4, 5, 3)
PIXELS = (np.arange(6 * 60) * 7 % 256).astype(np.uint8).reshape(6, *HWC)


@pytest.fixture
def image():
    return pytest.importorskip("PIL.Image", reason="Pillow is not installed")


@pytest.fixture
def pictures(tmp_path, image):
    """Six images, as a folder."""
    for number, pixels in enumerate(PIXELS):
        image.fromarray(pixels).save(tmp_path / f"{number}.png")
    return tmp_path


def read(source, shape=HWC, layout="NHWC", **how):
    found = batches(Dataset(source, **how), shape, layout, size=4)
    parts = list(found)
    y = [part.y for part in parts if part.y is not None]
    return np.concatenate([part.x for part in parts]), np.concatenate(y) if y else None, found


# ---- images ----


TABLES = {
    "with a head": ("t.csv", "file,label\n{}", "{}.png,{}\n"),
    "without": ("t.csv", "{}", "{}.png,{}\n"),
    "of tabs": ("t.tsv", "{}", "{}.png\t{}\n"),
    "other columns": ("t.csv", "id,Class,Path\n{}", "9,{1},{0}.png\n"),
    "quoted, with a mark of UTF-8": ("t.csv", "\ufeff{}", '"{}.png","{}"\n'),
    "empty lines": ("t.csv", "\n{}\n\n", " {}.png , {}\n\n"),
}


@pytest.mark.parametrize("kind", TABLES)
def test_a_table_names_files_and_labels(pictures, kind):
    name, whole, line = TABLES[kind]
    order = [4, 0, 2, 2]
    for names in (["3", "0", "1", "1"], ["dog", "ant", "cat", "cat"]):
        rows = "".join(line.format(*pair) for pair in zip(order, names))
        (pictures / name).write_text(whole.format(rows), encoding="utf-8")
        for source in (pictures / name, pictures):
            x, y, found = read(source)
            np.testing.assert_array_equal(x, PIXELS[order])
            if names[0] == "3":
                assert (y.tolist(), found.classes) == ([3, 0, 1, 1], ())
            else:
                assert (y.tolist(), found.classes) == ([2, 0, 1, 1], ("ant", "cat", "dog"))


def test_a_table_without_labels_and_one_image_are_data(pictures):
    (pictures / "t.txt").write_text("5.png\n1.png\n")
    x, y, _ = read(pictures / "t.txt")
    np.testing.assert_array_equal(x, PIXELS[[5, 1]])
    assert y is None
    np.testing.assert_array_equal(read(pictures / "3.png")[0], PIXELS[3:4])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "0.png,1\nnone.png,2\n",
            r"t\.csv, line 2 names the file .*none\.png, which",
        ),
        ("0.png,1\n1.png\n", r"t\.csv, line 2 has nothing in column 2"),
        ("file,label\n", "names no files"),
        ("", "is empty"),
        (b"\xff\xfe", "is not a table of text in UTF-8"),
        ("..,1\n", r"line 1 names the file"),
    ],
)
def test_tables_that_cannot_be_read_are_refused(pictures, text, reason):
    (pictures / "t.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(Error, match=reason):
        read(pictures)


def test_folders_that_say_two_things_are_refused(pictures):
    (pictures / "cats").mkdir()
    (pictures / "0.png").rename(pictures / "cats" / "0.png")
    with pytest.raises(Error, match="contains images next to folders of them"):
        read(pictures)
    for name in ("a.csv", "b.tsv"):
        (pictures / name).write_text("1.png,0\n")
    with pytest.raises(Error, match=r"several tables \(a\.csv, b\.tsv\)"):
        read(pictures)


def test_the_classes_of_a_folder_have_names_and_hidden_folders_are_none(pictures):
    for number in range(6):
        folder = pictures / ("dog", "cat", "bird")[number % 3]
        folder.mkdir(exist_ok=True)
        (pictures / f"{number}.png").rename(folder / f"{number}.png")
    (pictures / ".cache").mkdir()
    x, y, found = read(pictures, index="-1,0")
    assert found.classes == ("bird", "cat", "dog")
    assert (y.tolist(), found.samples) == ([2, 0], 2)
    np.testing.assert_array_equal(x, PIXELS[[3, 2]])
    np.testing.assert_array_equal(read(pictures, labels=np.arange(6))[1], np.arange(6))


def test_images_are_resized_and_cut_as_the_preprocessing_says(tmp_path, image):
    big = (np.arange(20 * 30 * 3) % 256).astype(np.uint8).reshape(20, 30, 3)
    image.fromarray(big).save(tmp_path / "big.png")
    image.fromarray(big[:10]).save(tmp_path / "wide.png")
    steps = Preprocessing(size=(8, 7), crop=(4, 5), scale=1 / 255, mean=(0.1, 0.2, 0.3))
    for layout, shape in (("NHWC", HWC), ("NCHW", (3, 4, 5))):
        x, _, _ = read(tmp_path, shape, layout, preprocessing=steps)
        bilinear = getattr(image, "Resampling", image).BILINEAR
        for got, pixels in zip(x, (big, big[:10])):
            resized = np.asarray(image.fromarray(pixels).resize((7, 8), bilinear))[2:6, 1:6]
            want = ((resized * (1 / 255)) - [0.1, 0.2, 0.3]).astype(np.float32)
            np.testing.assert_array_equal(
                got, want if layout == "NHWC" else np.moveaxis(want, -1, 0)
            )
    with pytest.raises(
        Error,
        match=r"big\.png is 30 x 20 pixels, .* 5 x 4: give a preprocessing with size= or crop=",
    ):
        read(tmp_path)
    with pytest.raises(Error, match=r"big\.png becomes 7 x 8 pixels"):
        read(tmp_path, preprocessing=Preprocessing(size=(8, 7)))


def test_arrays_are_prepared_alike(pictures):
    steps = Preprocessing(scale=2, mean=(1, 2, 3), std=(4, 5, 6))
    want = read(pictures, preprocessing=steps)[0]
    np.testing.assert_array_equal(read(PIXELS, preprocessing=steps)[0], want)
    first = np.moveaxis(PIXELS, -1, 1)
    np.testing.assert_array_equal(read(first, preprocessing=steps)[0], want)
    np.testing.assert_array_equal(
        read(first, (3, 4, 5), "NCHW", preprocessing=steps)[0], np.moveaxis(want, -1, 1)
    )


def test_pixels_of_more_than_8_bits_and_huge_images_are_refused(tmp_path, image, monkeypatch):
    image.fromarray(np.full((4, 5), 40_000, np.uint16)).save(tmp_path / "deep.png")
    with pytest.raises(Error, match=r"deep\.png has more than 8 bits for each channel"):
        read(tmp_path, (4, 5, 1))
    monkeypatch.setattr("qemu_nn.io.images._PIXELS", 19)
    with pytest.raises(Error, match=r"deep\.png has 5 x 4 pixels; at most 19"):
        read(tmp_path, (4, 5, 1))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes in folders")
def test_pipes_and_circles_among_images_are_refused(pictures):
    os.mkfifo(pictures / "7.png")
    with pytest.raises(Error, match=r"cannot read the image .*7\.png: it is not a regular file"):
        read(pictures)
    (pictures / "7.png").unlink()
    os.symlink(pictures / "8.png", pictures / "8.png")
    with pytest.raises(Error, match=r"cannot read the image .*8\.png"):
        read(pictures)
    (pictures / "8.png").unlink()
    os.symlink(pictures, pictures / "again")  # a folder in itself
    with pytest.raises(Error, match="next to folders"):
        read(pictures)


def test_blocks_of_images_are_read_alone_also_after_a_pickle(pictures):
    found = batches(Dataset(pictures, shuffle=True, seed=5), HWC, "NHWC")
    blocks = pickle.loads(pickle.dumps(found.blocks(4)))
    order = Selection(shuffle=True, seed=5).of(6)
    np.testing.assert_array_equal(blocks.block(1).x, PIXELS[order[4:]])
    (pictures / f"{order[0]}.png").unlink()
    np.testing.assert_array_equal(blocks.block(1).x, PIXELS[order[4:]])
    with pytest.raises(Error, match="cannot read the image"):
        blocks.block(0)


# ---- chunks ----


class Zarr:
    """The interface of Zarr's arrays; counts the elements that are read."""

    def __init__(self, array, chunk):
        self._array, self.shape, self.dtype = array, array.shape, array.dtype
        self.chunks = (chunk, *array.shape[1:])
        self.read = []

    def __getitem__(self, part):
        self.read.append((part.start, part.stop))
        return self._array[part]


def test_an_array_in_chunks_is_read_chunk_by_chunk_and_each_once():
    x = np.arange(300 * 8.0).reshape(300, 8)
    lazy = Zarr(x, 100)
    np.testing.assert_array_equal(read(lazy, (8,), None)[0], x)
    assert lazy.read == [(0, 100), (100, 200), (200, 300)]
    lazy = Zarr(x, 100)
    got, y, _ = read((lazy, np.arange(300)), (8,), None, index="250,299,7")
    np.testing.assert_array_equal(got, x[[250, 299, 7]])
    assert (y.tolist(), sorted(lazy.read)) == ([250, 299, 7], [(0, 100), (200, 300)])


def test_a_chunk_that_cannot_be_read_is_named():
    lazy = Zarr(np.zeros((30, 8)), 10)
    lazy._array = None
    with pytest.raises(Error, match="cannot read chunk 0 of the data"):
        read(lazy, (8,), None)


def test_arrays_of_dask_are_computed_block_by_block():
    dask = pytest.importorskip("dask.array", reason="Dask is not installed")
    x = np.arange(100 * 8.0).reshape(100, 8)
    computed = []

    def counted(block):
        computed.append(len(block))
        return block

    lazy = dask.from_array(x, chunks=((30, 50, 20), 4)).map_blocks(counted, dtype=float, meta=x[:0])
    np.testing.assert_array_equal(read(lazy, (8,), None)[0], x)
    assert sorted(computed) == [20, 20, 30, 30, 50, 50]
    some = read(lazy, (8,), None, shuffle=True, limit=9)[0]
    np.testing.assert_array_equal(some, x[Selection(shuffle=True, limit=9).of(100)])
    with pytest.raises(Error, match="chunks of unknown size"):
        read(lazy[lazy[:, 0] > 8], (8,), None)


# ---- loaders ----


class Tensorlike:
    """The interface of a torch tensor, on a device and with a gradient."""

    def __init__(self, array):
        self._array, self.shape, self.ndim, self.dtype = array, array.shape, array.ndim, array.dtype

    def detach(self):
        return self

    cpu = detach

    def numpy(self):
        return self._array

    def __array__(self, *_, **__):
        raise RuntimeError("can't convert it: call detach() first")


class Loader:
    """The interface of a DataLoader: a length, and a list for each batch, at every iteration."""

    def __init__(self, x, y=None):
        self.x, self.y = x, y

    def __len__(self):
        return -(-len(self.x) // 4)

    def __iter__(self):
        for i in range(0, len(self.x), 4):
            x = Tensorlike(self.x[i : i + 4])
            yield x if self.y is None else [x, Tensorlike(self.y[i : i + 4])]


def test_loaders_of_torch_give_batches_and_labels():
    x, labels = np.moveaxis(PIXELS, -1, 1).astype(np.float32), np.arange(6)
    for _ in range(2):
        got, y, found = read(Loader(x, labels))
        np.testing.assert_array_equal(got, PIXELS)
        np.testing.assert_array_equal(y, labels)
    assert len(found) == 2
    got, y, found = read(Loader(x))
    np.testing.assert_array_equal(got, PIXELS)
    assert y is None
    np.testing.assert_array_equal(read(Tensorlike(x))[0], PIXELS)
    with pytest.raises(Error, match=r"float64 .* must be one integer for each of the 4 samples"):
        read(Loader(x, labels / 2))


def test_a_loader_of_torch_itself():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    x = torch.tensor(np.moveaxis(PIXELS, -1, 1).astype(np.float32))
    data = torch.utils.data.TensorDataset(x, torch.arange(6))
    got, y, _ = read(torch.utils.data.DataLoader(data, batch_size=4))
    np.testing.assert_array_equal(got, PIXELS)
    np.testing.assert_array_equal(y, np.arange(6))


# ---- sound ----


def needed(steps):
    return (steps - 1) * 160 + 480


def test_a_recording_is_one_input_after_the_other(tmp_path):
    samples = sound(1)
    path = put(tmp_path / "a.wav", samples)
    features = chain().run(samples)["features"]
    found = coded_batches(network().host, Dataset(path, front_end=chain()))
    whole = len(features) // 4
    (batch,) = found
    np.testing.assert_array_equal(batch.x, features[: 4 * whole].reshape(whole, 4, 40))
    assert found.samples == whole == 24
    block = pickle.loads(pickle.dumps(found.blocks(5))).block(2)
    np.testing.assert_array_equal(block.x, batch.x[10:15])


def test_real_features_are_what_the_front_end_says(tmp_path):
    put(tmp_path / "a.wav", sound(1))
    features = chain().run(sound(1))["features"][:96].reshape(24, 4, 40)
    want = ((features.astype(np.float64) + 128) * (26 / 256)).astype(np.float32)
    for shape, layout in (((4, 40), None), ((4, 40, 1), "NHWC"), ((1, 4, 40), "NCHW")):
        x, _, _ = read(tmp_path, shape, layout, front_end=chain())
        np.testing.assert_array_equal(x, want.reshape(24, *shape))


def test_folders_of_sound_have_classes_and_short_files_end_in_silence(tmp_path):
    short, long = sound(1)[:500], sound(1)[: needed(8) + 100]
    for name, samples in (("no/a.wav", short), ("yes/b.wav", long), ("yes/c.WAV", short)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        put(tmp_path / name, samples)
    found = coded_batches(network().host, Dataset(tmp_path, front_end=chain()))
    (batch,) = found
    assert found.classes == ("no", "yes")
    assert batch.y.tolist() == [0, 1, 1, 1]
    padded = np.concatenate([short, np.zeros(needed(4) - 500, np.int16)])
    np.testing.assert_array_equal(batch.x[0], chain().run(padded)["features"])
    np.testing.assert_array_equal(batch.x[3], batch.x[0])


def test_sound_that_cannot_be_used_is_refused(tmp_path):
    path = put(tmp_path / "a.wav", sound(1))
    with pytest.raises(Error, match=r"a\.wav contains sound: give front_end="):
        read(path, (4, 40), None)
    with pytest.raises(Error, match="contains sound: give front_end="):
        read(tmp_path, (4, 40), None)
    with pytest.raises(Error, match=r"reads \[9\], which features \[40\] of"):
        read(path, (9,), None, front_end=chain())
    with pytest.raises(Error, match="front_end= computes features of WAV files"):
        read(np.zeros((3, 4, 40)), (4, 40), None, front_end=chain())
    with pytest.raises(Error, match=r"no front end .*: it is a chain"):
        read(path, (4, 40), None, front_end=qemu_nn.micro_frontend())
    put(tmp_path / "b.wav", sound(1), 8000)
    with pytest.raises(Error, match=r"b\.wav has 1 channels of 16 bits at 8000 Hz"):
        read(tmp_path, (4, 40), None, front_end=chain())
    (tmp_path / "b.wav").write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(Error, match=r"b\.wav is cut short"):
        read(tmp_path, (4, 40), None, front_end=chain())
