"""Operators of float networks: one small class each, independent of any file format."""

from .activation import Clip, PRelu, Relu, Sigmoid, Softmax, Tanh
from .arithmetic import Affine, Elementwise
from .base import Operator, Shape
from .curve import Curve
from .linear import Conv, ConvTranspose, Dense, MatMul
from .pool import Pool
from .recurrent import Lstm
from .reduce import ArgMax, Normalize, Reduce
from .resize import Resize
from .shaping import (
    Concat,
    DepthToSpace,
    Gather,
    Identity,
    Pad,
    Reshape,
    Shuffle,
    Slice,
    SpaceToDepth,
    Transpose,
)

#: Class name -> operator.
OPERATORS: dict[str, type[Operator]] = {
    operator.__name__: operator
    for operator in (
        *(Conv, ConvTranspose, Dense, MatMul, Pool, Affine, Elementwise),
        *(Relu, Clip, PRelu, Sigmoid, Tanh, Softmax, Curve),
        *(Lstm, Reduce, ArgMax, Normalize, Resize, DepthToSpace, SpaceToDepth),
        *(Concat, Slice, Gather, Pad, Reshape, Transpose, Shuffle, Identity),
    )
}

__all__ = [
    "OPERATORS",
    "Affine",
    "ArgMax",
    "Clip",
    "Concat",
    "Conv",
    "ConvTranspose",
    "Curve",
    "Dense",
    "DepthToSpace",
    "Elementwise",
    "Gather",
    "Identity",
    "Lstm",
    "MatMul",
    "Normalize",
    "Operator",
    "PRelu",
    "Pad",
    "Pool",
    "Reduce",
    "Relu",
    "Reshape",
    "Resize",
    "Shape",
    "Shuffle",
    "Sigmoid",
    "Slice",
    "Softmax",
    "SpaceToDepth",
    "Tanh",
    "Transpose",
]
