"""Calls that stand for every op of the kernel table: the shapes that networks are made of."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ..functions import FUNCTIONS, NPU_FUNCTIONS, Array, Function
from ..functions.extents import extent
from ..ir.graph import Graph
from .builder import Builder

#: Work of one run, in multiply-accumulates: enough that the call from Python is of no account.
_WORK = 30_000_000


@dataclass(frozen=True)
class Case:
    """A call of a layer function, and for how many samples at a time."""

    function: str
    params: Mapping[str, int] = field(default_factory=dict)
    batch: int = 1

    @property
    def declared(self) -> Function:
        """The function's declaration."""
        return FUNCTIONS.get(self.function) or NPU_FUNCTIONS[self.function]

    def __str__(self) -> str:
        declared = self.declared
        sizes = ["x".join(map(str, a.shape(self.params))) for a in declared.inputs[:1]]
        sizes += ["x".join(map(str, declared.output.shape(self.params)))]
        square = self.params.get("dim_kernel", 0)
        kernel = [self.params.get(f"dim_kernel_{axis}", square) for axis in "yx"]
        kernel = [self.params.get(f"kernel_{axis}", side) for axis, side in zip("hw", kernel)]
        window = ", {}x{}".format(*kernel) if any(kernel) else ""
        many = f", batch {self.batch}" if self.batch > 1 else ""
        return f"{' -> '.join(sizes)}{window}{many}"

    @property
    def macs(self) -> int:
        """Multiply-accumulates of one call; 0 for what does not multiply."""
        return extent(self.declared.macs, self.params)

    @property
    def elements(self) -> int:
        """Elements of the first input, or of the output where there is none."""
        return math.prod(self._first.shape(self.params))

    @property
    def _first(self) -> Array:
        return (*self.declared.inputs, self.declared.output)[0]

    def graph(self) -> tuple[Graph, int]:
        """Equal calls on one input, sharing their weights; and how many there are."""
        declared = self.declared
        first = self._first
        builder = Builder(self.function, first.shape(self.params), first.dtype)
        others = (array for array in declared.read(self.params) if not array.state)
        prepared = any(array.dtype != first.dtype for array in others)
        if prepared:
            builder.call("wide", "arm_q7_to_q15_no_shift", {"blockSize": self.elements})
        builder.call("call", self.function, self.params)
        one = builder.graph()
        count = max(8, min(500, _WORK // (self.batch * max(self.macs, 16 * self.elements))))
        node = one.node("call")
        calls = tuple(
            replace(node, output=replace(node.output, name=f"call{i}")) for i in range(count)
        )
        nodes = (*one.nodes[:1], *calls) if prepared else calls
        return replace(one, nodes=nodes, outputs=(nodes[-1].name,)), count


def _same(dim: int, channels: int, out: int, kernel: int) -> dict[str, int]:
    """A square convolution that keeps the image's size."""
    image = {"dim_im_in": dim, "ch_im_in": channels, "ch_im_out": out, "dim_im_out": dim}
    return {**image, "dim_kernel": kernel, "padding": kernel // 2, "stride": 1}


def _oblong(height: int, width: int, channels: int, out: int, kernel: int) -> dict[str, int]:
    """The same for an image that is not square."""
    sizes = {"dim_im_in": (width, height), "dim_im_out": (width, height)}
    sizes.update(dim_kernel=(kernel,) * 2, padding=(kernel // 2,) * 2, stride=(1, 1))
    pairs = {
        f"{name}_{axis}": pair[i] for name, pair in sizes.items() for i, axis in enumerate("xy")
    }
    return {**pairs, "ch_im_in": channels, "ch_im_out": out}


def _pool(dim: int, channels: int, kernel: int) -> dict[str, int]:
    """A pooling that halves the image."""
    image = {"dim_im_in": dim, "ch_im_in": channels, "dim_im_out": dim // 2}
    return {**image, "dim_kernel": kernel, "padding": 0, "stride": 2}


def _dense(columns: int, rows: int) -> dict[str, int]:
    return {"dim_vec": columns, "num_of_rows": rows}


def _windows(
    size: tuple[int, int], channels: int, kernel: tuple[int, int], out: int
) -> dict[str, int]:
    """A pooling of the s8 and s16 API without padding."""
    sides = {"input": size, "filter": kernel, "stride": kernel, "pad": (0, 0), "output": (out, out)}
    pairs = {
        f"{name}_{axis}": pair[i] for name, pair in sides.items() for i, axis in enumerate("hw")
    }
    return {"batches": 1, "channels": channels, **pairs, "act_min": -128, "act_max": 127}


_AVERAGE = {**_oblong(25, 5, 64, 64, 1), "dim_kernel_x": 5, "dim_kernel_y": 25, "out_lshift": 0}
_AVERAGE.update(dim_im_out_x=1, dim_im_out_y=1)
del _AVERAGE["ch_im_out"]
_LENGTH = 4096

CASES = (
    Case("arm_convolve_HWC_q7_RGB", _same(32, 3, 32, 5)),
    Case("arm_convolve_HWC_q7_basic", _same(28, 1, 6, 5)),
    Case("arm_convolve_HWC_q7_fast", _same(16, 32, 16, 5)),
    Case("arm_convolve_HWC_q7_fast", _same(8, 16, 32, 5)),
    Case("arm_convolve_HWC_q7_fast", _same(8, 64, 64, 3)),
    Case("arm_convolve_HWC_q7_fast_nonsquare", _oblong(25, 5, 64, 64, 3)),
    Case("arm_convolve_1x1_HWC_q7_fast_nonsquare", _oblong(25, 5, 64, 64, 1)),
    Case("arm_convolve_1x1_HWC_q7_fast_nonsquare", _oblong(14, 14, 512, 512, 1)),
    Case("arm_convolve_HWC_q15_basic", _same(16, 3, 32, 5)),
    Case("arm_convolve_HWC_q15_fast", _same(16, 32, 32, 5)),
    Case("arm_convolve_HWC_q15_fast_nonsquare", _oblong(16, 16, 32, 32, 5)),
    Case("arm_depthwise_separable_conv_HWC_q7_nonsquare", _oblong(25, 5, 64, 64, 3)),
    Case("arm_fully_connected_q7", _dense(512, 10)),
    Case("arm_fully_connected_q7_opt", _dense(512, 10)),
    Case("arm_fully_connected_q7_opt", _dense(256, 256), batch=32),
    Case("arm_fully_connected_q15", _dense(256, 256)),
    Case("arm_fully_connected_q15_opt", _dense(256, 256)),
    Case("arm_fully_connected_q15_opt", _dense(256, 256), batch=32),
    Case("arm_fully_connected_mat_q7_vec_q15", _dense(256, 256)),
    Case("arm_fully_connected_mat_q7_vec_q15_opt", _dense(256, 256)),
    Case("arm_nn_mat_mult_kernel_q7_q15", {"ch_im_out": 64, "numCol_A": 256}),
    Case("arm_nn_mat_mult_kernel_q7_q15_reordered", {"ch_im_out": 64, "numCol_A": 256}),
    Case("arm_maxpool_q7_HWC", _pool(32, 32, 3)),
    Case("arm_avepool_q7_HWC", _pool(16, 32, 3)),
    Case("arm_avepool_q7_HWC_nonsquare", _AVERAGE),
    *(Case(f"arm_max_pool_{type}", _windows((24, 24), 16, (2, 2), 12)) for type in ("s8", "s16")),
    *(Case(f"arm_avgpool_{type}", _windows((25, 5), 64, (25, 5), 1)) for type in ("s8", "s16")),
    Case("arm_relu_q7", {"size": _LENGTH}),
    Case("arm_relu_q15", {"size": _LENGTH}),
    Case("arm_relu6_s8", {"size": _LENGTH}),
    Case("arm_nn_activations_direct_q7", {"size": _LENGTH, "int_width": 3, "type": 1}),
    Case("arm_nn_activations_direct_q15", {"size": _LENGTH, "int_width": 3, "type": 1}),
    Case("arm_softmax_q7", {"dim_vec": 10}),
    Case("arm_softmax_q15", {"dim_vec": 10}),
    Case("arm_softmax_with_batch_q7", {"nb_batches": 16, "dim_vec": 10}),
    Case("arm_nn_mult_q7", {"out_shift": 7, "blockSize": _LENGTH}),
    Case("arm_nn_mult_q15", {"out_shift": 15, "blockSize": _LENGTH}),
    Case("arm_nn_add_q7", {"block_size": _LENGTH}),
    Case("arm_nn_accumulate_q7_to_q15", {"length": _LENGTH}),
    Case("arm_q7_to_q15_no_shift", {"blockSize": _LENGTH}),
    Case("arm_q7_to_q15_reordered_no_shift", {"blockSize": _LENGTH}),
    Case("arm_q7_to_q15_with_offset", {"block_size": _LENGTH, "offset": 5}),
    Case("arm_q7_to_q15_reordered_with_offset", {"block_size": _LENGTH, "offset": 5}),
    *(Case(f"arm_{op}_q7", {"blockSize": _LENGTH}) for op in ("mult", "add", "sub")),
    *(Case(f"arm_{op}_q15", {"blockSize": _LENGTH}) for op in ("mult", "add", "sub")),
    *(Case(f"arm_offset_{type}", {"offset": 5, "blockSize": _LENGTH}) for type in ("q7", "q15")),
)
