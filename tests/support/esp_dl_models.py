"""Models of ESP-DL in exact numbers: sums product by product, results as fractions."""

from fractions import Fraction
from math import floor

import numpy as np

C, S3, P4 = range(3)


def round_on(chip, value):
    """Return a fraction rounded as a chip rounds: halves up, on an ESP32-P4 to even."""
    return round(value) if chip == P4 else floor(value + Fraction(1, 2))


def saturate(dtype, value):
    """Return an integer within a type."""
    limits = np.iinfo(dtype)
    return max(limits.min, min(limits.max, value))


def finish(chip, dtype, total, shift, rectified=0):
    """Return the output of a sum."""
    result = round_on(chip, Fraction(total) / Fraction(2) ** shift)
    return saturate(dtype, max(result, 0) if rectified else result)


def wrap(value, bits):
    """Return the low bits, with sign."""
    return (value + (1 << bits >> 1)) % (1 << bits) - (1 << bits >> 1)


def count_bits(chip, dtype, channel, channels, depthwise):
    """Return the bits of an accumulator, and True if it saturates."""
    small = dtype == np.int8
    if chip == S3:
        in_lanes = depthwise or channel < channels // 16 * 16
        return (20 if small and in_lanes else 40), True
    return (32 if small else 64), chip == P4 and small


def add_up(products, bias, bits, saturates):
    """Return bias and products, one after the other."""
    total, high = wrap(int(bias), bits), (1 << bits >> 1) - 1
    for product in products:
        total += int(product)
        total = max(-high - 1, min(high, total)) if saturates else wrap(total, bits)
    return total


def list_windows(p, image):
    """Yield y, x and the window [ky, kx, c] of each pixel of the output, zeros outside."""
    for y in range(p["output_h"]):
        for x in range(p["output_w"]):
            window = np.zeros((p["filter_h"], p["filter_w"], p["input_c"]), np.int64)
            for ky in range(p["filter_h"]):
                for kx in range(p["filter_w"]):
                    at_y = y * p["stride_h"] + ky * p["dilation_h"] - p["pad_h"]
                    at_x = x * p["stride_w"] + kx * p["dilation_w"] - p["pad_w"]
                    if 0 <= at_y < p["input_h"] and 0 <= at_x < p["input_w"]:
                        window[ky, kx] = image[at_y, at_x]
            yield y, x, window


def list_shifts(p, width, shifts):
    """Return the right shift of each channel."""
    return [p["right_shift"]] * width if shifts is None else [int(each) for each in shifts]


def convolve(p, images, filters, bias, depthwise, shifts=None):
    """Return a convolution: each sum in the order ky, kx, c. shifts: of channels."""
    dtype, width = images.dtype, p["input_c"] if depthwise else p["output_c"]
    shifts = list_shifts(p, width, shifts)
    bias = np.zeros(width, np.int64) if bias is None else bias
    out = np.zeros((len(images), p["output_h"], p["output_w"], width), dtype)
    for n, image in enumerate(images):
        for y, x, window in list_windows(p, image):
            for o in range(width):
                own = filters[..., o] if depthwise else filters[o]
                terms = (window[..., o] if depthwise else window) * own.astype(np.int64)
                bits = count_bits(p["chip"], dtype, o, width, depthwise)
                total = add_up(terms.ravel(), bias[o], *bits)
                out[n, y, x, o] = finish(p["chip"], dtype, total, shifts[o], p["rectified"])
    return out


def multiply(p, left, right, bias=None, shifts=None):
    """Return rows [n][c] by rows [o][c]. shifts: of columns o."""
    width = len(right)
    shifts = list_shifts(p, width, shifts)
    bias = np.zeros(width, np.int64) if bias is None else bias
    out = np.zeros((len(left), width), left.dtype)
    for n, row in enumerate(left.astype(np.int64)):
        for o, other in enumerate(right):
            bits = count_bits(p["chip"], left.dtype, o, width, False)
            total = add_up(row * other, bias[o], *bits)
            rectified = p.get("rectified", 0)
            out[n, o] = finish(p["chip"], left.dtype, total, shifts[o], rectified)
    return out


def combine(name, p, x, y):
    """Return a sum, difference or product of two tensors."""
    dtype, x, y = x.dtype, x.astype(object), y.astype(object)
    if name == "mul":
        products = x * y
        if dtype == np.int16 and (p["chip"] == C or p["row_size"] < 8):
            products = [int(np.float32(int(each))) for each in products]
        values = [finish(p["chip"], dtype, each, p["right_shift"]) for each in products]
    else:
        values = [saturate(dtype, each) for each in (x + y if name == "add" else x - y)]
    return np.array(values, dtype)


def requantize(p, x, dtype):
    """Return integers with another exponent."""
    return np.array([finish(p["chip"], dtype, int(each), p["right_shift"]) for each in x], dtype)


# ---- in floats ----

F = np.float32


def round_floats(chip, v, dtype):
    """Return float32 rounded as a chip rounds, saturated."""
    with np.errstate(invalid="ignore"):
        whole = np.rint(v) if chip == P4 else np.floor((v + np.float64(0.5)).astype(F))
    whole = np.nan_to_num(whole.astype(np.float64), nan=2**31 - 1)
    return np.clip(whole, np.iinfo(dtype).min, np.iinfo(dtype).max).astype(dtype)


def once(function, x):
    """Return a function of float32 rounded once."""
    with np.errstate(all="ignore"):
        return function(np.asarray(x, np.float64)).astype(F)


def sigmoid(x):
    """Return the logistic function: sum and quotient in float64."""
    return (1.0 / (1.0 + once(np.exp, -x).astype(np.float64))).astype(F)


#: Curve -> its steps on float32, with alpha and beta.
CURVES = {
    "sigmoid": lambda x, a, b: sigmoid(x),
    "tanh": lambda x, a, b: F(2) * sigmoid(F(2) * x) - F(1),
    "exp": lambda x, a, b: once(np.exp, x),
    "log": lambda x, a, b: once(np.log, x),
    "sqrt": lambda x, a, b: once(np.sqrt, x),
    "elu": lambda x, a, b: np.where(x >= 0, x, a * (once(np.exp, x) - F(1))),
    "leaky_relu": lambda x, a, b: np.where(x >= 0, x, x * a),
    "hard_swish": lambda x, a, b: (np.clip(0.166667 * x.astype(np.float64) + 0.5, 0, 1) * x).astype(
        F
    ),
    "hard_sigmoid": lambda x, a, b: np.clip(a * x + b, F(0), F(1)),
    "swish": lambda x, a, b: sigmoid(x) * x,
}


def curve(name, p, x):
    """Return a curve of integers."""
    a, b = (np.int32(p.get(f"{each}_bits", 0)).view(F) for each in ("alpha", "beta"))
    v = CURVES[name](x.astype(F) * F(2.0 ** p["input_exponent"]), a, b)
    with np.errstate(invalid="ignore", over="ignore"):
        return round_floats(p["chip"], v * F(2.0 ** -p["output_exponent"]), x.dtype)


def divide(p, x, y):
    """Return quotients of integers, one by one."""
    limits, scale = np.iinfo(x.dtype), F(2.0 ** -p["right_shift"])
    table = p["scalar"] == 1 and x.dtype == np.int8 and p["row_size"] == p["block_size"]
    out = []
    for a, b in zip(x.tolist(), y.tolist()):
        if b == 0 and (a or table):
            out.append(limits.max if a > 0 else limits.min)
        elif a == 0:
            out.append(0)
        else:
            v = F(a) * (scale / F(b)) if p["scalar"] == 2 else F(a) * scale / F(b)
            out.append(round_floats(p["chip"], v, x.dtype))
    return np.array(out, x.dtype)


def average_pool(p, images):
    """Return means over whole windows, in which padding is 0."""
    scale = F(1) / F(p["filter_h"] * p["filter_w"]) * F(2.0 ** -p["right_shift"])
    sides = {**p, "input_c": p["channels"], "dilation_h": 1, "dilation_w": 1}
    out = [
        [window.sum((0, 1)).astype(F) * scale for _, _, window in list_windows(sides, image)]
        for image in images
    ]
    return round_floats(p["chip"], np.array(out, F), images.dtype)


def reduce(name, p, x):
    """Return a reduction of axes 1 and 3 of five."""
    if name in ("max", "min"):
        return getattr(x, name)((1, 3))
    total = x.astype(np.int64).sum((1, 3))
    if name == "sum":
        values = [finish(p["chip"], x.dtype, int(t), p["right_shift"]) for t in total.ravel()]
        return np.array(values, x.dtype).reshape(total.shape)
    v = total.astype(F) / F(p["reduced_0"] * p["reduced_1"]) * F(2.0 ** -p["right_shift"])
    return round_floats(p["chip"], v, x.dtype)


def softmax(p, x, log):
    """Return rows [outer][size][inner], sums in order."""
    v = x.astype(F) * F(2.0 ** p["input_exponent"])
    if x.dtype == np.int16:
        v = v - v.max(1, keepdims=True)
    e = once(np.exp, v)
    total = np.zeros_like(e[:, :1])
    for i in range(p["size"]):
        total = total + e[:, i : i + 1]
    return v - once(np.log, total) if log else e / total


def resize_nearest(p, images):
    """Return the pixels at floor(place / scale)."""
    rows, columns = (
        [
            min(int(np.floor(F(i) * np.int32(p[f"inverse_{a}_bits"]).view(F))), p[f"input_{a}"] - 1)
            for i in range(p[f"output_{a}"])
        ]
        for a in "hw"
    )
    picked = images[:, rows][:, :, columns]
    shift = p["output_exponent"] - p["input_exponent"]
    if p["chip"] == C and shift < 0:
        return (picked.astype(np.int64) << -shift).astype(np.int8)
    own = {"chip": p["chip"], "right_shift": shift}
    return requantize(own, picked.ravel(), np.int8).reshape(picked.shape)


def blend(p, place, axis):
    """Return the first of two pixels and the share of the second."""
    inverse, size = np.int32(p[f"inverse_{axis}_bits"]).view(F), p[f"input_{axis}"]
    at = F(place) * inverse if p["align_corners"] else (F(place) + F(0.5)) * inverse - F(0.5)
    first = int(np.floor(at))
    share = at - F(first)
    if first < 0:
        first, share = 0, F(0)
    return (size - 2, F(1)) if first >= size - 1 else (first, share)


def resize_linear(p, images):
    """Return pixels blended along x, then along y."""
    v = images.astype(F) * F(2.0 ** p["input_exponent"])
    for axis, name in ((2, "w"), (1, "h"))[: p["axes"]]:
        places = [blend(p, i, name) for i in range(p[f"output_{name}"])]
        pixels = [
            np.take(v, i, axis) * (F(1) - share) + np.take(v, i + 1, axis) * share
            for i, share in places
        ]
        v = np.stack(pixels, axis)
    return round_floats(p["chip"], v * F(2.0 ** -p["output_exponent"]), np.int8)


def prelu(p, x, alpha):
    """Return rectified integers with a slope for each channel."""
    out = []
    for value, slope in zip(x.ravel().tolist(), np.resize(alpha, x.size).tolist()):
        if p["chip"] == C or x.dtype == np.int16:
            result = value if value >= 0 else (value * slope) >> p["alpha_right_shift"]
        elif value >= 0:
            result = round_on(p["chip"], Fraction(value) / Fraction(2) ** p["input_right_shift"])
        else:
            result = round_on(p["chip"], Fraction(value * slope, 2 ** p["alpha_right_shift"]))
        out.append(saturate(x.dtype, result))
    return np.array(out, x.dtype)


# ---- comparisons, powers, reductions, normalizations ----


def to_floats(x, exponent):
    """Return integers as float32."""
    return x.astype(F) * F(2.0) ** F(exponent)


def newton(x):
    """Return the square root by steps, as ESP-DL computes it."""
    last, root = F(0), F(x)
    while x != 0 and abs(root - last) > F(1e-5):
        last = root
        root = F(0.5 * F(last + F(x / last)))
    return root


def normalize_layer(p, x, scale, bias):
    """Return rows with mean 0 and deviation 1, scaled; mean and squares in the integers' steps."""
    step, out = F(2.0) ** F(p["input_exponent"]), []
    epsilon = np.int32(p["epsilon_bits"]).view(F)
    weights = to_floats(scale, p["scale_exponent"])
    starts = to_floats(bias, p["bias_exponent"])
    for row in x:
        mean, squares = F(float(row.astype(np.int64).sum()) / len(row)), F(0)
        for each in row:
            squares = F(squares + F(F(each) - mean) ** F(2))
        variance = F(F(squares * F(step * step)) / F(len(row)))
        inverse = F(1) / newton(F(variance + epsilon))
        normal = (to_floats(row, p["input_exponent"]) - F(mean * step)) * inverse
        out.append((normal * weights + starts) * F(2.0) ** F(-p["output_exponent"]))
    return round_floats(p["chip"], np.array(out, F), x.dtype)


def normalize_rms(p, x, scale):
    """Return rows over their root mean squares; sums of squares are exact."""
    epsilon, out = np.int32(p["epsilon_bits"]).view(F), []
    step = F(2.0) ** F(p["input_exponent"])
    for row in x:
        squares = F(F(int((row.astype(np.int64) ** 2).sum())) * F(step * step))
        mean = F(F(squares / F(len(row))) + epsilon)
        factor = F(F(F(1) / np.sqrt(mean)) * F(step * F(2.0) ** F(-p["output_exponent"])))
        out.append(row.astype(F) * factor * scale)
    return round_floats(p["chip"], np.array(out, F), x.dtype)


def normalize_lp(p, x):
    """Return [outer, size, inner] over norms along the second axis."""
    wide = x.astype(np.int64)
    sums = (wide**2 if p["p"] == 2 else abs(wide)).sum(1, keepdims=True).astype(F)
    root = np.sqrt(sums) if p["p"] == 2 else sums
    with np.errstate(divide="ignore"):
        factor = np.where(sums > 0, F(1) / root, F(0)).astype(F)
    v = x.astype(F) * (factor * F(2.0) ** F(-p["output_exponent"]))
    return round_floats(p["chip"], v, x.dtype)


def reduce_norm(name, p, x):
    """Return sums of magnitudes or squares, shifted, or their roots and logarithms."""
    wide = x.astype(np.int64)
    terms = {"l1": abs(wide), "sum_square": wide**2, "l2": wide**2, "log_sum": wide}[name]
    sums = terms.sum((1, 3))
    if name in ("l1", "sum_square"):
        values = [finish(p["chip"], x.dtype, int(each), p["right_shift"]) for each in sums.flat]
        return np.array(values, x.dtype).reshape(sums.shape)
    scale = F(2.0) ** F(-p["output_exponent"])
    if name == "l2":
        roots = [newton(each) for each in to_floats(sums, 2 * p["input_exponent"]).flat]
        return round_floats(p["chip"], np.array(roots, F).reshape(sums.shape) * scale, x.dtype)
    logs = np.log(to_floats(sums, p["input_exponent"]).astype(np.float64)).astype(F)
    return round_floats(p["chip"], logs * scale, x.dtype)


# ---- recurrent ----


def dot(chip, row, vector, shift):
    """Return a sum of products in 16 bits: shifted by vector kernels, or rounded as a float32."""
    lanes = 16 if row.dtype == np.int8 else 8
    products = row.astype(np.int64) * vector.astype(np.int64)
    if chip == C or len(row) % lanes or shift < 0:
        v = F(F(int(products.sum())) * F(2.0) ** F(-shift))
        return int(round_floats(chip, np.array([v], F), np.dtype("int16"))[0])
    total, most = 0, 1 << 39
    for at in range(0, len(row), lanes):
        total = max(-most, min(most - 1, total + int(products[at : at + lanes].sum())))
    return finish(chip, np.dtype("int16"), total, shift)


def read_table(p, name, end, index):
    """Return a curve at an index, which is limited to the places of a table."""
    most = int(F(end) / F(2.0) ** F(p["gate_exponent"])) + 1
    x = F(min(abs(index), most)) * F(2.0) ** F(p["gate_exponent"])
    found = CURVES[name](np.array([x], F), 0, 0)[0]
    if index >= 0:
        return found
    return F(F(1) - found) if name == "sigmoid" else -found


def recur(name, p, x, w, r, bias, h, c=None):
    """Return the states of all time steps and the last cell states."""
    chip, dtype, width = p["chip"], x.dtype, p["hidden_size"]
    out = np.zeros((p["time_steps"], p["directions"], width), dtype)
    cells = None if c is None else c.copy()
    scale, inner = F(2.0) ** F(-p["output_exponent"]), F(2.0) ** F(-p["gate_exponent"])

    def whole(v, kind=dtype):
        return round_floats(chip, np.array([v], F), np.dtype(kind))[0]

    for d in range(p["directions"]):
        state = h[d].copy()
        steps = range(p["time_steps"])
        for t in reversed(steps) if d else steps:
            a = [dot(chip, row, x[t], p["right_shift"]) for row in w[d]]
            b = [dot(chip, row, state, p["state_right_shift"]) for row in r[d]]
            starts = bias[d].reshape(2, -1).astype(int)
            a = [wrap(each + int(start), 16) for each, start in zip(a, starts[0])]
            b = [wrap(each + int(start), 16) for each, start in zip(b, starts[1])]
            fresh = state.copy()
            for i in range(width):
                at = range(i, len(a), width)
                if name == "gru":
                    z, reset = (read_table(p, "sigmoid", 6.3, a[k] + b[k]) for k in at[:2])
                    last = F(F(a[at[2]]) + F(reset * F(b[at[2]])))
                    n = read_table(p, "tanh", 3.5, int(whole(last, "int32")))
                    v = F(F(F(F(F(1) - z) * n) * scale) + F(z * F(state[i])))
                else:
                    sums = [wrap(a[k] + b[k], 16) for k in at]
                    put, out_gate, keep = (read_table(p, "sigmoid", 6.3, k) for k in sums[:3])
                    new = F(F(put * read_table(p, "tanh", 3.5, sums[3])) * inner)
                    total = F(F(keep * F(cells[d, i])) + new)
                    cells[d, i] = wrap(int(whole(total, "int32")), 16)
                    v = F(F(out_gate * read_table(p, "tanh", 3.5, int(cells[d, i]))) * scale)
                fresh[i] = whole(v)
            state = fresh
            out[t, d] = state
    return out, cells
