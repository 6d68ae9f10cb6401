"""The command line: a short function for each verb, which calls the package's API."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, Optional, Union

import click

from ..analysis.accuracy import accuracy_text
from ..analysis.chip_table import chip_table
from ..analysis.estimate import Estimate
from ..analysis.float_table import float_table, float_text
from ..analysis.kernel_table import kernel_table
from ..analysis.summary import Summary, facts_text
from ..analysis.table import Cell
from ..api import check as checking
from ..api import golden as pipeline
from ..errors import Error, ModelError, printable, sentence
from ..io.arrays import read_state
from ..io.version import __version__
from ..kernels.table import ROWS
from ..runtime import batch
from .analyze import analyze
from .bench import bench, variants
from .check import check
from .data_options import prepared, reading
from .diff import diff
from .estimate import asked, cycles, estimated
from .evaluate import evaluate
from .export import export
from .fine_tune import fine_tune
from .inputs import inputs_of
from .messages import messages
from .ndk import ndk
from .options import (
    PATH,
    device,
    fit,
    fitted,
    force,
    form,
    inputs,
    method,
    progress,
    say,
    source,
    state,
    threads,
    variant,
)
from .quantize import import_, quantize
from .report import report
from .run import run
from .sdk import sdk
from .spelling import spelled
from .validate import validate

DIFFERS, FAULT, INTERRUPTED = 1, 2, 130


class _Fault(click.ClickException):
    """A fault of the user's input: one sentence on stderr."""

    exit_code = FAULT


class _Verbs(click.Group):
    """A group whose verbs report a fault of the input in a sentence, not with a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb that the arguments name."""
        try:
            with messages(ctx):
                return super().invoke(ctx)
        except KeyboardInterrupt:
            say("interrupted", err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None
        except BrokenPipeError:  # the reader of our output has closed the pipe
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise click.exceptions.Exit(FAULT) from None
        except Error as error:
            raise _Fault(spelled(str(error), ctx)) from None
        except OSError as error:
            reason = f"{error.filename or 'a file'}: {error.strerror or error}"
            raise _Fault(printable(reason)) from None
        except MemoryError as error:
            raise _Fault(f"out of memory: give fewer inputs at a time ({error})") from None


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="qemu-nn")
def main() -> None:
    """Run quantized networks bit for bit as a Cortex-M with CMSIS-NN runs them.

    MODEL is a .qnz, .tflite, .pte or quantized .onnx file, a network.json, or a folder that holds a
    network.json; for import, quantize, info, evaluate and diff also the file of a float network.
    Arrays are .npy files, or .npz files with the arrays x (inputs) and y (labels).

    Exit codes: 0 for success, 1 if compare, validate or diff finds a difference, check a network
    that does not run, --fit a chip that is too small, bench --against what became slower, or ndk
    check a broken limit, 2 if the input is at fault.
    """


@main.command()
@click.option(
    "-o",
    "--output",
    type=PATH,
    default=Path("qemu_nn_demo_goldens"),
    show_default=True,
    help="Folder to write.",
)
def demo(output: Path) -> None:
    """Run the example network and write its goldens."""
    network, x, y = pipeline.example()
    say(f"{pipeline.describe(network).text()}\n")
    session = network.session()
    written = pipeline.golden(network, x[:3], output)
    facts: dict[str, Cell] = {
        "accuracy": accuracy_text(network.graph, session.run(x), y),
        "inferences per second": round(batch.inferences_per_second(session, x)),
        "goldens": f"{len(written.names)} arrays of {written.inputs} inputs in {output}",
    }
    say(facts_text(facts))


@main.command()
@click.argument("model", type=PATH)
@click.option("--full", is_flag=True, help="Every column and fact, in lines of any length.")
@source(".caffemodel, .caffemodel.h5")
@method
@form("json", "csv")
@variant
@fit
@cycles
@device
@click.pass_context
def info(
    ctx: click.Context,
    model: Path,
    full: bool,
    weights: Optional[Path],
    input_tensor: Optional[str],
    output_tensor: Optional[str],
    method: Optional[str],
    form: Optional[str],
    variant: Optional[str],
    fit: Optional[str],
    stack: int,
    **names: Any,
) -> None:
    """Print the layers of MODEL: shapes, formats, costs.

    --full has kernels, shifts and addresses, too. For a float network: the inputs, outputs and
    parameters of each operator. For a .tflite file that does not run: its operators, why, and what
    TensorFlow Lite Micro says; the exit code is 2. With --cycles: how long an inference takes.
    """
    timing = asked(ctx, names)
    try:
        part = {"input": input_tensor, "output": output_tensor, "method": method}
        network = pipeline.load(model, weights=weights, **part)
    except ModelError:
        operators = checking.operators(model)
        if operators is None:
            raise
        say(getattr(operators, form or "text")())
        ctx.exit(FAULT)
    if isinstance(network, pipeline.FloatNetwork):
        if fit is not None or timing is not None:
            what = "whether it fits" if fit else "how long it takes"
            raise Error(f"{model} is a float network: quantize it first to see {what}")
        table = float_table(network.graph)
        say(getattr(table, form)() if form else float_text(network.graph, full))
        return
    found = fitted(ctx, network, fit, stack, names)
    summary: Union[Summary, Estimate]
    if timing is None:
        summary = pipeline.describe(network, variant=variant, **names)
    else:
        summary = estimated(ctx, network, timing, names)
    if found and form == "json":
        say(json.dumps({**json.loads(summary.json()), "fit": found.record()}, indent=2))
    else:
        say(getattr(summary, form)() if form else summary.text(full))
    for note in network.notes if form is None and timing is None else ():
        say(sentence(f"note: {note}"))
    if found:
        if form is None:
            say(f"\n{found.text()}")
        ctx.exit(0 if found.fits else DIFFERS)


main.add_command(run)


@main.command()
@click.argument("model", type=PATH)
@inputs(required=True)
@click.option("-o", "--output", type=PATH, required=True, help="Folder or .npz file to write.")
@click.option(
    "--format",
    type=click.Choice(pipeline.FORMATS),
    help="A folder, or one .npz file: by default the file for more than ten inputs.",
)
@reading
@state
@threads
@force
@device
def golden(
    model: Path,
    inputs: tuple[str, ...],
    output: Path,
    state: Optional[Path],
    threads: int,
    force: bool,
    format: Optional[str],
    **names: Any,
) -> None:
    """Write goldens: the output of each layer of MODEL.

    In a folder each golden is a .npy file, a .bin file and a C header, for every input and layer;
    it also holds the C code that checks them on a device. An archive has the arrays alone, in one
    file that compare and numpy.load read.
    """
    network = pipeline.load_quantized(model)
    x = inputs_of(network.graph, inputs)
    how: dict[str, Any] = {
        **prepared(network, names),
        "threads": threads,
        "state": read_state(state),
        "progress": progress,
        "force": force,
        "format": format,
    }
    written = pipeline.golden(network, x, output, **how)
    say(f"{len(written.names)} goldens of {written.inputs} inputs in {written.folder}")


@main.command()
@click.argument("golden", type=PATH)
@click.argument("dump", type=PATH)
@click.pass_context
def compare(ctx: click.Context, golden: Path, dump: Path) -> None:
    """Compare a device's outputs in DUMP with the goldens in GOLDEN.

    GOLDEN is a folder or an archive, DUMP a folder whose files have the names of the goldens. Exits
    with 1 if any differs.
    """
    comparison = pipeline.compare(golden, dump)
    say(str(comparison))
    ctx.exit(0 if comparison.same else DIFFERS)


@main.command()
@form("json", "csv")
def chips(form: Optional[str]) -> None:
    """List the chips that --target and --fit know.

    Each has its core, flash, RAM and the largest block of RAM in KiB, of the largest variant of its
    name; source is the maker's document, held whose public description was compared. Flash is 0
    where programs lie outside of the chip.
    """
    say(getattr(chip_table(), form or "text")())


@main.command()
@form("json", "csv")
def kernels(form: Optional[str]) -> None:
    """List the kernels of every op, best first."""
    say(getattr(kernel_table(ROWS), form or "text")())


for _verb in (
    *(bench, variants, check, diff, import_, quantize, fine_tune, analyze, evaluate),
    *(report, export, validate, ndk, sdk),
):
    main.add_command(_verb)
