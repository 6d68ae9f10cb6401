"""Rows in plain C for hosts without an instruction set: where they are chosen, and their bits."""

import numpy as np
import pytest
from hosts import cap_at

from qemu_nn.bench.s8_networks import S8_NETWORKS
from qemu_nn.kernels import table as kernels
from qemu_nn.runtime.session import Session, draw_inputs
from qemu_nn.targets import profile

pytestmark = [pytest.mark.caps, pytest.mark.rows]

SMALL = [name for name in S8_NETWORKS if not name.startswith("mobilenet_100")]
DEVICES = [
    ("cortex-m3", "7.0.0", "double"),
    ("cortex-m4", "7.0.0", "double"),
    ("cortex-m4", "main-2026-07", "single"),
    ("cortex-m55", "7.0.0", "single"),
]
PORTABLE = [row for row in kernels.ROWS if row.variant == "portable"]


@pytest.mark.parametrize("name", SMALL)
def test_a_host_without_instruction_sets_runs_every_layer_with_weights_on_portable_rows(
    monkeypatch, name
):
    monkeypatch.setenv(kernels.CAP, "none")
    steps = Session(S8_NETWORKS[name](), profile(cmsis="7.0.0")).plan.steps
    assert {step.row.variant for step in steps if step.node.weights} == {"portable"}


@pytest.mark.parametrize("name", SMALL)
def test_a_host_with_avx2_runs_none_beside_the_rows_for_it(monkeypatch, name):
    cap_at(monkeypatch, "avx2")
    for step in Session(S8_NETWORKS[name](), profile(cmsis="7.0.0")).plan.steps:
        assert step.row.variant != "portable", step.row


def test_every_row_for_an_instruction_set_is_preferred_to_a_portable_one():
    for row in PORTABLE:
        rows = kernels.list_rows(row.op.name, row.op.type)
        place = rows.index(row)
        assert (row.kind, row.cpu) == ("fast", 0)
        assert all(other.cpu for other in rows[:place]), f"{row} stands above others for any host"
        assert not any(other.cpu for other in rows[place:]), f"{row} hides a faster one"


@pytest.mark.parametrize("device", DEVICES, ids=" ".join)
@pytest.mark.parametrize("name", SMALL)
def test_networks_have_the_bits_of_the_plain_rows(monkeypatch, name, device):
    monkeypatch.setenv(kernels.CAP, "none")
    graph = S8_NETWORKS[name]()
    x = draw_inputs(graph, 2)
    want = Session(graph, profile(*device), variant="plain").run(x, trace=True)
    got = Session(graph, profile(*device)).run(x, trace=True)
    assert list(got) == list(want)
    for layer, values in want.items():
        np.testing.assert_array_equal(got[layer], values, layer)


def test_plain_names_the_definition_whatever_it_is_called(monkeypatch):
    monkeypatch.setenv(kernels.CAP, "none")
    steps = Session(S8_NETWORKS["resnet8_s8"](), profile("m4", "7.0.0"), "plain").plan.steps
    assert {step.row.kind for step in steps} == {"plain"}
    assert {step.row.variant for step in steps} >= {"ref", "dsp"}
    assert {step.why for step in steps} == {"asked for"}
