"""Float network to float network: the same values from fewer operators, channels last."""

from __future__ import annotations

from ..ir.float_graph import FloatGraph
from .fold import fold, scale_images
from .layout import channels_last
from .tidy import merge_pads, recognise_shuffles, tidy

#: In running order; each leaves the values of every tensor that survives as they are.
PASSES = (
    tidy,
    recognise_shuffles,
    channels_last,
    tidy,
    merge_pads,
    fold,
    scale_images,
    tidy,
)


def optimize(graph: FloatGraph) -> tuple[FloatGraph, tuple[str, ...]]:
    """The network that targets lower from, and sentences about what could not be folded.

    Tensors that survive keep their names and values (images with channels last), the outputs all
    survive: for any input the network computes what it did, up to the rounding of floats.
    """
    for each in PASSES:
        graph = each(graph)
    return graph, tuple(_stuck(graph))


def _stuck(graph: FloatGraph) -> list[str]:
    """What is left that a device has to do without."""
    notes = []
    for node in graph.nodes:
        kind = type(node.operator).__name__
        if kind == "Affine" and node.inputs[0] != graph.input:
            readers = " and ".join(repr(reader.name) for reader in graph.readers(node.name))
            notes.append(
                f"{node.name}: its scale and offset do not fold into {readers or 'anything'}: "
                "they are not one number for each channel, or other readers or padding see them"
            )
        elif kind in ("Pad", "Transpose"):
            what = "padding" if kind == "Pad" else "transposition"
            notes.append(f"{node.name}: its {what} stays an operator of its own")
    return notes
