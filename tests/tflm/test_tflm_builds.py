"""Builds of TensorFlow Lite Micro: with CMSIS-NN's kernels or its own, and of which month."""

import warnings
from pathlib import Path

import numpy as np
import pytest
import recorded_tflite
from paths import GOLDEN, SHARED
from tflite_cases import CASES, Net, inputs, transpose_conv

import qemu_nn
from qemu_nn.errors import DeviceWarning
from qemu_nn.functions.tflm_builds import DIFFERENCES
from qemu_nn.targets import KERNELS, TFLM, esp_profiles, profile

#: Recorded with both kernels; the reference ones are those of the Python wheel of 23 October 2026.
STORED = dict(np.load(GOLDEN / "tflm_builds.npz"))
NAMES = sorted({key.partition("/")[0] for key in STORED})


def stored(name, kernels):
    """Inputs and outputs of a recording."""
    start, other = f"{name}/", "reference_"
    own = {key.removeprefix(start): STORED[key] for key in STORED if key.startswith(start)}
    parted = {key.removeprefix(other): own[key] for key in own if key.startswith(other)}
    return {**own, **(parted if kernels == "reference" else {})}


def network(name, folder):
    path = folder / f"{name}.tflite"
    path.write_bytes(STORED[f"{name}/file"].tobytes())
    return qemu_nn.load(path)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kernels", KERNELS)
def test_each_build_computes_what_was_recorded_of_it(name, kernels, tmp_path):
    how = {"kernels": kernels, "tflm": "2026-10" if kernels == "reference" else "2026-08"}
    loaded = network(name, tmp_path)
    loaded.save(tmp_path / "net.qnz")
    for net in (loaded, qemu_nn.load(tmp_path / "net.qnz")):
        if kernels == "cmsis-nn" and name in recorded_tflite.UNDEFINED:
            with pytest.raises(qemu_nn.Error, match=recorded_tflite.UNDEFINED[name]):
                net.session(qemu_nn.Target(**how))
        else:
            assert (
                recorded_tflite.differences(
                    net, stored(name, kernels), target=qemu_nn.Target(**how)
                )
                == {}
            )


def test_the_recordings_of_two_builds_differ():
    for name in NAMES:
        one, other = (stored(name, kernels) for kernels in KERNELS)
        assert any((one[key] != other[key]).any() for key in one if "output_" in key), name


def test_every_difference_belongs_to_some_builds_and_not_to_all():
    builds = [
        profile(core, cmsis=release, kernels=k, tflm=month)
        for core in ("cortex-m4", "cortex-m55")
        for release in ("7.0.0", "main-2026-07")
        for k in KERNELS
        for month in TFLM
    ]
    builds += esp_profiles()
    for name, difference in DIFFERENCES.items():
        held = [difference.applies_to(build) for build in builds]
        assert any(held), name
        assert not all(held), name
        assert all((difference.operator, difference.words, difference.source)), name


def test_every_difference_is_named_by_an_operator():
    folder = Path(qemu_nn.__file__).parent / "importers"
    text = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*/*.py"))
    assert [name for name in DIFFERENCES if f'"{name}"' not in text] == []


def pooled(month, tmp_path):
    net = Net()
    x = net.input((3, 4, 4, 2), 0.05, 3, "INT8")
    y = net.output((3, 2, 2, 2), 0.05, 3, "INT8")
    options = {"StrideW": 2, "StrideH": 2, "FilterWidth": 2, "FilterHeight": 2}
    net.operator("MAX_POOL_2D", [x], [y], "Pool2DOptions", **options)
    return qemu_nn.load(net.save(tmp_path)).session(target=qemu_nn.Target(tflm=month))


def test_several_images_were_not_pooled_before_june_2026(tmp_path):
    with pytest.raises(qemu_nn.Error, match="computes only the first of 3 images"):
        pooled("2026-04", tmp_path)
    pooled("2026-06", tmp_path)


def test_short_scratch_of_a_transposed_convolution_is_warned_of(tmp_path):
    net = transpose_conv("VALID", filter=(1, 1), StrideH=1, StrideW=2)
    session = qemu_nn.load(net.save(tmp_path)).session
    with pytest.warns(DeviceWarning, match="writes 80 bytes of scratch memory, but is given 72 "):
        session()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        session(target=qemu_nn.Target(kernels="reference"))
        wide = transpose_conv("VALID", filter=(1, 2), StrideH=1, StrideW=2)
        qemu_nn.load(wide.save(tmp_path)).session()


def test_an_activation_that_is_ignored_is_warned_of(tmp_path):
    net = qemu_nn.load(CASES["transpose_conv_relu"]().save(tmp_path))
    with pytest.warns(DeviceWarning, match="the fused activation RELU is ignored"):
        ignored = net.session()
    x = inputs("transpose_conv_relu", net.graph.input)
    zero = net.graph.tensors[net.graph.outputs[0]].zero_point
    (raw,), (clamped,) = (
        s.run(x).values()
        for s in (ignored, net.session(target=qemu_nn.Target(kernels="reference")))
    )
    assert (raw < zero).any()
    np.testing.assert_array_equal(clamped, np.maximum(raw, zero))
    (old,) = net.session(target=qemu_nn.Target(kernels="reference", tflm="2023-02")).run(x).values()
    np.testing.assert_array_equal(old, raw)


def test_half_pixels_were_ignored_before_february_2026(tmp_path):
    net = qemu_nn.load(CASES["resize_centers"]().save(tmp_path))
    x = inputs("resize_centers", net.graph.input)
    (new,), (old,) = (
        net.session(target=qemu_nn.Target(tflm=month)).run(x).values()
        for month in ("2026-02", "2023-02")
    )
    assert (new != old).any()


@pytest.mark.parametrize("wrong", [{"kernels": "arm"}, {"tflm": "2021-01"}])
def test_an_unknown_build_is_refused(wrong, tmp_path):
    with pytest.raises(qemu_nn.Error, match="have: "):
        network("div_same", tmp_path).session(qemu_nn.Target(**wrong))


def test_a_profile_names_the_build_that_is_not_the_usual():
    assert str(profile("cortex-m55", "7.0.0")) == "CMSIS 7.0.0, mve, double"
    other = profile("cortex-m55", "7.0.0", kernels="reference", tflm="2026-10")
    assert str(other) == "CMSIS 7.0.0, scalar, double, reference kernels, TFLM 2026-10"


RECORDED = SHARED / "golden" / "tflm_cases_cmsis_nn.npz"


@pytest.mark.caps
@pytest.mark.skipif(not RECORDED.is_file(), reason=f"{RECORDED} is not there")
def test_the_projects_own_files_compute_what_the_device_does(tmp_path):
    recorded, wrong = dict(np.load(RECORDED)), {}
    for name in sorted({key.partition("/")[0] for key in recorded} & set(CASES)):
        net = qemu_nn.load(CASES[name]().save(tmp_path))
        if name in ("transpose_five", "transpose_nothing"):
            with pytest.raises(qemu_nn.Error, match="leaves its output uninitialized"):
                net.session()
            continue
        x = inputs(name, net.graph.input, steps=(5,) if net.graph.states else ())
        results = net.session().run(x)
        for at, output in enumerate(net.graph.outputs):
            want = recorded[f"{name}/{at}"]
            if not np.array_equal(results[output].ravel(), want.ravel()):
                wrong[f"{name}/{at}"] = int((results[output].ravel() != want.ravel()).sum())
    assert wrong == {}


@pytest.mark.parametrize(("month", "result"), [("2026-08", -5616), ("2026-10", -5617)])
def test_slopes_are_scaled_in_float64_by_the_wheel_of_october_2026(month, result, tmp_path):
    net = Net()
    x = net.input((1, 1), 0.00013394923007581383, 0, "INT16")
    y = net.output((1, 1), 0.00010541234951233491, 0, "INT16")
    net.operator("LEAKY_RELU", [x], [y], "LeakyReluOptions", Alpha=0.25)
    session = qemu_nn.load(net.save(tmp_path)).session(
        target=qemu_nn.Target(kernels="reference", tflm=month)
    )
    assert session.run(np.array([[-17679]], np.int16))["output"].item() == result
