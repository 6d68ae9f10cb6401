"""Recorded .tflite files as firmware: the self-test passes on the recorded inputs."""

import pytest
from exported import check, needs, write
from recorded_archives import ARCHIVES

MORE = (
    *("dense_tensor_bias", "places64_slice", "leaky_neg_int8", "slice_begins_int8"),
    *("prelu_ch_d_int8", "svdf_in_if_int8", "svdf_in_while_int8"),
)

#: Signal operators of each kind of element and memory.
SIGNAL = ("signal_rfft_float_64", "signal_irfft_int32_64", "signal_filter_bank", "signal_stacker")

FILES = [
    *(("tflm_detection", name) for name in ("fast_front", "regular_front")),
    *(("tflm_more", name) for name in MORE),
    *(("tflm_signal", name) for name in SIGNAL),
]


@needs("pc")
@pytest.mark.compiles
@pytest.mark.parametrize(("stem", "name"), FILES)
def test_an_exported_network_passes(stem, name, tmp_path):
    archive = ARCHIVES[stem]
    network = archive.load(name, tmp_path)
    few = {key: values[:2] for key, values in archive.inputs(network, name).items()}
    if archive.one_sequence and network.graph.states:
        few = {key: values[:, :3] for key, values in few.items()}
    status, lines = check(write(tmp_path / "net", network, data=few))
    assert (status, lines[-1]) == (0, "PASS: 0 failures"), lines
