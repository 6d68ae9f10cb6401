"""Representative calls of every op of the kernel table: the shapes of typical networks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ..functions import FUNCTIONS, NPU_FUNCTIONS, Array, Function
from ..functions.shapes import get_extent
from ..ir.graph import Graph
from .builder import Builder

#: Work of one run, in multiply-accumulates: enough that the call from Python is of no account.
_WORK = 30_000_000


@dataclass(frozen=True)
class Case:
    """A call of a layer function, and its number of samples."""

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
        """Multiply-accumulates of one call; 0 without multiplications."""
        return get_extent(self.declared.macs, self.params)

    @property
    def elements(self) -> int:
        """Elements of the first input, or of the output without inputs."""
        return math.prod(self._first.shape(self.params))

    @property
    def _first(self) -> Array:
        return (*self.declared.inputs, self.declared.output)[0]

    def graph(self) -> tuple[Graph, int]:
        """Return equal calls on one input with shared weights, and their number."""
        declared = self.declared
        first = self._first
        builder = Builder(self.function, first.shape(self.params), first.dtype)
        others = (array for array in declared.list_read_inputs(self.params) if not array.state)
        wide = (a for a in others if (first.dtype, a.dtype) == ("int8", "int16"))
        prepared = any(math.prod(a.shape(self.params)) == self.elements for a in wide)
        if prepared:
            builder.call("wide", "arm_q7_to_q15_no_shift", {"blockSize": self.elements})
        builder.call("call", self.function, self.params)
        one = builder.graph()
        count = max(8, min(500, _WORK // (self.batch * max(self.macs, 16 * self.elements))))
        node = one.node("call")
        calls = tuple(
            replace(node, output=replace(node.output, name=f"call{i}")) for i in range(count)
        )
        nodes = (*one.nodes[:-1], *calls)
        return replace(one, nodes=nodes, outputs=(nodes[-1].name,)), count


#: Samples of a case timed with many samples.
_BATCH = 32

CASES = tuple(
    Case(function.name, params, batch)
    for function in (*FUNCTIONS.values(), *NPU_FUNCTIONS.values())
    for cases, batch in ((function.cases, 1), (function.batched, _BATCH))
    for params in cases
)
