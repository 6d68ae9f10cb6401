"""WHILE of .tflite files: as recorded, as turn by turn in sessions, stopped, exported, refused."""

import re
import signal
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pytest
import tflite_loops as loops
from recorded_loops import content, load, named, recorded
from tflite_damage import changed
from tflite_files import buffer_options
from tflite_loops import LOOPS, MOST, Net, ends, integer

import qemu_nn
from qemu_nn.api.golden import describe, golden
from qemu_nn.errors import Error, ModelError


def equal(graph, results, wanted):
    for output, want in zip(graph.outputs, wanted):
        np.testing.assert_array_equal(results[output].ravel(), want.ravel())


@pytest.mark.caps
@pytest.mark.parametrize("name", LOOPS)
def test_loops_compute_what_was_recorded(name, tmp_path):
    network = load(name, tmp_path)
    x, wanted = recorded(name)
    given = named(network.graph, x)
    for threads in (1, 2):
        equal(network.graph, network.session(threads=threads).run(given), wanted)
    equal(network.graph, network.session().run(given, trace=True), wanted)
    network.save(tmp_path / "saved.qnz")
    again = qemu_nn.load(tmp_path / "saved.qnz")
    assert again.graph.loops == network.graph.loops != ()
    session = again.session()
    for at in range(len(x[0])):
        one = named(network.graph, [part[at : at + 1] for part in x])
        equal(network.graph, session.run(one), [part[at : at + 1] for part in wanted])


def test_files_are_those_that_were_recorded():
    for name, make in LOOPS.items():
        assert make().bytes() == content(name), f"record {name} anew with .ci/record-loops"


def test_turns_of_samples_differ():
    """Check that recordings have loops without iterations, and loops that run to the end."""
    turns = recorded("sums")[1][1]
    assert {0, 1, MOST} <= set(turns.ravel().tolist())
    assert len(set(recorded("halves")[1][1].ravel().tolist())) > 4


# ---- turn by turn ----


def alone(net, graph, folder):
    """Return a graph of a file as a network, and the outputs that it computes."""
    whole, computed = Net(), [at for at in graph.outputs if at not in graph.inputs]
    for name in ("tensors", "operators", "buffers", "inputs"):
        setattr(whole, name, getattr(graph, name))
    whole.outputs, whole.graphs, whole.all = computed, net.graphs, net.graphs
    session = qemu_nn.load(whole.save(folder, f"{len(list(folder.iterdir()))}.tflite")).session()

    def run(*values):
        known = dict(zip(graph.inputs, values))
        given = {t.name: known[at] for t, at in zip(session.graph.inputs, graph.inputs)}
        shaped = {t.name: given[t.name].reshape(1, *t.shape) for t in session.graph.inputs}
        results = session.run(shaped)
        known.update((at, results[n][0]) for at, n in zip(computed, session.graph.outputs))
        return [known[at] for at in graph.outputs]

    return run


def turn_by_turn(net, folder, sample):
    """Return the result of the only WHILE of a file, its graphs run as networks of their own."""
    dtypes = {"INT8": np.int8, "INT32": np.int32, "FLOAT32": np.float32}
    values = dict(zip(net.inputs, sample))
    for index, tensor in enumerate(net.tensors):
        if tensor["buffer"]:
            values[index] = np.frombuffer(net.buffers[tensor["buffer"]], dtypes[tensor["type"]])
    ((name, inputs, outputs, _, fields),) = net.operators
    assert name == "WHILE"
    condition, body = (net.graphs[fields[f"{n}SubgraphIndex"] - 1] for n in ("Cond", "Body"))
    state = [values[index] for index in inputs]
    holds, turn = alone(net, condition, folder), alone(net, body, folder)
    while holds(*state)[0].any():
        state = turn(*state)
    return [dict(zip(outputs, state))[index] for index in net.outputs]


@pytest.mark.parametrize("name", ["sums", "settles", "nested", "halves"])
def test_loops_compute_what_their_graphs_do_turn_by_turn(name, tmp_path):
    network = load(name, tmp_path)
    x = loops.inputs(name, seed=5, count=4)
    results = network.session().run(named(network.graph, x))
    for at, sample in enumerate(zip(*x)):
        wanted = turn_by_turn(LOOPS[name](), tmp_path, sample)
        for output, want in zip(network.graph.outputs, wanted):
            np.testing.assert_array_equal(results[output][at].ravel(), want.ravel())


def counting(most, start=0, step=1):
    """i from a number on, as long as it is below another; a vector is passed along."""
    net = Net()
    x, condition, body = loops.bytes_(net, 1, 4), net.graph(), net.graph()
    ends(net, [x])
    i = integer(condition)
    ends(condition, [i, loops.bytes_(condition, 1, 4)])
    holds = loops.put(condition, "LESS", [i, integer(condition, data=[most])],
                      condition.tensor((1,), "BOOL"), "LessOptions")  # fmt: skip
    ends(condition, outputs=[holds])
    i, y = integer(body), loops.bytes_(body, 1, 4)
    ends(body, [i, y])
    ends(body, outputs=[loops.add(body, i, integer(body, data=[step]), integer(body)), y])
    made = [integer(net), loops.bytes_(net, 1, 4)]
    loops.repeat(net, [integer(net, data=[start]), x], made, condition, body)
    ends(net, outputs=made)
    return net


def test_a_loop_turns_thousands_of_times(tmp_path):
    network = qemu_nn.load(counting(70_000, start=3, step=2).save(tmp_path))
    results = network.session().run(np.int8([[1, 2, 3, 4], [5, 6, 7, 8]]))
    turns, same = (results[name] for name in network.graph.outputs)
    assert turns.ravel().tolist() == [70_001] * 2
    assert same.ravel().tolist() == [1, 2, 3, 4, 5, 6, 7, 8]


# ---- sequences ----


def test_a_variable_of_a_loop_lives_on(tmp_path):
    network = load("remembers", tmp_path)
    x, wanted = recorded("remembers")
    stream = network.session().stream()
    steps = [stream.step([part[0, at] for part in x]) for at in range(x[0].shape[1])]
    together = {name: np.stack([step[name] for step in steps]) for name in network.graph.outputs}
    equal(network.graph, together, wanted)


# ---- a loop that does not end ----


class Enough(Exception):
    """The exception of a signal handler."""


def stopped(call):
    """Call something that runs for ever, and stop it."""

    def stop(*_):
        raise Enough

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(Enough):
            call()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def unbounded(name, at):
    """Write a file whose loop iterates as often as an input says; at: its condition's graph."""
    net = LOOPS[name]()
    condition = net.graphs[at]
    minimum = condition.operators[0]
    condition.tensors[minimum[1][1]]["buffer"] = len(net.buffers)
    net.buffers.append(np.int32([2**31 - 1]).tobytes())
    return net


ENDLESS = np.int32([2**31 - 1])


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers")
@pytest.mark.parametrize("threads", [1, 2])
def test_a_loop_that_does_not_end_is_interrupted(threads, tmp_path):
    session = qemu_nn.load(unbounded("sums", 0).save(tmp_path)).session(threads=threads)
    endless = [np.array([ENDLESS] * 40), np.ones((40, 4), np.int8)]
    stopped(partial(session.run, endless))
    stopped(partial(session.run, endless, trace=True))
    results = session.run([np.int32([[3], [0]]), np.ones((2, 4), np.int8)])
    assert results[session.graph.outputs[0]].tolist() == [[4, 5, 6, -1], [1, 2, 3, -4]]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers")
def test_a_stream_that_is_interrupted_is_as_before_the_step(tmp_path):
    stream = qemu_nn.load(unbounded("remembers", 1).save(tmp_path)).session().stream()
    x = np.int8([1, 2, 3, 4])
    stream.step([np.int32([2]), x])
    before = stream.state
    stopped(partial(stream.step, [ENDLESS, x]))
    for name, values in before.items():
        np.testing.assert_array_equal(stream.state[name], values)
    totals = [t for t in stream.step([np.int32([1]), x]).values() if t.size == 4]
    assert [total.tolist() for total in totals] == [[4, 6, 8, 14]]


# ---- reports, goldens, exports ----


def test_what_a_body_makes_is_traced_from_its_last_turn(tmp_path):
    network = load("sums", tmp_path)
    x, _ = recorded("sums")
    trace = network.session().run(x, trace=True)
    (loop,) = network.graph.loops
    made = network.graph.nodes[loop.last - 1].name
    turns = trace[network.graph.outputs[1]].ravel()
    np.testing.assert_array_equal(trace[made][turns == 0], 0)
    last = trace[network.graph.outputs[0]][turns > 0]
    np.testing.assert_array_equal(trace[made][turns > 0], last)


def test_reports_name_loops_and_analysis_refuses_them(tmp_path):
    network = load("nested", tmp_path)
    facts = describe(network).facts
    assert re.fullmatch("t4 to t7_2/assigned, while t6 is true", facts["loop_1"])
    assert "loop_2" in facts
    with pytest.raises(Error, match="has loops, which no float network does"):
        qemu_nn.analyze(network, np.zeros((1, 4), np.int8))


def test_goldens_have_every_layer(tmp_path):
    network = load("sums", tmp_path)
    x, wanted = recorded("sums")
    found = golden(network, x, tmp_path / "goldens", format="folder")
    assert len(found.names) == len(x[0]) * (len(x) + len(network.graph.nodes))
    stem = found.stems[network.graph.outputs[0]]
    for at, want in enumerate(wanted[0]):
        got = np.load(tmp_path / "goldens" / f"x{at}" / f"{stem}.npy")
        np.testing.assert_array_equal(got.ravel(), want.ravel())


# ---- files that cannot be ----


def refused(net, folder, message):
    with pytest.raises(ModelError, match=message) as caught:
        qemu_nn.load(net.save(folder))
    assert "\n" not in str(caught.value)


def looped(net):
    """Return the fields of the WHILE of the first graph."""
    return next(each[4] for each in net.operators if each[0] == "WHILE")


@pytest.mark.parametrize("field", ["CondSubgraphIndex", "BodySubgraphIndex"])
@pytest.mark.parametrize("number", [0, 3, -1, 2**31 - 1])
def test_graphs_that_the_file_has_not_are_refused(field, number, tmp_path):
    net = LOOPS["sums"]()
    looped(net)[field] = number
    refused(net, tmp_path, r"WHILE \(operator 0\): ")


def test_a_loop_whose_body_is_itself_is_refused(tmp_path):
    net = counting(5)
    body = net.graphs[1]
    made = [integer(body), loops.bytes_(body, 1, 4)]
    loops.repeat(body, list(body.inputs), made, net.graphs[0], body)
    body.outputs = made
    refused(net, tmp_path, "graph 2 calls itself")


def test_graphs_that_call_each_other_twice_do_not_explode(tmp_path):
    net = counting(5)
    condition, last = net.graphs
    for _ in range(40):
        graph = net.graph()
        ends(graph, [integer(graph), loops.bytes_(graph, 1, 4)])
        between = [integer(graph), loops.bytes_(graph, 1, 4)]
        loops.repeat(graph, list(graph.inputs), between, condition, last)
        made = [integer(graph), loops.bytes_(graph, 1, 4)]
        loops.repeat(graph, between, made, condition, last)
        ends(graph, outputs=made)
        last = graph
    looped(net)["BodySubgraphIndex"] = len(net.graphs)
    refused(net, tmp_path, "more than")


def changed_body(change, at=1):
    net = LOOPS["sums"]()
    change(net.graphs[at])
    return net


@pytest.mark.parametrize(
    ("change", "at", "told"),
    [
        (lambda g: g.outputs.pop(), 1, "has 4 inputs and 4 outputs; its body has 4 and 3"),
        (lambda g: g.inputs.pop(), 1, "its body has 3 and 4"),
        (lambda g: g.inputs.pop(), 0, "it passes 4 inputs to a graph with 3"),
        (lambda g: g.outputs.append(g.outputs[0]), 0, "its condition has 2 outputs"),
        (lambda g: g.outputs.clear(), 0, "its condition has 0 outputs"),
        (lambda g: g.outputs.__setitem__(0, g.inputs[0]), 0, "int32 .*; it must be one bool"),
        (lambda g: g.outputs.reverse(), 1, "its input 0 is int32 .* and its new value int8"),
        (lambda g: g.tensors[g.inputs[3]].update(type="INT16"), 1, "it passes .* to tensor 3"),
        (lambda g: g.tensors[g.inputs[3]].update(shape=[1, 5]), 1, "it passes .* to tensor 3"),
        (lambda g: g.inputs.__setitem__(1, g.inputs[0]), 1, "is already an output of an earlier"),
    ],
)
def test_graphs_that_do_not_fit_are_refused(change, at, told, tmp_path):
    refused(changed_body(change, at), tmp_path, rf"WHILE \(operator 0\): .*{told}")


def test_outputs_of_another_type_are_refused(tmp_path):
    net = LOOPS["sums"]()
    net.tensors[net.operators[0][2][3]].update(shape=[1, 3])
    refused(net, tmp_path, r"WHILE \(operator 0\): its input 3 is int8 \[1, 4\]")


def test_a_state_in_a_loop_is_refused(tmp_path):
    net = LOOPS["settles"]()
    body = net.graphs[1]
    image, kept = body.tensor((1, 1, 1, 4), scale=0.5), body.tensor((1, 2, 1, 4), scale=0.5)
    body.operator("RESHAPE", [body.inputs[0]], [image], "ReshapeOptions")
    body.operator("CUSTOM:CIRCULAR_BUFFER", [image], [kept], custom=buffer_options(1))
    made = loops.bytes_(body, 1, 8)
    body.operator("RESHAPE", [kept], [made], "ReshapeOptions")
    body.outputs = [made]
    refused(net, tmp_path, r"BUFFER .*: it keeps a state inside of a WHILE; that is not supported")


def test_damaged_loops_are_refused_or_read(tmp_path):
    path = tmp_path / "net.tflite"
    for name in LOOPS:
        for seed in range(25):
            path.write_bytes(changed(content(name), np.random.default_rng(seed)))
            with suppress(Error):
                qemu_nn.load(path).session()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"first": -1}, "loop 0 begins at call"),
        ({"last": 999}, "loop 0 begins at call"),
        ({"test": 0}, "loop 0 begins at call"),
        ({"last": 7, "test": 7, "first": 7}, "loop 0 begins at call"),
        ({"condition": "nothing"}, "nothing before its test computes the condition 'nothing'"),
        ({"condition": "x"}, "the condition 'x' is int8"),
        ({"first": 9}, "loop 0 begins at call 9, tests at 7 and ends at 26"),
        ({"first": 3}, "is made in loop 0 and read outside of it"),
        ({"test": 12}, "begins or ends in the middle of another one"),
        ({"last": 13}, "begins or ends in the middle of another one"),
        ({"last": 18}, "is made in loop 0 and read outside of it"),
    ],
)
def test_loops_that_no_plan_could_run_are_refused(changes, told, tmp_path):
    graph = load("nested", tmp_path).graph
    first, *others = graph.loops
    with pytest.raises(ModelError, match=told):
        replace(graph, loops=(replace(first, **changes), *others))


def test_what_a_loop_makes_is_read_inside_of_it_alone(tmp_path):
    graph = load("sums", tmp_path).graph
    (loop,) = graph.loops
    inside = graph.nodes[loop.last - 1].name
    with pytest.raises(ModelError, match="is made in loop 0 and read outside of it"):
        replace(graph, outputs=(*graph.outputs, inside))
    with pytest.raises(ModelError, match="no state of the network"):
        replace(graph, loops=())
    with pytest.raises(ModelError, match="101 loops; at most 100 are supported"):
        replace(graph, loops=(loop,) * 101)


def test_a_plan_keeps_what_a_loop_reads_in_each_turn(tmp_path):
    """Check that tensors made before a loop share no byte with the loop's tensors."""
    for name in LOOPS:
        network = load(name, tmp_path)
        graph, plan = network.graph, network.session().plan
        made, starts = graph.made, (*graph.inputs, *graph.states)
        at = {t.name: a for t, a in zip(starts, (*plan.inputs, *plan.states))}
        at.update((step.node.name, step.output) for step in plan.steps)
        at.update((constant.name, constant.address) for constant in plan.constants)
        for loop in graph.loops:
            own = [node for node in graph.nodes[loop.first : loop.last] if node.name in at]
            reads = {read for node in own for read in node.inputs if not loop.holds(made[read])}
            for read, node in product(reads, own):
                end, start = at[read] + graph.tensors[read].nbytes, at[node.name]
                assert end <= start or start + node.output.nbytes <= at[read], (name, read, node)
