"""A batch of a fully connected network = its samples one by one."""

import numpy as np
import pytest
from affine_networks import dense

from qemu_nn.bench.networks import lenet5
from qemu_nn.bench.s8_networks import ad_s8, kws_dscnn_s8
from qemu_nn.runtime.session import BATCHES, Session, batch_graph, draw_inputs
from qemu_nn.targets import profile

pytestmark = pytest.mark.caps

DEVICE = profile(cmsis="7.0.0")
MORE, BATCH = BATCHES


@pytest.mark.parametrize(
    "samples",
    [0, 1, BATCH - 1, BATCH, BATCH + 1, MORE - 1, MORE, MORE + 1, 2 * MORE + BATCH + 3],
)
@pytest.mark.parametrize("threads", [1, 2])
def test_a_batch_is_its_samples(samples, threads):
    graph = ad_s8()
    x = draw_inputs(graph, samples)
    session = Session(graph, DEVICE, threads=threads)
    (output,) = session.run(x).values()
    assert output.shape == (samples, 640)
    plain = Session(graph, DEVICE, variant="ref")
    for sample, values in zip(x, output):
        np.testing.assert_array_equal(values, plain.run(sample[None])["dense10"][0])


def test_a_trace_of_a_batch_is_that_of_its_samples():
    graph = ad_s8()
    x = draw_inputs(graph, MORE + BATCH + 1)
    session = Session(graph, DEVICE)
    trace = session.run(x, trace=True)
    assert set(trace) == {node.name for node in graph.nodes}
    np.testing.assert_array_equal(trace["dense10"], session.run(x)["dense10"])


def test_other_networks_go_sample_by_sample():
    assert batch_graph(kws_dscnn_s8(), 4) is None
    assert batch_graph(lenet5(), 4) is None


@pytest.mark.parametrize("width", [1, 2, 8, 16, 17, 32, 33, 48, 64, 72, 80, 112, 128, 144])
def test_fully_connected_layers_of_any_width_have_the_plain_bits(width):
    graph = dense(1, 1, width, 64, width + 7, width, 5)
    x = draw_inputs(graph, MORE + BATCH + 3)
    session = Session(graph, DEVICE)
    want = Session(graph, DEVICE, variant="plain").run(x)["last"]
    assert len(np.unique(want)) > 2
    for some in (x, x[:1], x[:BATCH], x[:MORE]):
        np.testing.assert_array_equal(session.run(some)["last"], want[: len(some)])
