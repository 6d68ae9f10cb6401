"""The commands that run networks of the NPU's kit: qemu-nn ndk run, analyze, compare."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable, Optional

import click
import numpy as np

from ..analysis.accuracy import convert_class_scores, count_correct
from ..analysis.table import Cell, Table, json_text
from ..api.data import Dataset, batches
from ..errors import Error
from ..io.arrays import read_array, write_npz
from ..wuqi import modelpack
from ..wuqi import quantize as figures
from ..wuqi.check import find_widths
from ..wuqi.integers import to_integers
from ..wuqi.layers import Layer, get_network_output, get_tensor_name_list
from ..wuqi.numpy_net import build_numpy_layers, run_layers
from .evaluate import figures as figure_options
from .evaluate import report
from .options import PATH, form, say

Network = tuple[list[Layer], dict[str, Any]]

_BATCH = 64

bits_option = click.option(
    "--bits",
    type=click.Choice(["8", "16"]),
    help="Bits of the quantized network, for parameters that do not tell: neither int8 nor int16.",
)
data_option = click.option(
    "-d",
    "--data",
    type=PATH,
    required=True,
    help="Inputs [N, C, H, W]: an .npy or .npz file, or a folder.",
)
limit_option = click.option(
    "--limit", type=click.IntRange(1), metavar="N", help="Use so many samples at most."
)
layout_option = click.option(
    "--layout", type=click.Choice(["NHWC", "NCHW"]), help="Layout of the images in the data."
)
_tensors = click.option(
    "--tensor", "tensors", multiple=True, help="Only this tensor; give it again for more."
)
_aligned = click.option(
    "--hw-aligned/--no-hw-aligned",
    default=True,
    show_default=True,
    help="Divide averages next to padding as the hardware does.",
)


def net_files(verb: Callable[..., None]) -> Callable[..., None]:
    """Add the argument NET and the options of its parameters."""
    verb = click.option(
        "--params", type=PATH, help="File with the parameters, if not the .npz beside NET."
    )(verb)
    return click.argument("net", type=PATH)(verb)


@click.command()
@net_files
@click.option(
    *("-d", "--data", "inputs"), type=PATH, required=True, help="Real inputs [N, C, H, W]."
)
@click.option("-o", "--output", type=PATH, required=True, help=".npz file to write.")
@click.option("--float", "real", is_flag=True, help="Run the float network and write floats.")
@limit_option
@click.option("--trace", is_flag=True, help="Write every tensor, not only the outputs.")
@click.option("--labels", type=PATH, help="Correct classes [N]; prints the accuracy.")
@bits_option
@_aligned
@form("json")
def run(
    net: Path,
    params: Optional[Path],
    inputs: Path,
    output: Path,
    real: bool,
    limit: Optional[int],
    trace: bool,
    labels: Optional[Path],
    bits: Optional[str],
    hw_aligned: bool,
    form: Optional[str],
) -> None:
    """Run NET as the chip does.

    Writes the outputs as integers [N, C, H, W]."""
    if output.suffix != ".npz" or not output.parent.is_dir():
        raise Error(f"the output {output} must be an .npz file in a folder that exists")
    _check_real(real, bits)
    layers, numbers = read(net, params)
    width = width_of(numbers, bits)
    built = build_numpy_layers(layers, numbers, not real, width, hw_aligned)
    ends = get_network_output(layers)
    names = get_tensor_name_list(layers, feature_only=True) if trace else ends
    x = read_array(inputs, "x")
    if x.ndim != 4 or not len(x):
        raise Error(f"{inputs} is {list(x.shape)}, but must be one input or more, [N, C, H, W]")
    x = x[:limit]
    parts = [
        run_layers(x[i : i + _BATCH], layers, names, numpy_layers=built)
        for i in range(0, len(x), _BATCH)
    ]
    outputs = {name: np.concatenate([part[name] for part in parts]) for name in names}
    right = None
    if labels is not None:
        scores = convert_class_scores(outputs[ends[-1]], outputs[ends[-1]].shape[1:])
        right = count_correct(scores, read_array(labels, "y")[:limit])
    if not real:
        outputs = {name: _integers(outputs[name], name, numbers, width) for name in names}
    write_npz(output, outputs)
    if form is not None:
        share = None if right is None else right / len(x)
        arrays = [
            {"name": name, "dtype": str(a.dtype), "shape": list(a.shape)}
            for name, a in outputs.items()
        ]
        say(json_text({"file": str(output), "outputs": arrays, "accuracy": share}))
        return
    rows = tuple((name, str(a.dtype), "x".join(map(str, a.shape))) for name, a in outputs.items())
    say(Table(("array", "dtype", "shape"), rows).text())
    if right is not None:
        say(f"\naccuracy: {100 * right / len(x):.2f} % ({right} of {len(x)})")


@click.command()
@net_files
@data_option
@limit_option
@click.option("--labels", type=PATH, help="What is right, if the data do not hold it.")
@layout_option
@bits_option
@_aligned
@figure_options
def evaluate(
    net: Path,
    params: Optional[Path],
    data: Path,
    bits: Optional[str],
    hw_aligned: bool,
    form: Optional[str],
    **how: Any,
) -> None:
    """Measure the accuracy of NET on data, and of its float network."""
    layers, numbers = read(net, params)
    width = width_of(numbers, bits)
    fixed, real = (
        build_numpy_layers(layers, numbers, quant, width, hw_aligned) for quant in (True, False)
    )
    names = ("labels", "layout", "limit")
    samples = Dataset(data, **{name: how.pop(name) for name in names})
    report(fixed, samples, form, reference=real, **how)


@click.command()
@net_files
@data_option
@limit_option
@layout_option
@_tensors
@click.option("-o", "--output", "output_dirname", type=PATH, help="Folder for CSV files.")
@click.option("--float", "real", is_flag=True, help="Analyze the float network.")
@click.option("--num-batch", default=1000, show_default=True, help="Most batches to use.")
@click.option("--num-bin", default=0, show_default=True, help="Bins of the histogram; 0 for none.")
@click.option(
    "--max-abs-val",
    type=float,
    help="Largest magnitude in the histogram; by default that of the values.",
)
@bits_option
@_aligned
@form("json", "csv")
def analyze(
    net: Path,
    params: Optional[Path],
    data: Path,
    limit: Optional[int],
    layout: Optional[str],
    tensors: tuple[str, ...],
    real: bool,
    bits: Optional[str],
    form: Optional[str],
    **how: Any,
) -> None:
    """Print the range, mean and variance of NET's tensors."""
    _check_real(real, bits)
    layers, numbers = read(net, params)
    names = list(tensors) or get_tensor_name_list(layers)
    tensor_figures = figures.analyze_tensor_distribution(
        *(layers, numbers, names),
        data_generator=feed(layers, data, layout, limit),
        quant=not real,
        bitwidth=width_of(numbers, bits),
        **how,
    )
    _print(tensor_figures, names, ("min", "max", "avg", "var"), form)


@click.command()
@net_files
@data_option
@limit_option
@layout_option
@_tensors
@click.option("-o", "--output", "output_dirname", type=PATH, help="Folder for CSV files.")
@click.option("--num-batch", default=1000, show_default=True, help="Most batches to use.")
@click.option(
    "--num-bin",
    default=0,
    show_default=True,
    help="Bins of the divergences' histograms; 0 for none.",
)
@click.option(
    "--max-abs-val",
    type=float,
    help="Largest magnitude in the histogram; by default that of the values.",
)
@bits_option
@_aligned
@form("json", "csv")
def compare(
    net: Path,
    params: Optional[Path],
    data: Path,
    limit: Optional[int],
    layout: Optional[str],
    tensors: tuple[str, ...],
    bits: Optional[str],
    form: Optional[str],
    **how: Any,
) -> None:
    """Print how NET's fixed-point and float tensors differ."""
    layers, numbers = read(net, params)
    names = list(tensors) or get_tensor_name_list(layers)
    tensor_figures = figures.compare_float_and_quant(
        *(layers, numbers, names, width_of(numbers, bits)),
        data_generator=feed(layers, data, layout, limit),
        **how,
    )
    _print(tensor_figures, names, ("fmsv", "mse", "maxae", "qsnr", "top1err"), form)


def read(net: Path, params: Optional[Path]) -> Network:
    """Return the layers and parameters of NET."""
    if net.suffix != ".prototxt":
        raise Error(
            f"{net} is not a .prototxt file: qemu-nn ndk quantize makes one from a model file"
        )
    return modelpack.load_from_file(net, params or net.with_suffix(".npz"))


def width_of(params: dict[str, Any], bits: Optional[str]) -> int:
    """Return the number of bits of the parameters, or what is asked for where they do not tell.

    Raises Error where they tell another one: their fractions hold for that one alone.
    """
    possible = find_widths(params)
    if bits is None:
        return possible[0]
    if int(bits) not in possible:
        raise Error(
            f"--bits is {bits}, but the parameters are {possible[0]}-bit integers: leave "
            "--bits out, or quantize the float network with qemu-nn ndk quantize --bits "
            f"{bits}"
        )
    return int(bits)


def _check_real(real: bool, bits: Optional[str]) -> None:
    if real and bits:
        raise Error("--float computes in floats, which have no --bits: leave one of them out")


def _integers(values: np.ndarray, name: str, params: dict[str, Any], bits: int) -> np.ndarray:
    signed = bool(params.get(f"{name}_signed", True))
    return to_integers(values, bits, int(params[f"{name}_frac"]), signed)


def feed(
    layers: list[Layer], data: Path, layout: Optional[str], limit: Optional[int]
) -> Iterator[dict[str, np.ndarray]]:
    """Return a user's data as batches for the kit's functions."""
    shape = tuple(layers[0].attributes()["dim"][1:])
    found = batches(Dataset(data, layout=layout, limit=limit), shape, "NCHW", _BATCH)
    return ({"input": batch.x} for batch in found)


def _print(
    found: dict[str, Any], names: list[str], keys: tuple[str, ...], form: Optional[str]
) -> None:
    """Figures of tensors; rounded where people read them."""

    def cell(value: Any) -> Cell:
        return float(value) if form else float(f"{value:.6g}")

    rows = tuple((name, *(cell(found[f"{name}_{key}"]) for key in keys)) for name in names)
    say(getattr(Table(("tensor", *keys), rows), form or "text")())
