"""Oracles: tests that compute the result of a function in numpy or in Python integers.

`@pytest.mark.oracle("tflm_cast_{source}_{target}")` on a test names the functions of each of its
cases; braces hold names of its parameters. A case that does not call them fails (conftest.py).
"""

import importlib
import itertools
import sys
from contextlib import contextmanager
from unittest import mock

from paths import TESTS

from qemu_nn.functions import FUNCTIONS, NPU_FUNCTIONS
from qemu_nn.kernels import table as kernels

EVERY = {**FUNCTIONS, **NPU_FUNCTIONS}


def named(marks, params):
    """Return the functions that one case of a test names: its marks, and its parameters."""
    templates = [name for mark in marks if mark.name == "oracle" for name in mark.args]
    return {template.format(**params) for template in templates}


def cases(marks):
    """Yield the parameters of every case of a test, from its marks."""
    axes = []
    for mark in (mark for mark in marks if mark.name == "parametrize"):
        names, values = mark.args
        names = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
        rows = [getattr(value, "values", value if len(names) > 1 else [value]) for value in values]
        axes.append([dict(zip(names, row)) for row in rows])
    for row in itertools.product(*axes):
        yield {name: value for params in row for name, value in params.items()}


def module_of(path):
    """Import a file of tests, which pytest may not have collected."""
    with mock.patch.object(sys, "path", [str(path.parent), *sys.path]):
        return importlib.import_module(path.stem)


def oracles():
    """Return function -> the tests that name it, such as "test_npu_kernels.py::test_x"."""
    found = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        if "mark.oracle(" not in path.read_text(encoding="utf-8"):
            continue
        for test in vars(module_of(path)).values():
            marks = getattr(test, "pytestmark", []) if callable(test) else []
            if any(mark.name == "oracle" for mark in marks):
                for name in set().union(*(named(marks, params) for params in cases(marks))):
                    found.setdefault(name, set()).add(f"{path.name}::{test.__name__}")
    return found


@contextmanager
def called():
    """Collect the (op, type) of every call and every planned layer."""
    seen, make = set(), kernels.make_params

    def make_and_note(op, *more):
        seen.add((op.name, op.type))
        return make(op, *more)

    with mock.patch.object(kernels, "make_params", make_and_note):
        yield seen


def missed(names, seen):
    """Return the names whose function, and so its (op, type), was not called."""
    declared = {name for name, function in EVERY.items() if (function.op, function.type) in seen}
    return sorted(names - declared)
