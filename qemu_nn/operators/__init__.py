"""Operators of float networks: one small class each, independent of any file format."""

from .activation import Clip, PRelu, Relu, Sigmoid, Softmax, Tanh
from .arithmetic import Affine, Elementwise
from .base import Operator, Shape
from .linear import Conv, Dense
from .pool import Pool
from .shaping import Concat, Identity, Pad, Reshape, Shuffle, Slice, Transpose

#: Class name -> operator.
OPERATORS: dict[str, type[Operator]] = {
    operator.__name__: operator
    for operator in (
        *(Conv, Dense, Pool, Affine, Elementwise),
        *(Relu, Clip, PRelu, Sigmoid, Tanh, Softmax),
        *(Concat, Slice, Pad, Reshape, Transpose, Shuffle, Identity),
    )
}

__all__ = [
    "OPERATORS",
    "Affine",
    "Clip",
    "Concat",
    "Conv",
    "Dense",
    "Elementwise",
    "Identity",
    "Operator",
    "PRelu",
    "Pad",
    "Pool",
    "Relu",
    "Reshape",
    "Shape",
    "Shuffle",
    "Sigmoid",
    "Slice",
    "Softmax",
    "Tanh",
    "Transpose",
]
