"""Firmware in C and C++ that calls CMSIS-NN: read as the network that it computes."""

import json

import affine_networks
import firmware_sources
import networks
import numpy as np
import pytest
from click.testing import CliRunner

import qemu_nn
from qemu_nn.api import golden as pipeline
from qemu_nn.api.export import export
from qemu_nn.cli.main import main
from qemu_nn.errors import ModelError
from qemu_nn.importers import firmware
from qemu_nn.importers.firmware import child

pytest.importorskip("clang.cindex", reason="libclang is not installed")


@pytest.fixture(autouse=True)
def here(monkeypatch, request):
    """Read sources in this process, which is faster, unless a test asks for another."""
    if not request.function.__name__.endswith("process"):
        monkeypatch.setattr(firmware, "_ask", ask)


def ask(wanted, answered, where):
    found, arrays = child._read(dict(wanted))
    answered.write(json.dumps(found).encode() + b"\n" + b"".join(a.tobytes() for a in arrays))


def write(tmp_path, text, name="nn.c"):
    path = tmp_path / name
    path.write_text(text)
    return path


DENSE = """
#include "arm_nnfunctions.h"
static const q7_t weights[] = {1, -2, 3, 4, 5, 6, -7, 0x08};
static const q7_t bias[2] = {1, -1};
"""

CALL = "arm_fully_connected_q7({from}, weights, 4, 2, {bias_shift}, {out_shift}, bias, {to}, 0);"


def call(origin, to, bias_shift=1, out_shift=2):
    return CALL.replace("{from}", origin).format(to=to, bias_shift=bias_shift, out_shift=out_shift)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kws")
    layers = firmware_sources.quantize(firmware_sources.float_weights())
    return folder, firmware_sources.write_project(folder, layers), layers


def test_a_class_in_cpp_has_the_bytes_of_its_float_weights(project):
    folder, source, layers = project
    network = qemu_nn.load(source, include=[folder / "inc"])
    names = [node.name for node in network.graph.nodes]
    assert names == ["conv1", "relu", "conv2", "relu2", "dense1", "relu3", "dense2"]
    for name, (kernel, bias, bias_shift, out_shift) in layers.items():
        node = network.graph.node(name)
        np.testing.assert_array_equal(network.graph.arrays[node.weights].ravel(), kernel.ravel())
        np.testing.assert_array_equal(network.graph.arrays[node.bias], bias)
        assert (node.params["bias_shift"], node.params["out_shift"]) == (bias_shift, out_shift)
    assert network.graph.input.shape == (20, 10, 1)
    memory = network.graph.memory
    assert memory.buffers == {"in_data": 200, "scratch": 1536, "out_data": 10}
    assert str(memory.calls["conv2"].scratch) == "scratch+1024"
    assert str(memory.calls["conv2"].output) == "scratch+336"


def test_its_results_are_those_of_a_network_built_by_hand(project):
    folder, source, layers = project
    x = np.random.default_rng(2).integers(-128, 128, (3, 20, 10, 1), np.int8)
    found = qemu_nn.load(source, include=[folder / "inc"]).session("m4").run(x)["dense2"]

    def layer(name, function, source, **params):
        bias_shift, out_shift = layers[name][2:]
        own = {**params, "bias_shift": bias_shift, "out_shift": out_shift}
        return networks.node(name, function, [source], None, (name, f"{name}_b"), **own)

    conv = "arm_convolve_HWC_q7_basic_nonsquare"
    sizes = {"padding_x": 0, "padding_y": 0}
    first = {"dim_im_in_x": 10, "dim_im_in_y": 20, "ch_im_in": 1, "ch_im_out": 6}
    first.update(dim_kernel_x=4, dim_kernel_y=5, stride_x=1, stride_y=2)
    first.update(dim_im_out_x=7, dim_im_out_y=8, **sizes)
    second = {"dim_im_in_x": 7, "dim_im_in_y": 8, "ch_im_in": 6, "ch_im_out": 8}
    second.update(dim_kernel_x=3, dim_kernel_y=4, stride_x=3, stride_y=2)
    second.update(dim_im_out_x=2, dim_im_out_y=3, **sizes)
    dense = "arm_fully_connected_q7"
    nodes = (
        layer("conv1", conv, "x", **first),
        networks.node("relu1", "arm_relu_q7", ["conv1"], size=336),
        layer("conv2", conv, "relu1", **second),
        networks.node("relu2", "arm_relu_q7", ["conv2"], size=48),
        layer("dense1", dense, "relu2", dim_vec=48, num_of_rows=16),
        networks.node("relu3", "arm_relu_q7", ["dense1"], size=16),
        layer("dense2", dense, "relu3", dim_vec=16, num_of_rows=10),
    )
    arrays = {name: each[0] for name, each in layers.items()}
    arrays.update({f"{name}_b": each[1] for name, each in layers.items()})
    start = (networks.Tensor("x", (20, 10, 1), "int8"),)
    graph = networks.Graph("by hand", start, nodes, ("dense2",), arrays)
    wanted = pipeline.Network(graph).session("m4").run(x)["dense2"]
    np.testing.assert_array_equal(found, wanted)
    assert len(np.unique(found)) > 10


def test_structs_loops_and_ping_pong_buffers_are_followed(tmp_path):
    source = write(
        tmp_path,
        """
        #include "arm_nnfunctions.h"
        typedef struct { const int8_t *weights; const int32_t *bias; int32_t shift; } layer_t;
        static const int8_t w[3][16] = {{1, 2, 3}, {4, 5, 6}, {[3] = 7, -8}};
        static const int32_t b[3][4] = {{100}, {-200, 300}, {1, 2, 3, 4}};
        static const layer_t layers[] = {{w[0], b[0], -3}, {w[1], b[1], -4}, {w[2], b[2], -5}};
        static int8_t ping[16], pong[16];
        #define COUNT (sizeof layers / sizeof layers[0])
        arm_cmsis_nn_status run(const int8_t *x, int8_t *y) {
            cmsis_nn_fc_params params = {.input_offset = OFFSET, .activation = {-128, 127}};
            cmsis_nn_dims in = {1, 1, 1, 4}, filter = {4, 1, 1, 4}, out = {.n = 1, .c = 4};
            const int8_t *from = x;
            cmsis_nn_context ctx = {0};
            for (unsigned i = 0; i < COUNT; i++) {
                int8_t *to = i == COUNT - 1 ? y : (i % 2 ? pong : ping);
                const cmsis_nn_per_tensor_quant_params quant = {1 << 30, layers[i].shift};
                params.output_offset = (int)i;
                if (arm_fully_connected_s8(&ctx, &params, &quant, &in, from, &filter,
                                           layers[i].weights, &out, layers[i].bias, &out, to))
                    return ARM_CMSIS_NN_FAILURE;
                from = to;
            }
            return ARM_CMSIS_NN_SUCCESS;
        }
        """,
    )
    network = qemu_nn.load(source, defines={"OFFSET": 9})
    nodes = network.graph.nodes
    assert [node.params["shift"] for node in nodes] == [-3, -4, -5]
    assert [node.params["output_offset"] for node in nodes] == [0, 1, 2]
    assert {node.params["input_offset"] for node in nodes} == {9}
    assert network.graph.arrays[nodes[2].weights].ravel().tolist()[:6] == [0, 0, 0, 7, -8, 0]
    assert network.graph.arrays[nodes[1].bias].tolist() == [-200, 300, 0, 0]
    calls = network.graph.memory.calls
    assert [str(calls[n.name].output) for n in nodes] == ["ping", "pong", "y"]
    assert network.graph.input.shape == (4,)


def test_a_recurrent_network_is_one_step_with_its_state(tmp_path):
    source = write(
        tmp_path,
        """
        #include "arm_nnfunctions.h"
        q15_t memory[8];
        static q15_t first[4] = {1, 2, 3, 4}, second[4] = {5, 6, 7, 8};
        static void step(q15_t *m, int n) {
            q15_t *x = m, *history = m + n;
            arm_add_q15(x, history, history, n);
            arm_relu_q15(history, n);
        }
        int main(void) {
            arm_copy_q15(first, memory, 4);
            step(memory, 4);
            arm_copy_q15(second, memory, 4);
            step(memory, 4);
            return 0;
        }
        """,
    )
    network = qemu_nn.load(source)
    assert [node.function.name for node in network.graph.nodes] == ["arm_add_q15", "arm_relu_q15"]
    assert [tensor.shape for tensor in network.graph.states] == [(4,)]
    x = np.array([[[1, 2, 3, -40], [10, 20, 30, 50]]], np.int16)
    found = network.session("m4").run(x)
    assert found["relu"].tolist() == [[[1, 2, 3, 0], [11, 22, 33, 50]]]


def test_a_loop_over_data_runs_the_network_once(tmp_path):
    text = DENSE + "static const q7_t data[1000][4] = {{1, 2, 3, 4}};\nq7_t middle[2], y[2];\n"
    body = "for (int i = 0; i < 1000; i++) {\nconst q7_t *x = data[i];\n"
    body += f"{call('x', 'middle')} arm_relu_q7(middle, 2); }}"
    network = qemu_nn.load(write(tmp_path, f"{text}int main(void) {{ {body} return 0; }}"))
    assert [node.function.name for node in network.graph.nodes] == [
        "arm_fully_connected_q7",
        "arm_relu_q7",
    ]
    assert network.graph.memory.buffers == {"data": 4, "middle": 2}


def test_constants_that_code_copies_are_known_when_a_layer_reads_them(tmp_path):
    source = write(
        tmp_path,
        """
        #include <string.h>
        #include "arm_nnfunctions.h"
        static const int32_t multipliers[2][2] = {{1 << 30, 1 << 29}, {11, 12}};
        static const int32_t shifts[2] = {-1, -2};
        static const int8_t w[16] = {1, 2, 3};
        static int32_t m[2], s[2];
        int8_t a[8], b[8];
        static void point(const int8_t *x, int8_t *y) {
            cmsis_nn_context ctx = {NULL, 0};
            cmsis_nn_conv_params p;
            p.stride.w = p.stride.h = p.dilation.w = p.dilation.h = 1;
            p.padding.w = p.padding.h = p.input_offset = p.output_offset = 0;
            p.activation.min = -128, p.activation.max = 127;
            cmsis_nn_per_channel_quant_params q = {.multiplier = m, .shift = s};
            cmsis_nn_dims in = {1, 2, 2, 2}, filter, bias, out = {1, 2, 2, 2};
            filter.h = filter.w = 1;
            filter.c = 2;
            arm_convolve_wrapper_s8(&ctx, &p, &q, &in, x, &filter, w, &bias, NULL, &out, y);
        }
        void run(const int8_t *x) {
            for (int i = 0; i < 2; i++) s[i] = shifts[i];
            memcpy(m, multipliers[0], 8);
            point(x, a);
            memcpy(m, multipliers[1], sizeof m);
            point(a, b);
        }
        """,
    )
    graph = qemu_nn.load(source).graph
    rows = [graph.arrays[node.bias].tolist() for node in graph.nodes]
    assert rows == [[[0, 0], [1 << 30, 1 << 29], [-1, -2]], [[0, 0], [11, 12], [-1, -2]]]


def test_code_between_layers_that_changes_a_tensor_is_named(tmp_path):
    text = DENSE + "q7_t y[4], z[2];\nvoid run(q7_t *x) {\n" + call("x", "y")
    code = "for (int i = 0; i < 2; i++)\ny[i] = y[i] > 3 ? 3 : y[i];"
    source = write(tmp_path, f"{text}\n{code}\n{call('y', 'z')}\n}}")
    with pytest.raises(ModelError, match=r"nn.c:8: code between the layers writes y, which"):
        qemu_nn.load(source)


def test_loops_on_unknown_data_end(tmp_path):
    text = DENSE + "q7_t y[2];\nstatic q7_t image[64][64][64];\nvoid run(void) {\n"
    loops = "".join(f"for (int {i} = 0; {i} < 64; {i}++)\n" for i in "abc")
    body = f"{loops} image[a][b][c] = a ^ b ^ c;\n{call('&image[1][2][4]', 'y')} }}"
    memory = qemu_nn.load(write(tmp_path, text + body)).graph.memory
    assert str(memory.input) == f"image+{64 * 64 + 2 * 64 + 4}"


def test_definitions_come_from_sources_next_to_it(tmp_path):
    write(
        tmp_path, '#include "arm_math.h"\nconst q7_t weights[8] = {9}; q7_t bias[] = {7, 8};', "w.c"
    )
    text = '#include "arm_nnfunctions.h"\nextern const q7_t weights[8]; extern q7_t bias[2];\n'
    body = f"{text}void run(q7_t *x, q7_t *y) {{ {call('x', 'y')} }}"
    graph = qemu_nn.load(write(tmp_path, body)).graph
    assert [graph.arrays[name].ravel().tolist() for name in graph.arrays][1] == [7, 8]


def test_what_is_read_first_is_the_input_unless_it_is_named(tmp_path):
    text = DENSE + "q7_t a[4], b[4], sum[4], y[2];\nvoid run(void) { arm_add_q7(a, b, sum, 4);\n"
    source = write(tmp_path, f"{text}{call('sum', 'y')} }}")
    with pytest.raises(ModelError, match="bytes 0 to 3 of b, which nothing has written"):
        qemu_nn.load(source)
    text = DENSE + "q7_t image[16], y[2];\nvoid run(void) {"
    source = write(tmp_path, f"{text}{call('image + 4', 'y')} }}")
    graph = qemu_nn.load(source, inputs={"image": (2, 2, 1)}).graph
    assert (graph.input.shape, str(graph.memory.input)) == ((2, 2, 1), "image+4")
    with pytest.raises(ModelError, match="no layer reads 'picture' first; inputs= takes: image"):
        qemu_nn.load(source, inputs="picture")
    with pytest.raises(ModelError, match=r"the shape \[3\], but arm_fully_connected_q7 reads 4"):
        qemu_nn.load(source, inputs={"image": (3,)})


def test_what_cannot_be_followed_is_named_and_the_rest_is_written(tmp_path):
    text = DENSE + "extern int read_shift(void);\nvoid run(q7_t *x, q7_t *y, q7_t *z) {\n"
    body = f"{text}{call('x', 'y')}\n{call('y', 'z', out_shift='read_shift()')}\n}}"
    source = write(tmp_path, body)
    with pytest.raises(ModelError) as raised:
        qemu_nn.load(source)
    message = str(raised.value)
    assert (
        f"{source.resolve()}:8: arm_fully_connected_q7: out_shift depends on result of re"
        in message
    )
    assert "-o network.json, and complete it" in message
    output = tmp_path / "out" / "network.json"
    output.parent.mkdir()
    done = CliRunner().invoke(main, ["import", str(source), "-o", str(output)])
    assert done.exit_code == 0, done.output
    assert "to complete: " in done.output
    with pytest.raises(ModelError, match="'unresolved' names what could not be followed"):
        qemu_nn.load(output)
    values = json.loads(output.read_text())
    assert values["layers"][1]["params"]["out_shift"] is None
    complete(values, output)
    assert len(qemu_nn.load(output).graph.nodes) == 2


def complete(values, output):
    """Write the shift that only a run knows."""
    del values["unresolved"]
    first, second = values["layers"]
    second["params"]["out_shift"] = 3
    second.update(inputs=[first["output"]], output={"symbol": "z"})
    second.update(weights=first["weights"], bias=first["bias"])
    second["params"]["dim_vec"], second["params"]["num_of_rows"] = 2, 2
    values["buffers"]["z"] = {"bytes": 2}
    weights = np.load(output.parent / "weights.npz")
    arrays = {name: weights[name] for name in weights.files}
    arrays["small"] = arrays[first["weights"]].ravel()[:4]
    second["weights"] = "small"
    np.savez(output.parent / "weights.npz", **arrays)
    output.write_text(json.dumps(values))


def test_a_layer_that_the_compiler_does_not_understand_is_not_lost(tmp_path):
    text = DENSE + "q7_t y[2];\nvoid run(q7_t *x) {\n" + call("x", "y")
    source = write(tmp_path, f"{text}\n{call('y', 'absent')}\n}}")
    with pytest.raises(ModelError, match=r"nn.c:8: use of undeclared identifier 'absent'"):
        qemu_nn.load(source)


def test_a_condition_that_chooses_between_layers_is_named(tmp_path):
    text = DENSE + "q7_t y[2];\nvoid run(q7_t *x, int mode) {\n"
    body = f"if (mode) {{ {call('x', 'y')} }} else {{ {call('x', 'y', 2)} }}\n}}"
    with pytest.raises(ModelError, match=r"nn.c:7: a condition that only a run decides chooses"):
        qemu_nn.load(write(tmp_path, text + body))


def test_several_functions_need_a_choice(tmp_path):
    text = DENSE + f"q7_t y[2];\nvoid one(q7_t *x) {{ {call('x', 'y')} }}\n"
    source = write(tmp_path, text + f"void two(q7_t *x) {{ {call('x', 'y', 3)} }}\n")
    with pytest.raises(ModelError, match="several functions call layers: one, two; choose one"):
        qemu_nn.load(source)
    graph = qemu_nn.load(source, function="two").graph
    assert graph.nodes[0].params["bias_shift"] == 3


HOSTILE = {
    "absolute": '#include "{secret}"',
    "relative": '#include "../secret.h"',
    "computed": '#define NAME "{secret}"\n#include NAME',
    "linked": '#include "link.h"',
    "line": '#line 1 "{secret}"',
    "digraph": '%:include "{secret}"',
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_files_outside_of_the_folders_do_not_exist(tmp_path, kind):
    secret = tmp_path / "secret.h"
    secret.write_text("static const q7_t stolen[] = {42, 42, 42, 42, 42, 42, 42, 42};\n")
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "link.h").symlink_to(secret)
    text = '#include "arm_nnfunctions.h"\n' + HOSTILE[kind].format(secret=secret)
    text += "\nstatic const q7_t bias[2] = {1};\nvoid run(q7_t *x, q7_t *y) { "
    source = write(folder, text + call("x", "y").replace("weights", "stolen") + "}")
    with pytest.raises(ModelError, match="use of undeclared identifier 'stolen'"):
        qemu_nn.load(source)


def test_a_source_that_never_ends_is_refused(tmp_path):
    text = DENSE + "int f(int n) { return f(n + 1); }\nvoid run(q7_t *x, q7_t *y) {"
    source = write(tmp_path, f"{text} f(0); while (1) {{}} {call('x', 'y')} }}")
    with pytest.raises(ModelError, match="takes too many steps"):
        qemu_nn.load(source)


def test_nothing_of_a_source_is_executed_by_the_own_process(tmp_path):
    text = DENSE + "#include <stdlib.h>\nint system(const char *);\nvoid run(q7_t *x, q7_t *y) {"
    mark = tmp_path / "mark"
    source = write(tmp_path, f'{text} system("touch {mark}"); {call("x", "y")} }}')
    qemu_nn.load(source)
    assert not mark.exists()


@pytest.mark.parametrize("make", [networks.classifier, affine_networks.small])
def test_exports_of_this_package_are_read_back(tmp_path, make):
    graph = make()
    network = pipeline.Network(graph)
    x = np.random.default_rng(1).integers(-128, 128, (2, *graph.input.shape), np.int8)
    export(network, tmp_path / "export", target="cortex-m4")
    found = qemu_nn.load(tmp_path / "export" / "network.c")
    profile = network.session("m4").profile
    target = qemu_nn.Target("m4", cmsis=profile.cmsis)
    wanted = network.session(target).run(x, trace=True)
    given = found.session(target).run(x, trace=True)
    described = qemu_nn.load(tmp_path / "export").session(target).run(x, trace=True)
    assert set(described) >= set(wanted)
    for name, values in wanted.items():
        np.testing.assert_array_equal(described[name], values)
    results = [v for name, v in wanted.items() if not name.startswith("clobber")]
    own = [v for name, v in given.items() if not name.startswith("clobber")]
    for one, two in zip(results, own):
        np.testing.assert_array_equal(one.ravel(), two.ravel())


def test_a_recurrent_export_is_read_back_with_its_state(tmp_path):
    network = pipeline.Network(networks.recurrent())
    export(network, tmp_path / "export", data=np.ones((1, 2, 4), np.int16), target="cortex-m4")
    x = np.random.default_rng(1).integers(-9000, 9000, (2, 5, 4), np.int16)
    wanted = network.session("m4").run(x)
    for source in ("export", "export/network.c"):
        found = qemu_nn.load(tmp_path / source).session("m4").run(x)
        np.testing.assert_array_equal(next(iter(found.values())), wanted["sum"])


def test_exports_that_a_description_cannot_hold_have_none(tmp_path):
    add = networks.node("sum", "arm_add_q7", ["a", "b"], blockSize=4)
    starts = tuple(networks.Tensor(name, (4,), "int8") for name in "ab")
    graph = networks.Graph("two", starts, (add,), ("sum",), {})
    export(pipeline.Network(graph), tmp_path / "export", target="cortex-m4")
    assert not (tmp_path / "export" / "network.json").exists()


def quantize_q15(values):
    """Return integers and fraction bits of 16-bit arrays: 15 - ceil(log2(max|x|)) bits."""
    bits = 15 - int(np.ceil(np.log2(np.abs(values).max())))
    return np.clip(np.round(values * 2.0**bits), -32768, 32767).astype(np.int16), bits


def test_a_project_of_16_bits_has_the_bytes_of_its_float_weights(tmp_path):
    rng = np.random.default_rng(3)
    kernel, bias = rng.normal(0, 0.4, (3, 3, 2, 4)), rng.normal(0, 0.3, 4)  # Keras' HWIO
    stored, own = quantize_q15(np.moveaxis(kernel, 2, 0))
    moved, bias_bits = quantize_q15(bias)
    flat = stored.flatten("F")  # input channels first, then rows, columns and filters
    shifts = 12 + own - bias_bits, 12 + own - 11
    (tmp_path / "weights.h").write_text(
        f"#define WEIGHTS {{{', '.join(map(str, flat.tolist()))}}}\n"
        f"#define BIAS {{{', '.join(map(str, moved.tolist()))}}}\n"
        f"enum {{ BIAS_LSHIFT = {shifts[0]}, OUT_RSHIFT = {shifts[1]} }};\n"
    )
    source = write(
        tmp_path,
        """
        #include "arm_nnfunctions.h"
        #include "weights.h"
        static const q15_t conv_weight[] = WEIGHTS;
        static const q15_t conv_bias[4] = BIAS;
        static q15_t column[3 * 3 * 2];
        q15_t *infer(q15_t *image) {
            static q15_t out[6 * 6 * 4];
            arm_convolve_HWC_q15_basic(image, 8, 2, conv_weight, 4, 3, 0, 1, conv_bias, BIAS_LSHIFT,
                                       OUT_RSHIFT, out, 6, column, NULL);
            return out;
        }
        """,
    )
    network = qemu_nn.load(source)
    (node,) = network.graph.nodes
    np.testing.assert_array_equal(network.graph.arrays[node.weights].ravel(), flat)
    np.testing.assert_array_equal(network.graph.arrays[node.bias], moved)
    assert (node.params["bias_shift"], node.params["out_shift"]) == shifts
    x = rng.integers(-9000, 9000, (1, 8, 8, 2), np.int16)
    found = network.session("m4").run(x)["conv"][0].astype(np.float64) / 2**11
    turned = kernel.transpose(1, 0, 2, 3)  # the scheme stores columns before rows
    real = [
        [np.tensordot(x[0, y : y + 3, z : z + 3] / 2**12, turned, 3) + bias for z in range(6)]
        for y in range(6)
    ]
    assert np.abs(found - np.array(real)).max() < 0.01


def test_a_virtual_method_of_another_source_is_followed(tmp_path):
    base = "class NN { public: virtual void run(q7_t *x, q7_t *y) = 0; int classes; };\n"
    (tmp_path / "nn.h").write_text(f'#include "arm_math.h"\n{base}')
    (tmp_path / "dnn.h").write_text(
        '#include "nn.h"\nclass DNN : public NN { public: DNN(); void run(q7_t *x, q7_t *y); };\n'
    )
    body = f"DNN::DNN() {{ classes = 2; }}\nvoid DNN::run(q7_t *x, q7_t *y) {{ {call('x', 'y')} }}"
    write(tmp_path, f'#include "dnn.h"\n{DENSE}{body}\n', "dnn.cpp")
    source = write(
        tmp_path,
        """
        #include "dnn.h"
        #include "arm_nnfunctions.h"
        Serial console(USBTX, USBRX);
        class Spotter {
         public:
          Spotter() { nn = new DNN(); features = new q7_t[4]; scores = new q7_t[nn->classes]; }
          void classify() {
            nn->run(features, scores);
            arm_softmax_q7(scores, nn->classes, scores);
          }
          NN *nn;
          q7_t *features, *scores;
        };
        int main() {
          Spotter spotter;
          while (true) {
            console.printf("next");
            spotter.classify();
          }
        }
        """,
        "main.cpp",
    )
    graph = qemu_nn.load(source).graph
    assert [node.function.name for node in graph.nodes] == [
        "arm_fully_connected_q7",
        "arm_softmax_q7",
    ]
    assert graph.memory.buffers == {"features": 4, "scores": 2}
