"""Cases of the conformance set: calls and small networks, and the results of each profile.

docs/conformance.md defines the file, the arrays and the digests.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Optional

import numpy as np

from ...errors import Error, Refused, SizeMismatch
from ...functions import FUNCTIONS, Function
from ...io.arguments import one_of
from ...ir.graph import Graph, Node
from ...ir.tensors import Tensor
from ...kernels import table as kernels
from ...targets import Profile, all_profiles

#: The set shipped with the package.
DATA = Path(__file__).with_name("set.json.xz")
FORMAT, VERSION = "qemu_nn conformance", 1

#: Profiles in the order of a case's letters, and the letters of a profile that lacks the call, and
#: of one that is newer than the file.
PROFILES = tuple(all_profiles())
ABSENT, UNKNOWN = "-", "?"

#: Functions of cores with Helium alone, whose op exists on further cores.
_HELIUM_ONLY = ("arm_convolve_even_s4",)

#: Seeds that belong to one case: more than a case has arrays.
_SEEDS = 65536

_GAMMA, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def splitmix64(seed: int, index: np.ndarray) -> np.ndarray:
    """Return the outputs of SplitMix64, started with a seed, at places counted from 0."""
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + (index.astype(np.uint64) + np.uint64(1)) * np.uint64(_GAMMA)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(_FIRST)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(_SECOND)
        return np.asarray(z ^ (z >> np.uint64(31)))


@dataclass(frozen=True)
class Values:
    """An array by its rule.

    Attributes
    ----------
    type : str
        A numpy type: "int8".
    shape : tuple of int
        Its axes, outermost first.
    rule : mapping
        "low" and "high", "values", or "cycle"; and "runs" or "period".
    """

    type: str
    shape: tuple[int, ...]
    rule: Mapping[str, Any]

    def array(self, seed: int) -> np.ndarray:
        """Return the elements that the rule gives with a seed."""
        place = np.arange(math.prod(self.shape), dtype=np.uint64)
        place //= np.uint64(self.rule.get("runs", 1))
        if "period" in self.rule:
            place %= np.uint64(self.rule["period"])
        if "cycle" in self.rule:
            chosen = np.array(self.rule["cycle"], self.type)
            flat = chosen[place % np.uint64(len(chosen))]
        elif "values" in self.rule:
            chosen = np.array(self.rule["values"], self.type)
            flat = chosen[splitmix64(seed, place) % np.uint64(len(chosen))]
        else:
            low, high = int(self.rule["low"]), int(self.rule["high"])
            drawn = splitmix64(seed, place) % np.uint64(high - low + 1)
            flat = (drawn.astype(np.int64) + low).astype(self.type)
        return np.asarray(flat.reshape(self.shape))


@dataclass(frozen=True)
class CaseCall:
    """One call of a case.

    Attributes
    ----------
    name : str
        The name of its output.
    function : str
        A C name.
    scalars : mapping of str to int
        Its scalar C arguments.
    reads : tuple of str
        Inputs, states or outputs of earlier calls, in the order of the function's inputs.
    shape : tuple of int
        The axes of its output.
    arrays : mapping of str to Values
        C name -> weights, biases, multipliers and the like.
    """

    name: str
    function: str
    scalars: Mapping[str, int]
    reads: tuple[str, ...]
    shape: tuple[int, ...]
    arrays: Mapping[str, Values]

    @property
    def declared(self) -> Function:
        """The function's declaration."""
        return FUNCTIONS[self.function]


@dataclass(frozen=True)
class Case:
    """A call, or a small network, and the digests of its outputs.

    Attributes
    ----------
    name : str
        A unique name.
    number : int
        A unique number, which the seeds of its arrays follow from.
    steps : int
        Time steps; more than 1 where there are states.
    inputs : mapping of str to Values
        Inputs by name; with several time steps their first axis is time.
    states : mapping of str to Values
        Tensors that calls read and write again; they start with these elements.
    calls : tuple of Call
        Calls in program order.
    outputs : tuple of str
        The outputs that the digest covers, in its order.
    letters : str
        A letter for each profile of PROFILES; profiles of one letter have the same bits.
    digests : tuple of str
        SHA-256 in hexadecimal, of the profiles with the letter a, b and so on.
    """

    name: str
    number: int
    steps: int
    inputs: Mapping[str, Values]
    states: Mapping[str, Values]
    calls: tuple[CaseCall, ...]
    outputs: tuple[str, ...]
    letters: str = ""
    digests: tuple[str, ...] = ()

    def get_expected(self, profile: Profile) -> Optional[str]:
        """Return the digest of a profile; None if the profile lacks a call, or the file lacks the
        profile.
        """
        letter = self.letters[PROFILES.index(profile)]
        return None if letter in ABSENT + UNKNOWN else self.digests[ord(letter) - ord("a")]

    @property
    def profiles(self) -> list[Profile]:
        """The profiles that can run the case."""
        return [profile for profile in PROFILES if self.get_expected(profile) is not None]

    def contradicts(self, other: Case) -> bool:
        """True if a profile known to both has different bits, or is in only one of them."""
        return any(
            UNKNOWN not in letters and self.get_expected(profile) != other.get_expected(profile)
            for profile, *letters in zip(PROFILES, self.letters, other.letters)
        )

    def arrays(self) -> dict[str, np.ndarray]:
        """Return all arrays: inputs and states by name, those of calls as CALL.ARRAY."""
        named = {**self.inputs, **self.states}
        for call in self.calls:
            named.update((f"{call.name}.{name}", values) for name, values in call.arrays.items())
        seed = _SEEDS * self.number
        return {name: values.array(seed + at) for at, (name, values) in enumerate(named.items())}


def graph(case: Case) -> Graph:
    """Return the case as a network."""
    arrays, nodes, held = case.arrays(), [], {}
    for call in case.calls:
        declared, names = call.declared, {}
        own = {name: arrays[f"{call.name}.{name}"] for name in call.arrays}
        roles = {"weights": declared.weights_of(own), "bias": declared.bias_of(own)}
        for role, values in roles.items():
            if values is not None:
                names[role] = f"{call.name}.{role}"
                held[names[role]] = values
        output = Tensor(call.name, call.shape, declared.output.dtype)
        both = names.get("weights"), names.get("bias")
        nodes.append(Node(declared, call.scalars, call.reads, output, *both))
    first = 1 if case.states else 0
    inputs = tuple(Tensor(n, v.shape[first:], v.type) for n, v in case.inputs.items())
    states = tuple(Tensor(n, v.shape, v.type) for n, v in case.states.items())
    held.update((name, arrays[name]) for name in case.states)
    return Graph(case.name, inputs, tuple(nodes), case.outputs, held, states=states)


def inputs(case: Case) -> dict[str, np.ndarray]:
    """Return one sample of the inputs for Session.run(): [1, ...]."""
    arrays = case.arrays()
    return {name: arrays[name][np.newaxis] for name in case.inputs}


def compute_digest(outputs: Mapping[str, np.ndarray], case: Case) -> str:
    """Return the SHA-256 of the outputs [steps, ...]: step after step, output after output."""
    whole = hashlib.sha256()
    for step in range(case.steps):
        for name in case.outputs:
            values = outputs[name][step]
            whole.update(values.astype(values.dtype.newbyteorder("<")).tobytes())
    return whole.hexdigest()


def compute_plain_outputs(case: Case, profile: Profile) -> Optional[dict[str, np.ndarray]]:
    """Compute a case on the plain rows, call by call: outputs [steps, ...] of all calls.

    None if the profile lacks a call: the function is missing, the arguments are outside its
    contract, or builds of Arm's library fault. Raises Error if a call refuses its inputs.
    """
    structs = [_struct(call, profile) for call in case.calls]
    if None in structs:
        return None
    arrays = case.arrays()
    known = {name: arrays[name].copy() for name in case.states}
    steps: list[dict[str, np.ndarray]] = []
    for step in range(case.steps):
        for name in case.inputs:
            known[name] = arrays[name][step] if case.states else arrays[name]
        for call, struct in zip(case.calls, structs):
            known[call.name] = _run_plain(call, struct, profile, known, arrays)
        steps.append({call.name: known[call.name] for call in case.calls})
    return {call.name: np.stack([one[call.name] for one in steps]) for call in case.calls}


def _struct(call: CaseCall, profile: Profile) -> Any:
    """Return the C parameters of a call; None if the profile lacks the call."""
    function = call.declared
    rows = kernels.list_rows(function.op, function.type)
    missing = function.name in _HELIUM_ONLY and profile.path != "mve"
    if missing or not any(row.claims(profile) for row in rows):
        return None
    struct = kernels.make_params(rows[0].op, profile, function.struct_values(call.scalars))
    with suppress(Refused, SizeMismatch):
        kernels.check(rows[0], struct)
        return None if function.fault(call.scalars, profile) else struct
    return None


def _run_plain(
    call: CaseCall,
    struct: Any,
    profile: Profile,
    known: Mapping[str, np.ndarray],
    arrays: Mapping[str, np.ndarray],
) -> np.ndarray:
    """Run a call on its plain row; states in `known` get their new values."""
    function, given = call.declared, []
    for array, name in zip(function.list_read_inputs(call.scalars), call.reads):
        given.append(known[name] if array.state else np.array(known[name], order="C"))
    output = np.zeros(call.shape, function.output.dtype)
    for array, value in zip(function.list_read_inputs(call.scalars), given):
        output = value if array.name == function.output.name else output
    own = {name: arrays[f"{call.name}.{name}"] for name in call.arrays}
    row = kernels.choose(kernels.list_rows(function.op, function.type), profile, struct, "plain")
    kernels.call(row, struct, given, output, function.weights_of(own), function.bias_of(own))
    return output.reshape(call.shape)


def expect(case: Case) -> Case:
    """Return the case with the letters and digests that the plain rows give."""
    letters, digests = "", []
    for profile in PROFILES:
        outputs = compute_plain_outputs(case, profile)
        if outputs is None:
            letters += ABSENT
            continue
        found = compute_digest(outputs, case)
        if found not in digests:
            digests.append(found)
        letters += chr(ord("a") + digests.index(found))
    return replace(case, letters=letters, digests=tuple(digests))


# ---- the file ----


@cache
def load() -> tuple[Case, ...]:
    """Read the shipped set."""
    with lzma.open(DATA) as stream:
        return read(json.load(stream))


def read(content: Mapping[str, Any]) -> tuple[Case, ...]:
    """Return the cases of a file's content.

    Raises Error for another format or version, or a profile that this package does not have.
    """
    own: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    for key, value in own.items():
        if content[key] != value:
            raise Error(f"{key} of the conformance set is {content[key]!r}; required: {value!r}")
    names = list(map(name_profile, PROFILES))
    for name in content["profiles"]:
        one_of(names, name, "profile of the conformance set")
    return tuple(_parse_case(case, content["profiles"]) for case in content["cases"])


def name_profile(profile: Profile) -> str:
    """Return release, path and rounding in the file's form: "7.0.0 dsp double"."""
    return f"{profile.cmsis} {profile.path} {profile.rounding}"


def describe_case(case: Case) -> dict[str, Any]:
    """Return a case in the file's form."""
    calls = [
        {
            "name": call.name,
            "function": call.function,
            "scalars": dict(call.scalars),
            "reads": list(call.reads),
            "shape": list(call.shape),
            "arrays": _write_values(call.arrays),
        }
        for call in case.calls
    ]
    return {
        "name": case.name,
        "number": case.number,
        "steps": case.steps,
        "inputs": _write_values(case.inputs),
        "states": _write_values(case.states),
        "calls": calls,
        "outputs": list(case.outputs),
        "letters": case.letters,
        "sha256": list(case.digests),
    }


def _write_values(arrays: Mapping[str, Values]) -> dict[str, Any]:
    return {name: [v.type, list(v.shape), dict(v.rule)] for name, v in arrays.items()}


def _parse_values(arrays: Mapping[str, Any]) -> dict[str, Values]:
    return {name: Values(type, tuple(shape), rule) for name, (type, shape, rule) in arrays.items()}


def _parse_case(given: Mapping[str, Any], profiles: Sequence[str]) -> Case:
    letters = dict(zip(profiles, given["letters"]))
    calls = tuple(
        CaseCall(
            call["name"],
            call["function"],
            call["scalars"],
            tuple(call["reads"]),
            tuple(call["shape"]),
            _parse_values(call["arrays"]),
        )
        for call in given["calls"]
    )
    return Case(
        given["name"],
        given["number"],
        given["steps"],
        _parse_values(given["inputs"]),
        _parse_values(given["states"]),
        calls,
        tuple(given["outputs"]),
        "".join(letters.get(name_profile(profile), UNKNOWN) for profile in PROFILES),
        tuple(given["sha256"]),
    )


def text(cases: Iterable[Case]) -> str:
    """Return a set as JSON, a line for each case."""
    head = {"format": FORMAT, "version": VERSION, "profiles": list(map(name_profile, PROFILES))}
    lines = (json.dumps(describe_case(case), separators=(",", ":")) for case in cases)
    return json.dumps(head)[:-1] + ', "cases": [\n' + ",\n".join(lines) + "\n]}\n"
