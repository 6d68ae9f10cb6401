"""Charts show the figures of their results, as SVG and by matplotlib."""

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import qemu_nn
from qemu_nn.analysis.charts import BarChart, Block, GridChart, LineChart, MemoryChart, chart_curves
from qemu_nn.analysis.layer_figures import MOST_STEPS, Gathered
from qemu_nn.analysis.table import Table
from qemu_nn.api.golden import describe, example
from qemu_nn.errors import Error

NETWORK, X, Y = example()
AFFINE = qemu_nn.load(Path(qemu_nn.__file__).parent / "demo" / "digits.tflite")


def shapes(chart, name):
    """Return the shapes of one kind in a chart, which must be well-formed."""
    return list(ElementTree.fromstring(chart.svg()).iter(name))


def widths(chart):
    return [float(shape.get("width")) for shape in shapes(chart, "rect")]


def test_bars_are_as_long_as_their_values():
    one, two, none = widths(BarChart("t", ("a", "b", "c"), (1.0, 4.0, np.inf)))
    assert two == pytest.approx(4 * one, rel=0.01)
    assert none == 0


def test_a_range_is_a_line_across_its_bar():
    chart = BarChart("t", ("a",), (50.0,), ((25.0, 100.0),))
    (line,) = shapes(chart, "line")
    (bar,) = shapes(chart, "rect")
    left, width = float(bar.get("x")), float(bar.get("width"))
    assert float(line.get("x1")) == pytest.approx(left + width / 2, abs=0.1)
    assert float(line.get("x2")) == pytest.approx(left + width * 2, abs=0.1)


def test_cells_are_darker_for_larger_values_and_errors_have_a_colour():
    chart = GridChart("t", ("a", "b"), ("a", "b"), np.array([[9, 1], [0, 3]]), diagonal=True)
    cells = shapes(chart, "rect")
    assert len(cells) == 3
    right, wrong, other = cells
    assert right.get("fill") == other.get("fill") != wrong.get("fill")
    assert float(right.get("opacity")) > float(other.get("opacity")) > float(wrong.get("opacity"))


def test_a_line_goes_through_its_points():
    chart = LineChart("t", ("x", "y"), (0.0, 1.0, 2.0), (5.0, 5.0, 9.0))
    first, second, third = shapes(chart, "circle")
    assert first.get("cy") == second.get("cy")
    assert float(third.get("cy")) < float(first.get("cy"))
    assert float(second.get("cx")) * 2 == float(first.get("cx")) + float(third.get("cx"))


def test_blocks_of_memory_say_where_and_when_they_live():
    blocks = (Block("in", 0, 1, 0, 64), Block("out", 1, 1, 64, 128))
    chart = MemoryChart("t", ("the start", "conv"), blocks, 128)
    first, second = (title.text for title in shapes(chart, "title"))
    assert first == "in: bytes 0 to 64, from the start to conv"
    assert second == "out: bytes 64 to 128, from conv to conv"
    low, high = shapes(chart, "rect")
    assert float(low.get("y")) > float(high.get("y"))
    assert float(low.get("width")) > float(high.get("width"))


def test_names_of_files_are_no_markup():
    chart = BarChart("<b>", ("<script>x</script>",), (1.0,))
    assert "<script" not in chart.svg()
    assert "<b>" not in chart.svg()


def test_long_charts_say_how_many_they_leave_out():
    chart = BarChart("t", tuple(map(str, range(100))), (1.0,) * 100)
    assert len(shapes(chart, "rect")) == 64
    assert "The first 64 of 100." in chart.svg()


def test_errors_are_counted_by_their_steps():
    figures = Gathered(AFFINE.graph.inputs[0].format)
    step = figures.format.scale
    codes = np.arange(-20, 21, dtype=np.int8).reshape(1, -1)
    real = figures.format.dequantize(codes) + step * np.repeat([0, 1, -3, 100], [20, 10, 10, 1])
    figures.add(real, codes)
    counts = dict(zip(range(-MOST_STEPS, MOST_STEPS + 1), figures.steps.tolist()))
    assert {error: count for error, count in counts.items() if count} == {
        0: 20,
        -1: 10,
        3: 10,
        -8: 1,
    }


def test_the_curve_of_a_budget_is_against_the_cost_that_changes():
    rows = (
        ("", None, 900, 50, 7, 30.0),
        ("conv", 4, 900, 40, 7, 28.0),
        ("fc", 4, 900, 30, 7, 20.0),
    )
    (chart,) = chart_curves(Table(("layer", "bits", "flash", "ram", "cycles", "snr"), rows))
    assert chart.names == ("ram", "dB")
    assert (chart.x, chart.y) == ((30.0, 40.0, 50.0), (20.0, 28.0, 30.0))
    rows = (*rows, ("fc", 2, 800, 30, 7, 10.0))
    both = chart_curves(Table(("layer", "bits", "flash", "ram", "cycles", "snr"), rows))
    assert [chart.names[0] for chart in both] == ["flash", "ram"]


def test_a_notebook_shows_charts_of_results():
    found = qemu_nn.evaluate(NETWORK, qemu_nn.Dataset(X, Y))
    counts = found.confusion
    page = found._repr_html_()
    assert page.count("<svg") == 2
    told = [int(n) for n in re.findall(r'middle">(\d+)</text>', page)]
    assert told[counts.shape[0] :] == [n for row in counts.tolist() for n in row if n]
    assert qemu_nn.estimate(NETWORK, target="m4")._repr_html_().count("<svg") == 1
    assert describe(AFFINE)._repr_html_().count("<svg") == 1
    assert "<svg" not in describe(NETWORK)._repr_html_()


def test_what_has_no_chart_says_why():
    with pytest.raises(Error, match="firmware has buffers of its own"):
        NETWORK.plot_memory()
    with pytest.raises(Error, match=r"no curve: give quantize\(\) a budget"):
        NETWORK.plot_curve()
    with pytest.raises(Error, match="give labels of classes"):
        qemu_nn.evaluate(NETWORK, X).plot()


def test_matplotlib_draws_the_same():
    pytest.importorskip("matplotlib", reason="draws by matplotlib").use("agg")
    found = qemu_nn.evaluate(NETWORK, qemu_nn.Dataset(X, Y))
    titles = [axes.get_title() for axes in found.plot().axes]
    assert titles == [chart.title for chart in found.charts()]
    (cycles,) = qemu_nn.estimate(NETWORK, target="m4").plot().axes
    assert len(cycles.patches) == len(NETWORK.graph.nodes)
    (memory,) = AFFINE.plot_memory().axes
    assert memory.get_ylabel() == "bytes"
