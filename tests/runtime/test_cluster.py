"""Blocks on a cluster: a fixed tree, cancellation, faults; and processes that are killed."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from paths import TESTS
from thread_client import Client

from qemu_nn.errors import Error
from qemu_nn.runtime import cluster
from qemu_nn.runtime.cluster import Tree, iterate_blocks, reduce_blocks

#: Who hears Ctrl-C: of a shell's job in the background nobody does.
HEARD = signal.getsignal(signal.SIGINT)


@dataclass(frozen=True)
class Slow:
    """Its own number in brackets; earlier blocks take longer."""

    count: int

    def __call__(self, number):
        time.sleep(0.002 * (self.count - number % self.count))
        return f"{number}"


def paired(a, b):
    return f"({a} {b})"


def fails(number):
    if number == 5:
        raise Error("sample 320 of the data contains NaN")
    return str(number)


@pytest.mark.parametrize(("threads", "client"), [(1, None), (4, None), (1, Client(3))])
def test_results_are_merged_in_a_tree_that_only_the_numbers_decide(threads, client):
    wanted = "((((0 1) (2 3)) ((4 5) (6 7))) ((8 9) 10))"
    got = reduce_blocks(Slow(11), range(11), paired, client=client, threads=threads)
    assert got == wanted


@pytest.mark.parametrize("client", [None, Client(3)])
def test_results_of_each_block_come_in_order(client):
    assert list(iterate_blocks(Slow(5), range(12), client=client, total=12)) == [
        *map(str, range(12))
    ]


def test_a_tree_takes_blocks_in_any_order_and_keeps_few_of_them():
    tree = Tree(paired)
    assert tree.merge_all() is None
    for number in (3, 0, 2, 1, 4):
        tree.add(number, str(number))
    assert len(tree._nodes) == 2
    assert tree.merge_all() == "(((0 1) (2 3)) 4)"


@pytest.mark.parametrize("client", [None, Client(2)])
def test_progress_sees_every_block_and_knows_their_number(client):
    seen = []

    def progress(turns):
        seen.append(len(turns))
        for turn in turns:
            seen.append(turn)
            yield turn

    assert reduce_blocks(Slow(1), range(4), paired, client=client, progress=progress)
    assert seen[0] == 4
    assert sorted(seen[1:]) == [(0, "0"), (1, "1"), (2, "2"), (3, "3")]


def test_blocks_of_unknown_number_are_read_as_they_are_needed():
    client, read = Client(2), []

    def blocks():
        for number in range(50):
            read.append(number)
            yield number

    class Enough(Exception):
        pass

    def progress(turns):
        with pytest.raises(TypeError, match="unknown"):
            len(turns)
        for turn in turns:
            yield turn
            raise Enough

    with pytest.raises(Enough):
        reduce_blocks(Slow(1), blocks(), paired, client=client, progress=progress)
    assert len(read) <= 8


def test_what_is_raised_here_cancels_the_rest_and_leaves_the_cluster_usable():
    client = Client(1)
    client.threads = 3  # of which one lives

    def progress(turns):
        for _ in turns:
            raise KeyboardInterrupt
        yield

    with pytest.raises(KeyboardInterrupt):
        reduce_blocks(Slow(30), range(100), paired, client=client, progress=progress)
    assert len(client.futures) <= 13
    assert any(future.cancelled() for future in client.futures)
    assert reduce_blocks(Slow(1), range(3), paired, client=client) == "((0 1) 2)"


@pytest.mark.parametrize(("threads", "client"), [(1, None), (3, None), (1, Client())])
def test_a_block_that_fails_says_why(threads, client):
    with pytest.raises(Error, match=r"^sample 320 of the data contains NaN$"):
        reduce_blocks(fails, range(9), paired, threads=threads, client=client)


def test_a_worker_of_another_version_is_refused(monkeypatch):
    client = Client()
    submit = client.submit

    def older(function, job, *version):
        return submit(function, job, *(("0.0",) if function is cluster._unpack_job else version))

    monkeypatch.setattr(client, "submit", older)
    with pytest.raises(Error, match=r"a worker has qemu_nn .*, but 0\.0 is here"):
        reduce_blocks(Slow(1), range(3), paired, client=client)


def test_faults_of_the_cluster_are_sentences():
    class KilledWorker(Exception):
        pass

    def refused(error):
        client = Client()
        submit = client.submit

        def broken(function, *arguments):
            def fails(*_):
                raise error

            return submit(fails if function is cluster._compute_block else function, *arguments)

        client.submit = broken
        with pytest.raises((Error, ZeroDivisionError)) as caught:
            reduce_blocks(Slow(1), range(2), paired, client=client)
        return caught.value

    assert "ended every worker" in str(refused(KilledWorker("x")))
    outer = RuntimeError("deserialization")
    outer.__cause__ = ModuleNotFoundError("No module named 'qemu_nn'")
    assert "the workers lack qemu_nn" in str(refused(outer))
    assert type(refused(ZeroDivisionError())) is ZeroDivisionError


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"client": 0}, "client must be at least 1"),
        ({"client": 5.0}, "must be a dask.distributed.Client"),
    ],
)
def test_clients_that_are_none_are_refused(how, words):
    with pytest.raises(Error, match=words):
        cluster.open_cluster(**how)


def test_without_dask_the_extra_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "distributed", None)
    for how in ({"client": 2}, {"client": "tcp://127.0.0.1:1"}):
        with pytest.raises(Error, match=r"distributed.*\[cluster\]"), cluster.open_cluster(**how):
            pass


# ---- processes ----


@dataclass(frozen=True)
class Logged:
    """Writes a line for each block that it begins: number and process."""

    folder: str

    def __call__(self, number):
        with open(Path(self.folder, f"{os.getpid()}.txt"), "a") as file:
            file.write(f"{number}\n")
        time.sleep(0.1)
        return str(number)


@pytest.fixture
def processes(tmp_path, monkeypatch):
    """Return a cluster of two processes that import this file."""
    pytest.importorskip("distributed", reason="a cluster of processes needs dask")
    before = os.environ.get("PYTHONPATH")
    own = [Path(__file__).parent, TESTS / "support", Path(cluster.__file__).parents[2]]
    paths = [*map(str, own), *([before] if before else [])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    with cluster.open_cluster(2) as client:
        yield client


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="processes cannot be killed so")
def test_a_worker_that_is_killed_costs_its_own_block_and_nothing_else(processes, tmp_path):
    killed = []

    def progress(turns):
        for count, turn in enumerate(turns):
            if count == 6:
                killed.append(sorted(tmp_path.glob("*.txt"))[0])
                os.kill(int(killed[0].stem), signal.SIGKILL)
            yield turn

    got = reduce_blocks(
        Logged(str(tmp_path)), range(30), paired, client=processes, progress=progress
    )
    assert got == reduce_blocks(Slow(1), range(30), paired)
    runs = [int(n) for file in tmp_path.glob("*.txt") for n in file.read_text().split()]
    again = {number for number in runs if runs.count(number) > 1}
    assert set(runs) == set(range(30))
    assert again <= set(map(int, killed[0].read_text().split()))  # nothing of the other worker
    assert len(runs) - 30 <= 2 * cluster._AHEAD  # nothing that was handed over already
    assert reduce_blocks(Slow(1), range(3), paired, client=processes) == "((0 1) 2)"


@pytest.mark.slow
def test_a_fault_on_a_process_is_a_sentence_and_other_errors_are_tried_again(processes, tmp_path):
    with pytest.raises(Error, match=r"^sample 320 of the data contains NaN$"):
        reduce_blocks(fails, range(9), paired, client=processes)
    got = reduce_blocks(Flaky(str(tmp_path)), range(4), paired, client=processes)
    assert got == "((0 1) (2 3))"


@dataclass(frozen=True)
class Flaky:
    """Fails the first time, as a file on a network may."""

    folder: str

    def __call__(self, number):
        mark = Path(self.folder, f"tried{number}")
        if not mark.exists():
            mark.touch()
            raise OSError("the network is away")
        return str(number)


@pytest.mark.slow
def test_processes_do_not_hear_ctrl_c_and_this_one_does(processes):
    assert set(processes.run(signal.getsignal, signal.SIGINT).values()) == {signal.SIG_IGN}
    assert signal.getsignal(signal.SIGINT) is HEARD
