"""The planner chooses the row that is fastest where rows were measured, within 5 percent; where
tiles are concerned, see docs/decisions/042-tiles.md."""

import json
from collections import Counter
from pathlib import Path

import pytest
from hosts import asks_tiles, may_ask, needs_x86
from layer_calls import same_s8, square

from qemu_nn.bench.rows import bits
from qemu_nn.functions import FUNCTIONS
from qemu_nn.kernels import table as kernels
from qemu_nn.kernels.devices import profile_for
from qemu_nn.testing.builder import Builder
from qemu_nn.testing.cases import CASES

#: As much of the fastest row's speed the chosen one has at least.
LEAST = 0.95

#: The processor of docs/benchmarks.md on which rows of AMX were timed, and what it has.
AMX_SERVER = ("avx2", "avxvnni", "avx512vnni", "amx")

BASIC, RGB, FAST = (f"arm_convolve_HWC_q7_{kind}" for kind in ("basic", "RGB", "fast"))
POINT, WRAPPER = "arm_convolve_1x1_HWC_q7_fast_nonsquare", "arm_convolve_wrapper_s8"


def oblong(height, width, depth, out):
    """A 1x1 convolution."""
    params = square(POINT, width, depth, out, 1)
    return {**params, "dim_im_in_y": height, "dim_im_out_y": height}


def keyword_spotter():
    """The first convolution of `kws_dscnn`."""
    name = "arm_convolve_HWC_q7_basic_nonsquare"
    sizes = {"dim_im_in": (10, 49), "dim_im_out": (5, 25), "dim_kernel": (4, 10)}
    sizes |= {"padding": (1, 4), "stride": (2, 2)}
    given = {f"{side}_{axis}": n for side, both in sizes.items() for axis, n in zip("xy", both)}
    return name, {**given, "ch_im_in": 1, "ch_im_out": 64, "bias_shift": 0, "out_shift": 7}


#: Billions of products a second that rows reached on that processor, one thread; those on tiles
#: before decision 42, since when they do less of everything for the same products.
MEASURED = [
    (RGB, square(RGB, 32, 3, 32, 5), {"amx": 75, "avx512vnni": 158}),
    (FAST, square(FAST, 16, 32, 16, 5), {"amx": 290, "avx512vnni": 190}),
    (FAST, square(FAST, 8, 64, 64, 3), {"amx": 443, "avx512vnni": 210}),
    (POINT, oblong(25, 5, 64, 64), {"amx": 296, "avx512vnni": 202}),
    (POINT, oblong(14, 14, 512, 512), {"amx": 897, "avx512vnni": 297}),
    (WRAPPER, same_s8(32, 16, 16, 3), {"amx": 173, "avx512vnni": 187}),
    (WRAPPER, same_s8(8, 64, 64, 3), {"amx": 573, "avx512vnni": 234}),
    (WRAPPER, same_s8(16, 64, 32, 1), {"amx": 148, "avx512vnni": 155}),
]


def chosen(monkeypatch, host, name, params):
    """The variant that a host with these instruction sets runs a call on."""
    monkeypatch.setattr(kernels, "HOST", sum(kernels.FEATURES[each] for each in host))
    monkeypatch.delenv(kernels.CAP, raising=False)
    function = FUNCTIONS[name]
    rows = kernels.rows_of(function.op, function.type)
    profile = profile_for([(function.op, function.type)], "cortex-m3")
    struct = function.struct_values({n: params[n] for n in function.params})
    call = kernels.make_params(rows[0].op, profile, struct)
    kernels.check(rows[0], call)
    return kernels.choose(rows, profile, call).variant


@needs_x86
@asks_tiles
@pytest.mark.parametrize(("name", "params", "rates"), MEASURED)
def test_tiles_are_chosen_wherever_they_were_measured_to_be_faster(
    monkeypatch, name, params, rates
):
    """Elsewhere a prediction says whether they are (tests/test_amx.py holds it)."""
    if LEAST * rates["amx"] > rates["avx512vnni"]:
        assert chosen(monkeypatch, AMX_SERVER, name, params) == "amx"
    without = chosen(monkeypatch, AMX_SERVER[:-1], name, params)
    assert without == "avx512vnni"


@needs_x86
@asks_tiles
def test_the_first_layer_of_the_keyword_spotter_is_left_to_vectors(monkeypatch):
    """Its other layers are faster on tiles, and the network was slower by a tenth."""
    assert chosen(monkeypatch, AMX_SERVER, *keyword_spotter()) == "avx512vnni"


# ---- processors whose rows `bench --rows --save` has timed ----

BASELINES = Path(__file__).parents[1] / "benchmarks" / "baselines"
KEPT = {path.stem: path.read_text(encoding="utf-8") for path in sorted(BASELINES.glob("*.json"))}
TIMED = {name: json.loads(text) for name, text in KEPT.items() if '"kernels"' in text}

#: Cases that the planner leaves to a slower row -> why.
EXCEPTIONS = {}


def timed(content):
    """Each case that a file has, and the microseconds of its variants; of calls that differ in
    other arguments than shapes, none, as a file does not tell them apart."""
    names = Counter((f"{c.declared.op}_{c.declared.type}", str(c)) for c in CASES)
    found = {}
    for line in content["kernels"]:
        op, _, variant = line["row"].rpartition(".")
        found.setdefault((op, line["shape"]), {})[variant] = line["best_us"]
    for case in CASES:
        call = (f"{case.declared.op}_{case.declared.type}", str(case))
        if names[call] == 1 and call in found:
            yield " ".join(call), case, found[call]


@needs_x86
@pytest.mark.parametrize("name", TIMED)
def test_the_chosen_row_is_the_fastest_of_every_case_that_was_timed(monkeypatch, name):
    host = [s for s in TIMED[name]["host"]["instruction sets"].split() if s in kernels.FEATURES]
    if not all(may_ask(row) for row in kernels.ROWS if row.variant in host):
        pytest.skip(f"{name} has instruction sets in which rows answer, and this host has not")
    monkeypatch.setattr(kernels, "HOST", sum(kernels.FEATURES[each] for each in host))
    monkeypatch.delenv(kernels.CAP, raising=False)
    wrong = {}
    for case_name, case, times in timed(TIMED[name]):
        function = case.declared
        rows = kernels.rows_of(function.op, function.type)
        if not any(row.kind == "fast" for row in rows):
            continue
        params = kernels.make_params(rows[0].op, bits(rows[0]), struct_of(case))
        able = [r for r in rows if r.serves(bits(rows[0]), params) and r.variant in times]
        chosen = kernels.choose(rows, bits(rows[0]), params).variant
        fastest = min((times[row.variant] for row in able if row.kind != "model"), default=0)
        if LEAST * times.get(chosen, 0) > fastest and case_name not in EXCEPTIONS:
            wrong[case_name] = (chosen, times)
    assert wrong == {}


def struct_of(case):
    """The fields of a case's struct, shifts among them."""
    function = case.declared
    first = (*function.inputs, function.output)[0]
    builder = Builder("case", first.shape(case.params), first.dtype)
    builder.call("call", case.function, case.params)
    return function.struct_values(builder.graph().nodes[-1].params)
