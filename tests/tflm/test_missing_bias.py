"""16-bit layers without bias: the month and the option decide whether sums have 32 or 64 bits."""

import numpy as np
import pytest
from tflite_files import File

import qemu_nn
from qemu_nn.errors import ModelError
from qemu_nn.targets import Target

#: Type of the missing bias that the options name -> the first month with 64-bit sums.
CONVOLUTION = {None: "2026-06", "INT64": "2026-05", "INT32": "never"}
DENSE = {None: "2026-06", "INT64": "2026-04", "INT32": "never"}
MONTHS = ("2023-02", "2026-02", "2026-04", "2026-05", "2026-06", "2026-08", "2026-10")
CHANNELS = 700


def layer(name, said=None, bias=None, groups=1):
    """Return a file of one layer over 700 channels, whose sums exceed 32 bits."""
    net, rng, image = File(), np.random.default_rng(5), name == "CONV_2D"
    sides = (2, 2) if image else ()
    x = net.input((1, *sides, CHANNELS), 1e-4, type="INT16")
    shape = (4, *(1,) * len(sides), CHANNELS // groups)
    weights = net.tensor(shape, "INT8", 0.01, data=rng.integers(90, 128, shape))
    ends = [x, weights]
    if bias:
        ends.append(net.tensor((4,), bias, 1e-6, data=[0] * 4))
    options = {"Padding": "VALID", "StrideH": 1, "StrideW": 1} if image else {}
    if said:
        options["QuantizedBiasType"] = {"INT32": 2, "INT64": 4}[said]
    y = net.output((1, *sides, 4), 0.2, type="INT16")
    net.operator(name, ends, [y], "Conv2DOptions" if image else "FullyConnectedOptions", **options)
    return net


def run(net, folder, month, again=False):
    network = qemu_nn.load(net.save(folder))
    if again:
        network.save(folder / "written.tflite")
        network = qemu_nn.load(folder / "written.tflite")
    x = np.full((1, *network.graph.input.shape), 32767, np.int16)
    return network.session(Target(kernels="reference", tflm=month)).run(x)[network.graph.outputs[0]]


@pytest.mark.parametrize(
    ("name", "said", "first"),
    [(name, *case) for name, table in (("CONV_2D", CONVOLUTION), ("FULLY_CONNECTED", DENSE))
     for case in table.items()],
)  # fmt: skip
def test_reference_kernels_widen_sums_from_a_month_on(name, said, first, tmp_path):
    wide = run(layer(name, bias="INT64"), tmp_path, "2026-10")
    narrow = run(layer(name, bias="INT32"), tmp_path, "2026-10")
    assert (wide != narrow).all()
    for month in MONTHS:
        want = wide if month >= first else narrow
        for again in (False, True):
            got = run(layer(name, said), tmp_path, month, again)
            np.testing.assert_array_equal(got, want, err_msg=f"{month}, written: {again}")


def test_groups_without_bias_follow_the_same_rule(tmp_path):
    wide, narrow = (run(layer("CONV_2D", bias=b, groups=2), tmp_path, "2026-10")
                    for b in ("INT64", "INT32"))  # fmt: skip
    for said, want in ((None, wide), ("INT32", narrow)):
        got = run(layer("CONV_2D", said, groups=2), tmp_path, "2026-10")
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("type", ["INT8", "INT4"])
def test_a_bias_marked_as_missing_stops_a_depthwise_convolution(type, tmp_path):
    net = File()
    x = net.input((1, 4, 4, 2), 0.1)
    weights = net.tensor(
        (1, 2, 2, 2), type, [0.01, 0.02], data=[17] * 4 * (1 + (type == "INT8")), axis=3
    )
    options = {"Padding": "VALID", "StrideH": 1, "StrideW": 1, "DepthMultiplier": 1}
    options |= {"DilationHFactor": 1, "DilationWFactor": 1}
    ends = [x, weights, -1], [net.output((1, 3, 3, 2), 0.1)]
    net.operator("DEPTHWISE_CONV_2D", *ends, "DepthwiseConv2DOptions", **options)
    with pytest.raises(ModelError, match=r"marked as missing; .* stops by signal 11"):
        qemu_nn.load(net.save(tmp_path))
