"""Random files that vela 5.2.0 compiled, with the bytes of TensorFlow Lite Micro's kernels.

.ci/record-ethosu wrote the archive.
"""

import numpy as np
import pytest
from paths import GOLDEN
from tflite_agreement import feed, open_session

RECORDED = np.load(GOLDEN / "ethosu_drawn.npz")
COUNT = sum(name.startswith("file_") for name in RECORDED.files)


def arrays_of(kind, number):
    names = [f"{kind}_{number}_{at}" for at in range(9)]
    return [RECORDED[name] for name in names if name in RECORDED.files]


@pytest.mark.parametrize("number", range(COUNT))
def test_a_recorded_file_has_the_bytes_of_the_reference_kernels(number, tmp_path):
    path = tmp_path / "net.tflite"
    path.write_bytes(RECORDED[f"file_{number}"].tobytes())
    session, refused = open_session(path)
    assert session is not None, refused
    made = session.run(feed(session, arrays_of("in", number)))
    for name, wanted in zip(session.graph.outputs, arrays_of("out", number)):
        np.testing.assert_array_equal(np.asarray(made[name]).reshape(wanted.shape), wanted)


def test_there_are_files_of_each_product():
    assert COUNT > 150
