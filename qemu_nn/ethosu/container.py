"""The command tensor of an `ethos-u` operator: its containers COP1 and COP2, and what they say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import ModelError
from ..targets import ETHOS_U

#: First words of the containers: "COP1", "COP2", and of the metadata in COP2: "VEUM".
_COP1, _COP2, _METADATA = 0x31504F43, 0x32504F43, 0x4D554556

#: Driver actions of COP1.
_CONFIGURE, _STREAM, _READ_REGISTERS, _DUMP, _NOP = 1, 2, 3, 4, 5

#: Flag of COP2: inputs and outputs have regions of their own.
_SEPARATE = 2

#: Number of the product in a configuration word -> its name.
_PRODUCTS = {0: "u55", 1: "u65", 2: "u85"}


@dataclass(frozen=True)
class CommandStream:
    """A command stream and its container.

    configuration: the word that names product and size. separate: True if inputs and outputs have
    regions of their own.
    """

    container: str
    configuration: int
    separate: bool
    words: np.ndarray

    @property
    def target(self) -> str:
        """The NPU that the stream is compiled for: "ethos-u55-128"."""
        return name_configuration(self.configuration)


def name_configuration(word: int) -> str:
    """Return the NPU of a configuration word; raise ModelError if there is none."""
    product = _PRODUCTS.get(word >> 28, "")
    name = f"ethos-{product}-{1 << (word & 15)}"
    if name not in ETHOS_U:
        raise ModelError(
            f"its configuration word is {word:#010x}; it must be that of one of "
            f"{', '.join(ETHOS_U)}"
        )
    return name


def read_stream(data: bytes) -> CommandStream:
    """Return the command stream of a command tensor; raise ModelError if it is damaged."""
    if len(data) % 4 or len(data) < 8:
        raise ModelError(f"its command stream has {len(data)} bytes; it must have whole words")
    words = np.frombuffer(data, "<u4")
    if words[0] == _COP1:
        return _read_actions(words)
    if words[0] == _COP2:
        return _read_entries(words)
    raise ModelError(
        f"its command stream begins with {bytes(data[:4])!r}; it must begin with b'COP1' or b'COP2'"
    )


def _read_actions(words: np.ndarray) -> CommandStream:
    """Read the driver actions of COP1 up to the stream."""
    position, configuration = 1, None
    while position < words.size:
        word = int(words[position])
        action, parameter = word & 0xFF, word >> 16
        if action == _CONFIGURE and position + 2 < words.size:
            configuration = int(words[position + 1])
            position += 3
        elif action == _STREAM:
            count = parameter + ((word >> 8 & 0xFF) << 16)
            if configuration is None:
                raise ModelError("its command stream has no configuration before it")
            if count > words.size - position - 1:
                raise ModelError(
                    f"its command stream is said to have {count} words; "
                    f"{words.size - position - 1} follow"
                )
            stream = words[position + 1 : position + 1 + count]
            return CommandStream("COP1", configuration, False, stream)
        elif action in (_READ_REGISTERS, _DUMP, _NOP):
            position += 1
        else:
            raise ModelError(f"its command tensor has the unknown driver action {action}")
    raise ModelError("its command tensor has no command stream")


def _read_entries(words: np.ndarray) -> CommandStream:
    """Read the first entry of COP2: metadata, then the stream."""
    if words.size < 13 or words[1] != 1:
        raise ModelError("its COP2 container is damaged; it must have version 1 and metadata")
    kind, entry, metadata = (int(words[at]) for at in (4, 5, 6))
    start, end = 7 + metadata // 4, 6 + entry // 4
    if kind != 1 or words[7] != _METADATA or not 13 <= start <= end <= words.size:
        raise ModelError("its COP2 container is damaged: the sizes of its parts do not fit")
    separate = bool(int(words[12]) & _SEPARATE)
    return CommandStream("COP2", int(words[10]), separate, words[start:end])
