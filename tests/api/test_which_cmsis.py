"""`cmsis_of` names the state whose files or functions a tree has."""

import json
import runpy
import warnings

import numpy as np
import pytest
from click.testing import CliRunner
from paths import ROOT

import qemu_nn
from qemu_nn import releases
from qemu_nn.api import which_cmsis
from qemu_nn.cli.main import main
from qemu_nn.errors import DeviceWarning, Error
from qemu_nn.releases.fingerprints import Fingerprints, fingerprint, fingerprints
from qemu_nn.runtime.session import Session
from qemu_nn.targets import profile
from qemu_nn.testing.builder import Builder
from qemu_nn.testing.rows import assert_same

FILE = b"/* text */\n#include <x.h>\nint f(int a) {\n    return a; // same\n}\n"


def test_comments_includes_and_white_space_do_not_count():
    same = b'#include "y.h"\nint f(int a)\t{ return /* a */ a;\n}'
    assert fingerprint(FILE) == fingerprint(same)
    assert fingerprint(FILE) != fingerprint(FILE.replace(b"return a", b"return -a"))


def test_the_data_has_every_state():
    known = fingerprints()
    spans = [span for digests in known.files.values() for each in digests.values() for span in each]
    places = {place for first, last in spans for place in range(first, last + 1)}
    assert places == set(range(len(releases.ALL)))
    last = len(releases.ALL) - 1
    assert known.functions["arm_minimum_s8"] == (releases.place_of("7.0.0"), last)
    assert known.functions["arm_softmax_q7"] == (0, releases.place_of("51263182"))


def test_a_new_state_is_added_next_to_the_spans_of_the_old_ones(tmp_path):
    add_state = runpy.run_path(str(ROOT / ".ci" / "record-fingerprints"))["add_state"]
    (tmp_path / "Include").mkdir()
    (tmp_path / "Source").mkdir()
    header = (
        b"/* arm_no() */ int arm_kept(int); int arm_new(int); typedef int (arm_t)(int (*arm_p));"
    )
    (tmp_path / "Include" / "arm_nnfunctions.h").write_bytes(header)
    (tmp_path / "Source" / "arm_kept.c").write_bytes(FILE)
    same = fingerprint(FILE)
    data = {
        "files": {"arm_kept.c": {same: [[0, 1], [3, 3]], "other": [[2, 2]]}, "arm_gone.c": {}},
        "functions": {"arm_kept": [0, 3], "arm_gone": [0, 2]},
    }
    for _ in range(2):  # a state that is added again replaces itself
        add_state(data, tmp_path, 4)
        assert data["files"] == {
            "arm_kept.c": {same: [[0, 1], [3, 4]], "other": [[2, 2]]},
            "arm_gone.c": {},
            "arm_nnfunctions.h": {fingerprint(header): [[4, 4]]},
        }
        assert data["functions"] == {"arm_kept": [0, 4], "arm_gone": [0, 2], "arm_new": [4, 4]}


def test_functions_first_appear_where_headers_declare_them():
    known = fingerprints().functions
    renamed = {"arm_svdf_state_s16_s8", "arm_svdf_s8", "arm_nn_divide_by_power_of_two"}
    for name, state in releases.FIRST.items():
        if name not in renamed and name in known:
            legacy = releases.place_of(state) == releases.place_of("d76d5e3a")
            assert releases.place_of(state) == known[name][0] or legacy, name


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """Return a tree of three files, and fingerprints in which they are those of some releases."""
    places = {"arm_a.c": (20, 25), "arm_b.c": (22, 30), "arm_nnfunctions.h": (10, 23)}
    files = {}
    for name, span in places.items():
        content = FILE.replace(b"f(", name[:-2].encode() + b"(")
        files[name] = {fingerprint(content): [span]}
        folder = tmp_path / "NN" / ("Include" if name.endswith(".h") else "Source/Deep")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"/* $Revision: V.7.0.0 */\n" + content)
    known = Fingerprints(files, {})
    monkeypatch.setattr(which_cmsis, "fingerprints", lambda: known)
    return tmp_path


def test_the_state_that_all_files_fit_is_named(tree):
    (copy,) = qemu_nn.cmsis_of(tree).copies
    assert copy.path == str(tree / "NN")
    fits = {releases.ALL[22].name, releases.ALL[23].name}
    assert {copy.cmsis, *copy.alike} == fits
    assert (copy.same, copy.of, copy.changed, copy.revision) == (3, 3, (), "V.7.0.0")


def test_a_changed_file_is_named(tree):
    (tree / "NN" / "Source" / "Deep" / "arm_b.c").write_bytes(b"int g(void);")
    report = qemu_nn.cmsis_of(tree)
    assert report.copies[0].changed == ("arm_b.c",)
    assert "2 of 3 files fit" in report.text()
    assert "changed: arm_b.c" in report.text()


def test_a_condition_around_a_whole_file_does_not_count(tree):
    path = tree / "NN" / "Source" / "Deep" / "arm_b.c"
    inside = b"#if SDK_LOADS_THIS\n" + path.read_bytes() + b"\n#endif // SDK_LOADS_THIS\n"
    path.write_bytes(b'#include "sdk.h"\n' + inside)
    assert qemu_nn.cmsis_of(tree).copies[0].changed == ()
    path.write_bytes(inside + b"int more;")
    assert qemu_nn.cmsis_of(tree).copies[0].changed == ("arm_b.c",)


def test_if_no_file_fits_the_revision_names_the_state(tree):
    for path in (tree / "NN").rglob("arm_*"):
        path.write_bytes(b"/* $Revision: V.12.4.0 */ int changed;")
    report = qemu_nn.cmsis_of(tree)
    assert (report.cmsis, report.copies[0].how, report.copies[0].same) == ("5.0.0", "revision", 0)
    assert "named by the revision in its header alone: V.12.4.0" in report.text()
    (tree / "NN" / "Include" / "arm_nnfunctions.h").write_bytes(b"/* $Revision: V.99.0.0 */")
    with pytest.raises(Error, match="has no file of CMSIS-NN that equals one of a known state"):
        qemu_nn.cmsis_of(tree)


def test_two_copies_are_told_apart(tree):
    other = tree / "other"
    other.mkdir()
    for path in (tree / "NN").rglob("arm_*"):
        (other / path.name).write_bytes(path.read_bytes())
    (other / "arm_b.c").write_bytes(b"")
    (other / "arm_nnfunctions.h").write_bytes(b"")
    report = qemu_nn.cmsis_of(tree)
    assert len(report.copies) == 2
    with pytest.raises(Error, match="several copies of CMSIS-NN: name one of them: "):
        assert report.cmsis


def test_functions_of_a_built_file_narrow_the_states(tmp_path):
    built = tmp_path / "firmware.elf"
    built.write_bytes(b"\x7fELF\0arm_convolve_s8\0arm_minimum_s8\0arm_nothing_known\0")
    (copy,) = qemu_nn.cmsis_of(built).copies
    assert (copy.cmsis, copy.how, copy.same, copy.of) == ("7.0.0", "symbols", 2, 2)
    assert copy.alike[-1] == "main-2026-07"
    built.write_bytes(b"\x7fELF\0arm_softmax_q7\0arm_convolve_wrapper_s16\0")
    assert qemu_nn.cmsis_of(built).cmsis == "5.9.0"


def test_what_is_no_copy_is_an_error(tmp_path):
    with pytest.raises(Error, match=r"has no file of CMSIS-NN that equals one of a known state"):
        qemu_nn.cmsis_of(tmp_path)
    with pytest.raises(Error, match="does not exist; give a folder"):
        qemu_nn.cmsis_of(tmp_path / "none")


def dense(offset):
    """Return a network of one dense layer with a zero point of its weights."""
    net = Builder("dense", (1, 8))
    call = {"batches": 1, "input_c": 8, "output_c": 3, "input_offset": 5, "output_offset": 0}
    call.update(act_min=-128, act_max=127, multiplier=2**30, shift=-7)
    net.call("fc", "arm_fully_connected_s8", {**call, "filter_offset": offset})
    return net.graph()


def test_the_layers_that_a_difference_touches_are_named():
    old, new = releases.BY_NAME["5.0.0"], releases.BY_NAME["6.0.0"]
    named = ["fc (arm_fully_connected_s8)"]
    assert list(which_cmsis._touched(dense(3), old, new, "m4")) == named
    assert list(which_cmsis._touched(dense(0), old, new, "m4")) == []


def test_a_network_runs_as_the_state_computes_it():
    x = np.arange(-4, 4, dtype=np.int8).reshape(1, 1, 8)
    with pytest.warns(DeviceWarning, match=r"layer 'fc': CMSIS 5\.0\.0: filter_offset is ignored"):
        old = Session(dense(3), profile("m4", "5.0.0"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        without = Session(dense(0), profile("m4", "6.0.0"))
        new = Session(dense(3), profile("m4", "6.0.0"))
    results = [session.run(x)["fc"] for session in (old, without, new)]
    assert_same(results[0], results[1])
    assert (results[0] != results[2]).any()


def test_rules_between_a_state_and_its_tag_are_listed():
    state, tag = releases.BY_NAME["f7e96efd"], releases.BY_NAME["5.8.0"]
    between = which_cmsis._between(state, tag)
    assert any(rule.release == "5.7.0" for rule in between)
    assert which_cmsis._between(state, state) == []


def test_the_command_prints_the_report(tree):
    done = CliRunner().invoke(main, ["which-cmsis", str(tree), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)[0]["of"] == 3
