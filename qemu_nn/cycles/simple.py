"""Loop counts of pooling, element by element functions, softmax and data movement."""

from __future__ import annotations

from .counts import Counter, Counts, Params
from .patches import count_taps


def average(lanes: int) -> Counter:
    """Count arm_avgpool: with Helium `lanes` channels at a time, else one."""

    def count(c: Counts, params: Params, path: str) -> None:
        rows, across = count_taps(params)
        batches, channels = params["batches"], params["channels"]
        pixels = batches * params["output_h"] * params["output_w"]
        valid = batches * sum(rows) * sum(across)
        parts = -(-channels // lanes) if path == "mve" else channels
        c.add("lines", batches * params["output_h"])
        c.add("pixels", pixels)
        c.add("outputs", pixels * parts)
        c.add("rows", batches * sum(rows) * params["output_w"])
        c.add("taps", valid)
        c.add("output rows", batches * sum(rows) * params["output_w"] * parts)
        c.add("output taps", valid * parts)
        c.add("kernel rows", pixels * parts * params["filter_h"])
        c.add("kernel taps", pixels * parts * params["filter_h"] * params["filter_w"])
        c.add(
            "outside above",
            parts
            * batches
            * params["output_w"]
            * params["filter_w"]
            * (params["output_h"] * params["filter_h"] - sum(rows)),
        )
        for block in (4, 2):
            c.add(f"output taps/{block}", valid * (parts // block))
            c.add(f"outputs/{block}", pixels * (parts // block))

    return count


def maximum(size: int) -> Counter:
    """Count arm_max_pool: the first pixel is copied, others are compared; all are clamped."""

    def count(c: Counts, params: Params, path: str) -> None:
        rows, across = count_taps(params)
        batches, channels = params["batches"], params["channels"]
        pixels = batches * params["output_h"] * params["output_w"]
        others = batches * sum(rows) * sum(across) - pixels
        c.add("lines", batches * params["output_h"])
        c.add("pixels", pixels)
        c.add("rows", batches * sum(rows) * params["output_w"])
        c.patches("first", pixels, channels * size, path, inline=size == 1)
        length = params["output_h"] * params["output_w"] * channels
        if path == "mve":
            c.vectors("others", others, channels, 16 // size)
            c.vectors("clamp", batches, length, 16 // size)
        else:
            c.loop("others", others, channels, 4 // size)
            c.loop("clamp", batches, length, 4 // size)

    return count


def elements(argument: str, *blocks: int) -> Counter:
    """Return the count of a function of an array: loops of blocks; vectors with Helium."""

    def count(c: Counts, p: Params, path: str) -> None:
        length = p[argument]
        if path == "mve":
            for lanes in (4, 8, 16):
                c.vectors(f"vectors of {lanes}", 1, length, lanes)
        c.loop("elements", 1, length, *blocks)
        for left in range(2, min(blocks[0], 4)):  # the remainder may need no loop
            c.add(f"last {left}", length % blocks[0] == left)

    return count


def activation(c: Counts, p: Params, path: str) -> None:
    """Count arm_nn_activations_direct: a table of sigmoid (type 0) or tanh (1), or lines."""
    c.add(f"elements of {p['type']}", p["size"])
    c.add(f"kind {p['type']}", 1)
    c.add(f"width {p['int_width']}", p["size"])


def activation_s16(c: Counts, p: Params, path: str) -> None:
    """Count arm_nn_activation_s16: a table; large values are beyond its end."""
    first_beyond = (255 * 256 if p["type"] else 255 * 512) / (3 << max(p["left_shift"], 0))
    beyond = max(0.0, 1 - first_beyond / 2**15)
    share = {"random": beyond, "least": float(beyond > 0), "most": 0.0}[c.data]
    c.add("call of tanh", p["type"])
    c.add(f"elements of {p['type']}", p["size"] * (1 - share))
    c.add("beyond", p["size"] * share)


def broadcast(c: Counts, p: Params, path: str) -> None:
    """Count arm_maximum_s8 and arm_minimum_s8: along all axes with equal sides at once."""
    first = [p[f"input1_{axis}"] for axis in "nhwc"]
    second = [p[f"input2_{axis}"] for axis in "nhwc"]
    out = [max(a, b) for a, b in zip(first, second)]
    outer = 1
    for level in range(4):
        ours, theirs = first[level:], second[level:]
        flat = _count_product(out[level:])
        if ours == theirs or 1 in (_count_product(ours), _count_product(theirs)):
            kind = f"{'inner ' * (level > 0)}{'same' if ours == theirs else 'scalar'}"
            c.add(f"level {level}", outer)
            if path == "mve":
                c.vectors(kind, outer, flat, 16)
            else:
                c.loop(kind, outer, flat)
                c.add(f"{kind}/4", outer * (flat // 4))
            return
        c.add(f"around {level}", outer)
        outer *= out[level]


def _count_product(sizes: list[int]) -> int:
    result = 1
    for size in sizes:
        result *= size
    return result


def softmax(low: int = 0, high: int = 255, masked: int = 0) -> Counter:
    """Return the count of a softmax of values from low to high.

    Values at least `masked` below the row's largest are skipped. masked: 0 if none is skipped, or
    if the argument diff_min decides.
    """

    def count(c: Counts, p: Params, path: str) -> None:
        rows = p.get("num_rows", p.get("nb_batches", 1))
        size = p["row_size"] if "row_size" in p else p["dim_vec"]
        limit = masked or 1 - p.get("diff_min", 0)
        c.add("rows", rows)
        c.add("elements", rows * size)
        if limit > 1:
            c.add("exponentials", rows * _count_exponentials(size, high - low + 1, limit, c.data))
        if path == "mve":
            c.vectors("vectors", rows, size, 4)
            c.vectors("bytes", rows, size, 16)
            c.add("tails", rows * (size % 4))
            c.add("byte tails", rows * (size % 16))

    return count


def _count_exponentials(size: int, values: int, limit: int, data: str) -> float:
    """Estimate how many of `size` elements are less than `limit` below the largest of them."""
    if data != "random" or size == 1:
        return 1 if data == "least" else size
    expected = 0.0
    for largest in range(values):
        chance = ((largest + 1) / values) ** size - (largest / values) ** size
        expected += chance * (1 + (size - 1) * min(limit, largest + 1) / (largest + 1))
    return expected


def concatenate(axis: str) -> Counter:
    """Count arm_concatenation: a copy for each step of the axes around the one that is joined."""

    def count(c: Counts, p: Params, path: str) -> None:
        sizes = [p[f"input_{name}"] for name in "xyzw"]
        at = "xyzw".index(axis)
        size, times = _count_product(sizes[: at + 1]), _count_product(sizes[at + 1 :])
        out = _count_product([*sizes[:at], p[f"output_{axis}"]])
        if axis == "w":
            out = size
        _count_aligned_copies(
            c, f"copy {axis}", times, size, out, path, p["offset"] * _count_product(sizes[:at])
        )

    return count


def _count_aligned_copies(
    c: Counts, name: str, times: int, size: int, step: int, path: str, offset: int = 0
) -> None:
    """Count copies from multiples of `size` to multiples of `step`, whose alignment repeats."""
    for at in range(4):
        share = len(range(at, times, 4))
        c.copies(name, share, size, path, at * size % 4, (at * step + offset) % 4)


def pad(c: Counts, p: Params, path: str) -> None:
    """Count arm_pad_s8: the border is set; rows are copied, or pixels if channels are padded."""
    sizes = {axis: p[f"pre_{axis}"] + p[f"input_{axis}"] + p[f"post_{axis}"] for axis in "nhwc"}
    pixel, row = sizes["c"], sizes["w"] * sizes["c"]
    picture = sizes["h"] * row
    c.add("images", p["input_n"])
    c.add("lines", p["input_n"] * p["input_h"])
    at, source = 0, 0

    def fill(size: int) -> None:
        nonlocal at
        c.fills("set", 1, size, path, at % 4)
        at += size

    def copy(size: int) -> None:
        nonlocal at, source
        c.copies("copy", 1, size, path, source % 4, at % 4)
        at, source = at + size, source + size

    fill(picture * p["pre_n"])
    for _ in range(p["input_n"]):
        fill(row * p["pre_h"])
        for _ in range(p["input_h"]):
            fill(pixel * p["pre_w"])
            if pixel == p["input_c"]:
                copy(p["input_w"] * p["input_c"])
            else:
                c.add("pixels", p["input_w"])
                for _ in range(p["input_w"]):
                    fill(p["pre_c"])
                    copy(p["input_c"])
                    fill(p["post_c"])
            fill(pixel * p["post_w"])
        fill(row * p["post_h"])
    fill(picture * p["post_n"])


def reshape(c: Counts, p: Params, path: str) -> None:
    """Count arm_reshape_s8: one copy."""
    c.copies("copy", 1, p["total_size"], path)


def transpose(c: Counts, params: Params, path: str) -> None:
    """Count arm_transpose_s8: loops over all axes, or over two if only those are exchanged."""
    n, h, w, channels = (params[f"input_{axis}"] for axis in "nhwc")
    if params["num_dims"] == 1:
        c.add("flat", 1)
        c.copies("copy", 1, n, path)
        return
    exchanged = path == "mve" and (params["perm_0"], params["perm_1"]) == (0, 1)
    if params["num_dims"] == 2 or (params["num_dims"] == 4 and exchanged):
        if params["num_dims"] == 2:
            n, h, w, channels = 1, 1, n, h
        c.add("matrices", n * h)
        c.add("images", n)
        if path == "mve":
            c.add("columns", n * h * channels)
            c.vectors("gathers", n * h * channels, w, 8)
        else:
            c.add("columns", n * h * w)
            c.add("moved", n * h * w * channels)
            c.add("moved/4", n * h * w * (channels // 4))
        return
    if params["num_dims"] == 3:
        n, h, w, channels = 1, n, h, w
    still = params["num_dims"] - 1 == params[f"perm_{params['num_dims'] - 1}"]
    c.add(f"axes {params['num_dims']}", 1)
    c.add("images", n)
    c.add("lines", n * h)
    c.add("pixels", n * h * w)
    kind = "still" if still else "moved"
    c.loop(kind, n * h * w, channels, 4)
    c.add(f"{kind} elements", n * h * w * channels)
