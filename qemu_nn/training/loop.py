"""Training loop around a module: user functions, steps, seeds and logs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Optional

import numpy as np
import torch
from torch import Tensor

from ..errors import Error

#: Remedies for errors.
LOSS = "give a function (outputs, targets) -> scalar torch tensor, such as torch.nn.MSELoss()"
OPTIMIZER = "give a function of the parameters: lambda p: torch.optim.SGD(p, lr=0.01)"


def check_callables(loss_fn: Any, optimizer: Any) -> None:
    """Raise Error, with the remedy, for values that are not functions of PyTorch."""
    for name, value, instead in (("loss_fn", loss_fn, LOSS), ("optimizer", optimizer, OPTIMIZER)):
        if value is None:
            continue
        modules = {str(getattr(thing, "__module__", "")) for thing in (value, type(value))}
        if any(module.split(".")[0] in ("tensorflow", "keras", "tf_keras") for module in modules):
            raise Error(f"{name} is TensorFlow's, but training runs on PyTorch; {instead}")
        if isinstance(value, torch.optim.Optimizer):
            raise Error(f"{name} is an optimizer of other parameters; {instead}")
        if not callable(value):
            raise Error(f"{name} is a {type(value).__name__}; {instead}")


def make_optimizer(
    make: Optional[Callable[..., Any]], parameters: Sequence[Tensor], rate: float = 0.001
) -> torch.optim.Optimizer:
    """Return the user's optimizer of the parameters; Adam by default."""
    made = torch.optim.Adam(parameters, lr=rate) if make is None else make(parameters)
    if not isinstance(made, torch.optim.Optimizer):
        raise Error(f"optimizer returned a {type(made).__name__}; {OPTIMIZER}")
    if isinstance(made, torch.optim.LBFGS):
        raise Error(f"optimizer is LBFGS, which computes a batch several times; {OPTIMIZER}")
    return made


def compute_loss(loss_fn: Callable[..., Any], outputs: Any, targets: np.ndarray) -> Tensor:
    """Return the scalar of the user's loss function for outputs and targets."""
    given = targets.astype(np.float32) if targets.dtype.kind == "f" else targets
    if given.dtype.kind in "iub":
        given = given.astype(np.int64)
    loss = loss_fn(outputs, torch.from_numpy(np.ascontiguousarray(given)))
    if not isinstance(loss, Tensor) or loss.numel() != 1 or not loss.requires_grad:
        raise Error(f"loss_fn returned {_format_number(loss)}; {LOSS}")
    return loss.reshape(())


def _format_number(value: Any) -> str:
    if isinstance(value, Tensor):
        graph = "with" if value.requires_grad else "without"
        return f"a tensor {list(value.shape)} {graph} a gradient"
    return f"a {type(value).__name__}"


def take_step(optimizer: torch.optim.Optimizer, loss: Tensor, where: str) -> None:
    """Take a gradient step; raise Error if the loss or its gradient is not finite."""
    if not torch.isfinite(loss):
        raise Error(f"the loss is {loss.item()} at {where}; use a smaller learning rate")
    optimizer.zero_grad()
    loss.backward()
    every = (each.grad for group in optimizer.param_groups for each in group["params"])
    if not all(torch.isfinite(grad).all() for grad in every if grad is not None):
        raise Error(
            f"the loss is {loss.item():.4g} at {where}, but its gradient is not finite; use a "
            "smaller learning rate, or a loss_fn that has a slope everywhere"
        )
    optimizer.step()


def open_event_writer(log_dir: Path) -> Any:
    """Return a writer of TensorBoard's files; if TensorBoard is missing, print a line and return
    None.
    """
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        print("no event files are written; pip install tensorboard to watch the training")
        return None
    return SummaryWriter(str(log_dir))


@contextmanager
def seed_random(seed: Optional[int]) -> Iterator[None]:
    """Draw random numbers from a seed without changing PyTorch's own state."""
    with torch.random.fork_rng(devices=[]):
        if seed is not None:
            torch.manual_seed(seed)
        yield
