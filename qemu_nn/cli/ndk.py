"""The commands of the NPU's kit: qemu-nn ndk quantize, run, analyze, compare, pack, check."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, Optional

import click
import numpy as np

from ..analysis.table import Said, Table, json_text
from ..errors import Error, sentence
from ..wuqi import modelpack, optimize
from ..wuqi import quantize as figures
from ..wuqi.check import list_warnings
from ..wuqi.layers import Layer
from ..wuqi.loading import load
from ..wuqi.preferences import METHODS
from ..wuqi.shifts import ORDERS
from .ndk_run import (
    Network,
    analyze,
    bits_option,
    compare,
    data_option,
    evaluate,
    feed,
    layout_option,
    limit_option,
    net_files,
    read,
    run,
    width_of,
)
from .options import PATH, form, say, source


@click.group()
def ndk() -> None:
    """Quantize, run and pack networks for the WuQi NPU.

    The commands do what the NPU's kit does. NET is a .prototxt file with an .npz file of the same
    name next to it; quantize writes both.
    """


@ndk.command()
@click.argument("model", type=PATH)
@source(".caffemodel, .npz")
@data_option
@limit_option
@layout_option
@click.option(
    "-o",
    "--output",
    type=PATH,
    required=True,
    help=".prototxt file to write, with an .npz file beside it.",
)
@click.option(
    "--bits",
    type=click.Choice(["8", "16"]),
    default="8",
    show_default=True,
    help="Bits of weights and tensors.",
)
@click.option(
    "--merge/--no-merge", default=True, show_default=True, help="Merge layers before quantizing."
)
@click.option(
    "--frac", "fracs", multiple=True, metavar="TENSOR=N", help="Set the fraction bits of a tensor."
)
@click.option(
    "--method",
    "methods",
    multiple=True,
    metavar="TENSOR=NAME",
    help=f"How to choose a tensor's fraction: {', '.join(METHODS)}.",
)
@click.option(
    "--aggressive/--no-aggressive",
    default=True,
    show_default=True,
    help="Observe the float network, or (slow) each tensor after fixed-point layers.",
)
@click.option(
    "--factor-num-bin", default=4, show_default=True, help="Histograms have 2^(bits + this) bins."
)
@click.option("--num-step-pre", default=20, show_default=True, help="Batches to observe first.")
@click.option(
    "--num-step",
    default=100,
    show_default=True,
    help="Batches after those; with --no-aggressive, for each tensor.",
)
@click.option(
    "--drop-logsoftmax/--no-drop-logsoftmax",
    default=True,
    show_default=True,
    help="Leave out a LogSoftmax at the end.",
)
@click.option(
    "--priority-mode",
    type=click.Choice(ORDERS),
    default="fwb",
    show_default=True,
    help="Who chooses a fraction first: f output, w weights, b bias.",
)
@click.option(
    "--compensate-floor-on-bias/--no-compensate-floor-on-bias",
    default=True,
    show_default=True,
    help="Add half a step to each bias, so that outputs round to nearest.",
)
@click.option("--log-dir", type=PATH, help="Folder for a log of all decisions.")
@form("json")
def quantize(
    model: Path,
    weights: Optional[Path],
    input_tensor: Optional[str],
    output_tensor: Optional[str],
    data: Path,
    limit: Optional[int],
    layout: Optional[str],
    output: Path,
    bits: str,
    merge: bool,
    fracs: tuple[str, ...],
    methods: tuple[str, ...],
    form: Optional[str],
    **how: Any,
) -> None:
    """Quantize MODEL, a float NET or another model file."""
    if output.suffix != ".prototxt" or not output.parent.is_dir():
        raise Error(f"the output {output} must be a .prototxt file in a folder that exists")
    layers, params = _any(model, weights, input_tensor, output_tensor)
    if merge:
        layers, params = optimize.merge_layers(layers, params)
    with redirect_stdout(sys.stderr):  # the kit prints warnings
        layers, params = figures.quantize_model(
            *(layers, params, int(bits), feed(layers, data, layout, limit)),
            usr_param_dict={
                f"{key}_frac": _integer(value) for key, value in _pairs("--frac", fracs)
            },
            method_dict=dict(_pairs("--method", methods)),
            **how,
        )
    modelpack.save_to_file(layers, output, params, output.with_suffix(".npz"))
    table = _formats(layers, params)
    if form is None:
        say(table.text())
        return
    files = {"network": str(output), "params": str(output.with_suffix(".npz"))}
    say(json_text({**files, "bits": int(bits), "layers": table.records()}))


@ndk.command()
@net_files
@click.option("-o", "--output", type=PATH, required=True, help="Folder to write.")
@click.option("--name", help="Name of the .bin file; by default that of NET.")
@bits_option
@form("json")
def pack(
    net: Path,
    params: Optional[Path],
    output: Path,
    name: Optional[str],
    bits: Optional[str],
    form: Optional[str],
) -> None:
    """Write NET as one .bin file for the kit's C library."""
    layers, numbers = read(net, params)
    modelpack.modelpack(width_of(numbers, bits), layers, numbers, output, name or net.stem)
    file = f"{output / (name or net.stem)}.bin"
    say(file if form is None else json_text({"file": file}))


@ndk.command()
@click.argument("model", type=PATH)
@source(".caffemodel, .npz")
@bits_option
@form("json")
@click.pass_context
def check(
    ctx: click.Context,
    model: Path,
    weights: Optional[Path],
    input_tensor: Optional[str],
    output_tensor: Optional[str],
    bits: Optional[str],
    form: Optional[str],
) -> None:
    """Print the limits of the hardware that MODEL breaks.

    The exit code is 1 if there are any.
    """
    layers, params = _any(model, weights, input_tensor, output_tensor)
    broken = list_warnings(layers, params, width_of(params, bits) if bits else None)
    if form is not None:
        said = {"runs": not broken, "limits": [sentence(text) for text in broken]}
        say(json_text(said))
    for text in [] if form else broken or ["it breaks no limit of the hardware"]:
        say(sentence(text))
    ctx.exit(1 if broken else 0)


def _any(model: Path, weights: Optional[Path], start: Optional[str], end: Optional[str]) -> Network:
    """Return a network of the kit, or the network of a model file."""
    beside = weights or model.with_suffix(".npz")
    if model.suffix == ".prototxt" and beside.suffix == ".npz":
        if start or end:
            raise Error(
                f"--input-tensor and --output-tensor cannot be used with {model}: leave them out"
            )
        return read(model, beside)
    return load(model, weights, start, end)


def _pairs(option: str, given: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for text in given:
        name, _, value = text.rpartition("=")
        if not name or not value:
            raise Error(f"{option} is {text!r}, but must be TENSOR=VALUE")
        yield name, value


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise Error(f"--frac has the fraction {text!r}, but it must be an integer") from None


def _formats(layers: list[Layer], params: dict[str, Any]) -> Table:
    """Return the fractions of each layer's outputs, weights and bias."""
    rows = []
    for layer in layers:
        fracs = [params.get(f"{layer.name}_frac_{role}") for role in ("weight", "bias")]
        signs = [bool(params.get(f"{name}_signed", True)) for name in layer.tops]
        outputs = [int(params[f"{name}_frac"]) for name in layer.tops]
        spelled = " ".join(f"{'' if s else 'u'}{frac}" for s, frac in zip(signs, outputs))
        said = [{"frac": frac, "signed": signed} for frac, signed in zip(outputs, signs)]
        rows.append((layer.name, layer.type, Said(spelled, said), *map(_span, fracs)))
    return Table(("layer", "type", "output_frac", "weight_frac", "bias_frac"), tuple(rows))


def _span(fracs: Any) -> Optional[Said]:
    """Return the least and the largest fraction; of one layer's channels, where they differ."""
    if fracs is None:
        return None
    low, high = int(np.min(fracs)), int(np.max(fracs))
    return Said(str(low) if low == high else f"{low}..{high}", [low, high])


for _verb in (run, evaluate, analyze, compare):
    ndk.add_command(_verb)
