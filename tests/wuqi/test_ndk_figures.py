"""The kit's figures of tensors: distributions, and the distance between float and fixed point."""

import csv
import math

import numpy as np
import pytest

import qemu_nn.ndk as ndk
from qemu_nn.errors import Error
from qemu_nn.ndk.layers import Layer
from qemu_nn.ndk.quant_tools.numpy_net import run_layers

RNG = np.random.default_rng(45)
NAMES = ["x", "conv_weight", "conv_bias", "c", "r"]

LAYERS = [
    Layer("Input", name="input", top="x", dim=(1, 2, 4, 4)),
    Layer("Convolution", name="conv", bottom="x", top="c", num_output=3, kernel_size=3),
    Layer("ReLU", name="relu", bottom="c", top="r"),
]
WEIGHTS = RNG.normal(size=(3, 2, 3, 3)) / 3
PARAMS = {
    "conv_weight": WEIGHTS,
    "conv_bias": np.array([0.11, -0.2, 0.3]),
    "conv_quant_weight": np.floor(WEIGHTS * 64).astype(np.int64),
    "conv_quant_bias": np.array([3, -6, 9]),
    "conv_frac_weight": np.array([6, 6, 6]),
    "conv_frac_bias": np.array([5, 5, 5]),
    **{"x_frac": 5, "c_frac": 5, "r_frac": 5},
    **{"x_signed": True, "c_signed": True, "r_signed": True},
}
DATA = RNG.normal(size=(7, 30, 2, 4, 4))


def batches(data=DATA):
    for batch in data:
        yield {"input": batch}


def values(name, quant, data=DATA):
    """Return all values of a tensor."""
    if name.startswith("conv_"):
        role = name[5:]
        if quant:
            return PARAMS[f"conv_quant_{role}"] / 2.0 ** PARAMS[f"conv_frac_{role}"][0]
        return PARAMS[name]
    x = data.reshape(-1, 2, 4, 4)
    return run_layers(x, LAYERS, [name], PARAMS, quant=quant, hw_aligned=True)[name]


@pytest.mark.parametrize("quant", [False, True])
def test_moments_are_those_of_all_values_together(quant):
    stats = ndk.quantize.analyze_tensor_distribution(
        LAYERS, PARAMS, NAMES, data_generator=batches(), quant=quant
    )
    assert len(stats) == 4 * len(NAMES)
    for name in NAMES:
        v = values(name, quant)
        assert stats[f"{name}_min"] == v.min()
        assert stats[f"{name}_max"] == v.max()
        assert stats[f"{name}_avg"] == pytest.approx(v.mean(), rel=1e-12)
        assert stats[f"{name}_var"] == pytest.approx(v.var(), rel=1e-12)


def test_bins_lie_as_in_the_manual_s_example():
    stats = ndk.quantize.analyze_tensor_distribution(
        LAYERS, PARAMS, NAMES, data_generator=batches(), quant=False, num_bin=51
    )
    for name in NAMES:
        v = values(name, False)
        centres, counts = stats[f"{name}_pd"]
        most = np.abs(v).max()
        np.testing.assert_allclose(centres, np.linspace(0 if v.min() >= 0 else -most, most, 51))
        nearest = np.abs(v.ravel()[:, None] - centres).argmin(1)
        np.testing.assert_array_equal(counts, np.bincount(nearest, minlength=51))


def test_a_given_range_is_symmetric_and_its_outermost_bins_hold_what_lies_beyond():
    centres, counts = ndk.quantize.analyze_tensor_distribution(
        LAYERS, PARAMS, ["x"], data_generator=batches(), quant=False, num_bin=5, max_abs_val=1
    )["x_pd"]
    np.testing.assert_array_equal(centres, [-1, -0.5, 0, 0.5, 1])
    assert counts[0] == np.count_nonzero(DATA < -0.75)
    assert counts.sum() == DATA.size


def test_bins_are_laid_for_the_first_thousand_samples_of_a_generator_that_never_restarts():
    data = np.repeat(DATA[:1], 50, 0)
    data[34:] *= 100  # after 1020 samples
    taken = []

    def source():
        for batch in data:
            taken.append(len(batch))
            yield {"input": batch}

    found = ndk.quantize.analyze_tensor_distribution(
        *(LAYERS, PARAMS, ["x"]), data_generator=source(), quant=False, num_batch=40, num_bin=11
    )
    centres, counts = found["x_pd"]
    assert centres[-1] == np.abs(DATA[0]).max()
    assert len(taken) == 40
    assert counts.sum() == 40 * DATA[0].size


def test_the_bits_and_the_hardware_s_averages_are_those_that_are_asked_for():
    pool = Layer("Pooling", name="pool", bottom="x", top="p", kernel_size=3, pad=(1, 0, 1, 0))
    pool.pool = "AVE"
    layers, params = [LAYERS[0], pool], {"x_frac": 12, "p_frac": 12}
    for aligned in (True, False):
        stats = ndk.quantize.analyze_tensor_distribution(
            *(layers, params, ["p"]),
            data_generator=batches(),
            bitwidth=16,
            hw_aligned=aligned,
        )
        x = DATA.reshape(-1, 2, 4, 4)
        p = run_layers(x, layers, ["p"], params, True, 16, hw_aligned=aligned)["p"]
        assert stats["p_avg"] == pytest.approx(p.mean(), rel=1e-12)


def test_every_figure_of_a_comparison():
    found = ndk.quantize.compare_float_and_quant(
        LAYERS, PARAMS, NAMES, 8, data_generator=batches(), num_bin=9, max_abs_val=3.1
    )
    assert len(found) == 10 * len(NAMES)
    for name in NAMES:
        real, fixed = values(name, False), values(name, True)
        error = real - fixed
        expected = {
            "fmsv": (real**2).mean(),
            "qmsv": (fixed**2).mean(),
            "mae": abs(error).mean(),
            "maxae": abs(error).max(),
            "mse": (error**2).mean(),
            "qsnr": 10 * math.log10((real**2).mean() / (error**2).mean()),
        }
        axis = 1 if real.ndim > 1 else 0
        expected["top1err"] = (real.argmax(axis) != fixed.argmax(axis)).mean()
        p, q = (share(each) for each in (real, fixed))
        expected["kld"] = bits(p, q + np.finfo(float).eps)
        expected["jsd"] = (bits(p, (p + q) / 2) + bits(q, (p + q) / 2)) / 2
        for key, value in expected.items():
            assert found[f"{name}_{key}"] == pytest.approx(value, rel=1e-5), (name, key)
        assert found[f"{name}_nsamp"] == real.size


def share(values):
    centres = np.linspace(-3.1, 3.1, 9)
    place = np.abs(values.ravel()[:, None] - centres).argmin(1)
    return np.bincount(place, minlength=9) / values.size


def bits(p, q):
    used = p > 0
    return (p[used] * np.log2(p[used] / q[used])).sum()


def test_the_manual_s_ratios_of_a_tensor_without_error_and_of_one_bias_in_another_bin():
    """Check 9.5.2: 89.37 dB of a mean square of 0.0866; 8.2358 and 1/6 bits of six values."""
    x = np.full((1, 2, 4, 4), 0.3125)
    params = {"x_frac": 5, "bias_bias": np.arange(6) / 8, "bias_frac_bias": 5}
    params["bias_quant_bias"] = np.array([0, 4, 8, 12, 16, 24])  # the last is one bin off
    layers = [Layer("Input", name="i", top="x", dim=(1, 6, 4, 4))]
    layers += [Layer("Bias", name="bias", bottom="x", top="b")]
    found = ndk.quantize.compare_float_and_quant(
        layers, params, ["bias_bias"], num_bin=15, max_abs_val=0.875
    )
    assert found["bias_bias_jsd"] == pytest.approx(1 / 6)
    assert found["bias_bias_kld"] == pytest.approx(8.235839583, rel=1e-9)
    layers[1] = Layer("ReLU", name="relu", bottom="x", top="r")
    params["r_frac"] = 5
    found = ndk.quantize.compare_float_and_quant(
        layers, params, ["x"], data_generator=iter([{"input": x.repeat(3, 1)}])
    )
    assert found["x_qsnr"] == pytest.approx(10 * math.log10(0.3125**2 / 1e-10), rel=1e-9)
    assert "x_kld" not in found
    assert "x_nsamp" not in found


def test_tables_have_the_manual_s_layout(tmp_path, capsys):
    folder = tmp_path / "res" / "float"
    how = {"data_generator": batches(), "num_batch": 2, "num_bin": 4, "log_on": True}
    stats = ndk.quantize.analyze_tensor_distribution(LAYERS, PARAMS, NAMES, folder, **how)
    assert capsys.readouterr().out.count("batch ") == 2
    rows = list(csv.reader((folder / "stats.csv").open()))
    assert [row[0] for row in rows] == ["", "avg", "max", "min", "var"]
    assert rows[0][1:] == NAMES
    assert float(rows[2][4]) == stats["c_max"]
    rows = list(csv.reader((folder / "prob.csv").open()))
    assert rows[0] == [f"{name}_{what}" for name in NAMES for what in ("val", "prob")]
    assert len(rows) == 5
    assert sum(float(row[1]) for row in rows[1:]) == pytest.approx(1)
    how["data_generator"] = batches()
    found = ndk.quantize.compare_float_and_quant(LAYERS, PARAMS, NAMES, 8, folder, **how)
    rows = list(csv.reader((folder / "comp_results.csv").open()))
    assert [row[0] for row in rows] == [
        *("", "Flt-Pnt Mean Sqr Val", "Fix-Pnt Mean Sqr Val", "Mean Abs Error", "Max Abs Error"),
        *("Mean Sqr Error", "Quant SNR (dB)", "Top1 Error Rate", "KL Divergence"),
        *("JS Divergence", "Sample Num"),
    ]
    assert float(rows[6][4]) == found["c_qsnr"]


def test_without_bins_only_moments_are_written(tmp_path):
    ndk.quantize.analyze_tensor_distribution(LAYERS, PARAMS, ["conv_weight"], tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["stats.csv"]


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ({"target_tensor_list": ["nothing"]}, "no tensor 'nothing'; have: x, c, r, conv_weight"),
        ({"data_generator": None}, "'x' is a feature tensor"),
        ({"data_generator": []}, "yields no batch"),
        ({"data_generator": [{"output": DATA[0]}]}, 'the key "input"'),
        ({"data_generator": [{"input": DATA[0, 0]}]}, r"is float64 \[2, 4, 4\]"),
        ({"data_generator": [{"input": DATA[0] * np.nan}]}, "not finite"),
        ({"num_batch": 0}, "num_batch 0; they must be at least 0 and 1"),
        ({"num_bin": -1}, "num_bin is -1"),
        ({"max_abs_val": 0}, "max_abs_val is 0, but must be above 0"),
        ({"output_dirname": __file__}, "cannot make the folder"),
    ],
)
def test_what_can_not_be_counted_is_refused(how, reason):
    for function in (
        ndk.quantize.analyze_tensor_distribution,
        ndk.quantize.compare_float_and_quant,
    ):
        arguments = {"target_tensor_list": ["x"], "data_generator": batches(), **how}
        if "data_generator" in how:
            given = how["data_generator"]
            arguments["data_generator"] = None if given is None else iter(given)
        with pytest.raises(Error, match=reason):
            function(LAYERS, PARAMS, **arguments)
