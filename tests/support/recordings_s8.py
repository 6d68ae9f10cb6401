"""The outputs recorded of CMSIS-NN's main branch of July 2026, case by case: of every core, in both
roundings. But for what test_release_differences.py names, 7.0.0 has the same."""

import functools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Optional, Union

import numpy as np
from paths import GOLDEN

from qemu_nn.functions import Function
from qemu_nn.targets import Profile

FOLDER = GOLDEN / "cmsis_s8"

#: Path of a profile -> the device that such a core was recorded on.
DEVICES = {"m0": "plain_c", "scalar": "plain_c", "dsp": "m4", "mve": "m55"}

#: Recorded argument -> its name in our declarations.
RENAMED = {"filter_oc": "output_c", "filter_depth": "input_c"}


@dataclass(frozen=True)
class Recording:
    """One call; outputs: what gave it -> array. differences: device -> a word or a status."""

    case: str
    functions: tuple[str, ...]
    params: Mapping[str, int]
    arrays: Mapping[str, Optional[np.ndarray]]
    outputs: Mapping[str, np.ndarray]
    single_same: bool
    differences: Mapping[str, str]

    def expected(self, profile: Profile) -> Union[np.ndarray, int, None]:
        """Return the output of a profile's device, the status of an error, or None if unknown."""
        device = DEVICES[profile.path]
        word, _, status = self.differences.get(device, "").partition(" ")
        if word == "status":
            return int(status)
        own = f"executed_{device}"
        names = [own, "expected"]
        if profile.rounding == "single":
            known = self.single_same or "expected_single_rounding" in self.outputs
            names = [f"{own}_single_rounding", "expected_single_rounding"]
            names += [own, "expected"] if known else []
        return next((self.outputs[name] for name in names if name in self.outputs), None)

    def arguments(self, function: Function) -> dict[str, object]:
        """Return all arguments of a declared function."""
        told = {RENAMED.get(name, name): value for name, value in self.params.items()}
        for side, shape in (("input", self._shape("input")), ("output", self._output_shape())):
            told.update({f"{side}_{a}": n for a, n in zip("hwc", shape[1:]) if len(shape) == 4})
            told.setdefault("batches", shape[0])
            told.setdefault("channels", shape[-1])
        filter = self.arrays.get("filter")
        if filter is not None:
            told.update({f"filter_{a}": n for a, n in zip("hwc", filter.shape[1:])})
        params = {name: told[name] for name in function.params if name in told}
        arrays = {array.name: self.arrays.get(array.name) for array in function.arrays}
        return {**params, **arrays}

    def _shape(self, name: str) -> tuple[int, ...]:
        found = self.arrays.get(name)
        return (0,) if found is None else found.shape

    def _output_shape(self) -> tuple[int, ...]:
        return next(iter(self.outputs.values())).shape


@functools.cache
def load(family: str) -> tuple[Recording, ...]:
    """Return every case of a family."""
    return tuple(_read(family))


def _read(family: str) -> Iterator[Recording]:
    with np.load(FOLDER / f"{family}.npz") as arrays:
        stored = dict(arrays)
    for case in json.loads(str(stored["manifest"]))["cases"]:
        inputs, outputs = case["inputs"], case["outputs"]
        yield Recording(
            case["id"],
            tuple(case["functions"]),
            case["params"],
            {name: None if key is None else stored[key] for name, key in inputs.items()},
            {name: stored[key] for name, key in outputs.items()},
            case.get("single_rounding_same", False),
            case.get("platform_differences", {}),
        )
