"""The firmware's memory as it is: calls overwrite each other here where they do on the device."""

import warnings

import firmware
import numpy as np
import pytest
from firmware import add, at, dense, identity, pool, relu

from qemu_nn import cmsis
from qemu_nn.errors import DeviceWarning, Error
from qemu_nn.importers import network_json
from qemu_nn.runtime.session import Session
from qemu_nn.targets import profile

pytestmark = pytest.mark.caps

IMAGE = np.random.default_rng(5).integers(-128, 128, (3, 4, 4, 2)).astype(np.int8)
VECTOR = np.array([[1, -2, 3, -4]], np.int8)


@pytest.fixture
def session(tmp_path):
    """Return a session of a description, and the warnings that it gave."""

    def make(description, core="cortex-m4", **arrays):
        graph = network_json.load(firmware.write(tmp_path, description, **arrays))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            made = Session(graph, profile(core))
        assert all(w.category is DeviceWarning for w in caught)
        return made, [str(w.message) for w in caught]

    return make


def test_an_input_may_span_two_adjacent_parts(session):
    buffers = {"pad": {"bytes": 8, "parts": {"left": [0, 2], "right": [2, 2], "out": [4, 4]}}}
    layers = [relu("relu", "right", 2), dense("fc", "left", "out", 4, 4)]
    got, warned = session(
        firmware.network(layers, buffers, [4], "left"), "cortex-m3", **identity("fc", 4)
    )
    assert got.run(VECTOR)["fc"].tolist() == [[1, -2, 3, 0]]
    assert warned == []


def test_parts_may_overlap(session):
    buffers = {"in": {"bytes": 4, "parts": {"tail": [1, 3], "middle": [1, 2]}}, "out": {"bytes": 2}}
    layers = [relu("relu", at("tail", 1), 2), add("sum", "middle", "tail", "out", 2)]
    got, warned = session(firmware.network(layers, buffers, [4]))
    assert got.run(VECTOR)["sum"].tolist() == [[-4, 6]]
    assert warned == []


def test_in_place_calls_overwrite_their_input(session):
    softmax = firmware.call("softmax", "arm_softmax_q7", {"dim_vec": 4}, ["in"], "in")
    layers = [relu("relu", "in", 4), softmax]
    got, warned = session(firmware.network(layers, {"in": {"bytes": 4}}, [4]))
    results = got.run(VECTOR, trace=True)
    assert results["relu"].tolist() == [[1, 0, 3, 0]]
    want = cmsis.arm_softmax_q7(vec_in=results["relu"][0], dim_vec=4)
    np.testing.assert_array_equal(results["softmax"][0], want)
    assert warned == []


def test_an_output_may_lie_over_former_scratch(session):
    buffers = {"in": {"bytes": 8}, "mid": {"bytes": 4}, "vec": {"bytes": 8}}
    layers = [
        dense("one", "in", "mid", 4, 4, scratch=at("vec")),
        dense("two", "mid", "vec", 4, 4, scratch=at("in")),
        relu("relu", "vec", 4),
    ]
    got, warned = session(
        firmware.network(layers, buffers, [4]), **identity("one", 4), **identity("two", 4)
    )
    assert got.run(VECTOR)["relu"].tolist() == [[1, 0, 3, 0]]
    assert warned == []


def branch():
    """Pooling, and a sum that reads the pooling's input after it."""
    buffers = {"in": {"bytes": 32}, "pooled": {"bytes": 8}, "out": {"bytes": 8}}
    layers = [pool("pool", "in", "pooled"), add("sum", "in", "pooled", "out", 8)]
    return firmware.network(layers, buffers, [4, 4, 2])


@pytest.mark.parametrize("core", ["cortex-m3", "cortex-m4"])
def test_a_branch_reads_what_pooling_has_left(session, core):
    got, warned = session(branch(), core)
    params = {"dim_im_in": 4, "ch_im_in": 2, "dim_kernel": 2, "padding": 0, "stride": 2}
    results = got.run(IMAGE)["sum"]
    for image, result in zip(IMAGE, results):
        left = image.copy()
        pooled = cmsis.arm_maxpool_q7_HWC(
            Im_in=left, dim_im_out=2, **params, target=core, in_place=True
        )
        want = cmsis.arm_add_q7(
            pSrcA=left.ravel()[:8], pSrcB=pooled.ravel(), blockSize=8, target=core
        )
        np.testing.assert_array_equal(result, want)
    if core == "cortex-m3":
        assert warned == []
    else:
        (message,) = warned
        assert "layer 'sum' (arm_add_q7) reads an input that layer 'pool'" in message
        assert "has destroyed" in message


def test_cores_differ_where_a_branch_reads_a_destroyed_input(session):
    on_m4, on_m3 = session(branch())[0].run(IMAGE), session(branch(), "cortex-m3")[0].run(IMAGE)
    assert (on_m4["sum"] != on_m3["sum"]).any()


def scratch_reader():
    """Return a fully connected layer whose scratch memory is read by the next call."""
    buffers = {"in": {"bytes": 4}, "mid": {"bytes": 4}, "vec": {"bytes": 8}, "out": {"bytes": 4}}
    layers = [
        dense("fc", "in", "mid", 4, 4, scratch=at("vec")),
        add("sum", "vec", "mid", "out", 4),
    ]
    return firmware.network(layers, buffers, [4])


def test_a_call_that_reads_scratch_gets_what_the_device_left_there(session):
    got, (message,) = session(scratch_reader(), **identity("fc", 4))
    assert "'sum' (arm_add_q7) reads memory that layer 'fc'" in message
    assert "has used as scratch memory" in message
    widened = np.array([1, -2, 3, -4], np.int16)[[0, 2, 1, 3]].view(np.int8)[:4]
    assert got.run(VECTOR)["sum"][0].tolist() == (widened + VECTOR[0]).tolist()


def test_cores_without_scratch_warn_of_memory_that_nothing_wrote(session):
    got, (message,) = session(scratch_reader(), "cortex-m3", **identity("fc", 4))
    assert "reads memory that nothing has written" in message
    assert got.run(VECTOR)["sum"].tolist() == VECTOR.tolist()


def test_a_null_scratch_is_a_warning_on_cores_that_use_one(session):
    layers = [dense("fc", "in", "out", 4, 4)]
    description = firmware.network(layers, {"in": {"bytes": 4}, "out": {"bytes": 4}}, [4])
    got, (message,) = session(description, **identity("fc", 4))
    assert "layer 'fc' (arm_fully_connected_q7) is called without scratch memory" in message
    assert got.run(VECTOR)["fc"].tolist() == VECTOR.tolist()
    assert session(description, "cortex-m3", **identity("fc", 4))[1] == []


SMALL = {"in": {"bytes": 8}, "out": {"bytes": 4}}


@pytest.mark.parametrize(
    ("layers", "reason"),
    [
        ([dense("fc", "in", "out", 4, 4, scratch=at("out"))], "the scratch of layer 'fc'"),
        ([dense("fc", "in", at("out", 1), 4, 4)], "the output of layer 'fc'"),
        ([dense("fc", at("in", 5), "out", 4, 4)], "the input of layer 'fc'"),
        ([relu("relu", at("in", 5), 4)], "the input of layer 'relu'"),
        ([dense("fc", "in", at("in", 2), 4, 4)], "overwrites its own input"),
        (
            [dense("fc", "in", "out", 4, 4, scratch=at("in"))],
            "scratch memory in that of its own input",
        ),
    ],
)
def test_what_leaves_its_buffer_or_eats_itself_is_refused(session, layers, reason):
    with pytest.raises(Error, match="layer") as caught:
        session(firmware.network(layers, SMALL, [4]), **identity("fc", 4))
    assert reason in str(caught.value)


def test_an_input_larger_than_its_buffer_is_refused(session):
    with pytest.raises(Error, match="the input needs 9 bytes at in, but that buffer has only 8"):
        session(firmware.network([relu("relu", "in", 4)], SMALL, [9]))


def test_memory_is_zero_when_a_sample_starts(session):
    buffers = {"in": {"bytes": 4}, "sum": {"bytes": 4}}
    got, (message,) = session(firmware.network([add("add", "in", "sum", "sum", 4)], buffers, [4]))
    assert "reads memory that nothing has written" in message
    assert got.run(np.repeat(VECTOR, 3, axis=0))["add"].tolist() == VECTOR.tolist() * 3
