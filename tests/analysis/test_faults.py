"""Faults planted in layers: the search names them, and nothing where nothing explains the bytes."""

import json
import time
from dataclasses import replace

import faulty_networks
import networks
import numpy as np
import pytest
from click.testing import CliRunner

import qemu_nn
from qemu_nn.analysis.fault_search import Found, spell
from qemu_nn.api import golden as pipeline
from qemu_nn.api.faults import fault_search
from qemu_nn.cli.main import main
from qemu_nn.errors import Error
from qemu_nn.functions import FUNCTIONS, layouts
from qemu_nn.kernels.table import call, list_rows, make_params


class Device:
    """A network, its goldens, and what its layers compute."""

    def __init__(self, graph, folder):
        self.graph, self.folder = graph, folder
        self.network = pipeline.Network(graph)
        self.x = faulty_networks.inputs(graph)
        pipeline.golden(self.network, self.x, folder / "goldens")
        self.trace = self.run(graph)

    def run(self, graph):
        return pipeline.Network(graph).session("cortex-m4").run(self.x, trace=True)

    def results(self, layer, graph=None, before=None, change=None):
        """Return what a faulty layer computes of its right inputs.

        graph: the network with the fault, of whose layer only the inputs are replaced.
        """
        node = (graph or self.graph).node(layer)
        tensors = {self.graph.input.name: self.x, **self.trace}
        single = replace(
            graph or self.graph,
            inputs=tuple(self.graph.tensors[name] for name in node.inputs),
            nodes=(node,),
            outputs=(layer,),
        )
        given = {name: tensors[name] for name in node.inputs}
        if before is not None:
            first = node.inputs[0]
            given[first] = before(given[first])
        computed = pipeline.Network(single).session("cortex-m4").run(given)[layer]
        return computed if change is None else change(computed)

    def cause(self, layer, results, sample=1):
        """Return the cause that compare() finds in a dump of this layer of one sample."""
        return self.causes({f"x{sample}_{layer}": results[sample]})[f"x{sample}/{layer}"]

    def causes(self, dumps):
        folder = self.folder / f"dumps{len(list(self.folder.iterdir()))}"
        folder.mkdir()
        for name, values in dumps.items():
            np.save(folder / f"{name}.npy", values)
        comparison = qemu_nn.compare(self.folder / "goldens", folder, network=self.network)
        return {f.name: f.difference.cause for f in comparison.findings if f.difference}


@pytest.fixture(scope="module")
def devices(tmp_path_factory):
    return {
        name: Device(make(), tmp_path_factory.mktemp(name))
        for name, make in faulty_networks.NETWORKS.items()
    }


def alter(graph, layer, arrays=None, **params):
    """Return a network with other arguments and arrays of one layer."""
    nodes = (
        replace(n, params={**n.params, **params}) if n.name == layer else n for n in graph.nodes
    )
    return replace(graph, nodes=tuple(nodes), arrays={**graph.arrays, **(arrays or {})})


ARGUMENTS = [
    ("keywords", "conv1", {"out_shift": 8}, "out_shift is 8 instead of 7"),
    ("keywords", "conv2", {"bias_shift": 1}, "bias_shift is 1 instead of 4"),
    ("keywords", "dense1", {"bias_shift": 10, "out_shift": 5}, "bias_shift and out_shift are exch"),
    ("keywords", "conv1", {"padding_x": 0, "padding_y": 0}, "the padding is absent"),
    (
        "keywords",
        "conv1",
        {"padding_x": 2, "padding_y": 1},
        "padding_y and padding_x are exchanged",
    ),
    ("keywords", "conv2", {"stride_x": 1, "stride_y": 2}, "stride_y and stride_x are exchanged"),
    (
        "keywords",
        "conv2",
        {"dim_kernel_x": 4, "dim_kernel_y": 3},
        "dim_kernel_y and dim_kernel_x ar",
    ),
    ("affine", "conv", {"input_offset": -12}, "input_offset has the other sign, -12"),
    ("affine", "dw", {"output_offset": 0}, "output_offset is absent: 0 instead of -128"),
    ("affine", "conv", {"act_min": -128, "act_max": 127}, "the activation is missing"),
    ("affine", "sum", {"act_max": 37}, "the activation clamps to [-128, 37]"),
    ("affine", "conv", {"pad_h": 1}, "the larger padding is on the other side: pad_h = 1"),
    ("affine", "conv", {"dilation_h": 2, "dilation_w": 2}, "dilation_h is 2 instead of 1"),
    ("affine", "sum", {"left_shift": 19}, "left_shift is 19 instead of 20"),
]


@pytest.mark.parametrize(("name", "layer", "params", "cause"), ARGUMENTS)
def test_wrong_arguments_are_named(devices, name, layer, params, cause):
    device = devices[name]
    found = device.cause(layer, device.results(layer, alter(device.graph, layer, **params)))
    nbytes = device.trace[layer][0].size
    assert cause in found
    assert f"explains {nbytes} of {nbytes} bytes" in found
    assert found.startswith(cause) or found.startswith("one of: ")


def stacked(graph, layer, **rows):
    """Return the bias of a layer with other rows: functions of the row."""
    names = [row.name for row in graph.node(layer).function.stack]
    bias = graph.arrays[f"{layer}_bias"].copy()
    for name, change in rows.items():
        bias[names.index(name)] = change(bias[names.index(name)])
    return {f"{layer}_bias": bias}


def own(graph, array, change):
    return {
        array: np.ascontiguousarray(change(graph.arrays[array])).reshape(graph.arrays[array].shape)
    }


ARRAYS = [
    (
        "keywords",
        "conv2",
        lambda g: own(g, "conv2_wt", lambda w: w.transpose(0, 3, 1, 2)),
        "as OIHW",
    ),
    (
        "keywords",
        "conv2",
        lambda g: own(g, "conv2_wt", lambda w: w.transpose(1, 2, 3, 0)),
        "as HWIO",
    ),
    ("keywords", "dense2", lambda g: own(g, "dense2_wt", np.transpose), "weights is transposed"),
    (
        "keywords",
        "dense1",
        lambda g: own(g, "dense1_wt", lambda w: layouts.dense_to_chw(w, (7, 4, 8))),
        "for an image flattened as CHW instead of HWC",
    ),
    (
        "keywords",
        "dense1",
        lambda g: own(g, "dense1_wt", lambda w: layouts.pack(w, "q7")),
        "the stream of the q7 _opt function instead of rows one after another",
    ),
    (
        "keywords",
        "conv1",
        lambda g: {"conv1_wt": g.arrays["conv2_wt"].ravel()[:120].reshape(6, 5, 4, 1)},
        "the weights are those of conv2",
    ),
    ("keywords", "conv1", lambda g: own(g, "conv1_bias", np.zeros_like), "the bias is absent"),
    (
        "affine",
        "dense",
        lambda g: own(g, "dense_bias", lambda b: b.astype(np.int8).astype(np.int32)),
        "the bias is stored as int8",
    ),
    ("affine", "last", lambda g: {"last_bias": g.arrays["dense_bias"][:20]}, "that of dense"),
    (
        "affine",
        "conv",
        lambda g: stacked(
            g, "conv", multiplier=lambda m: m * 0 + m[0], shift=lambda s: s * 0 + s[0]
        ),
        "per tensor, not per channel",
    ),
    ("affine", "conv", lambda g: stacked(g, "conv", shift=lambda s: s - 1), "is one too small"),
    ("affine", "conv", lambda g: stacked(g, "conv", shift=np.negative), "of the other sign"),
]


@pytest.mark.parametrize(("name", "layer", "arrays", "cause"), ARRAYS)
def test_wrong_arrays_are_named(devices, name, layer, arrays, cause):
    device = devices[name]
    faulty = alter(device.graph, layer, arrays(device.graph))
    assert cause in device.cause(layer, device.results(layer, faulty))


INPUTS = [
    ("conv1", lambda x: (x.view(np.uint8) ^ 128).view(np.int8), "the input's bytes are unsigned"),
    ("conv1", lambda x: np.roll(x, 1, axis=0), "the input data is that of the sample before"),
    (
        "dense1",
        lambda x: x.reshape(-1, 7, 4, 8).transpose(0, 3, 1, 2).reshape(x.shape),
        "the input is laid out as CHW instead of HWC",
    ),
]


@pytest.mark.parametrize(("layer", "before", "cause"), INPUTS)
def test_wrong_inputs_are_named(devices, layer, before, cause):
    device = devices["keywords"]
    assert cause in device.cause(layer, device.results(layer, before=before))


def test_a_layer_that_did_not_run_is_named(devices):
    device = devices["keywords"]
    cause = device.cause("relu1", device.trace["conv1"])
    assert cause.startswith("the layer did not run: the buffer still has its input; explains 432")


def test_overwritten_bytes_are_named_with_their_origin(devices):
    device = devices["keywords"]
    wrong = device.trace["conv2"].copy().reshape(2, -1)
    wrong[1, 40:100] = device.graph.arrays["dense1_wt"].ravel()[7:67]
    cause = device.cause("conv2", wrong)
    assert cause.startswith("bytes 40 to 99 of 224 are overwritten by the weights of dense1")
    wrong[1, 40:100] = 7
    assert "bytes 40 to 99 of 224 are overwritten by the byte 0x07" in device.cause("conv2", wrong)
    wrong[1, 40:100] = -91  # 0xa5
    assert "bytes 40 to 99 of 224 are scratch memory, which" in device.cause("conv2", wrong)


def test_another_function_of_the_same_arguments_is_named(devices):
    device = devices["affine"]
    nodes = tuple(
        replace(n, function=FUNCTIONS["arm_max_pool_s8"]) if n.name == "pool" else n
        for n in device.graph.nodes
    )
    results = device.results("pool", replace(device.graph, nodes=nodes))
    cause = device.cause("pool", results)
    assert cause.startswith("the function is arm_max_pool_s8 instead of arm_avgpool_s8; explains")


def test_a_clamp_that_does_not_belong_to_the_layer_is_named(devices):
    device = devices["keywords"]
    cause = device.cause("conv2", np.clip(device.trace["conv2"], -50, 60))
    assert cause.startswith("the output is clamped to [-50, 60]; explains 224 of 224 bytes")


def test_an_output_on_its_input_is_named(devices):
    device = devices["keywords"]
    node = device.graph.node("conv2")
    memory = np.zeros(1000, np.int8)
    memory[:432] = device.trace["relu1"][1].ravel()
    row = next(r for r in list_rows("convolve", "q7") if r.kind == "model")
    profile = device.network.session("cortex-m4").profile
    params = make_params(row.op, profile, node.function.struct_values(node.params))
    arrays = [np.ascontiguousarray(device.graph.arrays[f"conv2_{x}"]) for x in ("wt", "bias")]
    call(row, params, [memory[:432]], memory[:224], *arrays)
    assert not np.array_equal(memory[:224], device.trace["conv2"][1].ravel())
    cause = device.cause("conv2", [None, memory[:224].reshape(7, 4, 8)])
    assert cause.startswith("the output lies on its input: both begin at one address; explains 224")


def test_a_run_of_unknown_bytes_is_named_with_doubt(devices):
    device = devices["keywords"]
    wrong = device.trace["conv2"].copy().reshape(2, -1)
    wrong[1, 40:100] = np.random.default_rng(1).permutation(60)
    assert device.cause("conv2", wrong).startswith("perhaps bytes 40 to 99 of 224 are overwritten")
    wrong[1, 20:200] = np.random.default_rng(1).permutation(180) - 90
    assert device.cause("conv2", wrong) == ""


def test_nothing_is_said_where_nothing_explains_the_bytes(devices):
    device = devices["keywords"]
    noise = np.random.default_rng(1).integers(-128, 128, device.trace["conv1"].shape, np.int8)
    assert device.cause("conv1", noise) == ""


def test_two_faults_of_the_same_bytes_are_both_named(devices):
    device = devices["affine"]
    cause = device.cause("sum", device.results("sum", alter(device.graph, "sum", left_shift=19)))
    assert cause.startswith("one of: left_shift is 19 instead of 20; or out_shift is ")


def test_further_samples_decide_between_faults():
    first = Found(("a", "b"), "", 9, 5)
    assert spell(first).startswith("one of: a; or b; each explains 9 of 9 bytes")
    assert spell(first, [Found(("b",), "", 9, 5)]) == "b; explains 9 of 9 bytes"
    assert spell(first, [Found(("c",), "", 9, 5)]).startswith("one of: a; or b; or c; each")
    assert spell(Found(("a",), "", 9, 1)).startswith("perhaps a; explains 9 of 9 bytes, of which")
    assert spell(Found(("a",), "", 9, 5, complete=False)).startswith("perhaps a; ")


def test_a_layer_that_only_inherits_a_fault_is_not_accused(devices):
    device = devices["keywords"]
    faulty = device.run(alter(device.graph, "conv1", out_shift=8))
    causes = device.causes({f"x1_{name}": values[1] for name, values in faulty.items()})
    assert causes["x1/conv1"].startswith("out_shift is 8 instead of 7")
    assert set(causes) == {f"x1/{node.name}" for node in device.graph.nodes}
    inherited = "its inputs differ, and this is what the layer computes of them"
    assert {cause for name, cause in causes.items() if name != "x1/conv1"} == {inherited}


def test_firmware_with_its_own_memory_is_searched(tmp_path):
    graph = networks.classifier(memory=True)
    trace = pipeline.Network(graph).session("cortex-m4").run(networks.images(2), trace=True)
    wrong = alter(graph, "ip1", out_shift=12)
    got = pipeline.Network(wrong).session("cortex-m4").run(networks.images(2), trace=True)["ip1"]
    search = fault_search(graph, pipeline.Network(graph).session("cortex-m4").profile)
    values = {"data": networks.images(2)[0], **{name: each[0] for name, each in trace.items()}}
    found = search.find("ip1", values.pop("ip1"), got[0], values, {})
    assert spell(found) == "out_shift is 12 instead of 13; explains 10 of 10 bytes"


def test_a_search_takes_at_most_a_second(devices):
    device = devices["keywords"]
    noise = np.random.default_rng(1).integers(-128, 128, device.trace["conv2"].shape, np.int8)
    start = time.monotonic()
    device.cause("conv2", noise)
    assert time.monotonic() - start < 3  # the limit, and what other programs take meanwhile


def test_goldens_of_another_network_are_refused(devices):
    device = devices["keywords"]
    dump = device.folder / "other"
    dump.mkdir()
    np.save(dump / "x0_conv1.npy", device.trace["conv1"][0])
    with pytest.raises(Error, match="no golden of the layer 'conv' of affine: it is of another"):
        qemu_nn.compare(device.folder / "goldens", dump, network=devices["affine"].network)


def test_the_command_takes_the_network(devices, tmp_path):
    device = devices["keywords"]
    device.network.save(tmp_path / "net.qnz")
    dump = tmp_path / "dumps"
    dump.mkdir()
    np.save(dump / "x0_relu1.npy", device.trace["conv1"][0])
    words = ["compare", str(device.folder / "goldens"), str(dump), "--json"]
    done = CliRunner().invoke(main, [*words, "--model", str(tmp_path / "net.qnz")])
    cause = json.loads(done.output)["dumps"][0]["difference"]["cause"]
    assert cause.startswith("the layer did not run")
