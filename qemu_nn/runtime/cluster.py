"""Execution of a job over numbered blocks, here or on a cluster; results are merged in a fixed
tree.
"""

from __future__ import annotations

import pickle
import queue
import signal
import threading
import warnings
from collections.abc import Generator, Iterable, Iterator, Sequence, Sized
from concurrent.futures import CancelledError
from contextlib import (
    AbstractContextManager,
    ExitStack,
    closing,
    contextmanager,
    nullcontext,
    suppress,
)
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Callable, Generic, Optional, TypeVar

from ..errors import Error
from ..io.arguments import MOST_THREADS, as_count, format_value
from ..io.optional_deps import require
from ..io.version import __version__
from . import interrupt

Result = TypeVar("Result")
Job = Callable[[Any], Result]
Merge = Callable[[Result, Result], Result]
Progress = Callable[[Iterable[Any]], Iterable[Any]]
#: Numbers of blocks, and what is known of them.
Numbered = Generator[tuple[int, Any], None, None]
Compute = Callable[[Iterable[Any]], Numbered]

#: Submitted blocks for each thread of a pool or cluster; most of them wait.
_AHEAD = 4
#: Retries of a block after an error that may be transient, such as of a network file.
_RETRIES = 2
#: Seconds to wait for the scheduler of an address, and between checks while a block is awaited.
_PATIENCE, _LOOK = 10, 0.5


@dataclass
class Tree(Generic[Result]):
    """Results of numbered blocks, merged in an order that depends on the numbers alone.

    Blocks 2i and 2i + 1 are merged, then pairs of these, as soon as both are complete. The order of
    arrival never changes the sums, and few results are kept.
    """

    merge: Merge[Result]
    _nodes: dict[tuple[int, int], Result] = field(default_factory=dict)

    def add(self, number: int, value: Result) -> None:
        """Add the result of one more block."""
        level = 0
        while (level, number ^ 1) in self._nodes:
            other = self._nodes.pop((level, number ^ 1))
            value = self.merge(*((other, value) if number & 1 else (value, other)))
            level, number = level + 1, number >> 1
        self._nodes[level, number] = value

    def merge_all(self) -> Optional[Result]:
        """Merge all blocks, from the last to the first; return None without any."""
        whole = None
        for key in sorted(self._nodes):  # later blocks are on lower levels
            node = self._nodes[key]
            whole = node if whole is None else self.merge(node, whole)
        return whole


def reduce_blocks(
    job: Job[Any],
    blocks: Iterable[Any],
    merge: Merge[Any],
    *,
    client: Any = None,
    threads: int = 1,
    progress: Optional[Progress] = None,
    total: Optional[int] = None,
) -> Optional[Result]:
    """Return the results of a job on every block, merged in a tree that is independent of the
    workers.

    job: function of a block; a cluster gets it pickled, once for each worker. blocks: numbers or
    arrays, read when needed; each is pickled with its own task. merge: joins two neighbours.
    client: a dask.distributed.Client; None computes here on this many threads. total: number of
    blocks, if they have no len(). The result is None without blocks. An exception here, such as
    Ctrl-C, cancels submitted blocks and leaves the cluster usable. A block whose worker dies runs
    again elsewhere; finished blocks are kept.
    """
    tree: Tree[Result] = Tree(merge)
    total = len(blocks) if isinstance(blocks, Sized) else total
    with open_compute(job, client, threads) as compute, closing(compute(blocks)) as done:
        for number, value in progress(_Counted(done, total)) if progress else done:
            tree.add(number, value)
    return tree.merge_all()


def iterate_blocks(
    job: Job[Any],
    blocks: Iterable[Any],
    *,
    client: Any = None,
    progress: Optional[Progress] = None,
    total: Optional[int] = None,
) -> Iterator[Any]:
    """Yield the results of a job on every block in their order, with the arguments of
    reduce_blocks().

    Results that are complete before their turn wait here.
    """
    early: dict[int, Any] = {}
    turn = 0
    with open_compute(job, client) as compute, closing(compute(blocks)) as done:
        for number, value in progress(_Counted(done, total)) if progress else done:
            early[number] = value
            while turn in early:
                yield early.pop(turn)
                turn += 1


@contextmanager
def open_compute(job: Job[Any], client: Any = None, threads: int = 1) -> Iterator[Compute]:
    """Yield a function that yields numbers and results of blocks as they complete.

    It can be called again; the workers keep the job. The arguments are those of reduce_blocks().
    """
    if client is not None:
        with _silence_advice():
            held = client.submit(_unpack_job, pickle.dumps(job), __version__)
        yield lambda blocks: _compute_on_cluster(held, blocks, client)
    elif threads == 1:
        yield lambda blocks: ((number, job(block)) for number, block in enumerate(blocks))
    else:
        with interrupt.open_pool(threads) as pool:
            yield lambda blocks: _compute_in_pool(pool, job, blocks, threads)


@dataclass(frozen=True)
class _Counted:
    """Results in order of completion, for a progress bar, and their number, if known."""

    turns: Iterator[Any]
    total: Optional[int]

    def __iter__(self) -> Iterator[Any]:
        return self.turns

    def __len__(self) -> int:
        if self.total is None:
            raise TypeError("the number of blocks is unknown: give data of known length")
        return self.total


def _compute_in_pool(pool: Any, job: Job[Any], blocks: Iterable[Any], threads: int) -> Numbered:
    def submit(some: Sequence[Any]) -> list[Any]:
        return [pool.submit(job, block) for block in some]

    with closing(_iterate_windowed(submit, blocks, lambda: threads)) as groups:
        for group in groups:
            yield from ((number, future.result()) for number, future in group)


def _iterate_windowed(
    submit: Callable[[Sequence[Any]], Sequence[Any]],
    blocks: Iterable[Any],
    threads: Callable[[], int],
) -> Generator[list[tuple[int, Any]], None, None]:
    """Yield groups of numbers and completed futures, with a few blocks for each thread submitted.

    Blocks are submitted in groups, when half of these few are complete.
    """
    left = iter(enumerate(blocks))
    ready: queue.Queue[int] = queue.Queue()
    pending: dict[int, Any] = {}
    try:
        while True:
            most = _AHEAD * threads()
            some = list(islice(left, most - len(pending))) if len(pending) <= most // 2 else []
            for (number, _), future in zip(some, submit([b for _, b in some]) if some else ()):
                pending[number] = future
                future.add_done_callback(lambda _, number=number: ready.put(number))
            if not pending:
                return
            with suppress(queue.Empty):  # a wait without an end would not see Ctrl-C on Windows
                numbers = [ready.get(timeout=_LOOK)]
                while not ready.empty():
                    numbers.append(ready.get())
                yield [(number, pending.pop(number)) for number in numbers]
    finally:
        for future in pending.values():
            future.cancel()


# ---- on dask ----


@dataclass(frozen=True)
class _Failed:
    """Fault of the user's input, which a retry cannot repair."""

    error: Error


def _compute_on_cluster(held: Any, blocks: Iterable[Any], client: Any) -> Numbered:
    """Compute blocks on a cluster.

    held: result of a separate task. A worker requests the job once, and the scheduler recomputes it
    if its worker has died.
    """

    def submit(
        some: Sequence[Any],
    ) -> Any:  # as bytes: dask searches other objects for its own keys
        packed = [pickle.dumps(block) for block in some]
        with _silence_advice():
            return client.map(
                _compute_block, [held] * len(some), packed, pure=False, retries=_RETRIES
            )

    with closing(_iterate_windowed(submit, blocks, lambda: _count_threads(client))) as groups:
        for group in groups:
            values = _gather_values(client, group)
            for (number, _), value in zip(group, values):
                yield number, value


@contextmanager
def _silence_advice() -> Iterator[None]:
    """Suppress dask's advice on large objects, which workers need as they are."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
        yield


def _unpack_job(job: bytes, version: str) -> Any:
    """Unpickle the job on a worker, which must have the same arithmetic."""
    if version != __version__:
        return _Failed(
            Error(f"a worker has qemu_nn {__version__}, but {version} is here: install the same")
        )
    return pickle.loads(job)


def _compute_block(job: Any, block: bytes) -> Any:
    """Return a block on a worker."""
    if isinstance(job, _Failed):
        return job
    try:
        return job(pickle.loads(block))
    except Error as error:
        return _Failed(error)


def _gather_values(client: Any, group: Sequence[tuple[int, Any]]) -> list[Any]:
    """Return the results of blocks, or raise the first error of one as a sentence."""
    try:
        values = list(client.gather([future for _, future in group]))
    except Exception:
        values = [_get_value(future, number) for number, future in group]
    for value in values:
        if isinstance(value, _Failed):
            raise value.error
    return values


def _get_value(future: Any, number: int) -> Any:
    try:
        return future.result()
    except CancelledError:
        raise Error(
            f"block {number} was cancelled: the cluster has restarted or stopped; run again"
        ) from None
    except Exception as error:
        raise _describe_error(error, number) from None


def _describe_error(error: BaseException, number: int) -> BaseException:
    """Return an error of the cluster as a sentence; all further errors unchanged."""
    if type(error).__name__ == "KilledWorker":
        return Error(
            f"block {number} ended every worker that tried it, perhaps by using up its "
            "memory: give workers more of it"
        )
    cause: Optional[BaseException] = error
    while cause is not None and not isinstance(cause, ImportError):
        cause = cause.__cause__
    if cause is None:
        return error
    return Error(f"the workers lack qemu_nn {__version__}, or what it needs: {cause}")


def _count_threads(client: Any) -> int:
    """Count the threads of all workers; at least one, for a cluster that is starting."""
    threads: int = max(1, sum(client.nthreads().values()))
    return threads


def open_cluster(client: Any = None) -> AbstractContextManager[Any]:
    """Yield a client of dask, or None without a client.

    It is the given one, one for a scheduler's address, or one of that many processes on this
    machine, which end with the block.
    """
    if isinstance(client, int):
        return _open_local(as_count(client, "client", most=MOST_THREADS))
    if isinstance(client, str):
        return _open_remote(client)
    if client is not None and not (hasattr(client, "map") and hasattr(client, "nthreads")):
        raise Error(
            "client must be a dask.distributed.Client, the address of a scheduler or a number of "
            f"processes, not {format_value(client)}"
        )
    return nullcontext(client)


@contextmanager
def _open_local(workers: int) -> Iterator[Any]:
    distributed: Any = require("distributed", "cluster", "computing on several processes")
    how = {"threads_per_worker": 1, "dashboard_address": None}
    with ExitStack() as stack:
        with _ignore_interrupts():
            here = stack.enter_context(distributed.LocalCluster(workers, **how))
        yield stack.enter_context(distributed.Client(here))


@contextmanager
def _ignore_interrupts() -> Iterator[None]:
    """Start processes that ignore Ctrl-C, which a terminal sends to all of them; the parent ends
    them.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _open_remote(address: str) -> Iterator[Any]:
    distributed: Any = require("distributed", "cluster", "computing on a cluster")
    try:
        client = distributed.Client(address, timeout=_PATIENCE)
    except (OSError, ValueError) as error:
        raise Error(f"no scheduler answers at {address}: {error}") from None
    with client:
        yield client
