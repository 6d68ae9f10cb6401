"""Sources of data: selections, files read in part, shards, labels, and blocks that stand alone."""

import os
import pickle
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from large_files import large

import qemu_nn
from qemu_nn.api.data import Dataset, batches, batches_by_name
from qemu_nn.errors import Error
from qemu_nn.io.mapped import Mapped, Member, map_npz
from qemu_nn.io.selection import Selection
from qemu_nn.ir.tensors import Tensor

X = np.arange(50 * 8, dtype=np.float32).reshape(50, 8)
Y = np.arange(50) % 4


def read(source, **how):
    """Return all samples and labels of a source."""
    found = list(batches(Dataset(source, **how), (8,), None, size=7))
    y = [batch.y for batch in found if batch.y is not None]
    return np.concatenate([batch.x for batch in found]), np.concatenate(y) if y else None


@pytest.fixture
def folder(tmp_path):
    np.save(tmp_path / "x.npy", X)
    np.savez(tmp_path / "xy.npz", x=X, y=Y)
    np.savez_compressed(tmp_path / "small.npz", x=X, y=Y)
    np.save(tmp_path / "f.npy", np.asfortranarray(X))
    shards = tmp_path / "shards"
    shards.mkdir()
    for number, part in enumerate(np.array_split(X, 12)):
        np.save(shards / f"part_{number}.npy", part)
    return tmp_path


def sources(folder):
    names = ["x.npy", "xy.npz", "small.npz", "f.npy", "shards"]
    return {"array": X, **{name: folder / name for name in names}}


SELECTIONS = {
    "limit": ({"limit": 9}, np.arange(9)),
    "more than there are": ({"limit": 1000}, np.arange(50)),
    "numbers": ({"index": [3, 49, 3, -1]}, [3, 49, 3, 49]),
    "array": ({"index": np.array([7, 2], np.uint8)}, [7, 2]),
    "slice": ({"index": slice(40, None, 3)}, [40, 43, 46, 49]),
    "backwards": ({"index": slice(5, None, -1)}, [5, 4, 3, 2, 1, 0]),
    "text": ({"index": "4, 10:13,-2:"}, [4, 10, 11, 12, 48, 49]),
    "one": ({"index": 7}, [7]),
    "numbers and ranges": ({"index": [1, slice(3, 5)]}, [1, 3, 4]),
    "limit of index": ({"index": "10:20", "limit": 2}, [10, 11]),
    "shuffled": ({"shuffle": True, "seed": 3, "limit": 6}, [12, 39, 9, 47, 31, 28]),
    "part of it": ({"index": "0:4", "shuffle": True, "seed": 1}, [3, 2, 0, 1]),
}


@pytest.mark.parametrize("name", SELECTIONS)
def test_a_selection_takes_the_same_samples_of_every_source(folder, name):
    selection, expected = SELECTIONS[name]
    for kind, source in sources(folder).items():
        x, _ = read(source, **selection)
        np.testing.assert_array_equal(x, X[expected], err_msg=kind)
        x, y = read(source, labels=Y, **selection)
        np.testing.assert_array_equal(y, Y[expected], err_msg=kind)


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ({"limit": 0}, "limit must be at least 1"),
        ({"index": "5,50"}, "no sample 50: the data have 50, from 0 to 49"),
        ({"index": [-51]}, "no sample -51"),
        ({"index": "60:"}, "chooses none of the 50 samples"),
        ({"index": "a:3"}, "numbers of samples and ranges of them, such as 0,5,10:20, not 'a:3'"),
        ({"index": "1:2:3:4"}, "numbers of samples and ranges"),
        ({"index": "1,,2"}, "numbers of samples and ranges"),
        ({"index": "::0"}, "numbers of samples and ranges"),
        ({"index": ""}, "numbers of samples and ranges"),
        ({"index": []}, "numbers of samples and ranges"),
        ({"index": 2.5}, "numbers of samples and ranges"),
        ({"index": slice("a")}, "numbers of samples and ranges"),
        ({"index": [slice(2), None]}, "numbers of samples and ranges"),
        ({"shuffle": "yes"}, "shuffle must be True or False"),
        ({"seed": -1}, "seed must be at least 0"),
    ],
)
def test_a_selection_that_means_nothing_is_refused(how, reason):
    with pytest.raises(Error, match=reason):
        read(X, **how)


def test_samples_by_number_read_nothing_else_of_a_file(folder, monkeypatch):
    asked = []
    take = Mapped.take

    def counted(self, which):
        asked.extend((self.path.name, int(number)) for number in which)
        return take(self, which)

    monkeypatch.setattr(Mapped, "take", counted)
    read(folder / "x.npy", index="40,3")
    assert asked == [("x.npy", 40), ("x.npy", 3)]
    asked.clear()
    read(folder / "shards", index="0,49,1")
    assert sorted(asked) == [("part_0.npy", 0), ("part_0.npy", 1), ("part_11.npy", 3)]


def test_shards_follow_the_numbers_in_their_names_and_must_be_alike(folder):
    np.testing.assert_array_equal(read(folder / "shards")[0], X)
    np.save(folder / "shards" / "part_99.npy", X.astype(np.float64))
    with pytest.raises(Error, match=r"part_99.npy has samples float64 \[8\], but part_0.npy"):
        read(folder / "shards")


def test_an_uncompressed_archive_is_mapped_and_a_compressed_one_is_read(folder):
    assert all(isinstance(array, Mapped) for array in map_npz(folder / "xy.npz").values())
    assert all(isinstance(array, Member) for array in map_npz(folder / "small.npz").values())
    np.testing.assert_array_equal(read(folder / "small.npz")[1], Y)


def test_an_array_that_numpy_has_mapped_is_read_from_its_file(folder):
    mapped = np.load(folder / "x.npy", mmap_mode="r")
    found = batches(mapped, (8,), None)
    assert len(pickle.dumps(found.blocks(7))) < X.nbytes
    np.testing.assert_array_equal(read(mapped)[0], X)
    np.testing.assert_array_equal(read(mapped[10:20])[0], X[10:20])


@pytest.mark.parametrize("kind", ["array", "x.npy", "xy.npz", "small.npz", "f.npy", "shards"])
def test_blocks_stand_alone_in_any_order_and_after_a_pickle(folder, kind):
    found = batches(Dataset(sources(folder)[kind], Y, shuffle=True), (8,), None)
    assert found.samples == 50
    blocks = pickle.loads(pickle.dumps(found.blocks(16)))
    assert len(blocks) == 4
    order = Selection(shuffle=True).of(50)
    for number in (3, 0, 2, 1, 1):
        block = blocks.block(number)
        which = order[number * 16 : number * 16 + 16]
        assert block.first == number * 16
        np.testing.assert_array_equal(block.x, X[which])
        np.testing.assert_array_equal(block.y, Y[which])
    again = [np.concatenate([batch.x for batch in found]) for _ in range(2)]
    np.testing.assert_array_equal(again[0], again[1])


def test_a_pickle_of_blocks_of_files_holds_paths(folder):
    for name in ("x.npy", "xy.npz", "small.npz", "shards"):
        whole = pickle.dumps(batches(folder / name, (8,), None).blocks(16))
        assert X[20:22].tobytes() not in whole, name


def test_a_generator_is_used_once_and_a_list_again():
    stream = batches((x for x in [X]), (8,), None)
    assert stream.samples is None
    assert len(list(stream)) == 1
    with pytest.raises(Error, match="has used up"):
        list(stream)
    again = batches([X, X], (8,), None)
    assert [len(list(again)) for _ in range(2)] == [2, 2]
    with pytest.raises(Error, match="save them as"):
        again.blocks(4)


def test_a_stream_ends_at_the_limit_and_cannot_be_chosen_from():
    def parts():
        yield X[:20], Y[:20]
        yield X[20:40], Y[20:40]
        raise AssertionError("nobody asked for more")

    x, y = read(parts(), limit=30)
    np.testing.assert_array_equal(x, X[:30])
    np.testing.assert_array_equal(y, Y[:30])
    for how in ({"shuffle": True}, {"index": 3}):
        with pytest.raises(Error, match="index and shuffle cannot choose"):
            batches(Dataset(parts(), **how), (8,), None)


def test_labels_come_from_files_of_every_kind(folder):
    np.save(folder / "y.npy", Y)
    (folder / "y.txt").write_text("\n".join(map(str, Y)) + "\n\n")
    (folder / "y.csv").write_text("label\n" + "\n".join(map(str, Y)))
    (folder / "second.csv").write_text(
        "id,Label\n" + "".join(f"{i},{label}\n" for i, label in enumerate(Y))
    )
    shards = folder / "labels"
    shards.mkdir()
    np.save(shards / "0.npy", Y[:30])
    np.save(shards / "1.npy", Y[30:])
    for name in ("y.npy", "y.txt", "y.csv", "second.csv", "xy.npz", "labels"):
        np.testing.assert_array_equal(read(X, labels=folder / name)[1], Y, err_msg=name)
    np.testing.assert_array_equal(read(folder / "xy.npz", labels=(Y + 1) % 4)[1], (Y + 1) % 4)


def test_names_are_labels_and_their_order_is_that_of_the_alphabet(folder):
    names = ["dog", "cat", "élan"] * 16 + ["cat", "dog"]
    (folder / "names.txt").write_text("\n".join(names), encoding="utf-8")
    for labels in (folder / "names.txt", np.array(names), names):
        found = batches(Dataset(X, labels), (8,), None)
        assert found.classes == ("cat", "dog", "élan")
        assert next(iter(found)).y[:4].tolist() == [1, 0, 2, 1]


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        (Y[:49], r"int64 \[49\], but must be one integer for each of the 50 samples"),
        (Y / 2, r"float64 \[50\], but must be one integer for each of the 50 samples"),
        (
            np.where(np.arange(50) == 20, -1, Y),
            "the label of sample 20 is -1, but classes count from 0",
        ),
        (Path("none.npy"), "cannot read .*none.npy: No such file"),
        (b"a,b\n1,2", r"\.csv, line 1 has 2 columns: give one with the label"),
        (b"label,x\n1,2\n,3", r"\.csv, line 3 has nothing in column 1"),
        (b"", r"\.csv is empty"),
        (b"\xff\xfe\0", r"\.csv is not a table of text in UTF-8"),
        ([[1], [2, 3]], "labels must be an array"),
    ],
)
def test_labels_that_do_not_fit_are_refused(tmp_path, labels, reason):
    if isinstance(labels, bytes):
        (tmp_path / "labels.csv").write_bytes(labels)
        labels = tmp_path / "labels.csv"
    with pytest.raises(Error, match=reason):
        read(X, labels=labels)


def test_several_inputs_are_selected_together(tmp_path):
    tensors = [Tensor("a", (8,), "int8", 2), Tensor("b", (1,), "int8", 2)]
    np.savez(tmp_path / "ab.npz", a=X, x1=X, b=X[:, :1], y=Y)
    how = {"index": "5,2", "labels": Y[::-1].copy()}
    (batch,) = batches_by_name(Dataset(tmp_path / "ab.npz", **how), tensors)
    np.testing.assert_array_equal(batch.x["a"], X[[5, 2]])
    np.testing.assert_array_equal(batch.x["b"], X[[5, 2], :1])
    np.testing.assert_array_equal(batch.y, Y[::-1][[5, 2]])
    assert len(batch) == 2


def test_the_sample_that_is_not_finite_is_named_with_its_file(folder):
    bad = X.copy()
    bad[17, 2] = np.nan
    np.save(folder / "bad.npy", bad)
    with pytest.raises(Error, match=r"sample 17 of bad\.npy contains NaN"):
        read(folder / "bad.npy", shuffle=True)
    np.save(folder / "shards" / "part_3.npy", bad[14:18])
    with pytest.raises(Error, match=r"sample 17 of the data \(sample 3 of part_3.npy\) contains"):
        read(folder / "shards")


def cut_short(path):
    path.write_bytes(path.read_bytes()[:-1])


def of_objects(path):
    np.save(path, np.array([{}], object), allow_pickle=True)


def of_one_number(path):
    np.save(path, np.float32(1))


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (cut_short, "it is broken"),
        (of_objects, "it holds Python objects"),
        (of_one_number, "is a single number"),
        (lambda path: path.write_bytes(b""), "it is broken"),
    ],
)
def test_damaged_files_are_refused(folder, spoil, reason):
    for path in (folder / "x.npy", folder / "shards" / "part_5.npy"):
        spoil(path)
        with pytest.raises(Error, match=f"{path.name} .*{reason}"):
            read(path if path.name == "x.npy" else folder / "shards")


def test_a_file_that_is_cut_while_it_is_read_is_refused(folder):
    stream = iter(batches(folder / "x.npy", (8,), None, size=7))
    next(stream)
    cut_short(folder / "x.npy")
    with pytest.raises(Error, match="is cut short"):
        next(stream)


@pytest.mark.parametrize("end", [40, 200, -30, -200])
def test_damaged_archives_are_refused(folder, end):
    for name in ("xy.npz", "small.npz"):
        path = folder / name
        path.write_bytes(path.read_bytes()[:end])
        with pytest.raises(Error, match=f"{name} is not a .npy or .npz file"):
            read(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes in folders")
def test_pipes_and_circles_of_links_are_refused(folder):
    os.mkfifo(folder / "pipe.npy")
    os.symlink(folder / "circle.npy", folder / "circle.npy")
    for name in ("pipe.npy", "circle.npy"):
        with pytest.raises(Error, match=f"cannot read .*{name}"):
            read(folder / name)
        with pytest.raises(Error, match=f"cannot read .*{name}"):
            read(X, labels=folder / name)


def test_a_large_file_is_never_held_whole(tmp_path):
    path = large(tmp_path / "large.npy", 20_000)
    tracemalloc.start()
    try:
        found = batches(Dataset(path, shuffle=True), (32, 32, 3), "NHWC")
        assert sum(map(len, found)) == found.samples == 20_000
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < path.stat().st_size / 10


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells this figure")
def test_pages_that_were_read_do_not_stay_in_the_process(tmp_path):
    path = large(tmp_path / "large.npy", 20_000)
    program = f"""
import re
from qemu_nn.api.data import batches
def peak():
    return int(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1])
found = batches({str(path)!r}, (32, 32, 3), "NHWC")
found.blocks(64).block(0)
before = peak()
assert sum(map(len, found)) == 20_000
print(peak() - before)
"""
    where = str(Path(qemu_nn.__file__).parents[1])
    paths = os.pathsep.join([where, *filter(None, [os.environ.get("PYTHONPATH")])])
    run = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(run.stdout) * 1024 < path.stat().st_size / 2
