"""`python -m qemu_nn.testing.recordings` agrees with recordings, and sees a changed bit in them."""

import json

import numpy as np
import pytest
from paths import GOLDEN, SHARED

from qemu_nn.testing import recordings


@pytest.mark.parametrize("folder", ["cmsis_legacy", "cmsis_s8"])
def test_the_recordings_of_the_tests_are_equal(folder, capsys):
    assert recordings.main([str(GOLDEN / folder)]) == 0
    total = capsys.readouterr().out.splitlines()[-1]
    assert total.startswith("all: ")
    assert " 0 different, " in total
    assert int(total.split()[1]) > 2000


@pytest.mark.parametrize("folder", ["golden", "esp"])
def test_all_recordings_next_to_the_clone_are_equal(folder):
    if not (SHARED / folder).is_dir():
        pytest.skip("no recordings next to the clone")
    assert recordings.main([str(SHARED / folder)]) == 0


def changed(folder, tmp_path, change):
    """Compare a copy of a recording with a change; return the exit code."""
    with np.load(GOLDEN / folder) as arrays:
        stored = dict(arrays)
    manifest = json.loads(str(stored["manifest"]))
    change(manifest["cases"][0], stored)
    np.savez(tmp_path / "changed.npz", **{**stored, "manifest": json.dumps(manifest)})
    return recordings.main([str(tmp_path)])


def test_a_changed_output_is_different(tmp_path, capsys):
    def change(case, stored):
        stored[case["outputs"]["m4"]][0] ^= 1

    assert changed("cmsis_legacy/arm_relu_q7.npz", tmp_path, change) == 1
    assert "arm_relu_q7 c0 m4: element 0: " in capsys.readouterr().out


def test_a_changed_state_is_different(tmp_path, capsys):
    def change(case, stored):
        stored[case["input_after"]["m4"]].flat[0] ^= 1

    assert changed("cmsis_legacy/arm_maxpool_q7_HWC.npz", tmp_path, change) == 1
    assert "arm_maxpool_q7_HWC c0 m4: Im_in after the call" in capsys.readouterr().out


def test_a_result_where_the_device_has_none_is_different(tmp_path, capsys):
    def change(case, stored):
        case["status_by_variant"] = {"m3": -3}

    assert changed("cmsis_legacy/arm_fully_connected_q7.npz", tmp_path, change) == 1
    assert "c0 m3: computed, but the device has no result" in capsys.readouterr().out


def test_other_files_are_left_out_and_unknown_devices_are_refused(tmp_path, capsys):
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    path = "cmsis_legacy/arm_relu_q7.npz"
    with np.load(GOLDEN / path) as arrays:
        manifest, stored = json.loads(str(arrays["manifest"])), dict(arrays)
    case = {**manifest["cases"][0], "outputs": {"x9": manifest["cases"][0]["outputs"]["m4"]}}
    manifest = {**manifest, "variants": ["x9"], "cases": [case]}
    np.savez(tmp_path / "device.npz", **{**stored, "manifest": json.dumps(manifest)})
    assert recordings.main(["--reasons", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "arm_relu_q7 x9: 0 equal, 0 different, 1 refused",
        "    1 x the device x9 is not declared",
        "all: 0 equal, 0 different, 1 refused",
    ]
