"""chain.json: which networks follow each other, and at which rate each runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Optional

from ..errors import Error, ModelError
from ..io.files import read_bytes
from ..io.typed_json import Fields, parse_json
from .micro_frontend import Pcan, Smoothing, micro_frontend
from .network import Network, load_quantized

#: Samples per second of sound, where nobody says otherwise.
RATE = 16000

#: Most bytes of a description.
_LIMIT = 2**20

#: Arguments of micro_frontend() by the type that they have in JSON; the rate is that of the chain.
_FRONTEND = {
    "integer": ("window_ms", "channels", "scale_shift"),
    "number": ("lowest_hz", "highest_hz", "min_signal_remaining"),
    "flag": ("quantized",),
}
_SMOOTHING = {"integer": ("bits",), "number": ("even", "odd")}
_PCAN = {"integer": ("gain_bits",), "number": ("strength", "offset")}


def described_by(given: object) -> Optional[Path]:
    """Return the path of a file that describes a chain; None for anything else, such as a
    network.
    """
    if not isinstance(given, (str, Path)) or Path(given).suffix.lower() != ".json":
        return None
    path = Path(given)
    try:
        return path if "stages" in parse_json(read_bytes(path, _LIMIT), str(path)) else None
    except ModelError:
        return None


def described(path: Path) -> tuple[list[Network], list[int], int]:
    """Return networks, hops and the rate of a chain.json; Error, which names the place, for
    faults.
    """
    description = parse_json(read_bytes(path, _LIMIT), str(path))
    _only(description, ("rate", "stages"))
    rate = description.integer("rate", RATE)
    stages = description.objects("stages")
    networks = [_network(stage, path.parent, rate) for stage in stages]
    return networks, [stage.integer("hop") for stage in stages], rate


def _network(stage: Fields, folder: Path, rate: int) -> Network:
    _only(stage, ("file", "micro_frontend", "hop"))
    if ("file" in stage) == ("micro_frontend" in stage):
        raise stage.error("it must have either 'file' or 'micro_frontend'")
    try:
        if "micro_frontend" in stage:
            return micro_frontend(rate=rate, **_frontend(stage.object("micro_frontend")))
        name = PurePosixPath(stage.text("file"))
        if name.is_absolute() or ".." in name.parts or "\0" in str(name):
            raise stage.error(
                f"'file' is {str(name)!r}, but must be a path inside of the folder of the chain"
            )
        return load_quantized(folder / name)
    except ModelError:
        raise
    except Error as error:
        raise stage.error(str(error)) from None


def _frontend(fields: Fields) -> dict[str, Any]:
    """Return the arguments of micro_frontend(); "pcan" is an object, or false for none."""
    found = _typed(fields, _FRONTEND, ("smoothing", "pcan"))
    if "smoothing" in fields:
        found["smoothing"] = Smoothing(**_typed(fields.object("smoothing"), _SMOOTHING))
    if fields.values.get("pcan") is False:
        found["pcan"] = None
    elif "pcan" in fields:
        found["pcan"] = Pcan(**_typed(fields.object("pcan"), _PCAN))
    return found


def _typed(
    fields: Fields, kinds: Mapping[str, Sequence[str]], others: Sequence[str] = ()
) -> dict[str, Any]:
    """Return values of these types; Error for a name that is neither among them nor others."""
    _only(fields, [*(name for names in kinds.values() for name in names), *others])
    return {
        name: getattr(fields, kind)(name)
        for kind, names in kinds.items()
        for name in names
        if name in fields
    }


def _only(fields: Fields, known: Iterable[str]) -> None:
    """Refuse what is not known: a word that is misspelt would be left out without a word."""
    names = tuple(known)
    for name in fields.values:
        if name not in names:
            raise fields.error(f"{name!r} is unknown; have: {', '.join(names)}")
