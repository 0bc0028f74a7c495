/**
 * Models, and their training, in a module of their own: they are computed on the CPU, on the thread that calls.
 *
 * @example
 * import { Learned, load } from 'firefly-fft/models';
 *
 * await load();
 * const { bins } = Learned.fromBytes(await file.arrayBuffer()).peaks(frames);
 */
import type { Peaks, Samples } from './firefly.js';

/**
 * Loads the module, once per page or process; everything else needs it.
 *
 * @param source bytes of `firefly_models_bg.wasm`, or where they are; the file beside this module if left out.
 */
export function load(source?: string | URL | Response | BufferSource | WebAssembly.Module): Promise<void>;

/** Learned Welch estimate, as `firefly train` and the zoo write it. */
export class Learned {
  private constructor();
  /** The model of a safetensors file. A file that is damaged, or of another family, is an error. */
  static fromBytes(bytes: Uint8Array | ArrayBuffer): Learned;
  readonly nFft: number;
  readonly hop: number;
  readonly segments: number;
  readonly bins: number;
  /** Samples that a frame needs. */
  readonly frame: number;
  readonly k: number;
  /** Peaks of each frame. */
  peaks(signal: Samples, options?: { k?: number; frame?: number }): Peaks;
  /** Power of each bin of each frame. */
  psd(signal: Samples, options?: { frame?: number }): Float32Array;
  /** The bytes of a safetensors file of the zoo. */
  toBytes(): Uint8Array;
  free(): void;
}

export interface TrainingOptions {
  /** Samples of a segment; 64 if left out. */
  nFft?: number;
  /** Samples from one segment to the next; half of `nFft` if left out. */
  hop?: number;
  /** Candidate segments of a frame; 8 if left out. */
  segments?: number;
  /** Numbers of those that are transformed; 1 and 6 if left out. */
  open?: number[];
  /** Peaks of a frame; 8 if left out. */
  k?: number;
}

/**
 * Training of the taper and of the gain of each bin of a learned estimate, from few segments of a frame towards the peaks of all of them:
 * the loss of `firefly train` with the configuration `synthetic-64`, whose values are the defaults, at a rate that the caller gives.
 */
export class Training {
  constructor(options?: TrainingOptions);
  /** Samples of a frame. */
  readonly frame: number;
  /** Trains on a batch of frames by a step of Adam, and returns the loss before it. The learning rate is 0.03 if left out. */
  step(signal: Samples, options?: { learningRate?: number }): number;
  /** The estimate as it is now. */
  learned(): Learned;
  free(): void;
}
