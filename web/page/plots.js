// The two plots: a spectrogram as a picture, and a spectrum as a line with its peaks.

const MARGIN = { left: 52, right: 10, top: 8, bottom: 24 };
/** Colours of a spectrogram from low to high power, in light and in dark mode. */
const RAMPS = {
  light: ['#ffffff', '#d5e6f5', '#8fbfe0', '#3b87c4', '#1b4f9c', '#2a1a5e', '#12062b'],
  dark: ['#0b0d17', '#1d1b4b', '#58237a', '#a83279', '#e8604c', '#fbb03b', '#fdf6b2'],
};

/** 256 colours as the pixels of an image. */
function palette(ramp) {
  const stops = ramp.map(colour => [1, 3, 5].map(at => parseInt(colour.slice(at, at + 2), 16)));
  return Uint32Array.from({ length: 256 }, (_, level) => {
    const place = level / 255 * (stops.length - 1);
    const stop = Math.min(Math.floor(place), stops.length - 2);
    const [red, green, blue] = stops[stop].map((low, part) => Math.round(low + (stops[stop + 1][part] - low) * (place - stop)));
    return 0xff000000 | blue << 16 | green << 8 | red;
  });
}

function isDark() {
  return document.documentElement.dataset.theme === 'dark';
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Round numbers in a range, about `count` of them. */
function ticks(low, high, count) {
  const rough = (high - low) / Math.max(count, 1);
  if (!(rough > 0)) return [];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(factor => factor * power).find(value => value >= rough);
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (_, i) => (first + i) * step);
}

/** A number with at most four digits behind the ones that count. */
function short(value) {
  return `${Number(value.toPrecision(5))}`;
}

export function hertz(value, digits = 6) {
  const [scaled, unit] = Math.abs(value) >= 1e6 ? [value / 1e6, 'MHz'] : Math.abs(value) >= 1e4 ? [value / 1e3, 'kHz'] : [value, 'Hz'];
  return `${Number(scaled.toPrecision(digits))} ${unit}`;
}

/** Canvas with axes, in pixels of the device. */
class Plot {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext('2d');
    this.fit();
  }

  fit() {
    this.scale = window.devicePixelRatio || 1;
    this.width = this.canvas.clientWidth;
    this.height = this.canvas.clientHeight;
    this.canvas.width = Math.max(1, Math.round(this.width * this.scale));
    this.canvas.height = Math.max(1, Math.round(this.height * this.scale));
    this.area = {
      left: MARGIN.left, top: MARGIN.top, width: Math.max(1, this.width - MARGIN.left - MARGIN.right),
      height: Math.max(1, this.height - MARGIN.top - MARGIN.bottom),
    };
  }

  /** Place of a pointer in the plot, each from 0 to 1; the vertical one from the bottom. */
  place(event) {
    const box = this.canvas.getBoundingClientRect();
    const within = value => Math.min(1, Math.max(0, value));
    return { x: within((event.clientX - box.left - this.area.left) / this.area.width), y: within(1 - (event.clientY - box.top - this.area.top) / this.area.height) };
  }

  begin() {
    const { context, area } = this;
    context.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.fillStyle = colour('--plot');
    context.fillRect(area.left, area.top, area.width, area.height);
    context.font = '11px system-ui, sans-serif';
  }

  /** Labels below and at the left, with grid lines if wanted. */
  axes([low, high], horizontal, [bottom, top], vertical, hasGrid) {
    const { context, area } = this;
    context.strokeStyle = colour('--line');
    context.fillStyle = colour('--faint');
    context.lineWidth = 1;
    context.beginPath();
    context.textAlign = 'center';
    context.textBaseline = 'top';
    const marks = ticks(low, high, area.width / 90);
    marks.forEach((value, i) => {
      const x = area.left + (value - low) / (high - low) * area.width;
      if (hasGrid) { context.moveTo(x, area.top); context.lineTo(x, area.top + area.height); }
      context.textAlign = x > this.width - 40 ? 'right' : 'center';
      context.fillText(horizontal(value, i === marks.length - 1), Math.min(x, this.width - 4), area.top + area.height + 6);
    });
    context.textAlign = 'right';
    context.textBaseline = 'middle';
    for (const value of ticks(bottom, top, area.height / 45)) {
      const y = area.top + area.height - (value - bottom) / (top - bottom) * area.height;
      if (hasGrid) { context.moveTo(area.left, y); context.lineTo(area.left + area.width, y); }
      context.fillText(vertical(value), area.left - 6, Math.min(Math.max(y, area.top + 5), area.top + area.height - 4));
    }
    context.stroke();
    context.strokeRect(area.left + 0.5, area.top + 0.5, area.width - 1, area.height - 1);
  }
}

export class SpectrogramPlot extends Plot {
  /** A picture of decibels, `columns` of `rows` each; `seconds` from the left end to the right one. */
  show({ picture, rows, columns, seconds, nyquist }, start = 0) {
    Object.assign(this, { picture, rows, columns, seconds, nyquist, start });
    this.range = levels(picture);
    this.paint();
  }

  /** Adds columns at the right end and moves the others. */
  push(fresh, columns, secondsPerColumn) {
    const count = Math.min(columns, this.columns);
    if (count === 0) return;
    this.picture.copyWithin(0, count * this.rows);
    this.picture.set(fresh.subarray((columns - count) * this.rows), (this.columns - count) * this.rows);
    this.start += columns * secondsPerColumn;
    const range = levels(this.picture);
    const changed = Math.abs(range.high - this.range.high) > 3 || Math.abs(range.low - this.range.low) > 6;
    if (changed) {
      this.range = range;
      this.paint();
    } else {
      const context = this.image.getContext('2d');
      context.drawImage(this.image, -count, 0);
      this.paint(this.columns - count);
    }
  }

  /** Colours of the columns from `first` on. */
  paint(first = 0) {
    if (!this.picture) return;
    const { rows, columns, range } = this;
    if (!this.image || this.image.width !== columns || this.image.height !== rows) {
      this.image = Object.assign(document.createElement('canvas'), { width: columns, height: rows });
    }
    const context = this.image.getContext('2d');
    const colours = palette(RAMPS[isDark() ? 'dark' : 'light']);
    const pixels = context.createImageData(columns - first, rows);
    const words = new Uint32Array(pixels.data.buffer);
    for (let column = first; column < columns; column++) {
      for (let row = 0; row < rows; row++) {
        const level = (this.picture[column * rows + row] - range.low) / (range.high - range.low);
        // NaN, where there is no power, is the lowest colour.
        words[(rows - 1 - row) * (columns - first) + column - first] = colours[level > 0 ? Math.min(255, Math.floor(level * 256)) : 0];
      }
    }
    context.putImageData(pixels, first, 0);
  }

  draw(cursor, selection) {
    this.begin();
    if (!this.picture) return;
    const { context, area } = this;
    context.imageSmoothingEnabled = false;
    context.drawImage(this.image, area.left, area.top, area.width, area.height);
    const x = seconds => area.left + (seconds - this.start) / this.seconds * area.width;
    if (selection) {
      context.fillStyle = colour('--back');
      context.globalAlpha = 0.6;
      context.fillRect(area.left, area.top, Math.max(0, x(selection.from) - area.left), area.height);
      context.fillRect(x(selection.to), area.top, Math.max(0, area.left + area.width - x(selection.to)), area.height);
      context.globalAlpha = 1;
    }
    if (cursor) {
      context.strokeStyle = colour('--accent');
      context.beginPath();
      context.moveTo(x(cursor.seconds), area.top);
      context.lineTo(x(cursor.seconds), area.top + area.height);
      const y = area.top + area.height * (1 - cursor.frequency / this.nyquist);
      context.moveTo(area.left, y);
      context.lineTo(area.left + area.width, y);
      context.stroke();
    }
    this.axes([this.start, this.start + this.seconds], (value, isLast) => `${short(value)}${isLast ? ' s' : ''}`, [0, this.nyquist], value => hertz(value, 3), false);
  }

  /** Level at a time and a frequency, in decibels. */
  level({ seconds, frequency }) {
    const column = Math.min(this.columns - 1, Math.max(0, Math.floor((seconds - this.start) / this.seconds * this.columns)));
    const row = Math.min(this.rows - 1, Math.round(frequency / this.nyquist * (this.rows - 1)));
    return this.picture[column * this.rows + row];
  }
}

/** Range of the colours: from the 5th percentile, at most 90 dB below the largest level. */
function levels(picture) {
  const step = Math.max(1, Math.floor(picture.length / 20000));
  const some = [];
  let high = -Infinity;
  for (let i = 0; i < picture.length; i++) {
    if (picture[i] > high) high = picture[i];
    if (i % step === 0 && Number.isFinite(picture[i])) some.push(picture[i]);
  }
  if (!Number.isFinite(high)) return { low: -100, high: 0 };
  some.sort((a, b) => a - b);
  const quiet = some[Math.floor(some.length * 0.05)] ?? high - 90;
  return { low: Math.min(Math.max(quiet, high - 90), high - 20), high };
}

export class SpectrumPlot extends Plot {
  show(spectrum) {
    this.spectrum = spectrum;
    const finite = spectrum.levels.filter(Number.isFinite);
    const high = finite.reduce((most, level) => Math.max(most, level), -Infinity);
    const low = finite.reduce((least, level) => Math.min(least, level), Infinity);
    const top = Number.isFinite(high) ? Math.ceil((high + 3) / 10) * 10 : 0;
    this.levels = [Math.min(top - 20, Math.max(top - 120, Math.floor(low / 10) * 10 || top - 100)), top];
  }

  draw(cursorBin) {
    this.begin();
    if (!this.spectrum) return;
    const { context, area, spectrum: { levels, nFft, sampleRate, peaks }, levels: [bottom, top] } = this;
    const nyquist = sampleRate / 2;
    const x = frequency => area.left + frequency / nyquist * area.width;
    const y = level => area.top + area.height * (1 - (Math.max(level, bottom) - bottom) / (top - bottom));
    this.axes([0, nyquist], value => hertz(value, 4), [bottom, top], value => `${value} dB`, true);
    context.save();
    context.beginPath();
    context.rect(area.left, area.top, area.width, area.height);
    context.clip();
    context.strokeStyle = colour('--trace');
    context.lineWidth = 1.3;
    context.beginPath();
    levels.forEach((level, bin) => context[bin === 0 ? 'moveTo' : 'lineTo'](x(bin * sampleRate / nFft), y(level)));
    context.stroke();
    context.fillStyle = colour('--peak');
    context.textAlign = 'center';
    context.textBaseline = 'bottom';
    context.font = 'bold 11px system-ui, sans-serif';
    peaks.forEach(({ frequency, level }, i) => {
      context.beginPath();
      context.arc(x(frequency), y(level), 3, 0, 2 * Math.PI);
      context.fill();
      if (i < 16) context.fillText(`${i + 1}`, Math.max(x(frequency), area.left + 6), Math.max(y(level) - 4, area.top + 12));
    });
    if (cursorBin !== undefined) {
      context.strokeStyle = colour('--accent');
      context.lineWidth = 1;
      context.beginPath();
      context.moveTo(x(cursorBin * sampleRate / nFft), area.top);
      context.lineTo(x(cursorBin * sampleRate / nFft), area.top + area.height);
      context.stroke();
      context.beginPath();
      context.arc(x(cursorBin * sampleRate / nFft), y(levels[cursorBin]), 4, 0, 2 * Math.PI);
      context.stroke();
    }
    context.restore();
  }
}
