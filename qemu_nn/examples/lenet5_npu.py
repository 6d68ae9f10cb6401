"""LeNet-5 on the NPU from random weights to a compiled application: the kit's chapter 9, on digits.

    pip install '.[train,digits]'
    python -m qemu_nn.examples.lenet5_npu out

Trains the float network, quantizes it at 8 and at 16 bits, measures what that costs, trains it
again within 8 bits, packs it, and runs the pack in a compiled C program. All files go into the
folder.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
from tqdm import tqdm

import qemu_nn.ndk as ndk

from ..errors import Error
from ..io.optional_deps import require
from ..wuqi.layers import Layer
from ..wuqi.numpy_net import run_layers

Params = dict[str, Any]

SEED = 7
HELD_OUT = 360
BATCH = 32

#: Tensors whose distributions and errors are written as CSV files.
WATCHED = ["net_input", "conv1_weight", "conv1_bias", "conv1_out", "pool1_out", "net_output"]

APPLICATION = Path(__file__).with_name("lenet5_npu.c")


def data() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return training images [N, 1, 32, 32] in 0..255 and labels [N], then the held-out ones."""
    digits = require("sklearn.datasets", "digits", "the example's data").load_digits()
    order = np.random.default_rng(SEED).permutation(len(digits.target))
    large = np.kron(digits.images[order], np.ones((4, 4)))[:, None]
    x, y = np.minimum(large * 16, 255.0), digits.target[order]
    return x[HELD_OUT:], y[HELD_OUT:], x[:HELD_OUT], y[:HELD_OUT]


def lenet5() -> list[Layer]:
    """Return the layers: two convolutions with pooling, three fully connected."""

    def conv(index: int, bottom: str, outputs: int) -> list[Layer]:
        own = {"num_output": outputs, "kernel_size": (5, 5)}
        half = {"kernel_size": (2, 2), "stride": (2, 2), "pool": "MAX"}
        return [
            Layer("Convolution", f"conv{index}", bottom, f"conv{index}_out", **own),
            Layer("ReLU", f"relu{index}", f"conv{index}_out", f"relu{index}_out"),
            Layer("Pooling", f"pool{index}", f"relu{index}_out", f"pool{index}_out", **half),
        ]

    return [
        Layer("Input", "input", top="net_input", dim=(1, 1, 32, 32)),
        *conv(1, "net_input", 6),
        *conv(2, "pool1_out", 16),
        Layer("InnerProduct", "fc3", "pool2_out", "fc3_out", num_output=120),
        Layer("ReLU", "relu3", "fc3_out", "relu3_out"),
        Layer("InnerProduct", "fc4", "relu3_out", "fc4_out", num_output=84),
        Layer("ReLU", "relu4", "fc4_out", "relu4_out"),
        Layer("InnerProduct", "fc5", "relu4_out", "net_output", num_output=10),
    ]


def random_parameters() -> Params:
    """Return weights to begin with; the images come as 0..255."""
    rng = np.random.default_rng(SEED)
    shapes = {"conv1": (6, 1, 5, 5), "conv2": (16, 6, 5, 5)}
    shapes |= {"fc3": (120, 16, 5, 5), "fc4": (84, 120, 1, 1), "fc5": (10, 84, 1, 1)}
    params: Params = {}
    for name, shape in shapes.items():
        params[f"{name}_weight"] = rng.normal(size=shape) * np.sqrt(2 / np.prod(shape[1:]))
        params[f"{name}_bias"] = np.zeros(shape[0])
    params["conv1_weight"] /= 255
    return params


def train_float(
    layers: list[Layer], params: Params, x: np.ndarray, y: np.ndarray, steps: int
) -> Params:
    """Return the float network's own training, in the same torch module without its
    quantization.
    """
    torch = require("torch", "train", "training")
    torch.manual_seed(SEED)
    torch.set_num_threads(1)  # so small a network is slower on more
    net = require("qemu_nn.ndk.quant_train_torch.quant_layer", "train", "training").QuantizedNet(
        layers, params, quant_output=False, quant_weight=False, quant_bias=False
    )
    optimizer = torch.optim.Adam(net.parameters(), 1e-3)
    source = shuffle_batches(x, y)
    for _ in tqdm(range(steps), disable=None, leave=False):
        batch = next(source)
        scores = net(torch.as_tensor(batch["input"], dtype=torch.float32)).reshape(BATCH, -1)
        loss = torch.nn.functional.cross_entropy(scores, torch.as_tensor(batch["output"]).ravel())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    trained: Params = net.get_param_dict()
    return {key: trained[key] for key in params}


def shuffle_batches(x: np.ndarray, y: np.ndarray) -> Iterator[dict[str, np.ndarray]]:
    """Yield batches without end, drawn at random: what the kit calls a data generator."""
    rng = np.random.default_rng(SEED)
    while True:
        chosen = rng.integers(len(x), size=BATCH)
        yield {"input": x[chosen], "output": y[chosen].reshape(-1, 1, 1, 1)}


def iterate_in_order(x: np.ndarray) -> Iterator[dict[str, np.ndarray]]:
    """Yield all images once, in batches."""
    for i in range(0, len(x), BATCH):
        yield {"input": x[i : i + BATCH]}


def accuracy(layers: list[Layer], params: Params, x: np.ndarray, y: np.ndarray, bits: int) -> float:
    """Return the share of images whose largest score is that of their class; bits 0: the float
    network.
    """
    out = ndk.layers.get_network_output(layers)[0]
    how: dict[str, Any] = {"quant": bits > 0, "bitwidth": bits or 8, "hw_aligned": True}
    scores = run_layers(x, layers, [out], params, **how)[out]
    return float((scores.reshape(len(x), -1).argmax(1) == y).mean())


def analyze(layers: list[Layer], params: Params, x: np.ndarray, folder: Path) -> float:
    """Write CSV files of distributions and errors; return the output's quantization SNR in dB."""
    how: dict[str, Any] = {"num_batch": 100, "num_bin": 51}
    for quant, name in ((False, "float"), (True, "quant")):
        ndk.quantize.analyze_tensor_distribution(
            layers, params, WATCHED, folder / name, iterate_in_order(x), quant, 8, **how
        )
    found = ndk.quantize.compare_float_and_quant(
        layers, params, WATCHED, 8, folder, iterate_in_order(x), **how
    )
    return float(found["net_output_qsnr"])


def run_compiled(folder: Path, x: np.ndarray) -> np.ndarray:
    """Return what the application in C computes of images that are 0..255: integers [N, 10]."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise click.ClickException("compiling the application needs a C compiler: install gcc")
    sdk = [sys.executable, "-m", "qemu_nn", "sdk"]
    parts = [
        subprocess.run([*sdk, flag], check=True, capture_output=True, text=True).stdout.split()
        for flag in ("--cflags", "--sources", "--libs")
    ]
    program = folder / "lenet5"
    flags, sources, libraries = parts
    subprocess.run(
        [compiler, "-O2", *flags, str(APPLICATION), *sources, *libraries, "-o", str(program)],
        check=True,
    )
    x.astype(np.uint8).tofile(folder / "images.bin")
    subprocess.run(
        [str(program.resolve()), "lenet5.bin", "images.bin", "scores.bin", str(len(x))],
        cwd=folder,
        check=True,
    )
    return np.fromfile(folder / "scores.bin", np.int8).reshape(len(x), 10)


def show(what: str, value: str) -> None:
    """Print a line of the result."""
    click.echo(f"{what:<37}{value:>10}")


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--float-steps", default=1500, show_default=True, help="Steps of float training.")
@click.option("--quant-steps", default=300, show_default=True, help="Steps of 8-bit training.")
def main(folder: Path, float_steps: int, quant_steps: int) -> None:
    """Train, quantize, analyze, pack and compile LeNet-5 in FOLDER."""
    torch = require("torch", "train", "training")
    folder.mkdir(parents=True, exist_ok=True)
    x, y, test_x, test_y = data()
    layers = lenet5()
    params = train_float(layers, random_parameters(), x, y, float_steps)
    layers, params = ndk.optimize.merge_layers(layers, params)
    ndk.layers.check_layers(layers, params)
    real = accuracy(layers, params, test_x, test_y, 0)
    show("float accuracy", f"{real:.2%}")
    for bits in (16, 8):
        fixed, numbers = ndk.quantize.quantize_model(layers, params, bits, shuffle_batches(x, y))
        show(f"{bits}-bit accuracy", f"{accuracy(fixed, numbers, test_x, test_y, bits):.2%}")
    show("8-bit output's quantization SNR", f"{analyze(fixed, numbers, test_x, folder):.1f} dB")
    fixed, numbers = ndk.quantize.quantize_model_with_training(
        layers,
        8,
        {**params, **{key: value for key, value in numbers.items() if key.endswith("_frac")}},
        data_generator=shuffle_batches(x, y),
        log_dir=folder / "log",
        optimizer=lambda parameters: torch.optim.Adam(parameters, lr=1e-4),
        num_step_train=quant_steps,
        layer_group=len(layers) + 1,
        rnd_seed=SEED,
    )
    show("8-bit accuracy after training", f"{accuracy(fixed, numbers, test_x, test_y, 8):.2%}")
    text, arrays = folder / "lenet5.prototxt", folder / "lenet5.npz"
    ndk.modelpack.save_to_file(fixed, text, numbers, arrays)
    ndk.modelpack.modelpack_from_file(8, text, arrays, folder, "lenet5")
    out = run_layers(test_x, fixed, ["net_output"], numbers, True, 8, True)["net_output"]
    expected = np.ldexp(out.reshape(-1, 10), numbers["net_output_frac"])
    differ = int((run_compiled(folder, test_x) != expected).sum())
    show("scores of the C program that differ", f"{differ}")
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    try:
        main()
    except Error as error:
        print(f"Error: {error}", file=sys.stderr)
        sys.exit(2)
