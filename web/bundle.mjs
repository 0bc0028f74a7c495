// The page as a file that works from disk: node bundle.mjs FOLDER FILE. Scripts, styles and the module for the CPU are in it, nothing is
// fetched. Modules of scripts become functions, as a page from disk may not import any.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';

const [folder, file] = process.argv.slice(2);
const read = name => readFileSync(path.join(folder, name), 'utf8');

/** Replaces what must be there. */
function replaced(text, old, fresh) {
  if (!text.includes(old)) throw new Error(`there is no ${old}`);
  return text.replace(old, () => fresh);
}

/** A script and what it imports, each a function that returns its exports, as one script. */
function bundled(entry) {
  const names = new Map();
  const parts = [];
  const add = name => {
    if (names.has(name)) return names.get(name);
    const imports = [];
    let source = read(name).replace(/^import (.+) from '(.+)';$/gm, (_, what, from) => {
      imports.push([what, add(path.posix.join(path.posix.dirname(name), from))]);
      return '';
    });
    const exported = new Map();
    source = source
      .replace(/^export ((?:async )?function|class) (\w+)/gm, (_, kind, own) => {
        exported.set(own, own);
        return `${kind} ${own}`;
      })
      .replace(/^export (const) (\w+)/gm, (_, kind, own) => {
        exported.set(own, own);
        return `${kind} ${own}`;
      })
      .replace(/^export const \{(.+)\} = /gm, (_, list) => {
        list.split(',').forEach(own => exported.set(own.trim(), own.trim()));
        return `const {${list}} = `;
      })
      .replace(/^export \{(.+)\};$/gm, (_, list) => {
        for (const [own, , other] of list.split(',').map(item => item.trim().split(' '))) exported.set(other ?? own, own);
        return '';
      })
      // Nothing is fetched, so addresses do not matter.
      .replaceAll('import.meta.url', "'https://none.invalid/'");
    if (/^(import|export)\b/m.test(source)) throw new Error(`${name}: an import or an export of another form`);
    const bound = imports.flatMap(([what, from]) => what.split(/, (?![^{]*\})/).map(item => {
      if (item.startsWith('* as ')) return `const ${item.slice(5)} = ${from};`;
      return item.startsWith('{') ? `const ${item} = ${from};` : `const ${item} = ${from}.default;`;
    }));
    const own = `module${names.size}`;
    names.set(name, own);
    const list = [...exported].map(([other, inner]) => `${JSON.stringify(other)}: ${inner}`).join(', ');
    parts.push(`const ${own} = await (async () => {\n${bound.join('\n')}\n${source}\nreturn { ${list} };\n})();`);
    return own;
  };
  add(entry);
  return `(async () => {\n'use strict';\n${parts.join('\n')}\n})();\n`;
}

const quoted = text => JSON.stringify(text).replaceAll('<', '\\u003c');
const module = gzipSync(readFileSync(path.join(folder, 'firefly/firefly_wasm_bg.wasm')), { level: 9 }).toString('base64');
const worker = `self.embedded = (async () => {
  const bytes = Uint8Array.from(atob('${module}'), letter => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer();
})();
${bundled('worker.js')}`;
let app = bundled('app.js');
app = replaced(app, "new Worker('worker.js', { type: 'module' })", `new Worker(URL.createObjectURL(new Blob([${quoted(worker)}])))`);
// From disk, the address of a blob is not loaded into the thread of audio.
app = replaced(app, "addModule('capture.js')", `addModule('data:text/javascript;base64,${Buffer.from(read('capture.js')).toString('base64')}')`);
if (/<\/script/i.test(app)) throw new Error('a script holds the end of scripts');

let page = read('index.html');
page = page.replace(/content="default-src[^"]*"/, `content="default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval' data:; worker-src blob:; img-src data:; style-src 'unsafe-inline'"`);
page = replaced(page, '<link rel="stylesheet" href="style.css">', `<style>\n${read('style.css')}</style>`);
page = replaced(page, '<link rel="modulepreload" href="app.js">', '');
page = replaced(page, '<script type="module" src="app.js"></script>', '');
page = replaced(page, '</body>', `<script>\n${app}</script>\n</body>`);
writeFileSync(file, page);
