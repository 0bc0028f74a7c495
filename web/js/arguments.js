// Loading of modules, checks of arguments, and results.

// Arguments. What is no number or no name is refused here; ranges are checked by the operations.

export function refuse(operation, name, got, expected) {
  const shown = typeof got === 'number' || got === null || got === undefined ? String(got) : JSON.stringify(got) ?? typeof got;
  throw new TypeError(`${operation}: \`${name}\` is ${shown}, but must be ${expected}`);
}

export function whole(operation, name, value, least = 1) {
  const isWhole = Number.isInteger(value) && value >= least && value < 2 ** 31;
  return isWhole ? value : refuse(operation, name, value, `a whole number from ${least} to 2,147,483,647`);
}

export function finite(operation, name, value) {
  return Number.isFinite(value) ? value : refuse(operation, name, value, 'a finite number');
}

export function chosen(operation, name, value, choices) {
  return choices.includes(value) ? value : refuse(operation, name, value, `one of ${choices.join(', ')}`);
}

/** Options with defaults; an option of another name is refused. */
export function withDefaults(operation, options, defaults) {
  if (options === null || typeof options !== 'object') refuse(operation, 'options', options, 'an object');
  for (const name of Object.keys(options)) {
    if (!(name in defaults)) refuse(operation, name, options[name], `left out: options are ${Object.keys(defaults).join(', ')}`);
  }
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return { ...defaults, ...Object.fromEntries(given) };
}

/** Samples as a Float32Array: the array itself, or a copy of other numbers. */
export function samples(operation, name, values) {
  if (values instanceof Float32Array) return values;
  const isInteger = ArrayBuffer.isView(values) && !(values instanceof DataView) && typeof values[0] !== 'bigint';
  if (isInteger || (Array.isArray(values) && values.every(value => typeof value === 'number'))) return Float32Array.from(values);
  return refuse(operation, name, Array.isArray(values) ? 'an array of other values' : typeof values, 'a Float32Array or numbers');
}

export function complex(operation, signal) {
  if (signal?.re === undefined) return { re: samples(operation, 'signal', signal), im: undefined };
  const re = samples(operation, 're', signal.re);
  const im = samples(operation, 'im', signal.im);
  if (re.length !== im.length) refuse(operation, 'im', im.length, `of ${re.length} values, as re is`);
  return { re, im };
}

/**
 * Loading of a module, once: `load(source)` has `start` prepare the module of the bytes or the address `source`, or else of the file `own`,
 * and can be called again after a failure; `ready()` throws before it is done.
 */
export function loader(start, own) {
  let loading;
  let isReady = false;
  const load = source => {
    loading ??= bytesOf(source ?? own).then(start).then(() => { isReady = true; }).catch(error => {
      loading = undefined;
      throw error;
    });
    return loading;
  };
  const ready = () => {
    if (!isReady) throw new Error('load() comes first, and is awaited');
  };
  return { load, ready };
}

/** The bytes or the address of a module: a file's bytes in Node, which fetches no files. */
async function bytesOf(module) {
  if (!(module instanceof URL && module.protocol === 'file:' && globalThis.process?.versions?.node)) return module;
  return (await import('node:fs/promises')).readFile(module);
}

/** Arrays of given lengths, by their names, that results are written to; `undefined` if none are given. */
export function outputs(operation, out, lengths) {
  if (out === undefined) return undefined;
  for (const [part, length] of Object.entries(lengths)) {
    const array = out?.[part];
    const isArray = array instanceof Float32Array;
    if (!isArray || array.length !== length) refuse(operation, `out.${part}`, isArray ? array.length : typeof array, `a Float32Array of ${length} values`);
  }
  return out;
}

/** Takes the parts of a result out of a module's memory, into arrays if there are any: `bins`, and others in their order. */
export function take(result, parts, out) {
  try {
    let floats = 0;
    const of = part => {
      if (part === 'bins') return result.bins();
      if (out === undefined) return result.floats(floats++);
      result.copy_floats(floats++, out[part]);
      return out[part];
    };
    return Object.fromEntries(parts.map(part => [part, of(part)]));
  } finally {
    result.free();
  }
}
