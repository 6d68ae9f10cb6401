"""Data movement equals the recordings of TensorFlow Lite Micro, or numpy without a recording."""

import itertools
import math
import warnings

import numpy as np
import pytest
from recorded_archives import ARCHIVES
from tflite_files import File, buffer_options, enumerator

import qemu_nn
from qemu_nn import cmsis
from qemu_nn.errors import DeviceWarning, ModelError, Refused
from qemu_nn.functions.scaling import quantize_multiplier
from qemu_nn.functions.shapes import DTYPES as SUFFIXES
from qemu_nn.kernels import table as kernels
from qemu_nn.targets import profile

RECORDED = ARCHIVES["tflm_moving"]


def load(data, folder):
    (folder / "net.tflite").write_bytes(data)
    return qemu_nn.load(folder / "net.tflite")


def run(network, inputs):
    """Return the outputs in the order of the file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeviceWarning)
        session = network.session()
    graph = network.graph
    lead = 2 if graph.states else 1
    own = {t.name: x.reshape(*x.shape[:lead], *t.shape) for t, x in zip(graph.inputs, inputs)}
    results = session.run(own)
    return [results[name] for name in graph.outputs]


def test_what_the_kernel_does_not_write_is_refused(tmp_path):
    network = RECORDED.load("transpose_rank5_int8", tmp_path)
    with pytest.raises(Refused, match="5 axes of INT8; the kernel with CMSIS-NN fails silently"):
        network.session()
    x = RECORDED.arrays("transpose_rank5_int8")["input_0"]
    (got,) = (
        network.session(target=qemu_nn.Target(kernels="reference"))
        .run(x.reshape(6, 2, 3, 4, 5))
        .values()
    )
    assert np.array_equal(got.ravel(), x.transpose(0, 1, 5, 3, 4, 2).ravel())


# ---- operators of which nothing is recorded ----

DTYPES = {"INT8": np.int8, "UINT8": np.uint8, "INT16": np.int16, "INT32": np.int32}
DTYPES.update(INT64=np.int64, FLOAT32=np.float32, BOOL=np.bool_)


def numbers(type, shape, seed=3):
    dtype = np.dtype(DTYPES[type])
    rng = np.random.default_rng(seed)
    if dtype.kind == "f":
        return rng.normal(size=shape).astype(dtype)
    low, high = (0, 1) if dtype.kind == "b" else (-120, 120) if dtype.kind == "i" else (0, 255)
    return rng.integers(low, high, shape, endpoint=True).astype(dtype)


def tensor(net, kind, shape, type="INT8", **more):
    """kind: input, output or tensor; integers of 8 and 16 bits have a scale."""
    scale = {"INT8": 0.05, "UINT8": 0.05, "INT16": 0.05}.get(type)
    zero = 3 if type in ("INT8", "UINT8") else 0
    made = net.tensor(shape, type, scale, zero, name=f"{kind}{len(net.tensors)}", **more)
    if kind != "tensor":
        getattr(net, f"{kind}s").append(made)
    return made


def computed(folder, x, type, shape, name, more=(), options=None, at=0, **fields):
    """Return one operator on an input and constants, before and after it."""
    net = File()
    source = tensor(net, "input", x.shape, type)
    others = [net.tensor(np.shape(a), "INT32", data=a) for a in more]
    y = tensor(net, "output", shape, type)
    net.operator(name, [*others[:at], source, *others[at:]], [y], options, **fields)
    (got,) = run(load(net.bytes(), folder), [x[None]])
    return got.reshape(shape)


ALL = ("INT8", "UINT8", "INT16", "INT32", "INT64", "FLOAT32", "BOOL")


@pytest.mark.parametrize("type", ALL)
def test_broadcasting_to_five_axes(type, tmp_path):
    whole = (2, 3, 4, 2, 3)
    for kept in itertools.product((False, True), repeat=5):
        x = numbers(type, [n if own else 1 for n, own in zip(whole, kept)])
        got = computed(tmp_path, x, type, whole, "BROADCAST_TO", [whole])
        assert np.array_equal(got, np.broadcast_to(x, whole))


@pytest.mark.parametrize("type", ALL)
def test_reversing_axes_side_by_side(type, tmp_path):
    x = numbers(type, (2, 3, 4, 5))
    for axes in ((0,), (3,), (1, 2), (2, 1), (-1, 2), (0, 1, 2, 3)):
        options = {"options": "ReverseV2Options"}
        got = computed(tmp_path, x, type, x.shape, "REVERSE_V2", [axes], **options)
        assert np.array_equal(got, np.flip(x, axes))


@pytest.mark.parametrize("type", ["INT8", "INT16", "INT32", "FLOAT32"])
def test_padded_tensors_equal_numpy(type, tmp_path):
    cases = [((4,), [(1, 2)]), ((2, 3, 4), [(1, 0), (0, 2), (3, 1)])]
    if type != "INT8":
        cases.append(((2, 1, 3, 2, 3), [(1, 0), (0, 2), (1, 1), (2, 0), (1, 3)]))
        cases.append(((2, 1, 3, 2, 3), [(0, 0), (0, 0), (0, 0), (0, 0), (1, 3)]))
        cases.append(((2, 1, 3, 2, 3), [(1, 0), (0, 2), (1, 1), (2, 0), (0, 0)]))
    for shape, borders in cases:
        x = numbers(type, shape)
        want = np.pad(x, borders, constant_values=3 if type == "INT8" else 0)
        got = computed(tmp_path, x, type, want.shape, "PAD", [borders], "PadOptions")
        assert np.array_equal(got, want)


def test_a_border_of_real_numbers(tmp_path):
    net, x = File(), numbers("FLOAT32", (2, 3))
    value = net.tensor((), "FLOAT32", data=-1.5)
    borders = net.tensor((2, 2), "INT32", data=[[0, 1], [2, 0]])
    source = tensor(net, "input", x.shape, "FLOAT32")
    y = tensor(net, "output", (3, 5), "FLOAT32")
    net.operator("PADV2", [source, borders, value], [y], "PadV2Options")
    (got,) = run(load(net.bytes(), tmp_path), [x[None]])
    want = np.pad(x, [(0, 1), (2, 0)], constant_values=-1.5)
    assert np.array_equal(got.reshape(3, 5), want)


def test_padding_five_axes_of_8_bits_is_refused(tmp_path):
    borders, x = [(1, 0)] + 4 * [(0, 0)], numbers("INT8", (2, 1, 1, 1, 2))
    with pytest.raises(Refused, match="ignores the first axis"):
        computed(tmp_path, x, "INT8", (3, 1, 1, 1, 2), "PAD", [borders], "PadOptions")


@pytest.mark.parametrize("type", ["INT16", "FLOAT32"])
def test_five_axes_in_another_order(type, tmp_path):
    x = numbers(type, (2, 3, 4, 2, 3))
    for order in ((4, 3, 2, 1, 0), (0, 3, 1, 4, 2)):
        want = x.transpose(order)
        got = computed(tmp_path, x, type, want.shape, "TRANSPOSE", [order], "TransposeOptions")
        assert np.array_equal(got, want)


@pytest.mark.parametrize("type", ["INT8", "FLOAT32"])
def test_blocks_of_pixels_to_batches_and_back(type, tmp_path):
    for shape, sides, ends in (
        ((2, 4, 6, 3), (2, 3), [(1, 1), (0, 3)]),
        ((1, 4, 6, 2), (2, 2), [(0, 0), (0, 0)]),
        ((2, 5, 3), (3,), [(1, 0)]),
    ):
        x = numbers(type, shape)
        around = [(0, 0), *ends, (0, 0)]
        padded = np.pad(x, around)  # with 0, not with the zero point
        n, c = shape[0], shape[-1]
        whole = [n]
        for side, block in zip(padded.shape[1:], sides):
            whole += [side // block, block]
        rank = len(sides)
        order = [
            *(2 + 2 * i for i in range(rank)),
            0,
            *(1 + 2 * i for i in range(rank)),
            2 * rank + 1,
        ]
        want = padded.reshape(*whole, c).transpose(order)
        want = want.reshape(n * math.prod(sides), *whole[1::2], c)
        name, options = "SPACE_TO_BATCH_ND", "SpaceToBatchNDOptions"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeviceWarning)
            got = computed(tmp_path, x, type, want.shape, name, [sides, ends], options)
        assert np.array_equal(got, want)
        name, options = "BATCH_TO_SPACE_ND", "BatchToSpaceNDOptions"
        assert np.array_equal(
            computed(tmp_path, want, type, shape, name, [sides, ends], options), x
        )


def test_a_border_of_0_is_told(tmp_path):
    network = RECORDED.load("space_to_batch_nd", tmp_path)
    with pytest.warns(DeviceWarning, match="instead of its zero point"):
        network.session()


@pytest.mark.parametrize("type", ["INT8", "FLOAT32"])
def test_gathered_elements_equal_numpy(type, tmp_path):
    x = numbers(type, (2, 3, 4, 5))
    for axis, batch, places in (
        (0, 0, [1, 0, 1]),
        (-1, 0, [[4, 0], [2, 2]]),
        (2, 1, [[3, 1, 0], [0, 0, 2]]),
        (1, 1, [[2], [0]]),
        (2, 0, 3),
    ):
        own = np.array(places)
        if batch:
            want = np.stack([np.take(a, p, axis=axis - 1) for a, p in zip(x, own)])
        else:
            want = np.take(x, own, axis=axis)
        fields = {"options": "GatherOptions", "Axis": axis, "BatchDims": batch}
        got = computed(tmp_path, x, type, want.shape, "GATHER", [places], **fields)
        assert np.array_equal(got, want)
    places = np.array([[1, 2, 3], [0, 0, 0]])
    got = computed(tmp_path, x, type, (2, 5), "GATHER_ND", [places], "GatherNdOptions")
    assert np.array_equal(got, x[tuple(places.T)])


def test_a_place_outside_is_refused(tmp_path):
    fields, x = {"options": "GatherOptions", "Axis": 0}, numbers("INT8", (4, 2))
    with pytest.raises(ModelError, match=r"its index 4 is outside of the axes \[4\]"):
        computed(tmp_path, x, "INT8", (1, 2), "GATHER", [[4]], **fields)


def looking_up(folder, type):
    """Places that are computed, in a table that the file holds."""
    net, table = File(), numbers(type, (5, 3))
    x = net.input((4,), None, 0, "INT32")
    rows = tensor(net, "tensor", table.shape, type, data=table)
    y = tensor(net, "output", (4, 3), type)
    net.operator("EMBEDDING_LOOKUP", [x, rows], [y])
    return table, load(net.bytes(), folder)


@pytest.mark.parametrize("type", ["INT8", "FLOAT32"])
def test_looked_up_rows_are_those_of_the_table(type, tmp_path):
    table, network = looking_up(tmp_path, type)
    (got,) = run(network, [np.array([[4, 0, 2, 0]], np.int32)])
    assert np.array_equal(got[0], table[[4, 0, 2, 0]])
    with pytest.raises(Refused):
        run(network, [np.array([[0, 1, 5, 0]], np.int32)])


@pytest.mark.parametrize("type", ["INT8", "FLOAT32"])
@pytest.mark.parametrize("mode", ["REFLECT", "SYMMETRIC"])
def test_mirrored_borders_equal_numpy(mode, type, tmp_path):
    for shape, borders in (((4, 5), [(1, 3), (4, 0)]), ((2, 4, 3), [(0, 0), (2, 1), (0, 0)])):
        x = numbers(type, shape)
        want = np.pad(x, borders, mode.lower())
        fields = {"options": "MirrorPadOptions", "Mode": enumerator("MirrorPadMode", mode)}
        got = computed(tmp_path, x, type, want.shape, "MIRROR_PAD", [borders], **fields)
        assert np.array_equal(got, want)


@pytest.mark.parametrize("type", ["INT8", "INT16", "INT32", "FLOAT32"])
def test_an_update_is_put_as_near_as_it_fits(type, tmp_path):
    shape, part = (2, 3, 4), numbers(type, (1, 2, 3), seed=4)
    net, x = File(), numbers(type, shape)
    source = tensor(net, "input", shape, type)
    update = tensor(net, "tensor", part.shape, type, data=part)
    starts = net.input((3,), None, 0, "INT32")
    net.tensors[starts]["name"] = "starts"
    y = tensor(net, "output", shape, type)
    net.operator("DYNAMIC_UPDATE_SLICE", [source, update, starts], [y])
    network = load(net.bytes(), tmp_path)
    for place in itertools.product((-9, 0, 1, 9), repeat=3):
        a, b, c = (int(np.clip(p, 0, n - m)) for p, n, m in zip(place, shape, part.shape))
        want = x.copy()
        want[a : a + 1, b : b + 2, c : c + 3] = part
        (got,) = run(network, [x[None], np.array([place], np.int32)])
        assert np.array_equal(got.reshape(shape), want)


def test_the_shape_of_an_input_is_a_tensor_as_others(tmp_path):
    """Check a tensor that the network outputs, besides the one that a RESHAPE reads."""
    from tflite_cases import CASES

    net = CASES["reshape_of_an_open_batch"]()
    net.outputs.append(net.operators[2][2][0])
    x = numbers("INT8", (1, *net.tensors[net.inputs[0]]["shape"][1:]))
    assert run(load(net.bytes(), tmp_path), [x])[1].tolist() == [[1, 24]]


def test_the_broadcast_shape_is_computed(tmp_path):
    net = File()
    x = net.input((4, 1, 5), 0.5, 0)
    sides, other = net.tensor((3,), "INT32"), net.tensor((2,), "INT32", data=[7, 1])
    y = net.output((3,), None, 0, "INT32")
    net.operator("SHAPE", [x], [sides], "ShapeOptions", OutType=enumerator("TensorType", "INT32"))
    net.operator("BROADCAST_ARGS", [sides, other], [y])
    (got,) = run(load(net.bytes(), tmp_path), [np.zeros((1, 4, 1, 5), np.int8)])
    assert got.ravel().tolist() == [4, 7, 5]


@pytest.mark.parametrize("type", ["INT8", "INT16", "INT32", "FLOAT32"])
def test_parts_side_by_side_again(type, tmp_path):
    """UNPACK, PACK, SPLIT and CONCATENATION, each on what the one before has made."""
    net, x = File(), numbers(type, (2, 4, 3))
    source = tensor(net, "input", x.shape, type)
    rows = [tensor(net, "tensor", (2, 3), type) for _ in range(4)]
    whole = tensor(net, "tensor", (2, 3, 4), type)
    parts = [tensor(net, "tensor", (2, 3, 2), type) for _ in range(2)]
    y = tensor(net, "output", (2, 3, 4), type)
    axis = net.tensor((), "INT32", data=-1)
    net.operator("UNPACK", [source], rows, "UnpackOptions", Axis=1, Num=4)
    net.operator("PACK", rows, [whole], "PackOptions", Axis=2, ValuesCount=4)
    net.operator("SPLIT", [axis, whole], parts, "SplitOptions", NumSplits=2)
    net.operator("CONCATENATION", parts[::-1], [y], "ConcatenationOptions", Axis=2)
    (got,) = run(load(net.bytes(), tmp_path), [x[None]])
    want = x.transpose(0, 2, 1)
    assert np.array_equal(got.reshape(2, 3, 4), np.concatenate([want[..., 2:], want[..., :2]], 2))


@pytest.mark.oracle("tflm_resize_nearest_f32")
def test_the_nearest_pixels_of_real_numbers(tmp_path):
    x = numbers("FLOAT32", (1, 2, 3, 4))
    fields = {"options": "ResizeNearestNeighborOptions"}
    shape = (1, 4, 6, 4)
    got = computed(tmp_path, x, "FLOAT32", shape, "RESIZE_NEAREST_NEIGHBOR", [(4, 6)], **fields)
    assert np.array_equal(got, x.repeat(2, axis=1).repeat(2, axis=2))


# ---- sums so far ----


def doubling_high(a, b):
    return (a * b + 2**30) // 2**31


def halved(x, n):
    """x / 2^n, halves away from zero."""
    return (abs(x) + (2**n >> 1) >> n) * (1 if x >= 0 else -1)


def wrapped(x):
    return (x + 2**31) % 2**32 - 2**31


def summed(line, params):
    """Sums of 8 bits, in Python integers."""

    def scaled(x):
        high = doubling_high(x * 2**20, params["input_multiplier"])
        return halved(high, -params["input_shift"])

    out, total = [], scaled(-params["input_zero_point"])
    for x in line:
        following = wrapped(total + scaled(int(x) - params["input_zero_point"]))
        own = doubling_high(
            total if params["exclusive"] else following, params["output_multiplier"]
        )
        out.append(halved(own, -params["output_shift"]) + params["output_zero_point"])
        total = following
    return np.clip(out, -128, 127)


@pytest.mark.oracle("tflm_cumsum_s8", "tflm_cumsum_f32")
@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
def test_cumulative_sums_equal_those_of_integers(exclusive, reverse):
    multiplier, shift = quantize_multiplier(2 * 0.05 / (2**20 * 0.4))
    params = {"exclusive": exclusive, "reverse": reverse, "input_zero_point": -128}
    params.update(output_zero_point=-4, input_multiplier=2**30, input_shift=0)
    params.update(output_multiplier=multiplier, output_shift=shift)
    x = numbers("INT8", (2, 40, 3))  # of 40 elements sums leave 32 bits
    got = cmsis.tflm_cumsum_s8(input=x, **params)
    step = -1 if reverse else 1
    for o, i in itertools.product(range(2), range(3)):
        want = summed(x[o, ::step, i], params)[::step]
        assert np.array_equal(got[o, :, i], want)
    real = numbers("FLOAT32", (2, 40, 3)) * np.float32(1e3)
    got = cmsis.tflm_cumsum_f32(input=real, exclusive=exclusive, reverse=reverse)
    want = np.add.accumulate(real[:, ::step], axis=1, dtype=np.float32)
    if exclusive:
        want = np.concatenate([np.zeros((2, 1, 3), np.float32), want[:, :-1]], axis=1)
    assert np.array_equal(got, want[:, ::step])


@pytest.mark.parametrize("type", ["INT8", "FLOAT32"])
def test_a_file_with_sums(type, tmp_path):
    x = numbers(type, (2, 3, 4)) // 30 if type == "INT8" else numbers(type, (2, 3, 4))
    options = {"options": "CumsumOptions", "Reverse": True}
    got = computed(tmp_path, x.astype(DTYPES[type]), type, x.shape, "CUMSUM", [1], **options)
    own = x.astype(np.float64) - 3 * (type == "INT8")
    want = np.cumsum(own[:, ::-1], axis=1)[:, ::-1]
    if type == "INT8":
        want = want - 3 + 3  # begins at what an input of 0 adds
    assert np.abs(got - want).max() < 1e-5


# ---- from Invoke to Invoke ----


def streamed(net, folder, x):
    network = load(net.bytes(), folder)
    return dict(zip(network.graph.outputs, run(network, [x[None]])))


def buffered(cycles):
    """Return two buffers in a row, the second after the first, and a sum after both."""
    net = File()
    shapes = [(1, 1, 1, 2), (1, 3, 1, 2), (1, 1, 1, 6), (1, 2, 1, 6), (1, 2, 1, 6)]
    x = net.input(shapes[0], 0.5, 0)
    a, flat, b, y = (net.tensor(shape, "INT8", 0.5, 0) for shape in shapes[1:])
    net.operator("CUSTOM:CIRCULAR_BUFFER", [x], [a], custom=buffer_options(cycles[0]))
    net.operator("RESHAPE", [a], [flat], "ReshapeOptions")
    net.operator("CUSTOM:CIRCULAR_BUFFER", [flat], [b], custom=buffer_options(cycles[1]))
    net.operator("REVERSE_V2", [b, net.tensor((1,), "INT32", data=[1])], [y])
    net.outputs += [b, y]
    return net


@pytest.mark.parametrize("cycles", [(1, 1), (2, 1), (2, 3), (1, 2)])
def test_what_stands_behind_buffers_is_held(cycles, tmp_path):
    x = numbers("INT8", (13, 1, 1, 2))
    first, second = np.zeros((3, 2), np.int8), np.zeros((2, 6), np.int8)
    last, wanted = np.zeros((2, 6), np.int8), []
    for n, row in enumerate(x.reshape(13, 2), 1):
        first = np.vstack([first[1:], row])
        if n % cycles[0] == 0:
            second = np.vstack([second[1:], first.reshape(1, 6)])
        if n % (cycles[0] * cycles[1]) == 0:
            last = second[::-1]
        wanted.append((second, last))
    got = list(streamed(buffered(cycles), tmp_path, x).values())
    for i in range(2):
        assert np.array_equal(got[i].reshape(13, 2, 6), np.array([each[i] for each in wanted]))


@pytest.mark.oracle("tflm_hold_{type}")
@pytest.mark.parametrize("type", SUFFIXES)
def test_every_third_input_is_held(type):
    dtype = np.dtype(SUFFIXES[type])
    kept, calls, out = np.zeros(5, dtype), np.zeros(1, np.int32), np.zeros(5, dtype)
    (row,) = kernels.list_rows("hold", "any")
    values = {"element": dtype.itemsize, "length": 5, "period": 3}
    params = kernels.make_params(row.op, profile("cortex-m4", "7.0.0"), values)
    last = kept.tobytes()
    for n in range(1, 8):
        x = np.frombuffer(np.random.default_rng(n).bytes(5 * dtype.itemsize), dtype)
        kernels.call(row, params, [x, kept, calls], out)
        last = x.tobytes() if n % 3 == 0 else last
        assert out.tobytes() == kept.tobytes() == last


def test_a_buffer_in_memory_that_others_use_is_told(tmp_path):
    network = load(buffered((1, 1)).bytes(), tmp_path)
    with pytest.warns(DeviceWarning, match="is no variable"):
        network.session()


# ---- many axes, rows as floats ----


def added(shapes, out):
    """ADD of int32, of tensors that broadcast to a shape."""
    net = File()
    net.inputs = [net.tensor(shape, "INT32", name=f"x{i}") for i, shape in enumerate(shapes)]
    net.outputs = [net.tensor(out, "INT32", name="y")]
    net.operator("ADD", net.inputs, net.outputs, "AddOptions")
    return net


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((2, 1, 3, 1, 2, 1), (1, 2, 1, 3, 1, 2)),
        ((1, 2, 3, 2, 2, 3), (2, 2, 3, 1, 1, 3)),
        ((2, 3, 1, 2, 1, 2, 1, 2), (1, 1, 2, 1, 2, 1, 2, 1)),
        ((3, 1, 1, 1, 1, 4), (3, 2, 2, 3, 2, 4)),
    ],
)
def test_any_number_of_axes_broadcasts(first, second, tmp_path):
    out = np.broadcast_shapes(first, second)
    network = load(added((first, second), out).bytes(), tmp_path)
    x = [numbers("INT32", (3, *shape), seed) for seed, shape in enumerate((first, second))]
    (got,) = run(network, x)
    np.testing.assert_array_equal(got.ravel(), (x[0] + x[1]).ravel())


def test_a_table_of_real_numbers_has_no_zero_point(tmp_path):
    net = File()
    net.inputs = [net.tensor((2,), "INT32", name="places")]
    table = net.tensor((4, 3), scale=0.5, zero=3, data=np.zeros((4, 3)))
    net.outputs = [net.tensor((2, 3), "FLOAT32", name="rows")]
    net.operator("EMBEDDING_LOOKUP", [net.inputs[0], table], net.outputs)
    with pytest.raises(ModelError, match="its table has the zero point 3; it must be 0"):
        load(net.bytes(), tmp_path)
