"""Files whose verdict or bytes once differed from TensorFlow Lite Micro's: the right answers."""

import csv
import warnings

import numpy as np
import pytest
from paths import SHARED
from tflm_wheel import TARGET

import qemu_nn
from qemu_nn.api.check import check
from qemu_nn.errors import Error

FOLDER = SHARED / "defects2" / "tflite_verdicts"

#: Recorded bytes that are what memory after the input held: the file is refused with the reason.
UNINITIALIZED = "k03_int64_constant__i64_transpose.tflite"


def answers():
    """Return file -> what its recording says: "bits" or "TFLM refuses"."""
    if not (FOLDER / "index.tsv").is_file():
        return {}
    with open(FOLDER / "index.tsv", encoding="utf-8") as lines:
        rows = list(csv.reader(lines, delimiter="\t"))[1:]
    found = {name: answer for name, answer, *_ in rows if name.endswith(".tflite")}
    return {**found, UNINITIALIZED: "reads memory outside of its input"}


def files(answer):
    return [name for name, said in answers().items() if said == answer] or [
        pytest.param("", marks=pytest.mark.skip(reason=f"needs {FOLDER}"))
    ]


@pytest.mark.parametrize("name", files("bits"))
def test_the_bytes_are_recorded(name):
    with np.load((FOLDER / name).with_suffix(".npz")) as arrays:
        recorded = dict(arrays)
    network = qemu_nn.load(FOLDER / name)
    x = {
        tensor.name: recorded[f"x{i}"].reshape(-1, *tensor.shape)
        for i, tensor in enumerate(network.graph.inputs)
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = network.session(TARGET).run(x)
    outputs = [results[output].ravel() for output in network.graph.outputs]
    want = [recorded[f"o{i}"].ravel() for i in range(len(recorded) - len(x))]
    assert len(outputs) == len(want)
    for got, right in zip(outputs, want):
        np.testing.assert_array_equal(got, right)


@pytest.mark.parametrize("name", files("TFLM refuses"))
def test_a_refusal_has_the_frameworks_reason(name):
    words = (FOLDER / name).with_suffix("").with_suffix(".refusal.txt").read_text(encoding="utf-8")
    with pytest.raises(Error) as refused:
        qemu_nn.load(FOLDER / name).session(TARGET)
    mark = "TensorFlow Lite Micro refuses it: "
    reasons = check(FOLDER / name, TARGET).models[0].reasons
    for said in (
        str(refused.value),
        next(each for each in reasons if each.rpartition(mark)[2] in words),
    ):
        assert mark in said
        assert said.rpartition(mark)[2] in words


@pytest.mark.skipif(not FOLDER.is_dir(), reason=f"needs {FOLDER}")
def test_an_order_that_the_device_reads_as_another_type_is_refused():
    with pytest.raises(Error, match=r"reads as pairs of INT32; \[0, 0, 2\] is no permutation"):
        qemu_nn.load(FOLDER / UNINITIALIZED)
