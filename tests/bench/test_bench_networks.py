"""The networks of the benchmark, their timing, and the peers for comparison."""

import builtins
import json
from dataclasses import replace

import networks
import numpy as np
import pytest
from click.testing import CliRunner

from qemu_nn import cmsis
from qemu_nn.bench import report as reports
from qemu_nn.bench import stopwatch
from qemu_nn.bench.contest import run_contest
from qemu_nn.bench.networks import NETWORKS
from qemu_nn.bench.peak import Peak, get_peaks
from qemu_nn.bench.peers import PEERS
from qemu_nn.bench.peers.chain import Window, convert_chain
from qemu_nn.bench.report import BenchReport
from qemu_nn.bench.rows import choose_row_profile, time_rows
from qemu_nn.bench.s8_networks import S8_NETWORKS
from qemu_nn.bench.stopwatch import Timing, time_each
from qemu_nn.cli.main import main
from qemu_nn.errors import Error
from qemu_nn.functions.shapes import get_extent
from qemu_nn.kernels import table as kernels
from qemu_nn.runtime.session import Session, draw_inputs
from qemu_nn.targets import Target, profile
from qemu_nn.testing.cases import CASES, Case
from qemu_nn.testing.s8_builder import AffineBuilder

#: Multiply-accumulates of the published geometries.
MACS = {
    "cifar10": 6_558_720,
    "cifar10_paper": 12_298_240,
    "cifar10_q15": 1_643_520,
    "lenet5": 416_520,
    "kws_dscnn": 2_656_768,
    "mobilenet_025_96": 7_489_664,
    "mobilenet_100_224": 568_740_352,
    "empty": 0,
}

SMALL = ("arm_fully_connected_q7", {"dim_vec": 20, "num_of_rows": 6})


def installed(name):
    """Return the peer, or skip the test."""
    needs = {"LiteRT": ("ai_edge_litert", "flatbuffers"), "ONNX Runtime": ("onnxruntime", "onnx")}
    for module in needs[name]:
        pytest.importorskip(module, reason=f"{module} is not installed: pip install '.[peers]'")
    return PEERS[name]


# ---- networks ----


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_has_the_published_work(name):
    graph = NETWORKS[name]()
    macs = sum(get_extent(node.function.macs, node.params) for node in graph.nodes)
    assert (graph.name, macs) == (name, MACS[name])


@pytest.mark.parametrize("name", [name for name in NETWORKS if name != "empty"])
def test_no_activation_of_a_network_saturates_or_vanishes(name):
    graph = NETWORKS[name]()
    trace = Session(graph, profile()).run(draw_inputs(graph, 1), trace=True)
    for node in graph.nodes:
        if node.function.op != "softmax":
            values = trace[node.name]
            limits = np.iinfo(values.dtype)
            ends = np.mean((values == limits.min) | (values == limits.max))
            assert ends < 0.2, f"{node.name} saturates"
            assert np.count_nonzero(values) > 0.2 * values.size, f"{node.name} vanishes"


def test_a_network_is_the_same_each_time():
    first, again = NETWORKS["lenet5"](), NETWORKS["lenet5"]()
    assert all(np.array_equal(first.arrays[name], again.arrays[name]) for name in again.arrays)


# ---- rows ----


def test_every_op_has_a_case():
    covered = {(c.declared.op, c.declared.type) for c in CASES}
    rows = [row for row in kernels.ROWS if row.op.arithmetic != "ethosu"]  # programs, not layers
    assert covered == {(row.op.name, row.op.type) for row in rows}


@pytest.mark.filterwarnings("ignore::qemu_nn.errors.DeviceWarning")
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.function}: {case}")
def test_the_calls_of_a_case_are_equal_and_run(case):
    graph, count = case.graph()
    calls = [node for node in graph.nodes if node.function.name == case.function]
    one = calls[0]
    assert 8 <= count == len(calls)
    for node in calls:
        assert (node.params, node.inputs) == (one.params, one.inputs)
        assert (node.weights, node.bias) == (one.weights, one.bias)
    single = replace(graph, nodes=graph.nodes[: 1 - count], outputs=(one.name,))
    row = kernels.list_rows(case.declared.op, case.declared.type)[-1]
    Session(single, choose_row_profile(row)).run(
        draw_inputs(single, 1)
    )  # random inputs do not make it fail


def test_a_row_is_timed_beside_the_plain_row_of_its_bits():
    case = Case(*SMALL)
    records = time_rows([case], turns=2).records()
    assert {record["shape"] for record in records} == {"20 -> 6"}
    assert {"fully_connected_q7.ref", "fully_connected_q7.dsp"} <= {r["row"] for r in records}
    plain = next(record for record in records if record["row"].endswith(".ref"))
    assert plain["speedup"] == 1
    assert plain["peak_percent"] is None
    for record in records:
        assert 0 < record["low_us"] <= record["us"] <= record["high_us"]


def test_equal_calls_share_their_packed_weights(monkeypatch):
    packs, pack = [], kernels.Row.pack

    def counted(self, *arguments):
        packs.append(self)
        return pack(self, *arguments)

    monkeypatch.setattr(kernels.Row, "pack", counted)
    Session(Case(*SMALL).graph()[0], profile())
    assert len(packs) == 1


def test_the_peak_of_every_instruction_set_of_this_host_can_be_run():
    mine = [f for f in kernels.FEATURES.values() if kernels.cpu_features() & f]
    for feature in mine:
        peak = Peak(feature, 8)
        assert peak.macs > 0, peak
        peak.run()


def test_a_row_that_needs_nothing_of_the_host_has_no_peak():
    assert all(get_peaks(row) == [] for row in kernels.ROWS if not row.cpu)


# ---- times ----


def test_a_race_takes_turns_and_tells_the_slow_from_the_fast(monkeypatch):
    order, now = [], [0.0]
    monkeypatch.setattr(stopwatch.time, "perf_counter", lambda: now[0])

    def runner(name, seconds):
        def run():
            order.append(name)
            now[0] += seconds

        return run

    timings = time_each({"slow": runner("slow", 0.5), "fast": runner("fast", 0.125)}, 3, 0.125)
    assert timings == {"slow": Timing(*[0.5] * 4), "fast": Timing(*[0.125] * 4)}
    assert "".join(name[0] for name in order).rstrip("f").count("fs") >= 2


def test_what_peers_can_not_compute_is_said():
    table, notes = run_contest([networks.recurrent()], Target(), None, (1,), (1,), 2)
    assert [record["runtime"] for record in table.records()] == ["qemu_nn"]
    assert len(notes) in (1, 2)
    assert all(note.startswith("no ") for note in notes)


def test_a_missing_peer_is_named_with_the_way_to_get_it(monkeypatch):
    hide(monkeypatch, *("ai_edge_litert", "flatbuffers", "onnx", "onnxruntime"))
    _, notes = run_contest([networks.average()], Target(), None, (1,), (1,), 2)
    assert len(notes) == 2
    assert all("pip install '.[peers]'" in note for note in notes)


def hide(monkeypatch, *modules):
    """Let these modules be missing."""
    true_import = builtins.__import__

    def without(name, *rest):
        if name.split(".")[0] in modules:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return true_import(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)


# ---- peers ----


@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize("name", ["lenet5", "kws_dscnn", "mobilenet_025_96"])
def test_a_peer_computes_the_same_network(peer, name):
    prepare, graph = installed(peer), NETWORKS[name]()
    x = draw_inputs(graph, 8)
    ours = Session(graph, profile()).run(x)["softmax"].reshape(8, -1).argmax(1)
    theirs = prepare(graph, x, 1)().reshape(8, -1).argmax(1)
    # they round and saturate elsewhere, so that only the class can be the same, and that mostly
    assert np.count_nonzero(ours == theirs) >= 5


def test_peers_get_rectifiers_as_part_of_the_layer_before():
    layers = {layer.name: layer for layer in convert_chain(NETWORKS["lenet5"]())}
    assert layers["conv1"].relu
    assert not layers["ip3"].relu
    assert "relu1" not in layers


def test_interleaved_weights_reach_peers_as_a_matrix():
    graph = NETWORKS["cifar10"]()
    node = graph.node("ip1")
    layer = next(layer for layer in convert_chain(graph) if layer.name == "ip1")
    x = np.random.default_rng(3).integers(-128, 128, 512).astype(np.int8)
    given = {"pV": x, "bias": graph.arrays[node.bias], **node.params}
    want = cmsis.arm_fully_connected_q7_opt(pM=graph.arrays[node.weights], **given)
    assert np.array_equal(cmsis.arm_fully_connected_q7(pM=layer.weights, **given), want)


@pytest.mark.parametrize("graph", [networks.recurrent(), NETWORKS["cifar10_q15"]()])
def test_a_network_that_is_no_chain_of_int8_layers_is_refused(graph):
    with pytest.raises(Error, match="peers compute int8"):
        convert_chain(graph)


def test_a_network_in_a_firmwares_memory_is_not_given_to_peers():
    with pytest.raises(Error, match="the memory of a firmware"):
        convert_chain(networks.classifier(memory=True))


def test_peers_get_padding_as_part_of_the_layer_behind():
    graph = S8_NETWORKS["mobilenet_v2_100_224_s8"]()
    layers = {layer.name: layer for layer in convert_chain(graph)}
    windows = {name: layers[name].window for name in ("conv0", "dw2", "dw3", "project3")}
    assert "pad0" not in layers
    assert layers["conv0"].sources == ("input",)
    assert layers["dw2"].sources == ("expand2",)
    assert layers["dw2"].input == (112, 112, 96)
    assert windows["conv0"] == Window((3, 3), (2, 2), (1, 1), (0, 0))
    assert windows["dw3"] == Window((3, 3), (1, 1), (1, 1), (1, 1))
    assert windows["project3"] == Window((1, 1), (1, 1), (0, 0), (0, 0))


def test_padding_that_no_window_reads_is_not_given_to_peers():
    network = AffineBuilder("padded", (4, 4, 8))
    network.pad("pad")
    network.dense("dense", 3)
    with pytest.raises(Error, match=r"no peer computes arm_pad_s8 \(pad\)"):
        convert_chain(network.graph())


def test_mobilenet_v2_has_the_published_work():
    graph = S8_NETWORKS["mobilenet_v2_100_224_s8"]()
    ops = [node.function.op for node in graph.nodes]
    macs = sum(get_extent(node.function.macs, node.params) for node in graph.nodes)
    assert (macs, ops.count("pad"), ops.count("depthwise_conv_wrapper")) == (300_774_272, 18, 17)


def test_a_peer_that_fails_leaves_a_note(monkeypatch):
    def fail(*_):
        raise RuntimeError("no such operator")

    monkeypatch.setitem(PEERS, "LiteRT", fail)
    table, notes = run_contest([networks.average()], Target(), None, (1,), (1,), 2)
    assert "no LiteRT: no such operator" in notes
    assert "qemu_nn" in {record["runtime"] for record in table.records()}


# ---- the command ----


def call(*arguments):
    return CliRunner().invoke(main, list(arguments))


def test_bench_prints_json():
    done = call("bench", "lenet5", "--batch", "1", "--turns", "2", "--json")
    assert done.exit_code == 0, done.output
    printed = json.loads(done.stdout[done.stdout.index("{") :])
    assert printed["networks"][0]["network"] == "lenet5"
    assert printed["networks"][0]["runtime"] == "qemu_nn"
    assert "instruction sets" in printed["host"]


def test_bench_caps_the_instruction_sets(monkeypatch):
    monkeypatch.setenv(kernels.CAP, "")
    done = call("bench", "lenet5", "--batch", "1", "--turns", "2", "--cpu", "none")
    assert "instruction sets: none" in done.output


def test_bench_names_the_networks_there_are():
    done = call("bench", "resnet")
    assert done.exit_code == 2
    assert "no file resnet" in done.output
    assert "kws_dscnn" in done.output


def test_bench_says_before_any_work_why_it_can_not_draw(monkeypatch, tmp_path):
    monkeypatch.setattr("qemu_nn.cli.bench.run_contest", None)
    assert "must end in .png" in call("bench", "--plot", "x.gif").output
    assert "there is no folder" in call("bench", "--plot", str(tmp_path / "a" / "x.png")).output
    hide(monkeypatch, "matplotlib")
    done = call("bench", "--plot", str(tmp_path / "x.png"))
    assert "pip install '.[plot]'" in done.output
    assert done.exit_code == 2


def test_a_report_becomes_a_picture(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install '.[plot]'")
    table, _ = run_contest([networks.average()], Target(), None, (1,), (1,), 2)
    tables = {"networks": table, "kernels": time_rows([Case(*SMALL)], turns=2)}
    reports.draw(BenchReport({"machine": "one"}, tables), tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    assert list(tmp_path.iterdir()) == [tmp_path / "x.png"]
