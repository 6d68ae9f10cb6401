"""Other modes of floating-point numbers than those of a new process change no bit; and what rows
leave of their vectors."""

import ctypes
import mmap
import platform
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest
import table_rows
from bits import hold
from channel_sums import ONE_OF_EACH, unclamped_call
from traced_runs import DEVICE

from qemu_nn import cmsis
from qemu_nn.kernels import table as kernels
from qemu_nn.runtime.session import Session, draw_inputs
from qemu_nn.targets import profile
from qemu_nn.testing.builder import Builder
from qemu_nn.testing.s8_builder import AffineBuilder

UPWARD = {"x86_64": 0x800, "aarch64": 0x400000}.get(platform.machine())

pytestmark = [
    pytest.mark.caps,
    pytest.mark.skipif(
        UPWARD is None or not sys.platform.startswith("linux"),
        reason="this host is told otherwise how to round",
    ),
]


@contextmanager
def rounding_up():
    library = ctypes.CDLL(None)
    before = library.fegetround()
    assert library.fesetround(UPWARD) == 0
    try:
        yield
    finally:
        library.fesetround(before)


def built():
    net = AffineBuilder("modes", (9, 9, 16))
    net.convolve("wide", 40, (3, 3))
    net.depthwise("deep", (3, 3))
    net.convolve("flat", 10, (1, 1), relu=False)
    net.average("mean")
    net.softmax()
    return net.graph()


def variants():
    """Run the network; without a name, on the best rows of this host."""
    avx2 = kernels.cpu_features() & kernels.FEATURES["avx2"]
    return [None, "avx2"] if avx2 else [None]


@pytest.mark.parametrize("variant", variants())
@pytest.mark.parametrize("threads", [1, 2])
def test_a_run_keeps_its_bits_when_the_host_rounds_up(variant, threads):
    graph = built()
    x = draw_inputs(graph, 40)
    want = Session(graph, DEVICE, variant).run(x)
    with rounding_up():
        got = Session(graph, DEVICE, variant, threads=threads).run(x)
    for name, values in want.items():
        np.testing.assert_array_equal(got[name], values)


def test_a_stream_keeps_its_bits_when_the_host_rounds_up():
    graph = built()
    x = draw_inputs(graph, 3)
    want = Session(graph, DEVICE).run(x)["softmax"]
    stream = Session(graph, DEVICE, *variants()[-1:]).stream()
    with rounding_up():
        got = [stream.step(one) for one in x]
    np.testing.assert_array_equal([each["softmax"] for each in got], want)


def test_a_call_keeps_its_bits_when_the_host_rounds_up():
    with rounding_up():
        hold("arm_convolve_1x1_s8_fast", unclamped_call(0), ONE_OF_EACH)


@pytest.mark.parametrize("name", ["tflm_logistic_s8", "tflm_tanh_s8"])
def test_tables_keep_their_bits_when_the_host_rounds_up(name):
    x = np.arange(-128, 128).astype(np.int8)
    params = {**table_rows.CASES[name].params, "length": 256}
    want = list(table_rows.outputs(name, params, x))
    with rounding_up():
        got = list(table_rows.outputs(name, params, x))
    for (_, before), (_, after) in zip(want, got):
        for variant, values in before.items():
            np.testing.assert_array_equal(after[variant], values, variant)


def upper_halves_in_use():
    """Return the AVX state of XGETBV: MOV ECX, 1; XGETBV; RET, called as a function."""
    code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(bytes.fromhex("b901000000 0f01d0 c3"))
    address = ctypes.addressof(ctypes.c_char.from_buffer(code))
    return bool(ctypes.CFUNCTYPE(ctypes.c_uint32)(address)() & 4)


def says_what_is_in_use():
    with suppress(OSError):
        return " xgetbv1 " in Path("/proc/cpuinfo").read_text(encoding="ascii")
    return False


@pytest.mark.skipif(not says_what_is_in_use(), reason="needs XGETBV that says what is in use")
@pytest.mark.parametrize("length", [1, 31, 32, 33, 100])
def test_upper_halves_of_vectors_are_left_empty(length):
    """Code for SSE would take them along: 70 ns each time that it meets them."""
    network = Builder("one", (length,))
    network.relu("relu")
    x = np.ones((1, length), np.int8)
    Session(network.graph(), profile()).run(x)
    assert not upper_halves_in_use()
    cmsis.arm_relu_q7(data=x.ravel(), size=length)
    assert not upper_halves_in_use()
