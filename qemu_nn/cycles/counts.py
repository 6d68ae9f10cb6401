"""Iteration counts of the loops of a call, the terms of instruction counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Callable

from . import newlib

#: Scalar C arguments of a call.
Params = Mapping[str, int]


class Counts(dict[str, float]):
    """Executions of each part of a call, by name.

    data: the input of a function with a data-dependent path: "random" (uniform over the type), or
    the input of the shortest or longest call.
    """

    data: str = "random"
    _prefix: str = ""

    def add(self, name: str, times: float) -> None:
        """Count a part `times` more."""
        self._add(self._prefix + name, times)

    def _add(self, name: str, times: float) -> None:
        if times:
            self[name] = self.get(name, 0.0) + times

    @contextmanager
    def within(self, function: str) -> Iterator[None]:
        """Count the parts of a called function, under names with its own as prefix."""
        before, self._prefix = self._prefix, f"{function}: " * bool(function)
        yield
        self._prefix = before

    def in_blocks(
        self, times: float, rows: int, block: int, names: Sequence[str] = ("rows", "row")
    ) -> Iterator[tuple[str, float]]:
        """Count the kinds of rows, `times` over: blocks of rows, and the remainder.

        Yields the name and number of each kind.
        """
        for name, several in zip(names, divmod(rows, block)):
            self.add(f"any {name}", times * (several > 0))
            yield name, times * several

    def loop(self, name: str, times: float, length: int, *blocks: int) -> None:
        """Count a loop that is entered `times`, over `length` elements.

        blocks: elements of an iteration, the largest first; a loop of single elements processes the
        remainder. Entering the block loop, and the remainder loop, are parts of their own.
        """
        self.add(name, times)
        for block in blocks:
            self.add(f"{name}/{block}", times * (length // block))
            self.add(f"{name}/{block} any", times * (length >= block))
            length %= block
        self.add(f"{name}/1", times * length)
        if blocks:
            self.add(f"{name}/rest", times * (length > 0))

    def count_unrolled(self, name: str, times: float, length: int) -> None:
        """Count a loop that the compiler unrolled by four, the remainder first.

        It compares the remainder with one, two and three.
        """
        self.loop(name, times, length, 4)
        self.add(f"{name}/any", times * (length > 0))
        self.add(f"{name}/last of 3", times * (length % 4 == 3))

    def vectors(self, name: str, times: float, length: int, lanes: int) -> None:
        """Count a loop of vectors; the last one may be partial."""
        self.add(name, times)
        self.add(f"{name}/vector", times * -(-length // lanes))

    def sums(
        self, name: str, times: float, length: int, path: str, lanes: int, *blocks: int
    ) -> None:
        """Count a loop that adds products: vectors of `lanes` with Helium, `blocks` with DSP."""
        if path == "mve":
            self.vectors(name, times, length, lanes)
        else:
            self.loop(name, times, length, *(blocks if path == "dsp" else ()))

    def memcpy(
        self, name: str, times: float, size: int, path: str, source: int = 0, target: int = 0
    ) -> None:
        """Count calls of the C library's memcpy; source, target: addresses modulo 4."""
        self.add(name, times)
        self._add("memcpy", times * newlib.memcpy(size, path, source, target))

    def memset(self, name: str, times: float, size: int, target: int = 0) -> None:
        """Count calls of the C library's memset; target: the address modulo 4."""
        self.add(name, times)
        self._add("memset", times * newlib.memset(size, target))

    def memmove(self, name: str, times: float, size: int, source: int, target: int) -> None:
        """Count calls of the C library's memmove; source, target: addresses."""
        self.add(name, times)
        self._add("memmove", times * newlib.memmove(size, source, target))

    def copies(
        self, name: str, times: float, size: int, path: str, source: int = 0, target: int = 0
    ) -> None:
        """Count calls of CMSIS-NN's arm_memcpy_s8: with Helium a loop of vectors, else memcpy."""
        if path == "mve":
            self.vectors(name, times, size, 16)
        else:
            self.memcpy(name, times, size, path, source, target)

    def fills(self, name: str, times: float, size: int, path: str, target: int = 0) -> None:
        """Count calls of CMSIS-NN's arm_memset_s8: with Helium a loop of vectors, else memset."""
        if path == "mve":
            self.vectors(name, times, size, 16)
        else:
            self.memset(name, times, size, target)

    def patches(self, name: str, times: float, size: int, path: str, inline: bool = True) -> None:
        """Count copies of patches of `size` bytes from and to multiples of that size.

        inline: true if Helium copies them with a loop of vectors.
        """
        if path == "mve" and inline:
            self.vectors(name, times, size, 16)
            return
        step = {0: 4, 2: 2}.get(size % 4, 1)
        offsets = range(0, 4, step)
        for source in offsets:
            for target in offsets:
                self.memcpy(name, times / len(offsets) ** 2, size, path, source, target)

    def gaps(self, name: str, times: float, size: int, path: str) -> None:
        """Count memset of patches of `size` bytes at multiples of that size."""
        offsets = range(0, 4, {0: 4, 2: 2}.get(size % 4, 1))
        for target in offsets:
            self.fills(name, times / len(offsets), size, path, target)


#: Counts the parts of a call from its scalar arguments, on a path through the library.
Counter = Callable[[Counts, Params, str], None]
