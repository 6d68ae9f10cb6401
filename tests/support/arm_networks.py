"""Networks that run with Arm's own libraries: every function, random layers, recorded files."""

from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Callable

import numpy as np

import qemu_nn
from qemu_nn.api.golden import Network
from qemu_nn.errors import Error
from qemu_nn.functions import FUNCTIONS
from qemu_nn.functions.base import check_release
from qemu_nn.functions.prototypes import is_own
from qemu_nn.ir.graph import Graph, Node, Tensor
from qemu_nn.releases import BY_NAME, has_function
from qemu_nn.targets import profile
from qemu_nn.testing.calls import draw_declared_params, is_legal, is_whole
from qemu_nn.testing.networks import draw_network
from qemu_nn.testing.rows import HELIUM_ONLY
from qemu_nn.testing.s8_calls import draw_affine_arrays, is_affine

#: Family of random networks -> True for the q7 and q15 API.
FAMILIES = {"q7": True, "s8": False, "q15": True, "s16": False, "dense": False}

#: Bytes of the largest recorded file: the boards have 2 MB of flash, and QEMU's time is short.
_MOST_BYTES = 350_000

#: Draws of a call before a function counts as one that a release does not have.
_TRIES = 300

#: Bytes of the largest tensor of a call.
_MOST_ELEMENTS = 4000


@dataclass(frozen=True)
class Origin:
    """A network to export: its name, its origin, and a function that makes it."""

    name: str
    kind: str
    load: Callable[[], Network]


def list_networks(release, board, count, seed, models):
    """Return networks for a release and a board: every function, then recorded and random ones."""
    kinds = [False] * (not BY_NAME[release].is_legacy) + [True] * (not BY_NAME[release].is_affine)
    every = [_every_function(release, board, legacy, seed) for legacy in kinds]
    recorded = _list_recorded(models, kinds)[: (count - len(every)) // 2]
    families = [name for name, legacy in FAMILIES.items() if legacy in kinds]
    drawn = [
        _random(release, board, families[at % len(families)], seed + at)
        for at in range(count - len(every) - len(recorded))
    ]
    return [*every, *recorded, *drawn]


@cache
def _load(source):
    """Return the network of a file or folder; None if this package does not run it."""
    try:
        return qemu_nn.load(source)
    except Error:
        return None


def _list_recorded(models, kinds):
    """Return the networks of the folders, the smallest first; of both APIs in turn."""
    queues = {legacy: [] for legacy in kinds}
    for folder in map(Path, models):
        for path in [*folder.glob("*/network.json"), *folder.glob("*.tflite")]:
            legacy, size = path.suffix == ".json", path.stat().st_size
            source = path.parent if legacy else path
            if legacy in kinds and size <= _MOST_BYTES and _load(source):
                load = partial(_load, source)
                queues[legacy].append((size, Origin(source.stem, "recorded", load)))
    for queue in queues.values():
        queue.sort(key=lambda each: each[0])
    longest = max(map(len, queues.values()), default=0)
    return [queue[at][1] for at in range(longest) for queue in queues.values() if at < len(queue)]


def _random(release, board, family, seed):
    """Return a network of random layers of a family."""
    rounding = "nearest" if FAMILIES[family] else "double"
    wanted = profile(board, release, rounding)

    def draw():
        return Network(draw_network(Random(f"{family} {seed}"), family, wanted)[0])

    return Origin(f"random-{family}-{seed}", "random", draw)


def _every_function(release, board, legacy, seed):
    """Return a network with two calls of each function of an API, each with inputs of its own."""
    wanted = profile(board, release, "nearest" if legacy else "double")
    name = f"every-{'q' if legacy else 's'}"

    def make():
        sources, nodes, arrays = [], [], {}
        for function in FUNCTIONS.values():
            for at in range(2):
                drawn = _draw_call(Random(f"{function.name} {seed} {at}"), function, wanted, legacy)
                if drawn is not None:
                    _append(f"{function.name}_{at}", function, drawn, sources, nodes, arrays)
        outputs = tuple(node.name for node in nodes)
        return Network(Graph(name, tuple(sources), tuple(nodes), outputs, arrays))

    return Origin(name, "every function", make)


def _append(name, function, drawn, sources, nodes, arrays):
    """Append a call to a network, with an input tensor for each array that it reads."""
    params, held = drawn
    inputs = [
        Tensor(f"{name}_{array.name}", array.shape(params), array.dtype)
        for array in function.list_read_inputs(params)
    ]
    keys = {role: f"{name}.{role}" for role in held}
    arrays.update((keys[role], values) for role, values in held.items())
    output = Tensor(name, function.output.shape(params), function.output.dtype)
    sources += inputs
    nodes.append(Node(function, params, tuple(t.name for t in inputs), output, **keys))


def _draw_call(rng, function, wanted, legacy):
    """Return parameters and constant arrays of a call; None if the release has no such function."""
    order = function.order
    if is_own(function) or order is None or function.not_called or order.legacy != legacy:
        return None
    if any(array.state for array in function.inputs):  # recorded networks call these
        return None
    if function.name in HELIUM_ONLY and wanted.path != "mve":
        return None
    try:
        check_release(function, wanted)
    except Error:
        return None
    for _ in range(_TRIES if has_function(function.name, wanted.cmsis) else 0):
        params = draw_declared_params(rng, function)
        if not is_legal(function, params, wanted) or function.fault(params, wanted):
            continue
        sizes = [np.prod(array.shape(params)) for array in (*function.inputs, function.output)]
        if min(sizes) > 0 and max(sizes) <= _MOST_ELEMENTS and is_whole(function, params, wanted):
            return params, _draw_arrays(rng, function, params)
    return None


def _draw_arrays(rng, function, params):
    """Return weights and bias of a call by role."""
    numbers = np.random.default_rng(rng.getrandbits(32))
    if is_affine(function):
        return draw_affine_arrays(numbers, function, params)
    found = {}
    for role in ("weights", "bias"):
        array = getattr(function, role)
        if array is not None:
            limits = np.iinfo(array.dtype)
            shape = array.shape(params)
            found[role] = numbers.integers(limits.min, limits.max, shape, array.dtype)
    return found
