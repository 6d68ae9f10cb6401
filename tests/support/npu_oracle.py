"""The NPU's layers in Python integers: slow, exact, and independent of the C core."""

import math

LIMITS = {"s8": (-128, 127), "s16": (-32768, 32767), "u8": (0, 255)}


def saturate(value, kind):
    low, high = LIMITS["s8" if kind == "u8" else kind]
    return max(low, min(high, value))


def cells(p, y, x, height, width):
    """Yield the cells of a window that are inside the image, with the tap of each."""
    for ky in range(p["kernel_h"]):
        for kx in range(p["kernel_w"]):
            at_y = y * p["stride_h"] + ky * p["dilation_h"] - p["pad_n"]
            at_x = x * p["stride_w"] + kx * p["dilation_w"] - p["pad_w"]
            if 0 <= at_y < height and 0 <= at_x < width:
                yield ky, kx, at_y, at_x


def convolve(kind, p, image, weights, start_shift):
    """image [h][w][c], weights [o][ky][kx][depth], start_shift [o][2]; nested lists."""
    out = []
    for y in range(p["out_h"]):
        for x in range(p["out_w"]):
            for o in range(p["out_c"]):
                first = o // (p["out_c"] // p["group"]) * p["depth"]
                total, shift = start_shift[o]
                for ky, kx, at_y, at_x in cells(p, y, x, p["in_h"], p["in_w"]):
                    for c in range(p["depth"]):
                        total += image[at_y][at_x][first + c] * weights[o][ky][kx][c]
                out.append(saturate(total // 2**shift, kind))
    return out


def divisor(p, y, x):
    """Return the divisor of a window by its position, one of six in the manual."""
    i, j, last = y * p["stride_h"], x * p["stride_w"], p["in_h"] + p["pad_n"] - 1
    h, w, n, s, west = (p[k] for k in ("kernel_h", "kernel_w", "pad_n", "pad_s", "pad_w"))
    if (i, j) == (0, 0):
        return (h - n) * (w - west)
    if (i, j) == (last, 0):
        return (h - s) * (w - west)
    if j == 0:
        return h * (w - west)
    if i == 0:
        return (h - n) * w
    if i == last:
        return (h - s) * w
    return h * w


def pool(kind, what, p, image):
    out = []
    for y in range(p["out_h"]):
        for x in range(p["out_w"]):
            for c in range(p["channels"]):
                found = [image[i][j][c] for *_, i, j in cells(p, y, x, p["in_h"], p["in_w"])]
                if what == "max":
                    out.append(max(found, default=LIMITS[kind][0]))
                    continue
                n = divisor(p, y, x) if p["hw_aligned"] else len(found)
                scaled = sum(found) * 2 ** p["up"]
                out.append(saturate(scaled // (n * 2 ** p["down"]), kind) if n > 0 else 0)
    return out


def relu(kind, x, slope):
    return x if x >= 0 else x * slope // 64


def log_softmax(kind, channels, table):
    total = channels[0]
    for x in channels[1:]:
        distance = abs(total - x)
        more = table[distance] if distance < len(table) else 0
        total = saturate(max(total, x) + more, kind)
    return [saturate(x - total, kind) for x in channels]


def log_table(entries, frac):
    return [math.floor(math.log1p(math.exp(-d * 2.0**-frac)) * 2**frac) for d in range(entries)]
