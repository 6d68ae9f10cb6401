"""Traces of command streams: the tensor of every operation, whatever its layout and its stripes."""

from pathlib import Path

import numpy as np
import pytest
from ethosu_programs import (
    Writer,
    convolve,
    encode_records,
    encode_weights,
    order_weights,
    round_double,
    tflite,
)
from paths import SHARED

import qemu_nn
from qemu_nn.errors import ModelError
from qemu_nn.ethosu.inspection import inspect
from qemu_nn.ethosu.program import add_traces
from qemu_nn.ethosu.tensors import Piece
from qemu_nn.runtime.npu import list_tensors, trace_programs

#: Folder of the networks that come with the package.
DEMO = Path(qemu_nn.__file__).parent / "demo"

#: Offsets in the arena: of a buffer between two operations, of the output.
BETWEEN, OUT = 512, 1024

#: Rows, columns, channels of the input; channels of the convolution; rows of a stripe.
ROWS, COLUMNS, DEPTH, OUTS, STRIPE = 6, 3, 4, 20, 2

RECORDS = ([7 * c - 50 for c in range(OUTS)], [(1 << 30) + 977 * c for c in range(OUTS)])


def weights():
    return np.random.default_rng(2).integers(-128, 128, (OUTS, 1, 1, DEPTH))


def constants():
    """Return weights and scales of the convolution, and where the scales begin."""
    bias, mult = RECORDS
    stream = encode_weights(order_weights(weights()))
    return stream + encode_records(bias, mult, [38] * OUTS), len(stream)


def striped():
    """Return a cascade: stripes of a convolution in a buffer of one stripe, each copied on."""
    _, scale_at = constants()
    writer = Writer()
    for row in range(0, ROWS, STRIPE):
        writer.map("ifm", (STRIPE, COLUMNS, DEPTH), row * COLUMNS * DEPTH)
        writer.map("ofm", (STRIPE, COLUMNS, OUTS), BETWEEN, zero=3, bricks=True)
        writer.kernel().clamp().set(weight_region=0, weight_base=0, weight_length=scale_at)
        writer.set(scale_region=0, scale_base=scale_at, scale_length=10 * OUTS).run("conv")
        writer.map("ifm", (STRIPE, COLUMNS, OUTS), BETWEEN, bricks=True)
        at = OUT + row * COLUMNS * OUTS
        writer.map("ofm", (STRIPE, COLUMNS, OUTS), at, bits=0x100).set(ofm_scale=(1, 0))
        writer.run("pool", 0)
    return writer


def striped_file():
    ends = [((1, ROWS, COLUMNS, DEPTH), "INT8", 0.5, 0, 0)]
    ends += [((1, ROWS, COLUMNS, OUTS), "INT8", 0.5, 3, OUT)]
    return tflite(striped(), ends[:1], ends[1:], constants()[0])


def expected(x):
    bias, mult = RECORDS
    sums = convolve(x, weights(), 0)
    rounded = [round_double((int(v) + bias[i % OUTS]) * mult[i % OUTS], 38)
               for i, v in enumerate(sums.reshape(-1))]  # fmt: skip
    return np.clip(np.array(rounded) + 3, -128, 127).reshape(sums.shape)


def test_stripes_of_a_cascade_are_one_tensor_in_the_order_of_rows(tmp_path):
    network = qemu_nn.load(striped_file().save(tmp_path))
    x = np.random.default_rng(1).integers(-128, 128, (2, ROWS, COLUMNS, DEPTH)).astype(np.int8)
    session = network.session("m55")
    found, plain = session.run(x, trace=True), session.run(x)
    assert [*found] == ["npu_000_CONV", "npu_001_MAX_POOL", "end1"]
    for sample, want in enumerate(map(expected, x)):
        for name, values in found.items():
            np.testing.assert_array_equal(values[sample], want, name)
    np.testing.assert_array_equal(plain["end1"], found["end1"])


def test_slices_of_the_depth_are_one_tensor(tmp_path):
    first = 16
    stream = encode_weights(order_weights(weights()[:first]))
    rest = encode_weights(order_weights(weights()[first:]))
    bias, mult = RECORDS
    scales = [encode_records(bias[:first], mult[:first], [38] * first)]
    scales += [encode_records(bias[first:], mult[first:], [38] * (OUTS - first))]
    parts, at = [stream, scales[0], rest, scales[1]], [0]
    for part in parts:
        at.append(at[-1] + len(part))
    writer = Writer().map("ifm", (ROWS, COLUMNS, DEPTH), 0).kernel().clamp()
    for number, channels in enumerate((first, OUTS - first)):
        base = OUT + number * COLUMNS * 16
        writer.map("ofm", (ROWS, COLUMNS, channels), base, zero=3, bricks=True)
        writer.set(ofm_stride_y=2 * COLUMNS * 16)
        writer.set(weight_base=at[2 * number], weight_length=len(parts[2 * number]))
        writer.set(scale_base=at[2 * number + 1], scale_length=10 * channels).run("conv")
    ends = [((1, ROWS, COLUMNS, DEPTH), "INT8", 0.5, 0, 0)]
    ends += [((1, ROWS, COLUMNS, 32), "INT8", 0.5, 3, OUT)]
    file = tflite(writer, ends[:1], ends[1:], b"".join(parts))
    network = qemu_nn.load(file.save(tmp_path))
    x = np.random.default_rng(1).integers(-128, 128, (1, ROWS, COLUMNS, DEPTH)).astype(np.int8)
    found = network.session("m55").run(x, trace=True)
    assert [*found] == ["npu_000_CONV", "end1"]
    np.testing.assert_array_equal(found["npu_000_CONV"][0], expected(x[0]))


def test_goldens_and_variants_see_the_tensors(tmp_path):
    network = qemu_nn.load(striped_file().save(tmp_path))
    x = np.zeros((1, ROWS, COLUMNS, DEPTH), np.int8)
    made = qemu_nn.golden(network, x, tmp_path / "golden", target="ethos-u55-128")
    assert made.names == ("x0/end0", "x0/npu_000_CONV", "x0/npu_001_MAX_POOL", "x0/end1")
    table = qemu_nn.variants(network, x, target="ethos-u55-128")
    assert [row["layer"] for row in table.records()][:2] == ["npu_000_CONV", "npu_001_MAX_POOL"]


def test_dumps_of_operations_are_compared_with_goldens(tmp_path):
    network = qemu_nn.load(striped_file().save(tmp_path))
    x = np.zeros((1, ROWS, COLUMNS, DEPTH), np.int8)
    made = qemu_nn.golden(network, x, tmp_path / "golden", target="ethos-u55-128")
    dumps = tmp_path / "dumps"
    (dumps / "x0").mkdir(parents=True)
    changed = np.load(made.folder / "x0" / "npu_000_CONV.npy")
    changed.flat[7] += 1
    np.save(dumps / "x0" / "npu_000_CONV.npy", changed)
    for given in (None, network):
        found = qemu_nn.compare(made.folder, dumps, network=given)
        assert not found.same
        assert "x0/npu_000_CONV: index=7" in str(found)


def test_networks_without_a_stream_are_not_changed():
    network = qemu_nn.load(DEMO / "digits.qnz")
    assert trace_programs(network.graph) is network.graph


@pytest.mark.parametrize(
    ("piece", "reason"),
    [
        (Piece(3, 0, 12, 4), "a traced operation is missing"),
        (Piece(None, 2**31, 12, 4), "its trace is damaged"),
        (Piece(None, 0, 2**31, 4), "its trace is damaged"),
    ],
)
def test_a_damaged_trace_is_refused(tmp_path, piece, reason):
    graph = qemu_nn.load(striped_file().save(tmp_path)).graph
    ((node, tensors),) = ((graph.node(name), each) for name, each in list_tensors(graph).items())
    first = tensors[0].pieces[0].command
    piece = Piece(piece.command or first, piece.offset, piece.row, piece.pixel)
    commands = add_traces(graph.arrays[node.weights], [piece])
    with pytest.raises(ModelError, match=reason):
        inspect(commands, graph.arrays[node.bias])


# ---- networks that vela compiled ----

NETWORKS = SHARED / "ethosu"


@pytest.mark.skipif(not NETWORKS.exists(), reason="the compiled networks are not here")
@pytest.mark.parametrize("config", ["u55-128", "u55-128-size", "u65-512-size", "u85-256"])
def test_traces_hold_the_tensors_of_the_original_network(config):
    name = "kws_ref_model"
    original = qemu_nn.load(SHARED / "models_tflite" / f"{name}.tflite")
    compiled = qemu_nn.load(NETWORKS / config / f"{name}_vela.tflite")
    x = np.random.default_rng(0).integers(-128, 128, (2, 49, 10, 1)).astype(np.int8)
    wanted = original.session("m55").run(x.reshape(2, *original.graph.input.shape), trace=True)
    found = compiled.session("m55").run(x.reshape(2, *compiled.graph.input.shape), trace=True)
    bytes_of = {values.tobytes() for values in found.values()}
    assert [values.tobytes() in bytes_of for values in wanted.values()] == [True] * len(wanted)


def test_a_map_of_uint16_is_left_out(tmp_path):
    writer = Writer().map("ifm", (2, 3, 4), 0).map("ofm", (2, 3, 4), BETWEEN, bits=0x100)
    writer.kernel().clamp().set(ofm_scale=(1, 0), ofm_precision=0x102).run("pool", 0)
    writer.map("ofm", (2, 3, 4), OUT, bits=0x100).run("pool", 0)
    ends = [((2, 3, 4), "INT8", 0.5, 0, at) for at in (0, OUT)]
    network = qemu_nn.load(tflite(writer, ends[:1], ends[1:]).save(tmp_path))
    x = np.arange(24, dtype=np.int8).reshape(1, 2, 3, 4)
    found = network.session("m55").run(x, trace=True)
    names = [name for name in found if name.startswith("npu_")]
    assert names == ["npu_000_MAX_POOL"]
    np.testing.assert_array_equal(found[names[0]], x)
