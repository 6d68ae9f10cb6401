"""Every recorded file of TensorFlow Lite Micro with CMSIS-NN, one operator or a whole network."""

from functools import cache

import numpy as np
import pytest
import recorded_tflite as recordings
from paths import SHARED

import qemu_nn

FILES = [
    *sorted((SHARED / "golden" / "tflm_ops").glob("*.tflite")),
    *sorted((SHARED / "models_tflite2").glob("*.tflite")),
]

pytestmark = [
    pytest.mark.skipif(not FILES, reason=f"the recordings are not in {SHARED}"),
    pytest.mark.filterwarnings("ignore::qemu_nn.errors.DeviceWarning"),
]


@cache
def recorded():
    """Yield each file that a device computes: its name, the network, and the recordings."""
    defined = (path for path in FILES if path.stem not in recordings.UNDEFINED)
    return [(path.stem, qemu_nn.load(path), recordings.read(path)[0]) for path in defined]


def saved(network, folder):
    network.save(folder / "net.qnz")
    return qemu_nn.load(folder / "net.qnz")


def one_by_one(network, arrays):
    """Return the files whose bytes differ if each sample is a run of its own."""
    graph, session = network.graph, network.session()
    x = recordings.given(graph, arrays)
    count = len(next(iter(x.values())))
    axis = (slice(None), None) if graph.states else (slice(None),)
    runs = [session.run({n: v[i : i + 1][axis] for n, v in x.items()}) for i in range(count)]
    results = {name: np.concatenate([run[name] for run in runs]) for name in runs[0]}
    return recordings.wrong(graph, results, arrays)


@pytest.mark.caps
def test_every_file_computes_what_the_device_does():
    wrong = {name: recordings.differences(network, a) for name, network, a in recorded()}
    assert {name: found for name, found in wrong.items() if found} == {}


@pytest.mark.caps
@pytest.mark.parametrize("threads", [1, 2])
def test_every_file_computes_it_saved_and_one_by_one_too(threads, tmp_path):
    wrong = {}
    for name, network, arrays in recorded():
        again = saved(network, tmp_path)
        found = recordings.differences(again, arrays, threads=threads)
        if threads == 1:
            found.update(one_by_one(network, arrays))
        if found:
            wrong[name] = found
    assert wrong == {}


@pytest.mark.parametrize("name", recordings.UNDEFINED)
def test_what_no_device_defines_is_refused_with_the_reason(name):
    with pytest.raises(qemu_nn.Error, match=recordings.UNDEFINED[name]):
        qemu_nn.load(SHARED / "golden" / "tflm_ops" / f"{name}.tflite").session()
