"""network.json and weights.npz become a graph, or an error that names file, layer and key."""

import copy
import zipfile

import firmware
import numpy as np
import pytest
from firmware import at

from qemu_nn import cmsis
from qemu_nn.errors import Error, ModelError
from qemu_nn.functions import FUNCTIONS
from qemu_nn.importers import network_json
from qemu_nn.io import archive
from qemu_nn.ir.graph import Address
from qemu_nn.runtime.plan import plan
from qemu_nn.runtime.session import Session
from qemu_nn.targets import profile


def loaded(folder, description, arrays):
    return network_json.load(firmware.write(folder, description, **arrays))


def changed(change):
    """Write the small network after change(description, arrays)."""
    description, arrays = copy.deepcopy(firmware.small())
    change(description, arrays)
    return description, arrays


def refusal(folder, description, arrays):
    with pytest.raises(ModelError) as caught:
        loaded(folder, description, arrays)
    assert str(folder / "network.json") in str(caught.value) or "weights.npz" in str(caught.value)
    return str(caught.value)


def test_a_description_becomes_a_graph(tmp_path):
    graph = loaded(tmp_path, *firmware.small())
    assert graph.name == "small"
    assert graph.classes == ("a", "b", "c")
    assert graph.outputs == ("relu",)
    assert (graph.input.shape, graph.input.dtype, graph.input.frac) == ((4,), "int8", None)
    assert graph.node("fc").params["out_shift"] == 0
    assert graph.memory.buffers == {"pad": 16, "in": 4}
    assert graph.memory.input == Address("in", 0)
    assert graph.memory.calls["fc"].output == Address("pad", 0)
    assert graph.memory.calls["fc"].scratch == Address("pad", 8)
    assert graph.memory.calls["relu"].scratch is None
    assert sorted(graph.arrays) == ["fc_bias", "fc_wt"]


def test_a_described_network_computes_its_layers(tmp_path):
    session = Session(loaded(tmp_path, *firmware.small()), profile())
    x = np.array([[1, 2, 3, 4]], np.int8)
    want = np.maximum((np.arange(12).reshape(3, 4) - 6) @ x[0] + [1, -2, 3], 0)
    np.testing.assert_array_equal(session.run(x)["relu"][0], want)


def test_functions_of_keyword_networks_run_from_a_description(tmp_path):
    """Non-square and depthwise convolution, 1x1 convolution, and average pooling to one pixel."""
    random = np.random.default_rng(6)
    window = {"dim_im_in_x": 3, "dim_im_in_y": 5, "ch_im_in": 4}
    kernel = {"dim_kernel_x": 3, "dim_kernel_y": 3, "padding_x": 1, "padding_y": 1}
    one = {"dim_kernel_x": 1, "dim_kernel_y": 1, "padding_x": 0, "padding_y": 0}
    same = {"ch_im_out": 4, "stride_x": 1, "stride_y": 1, "bias_shift": 2, "out_shift": 7}
    same.update(dim_im_out_x=3, dim_im_out_y=5)
    whole = {"dim_kernel_x": 3, "dim_kernel_y": 5, "padding_x": 0, "padding_y": 0}
    whole.update(stride_x=1, stride_y=1, dim_im_out_x=1, dim_im_out_y=1, out_lshift=1)
    calls = [
        (
            "depthwise",
            "arm_depthwise_separable_conv_HWC_q7_nonsquare",
            {**kernel, **same},
            "a",
            "b",
        ),
        ("pointwise", "arm_convolve_1x1_HWC_q7_fast_nonsquare", {**one, **same}, "b", "a"),
        ("average", "arm_avepool_q7_HWC_nonsquare", whole, "a", "b"),
    ]
    layers, arrays = [], {}
    for name, function, params, source, target in calls:
        call = firmware.call(name, function, {**window, **params}, [source], target)
        if name != "average":
            call.update(weights=f"{name}_wt", bias=f"{name}_bias", scratch=at("columns"))
            shape = FUNCTIONS[function].weights.shape(call["params"])
            arrays[f"{name}_wt"] = random.integers(-128, 128, shape).astype(np.int8)
            arrays[f"{name}_bias"] = random.integers(-128, 128, 4).astype(np.int8)
        layers.append(call)
    buffers = {"a": {"bytes": 60}, "b": {"bytes": 60}, "columns": {"bytes": 400}}
    session = Session(
        loaded(tmp_path, firmware.network(layers, buffers, [5, 3, 4], "a"), arrays), profile()
    )
    x = random.integers(-128, 128, (2, 5, 3, 4)).astype(np.int8)
    got = session.run(x, trace=True)
    for sample, image in enumerate(x):
        for name, function, params, _, _ in calls:
            inputs = {"Im_in": image, **window, **params}
            if name != "average":
                inputs.update(wt=arrays[f"{name}_wt"], bias=arrays[f"{name}_bias"])
            image = getattr(cmsis, function)(**inputs)
            np.testing.assert_array_equal(got[name][sample], image, name)
    assert list(got) == ["depthwise", "pointwise", "average"]


def _drop_what_describes(description, arrays):
    for key in ("classes", "name", "format"):
        del description[key]
    del description["layers"][0]["macs"]


@pytest.mark.parametrize(
    "change",
    [
        _drop_what_describes,
        lambda d, a: d.update(surprise={"x": [1.5, None]}, total_macs="many"),
        lambda d, a: d["layers"][0].update(weight_layout="fc", note=3, in_place="?"),
        lambda d, a: d["layers"][0].update(overwrites_input_on=["cortex-m4"]),
        lambda d, a: d["layers"][0].pop("output_shape"),
        lambda d, a: d["layers"][0]["output"].pop("offset"),
        lambda d, a: d["layers"][0].update(scratch=None),
        lambda d, a: a.update(fc_wt=a["fc_wt"].ravel(), unused=np.zeros(3, np.float32)),
    ],
)
def test_what_only_describes_may_be_missing_or_unknown(tmp_path, change):
    assert loaded(tmp_path, *changed(change)).node("fc").output.shape == (3,)


def _layer(**values):
    return lambda d, a: d["layers"][0].update(values)


def _params(**values):
    return lambda d, a: d["layers"][0]["params"].update(values)


def _buffer(**values):
    return lambda d, a: d["buffers"]["pad"].update(values)


def _input(**values):
    return lambda d, a: d["input"].update(values)


def _of_another_library(d, a):
    d["layers"][0]["function"] = "local_softmax_q7"
    del d["buffers"], d["layers"][0]["params"]


REFUSED = {
    "layer 'fc': the function 'local_softmax_q7' is unknown": _of_another_library,
    "layer 'fc': the function 'arm_magic_q7' is unknown; did you mean arm_": _layer(
        function="arm_magic_q7"
    ),
    "layers[0]: 'name' is missing": lambda d, a: d["layers"][0].pop("name"),
    "layer 'fc': 'function' is missing": lambda d, a: d["layers"][0].pop("function"),
    "layer 'fc': params: arm_fully_connected_q7 lacks dim_vec": lambda d, a: d["layers"][0][
        "params"
    ].pop("dim_vec"),
    "does not take stride": _params(stride=1),
    "params: dim_vec of arm_fully_connected_q7 must be an integer, is 4.0": _params(dim_vec=4.0),
    "params: 'dim_vec' must be an integer": _params(dim_vec=True),
    "must fit into 32 bits": _params(dim_vec=2**40),
    "a number has 31 digits": _params(dim_vec=10**30),
    "elements, but must have 3": lambda d, a: a.update(fc_bias=np.zeros(4, np.int8)),
    "elements, but must have 12": lambda d, a: a.update(fc_wt=np.zeros(11, np.int8)),
    "is int16, but must be int8": lambda d, a: a.update(fc_wt=np.zeros((3, 4), np.int16)),
    "has elements of type '<f8'": lambda d, a: a.update(fc_wt=np.zeros((3, 4))),
    "has elements of type '|O'": lambda d, a: a.update(fc_wt=np.array([{}] * 12)),
    "Fortran order": lambda d, a: a.update(fc_wt=np.asfortranarray(a["fc_wt"])),
    "layer 'fc': weights: there is no array 'fc_wt'": lambda d, a: a.pop("fc_wt"),
    "layer 'fc': 'weights' must be a string, not 3": _layer(weights=3),
    "needs an array for pM": _layer(weights=None),
    "has the array 'fc_wt', which": lambda d, a: d["layers"][1].update(weights="fc_wt"),
    "there is no buffer or part 'nowhere'": _layer(output=at("nowhere")),
    "layer 'fc': output: 'offset' leads to byte 16 of 'pad', which has only 16 bytes": _layer(
        output=at("pad", 16)
    ),
    "output: 'offset' leads to byte -1": _layer(output=at("out", -1)),
    "layer 'fc': inputs[0]: 'symbol' is missing": _layer(inputs=[{"offset": 0}]),
    "layer 'fc': 'inputs' must be a list, not an object": _layer(inputs=at("in")),
    "has 2 inputs, but its function takes 1": _layer(inputs=[at("in"), at("in")]),
    "works in place at pad, so its output cannot be at in": lambda d, a: d["layers"][1].update(
        output=at("in")
    ),
    "computes int8 [3], but its output is declared as int8 [4]": _layer(output_shape=[4]),
    "'output_shape'[0] must be an integer, not \"x\"": _layer(output_shape=["x"]),
    "the name 'relu' is used twice": lambda d, a: d["layers"].append(d["layers"][1]),
    "buffers: pad: 'bytes' must be positive, not 0": _buffer(bytes=0),
    "'bytes' must be positive, not -4": _buffer(bytes=-4),
    "its buffers take more than 256 MiB": _buffer(bytes=2**28 + 1),
    "must fit into 64 bits": _buffer(bytes=2**63),
    "'out' must be [offset, bytes] within 16 bytes": _buffer(parts={"out": [12, 8]}),
    "'vec' must be [offset, bytes]": _buffer(parts={"vec": [8]}),
    "the name 'in' is given two addresses": _buffer(
        parts={"out": [0, 8], "vec": [8, 8], "in": [4, 4]}
    ),
    "'input' is missing": lambda d, a: d.pop("input"),
    "input: 'shape' is missing": lambda d, a: d["input"].pop("shape"),
    "input: 'dtype' is 'float32'; have: int8": _input(dtype="float32"),
    "input: 'frac_bits' must be an integer, not 1.5": _input(frac_bits=1.5),
    "input has 1000 fraction bits": _input(frac_bits=1000),
    "input has the shape [0]": _input(shape=[0]),
    "input has the shape [-2, -2]": _input(shape=[-2, -2]),
    "the output 'other' is no layer of it": lambda d, a: d.update(outputs=["other"]),
    "'outputs'[0] must be a string": lambda d, a: d.update(outputs=[0]),
    "has no outputs": lambda d, a: d.update(outputs=[]),
    "has no layers": lambda d, a: d.update(layers=[], outputs=[]),
    "'classes'[0] must be a string": lambda d, a: d.update(classes=[1]),
    "'format' is 2; this qemu_nn reads 1": lambda d, a: d.update(format=2),
    "NaN is given, but numbers must be finite": lambda d, a: d.update(macs=float("nan")),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_decides_bits_is_refused_by_name(tmp_path, reason):
    assert reason in refusal(tmp_path, *changed(REFUSED[reason]))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", ":1: this is not JSON"),
        ("{\n1}", ":2: this is not JSON"),
        ("[1]", "must be a JSON object"),
        ('{"a": 1, "a": 1}', "the key 'a' is given twice"),
        ("[" * 100000, "nested too deeply"),
        (b"\xff\xfe{}", "not UTF-8"),
    ],
)
def test_what_is_not_json_is_refused(tmp_path, text, reason):
    path = tmp_path / "network.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ModelError) as caught:
        network_json.load(path)
    assert str(path) in str(caught.value)
    assert reason in str(caught.value)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(ModelError, match=r"cannot read .*network\.json: No such file"):
        network_json.load(tmp_path / "network.json")


def test_weights_are_missed_by_the_layer_that_needs_them(tmp_path):
    description, _ = firmware.small()
    assert "layer 'fc': weights names the array 'fc_wt', but there is no file" in refusal(
        tmp_path, description, {}
    )


def test_damaged_weights_are_refused(tmp_path):
    path = firmware.write(tmp_path, firmware.small()[0], **firmware.small()[1])
    whole = (tmp_path / "weights.npz").read_bytes()
    for size in range(0, len(whole), 3):
        (tmp_path / "weights.npz").write_bytes(whole[:size])
        with pytest.raises(ModelError, match=r"weights\.npz"):
            network_json.load(path)


def test_weights_that_unpack_to_too_much_are_refused_before_they_do(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "LIMIT", 2**20)
    path = firmware.write(tmp_path, firmware.small()[0])
    with zipfile.ZipFile(tmp_path / "weights.npz", "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("fc_wt.npy", bytes(2**20 + 1))
    with pytest.raises(ModelError, match=r"unpacks to .* at most 1 MiB"):
        network_json.load(path)


# ---- recurrent networks ----


def recurrent(**more):
    layer = firmware.call("sum", "arm_add_q15", {"blockSize": 2}, ["input", "h"], "h")
    buffers = {"pad": {"bytes": 8, "parts": {"input": [0, 4], "h": [4, 4]}}}
    return {"buffers": buffers, "layers": [layer], "recurrent": {"dtype": "int16", **more}}


@pytest.mark.parametrize(
    "more",
    [
        {"dim_input": 2, "dim_h": 2},
        {"dim_input": 2, "dim_h": 2, "steps": "in words"},
        {"input": "input", "state": "h"},
        {"input": "input", "state": ["h"], "dim_h": 2},
        {"state": "h", "dim_hidden": 7},
    ],
)
def test_states_are_named_by_their_sizes_or_outright(tmp_path, more):
    graph = loaded(tmp_path, recurrent(**more), {})
    assert [(t.name, t.shape, t.dtype) for t in graph.states] == [("h", (2,), "int16")]
    assert (graph.input.shape, graph.memory.input) == ((2,), Address("pad", 0))
    assert graph.memory.states == {"h": Address("pad", 4)}


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"dim_input": 2}, "recurrent: 'state' must name the buffer"),
        ({"dim_input": 2, "dim_x": 2}, "recurrent: there is no buffer or part 'x'"),
        ({"dim_input": 2, "dim_h": "2"}, "recurrent: 'dim_h' must be an integer"),
        ({"dim_input": 2, "dim_h": -2}, "h has the shape [-2]"),
        ({"dim_h": 2, "dtype": "int64"}, "recurrent: 'dtype' is 'int64'"),
    ],
)
def test_a_state_that_is_not_clear_is_refused(tmp_path, more, reason):
    assert reason in refusal(tmp_path, recurrent(**more), {})


def test_a_state_keeps_its_value_between_steps_and_not_between_samples(tmp_path):
    session = Session(loaded(tmp_path, recurrent(dim_input=2, dim_h=2), {}), profile())
    x = np.arange(24, dtype=np.int16).reshape(3, 4, 2)
    h0 = np.array([[100, 200], [-5, 5], [0, 1]], np.int16)
    got = session.run(x, h0)
    np.testing.assert_array_equal(got["sum"], h0[:, None] + np.cumsum(x, axis=1))
    np.testing.assert_array_equal(got["h"], got["sum"])
    np.testing.assert_array_equal(session.run(x)["h"], np.cumsum(x, axis=1))


def test_an_input_with_the_name_of_a_layer_gets_another(tmp_path):
    description = recurrent(dim_input=2, dim_h=2)
    description["layers"][0]["name"] = "h"
    graph = loaded(tmp_path, description, {})
    assert [t.name for t in graph.states] == ["h_buffer"]


# ---- weights in headers ----


def in_header(text):
    description, _ = firmware.small()
    fc = description["layers"][0]
    fc.update(weights="weights.h:FC_WT", bias="weights.h:FC_BIAS")
    fc["params"].update(dim_vec="weights.h:COLUMNS", num_of_rows=3)
    return description, text


HEADER = """\
#ifndef WEIGHTS_H
#define WEIGHTS_H
#define COLUMNS (2 << 1) // of the matrix
#define FC_WT {-6,-5,-4,-3, -2,-1,0,1, 2,3,4,5}
static const q7_t FC_BIAS[3] = {1, -0x2, 3};
#endif
"""


def test_headers_stand_in_for_arrays_and_numbers(tmp_path):
    description, text = in_header(HEADER)
    (tmp_path / "weights.h").write_text(text)
    (tmp_path / "other").mkdir()
    graph = loaded(tmp_path, description, {})
    same = loaded(tmp_path / "other", *firmware.small())
    assert graph.node("fc").params == same.node("fc").params
    for mine, other in (("weights.h:FC_WT", "fc_wt"), ("weights.h:FC_BIAS", "fc_bias")):
        np.testing.assert_array_equal(graph.arrays[mine], same.arrays[other].ravel())


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("0x2", "x2", "layer 'fc': bias: {folder}/weights.h:5: '-x2' names x2, which has no value"),
        ("-6", "-129", "layer 'fc': weights: {folder}/weights.h:4: -129 is not in -128..127"),
        ("(2 << 1)", "(2 << )", "layer 'fc': params: {folder}/weights.h:3: '(2 << )' is not an"),
        ("FC_BIAS", "FC_B", "layer 'fc': bias: {folder}/weights.h: there is no FC_BIAS"),
    ],
)
def test_a_fault_in_a_header_is_named_with_layer_file_and_line(tmp_path, old, new, reason):
    description, text = in_header(HEADER.replace(old, new))
    (tmp_path / "weights.h").write_text(text)
    assert reason.format(folder=tmp_path) in refusal(tmp_path, description, {})


@pytest.mark.parametrize("name", ["../weights.h:A", "/etc/passwd:A", "a:b:c", ":A", "weights.h:"])
def test_only_headers_beside_the_description_are_read(tmp_path, name):
    description, _ = in_header("")
    description["layers"][0]["params"]["dim_vec"] = 4
    description["layers"][0]["weights"] = name
    assert "must be a header next to network.json" in refusal(tmp_path, description, {})


def test_any_damage_gives_a_graph_or_an_error(tmp_path):
    path = firmware.write(tmp_path, firmware.small()[0], **firmware.small()[1])
    good = {name: (tmp_path / name).read_bytes() for name in ("network.json", "weights.npz")}
    random, reasons = np.random.default_rng(2), set()
    for turn in range(600):
        name = sorted(good)[turn % 2]
        data = bytearray(good[name])
        for _ in range(random.integers(1, 4)):
            data[random.integers(len(data))] = random.integers(256)
        for other, content in good.items():
            (tmp_path / other).write_bytes(data if other == name else content)
        try:
            graph = network_json.load(path)
            if sum(graph.memory.buffers.values()) < 2**20:
                plan(graph, profile())
        except Error as error:
            reasons.add(str(error))
    assert len(reasons) > 50
