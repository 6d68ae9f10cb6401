/* The page: inputs, outputs, layers, chips and the graph. network.js stands before it. */

const $ = id => document.getElementById(id);
const doc = JSON.parse($("document").textContent);
const number = value => Number(value.toPrecision(4)).toLocaleString("en");
let networks = [], inputs = [], sections;

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
    role: "img", ariaLabel: `input ${tensor.name}: draw here, or drop a picture` });
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
    inputs[at] = quantize(values, tensor);
    run();
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
    element("label", {}, "pixels as ", range), element("label", {}, "picture ", file),
    element("button", { textContent: "Clear", onclick: clear }));
  brush.fillStyle = "#000";
  brush.fillRect(0, 0, columns, rows);
  return [[pen, tools], show];
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
    inputs[at] = kind.value === "1" ? quantize(values, tensor)
      : KINDS[tensor.dtype].from(large ? values.map(BigInt) : values);
    run();
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

function buildInputs() {
  const shows = [], tensors = doc.plans[0].inputs;
  $("input").replaceChildren();
  tensors.forEach((tensor, at) => {
    const [parts, show] = (isImage(tensor) ? imageInput : numberInput)(tensor, at);
    shows.push(show);
    $("input").append(...parts);
  });
  const put = all => { inputs = all; all.forEach((codes, i) => shows[i](codes)); run(); };
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
      onclick: () => { networks.forEach(network => network.reset()); run(); } }));
  }
  $("input").append(tools);
  begin();
}

/* ---- a run ---- */

function run() {
  const plan = doc.plans[$("device").value], second = doc.plans[$("beside").value - 1];
  const values = [], others = new Map();
  const started = performance.now();
  let outputs;
  try {
    outputs = networks[$("device").value].run(inputs, (i, codes) => values.push(codes));
  } catch (error) {
    $("took").textContent = error.message;
    return;
  }
  const took = performance.now() - started;
  if (second) {
    networks[$("beside").value - 1].run(inputs, (i, codes) => others.set(second.steps[i].layer, codes));
  }
  $("took").textContent = `computed in ${number(took)} ms by this browser`;
  showScores(plan, outputs);
  showLayers(plan, values, others);
}

function showScores(plan, outputs) {
  const parts = [];
  for (const name of plan.outputs) {
    const tensor = plan.steps.find(step => step.layer === name).output, codes = outputs[name];
    const labels = plan.classes.length === codes.length ? plan.classes : [...codes.keys()].map(String);
    const all = Array.from(codes, (code, i) => ({ code, value: real(code, tensor), label: labels[i] }));
    const ranked = codes.length > 1 ? all.sort((a, b) => b.value - a.value).slice(0, 10) : all;
    const low = Math.min(0, ...ranked.map(each => each.value)), high = Math.max(...ranked.map(each => each.value));
    if (plan.outputs.length > 1) parts.push(element("h3", { textContent: name }));
    ranked.forEach(({ code, value, label }, rank) => {
      const bar = element("i");
      bar.style.width = `${100 * (value - low) / (high - low || 1)}%`;
      parts.push(element("div", { className: rank ? "score" : "score first" }, element("span", { textContent: label }),
        element("span", {}, bar), element("span", { textContent: `${number(value)} (code ${code})` })));
    });
    if (codes.length > 10) parts.push(element("p", { textContent: `the 10 largest of ${codes.length}` }));
  }
  $("scores").replaceChildren(...parts);
}

/* ---- layers ---- */

function showLayers(plan, values, others) {
  let wrong = 0, compared = 0, first = "";
  const cards = plan.steps.map((step, i) => {
    const codes = values[i], tensor = step.output, other = others.get(step.layer);
    const numbers = Float64Array.from(codes, Number);
    let low = Infinity, high = -Infinity, saturated = 0, differ = 0;
    const bits = 8 * codes.BYTES_PER_ELEMENT, integer = !tensor.dtype.startsWith("float");
    const most = 2 ** (bits - (tensor.dtype[0] === "u" ? 0 : 1)) - 1, least = tensor.dtype[0] === "u" ? 0 : -most - 1;
    for (let n = 0; n < numbers.length; n++) {
      low = Math.min(low, numbers[n]);
      high = Math.max(high, numbers[n]);
      saturated += integer && (numbers[n] === most || numbers[n] === least);
      differ += other !== undefined && other[n] !== codes[n];
    }
    if (other) compared++;
    if (differ && !wrong++) first = step.layer;
    const card = element("div", { className: differ ? "layer differs" : "layer" },
      element("h3", { textContent: step.layer }),
      element("small", { textContent: `${step.function}, ${tensor.shape.join(" x ")} ${tensor.dtype}` }),
      picture(tensor.shape, numbers, low, high), histogram(numbers, low, high),
      element("small", { textContent: `codes ${number(low)} to ${number(high)}; ` +
        `${number(100 * saturated / numbers.length)} % at the ends of ${tensor.dtype}` }));
    if (other) {
      card.append(element("small", { className: differ ? "wrong" : "",
        textContent: `${differ} of ${numbers.length} differ` }));
    }
    return card;
  });
  $("apart").textContent = !others.size ? "" : wrong
    ? `${wrong} of ${compared} layers differ; the first is ${first}` : `all ${compared} layers are equal`;
  $("layers").replaceChildren(...cards);
}

function picture(shape, numbers, low, high) {
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
    const value = numbers[(y * columns + x) * channels + c];
    if (value === undefined) continue;
    const at = 4 * ((Math.floor(c / across) * (rows + gap) + y) * canvas.width + (c % across) * (columns + gap) + x);
    const shade = (value - low) * scale;
    image.data.set([shade, shade, shade, 255], at);
  }
  brush.putImageData(image, 0, 0);
  const zoom = Math.max(1, Math.floor(220 / canvas.width));
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

const SHADES = ["cycles", "bytes of output", "bytes of weights"];

function showGraph() {
  const plan = doc.plans[$("device").value], chip = doc.chips[$("chip").value], timed = plan.cycles[chip.core];
  const weigh = [
    i => timed?.layers[i] ?? 0,
    i => count(plan.steps[i].output) * KINDS[plan.steps[i].output.dtype].BYTES_PER_ELEMENT,
    i => plan.steps[i].weight_bytes,
  ][$("shade").value];
  const weights = plan.steps.map((step, i) => weigh(i)), most = Math.max(...weights, 1), depth = new Map();
  plan.inputs.forEach(tensor => depth.set(tensor.name, 0));
  const used = [], places = new Map();
  plan.inputs.forEach((tensor, i) => { places.set(tensor.name, [i * 250, 0]); used[0] = i + 1; });
  plan.steps.forEach(step => {
    const row = 1 + Math.max(0, ...step.reads.map(name => depth.get(name) ?? 0));
    depth.set(step.layer, row);
    used[row] = (used[row] ?? 0) + 1;
    places.set(step.layer, [(used[row] - 1) * 250, row * 46]);
  });
  const text = value => element("span", { textContent: value }).innerHTML.replaceAll('"', "&quot;");
  const lines = plan.steps.flatMap(step => step.reads.filter(name => places.has(name)).map(name => {
    const [x, y] = places.get(name), [to, below] = places.get(step.layer);
    return `<path d="M${x + 115} ${y + 30} C${x + 115} ${y + 40} ${to + 115} ${below - 10} ${to + 115} ${below}"/>`;
  }));
  const boxes = [...places].map(([name, [x, y]]) => {
    const i = plan.steps.findIndex(step => step.layer === name), share = i < 0 ? 0 : weights[i] / most;
    const said = i < 0 ? "input" : `${plan.steps[i].function}: ${number(weights[i])} ${SHADES[$("shade").value]}`;
    const short = name.length > 34 ? `…${name.slice(-33)}` : name;
    return `<g><title>${text(`${name}: ${said}`)}</title><rect x="${x}" y="${y}" width="230" height="30" rx="5" ` +
      `fill="rgb(${255 - 130 * share},${255 - 80 * share},255)"/><text x="${x + 8}" y="${y + 19}">${text(short)}</text></g>`;
  });
  const width = 250 * Math.max(...used.map(n => n ?? 0)), height = 46 * used.length;
  $("graph").innerHTML = `<svg class="graph" role="img" aria-label="layers and what they read" viewBox="0 0 ${width} ${height}"` +
    ` width="${width}" style="max-width:none">${lines.join("")}${boxes.join("")}</svg>`;
}

function choose() {
  $("warnings").textContent = doc.plans[$("device").value].warnings.join(" ");
  showCost();
  if (inputs.length) run();
}

async function start() {
  sections = await inflate(doc.sections);
  const module = await WebAssembly.compile(await inflate(doc.core));
  for (const plan of doc.plans) {
    networks.push(new Network(await WebAssembly.instantiate(module), plan, sections));
  }
  options($("device"), doc.plans.map(plan => plan.target));
  options($("beside"), ["nothing", ...doc.plans.map(plan => plan.target)]);
  options($("chip"), doc.chips.map(chip => `${chip.name} (${chip.core})`));
  $("chip").value = Math.max(0, doc.chips.findIndex(chip => chip.core === doc.plans[0].core));
  options($("shade"), SHADES);
  $("device").addEventListener("change", choose);
  $("beside").addEventListener("change", run);
  $("chip").addEventListener("change", showCost);
  $("shade").addEventListener("change", showGraph);
  buildInputs();
  choose();
}

start().catch(error => { $("took").textContent = `The page cannot run here: ${error.message}`; });
