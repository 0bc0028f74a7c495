// The page in headless Chromium: files by the chooser and by a drop, a microphone with a tone, keys, pointer, widths and modes, engines,
// training, and the page as a file. WebGPU is that of Chromium's software renderer.
// node tests/page.mjs, after ./build; PICTURES is a folder for screenshots, and CHROMIUM the browser's path, /usr/bin/chromium by default.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test, { after, before } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PAGE = path.join(ROOT, 'dist/page/');
const ONE_FILE = path.join(ROOT, 'dist/firefly.html');
/** Why tests of WebGPU are left out, if FIREFLY_WITHOUT contains webgpu. Otherwise they fail where Chromium does not offer it. */
const skip = (process.env.FIREFLY_WITHOUT ?? '').split(',').includes('webgpu') && 'FIREFLY_WITHOUT contains webgpu';
/** Flags with which Chromium has WebGPU without a GPU. */
const WEBGPU = ['--enable-unsafe-webgpu', '--use-webgpu-adapter=swiftshader'];
const FLAC = fileURLToPath(new URL('../../docs/recordings/motor.flac', import.meta.url));
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.mjs': 'text/javascript', '.json': 'application/json', '.css': 'text/css', '.wasm': 'application/wasm' };
const pictures = process.env.PICTURES;
const folder = mkdtempSync(path.join(tmpdir(), 'firefly-page-'));

/** A WAV file of 16-bit samples. */
function wav(name, sampleRate, channels) {
  const frames = channels[0].length;
  const bytes = Buffer.alloc(44 + 2 * frames * channels.length);
  bytes.write('RIFF', 0);
  bytes.writeUInt32LE(bytes.length - 8, 4);
  bytes.write('WAVEfmt ', 8);
  bytes.writeUInt32LE(16, 16);
  bytes.writeUInt16LE(1, 20);
  bytes.writeUInt16LE(channels.length, 22);
  bytes.writeUInt32LE(sampleRate, 24);
  bytes.writeUInt32LE(2 * sampleRate * channels.length, 28);
  bytes.writeUInt16LE(2 * channels.length, 32);
  bytes.writeUInt16LE(16, 34);
  bytes.write('data', 36);
  bytes.writeUInt32LE(bytes.length - 44, 40);
  for (let i = 0; i < frames; i++) channels.forEach((samples, channel) => bytes.writeInt16LE(Math.round(32767 * samples[i]), 44 + 2 * (i * channels.length + channel)));
  const file = path.join(folder, name);
  writeFileSync(file, bytes);
  return file;
}

function tone(frequency, sampleRate, seconds, amplitude = 0.5) {
  return Float32Array.from({ length: sampleRate * seconds }, (_, i) => amplitude * Math.sin(2 * Math.PI * frequency * i / sampleRate));
}

const stereo = wav('stereo.wav', 22050, [tone(1234.5, 22050, 2), tone(4321, 22050, 2)]);
const heard = wav('heard.wav', 48000, [tone(2750, 48000, 4, 0.8)]);
const table = path.join(folder, 'table.csv');
writeFileSync(table, `time,a,b\n${Array.from({ length: 3000 }, (_, i) => `${i / 500},${Math.sin(2 * Math.PI * 60 * i / 500)},${Math.cos(2 * Math.PI * 110 * i / 500)}`).join('\n')}\n`);
/** An EDF file of records of a second: signals of 200 Hz in microvolts, one of 10 Hz, and annotations. */
function edf(name, records, reserved = '') {
  const signals = [
    { label: 'Fp1', rate: 200, frequency: 21.09375 }, { label: 'Fp2', rate: 200, frequency: 40 },
    { label: 'Temperature', rate: 10, frequency: 1 }, { label: 'EDF Annotations', rate: 8, frequency: 0 },
  ];
  const fixed = [['0', 8], ['', 160], ['01.01.2500.00.00', 16], [`${256 * 5}`, 8], [reserved, 44], [`${records}`, 8], ['1', 8], ['4', 4]];
  const table = [['label', 16], ['', 80], ['uV', 8], ['-100', 8], ['100', 8], ['-32768', 8], ['32767', 8], ['', 80], ['rate', 8], ['', 32]];
  const header = fixed.map(([text, width]) => text.padEnd(width)).join('')
    + table.map(([text, width]) => signals.map(signal => `${signal[text] ?? text}`.padEnd(width)).join('')).join('');
  const samples = Array.from({ length: records }, (_, record) => signals.flatMap(({ rate, frequency }) =>
    Array.from({ length: rate }, (_, i) => Math.round(16384 * Math.sin(2 * Math.PI * frequency * (record + i / rate)))))).flat();
  const file = path.join(folder, name);
  writeFileSync(file, Buffer.concat([Buffer.from(header, 'latin1'), Buffer.from(Int16Array.from(samples).buffer)]));
  return file;
}

const brain = edf('brain.edf', 12);
const gaps = edf('gaps.edf', 12, 'EDF+D');
const sigmf = ['radio.sigmf-meta', 'radio.sigmf-data'].map(name => path.join(folder, name));
writeFileSync(sigmf[0], JSON.stringify({ global: { 'core:datatype': 'ci16_be', 'core:sample_rate': 1e6, 'core:version': '1.2.0' }, captures: [{ 'core:sample_start': 0, 'core:frequency': 1e8 }], annotations: [] }));
{
  const data = Buffer.alloc(4 * 20_000);
  for (let i = 0; i < 20_000; i++) [Math.cos, Math.sin].forEach((part, place) => data.writeInt16BE(Math.round(8000 * part(2 * Math.PI * 0.125 * i)), 4 * i + 2 * place));
  writeFileSync(sigmf[1], data);
}
/** An archive of files, as tar makes it. */
const archive = path.join(folder, 'radio.sigmf');
writeFileSync(archive, Buffer.concat([...sigmf.flatMap(file => {
  const bytes = readFileSync(file);
  const header = Buffer.alloc(512);
  header.write(`radio/${path.basename(file)}`, 0);
  header.write(bytes.length.toString(8).padStart(11, '0'), 124);
  return [header, bytes, Buffer.alloc((512 - bytes.length % 512) % 512)];
}), Buffer.alloc(1024)]));
const broken = path.join(folder, 'broken.csv');
writeFileSync(broken, 'a,b\n1,2\n3,x\n');

let server;
let browser;
let withGpu;
let address;

before(async () => {
  server = createServer((request, response) => {
    try {
      const name = request.url === '/' ? 'index.html' : request.url.slice(1);
      // Tests of the package have their own files.
      const bytes = readFileSync(name.startsWith('web/') ? path.join(ROOT, name.slice(4)) : path.join(PAGE, name));
      response.setHeader('content-type', TYPES[path.extname(name)]).end(bytes);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));
  address = `http://127.0.0.1:${server.address().port}/`;
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--use-fake-ui-for-media-stream', '--use-fake-device-for-media-stream', `--use-file-for-fake-audio-capture=${heard}`],
  });
});

/** The browser with WebGPU, which is started when a test needs it. */
function gpuBrowser() {
  withGpu ??= chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', ignoreDefaultArgs: ['--disable-gpu'], args: ['--no-sandbox', ...WEBGPU],
  });
  return withGpu;
}

after(async () => {
  await browser?.close();
  await (await withGpu)?.close();
  server?.close();
});

/** Opens the page and runs `body`; nothing may be on the console, and nothing is requested of another host. */
async function onPage(body, { of = browser, url = address, ...options } = {}) {
  const context = await of.newContext({ viewport: { width: 1280, height: 900 }, permissions: ['microphone'], ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const faults = [];
  page.on('console', message => ['error', 'warning'].includes(message.type()) && faults.push(message.text()));
  page.on('pageerror', error => faults.push(String(error)));
  page.on('request', request => request.url().startsWith(url) || /^(data|blob):/.test(request.url()) || faults.push(request.url()));
  await page.goto(url);
  await shown(page, 'Built-in signal');
  await body(page);
  await context.close();
  assert.deepEqual(faults, []);
}

const shown = (page, name) => page.waitForFunction(name => document.body.dataset.shown === name, name);
const strongest = page => page.locator('#peaks tr').first().evaluate(row => Number(row.dataset.frequency));

async function assertStrongest(page, frequency, within = 2) {
  const got = await strongest(page);
  assert.ok(Math.abs(got - frequency) <= within, `the strongest peak is at ${got} Hz, not at ${frequency}`);
}

/** Drops a file anywhere on the page. */
async function drop(page, file) {
  const data = await page.evaluateHandle(([name, base64]) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([Uint8Array.from(atob(base64), letter => letter.charCodeAt(0))], name));
    return transfer;
  }, [path.basename(file), readFileSync(file).toString('base64')]);
  for (const type of ['dragenter', 'dragover', 'drop']) await page.dispatchEvent('main', type, { dataTransfer: data });
}

test('it opens with a built-in signal', () => onPage(async page => {
  await assertStrongest(page, 1000);
  const first = Number(await page.evaluate(() => document.body.dataset.firstResult));
  console.log(`first result ${first} ms after the navigation`);
  assert.ok(first < 10_000);
  assert.match(await page.locator('#engine').textContent(), /simd128/);
  assert.match(await page.locator('header').textContent(), /nothing is uploaded/);
}));

test('files are opened by the chooser and by a drop', () => onPage(async page => {
  await page.locator('#file').setInputFiles(stereo);
  await shown(page, 'stereo.wav');
  await assertStrongest(page, 1234.5);
  await page.locator('#channel').selectOption('right');
  await page.waitForFunction(() => Math.abs(document.querySelector('#peaks tr').dataset.frequency - 4321) < 2);

  await drop(page, table);
  await shown(page, 'table.csv');
  assert.equal(await page.locator('#rate').inputValue(), '500');
  await assertStrongest(page, 60, 0.2);
  await drop(page, FLAC);
  await shown(page, 'motor.flac');
  assert.equal(await page.locator('#rate').inputValue(), '12000');
  await page.locator('#file').setInputFiles(FLAC);
  assert.equal(await page.locator('#problem').isVisible(), false);
}));

test('EDF and SigMF are read in their units', () => onPage(async page => {
  await page.locator('#file').setInputFiles(brain);
  await shown(page, 'brain.edf');
  assert.deepEqual(await page.locator('#channel option').allTextContents(), ['Fp1 (uV)', 'Fp2 (uV)']);
  assert.equal(await page.locator('#rate').inputValue(), '200');
  assert.match(await page.locator('#source').textContent(), /2,400 samples.*left out: Temperature, EDF Annotations/);
  await assertStrongest(page, 21.09375, 0.05);
  // A tone of 50 µV: 10 log10(50² / 2) decibels.
  const level = await page.locator('#peaks tr').first().locator('td').nth(2).textContent();
  assert.ok(Math.abs(parseFloat(level) - 30.97) < 1, level);
  await page.locator('#channel').selectOption('Fp2 (uV)');
  await page.waitForFunction(() => Math.abs(document.querySelector('#peaks tr').dataset.frequency - 40) < 0.2);
  for (const [files, name] of [[sigmf, 'radio.sigmf-meta'], [archive, 'radio.sigmf']]) {
    await page.locator('#file').setInputFiles(files);
    await shown(page, name);
    assert.deepEqual(await page.locator('#channel option').allTextContents(), ['1 I', '1 Q']);
    assert.equal(await page.locator('#rate').inputValue(), '1000000');
    await assertStrongest(page, 125_000, 500);
  }
}));

test('a file that is not read is named, and the page stays as it was', () => onPage(async page => {
  const before = await page.locator('#source').textContent();
  for (const [file, reason] of [
    [broken, 'line 3'], [path.join(PAGE, 'firefly/firefly_wasm_bg.wasm'), 'neither a recording'], [gaps, 'EDF+D'], [sigmf[0], 'together'],
    [[broken, table], 'one at a time'],
  ]) {
    await page.locator('#file').setInputFiles(file);
    await page.locator('#problem', { hasText: reason }).waitFor();
    assert.equal(await page.locator('#source').textContent(), before);
    await assertStrongest(page, 1000);
  }
  await page.locator('#k').fill('0');
  await page.locator('#k').blur();
  await page.locator('#problem', { hasText: 'Peaks: 0' }).waitFor();
}));

test('the strongest peak of a microphone is its tone', () => onPage(async page => {
  await page.keyboard.press('m');
  await shown(page, 'microphone');
  await page.waitForFunction(() => Math.abs(document.querySelector('#peaks tr')?.dataset.frequency - 2750) < 25);
  await page.waitForTimeout(1500);
  await assertStrongest(page, 2750, 25);
  if (pictures) await page.screenshot({ path: path.join(pictures, 'microphone.png') });
  await page.keyboard.press(' ');
  assert.equal(await page.locator('#pause').getAttribute('aria-pressed'), 'true');
  const paused = await page.locator('#peaks').textContent();
  await page.waitForTimeout(400);
  assert.equal(await page.locator('#peaks').textContent(), paused);
  await page.keyboard.press(' ');
  await page.locator('#nFft').selectOption('4096');
  await page.waitForTimeout(1500);
  await assertStrongest(page, 2750, 8);
  await page.keyboard.press('m');
  await shown(page, 'Built-in signal');
  await assertStrongest(page, 1000);
}));

test('pointer and keys read values, and select a part', () => onPage(async page => {
  await page.locator('#spectrum').focus();
  await page.keyboard.press('ArrowDown');
  assert.match(await page.locator('#readout').textContent(), /^1000 Hz, bin 64: .* dB, peak 1/);
  await page.keyboard.press('ArrowRight');
  assert.match(await page.locator('#readout').textContent(), /bin 65/);
  const box = await page.locator('#spectrogram').boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  assert.match(await page.locator('#readout').textContent(), /^2\.[789]\d* s, .*Hz: .* dB/);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.75, box.y + 60);
  await page.mouse.up();
  await page.waitForFunction(() => /^[23]\.\d+ s to 4/.test(document.querySelector('#averaged').textContent));
  await page.keyboard.press('Escape');
  await page.waitForFunction(() => document.querySelector('#averaged').textContent.startsWith('the whole'));
  await page.locator('#spectrogram').focus();
  await page.mouse.move(0, 0);
  for (const _ of [1, 2, 3]) await page.keyboard.press('Shift+ArrowRight');
  await page.waitForFunction(() => document.querySelector('#averaged').textContent.startsWith('0 s to 0.0'));
  await page.keyboard.press('Escape');
  await page.waitForFunction(() => document.querySelector('#averaged').textContent.startsWith('the whole'));
  await page.locator('#kind').selectOption('bins');
  await page.waitForFunction(() => [...document.querySelectorAll('#peaks tr')].slice(0, 3).map(row => row.dataset.bin).sort().join() === '63,64,65');
  await page.locator('#scaling').selectOption('density');
  await page.waitForFunction(() => document.querySelector('#peaks').textContent.includes('dB/Hz'));
}));

test('without a GPU the CPU computes, and the page says why', () => onPage(async page => {
  await page.locator('#engines').selectOption('webgpu');
  await page.locator('#problem', { hasText: 'WebGPU is not available' }).waitFor();
  assert.equal(await page.locator('#engines').inputValue(), 'cpu');
  await page.locator('#engine', { hasText: 'simd128' }).waitFor();
  await assertStrongest(page, 1000);
}));

test('WebGPU shows the same peaks', { skip }, async () => onPage(async page => {
  const peaks = () => page.locator('#peaks tr').evaluateAll(rows => rows.map(row => row.dataset.bin));
  const byCpu = await peaks();
  await page.locator('#engines').selectOption('webgpu');
  await page.locator('#engine', { hasText: /WebGPU.*segments per second/ }).waitFor({ timeout: 120_000 });
  assert.equal(await page.locator('#problem').isVisible(), false);
  await page.locator('#kind').selectOption('bins');
  await page.waitForFunction(() => [...document.querySelectorAll('#peaks tr')].slice(0, 3).map(row => row.dataset.bin).sort().join() === '63,64,65');
  await page.locator('#kind').selectOption('lines');
  await page.waitForFunction(expected => [...document.querySelectorAll('#peaks tr')].map(row => row.dataset.bin).join() === expected, byCpu.join());
}, { of: await gpuBrowser() }));

test('where WebGPU fails, the CPU goes on, and the page says why', { skip }, async () => {
  const page = await (await gpuBrowser()).newPage();
  await page.goto(address);
  await shown(page, 'Built-in signal');
  await page.locator('#engines').selectOption('webgpu');
  await page.locator('#engine', { hasText: /WebGPU.*segments per second/ }).waitFor({ timeout: 120_000 });
  await page.workers()[0].evaluate(() => { GPUDevice.prototype.createShaderModule = () => { throw new Error('no more kernels'); }; });
  await page.locator('#nFft').selectOption('512');
  await page.locator('#problem', { hasText: /WebGPU failed: .*The CPU computes/ }).waitFor();
  await page.locator('#engine', { hasText: 'simd128' }).waitFor();
  assert.equal(await page.locator('#engines').inputValue(), 'cpu');
  await page.locator('#averaged', { hasText: 'of 512' }).waitFor();
  await assertStrongest(page, 1000);
  await page.close();
});

test('operations by WebGPU have the values of the definitions, and the bins of the CPU', { skip }, async () => {
  const page = await (await gpuBrowser()).newPage();
  const faults = [];
  page.on('console', message => ['error', 'warning'].includes(message.type()) && faults.push(message.text()));
  page.on('pageerror', error => faults.push(String(error)));
  await page.goto(address);
  await shown(page, 'Built-in signal');
  const results = await page.evaluate(async () => {
    const [gpu, cpu, { noise, valueTests }] = await Promise.all(['/firefly/webgpu.js', '/firefly/firefly.js', '/web/tests/values.mjs'].map(name => import(name)));
    const fixtures = await (await fetch('/web/tests/fixtures.json')).json();
    await Promise.all([gpu.load(), cpu.load()]);
    const problems = {};
    const attempt = async (name, body) => {
      try {
        await body();
      } catch (error) {
        problems[name] = error.message;
      }
    };
    for (const [name, body] of Object.entries(valueTests(gpu, fixtures))) await attempt(name, body);
    const signal = noise(1024 * 384, 11);
    const [got, expected] = [await gpu.welchPeaks(signal), cpu.welchPeaks(signal)];
    const rejected = async () => {
      await gpu.welchPeaks(signal, { nFft: 100, segments: 1, k: 99 });
      throw new Error('not refused');
    };
    await attempt('bad argument', rejected);
    await attempt('bad number', () => gpu.psd(signal, { nFft: 2.5 }));
    const times = [];
    for (let run = 0; run < 20; run++) {
      const before = performance.now();
      await gpu.welchPeaks(signal);
      times.push(performance.now() - before);
    }
    times.sort((a, b) => a - b);
    return { problems, differing: got.bins.filter((bin, i) => bin !== expected.bins[i]).length, times };
  });
  const { times } = results;
  console.log(`1,024 frames by WebGPU: ${times[0].toFixed(1)} ms at least, ${times[10].toFixed(1)} in the median of 20`);
  delete results.times;
  assert.match(results.problems['bad argument'], /welchPeaks: `(k|signal)`/);
  assert.match(results.problems['bad number'], /psd: `nFft` is 2.5/);
  delete results.problems['bad argument'];
  delete results.problems['bad number'];
  assert.deepEqual(results, { problems: {}, differing: 0 });
  assert.deepEqual(faults, []);
  await page.close();
});

test('training on a recording lowers the loss, and says what it finds', () => onPage(async page => {
  await page.locator('#nFft').selectOption('128');
  await page.locator('summary', { hasText: 'learned' }).click();
  await page.locator('#train').click();
  await page.locator('#training', { hasText: 'two exact segments' }).waitFor({ timeout: 120_000 });
  const said = /loss \d\.\d+, first \d\.\d+\. In the last fifth, \d+ frames, it finds ([\d.]+) %.*find ([\d.]+) %/.exec(await page.locator('#training').textContent());
  const [learned, exact] = said.slice(1).map(Number);
  assert.ok(learned > 80 && exact > 80, said[0]);
  // Places from the top of the picture, which are larger for lower losses.
  const places = (await page.locator('#losses').getAttribute('points')).split(' ').map(point => Number(point.split(',')[1]));
  const mean = values => values.reduce((sum, value) => sum + value, 0) / values.length;
  assert.equal(places.length, 200);
  assert.ok(mean(places.slice(-40)) > mean(places.slice(0, 40)) + 2, `${places}`);
  if (pictures) await page.screenshot({ path: path.join(pictures, 'training.png'), fullPage: true });
  await page.locator('#nFft').selectOption('16384');
  await page.locator('#train').click();
  await page.locator('#problem', { hasText: 'choose a shorter segment' }).waitFor();
}));

test('the page as a file works from disk', () => onPage(async page => {
  await assertStrongest(page, 1000);
  await page.locator('#file').setInputFiles(stereo);
  await shown(page, 'stereo.wav');
  await assertStrongest(page, 1234.5);
  await page.locator('summary', { hasText: 'learned' }).click();
  await page.locator('#train').click();
  await page.locator('#problem', { hasText: 'from a server' }).waitFor();
  await page.locator('#engines').selectOption('webgpu');
  await page.locator('#problem', { hasText: 'from a server. The CPU computes' }).waitFor();
  assert.equal(await page.locator('#engines').inputValue(), 'cpu');
  await assertStrongest(page, 1234.5);
  await page.keyboard.press('m');
  await shown(page, 'microphone');
  await page.waitForFunction(() => Math.abs(document.querySelector('#peaks tr')?.dataset.frequency - 2750) < 25);
}, { url: pathToFileURL(ONE_FILE).href }));

for (const [width, height] of [[390, 844], [820, 1180], [1600, 950]]) {
  for (const colorScheme of ['light', 'dark']) {
    test(`it fits ${width} pixels, ${colorScheme}`, () => onPage(async page => {
      assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), colorScheme);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'nothing is wider than the window');
      if (pictures) await page.screenshot({ path: path.join(pictures, `${width}-${colorScheme}.png`), fullPage: true });
      await page.keyboard.press('t');
      assert.notEqual(await page.evaluate(() => document.documentElement.dataset.theme), colorScheme);
    }, { viewport: { width, height }, colorScheme }));
  }
}
