"""Generator of the tables: python csrc/q/activation_tables.py > csrc/q/activation_tables.h"""

import math
from typing import Callable

HEAD = """\
/* The tables of the activations, written by activation_tables.py. Do not edit.
 *
 *   entry n = round(2^frac * f(u)) clamped to the type, u = (n < 128 ? n : n - 256) / 16,
 *   frac = 7 (q7) or 15 (q15), f(u) = 1 / (1 + e^-u) or tanh(u) */
#ifndef QN_Q_ACTIVATION_TABLES_H
#define QN_Q_ACTIVATION_TABLES_H

#include <stdint.h>

/* clang-format off */
"""

TAIL = """\
/* clang-format on */

#endif
"""


def sigmoid(u: float) -> float:
    """Return 1 / (1 + e^-u)."""
    return 1 / (1 + math.exp(-u))


def entries(function: Callable[[float], float], frac: int) -> list[int]:
    """Return the 256 entries of a table. None is within 8e-4 of a tie, so float64 suffices."""
    one = 1 << frac
    arguments = [(n if n < 128 else n - 256) / 16 for n in range(256)]
    return [max(-one, min(one - 1, round(one * function(u)))) for u in arguments]


def declaration(ctype: str, name: str, values: list[int]) -> str:
    """Return a table as a C array, eight entries a line."""
    rows = [values[n : n + 8] for n in range(0, 256, 8)]
    lines = ["    " + ", ".join(map(str, row)) + "," for row in rows]
    return "\n".join([f"static const {ctype} {name}[256] = {{", *lines, "};", ""])


def header() -> str:
    """Return the text of activation_tables.h."""
    tables = [
        declaration("int8_t", "q_sigmoid_q7", entries(sigmoid, 7)),
        declaration("int8_t", "q_tanh_q7", entries(math.tanh, 7)),
        declaration("int16_t", "q_sigmoid_q15", entries(sigmoid, 15)),
        declaration("int16_t", "q_tanh_q15", entries(math.tanh, 15)),
    ]
    return HEAD + "\n".join(tables) + TAIL


if __name__ == "__main__":
    print(header(), end="")
