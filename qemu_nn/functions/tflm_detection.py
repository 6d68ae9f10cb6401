"""TFLite_Detection_PostProcess of TensorFlow Lite Micro: decodes boxes and selects the best."""

from random import Random

import numpy as np

from .base import Function
from .random_params import Drawn
from .shapes import Array, Total, vector
from .tflm_float import bits

_SIZES: tuple[str, ...] = (
    *("boxes", "box_size", "classes", "background", "max_detections", "limit", "per_box"),
    *("capacity", "is_regular"),
)
_REALS: tuple[str, ...] = (
    *("score_threshold_bits", "iou_threshold_bits"),
    *("y_scale_bits", "x_scale_bits", "h_scale_bits", "w_scale_bits"),
)

#: Boxes of random calls, whose anchors have an area.
_BOXES = 12

_SCALES = dict(zip(_REALS[2:], map(bits, (10.0, 10.0, 5.0, 5.0))))
_CASE = {
    **{"boxes": _BOXES, "box_size": 4, "classes": 5, "background": 1, "max_detections": 6},
    **{"limit": 6, "per_box": 1, "capacity": 6, "is_regular": 0},
    **{"score_threshold_bits": bits(0.3), "iou_threshold_bits": bits(0.5), **_SCALES},
}


def _draw(rng: Random, function: Function) -> Drawn:
    classes, per_box = rng.randint(1, 6), rng.randint(1, 2)
    p = {"boxes": _BOXES, "box_size": rng.randint(4, 6), "background": rng.randrange(2)}
    p.update(classes=classes, per_box=min(per_box, classes), max_detections=rng.randint(2, 9))
    p.update(limit=rng.randint(1, 9), capacity=rng.randint(30, 40), is_regular=rng.randrange(2))
    thresholds = (bits(rng.uniform(-1, 1)), bits(rng.uniform(0.1, 1)))
    return {**p, **dict(zip(_REALS, thresholds)), **_SCALES}


def _anchors() -> np.ndarray:
    return np.linspace(0.1, 0.9, _BOXES * 4, dtype=np.float32).reshape(_BOXES, 4)


FUNCTIONS = (
    Function(
        name="tflm_detection_f32",
        op="detection",
        type="f32",
        params=(*_SIZES, *_REALS),
        inputs=(
            Array("encodings", "float32", ("boxes", "box_size")),
            Array("scores", "float32", ("boxes", Total(("background", "classes")))),
            Array("anchors", "float32", ("boxes", 4)),
        ),
        output=vector("output", "float32", Total((("capacity", 6), 1))),
        note="The output holds boxes, classes, scores and how many there are. Thresholds and "
        "scales are float32 as bits. The call fails for boxes without an area.",
        draw=_draw,
        tables=lambda: {"anchors": _anchors()},
        cases=(_CASE,),
    ),
)
