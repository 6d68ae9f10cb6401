"""Differences between profiles: layer, count, largest difference and first element."""

import json

import networks
import numpy as np
import pytest
from click.testing import CliRunner
from thread_client import Client

from qemu_nn import cmsis
from qemu_nn.analysis.variants import compare_profiles
from qemu_nn.api.variants import compare_function_variants, compare_network_variants
from qemu_nn.cli.main import main
from qemu_nn.errors import Error
from qemu_nn.runtime.session import draw_inputs
from qemu_nn.targets import Profile, Target, all_profiles, is_affine, profile

USUAL = profile()
OTHER = profile(cmsis="5.6.0")


def only(layer, table):
    (record,) = [r for r in table.records() if r["layer"] == layer]
    return record


def test_a_difference_has_its_count_size_and_place():
    image = np.array([[1, 2, 3], [4, 5, 6]], np.int8)
    base = {"a": [np.zeros((2, 3), np.int8), image, image]}
    other = {"a": [base["a"][0], np.array([[1, 2, 3], [4, 9, -7]], np.int8), image + np.int8(1)]}
    assert only("a", compare_profiles(base, {OTHER: other}, chained=True)) == {
        "layer": "a",
        "other_profiles": "5.6.0; dsp; nearest",
        "differing": 8,
        "elements": 18,
        "largest": 13,
        "first": {"sample": 1, "position": [1, 1]},
        "value": 5,
        "other_value": 9,
        "since": "a",
    }


def test_a_layer_after_the_one_that_differs_says_since_where():
    base = {name: [np.zeros(2, np.int8)] for name in "abc"}
    other = {"a": base["a"], "b": [np.ones(2, np.int8)], "c": [np.ones(2, np.int8)]}
    table = compare_profiles(base, {OTHER: other}, chained=True)
    assert [r["since"] for r in table.records()] == [None, "b", "b"]
    table = compare_profiles(base, {OTHER: other}, chained=False)
    assert [r["since"] for r in table.records()] == [None, "b", "c"]


def test_what_one_of_two_refuses_is_not_compared():
    base = {"a": [None, np.zeros(3, np.int8), np.zeros(2, np.int8)]}
    other = {"a": [np.ones(9, np.int8), np.ones(3, np.int8), None]}
    record = only("a", compare_profiles(base, {OTHER: other}, chained=False))
    assert (record["differing"], record["elements"]) == (3, 3)


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        (lambda p: p.rounding == "truncate", "truncate"),
        (lambda p: p.cmsis == "5.6.0", "5.6.0"),
        (lambda p: p.path in ("m0", "scalar") and not is_affine(p.cmsis), "m0 or scalar"),
        (lambda p: p.path == "mve" and not is_affine(p.cmsis), "5.9.0; mve"),
        (lambda p: p.cmsis == "5.9.0" and p.rounding == "truncate", "5.9.0; truncate"),
        (lambda p: p in (Profile("5.6.0", "m0", "nearest"), OTHER), "5.6.0; m0 or dsp; nearest"),
        (
            lambda p: p in (Profile("5.6.0", "m0", "nearest"), Profile("5.9.0", "m0", "truncate")),
            "5.6.0: m0 (nearest); 5.9.0: m0 (truncate)",
        ),
    ],
)
def test_profiles_are_named_by_what_they_share(chosen, words):
    base, other = {"a": [np.zeros(1, np.int8)]}, {"a": [np.ones(1, np.int8)]}
    others = {p: other for p in all_profiles() if chosen(p)}
    assert only("a", compare_profiles(base, others, chained=False))["other_profiles"] == words


def test_of_an_op_of_both_apis_the_functions_of_the_release_are_compared():
    legacy = {r["layer"] for r in compare_function_variants("softmax", Target(), calls=2).records()}
    affine = compare_function_variants("softmax", Target(cmsis="7.0.0"), calls=2)
    assert legacy == {"arm_softmax_q7", "arm_softmax_q15"}
    assert {r["layer"] for r in affine.records()} == {
        f"arm_softmax_{type}" for type in ("s8", "s8_s16", "s16", "u8")
    }


def test_softmax_q7_changed_between_releases_and_softmax_q15_did_not():
    table = compare_function_variants("softmax", Target(), calls=40)
    assert only("arm_softmax_q7", table)["other_profiles"] == "5.6.0"
    assert only("arm_softmax_q15", table)["differing"] == 0


def test_average_pooling_depends_on_the_core():
    table = compare_network_variants(networks.average(), USUAL)
    record = only("pool", table)
    assert record["other_profiles"] == "m0 or scalar or mve"
    image = draw_inputs(networks.average(), 8)[record["first"]["sample"]]
    params = networks.average().nodes[0].params
    mine, other = (
        cmsis.arm_avepool_q7_HWC(Im_in=image, **params, target=core)
        for core in ("cortex-m4", "cortex-m3")
    )
    at = np.flatnonzero(mine != other)[0]
    assert (record["value"], record["other_value"]) == (mine.flat[at], other.flat[at])


def test_the_profile_on_the_command_line_is_the_one_compared_with():
    run = CliRunner().invoke(main, ["variants", "arm_softmax_q7", "--cmsis", "5.6.0", "--json"])
    assert json.loads(run.output)[0]["other_profiles"] == "5.9.0"


def test_inputs_of_a_kernel_and_unknown_names_are_refused(tmp_path):
    run = CliRunner().invoke(main, ["variants", "softmax", "--data", str(tmp_path / "x.npy")])
    assert run.exit_code == 2
    assert "compared on random calls" in run.output
    run = CliRunner().invoke(main, ["variants", "arm_softmx_q7"])
    assert run.exit_code == 2
    assert "arm_softmax_q7" in run.output
    with pytest.raises(Error, match="no function or op"):
        compare_function_variants("arm_softmx_q7", Target())


def test_profiles_on_a_cluster_give_the_same_table():
    client = Client(2)
    network = networks.average()
    assert compare_network_variants(network, USUAL, client=client) == compare_network_variants(
        network, USUAL
    )
    here = compare_function_variants("softmax", Target(), calls=3)
    assert compare_function_variants("softmax", Target(), calls=3, client=client) == here
    assert len(client.futures) > 8
