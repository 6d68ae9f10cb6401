"""Models of ESP-NN on an ESP32-S3 where it leaves the formulas, step by step in memory.

Each model moves bytes as the vendor's code does, instead of the formula that the plain row has.
"""

import numpy as np


def high_product(a, b):
    """Return floor((a * b + 2^30) / 2^31)."""
    return (a * b + (1 << 30)) >> 31


def halve(x, times):
    """Divide by 2^times, halves away from zero."""
    size = (abs(x) + (1 << times >> 1)) >> times
    return -size if x < 0 else size


def wrap(x):
    """Return 32 bits with sign."""
    return ((x + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)


def requantize(x, multiplier, shift):
    """Return a sum scaled as TensorFlow Lite does, rounded twice."""
    return halve(high_product(wrap(x << max(shift, 0)), multiplier), max(-shift, 0))


def finish(p, acc, multiplier, shift):
    """Return the output of one sum."""
    value = requantize(wrap(int(acc)), int(multiplier), int(shift)) + p["output_offset"]
    return min(max(value, p["act_min"]), p["act_max"])


def convolve(p, image, filters, bias, multiplier, shift):
    """Return a convolution on the bytes of its scratch memory."""
    taps = filters.reshape(p["output_c"], p["filter_h"], -1).astype(np.int64)
    constant = p["input_offset"] * taps.sum(axis=(1, 2)) + bias
    out = []
    for n, one in enumerate(image):
        if p["pad_h"] or p["pad_w"]:
            around = ((p["pad_h"],) * 2, (p["pad_w"],) * 2, (0, 0))
            padded = np.pad(one, around, constant_values=-p["input_offset"])
            memory = padded.tobytes() + constant.astype(np.int32).tobytes()
        else:
            padded, memory = one, image[n:].tobytes()
        pitch = padded.shape[1] * p["input_c"]
        cells = np.frombuffer(memory + bytes(p["filter_h"] * pitch * 9 + 99), np.int8)
        for y in range(p["output_h"]):
            for x in range(p["output_w"]):
                acc = constant.copy()
                for ky in range(p["filter_h"]):
                    at = (y * p["stride_h"] + ky) * pitch + x * p["stride_w"] * p["input_c"]
                    acc += taps[:, ky] @ cells[at : at + taps.shape[2]].astype(np.int64)
                out += [finish(p, *sums) for sums in zip(acc, multiplier, shift)]
    return np.array(out, np.int8)


def depthwise_in_strips(p, image, filters, bias, multiplier, shift):
    """Return a depthwise convolution whose rows are copied to a strip of filter_h rows first."""
    taps = filters.reshape(p["filter_h"], p["filter_w"], -1).astype(np.int64)
    out = []
    for one in image.astype(np.int64):
        for y in range(p["output_h"]):
            first = y * p["stride_h"] - p["pad_h"]
            rows = [
                one[r] + p["input_offset"]
                if 0 <= r < p["input_h"]
                else np.full_like(one[0], p["input_offset"])
                for r in range(first, first + p["filter_h"])
            ]
            for x in range(p["output_w"]):
                acc = bias.astype(np.int64).copy()
                start = x * p["stride_w"] - p["pad_w"]
                for kx in range(max(0, -start), min(p["filter_w"], p["input_w"] - start)):
                    acc += sum(row[start + kx] * taps[ky, kx] for ky, row in enumerate(rows))
                out += [finish(p, *sums) for sums in zip(acc, multiplier, shift)]
    return np.array(out, np.int8)


def dense(p, image, filters, bias, multiplier, shift):
    """Return a fully connected layer whose loads of 8 bytes ignore the low three address bits."""
    start, depth = 16 + p["input_align"], p["input_c"]
    memory = np.zeros(start + image.size, np.int8)
    memory[start:] = image.ravel()
    out = []
    for n in range(p["batches"]):
        row, loaded = start + n * depth, []
        while len(loaded) + 8 <= depth:
            at = row + len(loaded) & ~7
            loaded += memory[at : at + 8].tolist()
        loaded += memory[row + len(loaded) : row + depth].tolist()
        x = np.array(loaded, np.int64) + p["input_offset"]
        acc = (filters.astype(np.int64) + p["filter_offset"]) @ x + bias
        out += [finish(p, *sums) for sums in zip(acc, multiplier, shift)]
    return np.array(out, np.int8)


def average_pool(p, image):
    """Return an average pooling whose pointer moves by output_h * channels after each row."""
    size = p["output_h"] * p["output_w"] * p["channels"]
    memory = np.zeros((p["batches"] + 1) * size * 9, np.int8)
    for n, one in enumerate(image.astype(np.int64)):
        for y in range(p["output_h"]):
            pointer = n * size + y * p["output_h"] * p["channels"]
            top = y * p["stride_h"] - p["pad_h"]
            for x in range(p["output_w"]):
                left = x * p["stride_w"] - p["pad_w"]
                window = one[
                    max(top, 0) : top + p["filter_h"], max(left, 0) : left + p["filter_w"]
                ].reshape(-1, p["channels"])
                half = len(window) // 2
                for total in window.sum(axis=0).tolist():
                    mean = (abs(total) + half) // len(window) * (1 if total > 0 else -1)
                    memory[pointer] = min(max(mean, p["act_min"]), p["act_max"])
                    pointer += 1
    return memory[: p["batches"] * size]


def multiply(p, first, second):
    """Return products; those outside of vectors by the 32-bit halves of a 64-bit product."""
    left, out = max(p["out_shift"], 0), []
    right = left - p["out_shift"]
    vectors = first.size // 8 * 8 if p["input_align"] == 0 else 0
    nudge = 1 << 30 if vectors else right
    for i, (a, b) in enumerate(zip(first.tolist(), second.tolist())):
        product = (a + p["input_1_offset"]) * (b + p["input_2_offset"])
        if i < vectors:
            value = requantize(product, p["out_mult"], p["out_shift"])
        else:
            wide = wrap(product << left) * p["out_mult"]
            low, high = wide & 0xFFFFFFFF, wide >> 32
            carry = low + nudge >> 32
            value = wrap((high + carry << 1) | ((low + nudge & 0xFFFFFFFF) >> 31))
            if right:
                value = wrap(value + (value < 0) + (1 << right - 1)) >> right
        out.append(min(max(value + p["out_offset"], p["act_min"]), p["act_max"]))
    return np.array(out, np.int8)


def row_maximum(row, memory, start):
    """Return the maximum of a row in memory, by vectors of 16 bytes at rounded addresses."""
    whole, most = len(row) // 16 * 16, -128
    for at in range(start, start + whole, 16):
        most = max(most, *memory[at & ~15 : (at & ~15) + 16].tolist())
    return max([most, *row[whole:].tolist()])


def exponential(t):
    """Return e^t in Q0.31 for t in Q5.26, by the bits of a number that should not be positive."""
    quarter = (t & (1 << 24) - 1) - (1 << 24)
    rest = wrap(quarter - t)
    x = wrap((quarter << 5) + (1 << 28))
    square = high_product(x, x)
    cube, fourth = high_product(square, x), halve(high_product(square, square), 2)
    tail = halve(high_product(wrap(fourth + cube), 715827883) + square, 1)
    result = 1895147668 + high_product(1895147668, wrap(x + tail))
    powers = (1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242)
    for bit, power in enumerate(powers, 24):
        if rest >> bit & 1:
            result = high_product(result, power)
    return result if t else (1 << 31) - 1


def reciprocal(v):
    """Return 1 / (1 + v) in Q0.31 for v in Q0.31, by three steps of Newton."""

    def shifted(x, n):
        return min(max(x << n, -(1 << 31)), (1 << 31) - 1)

    half = (v + (1 << 31) - 1 + 1) // 2
    x = 1515870810 + high_product(half, -1010580540)
    for _ in range(3):
        x = wrap(x + shifted(high_product(x, (1 << 29) - high_product(half, x)), 2))
    return shifted(x, 1)


def softmax(row, most, p):
    """Return a row of softmax with this maximum; shifts count modulo 32."""
    differences = [x - most for x in row.tolist()]
    kept = {
        d: exponential(high_product(wrap(d << p["shift"]), p["mult"]))
        for d in set(differences)
        if d >= p["diff_min"]
    }
    total = sum(halve(kept[d], 12) for d in differences if d in kept) & 0xFFFFFFFF
    zeros = 32 - total.bit_length()
    scale = reciprocal(wrap((total << zeros) + (1 << 31))) if total else 0
    shares = [
        halve(high_product(scale, kept[d]), (35 - zeros) & 31) if d in kept else 0
        for d in differences
    ]
    return np.array([min(max(share - 128, -128), 127) for share in shares], np.int8)
