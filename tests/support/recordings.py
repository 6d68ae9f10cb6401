"""The outputs recorded on the emulated Cortex-M4 and M3, case by case."""

import functools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Optional

import numpy as np
from paths import GOLDEN

from qemu_nn.targets import Profile, profile

FOLDER = GOLDEN / "cmsis_legacy"
FUNCTIONS = sorted(path.stem for path in FOLDER.glob("*.npz"))

#: Variant of a recording -> the profile it was made with.
PROFILES = {
    "m4": profile("cortex-m4", "5.9.0", "nearest"),
    "m3": profile("cortex-m3", "5.9.0", "nearest"),
    "m4_truncate": profile("cortex-m4", "5.9.0", "truncate"),
    "m3_truncate": profile("cortex-m3", "5.9.0", "truncate"),
}


@dataclass(frozen=True)
class Recording:
    """One call on one build: output is None where the device did not compute."""

    case: str
    variant: str
    params: Mapping[str, int]
    inputs: Mapping[str, np.ndarray]
    output: Optional[np.ndarray]
    input_after: Optional[np.ndarray]
    status: Optional[int]

    @property
    def profile(self) -> Profile:
        return PROFILES[self.variant]

    @property
    def profile_arguments(self) -> dict[str, str]:
        chosen = self.profile
        return {"target": chosen.path, "cmsis": chosen.cmsis, "rounding": chosen.rounding}


@functools.cache
def load(function: str) -> tuple[Recording, ...]:
    return tuple(_read(function))


def _read(function: str) -> Iterator[Recording]:
    with np.load(FOLDER / f"{function}.npz") as arrays:
        stored = dict(arrays)
    for case in json.loads(str(stored["manifest"]))["cases"]:
        inputs = {name: stored[key] for name, key in case["inputs"].items()}
        for variant in PROFILES:
            output = case["outputs"].get(variant)
            after = case.get("input_after", {}).get(variant)
            yield Recording(
                case["id"],
                variant,
                case["params"],
                inputs,
                None if output is None else stored[output],
                None if after is None else stored[after],
                case.get("status_by_variant", {}).get(variant),
            )


def streams(function: str) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield weights of an _opt function: the row-major matrix, and the stream recorded with it."""
    with np.load(FOLDER / f"{function}.npz") as arrays:
        for case in json.loads(str(arrays["manifest"]))["cases"]:
            yield arrays[case["aux"]["pM_rowmajor"]], arrays[case["inputs"]["pM"]]
