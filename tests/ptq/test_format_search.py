"""The search: tries each format once, keeps what scores better, and picks up where it stopped."""

import json

import pytest
from flat_options import grouped
from float_classifiers import classifier, data
from thread_client import Client

import qemu_nn
from qemu_nn.errors import Error, ModelError
from qemu_nn.qnz.package import model_hash
from qemu_nn.quantizer.search import Score, Search, search

VARIABLES = [("a", "weights", 7), ("a", "output", 4), ("b", "weights", 6)]


class Landscape:
    """Scores by how far formats are from the best ones; counts how often it is asked."""

    def __init__(self, best, top=1.0):
        self.best, self.top, self.asked = best, top, []

    def __call__(self, given):
        self.asked.append(given)
        away = 0
        for name, role, start in VARIABLES:
            frac = given.get(name, {}).get(role, start)
            if frac == 99:
                raise Error("no device has this")
            away += abs(frac - self.best.get((name, role), start))
        return Score(self.top - away / 10, -away)


BEST = {("a", "weights"): 9, ("b", "weights"): 7}


def test_every_format_ends_where_the_score_is_best():
    chosen = search(VARIABLES, {}, Landscape(BEST), Search())
    assert chosen == {"a": {"weights": 9}, "b": {"weights": 7}}


def test_formats_that_are_best_as_they_are_stay_out_of_the_result():
    assert search(VARIABLES, {}, Landscape({}), Search()) == {}


def test_no_more_than_the_span_is_tried():
    assert search(VARIABLES, {}, Landscape({("a", "weights"): 12}), Search(span=2)) == {
        "a": {"weights": 9}
    }


def test_what_pays_only_together_with_its_neighbour_is_found_in_the_second_round():
    def score(given):
        a, b = (given.get(name, {}).get("output", 0) for name in "ab")
        return Score(0.0, {(0, 1): 1, (1, 1): 2}.get((a, b), 0))

    assert search([("a", "output", 0), ("b", "output", 0)], {}, score, Search(span=1)) == {
        "b": {"output": 1},
        "a": {"output": 1},
    }


def test_given_formats_are_kept():
    chosen = search(VARIABLES, {"c": {"bias": 1}}, Landscape(BEST), Search())
    assert chosen["c"] == {"bias": 1}


def test_it_ends_as_soon_as_the_accuracy_is_within_the_tolerance():
    landscape = Landscape(BEST)
    assert search(VARIABLES, {}, landscape, Search(goal=1.0, tolerance=0.11)) == {
        "a": {"weights": 9}
    }
    assert len(landscape.asked) == 1 + 3
    idle = Landscape({})
    search(VARIABLES, {}, idle, Search(goal=1.0))
    assert len(idle.asked) == 1


def test_formats_that_no_device_has_are_passed_over():
    assert search([("a", "weights", 97)], {}, Landscape({("a", "weights"): 98}), Search()) == {
        "a": {"weights": 98}
    }


@pytest.mark.parametrize("threads", [1, 3])
def test_candidates_side_by_side_give_the_same_result(threads):
    landscape = Landscape(BEST)
    chosen = search(VARIABLES, {}, landscape, Search(threads=threads))
    assert chosen == {"a": {"weights": 9}, "b": {"weights": 7}}
    assert len(landscape.asked) == 1 + 2 * 3 * 3


def test_an_interrupted_search_goes_on_where_it_stopped(tmp_path):
    how = Search(resume=tmp_path / "search.json", key="net")

    def interrupted(variables):
        yield variables[0]
        yield variables[1]
        yield variables[2]
        yield variables[3]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search(VARIABLES, {}, Landscape(BEST), how, interrupted)
    rest = Landscape(BEST)
    assert search(VARIABLES, {}, rest, how) == {"a": {"weights": 9}, "b": {"weights": 7}}
    assert len(rest.asked) == 1 + 2 * 3


@pytest.mark.parametrize("text", ["", "[]", '{"key": "net"}', '{"key": "other", "done": 1}'])
def test_a_file_of_another_search_is_refused(tmp_path, text):
    path = tmp_path / "search.json"
    path.write_text(text)
    with pytest.raises(ModelError, match=r"search\.json"):
        search(VARIABLES, {}, Landscape(BEST), Search(resume=path, key="net"))


def test_what_is_kept_names_the_formats(tmp_path):
    path = tmp_path / "search.json"
    search(VARIABLES, {}, Landscape(BEST), Search(resume=path, key="net"))
    kept = json.loads(path.read_text())
    assert kept["formats"] == {"a": {"weights": 9}, "b": {"weights": 7}}
    assert kept["done"] == 2 * len(VARIABLES)


def test_a_file_to_resume_is_refused_where_nothing_would_be_kept(tmp_path):
    with pytest.raises(Error, match="resume needs method='search'"):
        qemu_nn.quantize(
            classifier(),
            data(4),
            scheme="power2",
            effort={"level": "fast", "resume": tmp_path / "kept"},
        )


def test_candidates_on_a_cluster_give_the_same_result():
    network, x = classifier(), data(60)
    y = network.predict(x).reshape(60, 5).argmax(1)
    how = {"method": "search", "search_range": 1}
    here = qemu_nn.quantize(network, (x, y), **grouped(**how))
    there = qemu_nn.quantize(network, (x, y), client=Client(3), **grouped(**how))
    assert model_hash(there.graph) == model_hash(here.graph)
    with pytest.raises(Error, match="client needs method='search'"):
        qemu_nn.quantize(network, (x, y), client=2, scheme="power2")
