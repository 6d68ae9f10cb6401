"""Untrusted JSON: parsed strictly, each value asked for by key and type."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, Union

from ..errors import ModelError

T = TypeVar("T")

_KINDS = {str: "a string", int: "an integer", float: "a number", dict: "an object", list: "a list"}
_KINDS[bool] = "true or false"
_DIGITS = 20


class _Required:
    """Default of a required key."""


_REQUIRED = _Required()


def parse_json(data: bytes, where: str) -> Fields:
    """Return a JSON object from UTF-8 text; where: its name in messages.

    Raises ModelError for other text, duplicate keys, NaN and infinities, numbers of more than 20
    digits, and nesting that is too deep.
    """

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values = dict(pairs)
        if len(values) < len(pairs):
            (twice, _), *_ = Counter(name for name, _ in pairs).most_common(1)
            raise ModelError(
                f"{where}: the key {twice!r} is given twice in one object; keys must be unique"
            )
        return values

    def short(digits: str) -> int:
        if len(digits) > _DIGITS:
            raise ModelError(
                f"{where}: a number has {len(digits)} digits; at most {_DIGITS} are read"
            )
        return int(digits)

    def never(name: str) -> None:
        raise ModelError(f"{where}: {name} is given, but numbers must be finite")

    try:
        document = json.loads(
            data.decode("utf-8-sig"), object_pairs_hook=once, parse_int=short, parse_constant=never
        )
    except json.JSONDecodeError as error:
        raise ModelError(f"{where}:{error.lineno}: this is not JSON: {error.msg}") from None
    except UnicodeDecodeError:
        raise ModelError(f"{where} is not UTF-8 text, as JSON must be") from None
    except RecursionError:
        raise ModelError(f"{where} is nested too deeply to be read") from None
    if not isinstance(document, dict):
        raise ModelError(f"{where} must be a JSON object")
    return Fields(document, where)


@dataclass(frozen=True)
class Fields:
    """A JSON object and its location.

    Each method names a key and raises ModelError, with the location and the key, if the value is
    missing or of another type. A null counts as missing; a missing value is replaced by the
    default, if given.
    """

    values: Mapping[str, Any]
    where: str

    def __contains__(self, key: str) -> bool:
        return self.values.get(key) is not None

    def text(self, key: str, default: Union[T, _Required] = _REQUIRED) -> Union[str, T]:
        """Return a string."""
        value: Union[str, T] = self._get(key, str, default)
        return value

    def integer(self, key: str, default: Union[T, _Required] = _REQUIRED) -> Union[int, T]:
        """Return an integer that fits into 64 bits."""
        value: Union[int, T] = self._get(key, int, default)
        return value

    def number(self, key: str, default: Union[T, _Required] = _REQUIRED) -> Union[float, T]:
        """Return a float."""
        if key in self and isinstance(self.values[key], int):
            return float(self._check_type(repr(key), self.values[key], int))
        value: Union[float, T] = self._get(key, float, default)
        return value

    def flag(self, key: str, default: Union[T, _Required] = _REQUIRED) -> Union[bool, T]:
        """True or false."""
        value: Union[bool, T] = self._get(key, bool, default)
        return value

    def texts(self, key: str, default: Union[T, _Required] = _REQUIRED) -> Union[list[str], T]:
        """Return a list of strings."""
        value: Union[list[str], T] = self._list(key, str, default)
        return value

    def integers(self, key: str, default: Union[T, _Required] = _REQUIRED) -> Union[list[int], T]:
        """Return a list of integers."""
        value: Union[list[int], T] = self._list(key, int, default)
        return value

    def object(self, key: str) -> Fields:
        """Return an object."""
        return Fields(self._get(key, dict, _REQUIRED), f"{self.where}: {key}")

    def objects(self, key: str) -> list[Fields]:
        """Return a list of objects."""
        found: list[dict[str, Any]] = self._list(key, dict, _REQUIRED)
        return [Fields(value, f"{self.where}: {key}[{i}]") for i, value in enumerate(found)]

    def children(self) -> list[tuple[str, Fields]]:
        """Return every key with its value, which must be an object."""
        return [(key, self.object(key)) for key in self.values]

    def error(self, message: str) -> ModelError:
        """Return an error that names this place."""
        return ModelError(f"{self.where}: {message}")

    def _get(self, key: str, kind: type, default: Any) -> Any:
        if key not in self:
            if default is _REQUIRED:
                raise self.error(f"{key!r} is missing")
            return default
        return self._check_type(repr(key), self.values[key], kind)

    def _list(self, key: str, kind: type, default: Any) -> Any:
        found = self._get(key, list, default)
        if found is default:
            return default
        return [self._check_type(f"{key!r}[{i}]", value, kind) for i, value in enumerate(found)]

    def _check_type(self, what: str, value: Any, kind: type) -> Any:
        if not isinstance(value, kind) or isinstance(value, bool) != (kind is bool):
            raise self.error(f"{what} must be {_KINDS[kind]}, not {_shorten(value)}")
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise self.error(f"{what} is {value}, but must fit into 64 bits")
        return value


def _shorten(value: object) -> str:
    """Shorten a value for a message."""
    for kind, name in _KINDS.items():
        if kind in (dict, list) and isinstance(value, kind):
            return name
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
