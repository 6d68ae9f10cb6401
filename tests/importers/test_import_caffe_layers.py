"""The results of each layer of Caffe, computed by hand."""

import numpy as np
import pytest
from caffe_files import data, layer, load

from qemu_nn.errors import ModelError


@pytest.fixture
def run(tmp_path):
    """Return the output of a network of one layer "y" on "data" for one sample."""

    def run_layer(x, kind, parameters="", *blobs):
        x = np.asarray(x, np.float64)
        network = load(
            tmp_path, data(*x.shape) + layer("y", kind, parameters), {"y": blobs} if blobs else {}
        )
        return network.evaluate(x[None])["y"][0]

    return run_layer


def test_a_convolution_has_groups_strides_pads_and_dilation_of_each_axis(run):
    x = np.arange(2 * 5 * 4, dtype=float).reshape(2, 5, 4)
    weights = np.array([1.0, 10.0, 100.0, 1000.0]).reshape(4, 1, 1, 1) * [[[[1, 2]], [[0, 0]]][0]]
    parameters = "num_output: 4 group: 2 kernel_h: 1 kernel_w: 2 stride_h: 2 stride_w: 1 pad_w: 1"
    y = run(x, "Convolution", f"convolution_param {{ {parameters} }}", weights, [0, 0, 0, 5])
    wide = np.pad(x, ((0, 0), (0, 0), (1, 1)))
    row = wide[:, ::2, :-1] + 2 * wide[:, ::2, 1:]
    np.testing.assert_array_equal(y, [row[0], 10 * row[0], 100 * row[1], 1000 * row[1] + 5])
    parameters = "num_output: 1 kernel_size: 2 dilation: 2 dilation: 3 bias_term: false"
    y = run(x[:1], "Convolution", f"convolution_param {{ {parameters} }}", np.ones((1, 1, 2, 2)))
    np.testing.assert_array_equal(y[0, :, 0], x[0, :3, 0] + x[0, :3, 3] + x[0, 2:, 0] + x[0, 2:, 3])


def pool(parameters):
    return "Pooling", f"pooling_param {{ {parameters} }}"


def test_pooling_rounds_up_and_cuts_the_last_window(run):
    x = np.arange(25.0).reshape(1, 5, 5)
    y = run(x, *pool("pool: MAX kernel_size: 2 stride: 2"))
    np.testing.assert_array_equal(y[0], [[6, 8, 9], [16, 18, 19], [21, 23, 24]])
    y = run(x, *pool("pool: AVE kernel_size: 2 stride: 2"))
    np.testing.assert_array_equal(y[0], [[3, 5, 6.5], [13, 15, 16.5], [20.5, 22.5, 24]])
    y = run(x, *pool("kernel_size: 2 stride: 2 round_mode: FLOOR"))
    np.testing.assert_array_equal(y[0], [[6, 8], [16, 18]])


def test_the_divisor_of_an_average_counts_padding_but_nothing_behind_it(run):
    y = run(np.full((1, 4, 4), 36.0), *pool("pool: AVE kernel_size: 3 stride: 2 pad: 1"))
    # rows 0 to 2, 2 to 4 and 4 to 5 of an image padded to 6 x 6: 3, 3 and 2 of them exist
    np.testing.assert_allclose(y[0], np.outer([2 / 3, 1, 1 / 2], [2 / 3, 1, 1 / 2]) * 36, rtol=1e-6)


def test_a_window_that_would_start_in_the_padding_behind_does_not_count(run):
    y = run(np.ones((1, 3, 3)), *pool("kernel_size: 2 stride: 2 pad: 1"))
    assert y.shape == (1, 2, 2)


def test_a_window_larger_than_the_image_is_cut(run):
    y = run([[[1, 2], [3, 6]]], *pool("pool: AVE kernel_size: 3 stride: 2"))
    np.testing.assert_array_equal(y, [[[3]]])


def test_a_window_wholly_behind_the_image_is_refused(run):
    with pytest.raises(ModelError, match=r"'y' of type Pooling: a kernel of 1 and a stride of 2"):
        run(np.ones((1, 4, 4)), *pool("kernel_size: 1 stride: 2"))


def test_global_pooling_takes_all_of_the_image(run):
    x = np.arange(24.0).reshape(2, 3, 4)
    np.testing.assert_array_equal(run(x, *pool("global_pooling: true")).ravel(), [11, 23])
    y = run(x, *pool("global_pooling: true pool: AVE"))
    np.testing.assert_array_equal(y, [[[5.5]], [[17.5]]])


def test_batch_norm_divides_its_sums_by_the_third_array(run):
    x, eps = np.array([[[7.0]], [[1.0]]]), "batch_norm_param { eps: 0.25 }"
    y = run(x, "BatchNorm", eps, [6, 0], [4.0, 0], [2])
    np.testing.assert_allclose(y.ravel(), [(7 - 3) / 1.5, 2], rtol=1e-6)
    y = run(x, "BatchNorm", eps, [6, 0], [4.0, 0], [0])
    np.testing.assert_allclose(y.ravel(), [14, 2], rtol=1e-6)


def test_scale_bias_power_and_prelu(run):
    x = np.array([[[1.0, -2]], [[3, -4]]])
    y = run(x, "Scale", "scale_param { bias_term: true }", [2, 3], [10, 20])
    np.testing.assert_array_equal(y, [[[12, 6]], [[29, 8]]])
    y = run(x, "Scale", "scale_param { axis: -1 }", [2, 3])
    np.testing.assert_array_equal(y, [[[2, -6]], [[6, -12]]])
    y = run(x, "Scale", "scale_param { num_axes: 0 }", np.float32(2))
    np.testing.assert_array_equal(y, 2 * x)
    y = run(x, "Bias", "bias_param { num_axes: -1 }", np.full(x.shape, 5))
    np.testing.assert_array_equal(y, x + 5)
    y = run(x, "Power", "power_param { scale: 0.5 shift: -1 }")
    np.testing.assert_array_equal(y, x / 2 - 1)
    y = run(x, "PReLU", "", [0.5, 0.25])
    np.testing.assert_array_equal(y, [[[1, -1]], [[3, -1]]])
    y = run(x, "PReLU", "prelu_param { channel_shared: true }", np.float32(0.5))
    np.testing.assert_array_equal(y, [[[1, -1]], [[3, -2]]])


def test_activations_equal_numpy(run):
    x = np.array([[[1.0, -2]], [[3, -4]]])
    np.testing.assert_array_equal(run(x, "ReLU"), np.maximum(x, 0))
    y = run(x, "ReLU", "relu_param { negative_slope: 0.5 }")
    np.testing.assert_array_equal(y, [[[1, -1]], [[3, -2]]])
    np.testing.assert_allclose(run(x, "Sigmoid"), 1 / (1 + np.exp(-x)), rtol=1e-12)
    np.testing.assert_allclose(run(x, "TanH"), np.tanh(x), rtol=1e-12)
    np.testing.assert_array_equal(run(x, "Dropout"), x)
    y = np.exp(x) / np.exp(x).sum(0)
    np.testing.assert_allclose(run(x, "Softmax"), y, rtol=1e-12)
    y = np.exp(x) / np.exp(x).sum(-1, keepdims=True)
    np.testing.assert_allclose(run(x, "Softmax", "softmax_param { axis: -1 }"), y, rtol=1e-12)


def test_further_layers_equal_numpy(run):
    x = np.array([[[-1.0, 0.5], [2.0, 3.0]], [[0.0, -4.0], [1.0, 7.0]]])
    close = np.testing.assert_allclose
    close(run(x, "AbsVal"), np.abs(x))
    close(run(x, "BNLL"), np.log1p(np.exp(x)), rtol=1e-6)
    close(run(x, "ELU", "elu_param { alpha: 0.5 }"), np.where(x > 0, x, np.expm1(x) / 2), rtol=1e-6)
    close(run(x, "Exp", "exp_param { base: 2 scale: 3 shift: 1 }"), 2 ** (1 + 3 * x), rtol=1e-6)
    close(run(x, "Log", "log_param { shift: 5 }"), np.log(5 + x), rtol=1e-6)
    close(
        run(x, "Power", "power_param { power: 2 shift: 1 scale: 3 }"), (1 + 3 * x) ** 2, rtol=1e-6
    )
    close(run(x, "Tile", "tile_param { axis: 2 tiles: 2 }"), np.tile(x, (1, 2, 1)))
    close(run(x, "ArgMax", "argmax_param { axis: 1 }"), x.argmax(0)[None])
    close(run(x, "Reduction", "reduction_param { axis: 2 operation: MEAN }"), x.mean((1, 2)))
    away = x - x.mean((1, 2), keepdims=True)
    close(run(x, "MVN"), away / away.std((1, 2), keepdims=True), rtol=1e-6)


def test_a_deconvolution_adds_windows_in_groups(run):
    x = np.arange(8.0).reshape(2, 2, 2)
    weights = np.array([[[[1.0, 2.0]]], [[[10.0, 20.0]]]])
    parameters = "num_output: 2 group: 2 kernel_h: 1 kernel_w: 2 stride: 2 pad_w: 1 pad_h: 0"
    y = run(x, "Deconvolution", f"convolution_param {{ {parameters} }}", weights, [0, 5])
    whole = np.zeros((2, 3, 4))
    whole[:, ::2, ::2], whole[:, ::2, 1::2] = x, 2 * x
    whole *= np.array([1, 10]).reshape(2, 1, 1)
    np.testing.assert_allclose(y, whole[:, :, 1:-1] + np.array([0, 5]).reshape(2, 1, 1))


def test_inner_product_flattens_from_its_axis_and_may_be_transposed(run):
    x, w = np.arange(12.0).reshape(3, 2, 2), np.arange(24.0).reshape(2, 12)
    y = run(x, "InnerProduct", "inner_product_param { num_output: 2 }", w, [1, 2])
    np.testing.assert_array_equal(y, w @ x.ravel() + [1, 2])
    text = "inner_product_param { num_output: 2 bias_term: false transpose: true axis: 2 }"
    y = run(x, "InnerProduct", text, w[:, :4].T)
    np.testing.assert_array_equal(y, x.reshape(3, 4) @ w[:, :4].T)


def test_shapes_change_as_caffe_says(run):
    x = np.arange(12.0).reshape(3, 2, 2)
    for parameters, shape in [
        ("flatten_param { }", (12,)),
        ("flatten_param { axis: 2 }", (3, 4)),
        ("flatten_param { axis: -3 end_axis: 2 }", (6, 2)),
        ("reshape_param { shape { dim: 0 dim: -1 } }", (12,)),
        ("reshape_param { shape { dim: 0 dim: 0 dim: 4 } }", (3, 4)),
        ("reshape_param { shape { dim: -1 dim: 2 dim: 6 } }", (2, 6)),
        ("reshape_param { axis: 1 shape { dim: 6 dim: 2 } }", (6, 2)),
        ("reshape_param { axis: 1 num_axes: 1 shape { dim: 1 dim: -1 } }", (1, 3, 2, 2)),
        ("reshape_param { axis: -1 shape { dim: 1 } }", (3, 2, 2, 1)),
    ]:
        kind = "Flatten" if "flatten" in parameters else "Reshape"
        np.testing.assert_array_equal(run(x, kind, parameters), x.reshape(shape))


def test_samples_of_a_batch_are_independent(run):
    x = np.arange(12.0).reshape(3, 2, 2)
    with pytest.raises(ModelError, match="would mix samples"):
        run(x, "Reshape", "reshape_param { shape { dim: 3 dim: 4 } }")
    with pytest.raises(ModelError, match="axis 0 is the batch"):
        run(x, "Softmax", "softmax_param { axis: 0 }")


def test_slices_are_joined_and_summed_again(tmp_path):
    x = np.arange(12.0).reshape(1, 6, 2, 1)
    network = load(
        tmp_path,
        data(6, 2, 1)
        + layer("cut", "Slice", "slice_param { slice_point: 1 slice_point: 2 }", top="p q rest")
        + layer("halves", "Slice", "", "rest", "lower q2")
        + layer("sum", "Eltwise", "eltwise_param { coeff: 1 coeff: 2 coeff: -1 }", "p q p")
        + layer("less", "Eltwise", "eltwise_param { coeff: 1 coeff: -1 }", "lower q2")
        + layer("product", "Eltwise", "eltwise_param { operation: PROD }", "p q")
        + layer("most", "Eltwise", "eltwise_param { operation: MAX }", "p q sum")
        + layer("joined", "Concat", "concat_param { axis: -2 }", "sum product most"),
    )
    y = network.evaluate(x, trace=True)
    p, q, lower, upper = x[:, :1], x[:, 1:2], x[:, 2:4], x[:, 4:]
    for name, value in {"p": p, "q": q, "sum": 2 * q, "less": lower - upper}.items():
        np.testing.assert_array_equal(y[name], value, err_msg=name)
    joined = np.concatenate([2 * q, p * q, np.maximum(q, 2 * q)], axis=2)
    np.testing.assert_array_equal(y["joined"], joined)
    assert network.graph.outputs == ("less", "joined")
