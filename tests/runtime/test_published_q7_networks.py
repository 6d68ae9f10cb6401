"""Published networks compute, from their files, what the real firmware computed, layer by layer."""

import numpy as np
import published
import pytest

import qemu_nn
from qemu_nn.errors import ModelError
from qemu_nn.targets import core_path

pytestmark = [pytest.mark.caps, published.needed]

EVERY = [(name, variant) for name in published.NAMES for variant in published.DEVICES]


def loaded(name):
    return qemu_nn.load(published.FOLDER / name)


def equal(got, want, what):
    assert (got.dtype, got.shape) == (want.dtype, want.shape), what
    np.testing.assert_array_equal(got, want, what)


def state_of(arrays):
    return arrays.get("h0")


def keys(arrays, prefix):
    return [key for key in arrays if key.startswith(prefix) and "@" not in key]


@pytest.mark.parametrize(("name", "variant"), EVERY)
def test_every_layer_gives_the_recorded_bits(name, variant):
    arrays = published.golden(name)
    chosen = arrays["layer_idx"]
    state = state_of(arrays)
    session = loaded(name).session(published.DEVICES[variant])
    results = session.run(arrays["x"][chosen], None if state is None else state[chosen], trace=True)
    checked = keys(arrays, "layer.")
    assert {key[len("layer.") :] for key in checked} == {n.name for n in session.graph.nodes}
    for key in checked:
        want = published.recorded(arrays, key, variant)
        equal(results[key[len("layer.") :]], want, f"{name} {key} {variant}")


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("name", "variant"), EVERY)
def test_every_final_output_gives_the_recorded_bits(name, variant, threads):
    arrays = published.golden(name)
    session = loaded(name).session(published.DEVICES[variant], threads=threads)
    results = session.run(arrays["x"], state_of(arrays))
    for key in keys(arrays, "final."):
        layer = key[len("final.") :]
        layer = layer if layer in results else session.graph.outputs[-1]
        want = published.recorded(arrays, key, variant)
        equal(results[layer], want, f"{name} {key} {variant} on {threads} threads")


@pytest.mark.parametrize(("name", "variant"), EVERY)
def test_one_by_one_is_the_same_as_a_batch(name, variant):
    arrays = published.golden(name)
    state = state_of(arrays)
    session = loaded(name).session(published.DEVICES[variant])
    batch = session.run(arrays["x"], state)
    for i, x in enumerate(arrays["x"]):
        alone = session.run(x[None], None if state is None else state[i : i + 1])
        for layer, value in alone.items():
            equal(value, batch[layer][i : i + 1], f"{name} {layer} {variant} sample {i}")


@pytest.mark.parametrize(("name", "variant"), EVERY)
def test_pooling_leaves_its_input_as_the_device_leaves_it(name, variant):
    arrays = published.golden(name)
    device = published.DEVICES[variant]
    results = (
        loaded(name)
        .session(device)
        .run(
            arrays["x"][arrays["layer_idx"]],
            None if "h0" not in arrays else arrays["h0"][arrays["layer_idx"]],
            trace=True,
        )
    )
    destroyed = {key for key in results if key.startswith("clobber.")}
    has_dsp = core_path(device.device) == "dsp"
    assert destroyed == (set(keys(arrays, "clobber.")) if has_dsp else set())
    for key in destroyed:
        equal(results[key], arrays[key], f"{name} {key} {variant}")


@pytest.mark.parametrize(
    ("name", "variant"), [(n, v) for n, v in EVERY if "recurrent" in published.description(n)]
)
def test_states_live_on_from_step_to_step(name, variant):
    arrays = published.golden(name)
    session = loaded(name).session(published.DEVICES[variant])
    state = session.graph.states[0].name
    want = published.recorded(arrays, "chain_h", variant)
    x, h = arrays["chain_x"][None], arrays["chain_h0"][None]
    equal(session.run(x, h)[state], want[None], f"{name} chain {variant}")
    for t in range(x.shape[1]):
        results = session.run(x[:, t : t + 1], h)
        h = results[state][:, -1]
        equal(h[0], want[t], f"{name} step {t} {variant}")


@pytest.mark.parametrize("name", published.NAMES)
def test_a_package_runs_like_the_files_it_came_from(name, tmp_path):
    arrays = published.golden(name)
    network = loaded(name)
    network.save(tmp_path / "copy.qnz")
    again = qemu_nn.load(tmp_path / "copy.qnz")
    want = network.session().run(arrays["x"], state_of(arrays), trace=True)
    got = again.session().run(arrays["x"], state_of(arrays), trace=True)
    assert list(got) == list(want)
    for layer, value in want.items():
        equal(got[layer], value, f"{name} {layer}")


@pytest.mark.parametrize("name", [name for name in published.FOUND if name in published.REFUSED])
def test_a_network_with_functions_of_another_library_is_refused(name):
    function = published.REFUSED[name]
    with pytest.raises(
        ModelError, match=f"the function '{function}' is unknown; did you mean arm_"
    ):
        loaded(name)


@pytest.mark.parametrize("name", published.NAMES)
def test_published_networks_run_without_a_warning(name, recwarn):
    for device in published.DEVICES.values():
        loaded(name).session(device)
    assert [str(warning.message) for warning in recwarn] == []
