"""Variables and branches of .tflite files: what lives on from run to run, and what is refused."""

import numpy as np
import pytest
import tflite_states as states
from tflite_cases import CASES
from tflite_files import File
from tflite_states import SCALE, STATES, first, handle, kept, largest, numbers, read

import qemu_nn
from qemu_nn.errors import ModelError
from qemu_nn.runtime.session import draw_inputs

pytestmark = pytest.mark.caps


def load(net, folder):
    return qemu_nn.load(net.save(folder))


def refused(net, folder, message):
    with pytest.raises(ModelError, match=message) as caught:
        load(net, folder)
    assert "\n" not in str(caught.value)
    assert "net.tflite" in str(caught.value)


@pytest.mark.parametrize("name", [name for name in STATES if name != "three_inputs"])
def test_variables_live_on_as_in_numpy(name, tmp_path):
    network = load(STATES[name](), tmp_path)
    graph = network.graph
    x = draw_inputs(graph, 3, 9)
    parts = x if isinstance(x, list) else [x]
    results = network.session().run(x)
    for sample in range(3):
        wanted = states.steps(name, *(part[sample] for part in parts))
        for output, want in zip(graph.outputs, wanted, strict=True):
            np.testing.assert_array_equal(results[output][sample].ravel(), want.ravel())


def test_all_samples_begin_with_what_call_once_assigns(tmp_path):
    graph = load(STATES["window"](), tmp_path).graph
    np.testing.assert_array_equal(graph.arrays["past/state"], states.BEFORE[0])
    results = load(STATES["window"](), tmp_path).session().run(np.zeros((2, 1, 1, 4), np.int8))
    np.testing.assert_array_equal(results["output"][1, 0, :3], states.BEFORE[0])


@pytest.mark.parametrize(
    ("type", "value"),
    [
        *(("INT8", -128), ("UINT8", 255), ("INT16", -300), ("INT32", -(2**31))),
        *(("FLOAT32", -0.1), ("FLOAT32", np.nan), ("BOOL", True), ("INT64", -(2**63))),
    ],
)
def test_variables_are_of_every_type(type, value, tmp_path):
    network = load(kept(type, value), tmp_path)
    x = draw_inputs(network.graph, 1, 3)
    ((_, state), (_, last)) = sorted(network.session().run(x).items())
    before = np.full((1, 1, 3), value, x.dtype)
    np.testing.assert_array_equal(last, np.concatenate([before, x[:, :-1]], 1))
    np.testing.assert_array_equal(state, x)


def test_containers_keep_variables_of_one_name_apart(tmp_path):
    net = STATES["two"]()
    for operator in net.operators:
        if operator[0] == "VAR_HANDLE":
            name = operator[4]["SharedName"]
            operator[4].update(Container=name, SharedName="same")
    network = load(net, tmp_path)
    x = draw_inputs(network.graph, 1, 6)
    (want,) = states.steps("two", x[0])
    np.testing.assert_array_equal(network.session().run(x)["output"][0], want)


# ---- branches ----


def test_a_branch_that_is_not_taken_leaves_its_variables_alone(tmp_path):
    network = load(STATES["branches"](), tmp_path)
    x = np.full((1, 3, 5), 7, np.int8)
    taken = np.array([False, True, False]).reshape(1, 3, 1)
    results = network.session().run([taken, x])
    assert results["most/state"][0, :, 0].tolist() == [-100, 7, 7]


def test_a_truth_value_is_true_where_any_bit_is(tmp_path):
    network = load(STATES["branches"](), tmp_path)
    condition = np.full((1, 1, 1), 6, np.uint8).view(bool)
    x = np.full((1, 1, 5), -110, np.int8)
    assert network.session().run([condition, x])["most/state"].ravel().tolist() == [-100] * 5


def branched():
    """Return a file with IF and its two branches."""
    net = STATES["branches"]()
    return net, net.graphs[1], net.graphs[2]


def test_branches_of_other_shapes_are_refused(tmp_path):
    net, then, _ = branched()
    then.tensors[then.outputs[0]]["shape"] = [1, 6]
    refused(net, tmp_path, r"IF \(operator 1\): .*MAXIMUM")
    net, _, otherwise = branched()
    otherwise.outputs[0] = otherwise.tensor((1, 4), scale=SCALE, data=[1, 2, 3, 4])
    otherwise.operator("RESHAPE", [otherwise.outputs[0]], [otherwise.tensor((4,), scale=SCALE)])
    refused(net, tmp_path, r"IF \(operator 1\): ")


def test_branches_with_more_or_fewer_inputs_and_outputs_are_refused(tmp_path):
    net, then, _ = branched()
    then.inputs.append(then.tensor((1, 5), scale=SCALE))
    refused(net, tmp_path, "passes 1 inputs to a graph with 2")
    for change in (lambda graph: graph.outputs.clear(), lambda graph: graph.outputs.append(0)):
        net, then, _ = branched()
        change(then)
        refused(net, tmp_path, r"IF \(operator 1\): it has 1 outputs and a branch with [02]")


def test_a_branch_that_takes_another_type_is_refused(tmp_path):
    net, then, _ = branched()
    then.tensors[0]["type"] = "UINT8"
    refused(net, tmp_path, r"IF \(operator 1\): it passes .* to tensor 0")


def test_a_condition_that_is_no_truth_value_is_refused(tmp_path):
    net, *_ = branched()
    net.tensors[0].update(type="INT8", scales=np.float32([1]), zeros=np.int64([0]))
    refused(net, tmp_path, r"its condition is int8 \[1\]; it must be one bool")
    net, *_ = branched()
    net.tensors[0]["shape"] = [2]
    refused(net, tmp_path, r"its condition is bool \[2\]; it must be one bool")


@pytest.mark.parametrize("number", [0, 9, -1])
def test_a_branch_that_the_file_has_not_is_refused(number, tmp_path):
    net, *_ = branched()
    net.operators[-1][4]["ThenSubgraphIndex"] = number
    refused(net, tmp_path, r"IF \(operator 1\): ")


def test_a_branch_of_itself_is_refused(tmp_path):
    net, then, _ = branched()
    ends = then.inputs[0], then.outputs[0]
    condition = then.tensor((1,), "BOOL")
    then.operator("EQUAL", [numbers(then, 1), numbers(then, 1)], [condition], "EqualOptions")
    which = {"ThenSubgraphIndex": 2, "ElseSubgraphIndex": 2}
    made = then.tensor((1, 5), scale=SCALE)
    then.operator("IF", [condition, ends[1]], [made], "IfOptions", **which)
    then.outputs[0] = made
    refused(net, tmp_path, r"IF \(operator 1\): .*graph 2 calls itself")


# ---- what a file may not say of variables ----


def test_handles_that_do_not_exist_are_refused(tmp_path):
    net = STATES["two"]()
    reader = next(each for each in net.operators if each[0] == "READ_VARIABLE")
    reader[1][0] = net.tensor((1,), "RESOURCE")
    refused(net, tmp_path, r"READ_VARIABLE \(operator 1\): its first input is not a variable")
    net = STATES["two"]()
    last = max(at for at, each in enumerate(net.operators) if each[0] == "ASSIGN_VARIABLE")
    net.operators[last][1][0] = net.inputs[0]
    refused(
        net, tmp_path, rf"ASSIGN_VARIABLE \(operator {last}\): its first input is not a variable"
    )


def test_variables_have_one_shape_and_one_type(tmp_path):
    for changes, told in (
        ({"shape": [1, 5]}, r"'/older' is used as int8 \[1, 6\] and as int8 \[1, 5\]"),
        ({"type": "UINT8"}, r"'/older' is used as int8 \[1, 6\] and as uint8 \[1, 6\]"),
    ):
        net = STATES["two"]()
        newer = next(each for each in net.operators if each[0] == "READ_VARIABLE")[2][0]
        net.tensors[newer].update(changes)
        refused(net, tmp_path, told)


def test_what_call_once_assigns_fits_its_variable(tmp_path):
    for values, type, told in (
        (np.zeros((1, 4)), "INT8", r"is initialized with int8 \[1, 4\] and used as int8 \[1, 3\]"),
        (np.zeros((1, 3)), "INT16", r"is initialized with int16 \[1, 3\]"),
    ):
        net = kept("INT8", 1)
        first(net, type, last=values)
        net.operators[0] = net.operators.pop()
        refused(net, tmp_path, told)


def test_call_once_assigns_constants_before_anything_else(tmp_path):
    net = kept("INT8", 1)
    net.operators.append(net.operators.pop(0))
    refused(net, tmp_path, r"CALL_ONCE \(operator 4\): it follows operators that use variables")
    net = kept("INT8", 1)
    once = net.graphs[0]
    largest(once, once.operators[-1][1][1], once.operators[-1][1][1], (1, 3))
    refused(net, tmp_path, "graph 1: MAXIMUM .*: it computes before the first run")
    net = kept("INT8", 1)
    once = net.graphs[0]
    once.operators[-1][1][1] = once.tensor((1, 3), scale=SCALE)
    refused(net, tmp_path, "graph 1: ASSIGN_VARIABLE .* must be a constant")


def test_call_once_inside_of_another_graph_is_refused(tmp_path):
    net, then, _ = branched()
    then.operators.insert(0, ("CALL_ONCE", [], [], "CallOnceOptions", {"InitSubgraphIndex": 1}))
    refused(net, tmp_path, "CALL_ONCE .*: it is in a graph that an operator calls")


@pytest.mark.parametrize("number", [0, 7, -3])
def test_call_once_calls_a_graph_of_the_file(number, tmp_path):
    net = kept("INT8", 1)
    net.operators[0][4]["InitSubgraphIndex"] = number
    refused(net, tmp_path, r"CALL_ONCE \(operator 0\): ")


@pytest.mark.parametrize("name", ["CALL_ONCE", "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE"])
def test_operators_without_anything_are_refused(name, tmp_path):
    net = STATES["two"]()
    net.operator(name, [], [])
    refused(net, tmp_path, rf"{name} \(operator {len(net.operators) - 1}\): it ")


def test_a_variable_that_nobody_assigns_is_what_it_is_after_reset(tmp_path):
    net = File()
    x = net.input((1, 4), SCALE)
    values = np.array([[-100, 0, 50, 127]])
    first(net, least=values)
    largest(net, x, read(net, "least", (1, 4)), (1, 4), output=True)
    x = np.int8([[1, -5, 100, 3], [-128, 9, 0, 0]])
    results = load(net, tmp_path).session().run(x)
    np.testing.assert_array_equal(results["output"], np.maximum(values, x))


def test_a_handle_that_nobody_uses_is_no_state(tmp_path):
    net = STATES["three_inputs"]()
    handle(net, "nothing")
    assert load(net, tmp_path).graph.states == ()


def test_a_variable_is_no_output(tmp_path):
    net = STATES["two"]()
    net.outputs.append(handle(net, "newer"))
    refused(net, tmp_path, "an earlier operator must compute")


# ---- states of operators ----


@pytest.mark.parametrize("zero", [0, -7, 100])
def test_the_state_of_an_svdf_of_8_bits_is_its_zero_point_after_reset(zero, tmp_path):
    net = CASES["svdf_s8"]()
    state = next(each for each in net.tensors if each.get("variable"))
    state["zeros"] = np.int64([zero])
    network = load(net, tmp_path)
    (tensor,) = network.graph.states
    reset = network.graph.arrays.get(tensor.name)
    assert (reset is None) == (zero == 0)
    assert reset is None or (reset == zero).all()
    start = network.session().stream().state[tensor.name]
    assert (start == zero).all()
