// The types of the package, as a user's program meets them: `tsc --noEmit` checks it.
import { Spectrogram, WelchPeaks, fft, irfft, load, localMaxima, logMel, psd, rfft, spectrogram, welchPeaks } from '../dist/package/firefly.js';
import { Learned, Training } from '../dist/package/models.js';
import * as webgpu from '../dist/package/webgpu.js';

await load(new Uint8Array(8));
const signal = new Float32Array(4096);
const { re, im } = fft(signal, { n: 256, norm: 'ortho' });
const again: Float32Array = irfft(rfft(signal, { out: { re, im } }), { out: signal });
const bins: Int32Array = welchPeaks([1, 2, 3, 4], { nFft: 4, segments: 1, k: 1, band: [0, 2] }).bins;
const power: Float64Array = psd(signal, { sampleRate: 8000, window: 'kaiser(8.6)' }).power;
const offset: Float32Array = localMaxima(power, { interpolation: 'hann' }).offset;
const columns: number = new Spectrogram({ hop: 64 }).push(signal).columns + spectrogram(signal).bins;
const frames: number = logMel(signal, { sampleRate: 8000 }).frames + new WelchPeaks().forward(signal).frames;
const model: Learned = Learned.fromBytes(new ArrayBuffer(8));
const loss: number = new Training({ nFft: 128 }).step(signal, { learningRate: 0.01 });
const awaited: Int32Array = (await webgpu.welchPeaks(signal, { nFft: 128 })).bins;
export { again, awaited, bins, columns, frames, im, loss, model, offset, re };

// @ts-expect-error there is no such option
welchPeaks(signal, { n_fft: 4 });
// @ts-expect-error the sample rate is missing
logMel(signal, {});
// @ts-expect-error models come from bytes
new Learned();
