"""Trains a quantized network at the device's arithmetic, on PyTorch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Callable, Optional, Union

from ..errors import Error
from ..evaluation.class_numbers import tell_names
from ..io.arguments import as_callable, as_count, as_flag, as_number
from ..io.optional_deps import require
from ..ptq.format_search import Progress
from ..targets import DEFAULT_CORE, Target
from .data import Dataset
from .delower import Recovered, recovered
from .network import Network, quantized
from .training_data import Reader, check_apart, divided


def fine_tune(
    network: Union[Network, str, Path],
    data: Any,
    *,
    validation: Any = None,
    target: Union[str, Target] = DEFAULT_CORE,
    epochs: int = 10,
    batch: int = 32,
    learning_rate: float = 0.0003,
    learn_formats: bool = True,
    loss_fn: Optional[Callable[..., Any]] = None,
    optimizer: Optional[Callable[..., Any]] = None,
    seed: int = 0,
    progress: Optional[Progress] = None,
) -> Network:
    """Train a quantized network further with the arithmetic of its device; needs PyTorch.

    Every step computes the device's integers, and moves real weights by straight-through gradients.
    After each epoch the network is compared with a session, element by element, on the validation
    data; the best network of all epochs is returned, the one given among them.

    Parameters
    ----------
    network : Network or str or Path
        A result of quantize(), or its .qnz file, with its float network.
    data : Dataset or source
        Training inputs, as quantize() takes them; they are held in memory. Without labels the
        network learns to give the scores of its float network.
    validation : Dataset or source, optional
        Data that judge each epoch; default: every fifth sample of `data` (of each class), which is
        not trained on. Every second of them (of each class) chooses the best epoch; the others
        choose nothing, and report what unseen samples give.
    target : str or Target, default "cortex-m4"
        What the network was quantized for, as quantize() takes it.
    epochs : int, default 10
        How often all samples are seen.
    batch : int, default 32
        Samples of a step.
    learning_rate : float, default 0.0003
        Of Adam, in the first step; it falls to 0 as a cosine.
    learn_formats : bool, default True
        Train the steps of weights and tensors, too, but that of the input.
    loss_fn : callable, optional
        (outputs, targets) -> scalar torch tensor. Outputs: the real scores before a softmax,
        (N, *output shape), or a dict of them by name; targets: labels, or without them the scores
        of the float network. Default: cross entropy, and without labels the squared error relative
        to the float scores.
    optimizer : callable, optional
        parameters -> torch.optim.Optimizer, whose learning rate is not touched; default: Adam.
    seed : int, default 0
        Of the order of samples.
    progress : callable, optional
        Wraps the iteration over steps, as tqdm does.

    Returns
    -------
    Network
        The same calls with other weights (and shifts and multipliers), the trained float network as
        its reference, a note of what was gained, and `curve`, a row for each epoch: loss and share
        of correct classes of the samples that choose, and of the unseen ones.

    Raises
    ------
    Error
        PyTorch is missing, an option or the data do not fit, training diverges, or a layer ever
        differs from the session (the sentence names layer and element).

    Examples
    --------
    >>> tuned = fine_tune("net.qnz", ("train.npy", labels), epochs=20)
    """
    trainer = require("qemu_nn.api.trainer", "train", "fine_tune()")
    own = quantized(network)
    loop = require("qemu_nn.training.loop", "train", "fine_tune()")
    loop.check_callables(loss_fn, optimizer)
    progress = as_callable(progress, "progress")
    rate = as_number(learning_rate, "learning_rate")
    if not rate > 0:
        raise Error(f"learning_rate is {rate:g}, but must be above 0")
    counts = as_count(epochs, "epochs"), as_count(batch, "batch")
    seed = as_count(seed, "seed", 0)
    found = _found(own, target)
    reader = Reader(own, found, loss_fn is not None)
    train = reader.read(Dataset.of(data))
    if validation is not None:
        held = reader.read(Dataset.of(validation))
    else:
        train, held = divided(train)
    check_apart(train, held)
    net = trainer.TrainableNetwork(own, found, as_flag(learn_formats, "learn_formats"))
    options = *counts, rate, loss_fn, optimizer, seed, progress
    work = trainer.Trainer(own, net, train, held, *options)
    result: Network = work.run()
    if not reader.names:
        return result
    return replace(result, notes=(tell_names(reader.names), *result.notes))


def trainable(
    network: Union[Network, str, Path],
    *,
    target: Union[str, Target] = DEFAULT_CORE,
    learn_formats: bool = True,
) -> Any:
    """Make a PyTorch module of a quantized network, for a training loop of your own.

    Its forward pass gives the device's values, bit for bit; its gradients are straight-through.

    Parameters
    ----------
    network : Network or str or Path
        A result of quantize(), or its .qnz file, with its float network.
    target : str or Target, default "cortex-m4"
        What the network was quantized for, as quantize() takes it.
    learn_formats : bool, default True
        Whether the steps of weights and tensors have gradients, too.

    Returns
    -------
    torch.nn.Module
        It takes real inputs of the device, channels last, (N, *input shape), and gives real scores
        (N, *output shape), of several outputs a dict. Its `network()` is the quantized network as
        it is now.

    Raises
    ------
    Error
        PyTorch is missing, or the network is not one that quantize() made for this device.

    Examples
    --------
    >>> net = trainable("net.qnz")
    >>> optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    """
    module = require("qemu_nn.api.trainable", "train", "trainable()")
    own = quantized(network)
    found = _found(own, target)
    return module.TrainableNetwork(own, found, as_flag(learn_formats, "learn_formats"))


def _found(network: Network, target: Union[str, Target]) -> Recovered:
    found = recovered(network, network.session(target).profile)
    if not found.layers:
        raise Error(f"{network.graph.name} has no layer with weights, so nothing can be trained")
    return found
