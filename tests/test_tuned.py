"""What `bench --tune` keeps: plans follow it, bits never do, and a damaged file does no harm."""

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from qemu_nn.bench import tune as tuning
from qemu_nn.bench.networks import NETWORKS
from qemu_nn.cli.main import main
from qemu_nn.io import processor as processors
from qemu_nn.kernels import table as kernels
from qemu_nn.runtime import tuned
from qemu_nn.runtime.plan import plan
from qemu_nn.runtime.session import Session, random_inputs
from qemu_nn.targets import profile


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """Where choices of this test are kept."""
    monkeypatch.setenv(tuned.CACHE, str(tmp_path / "kept"))
    return tmp_path / "kept"


def rows_by_call():
    """Each call of a network, and the fast rows that this host can run it on."""
    graph = NETWORKS["lenet5"]()
    found = {}
    for node in graph.nodes:
        rows = kernels.rows_of(node.function.op, node.function.type)
        struct = node.function.struct_values(node.params)
        params = kernels.make_params(rows[0].op, profile(), struct)
        able = [r.variant for r in rows if r.kind == "fast" and r.serves(profile(), params)]
        found[tuned.call_of(node)] = able
    return found


def several():
    """Calls for which this host has a choice, with the row that it would not choose."""
    calls = {call: able[-1] for call, able in rows_by_call().items() if len(able) > 1}
    if not calls:
        pytest.skip("this host has one fast row for each call")
    return calls


def variants():
    return [step.row.variant for step in plan(NETWORKS["lenet5"](), profile()).steps]


def test_no_test_reads_what_was_measured_on_its_host():
    assert os.environ[tuned.CACHE] == "none"
    assert tuned.tuned_file() is None
    assert tuned.tuned_rows() == {}


def test_a_plan_follows_what_was_measured_and_bits_do_not(folder):
    calls, graph = several(), NETWORKS["lenet5"]()
    x = random_inputs(graph, 3)
    usual, want = variants(), Session(graph, profile()).run(x)
    assert Path(tuned.save_tuned(calls)).parent == folder
    steps = plan(graph, profile()).steps
    assert variants() != usual
    for step in steps:
        assert step.row.variant == calls.get(tuned.call_of(step.node), step.row.variant)
    assert any("is slower on this shape" in step.why for step in steps)
    got = Session(graph, profile()).run(x)
    assert all(np.array_equal(got[name], want[name]) for name in want)


def test_a_variant_that_the_user_names_comes_first(folder):
    usual = {step.row.variant for step in plan(NETWORKS["lenet5"](), profile(), "ref").steps}
    tuned.save_tuned(several())
    assert {s.row.variant for s in plan(NETWORKS["lenet5"](), profile(), "ref").steps} == usual


@pytest.mark.parametrize("name", ["ref", "dsp", "nothing", ""])
def test_rows_that_are_not_fast_or_not_there_are_not_taken(folder, name):
    usual = variants()
    tuned.save_tuned(dict.fromkeys(rows_by_call(), name))
    assert variants() == usual


def damaged(content):
    """Contents that are not what save_tuned() writes."""
    document = json.loads(content)
    call = next(iter(document["rows"]))
    yield "truncated", content[: len(content) // 2]
    yield "empty", b""
    yield "huge", content[:-1] + b" " * 2**20 + b"}"
    yield "binary", bytes(range(256))
    yield "deep", b'{"rows":' + b"[" * 100_000
    yield "a list", b"[]"
    yield "NaN", json.dumps({**document, "rows": {call: float("nan")}}).encode()
    yield "a number for a row", json.dumps({**document, "rows": {call: 7}}).encode()
    yield "a list of rows", json.dumps({**document, "rows": [call]}).encode()
    yield "no rows", json.dumps({k: v for k, v in document.items() if k != "rows"}).encode()
    for name, value in (("qemu_nn", "0.0"), ("processor", "Z80"), ("instruction sets", "none?")):
        yield f"another {name}", json.dumps({**document, name: value}).encode()
        yield f"a number for {name}", json.dumps({**document, name: 1}).encode()


def test_a_file_that_is_damaged_or_of_another_host_is_ignored(folder):
    path = tuned.save_tuned(several() if rows_by_call() else {})
    content = path.read_bytes()
    assert tuned.tuned_rows() != {}
    for what, data in damaged(content):
        path.write_bytes(data)
        assert tuned.tuned_rows() == {}, what
    path.unlink()
    assert tuned.tuned_rows() == {}


def test_what_is_no_file_is_ignored(folder, monkeypatch):
    path = tuned.save_tuned({"call": "row"})
    path.unlink()
    path.mkdir()
    assert tuned.tuned_rows() == {}
    path.rmdir()
    if hasattr(os, "mkfifo"):
        os.mkfifo(path)
        assert tuned.tuned_rows() == {}
        path.unlink()
    path.write_bytes(b"{}")
    monkeypatch.setattr("builtins.open", forbidden)
    assert tuned.tuned_rows() == {}


def forbidden(*_, **__):
    raise PermissionError(13, "Permission denied")


def test_another_cap_has_choices_of_its_own(folder, monkeypatch):
    tuned.save_tuned({"call": "row"})
    assert tuned.tuned_rows() == {"call": "row"}
    if kernels.cpu_features() == 0:
        pytest.skip("this host has no instruction sets to cap")
    monkeypatch.setenv(kernels.CAP, "none")
    assert tuned.tuned_rows() == {}


def test_the_folder_is_that_of_the_users_caches(monkeypatch, tmp_path):
    monkeypatch.delenv(tuned.CACHE)
    monkeypatch.setattr(tuned.sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert tuned.tuned_file().parent == tmp_path / "qemu_nn"
    monkeypatch.setenv("XDG_CACHE_HOME", "here")  # which the standard says to ignore
    assert tuned.tuned_file() is None
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert tuned.tuned_file().parent == tmp_path / ".cache" / "qemu_nn"
    monkeypatch.setattr(tuned.sys, "platform", "darwin")
    assert tuned.tuned_file().parent == tmp_path / "Library" / "Caches" / "qemu_nn"
    monkeypatch.setattr(tuned.sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "Local"))
    assert tuned.tuned_file().parent == tmp_path / "Local" / "qemu_nn"


def test_calls_of_one_geometry_are_one_call_whatever_their_numbers():
    graph = NETWORKS["kws_dscnn"]()
    calls = [tuned.call_of(graph.node(f"pw{index}")) for index in range(2, 6)]
    assert len(set(calls)) == 1
    assert tuned.call_of(graph.node("dw2")) != calls[0]


def test_a_processor_is_named_by_its_model():
    x86 = "processor\t: 0\nmodel name\t: AMD EPYC\nmodel\t\t: 17\ncpu MHz\t: 26\n\nmodel\t: 18"
    assert processors.described(x86.splitlines()) == "AMD EPYC, model 17"
    arm = "processor\t: 0\nBogoMIPS\t: 50\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n"
    assert processors.described(arm.splitlines()) == "CPU implementer 0x41, CPU part 0xd0c"
    assert processors.processor()


# ---- the verb ----


def call(*arguments):
    return CliRunner().invoke(main, list(arguments))


def fastest(name, ratio):
    """Times of rows of which one takes `ratio` of the others' time."""

    def times(node, rows, profile, turns):
        return {row.variant: ratio if row.variant == name else 1.0 for row in rows}

    return times


def test_tune_keeps_rows_that_are_faster_by_more_than_noise(folder, monkeypatch):
    calls = several()
    last = next(iter(calls.values()))
    monkeypatch.setattr(tuning, "_times", fastest(last, 0.96))
    done = call("bench", "lenet5", "--tune")
    assert done.exit_code == 0, done.output
    assert tuned.tuned_rows() == {}
    monkeypatch.setattr(tuning, "_times", fastest(last, 0.9))
    done = call("bench", "lenet5", "--tune")
    kept = {name: row for name, row in calls.items() if row == last}
    assert {name: row for name, row in tuned.tuned_rows().items() if name in calls} == kept
    assert str(folder) in done.output
    monkeypatch.setattr(tuning, "_times", fastest("nobody", 1.0))
    call("bench", "lenet5", "--tune")
    assert tuned.tuned_rows() == {}, "what is measured again replaces what was known"


def test_tune_measures_each_call_once():
    graph = NETWORKS["kws_dscnn"]()
    nodes = [graph.node(f"pw{index}") for index in (2, 3)]
    own = replace(nodes[0], inputs=(graph.input.name,))
    shape = replace(graph.input, shape=nodes[0].output.shape)
    twice = replace(nodes[1], inputs=(own.name,))
    chain = replace(graph, inputs=(shape,), nodes=(own, twice), outputs=(twice.name,))
    table, found = tuning.tune([chain], {}, 2)
    if kernels.cpu_features() & (kernels.FEATURES["avx512vnni"] | kernels.FEATURES["avxvnni"]):
        assert list(found) == [tuned.call_of(own)]
    for line in table.records():
        assert 0 < line["fastest_us"] <= line["us"]


def test_tune_needs_a_folder_and_goes_alone():
    done = call("bench", "empty", "--tune")
    assert done.exit_code == 2
    assert "set QEMU_NN_CACHE" in done.output
    assert "--tune measures for plans alone" in call("bench", "--tune", "--rows").output
