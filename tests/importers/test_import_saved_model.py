"""SavedModel folders: TensorFlow's own, signatures, functions, checkpoints, damaged ones."""

import io
import random
import shutil
import struct
import tarfile

import numpy as np
import pytest
from paths import GOLDEN
from soon import soon

pytest.importorskip("google.protobuf")

from saved_models import (
    MAGIC,
    block,
    end,
    function,
    literals,
    saved_model,
    signature,
    table,
    varint,
    write_variables,
)
from tensorflow_files import FLOAT, STRING, Called, Type, const, node, tensor

import qemu_nn
from qemu_nn.errors import Error, ModelError
from qemu_nn.importers.tensorflow.schema import new, parse
from qemu_nn.io.crc32c import crc32c

RECORDED = GOLDEN / "tensorflow_saved.npz"


def unpack(folder, name):
    """Write a recorded SavedModel; return it with its recorded arrays."""
    with np.load(RECORDED) as found:
        arrays = {key.partition(".")[2]: found[key] for key in found if key.startswith(f"{name}.")}
    with tarfile.open(fileobj=io.BytesIO(arrays.pop("tar.xz").tobytes())) as packed:
        for member in packed:
            path = folder / name / member.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(packed.extractfile(member).read())
    return folder / name, arrays


NAMES = ["cnn", "nested", "two_in", "two_out", "tf1", "minigru", "minilstm"]


@pytest.mark.parametrize("name", NAMES)
def test_what_tensorflow_saved_computes_its_results(tmp_path, name):
    folder, arrays = unpack(tmp_path, name)
    network = qemu_nn.load(folder)
    xs, ys = ([arrays[key] for key in sorted(arrays) if key[0] == side] for side in "xy")
    found = network.evaluate(xs if len(xs) > 1 else xs[0])
    assert len(found) == len(ys)
    for value, wanted in zip(found.values(), ys):
        np.testing.assert_allclose(value, wanted, rtol=1e-5, atol=1e-6)


def test_a_saved_model_is_named_as_its_folder_and_its_ends_as_its_signature(tmp_path):
    folder, _ = unpack(tmp_path, "tf1")
    for path in (folder, folder / "saved_model.pb"):
        graph = qemu_nn.load(path).graph
        assert (graph.name, graph.input, graph.outputs) == ("tf1", "image", ("scores",))
        assert (graph.layout, graph.shape) == ("NHWC", (6, 6, 2))
    part = qemu_nn.load(folder, output="Relu")
    assert part.graph.outputs == ("Relu",)


def test_a_signature_is_chosen_by_name(tmp_path):
    folder, arrays = unpack(tmp_path, "module")
    encode = qemu_nn.load(folder, signature="encode")
    np.testing.assert_allclose(encode.evaluate(arrays["x"])["code"], arrays["code"], rtol=1e-5)
    decode = qemu_nn.load(folder, signature="decode")
    found = decode.evaluate({"c": arrays["c"], "d": arrays["d"]})
    for name in ("out", "second"):
        np.testing.assert_allclose(found[name], arrays[name], rtol=1e-5, atol=1e-6)
    with pytest.raises(ModelError, match=r"several signatures; choose .*: 'decode', 'encode'"):
        qemu_nn.load(folder)
    with pytest.raises(ModelError, match="no signature 'run'; have: 'decode', 'encode'"):
        qemu_nn.load(folder, signature="run")


# A small network: two variables in a function that another function calls.

W, B = np.arange(6, dtype=np.float32).reshape(3, 2), np.array([1.0, -20.0], np.float32)
X = np.array([[1.0, 2.0, 3.0], [-1.0, 0.0, 1.0]])
Y = np.maximum(X @ W + B, 0)
INNER = function(
    "inner",
    "x w b",
    {"y": "act:activations:0"},
    node("read", "ReadVariableOp", "w"),
    node("product", "MatMul", "x read:value:0"),
    node("bias", "ReadVariableOp", "b"),
    node("sum", "BiasAdd", "product:product:0 bias:value:0"),
    node("act", "Relu", "sum:output:0"),
)
OUTER = function(
    "outer",
    "x w b",
    {"y": "call:output:0"},
    node("call", "StatefulPartitionedCall", "x w b", f=Called("inner")),
)


def names_of(*keys):
    """Return a Const of strings."""
    message = tensor(np.float32(0))
    message.dtype, message.tensor_content = STRING, b""
    message.string_val.extend(key.encode() for key in keys)
    return message


LOAD = function(
    "load",
    "file w b",
    {},
    node("names", "Const", value=names_of("w/key", "b/key")),
    node("parts", "Const", value=names_of("", "")),
    node("found", "RestoreV2", "file names:output:0 parts:output:0"),
    node("set_w", "AssignVariableOp", "w found:tensors:0"),
    node("b_value", "Identity", "found:tensors:1"),
    node("set_b", "AssignVariableOp", "b b_value:output:0"),
)
MAIN = (
    node("w", "VarHandleOp", dtype=Type(FLOAT)),
    node("b", "VarHandleOp", dtype=Type(FLOAT)),
    node("given", "Placeholder", dtype=Type(FLOAT)),
    node("file", "Placeholder", dtype=Type(STRING)),
    node("run", "StatefulPartitionedCall", "given w b", f=Called("outer")),
    node("restore", "StatefulPartitionedCall", "file w b", f=Called("load")),
)
SERVE = signature({"x": end("given:0", -1, 3)}, {"y": end("run:0", -1, 2)})
KEYS = {"w/key": W, "b/key": B}


def write(folder, main=MAIN, functions=(INNER, OUTER, LOAD), serve=SERVE, arrays=KEYS, **options):
    """Write a SavedModel; options: of write_variables()."""
    signatures = serve if isinstance(serve, dict) else {"serving_default": serve}
    (folder / "saved_model.pb").write_bytes(saved_model(main, functions, signatures))
    write_variables(folder, arrays, **options)
    return folder


@pytest.mark.parametrize("compress", [None, literals], ids=["plain", "snappy"])
def test_functions_are_inlined_and_variables_read(tmp_path, compress):
    unread = {f"unread/{number}": W for number in range(9)}  # makes blocks that repeat themselves
    network = qemu_nn.load(write(tmp_path, arrays={**KEYS, **unread}, compress=compress))
    assert (network.graph.input, network.graph.outputs) == ("x", ("y",))
    np.testing.assert_array_equal(network.evaluate(X)["y"], Y)


def test_a_variable_without_an_assignment_is_found_by_its_name(tmp_path):
    objects = new("Objects")
    for name, key in (("w", "w/key"), ("b", "b/key")):
        item, stored = new("Object"), new("Stored")
        stored.full_name, stored.checkpoint_key = name.encode(), key.encode()
        item.attributes.append(stored.SerializeToString())
        objects.nodes.append(item.SerializeToString())
    text = objects.SerializeToString()
    described = np.frombuffer(varint(len(text)) + bytes(4) + text, np.uint8)
    arrays = {**KEYS, "_CHECKPOINTABLE_OBJECT_GRAPH": described}
    network = qemu_nn.load(write(tmp_path, (*MAIN[:-1],), arrays=arrays))
    np.testing.assert_array_equal(network.evaluate(X)["y"], Y)


def test_two_calls_of_one_function_have_names_of_their_own(tmp_path):
    twice = function(
        "outer",
        "x w b",
        {"y": "both:z:0"},
        node("one", "PartitionedCall", "x w b", f=Called("inner")),
        node("two", "PartitionedCall", "x w b", f=Called("inner")),
        node("both", "AddV2", "one:output:0 two:output:0"),
    )
    network = qemu_nn.load(write(tmp_path, functions=(INNER, twice, LOAD)))
    assert {"product", "product_"} <= {each.name for each in network.graph.nodes}
    np.testing.assert_array_equal(network.evaluate(X)["y"], 2 * Y)


def test_the_outputs_of_a_function_that_passes_its_inputs_on_are_those(tmp_path):
    swap = function(
        "outer",
        "x w b",
        {"first": "both:output:1", "second": "half:output:1"},
        const("axis", 1),
        node("half", "SplitV", "x sizes:output:0 axis:output:0"),
        const("sizes", [1, 2]),
        node("both", "IdentityN", "half:output:1 x"),
    )
    serve = signature(
        {"x": end("given:0", -1, 3)}, {"b": end("run:0", -1, 3), "a": end("run:1", -1, 2)}
    )
    network = qemu_nn.load(write(tmp_path, functions=(swap, LOAD), serve=serve))
    found = network.evaluate(X)
    assert list(found) == ["b", "a"]
    np.testing.assert_array_equal(found["b"], X)
    np.testing.assert_array_equal(found["a"], X[:, 1:])


def looping(*body, condition=(), returned="next:z:0"):
    """Return functions of a loop that counts to 3, and adds its product with w each time."""
    going = condition or (const("end", 3), node("go", "Less", "count end:output:0"))
    return (
        function("cond", "count x w", {"go": "go:z:0"}, *going),
        function(
            "body",
            "count x w",
            {"count": returned, "x": "sum:z:0", "w": "w"},
            const("one", 1),
            node("next", "AddV2", "count one:output:0"),
            node("read", "ReadVariableOp", "w"),
            node("product", "MatMul", "x read:value:0"),
            node("sum", "AddV2", "x product:product:0"),
            *body,
        ),
        function(
            "outer",
            "x w b",
            {"y": "loop:output:1"},
            node("loop", "While", "zero:output:0 x w", cond=Called("cond"), body=Called("body")),
            const("zero", 0),
        ),
        LOAD,
    )


def test_a_loop_of_constant_length_becomes_its_iterations(tmp_path):
    square = np.array([[0.5, 1.0, 0.0], [0.0, 0.25, -1.0], [1.0, 0.0, 0.5]], np.float32)
    arrays = {**KEYS, "w/key": square}
    network = qemu_nn.load(write(tmp_path, functions=looping(), arrays=arrays))
    assert {"product/0", "product/2"} <= {each.name for each in network.graph.nodes}
    wanted = X @ np.linalg.matrix_power(np.eye(3) + square, 3)
    np.testing.assert_allclose(network.evaluate(X)["y"], wanted, rtol=1e-5)


ENDLESS = (const("end", 3), node("go", "Less", "end:output:0 four:output:0"), const("four", 4))
ROW = (const("end", [3, 4]), node("go", "Less", "count end:output:0"))
COMPUTED = (const("end", 3.0), node("go", "Less", "x end:output:0"))


@pytest.mark.parametrize(
    ("loop", "message"),
    [
        (looping(condition=ROW), "the condition of While 'loop' must be one truth value"),
        (looping(condition=ENDLESS), "While 'loop' has more than 256 iterations"),
        (looping(condition=COMPUTED), "the number of iterations of a loop depends on 'x'"),
        (looping(returned="nothing:z:0"), "a node reads 'nothing', which no node computes"),
        (looping()[1:], "calls 'cond', which the file does not define"),
    ],
)
def test_loops_of_unknown_length_are_refused(tmp_path, loop, message):
    with pytest.raises(ModelError, match=message):
        qemu_nn.load(write(tmp_path, functions=loop))


def changed(**fields):
    """Return a case: the same model with different fields of all entries."""
    return {"options": fields}


DIFFERENT = function(
    "inner", "x w b", {"y": "act:activations:0"}, node("act", "Relu", "missing:output:0")
)
STATE = function(
    "inner",
    "x w b",
    {"y": "act:activations:0"},
    node("act", "Relu", "x"),
    const("one", [1.0, 1.0]),
    node("count", "AssignAddVariableOp", "b one:output:0"),
)
CASES = [
    ({"functions": (OUTER, LOAD)}, "calls 'inner', which the file does not define"),
    ({"functions": (DIFFERENT, OUTER, LOAD)}, "a node reads 'missing', which no node computes"),
    ({"functions": (STATE, OUTER, LOAD)}, "AssignAddVariableOp 'count' changes the variable 'b'"),
    (
        {"functions": (function("outer", "x", {"y": "x"}), LOAD)},
        "calls 'outer' with 3 tensors; it takes 1",
    ),
    (
        {
            "functions": (
                function("outer", "x w b", {"y": "c:o:0"}, node("c", "outer", "x w b")),
                LOAD,
            )
        },
        "call each other to a depth of more than 64",
    ),
    (
        {"functions": (function("outer", "x w b", {"y": "nothing:y:0"}), LOAD)},
        "a node reads 'nothing', which no node computes",
    ),
    ({"main": MAIN[:-1]}, "the variable 'w' is not loaded from the checkpoint"),
    ({"main": MAIN[1:]}, "a node reads 'w', which no node computes"),
    ({"serve": {}}, "has no signatures; save the model with signatures="),
    ({"serve": {"__init": SERVE}}, "has no signatures"),
    ({"serve": signature({}, {})}, "its signature 'serving_default' has no outputs"),
    ({"arrays": {"w/key": W}}, "the variable 'b/key' is not in variables.index"),
    ({"arrays": {**KEYS, "w/key": W[:, :1]}}, "a number for each channel"),
    (changed(crc32c=1), "the variable './key' is damaged: its checksum does not match"),
    (changed(offset=10_000), "the variable './key' is outside of variables.data-00000-of-00001"),
    (changed(offset=-8), "the variable './key' is outside of variables.data"),
    (
        changed(size=2**40),
        r"the variable './key' \[.*\] of float32 cannot have 1099511627776 bytes",
    ),
    (changed(dtype=STRING), "the variable './key': elements of strings are not supported"),
    (changed(shard_id=7), "cannot read .*variables.data-00007-of-00001"),
]


@pytest.mark.parametrize(("case", "message"), CASES)
def test_what_cannot_be_read_is_refused_in_a_sentence(tmp_path, case, message):
    options = case.pop("options", {})
    with pytest.raises(ModelError, match=message) as caught:
        qemu_nn.load(write(tmp_path, **case, **options))
    case.update({"options": options} if options else {})
    assert "saved_model.pb: " in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_variable_in_slices_is_refused(tmp_path):
    write(tmp_path)
    path = tmp_path / "variables" / "variables.index"
    stored = new("BundleEntry")
    stored.slices.append(b"")
    header = new("BundleHeader")
    header.num_shards = 1
    pairs = [(b"", header.SerializeToString())]
    pairs += [(key, stored.SerializeToString()) for key in (b"b/key", b"w/key")]
    path.write_bytes(table([(b"w/key", block(pairs))]))
    with pytest.raises(ModelError, match="is stored in slices; save the model without partitions"):
        qemu_nn.load(tmp_path)


def test_an_index_that_copies_from_before_its_start_is_refused(tmp_path):
    write(tmp_path)
    path = tmp_path / "variables" / "variables.index"

    def bad(content):
        return varint(len(content)) + bytes([1, 9]) + content

    path.write_bytes(table([(b"a", block([(b"", b"")], bad))]))
    with pytest.raises(ModelError, match="copies bytes from before its start"):
        qemu_nn.load(tmp_path)


def test_a_folder_without_its_variables_says_which_file_is_missing(tmp_path):
    write(tmp_path)
    shutil.rmtree(tmp_path / "variables")
    with pytest.raises(ModelError, match=r"cannot read .*variables\.index: No such file"):
        qemu_nn.load(tmp_path)


def test_several_graphs_to_serve_are_refused(tmp_path):
    data = saved_model(MAIN, (INNER, OUTER, LOAD), {"serving_default": SERVE})
    saved = parse("SavedModel", data)
    saved.meta_graphs.append(saved.meta_graphs[0])
    (tmp_path / "saved_model.pb").write_bytes(saved.SerializeToString())
    with pytest.raises(ModelError, match="it has 2 graphs, 2 of these to serve; it needs one"):
        qemu_nn.load(tmp_path)


def test_a_frozen_graph_has_no_signatures(tmp_path):
    (tmp_path / "net.pb").write_bytes(b"")
    with pytest.raises(ModelError, match="a frozen graph has no signatures: leave out signature="):
        qemu_nn.load(tmp_path / "net.pb", signature="x")


def refusal_of(folder):
    """Return why a folder is refused, or "" if it is read."""
    with soon(20):
        try:
            qemu_nn.load(folder)
        except Error as error:
            return str(error)
    return ""


@pytest.mark.parametrize("name", ["saved_model.pb", "index", "data"])
def test_damaged_files_are_refused_or_compute_something(tmp_path, name):
    write(tmp_path, compress=literals)
    files = {"saved_model.pb": tmp_path / "saved_model.pb"}
    for path in (tmp_path / "variables").iterdir():
        files[path.suffix[1:].partition("-")[0]] = path
    whole, draw = files[name].read_bytes(), random.Random(name)
    refusals = []
    for number in range(120):
        data = bytearray(whole)
        if number % 4 == 3:
            del data[draw.randrange(len(data)) :]
        for _ in range(1 + number % 3):
            if data:
                data[draw.randrange(len(data))] = draw.randrange(256)
        files[name].write_bytes(data)
        refusals.append(refusal_of(tmp_path))
    assert not any("\n" in each for each in refusals)
    assert refusals.count("") < (120 if name == "saved_model.pb" else 20)


def test_the_checksum_is_castagnolis():
    assert crc32c(b"") == 0
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(bytes([255] * 32)) == 0x62A8AB43
    data = random.Random(1).randbytes(70_001)
    register = 0xFFFFFFFF
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = register >> 1 ^ (0x82F63B78 if register & 1 else 0)
    assert crc32c(data) == register ^ 0xFFFFFFFF


def test_a_table_ends_with_its_signature():
    assert struct.unpack("<Q", table([])[-8:])[0] == MAGIC
