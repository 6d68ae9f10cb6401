"""Pooling, activations and element-wise operators as calls."""

from __future__ import annotations

import math
from typing import Optional

from ..errors import ModelError
from ..operators import Clip, Elementwise, Pool, Relu, Sigmoid, Softmax, Tanh
from .conv_dense import geometry, is_square, spell_arguments
from .layer_context import Site

#: Most elements of the activations' length argument, and most pixels that the DSP path of
#: arm_avepool_q7_HWC sums without saturation.
_LONGEST, _SUMMABLE = 65535, 256

#: Kind -> its name in the q7 functions, and in the s8 and s16 functions.
_POOLS = {"max": "maxpool", "average": "avepool"}
_S8_POOLS = {"max": "max_pool", "average": "avgpool"}


def pool(site: Site, operator: Pool) -> None:
    """Append the q7 pooling if it is exact, else the s8 or s16 pooling of CMSIS 5.9.0."""
    if operator.kind == "average" and operator.count_pads and any(operator.pads):
        raise ModelError(
            "some of its windows count padding in the average and others do not; no function "
            "does both"
        )
    pairs = geometry(site, operator)
    channels = site.image()[2]
    plain = is_square(pairs) and pairs["padding"][0] < pairs["stride"][0]
    plain = plain and pairs["dim_im_out"][0] <= pairs["dim_im_in"][0] and site.suffix == "q7"
    if operator.kind == "average":
        plain = plain and operator.kernel[0] <= _SUMMABLE
    q7_name, s8_name = f"arm_{_POOLS[operator.kind]}_q7_HWC", _s8_name(site, operator)
    function = site.choose([(q7_name, plain), (s8_name, not site.old)])
    if function == q7_name:
        site.call(function, {**spell_arguments(function, pairs), "ch_im_in": channels})
    else:
        site.call(function, _s8_params(site, operator, -(2 ** (site.formats.bits - 1))))


def _s8_name(site: Site, operator: Pool) -> str:
    return f"arm_{_S8_POOLS[operator.kind]}_{'s8' if site.suffix == 'q7' else 's16'}"


def _s8_params(site: Site, operator: Pool, low: int, high: Optional[int] = None) -> dict[str, int]:
    """Return the arguments of the s8 and s16 pooling; low, high: clamp of its output."""
    names = ("input", "filter", "stride", "pad", "output")
    pairs = (site.image(), operator.kernel, operator.stride, operator.pads, site.image(-1))
    sides = {f"{n}_{axis}": pair[i] for n, pair in zip(names, pairs) for i, axis in enumerate("hw")}
    top = 2 ** (site.formats.bits - 1) - 1
    clamp = {"act_min": low, "act_max": top if high is None else min(high, top)}
    return {**sides, "batches": 1, "channels": site.image()[2], **clamp}


def relu(site: Site, operator: Relu) -> None:
    """Append arm_relu, and for a limit a sum that saturates at it."""
    if operator.slope:
        raise ModelError(
            f"no function of CMSIS-NN has a slope below zero ({operator.slope}); bits=8 without a "
            "limit or scheme='affine' compute it"
        )
    top = 2 ** (site.formats.bits - 1) - 1
    limit = top if operator.limit is None else _integer(operator.limit, site.fracs[0])
    if _size(site) > _LONGEST and not site.old and len(site.shapes[0]) == 3:
        pixel = Pool("max", (1, 1))  # it clamps images of any size
        site.call(_s8_name(site, pixel), _s8_params(site, pixel, 0, limit))
        return
    offsets = _make_cap(top - limit)
    size = {"size": _size(site, _LONGEST)}
    site.call(f"arm_relu_{site.suffix}", size, part="relu" if offsets else "")
    _add(site, offsets)


def clip(site: Site, operator: Clip) -> None:
    """Append sums that saturate at both limits, and their inverse."""
    most = 2 ** (site.formats.bits - 1)
    low = _integer(operator.low, site.fracs[0]) + most
    high = most - 1 - _integer(operator.high, site.fracs[0])
    if low > most or high > most:
        raise ModelError(
            f"its limits are {operator.low} and {operator.high}; 0 must be between them, within "
            "the format"
        )
    _add(site, [-offset for offset in _make_cap(low)] + _make_cap(high) or [0])


def _make_cap(above: int) -> list[int]:
    """Return the offsets whose sums clear the highest `above` integers of the type."""
    return [above, -above] if above > 0 else []


def _add(site: Site, offsets: list[int]) -> None:
    """Append one saturating sum after the other."""
    for index, offset in enumerate(offsets, 1):
        part = f"clip{index}" if index < len(offsets) else ""
        params = {"offset": offset, "blockSize": _size(site)}
        site.call(f"arm_offset_{site.suffix}", params, part=part)


def table(site: Site, operator: Sigmoid | Tanh) -> None:
    """Append a sigmoid or tanh from a table; the input's integer bits choose the scale."""
    width = site.formats.bits - 1 - site.fracs[0]
    kind = 0 if isinstance(operator, Sigmoid) else 1
    params = {"size": _size(site, _LONGEST), "int_width": width, "type": kind}
    site.call(f"arm_nn_activations_direct_{site.suffix}", params)


def softmax(site: Site, operator: Softmax) -> None:
    """Append the softmax of a vector."""
    shape = site.shapes[0]
    if operator.log or math.prod(shape) != shape[operator.axis] or shape[operator.axis] > _LONGEST:
        raise ModelError(
            f"its input has the shape {list(shape)}; the softmax functions take one vector"
        )
    site.call(f"arm_softmax_{site.suffix}", {"dim_vec": math.prod(shape)})


def elementwise(site: Site, operator: Elementwise) -> None:
    """Append a sum or product of two tensors of one shape."""
    if site.shapes[0] != site.shapes[1]:
        raise ModelError(
            f"its inputs {list(site.shapes[0])} and {list(site.shapes[1])} differ in shape; "
            "scheme='affine' copies the smaller one, as do products with one pixel of bits=8"
        )
    size = _size(site)
    if operator.kind == "multiply":
        shift = sum(site.fracs[:2]) - site.fracs[-1]
        site.call(f"arm_nn_mult_{site.suffix}", {"out_shift": shift, "blockSize": size})
    elif operator.kind in ("add", "subtract"):
        site.call(f"arm_{operator.kind[:3]}_{site.suffix}", {"blockSize": size})
    else:
        raise ModelError(
            f"no function of CMSIS-NN computes the {operator.kind} of two tensors with powers of "
            "two as scales; scheme='affine' has one"
        )


def _size(site: Site, most: int = 2**31 - 1) -> int:
    size = math.prod(site.shapes[0])
    if size > most:
        raise ModelError(f"it has {size} elements; its function takes at most {most}")
    return size


def _integer(value: float, frac: int) -> int:
    return round(value * 2.0**frac)
