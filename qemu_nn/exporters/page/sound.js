/* Sound in a browser: WAV files, front ends, and inputs cut from their features. */

/* Return the samples of a PCM WAV file of 16 bits, with its rate and channels. */
function readWav(buffer) {
  const view = new DataView(buffer), found = {};
  const name = at => String.fromCharCode(...new Uint8Array(buffer, at, 4));
  if (buffer.byteLength < 12 || name(0) !== "RIFF" || name(8) !== "WAVE") throw new Error("this is no WAV file");
  for (let at = 12; at + 8 <= buffer.byteLength;) {
    const size = view.getUint32(at + 4, true), begin = at + 8;
    if (name(at) === "fmt ") {
      Object.assign(found, { kind: view.getUint16(begin, true), channels: view.getUint16(begin + 2, true),
        rate: view.getUint32(begin + 4, true), bits: view.getUint16(begin + 14, true) });
    } else if (name(at) === "data") {
      const end = Math.min(begin + size, buffer.byteLength);
      found.samples = new Int16Array(buffer.slice(begin, end - (end - begin) % 2));
      break;
    }
    at = begin + size + size % 2;
  }
  if (!found.samples || !found.bits) throw new Error("the WAV file has no samples");
  return found;
}

/* Return floats of -1 to 1 as samples. */
const toSamples = floats =>
  Int16Array.from(floats, value => Math.max(-32768, Math.min(32767, Math.round(value * 32768))));

/* Return windows over elements of `unit` numbers: `window` elements each, `hop` elements apart. */
function cut(values, unit, window, hop) {
  const found = [];
  for (let at = 0; at + window <= values.length / unit; at += hop) {
    found.push(values.slice(at * unit, (at + window) * unit));
  }
  return found;
}

/* The front end of a network. sound: what page_sound.py describes; stages: its networks, each with
 * window and hop; sections: the bytes of the document. */
class FrontEnd {
  constructor(sound, stages, sections) {
    Object.assign(this, { sound, stages });
    this.features = sound.block && makeFeatures(sound.block, sections);
  }

  /* Return the inputs that samples give the network, each as codes of the tensor. */
  hear(samples, tensor) {
    const { window, hop, padded, real: format, block } = this.sound, kind = KINDS[tensor.dtype];
    let values = samples, unit = 1;
    if (values.length < padded) {
      values = new Int16Array(padded);
      values.set(samples);
    }
    if (block) {
      return cut(values, 1, window, hop).map(piece => quantize(this.features(piece), tensor));
    }
    for (const { network, window: own, hop: step } of this.stages) {
      const [input] = network.image.inputs, [output] = network.image.outputs, pieces = cut(values, unit, own, step);
      network.reset();
      const made = pieces.map(piece => network.run([KINDS[input.dtype].from(piece)])[output]);
      const { output: last } = network.image.steps.find(each => each.layer === output);
      unit = count(last);
      values = new KINDS[last.dtype](made.length * unit);
      made.forEach((codes, i) => values.set(codes, i * unit));
    }
    return cut(values, unit, window, hop).map(piece => format
      ? quantize(Float32Array.from(piece, code => real(code, format)), tensor) : kind.from(piece));
  }
}

/* Return the function from samples to features of a block of Edge Impulse; see sound_features.py. */
function makeFeatures(block, sections) {
  const floats = ({ at, bytes }) => new Float64Array(sections.slice(at, at + bytes).buffer);
  const bank = floats(block.bank), cosines = block.cosines && floats(block.cosines);
  const { filters, coefficients, points, size, hop } = block, bins = points / 2 + 1;
  const positive = value => value === 0 ? 1e-10 : value;
  const transform = makeTransform(points);

  function mel(samples) {
    const round = block.single ? Math.fround : value => value, share = round(block.emphasis);
    const x = Float64Array.from(samples, value => value / block.divisor);
    const sharp = x.map((value, i) => {
      const earlier = x[(i - block.shift % x.length + x.length) % x.length];
      return round(value - round(share * earlier));
    });
    const frames = [];
    for (let at = 0; at + size <= sharp.length; at += hop) {
      const power = transform(sharp.subarray(at, at + size));
      const energies = new Float64Array(filters);
      for (let f = 0; f < filters; f++) {
        for (let k = 0; k < bins; k++) energies[f] += power[k] * bank[f * bins + k];
      }
      frames.push({ power, energies });
    }
    return frames;
  }

  const decibels = frames => frames.flatMap(({ energies }) => Array.from(energies, energy => {
    const level = 10 * Math.log10(Math.max(positive(energy), 1e-30));
    const share = Math.min(1, Math.max(0, (level - block.floor) / (12 - block.floor)));
    return Math.min(255, roundEven(share * 256)) / 256;
  }));

  const cepstrum = frames => frames.map(({ power, energies }) => {
    const logs = energies.map(energy => Math.log(positive(energy))), found = new Float64Array(coefficients);
    for (let f = 0; f < filters; f++) for (let c = 0; c < coefficients; c++) {
      found[c] += logs[f] * cosines[f * coefficients + c];
    }
    found[0] = Math.log(positive(power.reduce((sum, value) => sum + value, 0)));
    return found;
  });

  if (!cosines) return samples => Float32Array.from(decibels(mel(samples)));
  return samples => Float32Array.from(normalize(cepstrum(mel(samples)), block.normalization).flatMap(row => [...row]));
}

/* Return coefficients less their mean, divided by their deviation, over a sliding window of frames
 * that is mirrored at the ends. */
function normalize(frames, window) {
  if (!window) return frames;
  const total = frames.length, half = (window - 1) / 2;
  const mirror = i => { const at = ((i % (2 * total)) + 2 * total) % (2 * total); return at < total ? at : 2 * total - 1 - at; };
  const average = (rows, see) => rows.map((row, t) => row.map((value, c) => {
    let sum = 0;
    for (let i = t - half; i <= t + half; i++) sum += see(rows[mirror(i)][c]);
    return sum / window;
  }));
  const means = average(frames, value => value);
  const centred = frames.map((row, t) => row.map((value, c) => value - means[t][c]));
  const inner = average(centred, value => value);
  return centred.map((row, t) => row.map((value, c) => {
    let sum = 0;
    for (let i = t - half; i <= t + half; i++) sum += (centred[mirror(i)][c] - inner[t][c]) ** 2;
    return value / (Math.sqrt(sum / window) + 1e-10);
  }));
}

const roundEven = value => {
  const down = Math.floor(value), rest = value - down;
  return down + (rest > 0.5 || (rest === 0.5 && down % 2 !== 0));
};

/* Return the function from a frame to its power spectrum, by a Fourier transform of `points`. */
function makeTransform(points) {
  const angle = i => -2 * Math.PI * i / points, half = points / 2;
  const cosine = Float64Array.from({ length: half }, (_, i) => Math.cos(angle(i)));
  const sine = Float64Array.from({ length: half }, (_, i) => Math.sin(angle(i)));
  const bits = Math.log2(points), reversed = i => {
    let found = 0;
    for (let bit = 0; bit < bits; bit++) found |= (i >> bit & 1) << (bits - 1 - bit);
    return found;
  };
  const places = Int32Array.from({ length: points }, (_, i) => reversed(i));
  return frame => {
    const re = new Float64Array(points), im = new Float64Array(points);
    for (let i = 0; i < points; i++) re[i] = frame[places[i]] ?? 0;
    for (let size = 1; size < points; size *= 2) {
      for (let start = 0; start < points; start += 2 * size) for (let i = 0; i < size; i++) {
        const a = start + i, b = a + size, turn = i * half / size;
        const x = re[b] * cosine[turn] - im[b] * sine[turn], y = re[b] * sine[turn] + im[b] * cosine[turn];
        [re[b], im[b], re[a], im[a]] = [re[a] - x, im[a] - y, re[a] + x, im[a] + y];
      }
    }
    return Float64Array.from({ length: half + 1 }, (_, i) => (re[i] ** 2 + im[i] ** 2) / points);
  };
}
