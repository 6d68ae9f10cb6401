"""Float network to float network: the same values from fewer operators, channels last."""

from __future__ import annotations

from ..ir.float_graph import FloatGraph
from .curves import fuse_curves
from .fold import fold, scale_images
from .layout import move_channels_last
from .normalizations import recognise_normalizations
from .tidy import merge_pads, recognise_shuffles, tidy

#: Passes in running order; each keeps the values of all remaining tensors.
PASSES = (
    tidy,
    recognise_shuffles,
    recognise_normalizations,
    tidy,
    move_channels_last,
    tidy,
    merge_pads,
    fold,
    fuse_curves,
    scale_images,
    tidy,
)


def optimize(graph: FloatGraph) -> tuple[FloatGraph, tuple[str, ...]]:
    """Return the network with fewer operators, channels last, and a sentence for each that remains.

    Remaining tensors keep their names and values (images with channels last), and all outputs
    remain. For any input the network computes the same function, up to float rounding.
    """
    for run_pass in PASSES:
        graph = run_pass(graph)
    return graph, tuple(_list_notes(graph))


def _list_notes(graph: FloatGraph) -> list[str]:
    """Return a sentence for each operator that could not be folded."""
    notes = []
    for node in graph.nodes:
        kind = type(node.operator).__name__
        if kind == "Affine" and node.inputs[0] not in graph.starts:
            readers = " and ".join(repr(reader.name) for reader in graph.readers(node.name))
            notes.append(
                f"{node.name}: its scale and offset cannot be folded into {readers or 'a layer'}: "
                "they differ within a channel, or another reader or padding needs them"
            )
        elif kind in ("Pad", "Transpose"):
            what = "padding" if kind == "Pad" else "transposition"
            notes.append(f"{node.name}: its {what} stays as an operator")
    return notes
