"""A .qnz gives back the graph that was saved, and refuses everything else with a reason."""

import io
import json
import os
import zipfile
from dataclasses import fields, replace

import firmware
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qemu_nn.errors import Error, ModelError
from qemu_nn.functions import FUNCTIONS
from qemu_nn.importers import network_json
from qemu_nn.io import archive
from qemu_nn.ir.graph import Address, CallAddresses, Graph, Memory, Node, Tensor
from qemu_nn.qnz import package as package
from qemu_nn.qnz.package import load_package, model_hash, save_package

NAMES = st.text(st.characters(exclude_categories=[]), min_size=1, max_size=8)
FRAC = st.none() | st.integers(-64, 64)


def same(a, b):
    """Equal in every field; the arrays in shape, type and content."""
    for field in fields(Graph):
        if field.name != "arrays":
            assert getattr(a, field.name) == getattr(b, field.name)
    assert set(a.arrays) == set(b.arrays)
    for name, array in a.arrays.items():
        other = b.arrays[name]
        assert (array.dtype, array.shape) == (other.dtype, other.shape)
        np.testing.assert_array_equal(array, other)
    return True


@st.composite
def graphs(draw):
    """Chains of dense layers, rectifiers and sums, with and without the firmware's memory."""
    size = draw(st.integers(1, 6))
    names = draw(st.lists(NAMES, min_size=4, max_size=8, unique=True))
    entry, state, *layers = names
    arrays, nodes, source = {}, [], entry
    for name in layers:
        kind = draw(st.sampled_from(["relu", "dense", "add"]))
        output = Tensor(name, (size,), "int8", draw(FRAC))
        if kind == "relu":
            node = Node(FUNCTIONS["arm_relu_q7"], {"size": size}, (source,), output)
        elif kind == "add":
            node = Node(FUNCTIONS["arm_add_q7"], {"blockSize": size}, (source, entry), output)
        else:
            params = {"dim_vec": size, "num_of_rows": size, "bias_shift": 0, "out_shift": 3}
            arrays[f"{name} w"] = np.array(
                draw(st.lists(st.integers(-128, 127), min_size=size**2, max_size=size**2)), np.int8
            ).reshape(draw(st.sampled_from([(size, size), (size * size,)])))
            arrays[f"{name} b"] = np.zeros(size, np.int8)
            node = Node(
                FUNCTIONS["arm_fully_connected_q7"], params, (source,), output, *list(arrays)[-2:]
            )
        nodes.append(node)
        source = name
    graph = Graph(
        draw(NAMES),
        (Tensor(entry, (size,), "int8", draw(FRAC)),),
        tuple(nodes),
        tuple(draw(st.lists(st.sampled_from(layers), min_size=1, max_size=3, unique=True))),
        arrays,
        classes=tuple(draw(st.lists(NAMES, max_size=3))),
    )
    return draw(st.just(graph) | placed(graph, size, state))


@st.composite
def placed(draw, graph, size, state):
    """Return the graph in one buffer, with a state or without."""
    spot = st.builds(Address, st.just("buffer"), st.integers(0, 99))
    places, nodes = {}, []
    for node in graph.nodes:
        inputs = tuple(draw(spot) for _ in node.function.inputs)
        output = inputs[0] if node.function.in_place else draw(spot)
        places[node.name] = CallAddresses(inputs, output, draw(st.none() | spot))
        nodes.append(replace(node, inputs=()))
    states = draw(st.sampled_from([(), (Tensor(state, (size,), "int8"),)]))
    memory = Memory(
        {"other": 7, "buffer": 100}, places, draw(spot), {s.name: draw(spot) for s in states}
    )
    return replace(graph, nodes=tuple(nodes), memory=memory, states=states)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(graph=graphs())
def test_what_is_loaded_is_what_was_saved(tmp_path_factory, graph):
    path = tmp_path_factory.mktemp("package") / "model.qnz"
    save_package(graph, path)
    loaded = load_package(path).graph
    assert same(loaded, graph)
    assert model_hash(loaded) == model_hash(graph)
    first = path.read_bytes()
    save_package(loaded, path)
    assert path.read_bytes() == first


@pytest.fixture
def graph(tmp_path):
    return network_json.load(firmware.write(tmp_path, firmware.small()[0], **firmware.small()[1]))


@pytest.fixture
def saved(graph, tmp_path):
    save_package(graph, tmp_path / "model.qnz")
    return tmp_path / "model.qnz"


def entries(path):
    with zipfile.ZipFile(path) as stored:
        return {name: stored.read(name) for name in stored.namelist()}


def rewrite(path, change, compression=zipfile.ZIP_STORED):
    """Return the same package after change(entries)."""
    content = entries(path)
    content = change(content) or content
    with zipfile.ZipFile(path, "w", compression) as stored:
        for name, data in content.items() if isinstance(content, dict) else content:
            stored.writestr(name, data)


def edit(change):
    """Return a function that changes the JSON in the package."""

    def edited(content):
        document = json.loads(content["graph.json"])
        change(document)
        content["graph.json"] = json.dumps(document).encode()

    return edited


def npy(array, **header):
    stream = io.BytesIO()
    described = np.lib.format.header_data_from_array_1_0(array)
    np.lib.format.write_array_header_1_0(stream, {**described, **header})
    return stream.getvalue() + array.tobytes()


def array_0(data):
    return lambda content: content.update({"arrays/0.npy": data})


BIAS = np.array([1, -2, 3], np.int8)

REFUSED = {
    "graph.json: a newer qemu_nn wrote it (format version 3, this one reads 2)": edit(
        lambda d: d.update(version=3)
    ),
    "'version' must be at least 1, is 0": edit(lambda d: d.update(version=0)),
    "'version' is missing": edit(lambda d: d.pop("version")),
    "'version' must be an integer, not true": edit(lambda d: d.update(version=True)),
    "this is not a model of qemu_nn": edit(lambda d: d.update(format="zip")),
    "has no entry graph.json": lambda c: {k: v for k, v in c.items() if k != "graph.json"},
    "arrays/1.npy is missing": lambda c: {k: v for k, v in c.items() if k != "arrays/1.npy"},
    "arrays/2.npy is not expected": lambda c: c.update({"arrays/2.npy": npy(BIAS)}),
    "../evil is not expected": lambda c: c.update({"../evil": b""}),
    "/etc/evil is not expected": lambda c: c.update({"/etc/evil": b""}),
    "two entries with the same name": lambda c: [*c.items(), ("graph.json", b"{}")],
    "'arrays' must be sorted names": edit(lambda d: d.update(arrays=["fc_wt", "fc_wt"])),
    "'arrays'[0] must be a string": edit(lambda d: d.update(arrays=[1, 2])),
    "'notes'[1] must be a string, not 7": edit(lambda d: d.update(notes=["read", 7])),
    "nested too deeply": lambda c: c.update({"graph.json": b'{"a":' + b"[" * 100_000}),
    "is not JSON": lambda c: c.update({"graph.json": b"{"}),
    "'nodes' must be a list, not an object": edit(lambda d: d.update(nodes={})),
    "'nodes'[0] must be an object, not 1": edit(lambda d: d.update(nodes=[1])),
    "nodes[0]: the function 'exec' is unknown": edit(
        lambda d: d["nodes"][0].update(function="exec")
    ),
    "nodes[0]: params: 'dim_vec' is missing": edit(
        lambda d: d["nodes"][0]["params"].update(dim_vec=None)
    ),
    "nodes[0]: params: 'dim_vec' must be an integer, not \"4\"": edit(
        lambda d: d["nodes"][0]["params"].update(dim_vec="4")
    ),
    "must have 12000000": edit(lambda d: d["nodes"][0]["params"].update(dim_vec=4_000_000)),
    "nodes[0]: output: 'shape'[0] must be an integer, not 3.0": edit(
        lambda d: d["nodes"][0]["output"].update(shape=[3.0])
    ),
    "fc has the shape [-3]": edit(lambda d: d["nodes"][0]["output"].update(shape=[-3])),
    "input has 1 axes and 9223372036854775807 bytes": edit(
        lambda d: d["input"].update(shape=[2**63 - 1])
    ),
    "input is float64; have: int8": edit(lambda d: d["input"].update(dtype="float64")),
    "input has 65 fraction bits": edit(lambda d: d["input"].update(frac=65)),
    "the name 'fc' is used twice": edit(lambda d: d["nodes"][1]["output"].update(name="fc")),
    "names the array 'other'": edit(lambda d: d["nodes"][0].update(weights="other")),
    "its memory lacks the addresses of layer 'fc'": edit(lambda d: d["memory"]["places"].pop("fc")),
    "its memory has addresses of 'h', which is no state": edit(
        lambda d: d["memory"]["states"].update(h={"buffer": "in", "offset": 0})
    ),
    "the input is at in+4, outside the 4 bytes": edit(
        lambda d: d["memory"]["input"].update(offset=4)
    ),
    "the input is at in+-1, outside": edit(lambda d: d["memory"]["input"].update(offset=-1)),
    "there is no buffer 'x' for the input": edit(lambda d: d["memory"]["input"].update(buffer="x")),
    "buffer 'in' has -1 bytes": edit(lambda d: d["memory"]["buffers"].update({"in": -1})),
    "buffers take more than 256 MiB": edit(lambda d: d["memory"]["buffers"].update({"in": 2**40})),
    "has the shape (-3,); axes": array_0(npy(BIAS, shape=(-3,))),
    "has the shape (True,); axes": array_0(npy(BIAS, shape=(True,))),
    "has 3 bytes of data, but its shape [4] needs 4": array_0(npy(BIAS, shape=(4,))),
    "has 4 bytes of data": array_0(npy(BIAS) + b"x"),
    "has the shape (1099511627776,); axes": array_0(npy(BIAS, shape=(2**40,))),
    "its shape [268435456, 268435456] needs": array_0(npy(BIAS, shape=(2**28, 2**28))),
    "elements of type '<f8'": array_0(npy(BIAS.astype(np.float64))),
    "elements of type '>i2'": array_0(npy(BIAS.astype(">i2"))),
    "elements of type '|O'": array_0(npy(BIAS, descr="|O")),
    "elements of type [('a', '|i1')]": array_0(npy(BIAS, descr=[("a", "|i1")])),
    "is in Fortran order": array_0(npy(np.zeros((2, 2), np.int8), fortran_order=True)),
    "is not a .npy array": array_0(b"\x80\x04pickle"),
    "has no readable .npy header": array_0(npy(BIAS).replace(b"{", b"(")),
    "'fc_bias' is int16, but must be int8": array_0(npy(BIAS.astype("<i2"))),
    "'fc_bias' has 2 elements, but must have 3": array_0(npy(BIAS[:2])),
}


@pytest.mark.parametrize("reason", REFUSED)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_what_was_not_saved_so_is_refused(saved, reason):
    rewrite(saved, REFUSED[reason])
    with pytest.raises(ModelError) as caught:
        load_package(saved)
    assert str(saved) in str(caught.value)
    assert reason in str(caught.value)


def test_every_truncated_file_is_refused(saved):
    whole = saved.read_bytes()
    for size in range(0, len(whole), 3):
        saved.write_bytes(whole[:size])
        with pytest.raises(ModelError, match=r"model\.qnz"):
            load_package(saved)


def test_a_bomb_is_refused_before_it_is_unpacked(saved, monkeypatch):
    monkeypatch.setattr(archive, "LIMIT", 2**20)
    rewrite(saved, array_0(bytes(2**20)), zipfile.ZIP_DEFLATED)
    with pytest.raises(ModelError, match=r"unpacks to \d+ bytes; at most 1 MiB are read"):
        load_package(saved)


def test_a_size_that_lies_is_refused(saved):
    rewrite(saved, lambda content: None, zipfile.ZIP_DEFLATED)
    whole = bytearray(saved.read_bytes())
    entry = whole.index(b"PK\x01\x02")
    whole[entry + 24 : entry + 28] = (10_000_000).to_bytes(4, "little")
    saved.write_bytes(whole)
    with pytest.raises(ModelError, match="is damaged"):
        load_package(saved)


def test_a_damaged_array_is_refused(saved):
    whole = saved.read_bytes()
    assert whole.count(BIAS.tobytes()) == 1
    saved.write_bytes(whole.replace(BIAS.tobytes(), b"\1\2\3"))
    with pytest.raises(ModelError, match=r"arrays/0\.npy is damaged: Bad CRC"):
        load_package(saved)


@pytest.mark.parametrize("name", ["missing.qnz", "folder.qnz", "nul\0.qnz"])
def test_what_can_not_be_opened_is_refused(tmp_path, name):
    (tmp_path / "folder.qnz").mkdir()
    with pytest.raises(ModelError, match="cannot read"):
        load_package(tmp_path / name)


def test_a_packed_copy_is_the_same_model(graph, saved):
    rewrite(saved, lambda content: None, zipfile.ZIP_DEFLATED)
    assert same(load_package(saved).graph, graph)


def test_saving_replaces_the_file_and_leaves_nothing_else(graph, saved):
    saved.write_bytes(b"old")
    before = sorted(saved.parent.iterdir())
    save_package(graph, str(saved))
    assert same(load_package(str(saved)).graph, graph)
    assert sorted(saved.parent.iterdir()) == before


@pytest.mark.parametrize("fault", ["replace", "array", "folder"])
def test_a_failure_leaves_the_old_file_alone(graph, saved, monkeypatch, fault):
    old, path = saved.read_bytes(), saved
    before = sorted(saved.parent.iterdir())
    if fault == "replace":

        def fail(source, target):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "replace", fail)
    elif fault == "array":
        graph = replace(graph, arrays={**graph.arrays, "real": np.zeros(2)})
    else:
        path = saved.parent / "nowhere" / "model.qnz"
    with pytest.raises(ModelError):
        save_package(graph, path)
    assert saved.read_bytes() == old
    assert sorted(saved.parent.iterdir()) == before


def test_the_hash_is_of_the_content(graph, saved):
    known = model_hash(graph)
    assert len(known) == 64
    assert model_hash(load_package(saved).graph) == known
    reordered = dict(reversed(list(graph.arrays.items())))
    assert model_hash(replace(graph, arrays=reordered)) == known
    others = [
        replace(graph, name="other"),
        replace(graph, outputs=("fc",)),
        replace(graph, classes=()),
        replace(graph, arrays={**graph.arrays, "fc_bias": BIAS + 1}),
        replace(graph, arrays={**graph.arrays, "fc_wt": graph.arrays["fc_wt"].ravel()}),
        replace(graph, inputs=(replace(graph.input, frac=7),)),
        replace(graph, memory=replace(graph.memory, buffers={"pad": 16, "in": 5})),
    ]
    assert len({known, *map(model_hash, others)}) == len(others) + 1


def test_any_damage_gives_the_graph_or_an_error(graph, saved):
    good = saved.read_bytes()
    random, reasons = np.random.default_rng(4), set()
    for turn in range(800):
        data = bytearray(good)
        for _ in range(random.integers(1, 4)):
            data[random.integers(len(data))] = random.integers(256)
        saved.write_bytes(data)
        if turn % 2:  # damage that no check sum gives away
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(zipfile.ZipExtFile, "_update_crc", lambda self, data: None)
                reasons.add(outcome(saved))
        else:
            reasons.add(outcome(saved))
    assert len(reasons) > 50


def outcome(path):
    try:
        load_package(path)
    except Error as error:
        return str(error)
    return "loaded"


def test_only_what_is_known_is_written(saved):
    document = json.loads(entries(saved)["graph.json"])
    assert document["format"] == "qemu_nn graph"
    assert document["version"] == package._WITHOUT_LOOPS == 1
    assert document["nodes"][1] == {
        "function": "arm_relu_q7",
        "params": {"size": 3},
        "inputs": [],
        "output": {"name": "relu", "shape": [3], "dtype": "int8", "frac": None},
        "weights": None,
        "bias": None,
    }


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64"])
def test_arrays_of_every_type_come_back(dtype, tmp_path):
    limits = np.iinfo(dtype)
    values = np.array([limits.min, limits.max, 1], dtype)
    relu = Node(FUNCTIONS["arm_relu_q7"], {"size": 3}, ("x",), Tensor("relu", (3,), "int8"))
    graph = Graph("net", (Tensor("x", (3,), "int8"),), (relu,), ("relu",), {"w": values})
    save_package(graph, tmp_path / "net.qnz")
    assert same(load_package(tmp_path / "net.qnz").graph, graph)
