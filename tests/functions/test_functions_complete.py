"""Each declared function has all that users and other tests need: arguments, cases, evidence."""

import json
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from oracles import EVERY, called, missed, oracles
from paths import GOLDEN
from recorded_archives import ARCHIVES
from tflite_cases import CASES

import qemu_nn
from qemu_nn import cmsis
from qemu_nn.functions import FUNCTIONS
from qemu_nn.functions.prototypes import is_own

#: Ops without a float operator, and the reason.
MEANINGLESS = {
    "elementwise_mul_acc": "it adds to what its output holds",
    "concatenation": "it writes a part of its output; networks join tensors by tflm_concatenation",
    "nn_activation": "networks reach it inside of an LSTM alone",
    "reduce_all": "truth values have no scale",
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

#: Archive of files with recorded outputs -> the build of TensorFlow Lite Micro that made them.
BUILDS = {
    **{stem: archive.build for stem, archive in ARCHIVES.items()},
    "executorch": {},
    "tflm_lstm": {"kernels": "reference"},
}


def manifests(folder):
    """Yield every recorded case of a folder."""
    for path in sorted((GOLDEN / folder).glob("*.npz")):
        with np.load(path) as arrays:
            yield from json.loads(str(arrays["manifest"]))["cases"]


def files(folder):
    """Yield recorded files, and the builds that they were recorded with.

    They are those of the archives, and those that tflite_cases.py makes, which
    test_tflite_operators_recorded.py compares.
    """
    for archive, build in BUILDS.items():
        with np.load(GOLDEN / f"{archive}.npz") as arrays:
            for key in (key for key in arrays if key.endswith("/file")):
                path = folder / f"file{'.pte' if archive == 'executorch' else '.tflite'}"
                path.write_bytes(arrays[key].tobytes())
                yield path, build
    yield from ((case().save(folder), {}) for case in CASES.values())


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    """Return the functions with a recording, by name or in a file that runs, or with an oracle."""
    names = {path.stem for path in (GOLDEN / "cmsis_legacy").glob("*.npz")}
    names |= {name for case in manifests("cmsis_s8") for name in case.get("functions", ())}
    names |= {case["function"] for case in manifests("tflm")}
    for path, build in files(tmp_path_factory.mktemp("files")):
        with suppress(qemu_nn.Error):
            plan = qemu_nn.load(path).session(qemu_nn.Target(**build)).plan
            names |= {step.node.function.name for step in plan.steps}
    return names | set(oracles())


WITH_CASES = {(f.op, f.type) for f in EVERY.values() if f.cases}


def missing(function, checked):
    """Return what a function lacks, in words; checked: names with a recording or an oracle."""
    legacy = function.order is not None and function.order.legacy
    real = not (legacy or function.not_called or function.op in MEANINGLESS)
    said = {
        "random arguments": function.draw is not None,
        "case": bool(function.cases) or (function.op, function.type) in WITH_CASES,
        "C prototype": bool(function.order or function.not_called) or is_own(function),
        "meaning in real numbers": function.meaning is not None or not real,
        "product of its weights": function.product is not None
        or not (legacy and function.bias is not None and "mat_mult" not in function.op),
        "recording and no oracle": function.name in checked,
    }
    return [f"{function.name} has no {what}" for what, is_there in said.items() if not is_there]


@pytest.mark.filterwarnings("ignore::qemu_nn.errors.DeviceWarning")
@pytest.mark.parametrize("name", EVERY)
def test_nothing_that_must_be_known_of_a_function_is_missing(name, checked):
    assert missing(EVERY[name], checked) == []


def test_what_a_new_function_lacks_is_said_in_words():
    bare = replace(FUNCTIONS["tflm_leaky_relu_s8"], name="cube", draw=None, cases=(), meaning=None)
    assert missing(replace(bare, op="cube"), set()) == [
        "cube has no random arguments",
        "cube has no case",
        "cube has no C prototype",
        "cube has no meaning in real numbers",
        "cube has no recording and no oracle",
    ]


def test_an_op_without_a_meaning_is_one_that_has_none():
    for function in FUNCTIONS.values():
        assert not (function.op in MEANINGLESS and function.meaning), function.name
    assert {f.op for f in FUNCTIONS.values()} >= set(MEANINGLESS)


def test_oracles_name_declared_functions():
    assert set(oracles()) <= set(EVERY)


def test_an_oracle_is_found_with_its_functions():
    found = oracles()
    for name in ("npu_max_pool_s8", "npu_average_pool_s16"):
        assert found[name] == {"test_npu_kernels.py::test_pooling_equals_the_oracle"}


def test_an_oracle_that_calls_something_else_is_told():
    with called() as seen:
        cmsis.arm_relu_q7(data=np.zeros(4, np.int8))
    assert missed({"arm_relu_q7", "arm_relu_q15"}, seen) == ["arm_relu_q15"]


def test_a_case_has_the_functions_arguments():
    """But for the shift of a layer, which its random weights choose."""
    for function in EVERY.values():
        for params in (*function.cases, *function.batched):
            assert set(params) <= {*function.params}, function.name
            left = {*function.params} - {*params} - {*function.defaults}
            assert left <= {"out_shift", "bias_shift"}, function.name
