"""Live execution of a network: one time step in each call, with its states in between."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from ..errors import Error
from .compiled import Compiled
from .inputs import Inputs, State, arrange_by_name, pack_inputs, pack_state


class Stream:
    """Sequence of time steps of a network; Session.stream() returns one.

    A step of a network without states is a run on one sample, without the axis of a batch. Several
    streams of a session may run side by side, each in one thread at a time.

    Parameters
    ----------
    compiled : Compiled
        The planned network.
    start : ndarray of uint8, shape (1, bytes of all states)
        What it begins with.
    """

    def __init__(self, compiled: Compiled, start: np.ndarray) -> None:
        self._compiled, self._start = compiled, start
        self._graph = compiled.plan.graph
        self._turn = compiled.open_time_step()
        self._turn.load(start)

    def step(self, x: Inputs) -> dict[str, np.ndarray]:
        """Compute one time step: one Invoke of the device.

        Parameters
        ----------
        x : ndarray of the input's integers, shape (*input shape)
            The input; a list or a dictionary of arrays where the network has several.

        Returns
        -------
        dict of str to ndarray of integers, shape (*output shape)
            Outputs by the names of their layers.

        Raises
        ------
        Error
            The input has another shape or type than the network's.

        Examples
        --------
        >>> stream = network.session().stream()
        >>> scores = [stream.step(frame)["score"] for frame in frames]
        """
        start = self._graph.input
        one = len(self._graph.inputs) == 1
        if one and isinstance(x, np.ndarray) and x.dtype == start.dtype and x.shape == start.shape:
            return self._turn.run(x)
        named = arrange_by_name(self._graph, x)
        return self._turn.run(pack_inputs(self._graph, named, axes=()))

    @property
    def state(self) -> dict[str, np.ndarray]:
        """States between two time steps, by their names."""
        return self._turn.states()

    def reset(self, state: State = None) -> None:
        """Begin anew.

        Parameters
        ----------
        state : mapping of str to ndarray, shape (*state shape), optional
            What to begin with; default: what the stream began with.

        Raises
        ------
        Error
            The state has another shape or type than the network's.
        """
        start = self._start
        if state is not None:
            start = pack_state(self._graph, state, ()).reshape(1, -1)
        self._turn.load(start)

    def copy(self) -> Stream:
        """Make a copy of the stream that continues independently.

        Returns
        -------
        Stream
            Another stream of the same session.
        """
        other = Stream(self._compiled, self._start)
        other.reset(self.state)
        return other

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Stream:
        return self.copy()

    def __reduce__(self) -> NoReturn:
        raise Error(
            "a stream cannot be pickled: pickle its session and its state, and continue "
            "with session.stream() and reset(state)"
        )
