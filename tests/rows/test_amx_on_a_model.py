"""The AMX rows give the bits of the plain rows, on hosts that have AVX-512 VNNI but no AMX.

Their few instructions are exchanged for a model of them in plain C (tests/c/amx_model.h), all else
is the source that ships. That the shipped rows have the instructions, of the right tiles, is read
from their machine code. A processor that has AMX has run them, too, and found no wrong bit
(docs/decisions/010-fast-rows.md); on one, tests/rows/test_rows_equal_plain_rows.py does.
"""

import ctypes
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hosts import asks_tiles, needs_x86
from layer_calls import dense, same_s8, square
from modelled import (
    CSRC,
    HERE,
    MODELS,
    compile_to,
    disassembled,
    hold_rows,
    needs_avx512,
    needs_gcc,
    object_of,
)

from qemu_nn import cmsis
from qemu_nn.bench.networks import cifar10
from qemu_nn.errors import Error
from qemu_nn.functions import FUNCTIONS
from qemu_nn.kernels import table as kernels
from qemu_nn.runtime.session import Session, draw_inputs
from qemu_nn.targets import profile

pytestmark = pytest.mark.compiles

SOURCES = (
    "q/dense_q7_amx.c",
    "s/weighted_s8_amx.c",
    "wuqi/convolve_s8_amx.c",
    "wuqi/convolve_u8_amx.c",
)
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
ROWS = [row for row in kernels.ROWS if row.variant == "amx"]
EVERYTHING = sum(kernels.FEATURES.values())

INSTRUCTIONS = ("sttilecfg", "ldtilecfg", "tileloadd", "tilestored")
PRODUCTS = {"tdpbssd": 3, "tdpbusd": 1}  # signed pixels, unsigned ones: the prefix of VEX


@pytest.mark.slow
@needs_gcc
@needs_avx512
@pytest.mark.parametrize("flags", [(), SANITIZERS], ids=["bits", "sanitized"])
def test_the_rows_equal_the_plain_ones(modelled, tmp_path, flags):
    """Outputs between canaries; sanitized: scratch memory and weights of exactly their sizes."""
    own = [compile_to(tmp_path / object_of(s), s, *MODELS, *flags, "-O1") for s in SOURCES]
    others = [path for path in modelled.glob("*.o") if path.name not in map(object_of, SOURCES)]
    said = hold_rows([*own, *others], tmp_path / "rows", "amx", 150 if flags else 1000, *flags)
    assert len(re.findall(r"\.amx: \d+ calls", said)) == len(ROWS)


@needs_gcc
@needs_x86
@pytest.mark.parametrize("source", SOURCES)
def test_the_shipped_rows_have_the_instructions(tmp_path, source):
    code = disassembled(compile_to(tmp_path / "rows.o", source, "-O3"))
    count = {name: len(re.findall(rf"\s{name}\b", code)) for name in INSTRUCTIONS}
    assert all(count.values()), count
    # VEX.128.<prefix>.0F38.W0 5E: ModRM.reg += ModRM.rm, pixels, times VEX.vvvv, signed bytes.
    product = "tdpbusd" if "_u8_" in source else "tdpbssd"
    dots = re.findall(rf"c4 e2 ([0-9a-f]{{2}}) 5e ([0-9a-f]{{2}}) +\t{product}", code)
    assert len(dots) == len(re.findall(r"\btdpb", code)) > 0
    for vex, modrm in [(int(a, 16), int(b, 16)) for a, b in dots]:
        sums, pixels, weights = modrm >> 3 & 7, modrm & 7, ~vex >> 3 & 15
        assert (vex & 0x87, modrm >> 6) == (PRODUCTS[product], 3)
        two_by_two, four_by_one = (4 + sums // 2, 6 + sums % 2), (4 + sums % 2, 6)
        assert (pixels, weights) in (two_by_two, four_by_one), "four tiles of sums"


@needs_gcc
@pytest.mark.parametrize("source", SOURCES)
def test_the_model_has_none_of_them(tmp_path, source):
    code = disassembled(compile_to(tmp_path / "rows.o", source, "-O1", *MODELS))
    assert not re.search("|".join((*INSTRUCTIONS, *PRODUCTS)), code)


PALETTE = r"""
int palette(void) {
    unsigned char configured[64];
    __asm__ volatile("sttilecfg %0" : "=m"(configured));
    return configured[0];
}
"""


def has_tiles():
    """True if the processor has AMX itself, not a model of it."""
    told = Path("/proc/cpuinfo")
    mine = kernels.cpu_features() & kernels.FEATURES["amx"]
    return bool(mine) and told.exists() and "amx_tile" in told.read_text(encoding="utf-8")


@needs_gcc
@pytest.mark.skipif(not has_tiles(), reason="needs AMX")
def test_a_run_leaves_no_tiles_configured(tmp_path):
    """Rows do, so that the next one need not configure them again."""
    (tmp_path / "palette.c").write_text(PALETTE, encoding="utf-8")
    library = tmp_path / "palette.so"
    subprocess.run(["gcc", "-shared", "-fPIC", tmp_path / "palette.c", "-o", library], check=True)
    palette = ctypes.CDLL(str(library)).palette
    graph = cifar10()
    session = Session(graph, profile(), "amx")
    assert "amx" in {step.row.variant for step in session.plan.steps}
    x = draw_inputs(graph, 3)
    session.run(x)
    assert palette() == 0
    session.stream().step(x[0])
    assert palette() == 0
    Session(graph, profile(), threads=2).run(x)
    assert palette() == 0
    call = square(BASIC, 16, 32, 32, 3)
    arrays = {a.name: np.zeros(a.shape(call), a.dtype) for a in FUNCTIONS[BASIC].arrays}
    cmsis.invoke(FUNCTIONS[BASIC], {**call, **arrays}, profile(), "amx")
    assert palette() == 0


#: Height, width, channels in and out, kernel -> products, loads and stores of tiles, pieces of
#: blocks that are laid out; microseconds that the call took on a processor with AMX
#: (docs/decisions/042-tiles.md).
COUNTS = {
    (32, 32, 3, 32, 5): ((640, 768, 128, 0), 5.85),
    (16, 16, 32, 16, 5): ((240, 316, 16, 0), 3.41),
    (16, 16, 32, 32, 5): ((480, 512, 32, 0), 4.89),
    (8, 8, 16, 32, 5): ((80, 88, 8, 192), 1.45),
    (8, 8, 64, 64, 3): ((144, 160, 16, 240), 2.18),
    (25, 5, 64, 64, 1): ((32, 64, 32, 0), 0.87),
    (14, 14, 512, 512, 1): ((3584, 4032, 416, 0), 40.6),
    (32, 1, 256, 256, 1): ((128, 160, 32, 0), 1.75),
}
PER_MICROSECOND = 5200  # half cycles, which the estimate counts in


@pytest.fixture(scope="module")
def counter(tmp_path_factory):
    """tests/c/amx_counts.c."""
    folder = tmp_path_factory.mktemp("counts")
    program = folder / "amx_counts"
    flags = ["-std=c11", "-O1", "-Werror", "-DQN_AMX_MODEL"]
    flags += [f"-I{CSRC}", f"-I{CSRC / 'include'}", f"-I{HERE}"]
    sources = [HERE / "amx_counts.c", CSRC / "q" / "convolve_check.c"]
    subprocess.run(["gcc", *flags, *sources, "-o", program], check=True)
    return program


@needs_gcc
@needs_avx512
@pytest.mark.parametrize("shape", COUNTS, ids=lambda s: "x".join(map(str, s)))
def test_what_a_call_takes_and_what_is_predicted_of_it(counter, shape):
    """Counts hold on any host; the prediction is between 0.75 and 1.35 of what was measured."""
    said = subprocess.run([counter, *map(str, shape)], check=True, capture_output=True, text=True)
    *counted, tiles, _ = map(int, said.stdout.split())
    wanted, microseconds = COUNTS[shape]
    assert tuple(counted) == wanted
    assert 0.75 <= tiles / PER_MICROSECOND / microseconds <= 1.35


@needs_x86
@pytest.mark.parametrize(
    ("host", "cap", "runs"),
    [
        (EVERYTHING, "", True),
        (EVERYTHING, "amx", True),
        (EVERYTHING, "avx512vnni", False),
        (EVERYTHING, "none", False),
        (EVERYTHING & ~kernels.FEATURES["amx"], "", False),
        (EVERYTHING & ~kernels.FEATURES["amx"], "amx", False),
        (0, "", False),
    ],
)
def test_they_run_on_a_host_that_has_the_instructions_unless_capped(monkeypatch, host, cap, runs):
    monkeypatch.setattr(kernels, "HOST", host)
    monkeypatch.setenv(kernels.CAP, cap)
    assert [row.runs_here() for row in ROWS] == [runs] * len(ROWS)


def test_a_host_without_the_instructions_refuses_to_run_them(monkeypatch):
    monkeypatch.setattr(kernels, "HOST", 0)
    call = square("arm_convolve_HWC_q7_basic", 16, 32, 32, 3)
    arrays = {
        a.name: np.zeros(a.shape(call), a.dtype)
        for a in FUNCTIONS["arm_convolve_HWC_q7_basic"].arrays
    }
    with pytest.raises(Error, match="no variant 'amx'"):
        cmsis.invoke(FUNCTIONS["arm_convolve_HWC_q7_basic"], {**call, **arrays}, profile(), "amx")


RGB, BASIC, FAST, POINT = (
    "arm_convolve_HWC_q7_RGB",
    "arm_convolve_HWC_q7_basic",
    "arm_convolve_HWC_q7_fast",
    "arm_convolve_1x1_HWC_q7_fast_nonsquare",
)
OBLONG = "arm_convolve_HWC_q7_fast_nonsquare"
#: The DSP path takes pixels of the next image row for those beyond the right edge.
OVERHANGING = {"padding_x": 0, "padding_y": 0, "dim_im_out_y": 4}
WRAPPER, DENSE = "arm_convolve_wrapper_s8", "arm_fully_connected_s8"


@needs_x86
@asks_tiles
@pytest.mark.parametrize(
    ("name", "params", "core", "verdict"),
    [
        (RGB, square(RGB, 32, 3, 32, 5), "m3", "faster"),
        (FAST, square(FAST, 16, 32, 16, 5), "m4", "faster"),
        (POINT, square(POINT, 8, 64, 64, 1), "m4", "faster"),
        (POINT, square(POINT, 8, 4, 64, 1), "m4", "slower"),  # 4 of 64 products would count
        (POINT, square(POINT, 3, 256, 256, 1), "m4", "faster"),  # a tile of 9 pixels
        (BASIC, square(BASIC, 4, 128, 64, 3), "m3", "faster"),  # lines of 4 pixels
        (BASIC, square(BASIC, 3, 128, 64, 3), "m3", "left"),  # of 3
        (BASIC, square(BASIC, 28, 1, 1, 5), "m3", "slower"),  # one channel of 16
        (OBLONG, {**square(OBLONG, 16, 64, 64, 3, 2), **OVERHANGING}, "m4", "left"),
        (OBLONG, {**square(OBLONG, 16, 64, 64, 3, 2), **OVERHANGING}, "m3", "faster"),
        (WRAPPER, same_s8(12, 64, 64, 3), "m3", "faster"),
        (WRAPPER, same_s8(12, 64, 64, 3, dilation_h=2), "m3", "faster"),
        (WRAPPER, same_s8(12, 64, 64, 3, groups=3), "m3", "faster"),
        (WRAPPER, same_s8(12, 1, 1, 3, groups=64), "m3", "left"),  # goes in strips
        (WRAPPER, same_s8(3, 64, 64, 3), "m3", "left"),
        (DENSE, dense(16, 256, 256), "m3", "faster"),
        (DENSE, dense(8, 256, 256), "m3", "faster"),
        (DENSE, dense(3, 256, 256), "m3", "left"),
        (DENSE, dense(16, 256, 256) | {"filter_offset": 1}, "m3", "left"),
    ],
)
def test_a_row_says_what_tiles_fit_and_what_they_are_faster_on(name, params, core, verdict):
    function = FUNCTIONS[name]
    row = next(r for r in kernels.list_rows(function.op, function.type) if r.variant == "amx")
    release = "7.0.0" if "s8" in name else "5.9.0"
    struct = function.struct_values({n: params[n] for n in function.params})
    called = kernels.make_params(row.op, profile(f"cortex-{core}", release), struct)
    kernels.check(row, called)
    taken = row.takes(called)
    assert verdict == ("left" if not taken else "faster" if row.pays(called) else "slower")


@needs_x86
@asks_tiles
def test_a_convolution_whose_coordinates_wrap_is_not_taken():
    call = square(BASIC, 200, 16, 32, 3)
    struct = FUNCTIONS[BASIC].struct_values(call)
    row = next(r for r in ROWS if r.op.name == "convolve")
    for release, taken in (("5.6.0", False), ("5.9.0", True)):
        called = kernels.make_params(row.op, profile("cortex-m3", release), struct)
        assert row.takes(called) == taken
