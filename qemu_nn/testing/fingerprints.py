"""Writing of the fingerprints of all states, from clones of Arm's repositories; for maintainers."""

from __future__ import annotations

import argparse
import json
import lzma
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Optional

from ..releases import ALL, Release
from ..releases.fingerprints import DATA, fingerprint

_DECLARED = re.compile(r"\b(arm_\w+)\s*\([^;{)]*\)\s*[;{]")


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Read each state of the table from a clone that has its commit; write the file."""
    parser = argparse.ArgumentParser("python -m qemu_nn.testing.fingerprints", description=__doc__)
    parser.add_argument("clones", nargs="+", type=Path, help="of CMSIS_5 and of CMSIS-NN")
    clones = parser.parse_args(arguments).clones
    files: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    functions: dict[str, list[int]] = defaultdict(list)
    for state in ALL:
        for path, content in _files(state, clones):
            files[path.name][fingerprint(content)].append(state.place)
            if path.suffix == ".h":
                for name in _DECLARED.findall(content.decode("latin-1")):
                    functions[name].append(state.place)
    data = {
        "files": {
            n: {d: _spans(p) for d, p in sorted(c.items())} for n, c in sorted(files.items())
        },
        "functions": {name: (min(p), max(p)) for name, p in sorted(functions.items())},
    }
    preset = 9 | lzma.PRESET_EXTREME
    text = json.dumps(data, separators=(",", ":"))
    DATA.write_bytes(lzma.compress(text.encode("ascii"), preset=preset))
    print(f"{len(files)} files, {len(functions)} functions, {DATA.stat().st_size} bytes")
    return 0


def _files(state: Release, clones: Iterable[Path]) -> list[tuple[Path, bytes]]:
    """Return the files of NN in a state."""
    for clone in clones:
        root = "CMSIS/NN/" if state.library == "CMSIS" else ""
        folders = [f"{root}Include", f"{root}Source"]
        listed = _git(clone, "ls-tree", "-r", "--name-only", state.commit, *folders)
        paths = [Path(name) for name in listed.decode().split("\n")]
        wanted = [path for path in paths if path.suffix in (".c", ".h")]
        if wanted:
            return [(path, _git(clone, "show", f"{state.commit}:{path}")) for path in wanted]
    raise SystemExit(f"no clone has the commit {state.commit} of {state.name}")


def _git(clone: Path, *arguments: str) -> bytes:
    done = subprocess.run(["git", "-C", str(clone), *arguments], capture_output=True)
    return done.stdout


def _spans(places: list[int]) -> list[Any]:
    """Return runs of consecutive numbers as pairs of first and last."""
    spans: list[list[int]] = []
    for place in sorted(set(places)):
        if spans and spans[-1][1] == place - 1:
            spans[-1][1] = place
        else:
            spans.append([place, place])
    return spans


if __name__ == "__main__":
    sys.exit(main())
