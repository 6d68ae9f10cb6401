"""What is said of every declared function, so that nobody has to know where else to look."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from qemu_nn.functions import (
    FUNCTIONS,
    NPU_FUNCTIONS,
    executorch,
    executorch_portable,
    micro_frontend,
    tflm_boolean,
    tflm_control,
    tflm_elementwise,
    tflm_float,
    tflm_float_axes,
    tflm_signal,
)
from qemu_nn.functions.prototypes import is_own
from qemu_nn.functions.shapes import DTYPES

GOLDEN = Path(__file__).parent / "golden"
EVERY = {**FUNCTIONS, **NPU_FUNCTIONS}

#: Ops that have no operator in real numbers, and why.
MEANINGLESS = {
    "elementwise_mul_acc": "it adds to what its output holds",
    "concatenation": "it writes a part of its output; networks join tensors by tflm_concatenation",
    "nn_activation": "networks reach it inside of an LSTM alone",
    "reduce_all": "truth values have no scale",
    **dict.fromkeys(("arg_max", "arg_min"), "it makes indices, not real numbers"),
    "cast": "it changes the type of numbers",
    **dict.fromkeys(
        (
            *("compare", "float_pool", "float_resize", "float_matmul", "float_convolve"),
            *("float_upsample", "float_layer_norm", "float_adaptive_pool", "detection"),
        ),
        "it computes with numbers as they are",
    ),
    "svdf": "it keeps a state",
    "circular_buffer": "it keeps a state",
    "hold": "it keeps a state",
    "update": "where it writes is computed",
    "low": "it makes places shorter, which are no real numbers",
    "lstm_unidirectional": "it keeps a state",
    "assign_variable": "it keeps a state",
    "choose": "its condition is a truth value",
    **dict.fromkeys(("logical_and", "logical_or", "logical_not"), "of truth values"),
    "select": "its condition is a truth value",
    "add_n": "the device takes a zero point off once too often",
    **{
        f"signal_{what}": "it is computed before any network, on integers that have no format"
        for what in (
            *("window", "auto_scale", "scale_bits", "rfft", "irfft", "energy", "filter_bank"),
            *("square_root", "subtraction", "noise_estimate", "pcan", "log"),
            *("frames", "valid", "overlap_add", "features"),
        )
    },
}

#: Functions that are checked otherwise than by a recording under their own name: by one of another
#: kind, or by an oracle in Python integers.
ELSEWHERE = {
    "test_tflm.py, golden/tflite_elementwise.npz": {
        *("tflm_add_u8", "tflm_concatenation_u8", "tflm_rescale_u8"),
    },
    "test_tflm_elementwise.py": {
        f.name for f in (*tflm_elementwise.FUNCTIONS, *tflm_boolean.FUNCTIONS)
    }
    | {"tflm_prelu_s16"},
    "test_import_tflite_svdf.py": {"tflm_requantize_s16_s32"},
    "test_tflm_more.py, golden/tflm_more.npz": {
        *("tflm_prelu_tensor_s8", "tflm_prelu_tensor_s16"),
        *("tflm_arg_max_f32", "tflm_arg_min_f32"),
        *(f"tflm_part_{type}" for type in ("s8", "s16", "s32", "f32", "b8")),
        *(f"tflm_fully_connected_tensor_{type}" for type in ("s8", "s16", "s16_s32")),
        *("tflm_low_s64", "tflm_transpose_b8"),
    },
    "test_tflm_detection.py, golden/tflm_detection.npz": {"tflm_detection_f32"},
    "test_tflm_lstm.py": {"tflm_lstm_s8", "tflm_lstm_s16", "tflm_svdf_s8"},
    "test_releases.py": {"arm_transpose_conv_s8"},
    "test_tflm_reduce.py": {
        *("tflm_sum_s8", "tflm_sum_s16", "tflm_reduce_max_s8", "tflm_reduce_min_s8"),
        *("tflm_reduce_all_b8", "tflm_arg_max_s8", "tflm_arg_min_s8", "tflm_resize_bilinear_s8"),
        *("tflm_transpose_conv_s8", "tflm_transpose_conv_s16", "tflm_convolve_s16"),
        "tflm_fully_connected_s16_s32",
    },
    "the wrapper's recordings, which calls it on Helium": {"arm_convolve_even_s4"},
    "test_rows_without_recordings.py": {
        *(f"arm_{op}_{type}" for op in ("add", "sub", "mult", "offset") for type in ("q7", "q15")),
        "arm_q7_to_q15_reordered_no_shift",
        "arm_avepool_q7_HWC_nonsquare",
    },
    "test_rows_s8_without_recordings.py": {
        f"tflm_{name}_{type}" for name in ("constant", "broadcast") for type in DTYPES
    },
    "test_tflm_moving.py": {
        *(f"tflm_{op}_{type}" for op in ("slice", "concatenation", "hold") for type in DTYPES),
        *(f"tflm_update_{type}" for type in ("s8", "s16", "s32", "f32")),
        *(f"tflm_{op}_{type}" for op in ("gather", "cumsum") for type in ("s8", "f32")),
        *("tflm_transpose_s8", "tflm_transpose_f32", "tflm_pad_s32", "tflm_pad_f32"),
        *("tflm_circular_buffer_s8", "tflm_resize_nearest_f32"),
    },
    "test_tflm_control.py": {function.name for function in tflm_control.FUNCTIONS},
    "test_npu_kernels.py": set(NPU_FUNCTIONS),
    "test_executorch.py, test_executorch_portable.py, golden/executorch.npz": {
        f.name for f in (*executorch.FUNCTIONS, *executorch_portable.FUNCTIONS)
    },
    "test_tflm_float.py, test_tflm_float_rows.py, test_real_functions.py": {
        *(f.name for f in (*tflm_float.FUNCTIONS, *tflm_float_axes.FUNCTIONS)),
        *(f"tflm_requantize_{types}" for types in ("s8_s32", "s32_s8", "s32_s16")),
    },
    "test_tflm_signal.py, golden/tflm_signal.npz": {f.name for f in tflm_signal.FUNCTIONS},
    "test_micro_frontend.py, golden/micro_frontend.npz": {f.name for f in micro_frontend.FUNCTIONS},
}


def manifests(folder):
    """Every recorded case of a folder."""
    for path in sorted((GOLDEN / folder).glob("*.npz")):
        with np.load(path) as arrays:
            yield from json.loads(str(arrays["manifest"]))["cases"]


def checked():
    """Functions that something computed on a device, or an oracle, stands for."""
    names = {path.stem for path in (GOLDEN / "cmsis_legacy").glob("*.npz")}
    names |= {name for case in manifests("cmsis_s8") for name in case.get("functions", ())}
    names |= {case["function"] for case in manifests("tflm")}
    with np.load(GOLDEN / "tflite_operators.npz") as recorded:
        kinds = {key.partition("/")[0] for key in recorded}  # prelu_channels: a file of PRELU
    names |= {
        f.name for f in FUNCTIONS.values() if is_own(f) and any(f.op in kind for kind in kinds)
    }
    return names.union(*ELSEWHERE.values())


CHECKED = checked()
WITH_CASES = {(f.op, f.type) for f in EVERY.values() if f.cases}


def missing(function):
    """What is not said of a function, in words."""
    legacy = function.order is not None and function.order.legacy
    real = not (legacy or function.not_called or function.op in MEANINGLESS)
    said = {
        "random arguments": function.draw is not None,
        "case": bool(function.cases) or (function.op, function.type) in WITH_CASES,
        "C prototype": bool(function.order or function.not_called) or is_own(function),
        "meaning in real numbers": function.meaning is not None or not real,
        "product of its weights": function.product is not None
        or not (legacy and function.bias is not None and "mat_mult" not in function.op),
        "recording": function.name in CHECKED,
    }
    return [f"{function.name} has no {what}" for what, is_there in said.items() if not is_there]


@pytest.mark.parametrize("name", EVERY)
def test_nothing_that_must_be_known_of_a_function_is_missing(name):
    assert missing(EVERY[name]) == []


def test_what_a_new_function_lacks_is_said_in_words():
    bare = replace(FUNCTIONS["tflm_leaky_relu_s8"], name="cube", draw=None, cases=(), meaning=None)
    assert missing(replace(bare, op="cube")) == [
        "cube has no random arguments",
        "cube has no case",
        "cube has no C prototype",
        "cube has no meaning in real numbers",
        "cube has no recording",
    ]


def test_an_op_without_a_meaning_is_one_that_has_none():
    for function in FUNCTIONS.values():
        assert not (function.op in MEANINGLESS and function.meaning), function.name
    assert {f.op for f in FUNCTIONS.values()} >= set(MEANINGLESS)


def test_what_is_checked_elsewhere_is_declared():
    assert set().union(*ELSEWHERE.values()) <= set(EVERY)


def test_a_case_has_the_functions_arguments():
    """But for the shift of a layer, which its random weights choose."""
    for function in EVERY.values():
        for params in (*function.cases, *function.batched):
            assert set(params) <= {*function.params}, function.name
            left = {*function.params} - {*params} - {*function.defaults}
            assert left <= {"out_shift", "bias_shift"}, function.name
