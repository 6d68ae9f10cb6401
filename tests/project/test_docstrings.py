"""The public surface says in its docstrings what each name takes, returns and raises."""

import ast
import doctest
import inspect
import re
import textwrap
from inspect import isclass, isfunction

import pytest
from public_surface import SURFACE

from qemu_nn import cmsis, errors, ndk, targets
from qemu_nn.api import golden
from qemu_nn.wuqi.layers import Layer


def sections(text):
    """Section -> its lines; the summary and what follows it stand under ""."""
    lines, found, title = textwrap.dedent(text).splitlines(), {"": []}, ""
    for line, below in zip(lines, [*lines[1:], ""]):
        if re.fullmatch("-{3,}", below) and len(below) == len(line):
            title = line
            found[title] = []
        elif not (re.fullmatch("-{3,}", line) and not found[title]):
            found[title].append(line)
    return found


def described(lines):
    """Name -> its description, of a section whose entries begin at the margin."""
    found, names = {}, []
    for line in lines:
        if line and not line.startswith(" "):
            names = [name.strip().lstrip("*") for name in line.split(" :")[0].split(",")]
            found.update((name, "") for name in names)
        for name in names if line.startswith(" ") else ():
            found[name] += line.strip()
    return found


def parameters(function):
    return [
        name for name in inspect.signature(function).parameters if name != "self" and name[0] != "_"
    ]


def raised(function):
    """Return the names of the errors that the function's own body raises."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError):
        return set()
    calls = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise)]
    names = {
        call.func.id for call in calls if isinstance(call, ast.Call) and hasattr(call.func, "id")
    }
    return names & {"Error", "ModelError", "SizeMismatch", "Refused"}


def problems(name, thing, takes, returns):
    """Yield a sentence for each part that the docstring of a class or function lacks."""
    text = inspect.cleandoc(thing.__doc__ or "")
    if not text:
        yield f"{name}: it has no docstring"
        return
    parts = sections(text)
    if not parts[""][0].endswith("."):
        yield f"{name}: its first line is no sentence of one line"
    given = described(parts.get("Parameters", []))
    known = {**described(parts.get("Attributes", [])), **given}  # of a dataclass they are the same
    for parameter in takes:
        if not known.get(parameter):
            yield f"{name}: parameter {parameter!r} is not described"
    for parameter in given:
        if parameter not in takes:
            yield f"{name}: it has no parameter {parameter!r}, but describes one"
    if returns and "Returns" not in parts:
        yield f"{name}: it does not say what it returns"
    if not returns and "Returns" in parts:
        yield f"{name}: it returns nothing, but describes a result"
    if not isclass(thing):
        for error in sorted(raised(thing) - {*described(parts.get("Raises", []))}):
            yield f"{name}: it does not say when it raises {error}"


def members(thing):
    """Name -> function or property, of the public ones that a class defines itself."""
    return {
        name: value.fget if isinstance(value, property) else value
        for name, value in vars(thing).items()
        if name[0] != "_" and (isfunction(value) or isinstance(value, property))
    }


def lacking(name, thing):
    """Yield the problems of a name of the public surface, and of its members."""
    if not isclass(thing):
        annotation = inspect.signature(thing).return_annotation
        returns = annotation not in (None, "None", "NoReturn", inspect.Signature.empty)
        yield from problems(
            name, thing, parameters(thing), returns or name.startswith("qemu_nn.cmsis")
        )
        return
    made = vars(thing).get("__init__")
    yield from problems(name, thing, parameters(made) if made else [], False)
    for member, function in members(thing).items():
        if isinstance(vars(thing)[member], property):
            yield from problems(f"{name}.{member}", function, [], False)
        else:
            yield from lacking(f"{name}.{member}", function)


@pytest.mark.parametrize("name", SURFACE)
def test_a_public_name_says_what_it_takes_returns_and_raises(name):
    assert list(lacking(name, SURFACE[name])) == []


def test_the_kits_training_says_what_it_takes_returns_and_raises():
    torch_net = pytest.importorskip("torch") and ndk.quant_train_torch.quant_layer.QuantizedNet
    assert list(lacking("QuantizedNet", torch_net)) == []


def test_the_module_to_train_says_what_it_takes_returns_and_raises():
    pytest.importorskip("torch", reason="PyTorch is not installed")
    from qemu_nn.api.trainable import TrainableNetwork

    assert list(lacking("TrainableNetwork", TrainableNetwork)) == []


def test_what_a_docstring_lacks_is_told_in_words():
    def quantize(network, tolerance) -> int:
        """Quantize.

        Parameters
        ----------
        network : Network
            A network.
        bits : int
            Bits.
        """
        raise errors.Error(network) if tolerance else ValueError

    assert list(lacking("quantize", quantize)) == [
        "quantize: parameter 'tolerance' is not described",
        "quantize: it has no parameter 'bits', but describes one",
        "quantize: it does not say what it returns",
    ]


def test_an_error_that_is_not_described_is_told():
    from qemu_nn.errors import Error

    def load(path) -> None:
        """Load.

        Parameters
        ----------
        path : str
            A path.
        """
        raise Error(path)

    assert list(lacking("load", load)) == ["load: it does not say when it raises Error"]


EXAMPLES = (
    cmsis,
    cmsis.buffer_size,
    targets.core_path,
    targets.resolve,
    targets.chip,
    targets.profile,
    Layer,
    golden.example,
)


@pytest.mark.parametrize("thing", EXAMPLES, ids=lambda thing: thing.__name__)
def test_examples_print_what_they_say(thing):
    scope = {**vars(inspect.getmodule(thing))}
    for test in doctest.DocTestFinder(recurse=False).find(thing, globs=scope):
        assert doctest.DocTestRunner().run(test).failed == 0
