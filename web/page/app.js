// The page: sources of samples, settings, and what the pointer and the keys do. The worker computes.
import { readRecording } from './readers.js';
import { demoRecording } from './demo.js';
import { SpectrogramPlot, SpectrumPlot, hertz } from './plots.js';

const element = id => document.getElementById(id);
const spectrogram = new SpectrogramPlot(element('spectrogram'));
const spectrum = new SpectrumPlot(element('spectrum'));

/** Columns of the picture of a microphone. */
const LIVE_COLUMNS = 600;
const TRAINING_STEPS = 200;

let recording; // { name, channels, sampleRate, notes }
let microphone; // { context, stream, waiting, isBusy, isPaused }
let selection; // { from, to } in seconds
let cursor; // { seconds, frequency }
let cursorBin;
let anchor; // where a selection began, in seconds
let latest = 0; // number of the newest request: results of older ones are dropped
let isTraining = false;

// The worker.

const worker = new Worker('worker.js', { type: 'module' });
const pending = new Map();
let calls = 0;

worker.addEventListener('message', ({ data: { id, result, problem, fallback } }) => {
  const { resolve, reject } = pending.get(id);
  pending.delete(id);
  if (fallback !== undefined) useCpu(`WebGPU failed: ${fallback}`);
  if (problem === undefined) resolve(result);
  else reject(new Error(problem));
});
worker.addEventListener('error', event => report(new Error(event.message || 'The worker could not be started.')));

/** Shows that the worker computes on the CPU from now on, and why. */
function useCpu(reason) {
  element('engines').value = 'cpu';
  element('engine').textContent = 'The CPU computes';
  report(new Error(`${reason}. The CPU computes.`));
}

/** Computes by the engine that was chosen, or else on the CPU. */
async function chooseEngine() {
  const name = element('engines').value;
  element('engine').textContent = name === 'webgpu' ? 'Loading the module for WebGPU …' : '';
  try {
    await call('load', { name });
  } catch (error) {
    useCpu(error.message);
  }
  await (microphone ? listen() : compute());
}

function call(name, options, transfer = []) {
  return new Promise((resolve, reject) => {
    pending.set(calls, { resolve, reject });
    worker.postMessage({ id: calls++, call: name, options }, transfer);
  });
}

// Settings.

function settings() {
  const k = element('k').valueAsNumber;
  if (!Number.isInteger(k) || k < 1 || k > 64) throw new Error(`Peaks: ${element('k').value || 'nothing'} is no whole number from 1 to 64.`);
  const sampleRate = element('rate').valueAsNumber;
  if (!(sampleRate > 0 && Number.isFinite(sampleRate))) throw new Error(`Sample rate: ${element('rate').value || 'nothing'} is no number of hertz above 0.`);
  const value = id => element(id).value;
  return { nFft: Number(value('nFft')), window: value('window'), scaling: value('scaling'), kind: value('kind'), k, sampleRate };
}

function unit() {
  return element('scaling').value === 'density' ? 'dB/Hz' : 'dB';
}

function report(error) {
  element('problem').textContent = error?.message ?? '';
  element('problem').hidden = !error;
}

/** Runs something that may fail: the page says why, and stays as it was. */
async function attempt(action) {
  try {
    report();
    await action();
  } catch (error) {
    report(error);
  }
}

// Recordings.

function describe() {
  const { name, channels, sampleRate, notes } = recording;
  const { length } = channels[0].samples;
  const parts = [`${channels.length} channel${channels.length > 1 ? 's' : ''}`, `${length.toLocaleString('en')} samples at ${Number(sampleRate.toPrecision(9))} Hz`, ...notes];
  element('source').textContent = `${name}: ${parts.join(' · ')}`;
}

async function show(opened) {
  await stopMicrophone();
  recording = opened;
  element('channel').replaceChildren(...opened.channels.map(({ name }, i) => new Option(name, `${i}`)));
  element('rate').value = `${Number(opened.sampleRate.toPrecision(9))}`;
  element('rate').disabled = element('channel').disabled = false;
  describe();
  await showChannel();
}

async function showChannel() {
  isTraining = false;
  selection = cursor = cursorBin = undefined;
  await call('open', { samples: recording.channels[Number(element('channel').value)].samples });
  await compute();
}

/** Spectrogram and spectrum of the recording, by the settings. */
async function compute() {
  const request = ++latest;
  const options = settings();
  recording.sampleRate = options.sampleRate;
  describe();
  const picture = await call('spectrogram', options);
  if (request !== latest) return;
  spectrogram.show(picture);
  const joined = picture.perColumn > 1 ? `each column is the maximum of ${picture.perColumn} segments` : '';
  element('range').textContent = joined;
  showSpeed(picture);
  await computeSpectrum();
}

async function computeSpectrum() {
  const request = ++latest;
  const options = settings();
  const { length } = recording.channels[0].samples;
  const [from, to] = selection ? [selection.from, selection.to].map(seconds => Math.round(seconds * options.sampleRate)) : [0, length];
  const found = await call('spectrum', { ...options, from: Math.max(0, from), to: Math.min(length, to) });
  if (request !== latest) return;
  showSpectrum(found);
  const part = selection ? `${seconds(selection.from)} to ${seconds(selection.to)}` : 'the whole recording';
  element('averaged').textContent = `${part}, mean of ${found.segments.toLocaleString('en')} segment${found.segments > 1 ? 's' : ''} of ${found.nFft}`;
  draw();
  document.body.dataset.shown = recording.name;
  document.body.dataset.firstResult ??= `${Math.round(performance.now())}`;
}

function showSpectrum(found) {
  spectrum.show(found);
  const rows = found.peaks.map(({ frequency, level, bin }, i) => {
    const row = document.createElement('tr');
    row.dataset.bin = bin;
    row.dataset.frequency = frequency;
    row.append(...[`${i + 1}`, hertz(frequency), `${level.toFixed(1)} ${unit()}`].map(text => Object.assign(document.createElement('td'), { textContent: text })));
    return row;
  });
  element('peaks').replaceChildren(...rows);
  if (cursorBin >= found.levels.length) cursorBin = undefined;
  const strongest = found.peaks[0];
  element('spectrum').setAttribute('aria-label', strongest ? `Welch spectrum. The strongest peak is at ${hertz(strongest.frequency)}, ${strongest.level.toFixed(1)} ${unit()}` : 'Welch spectrum without peaks');
}

function showSpeed({ engine, framesPerSecond }) {
  element('engine').textContent = `${engine} · ${Number(framesPerSecond.toPrecision(2)).toLocaleString('en')} segments per second`;
}

function seconds(value) {
  return `${Number(value.toFixed(3))} s`;
}

async function openFiles(files) {
  if (files.length === 0) return;
  const before = element('source').textContent;
  element('source').textContent = `Reading ${files[0].name} …`;
  try {
    await show(await readRecording(files));
  } catch (error) {
    element('source').textContent = before;
    throw error;
  }
}

// The microphone.

async function startMicrophone() {
  if (!navigator.mediaDevices?.getUserMedia) throw new Error('The microphone needs a page from https or localhost.');
  let stream;
  try {
    stream = await navigator.mediaDevices.getUserMedia({ audio: { echoCancellation: false, noiseSuppression: false, autoGainControl: false } });
  } catch (error) {
    throw new Error(`The microphone is not available: ${error.message}`);
  }
  const context = new AudioContext();
  await context.audioWorklet.addModule('capture.js');
  const node = new AudioWorkletNode(context, 'capture');
  microphone = { context, stream, waiting: [], isBusy: false, isPaused: false };
  node.port.addEventListener('message', ({ data }) => hear(data));
  node.port.start();
  selection = cursor = cursorBin = undefined;
  element('rate').value = `${context.sampleRate}`;
  element('rate').disabled = element('channel').disabled = true;
  element('source').textContent = `Microphone at ${context.sampleRate} Hz: heard here, kept nowhere, sent nowhere`;
  await listen();
  context.createMediaStreamSource(stream).connect(node).connect(context.destination);
  await context.resume();
  microphoneButtons();
}

/** Begins a live spectrogram, with the settings. */
async function listen() {
  ++latest;
  const { rows, nyquist, secondsPerColumn, ...speed } = await call('listen', settings());
  showSpeed(speed);
  microphone.secondsPerColumn = secondsPerColumn;
  const duration = LIVE_COLUMNS * secondsPerColumn;
  spectrogram.show({ picture: new Float32Array(LIVE_COLUMNS * rows).fill(NaN), rows, columns: LIVE_COLUMNS, seconds: duration, nyquist }, -duration);
  element('range').textContent = `the last ${duration.toFixed(1)} s`;
}

/** Takes a block of samples; blocks that come while the worker computes wait and go together. */
async function hear(block) {
  const source = microphone;
  if (!source || source.isPaused) return;
  source.waiting.push(block);
  if (source.isBusy) return;
  source.isBusy = true;
  await attempt(async () => {
    while (microphone === source && source.waiting.length > 0 && !source.isPaused) {
      const blocks = source.waiting.splice(0);
      const samples = new Float32Array(blocks.reduce((sum, { length }) => sum + length, 0));
      let filled = 0;
      for (const part of blocks) {
        samples.set(part, filled);
        filled += part.length;
      }
      const request = latest;
      const heard = await call('hear', { ...settings(), samples }, [samples.buffer]);
      if (microphone !== source || request !== latest) continue;
      spectrogram.push(heard.picture, heard.columns, source.secondsPerColumn);
      if (heard.spectrum) {
        showSpectrum(heard.spectrum);
        element('averaged').textContent = `the last ${(heard.spectrum.segments * source.secondsPerColumn).toFixed(1)} s, mean of ${heard.spectrum.segments} segments`;
        document.body.dataset.shown = 'microphone';
      }
      draw();
    }
  });
  source.isBusy = false;
}

async function stopMicrophone() {
  if (!microphone) return;
  const { context, stream } = microphone;
  microphone = undefined;
  stream.getTracks().forEach(track => track.stop());
  await context.close();
  microphoneButtons();
}

async function toggleMicrophone() {
  if (!microphone) return startMicrophone();
  await stopMicrophone();
  if (recording) await show(recording);
}

async function togglePause() {
  if (!microphone) return;
  microphone.isPaused = !microphone.isPaused;
  microphone.waiting = [];
  // The samples before and after a pause are not neighbours.
  if (!microphone.isPaused) await call('listen', settings());
  microphoneButtons();
}

function microphoneButtons() {
  element('microphone').setAttribute('aria-pressed', `${Boolean(microphone)}`);
  element('pause').disabled = !microphone;
  element('pause').setAttribute('aria-pressed', `${Boolean(microphone?.isPaused)}`);
}

// Training.

/** Trains an estimate of two segments on the recording, while its loss is shown. Another click ends it. */
async function train() {
  if (isTraining) {
    isTraining = false;
    return;
  }
  if (!recording || microphone) throw new Error('Training needs a recording: open a file or the built-in signal.');
  const trained = recording;
  isTraining = true;
  element('train').textContent = 'Stop';
  element('training').textContent = 'Loading the module for training …';
  const losses = [];
  try {
    await call('beginTraining', settings());
    while (isTraining && losses.length < TRAINING_STEPS && recording === trained) {
      const { losses: fresh, recall } = await call('train', { steps: 5, of: TRAINING_STEPS });
      losses.push(...fresh);
      drawLosses(losses);
      const found = recall && `. In the last fifth, ${recall.frames} frames, it finds ${percent(recall.learned)} of the peaks of eight segments; two exact segments find ${percent(recall.exact)}`;
      element('training').textContent = `Step ${losses.length} of ${TRAINING_STEPS}: loss ${losses.at(-1).toFixed(4)}, first ${losses[0].toFixed(4)}${found ?? ''}.`;
    }
  } finally {
    isTraining = false;
    element('train').textContent = 'Train on this recording';
    if (losses.length === 0) element('training').textContent = '';
  }
}

function percent(share) {
  return `${(100 * share).toFixed(1)} %`;
}

/** The losses of training as a line, from the highest to the lowest. */
function drawLosses(losses) {
  const [low, high] = [Math.min(...losses), Math.max(...losses)];
  const points = losses.map((loss, step) => `${(300 * step / (TRAINING_STEPS - 1)).toFixed(1)},${(58 - 56 * (loss - low) / (high - low || 1)).toFixed(1)}`);
  element('losses').setAttribute('points', points.join(' '));
}

// Pointer and keys.

function draw() {
  spectrogram.draw(cursor, selection);
  spectrum.draw(cursorBin);
  for (const row of element('peaks').children) row.classList.toggle('current', Number(row.dataset.bin) === cursorBin);
}

function readSpectrum() {
  const { levels, nFft, sampleRate, peaks } = spectrum.spectrum;
  const rank = peaks.findIndex(({ bin }) => bin === cursorBin);
  const peak = rank < 0 ? '' : `, peak ${rank + 1} at ${hertz(peaks[rank].frequency)}`;
  element('readout').textContent = `${hertz(cursorBin * sampleRate / nFft)}, bin ${cursorBin}: ${levels[cursorBin].toFixed(1)} ${unit()}${peak}`;
  draw();
}

function readSpectrogram() {
  const level = spectrogram.level(cursor);
  element('readout').textContent = `${seconds(cursor.seconds)}, ${hertz(cursor.frequency, 4)}: ${Number.isFinite(level) ? `${level.toFixed(1)} ${unit()}` : 'no power'}`;
  draw();
}

function cursorAt(event) {
  const { x, y } = spectrogram.place(event);
  return { seconds: spectrogram.start + x * spectrogram.seconds, frequency: y * spectrogram.nyquist };
}

function select(from, to) {
  selection = { from: Math.min(from, to), to: Math.max(from, to) };
  return attempt(computeSpectrum);
}

element('spectrogram').addEventListener('pointermove', event => {
  if (!spectrogram.picture) return;
  cursor = cursorAt(event);
  if (anchor !== undefined && !microphone) selection = { from: Math.min(anchor, cursor.seconds), to: Math.max(anchor, cursor.seconds) };
  readSpectrogram();
});
element('spectrogram').addEventListener('pointerdown', event => {
  if (microphone || !spectrogram.picture) return;
  event.currentTarget.setPointerCapture(event.pointerId);
  anchor = cursorAt(event).seconds;
});
element('spectrogram').addEventListener('pointerup', event => {
  if (anchor === undefined) return;
  const [from, to] = [anchor, cursorAt(event).seconds];
  anchor = undefined;
  // A click without a drag shows all again.
  if (Math.abs(to - from) > spectrogram.seconds / 200) select(from, to);
  else clearSelection();
});
element('spectrogram').addEventListener('pointercancel', () => { anchor = undefined; });

function clearSelection() {
  if (!selection) return;
  selection = undefined;
  attempt(computeSpectrum);
}

element('spectrum').addEventListener('pointermove', event => {
  if (!spectrum.spectrum) return;
  cursorBin = Math.round(spectrum.place(event).x * (spectrum.spectrum.levels.length - 1));
  readSpectrum();
});
for (const id of ['spectrogram', 'spectrum']) {
  element(id).addEventListener('pointerleave', () => {
    cursor = cursorBin = undefined;
    draw();
  });
}

element('spectrum').addEventListener('keydown', event => {
  if (!spectrum.spectrum) return;
  const { levels, peaks } = spectrum.spectrum;
  const rank = peaks.findIndex(({ bin }) => bin === cursorBin);
  const moves = {
    ArrowLeft: () => Math.max(0, (cursorBin ?? 1) - 1),
    ArrowRight: () => Math.min(levels.length - 1, (cursorBin ?? -1) + 1),
    ArrowDown: () => peaks[Math.min(peaks.length - 1, rank + 1)]?.bin,
    ArrowUp: () => peaks[Math.max(0, rank - 1)]?.bin,
    Home: () => 0,
    End: () => levels.length - 1,
  };
  const bin = moves[event.key]?.();
  if (bin === undefined) return;
  event.preventDefault();
  cursorBin = bin;
  readSpectrum();
});

element('spectrogram').addEventListener('keydown', event => {
  if (!spectrogram.picture) return;
  const { start, seconds: duration, nyquist, columns, rows } = spectrogram;
  const step = duration / Math.min(columns, 200);
  const [sideways, upwards] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key] ?? [];
  if (sideways === undefined) return;
  event.preventDefault();
  const before = cursor ?? { seconds: start, frequency: 0 };
  const within = (value, low, high) => Math.min(high, Math.max(low, value));
  cursor = {
    seconds: within(before.seconds + sideways * step, start, start + duration),
    frequency: within(before.frequency + upwards * nyquist / Math.min(rows, 200), 0, nyquist),
  };
  if (event.shiftKey && sideways !== 0 && !microphone) {
    const fixed = selection && (before.seconds === selection.from ? selection.to : selection.from);
    select(fixed ?? before.seconds, cursor.seconds);
  }
  readSpectrogram();
});

addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT)$/.test(event.target.tagName)) return;
  const actions = {
    o: () => element('file').click(),
    m: () => attempt(toggleMicrophone),
    d: () => attempt(() => show(demoRecording())),
    t: toggleTheme,
    Escape: clearSelection,
  };
  // On a button, the space bar presses it.
  if (event.target.tagName !== 'BUTTON' && event.target.tagName !== 'SUMMARY') actions[' '] = () => attempt(togglePause);
  const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!action) return;
  event.preventDefault();
  action();
});

// Controls.

element('file').addEventListener('change', event => {
  const files = [...event.target.files];
  // The same file can be opened again.
  attempt(() => openFiles(files)).finally(() => { event.target.value = ''; });
});
element('microphone').addEventListener('click', () => attempt(toggleMicrophone));
element('pause').addEventListener('click', () => attempt(togglePause));
element('demo').addEventListener('click', () => attempt(() => show(demoRecording())));
element('theme').addEventListener('click', toggleTheme);
element('engines').addEventListener('change', () => attempt(chooseEngine));
element('train').addEventListener('click', () => attempt(train));
element('channel').addEventListener('change', () => attempt(showChannel));
for (const id of ['rate', 'nFft', 'window', 'scaling', 'k', 'kind']) {
  element(id).addEventListener('change', () => attempt(() => {
    selection = id === 'rate' ? undefined : selection;
    if (microphone) return ['k', 'kind'].includes(id) ? undefined : listen();
    return ['k', 'kind'].includes(id) ? computeSpectrum() : compute();
  }));
}

let dragged = 0;
addEventListener('dragenter', event => {
  event.preventDefault();
  dragged++;
  element('drop').hidden = false;
});
addEventListener('dragleave', () => { element('drop').hidden = --dragged > 0 ? element('drop').hidden : true; });
addEventListener('dragover', event => event.preventDefault());
addEventListener('drop', event => {
  event.preventDefault();
  dragged = 0;
  element('drop').hidden = true;
  const files = [...event.dataTransfer.files];
  attempt(() => openFiles(files));
});

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  element('theme').textContent = theme === 'dark' ? 'Light' : 'Dark';
  spectrogram.paint();
  draw();
}

function toggleTheme() {
  setTheme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');
}

const prefersDark = matchMedia('(prefers-color-scheme: dark)');
prefersDark.addEventListener('change', () => setTheme(prefersDark.matches ? 'dark' : 'light'));
setTheme(prefersDark.matches ? 'dark' : 'light');
new ResizeObserver(() => {
  spectrogram.fit();
  spectrum.fit();
  draw();
}).observe(document.querySelector('main'));

await attempt(async () => {
  await call('load', { name: 'cpu' });
  await show(demoRecording());
});
