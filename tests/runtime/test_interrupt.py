"""Ctrl-C ends a run soon, in whichever threads it is computed; nothing is left half done."""

import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial

import numpy as np
import pytest
from paths import ROOT

from qemu_nn.bench.networks import NETWORKS
from qemu_nn.qnz import package as package
from qemu_nn.runtime import interrupt
from qemu_nn.runtime.session import Session
from qemu_nn.targets import profile

#: Far beyond what a stop takes, far below what any of these runs would take to its end.
PATIENCE = 20

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows sends no SIGINT to one process")

#: A batch that takes plain rows minutes, stopped; then the same session computes a few samples.
PROGRAM = """
import numpy as np
from qemu_nn._native import ffi
from qemu_nn.bench.networks import NETWORKS
from qemu_nn.runtime import compiled
from qemu_nn.runtime.session import Session, draw_inputs
from qemu_nn.targets import profile

{before}
graph = NETWORKS["cifar10"]()
few = draw_inputs(graph, 3)
session = Session(graph, profile(), threads={threads})
endless = np.zeros(({samples}, *graph.input.shape), np.int8)
try:
    print("begun", flush=True)
    session.run(endless, trace={trace})
    print("done")
except KeyboardInterrupt:
    print("stopped")
got, want = session.run(few), Session(graph, profile()).run(few)
print("same" if all(np.array_equal(got[name], want[name]) for name in want) else "differs")
"""


def stopped(program, *arguments):
    """Exit status and output of a child that gets an interrupt soon after its first line."""
    run = [sys.executable, "-c", program, *map(str, arguments)]
    pipe = subprocess.PIPE
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "QEMU_NN_CPU": "none"}
    # A job that a shell put into the background ignores the signal, and so would its children.
    heeds = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    how = {"stdout": pipe, "stderr": pipe, "text": True, "env": environment, "preexec_fn": heeds}
    with subprocess.Popen(run, **how) as child:
        timer = threading.Timer(10 * PATIENCE, child.kill)
        timer.start()
        try:
            first = child.stdout.readline()
            time.sleep(0.5)
            child.send_signal(signal.SIGINT)
            sent = time.monotonic()
            out, err = child.communicate()
        finally:
            timer.cancel()
    assert time.monotonic() - sent < PATIENCE
    return child.returncode, first + out, err


@pytest.mark.parametrize(
    ("threads", "trace", "before"),
    [
        (1, False, ""),
        (1, True, ""),
        (2, False, ""),
        (3, False, "compiled._thread_pool = lambda threads: ffi.NULL"),
    ],
    ids=["one thread", "a trace", "threads of C", "threads of Python"],
)
def test_an_interrupt_ends_an_endless_batch_and_the_session_goes_on(threads, trace, before):
    samples = 30_000 if trace else 100_000
    program = PROGRAM.format(threads=threads, trace=trace, samples=samples, before=before)
    assert stopped(program) == (0, "begun\nstopped\nsame\n", "")


COMMAND_LINE = """
from qemu_nn import __main__, cli
print("begun", flush=True)
__main__.start()
"""


@pytest.fixture
def folder(tmp_path):
    """Return a network that takes plain rows minutes, and its inputs, a file of zeros."""
    graph = NETWORKS["cifar10"]()
    package.save_package(graph, tmp_path / "net.qnz")
    shape = (50_000, *graph.input.shape)
    np.lib.format.open_memmap(tmp_path / "x.npy", "w+", np.int8, shape)
    return tmp_path


@pytest.mark.parametrize(
    "verb",
    [
        ["run", "-o", "out.npz"],
        ["golden", "--threads", "2", "-o", "out"],
    ],
    ids=["run", "golden"],
)
def test_an_interrupt_on_the_command_line_is_a_sentence_and_leaves_no_file(verb, folder):
    verb = [folder / word if word.startswith("out") else word for word in verb]
    arguments = (verb[0], folder / "net.qnz", "-d", folder / "x.npy", *verb[1:])
    assert stopped(COMMAND_LINE, *arguments) == (130, "begun\n", "interrupted\n")
    assert sorted(path.name for path in folder.iterdir()) == ["net.qnz", "x.npy"]


@pytest.fixture
def endless(monkeypatch):
    """Return a session on plain rows, and a batch that takes minutes."""
    monkeypatch.setenv("QEMU_NN_CPU", "none")
    graph = NETWORKS["cifar10"]()
    return Session(graph, profile()), np.zeros((100_000, *graph.input.shape), np.int8)


def test_runs_in_other_threads_end_with_the_block_that_waits_for_them(endless):
    session, batch = endless
    runs = []

    def fail():
        with interrupt.open_pool(2) as pool:
            runs.extend(pool.submit(session.run, batch) for _ in range(3))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert all(run.cancelled() or isinstance(run.exception(), KeyboardInterrupt) for run in runs)


def test_whatever_a_signal_handler_raises_ends_the_run(endless):
    def too_late(*_):
        raise TimeoutError("too late")

    session, batch = endless
    begun = time.monotonic()
    before = signal.signal(signal.SIGALRM, too_late)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(TimeoutError, match="too late"):
            session.run(batch)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - begun < PATIENCE
