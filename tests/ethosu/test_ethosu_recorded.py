"""Files of vela 5.2.0, compared with the bytes of TensorFlow Lite Micro's reference kernels."""

import pytest
from paths import SHARED

from qemu_nn.testing.ethosu import count_differences, list_rows

FOLDER = SHARED / "ethosu"
needs_files = pytest.mark.skipif(not FOLDER.exists(), reason="the recorded files are not here")


def rows():
    return list(list_rows(FOLDER, None, None)) if FOLDER.exists() else []


@needs_files
@pytest.mark.parametrize("configuration", ["u55-128", "u65-512", "u85-256", "u55-128-legacy"])
def test_recorded_networks_have_no_differing_byte(configuration):
    chosen = [r for r in rows() if r["config"] == configuration][:4]
    assert len(chosen) == 4
    for row in chosen:
        differ, elements = count_differences(row, FOLDER)
        assert (differ, elements > 0) == (0, True), row["name"]


@needs_files
@pytest.mark.slow
@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row['config']}-{row['name']}")
def test_recorded_files_have_no_differing_byte(row):
    assert count_differences(row, FOLDER)[0] == 0
