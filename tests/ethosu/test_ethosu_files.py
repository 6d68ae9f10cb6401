"""Files that vela writes: .tflite files with `ethos-u` operators, and what is refused."""

import pickle
import sys

import numpy as np
import pytest
from ethosu_damage import damage_stream, damage_weights
from ethosu_programs import (
    CONFIGURATIONS,
    Writer,
    container,
    every_kind,
    pack_payload,
    tflite,
)
from pte_files import Program
from tflite_files import File

import qemu_nn
from qemu_nn.errors import DeviceWarning, Error, ModelError
from qemu_nn.ethosu.container import read_stream
from qemu_nn.importers import read_model

OUT = 1024


def copy_program(shape=(2, 3, 4)):
    """Return a stream that copies bytes 0.. of the arena to OUT as a maximum of 1x1."""
    writer = Writer().map("ifm", shape, 0).map("ofm", shape, OUT, bits=0x100).kernel().clamp()
    return writer.set(ofm_scale=(1, 0)).run("pool", 0)


def copy_file(**more):
    shape = (1, 2, 3, 4)
    return tflite(
        copy_program(), [(shape, "INT8", 0.5, 1, 0)], [(shape, "INT8", 0.5, 1, OUT)], **more
    )


def test_a_file_runs_as_any_other_network(tmp_path):
    network = qemu_nn.load(copy_file().save(tmp_path))
    x = np.random.default_rng(1).integers(-128, 128, (5, 2, 3, 4)).astype(np.int8)
    for threads in (1, 2):
        (output,) = network.session("m55", threads=threads).run(x).values()
        np.testing.assert_array_equal(output, x)
    real = np.linspace(-3, 3, 24, dtype=np.float32).reshape(1, 2, 3, 4)
    np.testing.assert_allclose(network.predict(real, target="m55"), real, atol=0.25)


def test_info_tells_the_npu_and_its_operations(tmp_path):
    found = read_model(copy_file().save(tmp_path))
    assert found.notes == (
        "end1/ethos-u55-128 runs 1 operations on the NPU, with 24 multiply-accumulates and 0 bytes "
        "of constants",
    )
    assert found.tflm_figures is None
    node = found.graph.node("end1/ethos-u55-128")
    assert node.function.scratch_buffers(node.params, "mve") == {"ctx": 4096}


def test_vela_that_is_missing_or_refuses_is_a_sentence(tmp_path, monkeypatch):
    with pytest.raises(Error, match="no NPU 'ethos-u56'; have: ethos-u55-32"):
        qemu_nn.vela("net.tflite", "ethos-u56")
    monkeypatch.setitem(sys.modules, "ethosu.vela", None)
    with pytest.raises(Error, match=r"there is no file net\.tflite"):
        qemu_nn.vela("net.tflite", "ethos-u55-128")
    path = tmp_path / "net.tflite"
    path.write_bytes(b"none")
    with pytest.raises(Error, match="compiling for an Ethos-U needs ethos-u-vela, which is not"):
        qemu_nn.vela(path, "ethos-u55-128")


def test_cycles_of_a_stream_are_those_of_its_original(tmp_path):
    network = qemu_nn.load(copy_file().save(tmp_path))
    with pytest.raises(Error, match=r"no layer has instruction counts; .* give its original"):
        qemu_nn.estimate(network, target="m55")


def test_vela_compiles_and_loads(tmp_path):
    pytest.importorskip("ethosu.vela", reason="pip install ethos-u-vela")
    file = File()
    file.operator("RELU", [file.input((1, 4))], [file.output((1, 4))])
    network = qemu_nn.vela(file.save(tmp_path), "ethos-u55-128", output=tmp_path / "made")
    x = np.array([[-3, 0, 3, 100]], np.int8)
    assert network.session("ethos-u55-128").run(x)["output"].tolist() == [[0, 0, 3, 100]]
    (tmp_path / "bad.tflite").write_bytes(b"none")
    with pytest.raises(Error, match="vela cannot compile"):
        qemu_nn.vela(tmp_path / "bad.tflite", "ethos-u55-128")


def test_a_network_is_saved_and_pickled_with_its_program(tmp_path):
    network = qemu_nn.load(copy_file().save(tmp_path))
    network.save(tmp_path / "net.qnz")
    x = np.random.default_rng(2).integers(-128, 128, (3, 2, 3, 4)).astype(np.int8)
    for again in (qemu_nn.load(tmp_path / "net.qnz"), pickle.loads(pickle.dumps(network))):
        (output,) = again.session("m55").run(x).values()
        np.testing.assert_array_equal(output, x)


def test_several_inputs_and_outputs_have_their_types(tmp_path):
    writer = (
        Writer().map("ifm", (1, 4, 1), 0, dtype="int16").map("ifm2", (1, 4, 1), 64, dtype="int16")
    )
    writer.map("ofm", (1, 4, 1), OUT, dtype="int32", bits=0x8100)
    writer.clamp().set(ofm_scale=(1, 0), opa_scale=(1, 0), opb_scale=(1, 0)).run("elementwise", 1)
    writer.map("ofm", (1, 4, 1), 512, dtype="int16", bits=0x8100).clamp(-32768, 32767)
    writer.run("elementwise", 2)
    ends = [((1, 4), "INT16", 0.5, 0, at) for at in (0, 64)]
    outs = [((1, 4), "INT32", 0.25, 0, OUT), ((1, 4), "INT16", 0.5, 0, 512)]
    network = qemu_nn.load(tflite(writer, ends, outs).save(tmp_path))
    a, b = np.array([[1, 2, 3, -4]], np.int16), np.array([[10, 20, 30, 40]], np.int16)
    sums, differences = network.session("m55").run([a, b]).values()
    assert (sums.dtype, differences.dtype) == (np.int32, np.int16)
    np.testing.assert_array_equal(sums, [[11, 22, 33, 36]])
    np.testing.assert_array_equal(differences, [[-9, -18, -27, -44]])


def test_memory_of_the_run_before_is_forgotten(tmp_path):
    writer = Writer().map("ifm", (1, 2, 1), 512).map("ofm", (1, 2, 1), OUT, bits=0x100).kernel()
    writer.clamp().set(ofm_scale=(1, 0)).run("pool", 0)
    writer.map("ifm", (1, 2, 1), 0).map("ofm", (1, 2, 1), 512, bits=0x100).run("pool", 0)
    ends = [((1, 2), "INT8", 0.5, 0, 0)], [((1, 2), "INT8", 0.5, 0, OUT)]
    session = qemu_nn.load(tflite(writer, *ends).save(tmp_path)).session("m55")
    for x in ([[5, 6]], [[7, 8]]):
        (got,) = session.run(np.int8(x)).values()
        assert got.tolist() == [[0, 0]]


def counter_file():
    """Return a file whose output is its state, and whose state grows by its input."""
    writer = Writer().map("ifm", (1, 2, 1), 64).map("ofm", (1, 2, 1), OUT, bits=0x100).kernel()
    writer.clamp().set(ofm_scale=(1, 0)).run("pool", 0)
    writer.map("ifm", (1, 2, 1), 0).map("ifm2", (1, 2, 1), 64).set(opa_scale=(1, 0))
    writer.map("ofm", (1, 2, 1), 64, bits=0x8100).set(opb_scale=(1, 0)).run("elementwise", 1)
    step = ((1, 2), "INT8", 0.5, 0, 0)
    state = ((1, 2), "INT8", 0.5, 3, 64)
    file = tflite(writer, [step, state], [((1, 2), "INT8", 0.5, 0, OUT)])
    file.inputs.pop()
    return file


@pytest.mark.parametrize("variable", [False, True])
def test_the_arena_keeps_states_from_their_zero_point_on(tmp_path, variable):
    file = counter_file()
    file.tensors[4]["variable"] = variable
    network = qemu_nn.load(file.save(tmp_path))
    steps = np.array([[[1, 10], [2, 20], [4, 40]]], np.int8)
    result = network.session("m55").run(steps)
    np.testing.assert_array_equal(result["end2"], [[[3, 3], [4, 13], [6, 33]]])


def test_cop1_and_cop2_hold_the_same_stream():
    words = copy_program().stream
    word = CONFIGURATIONS["ethos-u55-128"]
    first = read_stream(container(words, word))
    head = [0x32504F43, 1, 0, 0, 1, 40 + words.nbytes, 36, 0x4D554556, 1, 20, word, 0x10066001]
    second = read_stream(
        np.concatenate([np.array([*head, 1, 0, 0, 0xFFFFFFFF], "<u4"), words]).tobytes()
    )
    assert (first.container, second.container) == ("COP1", "COP2")
    assert first.target == second.target == "ethos-u55-128"
    np.testing.assert_array_equal(first.words, words)
    np.testing.assert_array_equal(second.words, words)


def test_the_target_is_the_npu_of_the_stream_and_its_core(tmp_path):
    network = qemu_nn.load(copy_file().save(tmp_path))
    for target in ("ethos-u55-128", "Ethos-U55-128", "ensemblee3"):
        assert network.session(target).profile.path == "mve"
    refused = {
        "ethos-u65-256": "net is compiled for ethos-u55-128, but the target is ethos-u65-256; "
        "compile it for ethos-u65-256 with vela, or give the target ethos-u55-128",
        "stm32f411": "compiled for ethos-u55-128, and stm32f411 has no Ethos-U; give the target",
    }
    for target, words in refused.items():
        with pytest.raises(Error, match=words):
            network.session(target)


def test_a_target_with_an_npu_needs_a_command_stream(tmp_path):
    file = File()
    file.operator("RELU", [file.input((1, 4))], [file.output((1, 4))])
    network = qemu_nn.load(file.save(tmp_path))
    with pytest.raises(Error, match="net has no command stream of an Ethos-U, which ethos-u55-64"):
        network.session("ethos-u55-64")


def raw_arrays():
    """Return the arrays of vela's raw output for a copy of 24 bytes."""
    ends = {"shape": [[1, 1, 1, 2, 3, 4]], "elem_size": [1], "region": [1]}
    arrays = {
        f"{kind}_{name}": value for kind in ("input", "output") for name, value in ends.items()
    }
    words = container(copy_program().stream, CONFIGURATIONS["ethos-u55-128"])
    arrays |= {"cmd_data": words, "weight_data": b"\0" * 16}
    arrays |= {"scratch_size": 2048, "scratch_fast_size": 16}
    return arrays | {"input_offset": [0], "output_offset": [OUT]}


def test_the_raw_output_of_vela_runs(tmp_path):
    np.savez(tmp_path / "net_vela.npz", **raw_arrays())
    network = qemu_nn.load(tmp_path / "net_vela.npz")
    x = np.arange(48, dtype=np.int8).reshape(2, 2, 3, 4)
    np.testing.assert_array_equal(network.session("ethos-u55-128").run(x)["output_0"], x)
    np.savez(tmp_path / "other.npz", x=x)
    with pytest.raises(ModelError, match="and this lacks cmd_data"):
        qemu_nn.load(tmp_path / "other.npz")


def payload(**changed):
    """Return ExecuTorch's payload of the same program."""
    shape = (1, 1, 1, 2, 3, 4)
    return pack_payload(raw_arrays()["cmd_data"], [(shape, 0)], [(shape, OUT)], **changed)


def test_a_program_with_operations_of_each_kind_runs(tmp_path):
    path = tmp_path / "net.vela_bin_stream"
    path.write_bytes(every_kind())
    x = np.random.default_rng(3).integers(-128, 128, (4, 5, 5, 4)).astype(np.int8)
    results = [
        qemu_nn.load(path).session("m55", variant=variant).run(x)["output_0"]
        for variant in ("plain", None)
    ]
    np.testing.assert_array_equal(*results)
    assert len(np.unique(results[0])) > 8


def test_the_payload_of_executorch_runs(tmp_path):
    path = tmp_path / "net.vela_bin_stream"
    path.write_bytes(payload())
    x = np.arange(48, dtype=np.int8).reshape(2, 2, 3, 4)
    np.testing.assert_array_equal(qemu_nn.load(path).session("m55").run(x)["output_0"], x)
    damaged = {
        "lacks the block 'inputs'": payload(inputs=None),
        "block 'inputs' is damaged: it has 999": payload(inputs=(999).to_bytes(4, "little")),
        "lacks the block 'vela_end_stream'": payload()[:-32],
    }
    for words, data in damaged.items():
        path.write_bytes(data)
        with pytest.raises(ModelError, match=words):
            qemu_nn.load(path)


def delegated(path, data, backend="EthosUBackend", sizes=(2, 3, 4)):
    """Write a program of ExecuTorch that calls a delegate twice."""
    program = Program()
    tensors = [program.tensor("int8", sizes) for _ in range(3)]
    for first, second in zip(tensors, tensors[1:]):
        program.delegate(backend, data, first, second)
    return program.write(path, tensors[:1], tensors[2:])


def test_delegates_of_executorch_run_between_kernels(tmp_path):
    network = qemu_nn.load(delegated(tmp_path / "net.pte", payload()))
    x = np.arange(48, dtype=np.int8).reshape(2, 2, 3, 4)
    (output,) = network.session("ethos-u55-128").run(x).values()
    np.testing.assert_array_equal(output, x)


def test_a_delegate_that_does_not_fit_is_refused(tmp_path):
    path = tmp_path / "net.pte"
    with pytest.raises(ModelError, match="delegated to another backend, whose kernels are not"):
        qemu_nn.load(delegated(path, payload(), "XnnpackBackend"))
    with pytest.raises(ModelError, match="int8 of 12 bytes; its program has 24 bytes there"):
        qemu_nn.load(delegated(path, payload(), sizes=(3, 4)))
    with pytest.raises(ModelError, match=r"EthosUBackend \(instruction 0\): its payload lacks the"):
        qemu_nn.load(delegated(path, payload()[:-32]))


def warn_of(file, folder):
    """Return the text of the warnings of a file's session."""
    network = qemu_nn.load(file.save(folder))
    with pytest.warns(DeviceWarning) as found:
        network.session("m55")
    return " ".join(str(each.message) for each in found)


def test_a_maximum_of_windows_without_elements_warns(tmp_path):
    writer = Writer().map("ifm", (1, 3, 1), 0).map("ofm", (1, 5, 1), OUT, bits=0x100).clamp()
    writer.kernel(1, 3, pads=(0, 0, 0, 4)).set(ofm_scale=(1, 0)).run("pool", 0)
    ends = [((1, 3), "INT8", 0.5, 0, 0)], [((1, 5), "INT8", 0.5, 0, OUT)]
    file = tflite(writer, *ends)
    assert "a maximum has windows without an element of the image" in warn_of(file, tmp_path)
    (got,) = qemu_nn.load(file.save(tmp_path)).session("m55").run(np.int8([[5, 9, 2]])).values()
    assert got.tolist() == [[9, 9, 2, -128, -128]]


def test_a_division_of_quantized_numbers_warns(tmp_path):
    writer = Writer().map("ifm", (1, 3, 1), 0).map("ifm2", (1, 3, 1), 64).clamp()
    writer.map("ofm", (1, 3, 1), OUT, bits=0x100).set(ofm_scale=(1, 1 << 13)).run("elementwise", 11)
    ends = [((1, 3), "INT8", 0.5, 0, at) for at in (0, 64)]
    file = tflite(writer, ends, [((1, 3), "INT8", 0.5, 0, OUT)], target="ethos-u85-256")
    assert "it divides quantized numbers as integers" in warn_of(file, tmp_path)


def test_fast_memory_beyond_its_tensor_runs_with_a_warning(tmp_path):
    writer = Writer().map("ifm", (1, 3, 1), 0).map("ofm", (1, 3, 1), 64, bits=0x100, region=2)
    writer.kernel().clamp().set(ofm_scale=(1, 0)).run("pool", 0)
    writer.map("ifm", (1, 3, 1), 64, region=2).map("ofm", (1, 3, 1), OUT, bits=0x100).run("pool", 0)
    ends = [((1, 3), "INT8", 0.5, 0, 0)], [((1, 3), "INT8", 0.5, 0, OUT)]
    path = tflite(writer, *ends, fast=66).save(tmp_path)
    with pytest.warns(
        DeviceWarning, match="uses 67 bytes of the fast memory, and the file says 66"
    ):
        session = qemu_nn.load(path).session("m55")
    (got,) = session.run(np.int8([[5, 9, 2]])).values()
    assert got.tolist() == [[5, 9, 2]]
    with pytest.raises(ModelError, match="of region 2, which has 0"):
        qemu_nn.load(tflite(writer, *ends).save(tmp_path))


def change(**registers):
    writer = copy_program()
    last = writer.words.pop()
    writer.set(**registers)
    writer.words.append(last)
    return writer


REFUSED = {
    "an input outside": (change(ifm_base=4090), "an input has bytes 4090 to 4114 of region 1"),
    "an output outside": (change(ofm_base=4090), "its output has bytes 4090 to 4114 of region 1"),
    "before the region": (change(ofm_stride_y=((1 << 32) - 4000, 0xFF)), "has bytes -2976 to"),
    "constants": (change(ofm_region=0), "it writes to region 0, the constants"),
    "no region": (change(ifm_region=5), "of region 5, which has 0"),
    "activation": (change(activation=9), r"its activation function does not exist \(9\)"),
    "table": (change(activation=31), r"its table reaches beyond the memory of tables"),
    "no columns": (change(pad_left=3), r"its windows cover no element of the input \(0\)"),
    "no rows": (change(pad_top=9), r"its windows cover no element of the input \(-7\)"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_stream_that_leaves_its_memory_is_refused(tmp_path, name):
    writer, words = REFUSED[name]
    shape = (1, 2, 3, 4)
    file = tflite(writer, [(shape, "INT8", 0.5, 1, 0)], [(shape, "INT8", 0.5, 1, OUT)])
    with pytest.raises(ModelError, match=r"ethos-u \(operator 0\): .*" + words):
        qemu_nn.load(file.save(tmp_path))


def test_a_damaged_container_is_refused(tmp_path):
    with pytest.raises(ModelError, match="its options are 0105; they must be 010401"):
        qemu_nn.load(copy_file(options=b"\x01\x05").save(tmp_path))
    file = copy_file()
    file.metadata.clear()
    with pytest.raises(ModelError, match="lacks the metadata OfflineMemoryAllocation"):
        qemu_nn.load(file.save(tmp_path))
    with pytest.raises(ModelError, match="begins with b'COP9'"):
        read_stream(b"COP9" + bytes(12))
    with pytest.raises(ModelError, match="0x30001807; it must be that of one of ethos-u55-32"):
        read_stream(container(copy_program().stream, 0x30001807)).target  # noqa: B018
    with pytest.raises(ModelError, match="is said to have 9 words; 1 follow"):
        read_stream(np.array([0x31504F43, 1, 0x1807, 0, 2 | 9 << 16, 0], "<u4").tobytes())


def test_damaged_streams_are_a_sentence_or_run(tmp_path):
    rng, refused = np.random.default_rng(5), 0
    plain = copy_program().words
    x = np.zeros((1, 2, 3, 4), np.int8)
    for _ in range(60):
        writer = Writer()
        writer.words = list(plain)
        for _ in range(int(rng.integers(1, 4))):
            writer.words[int(rng.integers(len(plain)))] ^= 1 << int(rng.integers(32))
        shape = (1, 2, 3, 4)
        file = tflite(writer, [(shape, "INT8", 0.5, 1, 0)], [(shape, "INT8", 0.5, 1, OUT)])
        try:
            qemu_nn.load(file.save(tmp_path)).session("m55").run(x)
        except ModelError:
            refused += 1
    assert 10 < refused < 60


@pytest.mark.parametrize("damage", [damage_stream, damage_weights])
def test_hostile_commands_and_weights_are_a_sentence_or_run(damage, tmp_path):
    data, path, refused = every_kind(), tmp_path / "net.vela_bin_stream", 0
    x = np.ones((1, 5, 5, 4), np.int8)
    for seed in range(150):
        path.write_bytes(damage(data, np.random.default_rng(seed)))
        try:
            qemu_nn.load(path).session("m55").run(x, trace=True)
        except ModelError:
            refused += 1
    assert 10 < refused < 150
