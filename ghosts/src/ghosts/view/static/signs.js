"use strict";
// Legends, curves, and what is said beside a place of the map. Signs, colours and words are ghosts_houses.draw.style.LEGEND.
Ghosts.svg = (tag, values, ...children) => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(values)) node.setAttribute(key, value);
  node.append(...children);
  return node;
};

Ghosts.signs = {
  walk: (fill) => [["path", { d: "M1 7H21", stroke: fill, "stroke-width": 4 }], ["circle", { cx: 15, cy: 7, r: 5, fill, stroke: "#fff" }]],
  dashes: (stroke) => [["path", { d: "M1 7H21", stroke, "stroke-width": 4, "stroke-dasharray": "5 3" }]],
  square: (fill) => [["rect", { x: 5, y: 1.5, width: 11, height: 11, fill }]],
  star: (fill) => [["path", { d: Array.from({ length: 10 }, (_, k) => `${k ? "L" : "M"}${11 + (k % 2 ? 2.9 : 6.8) * Math.sin((k * Math.PI) / 5)} ${7 - (k % 2 ? 2.9 : 6.8) * Math.cos((k * Math.PI) / 5)}`).join("") + "Z", fill }]],
  cross: (stroke) => [["circle", { cx: 11, cy: 7, r: 6, fill: "none", stroke, "stroke-dasharray": "2 2" }], ["path", { d: "M8 4l6 6m0-6l-6 6", stroke, "stroke-width": 2 }]],
  heat: (stops) => stops.map((stop, k) => ["rect", { x: k * 5.5, y: 1, width: 5.6, height: 12, fill: `rgb(${stop.map((part) => Math.round(255 * part))})` }]),
  wedge: (fill) => [["path", { d: "M4 12L20 7L4 2Z", fill }]],
  disc: (fill) => [["circle", { cx: 11, cy: 7, r: 5.5, fill, stroke: Ghosts.colours.AGENT }]],
  dots: (stroke) => [["path", { d: "M1 7H21", stroke, "stroke-width": 3, "stroke-dasharray": "2 4" }]],
  mark: (fill) => [["path", { d: "M1 7H15", stroke: fill }], ["rect", { x: 13, y: 4, width: 6, height: 6, fill }]],
  veil: (fill) => [["rect", { x: 1, y: 1, width: 20, height: 12, fill, opacity: 0.45 }]],
};

// names: keys of the table, or [key, other words].
Ghosts.legend = (box, names) => box.replaceChildren(...names.map((item) => {
  const [name, words] = [item].flat(), [kind, colour, text] = Ghosts.colours.LEGEND[name], dark = ["cross", "wedge"].includes(kind);
  const sign = Ghosts.svg("svg", { viewBox: "0 0 22 14", width: 22, height: 14, "aria-hidden": "true" }, ...Ghosts.signs[kind](dark ? "currentColor" : colour).map(([tag, values]) => Ghosts.svg(tag, values)));
  return Ghosts.element("li", { "data-sign": name }, sign, words ?? text);
}));

// One quantity over steps or iterations, with its scale: {name, xs, ys (null: not known yet), text(value), at, more}.
Ghosts.curve = ({ name, xs, ys, text, at = xs.length - 1, what = "", high: wide = 112 }) => {
  const known = ys.filter((value) => value !== null), low = Math.min(...known, Infinity), high = Math.max(...known, -Infinity);
  const [left, right, top, bottom] = [44, 310, 20, wide - 18], last = Math.max(xs[xs.length - 1], xs[0] + 1);
  const x = (value) => left + ((right - left) * (value - xs[0])) / (last - xs[0]), y = (value) => bottom - (bottom - top) * (high > low ? (value - low) / (high - low) : 0.5);
  const tick = (value) => text(value).replace(/ [a-z]+$/, "");
  const words = (values, told) => Ghosts.svg("text", { "font-size": 11, fill: "currentColor", ...values }, told);
  const now = ys[at] === null || ys[at] === undefined ? "" : text(ys[at]);
  const points = ys.map((value, k) => (value === null ? null : `${x(xs[k]).toFixed(1)},${y(value).toFixed(1)}`)).filter(Boolean);
  return Ghosts.svg("svg", { viewBox: `0 0 320 ${wide}`, class: "curve", role: "img", "aria-label": `${name}: ${now} at ${what} ${xs[at]}` },
    words({ x: left, y: 13, "font-weight": 600 }, `${name} ${now}`),
    ...(known.length ? [words({ x: left - 5, y: bottom + 3, "text-anchor": "end" }, tick(low)), ...(high > low ? [words({ x: left - 5, y: top + 5, "text-anchor": "end" }, tick(high))] : [])] : []),
    Ghosts.svg("path", { d: `M${left} ${top}V${bottom}H${right}`, fill: "none", stroke: "currentColor", opacity: 0.35 }),
    Ghosts.svg("polyline", { points: points.join(" "), fill: "none", stroke: "var(--agent)", "stroke-width": 2 }),
    ...points.map((point) => Ghosts.svg("circle", { cx: point.split(",")[0], cy: point.split(",")[1], r: points.length > 40 ? 0 : 2.6, fill: "var(--agent)" })),
    Ghosts.svg("path", { d: `M${x(xs[at])} ${top}V${bottom}`, stroke: "currentColor", "stroke-width": 1.5, class: "now" }),
    words({ x: left, y: wide - 4 }, `${xs[0]}`), words({ x: right, y: wide - 4, "text-anchor": "end" }, `${what} ${xs[xs.length - 1]}`));
};

// Words and buttons beside a place of the map: for as long as the pointer is there, or until something else is chosen.
Ghosts.Spot = class {
  constructor(pane) {
    this.box = Ghosts.element("div", { class: "spot", hidden: true, "data-part": "spot" });
    this.pinned = null;
    pane.append(this.box);
  }

  // where: [x, y] on the map; `buttons` pin it.
  show([x, y], text, buttons = null) {
    this.box.replaceChildren(Ghosts.element("span", buttons ? { role: "status" } : {}, text), ...(buttons ?? []));
    this.box.classList.toggle("pinned", Boolean(buttons));
    this.box.hidden = false;
    const { offsetWidth: wide, offsetHeight: high, parentElement: { clientWidth: all } } = this.box, top = this.box.parentElement.querySelector("canvas").offsetTop;
    this.box.style.left = `${Math.max(2, Math.min(all - wide - 2, x + 14))}px`;
    this.box.style.top = `${top + (y > high + 24 ? y - high - 12 : y + 16)}px`;
  }

  hide() { this.box.hidden = true; }
};
