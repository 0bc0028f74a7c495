// Computes what the page shows, apart from the thread that draws. Messages are { id, call, options }, one after the other.
import * as cpu from './firefly/firefly.js';

/** Largest picture of a recording: more columns or bins are joined, with the maximum of each group. */
const MAX_COLUMNS = 1600;
const MAX_ROWS = 1024;
/** Samples that are transformed at once. */
const BLOCK = 1 << 20;
/** Seconds of a microphone that the spectrum is averaged over, and its least number of segments. */
const LIVE_SECONDS = 1;
const LIVE_SEGMENTS = 8;

let recording;
let live;
/** The operations: on the CPU, or by WebGPU, whose results are awaited. */
let engine = cpu;
/** Name of the GPU. */
let gpu = '';
let training;

/** What computes. */
function engineName() {
  if (engine === cpu) return `WebAssembly on one core, ${cpu.instructionSet()}`;
  return `WebGPU${gpu && `, ${gpu}`}`;
}

/** A module that is fetched when it is needed; the page as a file has none but that of the CPU. */
function furtherModule(name) {
  if (self.embedded) throw new Error('The page as a file has the module for the CPU alone: open the page from a server');
  return import(`./firefly/${name}.js`);
}

/** Decibels; what is no power is at the lowest level. */
function decibels(power) {
  return power > 1e-20 ? 10 * Math.log10(power) : -200;
}

/** Joins a column of power to that of a picture, with `perRow` bins in a row: the larger values stay. */
function addColumn(picture, at, power, offset, bins, perRow) {
  for (let bin = 0; bin < bins; bin++) {
    const row = at + Math.floor(bin / perRow);
    if (!(picture[row] >= power[offset + bin])) picture[row] = power[offset + bin];
  }
}

/** Columns a second, in the fastest of a few blocks: the browser compiles the module better while it runs. */
async function speed(stream) {
  const block = new Float32Array(stream.nFft + 255 * stream.hop);
  const times = [];
  for (let run = 0; run < 5; run++) {
    stream.reset();
    const before = performance.now();
    await stream.push(block);
    times.push(performance.now() - before);
  }
  return 256 / Math.max(Math.min(...times), 0.01) * 1000;
}

/** Spectrum of samples with its peaks. */
async function spectrumOf(samples, { nFft, window, scaling, sampleRate, k, kind }) {
  const length = Math.min(nFft, samples.length);
  const options = { nFft: length, window, scaling, sampleRate, detrend: 'constant' };
  const { power, segments } = await engine.psd(samples, options);
  const count = Math.min(k, power.length);
  let peaks;
  if (kind === 'lines') {
    const found = await engine.localMaxima(power, { k: count, interpolation: window === 'hann' ? 'hann' : 'log_parabola' });
    peaks = Array.from(found.bins, (bin, i) => ({ bin, frequency: (bin + found.offset[i]) * sampleRate / length, level: decibels(found.power[i]) }));
  } else {
    const hop = Math.max(1, Math.floor(length / 2));
    const estimate = new engine.WelchPeaks({ ...options, hop, segments, k: count });
    const found = await estimate.forward(samples.subarray(0, estimate.frame));
    estimate.free();
    peaks = Array.from(found.bins, (bin, i) => ({ bin, frequency: bin * sampleRate / length, level: decibels(found.power[i]) }));
  }
  return { levels: Float32Array.from(power, decibels), nFft: length, sampleRate, segments, peaks: peaks.filter(({ bin }) => bin >= 0) };
}

const calls = {
  /** Loads an engine, `cpu` or `webgpu`, which computes from then on. If it cannot be loaded, the CPU does. */
  async load({ name }) {
    engine = cpu;
    if (name === 'cpu') return cpu.load(await self.embedded);
    const loaded = await furtherModule('webgpu');
    await loaded.load();
    const { vendor, architecture } = (await navigator.gpu.requestAdapter())?.info ?? {};
    gpu = [vendor, architecture].filter(Boolean).join(' ');
    engine = loaded;
  },

  /** Keeps the samples of a channel. */
  open({ samples }) {
    recording = samples;
  },

  /** Spectrogram of the recording as a picture of decibels, column by column. */
  async spectrogram({ nFft, window, scaling, sampleRate }) {
    const length = Math.min(nFft, recording.length);
    const hop = Math.max(1, Math.floor(length / 2));
    const all = Math.floor((recording.length - length) / hop) + 1;
    const perColumn = Math.ceil(all / MAX_COLUMNS);
    const bins = Math.floor(length / 2) + 1;
    const perRow = Math.ceil(bins / MAX_ROWS);
    const rows = Math.ceil(bins / perRow);
    const columns = Math.ceil(all / perColumn);
    const picture = new Float32Array(columns * rows).fill(NaN);
    const stream = new engine.Spectrogram({ nFft: length, hop, window, scaling, sampleRate, detrend: 'constant' });
    let column = 0;
    for (let start = 0; start < recording.length; start += BLOCK) {
      const { columns: fresh, power } = await stream.push(recording.subarray(start, start + BLOCK));
      for (let i = 0; i < fresh; i++, column++) addColumn(picture, Math.floor(column / perColumn) * rows, power, i * bins, bins, perRow);
    }
    const framesPerSecond = await speed(stream);
    stream.free();
    picture.forEach((power, i) => { picture[i] = decibels(power); });
    const seconds = ((all - 1) * hop + length) / sampleRate;
    return { picture, rows, columns, perColumn, seconds, nyquist: sampleRate / 2, framesPerSecond, engine: engineName() };
  },

  /** Spectrum of a part of the recording, from and to in samples. */
  spectrum({ from, to, ...options }) {
    return spectrumOf(recording.subarray(from, to), options);
  },

  /** Begins a live signal. */
  async listen({ nFft, window, scaling, sampleRate }) {
    live?.stream.free();
    const stream = new engine.Spectrogram({ nFft, window, scaling, sampleRate, detrend: 'constant' });
    const kept = Math.max(Math.round(LIVE_SECONDS * sampleRate), nFft + (LIVE_SEGMENTS - 1) * stream.hop);
    live = { stream, options: { nFft, window, scaling, sampleRate }, sampleRate, latest: new Float32Array(0), kept, perRow: Math.ceil(stream.bins / MAX_ROWS) };
    const framesPerSecond = await speed(stream);
    stream.reset();
    return { framesPerSecond, engine: engineName(), rows: Math.ceil(stream.bins / live.perRow), nyquist: sampleRate / 2, secondsPerColumn: stream.hop / sampleRate };
  },

  /** Columns that are complete with more samples of the live signal, and the spectrum of the latest ones. */
  async hear({ samples, ...options }) {
    const { columns, power } = await live.stream.push(samples);
    const joined = new Float32Array(Math.min(live.latest.length + samples.length, live.kept));
    joined.set(samples.subarray(Math.max(0, samples.length - joined.length)), Math.max(0, joined.length - samples.length));
    if (joined.length > samples.length) joined.set(live.latest.subarray(live.latest.length - (joined.length - samples.length)), 0);
    live.latest = joined;
    const { bins } = live.stream;
    const rows = Math.ceil(bins / live.perRow);
    const picture = new Float32Array(columns * rows).fill(NaN);
    for (let i = 0; i < columns; i++) addColumn(picture, i * rows, power, i * bins, bins, live.perRow);
    picture.forEach((value, i) => { picture[i] = decibels(value); });
    const spectrum = joined.length >= live.stream.nFft ? await spectrumOf(joined, { ...options, sampleRate: live.sampleRate }) : undefined;
    return { picture, rows, columns, spectrum };
  },

  /** Begins to train a learned estimate on frames of the recording, the last fifth of which is kept for `train` to evaluate. */
  async beginTraining({ nFft, k }) {
    const models = await furtherModule('models');
    await models.load();
    training?.model.free();
    training = undefined;
    const count = Math.min(k, Math.floor(nFft / 2) + 1);
    const model = new models.Training({ nFft, k: count });
    const learnable = Math.floor(recording.length * (1 - KEPT));
    const needed = Math.ceil(2 * model.frame / KEPT);
    if (recording.length < needed) {
      model.free();
      throw new Error(`The recording has ${recording.length} samples, but training with segments of ${nFft} needs ${needed}: choose a shorter segment.`);
    }
    training = { model, nFft, k: count, step: 0, learnable, random: 1 };
  },

  /** Trains for some steps of all, and returns their losses; after the last one, how many peaks are found. */
  train({ steps, of }) {
    const { model, learnable } = training;
    const frames = new Float32Array(BATCH * model.frame);
    const losses = [];
    for (let i = 0; i < steps; i++, training.step++) {
      for (let row = 0; row < BATCH; row++) {
        // A generator of 32-bit integers: a recording is trained on in the same way every time.
        training.random = (Math.imul(training.random, 1664525) + 1013904223) >>> 0;
        const start = Math.floor(training.random / 2 ** 32 * (learnable - model.frame + 1));
        frames.set(recording.subarray(start, start + model.frame), row * model.frame);
      }
      // The rate falls to 0 with a cosine.
      losses.push(model.step(frames, { learningRate: 0.03 * (0.51 + 0.49 * Math.cos(Math.PI * training.step / of)) }));
    }
    return { losses, recall: training.step >= of ? recallOfTwo() : undefined };
  },
};

/** Part of a recording that is not trained on. */
const KEPT = 0.2;
/** Frames of a training step. */
const BATCH = 64;

/** Shares of the peaks of eight segments that two exact and two learned segments find, in the part that is not trained on. */
function recallOfTwo() {
  const { model, nFft, k, learnable } = training;
  const { frame } = model;
  const kept = recording.subarray(learnable, learnable + Math.floor((recording.length - learnable) / frame) * frame);
  const peaks = segments => cpu.welchPeaks(kept, { nFft, segments, k, frame }).bins;
  const learned = model.learned();
  const [reference, exact, found] = [peaks(8), peaks(2), learned.peaks(kept, { frame, k }).bins];
  learned.free();
  const share = bins => {
    let hits = 0;
    for (let at = 0; at < bins.length; at += k) {
      const wanted = new Set(reference.subarray(at, at + k));
      hits += bins.subarray(at, at + k).filter(bin => wanted.has(bin)).length;
    }
    return hits / bins.length;
  };
  return { exact: share(exact), learned: share(found), frames: kept.length / frame };
}

/** Runs a call. If it fails by WebGPU, the CPU computes it and what follows; `fallback` says why. */
async function answer(call, options) {
  try {
    return { result: await calls[call](options) };
  } catch (error) {
    if (engine === cpu || call === 'load') throw error;
    const failed = engine;
    engine = cpu;
    try {
      if (call === 'hear') await calls.listen(live.options);
      return { result: await calls[call](options), fallback: error.message };
    } catch (refused) {
      // An error of both is the call's.
      engine = failed;
      throw refused;
    }
  }
}

let last = Promise.resolve();
addEventListener('message', ({ data: { id, call, options } }) => {
  last = last.then(async () => {
    try {
      const answered = await answer(call, options ?? {});
      postMessage({ id, ...answered }, answered.result?.picture ? [answered.result.picture.buffer] : []);
    } catch (error) {
      postMessage({ id, problem: error.message });
    }
  });
});
