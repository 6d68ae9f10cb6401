"""A plan says why each step runs on its row."""

import firmware
import pytest

from qemu_nn.api import golden as pipeline
from qemu_nn.errors import DeviceWarning
from qemu_nn.functions import FUNCTIONS
from qemu_nn.importers import network_json
from qemu_nn.ir.graph import Graph, Node, Tensor
from qemu_nn.kernels import table as kernels
from qemu_nn.targets import profile

pytestmark = pytest.mark.caps


def reasons(network, **how):
    return {step.node.name: step.why for step in network.session(**how).plan.steps}


@pytest.fixture
def digits():
    return pipeline.example()[0]


def test_every_step_has_a_reason_and_the_plan_prints_it(digits):
    plan = digits.session().plan
    assert all(step.why for step in plan.steps)
    for step, line in zip(plan.steps, str(plan).splitlines()):
        assert line.startswith(step.node.name)
        assert str(step.row) in line
        assert step.why in line


def test_what_was_asked_for_is_told_so(digits):
    told = reasons(digits, variant="dsp")
    assert told["conv1"] == "asked for"
    assert told["softmax"] != "asked for"  # there is no such row of it


def test_a_cap_is_named_and_so_is_what_this_host_lacks(digits, monkeypatch):
    monkeypatch.setenv(kernels.CAP, "none")
    told = reasons(digits)["conv1"]
    for row in kernels.list_rows("convolve", "q7"):
        if row.kind == "fast":
            has = not row.cpu & ~kernels.HOST
            assert f"{row.variant} {'is capped by QEMU_NN_CPU' if has else 'needs'}" in told
    assert told.startswith("the fastest here: ") == any(
        row.kind == "fast" for row in kernels.list_rows("convolve", "q7")
    )


def test_the_only_row_is_told_so():
    node = Node(
        FUNCTIONS["arm_softmax_with_batch_q7"],
        {"nb_batches": 2, "dim_vec": 3},
        ("x",),
        Tensor("softmax", (2, 3), "int8"),
    )
    graph = Graph("net", (Tensor("x", (2, 3), "int8"),), (node,), ("softmax",), {})
    (told,) = reasons(pipeline.Network(graph)).values()
    claiming = [
        row
        for row in kernels.list_rows("softmax_with_batch", "q7")
        if row.kind != "model" and row.claims(profile())
    ]
    assert (told == "the only one") == (len(claiming) == 1)


def test_parameters_that_a_faster_row_does_not_take_are_told():
    rows = [r for r in kernels.list_rows("maxpool", "q7") if r.kind == "fast" and r.runs_here()]
    if not rows:
        pytest.skip("no fast row of pooling runs here")
    params = {
        "dim_im_in": 4,
        "ch_im_in": 2,
        "dim_kernel": 3,
        "padding": 1,
        "stride": 1,
        "dim_im_out": 4,
    }
    node = Node(FUNCTIONS["arm_maxpool_q7_HWC"], params, ("x",), Tensor("pool", (4, 4, 2), "int8"))
    graph = Graph("net", (Tensor("x", (4, 4, 2), "int8"),), (node,), ("pool",), {})
    (told,) = reasons(pipeline.Network(graph)).values()
    assert told == f"the fastest here: {rows[0].variant} does not take these parameters"


def test_memory_that_is_read_is_told(tmp_path):
    reads_scratch = [
        firmware.dense("fc", "in", "mid", 4, 4, scratch=firmware.at("vec")),
        firmware.add("sum", "vec", "mid", "out", 4),
    ]
    buffers = {
        name: {"bytes": size} for name, size in (("in", 4), ("mid", 4), ("vec", 8), ("out", 4))
    }
    described = firmware.network(reads_scratch, buffers, [4])
    path = firmware.write(tmp_path, described, **firmware.identity("fc", 4))
    with pytest.warns(DeviceWarning):
        told = reasons(pipeline.Network(network_json.load(path)))
    assert told["fc"].startswith("the device's scratch memory is read, and ")
