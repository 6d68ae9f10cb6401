"""Loop counts of fully connected, matrix and recurrent functions of the s8, s16 and s4 API."""

from __future__ import annotations

from .convolve import FAST_COLUMNS
from .counts import Counts, Params
from .products import vector_s8


def count_dense_one_s8(c: Counts, p: Params, path: str) -> None:
    """Count arm_fully_connected_s8: one scale for all channels."""
    count_dense_wrapper_s8(c, {**p, "is_per_channel": 0}, path)


def count_dense_each_s8(c: Counts, p: Params, path: str) -> None:
    """Count arm_fully_connected_per_channel_s8: a scale for each channel."""
    count_dense_wrapper_s8(c, {**p, "is_per_channel": 1}, path)


def count_dense_wrapper_s8(c: Counts, p: Params, path: str) -> None:
    """Count arm_fully_connected_wrapper_s8: for each channel's own scale another function."""
    with c.within("each" if p["is_per_channel"] else "one"):
        offset = p["filter_offset"] != 0
        vector_s8(c, path, p["batches"], p["output_c"], p["input_c"], p["bias"], offset)


def count_dense_s16(c: Counts, p: Params, path: str) -> None:
    """Count arm_fully_connected_s16: in 64 bits where there are more columns than 512."""
    _vector_s16(c, path, p["batches"], p["output_c"], p["input_c"])
    c.add("biased", p["batches"] * p["output_c"] * p["bias"])


def _vector_s16(
    c: Counts, path: str, times: float, rows: int, n: int, fast: int = FAST_COLUMNS
) -> None:
    """Count a vector with rows x n; fast: most columns of the faster loop."""
    slow = max(n - fast, 0) if path != "scalar" else 0
    c.add("vectors", times)
    for name, entered in c.in_blocks(times, rows, {"mve": 4, "dsp": 2, "scalar": 1}[path]):
        c.sums(name, entered, n - slow, path, 8, 4)
        c.add(f"{name} slow" if path == "mve" else f"{name}/1", entered * slow)


def vector_sum(c: Counts, p: Params, path: str) -> None:
    """Count arm_vector_sum_s8: sums of the rows, if an offset multiplies them."""
    _sums(c, path, 1, p["rows"], p["cols"], p["bias"], p["rhs_offset"])


def _sums(c: Counts, path: str, times: int, rows: int, n: int, bias: int, offset: int) -> None:
    c.memcpy("initial", times * bias, 4 * rows, path)
    c.memset("cleared", times * (1 - bias), 4 * rows)
    for name, entered in c.in_blocks(times, rows, 5 if path == "mve" else 1, ("sums", "sum")):
        c.sums(name, entered, n, path, 16)
        c.add(f"{name} shifted", entered * (offset != 0))


def matmul_s8(c: Counts, params: Params, path: str) -> None:
    """Count arm_batch_matmul_s8: a product with a vector for each row on the left."""
    pictures = max(params["lhs_n"], params["rhs_n"]) * max(params["lhs_h"], params["rhs_h"])
    rows, n, offset = params["rhs_w"], params["rhs_c"], params["rhs_offset"]
    c.add("batches", max(params["lhs_n"], params["rhs_n"]))
    c.add("pictures", pictures)
    c.add("lines", pictures * params["lhs_w"])
    with c.within("one"):
        vector_s8(c, path, pictures * params["lhs_w"], rows, n, 0, offset != 0)
    if path == "mve":
        _sums(c, path, pictures, rows, n, 0, offset)


def matmul_s16(c: Counts, p: Params, path: str) -> None:
    """Count arm_batch_matmul_s16: as s8, in 64 bits."""
    pictures = max(p["lhs_n"], p["rhs_n"]) * max(p["lhs_h"], p["rhs_h"])
    c.add("batches", max(p["lhs_n"], p["rhs_n"]))
    c.add("pictures", pictures)
    n = p["rhs_c"]
    _vector_s16(c, path, pictures * p["lhs_w"], p["rhs_w"], n, fast=n)


def _svdf(c: Counts, p: Params, path: str, step: int) -> None:
    features = p["units"] * p["rank"]
    batches, steps = p["batches"], p["time_batches"]
    moved = (batches * features * steps - 1) * (1 if step == 4 else 2)
    if path == "mve":
        c.vectors("state", 1, moved, 16)
    else:
        c.memmove("state", 1, moved, 1 if step == 4 else 2, 0)
    blocks = (step,) if path == "dsp" else ()
    c.loop("history", batches * features, steps, *blocks)
    if path != "dsp":
        c.add("history/4", batches * features * (steps // 4))
        c.add("history/8", batches * features * (steps // 8))
    c.loop("history vectors", batches * features, steps - steps % 16, 16)
    c.add("ranks", batches * features)
    c.add("summed ranks", batches * features * (p["rank"] > 1))
    c.add("units", batches * p["units"])
    c.add("unit quads", -(-batches * p["units"] // 4))


def svdf_s8(c: Counts, p: Params, path: str) -> None:
    """Count arm_svdf_s8: features of the input, a weighted history of them, and their sum."""
    with c.within("one"):
        vector_s8(c, path, p["batches"], p["units"] * p["rank"], p["input_size"])
    with c.within("svdf"):
        _svdf(c, p, path, 4)


def svdf_s16(c: Counts, p: Params, path: str) -> None:
    """Count arm_svdf_state_s16_s8: the same with a state of 16 bits."""
    rows, block = p["units"] * p["rank"], 2 if path == "dsp" else 3
    c.add("vectors", p["batches"])
    for name, entered in c.in_blocks(p["batches"], rows, block):
        c.sums(name, entered, p["input_size"], path, 16, 16, 4)
    _svdf(c, p, path, 2)


def lstm(c: Counts, p: Params, path: str) -> None:
    """Count arm_lstm_unidirectional: four gates in each step, then the cell and the output."""
    batches, hidden, steps = p["batch_size"], p["hidden_size"], p["time_steps"]
    one_sample = 1 if p["time_major"] else steps
    c.add("steps", steps)
    c.add("later steps", steps - 1)
    c.add("samples", steps * batches)
    c.add("strided", steps * batches * (one_sample > 1))
    size = hidden * batches
    c.add("activations", steps * size)
    c.memset("clear", 4 * steps + 1, 2 * size)
    if path == "mve":
        c.vectors("elements", steps, size, 4)
        c.vectors("outputs", steps * batches, hidden, 4)
    else:
        c.loop("elements", steps, size, 2)
        c.loop("outputs", steps * batches, hidden, 2)
    for name, entered, n in (("input", steps, p["input_size"]), ("hidden", steps - 1, hidden)):
        c.add(name, entered * batches)
        block = {"mve": 4, "dsp": 2, "scalar": 3}[path]
        for kind, rows in c.in_blocks(entered * batches, hidden, block):
            c.sums(kind, rows, n, path, 16, 4)


def lstm_s16(c: Counts, p: Params, path: str) -> None:
    """Count arm_lstm_unidirectional_s16: the same with sums in 64 bits."""
    batches, hidden, steps = p["batch_size"], p["hidden_size"], p["time_steps"]
    inner = Counts()
    lstm(inner, p, path)
    c.update({k: v for k, v in inner.items() if k.split("/")[0] not in ("rows", "row")})
    for entered, n in ((steps, p["input_size"]), (steps - 1, hidden)):
        _vector_s16(c, path, entered * batches, hidden, n)
