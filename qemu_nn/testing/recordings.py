"""Comparison of recorded calls of real libraries with this package, folder by folder."""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Callable, Optional

import numpy as np

from .. import cmsis
from ..errors import DeviceWarning, Error
from ..functions import FUNCTIONS, Function
from ..functions.esp_nn_rules import EspCall, compute_as
from ..targets import Profile, Target, profile
from . import esp_dl_calls
from .esp_dl_networks import compare_networks

#: Name of a recorded argument -> its name in our declarations.
RENAMED = {"filter_oc": "output_c", "filter_depth": "input_c", "output_before": "output"}

#: Recorded device -> its core. Every core without an extension runs plain C.
CORES = {"m0": "m0", "m3": "m3", "m4": "m4", "m55": "m55", "plain_c": "m3"}

#: Bytes of an output that the recorder's call left unwritten.
UNWRITTEN = 0x5A

#: Results of the comparison with a recorded call.
OUTCOMES = ("equal", "different", "refused")


@dataclass(frozen=True)
class Recording:
    """A recorded call of one function on one device.

    case: its name in the file. device: as the recording names it. wanted: its profile; None for a
    device that this package does not have. shape: of the output. expected: the output, or the
    device's status, or None where the device's result is undefined. after: what the call leaves in
    inputs and states; is_after_known: False if these have the values of another rounding. why: the
    result is undefined for a device that reads a NULL bias, or may read it. known: 0 where the
    output depends on memory outside of the call; None: no element does.
    """

    function: str
    case: str
    device: str
    wanted: Optional[Profile]
    params: Mapping[str, Any]
    arrays: Mapping[str, Optional[np.ndarray]]
    shape: tuple[int, ...]
    expected: Any
    after: Mapping[str, np.ndarray]
    is_after_known: bool = True
    why: str = ""
    known: Optional[np.ndarray] = None

    def arguments(self, function: Function) -> dict[str, object]:
        """Return all arguments of a declared function, states in fresh memory."""
        told = {RENAMED.get(name, name): value for name, value in self.params.items()}
        arrays = {RENAMED.get(name, name): value for name, value in self.arrays.items()}
        if "data" not in arrays and any(array.name == "data" for array in function.arrays):
            arrays["data"] = arrays["input"]
        if "stride_h" in function.params and "input" in arrays:
            told.update(self._windows(arrays))
        if "perm" in arrays:
            told.update(self._transpose(np.asarray(arrays["input"]), np.asarray(arrays["perm"])))
        if "weights_feature" in arrays:
            told["units"] = len(np.asarray(arrays["weights_feature"])) // told["rank"]
        for name, after in self.after.items():
            before = arrays.get(f"{name}_in", arrays.get(name))
            arrays[name] = np.full_like(after, 77) if before is None else before.copy()
        params = {name: told[name] for name in function.params if name in told}
        return {**params, **{array.name: arrays.get(array.name) for array in function.arrays}}

    def _windows(self, arrays: Mapping[str, Optional[np.ndarray]]) -> dict[str, int]:
        """Return the sides that functions with windows take, from the shapes of the arrays."""
        image, kernel = (np.asarray(arrays.get(name, 0)).shape for name in ("input", "filter"))
        told = {"batches": image[0], "channels": image[-1]}
        for side, shape in (("input", image), ("filter", kernel), ("output", self.shape)):
            told.update({f"{side}_{axis}": n for axis, n in zip("hwc", shape[1:])})
        return told

    def _transpose(self, given: np.ndarray, perm: np.ndarray) -> dict[str, int]:
        """Return the sides and axes of a transposition, filled up to four."""
        axes = [*perm.tolist(), *range(len(perm), 4)]
        told = {f"perm_{place}": axis for place, axis in enumerate(axes)}
        for side, shape in (("input", given.shape), ("output", self.shape)):
            told.update({f"{side}_{a}": n for a, n in zip("nhwc", (*shape, 1, 1, 1))})
        return told


def read(folder: Path) -> Iterator[Recording]:
    """Yield the recorded calls of a folder and of those in it.

    Parameters
    ----------
    folder : Path
        A folder with .npz files that have a manifest of cases; files of other kinds are left out.
    """
    for path in sorted(folder.rglob("*.npz")):
        with np.load(path) as arrays:
            if "manifest" not in arrays.files:
                continue
            manifest = json.loads(str(arrays["manifest"]))
            stored = {name: arrays[name] for name in arrays.files if name != "manifest"}
        for case in manifest.get("cases", ()):
            named = "functions" in case or "function" in manifest
            if not (named and "inputs" in case and "outputs" in case):
                continue
            if manifest.get("operation", "").startswith("espdl_"):
                yield from _find_esp_dl(case, stored)
            elif case.get("functions", [""])[0].startswith("esp_nn_"):
                yield from _find_esp_nn(case, stored)
            else:
                yield from _find_case(manifest, case, stored)


#: Recorded chip -> the devices of this package that have its bits.
_ESP = {
    "expected": {f"{chip}/1.2.3": Target(chip, esp_nn="1.2.3") for chip in ("esp32", "esp32p4")},
    "esp32s3": {"esp32s3/1.2.3": Target("esp32s3", esp_nn="1.2.3")},
}


def _find_esp_nn(case: Mapping[str, Any], stored: Mapping[str, np.ndarray]) -> Iterator[Recording]:
    """Yield a recorded call of ESP-NN for each device."""
    arrays = {name: key and stored[key] for name, key in case["inputs"].items()}
    mask = case["outputs"].get("esp32s3_known_mask")
    for chip, devices in _ESP.items():
        if chip not in case["outputs"]:
            continue
        expected = stored[case["outputs"][chip]]
        known = stored[mask] if mask and chip == "esp32s3" else None
        if chip == "esp32s3" and case["functions"][0] == "esp_nn_avg_pool_s8":
            known = _mark_written(expected.shape)
        for device, target in devices.items():
            call = (case["functions"][0], case["id"], device, target.profile(), case["params"])
            yield Recording(*call, arrays, expected.shape, expected, {}, known=known)


def _find_esp_dl(case: Mapping[str, Any], stored: Mapping[str, np.ndarray]) -> Iterator[Recording]:
    """Yield a recorded operator of ESP-DL for each of its builds."""
    operator, type = case["functions"][0], case["params"].get("quant_type", "").lower()
    name = f"espdl_{operator}_{type}" if type else operator.replace("esp_dl_", "espdl_")
    for build, key in case["outputs"].items():
        chip, expected = esp_dl_calls.BUILDS[build], stored[key]
        call = (name, case["id"], f"{chip}/{build}", Target(chip).profile(), case)
        yield Recording(*call, stored, expected.shape, expected, {})


def _find_case(
    manifest: Mapping[str, Any], case: Mapping[str, Any], stored: Mapping[str, np.ndarray]
) -> Iterator[Recording]:
    def look_up(keys: Mapping[str, Optional[str]]) -> dict[str, Any]:
        return {name: None if key is None else stored[key] for name, key in keys.items()}

    arrays, outputs = look_up(case["inputs"]), look_up(case["outputs"])
    shape = next((output.shape for output in outputs.values()), ())
    if len(shape) == 1 and "stride_h" in case["params"]:
        shape = _sides(manifest["function"], case, arrays, outputs)
    left = {device: _left(case, device, look_up) for device in manifest.get("variants", ())}
    states = {name[: -len("_out")]: outputs[name] for name in outputs if name.endswith("state_out")}
    for device, wanted, expected in _devices(manifest, case, outputs):
        after = left.get(device, states)
        is_known = device in left or not device.endswith("single")
        for function in case.get("functions") or [manifest["function"]]:
            yield Recording(
                *(function, case["id"], device, wanted, case["params"], arrays, shape),
                *(expected, after, is_known, _null_bias(case, device)),
            )


def _mark_written(shape: tuple[int, ...]) -> np.ndarray:
    """Return 1 where an ESP32-S3 writes an output [h, w, c] of an average pooling, else 0."""
    height, width, channels = shape
    if channels % 4 or height == 1:
        return np.ones(shape, np.uint8)
    written = np.zeros(height * width * channels, np.uint8)
    for y in range(height):
        start = y * height * channels
        written[start : start + width * channels] = 1
    return written.reshape(shape)


def _null_bias(case: Mapping[str, Any], device: str) -> str:
    """Return the reason for an undefined result if it is a NULL bias."""
    why = str(case.get("left_out", {}).get(device, ""))
    return why if "NULL bias" in why else ""


def _sides(
    name: str,
    case: Mapping[str, Any],
    arrays: Mapping[str, Optional[np.ndarray]],
    outputs: Mapping[str, np.ndarray],
) -> tuple[int, ...]:
    """Return the sides of a flat output, whose recording has only their product.

    They are those with which this package's main, or else 7.0.0, has the recorded bits on a
    Cortex-M3; or else those of a padding that frameworks use.
    """
    images, size = np.asarray(arrays["input"]).shape[0], next(iter(outputs.values())).size
    channels = _channels(case["params"], arrays)
    pixels = size // (images * channels)
    whole = [height for height in range(1, pixels + 1) if pixels % height == 0]
    usual = [_list_usual(axis, case["params"], arrays) for axis in (0, 1)]
    heights = sorted(whole, key=lambda h: h not in usual[0] or pixels // h not in usual[1])
    for device in ("main/m3/double", "v7.0.0/m3/double"):
        for height in heights if device in outputs else ():
            sides = (images, height, pixels // height, channels)
            known = (device, _profile(device), case["params"], arrays, sides, outputs[device])
            if outcome(Recording(name, case["id"], *known, {}))[0] == "equal":
                return sides
    return (images, heights[0], pixels // heights[0], channels)


def _list_usual(
    axis: int, params: Mapping[str, int], arrays: Mapping[str, Optional[np.ndarray]]
) -> tuple[int, ...]:
    """Return the lengths of an output with the paddings SAME and VALID, and with pads on both
    sides.
    """
    image, kernel, name = (
        np.asarray(arrays["input"]).shape[1 + axis],
        arrays.get("filter"),
        "hw"[axis],
    )
    taps = params[f"filter_{name}"] if kernel is None else kernel.shape[1 + axis]
    rest = image - (taps - 1) * params.get(f"dilation_{name}", 1) - 1
    stride, pad = params[f"stride_{name}"], params[f"pad_{name}"]
    return -(-image // stride), rest // stride + 1, (rest + 2 * pad) // stride + 1


def _channels(params: Mapping[str, int], arrays: Mapping[str, Optional[np.ndarray]]) -> int:
    """Return the channels of an output, from filters or from the input."""
    kernel, given = arrays.get("filter"), np.asarray(arrays["input"]).shape[-1]
    if "ch_mult" in params:
        return int(given * params["ch_mult"])
    if "filter_oc" in params:
        return params["filter_oc"]
    return given if kernel is None else len(kernel)


def _left(
    case: Mapping[str, Any], device: str, look_up: Callable[[Mapping[str, str]], dict[str, Any]]
) -> dict[str, np.ndarray]:
    """Return a device's remains of an input or a state, if recorded."""
    names = {"input_after": "Im_in", "after_Im_in": "Im_in", "after_state_out": "state"}
    return look_up(
        {name: case[key][device] for key, name in names.items() if device in case.get(key, {})}
    )


def _devices(
    manifest: Mapping[str, Any], case: Mapping[str, Any], outputs: Mapping[str, np.ndarray]
) -> Iterator[tuple[str, Optional[Profile], Any]]:
    """Yield the devices of a case: the name, the profile, the output or the status."""
    if "variants" not in manifest:
        yield from _iterate_main(case, outputs)
        return
    statuses = case.get("status_by_variant") or case.get("status")
    statuses = statuses if isinstance(statuses, dict) else {}
    for device in manifest["variants"]:
        status = statuses.get(device)
        if device in outputs and not status:
            yield device, _profile(device), outputs[device]
        elif status or device in case.get("left_out", {}):
            yield device, _profile(device), status


def _profile(device: str) -> Optional[Profile]:
    """Return the profile of "5.8.0/m4/nearest", or of "m4_truncate" of CMSIS 5.9.0."""
    release, slash, rest = device.partition("/")
    core, _, rounding = rest.partition("/") if slash else device.partition("_")
    if not slash:
        release, rounding = "5.9.0", rounding or "nearest"
    if core not in CORES:
        return None
    try:
        return profile(CORES[core], release, rounding)
    except Error:
        return None


#: Names of the outputs that a core of Arm's main branch computed, preferred to the general names.
_MAIN = {
    "plain_c": ("executed_plain_c", "expected"),
    "m4": ("executed_m4", "expected"),
    "m55": ("executed_m55_vector_softmax", "executed_m55", "expected"),
}


def _iterate_main(
    case: Mapping[str, Any], outputs: Mapping[str, np.ndarray]
) -> Iterator[tuple[str, Optional[Profile], Any]]:
    """Yield what the files without `variants` have: main of July 2026, or another library."""
    if not case["functions"][0].startswith("arm_"):
        yield from ((name, None, output) for name, output in outputs.items())
        return
    single = "expected_single_rounding"
    same = case.get("single_rounding_same") or single in outputs
    for core, names in _MAIN.items():
        word, _, status = case.get("platform_differences", {}).get(core, "").partition(" ")
        for rounding in ("double", "single"):
            if rounding == "single":
                own = f"executed_{core}_single_rounding"
                names = (own, *names[:-1], single, "expected") if same else (own, single)
            expected = next((outputs[name] for name in names if name in outputs), None)
            wanted = profile(CORES[core], "main-2026-07", rounding)
            if word == "status" or expected is not None:
                result = int(status) if word == "status" else expected
                yield f"main/{core}/{rounding}", wanted, result


def outcome(recording: Recording) -> tuple[str, str]:
    """Return this package's outcome of a recorded call, one of OUTCOMES, and the reason.

    A device's error status, or an undefined result, counts as equal to an error here.
    """
    if recording.function.startswith("esp_nn_"):
        return _esp_nn_outcome(recording)
    if recording.function.startswith("espdl_"):
        return _esp_dl_outcome(recording)
    function = FUNCTIONS.get(recording.function)
    if function is None or recording.wanted is None:
        what = recording.function if function is None else f"the device {recording.device}"
        return "refused", f"{what} is not declared"
    arguments = recording.arguments(function)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeviceWarning)
            in_place = bool(recording.after)
            got = cmsis.invoke(function, arguments, recording.wanted, in_place=in_place)
    except Error as error:
        if not isinstance(recording.expected, np.ndarray):
            return "equal", ""
        return "refused", str(error)
    if recording.expected is None and recording.why:
        return "refused", f"the recording has no result: {recording.why}"
    if not isinstance(recording.expected, np.ndarray):
        return "different", "computed, but the device has no result"
    expected = np.ascontiguousarray(recording.expected).ravel()
    count = _written(expected, recording.shape[0] if len(recording.shape) == 4 else 1)
    if got.ravel()[:count].tobytes() != expected[:count].tobytes():
        return "different", _get_first(got.ravel(), expected)
    for name, after in recording.after.items() if recording.is_after_known else ():
        if np.asarray(arguments[name]).tobytes() != after.tobytes():
            return "different", f"{name} after the call"
    return "equal", ""


#: Function of ESP-NN -> the function of CMSIS-NN for the same operator.
ESP_BASES = {
    "esp_nn_add_elementwise_s8": "arm_elementwise_add_s8",
    "esp_nn_mul_elementwise_s8": "arm_elementwise_mul_s8",
    "esp_nn_conv_s8": "arm_convolve_wrapper_s8",
    "esp_nn_depthwise_conv_s8": "arm_depthwise_conv_wrapper_s8",
    "esp_nn_fully_connected_s8": "arm_fully_connected_s8",
    "esp_nn_fully_connected_per_ch_s8": "arm_fully_connected_per_channel_s8",
    "esp_nn_avg_pool_s8": "arm_avgpool_s8",
    "esp_nn_max_pool_s8": "arm_max_pool_s8",
    "esp_nn_softmax_s8": "arm_softmax_s8",
}


def read_esp_nn(recording: Recording) -> tuple[EspCall, dict[str, Any]]:
    """Return the call of CMSIS-NN in place of a recorded one of ESP-NN, and its arrays.

    Parameters
    ----------
    recording : Recording
        Of a function of ESP_BASES.
    """
    base = FUNCTIONS[ESP_BASES[recording.function]]
    given, shape = dict(recording.arrays), recording.shape
    if "stride_h" in base.params:
        given["input"], shape = np.asarray(given["input"])[None], (1, *shape)
    plain = replace(recording, arrays=given, shape=shape).arguments(base)
    arrays = {array.name: plain.pop(array.name) for array in base.arrays}
    params = cmsis.complete(base, {**plain, **arrays})
    align = recording.params.get("input_align", 0)
    return EspCall(base.name, params, align, in_port=False), arrays


def _esp_nn_outcome(recording: Recording) -> tuple[str, str]:
    """Return the outcome of a call of ESP-NN, whose images have no batch axis."""
    name = recording.function
    if name not in ESP_BASES or recording.wanted is None:
        return "refused", f"esp-tflite-micro does not call {name}"
    expected = np.asarray(recording.expected)
    try:
        call, arrays = read_esp_nn(recording)
        found = compute_as(call, recording.wanted)
        function = FUNCTIONS[found.function]
        got = cmsis.invoke(function, {**found.params, **arrays}, recording.wanted)
    except Error as error:
        return "refused", str(error)
    known = slice(None) if recording.known is None else recording.known.ravel() != 0
    pair = got.ravel()[known], expected.ravel()[known]
    return ("equal", "") if np.array_equal(*pair) else ("different", _get_first(*pair))


def _esp_dl_outcome(recording: Recording) -> tuple[str, str]:
    """Return the outcome of an operator of ESP-DL; its params are the case of the manifest."""
    build = recording.device.partition("/")[2]
    try:
        return esp_dl_calls.compare(recording.params, recording.arrays, build, recording.expected)
    except Error as error:
        return "refused", str(error)


def _written(expected: np.ndarray, images: int) -> int:
    """Return how many elements of a recorded output the device wrote: all, or the first image."""
    one = expected.size // images
    rest = expected[one:].view(np.uint8)
    return one if rest.size and (rest == UNWRITTEN).all() else expected.size


def _get_first(got: np.ndarray, expected: np.ndarray) -> str:
    if got.size != expected.size:
        return f"{got.size} elements instead of {expected.size}"
    at = int(np.flatnonzero(got != expected)[0])
    return f"element {at}: {got[at]} instead of {expected[at]}"


def compare(folder: Path) -> dict[tuple[str, str], Counter[str]]:
    """Return the outcomes of a folder's calls and .espdl networks; print differences.

    Parameters
    ----------
    folder : Path
        As of read().

    Returns
    -------
    dict
        (function or network, device) -> outcome or reason -> count.
    """
    found: dict[tuple[str, str], Counter[str]] = {}
    for recording in read(folder):
        kind, why = outcome(recording)
        counts = found.setdefault((recording.function, recording.device), Counter())
        counts[kind] += 1
        if kind == "different":
            print(f"{recording.function} {recording.case} {recording.device}: {why}")
        elif why:
            counts[why] += 1
    for each in compare_networks(folder):
        counts = found.setdefault((f"espdl_network {each.network}", each.device), Counter())
        counts[each.outcome] += 1
        if each.outcome == "different":
            print(f"{each.network} {each.device} {each.tensor}: {each.why}")
        elif each.why:
            counts[each.why] += 1
    return found


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Print equal, different and refused calls; return 1 if any differs."""
    parser = argparse.ArgumentParser("python -m qemu_nn.testing.recordings", description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, help="with .npz files of recorded calls")
    parser.add_argument("--reasons", action="store_true", help="say why calls are refused")
    options = parser.parse_args(arguments)
    total: Counter[str] = Counter()
    for folder in options.folders:
        if not folder.is_dir():
            parser.error(f"{folder} is no folder; name a folder with .npz files")
        for (function, device), counts in compare(folder).items():
            total.update({kind: counts[kind] for kind in OUTCOMES})
            print(f"{function} {device}: {_text(counts)}")
            if options.reasons:
                reasons = (why for why in counts if why not in OUTCOMES)
                print("".join(f"    {counts[why]} x {why}\n" for why in reasons), end="")
    print(f"all: {_text(total)}")
    return int(total["different"] > 0)


def _text(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{counts[kind]} {kind}" for kind in OUTCOMES)


if __name__ == "__main__":
    sys.exit(main())
