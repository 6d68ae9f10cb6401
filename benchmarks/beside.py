"""Times .tflite files beside LiteRT, quantized .onnx files beside ONNX Runtime, and ExecuTorch
programs beside QEMU.

    python -m benchmarks.beside ../shared/models_tflite*/*.tflite
    python -m benchmarks.beside ../shared/qdq/*.onnx ../shared/pte/net_{cnn_mnist,res_small}_m4.pte

prints a line for each file: microseconds of one sample on one thread here and there, both in turns,
and how many times longer the other takes. LiteRT runs with its default delegate; a file that it
does not take is named with its reason. ONNX Runtime runs with its default optimizations, on real
inputs as its file has them; we on their integers. QEMU runs the exported self-test of the program,
with the export's plain kernels, on 101 samples and on 1: the difference is 100 runs, in seconds of
the processor. The .tflite files need ai-edge-litert, the .onnx files onnxruntime; the .pte files,
of one input, need make, arm-none-eabi-gcc and qemu-system-arm.
"""

import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import qemu_nn
from qemu_nn.bench.stopwatch import time_each
from qemu_nn.runtime.session import draw_inputs

SAMPLES, TURNS = 101, 6


def numbers(shape, dtype):
    """Inputs of a tensor: real ones of about 1, or any integers."""
    rng = np.random.default_rng(17)
    if np.dtype(dtype) == np.float32:
        return rng.normal(size=shape).astype(np.float32)
    ends = np.iinfo(dtype)
    return rng.integers(ends.min, ends.max + 1, shape).astype(dtype)


def lite_rt(path, network):
    """The timing of one run here and in LiteRT: setting tensors, invoking, getting tensors."""
    from ai_edge_litert.interpreter import Interpreter

    theirs = Interpreter(str(path), num_threads=1)
    theirs.allocate_tensors()
    fed = [(i["index"], numbers(i["shape"], i["dtype"])) for i in theirs.get_input_details()]
    read = [each["index"] for each in theirs.get_output_details()]

    def invoke():
        for index, values in fed:
            theirs.set_tensor(index, values)
        theirs.invoke()
        return [theirs.get_tensor(index) for index in read]

    stream, x = network.session().stream(), draw_inputs(network.graph, 1)
    x = [each.reshape(t.shape) for each, t in zip(listed(x), network.graph.inputs)]
    x = x if len(x) > 1 else x[0]
    found = time_each({"ours": lambda: stream.step(x), "theirs": invoke})
    return found["ours"], found["theirs"]


def listed(x):
    """The arrays of one input or of several."""
    return x if isinstance(x, list) else [x]


def onnx_runtime(path, network):
    """The timing of one run here and in ONNX Runtime."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    theirs = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    inputs = theirs.get_inputs()
    fed = {each.name: sample(each) for each in inputs}
    codes = network.host.codes(fed)
    ours = network.session()
    runs = {"ours": lambda: ours.run(codes), "theirs": lambda: theirs.run(None, fed)}
    found = time_each(runs)
    return found["ours"], found["theirs"]


def sample(declared):
    """One sample of an input as ONNX Runtime declares it."""
    shape = [side if isinstance(side, int) else 1 for side in declared.shape]
    types = {"tensor(float)": "float32", "tensor(int8)": "int8", "tensor(uint8)": "uint8"}
    return numbers(shape, types[declared.type])


def emulated(network, folder):
    """Seconds of one run on QEMU's Cortex-M4, of the processor: others may be busy on this host."""
    spent = {}
    x = numbers((SAMPLES, *network.graph.input.logical), network.graph.input.dtype)
    for count in (SAMPLES, 1):
        at = folder / str(count)
        qemu_nn.export(network, at, target="m4", data=x[:count])
        make = ["make", "-s", "-C", str(at), "m4"]
        times = []
        for _ in range(TURNS):  # the first one compiles
            start = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            said = subprocess.run(make, check=True, capture_output=True, text=True).stdout
            times.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - start)
            assert said.splitlines()[-1] == "PASS: 0 failures"
        spent[count] = min(times)
    return (spent[SAMPLES] - spent[1]) / (SAMPLES - 1)


def program(network):
    """The timing of one run of a program here, and QEMU's seconds."""
    session = network.session(target="m4")
    x = numbers((1, *network.graph.input.shape), network.graph.input.dtype)
    ours = time_each({"ours": lambda: session.run(x)})["ours"]
    with tempfile.TemporaryDirectory() as folder:
        return ours, emulated(network, Path(folder))


def timed(path):
    """Return what one file takes here, and there, in seconds."""
    network = qemu_nn.load(path)
    if path.suffix == ".pte":
        ours, theirs = program(network)
        return ours.median, theirs
    ours, theirs = (lite_rt if path.suffix == ".tflite" else onnx_runtime)(path, network)
    return ours.median, theirs.median


def main(paths):
    """A line for each file, and the ratios of all."""
    ratios = {}
    print(f"{'file':40}{'ours us':>10}{'theirs us':>12}{'times':>8}")
    for path in map(Path, paths):
        try:
            ours, theirs = timed(path)
        except (RuntimeError, ValueError) as error:  # what LiteRT does not run
            print(f"{path.stem:40}{str(error).splitlines()[0][:80]}")
            continue
        ratios.setdefault(path.suffix, []).append(theirs / ours)
        print(f"{path.stem:40}{ours * 1e6:10.1f}{theirs * 1e6:12.1f}{theirs / ours:8.1f}")
    for suffix, found in ratios.items():
        low, middle, high = min(found), statistics.median(found), max(found)
        print(f"{suffix}: {low:.1f} to {high:.1f} times as long there, {middle:.1f} as a median")


if __name__ == "__main__":
    main(sys.argv[1:])
