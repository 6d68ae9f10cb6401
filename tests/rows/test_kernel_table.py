"""The kernel table: one plain row for each operation and profile, a row for each function."""

from collections import Counter

from qemu_nn.functions.base import DECLARED
from qemu_nn.kernels import table as kernels
from qemu_nn.targets import all_profiles


def test_each_op_and_profile_has_exactly_one_plain_row_or_none():
    for row in kernels.ROWS:
        rows = kernels.list_rows(row.op.name, row.op.type)
        for profile in all_profiles():
            plain = [r for r in rows if r.kind == "plain" and r.claims(profile)]
            claiming = [r for r in rows if r.claims(profile)]
            assert len(plain) == (1 if claiming else 0), f"{row.op} {profile}"


def test_the_list_names_each_row_once():
    names = Counter(str(row) for row in kernels.ROWS)
    assert [name for name, count in names.items() if count > 1] == []


def test_every_function_of_the_firmware_has_rows_and_every_op_a_function():
    declared = {(f.op, f.type) for f in DECLARED.values()}
    assert declared == {(row.op.name, row.op.type) for row in kernels.ROWS}


def test_plain_rows_need_nothing_of_the_host():
    assert [str(row) for row in kernels.ROWS if row.kind != "fast" and row.cpu] == []
