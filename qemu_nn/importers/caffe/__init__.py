"""Caffe: a .prototxt with a .caffemodel or .caffemodel.h5, read without Caffe."""

from __future__ import annotations

from pathlib import Path
from typing import Optional

from ...errors import Error, ModelError
from ...ir.float_graph import FloatGraph
from ...ir.model_file import ModelFile
from .input_shape import find_input_shape
from .layers import build
from .net import read_net
from .weights import read_weights


def read(
    path: Path,
    input: Optional[str] = None,
    output: Optional[str] = None,
    weights: Optional[Path] = None,
) -> ModelFile:
    """Read the TEST net of a .prototxt; tensors are NCHW and have the names of the layers.

    input, output: names of layers or blobs between which the net is cut out. Raises Error where
    no weights are given, ModelError for files that cannot be used.
    """
    if weights is None:
        raise Error(
            f"{path} describes a network without its weights; give the .caffemodel or "
            ".caffemodel.h5 that belongs to it as weights= (the commands of qemu-nn ndk "
            "read networks of the NPU's kit, with an .npz next to them)"
        )
    learned = read_weights(weights)
    try:
        net = read_net(path)
        outputs = net.outputs if output is None else (net.tensor(output),)
        start, steps = net.between(None if input is None else net.tensor(input), outputs)
        source, before = net.between(None, [start])
        shape = find_input_shape(net, source, [*before, *steps], learned)
        _, shapes = build(before, {source: shape}, learned)
        nodes, _ = build(steps, {start: shapes[start]}, learned)
        graph = FloatGraph(
            name=net.name or path.stem,
            input=start,
            shape=shapes[start],
            layout="NCHW" if len(shapes[start]) == 3 else None,
            nodes=tuple(nodes),
            outputs=outputs,
        )
        return ModelFile(reference=graph)
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None
