"""Threads change no bit, wait for nobody, and end with their session."""

import gc
import os
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hosts import cap_at
from paths import ROOT
from s8_layer_calls import window

from qemu_nn.bench.networks import NETWORKS
from qemu_nn.bench.s8_networks import S8_NETWORKS
from qemu_nn.bench.wuqi_networks import NPU_NETWORKS
from qemu_nn.runtime import split as cut
from qemu_nn.runtime.session import Session, draw_inputs
from qemu_nn.targets import NPU, profile
from qemu_nn.testing.cases import Case

pytestmark = pytest.mark.caps

ALL = {**NETWORKS, **S8_NETWORKS, **NPU_NETWORKS}
LARGE = [name for name in ALL if name.startswith("mobilenet_100")]
SMALL = [name for name in ALL if name not in LARGE]

#: Seconds after which a process hangs, however busy the host is.
HUNG = 600

needs_posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs POSIX threads")


def session(name, **how):
    """Return a session of a shipped network, on a device with its functions."""
    device = NPU if name in NPU_NETWORKS else profile(cmsis="7.0.0")
    device = profile() if name in NETWORKS else device
    return Session(ALL[name](), device, **how)


@pytest.fixture
def cut_all(monkeypatch):
    """Whatever can be cut is cut, however small."""
    monkeypatch.setattr(cut, "_CALL", 0.0)
    monkeypatch.setattr(cut, "_PART", 1e-9)
    monkeypatch.setattr(cut, "_NETWORK", 0.0)


def equal(got, want, samples):
    assert set(got) == set(want)
    for name, values in want.items():
        np.testing.assert_array_equal(got[name], values[:samples], name)


def compare(name, batches):
    x = draw_inputs(ALL[name](), max(batches))
    want = session(name).run(x)
    for threads in (2, 3):
        shared = session(name, threads=threads)
        for samples in batches:
            equal(shared.run(x[:samples]), want, samples)


@pytest.mark.parametrize("name", SMALL)
def test_threads_change_no_bit_of_a_network_cut_wherever_it_can_be(name, cut_all):
    compare(name, (1, 2, 33))


@pytest.mark.parametrize("name", SMALL)
def test_convolutions_of_fast_rows_are_cut(name, cut_all, monkeypatch):
    cap_at(monkeypatch, "avx2")
    steps = session(name, threads=3).plan.steps
    large = [step for step in steps if step.node.output.shape[0] >= 4 and step.row.cpu]
    windows = [step for step in large if "convolve" in step.row.op.name]
    assert all(step.parts for step in windows if len(step.node.output.shape) == 3)


@pytest.mark.parametrize("name", ["arm_convolve_wrapper_s8", "arm_depthwise_conv_wrapper_s8"])
def test_images_of_one_column_are_cut(name, cut_all):
    """Fast rows lay them down, and so must their parts be."""
    column = {**window("h", 90, 9, 2, 1, 4, 45), **window("w", 1, 1, 1, 1, 0, 1)}
    own = {"filter_c": 40, "output_c": 40} if "depthwise" not in name else {"ch_mult": 1}
    params = {**column, **own, "input_c": 40, "batches": 1, "input_offset": 3, "output_offset": 4}
    graph, _ = Case(name, {**params, "act_min": -128, "act_max": 127}).graph()
    x = draw_inputs(graph, 3)
    want = Session(graph, profile(cmsis="7.0.0"), variant="ref").run(x)
    for threads in (1, 3):
        shared = Session(graph, profile(cmsis="7.0.0"), threads=threads)
        equal(shared.run(x), want, 3)
        fast = shared.plan.steps[0].row.kind == "fast"
        assert bool(shared.plan.steps[0].parts) == (fast and threads > 1)


@pytest.mark.parametrize("name", SMALL)
def test_threads_change_no_bit_of_a_small_network(name):
    compare(name, (1, 2, 33))


@pytest.mark.parametrize("name", LARGE)
def test_threads_change_no_bit_of_a_large_network(name):
    compare(name, (1, 3))


@pytest.mark.parametrize("name", LARGE)
def test_a_large_network_is_cut(name, monkeypatch):
    cap_at(monkeypatch, "avx2")
    assert any(step.parts for step in session(name, threads=2).plan.steps)


def test_a_small_network_is_not_cut():
    assert not any(step.parts for step in session("lenet5", threads=2).plan.steps)


def test_a_trace_is_not_cut():
    x = draw_inputs(ALL["kws_dscnn_s8"](), 2)
    trace = session("kws_dscnn_s8", threads=2).run(x, trace=True)
    equal(trace, session("kws_dscnn_s8").run(x, trace=True), 2)


def test_results_that_leave_between_cut_steps(cut_all, monkeypatch):
    """Check every output of a network with branches, each stored while later steps are split."""
    cap_at(monkeypatch, "avx2")
    graph = ALL["resnet8_s8"]()
    names = tuple(node.name for node in graph.nodes)
    graph = type(graph)(graph.name, graph.inputs, graph.nodes, names, graph.arrays)
    x = draw_inputs(graph, 3)
    device = profile(cmsis="7.0.0")
    want = Session(graph, device).run(x)
    shared = Session(graph, device, threads=2)
    assert sum(bool(step.parts) for step in shared.plan.steps) > 5
    for samples in (1, 3):
        equal(shared.run(x[:samples]), want, samples)


@pytest.mark.parametrize("name", ["cifar10", "lenet5"])
def test_a_session_is_called_from_several_threads_at_a_time(name, cut_all):
    shared = session(name, threads=2)
    x = draw_inputs(shared.graph, 24)
    want = session(name).run(x)
    with ThreadPoolExecutor(4) as pool:
        for start in range(20):
            sizes = [1 + (start + i) % 5 for i in range(4)]
            for size, got in zip(sizes, pool.map(shared.run, [x[:n] for n in sizes])):
                equal(got, want, size)


def in_a_child(work):
    """Exit status of a forked process that does some work; 9: it hung."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    timer = threading.Timer(HUNG, os.kill, (child, 9))
    timer.start()
    _, status = os.waitpid(child, 0)
    timer.cancel()
    return status


@needs_posix
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("name", ["cifar10", "vww_s8"])
def test_a_session_goes_on_in_a_forked_child(name, cut_all):
    shared = session(name, threads=2)
    x = draw_inputs(shared.graph, 5)
    want = shared.run(x)

    def work():
        for samples in (1, 5, 4):
            equal(shared.run(x[:samples]), want, samples)

    assert in_a_child(work) == 0
    work()


@needs_posix
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_may_let_go_of_a_session():
    shared = [session("cifar10", threads=2)]
    shared[0].run(draw_inputs(shared[0].graph, 5))
    assert in_a_child(lambda: (shared.clear(), gc.collect())) == 0


def threads_now():
    return {path.name for path in Path("/proc/self/task").iterdir()}


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs Linux")
def test_threads_start_with_the_first_call_and_end_with_the_session():
    gc.collect()
    before = threads_now()
    shared = session("lenet5", threads=3)
    shared.run(draw_inputs(shared.graph, 1))
    assert not threads_now() - before, "one sample of a small network needs no thread"
    shared.run(draw_inputs(shared.graph, 128))
    assert len(threads_now() - before) == 2
    del shared
    gc.collect()
    end = time.monotonic() + HUNG
    while threads_now() - before and time.monotonic() < end:  # joined, but the kernel lists it
        time.sleep(0.001)
    assert not threads_now() - before


EXIT = """
import sys, threading
from qemu_nn.bench.networks import cifar10
from qemu_nn.runtime.session import Session, draw_inputs
from qemu_nn.targets import profile
session = Session(cifar10(), profile(), threads=2)
x = draw_inputs(session.graph, 64)
session.run(x)
def forever():
    while True:
        session.run(x)
if "daemon" in sys.argv:
    threading.Thread(target=forever, daemon=True).start()
session.run(x)
"""


@pytest.mark.parametrize("how", ["plain", "daemon"])
def test_the_interpreter_ends_with_threads_asleep_or_at_work(how):
    run = [sys.executable, "-c", EXIT, how]
    done = subprocess.run(run, capture_output=True, text=True, timeout=HUNG)
    assert done.returncode == 0, done.stderr


@pytest.mark.compiles
@needs_posix
@pytest.mark.skipif(not shutil.which("gcc"), reason="needs gcc")
@pytest.mark.parametrize("sanitizer", ["thread", "address,undefined"])
def test_the_thread_pool_is_clean_under_a_sanitizer(sanitizer, tmp_path):
    program = tmp_path / "thread_pool"
    core = ROOT / "csrc"
    sources = [ROOT / "tests/c/thread_pool.c", *sorted((core / "runtime").glob("*.c"))]
    flags = ["-std=c11", "-g", "-O1", f"-fsanitize={sanitizer}", "-pthread"]
    build = ["gcc", *flags, f"-I{core / 'include'}", *sources, "-o", program]
    if subprocess.run(build, capture_output=True).returncode:
        pytest.skip(f"this gcc has no -fsanitize={sanitizer}")
    environment = {**os.environ, "LD_PRELOAD": ""}
    run = {"capture_output": True, "text": True, "timeout": HUNG, "env": environment}
    done = subprocess.run([program], **run)
    if "unexpected memory mapping" in done.stderr:
        pytest.skip("ThreadSanitizer does not run on this kernel")
    assert done.returncode == 0, done.stderr
