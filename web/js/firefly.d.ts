/**
 * Spectra, peaks and mel spectra, computed by Firefly's WebAssembly module on the thread that calls.
 *
 * Signals are rows of samples, one after the other in one array. They are computed in f32: a `Float32Array` is read as it is,
 * other arrays of numbers are converted. An argument that is not accepted is a `TypeError` or an `Error` that names the
 * function, the argument, what it got and what it accepts.
 *
 * @example
 * import { load, welchPeaks } from 'firefly-fft';
 *
 * await load();
 * const signal = Float32Array.from({ length: 384 }, (_, i) => Math.sin(2 * Math.PI * i / 16));
 * welchPeaks(signal, { nFft: 256, segments: 2, k: 1 }).bins; // [16]
 */

/** Samples, in any unit. */
export type Samples = Float32Array | Float64Array | Int8Array | Uint8Array | Int16Array | Uint16Array | Int32Array | readonly number[];

/** Complex values, real and imaginary parts apart. */
export interface Complex {
  re: Float32Array;
  im: Float32Array;
}

/**
 * Loads the module, once per page or process; every other function needs it.
 *
 * @param source bytes of `firefly_wasm_bg.wasm`, or where they are; the file beside this module if left out.
 */
export function load(source?: string | URL | Response | BufferSource | WebAssembly.Module): Promise<void>;

/** Factor on a transform: 1 (`backward`, on the inverse 1/n), 1/√n (`ortho`), 1/n (`forward`, on the inverse 1). */
export type Norm = 'backward' | 'ortho' | 'forward';

export interface TransformOptions<Out = Complex> {
  /** Values of a row; all values are one row if left out. Of `irfft` those of its result, twice the bins less 2 if left out. */
  n?: number;
  /** `backward` if left out. */
  norm?: Norm;
  /** Arrays of the result's lengths, which it is written to and which are returned; new ones, which take time, if left out. */
  out?: Out;
}

/** Discrete Fourier transform of each row of `n` values, for any `n`, as `numpy.fft.fft`. */
export function fft(signal: Samples | { re: Samples; im: Samples }, options?: TransformOptions): Complex;
/** Inverse of `fft`. */
export function ifft(signal: Samples | { re: Samples; im: Samples }, options?: TransformOptions): Complex;
/** Transform of each row of `n` real values, `⌊n/2⌋ + 1` bins of each, as `numpy.fft.rfft`. */
export function rfft(signal: Samples, options?: TransformOptions): Complex;
/** Inverse of `rfft`: rows of `n` real values. */
export function irfft(spectrum: { re: Samples; im: Samples }, options?: TransformOptions<Float32Array>): Float32Array;

/**
 * Name of a periodic window: `hann`, `hamming`, `blackman`, `rectangular`, `nuttall`, `blackmanharris`, `flattop`,
 * `kaiser(beta)`, `gaussian(std)`, `tukey(alpha)` or `dpss(nw)`.
 */
export type Window = string;

/**
 * Scaling of power: `power`, |X|²; `spectrum`, the power of a sinusoid at its bin; `density`, per hertz. The last two are those
 * of `scipy.signal.welch`. Bins but DC and Nyquist are doubled: spectra are one-sided.
 */
export type Scaling = 'power' | 'spectrum' | 'density';

export interface SegmentOptions {
  /** Samples of a segment, any number; 256 if left out. */
  nFft?: number;
  /** Samples from one segment to the next; half of `nFft` if left out. */
  hop?: number;
  /** `hann` if left out. */
  window?: Window;
  /** `density` if left out, but `power` of peaks. */
  scaling?: Scaling;
  /** Samples per second; 1 if left out, but peaks with the scaling `density` need it. */
  sampleRate?: number;
  /** What is subtracted from each segment: its mean (`constant`), the default but of peaks, or nothing (`none`). */
  detrend?: 'none' | 'constant';
}

export interface PeakOptions extends SegmentOptions {
  /** Segments of a frame whose power is averaged; 2 if left out. */
  segments?: number;
  /** Peaks of a frame; 16 if left out. */
  k?: number;
  /** Samples of a frame; those of its segments, `nFft + (segments − 1) · hop`, if left out. */
  frame?: number;
  /** Bins that are searched, the first and the one after the last; all if `null`. */
  band?: [number, number] | null;
}

/** Peaks of frames, strongest first: peak `i` of frame `f` is at `f · k + i`. */
export interface Peaks {
  /** Bin numbers; −1 where a frame has too few bins of finite power. A tie goes to the lower bin. */
  bins: Int32Array;
  /** Power at the bins; NaN where a bin is −1. */
  power: Float32Array;
  frames: number;
  k: number;
}

/** The `k` strongest bins of the Welch spectrum of each frame; the signal is a whole number of frames. */
export function welchPeaks(signal: Samples, options?: PeakOptions): Peaks;

/** `welchPeaks` with options that are prepared once. */
export class WelchPeaks {
  constructor(options?: PeakOptions);
  readonly k: number;
  readonly frame: number;
  forward(signal: Samples): Peaks;
  /** For benchmarks, milliseconds of each of `runs` calls on a signal that is in the module's memory. */
  time(signal: Samples, runs: number): Float64Array;
  /** Frees what the module holds. */
  free(): void;
}

/** Power spectrum of a signal, averaged over all segments that it has, as `scipy.signal.welch`, with its defaults. */
export function psd(signal: Samples, options?: SegmentOptions): { power: Float64Array; frequencies: Float64Array; segments: number };

export interface LocalMaximaOptions {
  /** 16 if left out. */
  k?: number;
  /** Least distance of maxima, in bins; 1 if left out. */
  distance?: number;
  /** Least value; any if left out. */
  height?: number;
  /** Least prominence; any if left out. */
  prominence?: number;
  /** How a line is placed between bins: a parabola through logarithms (the default), or the shape of a Hann window's lobe. */
  interpolation?: 'log_parabola' | 'hann';
}

/** Local maxima, strongest first. */
export interface LocalMaxima {
  /** Positions; −1 where there are fewer maxima. */
  bins: Int32Array;
  power: Float32Array;
  prominence: Float32Array;
  /** Distance of the line from its bin, in bins: its frequency is `(bin + offset) · sampleRate / nFft`. */
  offset: Float32Array;
}

/** The `k` strongest local maxima of a spectrum, as `scipy.signal.find_peaks` has them. */
export function localMaxima(power: Samples, options?: LocalMaximaOptions): LocalMaxima;

/** Columns of a spectrogram: power of bin `b` of column `c` is at `c · bins + b`. */
export interface Columns {
  columns: number;
  power: Float32Array;
}

/** Power of each segment of a signal; the last samples, if they fill no segment, are left out. */
export function spectrogram(signal: Samples, options?: SegmentOptions): Columns & { bins: number; frequencies: Float64Array };

/** Spectrogram of a signal that comes in blocks of any length: the columns are those of the whole signal. */
export class Spectrogram {
  constructor(options?: SegmentOptions);
  readonly nFft: number;
  readonly hop: number;
  readonly bins: number;
  readonly frequencies: Float64Array;
  /** The columns that are complete with these samples. */
  push(signal: Samples): Columns;
  /** Forgets the samples that are left. */
  reset(): void;
  free(): void;
}

export interface MelOptions {
  /** Samples per second; there is no default. */
  sampleRate: number;
  /** Samples of a frame; 2048 if left out. */
  nFft?: number;
  /** Samples from one frame to the next; 512 if left out. */
  hop?: number;
  /** Samples of the window; `nFft` if left out. */
  windowLength?: number;
  window?: Window;
  /** Whether frame t is centred at sample t · hop, which is the default. */
  center?: boolean;
  /** Padding of a centred signal; zeros (`constant`) if left out. */
  pad?: 'constant' | 'reflect' | 'edge' | 'circular';
  /** Bands; 128 if left out. */
  nMels?: number;
  /** Lower edge in hertz; 0 if left out. */
  fMin?: number;
  /** Upper edge in hertz; half of the sample rate if `null`. */
  fMax?: number | null;
  scale?: 'htk' | 'slaney';
  norm?: 'none' | 'slaney';
  /** What is summed; `power` if left out. */
  kind?: 'power' | 'amplitude';
  /** Unit of the logarithm; `decibel` if left out, `ten` is log₁₀. */
  unit?: 'natural' | 'ten' | 'decibel';
  /** Least value of which the logarithm is taken; 1e-10 if left out. */
  floor?: number;
  /** What is added to values instead. */
  offset?: number;
}

/** Logarithmic mel spectrum with librosa's defaults: band `b` of frame `f` is at `b · frames + f`. */
export function logMel(signal: Samples, options: MelOptions): { values: Float32Array; bands: number; frames: number };

/** Name of the instruction set of the kernels: `simd128`. */
export function instructionSet(): 'simd128';
