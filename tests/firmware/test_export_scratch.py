"""Self-tests find scratch memory that shares bytes with tensors, although the PC needs none."""

import re

import affine_networks
import numpy as np
import pytest
from exported import check, needs, write

from qemu_nn.api import golden as pipeline

pytestmark = pytest.mark.compiles

everywhere = pytest.mark.parametrize(
    "target", [pytest.param("pc", marks=needs("pc")), pytest.param("m4", marks=needs("m4"))]
)


def fail(folder, earlier="", later="", target="pc"):
    """Replace a text in network.c, once; return the failures of the self-test."""
    path = folder / "network.c"
    text = path.read_text()
    assert earlier in text
    path.write_text(text.replace(earlier, later, 1))
    status, lines = check(folder, target)
    assert status != 0
    return [line for line in lines if line.startswith("FAIL")]


@pytest.fixture
def small(tmp_path):
    """Return a folder whose layer `conv` is at 320 of the arena, live until `sum`."""
    data = affine_networks.images(1)
    return write(tmp_path / "small", affine_networks.small(), data=data)


@everywhere
def test_scratch_memory_on_the_output_is_found(small, target):
    wrong = fail(small, "AT(void, arena_memory, 480)", "AT(void, arena_memory, 320)", target)
    assert wrong[0] == "FAIL ctx of arm_convolve_wrapper_s8 overlaps output"
    assert wrong[1].startswith("FAIL layer=x0/conv index=0 got=-91 ")
    assert wrong[2:] == ["FAIL: 2 failures"]


@needs("pc")
def test_scratch_memory_on_the_input_is_found(small):
    wrong = fail(small, "AT(void, arena_memory, 480)", "AT(void, arena_memory, 100)")
    assert wrong[0] == "FAIL ctx of arm_convolve_wrapper_s8 overlaps input"
    assert wrong[1].startswith("FAIL layer=x0/conv index=")


@needs("pc")
def test_scratch_memory_on_a_tensor_of_a_later_call_is_found(small):
    path = small / "network.c"
    head, call, rest = path.read_text().partition("/* pw:")
    none = ".buf = NULL, .size = 0"
    rest = rest.replace(none, ".buf = AT(void, arena_memory, 320), .size = 32", 1)
    path.write_text(head + call + rest)
    wrong = fail(small)
    assert wrong == ["FAIL layer=x0/conv overwritten=x0/pw", "FAIL: 1 failures"]


@needs("pc")
def test_the_buffers_of_q7_functions_are_found_on_the_output(tmp_path):
    network, x, _ = pipeline.example()
    folder = write(tmp_path / "demo", network, data=x[:1])
    path = folder / "network.c"
    head, call, rest = path.read_text().partition("arm_convolve_HWC_q7_fast(")
    output = re.search(r"AT\(q7_t, arena_memory, (\d+)\),\s+AT\(q15_t", rest)[1]
    rest = re.sub(r"(?<=AT\(q15_t, arena_memory, )\d+", output, rest, count=1)
    path.write_text(head + call + rest)
    wrong = fail(folder)
    assert wrong[0] == "FAIL bufferA of arm_convolve_HWC_q7_fast overlaps Im_out"
    assert wrong[1].startswith("FAIL layer=x0/conv2 index=")


@needs("pc")
def test_junk_in_scratch_memory_changes_no_golden(tmp_path):
    graph = affine_networks.small()
    x = np.zeros((1, 9, 8, 3), np.int8)
    folder = write(tmp_path / "m55", graph, data=x, target="cortex-m55")
    assert "spoil(scratch, 1);" in (folder / "kernels" / "stand_in.c").read_text()
    assert check(folder)[0] == 0
