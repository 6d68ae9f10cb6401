"""From a module of PyTorch to the device's bits, where PyTorch and ExecuTorch are installed."""

import copy
import re
import shutil
import sys
from contextlib import redirect_stdout
from io import StringIO

import numpy as np
import pytest
from paths import ROOT

import qemu_nn
from qemu_nn import executorch
from qemu_nn.errors import Error, Refused

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip(
    "executorch.backends.cortex_m.quantizer",
    reason="ExecuTorch with its Cortex-M backend is not installed",
)


class Classifier(torch.nn.Module):
    """A residual block, an average, and two heads."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.norm = torch.nn.BatchNorm2d(8)
        self.deep = torch.nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.pool = torch.nn.AvgPool2d(2)
        self.heads = torch.nn.Linear(8 * 16, 10)

    def forward(self, x):
        x = torch.relu(self.norm(self.first(x)))
        x = self.pool(x + self.deep(x))
        classes, box = self.heads(x.flatten(1)).split([6, 4], 1)
        return torch.softmax(classes, -1), box


@pytest.fixture(scope="module")
def images():
    torch.manual_seed(17)
    return [torch.randn(1, 3, 8, 8) for _ in range(8)]


@pytest.fixture(scope="module")
def module():
    torch.manual_seed(17)
    return Classifier()


@pytest.fixture(scope="module")
def program(module, images):
    return executorch.lower(module, (images[0],), images, target="m4")


def test_every_node_has_the_value_that_the_file_s_network_computes(program, images, tmp_path):
    path = tmp_path / "net.pte"
    result = executorch.run(program, images[1], target="m4")
    graph = program.exported_program().graph
    calls = [node.name for node in graph.nodes if node.op == "call_function"]
    silent = {name for name in calls if name.startswith(("alloc", "aten_split"))}
    assert set(calls) - silent == set(result.nodes)

    deployed = copy.deepcopy(program).to_executorch()  # whose views are no instructions
    path.write_bytes(deployed.buffer)
    scores = qemu_nn.load(path).predict(images[1].numpy(), target="m4")
    for got, want in zip(scores.values(), result.outputs):
        np.testing.assert_array_equal(got, want)


def test_only_the_average_parts_from_the_python_reference(program, images):
    comparison = executorch.compare(program, images[1], target="m4")
    differ = [finding for finding in comparison.findings if not finding.same]
    assert {finding.name.rpartition("_default")[0] for finding in differ} <= {
        "cortex_m_quantized_avg_pool2d"
    }
    assert all("halves away from zero" in finding.difference.cause for finding in differ)


@pytest.mark.parametrize("padding", [0, 1])
def test_a_transposed_convolution_parts_where_its_padding_is_no_multiple_of_its_stride(padding):
    torch.manual_seed(17)
    decoder = torch.nn.Sequential(
        torch.nn.ConvTranspose2d(4, 2, 3, stride=2, padding=padding), torch.nn.ReLU()
    )
    x = torch.linspace(-1, 1, 64).reshape(1, 4, 4, 4)
    comparison = executorch.compare(executorch.lower(decoder, x, [x]), x)
    assert comparison.same == (padding == 0)
    if padding:
        assert "issue 230" in comparison.first.difference.cause


def test_a_recording_is_held_against_the_device(program, images):
    recorded = dict(executorch.run(program, images[1], target="m4").nodes)
    executorch.assert_same(program, images[1], recorded, target="m4")
    node = "cortex_m_quantized_add_default"
    recorded[node] = torch.from_numpy(np.maximum(recorded[node], 3))
    with pytest.raises(AssertionError, match=f"DIFFERS  {node}"):
        executorch.assert_same(program, images[1], recorded, target="m4")
    with pytest.raises(Error, match="no instruction is made for nonsense"):
        executorch.compare(program, images[1], {"nonsense": recorded[node]}, target="m4")


def test_a_program_of_another_core_stops_where_the_device_does(program, images):
    with pytest.raises(Refused, match="built for cores without Helium"):
        executorch.run(program, images[1], target="m55")


def test_from_pytorch_is_load_of_the_lowered_program(module, program, images):
    before = {name: value.clone() for name, value in module.state_dict().items()}
    network = qemu_nn.from_pytorch(module, (images[0],), images, target="m4")
    assert all(torch.equal(before[name], value) for name, value in module.state_dict().items())
    scores = network.predict(images[2], target="m4")
    wanted = executorch.run(program, images[2], target="m4").outputs
    for got, want in zip(scores.values(), wanted):
        np.testing.assert_array_equal(got, want)
    with torch.no_grad():
        real = module.eval()(images[2])
    for got, want in zip(scores.values(), real):
        assert np.abs(got - want.numpy()).max() < 0.2


def test_what_cannot_be_lowered_is_a_sentence(module, images):
    with pytest.raises(Error, match="calibration has no samples"):
        executorch.lower(module, (images[0],), [])
    with pytest.raises(Error, match=r"must be a torch\.nn\.Module"):
        executorch.lower("net.pt", (images[0],), images)
    with pytest.raises(Error, match="contains 'x', which is no tensor"):
        executorch.lower(module, ("x",), images)
    with pytest.raises(Error, match="no core or chip"):
        executorch.lower(module, (images[0],), images, target="npu")
    with pytest.raises(Error, match="ExecuTorch cannot lower Classifier"):
        executorch.lower(module, (torch.zeros(1, 5, 8, 8),), images)
    with pytest.raises(Error, match="must be an EdgeProgramManager"):
        executorch.run(module, images[0])


def test_a_missing_part_of_executorch_is_named(module, images, monkeypatch):
    monkeypatch.setitem(sys.modules, "executorch.backends.cortex_m.target_config", None)
    with pytest.raises(Error, match=r"needs executorch, .*\[executorch\]"):
        executorch.lower(module, (images[0],), images)


PAGE = ROOT / "docs" / "tutorials" / "pytorch.md"


@pytest.mark.skipif(
    any(shutil.which(tool) is None for tool in ("make", "arm-none-eabi-gcc", "qemu-system-arm")),
    reason="the tutorial ends on emulated cores",
)
@pytest.mark.compiles
def test_the_tutorial_prints_what_it_says(tmp_path, monkeypatch):
    """Words and shapes; numbers may be others with other releases."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE.read_text("utf-8"), re.S)
    scope = {"__name__": "__main__"}
    assert len(blocks) == 6
    for code, printed in blocks:
        output = StringIO()
        with redirect_stdout(output):
            exec(compile(code, PAGE.name, "exec"), scope)
        said, wanted = (
            re.sub(r"-?[\d.]+", "#", text).split() for text in (output.getvalue(), printed)
        )
        assert said == wanted
    assert "PASS: 0 failures" in output.getvalue()


def test_the_guide_s_steps_are_torch_s_lstm_and_go_both_ways(tmp_path):
    page = (ROOT / "docs" / "importing.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(class Steps.*?)```", page, re.DOTALL)
    found = {"torch": torch}
    exec(block, found)
    torch.manual_seed(1)
    lstm, x = torch.nn.LSTM(3, 4, batch_first=True).eval(), torch.randn(16, 5, 3)
    steps = found["Steps"](lstm).eval()
    want = lstm(x)[0][:, -1].detach().numpy()
    assert np.abs(steps(x).detach().numpy() - want).max() < 1e-6
    with redirect_stdout(StringIO()):
        torch.onnx.export(steps, (x[:1],), str(tmp_path / "net.onnx"), dynamo=True)
        lowered = qemu_nn.from_pytorch(steps, (x[:1],), [(v[None],) for v in x], target="m4")
    network = qemu_nn.quantize(qemu_nn.load(tmp_path / "net.onnx"), x.numpy(), scheme="affine")
    assert np.abs(network.predict(x.numpy()) - want).max() < 0.05
    assert np.abs(lowered.session("m4").predict(x[:1].numpy()) - want[:1]).max() < 0.05


def test_torch_s_own_lstm_is_refused_with_a_way_out(tmp_path):
    lstm, x = torch.nn.LSTM(3, 4, batch_first=True).eval(), torch.randn(1, 5, 3)
    with redirect_stdout(StringIO()):
        torch.onnx.export(lstm, (x,), str(tmp_path / "net.onnx"), dynamo=True)
    with pytest.raises(Error, match="write its steps"):
        qemu_nn.load(tmp_path / "net.onnx", output=None)
    with pytest.raises(Error, match=r"as steps of torch\.nn\.Linear"):
        qemu_nn.from_pytorch(lstm, (x,), [(x,)], target="m4")
