// Models and their training, computed by a module of their own. Types and documentation: models.d.ts.
import initialise, * as wasm from './firefly_models.js';
import { finite, loader, refuse, samples, take, whole, withDefaults } from './arguments.js';

const { load } = loader(module_or_path => initialise({ module_or_path }), new URL('firefly_models_bg.wasm', import.meta.url));
export { load };

export class Learned {
  #native;

  constructor(native) {
    this.#native = native;
    const { n_fft, hop, segments, k } = JSON.parse(native.config());
    Object.assign(this, { nFft: n_fft, hop: hop ?? Math.floor(n_fft / 2), segments, k, bins: Math.floor(n_fft / 2) + 1, frame: native.frame() });
  }

  static fromBytes(bytes) {
    const view = bytes instanceof ArrayBuffer ? new Uint8Array(bytes) : bytes;
    if (!(view instanceof Uint8Array)) refuse('Learned.fromBytes', 'bytes', typeof bytes, 'a Uint8Array or an ArrayBuffer');
    return new Learned(new wasm.Learned(view));
  }

  #frame(operation, options) {
    const all = withDefaults(operation, options, { frame: this.frame, k: this.k });
    return { frame: whole(operation, 'frame', all.frame, this.frame), k: whole(operation, 'k', all.k) };
  }

  peaks(signal, options = {}) {
    const { frame, k } = this.#frame('Learned.peaks', options);
    const values = samples('Learned.peaks', 'signal', signal);
    return { ...take(this.#native.peaks(values, frame, k), ['bins', 'power']), frames: values.length / frame, k };
  }

  psd(signal, options = {}) {
    const { frame } = this.#frame('Learned.psd', options);
    return take(this.#native.psd(samples('Learned.psd', 'signal', signal), frame), ['power']).power;
  }

  toBytes() {
    return this.#native.bytes();
  }

  free() {
    this.#native.free();
  }
}

export class Training {
  #native;

  constructor(options = {}) {
    const operation = 'Training';
    const { nFft, hop, segments, open, k } = withDefaults(operation, options, { nFft: 64, hop: undefined, segments: 8, open: [1, 6], k: 8 });
    const step = hop ?? Math.max(1, Math.floor(whole(operation, 'nFft', nFft) / 2));
    if (!Array.isArray(open)) refuse(operation, 'open', open, 'numbers of segments');
    open.forEach(segment => whole(operation, 'open', segment, 0));
    this.#native = new wasm.Training(nFft, whole(operation, 'hop', step), whole(operation, 'segments', segments), Uint32Array.from(open), whole(operation, 'k', k));
    this.frame = this.#native.frame();
  }

  step(signal, options = {}) {
    const { learningRate } = withDefaults('Training.step', options, { learningRate: 0.03 });
    return this.#native.step(samples('Training.step', 'signal', signal), finite('Training.step', 'learningRate', learningRate));
  }

  learned() {
    return new Learned(this.#native.learned());
  }

  free() {
    this.#native.free();
  }
}
