// The operations of firefly.js by WebGPU: each returns a promise. Types and documentation: webgpu.d.ts.
import initialise, * as wasm from './firefly_webgpu.js';
import { loader } from './arguments.js';
import { operations } from './operations.js';

const { load: loadModule, ready } = loader(async module_or_path => {
  await initialise({ module_or_path });
  await wasm.start_device();
}, new URL('firefly_webgpu_bg.wasm', import.meta.url));

/** Loads the module as `load` of firefly.js, and prepares the GPU. Where there is none, the promise is rejected, and nothing is fetched. */
export async function load(source) {
  if (!globalThis.navigator?.gpu) {
    throw new Error(`WebGPU is not available: ${globalThis.isSecureContext === false ? 'it needs a page from https or localhost' : 'this browser has none'}`);
  }
  if (!await navigator.gpu.requestAdapter({ powerPreference: 'high-performance' })) throw new Error('WebGPU is not available: the browser offers no GPU');
  await loadModule(source);
}

async function call(body) {
  ready();
  return body();
}

/** Rejected when the module fails, whose other promises are never kept then. */
const failure = new Promise((_, reject) => {
  globalThis.addEventListener?.('error', ({ error }) => {
    if (error instanceof WebAssembly.RuntimeError) reject(new Error(`the module for WebGPU failed: ${error.message}`));
  });
});
failure.catch(() => {});

/** Takes the parts of a result from the device: `bins`, and others in their order. All are asked for at once. */
async function take(result, parts, out) {
  let floats = 0;
  const asked = parts.map(part => (part === 'bins' ? result.bins() : result.floats(floats++)));
  const values = await Promise.race([Promise.allSettled(asked), failure]);
  result.free();
  const failed = values.find(({ status }) => status === 'rejected');
  if (failed) throw failed.reason;
  parts.forEach((part, i) => out?.[part].set(values[i].value));
  return out ?? Object.fromEntries(parts.map((part, i) => [part, values[i].value]));
}

const all = operations(wasm, { ready, call, take, then: async (value, next) => next(await value) });
export const { fft, ifft, rfft, irfft, WelchPeaks, welchPeaks, psd, Spectrogram, spectrogram, localMaxima, logMel } = all;
