"use strict";
// Draws every chart of the page with Chart.js, from the JSON beside its canvas (see chart.rs and heat_map.rs for its fields).
(() => {
  const root = document.documentElement;
  const colour = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();
  /** One shape and one colour per series: s0, s1, ... of the style sheet. */
  const SHAPES = ["rect", "circle", "rectRot", "triangle"];
  const COLOURS = 8;
  /** Up to this many points are marked one by one; of more, each series has a few marks that tell it from the others. */
  const MOST_MARKS = 40;
  const FEW_MARKS = 5;
  const LABELS = { linear: "linear scale", share: "linear scale", log: "log scale", log2: "log scale", category: "" };

  const number = (value) => {
    if (value === null || value === undefined) return "n/a";
    const size = Math.abs(value);
    const notation = size !== 0 && (size < 1e-4 || size >= 1e9) ? "scientific" : "standard";
    return value.toLocaleString("en", { maximumSignificantDigits: size >= 1000 ? 7 : 4, notation });
  };
  const named = (axis) => [axis.label, LABELS[axis.scale]].filter(Boolean).join(" · ");

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
    afterDatasetsDraw({ ctx, chartArea, scales }, _, { value, label }) {
      if (value === undefined) return;
      const y = scales.y.getPixelForValue(value);
      ctx.save();
      ctx.strokeStyle = ctx.fillStyle = colour("text");
      ctx.font = Chart.helpers.toFont(Chart.defaults.font).string;
      ctx.setLineDash([4, 4]);
      ctx.beginPath();
      ctx.moveTo(chartArea.left, y);
      ctx.lineTo(chartArea.right, y);
      ctx.stroke();
      ctx.textAlign = "right";
      ctx.fillText(label, chartArea.right - 4, y - 5);
      ctx.restore();
    },
  };

  const extent = (values) => {
    const finite = values.filter((value) => Number.isFinite(value));
    return [Math.min(...finite), Math.max(...finite)];
  };

  /** Options of an axis over `values`; a logarithmic one is wider by the factor `room` at both ends. */
  const scale = (axis, values, room = 1.25) => {
    const options = { title: { display: true, text: named(axis) }, ticks: { maxRotation: 0, autoSkipPadding: 12, includeBounds: false } };
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
    const logarithmic = { ...options, type: "logarithmic", bounds: "data", min: low / margin, max: high * margin };
    if (axis.scale === "log2") {
      const powers = (scale) => {
        const [first, last] = [Math.ceil(Math.log2(scale.min)), Math.floor(Math.log2(scale.max))];
        scale.ticks = Array.from({ length: last - first + 1 }, (_, index) => ({ value: 2 ** (first + index) }));
      };
      return { ...logarithmic, afterBuildTicks: powers, ticks: { ...options.ticks, callback: number } };
    }
    // Chart.js decides which ticks are labelled.
    function callback(value, ...others) {
      return Chart.Ticks.formatters.logarithmic.call(this, value, ...others) && number(value);
    }
    return { ...logarithmic, ticks: { ...options.ticks, callback } };
  };

  /** Radius of a mark: none inside a long curve, but for a few, and for a point between two gaps. */
  const radius = (count, position) => ({ dataset, dataIndex }) => {
    const length = dataset.data.length;
    const at = (index) => dataset.data[index]?.y ?? null;
    if (!dataset.showLine) return 5;
    if (length <= MOST_MARKS) return 3.5;
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
      datalabels: { display: false },
      tooltip: { backgroundColor: colour("text"), titleColor: colour("page"), bodyColor: colour("page"), padding: 9, usePointStyle: true },
    },
  });

  const series = (spec) => {
    const points = spec.series.flatMap((one) => one.points);
    const labelled = points.some((point) => point.label);
    const axisX = scale(spec.x, points.map((point) => point.x), labelled ? 1.7 : 1.25);
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
    options.plugins.threshold = spec.threshold ?? {};
    options.plugins.tooltip.callbacks = {
      title: ([item]) => item && (item.raw.detail ? "" : `${spec.x.label}: ${number(+item.raw.x)}`),
      label: ({ dataset, raw }) => {
        if (raw.detail) return raw.detail.split("\n");
        const range = raw.low === undefined ? "" : ` (${number(raw.low)} – ${number(raw.high)})`;
        return `${dataset.label}: ${number(raw.y)}${range}`;
      },
    };
    options.plugins.datalabels = {
      // A label that would cover another is left out; its point still has a tooltip.
      display: ({ dataset, dataIndex }) => (dataset.data[dataIndex].label ? "auto" : false),
      formatter: (point) => point.label,
      align: ({ dataset }) => dataset.labelAngle,
      offset: 3,
      clamp: true,
      color: colour("text"),
    };
    options.layout.padding.right = labelled ? 28 : 14;
    const datasets = spec.series.map((one, position) => {
      const shade = colour(`s${one.colour % COLOURS}`);
      return {
        type: one.mark === "bars" ? "bar" : "line",
        label: one.name,
        data: spec.x.scale === "category" ? one.points.map((point) => ({ ...point, x: String(point.x) })) : one.points,
        showLine: one.mark === "line",
        labelAngle: one.mark === "line" ? 50 : 230,
        borderColor: shade,
        backgroundColor: shade,
        borderWidth: one.mark === "line" ? 1.8 : 1,
        pointStyle: SHAPES[one.colour % SHAPES.length],
        pointRadius: radius(spec.series.length, position),
        pointHoverRadius: 6,
        // Marks at the edges of the plot are drawn whole.
        clip: 8,
        minBarLength: 2,
        maxBarThickness: 36,
      };
    });
    return { type: "line", data: { datasets }, options, plugins: [ranges, threshold, ChartDataLabels] };
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
