"""qemu_nn.executorch: the value of each node of a program, and what differs from it."""

import re
import sys
import warnings

import numpy as np
import pytest
from recorded_files import PTE

import qemu_nn
from qemu_nn import executorch
from qemu_nn.errors import DeviceWarning, Error
from qemu_nn.executorch.findings import Finder
from qemu_nn.executorch.program import LoadedProgram
from qemu_nn.importers.pte import load_with_results

CORES = {"m4": "cortex-m4", "m55": "cortex-m55", "m3": "cortex-m3", "m0plus": "cortex-m0plus"}


def core(name):
    return next(CORES[part] for part in reversed(name.split("_")) if part in CORES)


def loaded(name, tmp_path):
    """Return a recorded program in ExecuTorch's form, its nodes named after their instructions."""
    path = tmp_path / f"{name}.pte"
    path.write_bytes(PTE.own()[name]["file"].tobytes())
    graph, results = load_with_results(path)
    values = {}
    for number, made in results.items():
        for part, value in enumerate(made):
            if value is not None:
                values[f"{number}_{part}" if part else f"{number}"] = value
    return LoadedProgram(qemu_nn.Network(graph), values, dict.fromkeys(values, "cat"))


def inputs(name, sample=0):
    arrays = PTE.own()[name]
    count = sum(key.startswith(f"in{sample}_") for key in arrays)
    return [arrays[f"in{sample}_{number}"] for number in range(count)]


#: Their results hang on the device's libm, in the last bit.
LIBM = ("elu_m55",)


@pytest.mark.parametrize("name", sorted(set(PTE.own()) - {*LIBM}))
def test_every_instruction_s_value_is_what_the_device_wrote(name, tmp_path):
    program, arrays = loaded(name, tmp_path), PTE.own()[name]
    result = program.run(inputs(name), core(name))
    assert result.nodes
    for key, array in arrays.items():
        match = re.fullmatch(r"(trace|out)0_(\d+(?:_\d+)?)", key)
        if match is None:
            continue
        kind, which = match.groups()
        if kind == "trace" and which not in result.nodes:
            assert array.dtype in (np.int64, np.uint8), key  # indices that nobody reads
            continue
        got = result.outputs[int(which)] if kind == "out" else result.nodes[which]
        assert got.shape == array.shape
        assert got.dtype == array.dtype
        assert got.tobytes() == array.tobytes(), key


def finder(name, tmp_path, reference=False):
    program = loaded(name, tmp_path)
    own = program.run(inputs(name), core(name)).nodes
    return Finder(program, inputs(name), core(name), own, reference)


IMAGES = "conv2d_3x3_m4"


def test_what_was_recorded_is_equal_or_differs_with_a_cause(tmp_path):
    told = finder(IMAGES, tmp_path)
    node = next(name for name, array in told.own.items() if array.ndim == 4)
    right = told.own[node]
    assert told.compare_node(node, right).same
    assert told.compare_node(node, right.ravel()).same

    wrong = right.copy()
    wrong[0, 1, 2, 3] ^= 1
    found = told.compare_node(node, wrong).difference
    assert found.position == (0, 1, 2, 3)
    assert (found.differing, found.largest) == (1, 1)

    moved = told.compare_node(node, right.transpose(0, 2, 3, 1)).difference
    assert "laid out as 0231" in moved.cause
    assert "it is float32" in told.compare_node(node, right.astype(np.float32)).unlike


def test_the_reference_differs_for_a_known_reason(tmp_path):
    told = finder(IMAGES, tmp_path, reference=True)
    node = next(iter(told.own))
    found = told.compare_node(node, told.own[node] + np.int8(1)).difference
    assert "joins memory" in found.cause


def test_another_core_s_bits_are_recognized(tmp_path):
    told = finder("linear_m55", tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeviceWarning)
        other = told.loaded.run(told.inputs, "cortex-m4").nodes
    node = next(name for name in other if not np.array_equal(other[name], told.own[name]))
    assert "these are exactly the bits of" in told.compare_node(node, other[node]).difference.cause


def test_inputs_that_do_not_fit_are_named(tmp_path):
    program = loaded(IMAGES, tmp_path)
    with pytest.raises(Error, match=r"but must be float32 \["):
        program.run(np.zeros((1, 3), np.float32), "m4")


def test_without_pytorch_the_sentence_has_the_pip_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    for call in (
        lambda: executorch.run(None, None),
        lambda: qemu_nn.from_pytorch(None, (), ()),
    ):
        with pytest.raises(Error, match=r"needs torch, .*: pip install '\.\[executorch\]'"):
            call()
