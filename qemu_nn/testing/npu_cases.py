"""Calls that stand for every op of the NPU."""

from __future__ import annotations

from .cases import Case

_TYPES = ("s8", "s16")
_LENGTH = 4096


def _window(dim: int, kernel: int, stride: int, pad: int) -> dict[str, int]:
    out = (dim + 2 * pad - kernel) // stride + 1
    sides = {"in": dim, "out": out, "kernel": kernel, "stride": stride, "dilation": 1}
    pairs = {f"{name}_{axis}": side for name, side in sides.items() for axis in "hw"}
    return {**pairs, "pad_n": pad, "pad_w": pad}


def _convolve(dim: int, depth: int, out: int, kernel: int, group: int = 1) -> dict[str, int]:
    """A convolution that keeps the image's size."""
    channels = {"group": group, "depth": depth, "out_c": out}
    return {**_window(dim, kernel, 1, kernel // 2), **channels}


def _dense(columns: int, rows: int) -> dict[str, int]:
    return {**_window(1, 1, 1, 0), "group": 1, "depth": columns, "out_c": rows}


def _pool(dim: int, channels: int, kernel: int, stride: int) -> dict[str, int]:
    own = {"channels": channels, "pad_s": 0, "hw_aligned": 1, "up": 0, "down": 0}
    return {**_window(dim, kernel, stride, 0), **own}


NPU_CASES = (
    Case("npu_convolve_u8", _convolve(32, 3, 32, 5)),
    *(
        Case(f"npu_convolve_{type}", params)
        for type in _TYPES
        for params in (
            _convolve(28, 1, 6, 5),
            _convolve(8, 64, 64, 3),
            _convolve(14, 512, 512, 1),
            _convolve(14, 1, 256, 3, group=256),
            _convolve(14, 32, 128, 3, group=4),
            _dense(256, 256),
        )
    ),
    *(Case(f"npu_max_pool_{type}", _pool(28, 16, 2, 2)) for type in _TYPES),
    *(Case(f"npu_average_pool_{type}", _pool(7, 256, 7, 1)) for type in _TYPES),
    *(Case(f"npu_relu_{type}", {"length": _LENGTH, "slope": 6}) for type in _TYPES),
    *(Case(f"npu_clip_{type}", {"length": _LENGTH, "high": 96}) for type in _TYPES),
    *(Case(f"npu_lookup_{type}", {"length": _LENGTH}) for type in _TYPES),
    *(Case(f"npu_add_{type}", {"length": _LENGTH, "shift": 1}) for type in _TYPES),
    *(
        Case(f"npu_scale_by_tensor_{type}", {"pixels": 1, "channels": _LENGTH, "shift": 7})
        for type in _TYPES
    ),
    *(Case(f"npu_log_softmax_{type}", {"pixels": 1, "channels": 10}) for type in _TYPES),
    *(
        Case(
            f"npu_channels_{type}",
            {"pixels": 64, "channels_a": 32, "channels_b": 32, "channels_out": 64},
        )
        for type in _TYPES
    ),
)
