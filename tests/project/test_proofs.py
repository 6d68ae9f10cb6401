"""Proofs name functions, types and constants of the C core that exist."""

import ast
import re

import pytest
from paths import ROOT

PROOFS = ROOT / ".ci" / "proofs"

pytestmark = pytest.mark.skipif(not PROOFS.exists(), reason="needs the project's checkout")


def named_in_proofs(tree):
    """Yield the C names that proofs use: m.call("..."), Break("..."), (function, old, new)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if called in ("call", "invoke", "make", "enumerator", "Break"):
                yield node.args[0].value
        if isinstance(node, ast.Tuple) and len(node.elts) == 3:
            texts = [getattr(each, "value", None) for each in node.elts]
            if all(isinstance(text, str) for text in texts) and texts[0].isidentifier():
                yield texts[0]


def test_c_names_in_proofs_exist():
    code = [path.read_text(encoding="utf-8") for path in (ROOT / "csrc").rglob("*.[chi]*")]
    words = set(re.findall(r"\w+", "\n".join(code)))
    trees = [ast.parse((PROOFS / f"{n}.py").read_text("utf-8")) for n in ("claims", "exhaust")]
    names = {name for tree in trees for name in named_in_proofs(tree)}
    assert len(names) > 40
    assert names - words == set()
