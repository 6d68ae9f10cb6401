"use strict";

/* A network in a browser: the steps of a plan, computed by the WebAssembly core. */

const KINDS = {
  int8: Int8Array, uint8: Uint8Array, int16: Int16Array, uint16: Uint16Array,
  int32: Int32Array, uint32: Uint32Array, float32: Float32Array, float64: Float64Array,
  int64: BigInt64Array, uint64: BigUint64Array, bool: Uint8Array,
};

const count = tensor => tensor.shape.reduce((product, side) => product * side, 1);

class Network {
  /* core: an instance of the module of its own. image: a plan. sections: its bytes. */
  constructor(core, image, sections) {
    this.core = core.exports;
    this.image = image;
    this.base = this.core.allocate(sections.length);
    this.arena = this.core.allocate(image.arena);
    if (!this.base || !this.arena) throw new Error("the browser gave no memory for the network");
    this.bytes().set(sections, this.base);
    this.bytes().fill(0, this.arena, this.arena + image.arena);
    for (const each of image.constants) this.copy(each, each.address);
    this.calls = image.steps.map(step => this.find(step));
    this.reset();
  }

  bytes() { return new Uint8Array(this.core.memory.buffer); }

  copy(section, address) {
    const from = this.base + section.at;
    this.bytes().copyWithin(this.arena + address, from, from + section.bytes);
  }

  /* Return the address of a row, and of what it reads. */
  find(step) {
    const names = step.row.map(name => {
      const text = new TextEncoder().encode(name + "\0"), at = this.core.allocate(text.length);
      this.bytes().set(text, at);
      return at;
    });
    const row = this.core.find(...names);
    if (!row) throw new Error(`the core has no row ${step.row.join(" ")}`);
    const at = offset => offset === null ? 0 : this.base + offset;
    const inputs = [0, 1, 2].map(i => this.arena + (step.inputs[i] ?? 0));
    return [row, at(step.params), at(step.weights), at(step.bias), at(step.packed), ...inputs,
      this.arena + step.output.address, this.arena + step.scratch, step.sign_flipped];
  }

  /* Put the states back to their values after reset. */
  reset() {
    this.states = this.image.states.map(state => {
      const from = this.base + state.at;
      return state.at === null ? new Uint8Array(state.bytes) : this.bytes().slice(from, from + state.bytes);
    });
  }

  /* Return a tensor of the arena as a copy. */
  read(tensor) {
    const kind = KINDS[tensor.dtype], from = this.arena + tensor.address;
    return new kind(this.core.memory.buffer.slice(from, from + count(tensor) * kind.BYTES_PER_ELEMENT));
  }

  /* Run one sample: a typed array for each input. See: a function of (index of a step, values) that
   * gets each layer's output, or nothing. Returns the outputs by name. */
  run(inputs, see) {
    const { image, arena } = this, memory = this.bytes(), outputs = {};
    memory.fill(0, arena, arena + image.cleared);
    image.states.forEach((state, i) => memory.set(this.states[i], arena + state.address));
    image.inputs.forEach((tensor, i) => {
      const own = inputs[i], kind = KINDS[tensor.dtype];
      if (!(own instanceof kind) || own.length !== count(tensor)) {
        throw new Error(`the input ${tensor.name} must be ${count(tensor)} numbers of ${tensor.dtype}`);
      }
      memory.set(new Uint8Array(own.buffer, own.byteOffset, own.byteLength), arena + tensor.address);
    });
    image.steps.forEach((step, i) => {
      const call = this.calls[i];
      if (step.spare !== null) {
        const from = arena + step.inputs[0];
        this.bytes().copyWithin(arena + step.spare, from, from + step.spare_bytes);
        call[5] = arena + step.spare;
      }
      if (this.core.run(...call)) throw new Error(`${step.layer}: the device stops here`);
      const wanted = image.outputs.includes(step.layer);
      if (!see && !wanted) return;
      const values = this.read(step.output);
      if (see) see(i, values);
      if (wanted) outputs[step.layer] = values;
    });
    this.states = image.states.map(state => {
      const from = arena + state.after;
      return this.bytes().slice(from, from + state.bytes);
    });
    return outputs;
  }
}

/* Return real numbers as the codes of a tensor, saturated. Scales that are powers of two round
 * halves to even; others divide in float32 and round halves away from zero, as QUANTIZE does. */
function quantize(values, tensor) {
  const kind = KINDS[tensor.dtype], codes = new kind(values.length), { scale } = tensor;
  if (scale === null) return kind.from(values);
  const bits = 8 * kind.BYTES_PER_ELEMENT, signed = tensor.dtype[0] !== "u";
  const low = signed ? -(2 ** (bits - 1)) : 0, high = low + 2 ** bits - 1;
  for (let i = 0; i < values.length; i++) {
    const exact = tensor.affine
      ? Math.fround(Math.fround(values[i]) / Math.fround(scale)) : values[i] / scale;
    const size = Math.abs(exact), down = Math.floor(size), rest = size - down;
    const up = rest > 0.5 || (rest === 0.5 && (tensor.affine || down % 2 !== 0));
    codes[i] = Math.min(high, Math.max(low, Math.sign(exact) * (down + up) + tensor.zero_point));
  }
  return codes;
}

/* Return a code as a real number. */
const real = (code, tensor) =>
  tensor.scale === null ? Number(code) : (Number(code) - tensor.zero_point) * tensor.scale;

if (typeof module !== "undefined") module.exports = { KINDS, Network, count, quantize, real };
