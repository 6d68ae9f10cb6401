"""Published networks with AVX2: plain rows compute only the calls that are listed here."""

import pytest
from hosts import cap_at
from paths import SHARED

import qemu_nn

NETWORKS = {path.stem: path for path in sorted(SHARED.glob("models_tflite*/*.tflite"))}

#: Network -> its plain rows. `binary_f32` has no fast row. The fast row of `svdf_s8` requires
#: limits of the state that fit in int8; this network's state wraps instead.
PLAIN = {
    "openmv_audio_preprocessor": {"binary_f32.ref"},
    "tflm_keyword_scrambled_8bit": {"svdf_s8.ref"},
}


def left_to_plain_rows(network):
    """Rows of its plan that are neither fast nor, as their variant says, one copy of memory."""
    rows = [step.row for step in network.session().plan.steps]
    return {str(row) for row in rows if row.kind != "fast" and row.variant != "copy"}


@pytest.mark.skipif(not NETWORKS, reason=f"the published networks are not in {SHARED}")
@pytest.mark.filterwarnings("ignore::qemu_nn.errors.DeviceWarning")
@pytest.mark.parametrize("name", NETWORKS)
def test_a_published_network_has_fast_rows(name, monkeypatch):
    cap_at(monkeypatch, "avx2")
    assert left_to_plain_rows(qemu_nn.load(NETWORKS[name])) == PLAIN.get(name, set())


def test_the_micro_frontend_has_fast_rows(monkeypatch):
    cap_at(monkeypatch, "avx2")
    assert left_to_plain_rows(qemu_nn.micro_frontend()) == set()
