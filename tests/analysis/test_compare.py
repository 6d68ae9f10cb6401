"""Dumps of a device against goldens: equal, or where they part and probably why."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import networks
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qemu_nn import Target
from qemu_nn.analysis.compare import Comparison, Finding
from qemu_nn.analysis.text_dumps import parse_hex
from qemu_nn.api import golden as pipeline
from qemu_nn.errors import Error

LAYERS = ["data", "conv1", "relu1", "pool1", "clobber_pool1", "ip1", "softmax"]


def test_nodes_of_a_program_are_not_called_dumps():
    finding = Finding("relu", "relu", Path("recorded"), 4, 4)
    assert Comparison((finding,), nodes=True).lines()[-1] == (
        "all 1 nodes are equal to the device's values"
    )
    other = replace(finding, unlike="it is int16")
    assert str(Comparison((finding, other), nodes=True)).endswith("1 of 2 nodes differ, first relu")


def uart(content):
    """Format bytes as a monitor prints memory."""
    rows = [content[i : i + 16] for i in range(0, len(content), 16)]
    return "".join(f"{16 * i:08X}: {row.hex(' ')}\r\n" for i, row in enumerate(rows))


def save(path, values, ending):
    path.parent.mkdir(parents=True, exist_ok=True)
    content = values.tobytes()
    path = path.with_name(path.name + ending)
    if ending == ".npy":
        np.save(path, values)
    elif ending == ".bin":
        path.write_bytes(content)
    elif ending == ".hex":
        path.write_text(uart(content))
    else:
        path.write_text(",\n".join(f"0x{byte:02x}" for byte in content))


ENDINGS = [".bin", ".npy", ".hex", ".txt"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "set"
    network = pipeline.Network(networks.classifier(memory=True))
    pipeline.golden(network, networks.images(2), folder)
    return folder


def trace(target="cortex-m4"):
    network = pipeline.Network(networks.classifier(memory=True))
    return network.session(target).run(networks.images(2), trace=True)


def dump(folder, ending=".bin", change=lambda name, values: values, target="cortex-m4"):
    """Return the dump of a device that computes like the session, changed by `change`."""
    for layer, values in {"data": networks.images(2), **trace(target)}.items():
        for i in range(2):
            name = f"x{i}/{layer.replace('.', '_')}"
            save(folder / name, change(name, values[i]), ending)
    return folder


def first(made, folder):
    comparison = pipeline.compare(made, folder)
    assert not comparison.same
    assert str(comparison).endswith(f"dumps differ, first {comparison.first.name}")
    return comparison.first


def only(name, change):
    """Change the dump of one golden and no other."""
    return lambda this, values: change(values.copy()) if this == name else values


def cause(made, tmp_path, name, change):
    finding = first(made, dump(tmp_path, change=only(name, change)))
    assert finding.name == name
    assert finding.difference.cause in str(pipeline.compare(made, tmp_path))
    return finding.difference.cause


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_dump_made_by_the_session_is_the_same(made, tmp_path, ending):
    comparison = pipeline.compare(made, dump(tmp_path, ending))
    assert comparison.same
    assert comparison.first is None
    assert [f.name for f in comparison.findings] == [f"x{i}/{n}" for i in (0, 1) for n in LAYERS]
    assert (comparison.missing, comparison.strange) == ((), ())
    assert comparison.lines()[-1] == "all 14 dumps are equal to their goldens"


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("layer", LAYERS)
def test_one_flipped_bit_is_found_by_layer_and_index(made, tmp_path, ending, layer):
    def flip(values):
        values.flat[7] ^= -128
        return values

    finding = first(made, dump(tmp_path, ending, only(f"x1/{layer}", flip)))
    want = np.load(made / "x1" / f"{layer}.npy")
    difference = finding.difference
    assert finding.name == f"x1/{layer}"
    assert difference.index == 7
    assert difference.position == np.unravel_index(7, want.shape)
    assert (difference.got, difference.want) == (want.flat[7] ^ -128, want.flat[7])
    assert (difference.differing, difference.differing_bytes) == (1, 1)
    assert (difference.largest, difference.cause) == (128, "")


def test_the_text_names_the_element_in_both_ways_and_counts(made, tmp_path):
    def change(values):
        values[3, 4, 1] = 10
        values[5, 0, 0] = -100
        return values

    want = np.load(made / "x0/conv1.npy")
    largest = max(abs(10 - int(want[3, 4, 1])), abs(-100 - int(want[5, 0, 0])))
    folder = dump(tmp_path, change=only("x0/conv1", change))
    lines = pipeline.compare(made, folder).lines()
    at = lines.index("same     x0/data") + 1
    assert lines[at : at + 2] == [
        f"DIFFERS  x0/conv1: index=113 [y=3][x=4][c=1] got=10 want={want[3, 4, 1]} "
        f"({folder / 'x0' / 'conv1.bin'})",
        f"         2 of 256 elements and 2 of 256 bytes differ, by {largest} at most",
    ]
    assert lines[-1] == "1 of 14 dumps differ, first x0/conv1"


@pytest.mark.parametrize(
    ("target", "layer", "words"),
    [
        (Target(cmsis="5.6.0"), "softmax", "CMSIS 5.6.0 instead of 5.9.0"),
        (Target(rounding="truncate"), "conv1", "rounding mode truncate instead of nearest"),
    ],
)
def test_the_bits_of_another_profile_are_recognized(made, tmp_path, target, layer, words):
    finding = first(made, dump(tmp_path, target=target))
    assert finding.name == f"x0/{layer}"
    assert finding.difference.cause == f"these are exactly the bits of {words}"


@pytest.mark.parametrize(
    ("target", "cores"), [("cortex-m4", "Cortex-M4"), ("dsp", "Cortex-M4, M7, M33, M35P")]
)
def test_the_bits_of_another_core_are_recognized(tmp_path, target, cores):
    graph = networks.average()
    x = np.random.default_rng(3).integers(-128, 128, (1, 5, 5, 2), np.int8)
    network = pipeline.Network(graph)
    pipeline.golden(network, x, tmp_path / "set", target=target)
    save(tmp_path / "dump" / "pool", network.session("cortex-m3").run(x)["pool"][0], ".bin")
    finding = first(tmp_path / "set", tmp_path / "dump")
    assert finding.difference.cause == (
        "these are exactly the bits of Cortex-M0, M0+, M1, M3, M23, M52, M55, M85 "
        f"instead of {cores}"
    )


def test_what_a_pool_leaves_of_its_input_is_known_of_cores_that_leave_all_of_it(made, tmp_path):
    relu = np.load(made / "x0/relu1.npy")
    found = cause(made, tmp_path, "x0/clobber_pool1", lambda v: relu.reshape(v.shape))
    assert found == (
        "these are exactly the bits of Cortex-M0, M0+, M1, M3, M23, M52, M55, M85 "
        "instead of Cortex-M4"
    )


def test_rounding_is_recognized_where_no_profile_has_these_bits(made, tmp_path):
    lower = np.arange(256).reshape(8, 8, 4) % 5 == 0
    for change, words in (
        (lambda v: v - lower, "it was truncated"),
        (lambda v: v + lower, "every difference is +1 or -1"),
        (lambda v: v - lower + 2 * (lower & (np.arange(4) == 1)), "every difference is +1 or -1"),
    ):
        bits = cause(made, tmp_path, "x0/conv1", lambda v, f=change: f(v).astype(np.int8))
        assert bits.startswith("rounding mode: ")
        assert words in bits


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ([1, 1, 1], "it was rounded to nearest instead of truncated"),
        ([1, -1, 1], "every difference is +1 or -1"),
        ([-1, -1, -1], "every difference is +1 or -1"),
    ],
)
def test_the_device_rounds_where_the_golden_truncates(tmp_path, steps, words):
    network = pipeline.Network(networks.classifier())
    pipeline.golden(
        network, networks.images(1), tmp_path / "set", target=Target(rounding="truncate")
    )
    values = np.load(tmp_path / "set/x0/ip1.npy")
    values[:3] += np.array(steps, np.int8)
    save(tmp_path / "dump/ip1", values, ".bin")
    found = first(tmp_path / "set", tmp_path / "dump").difference.cause
    assert found.startswith(f"rounding mode: {words}")


@pytest.mark.parametrize(
    ("order", "layout"),
    [((2, 0, 1), "CHW"), ((1, 0, 2), "WHC"), ((2, 1, 0), "CWH"), ((0, 2, 1), "HCW")],
)
def test_a_transposed_layout_is_recognized(made, tmp_path, order, layout):
    found = cause(made, tmp_path, "x0/conv1", lambda v: np.ascontiguousarray(v.transpose(order)))
    assert found == f"transposed: it is laid out as {layout} instead of HWC"


def test_other_likely_causes_are_recognized(made, tmp_path):
    conv = np.load(made / "x0/conv1.npy")
    data = np.load(made / "x0/data.npy")
    for name, change, words in (
        ("x0/conv1", np.zeros_like, "every element is 0: the buffer was never written"),
        ("x0/conv1", lambda v: np.full_like(v, -86), "every element is -86"),
        ("x0/conv1", lambda v: np.maximum(v, 0), "ReLU has already been applied"),
        ("x0/relu1", lambda v: conv.reshape(v.shape), "these are the bytes of x0/conv1"),
        ("x0/conv1", lambda v: np.append(3, v.ravel()[:-1]).astype(v.dtype), "too early"),
        ("x0/conv1", lambda v: np.append(v.ravel()[1:], 3).astype(v.dtype), "too late"),
        ("x0/data", lambda v: data ^ 85, ""),
        ("x0/ip1", lambda v: v + (np.arange(10) == 4).astype(v.dtype), ""),
    ):
        found = cause(made, tmp_path, name, change)
        assert words in found
        assert bool(words) == bool(found)


def test_swapped_bytes_are_recognized(tmp_path):
    network = pipeline.Network(networks.recurrent())
    x = np.array([[[1, -2, 300, 4], [5, 6, 7, -800]]], np.int16)
    pipeline.golden(network, x, tmp_path / "set")
    history = network.session().run(x)["history"][0]
    for t, values in enumerate((history[0], history[1].byteswap())):
        save(tmp_path / f"dump/t{t}_history", values, ".bin")
    finding = first(tmp_path / "set", tmp_path / "dump")
    assert finding.name == "x0/t1/history"
    assert finding.difference.cause == "byte order: each 16-bit element has its bytes swapped"
    assert (finding.difference.differing, finding.difference.differing_bytes) == (4, 8)


def test_dumps_may_lie_flat_and_without_the_only_input(tmp_path):
    network = pipeline.Network(networks.classifier())
    pipeline.golden(network, networks.images(1), tmp_path / "set")
    for name in ("x0/conv1", "x0_conv1", "conv1"):
        folder = tmp_path / name.replace("/", "-")
        save(folder / name, np.load(tmp_path / "set/x0/conv1.npy"), ".bin")
        comparison = pipeline.compare(tmp_path / "set", folder)
        assert comparison.same
        assert [finding.name for finding in comparison.findings] == ["x0/conv1"]
        assert "missing  x0/relu1" in comparison.lines()


def test_with_two_inputs_a_layer_alone_names_no_golden(made, tmp_path):
    save(tmp_path / "conv1", np.zeros(256, np.int8), ".bin")
    with pytest.raises(Error, match=r"such as x0/data or x0_data .* the folder has conv1\.bin$"):
        pipeline.compare(made, tmp_path)
    (tmp_path / "conv1.bin").unlink()
    with pytest.raises(Error, match="the folder has nothing that ends in"):
        pipeline.compare(made, tmp_path)
    with pytest.raises(Error, match="there is no folder"):
        pipeline.compare(made, tmp_path / "none")
    (tmp_path / "conv1.bin").touch()
    with pytest.raises(Error, match=r"conv1\.bin has no results of a self-test"):
        pipeline.compare(made, tmp_path / "conv1.bin")


def test_dumps_without_a_golden_are_named(made, tmp_path):
    dump(tmp_path)
    save(tmp_path / "x0/conv2", np.zeros(1, np.int8), ".hex")
    comparison = pipeline.compare(made, tmp_path)
    assert comparison.same
    assert comparison.strange == (tmp_path / "x0/conv2.hex",)


def test_every_dump_of_a_golden_counts(made, tmp_path):
    dump(tmp_path, ".bin")
    save(tmp_path / "x0/ip1", np.zeros(10, np.int8), ".hex")
    assert first(made, tmp_path).dump == tmp_path / "x0/ip1.hex"


@pytest.mark.parametrize(
    ("ending", "values", "words"),
    [
        (".bin", np.zeros(9, np.int8), "it has 9 bytes, but the golden has 10"),
        (".hex", np.zeros(11, np.int8), "it has 11 bytes, but the golden has 10"),
        (".txt", np.zeros(20000, np.int8), "characters, which is too many for 10 bytes"),
        (".npy", np.zeros(9, np.int8), "it has 9 elements, but the golden has 10"),
        (".npy", np.zeros(10, np.int16), "it contains int16, but the golden int8"),
        (".npy", np.zeros(10, bool), "it contains bool, but the golden int8"),
        (".npy", np.zeros(70000, np.int8), "it has more than"),
    ],
)
def test_a_wrong_size_or_type_is_a_difference_in_words(made, tmp_path, ending, values, words):
    save(tmp_path / "x0/ip1", values, ending)
    finding = first(made, tmp_path)
    assert words in finding.unlike
    assert finding.difference is None
    assert finding.lines()[0].startswith(f"DIFFERS  x0/ip1: {finding.unlike}")


def test_npy_dumps_are_compared_by_value_whatever_their_layout(made, tmp_path):
    want = np.load(made / "x0/conv1.npy")
    for values in (np.asfortranarray(want), want.view(np.uint8), want.ravel(), want[None]):
        save(tmp_path / "x0/conv1", values, ".npy")
        assert pipeline.compare(made, tmp_path).same


HEADER = "{'descr': '%s', 'fortran_order': False, 'shape': (%s,), }"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK\x03\x04",
        b"\x80\x04K\x01.",
        b"\x93NUMPY\x01\x00\xff\xff",
        b"\x93NUMPY\x09\x00\x10\x00" + b" " * 16,
        *(
            b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + bytes(10)
            for text in (
                "(" * 300,
                "{'descr'",
                "__import__('os')\n",
                HEADER % ("|O", 10),
                HEADER % ("|i1", 2**62),
                HEADER % ("|i1", -10),
                HEADER % ("|i1", "'a'"),
                HEADER % ("|i1", 11),
                HEADER % ("zz", 10),
            )
        ),
    ],
)
def test_what_is_no_npy_file_is_refused(made, tmp_path, content):
    (tmp_path / "x0").mkdir()
    (tmp_path / "x0/ip1.npy").write_bytes(content)
    with pytest.raises(Error, match=r"ip1\.npy is not a \.npy file of numbers"):
        pipeline.compare(made, tmp_path)


@given(st.binary(max_size=80), st.integers(1, 9))
def test_every_way_to_print_bytes_in_hex_is_read(content, width):
    rows = [content[i : i + width] for i in range(0, len(content), width)]
    ways = (
        content.hex(),
        content.hex().upper(),
        content.hex(" "),
        ", ".join(f"0x{b:02X}" for b in content),
        "{" + ",".join(f"0x{b:x}" for b in content) + "};",
        "\n".join(row.hex() for row in rows),
        "\r\n".join(f"{width * i:08x}: {row.hex(' ')}" for i, row in enumerate(rows)),
        "\n".join(f"0x2000{width * i:04X}:\t{row.hex()}" for i, row in enumerate(rows)),
        " ".join(f"{b:x}" for b in content),
        " ".join(f"0x{int.from_bytes(row, 'little'):0{2 * len(row)}x}" for row in rows),
    )
    for text in ways:
        assert parse_hex(text) == content, text


@pytest.mark.parametrize("text", ["xyz", "12 3g", "0x", "conv1:", "12-34", "\u0661\u0662"])
def test_text_that_is_not_hex_is_refused_with_its_line(made, tmp_path, text):
    (tmp_path / "x0").mkdir()
    (tmp_path / "x0/ip1.txt").write_text(f"00 01\n{text}\n", encoding="utf-8")
    with pytest.raises(Error, match=r"ip1\.txt, line 2: .* is not decimal or hexadecimal"):
        pipeline.compare(made, tmp_path)


@pytest.fixture
def damaged(made, tmp_path):
    return shutil.copytree(made, tmp_path / "set")


@pytest.mark.parametrize("name", ["x0/conv1.npy", "x1/ip1.bin", "x0/data.h", "golden_check.c"])
def test_a_damaged_golden_file_is_an_error(made, damaged, name):
    path = damaged / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(Error, match=f"{re.escape(name)} has been changed"):
        pipeline.compare(damaged, made)
    path.write_bytes(content[:-1])
    with pytest.raises(Error, match=f"{re.escape(name)} has {len(content) - 1} bytes instead of"):
        pipeline.compare(damaged, made)
    path.unlink()
    with pytest.raises(Error, match=f"{re.escape(name)} is missing"):
        pipeline.compare(damaged, made)


def test_without_a_manifest_there_is_no_golden_set(made, damaged):
    (damaged / "manifest.json").unlink()
    for folder in (damaged, damaged / "x0", damaged / "none"):
        with pytest.raises(Error, match="is no golden set"):
            pipeline.compare(folder, made)


def test_a_truncated_manifest_is_an_error(made, damaged):
    text = (damaged / "manifest.json").read_text()
    for size in (0, 1, 100, len(text) // 2, len(text) - 3):
        (damaged / "manifest.json").write_text(text[:size])
        with pytest.raises(Error, match="damaged"):
            pipeline.compare(damaged, made)


WRONG = (None, True, 1.5, -1, 10**30, "", "../x", "x0/../../x", "x0/con\n", [], [1], {}, {"a": 1})


def places(value, path=()):
    """Yield every path into the document; of a list only the first item, because all items are
    alike.
    """
    yield path
    if isinstance(value, list):
        value = dict(enumerate(value[:1]))
    if isinstance(value, dict):
        for key, item in value.items():
            yield from places(item, (*path, key))


def test_whatever_a_manifest_says_the_answer_is_an_error_or_a_comparison(made, damaged):
    text = (damaged / "manifest.json").read_text()
    refused = 0
    for path in list(places(json.loads(text)))[1:]:
        for wrong in WRONG:
            document = json.loads(text)
            spot = document
            for key in path[:-1]:
                spot = spot[key]
            spot[path[-1]] = wrong
            (damaged / "manifest.json").write_text(json.dumps(document))
            try:
                pipeline.compare(damaged, made)
            except Error:
                refused += 1
    assert refused > 100


def edited(folder, change):
    document = json.loads((folder / "manifest.json").read_text())
    change(document)
    (folder / "manifest.json").write_text(json.dumps(document))


def test_a_manifest_that_contradicts_itself_is_an_error(made, damaged):
    edited(damaged, lambda manifest: manifest["goldens"][1].update(shape=[8, 4, 4]))
    with pytest.raises(Error, match="gives x0/conv1 a shape, type and size"):
        pipeline.compare(damaged, made)


def test_a_manifest_cannot_name_files_outside_of_its_folder(made, damaged):
    (damaged.parent / "other.bin").write_bytes(b"")
    outside = {"path": "../other.bin", "size": 0, "crc32": "00000000"}
    edited(damaged, lambda manifest: manifest["files"].append(outside))
    with pytest.raises(Error, match="'path' is not a file of a golden set"):
        pipeline.compare(damaged, made)


def test_a_manifest_that_is_nested_too_deeply_is_an_error(made, damaged):
    (damaged / "manifest.json").write_text("[" * 200000)
    with pytest.raises(Error, match="damaged"):
        pipeline.compare(damaged, made)


def test_a_manifest_of_another_version_is_an_error(made, damaged):
    text = (damaged / "manifest.json").read_text()
    (damaged / "manifest.json").write_text(text.replace('"version": 1', '"version": 2'))
    with pytest.raises(Error, match="another release wrote it in version 2"):
        pipeline.compare(damaged, made)
