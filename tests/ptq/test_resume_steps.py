"""Steps that are interrupted go on where they were, and come to the same network."""

import json
import zipfile

import numpy as np
import pytest
from branched_network import same
from resumable_network import STEPS, inputs, quantized

from qemu_nn.errors import ModelError
from qemu_nn.ptq import pipeline
from qemu_nn.ptq.candidate import StepPlan
from qemu_nn.ptq.checkpoint import Record
from qemu_nn.qnz.float_network import float_entries
from qemu_nn.quantizer import steps

#: Other data, with which the first two of these steps gain.
FEWER = {"x": inputs(seed=21), "scheme": "affine", "steps": ["equalize", "round", "correct"]}


def stopped(*_):
    raise KeyboardInterrupt


def interrupted(monkeypatch, step, **how):
    """Take steps up to one of these functions."""
    with monkeypatch.context() as patch:
        patch.setattr(*step, stopped)
        with pytest.raises(KeyboardInterrupt):
            quantized(**how)


@pytest.mark.parametrize(
    "how",
    [
        {"scheme": "affine"},
        pytest.param({"scheme": "power2"}, marks=pytest.mark.slow),
        pytest.param({**FEWER, "scheme": "power2", "bits": 16}, marks=pytest.mark.slow),
        {**FEWER, "ram": 200},
    ],
    ids=["affine", "power2", "power2-16", "widths"],
)
def test_an_interrupted_run_goes_on_to_the_same_network(how, tmp_path, monkeypatch):
    file, names = tmp_path / "steps.zip", how.get("steps", STEPS)
    whole = quantized(**how)
    for function, step in (("round_layer", "round"), ("correct_bias", "correct")):
        interrupted(monkeypatch, (steps, function), **how, resume=file)
        with zipfile.ZipFile(file) as archive:
            assert json.loads(archive.read("steps.json"))["done"] == names.index(step)
            assert {f"{course}/state.json" for course in range(5)} <= {*archive.namelist()}
    with monkeypatch.context() as patch:
        for name in ("equalize_channels", "replace_average_pools", "round_layer"):
            patch.setattr(steps, name, stopped)  # is not taken again
        rest = quantized(**how, resume=file)
    assert same(whole, rest)
    assert whole.notes == rest.notes
    assert sum("->" in note for note in whole.notes[-4:]) == 3 or how != {"scheme": "affine"}
    assert float_entries(whole.reference) == float_entries(rest.reference)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Return the file of steps interrupted in the last one, and the arguments of the run."""
    how, file = FEWER, tmp_path_factory.mktemp("steps") / "steps.zip"
    interrupted(pytest.MonkeyPatch(), (steps, "correct_bias"), **how, resume=file)
    return file.read_bytes(), how


@pytest.fixture
def begun(written, tmp_path):
    content, how = written
    (tmp_path / "steps.zip").write_bytes(content)
    return tmp_path / "steps.zip", how


@pytest.mark.parametrize(
    "other",
    [
        {"x": FEWER["x"][::-1]},
        {"steps": ["equalize", "round"]},
        {"scheme": "power2"},
        {"weight_method": "mse"},
        {"search_range": 2},
        {"formats": {"relu": {"output": (0.0, 9.0)}}},
        {"ram": 10**6},
    ],
    ids=lambda other: next(iter(other)),
)
def test_a_file_of_something_else_is_refused(begun, other):
    file, how = begun
    with pytest.raises(ModelError, match="another network, data or options; remove it or name"):
        quantized(**{**how, **other}, resume=file)


def rewritten(file, change, entry="steps.json"):
    with zipfile.ZipFile(file) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    held[entry] = change(held[entry])
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in held.items():
            archive.writestr(name, content)


def put(*path, value):
    def change(content):
        document = json.loads(content)
        at = document
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = value
        return json.dumps(document)

    return change


@pytest.mark.parametrize(
    ("entry", "change", "words"),
    [
        ("steps.json", lambda content: content[:-20], "this is not JSON"),
        ("steps.json", put("done", value="two"), "'done' must be an integer"),
        ("steps.json", put("done", value=0), "'done' must be 1 or more"),
        ("4/state.json", put("methods", value=["minmax"]), "'methods'"),
        ("4/state.json", put("methods", value=["best", "mse"]), "no method 'best'"),
        ("4/state.json", put("functions", value={"nothing": "arm_x"}), "nothing"),
        ("4/state.json", put("formats", "tensors", value={}), "not those of the network"),
        (
            "4/state.json",
            put("formats", "tensors", "relu", "scale", value=0),
            "no device has such a format",
        ),
        (
            "4/state.json",
            put("formats", "tensors", "relu", "zero", value=999),
            "no device has such a format",
        ),
        ("4/state.json", put("formats", "tensors", "relu", "dtype", value="f8"), "'dtype'"),
        (
            "4/state.json",
            put("formats", "tensors", "pool", "scale", value=31.0),
            "no device has this network",
        ),
    ],
)
def test_a_damaged_file_is_refused(begun, entry, change, words):
    file, how = begun
    rewritten(file, change, entry)
    with pytest.raises(ModelError) as caught:
        quantized(**how, resume=file)
    assert words in str(caught.value)
    assert "steps.zip" in str(caught.value)


def test_damaged_arrays_are_refused(begun):
    file, how = begun
    with zipfile.ZipFile(file) as archive:
        entry = next(name for name in archive.namelist() if "/weights/" in name)
    whole = file.read_bytes()
    for change in (lambda c: c[:-8], lambda c: c[:-8] + np.array([np.nan]).tobytes()):
        file.write_bytes(whole)
        rewritten(file, change, entry)
        with pytest.raises(ModelError, match=r"steps\.zip"):
            quantized(**how, resume=file)
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ModelError, match=r"cannot read .*steps\.zip"):
        quantized(**how, resume=file)


def test_steps_without_time_and_those_cut_short_are_taken_again(tmp_path, monkeypatch):
    file, how = tmp_path / "steps.zip", {"scheme": "affine", "steps": ["round", "correct"]}
    assert "no time" in quantized(**how, resume=file, minutes=0).notes[-1]
    late = iter([False, True, True])
    with monkeypatch.context() as patch:
        patch.setattr(StepPlan, "late", property(lambda _: next(late)))
        quantized(**how, resume=file)
    assert not file.exists()
    assert same(quantized(**how), quantized(**how, resume=file))
    assert [each.name for each in tmp_path.iterdir()] == ["steps.zip"]


def test_a_search_within_steps_keeps_its_decisions_beside(tmp_path, monkeypatch):
    file, how = (
        tmp_path / "steps.zip",
        {"steps": ["search", "correct"], "search_range": 1, "x": inputs(256)},
    )
    whole = quantized(**how)
    real = pipeline.search

    def search(*given):
        return real(*given[:-1], lambda turns: [*given[-1](turns)][:5])

    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "search", search)
        patch.setattr(Record, "write", stopped)
        with pytest.raises(KeyboardInterrupt):
            quantized(**how, resume=file)
    assert [each.name for each in tmp_path.iterdir()] == ["steps.zip.search"]
    rest = quantized(**how, resume=file)
    assert same(whole, rest)
    assert whole.notes == rest.notes
    assert [each.name for each in tmp_path.iterdir()] == ["steps.zip"]
