"""The command line at first contact: help, guesses, quiet stderr, narrow terminals, startup."""

import os
import re
import resource
import shlex
import subprocess
import sys
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner

import qemu_nn
from qemu_nn.analysis.table import Table
from qemu_nn.cli.commands import COMMANDS
from qemu_nn.cli.main import main
from qemu_nn.cli.terminal import coloured

DEMO = Path(qemu_nn.__file__).parent / "demo"
MODEL = DEMO / "digits.qnz"


def invoke(*arguments):
    return CliRunner().invoke(main, [str(each) for each in arguments])


def shell(*arguments):
    """Run a command in a process of its own; return its output and the CPU seconds it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    paths = [str(DEMO.parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.stdout, done.stderr, spent


def on_terminal(columns, *arguments, **environment):
    """Return what a command prints to a terminal with so many columns."""
    pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")
    fcntl, struct, termios = (__import__(name) for name in ("fcntl", "struct", "termios"))
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    own = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "NO_COLOR")}
    own.update({"PYTHONPATH": str(DEMO.parents[1]), "TERM": "xterm", **environment})
    with subprocess.Popen(
        [sys.executable, "-m", "qemu_nn", *map(str, arguments)],
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        env=own,
    ):
        os.close(theirs)
        parts = []
        try:
            while part := os.read(ours, 2**16):
                parts.append(part)
        except OSError:  # the terminal is closed
            pass
    os.close(ours)
    return b"".join(parts).decode().replace("\r\n", "\n")


# ---- help ----


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_all_commands_is_that_of_each(name):
    command = main.get_command(click.Context(main), name)
    first = re.split(r"(?<=\.)\s", re.sub(r"\s+", " ", command.help))[0]
    told = " ".join(invoke("--help").output.split())
    assert COMMANDS[name].help == first
    assert first in told
    assert f"$ qemu-nn {COMMANDS[name].example}" in told
    assert f"Example: qemu-nn {COMMANDS[name].example}" in " ".join(
        invoke(name, "--help").output.split()
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_each_example_has_options_that_exist(name):
    words = shlex.split(COMMANDS[name].example)
    command = main.get_command(click.Context(main), words.pop(0))
    while isinstance(command, click.Group) and words:
        command = command.get_command(click.Context(command), words.pop(0))
    context = click.Context(command)
    given = {word for word in words if re.match(r"--?[a-z]", word)}
    known = {name for each in command.get_params(context) for name in each.opts}
    assert given <= known
    required = {tuple(each.opts) for each in command.params if each.required}
    options = [names for names in required if names[0].startswith("-")]
    assert all(given & {*names} for names in options)


# ---- guesses ----


@pytest.mark.parametrize(
    ("word", "hint"), [("inof", "info"), ("evalute", "evaluate"), ("fine_tune", "fine-tune")]
)
def test_an_unknown_command_is_met_by_the_nearest(word, hint):
    result = invoke(word)
    assert result.exit_code == 2
    assert f"No such command '{word}'. Did you mean {hint}" in result.output


def test_a_file_alone_is_described():
    assert invoke(MODEL).output == invoke("info", MODEL).output
    assert invoke(MODEL, "--json").output == invoke("info", MODEL, "--json").output
    gone = invoke("gone.tflite")
    assert (gone.exit_code, "there is no file gone.tflite" in gone.output) == (2, True)


def test_an_unknown_function_is_met_by_the_nearest_not_by_all():
    with pytest.raises(qemu_nn.Error) as caught:
        qemu_nn.cmsis.find("arm_convolve_s9")
    assert "did you mean arm_convolve_s8" in str(caught.value)
    assert len(str(caught.value)) < 200


# ---- quiet ----


def test_stderr_is_silent_unless_it_is_asked_for(tmp_path):
    x = np.random.default_rng(0).random((9, 8, 8, 1))
    np.save(tmp_path / "x.npy", x)
    run = ("-m", "qemu_nn", "run", MODEL, "-d", tmp_path / "x.npy")
    assert shell(*run)[1] == ""
    for words in ((*run, "-v"), (*run[:2], "--verbose", *run[2:])):
        assert re.fullmatch("'image': inputs lie in .* codes, .*\n", shell(*words)[1])
    np.save(tmp_path / "x.npy", x / 400)  # something is wrong
    assert shell(*run)[1].startswith("warning: 'image': inputs lie in ")


@pytest.mark.parametrize("way", ["network.predict(x)", "qemu_nn.run(network, x)"])
def test_a_warning_names_the_line_of_the_program(tmp_path, way):
    program = tmp_path / "program.py"
    program.write_text(
        f"import numpy as np\nimport qemu_nn\nnetwork = qemu_nn.load({str(MODEL)!r})\n"
        f"x = np.random.default_rng(0).random((9, 8, 8, 1)) / 400\n{way}\n"
    )
    err = shell(program)[1]
    assert err.startswith(f"{program}:5: InputWarning: 'image': inputs lie in ")


# ---- terminals ----


def test_tables_fit_a_terminal_of_60_columns():
    text = on_terminal(60, "info", MODEL, NO_COLOR="1")
    assert max(map(len, text.splitlines())) <= 60
    whole = invoke("info", MODEL).output.split()
    assert {*whole} - {*text.split()} <= {word for word in whole if set(word) == {"-"}}


def test_a_wide_table_is_cut_or_split_and_keeps_every_column():
    columns = ("name", "first", "second", "third")
    table = Table(columns, (("row", "word" * 6, 12345678, "other " * 4), ("more", "w", 1, "o")))
    assert max(map(len, table.text(70).splitlines())) <= 70
    assert "\n\n" not in table.text(60)
    narrow = table.text(40)
    assert max(map(len, narrow.splitlines())) <= 40
    assert (
        [line.split()[0] for line in narrow.splitlines() if line].count("row")
        == narrow.count("\n\n") + 1
        > 1
    )
    assert {*columns, "12,345,678"} <= {*narrow.split()}
    assert table.text(1000) == table.text()


def test_colours_come_on_terminals_only_and_no_color_is_honoured():
    assert "\x1b[1m" in on_terminal(90, "info", MODEL)
    assert "\x1b" not in on_terminal(90, "info", MODEL, NO_COLOR="1")
    assert "\x1b" not in on_terminal(90, "info", MODEL, TERM="dumb")
    assert "\x1b" not in shell("-m", "qemu_nn", "info", MODEL)[0]


def test_verdicts_and_heads_are_coloured():
    text = "a  b\n-  -\n1  2\nsame     x\nDIFFERS  y: index=0\nnot same here"
    assert coloured(text) == (
        "\x1b[1ma  b\x1b[0m\n-  -\n1  2\n\x1b[32msame\x1b[0m     x\n"
        "\x1b[31m\x1b[1mDIFFERS\x1b[0m  y: index=0\nnot same here"
    )


# ---- startup ----


@pytest.mark.parametrize("word", ["--version", "--help"])
def test_help_and_version_load_neither_numpy_nor_the_core(word):
    code = (
        "import sys; sys.argv = ['qemu-nn', sys.argv[1]]\n"
        "from qemu_nn.__main__ import start\n"
        "try:\n    start()\n"
        "finally:\n    print({'numpy', 'qemu_nn._native', 'tqdm'} & {*sys.modules})\n"
    )
    out, _, spent = shell("-c", code, word)
    assert out.splitlines()[-1] == "set()"
    assert spent < 0.25


def test_a_small_network_is_described_at_once():
    assert min(shell("-m", "qemu_nn", "info", MODEL)[2] for _ in range(3)) < 0.5


@pytest.mark.parametrize(
    ("shell_name", "words"), [("bash", "info"), ("zsh", "info"), ("fish", "info")]
)
def test_shells_complete_commands(shell_name, words):
    environment = {
        "_QEMU_NN_COMPLETE": f"{shell_name}_complete",
        "COMP_WORDS": "qemu-nn inf",
        "COMP_CWORD": "inf" if shell_name == "fish" else "1",
    }
    result = CliRunner().invoke(main, env=environment, prog_name="qemu-nn")
    assert words in result.output
