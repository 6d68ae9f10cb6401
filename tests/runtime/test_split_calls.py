"""Parts of a call compute what the whole call does, and nothing but their own part."""

from random import Random, randrange

import numpy as np
import pytest
from hosts import cap_at, leaves_calls, may_ask, needs_x86, row_param

from qemu_nn._native import ffi, lib
from qemu_nn.bench.s8_networks import mobilenet_100_224_s8
from qemu_nn.kernels import table as kernels
from qemu_nn.runtime import split as cut
from qemu_nn.runtime.session import Session
from qemu_nn.targets import profile
from qemu_nn.testing.rows import assert_same, draw_call, list_pairs

pytestmark = pytest.mark.caps

#: Ops that a session with several threads cuts.
CUT = (
    *("convolve", "depthwise", "maxpool", "avepool", "max_pool", "avgpool"),
    *("relu", "add", "sub", "mult", "nn_mult", "offset", "expand", "activation", "accumulate"),
    *("elementwise_add", "npu_convolve", "npu_max_pool", "npu_relu", "npu_clip", "npu_add"),
)


def rows_that_are_cut():
    """Return one function for each row: of several the wrapper, which takes every shape."""
    found = {}
    for function, row in list_pairs():
        better = row not in found or "wrapper" in function.name
        if row.kind == "fast" and function.op.startswith(CUT) and better:
            found[row] = row_param(function, row=row, id=f"{function.name}-{row}")
    return list(found.values())


def step_of(function, grain):
    """Return the number that bounds of parts are multiples of: elements, or pixels that a device
    pairs.
    """
    in_pairs = function.type == "s16" and function.op.startswith("convolve")
    return grain if grain == 64 else 2 if in_pairs else 1


def random_parts(rng, units, step):
    """Neighbouring parts of two rows or pixels at least."""
    inner = [at for at in range(step, units - 1, step) if rng.randrange(3) == 0 and at > 1]
    bounds = [0]
    bounds += [at for at, before in zip(inner, [0, *inner]) if at - before > 1]
    return list(zip(bounds, [*bounds[1:], units]))


def run_part(row, part, inputs, output, weights, bias, packed):
    own, made, scratch_bytes = part
    buffers = ffi.new("qn_buffers *")
    pointers = [ffi.from_buffer("char[]", array) for array in (*inputs, output)]
    for i in range(len(inputs)):
        getattr(buffers, "in")[i] = pointers[i] + getattr(made, "in")[i]
    scratch = kernels.allocate_aligned(scratch_bytes)
    buffers.weights, buffers.bias = kernels._make_pointer(weights), kernels._make_pointer(bias)
    buffers.packed, buffers.scratch = kernels._make_pointer(packed), kernels._make_pointer(scratch)
    buffers.out = pointers[-1] + made.out
    assert lib.qn_kernel_at(row.index).functions.run(own, buffers) == lib.QN_OK


def calls_in_parts(function, row, wanted, first=0, shape=None):
    """Yield this many calls that can be cut, with random parts."""
    for seed in range(first, first + 200 * wanted):
        call = draw_call(function, row, seed, shape)
        print(f"seed {seed}: {call}")
        grain = ffi.new("int32_t *")
        units = lib.qn_units(lib.qn_kernel_at(row.index), call.struct, grain)
        cuts = random_parts(Random(seed), units, step_of(function, grain[0]))
        parts = [cut.cut_step(row, call.struct, part) for part in cuts]
        if len(parts) > 1 and all(parts):
            yield call.struct, call.arguments, parts
            wanted -= 1
        if not wanted:
            return
    raise AssertionError(f"{row} is cut in too few of many calls")


def compare_these(function, row, struct, arguments, parts):
    weights, bias = function.weights_of(arguments), function.bias_of(arguments)
    inputs = [np.ascontiguousarray(arguments[array.name]) for array in function.inputs]
    want = np.zeros(function.output.shape(arguments), function.output.dtype)
    kernels.call(row, struct, [array.copy() for array in inputs], want, weights, bias)
    packed = row.pack(struct, weights, bias)
    got = np.random.default_rng(0).integers(0, 256, want.nbytes).astype(np.uint8)
    ends = [part.step.out for part in parts[1:]] + [want.nbytes]
    for part, end in zip(parts, ends):
        if packed is not None:
            assert_same(row.pack(part.params, weights, bias), packed)
        before = got.copy()
        run_part(row, part, inputs, got, weights, bias, packed)
        before[part.step.out : end] = got[part.step.out : end]
        assert_same(got, before, row, "wrote beside its part")
    assert_same(got.view(want.dtype).reshape(want.shape), want)


def compare_parts(function, row, wanted, first=0):
    """Compare parts of calls of any shape, or of lines of tiles for rows that want these."""
    shape = "tiles" if leaves_calls(row) else None
    for call in calls_in_parts(function, row, wanted, first, shape):
        compare_these(function, row, *call)


@pytest.mark.rows
@pytest.mark.parametrize(("function", "row"), rows_that_are_cut())
def test_parts_are_the_whole(function, row):
    compare_parts(function, row, 60 if leaves_calls(row) else 15)


@pytest.mark.slow
@pytest.mark.parametrize(("function", "row"), rows_that_are_cut())
def test_parts_are_the_whole_on_more_calls(function, row):
    compare_parts(function, row, 100, randrange(2**31))


WIDE = [
    param
    for param in rows_that_are_cut()
    if str(param.values[1]).startswith("convolve_wrapper_s16")
]


@pytest.mark.parametrize(("function", "row"), WIDE)
@pytest.mark.parametrize(
    ("height", "width", "kernel"), [(7, 1, 1), (6, 1, 1), (1, 9, 1), (7, 3, 3)]
)
def test_the_last_pixel_of_a_part_has_the_sum_that_it_has_in_the_whole(
    function, row, height, width, kernel
):
    """Cores without Helium have pixels in pairs, and the last of an odd number modulo 2^32."""
    channels, shape = 1024 // kernel, (height, width)
    sides = {f"{what}_{axis}": n for what in ("input", "output") for axis, n in zip("hw", shape)}
    window = {f"{what}_{axis}": 1 for what in ("stride", "dilation") for axis in "hw"}
    window.update(filter_h=1, filter_w=kernel, pad_h=0, pad_w=kernel // 2)
    params = {**sides, **window, "batches": 1, "input_c": channels, "filter_c": channels}
    params.update(output_c=2, input_offset=0, output_offset=0, bias_is_int32=0)
    params.update(act_min=-(2**15), act_max=2**15 - 1)
    arrays = {
        a.name: np.full(a.shape(params), 127, a.dtype) for a in (*function.inputs, function.weights)
    }
    arrays["input"][:] = 2**15 - 1
    arrays.update(bias=np.zeros(2, np.int64), multiplier=np.full(2, 2**30, np.int32))
    arrays["shift"] = np.full(2, -15, np.int32)
    for core in ("cortex-m3", "cortex-m4", "cortex-m55"):
        values = function.struct_values({name: params[name] for name in function.params})
        struct = kernels.make_params(row.op, profile(core, "7.0.0"), values)
        units = max(shape)
        parts = [cut.cut_step(row, struct, part) for part in ((0, 2), (2, 4), (4, units))]
        assert all(parts)
        compare_these(function, row, struct, {**params, **arrays}, parts)
        assert cut.cut_step(row, struct, (0, 3)) is None
        assert cut.cut_step(row, struct, (3, units)) is None


def parts_of_a_large_network():
    compiled = Session(mobilenet_100_224_s8(), profile(cmsis="7.0.0"), threads=2)._compiled
    tasks = [compiled._plan.tasks[i] for i in range(compiled._plan.task_count)]
    return compiled, [task for task in tasks if task.part]


def test_a_part_that_is_no_cut_of_its_step_is_refused(monkeypatch):
    cap_at(monkeypatch, "avx2")
    compiled, tasks = parts_of_a_large_network()
    assert tasks, "nothing is cut"
    step, why = ffi.new("int64_t *"), ffi.new("char[]", lib.QN_WHY)
    assert lib.qn_plan_check(compiled._plan, step, why) == lib.QN_OK
    pad = ffi.cast("qn_s_conv *", tasks[0].part.params)
    part = ffi.cast("qn_step *", tasks[0].part)
    for owner, field, value in (
        (pad, "pad_h", pad.pad_h + 1),
        (part, "out", part.out + 1),
        (part, "scratch", compiled.plan.arena_bytes),
    ):
        good = getattr(owner, field)
        setattr(owner, field, value)
        assert lib.qn_plan_check(compiled._plan, step, why) == lib.QN_REFUSED
        setattr(owner, field, good)
    assert lib.qn_plan_check(compiled._plan, step, why) == lib.QN_OK


def test_what_is_cut_is_cut_into_all_of_it(monkeypatch):
    cap_at(monkeypatch, "avx2")
    plan = Session(mobilenet_100_224_s8(), profile(cmsis="7.0.0"), threads=3).plan
    cut_steps = [step for step in plan.steps if step.parts]
    assert len(cut_steps) > 10
    assert "parts" in str(plan)
    for step in cut_steps:
        assert step.parts[0][0] == 0
        assert all(end == start for (_, end), (start, _) in zip(step.parts, step.parts[1:]))


def test_plain_rows_and_averages_of_the_npu_stay_whole():
    grain = ffi.new("int32_t *")
    for row in kernels.ROWS:
        if row.kind != "fast" or row.op.name == "npu_average_pool":
            struct = ffi.new(f"{row.op.params} *")
            assert lib.qn_units(lib.qn_kernel_at(row.index), struct, grain) == 0


def units_of(row, device, changes=()):
    sides = {f"{what}_{axis}": 64 for what in ("input", "output") for axis in "hw"}
    window = {f"{what}_{axis}": 1 for what in ("filter", "stride", "dilation") for axis in "hw"}
    channels = {"batches": 1, "input_c": 16, "filter_c": 16, "output_c": 16}
    others = dict.fromkeys((f for f, _ in ffi.typeof(row.op.params).fields), 0)
    given = {**others, **sides, **window, **channels, **dict(changes)}
    fields = kernels.make_params(row.op, device, given)
    return lib.qn_units(lib.qn_kernel_at(row.index), fields, ffi.new("int32_t *"))


@needs_x86
def test_where_a_pixel_lies_counts_calls_stay_whole():
    """Check Helium built for single rounding, and blocks laid out for tiles of AMX."""
    rows = [
        r for r in kernels.ROWS if r.kind == "fast" and str(r).startswith("convolve_wrapper_s8")
    ]
    assert {row.variant for row in rows} >= {"amx", "avx512vnni", "avx2"}
    for row in filter(may_ask, rows):
        for core in ("cortex-m4", "cortex-m55"):
            for rounding in ("double", "single"):
                device = profile(core, "7.0.0", rounding)
                whole = (core, rounding) == ("cortex-m55", "single")
                assert (units_of(row, device) == 0) == whole
                lines = {"input_w": 8, "output_w": 6, "filter_w": 3, "output_h": 62, "filter_h": 3}
                assert (units_of(row, device, lines) == 0) == (whole or row.variant == "amx")


@needs_x86
def test_small_calls_and_small_networks_are_not_cut():
    row = next(r for r in kernels.ROWS if r.kind == "fast" and r.op.name == "relu")
    struct = kernels.make_params(row.op, profile(), {"length": 1 << 15})
    assert len(cut.choose_parts(row, struct, 40.0, 2)) == 4
    assert cut.choose_parts(row, struct, 40.0, 1) == ()
    assert cut.choose_parts(row, struct, 19.0, 2) == ()
    assert not cut.gains_from_splitting(59.0)
