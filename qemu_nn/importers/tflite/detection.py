"""TFLite_Detection_PostProcess: box decoding and non-maximum suppression."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ...errors import ModelError
from ...functions.tflm_float import bits
from .call import Converter, Options, TfliteCall
from .shaping import check_type
from .slicing import slice_params
from .values import TfliteValue

#: Coordinates of a box, and the default of the option detections_per_class.
_CORNERS, _PER_CLASS = 4, 100

#: Maximum of every count.
_MOST = 65535

_SCALES = ("y_scale", "x_scale", "h_scale", "w_scale")


def _float_option(options: Options, field: str) -> float:
    with np.errstate(over="ignore"):
        value = float(np.float32(options.number(field)))
    if not math.isfinite(value):
        raise ModelError(f"its option {field} is {value}; it must be a finite float32")
    return value


def _float_params(options: Options) -> dict[str, int]:
    """Return thresholds and scales as the bits of float32."""
    overlap = _float_option(options, "nms_iou_threshold")
    if not 0 < overlap <= 1:
        raise ModelError(
            f"its option nms_iou_threshold is {overlap:g}; it must be above 0 and up to 1"
        )
    made = {"score_threshold_bits": bits(_float_option(options, "nms_score_threshold"))}
    made["iou_threshold_bits"] = bits(overlap)
    for name in _SCALES:
        scale = _float_option(options, name)
        if not scale:
            raise ModelError(f"its option {name} is 0; it must not be 0")
        made[f"{name}_bits"] = bits(scale)
    return made


def _count_params(
    options: Options, x: TfliteValue, scores: TfliteValue, anchors: TfliteValue
) -> dict[str, int]:
    """Return all counts; raise ModelError if the shapes of the inputs do not match."""
    if len(x.shape) != 3 or x.shape[0] != 1 or x.shape[2] < _CORNERS:
        raise ModelError(f"its boxes are {list(x.shape)}; they must be [1, boxes, 4 or more]")
    boxes, classes = x.shape[1], options.integer("num_classes", 1, _MOST)
    fits = (1, boxes, classes), (1, boxes, classes + 1)
    if scores.shape not in fits or anchors.shape != (boxes, _CORNERS):
        raise ModelError(
            f"its scores are {list(scores.shape)} and its anchors {list(anchors.shape)}; for "
            f"{boxes} boxes of {classes} classes they must be {list(fits[0])} or {list(fits[1])}, "
            f"and [{boxes}, {_CORNERS}]"
        )
    most, regular = options.integer("max_detections", 1, _MOST), options.flag("use_regular_nms")
    limit, per_box = most, 1
    if regular:
        given = "detections_per_class" in options.table.numbers
        limit = options.integer("detections_per_class", 1) if given else _PER_CLASS
    else:
        per_box = min(options.integer("max_classes_per_detection", 1), classes)
    return {
        **{"boxes": boxes, "box_size": x.shape[2], "classes": classes},
        **{"background": scores.shape[2] - classes, "max_detections": most},
        **{"limit": min(limit, _MOST), "per_box": per_box, "is_regular": int(regular)},
    }


def detect(call: TfliteCall) -> None:
    """Convert TFLite_Detection_PostProcess of floats: boxes, their classes, scores, and count."""
    call.check_counts(3, 3, 4)
    options, real = call.read_optional_options(), ("FLOAT32",)
    for index in range(3):
        check_type(call, index, real)
    inputs = [call.value(index, *real) for index in range(3)]
    outputs = [call.output(at, *real) for at in range(4)]
    params = {
        **_count_params(options, *inputs),
        **_float_params(options),
        "capacity": outputs[1].size,
    }
    counts = [_CORNERS * outputs[1].size, *[outputs[1].size] * 2, 1]
    for output, count in zip(outputs, counts):
        if (output.dtype, output.size) != ("float32", count):
            raise ModelError(
                f"its output {output.name[:60]!r} is {output.dtype} {list(output.shape)}; it must "
                f"be {count} of float32"
            )
    if not params["is_regular"]:
        call.warn("rows after the last detection are 0 here and uninitialized on the device")
    like = replace(outputs[0], shape=(sum(counts),))
    found = call.add_part("detections", like, "tflm_detection_f32", params, inputs)
    for at, (output, count) in enumerate(zip(outputs, counts)):
        span = (sum(counts[:at]), 1, count)
        call.put("tflm_slice_f32", slice_params(found.shape, [span]), [found], output, at=at)


DETECTION: dict[str, Converter] = {"TFLite_Detection_PostProcess": detect}
