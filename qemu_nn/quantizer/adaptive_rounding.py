"""Rounding of a layer's weights that minimizes the error of its sums, not of the weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .grid import Grid
from .im2col import Weighted, make_weight_matrix, replace_weight_matrix

#: Regularization of every tap's squares, as a share of their mean, in addition to taps / rows. It
#: keeps weights near the float ones if the data determine them badly.
_DAMPING = 0.01
#: Maximum of passes over the weights after the first rounding. A pass without a change ends them.
_PASSES = 8


@dataclass(frozen=True)
class Sums:
    """Statistics of a layer's sums.

    products: of its inputs [groups, taps + 1, taps + 1], and of the inputs with the wanted sums
    [groups, taps + 1, out / groups]. The last tap is the bias, whose input is 1. count: number of
    rows.
    """

    products: np.ndarray
    wanted: np.ndarray
    count: int


def sum_products(
    device: np.ndarray, real: np.ndarray, weights: np.ndarray, bias: np.ndarray
) -> Sums:
    """Sum up the products of a layer's inputs.

    device, real: rows [groups, n, taps] of the inputs on the device and of the float inputs.
    weights, bias: float, [groups, out / groups, taps] and [groups, out / groups].
    """
    ones = np.ones((*device.shape[:2], 1))
    inputs = np.concatenate([device, ones], axis=2)
    outputs = real @ weights.transpose(0, 2, 1) + bias[:, None]
    turned = inputs.transpose(0, 2, 1)
    return Sums(turned @ inputs, turned @ outputs, device.shape[1])


def round_layer(operator: Weighted, grid: Grid, device: np.ndarray, real: np.ndarray) -> Weighted:
    """Return the layer with weights and bias on the grid.

    Its sums on the device's inputs approximate the float layer's sums on float inputs, at least as
    closely as the nearest weights do. device, real: see sum_products(). The search first solves for
    the float weights that are best on the device's inputs. It then rounds one weight after another
    and lets the remaining weights of the sum compensate the error (Frantar et al., 2022). At the
    end it moves single weights by one step while that reduces the error of the sums.
    """
    weights = make_weight_matrix(operator)
    groups, out, taps = weights.shape
    bias = np.zeros(groups * out) if operator.bias is None else operator.bias.astype(np.float64)
    bias = bias.reshape(groups, out)
    found = sum_products(device, real, weights, bias)
    start = np.concatenate([weights, bias[..., None]], axis=2)
    steps, low, high = grid.append_bias_steps(start.shape)
    products, target = _solve_best_weights(found, start)
    nearest = np.clip(np.rint(start / steps), low, high)
    fed = feed_errors_back(products, target, steps, low, high)
    chosen = choose_least_error(products, target, steps, nearest, fed)
    chosen = move_weights_in_turn(products, target, steps, low, high, chosen)
    values = chosen * steps
    return replace_weight_matrix(operator, values[..., :taps], values[..., taps].ravel())


def compute_loss(found: Sums, values: np.ndarray) -> np.ndarray:
    """Return the squared error of sums minus a constant; values: weights, bias [groups, out, taps +
    1].
    """
    squares = ((values @ found.products) * values).sum(2)
    result: np.ndarray = squares - 2 * (values * found.wanted.transpose(0, 2, 1)).sum(2)
    return result


def _solve_best_weights(found: Sums, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the damped products, and the float weights that minimize the error with them."""
    size = start.shape[2]
    mean = np.trace(found.products, axis1=1, axis2=2) / size
    damping = ((_DAMPING + size / found.count) * mean + 1e-12)[:, None, None] * np.eye(size)
    products = found.products + damping
    wanted = found.wanted + damping @ start.transpose(0, 2, 1)
    return products, np.linalg.solve(products, wanted).transpose(0, 2, 1)


def feed_errors_back(
    products: np.ndarray, target: np.ndarray, steps: np.ndarray, low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """Round one tap after the other, the coarsest first; the remaining taps compensate
    its error.
    """
    result = np.empty(target.shape)
    for g in range(len(products)):
        order = np.argsort(-np.diagonal(products[g]) * steps[g].mean(0) ** 2, kind="stable")
        inverse = np.linalg.inv(products[g][np.ix_(order, order)])
        upper = np.linalg.cholesky((inverse + inverse.T) / 2).T
        left = target[g][:, order].copy()
        for k, tap in enumerate(order):
            q = np.clip(np.rint(left[:, k] / steps[g, :, tap]), low[tap], high[tap])
            result[g, :, tap] = q
            error = (left[:, k] - q * steps[g, :, tap]) / upper[k, k]
            left[:, k:] -= error[:, None] * upper[k, k:]
    return result


def choose_least_error(
    products: np.ndarray, target: np.ndarray, steps: np.ndarray, *choices: np.ndarray
) -> np.ndarray:
    """Choose, for every output channel, the integers with the smallest error."""
    errors = []
    for chosen in choices:
        away = chosen * steps - target
        errors.append(((away @ products) * away).sum(2))
    best = np.argmin(errors, axis=0)[None, :, :, None]
    result: np.ndarray = np.take_along_axis(np.array(choices), best, axis=0)[0]
    return result


def move_weights_in_turn(
    products: np.ndarray,
    target: np.ndarray,
    steps: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    chosen: np.ndarray,
) -> np.ndarray:
    """Move every weight in turn to the integer of the least error, given all further weights."""
    chosen = chosen.copy()
    slopes = (chosen * steps - target) @ products
    scale = np.diagonal(products, axis1=1, axis2=2)
    for _ in range(_PASSES):
        changed = False
        for tap in range(chosen.shape[2]):
            step = steps[..., tap]
            move = np.rint(-slopes[..., tap] / (scale[:, None, tap] * step))
            move = np.clip(chosen[..., tap] + move, low[tap], high[tap]) - chosen[..., tap]
            if move.any():
                changed = True
                chosen[..., tap] += move
                slopes += (move * step)[..., None] * products[:, None, tap]
        if not changed:
            break
    return chosen
