// Spectra, peaks and mel spectra, computed by Firefly's WebAssembly module. Types and documentation: firefly.d.ts.
import initialise, * as wasm from './firefly_wasm.js';
import { chosen, complex, finite, loader, refuse, samples, take, whole, withDefaults } from './arguments.js';

const { load } = loader(module_or_path => initialise({ module_or_path }), new URL('firefly_wasm_bg.wasm', import.meta.url));
export { load };

const NORMS = ['backward', 'ortho', 'forward'];
const DETRENDS = ['none', 'constant'];

// Transforms.

function transform(operation, signal, options, inverse) {
  const { re, im } = complex(operation, signal);
  const { n, norm } = withDefaults(operation, options, { n: re.length, norm: 'backward' });
  whole(operation, 'n', n);
  chosen(operation, 'norm', norm, NORMS);
  return take(wasm.fft(re, im ?? new Float32Array(re.length), n, norm, inverse), 're', 'im');
}

export function fft(signal, options = {}) {
  return transform('fft', signal, options, false);
}

export function ifft(signal, options = {}) {
  return transform('ifft', signal, options, true);
}

export function rfft(signal, options = {}) {
  const values = samples('rfft', 'signal', signal);
  const { n, norm } = withDefaults('rfft', options, { n: values.length, norm: 'backward' });
  whole('rfft', 'n', n);
  return take(wasm.rfft(values, n, chosen('rfft', 'norm', norm, NORMS)), 're', 'im');
}

export function irfft(spectrum, options = {}) {
  const { re, im } = complex('irfft', spectrum);
  const { n, norm } = withDefaults('irfft', options, { n: 2 * (re.length - 1), norm: 'backward' });
  whole('irfft', 'n', n);
  return take(wasm.irfft(re, im ?? new Float32Array(re.length), n, chosen('irfft', 'norm', norm, NORMS)), 'values').values;
}

// Welch estimates.

function welch(operation, { nFft, hop, segments, window, scaling, sampleRate, detrend, band }) {
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

export class WelchPeaks {
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
    const values = samples('welchPeaks', 'signal', signal);
    return { ...take(this.#native.peaks(values, this.frame, this.k), 'bins', 'power'), frames: values.length / this.frame, k: this.k };
  }

  /** Milliseconds of each of `runs` calls on a signal that is in the module's memory. */
  time(signal, runs) {
    return this.#native.time_peaks(samples('time', 'signal', signal), this.frame, this.k, whole('time', 'runs', runs));
  }

  free() {
    this.#native.free();
  }
}

export function welchPeaks(signal, options = {}) {
  const estimate = new WelchPeaks(options);
  try {
    return estimate.forward(signal);
  } finally {
    estimate.free();
  }
}

export function psd(signal, options = {}) {
  const values = samples('psd', 'signal', signal);
  const all = withDefaults('psd', options, {
    nFft: 256, hop: undefined, window: 'hann', scaling: 'density', sampleRate: 1, detrend: 'constant',
  });
  const { native, options: { nFft, hop } } = welch('psd', { ...all, segments: 1, band: null });
  try {
    const power = native.psd(values);
    return { power, frequencies: frequencies(nFft, all.sampleRate), segments: Math.floor((values.length - nFft) / hop) + 1 };
  } finally {
    native.free();
  }
}

/** Frequency of each bin of a one-sided spectrum, in hertz. */
function frequencies(nFft, sampleRate) {
  return Float64Array.from({ length: Math.floor(nFft / 2) + 1 }, (_, bin) => bin * sampleRate / nFft);
}

export class Spectrogram {
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
    return { columns, power: columns > 0 ? take(this.#native.columns(all), 'power').power : new Float32Array(0) };
  }

  reset() {
    this.#rest = new Float32Array(0);
    this.#skipped = 0;
  }

  free() {
    this.#native.free();
  }
}

export function spectrogram(signal, options = {}) {
  const columns = new Spectrogram(options);
  try {
    return { ...columns.push(signal), bins: columns.bins, frequencies: columns.frequencies };
  } finally {
    columns.free();
  }
}

export function localMaxima(power, options = {}) {
  const operation = 'localMaxima';
  const values = samples(operation, 'power', power);
  const { k, distance, height, prominence, interpolation } = withDefaults(operation, options, {
    k: Math.min(16, values.length), distance: 1, height: undefined, prominence: undefined, interpolation: 'log_parabola',
  });
  whole(operation, 'k', k);
  whole(operation, 'distance', distance);
  for (const [name, value] of Object.entries({ height, prominence })) if (value !== undefined) finite(operation, name, value);
  chosen(operation, 'interpolation', interpolation, ['log_parabola', 'hann']);
  return take(wasm.local_maxima_of(values, k, distance, height, prominence, interpolation), 'bins', 'power', 'prominence', 'offset');
}

// Mel spectra.

export function logMel(signal, options = {}) {
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
  const { values: bands } = take(wasm.log_mel_spectrum(values, JSON.stringify(all)), 'values');
  return { values: bands, bands: all.nMels, frames: bands.length / all.nMels };
}

/** Name of the instruction set of the kernels: `simd128`. */
export function instructionSet() {
  return wasm.instruction_set();
}
