"""Feature tensors as C headers, in the chip's memory orders."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Union

import numpy as np

from ..errors import Error
from ..io import files
from ..io.arguments import as_count
from .integers import check_width, to_integers

#: Words of C, which name no array.
_WORDS = re.compile(
    "auto|break|case|char|const|continue|default|do|double|else|enum|extern|float|for|goto|if|inline"
    "|int|long|register|restrict|return|short|signed|sizeof|static|struct|switch|typedef|union"
    "|unsigned|void|volatile|while"
)

#: Bytes of a row of an aligned tensor.
_ROW = 32


def save_quantized_feature_to_header(
    filename: Union[str, Path],
    feature: np.ndarray,
    bit_width: int,
    frac: int,
    signed: bool = True,
    name_in_header: str = "feature",
    aligned: bool = True,
) -> None:
    """Write a tensor as a C array of integers.

    Parameters
    ----------
    filename : str or Path
        The header to write.
    feature : ndarray of floats, shape (N, C, H, W)
        The tensor; its integers are floor(x * 2^frac), saturated.
    bit_width : {8, 16}
        Bits of an integer.
    frac : int
        Fraction bits.
    signed : bool, default True
        Whether the integers have a sign.
    name_in_header : str, default "feature"
        The C name of the array.
    aligned : bool, default True
        Start every row of an image at a multiple of 32 bytes, with zeros in between; else packed,
        as cnn_run_net_pack() reads it.

    Raises
    ------
    Error
        The width, shape or name is wrong, a value is not finite, or the file cannot be written.

    References
    ----------
    The kit's manual, chapter 4.6.8.
    """
    feature = np.asarray(feature)
    bit_width = check_width("bit_width", bit_width)
    if feature.ndim != 4:
        raise Error(f"feature has the shape {list(feature.shape)}, but must have [N, C, H, W]")
    frac = as_count(frac, "frac", -128, 128)
    named = name_in_header.isascii() and name_in_header.isidentifier()
    if not named or _WORDS.fullmatch(name_in_header):
        raise Error(f"name_in_header is {name_in_header!r}, but must be a C identifier")
    if not np.isfinite(feature).all():
        raise Error("the tensor has values that are not finite: remove or replace them")
    values = to_integers(feature, bit_width, frac, signed)
    if aligned:
        short = -values.shape[3] % (_ROW // (bit_width // 8))
        values = np.pad(values, ((0, 0), (0, 0), (0, 0), (0, short)))
    rows = values.reshape(-1, values.shape[3])
    lines = ",\n    ".join(", ".join(map(str, row)) for row in rows.tolist())
    guard = f"{name_in_header.upper()}_H"
    text = (
        f"/* {' x '.join(map(str, feature.shape))} (N, C, H, W), {frac} fraction bits"
        f"{', rows of 32 bytes' if aligned else ''} */\n"
        f"#ifndef {guard}\n#define {guard}\n\n#include <stdint.h>\n\n"
        f"static const {values.dtype}_t {name_in_header}[{values.size}] = {{\n"
        f"    {lines}\n}};\n\n#endif\n"
    )
    files.write_bytes(Path(filename), text.encode("ascii"))
