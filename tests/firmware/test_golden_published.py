"""Goldens of the published networks: what the real firmware computed, releases told apart."""

import numpy as np
import published
import pytest

from qemu_nn import Target
from qemu_nn.api import golden as pipeline

pytestmark = pytest.mark.caps

NETWORKS = pytest.mark.parametrize("name", published.NAMES)


def made(name, folder, target):
    """Goldens of the inputs whose layers were recorded, and the recordings."""
    arrays = published.golden(name)
    chosen = arrays["layer_idx"]
    state = {"state": arrays["h0"][chosen]} if "h0" in arrays else {}
    network = pipeline.load(published.FOLDER / name)
    pipeline.golden(network, arrays["x"][chosen], folder, target=target, **state)
    return arrays


def recordings(arrays, variant):
    """Yield (name of the golden, values) for every recorded layer, at every time step if there are
    any.
    """
    for key in (key for key in arrays if key.startswith("layer.") and "@" not in key):
        for i, values in enumerate(published.recorded(arrays, key, variant)):
            layer = key[len("layer.") :]
            if "h0" not in arrays:
                yield f"x{i}/{layer}", values
            else:
                yield from ((f"x{i}/t{t}/{layer}", step) for t, step in enumerate(values))


def save_dump(folder, named):
    for name, values in named:
        path = folder / f"{name}.bin"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(values.astype(values.dtype.newbyteorder("<")).tobytes())


@published.needed
@NETWORKS
@pytest.mark.parametrize("variant", published.DEVICES)
def test_what_the_real_firmware_computed_is_the_same(tmp_path, name, variant):
    arrays = made(name, tmp_path / "set", published.DEVICES[variant])
    save_dump(tmp_path / "dump", recordings(arrays, variant))
    comparison = pipeline.compare(tmp_path / "set", tmp_path / "dump")
    assert comparison.same, str(comparison)
    assert comparison.strange == ()


@published.needed
@NETWORKS
def test_firmware_with_another_release_is_told_so(tmp_path, name):
    arrays = made(name, tmp_path / "set", Target(cmsis="5.9.0"))
    save_dump(tmp_path / "dump", recordings(arrays, ""))  # the base was recorded with 5.6.0
    comparison = pipeline.compare(tmp_path / "set", tmp_path / "dump")
    differs = [f for f in comparison.findings if not f.same]
    base = dict(recordings(arrays, ""))
    now = dict(recordings(arrays, "m4_c590"))
    assert [f.name for f in differs] == [
        f.name for f in comparison.findings if not np.array_equal(base[f.name], now[f.name])
    ]
    for finding in differs:
        cause = finding.difference.cause
        assert cause == "these are exactly the bits of CMSIS 5.6.0 instead of 5.9.0"
