"""Writes activation_tables.h.

usage, in csrc/s/tables: python activation_tables.py > activation_tables.h
"""

import math

HEAD = """\
/* The table of sigmoid and tanh; written by activation_tables.py, do not edit.
 *
 *   entry i = round(2^16 * (f(i) + (f(i + 1/2) - (f(i) + f(i + 1)) / 2) / 2)),
 *   f(i) = 1 / (1 + e^(-i/24)), raised by half of what a straight line to the next entry would miss
 *   in the middle; the last entry is 2^16 - 1, where the function ends */
#ifndef QN_S_ACTIVATION_TABLES_H
#define QN_S_ACTIVATION_TABLES_H

#include <stdint.h>

/* clang-format off */
"""

TAIL = """\
/* clang-format on */

#endif
"""


def sigmoid(i: float) -> float:
    """Return 2^16 / (1 + e^(-i/24))."""
    return 2**16 / (1 + math.exp(-i / 24))


def entries() -> list[int]:
    """Return the entries; none is within 1e-3 of a tie, so float64 decides all."""
    values = []
    for i in range(255):
        missed = sigmoid(i + 0.5) - (sigmoid(i) + sigmoid(i + 1)) / 2
        values.append(math.floor(sigmoid(i) + missed / 2 + 0.5))
    return [*values, 2**16 - 1]


def header() -> str:
    """Return the text of activation_tables.h."""
    values = entries()
    rows = [values[n : n + 8] for n in range(0, 256, 8)]
    lines = ["    " + ", ".join(map(str, row)) + "," for row in rows]
    table = "\n".join(["static const uint16_t s_sigmoid_u16[256] = {", *lines, "};", ""])
    return HEAD + table + TAIL


if __name__ == "__main__":
    print(header(), end="")
