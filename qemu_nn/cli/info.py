"""The command that prints a network: info."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Optional, Union

import click

from ..analysis.estimate import Estimate
from ..analysis.float_table import float_table, float_text, float_values
from ..analysis.summary import Summary
from ..analysis.table import json_text
from ..api import golden as pipeline
from ..errors import Error, ModelError, sentence
from ..targets import Target
from .estimate import asked, cycles, estimated
from .options import (
    PATH,
    device,
    fit,
    fitted,
    form,
    method,
    original,
    say,
    signature,
    source,
    variant,
)

TOO_SMALL, FAULT = 1, 2


@click.command()
@click.argument("model", type=PATH)
@click.option("--full", is_flag=True, help="Every column and fact, in lines of any length.")
@source(".caffemodel, .caffemodel.h5")
@method
@signature
@original
@form("json", "csv")
@variant
@fit
@cycles
@device
@click.pass_context
def info(
    ctx: click.Context,
    /,
    model: Path,
    full: bool,
    weights: Optional[Path],
    input_tensor: Optional[str],
    output_tensor: Optional[str],
    method: Optional[str],
    signature: Optional[str],
    original: Optional[Path],
    form: Optional[str],
    variant: Optional[str],
    fit: Optional[str],
    stack: int,
    target: Target,
    **names: Any,
) -> None:
    """Print the layers of MODEL: shapes, formats, costs.

    --full has kernels, shifts and addresses, too. For a float network: the inputs, outputs and
    parameters of each operator. For a .tflite file that does not run: its operators, why, and what
    TensorFlow Lite Micro says; the exit code is 2. With --cycles: how long an inference takes,
    on a chip of --fit at its highest clock. Several chips give one table.
    """
    timing = asked(ctx, names)
    try:
        part: dict[str, Any] = {"input": input_tensor, "output": output_tensor, "method": method}
        network = pipeline.load(
            model, weights=weights, signature=signature, original=original, **part
        )
    except ModelError:
        from ..api import check as checking

        operators = checking.operators(model, signature)
        if operators is None:
            raise
        say(getattr(operators, form or "text")())
        ctx.exit(FAULT)
    if isinstance(network, pipeline.FloatNetwork):
        if fit is not None or timing is not None:
            what = "whether it fits" if fit else "how long it takes"
            raise Error(f"{model} is a float network: quantize it first to see {what}")
        _say_float(network, full, form)
        return
    if fit and "," in fit:
        _say_chips(ctx, network, fit, stack, form, target)
    target, found = fitted(ctx, network, fit, stack, target)
    summary: Union[Summary, Estimate]
    if timing is None:
        summary = pipeline.describe(network, target, variant)
    else:
        summary = estimated(ctx, network, timing, target)
    if found and form == "json":
        say(json_text({**summary.to_dict(), "fit": found.to_dict()}))
    else:
        say(getattr(summary, form)() if form else summary.text(full))
    for note in network.notes if form is None and timing is None else ():
        say(sentence(f"note: {note}"))
    if found:
        if form is None:
            say(f"\n{found.text()}")
        ctx.exit(0 if found.fits and found.fits_tflm is not False else TOO_SMALL)


def _say_float(network: pipeline.FloatNetwork, full: bool, form: Optional[str]) -> None:
    """Print the operators of a float network, and its notes."""
    if form == "json":
        say(json_text(float_values(network.graph)))
    elif form:
        say(float_table(network.graph).csv())
    else:
        say(float_text(network.graph, full))
        for note in network.notes:
            say(sentence(f"note: {note}"))


def _say_chips(
    ctx: click.Context,
    network: pipeline.Network,
    chips: str,
    stack: int,
    form: Optional[str],
    target: Target,
) -> None:
    """Print a row for each chip, and exit; one chip alone, given by its figures, is left."""
    from ..api.fit_table import fit_table, split_chips

    several = split_chips(chips)
    if len(several) == 1:
        return
    table = fit_table(network, several, stack, target)
    say(getattr(table, form or "text")())
    verdicts = {row[name] for row in table.records() for name in row if name.startswith("fits")}
    ctx.exit(TOO_SMALL if False in verdicts else 0)
