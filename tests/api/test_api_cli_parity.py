"""Python and the command line have the same options, and each speaks in its own words."""

import inspect
from dataclasses import fields

import click
import pytest
from click.testing import CliRunner

import qemu_nn
from qemu_nn.api import golden as pipeline
from qemu_nn.api.network import load
from qemu_nn.cli.main import main
from qemu_nn.cli.spelling import spelled

#: Command -> the functions whose arguments are its options.
CALLS = {
    "info": (load, pipeline.describe, qemu_nn.Network.fit, qemu_nn.estimate),
    "run": (qemu_nn.run,),
    "golden": (pipeline.golden,),
    "compare": (pipeline.compare,),
    "check": (qemu_nn.check,),
    "import": (load, qemu_nn.Network.save),
    "quantize": (load, qemu_nn.quantize, qemu_nn.Network.save),
    "fine-tune": (qemu_nn.fine_tune,),
    "analyze": (qemu_nn.analyze,),
    "datasheet": (qemu_nn.datasheet,),
    "evaluate": (qemu_nn.evaluate,),
    "diff": (qemu_nn.diff,),
    "export": (qemu_nn.export, qemu_nn.Network.fit),
}

#: Arguments with different names in Python; the command line takes files as arguments or -o.
RENAMED = {
    **{"input": "input_tensor"},
    **{"formats": "format", "functions": "function", "one_header": "layers"},
    **{
        "network": "model",
        "paths": "models",
        "path": "model",
        "source": "model",
        "folder": "output",
    },
}

#: Arguments of quantize() that are groups of options.
GROUPS = {
    "effort": qemu_nn.Effort,
    "budget": qemu_nn.Budget,
    "options": qemu_nn.QuantizeOptions,
}

#: Options that are no arguments, as Python has values and methods for them: --json is .json(), the
#: file of an output what .save() takes, data of a search hold their labels.
OWN = {
    "help": "",
    "verbose": "the logger qemu_nn.inputs",
    "json": ".json()",
    "csv": ".csv()",
    "parquet": ".to_parquet()",
    "quiet": "functions show no status unless progress= is given",
    "junit": ".junit()",
    "html": ".html()",
    "full": ".text(full=True)",
    "output": "what the call returns",
}

#: Command -> options without an argument in Python, and the reason.
EXCEPT = {
    "check": {"golden": "what golden() and compare() do"},
    "info": {"cycles": "what estimate() does"},
    "analyze": {
        "original": "an argument of load()",
        "model_explorer": "write_node_data()",
    },
    "fine-tune": {"validation_labels": "labels of the Dataset of validation"},
}

#: Arguments that choose, prepare and distribute data; the command line has an option for each
SHARED = {
    *("preprocessing", "size", "crop", "layout", "scale", "mean", "std", "dtype"),
    *("limit", "index", "shuffle", "seed", "labels", "real", "top", "classes", "codes"),
    *("cache", "no_cache"),
    *("client", "dask", "workers", "front_end"),
}

#: Arguments that the command line has no option for: it always shows a bar, and has no functions.
FIXED = {"self", "progress", "loss_fn", "optimizer"}


def options(verb):
    params = main.get_command(None, verb).params
    named = (p for p in params if not isinstance(p, click.Argument))
    found = {max(p.opts, key=len).lstrip("-").replace("-", "_") for p in named}
    arguments = {p.name for p in params if isinstance(p, click.Argument)}
    return found, arguments


def taken(verb):
    names = {n for call in CALLS[verb] for n in inspect.signature(call).parameters}
    if load in CALLS[verb]:
        names = {"output_tensor" if name == "output" else name for name in names}
    if verb != "import":  # other commands take firmware as import writes it
        names -= {"include", "defines", "inputs", "function"}
    if verb == "quantize":  # a signature selects a quantized graph; a compiled one is quantized
        names -= {"signature", "original"}
    if "target" in names and verb != "import":  # there it is the chip of a file
        names |= {field.name for field in fields(qemu_nn.Target)} - {"device"}
    for group, kind in GROUPS.items():
        if group in names and verb == "quantize":
            names |= {field.name for field in fields(kind)} - {"level", group}
            names -= {group} - {"effort"}
    if "stack" in names:
        names |= {"fit"}
    return {RENAMED.get(name, name) for name in names - FIXED - SHARED}


@pytest.mark.parametrize("verb", CALLS)
def test_a_verb_has_the_options_of_its_function(verb):
    have, arguments = options(verb)
    wanted = taken(verb)
    own = {*OWN, *EXCEPT.get(verb, {}), *SHARED}
    assert wanted - have - arguments == set(), "Python alone has these"
    assert have - wanted - own == set(), "the command line alone has these"


SENTENCES = {
    "give layout=": "give --layout",
    "use cmsis='5.9.0' or": "use --cmsis 5.9.0 or",
    'kernels="reference" has it': "--kernels reference has it",
    "the scheme affine needs bits=8, not 16": "the scheme affine needs --bits 8, not 16",
    "input=, output= and weights= are": "--input-tensor, --output-tensor and --weights are",
    "with output='a b'.": "with --output-tensor a b.",
    "search_range=3.": "--search-range 3.",
    "with force=True": "with --force",
    "a chip of chips.CHIPS": "a chip of `qemu-nn chips`",
    'bits, formats={"a.b": {"bias": N}}, and': "bits, --format a.b.bias=N, and",
    'formats={"fc": {"output": (LOW, HIGH)}},': "--format fc.output=LOW..HIGH,",
    "such as by Preprocessing(scale=1/255)?": "such as by --scale 1/255?",
    "from the scores (softmax=False)": "from the scores (--no-softmax)",
    'try method="mse", method=99.9 or': "try --method mse, --method 99.9 or",
    "'net/bits=8' and stride=2, x.bits=8": "'net/bits=8' and stride=2, x.bits=8",
}


@pytest.mark.parametrize("text", SENTENCES)
def test_a_sentence_has_the_words_of_the_command_line(text):
    assert spelled(text, click.Context(main)) == SENTENCES[text]


def test_errors_of_the_command_line_name_its_options(tmp_path):
    pipeline.example()[0].save(tmp_path / "net.qnz")
    model = str(tmp_path / "net.qnz")
    output = CliRunner().invoke(main, ["info", model, "--target", "m55", "--cmsis", "5.6.0"]).output
    assert "use --cmsis 5.9.0" in output
    output = CliRunner().invoke(main, ["info", model, "--output-tensor", "q"]).output
    assert "reading .qnz files takes no options, not --output-tensor" in output
    with pytest.raises(qemu_nn.Error, match=r"cmsis='5\.9\.0'"):
        qemu_nn.load(model).session(qemu_nn.Target("m55", "5.6.0"))
