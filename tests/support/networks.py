"""Small networks of our own, with seeded random weights, for tests that need one to run."""

import numpy as np

from qemu_nn.functions import FUNCTIONS
from qemu_nn.ir.graph import Address, CallAddresses, Graph, Memory, Node, Tensor


def node(name, function, inputs, frac=None, arrays=(None, None), **params):
    declared = FUNCTIONS[function]
    output = Tensor(name, declared.output.shape(params), declared.output.dtype, frac)
    return Node(declared, params, tuple(inputs), output, *arrays)


def classifier(names=("conv1", "relu1", "pool1", "ip1", "softmax"), memory=False):
    """Convolution, ReLU, max pooling, fully connected, softmax, on 8x8x2 int8 images.

    memory: with the buffers of a firmware, where pooling destroys its input.
    """
    rng = np.random.default_rng(1)
    conv, relu, pool, ip, softmax = names
    image = Tensor("data", (8, 8, 2), "int8", 7)
    nodes = (
        node(
            conv,
            "arm_convolve_HWC_q7_basic",
            ["data"],
            5,
            ("conv_wt", "conv_bias"),
            dim_im_in=8,
            ch_im_in=2,
            ch_im_out=4,
            dim_kernel=3,
            padding=1,
            stride=1,
            bias_shift=0,
            out_shift=9,
            dim_im_out=8,
        ),
        node(relu, "arm_relu_q7", [conv], 5, size=256),
        node(
            pool,
            "arm_maxpool_q7_HWC",
            [relu],
            5,
            dim_im_in=8,
            ch_im_in=4,
            dim_kernel=3,
            padding=0,
            stride=2,
            dim_im_out=4,
        ),
        node(
            ip,
            "arm_fully_connected_q7",
            [pool],
            3,
            ("ip_wt", "ip_bias"),
            dim_vec=64,
            num_of_rows=10,
            bias_shift=0,
            out_shift=13,
        ),
        node(softmax, "arm_softmax_q7", [ip], 7, dim_vec=10),
    )
    arrays = {
        "conv_wt": rng.integers(-128, 128, (4, 3, 3, 2), np.int8),
        "conv_bias": rng.integers(-128, 128, 4, np.int8),
        "ip_wt": rng.integers(-128, 128, (10, 64), np.int8),
        "ip_bias": rng.integers(-128, 128, 10, np.int8),
    }
    return Graph(
        "classifier",
        (image,),
        nodes,
        (softmax,),
        arrays,
        _firmware(names) if memory else None,
    )


def _firmware(names):
    conv, relu, pool, ip, softmax = names
    at = {
        conv: ("image", "maps"),
        relu: ("maps", "maps"),
        pool: ("maps", "image"),
        ip: ("image", "out"),
        softmax: ("out", "out"),
    }
    scratch = {conv: Address("scratch", 0), ip: Address("scratch", 0)}
    places = {
        name: CallAddresses((Address(source, 0),), Address(target, 0), scratch.get(name))
        for name, (source, target) in at.items()
    }
    sizes = {"image": 128, "maps": 256, "out": 10, "scratch": 256}
    return Memory(sizes, places, Address("image", 0))


def images(count, seed=2):
    return np.random.default_rng(seed).integers(-128, 128, (count, 8, 8, 2), np.int8)


def recurrent():
    """history += input, saturating, int16."""
    add = node("sum", "arm_add_q15", [], blockSize=4)
    here, history = Address("memory", 0), Address("memory", 8)
    memory = Memory(
        {"memory": 16}, {"sum": CallAddresses((here, history), history)}, here, {"history": history}
    )
    state = Tensor("history", (4,), "int16")
    return Graph("recurrent", (Tensor("x", (4,), "int16"),), (add,), ("sum",), {}, memory, (state,))


_POOL = {"dim_im_in": 5, "ch_im_in": 2, "dim_kernel": 3, "padding": 0, "stride": 2}
_POOL["dim_im_out"] = 2


def average():
    """Average pooling alone, whose bits depend on the core."""
    pool = node("pool", "arm_avepool_q7_HWC", ["data"], **_POOL)
    return Graph("average", (Tensor("data", (5, 5, 2), "int8"),), (pool,), ("pool",), {})


def reads_what_pooling_destroys():
    """Return a network that reads the image after pooling, which overwrites it on DSP cores."""
    image, out = Address("image", 0), Address("out", 0)
    nodes = (
        node("pool", "arm_maxpool_q7_HWC", [], **_POOL),
        node("branch", "arm_relu_q7", [], size=50),
    )
    places = {"pool": CallAddresses((image,), out), "branch": CallAddresses((image,), image)}
    memory = Memory({"image": 50, "out": 8}, places, image)
    return Graph("branches", (Tensor("data", (5, 5, 2), "int8"),), nodes, ("branch",), {}, memory)
