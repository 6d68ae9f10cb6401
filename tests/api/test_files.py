"""Only regular files are read; a replaced file keeps its mode and the links to it."""

import json
import os
import stat
import sys

import networks
import numpy as np
import pytest
from click.testing import CliRunner

import qemu_nn
from qemu_nn.analysis import dumps
from qemu_nn.api import golden as pipeline
from qemu_nn.api.data import batches
from qemu_nn.cli.main import main
from qemu_nn.errors import Error, ModelError
from qemu_nn.io import arrays, files

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


READERS = {
    "a model": lambda path: qemu_nn.load(path.rename(path.with_suffix(".qnz"))),
    "a .tflite": lambda path: qemu_nn.load(path.rename(path.with_suffix(".tflite"))),
    "a .keras": lambda path: qemu_nn.load(path.rename(path.with_suffix(".keras"))),
    "a .h5": lambda path: qemu_nn.load(path.rename(path.with_suffix(".h5"))),
    "an .onnx": lambda path: qemu_nn.load(path.rename(path.with_suffix(".onnx"))),
    "a network.json": lambda path: qemu_nn.load(path.rename(path.with_suffix(".json"))),
    "arrays": arrays.read_npz,
    "calibration data": lambda path: batches(path.rename(path.with_suffix(".npy")), (4,), None),
    "an image": lambda path: list(
        batches(path.rename(path.with_suffix(".png")).parent, (5, 4, 1), "NHWC")
    ),
    "a dump": lambda path: dumps.read(path.rename(path.with_suffix(".txt")), "int8", 4),
}


@posix
@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_a_pipe_is_refused_and_not_waited_for(tmp_path, reader):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises((Error, OSError), match="not a regular file"):
        reader(tmp_path / "pipe")


@posix
def test_a_pipe_among_the_dumps_is_named(tmp_path):
    network = pipeline.Network(networks.classifier())
    pipeline.golden(network, networks.images(1), tmp_path / "set")
    for ending in dumps.ENDINGS:
        (tmp_path / ending).mkdir()
        pipe = tmp_path / ending / f"conv1{ending}"
        os.mkfifo(pipe)
        with pytest.raises(Error, match=f"cannot read {pipe}: it is not a regular file"):
            pipeline.compare(tmp_path / "set", tmp_path / ending)


@posix
def test_a_manifest_that_is_a_pipe_is_no_golden_set(tmp_path):
    os.mkfifo(tmp_path / "manifest.json")
    with pytest.raises(Error, match=r"contains 'manifest\.json'"):
        pipeline.golden(pipeline.Network(networks.classifier()), networks.images(1), tmp_path)


@posix
@pytest.mark.parametrize("write", ["bytes", "npz", "qnz"])
def test_a_file_that_is_replaced_keeps_its_mode_and_the_link_to_it(tmp_path, write):
    secret, link = tmp_path / "kept" / "secret", tmp_path / "link.qnz"
    secret.parent.mkdir()
    secret.write_bytes(b"earlier")
    secret.chmod(0o600)
    link.symlink_to("kept/secret")
    if write == "bytes":
        files.write_bytes(link, b"new")
    elif write == "npz":
        arrays.write_npz(link, {"x": np.arange(3)})
    else:
        pipeline.Network(networks.classifier()).save(link)
    assert os.readlink(link) == "kept/secret"
    assert mode(secret) == 0o600
    assert secret.read_bytes() != b"earlier"
    assert sorted(os.listdir(secret.parent)) == ["secret"]


@posix
def test_what_is_no_regular_file_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for name in ("pipe", "link"):
        with pytest.raises(ModelError, match=f"cannot write .*{name}: it is not a regular file"):
            files.write_bytes(tmp_path / name, b"new")
        with pytest.raises(Error, match=f"cannot write .*{name}: it is not a regular file"):
            files.check_place(tmp_path / name)
    assert sorted(os.listdir(tmp_path)) == ["link", "pipe"]
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_where_no_file_can_be_written_is_told_before_any_work(tmp_path, monkeypatch):
    with pytest.raises(Error, match=r"there is no folder .*none for page\.html: create it first"):
        files.check_place(tmp_path / "none" / "page.html")
    with pytest.raises(Error, match="is a folder: name a file in it"):
        files.check_place(tmp_path)
    files.check_place(tmp_path / "page.html")
    monkeypatch.setattr(os, "access", lambda path, how: False)  # as root may write anywhere
    with pytest.raises(Error, match="you may not write into the folder"):
        files.check_place(tmp_path / "page.html")


@pytest.mark.parametrize("verb", ["analyze", "datasheet", "validate", "quantize", "fine-tune"])
def test_every_verb_that_works_long_looks_at_its_output_first(tmp_path, verb):
    option = {"analyze": "--html", "validate": "--html"}.get(verb, "-o")
    asked = [verb, "missing.qnz", option, str(tmp_path / "none" / "out.qnz")]
    data = [] if verb == "validate" else ["-d", "missing.npz"]
    result = CliRunner().invoke(main, [*asked, *data])
    assert result.exit_code == 2
    assert "there is no folder" in result.output


def test_a_page_that_names_a_file_which_is_no_unicode_is_written(tmp_path):
    files.write_text(tmp_path / "page.html", "n\udce9t.qnz is \xfc")
    assert (tmp_path / "page.html").read_text("utf-8") == "n\\udce9t.qnz is \xfc"


def test_a_folder_of_models_is_told_from_a_folder_of_firmware(tmp_path):
    with pytest.raises(
        ModelError, match=r"without network\.json or saved_model\.pb: name a file in it"
    ):
        qemu_nn.load(tmp_path)


@pytest.fixture(params=["golden", "export"])
def written(request, tmp_path):
    """Return a function that writes a folder of generated files, and one of its C files."""
    network = pipeline.Network(networks.classifier())

    def golden(**how):
        pipeline.golden(network, networks.images(1), tmp_path / "folder", **how)

    def export(**how):
        pytest.importorskip("jinja2", reason="jinja2 is not installed")
        qemu_nn.export(network, tmp_path / "folder", **how)

    write, name = (golden, "x0/conv1.h") if request.param == "golden" else (export, "network.c")
    write()
    return write, tmp_path / "folder" / name


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_what_was_edited_since_is_overwritten_by_force_alone(written, tmp_path):
    write, path = written
    generated = path.read_text()
    path.write_text(generated + "/* mine */\n")
    before = contents(tmp_path)
    name = path.relative_to(tmp_path / "folder").as_posix()
    with pytest.raises(Error, match=f"contains '{name}', edited since this program .*force=True"):
        write()
    assert contents(tmp_path) == before
    write(force=True)
    assert path.read_text() == generated
    write()
    (tmp_path / "folder" / "mine.c").write_text("int mine;")
    with pytest.raises(Error, match=r"mine\.c"):
        write(force=True)


def test_what_is_edited_while_goldens_are_made_is_kept(tmp_path):
    network, folder = pipeline.Network(networks.classifier()), tmp_path / "folder"
    pipeline.golden(network, networks.images(1), folder)

    def editing(turns):
        for turn in turns:
            (folder / "golden_check.c").write_text("/* mine */")
            yield turn

    with pytest.raises(Error, match=r"golden_check\.c"):
        pipeline.golden(network, networks.images(1), folder, progress=editing)
    assert (folder / "golden_check.c").read_text() == "/* mine */"


def test_an_export_of_a_release_without_check_sums_needs_force(tmp_path):
    pytest.importorskip("jinja2", reason="jinja2 is not installed")
    network, folder = pipeline.Network(networks.classifier()), tmp_path / "folder"
    qemu_nn.export(network, folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"] = [file["path"] for file in manifest["files"]]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(Error, match="by an older release"):
        qemu_nn.export(network, folder)
    qemu_nn.export(network, folder, force=True)


def test_the_command_line_overwrites_by_force_alone(tmp_path):
    pytest.importorskip("jinja2", reason="jinja2 is not installed")
    model, x = tmp_path / "net.qnz", tmp_path / "x.npy"
    pipeline.Network(networks.classifier()).save(model)
    np.save(x, networks.images(1))
    for verb, name in (("golden", "golden_check.c"), ("export", "main.c")):
        words = [verb, str(model), "-d", str(x), "-o", str(tmp_path / verb)]
        codes = [CliRunner().invoke(main, words).exit_code]
        (tmp_path / verb / name).write_text("/* mine */")
        codes += [CliRunner().invoke(main, [*words, *more]).exit_code for more in ([], ["--force"])]
        assert codes == [0, 2, 0]


@posix
def test_a_name_that_no_file_can_have_is_a_sentence(tmp_path):
    with pytest.raises(ModelError, match="cannot write"):
        files.write_bytes(tmp_path / "a\0b", b"new")


@posix
def test_generated_files_keep_their_modes_and_links(written, tmp_path):
    write, path = written
    generated = path.read_bytes()
    path.rename(tmp_path / "elsewhere.c")
    path.symlink_to(os.path.relpath(tmp_path / "elsewhere.c", path.parent))
    (tmp_path / "elsewhere.c").chmod(0o640)
    (tmp_path / "folder" / "manifest.json").chmod(0o600)
    (tmp_path / "folder").chmod(0o700)
    link = os.readlink(path)
    (tmp_path / "elsewhere.c").write_bytes(b"edited")
    write(force=True)
    assert os.readlink(path) == link
    assert (tmp_path / "elsewhere.c").read_bytes() == generated
    assert mode(tmp_path / "elsewhere.c") == 0o640
    assert mode(tmp_path / "folder" / "manifest.json") == 0o600
    assert mode(tmp_path / "folder") == 0o700
    assert sorted(os.listdir(tmp_path)) == ["elsewhere.c", "folder"]


@posix
def test_links_to_folders_and_into_the_folder_itself_are_refused(written, tmp_path):
    write, path = written
    (tmp_path / "aside").mkdir()
    path.rename(tmp_path / "aside" / path.name)
    for target in (tmp_path / "aside", tmp_path / "folder" / "manifest.json"):
        path.symlink_to(target)
        with pytest.raises(Error, match="which this program did not write"):
            write(force=True)
        path.unlink()


@pytest.mark.parametrize("name", ["net.qnz", "net.keras"])
def test_a_file_with_another_content_than_its_name_says_is_told(tmp_path, name):
    (tmp_path / name).write_bytes(b"<html>not found</html>")
    with pytest.raises(ModelError, match=f"{name}: it is damaged, or no zip archive"):
        qemu_nn.load(tmp_path / name)
