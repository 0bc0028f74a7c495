// Times of this package beside those of others for the web, in one process, in turns: after ./build
// npm --prefix tests/peers install --ignore-scripts && node tests/peers/peers.mjs
import Fft from 'fft.js';
import Meyda from 'meyda';
import loadPffft from '@echogarden/pffft-wasm/simd';
import * as fourier from 'fourier-transform';
import * as onnx from 'onnxruntime-web';
import { WhisperFeatureExtractor } from '@huggingface/transformers';
import * as firefly from '../../dist/package/firefly.js';

// It takes a process that has `fetch` for a page, and waits for its own file.
const { fetch } = globalThis;
delete globalThis.fetch;
const { default: kissfft } = await import('kissfft-wasm');
await kissfft.wasmKissFFT?.ready;
globalThis.fetch = fetch;

const ROUNDS = 40;
const ROWS = 256;

let state = 12345;
const noise = length => Float32Array.from({ length }, () => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return state / 2 ** 31 - 1;
});
const hann = n => Float64Array.from({ length: n }, (_, i) => 0.5 - 0.5 * Math.cos(2 * Math.PI * i / n));

/** Bins 0 to `bins` − 1 of the transform of values by its definition, in f64: real and imaginary parts alternate. */
function transform(re, im, bins) {
  const n = re.length;
  const cosines = Float64Array.from({ length: n }, (_, i) => Math.cos(2 * Math.PI * i / n));
  const sines = Float64Array.from({ length: n }, (_, i) => Math.sin(2 * Math.PI * i / n));
  const values = new Float64Array(2 * bins);
  for (let k = 0; k < bins; k += 1) {
    for (let i = 0; i < n; i += 1) {
      const [c, s, y] = [cosines[i * k % n], sines[i * k % n], im ? im[i] : 0];
      values[2 * k] += re[i] * c + y * s;
      values[2 * k + 1] += y * c - re[i] * s;
    }
  }
  return values;
}

const power = values => values.filter((_, i) => i % 2 === 0).map((re, k) => re ** 2 + values[2 * k + 1] ** 2);
const interleaved = (re, im) => Float64Array.from({ length: 2 * re.length }, (_, i) => (i % 2 ? im : re)[i >> 1]);

/** The largest difference beside the largest value. */
function error(found, expected) {
  if (found.length !== expected.length) throw new Error(`${found.length} values, and not ${expected.length}`);
  const largest = expected.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  return expected.reduce((most, value, i) => Math.max(most, Math.abs(found[i] - value)), 0) / largest;
}

/** Values of pffft in its memory, which a setup of `n` points transforms. */
function pffft(module, n, isComplex) {
  const length = isComplex ? 2 * n : n;
  const setup = module._pffft_new_setup(n, isComplex ? 1 : 0);
  const [input, output, work] = [0, 0, 0].map(() => module._pffft_aligned_malloc(4 * length));
  return values => {
    module.HEAPF32.set(values, input / 4);
    module._pffft_transform_ordered(setup, input, output, work, 0);
    return module.HEAPF32.slice(output / 4, output / 4 + length);
  };
}

/** An ONNX file with one operator STFT of windowed real frames. */
function stftModel(samples, frames, n, hop, bins) {
  const varint = value => value < 128 ? [value] : [value % 128 + 128, ...varint(Math.floor(value / 128))];
  const field = (number, bytes) => [...varint(number * 8 + 2), ...varint(bytes.length), ...bytes];
  const number = (name, value) => [...varint(name * 8), ...varint(value)];
  const text = (name, value) => field(name, [...new TextEncoder().encode(value)]);
  const tensorType = dims => field(2, field(1, [...number(1, 1), ...field(2, dims.flatMap(dim => field(1, number(1, dim))))]));
  const value = (name, dims) => [...text(1, name), ...tensorType(dims)];
  const scalar = (name, of) => field(5, [...number(2, 7), ...field(9, [...new Uint8Array(BigInt64Array.of(BigInt(of)).buffer)]), ...text(8, name)]);
  const onesided = field(5, [...text(1, 'onesided'), ...number(3, 1), ...number(20, 2)]);
  const node = [...['signal', 'hop', 'window'].flatMap(name => text(1, name)), ...text(2, 'spectra'), ...text(4, 'STFT'), ...onesided];
  const graph = [
    ...field(1, node), ...text(2, 'stft'), ...scalar('hop', hop),
    ...field(11, value('signal', [1, samples, 1])), ...field(11, value('window', [n])), ...field(12, value('spectra', [1, frames, bins, 2])),
  ];
  return Uint8Array.from([...number(1, 8), ...field(7, graph), ...field(8, number(2, 17))]);
}

/** Rows of `n` values, each transformed by a call. */
const byRow = (values, n, transform) => () => {
  for (let at = 0; at < values.length; at += n) transform(values.subarray(at, at + n));
};

async function complexCase(n, { module }) {
  const [re, im] = [noise(ROWS * n), noise(ROWS * n)];
  const into = { re: new Float32Array(ROWS * n), im: new Float32Array(ROWS * n) };
  const both = Float32Array.from(interleaved(re, im));
  const javascript = new Fft(n);
  const out = javascript.createComplexArray();
  const kiss = new kissfft.FFTConfig(n, false);
  const [input, output] = [new kissfft.ComplexArray(n), new kissfft.ComplexArray(n)];
  const simd = pffft(module, n, true);
  const kissfftRow = row => { input.asFloat32Array().set(row); kiss.work(input, output); return output.toFloat32Array(); };
  return {
    name: `fft, ${ROWS} rows of ${n}`,
    expected: transform(re.subarray(0, n), im.subarray(0, n), n),
    peers: {
      ours: { run: () => firefly.fft({ re, im }, { n, out: into }), first: found => interleaved(found.re, found.im).subarray(0, 2 * n) },
      'pffft (SIMD)': { run: byRow(both, 2 * n, simd), first: () => simd(both.subarray(0, 2 * n)) },
      'kissfft-wasm': { run: byRow(both, 2 * n, kissfftRow), first: () => kissfftRow(both.subarray(0, 2 * n)) },
      'fft.js': { run: byRow(both, 2 * n, row => javascript.transform(out, row)), first: () => { javascript.transform(out, both.subarray(0, 2 * n)); return out; } },
    },
  };
}

async function realCase(n, { module }) {
  const x = noise(ROWS * n);
  const bins = n / 2 + 1;
  const into = { re: new Float32Array(ROWS * bins), im: new Float32Array(ROWS * bins) };
  const javascript = new Fft(n);
  const out = javascript.createComplexArray();
  const simd = pffft(module, n, false);
  // The real value of the last bin lies beside that of the first.
  const unpacked = packed => Float64Array.from([packed[0], 0, ...packed.subarray(2), packed[1], 0]);
  const split = fourier.fft ?? fourier.default;
  return {
    name: `rfft, ${ROWS} rows of ${n}`,
    expected: transform(x.subarray(0, n), null, bins),
    peers: {
      ours: { run: () => firefly.rfft(x, { n, out: into }), first: found => interleaved(found.re, found.im).subarray(0, 2 * bins) },
      'pffft (SIMD)': { run: byRow(x, n, simd), first: () => unpacked(simd(x.subarray(0, n))) },
      'fft.js': { run: byRow(x, n, row => javascript.realTransform(out, row)), first: () => { javascript.realTransform(out, x.subarray(0, n)); return out.slice(0, 2 * bins); } },
      'fourier-transform': { run: byRow(x, n, row => split(row)), first: () => interleaved(...split(x.subarray(0, n))) },
    },
  };
}

async function spectrogramCase() {
  const [n, hop, samples] = [512, 256, 480_000];
  const [frames, bins] = [Math.floor((samples - n) / hop) + 1, n / 2 + 1];
  const x = noise(samples);
  const window = hann(n);
  const session = await onnx.InferenceSession.create(stftModel(samples, frames, n, hop, bins));
  const feeds = { signal: new onnx.Tensor('float32', x, [1, samples, 1]), window: new onnx.Tensor('float32', Float32Array.from(window), [n]) };
  Meyda.bufferSize = n;
  const first = x.subarray(0, n);
  const expected = power(transform(Float64Array.from(first, (value, i) => value * window[i]), null, bins));
  const one = Array.from(expected.keys());
  const symmetric = Float64Array.from(first, (value, i) => value * (0.5 - 0.5 * Math.cos(2 * Math.PI * i / (n - 1))));
  const options = { nFft: n, hop, scaling: 'power', detrend: 'none' };
  return {
    name: `power of segments of ${n}, 256 apart, of ${samples} samples`,
    expected,
    peers: {
      // Bins but the first and the last are doubled.
      ours: { run: () => firefly.spectrogram(x, options), first: found => one.map(k => found.power[k] / (k === 0 || k === bins - 1 ? 1 : 2)) },
      'onnxruntime-web': { run: () => session.run(feeds), first: found => power(Float64Array.from(found.spectra.data.subarray(0, 2 * bins))) },
      // Its window is symmetric, and it leaves out the last bin.
      meyda: {
        run: () => { for (let at = 0; at + n <= samples; at += hop) Meyda.extract('powerSpectrum', x.subarray(at, at + n)); },
        first: () => Meyda.extract('powerSpectrum', first),
        expected: power(transform(symmetric, null, bins)).subarray(0, n / 2),
      },
    },
  };
}

async function melCase() {
  const [sampleRate, nFft, hop, nMels] = [16_000, 400, 160, 80];
  const x = noise(30 * sampleRate);
  const theirs = new WhisperFeatureExtractor({ feature_size: nMels, n_fft: nFft, hop_length: hop, sampling_rate: sampleRate, n_samples: x.length, nb_max_frames: 3000 });
  const options = { sampleRate, nFft, hop, nMels, pad: 'reflect', unit: 'ten', scale: 'slaney', norm: 'slaney' };
  const frames = x.length / hop;
  // Its values are limited to eight decades and scaled.
  const scaled = values => {
    const most = values.reduce((a, b) => Math.max(a, b), -Infinity);
    return values.map(value => (Math.max(value, most - 8) + 4) / 4);
  };
  const byFrame = (values, all) => Float64Array.from({ length: nMels }, (_, band) => values[band * all + 7]);
  const at = 7 * hop - nFft / 2;
  const window = hann(nFft);
  const spectrum = power(transform(Float64Array.from(x.subarray(at, at + nFft), (value, i) => value * window[i]), null, nFft / 2 + 1));
  const expected = theirs.config.mel_filters.map(filter => (Math.log10(filter.reduce((sum, weight, k) => sum + weight * spectrum[k], 0)) + 4) / 4);
  return {
    name: `log-mel of 30 s at 16 kHz, n 400, hop 160, 80 bands`,
    expected,
    peers: {
      ours: { run: () => firefly.logMel(x, options), first: found => byFrame(scaled(found.values), found.frames) },
      'transformers.js': { run: () => theirs._extract_fbank_features(x), first: found => byFrame(found.data, frames) },
    },
  };
}

/** Verifies a case, then times its peers in random order, and prints a row of the table. */
async function measure({ name, expected, peers }) {
  const times = {};
  for (const [peer, { run, first, expected: own }] of Object.entries(peers)) {
    const difference = error(first(await run()), own ?? expected);
    if (!(difference < 1e-5)) throw new Error(`${name}: ${peer} is ${difference} from the definition`);
    times[peer] = [];
  }
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const peer of Object.keys(peers).map(key => [Math.random(), key]).sort((a, b) => a[0] - b[0]).map(([, key]) => key)) {
      const before = performance.now();
      await peers[peer].run();
      // The first rounds compile.
      if (round >= 10) times[peer].push(performance.now() - before);
    }
  }
  const [ours, ...others] = Object.entries(times).map(([peer, of]) => [peer, of.sort((a, b) => a - b)]);
  const text = of => `${of[of.length >> 1].toFixed(2)} (${of[0].toFixed(2)} – ${of.at(-1).toFixed(2)})`;
  const beside = others.map(([peer, of]) => `${peer} ${text(of)}, ${(of[of.length >> 1] / ours[1][ours[1].length >> 1]).toFixed(1)} ×`);
  console.log(`| ${name} | ${text(ours[1])} | ${beside.join('; ')} |`);
}

await firefly.load();
const module = await loadPffft();
onnx.env.wasm.numThreads = 1;
console.log('| what | ours, ms, median (least – greatest) | others, and their time beside ours |\n| --- | --- | --- |');
for (const n of [256, 1024, 8192]) await measure(await complexCase(n, { module }));
for (const n of [256, 1024, 8192]) await measure(await realCase(n, { module }));
await measure(await spectrogramCase());
await measure(await melCase());
