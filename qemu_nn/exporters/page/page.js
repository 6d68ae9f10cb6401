/* The page: inputs, sound, outputs, layers, chips and the graph. network.js and sound.js come first. */

const $ = id => document.getElementById(id);
const doc = JSON.parse($("document").textContent);
const number = value => Number(value.toPrecision(4)).toLocaleString("en");
let networks = [], fronts = [], inputs = [], sections, heard = null;

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key in made && key !== "list") made[key] = value; else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

function options(select, names) {
  select.replaceChildren(...names.map((name, i) => element("option", { value: i, textContent: name })));
}

async function inflate(text) {
  const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/* ---- inputs ---- */

const isImage = tensor => tensor.shape.length === 3 && [1, 3, 4].includes(tensor.shape[2]) &&
  tensor.shape[0] >= 8 && tensor.shape[1] >= 8;

/* Ranges that pixels of 0 to 255 may have as real inputs: (pixel * scale - mean) / std. */
const RANGES = [["0 to 1", 1 / 255, 0, 1], ["-1 to 1", 2 / 255, 1, 1], ["0 to 255", 1, 0, 1],
  ["codes of -128 to 127", 1, 128, 1]];

function ranges() {
  const own = doc.preprocessing;
  return own ? [["as the network says", own.scale, own.mean, own.std], ...RANGES] : RANGES;
}

/* Return the range that fits the codes of an input best. */
function likelyRange(tensor) {
  if (doc.preprocessing) return 0;
  if (tensor.scale === null) return 2;
  const high = real(255 + (tensor.dtype === "int8" ? -128 : 0), tensor);
  const low = real(tensor.dtype === "int8" ? -128 : 0, tensor);
  return high > 64 ? (low < -64 ? 3 : 2) : low < -0.5 ? 1 : 0;
}

function imageInput(tensor, at) {
  const [rows, columns, channels] = tensor.shape;
  const pen = element("canvas", { width: columns, height: rows, className: "pen", tabIndex: 0,
    role: "application",
    ariaLabel: `input ${tensor.name}: draw with the mouse, or move with arrows and draw with Shift; or drop an image` });
  pen.style.aspectRatio = `${columns} / ${rows}`;
  const brush = pen.getContext("2d", { willReadFrequently: true });
  const range = element("select");
  options(range, ranges().map(each => each[0]));
  range.value = likelyRange(tensor);
  const use = () => {
    const pixels = brush.getImageData(0, 0, columns, rows).data, [, scale, mean, std] = ranges()[range.value];
    const pick = (list, c) => Array.isArray(list) ? list[c % list.length] : list;
    const values = new Float64Array(count(tensor));
    for (let i = 0; i < rows * columns; i++) for (let c = 0; c < channels; c++) {
      const raw = channels === 1
        ? Math.round(0.299 * pixels[4 * i] + 0.587 * pixels[4 * i + 1] + 0.114 * pixels[4 * i + 2])
        : pixels[4 * i + c];
      values[i * channels + c] = (raw * pick(scale, c) - pick(mean, c)) / pick(std, c);
    }
    give(at, quantize(values, tensor));
  };
  const clear = () => { brush.fillStyle = "#000"; brush.fillRect(0, 0, columns, rows); use(); };
  const load = async file => {
    const picture = await createImageBitmap(file);
    brush.drawImage(picture, 0, 0, columns, rows);
    use();
  };
  const draw = event => {
    if (!event.buttons) return;
    const box = pen.getBoundingClientRect(), width = Math.max(columns, rows) / 12;
    brush.fillStyle = "#fff";
    brush.beginPath();
    brush.arc((event.clientX - box.left) / box.width * columns, (event.clientY - box.top) / box.height * rows,
      width / 2, 0, 7);
    brush.fill();
    use();
  };
  const spot = { x: columns / 2, y: rows / 2 };
  pen.addEventListener("keydown", event => { /* arrows move a brush; Shift and an arrow draw, as does Space */
    const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!move && event.key !== " ") return;
    event.preventDefault();
    const [x, y] = move ?? [0, 0];
    spot.x = Math.max(0, Math.min(columns - 1, spot.x + x));
    spot.y = Math.max(0, Math.min(rows - 1, spot.y + y));
    where.textContent = `brush at column ${Math.floor(spot.x)}, row ${Math.floor(spot.y)}`;
    if (move && !event.shiftKey) return;
    brush.fillStyle = "#fff";
    brush.fillRect(Math.floor(spot.x), Math.floor(spot.y), Math.ceil(columns / 24), Math.ceil(rows / 24));
    use();
  });
  const where = element("p", { role: "status" });
  pen.addEventListener("pointerdown", draw);
  pen.addEventListener("pointermove", draw);
  pen.addEventListener("dragover", event => { event.preventDefault(); pen.classList.add("drop"); });
  pen.addEventListener("dragleave", () => pen.classList.remove("drop"));
  pen.addEventListener("drop", event => {
    event.preventDefault();
    pen.classList.remove("drop");
    if (event.dataTransfer.files[0]) load(event.dataTransfer.files[0]);
  });
  range.addEventListener("change", use);
  const file = element("input", { type: "file", accept: "image/*" });
  file.addEventListener("change", () => file.files[0] && load(file.files[0]));
  const show = codes => { /* a sample of codes: shown as gray or colour over the range of the type */
    const image = brush.createImageData(columns, rows), low = tensor.dtype === "int8" ? 128 : 0;
    for (let i = 0; i < rows * columns; i++) {
      for (let c = 0; c < 3; c++) {
        const code = Number(codes[i * channels + Math.min(c, channels - 1)]);
        image.data[4 * i + c] = tensor.dtype === "int16" ? code / 256 + 128 : code + low;
      }
      image.data[4 * i + 3] = 255;
    }
    brush.putImageData(image, 0, 0);
  };
  const tools = element("div", { className: "tools" },
    element("label", {}, "pixels as ", range), element("label", {}, "image ", file),
    element("button", { textContent: "Clear", onclick: clear }));
  brush.fillStyle = "#000";
  brush.fillRect(0, 0, columns, rows);
  return [[pen, where, tools], show];
}

function numberInput(tensor, at) {
  const text = element("textarea", { ariaLabel: `numbers of ${tensor.name}`, spellcheck: false });
  const kind = element("select");
  options(kind, tensor.scale === null ? ["values"] : ["codes", "real numbers"]);
  const said = element("p", { role: "status" });
  const use = () => {
    const values = text.value.split(/[\s,;\[\]]+/).filter(word => word).map(Number);
    if (values.length !== count(tensor) || values.some(Number.isNaN)) {
      said.textContent = `${values.length} numbers are given; ${tensor.name} has ${count(tensor)}` +
        ` (${tensor.shape.join(" x ")})`;
      return;
    }
    said.textContent = "";
    const large = tensor.dtype.endsWith("int64");
    give(at, kind.value === "1" ? quantize(values, tensor)
      : KINDS[tensor.dtype].from(large ? values.map(BigInt) : values));
  };
  const file = element("input", { type: "file", accept: ".csv,.txt,text/*" });
  file.addEventListener("change", async () => { text.value = await file.files[0].text(); use(); });
  const show = codes => { text.value = codes.join(" "); kind.value = "0"; };
  return [[element("label", {}, `${tensor.name}, ${tensor.shape.join(" x ")} ${tensor.dtype}`), text,
    element("div", { className: "tools" }, element("label", {}, "as ", kind),
      element("label", {}, "file ", file),
      element("button", { textContent: "Run", onclick: use })), said], show];
}

/* Return codes that are spread over a type, the same for the same seed. */
function draw(tensor, seed) {
  const kind = KINDS[tensor.dtype], codes = new kind(count(tensor)), large = tensor.dtype.endsWith("int64");
  for (let i = 0, state = seed; i < codes.length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    codes[i] = tensor.dtype.startsWith("float") ? state / 2 ** 31 - 1 : large ? BigInt(state >>> 28) : state >>> 16;
  }
  return codes;
}

/* Compute with other codes of an input. */
function give(at, codes) {
  forget();
  inputs[at] = codes;
  run();
}

function buildInputs() {
  const shows = [], tensors = doc.plans[0].inputs;
  $("input").replaceChildren();
  tensors.forEach((tensor, at) => {
    const [parts, show] = (isImage(tensor) ? imageInput : numberInput)(tensor, at);
    shows.push(show);
    $("input").append(...parts);
  });
  if (doc.sound) $("input").append(...soundInput(tensors[0], codes => shows[0](codes)));
  const put = all => { forget(); inputs = all; all.forEach((codes, i) => shows[i](codes)); run(); };
  let seed = 1, begin = () => put(tensors.map(tensor => draw(tensor, seed++)));
  const tools = element("div", { className: "tools" });
  if (doc.samples.length) {
    const sample = element("select");
    options(sample, doc.samples.map(each => each.name));
    const pick = () => put(doc.samples[sample.value].inputs.map((text, i) => {
      const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0));
      return new KINDS[tensors[i].dtype](bytes.buffer);
    }));
    sample.addEventListener("change", pick);
    tools.append(element("label", {}, "sample ", sample));
    begin = pick;
  }
  tools.append(element("button", { textContent: "Random", onclick: () => put(tensors.map(t => draw(t, seed++))) }));
  if (doc.plans[0].states.length) {
    tools.append(element("button", { textContent: "Reset states",
      onclick: () => { forget(); networks.forEach(network => network.reset()); run(); } }));
  }
  $("input").append(tools);
  begin();
}

/* ---- sound ---- */

/* Forget a recording, whose steps the page shows. */
function forget() {
  heard = null;
  $("curve").replaceChildren();
}

function soundInput(tensor, show) {
  const said = element("p", { role: "status", id: "heard" });
  const tell = work => work.catch(error => { said.textContent = error.message; });
  const hear = (samples, note) => {
    const steps = fronts[$("device").value].hear(samples, tensor);
    const seconds = `${number(samples.length / doc.sound.rate)} s, ${steps.length} inputs of the network`;
    said.textContent = [seconds, note].filter(Boolean).join("; ");
    if (!steps.length) {
      said.textContent = `${samples.length} samples; the first input needs ${doc.sound.first}`;
      return;
    }
    heard = { samples, steps, note, tracks: new Map() };
    play(show);
  };
  const open = async file => {
    let found = {};
    try { found = readWav(await file.arrayBuffer()); } catch { /* another format, which the browser may know */ }
    if (found.kind === 1 && found.channels === 1 && found.bits === 16 && found.rate === doc.sound.rate) {
      hear(found.samples, "");
    } else {
      hear(await decodeSound(file), `this browser converted it to ${doc.sound.rate} Hz, mono; predict takes such WAV files alone`);
    }
  };
  const file = element("input", { type: "file", accept: ".wav,audio/*" });
  file.addEventListener("change", () => file.files[0] && tell(open(file.files[0])));
  const button = element("button", { textContent: "Record" });
  let recorder = null;
  button.addEventListener("click", () => {
    if (recorder) return recorder.stop();
    tell(record(blob => {
      recorder = null;
      button.textContent = "Record";
      tell(decodeSound(blob).then(samples => hear(samples, "recorded")));
    }).then(made => {
      recorder = made;
      button.textContent = "Stop";
      said.textContent = "recording";
    }));
  });
  const box = element("div", { className: "sound" }, element("h3", { textContent: "Sound" }),
    element("p", { textContent: `WAV of ${doc.sound.rate} Hz, mono, 16 bits: choose it, drop it here, or record` }),
    element("div", { className: "tools" }, element("label", {}, "WAV file ", file), button), said);
  box.addEventListener("dragover", event => { event.preventDefault(); box.classList.add("drop"); });
  box.addEventListener("dragleave", () => box.classList.remove("drop"));
  box.addEventListener("drop", event => {
    event.preventDefault();
    box.classList.remove("drop");
    if (event.dataTransfer.files[0]) tell(open(event.dataTransfer.files[0]));
  });
  hearAgain = () => heard && hear(heard.samples, heard.note);
  return [box];
}

let hearAgain = () => null;

/* Record from the microphone; done gets the recording when stop() of the returned recorder is called. */
async function record(done) {
  const audio = { channelCount: 1, echoCancellation: false, noiseSuppression: false, autoGainControl: false };
  const stream = await navigator.mediaDevices.getUserMedia({ audio });
  const recorder = new MediaRecorder(stream), parts = [];
  recorder.addEventListener("dataavailable", event => parts.push(event.data));
  recorder.addEventListener("stop", () => {
    stream.getTracks().forEach(track => track.stop());
    done(new Blob(parts));
  });
  recorder.start();
  return recorder;
}

/* Return the samples of a sound that the browser can decode, at the rate of the front end. */
async function decodeSound(blob) {
  const context = new OfflineAudioContext(1, 1, doc.sound.rate);
  const sound = await context.decodeAudioData(await blob.arrayBuffer()), mixed = new Float32Array(sound.length);
  for (let c = 0; c < sound.numberOfChannels; c++) {
    sound.getChannelData(c).forEach((value, i) => { mixed[i] += value / sound.numberOfChannels; });
  }
  return toSamples(mixed);
}

/* Return a network's states before each step of the recording, and its outputs after it. */
function track(index) {
  if (!heard.tracks.has(index)) {
    const network = networks[index], states = [], outputs = [];
    network.reset();
    for (const codes of heard.steps) {
      states.push(network.states);
      outputs.push(network.run([codes]));
    }
    heard.tracks.set(index, { states, outputs });
  }
  return heard.tracks.get(index);
}

/* Show the scores over a recording, and the step at which one is largest. */
function play(show) {
  const plan = doc.plans[$("device").value], { outputs } = track(Number($("device").value)), { first, every, rate } = doc.sound;
  const name = plan.outputs[plan.outputs.length - 1], tensor = plan.steps.find(step => step.layer === name).output;
  const scores = outputs.map(each => Array.from(each[name], code => real(code, tensor)));
  const seconds = step => (first + step * every) / rate, classes = namesOf(plan, scores[0].length, name);
  const peaks = scores[0].map((_, c) => scores.reduce((best, row, i) => row[c] > scores[best][c] ? i : best, 0));
  const shown = [...peaks.keys()].sort((a, b) => scores[peaks[b]][b] - scores[peaks[a]][a]).slice(0, SHADES_OF_LINES.length);
  const slider = element("input", { type: "range", min: 0, max: heard.steps.length - 1, ariaLabel: "time" });
  const line = element("output");
  const go = () => {
    const at = Number(slider.value);
    line.textContent = `${seconds(at).toFixed(2)} s, input ${at + 1} of ${heard.steps.length}`;
    $("curve").querySelector(".now")?.setAttribute("transform", `translate(${placeOf(at, heard.steps.length)} 0)`);
    heard.at = at;
    inputs = [heard.steps[at]];
    show(inputs[0]);
    run();
  };
  slider.addEventListener("input", go);
  const told = shown.map(c => `${classes[c]}: largest ${number(scores[peaks[c]][c])} at ${seconds(peaks[c]).toFixed(2)} s`);
  const chart = element("div", { className: "scroll" });
  chart.innerHTML = drawCurves(scores, shown, classes, seconds, told.join("; "));
  $("curve").replaceChildren(element("h3", { textContent: "Scores over time" }), chart,
    element("p", { textContent: told.slice(0, 5).join("; ") }),
    element("div", { className: "tools" }, element("label", {}, "time ", slider), line));
  slider.value = peaks[shown[0]];
  go();
}

const SHADES_OF_LINES = ["#4c83d6", "#d9603b", "#3f9b62", "#a45cc4", "#b3871f", "#c2437c"];
const placeOf = (step, steps) => 50 + 640 * (steps > 1 ? step / (steps - 1) : 0.5);

function drawCurves(scores, shown, classes, seconds, told) {
  const values = scores.flatMap(row => shown.map(c => row[c]));
  const low = values.reduce((a, b) => Math.min(a, b), 0), high = values.reduce((a, b) => Math.max(a, b), low + 1e-9);
  const height = value => 160 - 140 * (value - low) / (high - low), last = scores.length - 1;
  const lines = shown.map((c, i) => `<polyline fill="none" stroke-width="2" stroke="${SHADES_OF_LINES[i]}" points="` +
    `${scores.map((row, t) => `${placeOf(t, scores.length).toFixed(1)},${height(row[c]).toFixed(1)}`).join(" ")}"/>`);
  const names = shown.map((c, i) => `<text x="${50 + 110 * i}" y="200" style="fill:${SHADES_OF_LINES[i]}">${escapeText(classes[c].slice(0, 16))}</text>`);
  const text = (x, y, value, anchor) => `<text x="${x}" y="${y}" text-anchor="${anchor}">${value}</text>`;
  return `<svg class="curves" role="img" aria-label="${escapeText(told)}" viewBox="0 0 700 206" width="700">` +
    `<path d="M50 20 V160 H690"/><line class="now" x1="0" x2="0" y1="16" y2="164"/>${lines.join("")}${names.join("")}` +
    text(44, 26, number(high), "end") + text(44, 164, number(low), "end") +
    text(50, 178, `${seconds(0).toFixed(2)} s`, "start") + text(690, 178, `${seconds(last).toFixed(2)} s`, "end") + "</svg>";
}

const escapeText = value => element("span", { textContent: value }).innerHTML.replaceAll('"', "&quot;");
const namesOf = (plan, size, output) => plan.classes.length === size ? plan.classes
  : size === 1 ? [output] : Array.from({ length: size }, (_, i) => String(i));

/* ---- a run ---- */

/* Compute the inputs on a device; see gets each layer's codes. */
function compute(index, see) {
  if (heard) networks[index].states = track(index).states[heard.at];
  return networks[index].run(inputs, see);
}

function run() {
  const index = Number($("device").value), beside = Number($("beside").value) - 1;
  const plan = doc.plans[index], second = doc.plans[beside];
  const values = [], others = new Map();
  const started = performance.now();
  let outputs, otherOutputs = null;
  try {
    outputs = compute(index, (i, codes) => values.push(codes));
  } catch (error) {
    $("took").textContent = error.message;
    return;
  }
  const took = performance.now() - started;
  if (second) otherOutputs = compute(beside, (i, codes) => others.set(second.steps[i].layer, codes));
  $("took").textContent = `computed in ${number(took)} ms by this browser`;
  showScores(plan, outputs, otherOutputs);
  showLayers(plan, values, others, second);
}

function showScores(plan, outputs, others) {
  const parts = [];
  for (const name of plan.outputs) {
    const tensor = plan.steps.find(step => step.layer === name).output, codes = outputs[name];
    const labels = namesOf(plan, codes.length, name);
    const all = Array.from(codes, (code, i) => ({ code, value: real(code, tensor), label: labels[i], other: others?.[name]?.[i] }));
    const ranked = codes.length > 1 ? all.sort((a, b) => b.value - a.value).slice(0, 10) : all;
    const low = Math.min(0, ...ranked.map(each => each.value)), high = Math.max(...ranked.map(each => each.value));
    if (plan.outputs.length > 1) parts.push(element("h3", { textContent: name }));
    ranked.forEach(({ code, value, label, other }, rank) => {
      const bar = element("i");
      bar.style.width = `${100 * (value - low) / (high - low || 1)}%`;
      const said = element("span", { textContent: `${number(value)} (code ${code})` });
      if (other !== undefined && other !== code) {
        said.append(element("span", { className: "wrong", textContent: `, other: ${other}` }));
      }
      parts.push(element("div", { className: rank ? "score" : "score first" }, element("span", { textContent: label }),
        element("span", {}, bar), said));
    });
    if (all.length > ranked.length) parts.push(element("p", { textContent: `the 10 largest of ${all.length}` }));
  }
  $("scores").replaceChildren(...parts);
}

/* ---- layers ---- */

/* Return the range of codes, and the count at the ends of the type. */
function measure(codes, dtype) {
  const numbers = Float64Array.from(codes, Number), bits = 8 * codes.BYTES_PER_ELEMENT;
  const integer = !dtype.startsWith("float"), unsigned = dtype[0] === "u";
  const most = 2 ** (bits - (unsigned ? 0 : 1)) - 1, least = unsigned ? 0 : -most - 1;
  let low = Infinity, high = -Infinity, saturated = 0;
  for (const value of numbers) {
    low = Math.min(low, value);
    high = Math.max(high, value);
    saturated += integer && (value === most || value === least);
  }
  return { numbers, low, high, saturated };
}

function showLayers(plan, values, others, second) {
  let wrong = 0, compared = 0, first = "";
  const cards = plan.steps.map((step, i) => {
    const tensor = step.output, { numbers, low, high, saturated } = measure(values[i], tensor.dtype);
    const other = others.get(step.layer), apart = new Set();
    other?.forEach((code, n) => code !== values[i][n] && apart.add(n));
    if (other) compared++;
    if (apart.size && !wrong++) first = step.layer;
    const share = number(100 * saturated / numbers.length), sqnr = plan.sqnr?.[i];
    const card = element("div", { className: apart.size ? "layer differs" : "layer", id: `layer-${i}`, tabIndex: -1 },
      element("h3", { textContent: step.layer }),
      element("small", { textContent: `${step.function}, ${tensor.shape.join(" x ")} ${tensor.dtype}` }));
    const pictures = element("div", { className: "two" }, picture(tensor.shape, numbers, low, high, new Set()));
    if (apart.size) pictures.append(picture(tensor.shape, measure(other, tensor.dtype).numbers, low, high, apart));
    card.append(pictures, histogram(numbers, low, high),
      element("small", { textContent: `codes ${number(low)} to ${number(high)}; ${share} % at the ends of ${tensor.dtype}` +
        (sqnr === null || sqnr === undefined ? "" : `; SQNR ${number(sqnr)} dB`) }));
    if (other) {
      card.append(element("small", { className: apart.size ? "wrong" : "",
        textContent: apart.size ? `${apart.size} of ${numbers.length} differ, marked in the second image` : "equal" }));
    }
    return card;
  });
  $("apart").textContent = !second ? "" : wrong
    ? `${wrong} of ${compared} layers differ; the first is ${first}` : `all ${compared} layers are equal`;
  $("layers").replaceChildren(...cards);
}

/* Return the channels of a layer as an image; marked: indices of codes to show in red. */
function picture(shape, numbers, low, high, marked) {
  const sides = shape.length >= 3 ? shape.slice(-3) : [1, Math.min(64, numbers.length), 1];
  let [rows, columns, channels] = sides;
  if (rows * columns === 1) [rows, columns, channels] = [Math.ceil(channels / 32), Math.min(32, channels), 1];
  if (shape.length < 3) rows = Math.min(64, Math.ceil(numbers.length / columns));
  const shown = Math.min(channels, 64), across = Math.ceil(Math.sqrt(shown * rows / columns)) || 1;
  const down = Math.ceil(shown / across), gap = shown > 1 ? 1 : 0;
  const canvas = element("canvas", { width: across * (columns + gap), height: down * (rows + gap), ariaHidden: true });
  const brush = canvas.getContext("2d"), image = brush.createImageData(canvas.width, canvas.height);
  const scale = 255 / (high - low || 1);
  for (let c = 0; c < shown; c++) for (let y = 0; y < rows; y++) for (let x = 0; x < columns; x++) {
    const n = (y * columns + x) * channels + c, value = numbers[n];
    if (value === undefined) continue;
    const at = 4 * ((Math.floor(c / across) * (rows + gap) + y) * canvas.width + (c % across) * (columns + gap) + x);
    const shade = (value - low) * scale;
    image.data.set(marked.has(n) ? [217, 60, 20, 255] : [shade, shade, shade, 255], at);
  }
  brush.putImageData(image, 0, 0);
  const zoom = Math.min(24, Math.max(1, Math.floor(220 / canvas.width)));
  canvas.style.width = `${Math.min(220, canvas.width * zoom)}px`;
  return canvas;
}

function histogram(numbers, low, high) {
  const bins = new Array(64).fill(0), width = (high - low) / 64 || 1;
  for (const value of numbers) bins[Math.min(63, Math.floor((value - low) / width))]++;
  const most = Math.max(...bins), canvas = element("canvas", { width: 192, height: 40, ariaHidden: true });
  const brush = canvas.getContext("2d");
  brush.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--bar");
  bins.forEach((size, i) => brush.fillRect(3 * i, 40 - 40 * size / most, 2, 40 * size / most));
  return canvas;
}

/* ---- chips and the graph ---- */

function showCost() {
  const plan = doc.plans[$("device").value], chip = doc.chips[$("chip").value];
  const timed = plan.cycles[chip.core], facts = { core: chip.core, clock: `${chip.clock} MHz` };
  const fits = (bytes, kib) => `${bytes.toLocaleString("en")} of ${(kib * 1024).toLocaleString("en")} bytes` +
    (kib && bytes > kib * 1024 ? ": too large" : "");
  facts["flash of weights"] = fits(plan.flash, chip.flash);
  facts["RAM of tensors"] = fits(plan.ram, chip.ram);
  if (timed) {
    facts.cycles = `${timed.total[1].toLocaleString("en")} (${timed.total[0].toLocaleString("en")} to ` +
      `${timed.total[2].toLocaleString("en")})`;
    if (chip.clock) facts.time = `${number(timed.total[1] / chip.clock / 1000)} ms`;
    if (timed.unknown.length) facts["not counted"] = timed.unknown.join(", ");
  } else {
    facts.cycles = "not known for this core";
  }
  $("cost").replaceChildren(...Object.entries(facts).map(([name, value]) =>
    element("div", {}, element("dt", { textContent: name }), element("dd", { textContent: value }))));
  $("cycles").innerHTML = timed ? timed.chart : "";
  $("memory").innerHTML = plan.memory;
  showGraph();
}

/* Figures by which the graph is coloured: name, and the figure of a step. */
function listShades(plan, timed) {
  const size = step => count(step.output) * KINDS[step.output.dtype].BYTES_PER_ELEMENT;
  const shades = [["cycles (time)", i => timed?.layers[i] ?? null], ["bytes of output (memory)", i => size(plan.steps[i])],
    ["bytes of weights (flash)", i => plan.steps[i].weight_bytes]];
  if (plan.sqnr) shades.push(["dB of SQNR, low is dark", i => plan.sqnr[i]]);
  return shades;
}

/* Return where each layer of a graph is drawn: below all that it reads. */
function arrange(plan) {
  const depth = new Map(), used = [], places = new Map();
  plan.inputs.forEach((tensor, i) => { depth.set(tensor.name, 0); places.set(tensor.name, [i * 250, 0]); used[0] = i + 1; });
  plan.steps.forEach(step => {
    const row = 1 + Math.max(0, ...step.reads.map(name => depth.get(name) ?? 0));
    depth.set(step.layer, row);
    used[row] = (used[row] ?? 0) + 1;
    places.set(step.layer, [(used[row] - 1) * 250, row * 46]);
  });
  return { places, width: 250 * Math.max(...used.map(n => n ?? 0)), height: 46 * used.length };
}

function showGraph() {
  const plan = doc.plans[$("device").value], timed = plan.cycles[doc.chips[$("chip").value].core];
  const [unit, weigh] = listShades(plan, timed)[$("shade").value], weights = plan.steps.map((step, i) => weigh(i));
  const known = weights.filter(value => value !== null), most = Math.max(...known, 0), least = Math.min(...known, most);
  const share = value => value === null ? 0 : unit.startsWith("dB") ? (most - value) / (most - least || 1) : value / (most || 1);
  const { places, width, height } = arrange(plan);
  const lines = plan.steps.flatMap(step => step.reads.filter(name => places.has(name)).map(name => {
    const [x, y] = places.get(name), [to, below] = places.get(step.layer);
    return `<path d="M${x + 115} ${y + 30} C${x + 115} ${y + 40} ${to + 115} ${below - 10} ${to + 115} ${below}"/>`;
  }));
  const draw = ([name, [x, y]]) => {
    const i = plan.steps.findIndex(step => step.layer === name), part = i < 0 ? 0 : share(weights[i]);
    const said = i < 0 ? "input" : `${plan.steps[i].function}: ` +
      (weights[i] === null ? `${unit} not known` : `${number(weights[i])} ${unit}`);
    const short = name.length > 34 ? `…${name.slice(-33)}` : name, link = i < 0 ? "" : ` tabindex="0" role="link" data-layer="${i}"`;
    return `<g${link} aria-label="${escapeText(`${name}: ${said}`)}"><title>${escapeText(`${name}: ${said}`)}</title>` +
      `<rect x="${x + 2}" y="${y + 2}" width="226" height="28" rx="5" fill="rgb(${255 - 130 * part},${255 - 80 * part},255)"/>` +
      `<text x="${x + 9}" y="${y + 20}">${escapeText(short)}</text></g>`;
  };
  $("graph").innerHTML = `<svg class="graph" role="group" aria-label="layers and what they read" viewBox="0 0 ${width} ${height}"` +
    ` width="${width}" style="max-width:none">${lines.join("")}${[...places].map(draw).join("")}</svg>`;
  $("legend").textContent = known.length
    ? `pale: ${number(unit.startsWith("dB") ? most : 0)}, dark: ${number(unit.startsWith("dB") ? least : most)} ${unit.split(/[ ,]/)[0]}` : "";
}

/* Show the card of a layer that is chosen in the graph. */
function follow(event) {
  const chosen = event.target.closest("[data-layer]");
  if (!chosen || (event.type === "keydown" && event.key !== "Enter")) return;
  const card = $(`layer-${chosen.dataset.layer}`);
  card.scrollIntoView({ block: "center" });
  card.focus();
}

function choose() {
  $("warnings").textContent = doc.plans[$("device").value].warnings.join(" ");
  showCost();
  if (heard) hearAgain(); else if (inputs.length) run();
}

async function start() {
  sections = await inflate(doc.sections);
  const module = await WebAssembly.compile(await inflate(doc.core));
  for (const plan of doc.plans) {
    const make = async image => new Network(await WebAssembly.instantiate(module), image, sections);
    networks.push(await make(plan));
    const stages = await Promise.all(plan.front.map(async stage => ({ ...stage, network: await make(stage.image) })));
    if (doc.sound) fronts.push(new FrontEnd(doc.sound, stages, sections));
  }
  options($("device"), doc.plans.map(plan => plan.target));
  options($("beside"), ["nothing", ...doc.plans.map(plan => plan.target)]);
  options($("chip"), doc.chips.map(chip => `${chip.name} (${chip.core})`));
  $("chip").value = Math.max(0, doc.chips.findIndex(chip => chip.core === doc.plans[0].core));
  options($("shade"), listShades(doc.plans[0]).map(each => each[0]));
  $("shade").value = doc.plans[0].sqnr ? 3 : 0;
  $("device").addEventListener("change", choose);
  $("beside").addEventListener("change", run);
  $("chip").addEventListener("change", showCost);
  $("shade").addEventListener("change", showGraph);
  ["click", "keydown"].forEach(kind => $("graph").addEventListener(kind, follow));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => inputs.length && run());
  buildInputs();
  choose();
}

start().catch(error => { $("took").textContent = `The page cannot run here: ${error.message}`; });
