"""The commands as data, so that the help needs no other module: all of them take a second."""

from __future__ import annotations

from typing import NamedTuple


class Command(NamedTuple):
    """A command: its module, imported on first use, the first sentence of its help, an example."""

    module: str
    help: str
    example: str


#: Group -> command -> what it is.
GROUPS: dict[str, dict[str, Command]] = {
    "Networks": {
        "info": Command(
            "info",
            "Print the layers of MODEL: shapes, formats, costs.",
            "info net.tflite --target m4 --fit stm32f411",
        ),
        "run": Command(
            "run",
            "Run MODEL on inputs, and print its outputs or write them.",
            "run net.tflite -d images.npy --top 3",
        ),
        "evaluate": Command(
            "evaluate", "Say how well MODEL does on data.", "evaluate net.tflite -d test.npz"
        ),
        "check": Command(
            "check",
            "Say of each MODEL whether the device runs it, and why not.",
            "check models --target m55",
        ),
        "diff": Command(
            "diff",
            "Say what two networks differ in: layers, formats, weights.",
            "diff before.tflite after.tflite",
        ),
        "page": Command(
            "page",
            "Write MODEL as a page that runs it in a browser.",
            "page net.tflite -o net.html",
        ),
        "serve": Command(
            "serve", "Serve a page to which networks are dropped.", "serve --port 8080"
        ),
        "variants": Command(
            "bench",
            "Show where other cores, releases and roundings give other bits.",
            "variants net.tflite -d images.npy",
        ),
    },
    "Quantization": {
        "quantize": Command(
            "quantize",
            "Quantize the float network MODEL with calibration data.",
            "quantize net.onnx -d calib.npz -o net.qnz --scheme affine",
        ),
        "analyze": Command(
            "analyze",
            "Report what quantization cost MODEL, layer by layer.",
            "analyze net.qnz -d test.npz",
        ),
        "fine-tune": Command(
            "fine_tune",
            "Train the quantized network MODEL further, on PyTorch.",
            "fine-tune net.qnz -d train.npz -o tuned.qnz",
        ),
        "import": Command(
            "quantize",
            "Write a MODEL of any format as .qnz, or as .tflite.",
            "import net.tflite -o net.qnz",
        ),
    },
    "Firmware": {
        "export": Command(
            "export",
            "Write MODEL as C that calls CMSIS-NN, with a self-test.",
            "export net.qnz -o firmware",
        ),
        "golden": Command(
            "golden",
            "Write goldens: the output of each layer of MODEL.",
            "golden net.tflite -d images.npy -o goldens",
        ),
        "compare": Command(
            "golden",
            "Compare a device's outputs in DUMP with the goldens in GOLDEN.",
            "compare goldens dump",
        ),
        "compare-runtime": Command(
            "compare_runtime",
            "Compare MODEL on the device with another runtime, layer by layer.",
            "compare-runtime net.tflite -d images.npy --runtime litert",
        ),
        "validate": Command(
            "validate",
            "Compare a device that runs MODEL with the emulator.",
            "validate net.qnz --on serial:/dev/ttyACM0@921600",
        ),
        "datasheet": Command(
            "datasheet",
            "Write the data sheet of MODEL on a device, for a design review.",
            "datasheet net.qnz -d test.npz --target stm32f746 -o datasheet.html",
        ),
    },
    "Reference": {
        "demo": Command(
            "demo", "Run the example network and write its goldens.", "demo --files example"
        ),
        "which-cmsis": Command(
            "which_cmsis", "Name the release of CMSIS-NN in PATH.", "which-cmsis firmware/CMSIS/NN"
        ),
        "chips": Command("tables", "List the chips that --target and --fit know.", "chips"),
        "kernels": Command("tables", "List the kernels of every op, best first.", "kernels"),
        "bench": Command(
            "bench",
            "Time networks, and LiteRT and ONNX Runtime next to them.",
            "bench net.tflite",
        ),
        "conformance": Command(
            "conformance", "Compare outputs with the conformance set.", "conformance"
        ),
    },
    "WuQi NPU": {
        "ndk": Command(
            "ndk",
            "Quantize, run and pack networks for the WuQi NPU.",
            "ndk quantize net.onnx -d calib.npz -o net.prototxt",
        ),
        "sdk": Command("sdk", "Print the C files and flags of the library for NPU packs.", "sdk"),
    },
}

#: Name -> command.
COMMANDS = {name: entry for group in GROUPS.values() for name, entry in group.items()}
