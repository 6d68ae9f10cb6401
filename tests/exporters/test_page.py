"""A page computes in a browser what a session computes here, layer by layer."""

import base64
import html
import json
import os
import re
from pathlib import Path
from random import Random

import espdl_cases
import lstm_networks
import numpy as np
import pytest
from browser import ask, browse, let_time_pass, take_picture
from paths import SHARED

import qemu_nn
from qemu_nn.api import page as pages
from qemu_nn.api.golden import example
from qemu_nn.errors import Error
from qemu_nn.exporters.page import core, document
from qemu_nn.exporters.page.image import Sections, make_image
from qemu_nn.runtime.session import Session, draw_inputs
from qemu_nn.testing.networks import FAMILIES, draw_network

DEMO = Path(qemu_nn.__file__).parent / "demo"
FOLDER = Path(document.__file__).parent

#: Runs each document's samples through every layer, and puts the bytes into the title.
RUNNER = """
<title></title><script type="application/json" id="given">@GIVEN@</script>
<script>@NETWORK@
const given = JSON.parse(document.getElementById("given").textContent);
const bytes = text => Uint8Array.from(atob(text), c => c.charCodeAt(0));
const letters = codes => Array.from(new Uint8Array(codes.buffer), b => String.fromCharCode(b));
const text = codes => btoa(letters(codes).join(""));
try {
  const module = new WebAssembly.Module(bytes(given.core));
  document.title = JSON.stringify(given.documents.map(each => {
    const network = new Network(new WebAssembly.Instance(module), each.image, bytes(each.sections));
    return each.samples.map(sample => {
      const layers = [];
      const kinds = each.image.inputs.map(tensor => KINDS[tensor.dtype]);
      const inputs = sample.map((one, i) => new kinds[i](bytes(one).buffer));
      network.run(inputs, (i, codes) => layers.push(text(codes)));
      return layers;
    });
  }));
} catch (error) { document.title = JSON.stringify(String(error)); }
</script>
"""


def encode(array):
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()


def samples_of(graph, count):
    """Return samples, each a list of arrays; a recurrent network's are its time steps."""
    drawn = draw_inputs(graph, 1 if graph.states else count, count)
    arrays = drawn if isinstance(drawn, list) else [drawn]
    return [
        [array[0, at] if graph.states else array[at] for array in arrays] for at in range(count)
    ]


def wanted(session, samples):
    """Return the bytes of every layer of every sample."""
    arrays = [np.stack(each) for each in zip(*samples)]
    if session.graph.states:
        arrays = [array[None] for array in arrays]
    found = session.run(arrays if len(arrays) > 1 else arrays[0], trace=True)
    traced = {name: (array[0] if session.graph.states else array) for name, array in found.items()}
    return [
        {node.name: traced[node.name][at].tobytes() for node in session.graph.nodes}
        for at in range(len(samples))
    ]


def run_in_browser(built, sessions, tmp_path, count=2):
    """Return the bytes of every layer of every sample, as a browser computes them and as we do."""
    documents, ours = [], []
    for session in sessions:
        sections, samples = Sections(), samples_of(session.graph, count)
        image = make_image(session.graph, session.profile, sections)
        content = b"".join(sections._parts)
        coded = [[encode(array) for array in sample] for sample in samples]
        documents.append(
            {"image": image, "sections": base64.b64encode(content).decode(), "samples": coded}
        )
        ours.append(wanted(session, samples))
    given = json.dumps({"core": base64.b64encode(built).decode(), "documents": documents})
    network = (FOLDER / "network.js").read_text("utf-8")
    text = RUNNER.replace("@NETWORK@", network).replace("@GIVEN@", given.replace("<", "\\u003c"))
    (tmp_path / "run.html").write_text(text, encoding="utf-8")
    dumped = browse(tmp_path / "run.html", "--dump-dom")
    told = json.loads(html.unescape(re.search(r"<title>(.*?)</title>", dumped, re.S)[1]))
    assert isinstance(told, list), told
    theirs = [
        [
            {
                step["layer"]: base64.b64decode(code)
                for step, code in zip(one["image"]["steps"], codes)
            }
            for codes in samples
        ]
        for one, samples in zip(documents, told)
    ]
    return theirs, ours


def assert_equal(theirs, ours, names):
    for name, network, own in zip(names, theirs, ours):
        for sample, want in zip(network, own):
            differing = [layer for layer in want if sample[layer] != want[layer]]
            assert sample.keys() == want.keys()
            assert differing == [], (name, differing)


@pytest.mark.compiles
def test_random_networks_are_equal_in_a_browser(built, tmp_path):
    drawn = [
        draw_network(Random(f"{family} {seed}"), family) for family in FAMILIES for seed in range(8)
    ]
    sessions = [Session(graph, profile, trace=True) for graph, profile in drawn]
    assert_equal(*run_in_browser(built, sessions, tmp_path), [g.name for g, _ in drawn])


@pytest.mark.compiles
def test_states_live_on_in_a_browser(built, tmp_path):
    graph, _ = lstm_networks.lstm_network(kept=True)
    session = qemu_nn.Network(graph).session(qemu_nn.Target("m4", cmsis="main-2026-07"))
    theirs, ours = run_in_browser(built, [session], tmp_path, count=4)
    assert_equal(theirs, ours, [graph.name])
    assert len({str(sample) for sample in ours[0]}) == 4


@pytest.mark.compiles
@pytest.mark.filterwarnings("ignore::qemu_nn.errors.DeviceWarning")
@pytest.mark.parametrize("chip", ["esp32", "esp32s3", "esp32p4"])
def test_networks_of_esp_dl_are_equal_in_a_browser(built, tmp_path, chip):
    networks = {
        name: qemu_nn.load(make().write(tmp_path / f"{name}.espdl"))
        for name, make in espdl_cases.CASES.items()
    }
    sessions = [network.session(chip) for network in networks.values()]
    assert_equal(*run_in_browser(built, sessions, tmp_path), networks)


@pytest.mark.compiles
@pytest.mark.skipif(not SHARED.is_dir(), reason="the recorded networks are not here")
def test_published_networks_are_equal_in_a_browser(built, tmp_path):
    paths = sorted(SHARED.glob("models_tflite*/*.tflite"))
    small = [path for path in paths if path.stat().st_size < 400_000 and "vela" not in path.name]
    sessions = [qemu_nn.load(path).session("m4") for path in small]
    assert len(sessions) > 30
    for at in range(0, len(sessions), 12):
        some, names = sessions[at : at + 12], [path.name for path in small[at : at + 12]]
        assert_equal(*run_in_browser(built, some, tmp_path, count=1), names)


@pytest.mark.compiles
def test_the_page_shows_scores_layers_and_what_differs(built, tmp_path):
    page = tmp_path / "digits.html"
    network, images, _ = example()
    qemu_nn.page(network, page, target=["m4", "m0"], data=images[:3])
    waiting = let_time_pass(page)
    for _ in range(5):
        dumped = browse(waiting, "--dump-dom")
        if "score first" in dumped:
            break
    best = int(network.session("m4").run(images[:1])["softmax"].argmax())
    scores = re.search(r'id="scores">(.*?)</section>', dumped, re.S)[1]
    assert re.search(r'class="score first"><span>(\d+)</span>', scores)[1] == str(best)
    assert dumped.count('class="layer"') == len(network.graph.nodes)
    assert (
        "m0, CMSIS 5.9.0, m0, nearest"
        in re.search(r'<select id="beside">(.*?)</select>', dumped, re.S)[1]
    )
    script = re.sub(r"<script.*?</script>", "", page.read_text("utf-8"), flags=re.S)
    assert not re.search(r"src=|href=|url\(|https?:", script)


#: Returns the colours of the graph, and the marks of layers that differ from the second device.
LOOK = """
$("beside").value = "2";
$("beside").dispatchEvent(new Event("change"));
const apart = $("apart").textContent, cards = [...document.querySelectorAll("#layers .layer")];
const marks = cards.map(card => {
  const [, second] = card.querySelectorAll(".two canvas");
  if (!second) return null;
  const { data } = second.getContext("2d").getImageData(0, 0, second.width, second.height);
  const red = (value, i) => i % 4 === 0 && value === 217 && data[i + 1] === 60;
  return data.filter(red).length;
});
const colour = $("graph").querySelector('[data-layer="2"] rect').getAttribute("fill");
$("shade").value = "0";
$("shade").dispatchEvent(new Event("change"));
const nodes = [...$("graph").querySelectorAll("[data-layer]")];
nodes[2].dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
const focused = document.activeElement.id;
const pen = document.querySelector(".pen"), before = [...inputs[0]].join();
pen.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowLeft", shiftKey: true }));
return { marks, apart, focused,
  drawn: before !== [...inputs[0]].join(),
  sqnr: cards.map(card => card.innerText.match(/SQNR (.*) dB/)?.[1]),
  colours: [colour, nodes[2].querySelector("rect").getAttribute("fill")],
  names: nodes.every(node => node.getAttribute("aria-label") && node.tabIndex === 0) };
"""


@pytest.mark.compiles
def test_two_devices_are_side_by_side_and_the_keyboard_reaches_all(built, tmp_path):
    with np.load(DEMO / "digits.npz") as arrays:
        images = arrays["x"][:2]
    network = qemu_nn.load(DEMO / "digits.tflite")
    targets = ["m4", qemu_nn.Target("m4", rounding="single")]
    qemu_nn.page(network, tmp_path / "x.html", target=targets, data=images)
    told = ask((tmp_path / "x.html").read_text("utf-8"), LOOK)
    codes = network.host.codes(images[:1])
    first, second = (network.session(each).run(codes, trace=True) for each in targets)
    names = [node.name for node in network.graph.nodes]
    apart = [int((first[name] != second[name]).sum()) for name in names]
    assert told["marks"] == [count or None for count in apart]
    assert told["apart"].startswith(f"{sum(map(bool, apart))} of {len(names)} layers differ; ")
    assert (told["focused"], told["drawn"], told["names"]) == ("layer-2", True, True)
    ratios = {layer.name: layer.whole.sqnr for layer in qemu_nn.analyze(network, images).layers}
    shown = [ratios[name] for name in names if name in ratios]
    assert [float(each) for each in told["sqnr"] if each] == pytest.approx(shown, rel=1e-3)
    assert told["colours"][0] != told["colours"][1]


#: Returns elements that are wider than their boxes.
MEASURE = """
const cut = [...document.querySelectorAll("body *")].filter(each => each.clientWidth
  && each.scrollWidth > each.clientWidth + 1 && !each.closest("svg") && !each.matches(".scroll"));
return { width: innerWidth, page: document.scrollingElement.scrollWidth,
  cut: cut.map(each => each.outerHTML.slice(0, 200)),
  back: getComputedStyle(document.body).backgroundColor,
  unnamed: [...document.querySelectorAll("input, select, textarea, .pen, svg")]
    .filter(each => !each.labels?.length && !each.getAttribute("aria-label") && !each.ariaLabel)
    .map(each => each.outerHTML.slice(0, 200)) };
"""
DARK = "--blink-settings=preferredColorScheme=0"


@pytest.mark.compiles
def test_nothing_of_the_page_is_cut_and_all_has_names(built, tmp_path):
    with np.load(DEMO / "digits.npz") as arrays:
        images = arrays["x"][:2]
    page = tmp_path / "x.html"
    qemu_nn.page(DEMO / "digits.tflite", page, target=["m4", "m55"], data=images)
    told = []
    for theme, options in (("light", ()), ("dark", (DARK,))):
        for width in (1400, 390):
            told.append(ask(page.read_text("utf-8"), MEASURE, *options, width=width))
            if "QEMU_NN_PICTURES" in os.environ:
                picture = Path(os.environ["QEMU_NN_PICTURES"]) / f"page_{theme}_{width}.png"
                take_picture(page, picture, f"--window-size={width},2400", *options)
    assert [each["width"] for each in told] == [1400, 390] * 2
    assert all(each["page"] <= each["width"] for each in told)
    assert all(each["cut"] == each["unnamed"] == [] for each in told)
    assert told[0]["back"] != told[2]["back"]


def test_equal_weights_are_stored_once():
    network, _, _ = example()
    sections = Sections()
    first = make_image(network.graph, network.profile("m4"), sections)
    size = sections.size
    second = make_image(network.graph, network.profile("m4"), sections)
    assert (first, sections.size) == (second, size)


def test_rows_of_a_page_need_no_instruction_set():
    network, _, _ = example()
    image = make_image(network.graph, network.profile("m4"), Sections())
    kinds = {step["row"][2] for step in image["steps"]}
    assert not [symbol for symbol in kinds if re.search("avx|amx|neon|i8mm", symbol)]


def test_an_old_core_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(core, "CORE", tmp_path / "core.wasm")
    core.read_core.cache_clear()
    with pytest.raises(Error, match=r"no WebAssembly core: pip install '\.\[page\]'"):
        core.read_core()
    (tmp_path / "core.wasm").write_bytes(b"\0asm of other sources")
    with pytest.raises(Error, match="of other sources than csrc"):
        core.read_core()
    core.read_core.cache_clear()


def test_names_of_files_are_no_markup(monkeypatch, tmp_path):
    monkeypatch.setattr(document, "read_core", lambda: b"\0asm")
    network, _, _ = example()
    graph = network.graph
    named = type(graph)(
        "</script><b>", *(getattr(graph, n) for n in ("inputs", "nodes", "outputs", "arrays"))
    )
    qemu_nn.page(qemu_nn.Network(named), tmp_path / "x.html")
    page = (tmp_path / "x.html").read_text("utf-8")
    assert "<b>" not in page
    assert page.count("</script>") == 2


def test_a_generator_of_samples_is_read_once(monkeypatch, tmp_path):
    monkeypatch.setattr(document, "read_core", lambda: b"\0asm")
    network, images, _ = example()
    qemu_nn.page(network, tmp_path / "x.html", data=(image[None] for image in images[:3]))
    assert (tmp_path / "x.html").read_text("utf-8").count('"inputs":["') == 3


def test_what_a_page_cannot_do_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setattr(document, "read_core", lambda: b"\0asm")
    network, _, _ = example()
    with pytest.raises(Error, match="target names no device"):
        qemu_nn.page(network, tmp_path / "x.html", target=[])
    with pytest.raises(Error, match="page"):
        pages.page(network, tmp_path / "none" / "x.html")
    assert list(tmp_path.iterdir()) == []
