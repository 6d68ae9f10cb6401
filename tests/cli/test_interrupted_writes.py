"""Commands that a signal, a full disk or a second process stops leave nothing half written."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import qemu_nn
from qemu_nn.errors import Error
from qemu_nn.io import files

DEMO = Path(qemu_nn.__file__).parent / "demo"
MODEL, FLOAT, DATA = DEMO / "digits.qnz", DEMO / "digits.onnx", DEMO / "digits.npz"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with np.load(DATA) as arrays:
        np.save("x.npy", arrays["x"][:20])
    return tmp_path


def process(*arguments, **options):
    """Return another Python that finds the same package."""
    paths = [str(DEMO.parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


# ---- signals ----

#: The command line; a function of its work says that it has begun, and takes 20 seconds.
SLOW = """
import sys, time
import {module} as module
def slow(*_, **__):
    print("begun", flush=True)
    time.sleep(20)
module.{function} = slow
from qemu_nn.__main__ import start
start()
"""
WORK = {
    "export": ("qemu_nn.firmware.project", "write", ("export", MODEL, "-o", "out")),
    "golden": (
        "qemu_nn.firmware.golden",
        "format_checksum",
        ("golden", MODEL, "-d", "x.npy", "--limit", "2", "-o", "g"),
    ),
    "run": (
        "qemu_nn.io.npy_writer",
        "shutil.copyfileobj",
        ("run", MODEL, "-d", "x.npy", "-o", "o.npz"),
    ),
}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows ends a process without a signal")
@pytest.mark.parametrize(
    ("command", "name"), [("export", "SIGTERM"), ("golden", "SIGHUP"), ("run", "SIGTERM")]
)
def test_a_signal_leaves_no_temporary_files(folder, command, name):
    module, function, arguments = WORK[command]
    before = sorted(folder.iterdir())
    program = SLOW.format(module=module, function=function)
    number = getattr(signal, name)

    def obey():  # under nohup, programs inherit that they ignore SIGHUP
        signal.signal(number, signal.SIG_DFL)

    with process("-c", program, *arguments, preexec_fn=obey) as running:
        while running.stdout.readline() != "begun\n":
            assert running.poll() is None, running.stderr.read()
        assert sorted(folder.iterdir()) != before  # there is something to remove
        running.send_signal(number)
        err = running.stderr.read()
    assert running.returncode == 128 + number
    assert "Traceback" not in err
    assert sorted(folder.iterdir()) == before


# ---- full disks ----

WRITES = {
    "out.npz": ("run", MODEL, "-d", "x.npy", "-o", "out.npz"),
    "out.npy": ("run", MODEL, "-d", "x.npy", "-o", "out.npy"),
    "out/softmax.npy": ("run", MODEL, "-d", "x.npy", "-o", "out"),
    "goldens.npz": ("golden", MODEL, "-d", "x.npy", "-o", "goldens.npz"),
    "goldens": ("golden", MODEL, "-d", "x.npy", "--limit", "1", "-o", "goldens"),
    "firmware": ("export", MODEL, "-o", "firmware"),
    "net.qnz": ("quantize", FLOAT, "-d", DATA, "-o", "net.qnz"),
    "float.qnz": ("import", FLOAT, "-o", "float.qnz"),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_full_disk_names_the_file(folder, name):
    resource = pytest.importorskip("resource", reason="this system limits no sizes of files")

    def limit():  # each file, which stops a write as a full disk does
        resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))

    with process("-m", "qemu_nn", *WRITES[name], preexec_fn=limit) as running:
        running.stdout.read()
        err = running.stderr.read().splitlines()[-1]
    assert running.returncode == 2
    assert err.startswith("Error: cannot write ")
    assert err.count("cannot write") == 1
    assert f"{name}: File too large" in err
    assert [path for path in folder.rglob("*") if path.is_file()] == [folder / "x.npy"]


# ---- two processes ----


def test_a_second_process_does_not_search_with_the_same_file(folder):
    search = ("quantize", FLOAT, "-d", DATA, "--method", "search", "--limit", "20")
    resume = ("--resume", "kept.json", "-o", "net.qnz")
    with files.lock_file(Path("kept.json")):
        with process("-m", "qemu_nn", *search, *resume) as running:
            err = running.stderr.read().splitlines()[-1]
        assert running.returncode == 2
        assert err == (
            "Error: another process uses kept.json: wait for its end or name another file"
        )
        assert not Path("net.qnz").exists()
    with process("-m", "qemu_nn", *search, *resume) as running:
        err = running.stderr.read()
    assert running.returncode == 0, err
    assert not Path(".kept.json.lock").exists()


def test_a_lock_ends_with_its_process(folder):
    program = (
        "import os, pathlib, signal\n"
        "from qemu_nn.io import files\n"
        "with files.lock_file(pathlib.Path('kept.json')):\n"
        "    print('locked', flush=True)\n"
        "    input()\n"
    )
    with process("-c", program, stdin=subprocess.PIPE) as running:
        assert running.stdout.readline() == "locked\n"
        with pytest.raises(Error, match="another process uses"), files.lock_file(Path("kept.json")):
            pass
        running.kill()
    assert Path(".kept.json.lock").exists()
    with files.lock_file(Path("kept.json")):
        pass
    assert not Path(".kept.json.lock").exists()


def test_a_lock_that_its_owner_removed_meanwhile_is_none(folder, monkeypatch):
    path = Path("kept.json")

    def removed(number):
        Path(".kept.json.lock").unlink()

    monkeypatch.setattr(files, "_lock", removed)
    with pytest.raises(Error, match="another process uses"), files.lock_file(path):
        pass


def test_no_file_is_never_locked():
    with files.lock_file(None), files.lock_file(None):
        pass
    with (
        pytest.raises(Error, match="there is no folder nowhere"),
        files.lock_file(Path("nowhere/a")),
    ):
        pass
