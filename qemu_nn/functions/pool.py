"""Pooling: the legacy functions on images HWC, and those of the s8 and s16 API."""

from random import Random

from ..operators import Pool
from .base import Function, Params
from .c_signature import Member, Order, Struct, dims, legacy, order, pair
from .float_semantics import FloatCall, Meant, get_pads
from .random_params import MOST_CHANNELS, Drawn, draw_natural_output
from .random_params import draw_legacy as drawn
from .shapes import Array

_SQUARE: tuple[str, ...] = (
    "dim_im_in",
    "ch_im_in",
    "dim_kernel",
    "padding",
    "stride",
    "dim_im_out",
)
_NONSQUARE: tuple[str, ...] = (
    "dim_im_in_x",
    "dim_im_in_y",
    "ch_im_in",
    "dim_kernel_x",
    "dim_kernel_y",
)
_NONSQUARE += ("padding_x", "padding_y", "stride_x", "stride_y", "dim_im_out_x", "dim_im_out_y")
_NONSQUARE += ("out_lshift",)

_LEGACY = "Im_in dim_im_in ch_im_in dim_kernel padding stride dim_im_out bufferA Im_out"
_LEGACY_NONSQUARE = (
    "Im_in dim_im_in_x dim_im_in_y ch_im_in dim_kernel_x dim_kernel_y padding_x padding_y"
    " stride_x stride_y dim_im_out_x dim_im_out_y bufferA Im_out out_lshift"
)

_DESTROYS = "Cores with the DSP extension pool each row of Im_in in place first, and so destroy it."


def _meet(rng: Random, function: Function, params: Drawn) -> None:
    draw_natural_output(rng, params)


def _halves(dim: int) -> Params:
    """Return a case that halves an image of 32 channels."""
    image = {"dim_im_in": dim, "ch_im_in": 32, "dim_im_out": dim // 2}
    return {**image, "dim_kernel": 3, "padding": 0, "stride": 2}


#: Case with one output pixel from an image of 25 x 5.
_AVERAGE = {
    **{"dim_im_in_x": 5, "dim_im_in_y": 25, "dim_kernel_x": 5, "dim_kernel_y": 25},
    **{"padding_x": 0, "padding_y": 0, "stride_x": 1, "stride_y": 1, "ch_im_in": 64},
    **{"dim_im_out_x": 1, "dim_im_out_y": 1, "out_lshift": 0},
}


def _square(name: str, op: str, scratch: int, case: Params) -> Function:
    return Function(
        name=name,
        op=op,
        type="q7",
        params=_SQUARE,
        inputs=(Array("Im_in", "int8", ("dim_im_in", "dim_im_in", "ch_im_in")),),
        output=Array("Im_out", "int8", ("dim_im_out", "dim_im_out", "ch_im_in")),
        fixed={"out_lshift": 0},
        scratch=(scratch, "dim_im_out", "ch_im_in"),
        note=_DESTROYS,
        order=legacy(_LEGACY, scratch="int8", writes_inputs=True),
        draw=drawn(_meet, ("ch_im_in",), MOST_CHANNELS),
        cases=(case,),
    )


_WINDOWS: tuple[str, ...] = ("batches", "input_h", "input_w", "channels", "filter_h", "filter_w")
_WINDOWS += ("stride_h", "stride_w", "pad_h", "pad_w", "output_h", "output_w", "act_min", "act_max")


def _pool_order() -> Order:
    window = {**pair("stride", "stride"), **pair("padding", "pad")}
    ends: dict[str, Member] = {"activation.min": "act_min", "activation.max": "act_max"}
    return order(
        "ctx pool_params input_dims input filter_dims output_dims output",
        {
            "pool_params": Struct("cmsis_nn_pool_params", {**window, **ends}),
            "input_dims": dims("batches", "input_h", "input_w", "channels"),
            "filter_dims": dims(1, "filter_h", "filter_w", 1),
            "output_dims": dims("batches", "output_h", "output_w", "channels"),
        },
    )


def _meet_windows(rng: Random, function: Function, params: Drawn) -> None:
    """Check that padding is less than the filter, and that no window begins after the image."""
    for axis in ("_h", "_w"):
        params[f"pad{axis}"] = min(params[f"pad{axis}"], params[f"filter{axis}"] - 1)
        reach = params[f"input{axis}"] + params[f"pad{axis}"] - 1
        params[f"output{axis}"] = 1 + rng.randint(0, reach // params[f"stride{axis}"])


def _windows(size: tuple[int, int], channels: int, kernel: tuple[int, int], out: int) -> Params:
    """Return a case without padding."""
    sides = {"input": size, "filter": kernel, "stride": kernel, "pad": (0, 0), "output": (out, out)}
    pairs = {
        f"{name}_{axis}": pair[i] for name, pair in sides.items() for i, axis in enumerate("hw")
    }
    return {"batches": 1, "channels": channels, **pairs, "act_min": -128, "act_max": 127}


def _define_meaning(call: FloatCall) -> Meant:
    params = call.params
    top, left, bottom, right = get_pads(params)
    around = (top, left, max(bottom, 0), max(right, 0))
    kernel, stride = ((params[f"{n}_h"], params[f"{n}_w"]) for n in ("filter", "stride"))
    kind = "max" if call.function.op == "max_pool" else "average"
    return Meant((Pool(kind, kernel, stride, around),), (call.image,))


def _affine(name: str, op: str, type: str, scratch: int, case: Params) -> Function:
    """Declare an s8 or s16 pooling; scratch: bytes for each channel, of
    arm_avgpool_*_get_buffer_size on DSP cores.
    """
    dtype = {"s8": "int8", "s16": "int16"}[type]
    return Function(
        name=f"{name}_{type}",
        op=op,
        type=type,
        params=_WINDOWS,
        inputs=(Array("input", dtype, ("batches", "input_h", "input_w", "channels")),),
        output=Array("output", dtype, ("batches", "output_h", "output_w", "channels")),
        scratch=(scratch, "channels"),
        note="Arm passes these in structs. Padding never counts. From CMSIS 5.9.0 on.",
        order=_pool_order(),
        draw=drawn(_meet_windows, ("channels",), MOST_CHANNELS),
        cases=(case,),
        meaning=_define_meaning,
    )


FUNCTIONS = (
    _square("arm_maxpool_q7_HWC", "maxpool", 0, _halves(32)),
    _square("arm_avepool_q7_HWC", "avepool", 2, _halves(16)),
    Function(
        name="arm_avepool_q7_HWC_nonsquare",
        op="avepool_nonsquare",
        type="q7",
        params=_NONSQUARE,
        inputs=(Array("Im_in", "int8", ("dim_im_in_y", "dim_im_in_x", "ch_im_in")),),
        output=Array("Im_out", "int8", ("dim_im_out_y", "dim_im_out_x", "ch_im_in")),
        note="Not CMSIS: the keyword-spotting project's own. sum * 2^out_lshift / count, wrapping.",
        order=legacy(_LEGACY_NONSQUARE, scratch="int8", header="local_NN.h"),
        draw=drawn(_meet, ("ch_im_in",), MOST_CHANNELS),
        cases=(_AVERAGE,),
    ),
    *(
        _affine("arm_max_pool", "max_pool", type, 0, _windows((24, 24), 16, (2, 2), 12))
        for type in ("s8", "s16")
    ),
    *(
        _affine("arm_avgpool", "avgpool", type, 4, _windows((25, 5), 64, (25, 5), 1))
        for type in ("s8", "s16")
    ),
)
