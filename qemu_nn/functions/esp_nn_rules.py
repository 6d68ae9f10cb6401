"""Calls of ESP-NN whose result differs from the framework's own kernels: one table of rules.

esp-tflite-micro passes seven operators to ESP-NN: ADD, MUL, CONV_2D, DEPTHWISE_CONV_2D,
FULLY_CONNECTED, AVERAGE_POOL_2D and MAX_POOL_2D, and SOFTMAX. A call that no rule names has the
bits of the framework's own kernel. Generic C runs on an ESP32, S2, C3 and C6.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Callable, Optional

from ..errors import Refused
from ..targets import DEFAULT_ESP_NN, ESP_CHIPS, ESP_NN, Profile, core_words
from .esp_nn import ALIGN

#: Every kernel set of ESP-NN.
ESP_PATHS = tuple(dict.fromkeys(ESP_CHIPS.values()))

_S3 = ("esp32s3",)

#: Newest release whose kernels for the ESP32-S3 were interpreted, or that has the same assembly.
LAST_MEASURED = DEFAULT_ESP_NN

#: Newest release whose kernels for the ESP32-S3 were read, in part.
_LAST_READ = "1.4.2"

#: Element classes from which on the shift of softmax can reach 32.
_MANY_CLASSES = 512

#: Bytes of a depthwise convolution with 16-bit elements above which it is computed in strips.
_STRIPS_FROM = 48 * 1024

#: Bytes of a padded image above which scratch memory is counted for a strip.
_STRIP_SCRATCH_FROM = 40 * 1024


@dataclass(frozen=True)
class EspCall:
    """A call of a function of CMSIS-NN, as ESP-NN computes it.

    input_align: the address of the input modulo 16; TensorFlow Lite Micro's arena has all tensors
    at multiples of 16. has_scratch: False if esp-tflite-micro reserves too little memory for a
    softmax. in_port: False for a call of ESP-NN without esp-tflite-micro. warnings: faults of the
    call.
    """

    function: str
    params: Mapping[str, int]
    input_align: int = 0
    has_scratch: bool = True
    in_port: bool = True
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class EspRule:
    """A difference of ESP-NN.

    functions: of CMSIS-NN. operator: of the format. when, effect, avoid: a line of docs/esp32.md.
    source: "m" the assembly text was interpreted or the C compiled and run, "r" read. holds: True
    for calls that meet it; gets the release. becomes: the call that has its bits. refused: why
    there is no result. warning: the fault of the result, from the call. since, until: the first and
    the last release known to have it. doubtful: the last release that may still have it.
    """

    functions: tuple[str, ...]
    operator: str
    when: str
    effect: str
    avoid: str
    source: str
    holds: Callable[[EspCall, str], bool]
    becomes: Optional[Callable[[EspCall], EspCall]] = None
    refused: str = ""
    warning: Optional[Callable[[EspCall, str], str]] = None
    paths: tuple[str, ...] = _S3
    since: str = ESP_NN[0]
    until: str = ESP_NN[-1]
    doubtful: str = ""

    def covers(self, profile: Profile) -> bool:
        """True if the profile's kernels have the difference, or may have it."""
        first, last = (ESP_NN.index(name) for name in (self.since, self.doubtful or self.until))
        return profile.path in self.paths and first <= ESP_NN.index(profile.esp_nn) <= last

    def apply(self, call: EspCall, release: str) -> EspCall:
        """Return the call as the rule computes it; raise Refused if it has no known result."""
        if ESP_NN.index(release) > ESP_NN.index(self.until):
            doubt = f"{self.when}: this release may still differ as {self.until} does"
            kept = "results here are those of the framework's own kernel"
            return replace(call, warnings=(*call.warnings, f"{doubt}; {kept}"))
        if self.refused:
            raise Refused(f"ESP-NN {release}: {self.refused}")
        said = (self.warning(call, release),) if self.warning else (f"{self.when}: {self.effect}",)
        made = self.becomes(call) if self.becomes else call
        return replace(made, warnings=(*call.warnings, *said))


def compute_as(call: EspCall, profile: Profile) -> EspCall:
    """Return the call that has the bits of ESP-NN; raise Refused if they are unknown."""
    for rule in RULES:
        met = rule.covers(profile) and call.function in rule.functions
        if met and rule.holds(call, profile.esp_nn):
            call = rule.apply(call, profile.esp_nn)
    return call


def describe_evidence(profile: Profile, functions: Iterable[str]) -> str:
    """Return the warning of a session whose kernels were not run; "" if all of them were.

    functions: of CMSIS-NN, that the network calls.
    """
    operators = sorted({_OPERATORS[name] for name in functions if name in _OPERATORS})
    if not operators or profile.path == "esp32":
        return ""
    how = "were read, not run"
    if profile.path == "esp32s3":
        if not is_after(profile.esp_nn, LAST_MEASURED):
            return ""
        how = "were not read" if is_after(profile.esp_nn, _LAST_READ) else "were read in part"
        how = f"{how} in release {profile.esp_nn}"
    return (
        f"ESP-NN's kernels for the {core_words([profile.path])} {how} ({', '.join(operators)}); "
        "results are those of the framework's own kernels"
    )


# ---- conditions ----


def is_after(release: str, other: str) -> bool:
    """True if a release of ESP-NN is newer than another one."""
    return ESP_NN.index(release) > ESP_NN.index(other)


def is_old(release: str) -> bool:
    """True for releases before 1.2.1, which brought most kernels for the ESP32-S3 in C."""
    return not is_after(release, "1.2.0~1")


def _is_point(p: Mapping[str, int]) -> bool:
    ones = ("filter_h", "filter_w", "stride_h", "stride_w")
    return all(p[name] == 1 for name in ones) and p["pad_h"] == p["pad_w"] == 0


def _is_dilated(p: Mapping[str, int]) -> bool:
    return p["dilation_h"] != 1 or p["dilation_w"] != 1


def _pad_end(p: Mapping[str, int], axis: str) -> int:
    """Return the rows or columns of padding at the end of an axis; negative: they are unread."""
    covered = (p[f"output_{axis}"] - 1) * p[f"stride_{axis}"] + p[f"filter_{axis}"]
    return covered - p[f"input_{axis}"] - p[f"pad_{axis}"]


def _gathers_windows(p: Mapping[str, int]) -> bool:
    """True for narrow windows, which releases from 1.2.1 on copy one by one."""
    row = p["filter_w"] * p["input_c"]
    return row < 16 <= row * p["filter_h"]


def _leaves_image(call: EspCall, release: str) -> bool:
    """True if windows of a convolution leave the padded copy of the image."""
    params = call.params
    if _is_dilated(params) or _is_point(params):
        return False
    if not is_old(release) and (
        _gathers_windows(params) or params["pad_h"] == params["pad_w"] == 0
    ):
        return False
    return _pad_end(params, "h") > params["pad_h"] or _pad_end(params, "w") > params["pad_w"]


def _count_unknown(params: Mapping[str, int]) -> int:
    """Return how many rows of the output read memory that no one knows."""
    width = (params["input_w"] + 2 * params["pad_w"]) * params["input_c"]
    known = (params["input_h"] + 2 * params["pad_h"]) * width
    if params["pad_h"] or params["pad_w"]:
        known += 4 * params["output_c"]
    end = ((params["output_w"] - 1) * params["stride_w"] + params["filter_w"]) * params["input_c"]
    return sum(
        (y * params["stride_h"] + params["filter_h"] - 1) * width + end > known
        for y in range(params["output_h"])
    )


def _warn_padding(call: EspCall, release: str) -> str:
    p = call.params
    ends = ", ".join(
        f"{p[f'pad_{axis}']} before and {_pad_end(p, axis)} after ({name})"
        for axis, name in (("h", "rows"), ("w", "columns"))
    )
    unknown = _count_unknown(p)
    what = "row reads" if unknown == 1 else f"{unknown} rows read"
    rows = f"; its last {what} unknown memory, taken as 0" if unknown else ""
    read = "windows at the end read the next row and memory after the image"
    return f"its padding is {ends}: {read}{rows}"


def _rows_unaligned(call: EspCall, release: str) -> bool:
    """True if a row of 8 elements and more starts at no multiple of 8 bytes."""
    p = call.params
    starts = ((call.input_align + n * p["input_c"]) % 8 for n in range(min(p["batches"], 8)))
    return p["input_c"] >= 8 and any(starts)


def _skips_vector(call: EspCall, release: str) -> bool:
    """True if rows at multiples of 16 bytes have an odd number of vectors, and more than one."""
    p = call.params
    starts = ((call.input_align + n * p["input_c"]) % 16 for n in range(min(p["batches"], 16)))
    vectors = p["input_c"] // 16
    return vectors > 1 and vectors % 2 == 1 and p.get("filter_offset", 0) == 0 and not all(starts)


def _is_oblong(call: EspCall, release: str) -> bool:
    p = call.params
    return p["channels"] % 4 == 0 and p["output_h"] > 1 and p["output_h"] != p["output_w"]


def _loses_minimum(call: EspCall, release: str) -> bool:
    return call.params["channels"] % 8 == 4 and call.params["act_min"] > -128


def _has_tail(call: EspCall, release: str) -> bool:
    return call.params["block_size"] % 8 != 0 or call.input_align != 0


def _maximum_shifts(call: EspCall, release: str) -> bool:
    p = call.params
    starts = ((call.input_align + n * p["row_size"]) % 16 for n in range(min(p["num_rows"], 16)))
    return p["row_size"] >= 32 and any(starts)


def _divides_by_much(call: EspCall, release: str) -> bool:
    return call.params["row_size"] >= _MANY_CLASSES


def _softmax_in_vectors(call: EspCall) -> EspCall:
    params = {**call.params, ALIGN: call.input_align, "in_vectors": 1}
    return replace(call, function="esp_nn_softmax_s8", params=params)


def _softmax_plain(call: EspCall) -> EspCall:
    if call.function == "esp_nn_softmax_s8":
        return call
    params = {**call.params, ALIGN: call.input_align, "in_vectors": 0}
    return replace(call, function="esp_nn_softmax_s8", params=params)


def _takes_strips(call: EspCall, release: str) -> bool:
    params = call.params
    small = params["filter_h"] == params["filter_w"] == 3
    if (
        _is_dilated(params)
        or params["ch_mult"] != 1
        or params["input_c"] % 8
        or small
        or not params["input_offset"]
    ):
        return False
    return _wide_bytes(params) > _STRIPS_FROM and max(params["pad_h"], _pad_end(params, "h")) > 0


def _loads_image(params: Mapping[str, int], release: str) -> bool:
    """True if a depthwise kernel loads vectors of the image itself, not of a copy."""
    if params["ch_mult"] % 4 == 0:
        return True
    if params["ch_mult"] != 1 or params["input_c"] % 8:
        return False
    old, pads = is_old(release), (params["pad_h"], params["pad_w"])
    if params["filter_h"] != 3 or params["filter_w"] != 3:
        return not old and _wide_bytes(params) <= _STRIPS_FROM
    if params["input_c"] % 16:
        return old or params["input_c"] < 12
    if pads == (0, 0):
        return not any(_beyond(params, axis) for axis in "hw")
    return old and pads != (1, 1)


def _wide_bytes(p: Mapping[str, int]) -> int:
    """Return bytes of filters and image of a depthwise convolution as elements of 16 bits."""
    elements = p["filter_h"] * p["filter_w"] + p["input_h"] * p["input_w"]
    return 2 * elements * p["input_c"]


def _beyond(p: Mapping[str, int], axis: str) -> int:
    """Return rows or columns that the vendor's formula adds at the end of an axis."""
    reach = p[f"output_{axis}"] * p[f"stride_{axis}"] + p[f"filter_{axis}"] - 1
    return reach - p[f"input_{axis}"]


def _image_unaligned(call: EspCall, release: str) -> bool:
    """True if an image of a batch starts at no multiple of 16 bytes, and is loaded in vectors."""
    p = call.params
    image = p["input_h"] * p["input_w"] * p["input_c"]
    starts = ((call.input_align + n * image) % 16 for n in range(min(p["batches"], 16)))
    return not _is_dilated(p) and any(starts) and _loads_image(p, release)


def _count_overrun(call: EspCall, release: str) -> int:
    """Return bytes that a depthwise convolution of 3 x 3 writes after its scratch memory."""
    params = call.params
    if (
        _is_dilated(params)
        or params["ch_mult"] != 1
        or params["filter_h"] != 3
        or params["filter_w"] != 3
    ):
        return 0
    channels, pads = params["input_c"], (params["pad_h"], params["pad_w"])
    if channels % 16 or pads == (1, 1):
        return 0
    bottom, right = (_beyond(params, axis) for axis in "hw")
    filters, image = 9 * channels, params["input_h"] * params["input_w"] * channels
    if pads == (0, 0):
        padded = (params["input_h"] + bottom) * (params["input_w"] + right) * channels
        written = filters + 16 + (padded if bottom or right else 0)
        height, width = bottom, right
    elif is_old(release):
        written, height, width = 2 * (filters + 16 + image), 2 * pads[0], 2 * pads[1]
    else:
        tall = params["input_h"] + 2 * pads[0] + max(0, bottom - 2 * pads[0])
        wide = params["input_w"] + 2 * pads[1] + max(0, right - 2 * pads[1])
        outputs = params["output_h"] * params["output_w"] * channels
        written, height, width = (
            filters + 16 + tall * wide * channels + outputs,
            *(2 * n for n in pads),
        )
    whole = (params["input_h"] + height) * (params["input_w"] + width) * channels
    if not is_old(release) and whole > _STRIP_SCRATCH_FROM:
        whole = (params["input_w"] + width) * 3 * channels
    given = filters + 16 + (whole if height or width else 0)
    return max(0, written - given)


def _warn_overrun(call: EspCall, release: str) -> str:
    return (
        f"it writes {_count_overrun(call, release):,} bytes after its scratch memory, into other "
        "tensors of the arena; results here are those without this damage"
    )


def _writes_16(call: EspCall, release: str) -> bool:
    """True for the depthwise convolutions of old releases with elements of 16 bits."""
    p = call.params
    if _is_dilated(p):
        return False
    small = p["filter_h"] == p["filter_w"] == 3
    return p["ch_mult"] % 4 == 0 or (p["ch_mult"] == 1 and p["input_c"] % 16 == 8 and small)


def _point_by_point(call: EspCall) -> EspCall:
    """Return a 1 x 1 convolution as a fully connected layer, which loads in the same way."""
    p = call.params
    kept = ("input_offset", "output_offset", "act_min", "act_max", "input_c", "output_c")
    rows = p["batches"] * p["input_h"] * p["input_w"]
    params = {**{name: p[name] for name in kept}, "batches": rows, "filter_offset": 0}
    params[ALIGN] = call.input_align
    return replace(call, function="esp_nn_fully_connected_per_ch_s8_esp32s3", params=params)


def _renamed(name: str) -> Callable[[EspCall], EspCall]:
    return lambda call: replace(call, function=name)


def _aligned(name: str) -> Callable[[EspCall], EspCall]:
    return lambda call: replace(
        call, function=name, params={**call.params, ALIGN: call.input_align}
    )


def _without_minimum(call: EspCall) -> EspCall:
    return replace(call, params={**call.params, "act_min": -128})


_CONV, _DEPTHWISE = ("arm_convolve_wrapper_s8",), ("arm_depthwise_conv_wrapper_s8",)
_DENSE, _DENSE_CHANNELS = "arm_fully_connected_s8", "arm_fully_connected_per_channel_s8"
_SOFTMAX = ("arm_softmax_s8",)

#: All differences of ESP-NN that are known. Those of one operator apply in this order.
RULES: tuple[EspRule, ...] = (
    EspRule(
        _CONV,
        "CONV_2D",
        "groups",
        "esp-tflite-micro stops, as it asserts filters of all input channels",
        "a convolution for each group, and CONCATENATION",
        "r",
        lambda call, release: call.in_port and call.params["filter_c"] != call.params["input_c"],
        refused="it has groups, at which esp-tflite-micro stops; replace it by a convolution for "
        "each group, and CONCATENATION",
        paths=ESP_PATHS,
    ),
    EspRule(
        _CONV,
        "CONV_2D",
        "padding below or to the right is larger than above or to the left, and there is padding "
        "above or to the left (before 1.2.1: also if there is none)",
        "windows there read the left of the next row, and below the image the kernel's sums",
        "a later release; odd kernels with stride 1; 3 x 3 with stride 2 on two even or two odd "
        "sides (before 1.2.1: odd ones); or a PAD operator before VALID padding",
        "m",
        _leaves_image,
        _renamed("esp_nn_conv_s8_esp32s3"),
        warning=_warn_padding,
        until="1.2.3",
        doubtful="1.2.5",
    ),
    EspRule(
        _CONV,
        "CONV_2D",
        "1 x 1 with stride 1, channels % 8 == 0, and an input at no multiple of 8 bytes",
        "inputs are read from the address rounded down",
        "nothing to do: TensorFlow Lite Micro has tensors at multiples of 16 bytes",
        "m",
        lambda call, release: (
            _is_point(call.params)
            and not _is_dilated(call.params)
            and call.params["input_c"] % 8 == 0
            and call.input_align % 8 != 0
        ),
        _point_by_point,
        until=_LAST_READ,
    ),
    EspRule(
        _CONV,
        "CONV_2D",
        "1 x 1 with stride 1 and channels % 8 != 0",
        "some of the last (height * width) % 8 pixels, and a few others, are far off; results here "
        "are those of the reference kernel",
        "channels that are a multiple of 8, or a later release",
        "m",
        lambda call, release: (
            _is_point(call.params)
            and not _is_dilated(call.params)
            and call.params["input_c"] % 8 != 0
        ),
        until="1.2.2",
    ),
    EspRule(
        (_DENSE,),
        "FULLY_CONNECTED",
        "several rows whose length is 8 and more, and no multiple of 8",
        "the vectors of a row are read from its address rounded down to a multiple of 8",
        "a depth that is a multiple of 8, or one row",
        "m",
        _rows_unaligned,
        _aligned("esp_nn_fully_connected_s8_esp32s3"),
        until="1.2.5",
    ),
    EspRule(
        (_DENSE_CHANNELS,),
        "FULLY_CONNECTED",
        "a scale for each channel, and several rows of 8 elements and more, in no multiple of 8",
        "the vectors of a row are read from its address rounded down to a multiple of 8",
        "a depth that is a multiple of 8, or one row",
        "m",
        _rows_unaligned,
        _aligned("esp_nn_fully_connected_per_ch_s8_esp32s3"),
        until="1.2.5",
    ),
    EspRule(
        ("tflm_fully_connected_tensor_s8",),
        "FULLY_CONNECTED",
        "weights that the network computes, and such rows",
        "no result: such a layer is not computed here",
        "a depth that is a multiple of 8, or one row",
        "m",
        _rows_unaligned,
        refused="its weights are computed and its rows start at no multiple of 8 bytes; make their "
        "length a multiple of 8",
        until="1.2.5",
    ),
    EspRule(
        (_DENSE, _DENSE_CHANNELS, "tflm_fully_connected_tensor_s8"),
        "FULLY_CONNECTED",
        "rows of 48 elements and more with an odd number of vectors of 16",
        "the last vector is multiplied by elements after the row, and is far off; results here are "
        "those of the framework's own kernel",
        "another release",
        "r",
        _skips_vector,
        since="1.2.1",
        until="1.2.2",
    ),
    EspRule(
        ("arm_avgpool_s8",),
        "AVERAGE_POOL_2D",
        "channels % 4 == 0 and an output that is not square and higher than one row",
        "rows are written output_height * channels apart: they overlap, or leave gaps (taken as 0) "
        "and end after the tensor",
        "a square output, an output of one row, or MEAN",
        "m",
        _is_oblong,
        _renamed("esp_nn_avg_pool_s8_esp32s3"),
        until=_LAST_READ,
        doubtful=ESP_NN[-1],
    ),
    EspRule(
        ("arm_max_pool_s8",),
        "MAX_POOL_2D",
        "channels % 8 == 4 and a fused activation with a lower bound",
        "the lower bound is not applied",
        "channels that are a multiple of 8, or the activation in the layer before",
        "m",
        _loses_minimum,
        _without_minimum,
        until=LAST_MEASURED,
        doubtful=ESP_NN[-1],
    ),
    EspRule(
        ("arm_elementwise_mul_s8",),
        "MUL",
        "two tensors of one shape with size % 8 != 0",
        "the last size % 8 elements (all of a tensor below 8) round ties differently",
        "a size that is a multiple of 8",
        "m",
        _has_tail,
        _aligned("esp_nn_mul_elementwise_s8_esp32s3"),
        until=LAST_MEASURED,
        doubtful=ESP_NN[-1],
    ),
    EspRule(
        _SOFTMAX,
        "SOFTMAX",
        "several rows of 32 classes and more, whose number is no multiple of 16",
        "the maximum is taken over a window up to 15 elements before the row: it may be missed, or "
        "be one of the row before",
        "classes that are a multiple of 16, fewer than 32, or one row",
        "m",
        _maximum_shifts,
        _softmax_in_vectors,
        since="1.2.1",
        until=LAST_MEASURED,
        doubtful=_LAST_READ,
    ),
    EspRule(
        (*_SOFTMAX, "esp_nn_softmax_s8"),
        "SOFTMAX",
        "rows of 512 classes and more",
        "if 512 are as likely as the best, all of these get 127",
        "fewer classes, or no SOFTMAX: the order of logits is the same",
        "m",
        _divides_by_much,
        _softmax_plain,
        paths=ESP_PATHS,
    ),
    EspRule(
        (*_SOFTMAX, "esp_nn_softmax_s8"),
        "SOFTMAX",
        "an input of one axis, or of three and more whose second is shorter than the last",
        "its own output is right, but scratch memory is counted by the second axis, and it writes "
        "after that, into other tensors",
        "RESHAPE to [rows, classes] before it",
        "r",
        lambda call, release: not call.has_scratch,
        paths=("esp32", "esp32p4"),
    ),
    EspRule(
        (*_SOFTMAX, "esp_nn_softmax_s8"),
        "SOFTMAX",
        "on an ESP32-S3, an input of one axis, or of three and more whose second is shorter than "
        "the last",
        "its own output is right, but it writes after its scratch memory, into other tensors",
        "RESHAPE to [rows, classes] before it",
        "r",
        lambda call, release: not call.has_scratch,
        until=LAST_MEASURED,
        doubtful=_LAST_READ,
    ),
    EspRule(
        _DEPTHWISE,
        "DEPTHWISE_CONV_2D",
        "in a batch, images of height * width * channels % 16 != 0; a multiplier that is a "
        "multiple of 4, or multiplier 1 with channels % 8 == 0 in a kernel that copies no image: "
        "3 x 3 with 8 channels (before 1.2.1: any), or not 3 x 3 and at most 48 KiB as 16 bits "
        "(from 1.2.1 on)",
        "no result: vectors are read from the address rounded down",
        "a batch of one",
        "m",
        _image_unaligned,
        refused="an image of its batch starts at no multiple of 16 bytes, where its vectors read "
        "wrong elements; use a batch of one, or images whose size is a multiple of 16",
        until=_LAST_READ,
        doubtful=ESP_NN[-1],
    ),
    EspRule(
        _DEPTHWISE,
        "DEPTHWISE_CONV_2D",
        "multiplier 1, channels % 8 == 0, not 3 x 3, more than 48 KiB as 16 bits, padding above or "
        "below, and a zero point other than 0",
        "padding rows count as 0, not as the zero point",
        "smaller images, 3 x 3 kernels, or a zero point of 0",
        "m",
        _takes_strips,
        _renamed("esp_nn_depthwise_conv_s8_esp32s3"),
        since="1.2.1",
        until=LAST_MEASURED,
        doubtful=_LAST_READ,
    ),
    EspRule(
        _DEPTHWISE,
        "DEPTHWISE_CONV_2D",
        "3 x 3, multiplier 1, channels % 16 == 0, with padding (1, 0) or (0, 1), or with padding "
        "below or to the right alone on images of more than 40 KiB (before 1.2.1: the first alone)",
        "its own output is right, but it writes after its scratch memory, into other tensors",
        "square images, odd sides with stride 2, or smaller images",
        "m",
        lambda call, release: _count_overrun(call, release) > 0,
        warning=_warn_overrun,
        until=LAST_MEASURED,
        doubtful=_LAST_READ,
    ),
    EspRule(
        _DEPTHWISE,
        "DEPTHWISE_CONV_2D",
        "a multiplier that is a multiple of 4; or 3 x 3, multiplier 1 and channels % 16 == 8",
        "its own output is right, but it writes 16 bytes after its scratch memory",
        "a later release",
        "r",
        _writes_16,
        until="1.1.2",
    ),
)

#: Function of CMSIS-NN -> the operator that goes to ESP-NN in its place.
_OPERATORS = {
    "arm_elementwise_add_s8": "ADD",
    **{name: rule.operator for rule in RULES for name in rule.functions},
}
