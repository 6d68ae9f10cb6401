"""Whole random networks: plans of fast rows compared with plain rows, traced and not."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from random import Random
from typing import Optional
from unittest import mock

import numpy as np

from ..errors import DeviceWarning
from ..functions import Function
from ..functions.base import DECLARED
from ..functions.shapes import get_extent
from ..ir.formats import draw_numbers
from ..ir.graph import Graph, Node, Tensor
from ..kernels import table as kernels
from ..releases import has_function, name_in_network
from ..runtime import split
from ..runtime.session import Session
from ..targets import Profile
from .calls import EVERY_PROFILE, draw_arguments, draw_params, draw_recipe, is_legal, is_whole
from .geometry import is_depthwise, list_axes, set_axis
from .rows import RowCall, assert_same

#: Samples of a batch: one, and counts around whole groups of 16 and 32.
BATCHES = (1, 17, 33)

#: Layers of networks of a family; those named twice are drawn twice as often.
FAMILIES: dict[str, tuple[str, ...]] = {
    "s8": (
        *("arm_convolve_wrapper_s8", "arm_convolve_wrapper_s4", "arm_depthwise_conv_wrapper_s8"),
        *("arm_depthwise_conv_wrapper_s8", "arm_depthwise_conv_wrapper_s4", "arm_max_pool_s8"),
        *("arm_avgpool_s8", "arm_elementwise_add_s8", "arm_elementwise_mul_s8", "arm_pad_s8"),
        *("tflm_concatenation_s8", "tflm_requantize_s8_s8", "arm_transpose_conv_wrapper_s8"),
        *("arm_convolve_wrapper_s8", "arm_pad_s8", "arm_reshape_s8"),
        *("arm_fully_connected_s8", "arm_fully_connected_per_channel_s8", "arm_softmax_s8"),
    ),
    "dense": (
        *("arm_fully_connected_s8", "arm_fully_connected_per_channel_s8", "arm_softmax_s8"),
        *("arm_fully_connected_s8", "arm_fully_connected_per_channel_s8"),
    ),
    "s16": (
        *("arm_convolve_wrapper_s16", "arm_depthwise_conv_wrapper_s16", "arm_max_pool_s16"),
        *("arm_avgpool_s16", "arm_elementwise_add_s16", "tflm_concatenation_s16"),
        *("tflm_requantize_s16_s16", "arm_fully_connected_s16"),
    ),
    "q7": (
        *("arm_convolve_HWC_q7_basic_nonsquare", "arm_convolve_HWC_q7_fast_nonsquare"),
        *("arm_depthwise_separable_conv_HWC_q7_nonsquare", "arm_relu_q7", "arm_add_q7"),
        *("arm_avepool_q7_HWC_nonsquare", "arm_fully_connected_q7", "arm_fully_connected_q7_opt"),
    ),
    "q15": (
        *("arm_convolve_HWC_q15_fast_nonsquare", "arm_convolve_HWC_q15_fast_nonsquare"),
        *("arm_relu_q15", "arm_add_q15", "arm_mult_q15"),
        *("arm_fully_connected_q15", "arm_fully_connected_q15_opt"),
    ),
    "npu": (
        *("npu_convolve_s8", "npu_convolve_s8", "npu_max_pool_s8", "npu_average_pool_s8"),
        *("npu_relu_s8", "npu_clip_s8", "npu_add_s8"),
    ),
    "npu16": (
        *("npu_convolve_s16", "npu_convolve_s16", "npu_max_pool_s16", "npu_average_pool_s16"),
        *("npu_relu_s16", "npu_add_s16"),
    ),
}

#: Most draws of a layer before it is omitted; most elements and products.
_TRIES, _MOST_ELEMENTS, _MOST_PRODUCTS = 30, 8000, 150_000


@dataclass
class _Growing:
    """Network under construction: its tensors, their values for one sample, its calls."""

    profile: Profile
    tensors: list[Tensor]
    values: dict[str, np.ndarray]
    nodes: list[Node] = field(default_factory=list)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)

    def offset(self, tensor: Tensor) -> int:
        """Return the input offset that makes padding zero, or else the least value."""
        makers = [node for node in self.nodes if node.name == tensor.name]
        least = int(self.values[tensor.name].min())
        return min(128, -(makers[0].params.get("pad_value", least) if makers else least))

    def add(self, call: RowCall, inputs: Sequence[Tensor]) -> None:
        """Append a call that reads these tensors."""
        function, name = call.function, f"{call.function.name}_{len(self.nodes)}"
        weights, bias = function.weights_of(call.arguments), function.bias_of(call.arguments)
        keys = {}
        for role, array in (("weights", weights), ("bias", bias)):
            if array is not None:
                keys[role] = f"{name}_{role}"
                self.arrays[keys[role]] = array
        output = Tensor(name, _image(call.wanted.shape, inputs[0].shape), function.output.dtype)
        names = tuple(tensor.name for tensor in inputs)
        self.nodes.append(
            Node(function, call.params, names, output, keys.get("weights"), keys.get("bias"))
        )
        self.tensors.append(output)
        self.values[name] = call.wanted


def draw_network(
    rng: Random, family: str, given: Optional[Profile] = None
) -> tuple[Graph, Profile]:
    """Return a network of two to seven layers, and a profile that runs it.

    given: the profile; then the layers are those of the family that its state of CMSIS-NN has.
    """
    names = FAMILIES[family]
    if given is not None:
        names = tuple(filter(None, (_find_function(name, given) for name in names)))
    profile = given or rng.choice(
        [p for p in EVERY_PROFILE if all(_runs(DECLARED[n], p) for n in names)]
    )
    channels = rng.choice((1, 2, 2, 3, 4, 4, 8, 8, 16, 17, 24, 64))
    shape, dtype = (rng.randint(1, 12), rng.randint(1, 18), channels), DECLARED[names[0]].inputs[0]
    source = Tensor("input", shape, dtype.dtype)
    network = _Growing(profile, [source], {"input": _draw_samples(rng, source, 1)})
    layers = rng.randint(2, 7)
    while len(network.nodes) < layers:
        images = [name for name in names if not _is_whole(DECLARED[name])]
        is_last = len(network.nodes) == layers - 1
        name = rng.choice(names if is_last or not images else images)
        for _ in range(1 + (rng.randrange(4) == 0)):  # now and then two of a kind in a row
            _append(rng, network, DECLARED[name])
    shown = {network.nodes[-1].name, rng.choice(network.nodes).name}
    outputs = tuple(node.name for node in network.nodes if node.name in shown)
    return Graph(family, (source,), tuple(network.nodes), outputs, network.arrays), profile


def _find_function(name: str, profile: Profile) -> str:
    """Return the function that a state calls in a network for another one; "" if it has none."""
    name = name_in_network(name, profile.cmsis)
    found = has_function(name, profile.cmsis) and _runs(DECLARED[name], profile)
    return name if found else ""


def _runs(function: Function, profile: Profile) -> bool:
    return any(row.claims(profile) for row in kernels.list_rows(function.op, function.type))


def _is_whole(function: Function) -> bool:
    """True if a layer reads a whole image as one vector, so that its output is not an image."""
    return function.op.startswith(("fully_connected", "softmax"))


def _append(rng: Random, network: _Growing, function: Function) -> None:
    """Append a call on the last tensor, or on an earlier one; omit it if none is legal."""
    for _ in range(_TRIES):
        source = rng.choice((*(network.tensors[-1],) * 3, rng.choice(network.tensors)))
        recipe = replace(draw_recipe(rng, function), shape="declared", on_borders=False)
        params = draw_params(rng, function, recipe)
        _fit(rng, function, params, source.shape)
        if "input_offset" in params and rng.randrange(4):
            params["input_offset"] = network.offset(source)
        inputs = _list_inputs(rng, function, params, network.tensors, source)
        if _is_large(function, params) or not is_legal(function, params, network.profile):
            continue
        if not is_whole(function, params, network.profile):
            continue
        given = {
            array.name: network.values[tensor.name].reshape(array.shape(params))
            for array, tensor in zip(function.inputs, inputs)
        }
        arguments = draw_arguments(rng, function, params, recipe, given)
        call = RowCall(function, network.profile, recipe, arguments)
        if is_legal(function, arguments, network.profile) and (
            _differs(call.wanted) or rng.randrange(16) == 0
        ):
            network.add(call, inputs)
            return


def _is_large(function: Function, params: Mapping[str, int]) -> bool:
    size = math.prod(function.output.shape(params))
    return get_extent(function.macs, params) > _MOST_PRODUCTS or not 0 < size <= _MOST_ELEMENTS


def _differs(output: np.ndarray) -> bool:
    """True if an output has more than one value, so that later layers see something."""
    return output.size == 1 or int(output.max()) - int(output.min()) > 1


def _image(shape: tuple[int, ...], source: tuple[int, ...]) -> tuple[int, ...]:
    """Return an output's shape as an image's, without the batch axis."""
    if len(shape) == 4:
        return shape[1:]
    if len(shape) == 3:
        return shape
    size = math.prod(shape)
    return source if size == math.prod(source) else (1, 1, size)


def _fit(rng: Random, function: Function, params: dict[str, int], shape: tuple[int, ...]) -> None:
    """Give a call the sizes of its first input, an image."""
    height, width, channels = shape
    for axis, size in zip(list_axes(params), (height, width)):
        set_axis(function, params, axis, size=size)
    if "group" in params and rng.randrange(2):
        params.update(group=channels, depth=1, out_c=channels)
    elif "group" in params:
        params.update(group=1, depth=channels)
    names = ["input_c", "ch_im_in", "channels"]
    names += ["filter_c"] if rng.randrange(4) else []
    names += ["ch_im_out"] if is_depthwise(function, params) else []
    count = height * width * channels
    sizes = dict.fromkeys(names, count if _is_whole(function) else channels)
    lengths = ("length", "block_size", "blockSize", "size", "dim_vec", "total_size")
    sizes.update(dict.fromkeys(lengths, count))
    if "output_c" in params and rng.randrange(3) == 0:
        params["output_c"] = rng.choice((16, 32, 64))  # whole vectors: they may stay sign-flipped
    if rng.randrange(4):
        sizes.update(pre_c=0, post_c=0)
    sizes.update(row_size=count, num_rows=1, batches=1, outer=height * width, inner1=channels)
    sizes.update(input_n=1, input_h=height, input_w=width, pre_n=0, post_n=0)
    params.update({name: value for name, value in sizes.items() if name in params})


def _list_inputs(
    rng: Random,
    function: Function,
    p: dict[str, int],
    tensors: Sequence[Tensor],
    source: Tensor,
) -> list[Tensor]:
    """Return the tensors that a call reads; none if there is no second one of its size."""
    if len(function.inputs) == 1:
        return [source]
    if "inner2" in p:
        beside = [t for t in tensors if t.shape[:2] == source.shape[:2]]
        second = rng.choice(beside)
        p["inner2"] = second.shape[2]
        return [source, second]
    return [source, rng.choice([t for t in tensors if t.nbytes == source.nbytes])]


@contextmanager
def cap_instruction_sets(cap: str) -> Iterator[None]:
    """Cap the instruction sets of plans; "" allows none."""
    before = os.environ.get(kernels.CAP)
    os.environ[kernels.CAP] = cap
    try:
        yield
    finally:
        os.environ.pop(kernels.CAP)
        if before is not None:
            os.environ[kernels.CAP] = before


@contextmanager
def split_small_calls() -> Iterator[None]:
    """Let plans split calls over threads however short these are."""
    with mock.patch.multiple(split, _CALL=0.0, _PART=1e-9, _NETWORK=0.0):
        yield


def list_caps() -> list[str]:
    """Return the caps that change plans on this host, below the cap that is set."""
    features = kernels.cpu_features()
    return ["none", *(name for name, bit in kernels.FEATURES.items() if features & bit)]


def compare_network(family: str, seed: int) -> None:
    """Compare the plan of a random network with its plain rows, for batches and threads.

    Raises AssertionError if an output differs, or an intermediate tensor of a traced run.
    """
    rng = Random(f"{family} {seed}")
    graph, profile = draw_network(rng, family)
    cap = rng.choice(list_caps())
    x = _draw_samples(rng, graph.input, max(BATCHES))
    calls = ", ".join(node.function.name for node in graph.nodes)
    told = f"{family} of {profile}, cap {cap}: {calls}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeviceWarning)
        want = Session(graph, profile, "plain").run(x, trace=True)
        with cap_instruction_sets(cap), split_small_calls():
            for threads in (1, 2):
                _compare_runs(Session(graph, profile, threads=threads), x, want, told)


def _draw_samples(rng: Random, tensor: Tensor, count: int) -> np.ndarray:
    """Return random samples; one time in four, most of each sample is one value."""
    numbers = np.random.default_rng(rng.getrandbits(32))
    x = draw_numbers(numbers, tensor.dtype, (count, *tensor.shape))
    if rng.randrange(4) == 0:
        x = np.where(numbers.random(x.shape) < 0.8, x.flat[0], x)
    return x


def _compare_runs(
    session: Session, x: np.ndarray, want: Mapping[str, np.ndarray], told: str
) -> None:
    for samples in BATCHES:
        for trace in (False, True):
            got = session.run(x[:samples], trace=trace)
            for name, values in got.items():
                where = (f"{samples} samples, {session.threads} threads, traced: {trace}", told)
                assert_same(values, want[name][:samples], name, *where)
