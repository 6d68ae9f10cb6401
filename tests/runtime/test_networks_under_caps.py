"""Whole networks give the same bits with every cap on instruction sets, however they are run."""

import numpy as np
import pytest
from networks import classifier
from published import FOLDER, NAMES, golden, needed

from qemu_nn import Target, load
from qemu_nn._native import lib
from qemu_nn.analysis.kernel_table import make_kernel_table
from qemu_nn.api.golden import Network
from qemu_nn.bench.networks import NETWORKS
from qemu_nn.errors import Error
from qemu_nn.kernels import table as kernels
from qemu_nn.runtime.session import Session
from qemu_nn.targets import profile

pytestmark = pytest.mark.caps

SMALL = ["cifar10", "cifar10_q15", "lenet5", "kws_dscnn", "mobilenet_025_96"]
HERE = [name for name, bit in kernels.FEATURES.items() if lib.qn_cpu_features() & bit]


def inputs(graph, samples, seed=3):
    limits = np.iinfo(graph.input.dtype)
    rng = np.random.default_rng(seed)
    shape = (samples, *graph.input.shape)
    return rng.integers(limits.min, limits.max, shape, endpoint=True).astype(graph.input.dtype)


def capped(monkeypatch, cap):
    monkeypatch.setenv(kernels.CAP, cap)


@pytest.mark.parametrize("core", ["cortex-m3", "cortex-m4"])
@pytest.mark.parametrize("name", SMALL)
def test_every_cap_gives_the_bits_of_the_plain_rows(monkeypatch, name, core):
    graph = NETWORKS[name]()
    x = inputs(graph, 3)
    capped(monkeypatch, "none")
    want = Session(graph, profile(core)).run(x, trace=True)
    for cap in HERE:
        capped(monkeypatch, cap)
        session = Session(graph, profile(core))
        traced, untraced = session.run(x, trace=True), session.run(x)
        assert list(traced) == list(want)
        for layer, values in want.items():
            np.testing.assert_array_equal(traced[layer], values, f"{name} {core} {cap} {layer}")
        for layer, values in untraced.items():
            np.testing.assert_array_equal(values, want[layer], f"{name} {core} {cap} {layer}")


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("samples", [1, 2, 3, 33])
def test_batches_and_threads_give_the_same_bits(samples, threads):
    graph = NETWORKS["lenet5"]()
    x = inputs(graph, samples)
    together = Session(graph, profile(), threads=threads).run(x)
    one = Session(graph, profile())
    for layer, values in together.items():
        alone = np.concatenate([one.run(x[i : i + 1])[layer] for i in range(samples)])
        np.testing.assert_array_equal(values, alone, layer)


@needed
@pytest.mark.parametrize("cap", ["none", *HERE])
@pytest.mark.parametrize("name", NAMES)
def test_published_networks_equal_the_device_under_every_cap(monkeypatch, name, cap):
    capped(monkeypatch, cap)
    arrays = golden(name)
    session = load(FOLDER / name).session(target=Target("cortex-m4", cmsis="5.6.0"))
    state = {"state": arrays["h0"]} if "h0" in arrays else {}
    results = session.run(arrays["x"], **state)
    for key in [key for key in arrays if key.startswith("final.") and "@" not in key]:
        layer = {"h": "history"}.get(key[len("final.") :], key[len("final.") :])
        np.testing.assert_array_equal(results[layer], arrays[key], f"{name} {cap} {key}")


def test_a_cap_keeps_newer_instruction_sets_out_and_allows_older_ones(monkeypatch):
    for cap in ("none", *HERE):
        capped(monkeypatch, cap)
        newest = list(kernels.FEATURES).index(cap) if cap != "none" else -1
        allowed = sum(list(kernels.FEATURES.values())[: newest + 1])
        assert kernels.cpu_features() == lib.qn_cpu_features() & allowed
        for name in SMALL:
            for step in Session(NETWORKS[name](), profile()).plan.steps:
                assert step.row.cpu & ~allowed == 0, f"{step.row} runs under the cap {cap}"


def test_an_unknown_cap_is_an_error(monkeypatch):
    capped(monkeypatch, "sse9")
    have = ", ".join(["none", *kernels.FEATURES])
    with pytest.raises(Error, match=f"QEMU_NN_CPU is 'sse9'; have: {have}$"):
        Session(NETWORKS["lenet5"](), profile())


def test_a_variant_that_can_not_run_is_not_among_those_that_a_network_has(monkeypatch):
    network = Network(classifier())
    ops = {(node.function.op, node.function.type) for node in network.graph.nodes}
    rows = [row for op in ops for row in kernels.list_rows(*op)]
    monkeypatch.setenv(kernels.CAP, "none")
    for name in {row.variant for row in rows if row.variant in row.features}:
        with pytest.raises(Error, match=f"the variant '{name}' needs {name}, which") as refused:
            network.session(variant=name)
        assert name not in str(refused.value).partition("; have: ")[2].split(", ")
    with pytest.raises(Error, match=r"no layer of classifier has a variant 'swar'; have: .*ref"):
        network.session(variant="swar")


def test_the_table_of_kernels_names_the_instruction_sets_that_rows_need():
    words = {row["cpu"] for row in make_kernel_table(kernels.ROWS).records()}
    assert words == {"any", *(name for row in kernels.ROWS for name in row.features)}
    for row, cells in zip(kernels.ROWS, make_kernel_table(kernels.ROWS).records()):
        assert (cells["cpu"] == "any") == (row.cpu == 0)
        assert sum(kernels.FEATURES[name] for name in row.features) == row.cpu
