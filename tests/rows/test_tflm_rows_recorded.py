"""Every row of the tflm_ functions gives the bits that TFLM and TensorFlow Lite computed."""

import json

import numpy as np
import pytest
from hosts import row_param
from paths import GOLDEN

from qemu_nn import cmsis
from qemu_nn.errors import Error, Refused
from qemu_nn.functions import FUNCTIONS, scaling
from qemu_nn.functions.scaling import quantize_multiplier
from qemu_nn.kernels import table as kernels
from qemu_nn.targets import all_profiles

FAMILIES = sorted(path.stem for path in (GOLDEN / "tflm").glob("*.npz"))
DOUBLE = [p for p in all_profiles() if p.cmsis == "7.0.0" and p.rounding == "double"]


def stored(path):
    with np.load(GOLDEN / f"{path}.npz") as arrays:
        found = dict(arrays)
    return found, json.loads(str(found["manifest"]))["cases"]


def recordings(family):
    """Yield every case of a family: itself, its function, its arguments, its outputs by their
    names.
    """
    arrays, cases = stored(f"tflm/{family}")
    for case in cases:
        function = FUNCTIONS[case["function"]]
        shapes = {array.name: array.shape(case["params"]) for array in function.inputs}
        inputs = {n: arrays[key].reshape(shapes[n]) for n, key in case["inputs"].items()}
        outputs = {name: arrays[key] for name, key in case["outputs"].items()}
        yield case, function, {**case["params"], **inputs}, outputs


def rows():
    for family in FAMILIES:
        functions = {f.name: f for _, f, *_ in recordings(family)}
        for name, function in sorted(functions.items()):
            for row in kernels.list_rows(function.op, function.type):
                yield row_param(family, name, row=row, id=f"{name}-{row}")


@pytest.mark.parametrize(("family", "name", "row"), list(rows()))
def test_every_row_gives_the_bits_of_tensorflow_lite_micro(family, name, row):
    seen = 0
    for case, function, arguments, outputs in recordings(family):
        if function.name != name:
            continue
        params = {n: case["params"][n] for n in function.params}
        for profile in DOUBLE:
            struct = kernels.make_params(row.op, profile, function.struct_values(params))
            if row.claims(profile) and row.takes(struct):
                got = cmsis.invoke(function, arguments, profile, row.variant)
                where = f"{row}: {case['id']} {profile}"
                np.testing.assert_array_equal(got.ravel(), outputs["expected"], where)
                seen += 1
    assert seen > 0


def test_litert_differs_by_one_and_in_8_bit_activations_alone():
    differing = {}
    for family in FAMILIES:
        for _, function, _, outputs in recordings(family):
            if "litert" in outputs:
                apart = outputs["litert"].astype(int) - outputs["expected"]
                assert np.abs(apart).max() == 1
                differing[function.name] = np.count_nonzero(apart)
    assert differing == {"tflm_logistic_s8": 1, "tflm_tanh_s8": 1}


def of_the_scales(case, name):
    """Return the arguments of an activation, from the scales of its file."""
    scale = case["scales"][0]
    if name.endswith("_s16"):
        return scaling.scale_logistic_s16(scale, tanh="tanh" in name)
    return scaling.scale_logistic(scale)


@pytest.mark.parametrize("family", ["logistic", "tanh"])
def test_activations_are_scaled_as_recorded(family):
    names = ("input_multiplier", "input_left_shift", "input_range_radius")
    for case, function, *_ in recordings(family):
        recorded = [case["params"][name] for name in names if name in case["params"]]
        assert list(of_the_scales(case, function.name)) == recorded


def test_16_bit_activations_of_scales_almost_a_power_of_two_have_no_multiplier():
    near, far = 2.0**-12 * 1.0004, 2.0**-12 * 1.001
    assert scaling.scale_logistic_s16(near) == (0, 0)
    assert scaling.scale_logistic_s16(far) == (int(far * 3 * 2**25), 13)
    assert scaling.scale_logistic_s16(2.0**-11) == (24576, 12)
    assert scaling.scale_logistic_s16(2.0**-11, tanh=True) == (0, 1)


def test_scales_that_no_activation_takes_are_errors():
    with pytest.raises(Error, match=r"above 2\^-28"):
        scaling.scale_logistic(2.0**-29)
    with pytest.raises(Error, match=r"below 2\.66"):
        scaling.scale_logistic_s16(3.0)


# ---- uint8 and int8, as the reference kernels of TensorFlow Lite have them ----

ADD = {
    **{f"input_{i}_{n}": f"input{i}_{long}" for i in (1, 2) for n, long in [("offset", "offset")]},
    **{f"input_{i}_mult": f"input{i}_multiplier" for i in (1, 2)},
    **{f"input_{i}_shift": f"input{i}_shift" for i in (1, 2)},
    **{"left_shift": "left_shift", "out_offset": "output_offset"},
    **{"out_mult": "output_multiplier", "out_shift": "output_shift"},
    **{"act_min": "quantized_activation_min", "act_max": "quantized_activation_max"},
}


def added(case, inputs):
    name = "tflm_add_u8" if case["dtype"] == "uint8" else "arm_elementwise_add_s8"
    flat = [x.ravel() for x in np.broadcast_arrays(*inputs)]
    params = {ours: case["params"][theirs] for ours, theirs in ADD.items()}
    return getattr(cmsis, name)(input1=flat[0], input2=flat[1], **params)


def rescaled(x, scale, zero_point, params):
    if (scale, zero_point) == (params["output_scale"], params["output_zero_point"]):
        return x
    factors = scaling.compute_rescale_factors(scale, zero_point, params["output_scale"])
    out = params["output_zero_point"]
    return cmsis.tflm_rescale_u8(input=x.ravel(), factors=factors, output_zero_point=out)


def joined(case, inputs):
    params = case["params"]
    outer = int(np.prod(params["output_shape"][: params["axis"] % len(params["output_shape"])]))
    parts = []
    for x, scale, zero in zip(inputs, params["input_scales"], params["input_zero_points"]):
        each = rescaled(x, scale, zero, params) if case["dtype"] == "uint8" else x
        parts.append(each.reshape(outer, -1))
    name = {"uint8": "tflm_concatenation_u8", "int8": "tflm_concatenation_s8"}[case["dtype"]]
    whole = parts[0]
    for part in parts[1:]:
        whole = getattr(cmsis, name)(input1=whole, input2=part)
    return whole


@pytest.mark.oracle("tflm_add_u8", "tflm_concatenation_u8", "tflm_rescale_u8")
def test_sums_and_concatenations_are_those_of_tensorflow_lite():
    arrays, cases = stored("tflite_elementwise")
    for case in cases:
        inputs = [arrays[key] for key in case["inputs"].values()]
        got = (added if case["op"] == "ADD" else joined)(case, inputs)
        want = arrays[case["outputs"]["expected"]]
        np.testing.assert_array_equal(got.ravel(), want.ravel(), case["id"])
    assert len(cases) == 43


# ---- single rounding, and refusals ----


def test_single_rounding_rounds_once():
    multiplier, shift = quantize_multiplier(0.2)
    x = np.arange(-128, 128, dtype=np.int8)
    zeros = {"input_zero_point": 0, "output_zero_point": 0}
    got = cmsis.tflm_requantize_s8_s8(
        input=x, multiplier=multiplier, shift=shift, rounding="single", **zeros
    )
    exact = (x.astype(object) * multiplier + 2 ** (30 - shift)) // 2 ** (31 - shift)
    assert got.tolist() == exact.tolist()


def test_a_slice_that_leaves_its_input_is_refused():
    ones = {f"{name}_{i}": 1 for name in ("stride", "output") for i in range(5)}
    params = {**ones, **{f"begin_{i}": 0 for i in range(5)}, "output_4": 4, "stride_4": 3}
    x = np.zeros((1, 1, 1, 1, 9), np.int8)
    with pytest.raises(Refused, match="axis 4 of the slice ends at element 9, but the input has 9"):
        cmsis.tflm_slice_s8(input=x, **params)


def test_a_mean_whose_sum_may_leave_32_bits_is_refused():
    params = {"input_zero_point": 0, "output_zero_point": 0, "multiplier": 2**30, "shift": 1}
    with pytest.raises(Refused, match=r"reduced_1 must be in 1\.\.131, is 132"):
        cmsis.tflm_mean_s16(input=np.zeros((1, 250, 1, 132, 1), np.int16), **params)
