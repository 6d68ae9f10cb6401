"""Operators that vela 5.2 compiles into wrong programs: which original files are told."""

import numpy as np
import pytest
from ethosu_programs import Writer, tflite
from tflite_files import File

import qemu_nn
from qemu_nn.errors import DeviceWarning
from qemu_nn.importers.tflite.parser import read
from qemu_nn.importers.tflite.vela_faults import CompiledFile, find_fault

U55, U65, U85 = "ethos-u55-128", "ethos-u65-512", "ethos-u85-256"

SHAPE = (1, 4, 5, 6)


class Original(File):
    """A file of operators in a row, on tensors of one scale."""

    def __init__(self, shape=SHAPE, type="INT8"):
        super().__init__()
        self.type = type
        self.last = self.input(shape, type=type)

    def constant(self, values):
        values = np.int32(values)
        return self.tensor(values.shape, "INT32", data=values)

    def add(self, name, shape, options=None, before=(), after=(), **fields):
        made = self.tensor(shape, self.type, 0.5, 0)
        self.operator(name, [*before, self.last, *after], [made], options, **fields)
        self.last = made
        return self

    def reduce(self, axes, shape, name="REDUCE_MAX", keep=True):
        given = [self.constant(axes)]
        return self.add(name, shape, "ReducerOptions", after=given, KeepDims=keep)

    def slice(self, begin, shape, strides=(1, 1, 1, 1)):
        end = [at + (n - 1) * step + 1 for at, n, step in zip(begin, shape, strides)]
        given = [self.constant(each) for each in (begin, end, strides)]
        return self.add("STRIDED_SLICE", shape, "StridedSliceOptions", after=given)

    def pad(self, pads, shape):
        return self.add("PAD", shape, "PadOptions", after=[self.constant(pads)])

    def softmax(self, shape):
        return self.add("SOFTMAX", shape, "SoftmaxOptions", Beta=1.0)


def find(file, npu, folder, at=-1, core=()):
    """Return the effect on an operator of a file."""
    file.outputs = file.outputs or [file.last]
    model = read(file.save(folder))
    return find_fault(CompiledFile(model, npu, frozenset(core)), model.operators[at]) or ""


@pytest.mark.parametrize("name", ["REDUCE_MAX", "REDUCE_MIN"])
@pytest.mark.parametrize(
    ("shape", "axes", "made", "wrong"),
    [
        (SHAPE, [3], (1, 4, 5), True),
        (SHAPE, [2], (1, 4, 6), True),
        (SHAPE, [-2, 3], (1, 4), True),
        (SHAPE, [1], (1, 5, 6), False),
        (SHAPE, [1, 2], (1, 6), False),
        (SHAPE, [1, 2, 3], (1,), False),
        ((5, 6), [1], (5,), True),
        ((5, 6), [0], (6,), False),
        ((1, 1, 1, 6), [3], (1, 1, 1), False),
    ],
)
def test_an_extreme_that_drops_axes_shifts_those_before(tmp_path, name, shape, axes, made, wrong):
    told = find(Original(shape).reduce(axes, made, name, keep=False), U55, tmp_path)
    assert ("its axes are shifted" in told) == wrong
    kept = [1 if axis in (*axes, *(a + len(shape) for a in axes)) else n
            for axis, n in enumerate(shape)]  # fmt: skip
    assert find(Original(shape).reduce(axes, kept, name), U55, tmp_path) == ""


@pytest.mark.parametrize(
    ("axes", "made", "wrong"),
    [
        ([3], (1, 3, 5, 1), [U55, U65, U85]),
        ([1, 3], (1, 1, 5, 1), [U55, U65]),
        ([1, 2, 3], (1, 1, 1, 1), [U55, U65]),
        ([2, 3], (1, 3, 1, 1), []),
        ([2], (1, 3, 1, 6), []),
    ],
)
def test_an_extreme_of_channels_reads_another_part_than_its_slice(tmp_path, axes, made, wrong):
    for npu in (U55, U65, U85):
        file = Original().slice((0, 1, 0, 0), (1, 3, 5, 6)).reduce(axes, made)
        told = find(file, npu, tmp_path)
        assert ("another part than that of STRIDED_SLICE" in told) == (npu in wrong)
    assert find(file, U55, tmp_path, core=[0]) == ""


def test_an_extreme_of_channels_is_written_to_other_places_than_its_join(tmp_path):
    pads = [[0, 0], [1, 1], [0, 0], [0, 0]]
    for npu in (U55, U85):
        file = Original().reduce([2, 3], (1, 4, 1, 1)).pad(pads, (1, 6, 1, 1))
        assert "to other places than CONCATENATION or PAD" in find(file, npu, tmp_path, at=0)
        assert find(file, npu, tmp_path, at=0, core=[1]) == ""
        file.outputs.append(file.operators[0][2][0])  # the result is read outside as well
        assert find(file, npu, tmp_path, at=0) == ""
        file = Original().reduce([1, 2], (1, 1, 1, 6)).pad(pads, (1, 3, 1, 6))
        assert find(file, npu, tmp_path, at=0) == ""


@pytest.mark.parametrize(
    ("strides", "shape", "wrong"),
    [
        ((1, 2, 1, 1), (1, 2, 5, 6), True),
        ((1, 1, 2, 1), (1, 1, 3, 6), True),
        ((1, 2, 1, 1), (1, 1, 5, 6), False),
        ((1, 1, 1, 1), (1, 2, 3, 6), False),
    ],
)
def test_softmax_takes_maxima_of_rows_that_its_slice_leaves_out(tmp_path, strides, shape, wrong):
    file = Original().slice((0, 0, 0, 0), shape, strides).softmax(shape)
    assert ("that the STRIDED_SLICE before it leaves out" in find(file, U55, tmp_path)) == wrong
    assert find(file, U85, tmp_path) == find(file, U55, tmp_path, core=[0]) == ""


@pytest.mark.parametrize(
    ("kernel", "stride", "padding", "wrong"),
    [(1, 3, "SAME", True), (2, 3, "SAME", False), (1, 3, "VALID", False), (1, 2, "SAME", False)],
)
def test_a_transposed_convolution_with_a_small_kernel_is_wrong(
    tmp_path, kernel, stride, padding, wrong
):
    file = Original()
    shape = [1, 4 * stride, 5 * stride, 3]
    weights = np.ones((3, kernel, kernel, 6), np.int8)
    given = [file.constant(shape), file.tensor(weights.shape, "INT8", 0.5, data=weights)]
    fields = {"Padding": padding, "StrideH": stride, "StrideW": stride}
    file.add("TRANSPOSE_CONV", shape, "TransposeConvOptions", before=given, **fields)
    assert ("a kernel that is smaller than its stride" in find(file, U85, tmp_path)) == wrong
    assert find(file, U55, tmp_path) == ""


@pytest.mark.parametrize(("axis", "first", "wrong"), [(1, 0, True), (1, 1, False), (3, 0, False)])
def test_a_transposed_convolution_ignores_its_place_in_a_join(tmp_path, axis, first, wrong):
    file = Original()
    weights, shape = np.ones((3, 2, 2, 6), np.int8), [1, 8, 10, 3]
    given = [file.constant(shape), file.tensor(weights.shape, "INT8", 0.5, data=weights)]
    fields = {"Padding": "SAME", "StrideH": 2, "StrideW": 2}
    file.add("TRANSPOSE_CONV", shape, "TransposeConvOptions", before=given, **fields)
    other = file.tensor(shape, "INT8", 0.5, 0)
    file.inputs.append(other)
    joined = [n * (2 if at == axis else 1) for at, n in enumerate(shape)]
    ends = {"after" if first else "before": [other]}
    file.add("CONCATENATION", joined, "ConcatenationOptions", **ends, Axis=axis)
    told = find(file, U85, tmp_path, at=0)
    assert ("to other places than CONCATENATION or PAD" in told) == wrong
    assert find(file, U55, tmp_path, at=0) == ""


@pytest.mark.parametrize(
    ("images", "side", "stride", "padding", "wrong"),
    [
        *((2, 3, 4, "SAME", True), (1, 3, 4, "SAME", False), (2, 3, 3, "SAME", False)),
        *((2, 3, 4, "VALID", False), (2, 1, 4, "SAME", False)),
    ],
)
def test_a_padded_average_of_several_images_is_wrong(
    tmp_path, images, side, stride, padding, wrong
):
    file = Original((images, 13, 13, 5))
    made = 13 // stride if padding == "VALID" else -(-13 // stride)
    fields = {"Padding": padding, "StrideH": stride, "StrideW": stride}
    fields |= {"FilterHeight": side, "FilterWidth": side}
    file.add("AVERAGE_POOL_2D", (images, made, made, 5), "Pool2DOptions", **fields)
    assert ("repeats the output of the first image" in find(file, U85, tmp_path)) == wrong
    assert find(file, U55, tmp_path) == ""


@pytest.mark.parametrize(("type", "wrong"), [("INT8", True), ("INT32", False)])
def test_a_division_of_quantized_numbers_is_wrong(tmp_path, type, wrong):
    file = Original(type=type)
    file.add("DIV", SHAPE, "DivOptions", after=[file.last])
    assert ("divides the numbers as integers" in find(file, U85, tmp_path)) == wrong
    assert find(file, U55, tmp_path) == ""


def test_a_network_warns_of_operator_and_effect(tmp_path):
    file = Original().reduce([3], (1, 4, 5), keep=False)
    file.outputs = [file.last]
    original = file.save(tmp_path, "net.tflite")
    writer = Writer().map("ifm", (4, 5, 1), 0).map("ofm", (4, 5, 1), 256, bits=0x100).kernel()
    writer.clamp().set(ofm_scale=(1, 0)).run("pool", 0)
    ends = [(SHAPE, "INT8", 0.5, 0, 0)], [((1, 4, 5), "INT8", 0.5, 0, 256)]
    compiled = tflite(writer, *ends).save(tmp_path, "net_vela.tflite")
    network = qemu_nn.load(compiled, original=original)
    with pytest.warns(
        DeviceWarning, match=r"REDUCE_MAX \(operator 0\): vela 5.2 keeps the reduced"
    ):
        network.session(U55).run(np.zeros((1, *network.graph.input.shape), np.int8))
