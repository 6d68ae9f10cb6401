"""Text dumps are read as what the whole text is; what fits two readings is refused."""

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from qemu_nn.analysis import dumps
from qemu_nn.analysis.text_dumps import Unlike, parse_text
from qemu_nn.api.golden import compare, example, golden
from qemu_nn.cli.main import main
from qemu_nn.errors import Error

INT8 = [-1, 2, 127, -128]


def read(text, dtype="int8", count=4, base=None, ending=".txt", path=None):
    path = path.with_suffix(ending) if path else None
    if path is None:
        content = parse_text(text, np.dtype(dtype), count, "the text", base, ending == ".csv")
        return np.frombuffer(content, dtype).tolist()
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return dumps.read(path, dtype, count, base).tolist()


# ---- what a text is ----


@pytest.mark.parametrize(
    "text",
    [
        "-1 2 127 -128",
        "-1,2,127,-128\n",
        "[-1, 2, 127, -128]",
        "{-1, 2, 127, -128};",
        "ff 02 7f 80",
        "FF027F80",
        "0xff, 0x02, 0x7f, 0x80",
        "0xffffffff 0x2 0x7f 0xffffff80",
        "255 2 127 128",
        "00000000: ff 02 7f 80",
        "const int8_t x[4] = {-1, 2, 127, -128};",
        "static const q7_t x[2][2] = {{0xff, 2}, {127, -128}};",
        "#include <a.h>\n/* {1} */\nint8_t x[] = {\n  -1, 2,  // two\n  0x7F, (int8_t)0x80\n};\n",
        "unsigned char x[] = { 0xff, 0x02, 0x7f, 0x80 };",
        "12:34:56.789 -> -1\n12:34:56.790 -> 2\n12:34:57.001 -> 127\n12:34:57.1 -> -128",
        "[12:34:56.789] ff 02\n[12:34:56.790] 7f 80",
        "[2026-01-31 12:34:56] -1 2 127 -128",
        "[Thu Jan 31 12:34:56.789 2026] -1 2 127 -128",
        "2026-01-31T12:34:56.789Z -1 2 127 -128",
        "2026-01-31 12:34:56.789 -1,2,127,-128",
        "[   12.345678] -1 2\n[   12.345679 0.000001] 127 -128",
        "=~=~=~= PuTTY log 2026.01.31 12:34:56 =~=~=~=\r\n-1 2 127 -128",
        "12:34:56 ff 02 7f 80",
    ],
)
def test_every_way_to_print_bytes_is_read(text):
    assert read(text) == INT8


@pytest.mark.parametrize(
    ("dtype", "text"),
    [
        ("int16", "-1 2 32767 -32768"),
        ("int16", "0xffff 0x0002 0x7fff 0x8000"),
        ("int16", "0xffffffff 0x2 0x7fff 0xffff8000"),
        ("int16", "ffff 0200 ff7f 0080"),
        ("int16", "ff ff 02 00 ff 7f 00 80"),
        ("int16", "int16_t x[] = {-1, 2, 0x7fff, -32768};"),
        ("int16", "unsigned char x[8] = {0xff, 0xff, 2, 0, 0xff, 0x7f, 0, 0x80};"),
        ("int16", "65535 2 32767 32768"),
    ],
)
def test_larger_elements_are_read_as_numbers_or_bytes(dtype, text):
    assert read(text, dtype) == [-1, 2, 32767, -32768]


def test_floats_are_read():
    assert read("1.5 -2e3 .25 3", "float32") == [1.5, -2000, 0.25, 3]
    assert read("float x[] = {1.5f, -2e3f, .25F, 3};", "float32") == [1.5, -2000, 0.25, 3]
    assert read("0x3fc00000 0x3f800000", "float32", 2) == [1.5, 1]
    assert str(read("nan inf -inf", "float32", 3)) == "[nan, inf, -inf]"


# ---- what fits two readings ----


@pytest.mark.parametrize("text", ["10 20 30 40", "12, 34, 56, 78", "10 20\n30 99\n"])
def test_two_digits_that_fit_both_bases_are_refused_unless_told(text):
    with pytest.raises(
        Error, match="the text can be read as decimal and as hexadecimal numbers: give base=10"
    ):
        read(text)
    words = text.replace(",", " ").split()
    assert read(text, base=10) == [int(word) for word in words]
    assert (
        read(text, base=16) == np.array([int(w, 16) for w in words], np.uint8).view("i1").tolist()
    )


def test_one_word_decides_for_the_whole_text():
    assert read("10 20 30 -4") == [10, 20, 30, -4]
    assert read("10 20 30 4f") == [16, 32, 48, 79]
    assert read("10 20 30 100") == [10, 20, 30, 100]
    assert read("1 2 3 9") == [1, 2, 3, 9]  # the same in both bases


@given(st.lists(st.integers(-128, 127), min_size=1, max_size=40), st.booleans())
def test_no_text_gives_other_numbers_than_were_printed(values, as_hex):
    words = [f"{value & 255:02x}" if as_hex else str(value) for value in values]
    text = " ".join(words)
    try:
        found = read(text, count=len(values))
    except Error:
        assert all(word.isdecimal() and len(word) < 3 for word in words)
    else:
        assert found == values


# ---- tables ----


def test_tables_have_names_and_indices_or_none(tmp_path):
    path = tmp_path / "conv1"
    for text in ("10,20,30,40\n", "value\n10\n20\n30\n40\n", "10;20\n30;40\n"):
        assert read(text, ending=".csv", path=path) == [10, 20, 30, 40]
    rows = "".join(f"{index},{value}\n" for index, value in enumerate(INT8))
    assert read(rows, ending=".csv", path=path) == INT8
    assert read(f"index,value\n{rows}", ending=".csv", path=path) == INT8
    assert read("ff,02\n7f,80\n", base=16, ending=".csv", path=path) == INT8


def test_an_empty_table_is_a_difference_in_words(tmp_path):
    with pytest.raises(Unlike, match="it has 0 numbers"):
        read("", ending=".csv", path=tmp_path / "a")


def test_times_and_addresses_are_skipped_at_the_start_of_a_line_alone():
    for text in ("-1 2 12:34:56 3 4", "ff 02 03: 04", "-1 [12:34:56] 2 3 4"):
        with pytest.raises(Error, match="is not decimal or hexadecimal"):
            read(text)
    with pytest.raises(Error, match="is not decimal or hexadecimal"):
        read("[" * 200_000 + "x")  # soon


def test_the_ending_hex_says_the_base(tmp_path):
    assert read("10 20 30 40", ending=".hex", path=tmp_path / "a") == [16, 32, 48, 64]
    with pytest.raises(Error, match=r"a\.hex, line 1: '-1' is not hexadecimal"):
        read("-1 2 3 4", ending=".hex", path=tmp_path / "a")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_terminals_of_windows_write_a_mark_first(tmp_path, encoding):
    assert read("-1 2 127 -128\r\n".encode(encoding), path=tmp_path / "a") == INT8


# ---- what is refused ----


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("1 2 3 x", "line 1: 'x' is not decimal or hexadecimal"),
        ("-1\n300\n4\n5", "line 2: '300' is not decimal or hexadecimal"),
        ("hello\n-1 2 3 4", "line 1: 'hello' is not decimal or hexadecimal"),
        ("int8_t a[] = {1}; int8_t b[] = {2};", "contains several C arrays"),
        ("int8_t a[] = {1, 2, 3, x};", "line 1: 'x' is not decimal"),
        ("0xfff 0x01 0x02 0x03", "line 1: '0xfff' is not decimal or hexadecimal"),
    ],
)
def test_what_is_no_number_is_refused_with_its_line(text, sentence):
    with pytest.raises(Error, match=sentence):
        read(text)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("-1 2 3", "it has 3 numbers, but the golden has 4 elements"),
        ("ff 02 03", "it has 3 bytes, but the golden has 4"),
        ("", "it has 0 numbers, but the golden has 4 elements or it has 0 bytes"),
    ],
)
def test_another_count_is_a_difference_in_words(text, sentence):
    with pytest.raises(Unlike, match=sentence):
        read(text)


# ---- the command and the function ----


def test_decimal_dumps_of_a_device_are_compared_as_such(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    network, images, _ = example()
    golden(network, images[:1], tmp_path / "set")
    values = np.load(tmp_path / "set" / "x0" / "softmax.npy").ravel()
    (tmp_path / "dump").mkdir()
    (tmp_path / "dump" / "softmax.txt").write_text(" ".join(map(str, values.tolist())))
    assert compare(tmp_path / "set", tmp_path / "dump").same
    two = np.full(10, 11, np.int8)
    (tmp_path / "dump" / "softmax.txt").write_text(" ".join(map(str, two.tolist())))
    for base, got in ((10, 11), (16, 17)):
        (finding,) = compare(tmp_path / "set", tmp_path / "dump", base=base).findings
        assert finding.difference.got == got
        result = CliRunner().invoke(main, ["compare", "set", "dump", "--base", str(base)])
        assert (result.exit_code, f"got={got}" in result.output) == (1, True), result.output
    result = CliRunner().invoke(main, ["compare", "set", "dump"])
    assert result.exit_code == 2
    assert "give --base 10 or --base 16" in result.output
    with pytest.raises(Error, match=r"base is .*, but must be 10 or 16"):
        compare(tmp_path / "set", tmp_path / "dump", base=8)
