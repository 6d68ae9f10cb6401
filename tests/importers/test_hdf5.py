"""HDF5 files are read by another process, so that a damaged one cannot stop or break this one."""

import io
import struct
import subprocess
import sys
from pathlib import Path

import keras_files as kf
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paths import SHARED

import qemu_nn
from qemu_nn.errors import Error, ModelError
from qemu_nn.importers import hdf5, hdf5_child

h5py = pytest.importorskip("h5py", reason="h5py is not installed")

STOPPED = "is damaged: the HDF5 library crashes on it, or takes more than 1 s"


def small(path):
    layer = kf.layer("Dense", "d", [np.eye(3), np.zeros(3)], batch_input_shape=[None, 3])
    return (kf.write_h5 if path.suffix == ".h5" else kf.write_keras)(path, kf.sequential(layer))


def endless():
    """Return a file with a text whose heap has a free space of no bytes; the library loops there
    forever.
    """
    stream = io.BytesIO()
    with h5py.File(stream, "w") as file:
        file.attrs["model_config"] = "{}"
    data = bytearray(stream.getvalue())
    heap = data.index(b"GCOL")
    text = heap + 16 + 16 + 8
    assert struct.unpack_from("<H", data, text) == (0,)  # the free space after the only text
    struct.pack_into("<Q", data, text + 8, 0)
    return bytes(data)


def test_what_the_library_never_ends_on_is_refused_in_time(tmp_path, monkeypatch):
    monkeypatch.setattr(hdf5, "_SECONDS", 1)
    (tmp_path / "m.h5").write_bytes(endless())
    with pytest.raises(ModelError, match=rf"m\.h5 {STOPPED}"):
        qemu_nn.load(tmp_path / "m.h5")


def test_the_damaged_file_of_a_user_is_refused_in_time(monkeypatch):
    path = SHARED / "defects" / "damaged_heap.h5"
    if not path.exists():
        pytest.skip(f"there is no {path}")
    monkeypatch.setattr(hdf5, "_SECONDS", 1)
    with pytest.raises(ModelError, match=STOPPED):
        qemu_nn.load(path)


@pytest.mark.parametrize(
    "program",
    [
        "while True: pass",
        "import time; time.sleep(600)",
        "import os; os.abort()",
        "print('{', flush=True); raise SystemExit(1)",
    ],
)
def test_whatever_the_other_process_does_is_a_sentence(tmp_path, monkeypatch, program):
    (tmp_path / "child.py").write_text(program)
    monkeypatch.setattr(hdf5_child, "__file__", str(tmp_path / "child.py"))
    monkeypatch.setattr(hdf5, "_SECONDS", 1)
    monkeypatch.setattr(hdf5, "_PATIENCE", 1)
    with pytest.raises(ModelError, match=STOPPED):
        qemu_nn.load(small(tmp_path / "m.h5"))


def test_limits_are_set_where_the_system_has_them(tmp_path):
    pytest.importorskip("resource", reason="Windows has no such limits")
    program = (
        "import resource, sys\n"
        "sys.path[:0] = [sys.argv[1]]\n"
        "import hdf5_child\n"
        "hdf5_child.lower_limit('RLIMIT_NOFILE', 7)\n"
        "hdf5_child.lower_limit('RLIMIT_NOFILE', 9)\n"
        "hdf5_child.lower_limit('RLIMIT_NONE', 9)\n"
        "print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
    )
    folder = str(Path(hdf5_child.__file__).parent)
    done = subprocess.run([sys.executable, "-c", program, folder], capture_output=True, text=True)
    assert done.stdout == "9\n"


def test_without_a_python_to_start_there_is_a_sentence(tmp_path, monkeypatch):
    path = small(tmp_path / "m.h5")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "none"))
    with pytest.raises(Error, match=r"cannot start .*none to read HDF5 files: No such file"):
        qemu_nn.load(path)
    monkeypatch.setattr(sys, "executable", None)
    with pytest.raises(Error, match=r"sys\.executable names none"):
        qemu_nn.load(path)


def test_a_script_without_a_guard_reads_them(tmp_path):
    """Read from another folder, with a module path that only this process knows."""
    path = small(tmp_path / "m.h5")
    script = tmp_path / "script.py"
    script.write_text(
        f"import sys\nsys.path[:] = {sys.path!r}\nimport qemu_nn\n"
        f"print(len(qemu_nn.load({str(path)!r}).graph.nodes))\n"
    )
    done = subprocess.run(
        [sys.executable, "-I", script], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("1\n", "")


def test_without_h5py_pip_says_how_to_get_it(tmp_path, monkeypatch):
    path = small(tmp_path / "m.h5")
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(Error, match=r"needs h5py, .*: pip install '\.\[keras\]'"):
        qemu_nn.load(path)


def test_arrays_come_as_they_are_and_from_this_file_alone():
    stream = io.BytesIO()
    values = {"half": np.float16, "single": np.float32, "double": np.float64, "large": ">f8"}
    with h5py.File(stream, "w") as file:
        group = file.create_group("data/a")
        for name, dtype in values.items():
            group.create_dataset(name, data=np.arange(6).reshape(2, 3), dtype=dtype)
        group.create_dataset("packed", data=np.ones(1000, "f4"), compression="gzip", shuffle=True)
        group["single_again"] = group["single"]
        group["soft"] = h5py.SoftLink("/data/a/single")
        group["back"] = file["data"]
        group.create_dataset("none", data=h5py.Empty("f4"))
        group.create_dataset("number", data=np.float32(3))
        file["other"] = np.arange(4.0)
        group.attrs["names"] = [b"x", b"\xff"]
    found = hdf5.read_hdf5(stream.getvalue(), "it", "keras", "data", "names")
    for name, dtype in values.items():
        array = found.arrays[f"data/a/{name}"]
        assert array.dtype == (np.float64 if np.dtype(dtype).itemsize > 4 else np.float32)
        np.testing.assert_array_equal(array, [[0, 1, 2], [3, 4, 5]])
    np.testing.assert_array_equal(found.arrays["data/a/packed"], np.ones(1000))
    assert found.arrays["data/a/number"] == 3
    assert sorted(found.arrays) == sorted(
        [*(f"data/a/{name}" for name in values), "data/a/number", "data/a/packed"]
    )
    assert found.unfit == {"data/a/none": "is not a plain array of floats"}
    assert found.groups == {"", "data", "data/a"}
    assert found.texts["data/a"] == {"names": ["x", "\udcff"]}


@pytest.mark.parametrize("examples", [10, pytest.param(60, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["m.h5", "m.keras"])
def test_a_damaged_file_is_one_sentence_or_a_network(tmp_path, monkeypatch, name, examples):
    monkeypatch.setattr(hdf5, "_SECONDS", 2)
    whole = small(tmp_path / name).read_bytes()

    @settings(max_examples=examples)  # a process for each
    @given(st.data())
    def damaged(data):
        content = bytearray(whole)
        if data.draw(st.booleans()):
            content = content[: data.draw(st.integers(0, len(content) - 1))]
        else:
            for _ in range(data.draw(st.integers(1, 5))):
                content[data.draw(st.integers(0, len(content) - 1))] = data.draw(
                    st.integers(0, 255)
                )
        broken = tmp_path / f"broken{name}"
        broken.write_bytes(content)
        try:
            qemu_nn.load(broken)
        except Error as error:
            assert str(error).count("\n") == 0  # noqa: PT017

    damaged()
