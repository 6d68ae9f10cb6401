"""Every recorded file of the archives of tests/golden gives the bits of the device."""

import pytest
from recorded_archives import ARCHIVES
from recorded_tflite import UNDEFINED

import qemu_nn

pytestmark = pytest.mark.filterwarnings("ignore::qemu_nn.errors.DeviceWarning")

FILES = [(stem, name) for stem, archive in ARCHIVES.items() for name in archive.names()]

#: Files that are also saved and run on two threads.
SAVED = [
    *(("tflm_detection", name) for name in ("fast_front", "regular_many")),
    *(("tflm_more", name) for name in ("slice_begins_float32", "prelu_xb_d_int8")),
    ("tflm_more", "svdf_twice_int8"),
]


@pytest.mark.parametrize(("stem", "name"), [each for each in FILES if each[1] not in UNDEFINED])
def test_a_recorded_file_has_the_bits_of_the_device(stem, name, tmp_path):
    archive = ARCHIVES[stem]
    assert archive.differences(archive.load(name, tmp_path), name) == {}


@pytest.mark.parametrize(("stem", "name"), SAVED)
def test_a_saved_network_on_two_threads_has_the_bits_of_the_device(stem, name, tmp_path):
    archive = ARCHIVES[stem]
    archive.load(name, tmp_path).save(tmp_path / "net.qnz")
    network = qemu_nn.load(tmp_path / "net.qnz")
    assert archive.differences(network, name, threads=2) == {}
