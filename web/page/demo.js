// The signal that the page opens with: six seconds of steady tones, one that comes and goes, a rising one, clicks and noise.

/** Frequency and amplitude of the steady tones. */
const TONES = [[500, 0.03], [1000, 0.5], [2000, 0.1], [2600.4, 0.03], [4700, 0.05], [6200.7, 0.02], [7200, 0.01]];

export function demoRecording() {
  const sampleRate = 16000;
  const samples = new Float32Array(6 * sampleRate);
  let state = 12345;
  for (let i = 0; i < samples.length; i++) {
    const t = i / sampleRate;
    // A generator of 32-bit integers: the signal is the same on every machine.
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const noise = (state / 2 ** 32 - 0.5) * 0.02;
    const rising = 0.15 * Math.sin(2 * Math.PI * (300 * t + 450 * t * t));
    const pulsing = t % 1 < 0.4 ? 0.2 * Math.sin(2 * Math.PI * 3150.3 * t) : 0;
    const click = i % 12000 < 4 ? 0.6 : 0;
    const steady = TONES.reduce((sum, [frequency, amplitude]) => sum + amplitude * Math.sin(2 * Math.PI * frequency * t), 0);
    samples[i] = steady + rising + pulsing + click + noise;
  }
  return { name: 'Built-in signal', channels: [{ name: 'mono', samples }], sampleRate, notes: ['tones, a rising one, clicks and noise'] };
}
