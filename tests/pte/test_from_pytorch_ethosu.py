"""From a module of PyTorch to the bits of an Ethos-U, by the libraries or by stand-ins of these."""

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from ethosu_programs import CONFIGURATIONS, Writer, container, pack_payload
from pte_files import Program

import qemu_nn
from qemu_nn.errors import Error

NPU = "ethos-u55-128"


def payload():
    """Return ExecuTorch's payload of a stream that copies 24 bytes."""
    writer = Writer().map("ifm", (2, 3, 4), 0).map("ofm", (2, 3, 4), 1024, bits=0x100).kernel()
    words = writer.clamp().set(ofm_scale=(1, 0)).run("pool", 0).stream
    shape = (1, 1, 1, 2, 3, 4)
    return pack_payload(container(words, CONFIGURATIONS[NPU]), [(shape, 0)], [(shape, 1024)])


class Calls(list):
    """Names and arguments of calls, in their order."""

    def stand_in(self, name, result):
        def called(*given, **named):
            self.append((name, given, named))
            return result(*given, **named) if callable(result) else result

        return called


class Tensor:
    """A stand-in of a tensor."""


class Module:
    """A stand-in of a module."""

    def eval(self):
        return self


@pytest.fixture
def calls(monkeypatch, tmp_path):
    """Replace PyTorch, torchao and ExecuTorch; the program is that of the tests' payload."""
    calls = Calls()
    program = Program()
    first, last = (program.tensor("int8", (2, 3, 4)) for _ in range(2))
    program.delegate("EthosUBackend", payload(), first, last)
    content = program.write(tmp_path / "net.pte", [first], [last]).read_bytes()
    deployed = SimpleNamespace(to_executorch=lambda: SimpleNamespace(buffer=content))
    edge = SimpleNamespace(transform=calls.stand_in("transform", deployed))
    exported = SimpleNamespace(module=calls.stand_in("module", "exported"))
    prepared = calls.stand_in("calibrate", None)
    spec = SimpleNamespace(
        DebugMode=SimpleNamespace(TOSA="in the file"),
        compiler_flags=[],
        dump_intermediate_artifacts_to=calls.stand_in("dump", None),
        dump_debug_info=calls.stand_in("debug", None),
    )
    fakes = {
        "torch": {
            "nn": SimpleNamespace(Module=Module),
            "Tensor": Tensor,
            "export": SimpleNamespace(export=calls.stand_in("export", exported)),
        },
        "torchao.quantization.pt2e.quantize_pt2e": {
            "prepare_pt2e": calls.stand_in("prepare", lambda *_: prepared),
            "convert_pt2e": calls.stand_in("convert", "quantized"),
        },
        "executorch.exir": {"to_edge_transform_and_lower": calls.stand_in("lower", edge)},
        "executorch.backends.arm.ethosu": {
            "EthosUCompileSpec": calls.stand_in("spec", spec),
            "EthosUPartitioner": calls.stand_in("partitioner", "partitioner"),
        },
        "executorch.backends.arm.quantizer": {
            "EthosUQuantizer": lambda spec: SimpleNamespace(
                set_global=calls.stand_in("quantizer", None)
            ),
            "get_symmetric_quantization_config": lambda: "int8",
        },
        "executorch.backends.cortex_m.passes.replace_quant_nodes_pass": {
            "ReplaceQuantNodesPass": lambda: "replace"
        },
        "ethosu.vela.vela": {},
    }
    for name, members in fakes.items():
        parts = name.split(".")
        for end in range(1, len(parts)):
            parent = ".".join(parts[:end])
            monkeypatch.setitem(sys.modules, parent, ModuleType(parent))
        module = ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name, module)
    return calls


def test_a_module_is_quantized_compiled_and_loaded(calls):
    network = qemu_nn.from_pytorch(Module(), Tensor(), [Tensor(), (Tensor(),)], target=NPU)
    assert network.graph.name == "Module"
    names = [name for name, _, _ in calls]
    assert names == [
        *("spec", "dump", "debug", "quantizer", "export", "module", "prepare", "calibrate"),
        *("calibrate", "convert", "export", "partitioner", "lower", "transform", "spec"),
    ]
    assert calls[0][2] == {"target": NPU}
    assert calls[-3][2] == {"partitioner": ["partitioner"]}
    x = np.random.default_rng(1).integers(-128, 128, (2, 2, 3, 4)).astype(np.int8)
    (output,) = network.session(NPU).run(x).values()
    np.testing.assert_array_equal(output, x)


def test_what_does_not_fit_is_refused(calls, monkeypatch):
    with pytest.raises(Error, match=r"must be a torch\.nn\.Module"):
        qemu_nn.from_pytorch(1, Tensor(), [Tensor()], target=NPU)
    with pytest.raises(Error, match="calibration has no samples"):
        qemu_nn.from_pytorch(Module(), Tensor(), [], target=NPU)
    with pytest.raises(Error, match="explicit_layout is for a Cortex-M"):
        qemu_nn.from_pytorch(Module(), Tensor(), [Tensor()], target=NPU, explicit_layout=True)
    monkeypatch.setitem(sys.modules, "executorch.backends.arm.ethosu", None)
    with pytest.raises(Error, match="pip install"):
        qemu_nn.from_pytorch(Module(), Tensor(), [Tensor()], target=NPU)


def test_a_fault_of_the_backend_is_a_sentence(calls):
    vars(sys.modules["executorch.exir"])["to_edge_transform_and_lower"] = lambda *_, **__: 1 / 0
    with pytest.raises(Error, match=f"cannot lower Module for {NPU}: division by zero"):
        qemu_nn.from_pytorch(Module(), Tensor(), [Tensor()], target=NPU)


@pytest.mark.slow
def test_executorchs_arm_backend_gives_a_network_that_runs():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    pytest.importorskip("ethosu.vela", reason="vela is not installed")
    pytest.importorskip(
        "executorch.backends.arm.ethosu", reason="ExecuTorch with its Arm backend is not installed"
    )
    torch.manual_seed(0)
    layers = (torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.AvgPool2d(2))
    module = torch.nn.Sequential(*layers, torch.nn.Flatten(), torch.nn.Linear(128, 10)).eval()
    images = [torch.randn(1, 3, 8, 8) for _ in range(8)]
    network = qemu_nn.from_pytorch(module, images[0], images, target=NPU)
    want = module(images[1]).detach().numpy()
    got = network.predict(images[1].numpy(), target=NPU)
    assert np.abs(got - want).max() < 0.05 * np.abs(want).max()
    found = network.session(NPU).run(images[1].numpy()[None], trace=True)
    assert {"conv2d", "avg_pool2d", "linear"} <= {*found}
    np.testing.assert_array_equal(found["linear"].ravel(), found["EthosUBackend_1"].ravel())
