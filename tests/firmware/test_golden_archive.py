"""Goldens of many inputs are one archive, which is read as the folder is."""

import json
import zipfile

import numpy as np
import pytest
from click.testing import CliRunner
from networks import recurrent

from qemu_nn.api import golden as pipeline
from qemu_nn.cli.main import main
from qemu_nn.errors import Error


@pytest.fixture
def demo():
    network, x, _ = pipeline.example()
    return network, x


def dumps(folder, session, x):
    """Return the dump of the last layer from a correct device."""
    for i, values in enumerate(session.run(x)["softmax"]):
        (folder / f"x{i}").mkdir(parents=True, exist_ok=True)
        (folder / f"x{i}" / "softmax.bin").write_bytes(values.tobytes())
    return folder


@pytest.mark.parametrize(
    ("inputs", "given", "name"),
    [(10, None, "set"), (11, None, "set.npz"), (2, "archive", "set.npz"), (11, "folder", "set")],
)
def test_more_than_ten_inputs_are_one_file(demo, tmp_path, inputs, given, name):
    network, x = demo
    written = pipeline.golden(network, x[:inputs], tmp_path / "set", format=given)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (written.folder, written.inputs) == ((tmp_path / name).resolve(), inputs)


def test_an_archive_holds_what_the_folder_holds(demo, tmp_path):
    network, x = demo
    folder = pipeline.golden(network, x[:2], tmp_path / "set")
    archive = pipeline.golden(network, x[:2], tmp_path / "set.npz")
    assert archive.names == folder.names
    with np.load(archive.folder) as arrays:
        for name in folder.names:
            np.testing.assert_array_equal(arrays[name], np.load(folder.folder / f"{name}.npy"))
        manifest = json.loads(arrays["manifest.json"])
    listed = json.loads((folder.folder / "manifest.json").read_text())
    assert manifest["goldens"] == listed["goldens"]
    assert {file["path"] for file in manifest["files"]} == {f"{n}.npy" for n in folder.names}


def test_the_same_inputs_give_the_same_file(demo, tmp_path):
    network, x = demo
    once, again = (
        pipeline.golden(network, x[:3], tmp_path / f"{i}.npz").folder.read_bytes() for i in "ab"
    )
    assert once == again


def test_compare_reads_an_archive(demo, tmp_path):
    network, x = demo
    archive = pipeline.golden(network, x[:12], tmp_path / "set").folder
    found = dumps(tmp_path / "dump", network.session(), x[:12])
    assert pipeline.compare(archive, found).same
    values = bytearray((found / "x3" / "softmax.bin").read_bytes())
    values[4] ^= 1
    (found / "x3" / "softmax.bin").write_bytes(values)
    comparison = pipeline.compare(archive, found)
    assert not comparison.same
    folder = pipeline.golden(network, x[:12], tmp_path / "folder", format="folder").folder
    assert str(pipeline.compare(folder, found)) == str(comparison)


def test_recurrent_networks_have_archives(tmp_path):
    network = pipeline.Network(recurrent())
    x = np.zeros((2, 3, *network.graph.input.shape), network.graph.input.dtype)
    archive = pipeline.golden(network, x, tmp_path / "set.npz")
    assert any(name.startswith("x1/t2/") for name in archive.names)
    with np.load(archive.folder) as arrays:
        assert {*archive.names} == {*arrays.files} - {"manifest.json"}


def changed(path, name, content):
    """Return the archive with another entry."""
    with zipfile.ZipFile(path) as archive:
        entries = {n: archive.read(n) for n in archive.namelist()}
    entries[name] = content
    with zipfile.ZipFile(path, "w") as archive:
        for key, value in entries.items():
            if value is not None:
                archive.writestr(key, value)


DAMAGE = {
    "no entry": ("x0/softmax.npy", None, "has no entry x0/softmax.npy"),
    "other bytes": ("x0/softmax.npy", b"\x93NUMPY" + bytes(200), "changed since it was written"),
    "no manifest": ("manifest.json", None, "is no golden set"),
    "no JSON": ("manifest.json", b"{", "is damaged"),
    "other JSON": ("manifest.json", b"{}", "is damaged"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_archive_is_refused(demo, tmp_path, kind):
    network, x = demo
    name, content, message = DAMAGE[kind]
    path = pipeline.golden(network, x[:1], tmp_path / "set.npz").folder
    changed(path, name, content)
    with pytest.raises(Error, match=message):
        pipeline.compare(path, dumps(tmp_path / "dump", network.session(), x[:1]))


def test_only_a_golden_set_is_replaced(demo, tmp_path):
    network, x = demo
    np.savez(tmp_path / "mine.npz", x=x)
    with pytest.raises(Error, match="is no golden set"):
        pipeline.golden(network, x[:1], tmp_path / "mine.npz")
    with np.load(tmp_path / "mine.npz") as arrays:
        assert list(arrays) == ["x"]
    pipeline.golden(network, x[:1], tmp_path / "set.npz")
    assert pipeline.golden(network, x[:2], tmp_path / "set.npz").inputs == 2


def test_a_set_that_no_reader_takes_is_not_written(demo, tmp_path, monkeypatch):
    from qemu_nn.firmware import golden

    network, x = demo
    monkeypatch.setattr(golden, "MOST_ENTRIES", 10)
    with pytest.raises(Error, match="too many for one archive"):
        pipeline.golden(network, x[:3], tmp_path / "set.npz")
    assert not list(tmp_path.iterdir())


def test_an_unknown_format_is_refused(demo, tmp_path):
    network, x = demo
    with pytest.raises(Error, match="no format of goldens 'zip'; have: folder, archive"):
        pipeline.golden(network, x[:3], tmp_path / "set", format="zip")


def test_the_command_line_writes_and_compares_archives(demo, tmp_path):
    network, x = demo
    network.save(tmp_path / "net.qnz")
    np.save(tmp_path / "x.npy", x[:12])
    path = str(tmp_path / "set")
    arguments = ["golden", str(tmp_path / "net.qnz"), "-d", str(tmp_path / "x.npy"), "-o", path]
    told = CliRunner().invoke(main, arguments)
    assert told.exit_code == 0, told.output
    assert "set.npz" in told.output
    found = dumps(tmp_path / "dump", network.session(), x[:12])
    told = CliRunner().invoke(main, ["compare", f"{path}.npz", str(found)])
    assert told.exit_code == 0, told.output
    assert CliRunner().invoke(main, [*arguments, "--format", "folder"]).exit_code == 0
    assert (tmp_path / "set" / "golden_check.c").is_file()
