/**
 * The operations of `firefly-fft` by WebGPU, with its arguments, errors and results: each function returns a promise, and nothing
 * waits for the GPU meanwhile. Bad arguments reject the promise, but those of constructors throw.
 *
 * @example
 * import { load, welchPeaks } from 'firefly-fft/webgpu';
 *
 * await load(); // rejected, with the reason, where there is no GPU: use `firefly-fft` there
 * const { bins } = await welchPeaks(frames, { nFft: 256, segments: 2, k: 16 });
 */
import type * as cpu from './firefly.js';

type Promised<F extends (...options: any[]) => unknown> = (...options: Parameters<F>) => Promise<ReturnType<F>>;

/**
 * Loads the module, once per page or process, and prepares the GPU; every other function needs it.
 *
 * @param source bytes of `firefly_webgpu_bg.wasm`, or where they are; the file beside this module if left out.
 */
export const load: typeof cpu.load;

export const fft: Promised<typeof cpu.fft>;
export const ifft: Promised<typeof cpu.ifft>;
export const rfft: Promised<typeof cpu.rfft>;
export const irfft: Promised<typeof cpu.irfft>;
export const welchPeaks: Promised<typeof cpu.welchPeaks>;
export const psd: Promised<typeof cpu.psd>;
export const spectrogram: Promised<typeof cpu.spectrogram>;
export const localMaxima: Promised<typeof cpu.localMaxima>;
export const logMel: Promised<typeof cpu.logMel>;

export class WelchPeaks {
  constructor(options?: cpu.PeakOptions);
  readonly k: number;
  readonly frame: number;
  forward(signal: cpu.Samples): Promise<cpu.Peaks>;
  free(): void;
}

export class Spectrogram {
  constructor(options?: cpu.SegmentOptions);
  readonly nFft: number;
  readonly hop: number;
  readonly bins: number;
  readonly frequencies: Float64Array;
  /** Calls may follow each other before their promises are kept. */
  push(signal: cpu.Samples): Promise<cpu.Columns>;
  reset(): void;
  free(): void;
}
