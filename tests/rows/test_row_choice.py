"""The planner chooses the row that is fastest where rows were measured, within 5 percent; where
tiles are concerned, see docs/decisions/042-tiles.md."""

import json
from collections import Counter

import pytest
from hosts import asks_tiles, may_ask, needs_x86
from paths import ROOT

from qemu_nn.bench.contest import choose_profile
from qemu_nn.bench.networks import NETWORKS
from qemu_nn.bench.rows import choose_row_profile
from qemu_nn.bench.s8_networks import S8_NETWORKS
from qemu_nn.bench.wuqi_networks import NPU_NETWORKS
from qemu_nn.kernels import table as kernels
from qemu_nn.runtime.plan import plan
from qemu_nn.targets import Target
from qemu_nn.testing.builder import Builder
from qemu_nn.testing.cases import CASES

#: As much of the fastest row's speed the chosen one has at least.
LEAST = 0.95

BASELINES = ROOT / "benchmarks" / "baselines"

# ---- tiles of AMX, or vectors ----

#: Microseconds of each call of the package's networks, by variant, on a processor with AMX.
AMX_CALLS = json.loads((BASELINES / "calls" / "xeon_amx.json").read_text(encoding="utf-8"))
AMX_SERVER = AMX_CALLS["host"]["instruction sets"].split()


def only(monkeypatch, host):
    """Emulate a host with these instruction sets."""
    monkeypatch.setattr(kernels, "HOST", sum(kernels.FEATURES[each] for each in host))
    monkeypatch.delenv(kernels.CAP, raising=False)


#: Scalar arguments that are part of a call's geometry, besides the shapes of arrays.
WINDOW = ("stride", "dilation", "pad")


def call_of(node):
    """Return a call's op and geometry: calls with equal ones take the same time."""
    function, params = node.function, node.params
    arrays = [array for array in (*function.inputs, function.weights, function.output) if array]
    shapes = ["x".join(map(str, array.shape(params))) for array in arrays]
    window = [f"{n}={v}" for n, v in params.items() if any(word in n for word in WINDOW)]
    return " ".join([f"{function.op}_{function.type}", *shapes, *window])


def timed_calls():
    """Yield each timed call as a node of a network, with the network's profile."""
    for build in {**NETWORKS, **S8_NETWORKS, **NPU_NETWORKS}.values():
        graph = build()
        device = choose_profile(graph, Target())
        for node in plan(graph, device).graph.nodes:
            if call_of(node) in AMX_CALLS["calls"]:
                yield node, device


def chosen_variant(node, device):
    rows = kernels.list_rows(node.function.op, node.function.type)
    params = kernels.make_params(rows[0].op, device, node.function.struct_values(node.params))
    return kernels.choose(rows, device, params).variant


@needs_x86
@asks_tiles
def test_tiles_are_chosen_where_they_are_faster(monkeypatch):
    """Within 5 percent; where AMX is not, nothing asks for it."""
    calls = list(timed_calls())
    wrong, seen = {}, set()
    for node, device in calls:
        call = call_of(node)
        only(monkeypatch, AMX_SERVER)
        times, chosen = AMX_CALLS["calls"][call], chosen_variant(node, device)
        seen.add(call)
        if LEAST * times[chosen] > min(times.values()):
            wrong[call] = (chosen, times)
        only(monkeypatch, AMX_SERVER[:-1])
        assert chosen_variant(node, device) == "avx512vnni"
    assert wrong == {}
    assert seen == set(AMX_CALLS["calls"])


# ---- processors whose rows `bench --rows --save` has timed ----

KEPT = {path.stem: path.read_text(encoding="utf-8") for path in sorted(BASELINES.glob("*.json"))}
TIMED = {name: json.loads(text) for name, text in KEPT.items() if '"kernels"' in text}

#: Cases that the planner leaves to a slower row -> why.
EXCEPTIONS = {}


def timed(content):
    """Yield each case of a file, and the microseconds of its variants. Calls that differ in
    arguments other than shapes are left out, because a file does not distinguish them.
    """
    names = Counter((f"{c.declared.op}_{c.declared.type}", str(c)) for c in CASES)
    found = {}
    for line in content["kernels"]:
        op, _, variant = line["row"].rpartition(".")
        found.setdefault((op, line["shape"]), {})[variant] = line["best_us"]
    for case in CASES:
        call = (f"{case.declared.op}_{case.declared.type}", str(case))
        if names[call] == 1 and call in found:
            yield " ".join(call), case, found[call]


@needs_x86
@pytest.mark.parametrize("name", TIMED)
def test_the_chosen_row_is_the_fastest_of_every_case_that_was_timed(monkeypatch, name):
    host = [s for s in TIMED[name]["host"]["instruction sets"].split() if s in kernels.FEATURES]
    if not all(may_ask(row) for row in kernels.ROWS if row.variant in host):
        pytest.skip(f"{name} has instruction sets in which rows answer, and this host has not")
    only(monkeypatch, host)
    wrong = {}
    for case_name, case, times in timed(TIMED[name]):
        function = case.declared
        rows = kernels.list_rows(function.op, function.type)
        if not any(row.kind == "fast" for row in rows):
            continue
        params = kernels.make_params(rows[0].op, choose_row_profile(rows[0]), struct_of(case))
        able = [r for r in rows if r.serves(params) and r.variant in times]
        chosen = kernels.choose(rows, choose_row_profile(rows[0]), params).variant
        fastest = min((times[row.variant] for row in able if row.kind != "model"), default=0)
        if LEAST * times.get(chosen, 0) > fastest and case_name not in EXCEPTIONS:
            wrong[case_name] = (chosen, times)
    assert wrong == {}


def struct_of(case):
    """Return the fields of a case's struct, including shifts."""
    function = case.declared
    first = (*function.inputs, function.output)[0]
    builder = Builder("case", first.shape(case.params), first.dtype)
    builder.call("call", case.function, case.params)
    return function.struct_values(builder.graph().nodes[-1].params)
