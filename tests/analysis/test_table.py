"""Tables: text for people, CSV and JSON for programs; nothing is lost on the way."""

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qemu_nn.analysis.table import Table, escape_formula

TABLE = Table(
    ("layer", "macs", "share"), (("conv", 12345, 0.5), ('a,"b"', None, None), ("fc", 7, 12.25))
)


def test_text_aligns_numbers_right_and_words_left():
    assert TABLE.text().splitlines() == [
        "layer    macs  share",
        "-----  ------  -----",
        "conv   12,345    0.5",
        'a,"b"       -      -',
        "fc          7  12.25",
    ]


def test_text_shows_control_characters_instead_of_sending_them():
    table = Table(("a",), (("\x1b[2J",), ("\udcff",), ("é",)))
    assert table.text() == "a\n-------\n\\x1b[2J\n\\udcff\né"


def test_a_table_without_rows_is_its_header():
    assert Table(("op", "type"), ()).text() == "op  type\n--  ----"
    assert Table(("op", "type"), ()).json() == "[]"
    assert Table(("op", "type"), ()).csv() == '"op","type"'


def test_csv_quotes_words_and_leaves_missing_cells_empty():
    assert TABLE.csv().splitlines() == [
        '"layer","macs","share"',
        '"conv",12345,0.5',
        '"a,""b""","",""',
        '"fc",7,12.25',
    ]


def test_json_is_a_list_of_objects_with_null_for_missing_cells():
    assert json.loads(TABLE.json())[1] == {"layer": 'a,"b"', "macs": None, "share": None}


def test_a_row_must_fill_every_column():
    with pytest.raises(ValueError, match="2 columns, but 1 cells"):
        Table(("a", "b"), ((1,),))


CELLS = st.one_of(st.text(), st.integers(), st.none())


@given(st.lists(st.tuples(CELLS, CELLS), max_size=5))
def test_json_and_csv_give_every_cell_back(rows):
    table = Table(("a", "b"), tuple(rows))
    assert [tuple(record.values()) for record in json.loads(table.json())] == rows
    read = list(csv.reader(io.StringIO(table.csv(), newline="")))
    assert read[1:] == [
        ["" if cell is None else str(escape_formula(cell)) for cell in row] for row in rows
    ]


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_no_cell_of_csv_is_a_formula(start):
    cell = f'{start}HYPERLINK("http://example.com")'
    table = Table((cell,), ((cell,), (-1,)))
    head, row, number = csv.reader(io.StringIO(table.csv(), newline=""))
    assert head == row == [f"'{cell}"]
    assert number == ["-1"]
    assert json.loads(table.json()) == [{cell: cell}, {cell: -1}]


def test_long_names_of_layers_stay_different():
    names = [f"model/block_with_many_words/conv_{n}/a_long_tail_of_words/Relu" for n in (1, 2)]
    table = Table(("layer", "since"), ((names[0], None), (names[1], names[0])))
    first, second = (line.split() for line in table.text().splitlines()[2:])
    assert first[0] != second[0]
    assert second[1] == first[0]
    assert table.html().count(first[0]) == 2
