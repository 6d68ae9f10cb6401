"""The published networks and what the real firmware computed for them, if they are here."""

import json

import numpy as np
import pytest
from paths import SHARED

from qemu_nn import Target

FOLDER = SHARED / "models_q7"

#: Networks that also call functions of NNoM -> the first function that CMSIS-NN does not have.
REFUSED = {"nnom_kws": "local_maxpool_q7_HWC", "nnom_mnist": "local_softmax_q7"}

FOUND = sorted(path.parent.name for path in FOLDER.glob("*/network.json"))
NAMES = [name for name in FOUND if name not in REFUSED]

#: Variant of a golden -> the device that recorded it; "" is the base.
DEVICES = {
    "": Target("cortex-m4", "5.6.0"),
    "m3_c560": Target("cortex-m3", "5.6.0"),
    "m4_c590": Target("cortex-m4", "5.9.0"),
    "m3_c590": Target("cortex-m3", "5.9.0"),
}

needed = pytest.mark.skipif(not NAMES, reason=f"the published networks are not in {FOLDER}")


def description(name):
    return json.loads((FOLDER / name / "network.json").read_text())


def golden(name):
    with np.load(FOLDER / name / "golden.npz") as stored:
        return dict(stored)


def recorded(arrays, key, variant):
    """Return a recorded array of a variant; an array that is not stored equals the base."""
    return arrays.get(f"{key}@{variant}", arrays[key])
