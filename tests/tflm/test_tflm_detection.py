"""TFLite_Detection_PostProcess: what TensorFlow Lite Micro's Python wheel of October 2026 computes,
and what is refused of it."""

import numpy as np
import pytest
from flatbuffers import flexbuffers
from recorded_archives import ARCHIVES
from tflite_files import File

import qemu_nn
from qemu_nn.errors import DeviceWarning, Error, ModelError

RECORDED = ARCHIVES["tflm_detection"]

pytestmark = pytest.mark.filterwarnings("ignore::qemu_nn.errors.DeviceWarning")


def test_rows_that_the_device_does_not_write_are_0_and_told(tmp_path):
    network = RECORDED.load("fast", tmp_path)
    with pytest.warns(DeviceWarning, match="rows after the last detection are 0 here"):
        session = network.session()
    x = {key: part[:1].copy() for key, part in RECORDED.inputs(network, "fast").items()}
    x["input_2"][:] = 0
    results = session.run(x)
    assert [name for name in network.graph.outputs if results[name].any()] == []


@pytest.mark.parametrize(("at", "value"), [("input", -4000.0), ("input_2", np.nan)])
def test_boxes_without_an_area_and_scores_that_are_no_numbers_stop(at, value, tmp_path):
    network = RECORDED.load("fast", tmp_path)
    x = {key: part[:1].copy() for key, part in RECORDED.inputs(network, "fast").items()}
    x[at][:] = value
    with pytest.raises(Error, match="a box without an area, or scores that are NaN"):
        network.session().run(x)


# ---- options and tensors that have no meaning ----

OPTIONS = {
    **{"max_detections": 5, "max_classes_per_detection": 1, "num_classes": 4},
    **{"nms_score_threshold": 0.3, "nms_iou_threshold": 0.5},
    **{"y_scale": 10.0, "x_scale": 10.0, "h_scale": 5.0, "w_scale": 5.0},
}


def packed(**changed):
    builder = flexbuffers.Builder()
    with builder.Map():
        for key, value in {**OPTIONS, **changed}.items():
            builder.Key(key)
            if value is None:
                builder.Null()
            elif isinstance(value, float):
                builder.Float(value, 8)
            else:
                builder.Add(value)
    return bytes(builder.Finish())


def detector(custom, inputs=None, rows=5, outputs=None, type="FLOAT32"):
    net = File()
    shapes = {"boxes": (1, 6, 4), "scores": (1, 6, 5), "anchors": (6, 4), **(inputs or {})}
    scale = None if type == "FLOAT32" else 0.1
    ends = [net.input(shape, scale, type=type) for shape in shapes.values()]
    shapes = outputs or [(1, rows, 4), (1, rows), (1, rows), (1,)]
    made = [net.output(shape, None, type="FLOAT32") for shape in shapes]
    net.operator("CUSTOM:TFLite_Detection_PostProcess", ends, made, custom=custom)
    return net


def ran(net, folder):
    """Return the outputs of a file's network, in their order."""
    network = qemu_nn.load(net.save(folder))
    x = {t.name: np.full((1, *t.shape), 0.5, t.dtype) for t in network.graph.inputs}
    results = network.session().run(x)
    return [results[name] for name in network.graph.outputs]


def test_options_may_be_integers_and_what_is_not_known_is_not_looked_at(tmp_path):
    custom = packed(y_scale=10, _output_quantized=True, detections_per_class=None)
    assert ran(detector(custom), tmp_path)[3] == [1]


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"max_detections": None}, "max_detections is 0; it must be 1 to 65535"),
        ({"max_detections": 2**31}, "max_detections is 2147483648; it must be"),
        ({"max_detections": -1}, "max_detections is -1"),
        ({"num_classes": 0}, "num_classes is 0"),
        ({"num_classes": 2**40}, "num_classes is 1099511627776"),
        ({"num_classes": 9}, r"scores are \[1, 6, 5\] .* for 6 boxes of 9 classes they must be"),
        ({"max_classes_per_detection": 0}, "max_classes_per_detection is 0"),
        ({"use_regular_nms": True, "detections_per_class": 0}, "detections_per_class is 0"),
        ({"nms_iou_threshold": 0.0}, "nms_iou_threshold is 0; it must be above 0 and up to 1"),
        ({"nms_iou_threshold": 1.5}, "nms_iou_threshold is 1.5"),
        ({"nms_score_threshold": float("nan")}, "must be a finite float32 or float64"),
        ({"h_scale": float("inf")}, "must be a finite float32 or float64"),
        ({"h_scale": 1e300}, "h_scale is inf; it must be a finite float32"),
        ({"w_scale": 0.0}, "w_scale is 0; it must not be 0"),
        ({"x_scale": "10"}, "must be a number or a boolean"),
        ({"max_classes_per_detection": 2}, "writes up to 20 rows, but the outputs have 5: beside"),
        ({"max_detections": 9}, "writes up to 6 rows, but the outputs have 5"),
        (
            {"use_regular_nms": True, "max_detections": 1},
            "sorts up to 7 numbers in memory for 6: beside it",
        ),
    ],
)
def test_options_without_a_meaning_are_refused(changed, match, tmp_path):
    with pytest.raises(Error, match=match):
        ran(detector(packed(**changed)), tmp_path)


@pytest.mark.parametrize(
    ("how", "match"),
    [
        (
            {"inputs": {"boxes": (1, 6, 3)}},
            r"boxes are \[1, 6, 3\]; they must be \[1, boxes, 4 or more\]",
        ),
        ({"inputs": {"boxes": (2, 6, 4)}}, r"must be \[1, boxes, 4 or more\]"),
        ({"inputs": {"scores": (1, 7, 5)}}, "for 6 boxes of 4 classes they must be"),
        ({"inputs": {"anchors": (4, 6)}}, "for 6 boxes of 4 classes they must be"),
        ({"outputs": [(1, 5, 4), (1, 5), (1, 4), (1,)]}, r"\[1, 4\]; it must be 5 of float32"),
        ({"outputs": [(1, 5, 4), (1, 5), (1, 5)]}, "3 inputs and 3 outputs"),
        ({"type": "INT8"}, "tensor 0 .* is INT8; .* supports FLOAT32"),
    ],
)
def test_tensors_that_do_not_fit_are_refused(how, match, tmp_path):
    with pytest.raises(ModelError, match=match):
        ran(detector(packed(), **how), tmp_path)


def test_truncated_and_damaged_options_are_refused_or_read(tmp_path):
    whole, rng = packed(), np.random.default_rng(4)
    cut = [whole[:end] for end in range(0, len(whole), 3)]
    for _ in range(150):
        changed = bytearray(whole)
        for at in rng.integers(0, len(whole), 2):
            changed[at] = rng.integers(256)
        cut.append(bytes(changed))
    refused = []
    for custom in cut:
        try:
            ran(detector(custom), tmp_path)
        except Error as error:
            refused.append(str(error))
    assert len(cut) // 2 < len(refused) < len(cut)
    assert [text for text in refused if "etection" not in text or "\n" in text] == []
