"""Calls that stand for the ops of the s8 and s16 API without weights."""

from __future__ import annotations

from ..functions.scaling import (
    logistic_scaling,
    logistic_scaling_s16,
    quantize_multiplier,
    softmax_scaling,
    softmax_scaling_s16,
)

#: As quantization has it where both inputs have about the output's scale.
_PAIR = {"mult": 2**30 + 12345, "shift": -1}
_LENGTH = 4096

#: Element type -> zero point, and the type's range.
_TYPES = {"s8": (3, -128, 127), "s16": (0, -32768, 32767), "u8": (128, 0, 255)}


def _range(type: str) -> dict[str, int]:
    _, low, high = _TYPES[type]
    return {"act_min": low, "act_max": high}


def _sum(type: str) -> dict[str, int]:
    """A sum of two tensors, as TFLite has it."""
    zero, left = _TYPES[type][0], 15 if type == "s16" else 20
    both = {f"input_{i}_{n}": v for i in (1, 2) for n, v in {**_PAIR, "offset": -zero}.items()}
    output = {"out_offset": zero, "out_mult": 2**30 + 999, "out_shift": 1 - left}
    return {**both, **output, "left_shift": left, **_range(type), "block_size": _LENGTH}


def _product(type: str, *leave_out: str) -> dict[str, int]:
    zero = _TYPES[type][0]
    offsets = {"input_1_offset": -zero, "input_2_offset": -zero, "out_offset": zero}
    scale = {"out_mult": 2**30 + 999, "out_shift": -6 if type == "s8" else -14}
    found = {**offsets, **scale, **_range(type), "block_size": _LENGTH}
    return {name: value for name, value in found.items() if name not in leave_out}


def _softmax(rows: int, size: int) -> dict[str, int]:
    mult, shift, diff_min = softmax_scaling(1.0, 0.1)
    found = {"num_rows": rows, "row_size": size, "mult": mult, "shift": shift}
    return {**found, "diff_min": diff_min}


def _softmax_s16(rows: int, size: int) -> dict[str, int]:
    mult, shift = softmax_scaling_s16(1.0, 0.0005)
    return {"num_rows": rows, "row_size": size, "mult": mult, "shift": shift}


def _broadcast() -> dict[str, int]:
    """A number for each channel of an image."""
    output = {"output_n": 1, "output_h": 16, "output_w": 16, "output_c": 16}
    return {"input_n": 1, "input_h": 1, "input_w": 1, "input_c": 16, **output}


def _image(*names: str) -> dict[str, int]:
    """Sides of an image, for each of the names."""
    sides = dict(zip("nhwc", (1, 24, 24, 16)))
    return {f"{name}_{axis}": n for name in names for axis, n in sides.items()}


#: The first two axes of four change places.
_TRANSPOSE = {
    **{"num_dims": 4, "perm_0": 0, "perm_1": 3, "perm_2": 1, "perm_3": 2},
    **_image("input"),
    **{"output_n": 1, "output_h": 16, "output_w": 24, "output_c": 24},
}
_PAD = {**_image("input"), **{f"{end}_{a}": 0 for end in ("pre", "post") for a in "nc"}}
_PAD.update({f"{end}_{axis}": 1 for end in ("pre", "post") for axis in "hw"}, pad_value=3)
#: Both inputs of a case are one tensor.
_JOIN = {"outer": 576, "inner1": 16, "inner2": 16}
_CONCATENATION = {"input_x": 16, "input_y": 24, "input_z": 24, "input_w": 1}
_CONCATENATION.update(output_x=16, offset=0)
_STEPS = (
    *("requantize", "requantize_s64", "doubling_high_mult", "doubling_high_mult_no_sat"),
    *("divide_by_power_of_two", "mult_by_power_of_two", "exp_on_negative_values"),
    "one_over_one_plus_x_for_x_in_0_1",
)

#: What TensorFlow Lite Micro computes itself, but for sums: as of tensors of usual scales.
_ZERO_POINTS = {"input_zero_point": 3, "output_zero_point": -4}
_NO_ZERO_POINTS = dict.fromkeys(_ZERO_POINTS, 0)
_SCALE = dict(zip(("multiplier", "shift"), quantize_multiplier(0.7)))
_LEAK = {f"{which}_{name}": n for which in ("identity", "alpha") for name, n in _SCALE.items()}
_ELEMENTS = {"length": _LENGTH}
_MEAN = {"kept_0": 1, "reduced_0": 49, "kept_1": 1, "reduced_1": 1, "kept_2": 64}
_SLICE = {
    **{f"{name}_{i}": n for name in ("input", "output") for i, n in enumerate((1, 1, 24, 24, 16))},
    **{f"begin_{i}": 0 for i in range(5)},
    **{f"stride_{i}": 1 for i in range(5)},
    "output_2": 12,
}
_RESIZE = {"batches": 1, "input_h": 12, "input_w": 12, "channels": 16, "output_h": 24}
_RESIZE.update(output_w=24, align_corners=0, half_pixel_centers=0)


def _logistic(type: str, tanh: bool) -> dict[str, int]:
    if type == "s16":
        multiplier, shift = logistic_scaling_s16(0.0003, tanh)
        return {**_ELEMENTS, "input_multiplier": multiplier, "input_left_shift": shift}
    multiplier, shift, radius = logistic_scaling(0.05)
    scale = {"input_multiplier": multiplier, "input_left_shift": shift}
    return {**_ELEMENTS, **scale, "input_range_radius": radius, "input_zero_point": 3}


TFLM_CASES: tuple[tuple[str, dict[str, int]], ...] = (
    *((f"tflm_sub_{type}", _sum(type)) for type in ("s8", "s16")),
    ("tflm_add_u8", _sum("u8")),
    *(
        (f"tflm_requantize_{types}", {**_ELEMENTS, **_NO_ZERO_POINTS, **_SCALE})
        for types in ("s8_s8", "s8_u8", "u8_s8", "s8_s16", "s16_s8", "s16_s16", "s16_s32")
    ),
    ("tflm_rescale_u8", {**_ELEMENTS, "output_zero_point": 128}),
    *(
        case
        for type in ("s8", "s16")
        for case in (
            (f"tflm_relu_{type}", {**_ELEMENTS, **_ZERO_POINTS, **_SCALE, **_range(type)}),
            (f"tflm_leaky_relu_{type}", {**_ELEMENTS, **_ZERO_POINTS, **_LEAK}),
            (f"tflm_logistic_{type}", _logistic(type, False)),
            (f"tflm_tanh_{type}", _logistic(type, True)),
            (f"tflm_mean_{type}", {**_MEAN, **_ZERO_POINTS, **_SCALE}),
            (f"tflm_slice_{type}", _SLICE),
            (f"tflm_resize_nearest_{type}", _RESIZE),
        )
    ),
    *((f"tflm_concatenation_{type}", _JOIN) for type in ("s8", "s16", "u8")),
    ("tflm_pad_s16", _PAD),
    ("tflm_transpose_s16", _TRANSPOSE),
)

_NO_OFFSETS = ("input_1_offset", "input_2_offset")

#: Function and arguments.
REST_CASES: tuple[tuple[str, dict[str, int]], ...] = (
    *((f"arm_elementwise_add_{type}", _sum(type)) for type in ("s8", "s16")),
    *((f"arm_elementwise_mul_{type}", _product(type)) for type in ("s8", "s16")),
    (
        "arm_elementwise_mul_s16_s8",
        {
            **_product("s16", *_NO_OFFSETS, "act_min", "act_max"),
            **{"out_shift": -22, "batch_size": 1, "batch_offset": 1},
        },
    ),
    ("arm_elementwise_mul_acc_s16", _product("s16", *_NO_OFFSETS, "out_offset")),
    *((f"tflm_constant_{type}", {"length": _LENGTH}) for type in ("s8", "s16", "u8")),
    *((f"tflm_broadcast_{type}", _broadcast()) for type in ("s8", "s16", "u8")),
    *((f"arm_softmax_{type}", _softmax(1, 10)) for type in ("s8", "s8_s16", "u8")),
    ("arm_softmax_s8", _softmax(1, 1000)),
    ("arm_softmax_s16", _softmax_s16(1, 1000)),
    ("arm_nn_activation_s16", {"size": _LENGTH, "left_shift": 0, "type": 0}),
    ("arm_nn_activation_s16", {"size": _LENGTH, "left_shift": 0, "type": 1}),
    *((f"arm_{name}_s8", _image("input1", "input2")) for name in ("minimum", "maximum")),
    ("arm_reshape_s8", {"total_size": _LENGTH}),
    ("arm_concatenation_s8_x", _CONCATENATION),
    ("arm_pad_s8", _PAD),
    ("arm_transpose_s8", _TRANSPOSE),
    *((f"arm_nn_{step}", {"length": _LENGTH}) for step in _STEPS),
    *TFLM_CASES,
)
