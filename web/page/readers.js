// Recordings from the bytes of files: WAV and CSV are read here, EDF and SigMF in formats.js, other audio by the browser's decoder.
// Each result is { channels: [{ name, samples }], sampleRate, notes }; what was guessed or changed is in the notes.

import { filesOfTar, readEdf, readSigmf } from './formats.js';

const DECODED_RATE = 48000;

/** The recording of a file, or of the two files of SigMF: { name, channels, sampleRate, notes }. */
export async function readRecording(files) {
  const name = files.find(file => /\.sigmf-meta$/i.test(file.name))?.name ?? files[0].name;
  const recording = { name, ...await read(name, files) };
  const others = recording.channels.reduce((sum, { samples }) => sum + samples.reduce((count, sample) => count + !Number.isFinite(sample), 0), 0);
  if (others > 0) recording.notes.push(`${others} samples are not finite: spectra that hold them are not shown`);
  return recording;
}

async function read(name, files) {
  const find = ending => files.find(file => file.name.toLowerCase() === name.toLowerCase().replace(/\.sigmf-(meta|data)$/, ending));
  if (/\.sigmf-(meta|data)$/i.test(name)) {
    const [meta, data] = [find('.sigmf-meta'), find('.sigmf-data')];
    if (!meta || !data || files.length > 2) throw new Error(`${name}: open the sigmf-meta and the sigmf-data file of one recording together.`);
    return readSigmf(name, await meta.arrayBuffer(), new DataView(await data.arrayBuffer()));
  }
  if (files.length > 1) throw new Error(`${files.length} files: open one at a time, but the two files of a SigMF recording together.`);
  const bytes = await files[0].arrayBuffer();
  if (/\.sigmf$/i.test(name)) return readArchive(name, bytes);
  if (bytes.byteLength === 0) throw new Error(`${name} is empty.`);
  const view = new DataView(bytes);
  const start = text(view, 0, Math.min(12, view.byteLength));
  if (start.startsWith('RF64')) throw new Error(`${name} is a WAV file of more than 4 GB (RF64), which is not read here.`);
  if (start.startsWith('RIFF') && start.slice(8) === 'WAVE') return readWav(name, view) ?? decode(name, bytes, view);
  if (start.startsWith('0       ') || start.slice(1).startsWith('BIOSEMI') && view.getUint8(0) === 0xff) return readEdf(name, view);
  const isAudio = /^(fLaC|OggS|ID3|FORM|caff)/.test(start) || start.slice(4, 8) === 'ftyp' || view.byteLength > 1 && view.getUint16(0) >= 0xffe0;
  return isAudio ? decode(name, bytes, view) : readTable(name, bytes);
}

/** An archive with one recording of SigMF. */
function readArchive(name, bytes) {
  const files = filesOfTar(name, bytes);
  const descriptions = [...files.keys()].filter(file => file.endsWith('.sigmf-meta'));
  const data = files.get(descriptions[0]?.replace(/meta$/, 'data'));
  if (descriptions.length !== 1 || !data) throw new Error(`${name}: it holds ${descriptions.length} recordings of SigMF, but archives of one are read here.`);
  return readSigmf(name, files.get(descriptions[0]), new DataView(data));
}

function text(view, offset, length) {
  return String.fromCharCode(...new Uint8Array(view.buffer, view.byteOffset + offset, length));
}

/** Channels by number. */
function numbered(channels) {
  return channels.map((samples, channel) => ({ name: channels.length === 2 ? ['left', 'right'][channel] : `${channel + 1}`, samples }));
}

/** A WAV file of integers or floats; `undefined` for an encoded one. Integers are divided by full scale. */
function readWav(name, view) {
  let format;
  for (let at = 12; at + 8 <= view.byteLength;) {
    const chunk = text(view, at, 4);
    const size = view.getUint32(at + 4, true);
    const body = at + 8;
    if (chunk === 'fmt ' && size >= 16 && body + 16 <= view.byteLength) {
      const extended = view.getUint16(body, true) === 0xfffe && size >= 26;
      format = {
        code: view.getUint16(body + (extended ? 24 : 0), true), channels: view.getUint16(body + 2, true),
        sampleRate: view.getUint32(body + 4, true), bits: view.getUint16(body + 14, true),
      };
    }
    if (chunk === 'data') {
      if (!format) throw new Error(`${name}: its samples come before their format.`);
      const sample = wavSample(format, view);
      if (!sample) return undefined;
      const bytes = format.bits / 8;
      const present = Math.min(size, view.byteLength - body);
      const frames = Math.floor(present / (bytes * format.channels));
      if (frames === 0) throw new Error(`${name} has no samples.`);
      if (format.sampleRate === 0) throw new Error(`${name}: its sample rate is 0.`);
      const channels = Array.from({ length: format.channels }, (_, channel) => {
        const samples = new Float32Array(frames);
        for (let i = 0; i < frames; i++) samples[i] = sample(body + (i * format.channels + channel) * bytes);
        return samples;
      });
      // A stream that was written without its length.
      const isOpen = size === 0xffffffff || size === 0;
      const notes = present < size && !isOpen ? [`cut short: ${size - present} bytes are missing`] : [];
      return { channels: numbered(channels), sampleRate: format.sampleRate, notes };
    }
    at = body + size + size % 2;
  }
  throw new Error(`${name}: a WAV file without samples.`);
}

/** The function that reads a sample at an offset. */
function wavSample({ code, bits, channels }, view) {
  if (channels === 0) return undefined;
  switch (`${code} ${bits}`) {
    case '1 8': return at => (view.getUint8(at) - 128) / 128;
    case '1 16': return at => view.getInt16(at, true) / 32768;
    case '1 24': return at => (view.getUint16(at, true) / 65536 + view.getInt8(at + 2)) / 128;
    case '1 32': return at => view.getInt32(at, true) / 2147483648;
    case '3 32': return at => view.getFloat32(at, true);
    case '3 64': return at => view.getFloat64(at, true);
    default: return undefined;
  }
}

/** Audio by the browser's decoder, which resamples to the rate it is asked for. */
async function decode(name, bytes, view) {
  const isFlac = text(view, 0, 4) === 'fLaC' && view.byteLength > 21;
  // STREAMINFO: 20 bits of sample rate.
  const ownRate = isFlac ? view.getUint32(18) >>> 12 : undefined;
  const inRange = ownRate >= 8000 && ownRate <= 96000;
  const rate = inRange ? ownRate : DECODED_RATE;
  let audio;
  try {
    audio = await new OfflineAudioContext(1, 1, rate).decodeAudioData(bytes);
  } catch {
    throw new Error(`${name}: this browser does not decode it. WAV and CSV files are read in any browser.`);
  }
  const channels = Array.from({ length: audio.numberOfChannels }, (_, channel) => audio.getChannelData(channel));
  const resampled = ownRate === undefined ? ', resampled if its rate is another' : `, resampled from ${ownRate} Hz`;
  return { channels: numbered(channels), sampleRate: audio.sampleRate, notes: [`decoded by the browser at ${rate} Hz${inRange ? '' : resampled}`] };
}

/** A table of numbers: a column for each channel, with or without a line of names. */
function readTable(name, bytes) {
  let table;
  try {
    table = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Error(`${name} is neither a recording that is known here nor text. Files are WAV, FLAC, MP3, Ogg, AAC, EDF, BDF, SigMF or CSV; the program firefly reads more.`);
  }
  const lines = table.split(/\r\n|\n|\r/);
  const first = lines.findIndex(line => line.trim() !== '' && !line.startsWith('#'));
  if (first < 0) throw new Error(`${name} has no lines.`);
  const separator = ['\t', ';', ','].find(mark => lines[first].includes(mark)) ?? /\s+/;
  const cells = line => line.trim().split(separator).map(cell => cell.trim().replace(/^"(.*)"$/, '$1'));
  const number = cell => (cell === '' ? NaN : Number(cell));
  const head = cells(lines[first]);
  const isNamed = head.every(cell => Number.isNaN(number(cell)));
  const names = isNamed ? head : head.map((_, column) => `column ${column + 1}`);
  const columns = names.map(() => []);
  for (let line = first + (isNamed ? 1 : 0); line < lines.length; line++) {
    if (lines[line].trim() === '' || lines[line].startsWith('#')) continue;
    const row = cells(lines[line]);
    if (row.length !== names.length) throw new Error(`${name}, line ${line + 1}: ${row.length} cells, but ${names.length} in the first line.`);
    row.forEach((cell, column) => {
      const value = number(cell);
      if (Number.isNaN(value)) throw new Error(`${name}, line ${line + 1}, ${names[column]}: "${cell}" is no number.`);
      columns[column].push(value);
    });
  }
  if (columns[0].length < 2) throw new Error(`${name} has fewer than two rows of numbers.`);
  const time = names.findIndex(title => /^(t|time|seconds)\b/i.test(title));
  const rate = time < 0 || columns.length === 1 ? undefined : equidistantRate(columns[time]);
  const kept = columns.map((values, column) => ({ name: names[column], samples: Float32Array.from(values) })).filter((_, column) => rate === undefined || column !== time);
  const notes = [rate === undefined ? 'without a sample rate, so 1 Hz is taken: enter the right one' : `sample rate from the column ${names[time]}, in seconds`];
  return { channels: kept, sampleRate: rate ?? 1, notes };
}

/** Samples per second of equidistant times; `undefined` for others. */
function equidistantRate(times) {
  const step = (times.at(-1) - times[0]) / (times.length - 1);
  const isEquidistant = step > 0 && times.every((time, i) => Math.abs(time - times[0] - i * step) < 0.01 * step);
  return isEquidistant ? Number((1 / step).toPrecision(9)) : undefined;
}
