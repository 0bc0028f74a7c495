// The operations of a module, on the CPU or by WebGPU. Types and documentation: firefly.d.ts.
import { chosen, complex, finite, outputs, refuse, samples, whole, withDefaults } from './arguments.js';

const NORMS = ['backward', 'ortho', 'forward'];
const DETRENDS = ['none', 'constant'];

/** Frequency of each bin of a one-sided spectrum, in hertz. */
function frequencies(nFft, sampleRate) {
  return Float64Array.from({ length: Math.floor(nFft / 2) + 1 }, (_, bin) => bin * sampleRate / nFft);
}

/** Segments whose power is averaged by the module, in f32; the means of blocks of as many are added here, in f64. */
const BLOCK = 32;

/**
 * The operations of a module. How they return is the engine's: `ready()` throws before the module is loaded, `call(body)` runs the body
 * of a function, `take(result, parts, out)` takes parts of a result, into arrays if
 * there are any, and `then(value, next)` goes on with what they return.
 */
export function operations(wasm, { ready, call, take, then }) {
  // Transforms.

  function transform(operation, signal, options, inverse) {
    const { re, im } = complex(operation, signal);
    const { n, norm, out } = withDefaults(operation, options, { n: re.length, norm: 'backward', out: undefined });
    whole(operation, 'n', n);
    chosen(operation, 'norm', norm, NORMS);
    outputs(operation, out, { re: re.length, im: re.length });
    return take(wasm.fft(re, im ?? new Float32Array(re.length), n, norm, inverse), ['re', 'im'], out);
  }

  const fft = (signal, options = {}) => call(() => transform('fft', signal, options, false));
  const ifft = (signal, options = {}) => call(() => transform('ifft', signal, options, true));

  const rfft = (signal, options = {}) => call(() => {
    const values = samples('rfft', 'signal', signal);
    const { n, norm, out } = withDefaults('rfft', options, { n: values.length, norm: 'backward', out: undefined });
    whole('rfft', 'n', n);
    const length = Math.floor(values.length / n) * (Math.floor(n / 2) + 1);
    outputs('rfft', out, { re: length, im: length });
    return take(wasm.rfft(values, n, chosen('rfft', 'norm', norm, NORMS)), ['re', 'im'], out);
  });

  const irfft = (spectrum, options = {}) => call(() => {
    const { re, im } = complex('irfft', spectrum);
    const { n, norm, out } = withDefaults('irfft', options, { n: 2 * (re.length - 1), norm: 'backward', out: undefined });
    whole('irfft', 'n', n);
    const into = out && outputs('irfft', { values: out }, { values: Math.floor(re.length / (Math.floor(n / 2) + 1)) * n });
    const signals = wasm.irfft(re, im ?? new Float32Array(re.length), n, chosen('irfft', 'norm', norm, NORMS));
    return then(take(signals, ['values'], into), ({ values }) => values);
  });

  // Welch estimates.

  function welch(operation, { nFft, hop, segments, window, scaling, sampleRate, detrend, band }) {
    ready();
    whole(operation, 'nFft', nFft);
    hop ??= Math.max(1, Math.floor(nFft / 2));
    whole(operation, 'hop', hop);
    whole(operation, 'segments', segments);
    if (typeof window !== 'string') refuse(operation, 'window', window, 'the name of a window, such as hann or kaiser(8.6)');
    chosen(operation, 'scaling', scaling, ['power', 'spectrum', 'density']);
    chosen(operation, 'detrend', detrend, DETRENDS);
    if (scaling === 'density' && sampleRate === undefined) refuse(operation, 'sampleRate', sampleRate, 'given with the scaling density');
    finite(operation, 'sampleRate', sampleRate ?? 1);
    if (band !== null) {
      if (!Array.isArray(band) || band.length !== 2) refuse(operation, 'band', band, 'the first bin and the one after the last');
      band.forEach(bin => whole(operation, 'band', bin, 0));
    }
    const options = { nFft, hop, segments, window, scaling, sampleRate: sampleRate ?? 1, detrend, band };
    return { native: new wasm.Welch(JSON.stringify(options)), options };
  }

  class WelchPeaks {
    #native;

    constructor(options = {}) {
      const all = withDefaults('WelchPeaks', options, {
        nFft: 256, hop: undefined, segments: 2, k: 16, frame: undefined, window: 'hann', scaling: 'power', sampleRate: undefined,
        detrend: 'none', band: null,
      });
      this.k = whole('WelchPeaks', 'k', all.k);
      const { native, options: { nFft, hop, segments } } = welch('WelchPeaks', all);
      this.#native = native;
      const needed = nFft + (segments - 1) * hop;
      this.frame = all.frame === undefined ? needed : whole('WelchPeaks', 'frame', all.frame, needed);
    }

    forward(signal) {
      return call(() => {
        const values = samples('welchPeaks', 'signal', signal);
        const peaks = take(this.#native.peaks(values, this.frame, this.k), ['bins', 'power']);
        return then(peaks, ({ bins, power }) => ({ bins, power, frames: values.length / this.frame, k: this.k }));
      });
    }

    /** Milliseconds of each of `runs` calls on a signal that is in the module's memory. */
    time(signal, runs) {
      if (!this.#native.time_peaks) throw new Error('time: only of the module for the CPU');
      return this.#native.time_peaks(samples('time', 'signal', signal), this.frame, this.k, whole('time', 'runs', runs));
    }

    free() {
      this.#native.free();
    }
  }

  const welchPeaks = (signal, options = {}) => call(() => {
    const estimate = new WelchPeaks(options);
    try {
      return estimate.forward(signal);
    } finally {
      estimate.free();
    }
  });

  const psd = (signal, options = {}) => call(() => {
    const values = samples('psd', 'signal', signal);
    const all = withDefaults('psd', options, {
      nFft: 256, hop: undefined, window: 'hann', scaling: 'density', sampleRate: 1, detrend: 'constant',
    });
    const { native, options: { nFft, hop } } = welch('psd', { ...all, segments: 1, band: null });
    try {
      const blocks = take(native.psd(values, BLOCK), ['power']);
      const segments = Math.floor((values.length - nFft) / hop) + 1;
      const axis = frequencies(nFft, all.sampleRate);
      return then(blocks, ({ power }) => ({ power: meanOfBlocks(power, axis.length, segments), frequencies: axis, segments }));
    } finally {
      native.free();
    }
  });

  class Spectrogram {
    #native;
    #rest = new Float32Array(0);
    #skipped = 0;

    constructor(options = {}) {
      const all = withDefaults('Spectrogram', options, {
        nFft: 256, hop: undefined, window: 'hann', scaling: 'density', sampleRate: 1, detrend: 'constant',
      });
      const { native, options: { nFft, hop } } = welch('Spectrogram', { ...all, segments: 1, band: null });
      this.#native = native;
      Object.assign(this, { nFft, hop, bins: Math.floor(nFft / 2) + 1, frequencies: frequencies(nFft, all.sampleRate) });
    }

    push(signal) {
      return call(() => this.#push(signal));
    }

    #push(signal) {
      let values = samples('Spectrogram.push', 'signal', signal);
      // Samples between columns that do not touch.
      const skipped = Math.min(this.#skipped, values.length);
      this.#skipped -= skipped;
      values = values.subarray(skipped);
      const all = new Float32Array(this.#rest.length + values.length);
      all.set(this.#rest);
      all.set(values, this.#rest.length);
      const columns = Math.max(0, Math.floor((all.length - this.nFft) / this.hop) + 1);
      this.#rest = all.slice(Math.min(columns * this.hop, all.length));
      this.#skipped += Math.max(0, columns * this.hop - all.length);
      const power = columns > 0 ? take(this.#native.columns(all), ['power']) : { power: new Float32Array(0) };
      return then(power, ({ power }) => ({ columns, power }));
    }

    reset() {
      this.#rest = new Float32Array(0);
      this.#skipped = 0;
    }

    free() {
      this.#native.free();
    }
  }

  const spectrogram = (signal, options = {}) => call(() => {
    const stream = new Spectrogram(options);
    try {
      return then(stream.push(signal), columns => ({ ...columns, bins: stream.bins, frequencies: stream.frequencies }));
    } finally {
      stream.free();
    }
  });

  const localMaxima = (power, options = {}) => call(() => {
    const operation = 'localMaxima';
    const values = samples(operation, 'power', power);
    const { k, distance, height, prominence, interpolation } = withDefaults(operation, options, {
      k: Math.min(16, values.length), distance: 1, height: undefined, prominence: undefined, interpolation: 'log_parabola',
    });
    whole(operation, 'k', k);
    whole(operation, 'distance', distance);
    for (const [name, value] of Object.entries({ height, prominence })) if (value !== undefined) finite(operation, name, value);
    chosen(operation, 'interpolation', interpolation, ['log_parabola', 'hann']);
    return take(wasm.local_maxima_of(values, k, distance, height, prominence, interpolation), ['bins', 'power', 'prominence', 'offset']);
  });

  // Mel spectra.

  const logMel = (signal, options = {}) => call(() => {
    const operation = 'logMel';
    const values = samples(operation, 'signal', signal);
    const all = withDefaults(operation, options, {
      nFft: 2048, hop: 512, windowLength: undefined, window: 'hann', center: true, pad: 'constant', sampleRate: undefined, nMels: 128,
      fMin: 0, fMax: null, scale: 'slaney', norm: 'slaney', kind: 'power', unit: 'decibel', floor: undefined, offset: undefined,
    });
    all.windowLength ??= all.nFft;
    for (const name of ['nFft', 'hop', 'windowLength', 'nMels']) whole(operation, name, all[name]);
    if (typeof all.window !== 'string') refuse(operation, 'window', all.window, 'the name of a window, such as hann or kaiser(8.6)');
    if (typeof all.center !== 'boolean') refuse(operation, 'center', all.center, 'true or false');
    for (const name of ['sampleRate', 'fMin']) finite(operation, name, all[name]);
    if (all.fMax !== null) finite(operation, 'fMax', all.fMax);
    chosen(operation, 'pad', all.pad, ['constant', 'reflect', 'edge', 'circular']);
    chosen(operation, 'scale', all.scale, ['htk', 'slaney']);
    chosen(operation, 'norm', all.norm, ['none', 'slaney']);
    chosen(operation, 'kind', all.kind, ['power', 'amplitude']);
    chosen(operation, 'unit', all.unit, ['natural', 'ten', 'decibel']);
    if (all.floor !== undefined && all.offset !== undefined) refuse(operation, 'offset', all.offset, 'left out where there is a floor');
    if (all.offset === undefined) all.floor ??= 1e-10;
    for (const name of ['floor', 'offset']) all[name] = all[name] === undefined ? null : finite(operation, name, all[name]);
    const bands = take(wasm.log_mel_spectrum(values, JSON.stringify(all)), ['values']);
    return then(bands, ({ values }) => ({ values, bands: all.nMels, frames: values.length / all.nMels }));
  });

  return { fft, ifft, rfft, irfft, WelchPeaks, welchPeaks, psd, Spectrogram, spectrogram, localMaxima, logMel };
}

/** Mean power of `segments` segments, of that of blocks of `BLOCK` segments and of those that are left. */
function meanOfBlocks(blocks, bins, segments) {
  const mean = new Float64Array(bins);
  for (let at = 0, first = 0; at < blocks.length; at += bins, first += BLOCK) {
    const share = Math.min(BLOCK, segments - first) / segments;
    for (let bin = 0; bin < bins; bin++) mean[bin] += share * blocks[at + bin];
  }
  return mean;
}
