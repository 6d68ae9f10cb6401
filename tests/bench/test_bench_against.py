"""Networks that `bench --against` reports as slower, on made-up reports."""

import importlib.util
import json

import pytest
from click.testing import CliRunner
from paths import ROOT

from qemu_nn import Target
from qemu_nn.analysis.table import Table
from qemu_nn.api.network import Network
from qemu_nn.bench import against
from qemu_nn.bench.contest import OURS, PLAIN, run_contest
from qemu_nn.bench.networks import NETWORKS
from qemu_nn.bench.report import BenchReport
from qemu_nn.cli import bench as verb
from qemu_nn.cli.main import main
from qemu_nn.errors import ModelError
from qemu_nn.io import processor as processors
from qemu_nn.io.typed_json import parse_json

HOST = {"processor": "one", "instruction sets": "avx2"}


def line(network, runtime, best, spread=0.0, batch=1):
    """Return a line of the table of networks; its quartiles are `spread` of the median apart."""
    times = {"best_us": best, "median_us": best, "low_us": best, "high_us": best * (1 + spread)}
    return {"network": network, "batch": batch, "threads": 1, "runtime": runtime, **times}


def row(name, best, spread=0.0):
    times = {"best_us": best, "us": best, "low_us": best, "high_us": best * (1 + spread)}
    return {"row": name, "shape": "4 -> 4", **times}


def run(*networks, kernels=(), **host):
    content = {"host": {**HOST, **host}, "networks": list(networks), "kernels": list(kernels)}
    return against.parse_run(parse_json(json.dumps(content).encode(), "a file"))


def changes(before, now):
    return {r["what"]: r["change_percent"] for r in against.compare(before, now).records()}


def slower(before, now):
    return [
        record["what"] for record in against.list_slower(against.compare(before, now)).records()
    ]


LENET = "lenet5, batch 1, threads 1"
BENCHMARKS = ROOT / "benchmarks"
BASELINES = sorted((BENCHMARKS / "baselines").glob("*.json"))


def test_a_busy_host_slows_the_plain_rows_as_well():
    before = run(line("lenet5", OURS, 10.0), line("lenet5", PLAIN, 1000.0))
    busy = run(line("lenet5", OURS, 15.0), line("lenet5", PLAIN, 1500.0))
    unlike = run(line("lenet5", OURS, 10.0), line("lenet5", PLAIN, 500.0))
    other = run(line("lenet5", OURS, 10.0), line("lenet5", PLAIN, 500.0), processor="two")
    slow = run(line("lenet5", OURS, 15.0), line("lenet5", PLAIN, 1000.0))
    assert changes(before, busy) == {LENET: 0.0}
    assert changes(before, slow) == {LENET: 50.0}
    assert (slower(before, busy), slower(before, slow)) == ([], [LENET])
    assert (slower(before, unlike), slower(before, other)) == ([], [LENET])


def test_what_both_runs_have_is_the_unit():
    ours = [line("lenet5", OURS, best) for best in (10.0, 15.0)]
    litert, other = (line("lenet5", name, 100.0) for name in ("LiteRT", "ONNX Runtime"))
    before, now = run(ours[0], litert), run(ours[1], other)
    units = {r["yardstick"] for r in against.compare(before, now).records()}
    assert (units, changes(before, now)) == ({None}, {LENET: 50.0})
    twice = run(ours[1], other, line("lenet5", "LiteRT", 200.0))
    assert changes(before, twice) == {LENET: -25.0}


@pytest.mark.parametrize(("which", "spread"), [(0, 0.6), (1, 0.6), (2, 0.6), (3, 0.6)])
def test_noise_of_either_run_and_of_the_unit_counts(which, spread):
    spreads = [spread if index == which else 0.0 for index in range(4)]
    before = run(line("lenet5", OURS, 10.0, spreads[0]), line("lenet5", PLAIN, 900.0, spreads[1]))
    now = run(line("lenet5", OURS, 15.0, spreads[2]), line("lenet5", PLAIN, 900.0, spreads[3]))
    assert slower(before, now) == []
    much = run(line("lenet5", OURS, 17.0, spreads[2]), line("lenet5", PLAIN, 900.0, spreads[3]))
    assert slower(before, much) == [LENET]


def test_what_two_runs_of_one_code_differ_by_is_no_change():
    before = run(line("lenet5", OURS, 100.0))
    assert slower(before, run(line("lenet5", OURS, 100 * (1 + against.FLOOR)))) == []
    assert slower(before, run(line("lenet5", OURS, 102 * (1 + against.FLOOR)))) == [LENET]
    assert slower(before, run(line("lenet5", OURS, 50.0))) == []


def test_rows_are_held_against_the_plain_row_and_the_worst_comes_first():
    names = ("convolve_q7.avx2", "convolve_q7.dsp", "convolve_q7.ref")
    before = run(kernels=[row(name, best) for name, best in zip(names, (1.0, 20.0, 10.0))])
    now = run(kernels=[row(name, best) for name, best in zip(names, (1.2, 60.0, 10.0))])
    assert slower(before, now) == ["convolve_q7.dsp, 4 -> 4", "convolve_q7.avx2, 4 -> 4"]
    both = run(kernels=[row(name, best) for name, best in zip(names, (2.0, 40.0, 20.0))])
    assert slower(before, both) == []


def test_calls_of_one_shape_are_told_apart_by_their_order():
    names = ("join_any.avx2", "join_any.ref")
    bytes_, words = (
        [row(name, best) for name, best in zip(names, pair)] for pair in [(1, 4), (2, 4)]
    )
    before = run(kernels=[*bytes_, *words])
    late = run(kernels=[*bytes_, row(names[0], 8), words[1]])
    assert slower(before, late) == ["join_any.avx2, 4 -> 4 (2)"]
    busy = run(kernels=[*bytes_, row(names[0], 4), row(names[1], 8)])
    assert slower(before, busy) == []


def test_only_what_both_have_is_compared():
    before = run(line("lenet5", OURS, 10.0), line("lenet5", OURS, 10.0, batch=32))
    assert changes(before, run(line("lenet5", OURS, 10.0))) == {LENET: 0.0}


@pytest.mark.parametrize(
    "wrong",
    [
        {"best_us": 0},
        {"best_us": -1.0},
        {"best_us": None},
        {"best_us": "1"},
        {"low_us": -1},
        {"runtime": 3},
        {"batch": "1"},
        {"network": None},
    ],
)
def test_a_file_that_was_not_saved_is_refused_with_the_place(wrong):
    with pytest.raises(ModelError, match=r"a file: networks\[0\]"):
        run({**line("lenet5", OURS, 1.0), **wrong})


def test_a_time_may_not_be_endless():
    content = json.dumps({"host": HOST, "networks": [line("lenet5", OURS, 12345.0)]})
    with pytest.raises(ModelError, match="above 0"):
        against.parse_run(parse_json(content.replace("12345.0", "1e999").encode(), "a file"))


def test_the_plain_rows_of_a_network_are_timed_beside_it_by_the_sample():
    table, _ = run_contest([NETWORKS["lenet5"]()], Target(), None, (2,), (1,), 2, plain=True)
    records = {record["runtime"]: record for record in table.records()}
    assert records[PLAIN]["best_us"] > 0
    assert records[OURS]["times_ours"] == 1


# ---- what is kept in the repository ----


@pytest.mark.parametrize("path", BASELINES, ids=lambda path: path.stem)
def test_a_baseline_can_be_compared_with(path):
    kept = against.read_run(path)
    assert kept.host["processor"]
    assert all(one.ours for one in kept.measured.values())
    assert all(name in verb._NETWORKS for name, _, _ in kept.networks)
    assert set(changes(kept, kept).values()) == {0.0}
    assert slower(kept, kept) == []


def test_what_asv_times_runs():
    settings = json.loads((BENCHMARKS / "asv.conf.json").read_text(encoding="utf-8"))
    file = BENCHMARKS / settings["benchmark_dir"] / "networks.py"
    spec = importlib.util.spec_from_file_location("timed_by_asv", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    suite = module.Networks()
    assert set(suite.params) <= set(verb._NETWORKS)
    suite.setup("empty")
    suite.time_one_sample("empty")
    loading = module.Loading()
    loading.setup()
    loading.time_plan()


# ---- the command ----


@pytest.fixture
def measured(monkeypatch):
    """Make the next run measure `rows`; return the arguments that it gets."""
    asked = {}

    def contest(graphs, device, variant, batches, threads, turns, plain):
        asked.update(names=[g.name for g in graphs], batches=batches, threads=threads, plain=plain)
        best = asked.get("later", [asked.get("best", 10.0)]).pop()
        lines = [line(g.name, OURS, best) for g in graphs]
        return Table(tuple(lines[0]), tuple(tuple(each.values()) for each in lines)), ()

    monkeypatch.setattr(verb, "run_contest", contest)
    monkeypatch.setattr(verb, "describe_host", lambda version: dict(HOST))
    return asked


def call(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_a_saved_run_is_what_another_is_held_against(measured, tmp_path):
    file = tmp_path / "before.json"
    done = call("bench", "lenet5", "--batch", 1, "--save", file)
    assert done.exit_code == 0, done.output
    assert measured["plain"]
    same = call("bench", "--against", file)
    assert (same.exit_code, measured["names"]) == (0, ["lenet5"])
    assert (measured["batches"], measured["threads"]) == ((1,), (1,))
    assert "0 of 1 figures are slower" in same.output
    measured["best"] = 20.0
    slow = call("bench", "--against", file)
    assert slow.exit_code == 1
    assert LENET in slow.output
    measured["later"] = [10.0, 20.0]
    assert call("bench", "--against", file).exit_code == 0, "what is slower once may be chance"
    assert measured.pop("later") == []
    table = call("bench", "--against", file, "--json")
    assert json.loads(table.stdout)[0]["change_percent"] == 100.0


def test_hosts_that_differ_are_told_apart(measured, monkeypatch, tmp_path):
    file = tmp_path / "before.json"
    assert call("bench", "lenet5", "--save", file).exit_code == 0
    monkeypatch.setattr(verb, "describe_host", lambda version: {**HOST, "processor": "two"})
    done = call("bench", "--against", file)
    assert done.exit_code == 0
    assert "other processors: one before, two now" in done.output
    monkeypatch.setattr(verb, "describe_host", lambda version: {**HOST, "instruction sets": "none"})
    done = call("bench", "--against", file)
    assert done.exit_code == 2
    assert "avx2" in done.output
    assert "--cpu" in done.output


def test_wrong_use_is_told_before_any_work(monkeypatch, tmp_path):
    monkeypatch.setattr(verb, "run_contest", None)
    assert call("bench", "--save", tmp_path / "no" / "x.json").exit_code == 2
    missing = call("bench", "--against", tmp_path / "missing.json")
    assert missing.exit_code == 2
    assert "missing.json" in missing.output
    (tmp_path / "other.json").write_text("[]")
    assert call("bench", "--against", tmp_path / "other.json").exit_code == 2


def test_what_a_file_lacks_is_told_before_any_work(measured, monkeypatch, tmp_path):
    file = tmp_path / "before.json"
    assert call("bench", "lenet5", "--batch", 1, "--save", file).exit_code == 0
    monkeypatch.setattr(verb, "run_contest", None)
    monkeypatch.setattr(verb, "time_rows", None)
    for options, said in (
        (["lenet5", "cifar10"], "no figures of cifar10; have: lenet5"),
        (["lenet5", "--batch", 7], "figures of lenet5 with another --batch or --threads"),
        (["--threads", 2], "has no figures of these options"),
        (["--rows"], "no figures of rows"),
    ):
        done = call("bench", *options, "--against", file)
        assert done.exit_code == 2, done.output
        assert f"{file} has " in done.output
        assert said in done.output
    monkeypatch.setattr(verb, "describe_host", lambda version: {**HOST, "instruction sets": "none"})
    assert "--cpu" in call("bench", "--against", file).output


def test_a_model_file_is_held_against_figures_of_its_network(measured, tmp_path):
    """Check a model file: its name is the network's, and it is measured a second time."""
    model, file = tmp_path / "any.qnz", tmp_path / "before.json"
    Network(NETWORKS["empty"]()).save(model)
    assert call("bench", model, "--save", file).exit_code == 0
    measured["best"] = 20.0
    slow = call("bench", model, "--against", file)
    assert slow.exit_code == 1, slow.output
    assert "1 of 1 figures are slower" in slow.output
    assert measured["batches"] == (1,)


def test_a_report_is_read_back(tmp_path):
    table, _ = run_contest([NETWORKS["empty"]()], Target(), None, (1,), (1,), 2)
    (tmp_path / "x.json").write_text(BenchReport(HOST, {"networks": table}).json())
    before = against.read_run(tmp_path / "x.json")
    assert before.networks == (("empty", 1, 1),)
    assert changes(before, before) == {"empty, batch 1, threads 1": 0.0}


def test_a_processor_is_named_by_its_model():
    x86 = "processor\t: 0\nmodel name\t: AMD EPYC\nmodel\t\t: 17\ncpu MHz\t: 26\n\nmodel\t: 18"
    assert processors.describe_processor(x86.splitlines()) == "AMD EPYC, model 17"
    arm = "processor\t: 0\nBogoMIPS\t: 50\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n"
    assert processors.describe_processor(arm.splitlines()) == "CPU implementer 0x41, CPU part 0xd0c"
    assert processors.identify_processor()
