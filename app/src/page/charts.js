"use strict";
// Draws every chart of the page with Chart.js, from the JSON beside its canvas (see chart.rs and heat_map.rs for its fields).
(() => {
  const root = document.documentElement;
  const colour = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();
  /** One shape and one colour per series: s0, s1, ... of the style sheet. */
  const SHAPES = ["rect", "circle", "rectRot", "triangle"];
  const COLOURS = 8;
  /** Up to this many points are marked one by one; of more, each series has a few marks that tell it from the others. */
  const MAX_MARKS = 40;
  const FEW_MARKS = 5;
  /** Where a label goes beside its point, right and down, the preferred side first; the last ones first for a line. */
  const SIDES = [[-1, -1], [-1, 0], [0, -1], [1, -1], [-1, 1], [1, 0], [0, 1], [1, 1]];
  const SCALES = { linear: "linear scale", share: "linear scale", log: "log scale", log2: "log scale", category: "" };

  const number = (value) => {
    if (value === null || value === undefined) return "n/a";
    const size = Math.abs(value);
    const notation = size !== 0 && (size < 1e-4 || size >= 1e9) ? "scientific" : "standard";
    return value.toLocaleString("en", { maximumSignificantDigits: size >= 1000 ? 7 : 4, notation });
  };
  const named = (axis) => [axis.label, SCALES[axis.scale]].filter(Boolean).join(" · ");

  /** Ranges of the points that have `low` and `high`: a band around a line, a whisker on any other mark. */
  const ranges = {
    id: "ranges",
    beforeDatasetDraw(chart, { index }) {
      const set = chart.data.datasets[index];
      const { ctx, chartArea, scales } = chart;
      const places = (set.data ?? []).map((point) =>
        point.low === undefined || point.low === null || point.high === null
          ? null
          : ["low", "high"].map((end) => scales.y.getPixelForValue(point[end])).concat(scales.x.getPixelForValue(point.x)),
      );
      if (!places.some(Boolean)) return;
      ctx.save();
      ctx.beginPath();
      ctx.rect(chartArea.left, chartArea.top, chartArea.width, chartArea.height);
      ctx.clip();
      ctx.globalAlpha = set.showLine ? 0.22 : 1;
      ctx.fillStyle = ctx.strokeStyle = set.borderColor;
      let run = [];
      for (const place of [...places, null]) {
        if (place) {
          run.push(place);
          continue;
        }
        ctx.beginPath();
        if (set.showLine) {
          for (const [, high, x] of run) ctx.lineTo(x, high);
          for (const [low, , x] of run.reverse()) ctx.lineTo(x, low);
          ctx.fill();
        } else {
          for (const [low, high, x] of run) {
            ctx.moveTo(x, low);
            ctx.lineTo(x, high);
          }
          ctx.stroke();
        }
        run = [];
      }
      ctx.restore();
    },
  };

  /** A dashed horizontal line at a value of the vertical axis. */
  const threshold = {
    id: "threshold",
    afterDatasetsDraw({ ctx, chartArea, scales }, _, { value }) {
      if (value === undefined) return;
      const y = scales.y.getPixelForValue(value);
      ctx.save();
      ctx.strokeStyle = colour("text");
      ctx.setLineDash([4, 4]);
      ctx.beginPath();
      ctx.moveTo(chartArea.left, y);
      ctx.lineTo(chartArea.right, y);
      ctx.stroke();
      ctx.restore();
    },
  };

  /** Finds a free side for the label of every labelled point, first points first; a label without one is left out. */
  const labels = {
    id: "labels",
    afterLayout(chart) {
      const { ctx, chartArea, data, scales } = chart;
      const at = (point) => [scales.x.getPixelForValue(point.x), scales.y.getPixelForValue(point.y)];
      const around = ([x, y], size) => ({ left: x - size, right: x + size, top: y - size, bottom: y + size });
      const marked = data.datasets.flatMap((set) => set.data.filter((point) => point.label));
      const taken = marked.map((point) => around(at(point), 6));
      for (const { showLine, data: points } of data.datasets) {
        if (!showLine) continue;
        for (let index = 1; index < points.length; index++) {
          const [[x0, y0], [x1, y1]] = [at(points[index - 1]), at(points[index])];
          const pieces = Math.ceil(Math.hypot(x1 - x0, y1 - y0) / 5) || 1;
          for (let piece = 1; piece < pieces; piece++) {
            const part = piece / pieces;
            taken.push(around([x0 + part * (x1 - x0), y0 + part * (y1 - y0)], 2));
          }
        }
      }
      ctx.font = Chart.helpers.toFont(Chart.defaults.font).string;
      const overlap = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
      const isInside = ({ left, right, top, bottom }) =>
        left > chartArea.left && right < chart.width && top > chartArea.top - 4 && bottom < chartArea.bottom;
      const isFree = (box) => isInside(box) && !taken.some((other) => overlap(box, other));
      for (const set of data.datasets) {
        for (const point of set.data) {
          if (!point.label) continue;
          const [x, y] = at(point);
          const width = ctx.measureText(point.label).width + 4;
          const sides = SIDES.map(([right, down]) => {
            const [left, top] = [x - width / 2 + right * (width / 2 + 6), y - 8 + down * 14];
            return { left, right: left + width, top, bottom: top + 16 };
          });
          const side = (set.showLine ? sides.toReversed() : sides).find(isFree);
          point.place = side && [(side.left + side.right) / 2 - x, (side.top + side.bottom) / 2 - y];
          if (side) taken.push(side);
        }
      }
    },
    afterDatasetsDraw({ ctx, data, scales }) {
      ctx.save();
      ctx.font = Chart.helpers.toFont(Chart.defaults.font).string;
      ctx.fillStyle = colour("text");
      ctx.textAlign = "center";
      ctx.textBaseline = "middle";
      for (const { label, place, x, y } of data.datasets.flatMap((set) => set.data)) {
        if (place) ctx.fillText(label, scales.x.getPixelForValue(x) + place[0], scales.y.getPixelForValue(y) + place[1]);
      }
      ctx.restore();
    },
  };

  const extent = (values) => {
    const finite = values.filter((value) => Number.isFinite(value));
    return [Math.min(...finite), Math.max(...finite)];
  };

  /** Ticks at powers of two. */
  const powersOfTwo = (scale) => {
    const [first, last] = [Math.ceil(Math.log2(scale.min)), Math.floor(Math.log2(scale.max))];
    scale.ticks = Array.from({ length: last - first + 1 }, (_, index) => ({ value: 2 ** (first + index) }));
  };

  /** Of the ticks of a logarithmic axis, so many per decade as have room for a label. */
  const roundTicks = (scale) => {
    const decades = Math.log10(scale.max / scale.min);
    const kept = decades > 3 ? [1] : decades > 1.7 ? [1, 3] : decades > 1.2 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 8];
    const significand = (value) => value / 10 ** Math.floor(Math.log10(value) + 1e-9);
    const isKept = ({ value }) => kept.some((round) => Math.abs(significand(value) - round) < 1e-6);
    scale.ticks = scale.ticks.filter(isKept);
  };

  /** Options of an axis over `values`; a logarithmic one is wider by the factor `room` at both ends. */
  const scale = (axis, values, room = 1.25) => {
    const options = {
      title: { display: true, text: named(axis) },
      ticks: { maxRotation: 0, autoSkipPadding: 12, includeBounds: false },
    };
    if (axis.scale === "category") return { ...options, type: "category", labels: values.map(String) };
    if (axis.scale === "linear") {
      const [suggestedMin, suggestedMax] = extent(values);
      return { ...options, type: "linear", suggestedMin, suggestedMax };
    }
    if (axis.scale === "share") {
      const [low, high] = extent(values);
      const room = Math.max((high - low) * 0.06, 0.04);
      const suggestedMin = Math.max(low - room, Math.min(low, 0));
      return { ...options, type: "linear", suggestedMin, suggestedMax: Math.min(high + room, Math.max(high, 1)) };
    }
    const [low, high] = extent(values.filter((value) => value > 0));
    const margin = high / low < 1.5 ? 2 : axis.scale === "log2" ? 1 : room;
    const ticks = { ...options.ticks, callback: number };
    const afterBuildTicks = axis.scale === "log2" ? powersOfTwo : roundTicks;
    const [min, max] = [low / margin, high * margin];
    return { ...options, type: "logarithmic", bounds: "data", min, max, ticks, afterBuildTicks };
  };

  /** Radius of a mark: none inside a long curve, but for a few, and for a point between two gaps. */
  const radius = (count, position) => ({ dataset, dataIndex }) => {
    const length = dataset.data.length;
    const at = (index) => dataset.data[index]?.y ?? null;
    if (!dataset.showLine) return 5;
    if (length <= MAX_MARKS) return 3.5;
    if (at(dataIndex - 1) === null && at(dataIndex + 1) === null) return 2;
    if (count === 1) return 0;
    const step = Math.floor(length / FEW_MARKS);
    return dataIndex % step === Math.floor((step * (2 * position + 1)) / (2 * count)) ? 3.5 : 0;
  };

  /** Options that every chart has. */
  const common = (spec) => ({
    animation: false,
    maintainAspectRatio: false,
    layout: { padding: { right: 14 } },
    plugins: {
      // The vertical axis's name stands above it, so that a long one fits.
      subtitle: { display: true, text: named(spec.y), align: "start", weight: 500, padding: { bottom: 8 } },
      legend: { display: false },
      tooltip: {
        backgroundColor: colour("text"),
        titleColor: colour("page"),
        bodyColor: colour("page"),
        padding: 9,
        usePointStyle: true,
      },
    },
  });

  const series = (spec) => {
    const points = spec.series.flatMap((one) => one.points);
    const labelled = points.some((point) => point.label);
    const axisX = scale(spec.x, points.map((point) => point.x), labelled ? 1.4 : 1.25);
    const axisY = scale(spec.y, points.flatMap(({ y, low, high }) => [y, low ?? y, high ?? y]));
    const isBars = spec.series.every((one) => one.mark === "bars");
    const options = common(spec);
    axisX.grid = { display: false };
    axisY.title.display = false;
    if (!labelled && axisX.suggestedMin < axisX.suggestedMax) {
      // A curve begins and ends at the edges of the plot.
      [axisX.min, axisX.max] = [axisX.suggestedMin, axisX.suggestedMax];
    }
    if (isBars) axisY.beginAtZero = true;
    options.scales = { x: axisX, y: axisY };
    options.interaction = { mode: "nearest", axis: labelled ? "xy" : "x", intersect: false };
    Object.assign(options.plugins.legend, {
      display: spec.series.length > 1,
      align: "start",
      labels: { usePointStyle: true, boxWidth: 8, boxHeight: 8 },
    });
    if (spec.threshold) {
      options.plugins.threshold = spec.threshold;
      options.plugins.subtitle.text += ` · dashed: ${spec.threshold.label}`;
    }
    options.plugins.tooltip.callbacks = {
      title: ([item]) => item && (item.raw.detail ? "" : `${spec.x.label}: ${number(+item.raw.x)}`),
      label: ({ dataset, raw }) => {
        if (raw.detail) return raw.detail.split("\n");
        const range = raw.low === undefined ? "" : ` (${number(raw.low)} – ${number(raw.high)})`;
        return `${dataset.label}: ${number(raw.y)}${range}`;
      },
    };
    if (labelled) {
      options.layout.padding.right = 28;
      if (spec.y.scale === "linear") axisY.grace = "8%";
    }
    const lines = spec.series.filter((one) => one.mark === "line").length;
    const datasets = spec.series.map((one, position) => {
      const shade = colour(`s${one.colour % COLOURS}`);
      return {
        type: one.mark === "bars" ? "bar" : "line",
        label: one.name,
        data: spec.x.scale === "category" ? one.points.map((point) => ({ ...point, x: String(point.x) })) : one.points,
        showLine: one.mark === "line",
        borderColor: shade,
        // More series than colours: the others are dashed.
        borderDash: one.colour < COLOURS ? [] : [6, 3],
        backgroundColor: shade,
        borderWidth: one.mark === "line" ? 1.8 : 1,
        pointStyle: SHAPES[one.colour % SHAPES.length],
        pointRadius: radius(lines, position),
        pointHoverRadius: 6,
        // Marks at the edges of the plot are drawn whole.
        clip: 8,
        minBarLength: 2,
        maxBarThickness: 36,
      };
    });
    return { type: "line", data: { datasets }, options, plugins: [ranges, threshold, labels] };
  };

  const heatMap = (spec) => {
    const [cold, heat] = ["cold", "heat"].map((name) => colour(name).match(/\w\w/g).map((part) => parseInt(part, 16)));
    const shade = ({ raw }) => {
      if (!raw || raw.value === null) return colour("missing");
      return `rgb(${cold.map((from, index) => Math.round(from + (heat[index] - from) * raw.value)).join()})`;
    };
    const options = common(spec);
    const columns = Math.max(...spec.rows.map((row) => row.values.length));
    const bare = { grid: { display: false }, border: { display: false } };
    const side = { ...bare, type: "category", offset: true, reverse: false };
    options.scales = {
      x: {
        ...bare,
        type: "linear",
        offset: false,
        min: 0,
        max: spec.columns,
        ticks: { stepSize: spec.columns / 4, maxRotation: 0 },
        title: { display: true, text: spec.x.label },
      },
      y: { ...side, labels: spec.rows.map((row) => row.name) },
      notes: { ...side, axis: "y", position: "right", labels: spec.rows.map((row) => row.note) },
    };
    options.plugins.subtitle.text = spec.y.label;
    options.plugins.tooltip.callbacks = {
      title: ([item]) => item && `${spec.y.label} ${item.raw.y}`,
      label: ({ raw }) => {
        const [first, last] = [raw.column * spec.pooled, Math.min((raw.column + 1) * spec.pooled, spec.columns) - 1];
        return `${spec.x.label} ${number(first)}${last > first ? `–${number(last)}` : ""}: ${number(raw.value)}`;
      },
    };
    const cells = (row) =>
      row.values.map((value, column) => ({ x: (column + 0.5) * spec.pooled, y: row.name, column, value }));
    const dataset = {
      data: spec.rows.flatMap(cells),
      backgroundColor: shade,
      hoverBackgroundColor: shade,
      borderWidth: 0,
      hoverBorderWidth: 1,
      hoverBorderColor: colour("text"),
      // A pixel more than its share, so that no seam shows between columns.
      width: ({ chart }) => (chart.chartArea?.width ?? 0) / columns + 1,
      height: ({ chart }) => ((chart.chartArea?.height ?? 0) / spec.rows.length) * 0.9,
    };
    return { type: "matrix", data: { datasets: [dataset] }, options };
  };

  const canvases = [...document.querySelectorAll("canvas")];
  const draw = () => {
    Object.assign(Chart.defaults, { color: colour("quiet"), borderColor: colour("grid"), locale: "en" });
    Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
    for (const canvas of canvases) {
      Chart.getChart(canvas)?.destroy();
      const spec = JSON.parse(canvas.nextElementSibling.textContent);
      new Chart(canvas, spec.rows ? heatMap(spec) : series(spec));
    }
  };

  // The tables of values, open without a script, are folded beside a drawing and unfolded on paper.
  const tables = [...document.querySelectorAll("details.values")];
  const unfold = (open) => tables.forEach((table) => (table.open = open));
  root.classList.add("drawn");
  unfold(false);
  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  for (const [event, printing] of [["beforeprint", true], ["afterprint", false]]) {
    addEventListener(event, () => {
      root.classList.toggle("printing", printing);
      unfold(printing);
      draw();
    });
  }
})();
