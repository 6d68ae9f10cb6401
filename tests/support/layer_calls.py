"""Arguments of calls of layers with weights, by their geometry."""

from qemu_nn.functions import FUNCTIONS


def square(name, size, depth, out, kernel, stride=1, **more):
    """Return arguments of a q7 convolution with the output size of its input at stride 1."""
    sides = {"dim_im_in": size, "dim_im_out": -(-size // stride), "dim_kernel": kernel}
    sides.update(padding=kernel // 2, stride=stride)
    params = {"ch_im_in": depth, "ch_im_out": out, "bias_shift": 0, "out_shift": 7}
    for side, value in sides.items():
        params.update(dict.fromkeys((side, f"{side}_x", f"{side}_y"), value))
    return {k: v for k, v in {**params, **more}.items() if k in FUNCTIONS[name].params}


def same_s8(size, depth, out, kernel, groups=1, **more):
    """Return arguments of a convolution of the s8 API with the output size of its input."""
    sides = {"input": size, "output": size, "filter": kernel, "pad": kernel // 2}
    sides.update(stride=1, dilation=1)
    params = {f"{side}_{axis}": value for side, value in sides.items() for axis in "hw"}
    params.update(input_c=groups * depth, filter_c=depth, output_c=groups * out)
    params.update(batches=1, input_offset=3, output_offset=0, act_min=-128, act_max=127)
    return {**params, **more}


def dense(batches, columns, rows):
    params = {"batches": batches, "input_c": columns, "output_c": rows, "filter_offset": 0}
    params.update(input_offset=3, output_offset=0, multiplier=2**30, shift=-7)
    return {**params, "act_min": -128, "act_max": 127}
