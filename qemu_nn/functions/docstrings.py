"""Docstring of a declared C function, in numpydoc's sections, from its declaration."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..targets import AFFINE_CMSIS, LEGACY_CMSIS
from .base import Function
from .prototypes import is_own, make_prototype
from .shapes import Array, spell

#: Pattern of a scalar C argument -> its meaning; the first pattern that matches the whole name
#: applies.
_SCALARS = {
    "dim_im_(in|out)(_[xy])?": "Side of the {1}put image in pixels{2}.",
    "dim_kernel(_[xy])?": "Side of the window in pixels{1}.",
    "padding(_[xy])?": "Pixels of padding in front of the image{1}.",
    "stride(_[xyhw])?": "Step of the window in pixels{1}.",
    "ch_im_(in|out)": "Channels of the {1}put image.",
    "dim_vec": "Elements of the input vector, or of one row.",
    "num_of_rows": "Elements of the output vector.",
    "numCol_A": "Elements of a row of pA.",
    "nb_batches": "Vectors.",
    "bias_shift": "Bits by which the bias is shifted to the left, 0..31.",
    "out_lshift": "Bits by which the sum is shifted to the left before the division.",
    "int_width": "Integer bits of the input format, 0..3.",
    "type|.*_activation_type": "0 or 'ARM_SIGMOID', 1 or 'ARM_TANH'.",
    "blockSize|block_size|length|size|total_size|input_size": "Elements.",
    "(batches|batch_size|time_batches)": "Samples, or rows that share the weights.",
    "channels": "Channels of input and output.",
    "planes": "Images of one channel.",
    "(input|filter|output|lhs|rhs|input1|input2)_([nhwcxyz])": "Extent of {1} along axis {2}.",
    "(input|output)_(\\d)": "Extent of {1} along axis {2}.",
    "side": "Extent of the input along the axis.",
    "count": "Places, for each batch; of sums, tensors one after the other.",
    "depth": "Numbers of a place; of a buffer, elements of a slot; of products, terms of a sum.",
    "step_(\\d)": "Blocks from one to the next that number {1} of a place counts.",
    "side_(\\d)": "Extent of input and output along axis {1}.",
    "update_(\\d)": "Extent of the update along axis {1}.",
    "boxes": "Boxes that are encoded, each with its anchor.",
    "box_size": "Numbers of an encoded box, of which the first four count.",
    "classes": "Classes that have a score, but for the background.",
    "background": "1 where the first score of a box is that of the background.",
    "max_detections": "The most detections.",
    "limit": "The most boxes that are chosen at a time.",
    "per_box": "Classes of a chosen box.",
    "capacity": "Detections that the output can hold.",
    "is_regular": "1 to choose boxes for each class, 0 by the best class of each box.",
    "slots": "Inputs that are kept.",
    "period": "Calls from one that counts to the next.",
    "exclusive": "1 where a sum is without the element itself.",
    "reverse": "1 where sums run from the last element to the first.",
    "begin_(\\d)": "First index of the slice along axis {1}.",
    "stride_(\\d)": "Step of the slice along axis {1}; below 0 it runs backwards.",
    "pad_([hw])": "Pixels of padding in front of the image along axis {1}.",
    "dilation_([hw])": "Distance of a window's cells along axis {1}, in pixels.",
    "pad_offset_[hw]": "Padding after the image, which ca476254 to f2cb41ca read.",
    "ch_mult": "Output channels for each input channel.",
    "input_align": "The address of the input modulo 16.",
    "in_vectors": "1 to take the maximum of a row 16 elements at a time.",
    "chip": "0 portable C (ESP32, S2, C3, C6), 1 ESP32-S3, 2 ESP32-P4.",
    "rectified": "1 where negative results are 0.",
    "matrices": "Pairs of matrices.",
    "act_min|quant_min": "The least integer of the output, which is clamped.",
    "act_max|quant_max": "The largest integer of the output, which is clamped.",
    "(in|out)_act_(min|max)": "The {2}imum to which the state (in) or the output (out) is clamped.",
    "(input|input_1|input_2|lhs|rhs)_offset": "Offset of {1}: its zero point, with the "
    "sign changed where the function adds it.",
    "filter_offset": "Added to the weights; 0 for symmetric ones.",
    "(output|out)_offset": "Added to the output: its zero point.",
    "offset": "Added to every element; of a concatenation the first index along the axis.",
    "zero_point_(1|2)": "Zero point of input {1}.",
    "(\\w+)_zero_point": "Zero point of the {1}.",
    "(alpha|input)_right_shift": "Bits by which products with alpha, or inputs, are shifted to the "
    "right.",
    "directions": "1, or 2 of which the second starts at the last time step.",
    "input_size": "Elements of a time step of the input.",
    "state_right_shift": "The same of the products with the state.",
    "gate_exponent": "Exponent of the gates: an integer stands for integer * 2^exponent.",
    "slices": "Slices to update.",
    "slice": "Elements of a slice.",
    "kind": "What an update does: 0 replaces, 1 adds, 2 multiplies, 3 maximum, 4 minimum.",
    "p": "The norm: 1 of magnitudes, 2 of squares.",
    "(input[12]?|output|scale|bias)_exponent": "Exponent of the {1}: an integer stands for "
    "integer * 2^exponent.",
    "places": "Numbers of the table: 65536, or 65536 / step + 1 with a power of two as step.",
    "inverse_([hw])_bits": "Pixels of the input for one of the output along axis {1}, as the bits "
    "of a float32.",
    "scalar": "The operand, 1 or 2, that has one element for a row; 0: none.",
    "axes": "1 for lines, whose height is 1; 2 for images.",
    "low|high": "The end of the range to which the input is clamped.",
    "right_shift|snr_shift": "Bits by which products are shifted to the right.",
    "input_length": "Elements of one input signal; zeros follow them.",
    "fft_length": "Real numbers of a transform: twice a product of 2, 3 and 5.",
    "(start|end)_index": "Elements from start_index to end_index - 1 are computed, others are 0.",
    "num_(weights|channels)": "Number of {1}.",
    "(alternate_)?(one_minus_)?smoothing": "Weight of the input, or of the noise so far, in the "
    "noise; alternate: of odd channels.",
    "min_signal_remaining": "Least part of the input that stays.",
    "smoothing_bits|spectral_subtraction_bits": "Fraction bits of the noise, or of the weights.",
    "clamping": "1 where the noise is kept at or below the input.",
    "lut_length": "Elements of the table of gains.",
    "input_correction_bits": "Bits by which the input is shifted to the left.",
    "output_scale": "What a natural logarithm of 1 becomes.",
    "n_frames": "Frames of one call.",
    "frame_(size|step)": "Elements of a frame, or from one frame to the next.",
    "kept_length": "Elements that are kept.",
    "wait|every": "Frames before the first valid one, and from one of these to the next.",
    "fill": "1 where copies of the first frame come before it.",
    "left_shift|input_left_shift": "Bits by which the inputs are shifted to the left first.",
    "(.*_)?(multiplier|mult)": "Multiplier of a rescaling, Q0.31; see functions.scaling.",
    "(.*_)?(shift)": "Exponent of a rescaling's multiplier: positive to the left.",
    "input_range_radius": "Inputs of a larger magnitude saturate the curve.",
    "diff_min": "The least difference from the row's maximum that counts.",
    "num_rows": "Rows, each computed for itself.",
    "row_size": "Elements of a row.",
    "bias_is_int32": "1 if bias is int32, 0 if int64.",
    "has_(.*)": "1 where {1} is given, 0 where C is passed NULL.",
    "adj_([xy])": "1 where the caller has transposed the {1} operand.",
    "units": "Rows of the output.",
    "rank": "Feature filters of each unit; of an update, axes that have a start.",
    "hidden_size": "Elements of the hidden state.",
    "time_major": "1 where time is the first axis of the input, 0 where it is the second.",
    "time_steps": "Time steps.",
    "cell_clip": "Magnitude at which the cell state saturates.",
    "cell_scale_power": "The cell state's scale is 2 to this power.",
    "pad_value": "The value of the padding.",
    "pre_([nhwc])": "Elements of padding in front, along axis {1}.",
    "post_([nhwc])": "Elements of padding behind, along axis {1}.",
    "num_dims": "Axes that take part.",
    "perm_(\\d)": "The axis of the input that is axis {1} of the output.",
    "kept_(\\d)": "Extent of the group of kept axes number {1}.",
    "reduced_(\\d)": "Extent of the group of reduced axes number {1}.",
    "outer": "Product of the extents before the axis.",
    "inner": "Product of the extents from the axis on.",
    "inner(1|2)": "Product of the extents of input {1} from the axis on.",
    "align_corners|half_pixel_centers": "The flag of TensorFlow Lite's resizing operator.",
    "is_per_channel": "1 where multiplier and shift have an element for each output channel.",
    "state_offset": "Offset of the state, as Arm's struct has it; see the notes.",
    "newest_offset": "Zero point of the state, which its newest values get; see the notes.",
    "zero_point": "Zero point of the integers.",
    "(.*)_bits": "The {1}, as the bits of a float32.",
    "activation": "Fused activation: 0 none, 1 RELU, 2 RELU_N1_TO_1, 3 RELU6.",
    "rows|columns": "Side of the output matrices.",
    "batch_offset": "Elements from one sample of the input to the next, as Arm's struct has it.",
}

_PATTERNS = tuple((re.compile(pattern), text) for pattern, text in _SCALARS.items())


def make_docstring(function: Function, notes: str) -> str:
    """Return numpydoc's sections of a function of `qemu_nn.cmsis`; notes: on releases and cores."""
    lines = [f"{function.name}{_name_source(function)}, bit for bit.", ""]
    lines += ["Parameters", "----------"]
    for array in function.arrays:
        lines += [
            f"{array.name} : {_describe_type(array)}",
            f"    {_describe_array(function, array)}",
        ]
    for name in function.params:
        default = f", default {function.defaults[name]}" if name in function.defaults else ""
        lines += [f"{name} : int{default}", f"    {describe_scalar(function, name)}"]
    lines += [
        *_describe_profile_arguments(),
        "",
        "Returns",
        "-------",
        _describe_type(function.output),
    ]
    lines += [f"    {_describe_output(function)}", "", "Raises", "------", "Error"]
    status = "ARM_MATH_SIZE_MISMATCH" if function.type.startswith("q") else "an error"
    lines += ["    An argument is missing, unknown, or has another type or shape.", "SizeMismatch"]
    lines += [f"    The device answers {status}.", "Refused"]
    lines += ["    The device accepts the call, but leaves its buffers or does nothing.", ""]
    lines += ["Notes", "-----", *([function.note, ""] if function.note else []), notes, ""]
    lines += ["References", "----------", _format_reference(function)]
    return "\n".join(lines)


def describe_scalar(function: Function, name: str) -> str:
    """Return the meaning of a scalar argument of a C function; "" if no pattern of _SCALARS
    matches.
    """
    if name == "out_shift" and function.type.startswith("q"):
        return "Bits by which the sum is shifted to the right, 0..31."
    for pattern, text in _PATTERNS:
        match = pattern.fullmatch(name)
        if match is not None:
            axes = {"_x": " along x", "_y": " along y", "_h": " along y", "_w": " along x"}
            groups = (axes.get(group, group) for group in match.groups(default=""))
            return text.format("", *groups)
    return ""


def _describe_type(array: Array) -> str:
    axes = ", ".join(spell(axis) for axis in array.axes)
    narrow = f" (int32 where {array.narrow})" if array.narrow else ""
    optional = ", optional" if array.optional else ""
    return f"ndarray of {array.dtype}{narrow}, shape ({axes}){optional}"


def _describe_array(function: Function, array: Array) -> str:
    texts = ["Input."]
    if array not in function.inputs:
        texts = ["Bias."] if array.name == "bias" else ["Weights, or one parameter per channel."]
    if array.state:
        texts = ["State, which the call updates where in_place is True."]
    if array.optional:
        texts.append("None stands for NULL, that is for zeros.")
    return " ".join(texts)


def _describe_output(function: Function) -> str:
    if function.in_place:
        return f"The new {function.output.name}; the array itself where in_place is True."
    return f"The contents of {function.output.name}."


def _name_source(function: Function) -> str:
    """Return whose function it is, after its name in a sentence."""
    if function.name.startswith("esp_"):
        return f" of {_name_esp_library(function)}"
    if not is_own(function):
        return " of CMSIS"
    is_executorch = function.name.startswith("executorch_")
    framework = "ExecuTorch" if is_executorch else "TensorFlow Lite Micro"
    return f", what {framework} computes itself"


def _name_esp_library(function: Function) -> str:
    return "ESP-DL" if function.name.startswith("esp_dl_") else "ESP-NN"


def _describe_profile_arguments() -> Iterator[str]:
    yield "target : str or Target, default 'cortex-m4'"
    yield '    A core ("m4"), a chip ("stm32f411"), a path of targets.PATHS, or a Target.'
    yield "cmsis : str, optional"
    yield "    A release of targets.RELEASES; default: the newest numbered one with this function."
    yield "rounding : str, optional"
    yield "    A rounding of targets.ROUNDINGS; default: as Arm ships the release."
    yield "variant : str, optional"
    yield "    The row of the kernel table to run; default: the best of this host."
    yield "in_place : bool, default False"
    yield "    Leave the input arrays as the device leaves them."


def _format_reference(function: Function) -> str:
    if function.name.startswith("esp_"):
        return f"{_name_esp_library(function)}, which Espressif publishes."
    if function.name.startswith("executorch_"):
        return "ExecuTorch, backends/cortex_m/ops."
    if is_own(function):
        return "TensorFlow Lite Micro, the reference kernel of the operator."
    if function.not_called:
        return f"CMSIS-NN, {function.name}() in arm_nnsupportfunctions.h."
    cmsis = LEGACY_CMSIS if function.type.startswith("q") else AFFINE_CMSIS
    return f"CMSIS, {function.name}() in {make_prototype(function, cmsis).header}."
