"""Rows of float32 and int32 = numpy, which rounds each step of single precision as they do."""

import numpy as np
import pytest

from qemu_nn import cmsis
from qemu_nn.functions.shapes import DTYPES
from qemu_nn.functions.tflm_float import TYPES, bits

F = np.float32

#: Floats of all sizes and signs, with zeros, infinities, NaN and values between integers.
SPECIAL = [
    0.0,
    -0.0,
    1.5,
    -1.5,
    2.5,
    -0.5,
    0.5,
    8388609.0,
    1e-45,
    1e30,
    -1e30,
    np.inf,
    -np.inf,
    np.nan,
]
MOST = np.finfo(F).max


def reals(count, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=count) * 10.0 ** rng.integers(-4, 5, count)
    return np.concatenate([x, SPECIAL]).astype(F)


def pairs(count=200):
    """Return every pair of special numbers, and random pairs."""
    first, second = (a.ravel() for a in np.meshgrid(SPECIAL, SPECIAL))
    a, b = reals(count, 2)[:count], reals(count, 3)[:count]
    return np.concatenate([first, a]).astype(F), np.concatenate([second, b]).astype(F)


def same(got, want):
    np.testing.assert_array_equal(got, want)
    zeros = want == 0
    np.testing.assert_array_equal(np.signbit(got[zeros]), np.signbit(want[zeros]))


def kept(x, low=-MOST, high=MOST):
    """Apply the limits of an activation, which keep a NaN."""
    above = np.where(x < F(low), F(low), x)
    return np.where(F(high) < above, F(high), above)


def rounded(x):
    below = np.floor(x)
    rest = x - below
    even = np.fmod(below, 2) == 0
    return np.where((rest < 0.5) | ((rest == 0.5) & even), below, below + F(1))


def logistic(x):
    exp = cmsis.tflm_exp_f32
    inner = F(1) / (F(1) + exp(input=-x))
    return np.where(x > F(16.619047), F(1), np.where(x < -9, exp(input=x), inner))


UNARY = {
    "neg": lambda x: -x,
    "abs": np.abs,
    "rsqrt": lambda x: F(1) / np.sqrt(x),
    "square": lambda x: x * x,
    "ceil": np.ceil,
    "floor": np.floor,
    "round": rounded,
    "relu": lambda x: np.where(x < 0, F(0), x),
    "relu6": lambda x: np.where(x > 6, F(6), np.where(x < 0, F(0), x)),
    "logistic": logistic,
    "hard_swish": lambda x: x * np.fmin(F(6), np.where(x + F(3) > 0, x + F(3), F(0))) / F(6),
}


@pytest.mark.oracle("tflm_{name}_f32")
@pytest.mark.parametrize("name", UNARY)
def test_a_function_of_each_element(name):
    x = reals(300)
    with np.errstate(all="ignore"):
        want = UNARY[name](x)
    assert want.dtype == F
    same(getattr(cmsis, f"tflm_{name}_f32")(input=x), want)


@pytest.mark.oracle("tflm_leaky_relu_f32")
def test_a_slope_for_what_is_negative():
    x = reals(300)
    want = np.where(x > 0, x, x * F(0.3))
    same(cmsis.tflm_leaky_relu_f32(input=x, alpha_bits=bits(0.3)), want)


def floor_mod(a, b):
    rest = np.fmod(a, b)
    return np.where((rest != 0) & ((b < 0) != (rest < 0)), rest + b, rest)


BINARY = {
    "maximum": lambda a, b: np.where(a > b, a, b),
    "minimum": lambda a, b: np.where(a < b, a, b),
    "squared_difference": lambda a, b: (a - b) * (a - b),
    "floor_div": lambda a, b: np.floor(a.astype(float) / b.astype(float)).astype(F),
    "floor_mod": floor_mod,
}


@pytest.mark.oracle("tflm_{name}_f32")
@pytest.mark.parametrize("name", BINARY)
def test_a_function_of_each_pair(name):
    a, b = pairs()
    with np.errstate(all="ignore"):
        want = BINARY[name](a, b)
    same(getattr(cmsis, f"tflm_{name}_f32")(input1=a, input2=b), want)


SUMS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}
LIMITS = [(-MOST, MOST), (0, MOST), (-1, 1), (0, 6)]


@pytest.mark.oracle("tflm_{name}_f32")
@pytest.mark.parametrize("activation", range(4))
@pytest.mark.parametrize("name", SUMS)
def test_a_fused_activation_ends_at_finite_numbers(name, activation):
    a, b = pairs()
    with np.errstate(all="ignore"):
        want = kept(SUMS[name](a, b), *LIMITS[activation])
    got = getattr(cmsis, f"tflm_{name}_f32")(input1=a, input2=b, activation=activation)
    same(got, want)


def quotient(a, b):
    """Toward zero; 0 for b = 0."""
    size = abs(a) // np.where(b == 0, 1, abs(b))
    return np.where(b == 0, 0, np.where((a < 0) != (b < 0), -size, size))


INTEGERS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": quotient,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "squared_difference": lambda a, b: (a - b).astype(np.int32).astype(np.int64) ** 2,
}


@pytest.mark.oracle("tflm_{name}_s32")
@pytest.mark.parametrize("name", INTEGERS)
def test_integers_of_32_bits_wrap(name):
    ends = [-(2**31), 2**31 - 1, 0, -1, 1, 7, -7, 65536, 123456789]
    a, b = (np.array(each, np.int64).ravel() for each in np.meshgrid(ends, ends))
    want = INTEGERS[name](a, b).astype(np.int32)
    operands = {"input1": a.astype(np.int32), "input2": b.astype(np.int32)}
    call = getattr(cmsis, f"tflm_{name}_s32")
    if name not in SUMS:
        same(call(**operands), want)
        return
    same(call(**operands, activation=0), want)
    for activation, (low, high) in enumerate([(0, 2**31 - 1), (-1, 1), (0, 6)], 1):
        same(call(**operands, activation=activation), np.clip(want, low, high))


@pytest.mark.oracle("tflm_{name}_{type}")
@pytest.mark.parametrize("type", ["f32", "s32", "s64"])
@pytest.mark.parametrize(
    "name", ["equal", "not_equal", "greater", "greater_equal", "less", "less_equal"]
)
def test_comparisons_equal_numpy(name, type):
    a, b = pairs()
    if type != "f32":
        a, b = (np.nan_to_num(x, posinf=7, neginf=-7).clip(-1e9, 1e9) for x in (a, b))
        a, b = (x.astype(DTYPES[type]) for x in (a, b))
    got = getattr(cmsis, f"tflm_{name}_{type}")(input1=a, input2=b)
    np.testing.assert_array_equal(got, getattr(np, name)(a, b))


@pytest.mark.oracle("tflm_cast_{source}_{target}")
@pytest.mark.parametrize("target", TYPES[:5])
@pytest.mark.parametrize("source", TYPES)
def test_casts_equal_numpy(source, target):
    """Check float32 beyond 32 bits: the result is the low bits of the nearest integer."""
    if source == "f32":
        x = np.concatenate(
            [reals(100), [4294967040, 2147483648, -2147483648, 300.7, -300.7]]
        ).astype(F)
        low, high = (0, 2**32 - 1) if target == "u32" else (-(2**31), 2**31 - 1)
        whole = np.trunc(np.nan_to_num(x.astype(float), posinf=1e30, neginf=-1e30)).clip(low, high)
        want = x if target == "f32" else whole.astype(np.int64).astype(DTYPES[target])
    else:
        info = np.iinfo(DTYPES[source]) if source != "b8" else None
        x = np.linspace(info.min, info.max, 257) if info else np.array([0, 1])
        x = np.round(x).astype(np.int64).astype(DTYPES[source])
        want = x.astype(DTYPES[target])
    same(getattr(cmsis, f"tflm_cast_{source}_{target}")(input=x), want)


@pytest.mark.oracle("tflm_quantize_f32_{type}")
@pytest.mark.parametrize(("type", "zero"), [("s8", -5), ("s8", 127), ("s16", 0)])
def test_quantized_floats_equal_numpy(type, zero):
    scale, limits = F(0.037), np.iinfo(DTYPES[type])
    x = np.concatenate([reals(500), np.arange(-300, 300) * scale / 2]).astype(F)
    steps = np.nan_to_num((x / scale).astype(float), posinf=1e30, neginf=-1e30)
    nearest = (np.floor(abs(steps) + 0.5) * np.sign(steps)).clip(-(2**31), 2**31 - 1)
    total = (nearest.astype(np.int64) + zero).astype(np.int32)  # modulo 2^32
    got = getattr(cmsis, f"tflm_quantize_f32_{type}")(
        input=x, zero_point=zero, scale_bits=bits(scale)
    )
    same(got, total.clip(limits.min, limits.max).astype(DTYPES[type]))


@pytest.mark.oracle("tflm_dequantize_{type}_f32")
@pytest.mark.parametrize(("type", "zero"), [("s8", -5), ("u8", 130), ("s16", 0)])
def test_real_numbers_of_integers(type, zero):
    limits = np.iinfo(DTYPES[type])
    x = np.arange(limits.min, limits.max + 1).astype(DTYPES[type])
    want = (float(F(0.037)) * (x.astype(int) - zero)).astype(F)
    call = getattr(cmsis, f"tflm_dequantize_{type}_f32")
    same(call(input=x, zero_point=zero, scale_bits=bits(0.037)), want)


@pytest.mark.oracle("tflm_sum_f32", "tflm_mean_f32")
def test_sums_and_means_add_up_in_turn():
    x = reals(2 * 3 * 4 * 5 * 2 - len(SPECIAL)).reshape(2, 3, 4, 5, 2)
    x = np.nan_to_num(x, posinf=3, neginf=-4)
    total = np.zeros((2, 4, 2), F)
    for r0 in range(3):
        for r1 in range(5):
            total = total + x[:, r0, :, r1]
    same(cmsis.tflm_sum_f32(input=x), total)
    same(cmsis.tflm_mean_f32(input=x), total / F(15))


@pytest.mark.oracle("tflm_{kind}_pool_f32")
@pytest.mark.parametrize("kind", ["average", "max", "l2"])
def test_windows_over_an_image(kind):
    x = np.random.default_rng(5).normal(size=(2, 7, 6, 3)).astype(F)
    sides = {"output_h": 4, "output_w": 3, "filter_h": 3, "filter_w": 2, "stride_h": 2}
    params = {**sides, "stride_w": 2, "pad_h": 1, "pad_w": 0, "activation": 2}
    got = getattr(cmsis, f"tflm_{kind}_pool_f32")(input=x, **params)
    for y in range(4):
        for w in range(3):
            rows, columns = range(max(0, 2 * y - 1), min(7, 2 * y + 2)), range(2 * w, 2 * w + 2)
            cells = [x[:, r, c] for r in rows for c in columns]
            total = np.zeros((2, 3), F)
            for cell in cells:
                total = total + (cell * cell if kind == "l2" else cell)
            mean = total / F(len(cells))
            root = np.sqrt(np.abs(mean))
            want = {"average": mean, "max": np.max(cells, axis=0), "l2": root}[kind]
            same(got[:, y, w], np.clip(want, F(-1), F(1)))


@pytest.mark.oracle("tflm_softmax_f32")
def test_a_softmax_of_rows():
    x = np.random.default_rng(6).normal(size=(5, 7)).astype(F) * F(8)
    below = (x - x.max(axis=1, keepdims=True)) * F(0.7)
    powers = cmsis.tflm_exp_f32(input=below.ravel()).reshape(x.shape)
    total = np.zeros(5, F)
    for column in powers.T:
        total = total + column
    same(cmsis.tflm_softmax_f32(input=x, beta_bits=bits(0.7)), powers / total[:, None])


@pytest.mark.oracle("tflm_batch_matmul_f32")
@pytest.mark.parametrize(("adj_x", "adj_y"), [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_products_of_matrices_equal_numpy(adj_x, adj_y):
    rng = np.random.default_rng(7)
    lhs, rhs = (rng.normal(size=shape).astype(F) for shape in ((2, 1, 3, 4), (1, 3, 4, 5)))
    want = np.zeros((2, 3, 3, 5), F)
    for k in range(4):
        want = want + lhs[..., k : k + 1] * rhs[..., k : k + 1, :]
    left = np.ascontiguousarray(lhs.swapaxes(2, 3)) if adj_x else lhs
    right = np.ascontiguousarray(rhs.swapaxes(2, 3)) if adj_y else rhs
    params = {"rows": 3, "depth": 4, "columns": 5, "adj_x": adj_x, "adj_y": adj_y}
    same(cmsis.tflm_batch_matmul_f32(lhs=left, rhs=right, **params), want)
