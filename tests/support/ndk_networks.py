"""Networks of the NPU's kit for tests: one with all layers, random ones, and what they mean."""

import npu_oracle as oracle
import numpy as np
from hypothesis import strategies as st

from qemu_nn.functions.wuqi import LOG_ENTRIES
from qemu_nn.ndk.layers import Layer, get_tensor_name_list, has_bias
from qemu_nn.ndk.quant_tools.numpy_net import run_layers
from qemu_nn.wuqi.shapes import infer_feature_shapes

RNG = np.random.default_rng(8)


def start(*dim):
    return Layer("Input", name="input", top="x", dim=(1, *dim))


def everything():
    """Return a network with one of each layer that has a fixed-point form."""
    conv = {"kernel_size": (3, 3), "stride": (2, 2), "pad": (1, 0, 1, 0)}
    return [
        start(3, 8, 8),
        Layer("Convolution", name="conv", bottom="x", top="c", num_output=4, **conv),
        Layer("ReLU", name="relu", bottom="c", top="r", negative_slope=0.25),
        Layer("BatchNorm", name="bn", bottom="r", top="b"),
        Layer("Scale", name="scale", bottom="b", top="s", bias_term=False),
        Layer("Bias", name="bias", bottom="s", top="d"),
        Layer("Slice", name="cut", bottom="d", top=["lo", "hi"], slice_point=[1]),
        Layer("Concat", name="join", bottom=["hi", "lo"], top="j"),
        Layer("ShuffleChannel", name="mix", bottom="j", top="m", group=2),
        Layer("Eltwise", name="sum", bottom=["m", "r"], top="e", operation="sum"),
        Layer("Pooling", name="max", bottom="e", top="p", kernel_size=(2, 2), stride=2, pool="MAX"),
        Layer("Pooling", name="mean", bottom="p", top="g", kernel_size=2, pool="AVE"),
        Layer("TanH", name="gate", bottom="g", top="t"),
        Layer("ScaleByTensor", name="se", bottom=["e", "t"], top="w"),
        Layer("ReLU6", name="six", bottom="w", top="v"),
        Layer("InnerProduct", name="fc", bottom="v", top="f", num_output=5),
        Layer("LogSoftmax", name="log", bottom="f", top="y"),
        Layer("Sigmoid", name="off", bottom="f", top="z"),
    ]


def parameters(bits):
    """Quantized parameters of it; some fractions differ between channels."""
    more = 0 if bits == 8 else 8
    half = 2 ** (bits - 1)
    fracs = {"x": 4, "c": 3, "r": 3, "b": 3, "s": 3, "d": 3, "lo": 3, "hi": 3, "j": 3, "m": 3}
    fracs |= {"e": 3, "p": 3, "g": 5, "t": 7, "w": 4, "v": 4, "f": 4, "y": 4, "z": 7}
    params = {f"{name}_frac": frac + more for name, frac in fracs.items()}

    def layer(name, weights, frac, bias=None):
        small = half // 4
        params[f"{name}_quant_weight"] = RNG.integers(-small, small, weights)
        params[f"{name}_frac_weight"] = frac
        if bias is not None:
            params[f"{name}_quant_bias"] = RNG.integers(-half, half, weights[0])
            params[f"{name}_frac_bias"] = bias

    layer("conv", (4, 3, 3, 3), np.array([6, 7, 6, 5]) + more, np.array([5, 6, 7, 4]) + more)
    layer("bn", (4,), 5 + more, 4 + more)
    layer("scale", (4,), 5 + more)
    params["bias_quant_bias"], params["bias_frac_bias"] = RNG.integers(-half, half, 4), 2 + more
    layer("fc", (5, 4, 4, 4), 7 + more, 6 + more)
    return params


def nested(features):
    """Convert [C, H, W] to nested lists [H][W][C]."""
    return np.moveaxis(features, 0, -1).tolist()


def window(layer, image, out, **more):
    (kh, kw), (sh, sw), (dh, dw) = layer.kernel_size, layer.stride, layer.dilation
    north, south, west, _ = layer.pad
    p = {"in_h": len(image), "in_w": len(image[0]), "kernel_h": kh, "kernel_w": kw, "stride_h": sh}
    p |= {"stride_w": sw, "dilation_h": dh, "dilation_w": dw, "pad_n": north, "pad_w": west}
    return p | {"pad_s": south, "out_h": out.shape[1], "out_w": out.shape[2], **more}


def meaning(layer, q, frac, params, kind, hw_aligned):
    """Compute the last output of a layer from its integer inputs, [y][x][c] in one list."""
    image, out = nested(q[layer.bottoms[0]]), q[layer.tops[-1]]
    fi, fo = frac[layer.bottoms[0]], frac[layer.tops[-1]]
    channels = len(image[0][0])
    flat = [v for row in image for pixel in row for v in pixel]
    if layer.type in ("Convolution", "InnerProduct", "BatchNorm", "Scale", "Bias"):
        return products(layer, q, image, out, fi, fo, params, kind)
    if layer.type == "Pooling":
        step = fo - fi
        p = window(layer, image, out, channels=channels, up=max(step, 0), down=max(-step, 0))
        p["hw_aligned"] = hw_aligned
        return oracle.pool(kind, {"MAX": "max", "AVE": "average"}[layer.pool], p, image)
    if layer.type == "ReLU":
        return [
            oracle.saturate(oracle.relu(kind, v, round(layer.negative_slope * 64)), kind)
            for v in flat
        ]
    if layer.type == "ReLU6":
        return [min(max(v, 0), 6 << fo) for v in flat]
    if layer.type in ("Sigmoid", "TanH"):
        function = np.tanh if layer.type == "TanH" else lambda v: 1 / (1 + np.exp(-v))
        return [oracle.saturate(int(np.floor(function(v * 2.0**-fi) * 2**fo)), kind) for v in flat]
    if layer.type == "LogSoftmax":
        table = oracle.log_table(LOG_ENTRIES[kind], fi)
        return [v for row in image for pixel in row for v in oracle.log_softmax(kind, pixel, table)]
    other = q[layer.bottoms[-1]]
    if layer.type == "Eltwise":
        terms = [np.moveaxis(q[name], 0, -1).ravel().tolist() for name in layer.bottoms]
        return [oracle.saturate(sum(each) // 2 ** (fi - fo), kind) for each in zip(*terms)]
    if layer.type == "ScaleByTensor":
        shift = fi + frac[layer.bottoms[1]] - fo
        scales = other.ravel().tolist() * (len(flat) // channels)
        return [oracle.saturate(a * s // 2**shift, kind) for a, s in zip(flat, scales)]
    moved = {
        "Slice": lambda: q[layer.bottoms[0]][layer.slice_point[-1] :],
        "Concat": lambda: np.concatenate([q[name] for name in layer.bottoms]),
        "ShuffleChannel": lambda: (
            q[layer.bottoms[0]]
            .reshape(layer.group, -1, *out.shape[1:])
            .swapaxes(0, 1)
            .reshape(out.shape)
        ),
    }[layer.type]()
    return np.moveaxis(moved, 0, -1).ravel().tolist()


def check_layer_by_layer(layers, params, x, bits, hw_aligned):
    """Check that every feature is the meaning of its layer on its integer inputs."""
    names = get_tensor_name_list(layers, feature_only=True)
    real = run_layers(x, layers, names, params, True, bits, hw_aligned)
    frac = {name: int(params[f"{name}_frac"]) for name in names}
    kind = {name: f"s{bits}" if params.get(f"{name}_signed", True) else "u8" for name in names}
    for sample in range(len(x)):
        q = {name: np.ldexp(real[name][sample], frac[name]).astype(np.int64) for name in names}
        low, high = oracle.LIMITS[kind[layers[0].top]]
        entered = np.floor(np.ldexp(x[sample], frac[layers[0].top]))
        np.testing.assert_array_equal(q[layers[0].top], np.clip(entered, low, high))
        for layer in layers[1:]:
            known = kind[layer.bottoms[0]]
            expected = meaning(layer, q, frac, params, known, hw_aligned)
            got = np.moveaxis(q[layer.tops[-1]], 0, -1).ravel().tolist()
            assert got == expected, layer


def products(layer, q, image, out, fi, fo, params, kind):
    count, name, channels = len(out), layer.name, len(image[0][0])
    fw = np.broadcast_to(params.get(f"{name}_frac_weight", 0), count)
    fb = np.broadcast_to(params.get(f"{name}_frac_bias", fi + fw), count)
    bias = params.get(f"{name}_quant_bias", np.zeros(count, np.int64))
    weights = params.get(f"{name}_quant_weight", np.ones((count, 1, 1, 1), np.int64))
    p = {
        "group": 1,
        "depth": channels,
        "out_c": count,
        "out_h": out.shape[1],
        "out_w": out.shape[2],
    }
    if layer.type == "Convolution":
        p |= window(layer, image, out, group=layer.group, depth=channels // layer.group)
    else:
        whole = layer.type == "InnerProduct"
        size = (len(image), len(image[0])) if whole else (1, 1)
        p |= {"in_h": len(image), "in_w": len(image[0]), "kernel_h": size[0], "kernel_w": size[1]}
        p |= dict.fromkeys(("stride_h", "stride_w", "dilation_h", "dilation_w"), 1)
        p |= {"pad_n": 0, "pad_w": 0}
        if not whole:
            weights = np.reshape(weights, (count, 1, 1, 1))
            p |= {"group": count, "depth": 1}
    pairs = [[int(b) << int(fi + w - n), int(fi + w - fo)] for b, w, n in zip(bias, fw, fb)]
    return oracle.convolve(kind, p, image, np.moveaxis(weights, 1, -1).tolist(), pairs)


def draw_layer(draw, name, known):
    """Draw a layer that reads known tensors; known: tensor -> [channels, height, width]."""
    source = draw(st.sampled_from(sorted(known)))
    channels, height, width = known[source]
    same = [n for n, shape in known.items() if shape == known[source] and n != source]
    spatial = [n for n in known if known[n][1:] == (height, width) and n != source]
    vectors = [n for n in known if known[n] == (channels, 1, 1) and n != source]
    kinds = ["Convolution", "Convolution", "InnerProduct", "BatchNorm", "Scale", "Bias", "ReLU"]
    kinds += ["ReLU6", "Sigmoid", "TanH", "Pooling", "LogSoftmax"]
    kinds += ["Slice"] * (channels > 1) + ["ShuffleChannel"] * (channels % 2 == 0)
    kinds += ["Eltwise"] * bool(same) + ["Concat"] * bool(spatial)
    kinds += ["ScaleByTensor"] * bool(vectors)
    kind, more, bottom, top = draw(st.sampled_from(kinds)), {}, source, name
    if kind == "Convolution":
        more = draw_window(draw, height, width)
        more["group"] = draw(st.sampled_from([g for g in (1, 2, channels) if channels % g == 0]))
        more["num_output"] = more["group"] * draw(st.integers(1, 3))
    elif kind == "Pooling":
        more = {
            **draw_window(draw, height, width, 1),
            "pool": draw(st.sampled_from(["MAX", "AVE"])),
        }
    elif kind == "InnerProduct":
        more = {"num_output": draw(st.integers(1, 6))}
    elif kind == "ReLU":
        more = {"negative_slope": draw(st.sampled_from([0.0, 0.0, 0.25, 1.5]))}
    elif kind == "Slice":
        more, top = {"slice_point": [draw(st.integers(1, channels - 1))]}, [f"{name}a", f"{name}b"]
    elif kind == "ShuffleChannel":
        more = {"group": 2}
    elif kind == "Eltwise":
        others = st.lists(st.sampled_from(same), min_size=1, max_size=4, unique=True)
        bottom = [source, *draw(others)]
    elif kind in ("Concat", "ScaleByTensor"):
        others = {"Concat": spatial, "ScaleByTensor": vectors}[kind]
        bottom = [source, draw(st.sampled_from(others))]
    if kind in ("Convolution", "InnerProduct", "Scale"):
        more["bias_term"] = draw(st.booleans())
    return Layer(kind, name=name, bottom=bottom, top=top, **more)


def draw_window(draw, height, width, most_dilation=2):
    """Kernel, stride, dilation and pads, each window on a cell of the image at least."""
    kernel, pad, dilation = [], [], draw(st.integers(1, most_dilation))
    stride = draw(st.integers(1, 2))
    for size in (height, width):
        side = draw(st.integers(1, min(3, size)))
        if dilation * (side - 1) >= size:
            side = 1
        kernel.append(side)
        reach = dilation * (side - 1) + 1
        before = draw(st.integers(0, min(side - 1, 1)))
        least = max(reach - size - before, -1 if size > 1 else 0)
        pad += [before, draw(st.integers(least, max(least, side - 1)))]
    return {"kernel_size": tuple(kernel), "stride": stride, "dilation": dilation, "pad": tuple(pad)}


@st.composite
def networks(draw):
    """Draw layers of any type with a fixed-point form, their float parameters, and inputs."""
    dim = (draw(st.integers(1, 4)), draw(st.integers(1, 7)), draw(st.integers(1, 7)))
    layers = [start(*dim)]
    for index in range(draw(st.integers(1, 7))):
        layers.append(draw_layer(draw, f"t{index}", infer_feature_shapes(layers)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    shapes, params = infer_feature_shapes(layers), {}
    for layer in layers[1:]:
        (depth, *size), out = shapes[layer.bottoms[0]], shapes[layer.tops[0]][0]
        scale = 2.0 ** rng.integers(-9, 5)
        if layer.type == "Convolution":
            size, depth = layer.kernel_size, depth // layer.group
        if layer.type in ("Convolution", "InnerProduct"):
            params[f"{layer.name}_weight"] = rng.normal(size=(out, depth, *size)) * scale
        elif layer.type in ("BatchNorm", "Scale"):
            params[f"{layer.name}_weight"] = rng.normal(size=out) * scale
        if has_bias(layer):
            params[f"{layer.name}_bias"] = rng.normal(size=out) * 2.0 ** rng.integers(-9, 5)
    x = rng.normal(size=(3, *dim)) * 2.0 ** rng.integers(-6, 6)
    return layers, params, np.abs(x) if rng.integers(2) else x
