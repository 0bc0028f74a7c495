// Every exported function against float64 values of NumPy, SciPy and librosa, and bad arguments.
// node tests/parity.mjs, after ./build
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import * as firefly from '../dist/package/firefly.js';
import * as models from '../dist/package/models.js';

const fixtures = JSON.parse(readFileSync(new URL('fixtures.json', import.meta.url)));
const weights = readFileSync(new URL('../../models/weights/learned_welch_peaks_bearing.safetensors', import.meta.url));
await firefly.load();
await models.load();

/** Values of the generator of make_fixtures.py. */
function noise(count, seed) {
  let state = seed;
  return Float32Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32 - 0.5;
  });
}

/** Largest difference relative to the largest value. */
function assertClose(got, expected, n, what) {
  assert.equal(got.length, expected.length, what);
  const largest = expected.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const tolerance = 2 * (2e-6 + 5e-7 * Math.log10(n));
  expected.forEach((value, i) => assert.ok(Math.abs(got[i] - value) <= tolerance * largest, `${what}[${i}]: ${got[i]} for ${value}`));
}

test('the kernels are those of SIMD', () => assert.equal(firefly.instructionSet(), 'simd128'));

test('transforms are those of NumPy', () => {
  for (const { n, fft, ifft, rfft, irfft } of fixtures.transforms) {
    const [re, im] = [noise(2 * n, n), noise(2 * n, n + 1)];
    const half = { re: noise(2 * (Math.floor(n / 2) + 1), 3), im: noise(2 * (Math.floor(n / 2) + 1), 4) };
    const compare = (got, expected, what) => ['re', 'im'].forEach(part => {
      const both = [...expected.re, ...expected.im];
      assertClose([...got.re, ...got.im], both, n, `${what} of ${n}, ${part}`);
    });
    compare(firefly.fft({ re, im }, { n }), fft, 'fft');
    compare(firefly.ifft({ re, im }, { n, norm: 'ortho' }), ifft, 'ifft');
    compare(firefly.rfft(re, { n, norm: 'forward' }), rfft, 'rfft');
    assertClose(firefly.irfft(half, { n }), irfft, n, `irfft of ${n}`);
  }
  const [whole, parts] = [firefly.fft([1, 2, 3]), firefly.fft({ re: [1, 2, 3], im: [0, 0, 0] })];
  assert.deepEqual(whole, parts);
  assertClose(firefly.irfft(firefly.rfft(noise(64, 1))), [...noise(64, 1)], 64, 'there and back');
});

test('peaks are the strongest bins', () => {
  for (const { n, segments, k, bins, power } of fixtures.peaks) {
    const signal = noise(12 * (n + (segments - 1) * (n / 2)), n);
    const peaks = firefly.welchPeaks(signal, { nFft: n, segments, k });
    assert.deepEqual({ ...peaks, bins: [...peaks.bins], power: undefined }, { bins, power: undefined, frames: 12, k });
    assertClose(peaks.power, power, n, `peaks of ${n}`);
    const all = firefly.welchPeaks(signal, { nFft: n, segments, k: Math.floor(n / 2) + 1 });
    const banded = new firefly.WelchPeaks({ nFft: n, segments, k: 4, band: [3, 9] });
    const expected = [...all.bins].filter(bin => bin >= 3 && bin < 9);
    assert.deepEqual([...banded.forward(signal).bins], Array.from({ length: 12 }, (_, frame) => expected.slice(6 * frame, 6 * frame + 4)).flat());
    banded.free();
  }
});

test('psd is that of scipy.signal.welch', () => {
  const { power, frequencies, segments } = firefly.psd(noise(20_000, 5), { sampleRate: 8_000 });
  assert.equal(segments, 155);
  assertClose(power, fixtures.welch.power, 256, 'psd');
  assert.deepEqual([...frequencies], fixtures.welch.frequencies);
  const options = { sampleRate: 8_000, nFft: 500, hop: 200, window: 'kaiser(8.6)', scaling: 'spectrum' };
  assertClose(firefly.psd(noise(20_000, 5), options).power, fixtures.spectrum.power, 500, 'spectrum');
});

test('columns of a spectrogram do not depend on its blocks', () => {
  const signal = noise(2_000, 5);
  const whole = firefly.spectrogram(signal, { sampleRate: 8_000 });
  assert.deepEqual([whole.columns, whole.bins], [14, 129]);
  assertClose(whole.power, fixtures.spectrogram.power, 256, 'spectrogram');
  for (const [hop, lengths] of [[128, [1, 700, 255, 257, 787]], [300, [1990, 10]], [777, [300, 1, 1699]]]) {
    const stream = new firefly.Spectrogram({ sampleRate: 8_000, hop });
    let start = 0;
    const blocks = lengths.map(length => stream.push(signal.subarray(start, start += length)));
    const columns = firefly.spectrogram(signal, { sampleRate: 8_000, hop });
    assert.deepEqual(blocks.flatMap(({ power }) => [...power]), [...columns.power]);
    assert.equal(blocks.reduce((sum, block) => sum + block.columns, 0), columns.columns);
    stream.free();
  }
  assert.equal(firefly.spectrogram(noise(255, 1)).columns, 0);
});

test('local maxima are those of scipy.signal.find_peaks', () => {
  const { signal, bins, power, prominence } = fixtures.maxima;
  const maxima = firefly.localMaxima(signal, { k: 10, distance: 5, prominence: 0.1 });
  assert.deepEqual([...maxima.bins], bins);
  assertClose(maxima.power, power, 400, 'power');
  assertClose(maxima.prominence, prominence, 400, 'prominence');
  // A parabola through the logarithms of three values.
  const line = firefly.localMaxima([1, Math.exp(2), Math.exp(2.5), 1], { k: 1 });
  const [below, own, above] = [2, 2.5, 0];
  assert.ok(Math.abs(line.offset[0] - 0.5 * (below - above) / (below - 2 * own + above)) < 1e-6);
});

test('mel spectra are those of librosa', () => {
  const mel = firefly.logMel(noise(4_000, 7), { sampleRate: 16_000, nFft: 512, hop: 200, nMels: 40 });
  assert.deepEqual([mel.bands, mel.frames], [40, 21]);
  assertClose(mel.values, fixtures.mel.values, 512, 'mel');
  const htk = firefly.logMel(noise(4_000, 8), {
    sampleRate: 16_000, nFft: 400, hop: 160, nMels: 20, scale: 'htk', norm: 'none', fMin: 100, fMax: 6_000, center: false,
    kind: 'amplitude', unit: 'natural', offset: 1e-6,
  });
  assertClose(htk.values, fixtures.mel_htk.values, 400, 'mel_htk');
});

test('learned peaks are those of the definition', () => {
  const model = models.Learned.fromBytes(weights);
  assert.deepEqual([model.nFft, model.hop, model.segments, model.bins, model.frame, model.k], [256, 128, 8, 129, 1152, 16]);
  const signal = noise(4 * 1152, 9);
  assertClose(model.psd(signal), fixtures.learned.psd, 256, 'learned psd');
  const peaks = model.peaks(signal);
  assert.deepEqual([...peaks.bins], fixtures.learned.peaks.bins);
  assertClose(peaks.power, fixtures.learned.peaks.power, 256, 'learned peaks');
  assert.deepEqual([...model.peaks(signal, { k: 3 }).bins.subarray(0, 3)], fixtures.learned.peaks.bins.slice(0, 3));
  const again = models.Learned.fromBytes(model.toBytes());
  assert.deepEqual(again.peaks(signal), peaks);
  again.free();
  model.free();
});

test('a frame without power and one with NaN do not disturb others', () => {
  const signal = new Float32Array(3 * 64);
  signal.set(noise(64, 2), 64);
  signal[130] = NaN;
  const { bins, power } = firefly.welchPeaks(signal, { nFft: 64, segments: 1, k: 2 });
  assert.deepEqual([bins[0], bins[1], power[0], bins[4], bins[5]], [0, 1, 0, -1, -1]);
  assert.ok(Number.isNaN(power[4]) && power[2] > power[3] && power[3] > 0);
});

test('training lowers the loss, and the estimate finds more peaks', () => {
  // Frames of four tones of their own in noise.
  const framesOf = seed => {
    const noiseOf = noise(64 * 288, seed);
    const drawn = noise(64 * 8, seed + 1_000_000).map(value => value + 0.5);
    return noiseOf.map((value, i) => [0, 1, 2, 3].reduce((sum, tone) => {
      const [level, frequency] = [0, 4].map(part => drawn[8 * Math.floor(i / 288) + part + tone]);
      return sum + 10 ** (-1.5 * level) * Math.sin((0.1 + 2.9 * frequency) * (i % 288) + tone);
    }, 0.05 * value));
  };
  const training = new models.Training();
  assert.equal(training.frame, 288);
  const losses = Array.from({ length: 200 }, (_, step) => training.step(framesOf(step + 1)));
  const mean = values => values.reduce((sum, value) => sum + value, 0) / values.length;
  assert.ok(mean(losses.slice(-20)) < 0.9 * mean(losses.slice(0, 20)), `losses ${losses}`);
  const kept = framesOf(777_777);
  const reference = firefly.welchPeaks(kept, { nFft: 64, segments: 8, k: 8 }).bins;
  const recall = model => mean(model.peaks(kept).bins.map((bin, i) => reference.subarray(i - i % 8, i - i % 8 + 8).includes(bin)));
  const [trained, untrained] = [training, new models.Training()].map(of => recall(of.learned()));
  assert.ok(trained > untrained + 0.005, `${trained} of the peaks, and ${untrained} before`);
  training.free();
});

test('bad arguments are refused by name', () => {
  const signal = noise(512, 1);
  const damaged = Uint8Array.from(weights);
  damaged.fill(0xff, damaged.length - 4);
  const butterfly = readFileSync(new URL('../../models/weights/butterfly_dft_8.safetensors', import.meta.url));
  for (const [call, pattern] of [
    [() => firefly.welchPeaks(signal, { nFft: 0 }), /WelchPeaks: `nFft` is 0/],
    [() => firefly.welchPeaks(signal, { nFft: 2.5 }), /`nFft` is 2.5/],
    [() => firefly.welchPeaks(signal, { n_fft: 64 }), /`n_fft` is 64, but must be left out/],
    [() => firefly.welchPeaks(signal, { nFft: 128, segments: 1, k: 66 }), /welchPeaks: `k` is 66, but must be from 1 to .* 65/],
    [() => firefly.welchPeaks(signal, { nFft: 100, segments: 1 }), /welchPeaks: `signal` is of 512 values, but must be of one or more rows of 100/],
    [() => firefly.welchPeaks([], {}), /`signal` is of 0 values/],
    [() => firefly.welchPeaks(signal, { frame: 100 }), /`frame` is 100, but must be a whole number from 384/],
    [() => firefly.welchPeaks(signal, { window: 'hanning' }), /`window` is `hanning`/],
    [() => firefly.welchPeaks(signal, { window: 'tukey(2)' }), /`window` is `tukey\(2\)`, but must be with alpha from 0 to 1/],
    [() => firefly.welchPeaks(signal, { scaling: 'density' }), /`sampleRate` is undefined/],
    [() => firefly.welchPeaks(signal, { scaling: 'density', sampleRate: -1 }), /sampleRate.* -1/],
    [() => firefly.welchPeaks(signal, { band: [5, 5] }), /`band` is 5..5/],
    [() => firefly.welchPeaks(signal, { nFft: 256, hop: 2 ** 31 }), /`hop`/],
    [() => firefly.welchPeaks('text', {}), /`signal` is "string"/],
    [() => firefly.welchPeaks([1n], {}), /`signal`/],
    [() => firefly.psd(noise(255, 1)), /psd: `signal` is of 255 samples/],
    [() => firefly.psd(signal, { detrend: 'linear' }), /`detrend` is "linear"/],
    [() => firefly.fft({ re: signal, im: signal.subarray(1) }), /`im` is 511/],
    [() => firefly.fft(signal, { n: 100 }), /fft: `re` is of 512 values/],
    [() => firefly.rfft(signal, { norm: 'both' }), /`norm` is "both"/],
    [() => firefly.irfft({ re: [1], im: [0] }), /`n` is 0/],
    [() => firefly.localMaxima([], {}), /`k` is 0/],
    [() => firefly.localMaxima(signal, { height: NaN }), /`height` is NaN/],
    [() => firefly.logMel(signal, {}), /`sampleRate` is undefined/],
    [() => firefly.logMel(signal, { sampleRate: 8_000, fMin: 5_000 }), /fMax/],
    [() => firefly.logMel(signal, { sampleRate: 8_000, floor: 0 }), /`floor` is 0/],
    [() => firefly.logMel(signal, { sampleRate: 8_000, floor: 1, offset: 1 }), /`offset` is 1/],
    [() => firefly.logMel(signal, { sampleRate: 8_000, pad: 'reflect' }), /`signal`/],
    [() => models.Learned.fromBytes(new Uint8Array(3)), /not a learned estimate/],
    [() => models.Learned.fromBytes(damaged), /not finite/],
    [() => models.Learned.fromBytes(butterfly), /family "butterfly"/],
    [() => models.Learned.fromBytes('model'), /`bytes` is "string"/],
    [() => models.Learned.fromBytes(weights).peaks(signal), /`signal` is of 512 values/],
    [() => models.Learned.fromBytes(weights).peaks(noise(1152, 1), { k: 200 }), /`k` is 200/],
    [() => new models.Training({ nFft: 0 }), /Training: `nFft` is 0/],
    [() => new models.Training({ open: [8] }), /openSegments.* 8/],
    [() => new models.Training({ open: 1 }), /`open` is 1/],
    [() => new models.Training().step(signal), /training: `signal` is of 512 values/],
    [() => new models.Training().step(new Float32Array(288).fill(NaN)), /training: `signal` is with a loss of NaN/],
    [() => new models.Training().step(noise(288, 1), { learningRate: 'fast' }), /`learningRate` is "fast"/],
  ]) assert.throws(call, pattern, call.toString());
});
