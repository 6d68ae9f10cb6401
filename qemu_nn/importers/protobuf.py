"""Protobuf without generated code: messages described in a few lines of text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..errors import ModelError
from ..io.optional_deps import require

_FIELD = re.compile(r"(\d+):(\w+):([\w|]+)(\*?)(?:=(\S+))?")


@dataclass(frozen=True)
class Schema:
    """The messages of one format, as far as they are read.

    format: what the user calls it. package: of the messages, and the extra that installs protobuf.
    text: a message on each line, its fields as number:name:type, * where repeated, = and the
    default. A type in capitals is an enumeration, counted from 0. Other fields are skipped.

    A message costs far more memory than the two bytes that an empty one takes in a file: what a
    file may hold many of is better described as bytes, and parsed when its turn comes.
    """

    format: str
    package: str
    text: str

    def new(self, name: str) -> Any:
        """Return an empty message; Error where protobuf is missing."""
        return self._classes[name]()

    def parse(self, name: str, data: bytes) -> Any:
        """Return a message from its binary form; ModelError where it is damaged."""
        message = self.new(name)
        damage = require("google.protobuf.message", self.package, self._purpose).DecodeError
        try:
            message.ParseFromString(data)
        except damage as error:
            raise ModelError(f"this is damaged or not a {self.format} model: {error}") from None
        return message

    @property
    def _purpose(self) -> str:
        return f"reading a {self.format} network"

    @cached_property
    def _classes(self) -> dict[str, Any]:
        proto, pools, factory = (
            require(f"google.protobuf.{module}", self.package, self._purpose)
            for module in ("descriptor_pb2", "descriptor_pool", "message_factory")
        )
        name = self.package
        file = proto.FileDescriptorProto(name=f"{name}.proto", package=name, syntax="proto2")
        for text in re.split(r"\n+(?=\w)", self.text.strip()):
            self._describe(file.message_type.add(), *text.replace("|\n    ", "|").split())
        pool = pools.DescriptorPool()
        pool.Add(file)
        return {
            message.name: factory.GetMessageClass(
                pool.FindMessageTypeByName(f"{name}.{message.name}")
            )
            for message in file.message_type
        }

    def _describe(self, message: Any, name: str, *fields: str) -> None:
        """Fill the DescriptorProto of one line of the text."""
        message.name = name
        for text in fields:
            match = _FIELD.fullmatch(text)
            assert match, text
            number, label, kind, repeated, default = match.groups()
            field = message.field.add(name=label, number=int(number))
            field.label = field.LABEL_REPEATED if repeated else field.LABEL_OPTIONAL
            if default:
                field.default_value = default
            if kind.islower():
                field.type = getattr(field, f"TYPE_{kind.upper()}")
                field.options.packed = bool(repeated) and kind not in ("string", "bytes")
            elif "|" in kind:
                field.type = field.TYPE_ENUM
                field.type_name = f".{self.package}.{name}.{label}_values"
                enum = message.enum_type.add(name=f"{label}_values")
                for value, word in enumerate(kind.split("|")):
                    enum.value.add(name=word, number=value)
            else:
                field.type, field.type_name = field.TYPE_MESSAGE, f".{self.package}.{kind}"
