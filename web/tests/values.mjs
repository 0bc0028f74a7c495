// Every operation against float64 values of NumPy, SciPy and librosa: tests that run in Node and, without its modules, in a browser.

/** Values of the generator of make_fixtures.py. */
export function noise(count, seed) {
  let state = seed;
  return Float32Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32 - 0.5;
  });
}

const assert = {
  ok(holds, what) {
    if (!holds) throw new Error(what);
  },
  equal(got, expected, what = '') {
    assert.ok(Object.is(got, expected), `${what}: ${got}, not ${expected}`);
  },
  deepEqual(got, expected) {
    const [shown, wanted] = [got, expected].map(value => JSON.stringify(value, (_, part) => (ArrayBuffer.isView(part) ? [...part] : part)));
    assert.ok(shown === wanted, `${shown}, not ${wanted}`);
  },
};

/** Largest difference relative to the largest value. */
export function assertClose(got, expected, n, what) {
  assert.equal(got.length, expected.length, what);
  const largest = expected.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const tolerance = 2 * (2e-6 + 5e-7 * Math.log10(n));
  expected.forEach((value, i) => assert.ok(Math.abs(got[i] - value) <= tolerance * largest, `${what}[${i}]: ${got[i]} for ${value}`));
}

/** The tests of a module's operations, by name. */
export function valueTests(firefly, fixtures) {
  const tests = {};
  const on = (name, body) => { tests[name] = body; };

  on('transforms are those of NumPy', async () => {
    for (const { n, fft, ifft, rfft, irfft } of fixtures.transforms) {
      const [re, im] = [noise(2 * n, n), noise(2 * n, n + 1)];
      const half = { re: noise(2 * (Math.floor(n / 2) + 1), 3), im: noise(2 * (Math.floor(n / 2) + 1), 4) };
      const compare = (got, expected, what) => ['re', 'im'].forEach(part => {
        const both = [...expected.re, ...expected.im];
        assertClose([...got.re, ...got.im], both, n, `${what} of ${n}, ${part}`);
      });
      compare(await firefly.fft({ re, im }, { n }), fft, 'fft');
      compare(await firefly.ifft({ re, im }, { n, norm: 'ortho' }), ifft, 'ifft');
      compare(await firefly.rfft(re, { n, norm: 'forward' }), rfft, 'rfft');
      assertClose(await firefly.irfft(half, { n }), irfft, n, `irfft of ${n}`);
    }
    const out = { re: new Float32Array(9), im: new Float32Array(9) };
    const signal = noise(16, 5);
    const written = await firefly.rfft(signal, { out });
    assert.ok(written.re === out.re && written.im === out.im, 'arrays that are given are returned');
    assert.deepEqual(out, await firefly.rfft(signal));
    const there = new Float32Array(16);
    assert.ok(await firefly.irfft(out, { out: there }) === there, 'an array that is given is returned');
    assertClose([...there], [...signal], 16, 'there and back into an array');
    const [whole, parts] = [await firefly.fft([1, 2, 3]), await firefly.fft({ re: [1, 2, 3], im: [0, 0, 0] })];
    assert.deepEqual(whole, parts);
    assertClose(await firefly.irfft(await firefly.rfft(noise(64, 1))), [...noise(64, 1)], 64, 'there and back');
  });

  on('peaks are the strongest bins', async () => {
    for (const { n, segments, k, bins, power } of fixtures.peaks) {
      const signal = noise(12 * (n + (segments - 1) * (n / 2)), n);
      const peaks = await firefly.welchPeaks(signal, { nFft: n, segments, k });
      assert.deepEqual({ ...peaks, bins: [...peaks.bins], power: undefined }, { bins, power: undefined, frames: 12, k });
      assertClose(peaks.power, power, n, `peaks of ${n}`);
      const all = await firefly.welchPeaks(signal, { nFft: n, segments, k: Math.floor(n / 2) + 1 });
      const banded = new firefly.WelchPeaks({ nFft: n, segments, k: 4, band: [3, 9] });
      const expected = [...all.bins].filter(bin => bin >= 3 && bin < 9);
      assert.deepEqual([...(await banded.forward(signal)).bins], Array.from({ length: 12 }, (_, frame) => expected.slice(6 * frame, 6 * frame + 4)).flat());
      banded.free();
    }
  });

  on('psd is that of scipy.signal.welch', async () => {
    const { power, frequencies, segments } = await firefly.psd(noise(20_000, 5), { sampleRate: 8_000 });
    assert.equal(segments, 155);
    assertClose(power, fixtures.welch.power, 256, 'psd');
    assert.deepEqual([...frequencies], fixtures.welch.frequencies);
    const options = { sampleRate: 8_000, nFft: 500, hop: 200, window: 'kaiser(8.6)', scaling: 'spectrum' };
    assertClose((await firefly.psd(noise(20_000, 5), options)).power, fixtures.spectrum.power, 500, 'spectrum');
  });

  on('columns of a spectrogram do not depend on its blocks', async () => {
    const signal = noise(2_000, 5);
    const whole = await firefly.spectrogram(signal, { sampleRate: 8_000 });
    assert.deepEqual([whole.columns, whole.bins], [14, 129]);
    assertClose(whole.power, fixtures.spectrogram.power, 256, 'spectrogram');
    for (const [hop, lengths] of [[128, [1, 700, 255, 257, 787]], [300, [1990, 10]], [777, [300, 1, 1699]]]) {
      const stream = new firefly.Spectrogram({ sampleRate: 8_000, hop });
      let start = 0;
      const blocks = [];
      for (const length of lengths) blocks.push(await stream.push(signal.subarray(start, start += length)));
      const columns = await firefly.spectrogram(signal, { sampleRate: 8_000, hop });
      assert.deepEqual(blocks.flatMap(({ power }) => [...power]), [...columns.power]);
      assert.equal(blocks.reduce((sum, block) => sum + block.columns, 0), columns.columns);
      stream.free();
    }
    assert.equal((await firefly.spectrogram(noise(255, 1))).columns, 0);
  });

  on('local maxima are those of scipy.signal.find_peaks', async () => {
    const { signal, bins, power, prominence } = fixtures.maxima;
    const maxima = await firefly.localMaxima(signal, { k: 10, distance: 5, prominence: 0.1 });
    assert.deepEqual([...maxima.bins], bins);
    assertClose(maxima.power, power, 400, 'power');
    assertClose(maxima.prominence, prominence, 400, 'prominence');
    // A parabola through the logarithms of three values.
    const line = await firefly.localMaxima([1, Math.exp(2), Math.exp(2.5), 1], { k: 1 });
    const [below, own, above] = [2, 2.5, 0];
    assert.ok(Math.abs(line.offset[0] - 0.5 * (below - above) / (below - 2 * own + above)) < 1e-6);
  });

  on('mel spectra are those of librosa', async () => {
    const mel = await firefly.logMel(noise(4_000, 7), { sampleRate: 16_000, nFft: 512, hop: 200, nMels: 40 });
    assert.deepEqual([mel.bands, mel.frames], [40, 21]);
    assertClose(mel.values, fixtures.mel.values, 512, 'mel');
    const htk = await firefly.logMel(noise(4_000, 8), {
      sampleRate: 16_000, nFft: 400, hop: 160, nMels: 20, scale: 'htk', norm: 'none', fMin: 100, fMax: 6_000, center: false,
      kind: 'amplitude', unit: 'natural', offset: 1e-6,
    });
    assertClose(htk.values, fixtures.mel_htk.values, 400, 'mel_htk');
  });

  on('a frame without power and one with NaN do not disturb others', async () => {
    const signal = new Float32Array(3 * 64);
    signal.set(noise(64, 2), 64);
    signal[130] = NaN;
    const { bins, power } = await firefly.welchPeaks(signal, { nFft: 64, segments: 1, k: 2 });
    assert.deepEqual([bins[0], bins[1], power[0], bins[4], bins[5]], [0, 1, 0, -1, -1]);
    assert.ok(Number.isNaN(power[4]) && power[2] > power[3] && power[3] > 0);
  });

  return tests;
}
