"""Padding of the windows of convolutions and pools."""

from __future__ import annotations

from collections.abc import Sequence

from ....errors import ModelError
from ..call import OnnxCall


def geometry(
    call: OnnxCall, size: Sequence[int], kernel: Sequence[int], ceil: bool = False
) -> dict[str, int]:
    """Return strides, dilations, pads in front, and the sides of the output."""
    strides = call.integers("strides") or [1, 1]
    dilations = call.integers("dilations") or [1, 1]
    auto, pads = call.text("auto_pad", "NOTSET"), call.integers("pads") or [0, 0, 0, 0]
    if len(strides) != 2 or len(dilations) != 2 or len(pads) != 4 or min(*strides, *dilations) < 1:
        raise ModelError("its windows must have two axes")
    found: dict[str, int] = {}
    for axis, name in enumerate("hw"):
        reach = dilations[axis] * (kernel[axis] - 1) + 1
        if auto.startswith("SAME"):
            out = -(-size[axis] // strides[axis])
            total = max((out - 1) * strides[axis] + reach - size[axis], 0)
            front = total // 2 if auto == "SAME_UPPER" else total - total // 2
        else:
            front, back = pads[axis], pads[axis + 2]
            left = size[axis] + front + back - reach
            out = (-(-left // strides[axis]) if ceil else left // strides[axis]) + 1
            if ceil and (out - 1) * strides[axis] >= size[axis] + front:
                out -= 1  # a window that begins after the image
        if front < 0 or out < 1:
            raise ModelError(
                f"its windows are larger than the padded image {list(size)}; they must fit into it"
            )
        found.update({f"stride_{name}": strides[axis], f"dilation_{name}": dilations[axis]})
        found.update({f"pad_{name}": front, f"output_{name}": out, f"input_{name}": size[axis]})
        found[f"filter_{name}"] = kernel[axis]
    return found
