// Recordings of instruments from the bytes of files: EDF, EDF+ and BDF, and SigMF. Results are those of readers.js.

/** European Data Format and BioSemi's BDF: the signals of the highest sample rate, in their physical units. */
export function readEdf(name, view) {
  const isBdf = view.getUint8(0) === 0xff;
  const text = (at, length) => String.fromCharCode(...new Uint8Array(view.buffer, view.byteOffset + at, length)).replace(/^[\s\0]+|[\s\0]+$/g, '');
  const number = (at, length, what) => {
    const value = text(at, length);
    if (value === '' || !Number.isFinite(Number(value))) throw new Error(`${name}: its ${what} is "${value}", no number.`);
    return Number(value);
  };
  if (view.byteLength < 256) throw new Error(`${name} ends within its header.`);
  const count = number(252, 4, 'number of signals');
  const duration = number(244, 8, 'duration of a record');
  if (!(count >= 1 && count <= 4096 && duration >= 0)) throw new Error(`${name}: it has ${count} signals in records of ${duration} s.`);
  if (view.byteLength < 256 * (count + 1)) throw new Error(`${name} ends within its header.`);
  if (/^[EB]DF\+D/.test(text(192, 5))) throw new Error(`${name}: its records have gaps between them (EDF+D), which are not read here: the program firefly reads them.`);
  const width = isBdf ? 3 : 2;
  // The fields of the signals, each for all signals one after the other.
  const field = (before, length, signal) => [256 + before * count + length * signal, length];
  let place = 0;
  const signals = Array.from({ length: count }, (_, signal) => {
    const at = (before, what) => number(...field(before, 8, signal), what);
    const samples = at(216, 'number of samples of a signal');
    const [physicalLow, physicalHigh, low, high] = [[104, 'physical minimum'], [112, 'physical maximum'], [120, 'digital minimum'], [128, 'digital maximum']].map(([before, what]) => at(before, what));
    if (!(Number.isInteger(samples) && samples >= 0)) throw new Error(`${name}: a signal has ${samples} samples in a record.`);
    const [label, unit] = [text(...field(0, 16, signal)), text(...field(96, 8, signal))];
    const start = place;
    place += samples * width;
    const isText = /^(EDF Annotations|BDF Annotations|Status)$/.test(label) || samples === 0;
    // Without a physical range, digital values count.
    const gain = physicalLow === physicalHigh ? 1 : (physicalHigh - physicalLow) / (high - low);
    const offset = physicalLow === physicalHigh ? 0 : physicalLow - low * gain;
    return { label, unit, samples, start, gain, offset, isLeftOut: isText || low === high };
  });
  const recordBytes = place;
  const rateSamples = Math.max(0, ...signals.filter(({ isLeftOut }) => !isLeftOut).map(({ samples }) => samples));
  // Some programs pad the header.
  const announcedHeader = number(184, 8, 'number of bytes of the header');
  const start = announcedHeader > 256 * (count + 1) && announcedHeader < view.byteLength ? announcedHeader : 256 * (count + 1);
  const records = recordBytes > 0 ? Math.floor((view.byteLength - start) / recordBytes) : 0;
  if (records === 0 || rateSamples === 0) throw new Error(`${name} has no samples.`);
  const kept = signals.filter(({ samples, isLeftOut }) => !isLeftOut && samples === rateSamples);
  const notes = [];
  const announced = number(236, 8, 'number of records');
  if (announced > records) notes.push(`cut short: ${announced - records} of ${announced} records are missing`);
  const others = signals.filter(signal => !kept.includes(signal)).map(({ label }) => label);
  if (others.length > 0) notes.push(`signals of lower rates, annotations and states are left out: ${others.join(', ')}`);
  if (duration === 0) notes.push('its records have no duration, so 1 Hz is taken: enter the right one');
  const channels = kept.map(({ label, unit, start: within, gain, offset }) => {
    const samples = new Float32Array(records * rateSamples);
    for (let record = 0, i = 0; record < records; record++) {
      let at = start + record * recordBytes + within;
      for (let sample = 0; sample < rateSamples; sample++, i++, at += width) {
        const digital = isBdf ? view.getUint16(at, true) + 65536 * view.getInt8(at + 2) : view.getInt16(at, true);
        samples[i] = digital * gain + offset;
      }
    }
    return { name: unit ? `${label} (${unit})` : label, samples };
  });
  return { channels, sampleRate: duration > 0 ? rateSamples / duration : 1, notes };
}

/** Numbers of SigMF by the name of their type, without its first letter: bytes, and how one is read. */
const NUMBERS = {
  f32: [4, (view, at, little) => view.getFloat32(at, little)], f64: [8, (view, at, little) => view.getFloat64(at, little)],
  i32: [4, (view, at, little) => view.getInt32(at, little)], u32: [4, (view, at, little) => view.getUint32(at, little)],
  i16: [2, (view, at, little) => view.getInt16(at, little)], u16: [2, (view, at, little) => view.getUint16(at, little)],
  i8: [1, (view, at) => view.getInt8(at)], u8: [1, (view, at) => view.getUint8(at)],
};

/** The samples that a SigMF description describes, as they are in the file. */
export function readSigmf(name, description, view) {
  let meta;
  try {
    meta = JSON.parse(new TextDecoder().decode(description));
  } catch (error) {
    throw new Error(`${name}: its description is no JSON: ${error.message}`);
  }
  const global = meta?.global ?? {};
  const type = /^([rc])([fiu]\d+)(?:_(le|be))?$/.exec(global['core:datatype']);
  const [bytes, read] = NUMBERS[type?.[2]] ?? [];
  if (!read) throw new Error(`${name}: its samples are ${global['core:datatype']}, which is no type of SigMF.`);
  const isComplex = type[1] === 'c';
  const channels = global['core:num_channels'] ?? 1;
  if (!(Number.isInteger(channels) && channels >= 1 && channels <= 65536)) throw new Error(`${name}: it has ${channels} channels.`);
  const captures = meta.captures ?? [];
  const programReads = 'which are not read here: the program firefly reads them.';
  if (new Set(captures.map(capture => capture['core:frequency'])).size > 1) throw new Error(`${name}: it has captures of several centre frequencies, ${programReads}`);
  if (captures.some(capture => capture['core:header_bytes'] > 0)) throw new Error(`${name}: it has headers between its samples, ${programReads}`);
  const width = bytes * channels * (isComplex ? 2 : 1);
  const first = (captures[0]?.['core:sample_start'] ?? 0) - (captures.length > 0 ? global['core:offset'] ?? 0 : 0);
  const length = Math.floor((view.byteLength - (global['core:trailing_bytes'] ?? 0)) / width) - first;
  if (!(first >= 0 && length > 0)) throw new Error(`${name} has no samples.`);
  const notes = [];
  if (first > 0) notes.push(`${first} samples before its first capture are left out`);
  if (captures.length > 1) notes.push(`${captures.length} captures are read as if they followed each other`);
  if (isComplex) notes.push('complex samples: I and Q are channels, so frequencies above and below the centre fall together');
  const rate = global['core:sample_rate'];
  if (!(rate > 0)) notes.push('without a sample rate, so 1 Hz is taken: enter the right one');
  const parts = isComplex ? [' I', ' Q'] : [''];
  const names = Array.from({ length: channels }, (_, channel) => parts.map(part => `${channel + 1}${part}`)).flat();
  const samples = names.map((title, place) => {
    const values = new Float32Array(length);
    for (let i = 0; i < length; i++) values[i] = read(view, (first + i) * width + place * bytes, type[3] !== 'be');
    return { name: title, samples: values };
  });
  return { channels: samples, sampleRate: rate > 0 ? rate : 1, notes };
}

/** Files in an archive of SigMF (tar), by their names. */
export function filesOfTar(name, bytes) {
  const files = new Map();
  const text = (at, length) => new TextDecoder().decode(new Uint8Array(bytes, at, length)).replace(/\0.*$/s, '').trim();
  for (let at = 0; at + 512 <= bytes.byteLength && text(at, 100) !== '';) {
    const size = parseInt(text(at + 124, 12), 8);
    if (!(size >= 0)) throw new Error(`${name}: it is no archive of SigMF (tar).`);
    if (at + 512 + size > bytes.byteLength) throw new Error(`${name} is cut short within ${text(at, 100)}.`);
    files.set(text(at, 100), bytes.slice(at + 512, at + 512 + size));
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return files;
}
