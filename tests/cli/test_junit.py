"""compare and check --golden write JUnit's XML."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import qemu_nn
from qemu_nn.analysis.junit import Case, junit
from qemu_nn.api import golden as pipeline
from qemu_nn.cli.main import main

DEMO = Path(qemu_nn.__file__).parent / "demo"
MODEL = DEMO / "digits.qnz"


def told(*arguments):
    result = CliRunner().invoke(main, [str(each) for each in arguments])
    assert isinstance(result.exception, (SystemExit, type(None))), result.exception
    return result.exit_code


def suites(path):
    return ElementTree.parse(path).getroot().findall("testsuite")


@pytest.fixture
def goldens(tmp_path):
    network, x, _ = pipeline.example()
    pipeline.golden(network, x[:1], tmp_path / "goldens")
    return tmp_path / "goldens"


def test_compare_has_a_case_for_each_golden(goldens, tmp_path):
    (tmp_path / "dump").mkdir()
    right = np.load(goldens / "x0" / "conv1.npy")
    np.save(tmp_path / "dump" / "conv1.npy", right)
    np.save(tmp_path / "dump" / "pool1.npy", np.load(goldens / "x0" / "pool1.npy") + 1)
    out = tmp_path / "junit.xml"
    assert told("compare", goldens, tmp_path / "dump", "--junit", out) == 1
    (suite,) = suites(out)
    cases = {case.get("name"): case for case in suite.findall("testcase")}
    assert (suite.get("failures"), suite.get("tests")) == ("1", str(len(cases)))
    assert cases["x0/conv1"].find("failure") is None
    assert "DIFFERS  x0/pool1" in cases["x0/pool1"].find("failure").text
    assert cases["x0/fc"].find("skipped") is not None
    np.save(tmp_path / "dump" / "pool1.npy", np.load(goldens / "x0" / "pool1.npy"))
    assert told("compare", goldens, tmp_path / "dump", "--junit", out) == 0
    assert suites(out)[0].get("failures") == "0"
    found = pipeline.compare(goldens, tmp_path / "dump")
    assert out.read_text() == found.junit(str(goldens))


def test_check_has_a_suite_for_files_and_one_for_each_golden_set(goldens, tmp_path):
    out = tmp_path / "junit.xml"
    assert told("check", MODEL, "--golden", goldens, "--junit", out) == 0
    files, own = suites(out)
    assert [case.get("name") for case in files.findall("testcase")] == [str(MODEL)]
    assert own.get("name") == str(goldens)
    assert (own.get("failures"), own.get("skipped")) == ("0", "0")
    (tmp_path / "net.tflite").write_bytes(b"nothing")
    assert told("check", tmp_path / "net.tflite", "--junit", out) == 1
    assert suites(out)[0].get("failures") == "1"
    assert out.read_text() == qemu_nn.check(tmp_path / "net.tflite").junit()


def test_names_and_sentences_are_escaped():
    text = junit([("a<b>", [Case('x"1', "is < 2 & \x1b[2J\nmore")])])
    (case,) = ElementTree.fromstring(text).iter("testcase")
    assert (case.get("classname"), case.get("name")) == ("a<b>", 'x"1')
    assert case.find("failure").text == "is < 2 & \\x1b[2J\nmore"
