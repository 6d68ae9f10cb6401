"""`variants --releases` and `check --releases` group the states that do the same with a network."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import qemu_nn
from qemu_nn.api.golden import example
from qemu_nn.bench.release_variants import compare_release_variants
from qemu_nn.cli.main import main
from qemu_nn.errors import Error, Refused
from qemu_nn.releases import ALL
from qemu_nn.runtime.release_runs import find_runs, profile_of_state
from qemu_nn.runtime.session import Session
from qemu_nn.targets import profile
from qemu_nn.testing.builder import Builder


def dense(offset=3, batches=1):
    net = Builder("dense", (batches, 8))
    call = {"batches": batches, "input_c": 8, "output_c": 3, "input_offset": 5, "output_offset": 0}
    call.update(act_min=-128, act_max=127, multiplier=2**30, shift=-7)
    net.call("fc", "arm_fully_connected_s8", {**call, "filter_offset": offset})
    return net.graph()


def test_a_layer_is_named_with_the_commit_that_changed_it():
    x = np.arange(-4, 4, dtype=np.int8).reshape(1, 1, 8)
    table = compare_release_variants(dense(), profile("m4", "7.0.0"), x)
    records = table.records()
    assert [r["states"] for r in records] == [
        *("d76d5e3a to 0d7e4fa7", "59d62498 to 2a999a2f", "72e1ebf6 to main-2026-07"),
    ]
    assert [r["layer"] for r in records] == ["equal", "fc", "equal"]
    assert [r["commits"] for r in records] == ["", "72e1ebf6", "72e1ebf6"]
    assert 0 < records[1]["differing"] <= records[1]["elements"] == 3


def test_states_are_run_once_for_each_way_to_compute():
    seen = []
    runs = find_runs(dense(0), profile("m4", "7.0.0"), lambda p: seen.append(p) or "same")
    assert [str(run) for run, _ in runs] == ["d76d5e3a to main-2026-07"]
    assert len(seen) < 5


def test_a_state_without_the_api_or_the_core_has_no_profile():
    states = {each.name: each for each in ALL}
    assert profile_of_state(states["5.6.0"], profile("m4", "7.0.0")) is None
    assert profile_of_state(states["7.0.0"], profile("m4", "5.9.0")) is None
    assert profile_of_state(states["5.6.0"], profile("m55", "5.9.0")) is None
    old = profile_of_state(states["5.8.0"], profile("m4", "7.0.0", "single"))
    assert (old.cmsis, old.rounding) == ("5.8.0", "double")


def test_a_wrapper_of_a_network_is_its_function_before_there_was_one():
    net = Builder("pooled", (1, 4, 4, 4))
    call = dict.fromkeys(("stride_h", "stride_w", "dilation_h", "dilation_w"), 1)
    call.update(batches=1, input_h=4, input_w=4, input_c=4, filter_h=3, filter_w=3, filter_c=4)
    call.update(output_h=4, output_w=4, output_c=8, pad_h=1, pad_w=1, input_offset=7)
    call.update(output_offset=-3, act_min=-128, act_max=127)
    net.call("conv", "arm_convolve_wrapper_s8", call)
    x = np.random.default_rng(3).integers(-128, 128, (2, 1, 4, 4, 4)).astype(np.int8)
    graph, states = net.graph(), ("5.7.0", "7.0.0")
    old, new = (Session(graph, profile("m4", each, "double")).run(x) for each in states)
    np.testing.assert_array_equal(old["conv"], new["conv"])
    with pytest.raises(Refused, match=r"CMSIS 5\.6\.0 has no arm_convolve_wrapper_s8: CMSIS has"):
        Session(graph, profile("m4", "5.6.0"))


def test_check_names_the_states_that_run_a_file(tmp_path):
    example()[0].save(tmp_path / "net.qnz")
    checks = qemu_nn.check(tmp_path / "net.qnz", releases=True)
    (model,) = checks.models
    assert model.file.endswith("net.qnz [5fc96e5a to 51263182]")
    assert model.runs


def test_the_commands_print_states(tmp_path):
    path = str(tmp_path / "net.qnz")
    example()[0].save(path)
    done = CliRunner().invoke(main, ["variants", path, "--releases", "--json"])
    assert done.exit_code == 0, done.output
    assert {each["layer"] for each in json.loads(done.output)} >= {"equal"}
    done = CliRunner().invoke(main, ["check", path, "--releases", "--json"])
    assert "to 51263182]" in done.output
    done = CliRunner().invoke(main, ["variants", "softmax", "--releases"])
    assert "--releases compares a MODEL" in done.output


def test_a_refused_run_says_why():
    net = Builder("pooled", (1, 4, 4, 4))
    call = {"num_rows": 16, "row_size": 4, "mult": 2**30, "shift": 20, "diff_min": -128}
    net.call("soft", "arm_softmax_s8", call)
    table = compare_release_variants(net.graph(), profile("m4", "7.0.0"))
    first = table.records()[0]
    assert first["states"] == "d76d5e3a"
    assert first["layer"].startswith("refused: diff_min and differences of values have 8 bits")


def test_an_unknown_release_is_an_error():
    with pytest.raises(Error, match="no CMSIS release 'all'"):
        profile("m4", "all")
