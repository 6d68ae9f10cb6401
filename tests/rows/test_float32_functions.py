"""Functions in float32 equal the exact value, rounded once, by decimals of 60 places."""

from decimal import Decimal, getcontext

import numpy as np
import pytest
from decimals import rounded

from qemu_nn import cmsis

getcontext().prec = 60

#: More places than the largest float32 has digits, for what is left of it.
LONG = 160

#: Inputs whose results lie next to the middle between two float32, as bits.
HARD = {
    "exp": (0x40315B33, 0x4001B249, 0x3FE67199, 0x4034D02B, 0x40DD70CB, 0x3F5BC24C),
    "log": (0x41178FEB, 0x4056EE45, 0x40504CB2, 0x404DC250, 0x40E3CDC4, 0x410F12EC),
    "sin": (0x401F2100, 0x3FA0FA4E, 0x40E70813, 0x3F86B3D2, 0x40241807, 0x40A2DF75),
    "cos": (0x4B511330, 0x4C46D929, 0x4B9BBB2A, 0x4C503364, 0x4C6E36E6, 0x4B51B831),
    "tanh": (0x3EEE0566, 0x3F20B67F, 0x3FF8BC7E, 0x3F97FBC7, 0x3EF6AFEE, 0x3F172BE6),
    "elu": (0xBF777395, 0xBF7CA533, 0xBEB98797, 0xBF72FFEC, 0xBF2106A5, 0xBFEEFBAB),
    "sqrt": (),
}


def inverse_tangent(n):
    """atan(1/n)."""
    power = total = Decimal(1) / n
    k = 1
    while abs(power) > Decimal(10) ** -LONG:
        power /= -n * n
        k += 2
        total += power / k
    return total


def half_pi():
    places, getcontext().prec = getcontext().prec, LONG
    value = 2 * (4 * inverse_tangent(5) - inverse_tangent(239))
    getcontext().prec = places
    return value


HALF_PI = half_pi()


def sine(x, quarter=0):
    """sin(x + quarter * pi/2), by its series after whole quarters."""
    places, getcontext().prec = getcontext().prec, LONG
    turns = (x / HALF_PI).to_integral_value()
    rest, n = x - turns * HALF_PI, int(turns % 4) + quarter
    getcontext().prec = places
    term, k = (Decimal(1), 0) if n % 2 else (+rest, 1)
    total = term
    while abs(term) > Decimal(10) ** -55 * abs(total):
        term *= -rest * rest / ((k + 1) * (k + 2))
        k += 2
        total += term
    return -total if n & 2 else total


def tangent(x):
    """tanh(x); of a small x by its series, as the differences of powers vanish."""
    if abs(x) < Decimal("1e-9"):
        return x - x**3 / 3 + 2 * x**5 / 15
    return (1 - (-2 * x).exp()) / (1 + (-2 * x).exp())


def below_one(x):
    """elu: e^x - 1 of a negative x."""
    if x >= 0:
        return x
    return x + x * x / 2 + x**3 / 6 + x**4 / 24 if abs(x) < Decimal("1e-9") else x.exp() - 1


EXACT = {
    "exp": Decimal.exp,
    "log": Decimal.ln,
    "sin": sine,
    "cos": lambda x: sine(x, 1),
    "tanh": tangent,
    "elu": below_one,
    "sqrt": Decimal.sqrt,
}


def check(name, x):
    x = np.asarray(x, np.float32)
    got = getattr(cmsis, f"tflm_{name}_f32")(input=x)
    want = [rounded(EXACT[name](Decimal(float(each)))) for each in x]
    wrong = [(float(a), float(b), float(c)) for a, b, c in zip(x, got, want) if b != c]
    assert wrong == []


def drawn(name, count):
    """Inputs of all sizes for which the result is no constant."""
    rng = np.random.default_rng(7)
    low, high = {
        "exp": (-8, 2.02),
        "log": (-45, 38.5),
        "sqrt": (-45, 38.5),
        "tanh": (-8, 1.1),
        "elu": (-8, 1.3),
    }.get(name, (-6, 38.5))
    sizes = 10.0 ** rng.uniform(low, high, count)
    if name in ("log", "sqrt"):
        return sizes.astype(np.float32)
    return (sizes * rng.choice([-1, 1], count)).astype(np.float32)


@pytest.mark.oracle("tflm_{name}_f32")
@pytest.mark.parametrize("name", HARD)
def test_a_function_is_the_real_number_rounded_once(name):
    check(name, drawn(name, 300))
    check(name, np.array(HARD[name], np.uint32).view(np.float32))


@pytest.mark.slow
@pytest.mark.parametrize("name", HARD)
def test_a_function_is_the_real_number_rounded_once_on_many(name):
    check(name, drawn(name, 30_000))


#: From where on e^x is a subnormal number, 0 or infinite; the largest and the least numbers.
EDGES = [-103.97208, -103.97207, -87.33655, -87.33654, 88.72283, 88.72284, 89, -105, 1e-45, 1e-38]


@pytest.mark.parametrize("name", ["exp", "sin", "cos", "tanh", "elu"])
def test_a_function_is_rounded_at_its_edges(name):
    far = 3.4028235e38 if name in ("sin", "cos") else 1000  # decimals have no e^(10^38)
    check(name, [*EDGES, far, -far, 1e-45, -1e-45, 0.78125, 0.78124994])


@pytest.mark.parametrize("name", ["log", "sqrt"])
def test_a_function_of_positive_numbers_is_rounded_at_its_edges(name):
    least = [1e-45, 3e-45, 1.1754942e-38, 1.1754944e-38]
    near_one = [0.99999994, 1, 1.0000001, 0.70710677, 0.7071068, 1.4142135, 1.4142137]
    check(name, [*least, *near_one, 4, 3.9999998, 3.4028235e38])


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("exp", {np.inf: np.inf, -np.inf: 0, -0.0: 1, np.nan: np.nan}),
        ("log", {np.inf: np.inf, 0: -np.inf, -1: np.nan, -np.inf: np.nan, np.nan: np.nan}),
        ("sin", {np.inf: np.nan, -np.inf: np.nan, -0.0: -0.0, np.nan: np.nan}),
        ("cos", {np.inf: np.nan, -0.0: 1, np.nan: np.nan}),
        ("tanh", {np.inf: 1, -np.inf: -1, -0.0: -0.0, np.nan: np.nan}),
        ("elu", {np.inf: np.inf, -np.inf: -1, -0.0: -0.0, np.nan: np.nan}),
        ("sqrt", {np.inf: np.inf, -0.0: -0.0, -1: np.nan, -np.inf: np.nan, np.nan: np.nan}),
    ],
)
def test_what_is_no_number_and_zeros(name, values):
    x, want = (np.array([*each], np.float32) for each in (values, values.values()))
    got = getattr(cmsis, f"tflm_{name}_f32")(input=x)
    np.testing.assert_array_equal(got, want)
    zeros = want == 0
    np.testing.assert_array_equal(np.signbit(got[zeros]), np.signbit(want[zeros]))
