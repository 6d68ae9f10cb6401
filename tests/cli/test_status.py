"""Commands that take longer than two seconds show what they do, on a terminal or in a log."""

import io
import os
import pty
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import click
import numpy as np
import pytest

import qemu_nn
from qemu_nn.cli import status
from qemu_nn.cli.commands import COMMANDS
from qemu_nn.cli.main import main
from qemu_nn.cli.status import Status, spell_seconds
from qemu_nn.exporters.page import document
from qemu_nn.io import stages

DEMO = Path(qemu_nn.__file__).parent / "demo"

#: Runs a command whose loop takes some tenths of a second; the waits are a hundredth as long.
SLOW = """
import sys, time
from qemu_nn.cli import status
status.FIRST, status.OFTEN, status.SELDOM = 0.02, 0.01, float(sys.argv.pop(1))
from qemu_nn.api import check as checking
from qemu_nn.cli.main import main
def check(models, target, progress, releases):
    from qemu_nn.io.stages import announce
    announce("checks \\x1b[31mfiles")
    for _ in progress(range(40)):
        time.sleep(0.01)
    print("a line")
    raise SystemExit(0)
checking.check = check
main(sys.argv[1:])
"""


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self):
        return True


def wait_for(stream, pattern):
    end = time.monotonic() + 10
    while not re.search(pattern, stream.getvalue()):
        assert time.monotonic() < end, stream.getvalue()
        time.sleep(0.005)


def test_the_text_says_what_how_far_and_how_long():
    shown = Status(lambda: "check", io.StringIO())
    now = time.monotonic()
    assert shown.text(now + 12) == "check: 12 s"
    shown.announce("checks files")
    turns = shown.count(range(2000))
    for _ in range(501):
        next(turns)
    shown._loops[0].start = now
    assert shown.text(now + 20) == "check: checks files, 500 of 2,000, 20 s, 1 min 0 s left"
    assert list(turns)[-1] == 1999
    assert shown.text(now + 21) == "check: checks files, 21 s"
    endless = shown.count(iter("abc"))
    next(endless), next(endless)
    assert shown.text(now + 5) == "check: checks files, 1, 5 s"


def test_times_are_words():
    times = [(0.2, "0 s"), (59.4, "59 s"), (60, "1 min 0 s"), (200, "3 min 20 s")]
    assert [spell_seconds(seconds) for seconds, _ in times] == [text for _, text in times]
    assert spell_seconds(7500) == "2 h 5 min"


@pytest.mark.parametrize("terminal", [True, False])
def test_a_terminal_has_one_line_and_a_log_several(terminal, monkeypatch):
    for name in ("FIRST", "OFTEN", "SELDOM"):
        monkeypatch.setattr(status, name, 0.01)
    stream = Terminal() if terminal else io.StringIO()
    shown = Status(lambda: "run", stream)
    thread = threading.Thread(target=shown.show)
    thread.start()
    shown.announce("runs samples")
    wait_for(stream, r"run: runs samples(.|\n)*run: runs samples")
    shown.stop()
    thread.join()
    text = stream.getvalue()
    assert ("\n" in text) is not terminal
    assert text.endswith("\r\x1b[K" if terminal else "s\n")


def test_loops_count_only_where_somebody_listens():
    turns = [1, 2, 3]
    assert stages.count(turns) is turns
    assert not stages.is_heard()
    shown = Status(lambda: "run", io.StringIO())
    with stages.listening(shown):
        assert stages.is_heard()
        stages.announce("counts")
        assert list(stages.count(turns)) == turns
    assert not stages.is_heard()
    assert shown.text(time.monotonic()) == "run: counts, 0 s"


class Recorder:
    """A listener that keeps what it hears."""

    def __init__(self):
        self.announced, self.counted = [], []

    def announce(self, what):
        self.announced.append(what)

    def count(self, turns, total=None):
        self.counted.append(0)
        at = len(self.counted) - 1
        for turn in turns:
            yield turn
            self.counted[at] += 1


def evaluate(folder):
    images = np.zeros((40, 8, 8, 1), np.int8)
    qemu_nn.evaluate(DEMO / "digits.qnz", images, progress=stages.count)


def make_page(folder):
    qemu_nn.page(DEMO / "digits.tflite", folder / "x.html", target=["m4", "m55", "m0"])


def run_chain(folder):
    chain = qemu_nn.chain(qemu_nn.micro_frontend(), DEMO / "wake_tone.tflite", hops=(160, 3))
    chain.run(np.zeros(16000, np.int16))


@pytest.mark.parametrize(
    ("work", "announced", "turns"),
    [
        (evaluate, ["reads digits.qnz", "runs samples"], [1]),
        (make_page, ["reads digits.tflite", "plans for m4", "compresses"], [3]),
        (run_chain, ["runs micro_frontend", "runs wake_tone"], [2, 1]),
        (lambda _: qemu_nn.variants(DEMO / "digits.qnz"), ["computes profiles"], None),
        (lambda _: qemu_nn.estimate(DEMO / "digits.qnz"), ["estimates cycles"], []),
    ],
)
def test_work_says_what_it_does_and_counts_its_loops(work, announced, turns, monkeypatch, tmp_path):
    monkeypatch.setattr(document, "read_core", lambda: b"\0asm")
    heard = Recorder()
    with stages.listening(heard):
        work(tmp_path)
    assert [what for what in heard.announced if what in announced] == announced
    assert all(heard.counted)
    assert turns is None or heard.counted == turns


def run_in_terminal(*options):
    """Return what a command prints to a terminal that is stdout and stderr."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", SLOW, "60", *options, "check", "nothing"]
    process = subprocess.Popen(command, stdout=theirs, stderr=theirs)
    os.close(theirs)
    found = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # its end, on Linux
            break
        if not piece:
            break
        found += piece
    os.close(ours)
    assert process.wait() == 0
    return found.decode()


@pytest.mark.skipif(sys.platform == "win32", reason="there is no pty on Windows")
def test_a_command_shows_its_status_and_removes_it():
    text = run_in_terminal()
    assert re.search(r"\r\x1b\[Kcheck: checks \S*31mfiles, \d+ of 40, \d+ s, \d+ s left", text)
    assert "\x1b[31m" not in text
    assert re.search(r"\r\x1b\[Ka line\r\n", text)
    assert not text.rstrip("\r\n").endswith("left")


@pytest.mark.skipif(sys.platform == "win32", reason="there is no pty on Windows")
def test_a_quiet_command_shows_none():
    assert run_in_terminal("--quiet") == "a line\r\n"


def test_a_log_has_a_line_each_minute():
    command = [sys.executable, "-c", SLOW, "0.1", "check", "nothing"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = done.stderr.splitlines()
    assert all(re.match("check: |qemu-nn: ", line) for line in lines)
    counted = re.compile(r"checks \S*files, \d+ of 40, \d+ s, \d+ s left")
    assert any(counted.search(line) for line in lines), lines
    quiet = [*command[:4], "--quiet", *command[4:]]
    done = subprocess.run(quiet, capture_output=True, text=True, check=True)
    assert (done.stderr, done.stdout) == ("", "a line\n")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_can_be_quiet(name):
    command = main.get_command(click.Context(main), name)
    assert "--quiet" in {option for each in command.params for option in each.opts}
