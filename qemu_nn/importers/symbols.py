"""The firmware's memory as network.json names it: buffers, their parts, and what enters them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..io.typed_json import Fields
from ..ir.formats import BITS
from ..ir.graph import Address, Tensor


@dataclass(frozen=True)
class Symbols:
    """buffers: name -> bytes. regions: name of a buffer or a part -> where it starts, its bytes."""

    buffers: dict[str, int]
    regions: dict[str, tuple[Address, int]]

    def region(self, name: str, fields: Fields) -> tuple[Address, int]:
        """A region by name; fields: who asks."""
        if name not in self.regions:
            have = ", ".join(self.regions)
            raise fields.error(f"there is no buffer or part {name!r}; have: {have}")
        return self.regions[name]

    def address(self, fields: Fields) -> Address:
        """The address that {"symbol": name, "offset": bytes} stands for."""
        start, _ = self.region(fields.text("symbol"), fields)
        offset = start.offset + fields.integer("offset", 0)
        size = self.buffers[start.buffer]
        if not 0 <= offset < size:
            raise fields.error(
                f"'offset' leads to byte {offset} of {start.buffer!r}, which has only {size} bytes"
            )
        return Address(start.buffer, offset)


def read_symbols(buffers: Fields) -> Symbols:
    """Every buffer, and every part as [offset, bytes]; parts may overlap."""
    symbols = Symbols({}, {})
    for name, fields in buffers.children():
        size = fields.integer("bytes")
        if size <= 0:
            raise fields.error(f"'bytes' must be positive, not {size}")
        symbols.buffers[name] = size
        _add(symbols, fields, name, Address(name, 0), size)
        parts = fields.object("parts") if "parts" in fields else Fields({}, "")
        for part in parts.values:
            region = parts.integers(part)
            if len(region) != 2 or min(region) < 0 or region[1] == 0 or sum(region) > size:
                raise parts.error(f"{part!r} must be [offset, bytes] within {size} bytes")
            _add(symbols, parts, part, Address(name, region[0]), region[1])
    return symbols


def _add(symbols: Symbols, fields: Fields, name: str, start: Address, size: int) -> None:
    if symbols.regions.setdefault(name, (start, size))[0] != start:
        raise fields.error(f"the name {name!r} stands for two addresses")
    symbols.regions[name] = start, size


def read_entries(
    description: Fields, symbols: Symbols, taken: Iterable[str]
) -> tuple[tuple[Tensor, Address], list[tuple[Tensor, Address]]]:
    """The input, and the states of a recurrent network, each with its address.

    taken: names of layers; an input or a state of the same name gets another one.
    """
    recurrent = description.object("recurrent") if "recurrent" in description else None
    if "input" in description or recurrent is None:
        entry = _plain_input(description.object("input"), symbols)
    else:
        entry = _vector(recurrent, recurrent.text("input", "input"), symbols)
    states = [_vector(recurrent, name, symbols) for name in _states(recurrent)] if recurrent else []
    used = set(taken)
    return _renamed(entry, used), [_renamed(state, used) for state in states]


def _plain_input(fields: Fields, symbols: Symbols) -> tuple[Tensor, Address]:
    shape = tuple(fields.integers("shape"))
    tensor = Tensor("input", shape, _dtype(fields), fields.integer("frac_bits", None))
    return tensor, symbols.address(fields.object("buffer"))


def _states(recurrent: Fields) -> list[str]:
    """The symbols under "state"; without it every X of the keys dim_X except for the input's."""
    if "state" in recurrent:
        single = isinstance(recurrent.values["state"], str)
        return [recurrent.text("state")] if single else recurrent.texts("state")
    entry = recurrent.text("input", "input")
    names = [key[4:] for key in recurrent.values if key.startswith("dim_")]
    states = [name for name in names if name not in ("input", entry)]
    if not states:
        raise recurrent.error(
            "'state' must name the buffer that keeps its values between time steps"
        )
    return states


def _vector(recurrent: Fields, name: str, symbols: Symbols) -> tuple[Tensor, Address]:
    """A vector in the region of a name: dim_<name> elements, or all of the region."""
    address, size = symbols.region(name, recurrent)
    dtype = _dtype(recurrent)
    length = recurrent.integer(f"dim_{name}", size * 8 // BITS[dtype])
    return Tensor(name, (length,), dtype), address


def _dtype(fields: Fields) -> str:
    dtype = fields.text("dtype")
    if dtype not in BITS:
        raise fields.error(f"'dtype' is {dtype!r}; have: {', '.join(BITS)}")
    return dtype


def _renamed(entry: tuple[Tensor, Address], used: set[str]) -> tuple[Tensor, Address]:
    tensor, address = entry
    name = tensor.name
    while name in used:
        name = f"{name}_buffer"
    used.add(name)
    return Tensor(name, tensor.shape, tensor.dtype, tensor.frac), address
