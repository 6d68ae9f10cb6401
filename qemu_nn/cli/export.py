"""The command that writes networks for the device: export."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Any, Optional

import click

from ..analysis.table import json_text
from ..api import export as delivery
from ..api import golden as pipeline
from ..errors import printable
from ..ir.builds import find_target
from ..runtime.npu import list_programs
from ..targets import Target
from .data_options import data as data_option
from .data_options import dataset, reading
from .options import PATH, device, fit, fitted, force, form, say

#: The exit code where a network does not fit into the chip of --fit.
TOO_LARGE = 1


def _tell_next(output: Path, target: Target, is_npu: bool) -> str:
    """Return the command that runs the self-test of an export."""
    folder = quote(str(output))
    if is_npu:
        return f"{folder}/README.md tells how to build its self-test"
    if target.esp_nn is None:
        return f"make -C {folder} runs its self-test"
    return f"idf.py -C {folder} set-target {target.core} build flash monitor runs its self-test"


@click.command()
@click.argument("model", type=PATH)
@click.option("-o", "--output", type=PATH, required=True, help="Folder to write.")
@data_option("Inputs of the self-test, by default two random ones", required=False)
@reading
@click.option(
    "--layers", type=click.Choice(["one"]), help="one: also write everything as one header."
)
@click.option(
    "--name",
    default="network",
    show_default=True,
    help="What the C's public names begin with: NAME_run().",
)
@click.option(
    "--build",
    metavar="NAMES",
    help="Build systems: cmake, meson, zephyr, cmsis-toolbox, cmsis-pack, arduino, platformio, "
    "separated by commas, or none.  [default: all]",
)
@click.option(
    "--weights",
    type=click.Choice(["c", "blob"]),
    default="c",
    show_default=True,
    help="blob: weights and quantization in weights.bin, which the firmware loads.",
)
@force
@fit
@form("json")
@device
@click.pass_context
def export(
    ctx: click.Context,
    /,
    model: Path,
    output: Path,
    data: tuple[str, ...],
    layers: Optional[str],
    force: bool,
    fit: Optional[str],
    stack: int,
    form: Optional[str],
    target: Target,
    **names: Any,
) -> None:
    """Write MODEL as C that calls CMSIS-NN, with a self-test.

    `make` in the folder builds the self-test for this PC, `make m4` for an emulated Cortex-M4,
    likewise `make m0`, `m3`, `m7`, `m33` and `m55`. With --target esp32s3 and the like it is an
    ESP-IDF project, whose component runs the network in esp-tflite-micro. A file that vela compiled
    for an Ethos-U becomes a project for TensorFlow Lite Micro and the NPU's driver.
    """
    network = pipeline.load_quantized(model)
    samples = dataset(network, data, names)
    target, found = fitted(ctx, network, fit, stack, target)
    target = find_target(network.graph, target)
    how: dict[str, Any] = {**names, "target": target, "one_header": layers == "one", "force": force}
    is_npu = bool(list_programs(network.graph))
    written = delivery.export(model if is_npu else network, output, data=samples, **how)
    if form is not None:
        facts = {"folder": str(output), "ram_bytes": written.ram, "flash_bytes": written.flash}
        chip = None if found is None else found.to_dict()
        say(json_text({"network": network.graph.name, **facts, "fit": chip}))
        ctx.exit(TOO_LARGE if found and not found.fits else 0)
    say(
        f"{printable(f'{network.graph.name} in {output}')}: {written.ram:,} bytes of RAM, "
        f"{written.flash:,} of weights and biases; {_tell_next(output, target, is_npu)}"
    )
    if found:
        say(f"\n{found.text()}")
        ctx.exit(0 if found.fits else TOO_LARGE)
