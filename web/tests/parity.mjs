// Every exported function against float64 values of NumPy, SciPy and librosa, and bad arguments: node --test tests/parity.mjs, after ./build
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import * as firefly from '../dist/package/firefly.js';
import * as models from '../dist/package/models.js';
import * as webgpu from '../dist/package/webgpu.js';
import { assertClose, noise, valueTests } from './values.mjs';

const fixtures = JSON.parse(readFileSync(new URL('fixtures.json', import.meta.url)));
const weights = readFileSync(new URL('../../models/weights/learned_welch_peaks_bearing.safetensors', import.meta.url));
assert.throws(() => firefly.psd([1, 2, 3]), /load\(\) comes first/);
await firefly.load();
await models.load();

test('the kernels are those of SIMD', () => assert.equal(firefly.instructionSet(), 'simd128'));

for (const [name, body] of Object.entries(valueTests(firefly, fixtures))) test(name, body);

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

test('without a GPU the module for WebGPU says so, and is not fetched', async () => {
  await assert.rejects(webgpu.load(), /WebGPU is not available: this browser has none/);
  await assert.rejects(webgpu.rfft([1, 2]), /load\(\) comes first/);
  assert.throws(() => new webgpu.WelchPeaks(), /load\(\) comes first/);
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
    [() => firefly.fft(signal, { out: { re: signal } }), /fft: `out.im` is "undefined", but must be a Float32Array of 512 values/],
    [() => firefly.rfft(signal, { out: { re: signal, im: signal } }), /rfft: `out.re` is 512, but must be a Float32Array of 257 values/],
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
