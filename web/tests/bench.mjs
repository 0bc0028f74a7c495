// Time of 1,024 frames (n 256, two segments, K 16), sizes of the modules, and how long loading takes: node tests/bench.mjs, after ./build
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import * as firefly from '../dist/package/firefly.js';

const start = performance.now();
await firefly.load();
const loaded = performance.now() - start;
for (const file of ['firefly_wasm', 'firefly_webgpu', 'firefly_models']) {
  const bytes = readFileSync(new URL(`../dist/package/${file}_bg.wasm`, import.meta.url));
  console.log(`${file}: ${bytes.length} bytes, ${gzipSync(bytes, { level: 9 }).length} with gzip`);
}
console.log(`firefly_wasm is loaded in ${loaded.toFixed(0)} ms`);

let state = 12345;
const signal = Float32Array.from({ length: 1024 * 384 }, (_, i) => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  const frame = Math.floor(i / 384);
  return Math.sin(2 * Math.PI * (7.3 + frame % 100) * i / 256) + 0.5 * Math.sin(2 * Math.PI * (40.5 + frame % 50) * i / 256) + state / 2 ** 32 - 0.5;
});
const summary = times => {
  const sorted = [...times].sort((a, b) => a - b);
  return `${sorted[0].toFixed(3)} ms at least, ${sorted[Math.floor(sorted.length / 2)].toFixed(3)} in the median of ${sorted.length}`;
};
const estimate = new firefly.WelchPeaks({ nFft: 256, segments: 2, k: 16 });
estimate.time(signal, 50);
console.log(`${firefly.instructionSet()}, in the module's memory: ${summary(estimate.time(signal, 300))}`);
const copied = Array.from({ length: 200 }, () => {
  const before = performance.now();
  estimate.forward(signal);
  return performance.now() - before;
});
console.log(`with copies from and to JavaScript: ${summary(copied)}`);

// A minute of a live signal, in blocks of a microphone.
const RATE = 48_000;
const block = new Float32Array(2048).map((_, i) => Math.sin(i));
const stream = new firefly.Spectrogram({ nFft: 2048, hop: 256, sampleRate: RATE });
const before = performance.now();
for (let samples = 0; samples < 60 * RATE; samples += block.length) stream.push(block);
const share = 2 * (performance.now() - before) / 60_000;
console.log(`columns of 48 kHz stereo, n 2,048, hop 256: ${(100 * share).toFixed(2)} % of a core`);
