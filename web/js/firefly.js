// Spectra, peaks and mel spectra, computed by Firefly's WebAssembly module. Types and documentation: firefly.d.ts.
import initialise, * as wasm from './firefly_wasm.js';
import { loader, take } from './arguments.js';
import { operations } from './operations.js';

const { load, ready } = loader(module_or_path => initialise({ module_or_path }), new URL('firefly_wasm_bg.wasm', import.meta.url));
export { load };

function call(body) {
  ready();
  return body();
}

const all = operations(wasm, { ready, call, take, then: (value, next) => next(value) });
export const { fft, ifft, rfft, irfft, WelchPeaks, welchPeaks, psd, Spectrogram, spectrogram, localMaxima, logMel } = all;

/** Name of the instruction set of the kernels: `simd128`. */
export function instructionSet() {
  return wasm.instruction_set();
}
