"""Compiled networks with their original: names of operators, records of vela, comparisons."""

import json
import pickle
import shutil
import sys
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from ethosu_programs import SHAPE, Writer, tflite, write_pair
from paths import SHARED
from tflite_files import File

import qemu_nn
from qemu_nn.cli.main import main
from qemu_nn.errors import DeviceWarning, Error, ModelError
from qemu_nn.ethosu.operations import list_operations
from qemu_nn.ethosu.record import read_reasons
from qemu_nn.ethosu.tensors import join_operations
from qemu_nn.runtime.npu import list_programs

NPU = "ethos-u55-128"

#: Register of the output's zero point.
OFM_ZERO_POINT = 280


def codes(count=3):
    return np.random.default_rng(1).integers(-128, 128, (count, *SHAPE)).astype(np.int8)


def load(folder, record=True):
    original, compiled = write_pair(folder, record)
    return qemu_nn.load(compiled, original=original)


@pytest.mark.parametrize("record", [True, False])
def test_operations_have_the_names_of_the_originals_operators(tmp_path, record):
    network, x = load(tmp_path, record), codes()
    found = network.session(NPU).run(x, trace=True)
    assert [*found] == ["middle", "end1"]
    np.testing.assert_array_equal(found["middle"], x)
    assert network.original.matched == ("record" if record else "bytes")
    assert [each.place for each in network.original.operators] == ["npu", "npu"]


def test_the_record_has_the_compilers_estimate(tmp_path):
    original = load(tmp_path).original
    assert [(each.operator, each.operations, each.cycles) for each in original.operators] == [
        ("MAX_POOL_2D", 1, 70),
        ("MAX_POOL_2D", 1, 90),
    ]
    assert original.estimate["cycles_total"] == "170"


def test_a_saved_network_keeps_its_original(tmp_path):
    network = load(tmp_path)
    network.save(tmp_path / "net.qnz")
    again = qemu_nn.load(tmp_path / "net.qnz")
    for other in (again, pickle.loads(pickle.dumps(network))):
        assert other.original.operators == network.original.operators
        assert other.original.estimate == network.original.estimate
        assert [node.tensors for node in other.graph.nodes] == [
            node.tensors for node in network.graph.nodes
        ]
    x = codes()
    for name, values in network.session(NPU).run(x, trace=True).items():
        np.testing.assert_array_equal(again.session(NPU).run(x, trace=True)[name], values)


#: A record without names, as vela writes it of one graph of several.
_NAMELESS = """<debug>
<table name="source"><![CDATA[
"id","operator","ext_key"
1,"MaxPool",0
2,"MaxPool",1
3,"Concat",2
4,"MaxPool",3
]]></table>
<table name="optimised"><![CDATA[
"id","source_id","operator"
1,1,"MaxPool"
2,2,"MaxPool"
3,3,"MemoryCopy"
4,4,"MaxPool"
]]></table>
<table name="queue"><![CDATA[
"offset","cmdstream_id","optimised_id","scheduled_id"
{queue}]]></table>
<table name="cmdstream"><![CDATA[
"id"
1
]]></table>
</debug>
"""


@pytest.mark.parametrize(("moved", "is_whole"), [(0, True), (-1, False), (8, False)])
def test_a_concatenation_of_a_copy_and_of_an_output_has_its_name(tmp_path, moved, is_whole):
    side, joined = (2, 3, 4), (4, 3, 4)
    file = File()
    names = ("end0", "a", "b", "joined", "end1")
    shapes = [side, side, side, joined, joined]
    start, a, b, whole, end = (
        file.tensor((1, *shape), "INT8", 0.5, 0, name=name) for name, shape in zip(names, shapes)
    )
    file.inputs, file.outputs = [start], [end]
    window = {"StrideW": 1, "StrideH": 1, "FilterWidth": 1, "FilterHeight": 1}
    for source, made in ((start, a), (a, b)):
        file.operator("MAX_POOL_2D", [source], [made], "Pool2DOptions", **window)
    file.operator("CONCATENATION", [a, b], [whole], "ConcatenationOptions", Axis=1)
    file.operator("MAX_POOL_2D", [whole], [end], "Pool2DOptions", **window)
    writer, starts = Writer().kernel().clamp().set(ofm_scale=(1, 0)), []
    # a, its copy in the joined tensor, b in the joined tensor, end1
    for shape, read, written in ((side, 0, 256), (side, 256, 512), (side, 256, 536 + moved),
                                 (joined, 512, 1024)):  # fmt: skip
        writer.map("ifm", shape, read).map("ofm", shape, written, bits=0x100)
        starts.append(4 * len(writer.run("pool", 0).words) - 4)
    ends = [((1, *side), "INT8", 0.5, 0, 0)], [((1, *joined), "INT8", 0.5, 0, 1024)]
    compiled = tflite(writer, *ends).save(tmp_path, "net_vela.tflite")
    queue = "".join(f"{at},1,{source},{7 + source}\n" for at, source in zip(starts, (1, 3, 2, 4)))
    record = _NAMELESS.format(queue=queue)
    (tmp_path / "net_debug.xml").write_text(record, encoding="utf-8")
    network = qemu_nn.load(compiled, original=file.save(tmp_path))
    (node,) = list_programs(network.graph)
    listed = list_operations(*(network.graph.arrays[name] for name in (node.weights, node.bias)))
    parts = listed[1:3]
    assert (join_operations(parts, joined, False) is not None) == is_whole
    assert join_operations([parts[0], replace(parts[1], region=2)], joined, False) is None
    x = np.random.default_rng(1).integers(-128, 128, (2, *side)).astype(np.int8)
    found = network.session(NPU).run(x, trace=True)
    assert ("joined" in found) == is_whole
    np.testing.assert_array_equal(found["a"], x)
    if is_whole:
        np.testing.assert_array_equal(found["joined"], np.concatenate([x, x], 1))


def test_a_record_of_another_stream_is_refused(tmp_path):
    original, compiled = write_pair(tmp_path)
    path = tmp_path / "net_debug.xml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('\n11,1,8,"MaxPool"', '\n11,1,8,"Max'), encoding="utf-8")
    with pytest.raises(ModelError, match="no record of vela"):
        qemu_nn.load(compiled, original=original)
    path.write_text(text.replace(",1,8,11", ",1,8,11\n8,1,8,11"), encoding="utf-8")
    with pytest.raises(ModelError, match="records the compilation of another network"):
        qemu_nn.load(compiled, original=original)


def test_an_original_that_does_not_fit_is_refused(tmp_path):
    original, compiled = write_pair(tmp_path)
    with pytest.raises(Error, match="no command stream"):
        qemu_nn.load(original, original=original)
    with pytest.raises(Error, match="must be the quantized"):
        qemu_nn.load(compiled, original=compiled)
    with pytest.raises(ModelError, match="there is no file"):
        qemu_nn.load(compiled, original=tmp_path / "none.tflite")


def test_variants_compare_the_npu_with_the_core_and_the_reference(tmp_path):
    network, x = load(tmp_path), codes()
    rows = qemu_nn.variants(network, x, target=NPU).records()
    assert [(row["layer"], row["differing"], row["operator"], row["alone"]) for row in rows] == [
        ("middle", 0, "MAX_POOL_2D", 0),
        ("end1", 0, "MAX_POOL_2D", 0),
    ]


def test_variants_name_the_first_operator_that_differs(tmp_path):
    network, x = load(tmp_path), np.zeros((1, *SHAPE), np.int8)
    graph = network.graph
    (node,) = (node for node in graph.nodes if node.tensors)
    words = graph.arrays[node.weights].view(np.uint32).copy()
    first = np.flatnonzero((words & 0xC3FF) == OFM_ZERO_POINT)[0]
    words[first] += 1 << 16
    arrays = {**graph.arrays, node.weights: words.view(np.uint8)}
    other = replace(network, graph=replace(graph, arrays=arrays))
    rows = qemu_nn.variants(other, x, target=NPU).records()
    assert [row["since"] for row in rows] == ["middle", "middle"]
    assert [row["alone"] for row in rows] == [rows[0]["elements"], 0]
    assert rows[0]["other_profiles"] == "cortex-m55; reference kernels"


def test_analyze_speaks_of_the_originals_layers(tmp_path):
    report = qemu_nn.analyze(load(tmp_path), codes(), target=NPU)
    assert [layer.name for layer in report.layers] == ["end0", "middle", "end1"]
    assert all(layer.saturated == 0 for layer in report.layers)
    assert report.notes == ("vela estimates 170 cycles of the whole network; nothing was measured",)


def test_info_lists_operators_memory_and_the_estimate(tmp_path):
    original, compiled = write_pair(tmp_path)
    run = CliRunner().invoke(main, ["info", str(compiled), "--original", str(original), "--json"])
    assert run.exit_code == 0, run.output
    found = json.loads(run.output)
    assert [row["vela_cycles"] for row in found["operators"]] == [70, 90]
    assert found["npu_memory"] == {"constants": 0, "arena": 4096, "fast": 0}
    assert found["vela_estimate"]["cycles_npu"] == 160
    text = CliRunner().invoke(main, ["info", str(compiled), "--original", str(original)]).output
    assert "170 cycles, estimated by vela (NPU 160, SRAM 44)" in text
    alone = CliRunner().invoke(main, ["info", str(compiled)]).output
    assert "bytes: constants 0, arena 4,096, fast 0" in alone
    assert "estimated" not in alone


def test_an_estimate_that_is_no_number_counts_nothing(tmp_path):
    network = load(tmp_path)
    estimate = {**network.original.estimate, "cycles_total": "many", "cycles_npu": "inf"}
    original = replace(network.original, estimate=estimate)
    assert [original.figure(name) for name in ("cycles_total", "cycles_npu", "none")] == [0, 0, 0]
    assert qemu_nn.analyze(replace(network, original=original), codes(), target=NPU).notes == ()


def test_the_data_sheet_labels_the_estimate(tmp_path):
    facts = qemu_nn.datasheet(load(tmp_path), target=NPU).facts
    assert str(facts["vela_estimate"]) == "170 cycles, estimated by vela (NPU 160, SRAM 44)"


def test_the_core_may_round_once(tmp_path):
    network = load(tmp_path)
    target = qemu_nn.Target(NPU, rounding="single")
    rows = qemu_nn.variants(network, codes(), target=target).records()
    assert [row["differing"] for row in rows] == [0, 0]  # maxima do not round


def test_reasons_are_in_the_compilers_words():
    text = """
Warning (supported operators) operator: CAST, ofm: 'a'
Reason: Unsupported opType

Warning (supported operators) operator: MAXIMUM, ofm: 'b/c'
Reason: Unsupported dataType Int32
32-bit feature-maps are not supported.

"""
    assert read_reasons(text) == {
        "a": ("CAST", "Unsupported opType"),
        "b/c": ("MAXIMUM", "Unsupported dataType Int32 32-bit feature-maps are not supported"),
    }


# ---- with vela ----

OPERATORS = SHARED / "golden" / "tflm_ops"


@pytest.mark.slow
@pytest.mark.skipif(not OPERATORS.exists(), reason="the operators are not here")
@pytest.mark.parametrize(
    ("name", "npu", "effect"),
    [
        ("sum_image_same_scale", "ethos-u55-128", r"sums only one of its axes \[1, 2\]"),
        ("mirror_pad_reflect_int8", "ethos-u55-128", "does not mirror channels"),
        ("fully_connected_16x8_bias32", "ethos-u85-256", "cuts the multiplier"),
        ("sum_rows", "ethos-u55-128", None),
        ("fully_connected_16x8_bias32", "ethos-u55-128", None),
    ],
)
def test_wrong_programs_warn_with_operator_and_effect(name, npu, effect):
    pytest.importorskip("ethosu.vela", reason="vela is not installed")
    network = qemu_nn.vela(OPERATORS / f"{name}.tflite", npu)
    (operator,) = network.original.operators
    if effect is None:
        assert operator.effect == ""
        return
    with pytest.warns(DeviceWarning, match=f"{operator.operator}.*{effect}"):
        table = qemu_nn.variants(network, target=npu)
    assert "vela 5.2" in table.records()[-1]["reason"]


@pytest.mark.skipif(not OPERATORS.exists(), reason="the networks are not here")
@pytest.mark.parametrize("optimise", ["Performance", pytest.param("Size", marks=pytest.mark.slow)])
def test_vela_names_every_layer_of_a_public_network(optimise):
    pytest.importorskip("ethosu.vela", reason="vela is not installed")
    path = SHARED / "models_tflite" / "kws_ref_model.tflite"
    network = qemu_nn.vela(path, NPU, optimise=optimise)
    rows = qemu_nn.variants(network, target=NPU).records()
    assert len(rows) == len(network.original.graph.nodes)
    assert {(row["differing"], row["alone"]) for row in rows} == {(0, 0)}
    assert sum(each.cycles or 0 for each in network.original.operators) > 50_000


# ---- check ----

#: A stand-in of vela: its text, and the file that it writes.
VELA = """
import shutil, sys
source, folder = sys.argv[1], sys.argv[sys.argv.index("--output-dir") + 1]
print("Warning (supported operators) operator: MAX_POOL_2D, ofm: 'middle'")
print("Reason: Unsupported opType")
for name in ("net_vela.tflite", "net_debug.xml", "net_summary_x.csv"):
    shutil.copy(sys.argv[0].replace("__main__.py", name), folder)
"""


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """Return the folder of an original file, with a package that does what vela does."""
    package = tmp_path / "packages" / "ethosu" / "vela"
    package.mkdir(parents=True)
    original, _ = write_pair(package)
    (package / "__main__.py").write_text(VELA, encoding="utf-8")
    for each in (package, package.parent):
        (each / "__init__.py").write_text("", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "packages"))
    monkeypatch.syspath_prepend(str(tmp_path / "packages"))
    for name in ("ethosu", "ethosu.vela"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    folder = tmp_path / "networks"
    folder.mkdir()
    shutil.copy(original, folder)
    yield folder
    for name in ("ethosu", "ethosu.vela"):
        sys.modules.pop(name, None)


def test_check_compiles_a_folder_and_says_what_stays_on_the_core(stand_in):
    checks = qemu_nn.check(stand_in, NPU)
    (found,) = checks.models
    assert (found.runs, found.operators, found.on_core) == (True, 2, ())
    assert checks.text().endswith("1 of 1 networks run, 1 of them wholly on the NPU")


def test_check_says_why_an_operator_stays_on_the_core(stand_in):
    record = stand_in.parent / "packages" / "ethosu" / "vela" / "net_debug.xml"
    text = record.read_text(encoding="utf-8")
    first = text.split('"scheduled_id"\n')[1].split("\n")[0]
    record.write_text(text.replace(f"{first}\n", ""), encoding="utf-8")
    (found,) = qemu_nn.check(stand_in, NPU).models
    assert found.on_core == ("MAX_POOL_2D 'middle': Unsupported opType",)


def test_check_without_vela_names_the_command(stand_in, monkeypatch):
    monkeypatch.setitem(sys.modules, "ethosu", None)
    (found,) = qemu_nn.check(stand_in, NPU).models
    assert not found.runs
    assert "pip install" in found.reasons[0]


def test_the_core_next_to_an_npu_can_be_named(tmp_path):
    network, x = load(tmp_path), codes()
    target = qemu_nn.Target(f"{NPU}+m85")
    assert (target.core, target.npus) == ("cortex-m85", (NPU,))
    np.testing.assert_array_equal(network.session(target).run(x)["end1"], x)
    with pytest.raises(Error, match="must name a Cortex-M core"):
        qemu_nn.Target(f"{NPU}+esp32s3")
    with pytest.raises(Error, match="is compiled for ethos-u55-128"):
        network.session("ethos-u65-256+m55")


@pytest.mark.skipif(not OPERATORS.exists(), reason="the networks are not here")
def test_single_rounding_parts_at_the_first_convolution():
    pytest.importorskip("ethosu.vela", reason="vela is not installed")
    network = qemu_nn.vela(SHARED / "models_tflite" / "kws_ref_model.tflite", NPU)
    target = qemu_nn.Target(NPU, rounding="single")
    first = qemu_nn.variants(network, target=target).records()[0]
    assert (first["operator"], first["differing"], first["largest"]) == ("CONV_2D", 104, 1)
    assert (first["since"], first["alone"]) == (first["layer"], 104)
    assert "single rounding" in first["reason"]
