"""Runs compared with traced runs, which compute every call."""

import numpy as np

from qemu_nn.runtime.session import Session, draw_inputs
from qemu_nn.targets import profile

DEVICE = profile("cortex-m4", cmsis="7.0.0")


def same_bytes(graph, samples=2, device=DEVICE, threads=1):
    """Compare a run with a traced one, of every call; the steps that ran."""
    session, x = Session(graph, device, threads=threads), draw_inputs(graph, samples)
    want, got = session.run(x, trace=True), session.run(x)
    assert list(got) == list(graph.outputs)
    for name, values in got.items():
        np.testing.assert_array_equal(values, want[name], name)
    return [step.node.name for step in session.plan.steps]
