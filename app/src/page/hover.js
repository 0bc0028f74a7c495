
"use strict";
// Shows the values of every curve under the pointer, read back from the drawn paths.
(() => {
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  document.body.append(tip);
  const inverse = (span) => {
    const [scale, ...numbers] = span.split(" ");
    const [low, high, start, end] = numbers.map(Number);
    return (pixel) => {
      const t = (pixel - start) / (end - start);
      return scale === "log" ? low * (high / low) ** t : low + (high - low) * t;
    };
  };
  const text = (value) => value.toLocaleString("en", { maximumSignificantDigits: 4 });
  for (const marks of document.querySelectorAll(".marks")) {
    const series = [...marks.querySelectorAll(".series")].map((path) => ({
      name: path.dataset.name,
      points: [...path.getAttribute("d").matchAll(/[ML]([\d.]+) ([\d.]+)/g)].map((point) => [+point[1], +point[2]]),
    }));
    if (series.length === 0) continue;
    const svg = marks.ownerSVGElement;
    const x = inverse(marks.dataset.x);
    const y = inverse(marks.dataset.y);
    const [, , , bottom, top] = marks.dataset.y.split(" ");
    const cursor = document.createElementNS(svg.namespaceURI, "path");
    cursor.setAttribute("class", "cursor");
    svg.append(cursor);
    svg.addEventListener("pointermove", (event) => {
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse()).x;
      const distance = (point) => Math.abs(point[0] - at);
      const nearest = series.map((one) => one.points.reduce((a, b) => (distance(b) < distance(a) ? b : a)));
      cursor.setAttribute("d", `M${nearest[0][0]} ${top}V${bottom}`);
      tip.textContent = [
        `${marks.dataset.label} ${Math.round(x(nearest[0][0])).toLocaleString("en")}`,
        ...series.map((one, index) => `${one.name}  ${text(y(nearest[index][1]))}`),
      ].join("\n");
      tip.hidden = false;
      const left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
      tip.style.left = `${Math.max(left, 4)}px`;
      tip.style.top = `${Math.max(event.clientY - tip.offsetHeight - 12, 4)}px`;
    });
    svg.addEventListener("pointerleave", () => {
      tip.hidden = true;
      cursor.removeAttribute("d");
    });
  }
})();
