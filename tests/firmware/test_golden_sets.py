"""A golden set holds what the session computes, whole, the same each time, and as C that checks."""

import json
import subprocess
import warnings
import zlib

import networks
import numpy as np
import pytest
from c_compilers import COMPILERS, STRICT, compiled, needs_compiler

from qemu_nn import Target
from qemu_nn.api import golden as pipeline
from qemu_nn.errors import DeviceWarning, Error, Refused
from qemu_nn.firmware.golden import Names
from qemu_nn.runtime.session import Session
from qemu_nn.targets import all_profiles


def write(folder, graph=None, count=2, **profile):
    network = pipeline.Network(graph or networks.classifier(memory=True))
    return pipeline.golden(network, networks.images(count), folder, **profile)


def contents(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def manifest(folder):
    return json.loads((folder / "manifest.json").read_text())


@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m3"])
def test_every_layer_of_every_input_is_what_the_session_traces(tmp_path, core):
    graph, x = networks.classifier(memory=True), networks.images(2)
    write(tmp_path / "set", graph, target=core)
    trace = pipeline.Network(graph).session(core).run(x, trace=True)
    assert ("clobber.pool1" in trace) == (core == "cortex-m4")
    for layer, values in {"data": x, **trace}.items():
        for i in range(2):
            stem = tmp_path / "set" / f"x{i}" / layer.replace(".", "_")
            np.testing.assert_array_equal(np.load(f"{stem}.npy"), values[i])
            assert stem.with_name(f"{stem.name}.bin").read_bytes() == values[i].tobytes()


def test_a_recurrent_network_has_goldens_of_every_step_and_of_its_start(tmp_path):
    network = pipeline.Network(networks.recurrent())
    x = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
    start = np.array([[32760] * 4, [-5] * 4], np.int16)
    written = pipeline.golden(network, x, tmp_path / "set", state=start)
    steps = [f"x0/t{t}/{layer}" for t in range(3) for layer in ("x", "sum", "history")]
    assert written.names[:10] == ("x0/start/history", *steps)
    expected = network.session().run(x, start)["history"]
    for i in range(2):
        folder = tmp_path / "set" / f"x{i}"
        np.testing.assert_array_equal(np.load(folder / "start/history.npy"), start[i])
        for t in range(3):
            np.testing.assert_array_equal(np.load(folder / f"t{t}/history.npy"), expected[i, t])
            raw = (folder / f"t{t}/history.bin").read_bytes()
            assert raw == expected[i, t].astype("<i2").tobytes()


def test_two_runs_give_identical_bytes_whatever_the_threads(tmp_path):
    write(tmp_path / "one", threads=1)
    write(tmp_path / "two", threads=3)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_the_manifest_lists_every_file_with_its_size_and_crc(tmp_path):
    write(tmp_path / "set")
    found = contents(tmp_path / "set")
    text = found.pop("manifest.json")
    listed = {f["path"]: (f["size"], f["crc32"]) for f in json.loads(text)["files"]}
    assert listed == {name: (len(c), f"{zlib.crc32(c):08x}") for name, c in found.items()}


def test_the_manifest_knows_the_bits_of_every_other_profile(tmp_path):
    graph, x = networks.classifier(memory=True), networks.images(1)
    write(tmp_path / "set", graph, count=1)
    entries = {e["layer"]: e for e in manifest(tmp_path / "set")["goldens"]}
    own = pipeline.Network(graph).session().run(x, trace=True)
    different = 0
    for other in (p for p in all_profiles() if p.rounding in ("nearest", "truncate")):
        trace = pipeline.Network(graph).session(Target.of(other)).run(x, trace=True)
        for layer, values in trace.items():
            crc = f"{zlib.crc32(values.tobytes()):08x}"
            same = np.array_equal(values, own[layer])
            assert entries[layer]["others"].get(str(other)) == (None if same else crc)
            different += not same
    assert different > 0


def test_a_header_says_shape_format_profile_and_crc(tmp_path):
    write(tmp_path / "set", target=Target("cortex-m3", cmsis="5.6.0", rounding="truncate"))
    text = (tmp_path / "set/x1/conv1.h").read_text()
    crc = zlib.crc32((tmp_path / "set/x1/conv1.bin").read_bytes())
    assert text.startswith(
        "/* x1/conv1: conv1 of classifier, input 1\n"
        " * shape [8][8][4], Q2.5\n"
        " * cortex-m3 (scalar), CMSIS 5.6.0, rounding truncate\n"
        f" * CRC-32 of the little-endian bytes: 0x{crc:08x} */\n"
    )
    assert "const q7_t x1_conv1[256] = {\n" in text


HOSTILE = (
    "../conv */ \\\n#error \u00e9",
    "int",
    "con",
    "CON",
    "1 conv??/",
)


@needs_compiler
def test_hostile_layer_names_stay_inside_the_folder_and_compile(tmp_path):
    write(tmp_path / "set", networks.classifier(HOSTILE), count=1)
    assert [path.name for path in tmp_path.iterdir()] == ["set"]
    names = [e["name"] for e in manifest(tmp_path / "set")["goldens"]]
    assert names == [
        "x0/data",
        "x0/___conv_______error__",
        "x0/int",
        "x0/con_2",
        "x0/CON_3",
        "x0/1_conv___",
    ]
    for name in names:
        header = f"{tmp_path}/set/{name}.h"
        subprocess.run([COMPILERS[0], *STRICT, "-fsyntax-only", header], check=True)
    main = '#include "golden_check.h"\nint main(void) { return 0; }\n'
    assert compiled(COMPILERS[0], tmp_path / "set", main) == []


MAIN = """
#include <stdio.h>
#include "golden_check.h"
#include "x0/conv1.h"
#include "x0/softmax.h"
int main(void) {{
    static q7_t copy[257];
    int status = 0, i;
    for (i = 0; i < 256; i++) copy[i + 1] = x0_conv1[i];
    status += qn_check("x0/conv1", copy + 1, 256);
    copy[1 + 17] ^= 1;
    copy[1 + 200] = {other};
    status += 10 * qn_check("x0/conv1", copy + 1, 256);
    status += 100 * qn_check("x0/conv1", copy + 1, 255);
    status += 1000 * qn_check("x0/conv", copy + 1, 256);
    status += 10000 * qn_check("x1/softmax", x0_softmax, sizeof x0_softmax);
    printf("%d\\n", status);
    return 0;
}}
"""


@needs_compiler
@pytest.mark.parametrize("compiler", COMPILERS)
def test_the_c_checker_prints_exactly_the_documented_lines(tmp_path, compiler):
    write(tmp_path / "set")
    want = np.load(tmp_path / "set/x0/conv1.npy").ravel()
    other = -128 if want[200] != -128 else 127
    first, second = (np.load(tmp_path / f"set/x{i}/softmax.npy") for i in (0, 1))
    assert not np.array_equal(first, second)
    at = int(np.flatnonzero(first != second)[0])
    differing = np.count_nonzero(first != second)
    failures = [
        f"FAIL layer=x0/conv1 index=17 got={want[17] ^ 1} want={want[17]} differing=2",
        "FAIL layer=x0/conv1 size=255 want=256",
        "FAIL layer=x0/conv unknown",
    ]
    swapped = f"FAIL layer=x1/softmax index={at} got={first[at]} want={second[at]}"
    main = MAIN.format(other=other)
    assert compiled(compiler, tmp_path / "set", main) == [
        "PASS x0/conv1",
        *failures,
        f"{swapped} differing={differing}",
        "11110",
    ]
    one = compiled(compiler, tmp_path / "set", main, "-DQN_GOLDEN_INPUT=0")
    assert one == ["PASS x0/conv1", *failures, "FAIL layer=x1/softmax unknown", "11110"]


@needs_compiler
def test_the_c_checker_reads_16_bit_elements_at_any_alignment(tmp_path):
    x = np.array([[[-32768, 32767, -2, 258]]], np.int16)
    pipeline.golden(pipeline.Network(networks.recurrent()), x, tmp_path / "set")
    main = """
#include <string.h>
#include "golden_check.h"
#include "x0/t0/sum.h"
int main(void) {
    static unsigned char copy[9];
    memcpy(copy + 1, x0_t0_sum, 8);
    qn_check("x0/t0/sum", copy + 1, 8);
    memset(copy + 1, 0, 2);
    qn_check("x0/t0/sum", copy + 1, 8);
    return 0;
}
"""
    assert compiled(COMPILERS[0], tmp_path / "set", main) == [
        "PASS x0/t0/sum",
        "FAIL layer=x0/t0/sum index=0 got=0 want=-32768 differing=1",
    ]


def test_an_earlier_golden_set_is_replaced_and_anything_else_is_not(tmp_path):
    write(tmp_path / "set", count=3)
    write(tmp_path / "set", count=1)
    assert not (tmp_path / "set" / "x1").exists()
    (tmp_path / "set" / "notes.md").write_text("mine")
    before = contents(tmp_path)
    with pytest.raises(Error, match=r"contains 'notes\.md', which this program did not write"):
        write(tmp_path / "set")
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    "text", ["{}", "[]", "nonsense", '{"format": "qemu_nn golden"}', "[" * 9999]
)
def test_a_folder_whose_manifest_is_something_else_is_not_replaced(tmp_path, text):
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(Error, match=r"contains 'manifest\.json'"):
        write(tmp_path)


def test_a_file_is_not_a_folder(tmp_path):
    (tmp_path / "set").write_text("mine")
    with pytest.raises(Error, match="is a file"):
        write(tmp_path / "set")
    with pytest.raises(Error, match=r"cannot write .*below: File exists"):
        write(tmp_path / "set" / "below")


def test_a_failure_half_way_leaves_the_earlier_set_and_nothing_else(tmp_path):
    write(tmp_path / "set")
    before = contents(tmp_path)

    def broken(inputs):
        yield 0
        raise KeyboardInterrupt

    network = pipeline.Network(networks.classifier())
    with pytest.raises(KeyboardInterrupt):
        pipeline.golden(network, networks.images(2), tmp_path / "set", progress=broken)
    assert contents(tmp_path) == before
    assert [path.name for path in tmp_path.iterdir()] == ["set"]


def test_inputs_that_the_network_can_not_take_are_errors_and_leave_nothing(tmp_path):
    network = pipeline.Network(networks.classifier())
    for x in (np.zeros((2, 8, 8, 3), np.int8), np.zeros((2, 8, 8, 3)), np.zeros(0), np.int8(1)):
        with pytest.raises(Error):
            pipeline.golden(network, x, tmp_path / "set")
    with pytest.raises(Error, match="not recurrent"):
        pipeline.golden(network, networks.images(1), tmp_path / "set", state=np.zeros((1, 4)))
    with pytest.raises(Error, match="must have 1 samples"):
        pipeline.golden(
            pipeline.Network(networks.recurrent()),
            np.zeros((1, 2, 4), np.int16),
            tmp_path / "set",
            state=np.zeros((2, 4), np.int16),
        )
    assert list(tmp_path.iterdir()) == []


def test_only_warnings_about_the_chosen_device_reach_the_user(tmp_path):
    network = pipeline.Network(networks.reads_what_pooling_destroys())
    x = np.zeros((1, 5, 5, 2), np.int8)
    with pytest.warns(DeviceWarning, match="destroyed"):
        pipeline.golden(network, x, tmp_path / "set", target="cortex-m4")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pipeline.golden(network, x, tmp_path / "set", target="cortex-m3")


def test_progress_counts_the_inputs(tmp_path):
    seen = []

    def counting(inputs):
        for index in inputs:
            seen.append(index)
            yield index

    network = pipeline.Network(networks.classifier())
    written = pipeline.golden(network, networks.images(3), tmp_path / "set", progress=counting)
    assert seen == [0, 1, 2]
    assert written.inputs == 3


def test_other_devices_may_stop_at_an_input(tmp_path, monkeypatch):
    run = Session.run

    def stopping(session, *given, **named):
        if session.profile.rounding == "truncate":
            raise Refused("a layer failed, as it does on the device")
        return run(session, *given, **named)

    monkeypatch.setattr(Session, "run", stopping)
    write(tmp_path / "set")
    others = {other for entry in manifest(tmp_path / "set")["goldens"] for other in entry["others"]}
    assert others
    assert not any("truncate" in other for other in others)
    with pytest.raises(Refused, match="a layer failed"):
        write(tmp_path / "other", target=Target(rounding="truncate"))


def test_names_of_layers_differ_within_40_characters():
    names = Names()
    stems = [names[f"{'a' * 60}/{i}"] for i in range(12)]
    assert len({stem.lower() for stem in stems}) == 12
    assert max(map(len, stems)) == 40
    assert names[f"{'a' * 60}/3"] == stems[3]
