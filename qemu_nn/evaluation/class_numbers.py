"""Class numbers of labels: from names, from floats, and from rows of a one-hot code."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Optional

import numpy as np

from ..errors import Error
from ..io.sources import MemorySource, Source

#: Names of numbers, whose order in the alphabet is another one than that of the numbers.
_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")

#: Names that a sentence shows.
_SHOWN = 5


def count_classes(shape: Sequence[int]) -> Optional[int]:
    """Return how many classes an output of this shape scores; None where its shape is no list.

    One output scores two classes: it is the probability of the second.
    """
    size = math.prod(shape)
    return max(size, 2) if shape and max(shape) == size else None


def order_names(
    names: Sequence[str], known: Sequence[str], count: Optional[int]
) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the names of all classes in order, and the class number of each name of the labels.

    names: those in the labels, sorted. known: of all classes in order, () where nobody says. count:
    of the network's classes. Raises Error where the order is not known.
    """
    if known:
        if count is not None and len(known) != count:
            raise Error(
                f"there are {len(known)} class names for {count} outputs: give one name for "
                "each output"
            )
        for name in names:
            if name not in known:
                raise Error(
                    f"the label {name!r} is not among the classes {_few(known)}: add it to "
                    "classes=, or correct the label"
                )
        return tuple(known), tuple(list(known).index(name) for name in names)
    ways = {tuple(names), *_other_orders(names)}
    if count is not None and len(names) != count:
        raise Error(
            f"the labels are {len(names)} names ({_few(names)}), but the network has {count} "
            "classes: give the names of all classes in order as classes=, or numbers as labels"
        )
    if len(ways) > 1:
        both = " or ".join(f"{', '.join(way[:3])}, ..." for way in sorted(ways))
        raise Error(
            f"the order of the classes {_few(names)} may be that of the alphabet or of numbers: "
            f"give classes= with all names in order, {both}"
        )
    return tuple(names), tuple(range(len(names)))


def tell_names(names: Sequence[str]) -> str:
    """Return the mapping from names to class numbers as a sentence."""
    return "labels by name: " + ", ".join(f"{name!r} is {at}" for at, name in enumerate(names))


def number_classes(labels: Source, count: Optional[int]) -> Source:
    """Return labels as integers, where they are floats or rows of a one-hot code.

    count: of the network's classes; None where labels are values. Raises Error for rows of zeros
    and ones that are no one-hot code.
    """
    kind, whole = labels.dtype.kind, labels.whole
    if count is None or not whole or not whole[0]:
        return labels
    if len(whole) == 1 and kind == "f" and count > 2:
        values = labels.view()
        whole_numbers = np.isfinite(values).all() and (values == np.round(values)).all()
        return MemorySource(values.astype(np.int64), "labels") if whole_numbers else labels
    if len(whole) != 2 or whole[1] != count or kind not in "fiub":
        return labels
    values = labels.view()
    if not np.isin(values, (0, 1)).all():
        return labels
    if not (values.sum(1, dtype=np.int64) == 1).all():
        row = int(np.argmax(values.sum(1, dtype=np.int64) != 1))
        raise Error(
            f"labels are rows of zeros and ones, but row {row} has {int(values[row].sum())} ones: "
            "one-hot rows have one; give class numbers, or kind='regressor' for values"
        )
    return MemorySource(values.argmax(1), "labels")


def _other_orders(names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return orders by the numbers that are in all names, as digits or as words."""
    found = []
    digits = [re.findall("[0-9]+", name) for name in names]
    if all(len(each) == 1 for each in digits):
        found.append({name: int(each[0]) for name, each in zip(names, digits)})
    if all(name.lower() in _WORDS for name in names):
        found.append({name: _WORDS.index(name.lower()) for name in names})
    distinct = (order for order in found if len({*order.values()}) == len(names))
    return [tuple(sorted(order, key=order.__getitem__)) for order in distinct]


def _few(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
