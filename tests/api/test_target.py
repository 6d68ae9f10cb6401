"""A device is named in one way by every function: its name, or a Target."""

import inspect

import numpy as np
import pytest

import qemu_nn
from qemu_nn import Target, cmsis
from qemu_nn.api.golden import example
from qemu_nn.errors import Error
from qemu_nn.targets import profile

FIELDS = {"cmsis", "rounding", "kernels", "tflm"}


def test_a_target_is_a_device_and_its_build():
    target = Target("STM32F411RE", cmsis="5.6.0", rounding="truncate")
    assert target.core == "cortex-m4"
    assert target.profile() == profile("cortex-m4", "5.6.0", "truncate")
    assert Target.of("m3") == Target("m3")
    assert Target.of(target) is target
    assert Target.of(profile("m55", "7.0.0")).profile() == profile("m55", "7.0.0")


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"device": "m44"}, "no core or chip 'm44'"),
        ({"device": None}, "no core or chip None"),
        ({"cmsis": "5.5"}, "no CMSIS release '5.5'; have: "),
        ({"rounding": "up"}, "no rounding 'up'; have: nearest, truncate, double, single"),
        ({"kernels": "arm"}, "no kernels 'arm'; have: cmsis-nn, reference"),
        ({"tflm": "2021-01"}, "no month of TFLM '2021-01'"),
    ],
)
def test_an_unknown_name_is_refused_with_the_choices(fields, reason):
    with pytest.raises(Error, match=reason):
        Target(**fields)


def test_what_names_no_device_is_refused():
    with pytest.raises(Error, match="target must be a Target or the name of a device, not 4"):
        Target.of(4)


def test_a_name_and_its_target_are_the_same_device():
    network, x, _ = example()
    assert network.profile("m3") == network.profile(Target("m3"))
    old = network.session(Target(cmsis="5.6.0")).run(x)["softmax"]
    assert (old != network.session().run(x)["softmax"]).any()


def test_a_board_is_not_validated_as_another_core():
    with pytest.raises(Error, match="qemu:m55 is a cortex-m55, not cortex-m4: give Target"):
        qemu_nn.validate(example()[0], on="qemu:m55", target=Target(cmsis="5.9.0"))


def public_functions():
    for name in qemu_nn.__all__:
        value = getattr(qemu_nn, name)
        if inspect.isfunction(value):
            yield name, value
        elif inspect.isclass(value) and value is not Target:
            yield name, value
            for own, method in vars(value).items():
                if inspect.isfunction(method) and not own.startswith("_"):
                    yield f"{name}.{own}", method


@pytest.mark.parametrize(("name", "function"), list(public_functions()))
def test_the_build_belongs_to_the_target_alone(name, function):
    of_one_call = {"cmsis"} if name == "estimate_call" else set()
    assert FIELDS.isdisjoint({*inspect.signature(function).parameters} - of_one_call), name


@pytest.mark.parametrize(("name", "function"), list(public_functions()))
def test_no_public_function_has_more_than_12_parameters(name, function):
    most = 13 if name == "load" else 12  # each format of load() has options of its own
    assert len(inspect.signature(function).parameters) <= most, name


def test_c_functions_take_a_target_and_refuse_a_contradiction():
    x = np.array([-128, 5], np.int8)
    for target in ("m3", Target("m3"), Target("m3", cmsis="5.6.0")):
        assert cmsis.arm_relu_q7(data=x, size=2, target=target).tolist() == [0, 5]
    with pytest.raises(
        Error, match=r"the target has cmsis='5\.6\.0', but cmsis='5\.9\.0' is given"
    ):
        cmsis.arm_relu_q7(data=x, size=2, target=Target("m3", cmsis="5.6.0"), cmsis="5.9.0")
