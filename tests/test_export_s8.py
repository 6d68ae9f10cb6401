"""Exported networks of the s8 API call Arm's functions with structs, and pass their self-test."""

import shutil

import affine_networks
import pytest
from exported import check, flip, needs, write

on_pc, on_m4 = needs("pc"), needs("m4")


def copied(project, tmp_path):
    return shutil.copytree(project, tmp_path / "copy")


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return write(
        tmp_path_factory.mktemp("export") / "small", affine_networks.small(), one_header=True
    )


@on_pc
def test_the_self_test_passes(project):
    status, lines = check(project)
    assert (status, lines[-1]) == (0, "PASS: 0 failures"), lines


@on_pc
def test_a_wrong_weight_is_found_in_its_layer_and_in_no_other(project, tmp_path):
    folder = copied(project, tmp_path)
    flip(folder, "dw_wt")
    status, lines = check(folder)
    wrong = [line for line in lines if line.startswith("FAIL")]
    assert status != 0
    assert wrong[0].startswith("FAIL layer=x0/dw index=")
    assert {line.split()[1] for line in wrong[:-1]} <= {"layer=x0/dw", "layer=x1/dw"}
