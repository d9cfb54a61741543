"use strict";
// The top-down map on a canvas: plan or painting, what was seen, belief, paths. Drag to pan, wheel or pinch to zoom.
Ghosts.colours = {
  AGENT: "#0072B2", DEMONSTRATOR: "#E69F00", GOAL: "#CC79A7", PREDICTED: "#000000", START: "#009E73",
  EDGE: "#9aa7b0", NODE: "#5c6b75", CANDIDATE: "#56B4E9", INK: "#1f2428", PAPER: "#ffffff", UNSEEN: "#8d979e",
  BELIEF: [[1.0, 0.96, 0.9], [0.99, 0.68, 0.42], [0.9, 0.33, 0.05], [0.5, 0.06, 0.02]],
  LIKELIHOOD: [[0.97, 0.97, 1.0], [0.62, 0.79, 0.88], [0.19, 0.51, 0.74], [0.03, 0.19, 0.42]],
};

Ghosts.heatImage = (mass, rows, cols, top, stops) => {
  const canvas = document.createElement("canvas");
  canvas.width = cols;
  canvas.height = rows;
  const context = canvas.getContext("2d"), image = context.createImageData(cols, rows);
  for (let row = 0; row < rows; row++)
    for (let col = 0; col < cols; col++) {
      const share = top > 0 ? Math.sqrt(Math.min(1, Math.max(0, mass[row * cols + col] / top))) : 0;
      const at = share * (stops.length - 1), low = Math.min(Math.floor(at), stops.length - 2), part = at - low;
      const pixel = 4 * ((rows - 1 - row) * cols + col); // row 0 is south, pictures start in the north
      for (let k = 0; k < 3; k++) image.data[pixel + k] = 255 * (stops[low][k] * (1 - part) + stops[low + 1][k] * part);
      image.data[pixel + 3] = 255 * Math.min(0.88, 1.6 * share);
    }
  context.putImageData(image, 0, 0);
  return canvas;
};

Ghosts.corner = (header, grid = header.grid) => [
  header.origin_xy_m[0] - (grid[1] * grid[2]) / 2,
  header.origin_xy_m[1] - (grid[0] * grid[2]) / 2,
];

Ghosts.MapView = class {
  constructor(canvas, { onpick } = {}) {
    Object.assign(this, { canvas, onpick, context: canvas.getContext("2d"), scene: null, header: null, frame: null });
    Object.assign(this, { step: 0, t: 0, layer: "belief", storey: 0, painting: null, cell: null, centre: [0, 0], scale: 30 });
    this.show = { graph: true, unseen: true, arrows: true, names: true, paths: true, photo: false };
    this.pointers = new Map();
    this.listen();
    new ResizeObserver(() => this.resize()).observe(canvas);
  }

  resize() {
    const ratio = window.devicePixelRatio || 1, box = this.canvas.getBoundingClientRect();
    if (!box.width) return;
    this.ratio = ratio;
    this.canvas.width = Math.round(box.width * ratio);
    this.canvas.height = Math.round(box.height * ratio);
    if (this.wanted) this.fit();
    this.draw();
  }

  // Show everything that matters of this episode.
  fit() {
    this.wanted = true;
    if (!this.scene || !this.canvas.width) return;
    const near = this.scene.viewpoints.filter((point) => point.ok && point.s === this.storey);
    let points = near.map((point) => [point.x, point.y]);
    if (this.header && points.length > 60) {
      const walked = [...this.header.walk, ...this.header.path].map((id) => this.point(id)).filter(Boolean);
      points = walked.map((point) => [point.x, point.y]);
      if (points.length) points.push(...[-5, 5].flatMap((d) => points.slice(0, 1).map(([x, y]) => [x + d, y + d])));
    }
    if (!points.length) points = [[0, 0]];
    const xs = points.map((p) => p[0]), ys = points.map((p) => p[1]);
    const [x0, x1, y0, y1] = [Math.min(...xs) - 2, Math.max(...xs) + 2, Math.min(...ys) - 2, Math.max(...ys) + 2];
    this.centre = [(x0 + x1) / 2, (y0 + y1) / 2];
    this.scale = Math.min(this.canvas.width / this.ratio / (x1 - x0), this.canvas.height / this.ratio / (y1 - y0));
  }

  point(id) {
    Ghosts.neighbours(this.scene);
    return this.scene.viewpoints[this.scene.index.get(id)];
  }

  screen(x, y) {
    return [
      (x - this.centre[0]) * this.scale + this.canvas.width / this.ratio / 2,
      (this.centre[1] - y) * this.scale + this.canvas.height / this.ratio / 2,
    ];
  }

  world(px, py) {
    return [
      (px - this.canvas.width / this.ratio / 2) / this.scale + this.centre[0],
      this.centre[1] - (py - this.canvas.height / this.ratio / 2) / this.scale,
    ];
  }

  listen() {
    const at = (event) => {
      const box = this.canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, at(event));
      this.moved = 0;
    });
    this.canvas.addEventListener("pointermove", (event) => {
      const before = this.pointers.get(event.pointerId);
      if (!before) return;
      const now = at(event), others = [...this.pointers].filter(([id]) => id !== event.pointerId);
      this.moved += Math.hypot(now[0] - before[0], now[1] - before[1]);
      if (others.length) {
        const other = others[0][1];
        const grown = Math.hypot(now[0] - other[0], now[1] - other[1]) / Math.max(1, Math.hypot(before[0] - other[0], before[1] - other[1]));
        this.zoom(grown, other[0], other[1]);
      } else if (this.moved > 4) {
        this.centre = [this.centre[0] - (now[0] - before[0]) / this.scale, this.centre[1] + (now[1] - before[1]) / this.scale];
        this.wanted = false;
        this.draw();
      }
      this.pointers.set(event.pointerId, now);
    });
    const up = (event) => {
      const last = this.pointers.get(event.pointerId);
      this.pointers.delete(event.pointerId);
      if (last && this.moved <= 4 && event.type === "pointerup") this.pick(...last);
    };
    this.canvas.addEventListener("pointerup", up);
    this.canvas.addEventListener("pointercancel", up);
    this.canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY / 400), ...at(event));
    }, { passive: false });
    this.canvas.addEventListener("dblclick", () => { this.fit(); this.draw(); });
  }

  zoom(factor, px, py) {
    const fixed = this.world(px, py);
    this.scale = Math.min(400, Math.max(4, this.scale * factor));
    const now = this.world(px, py);
    this.centre = [this.centre[0] + fixed[0] - now[0], this.centre[1] + fixed[1] - now[1]];
    this.wanted = false;
    this.draw();
  }

  pick(px, py) {
    if (!this.scene || !this.onpick) return;
    const near = this.scene.viewpoints
      .filter((point) => point.ok && point.s === this.storey)
      .map((point) => ({ point, far: Math.hypot(...this.screen(point.x, point.y).map((v, k) => v - [px, py][k])) }))
      .reduce((best, item) => (item.far < best.far ? item : best), { far: 14, point: null });
    const [x, y] = near.point ? [near.point.x, near.point.y] : this.world(px, py);
    this.onpick({ x, y, viewpoint: near.point ? near.point.id : null });
  }

  draw() {
    if (this.drawing) return;
    this.drawing = requestAnimationFrame(() => {
      this.drawing = null;
      this.paint();
    });
  }

  paint() {
    if (!this.canvas.width) return;
    const c = this.context, colours = Ghosts.colours;
    c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    c.fillStyle = "#f3f4f5";
    c.fillRect(0, 0, this.canvas.width, this.canvas.height);
    if (!this.scene) return;
    if (this.show.photo && this.painting && this.painting.storey === this.storey) {
      const [left, right, bottom, top] = this.painting.extent_m;
      const [x0, y0] = this.screen(left, top), [x1, y1] = this.screen(right, bottom);
      c.imageSmoothingEnabled = true;
      c.drawImage(this.painting.image, x0, y0, x1 - x0, y1 - y0);
    } else this.plan();
    if (this.header && this.frame) {
      if (this.show.unseen) this.unseen();
      this.heat();
    }
    if (this.show.names && !(this.show.photo && this.painting)) this.names();
    if (this.show.graph) this.graph();
    if (this.header && this.show.paths) this.paths();
    if (this.cell) {
      const [x, y] = this.screen(...this.cell.xy_m), half = (this.header.grid[2] * this.scale) / 2;
      c.lineWidth = 2;
      c.strokeStyle = colours.INK;
      c.strokeRect(x - half, y - half, 2 * half, 2 * half);
    }
    this.furniture();
  }

  plan() {
    const c = this.context;
    for (const shape of this.scene.shapes) {
      if (shape.s !== this.storey || !shape.p.length) continue;
      c.beginPath();
      shape.p.forEach(([x, y], k) => c[k ? "lineTo" : "moveTo"](...this.screen(x, y)));
      c.closePath();
      c.fillStyle = shape.f;
      c.fill();
      if (shape.k === "thing" || shape.k === "stair") {
        c.strokeStyle = "#00000040";
        c.lineWidth = 0.6;
        c.stroke();
      }
    }
    for (const mark of this.scene.marks) {
      if (mark.s !== this.storey) continue;
      const [x, y] = this.screen(mark.x, mark.y);
      c.fillStyle = "#8a7f70";
      c.fillRect(x - 2, y - 2, 4, 4);
    }
  }

  names() {
    const c = this.context, taken = [];
    const write = (x, y, text, size, weight, colour) => {
      c.font = `${weight} ${size}px system-ui, sans-serif`;
      const half = c.measureText(text).width / 2 + 2;
      if (taken.some(([a, b, w, h]) => Math.abs(a - x) < w + half && Math.abs(b - y) < h + size / 2)) return;
      taken.push([x, y, half, size / 2 + 1]);
      c.textAlign = "center";
      c.textBaseline = "middle";
      c.lineWidth = 3;
      c.strokeStyle = "#ffffffd0";
      c.strokeText(text, x, y);
      c.fillStyle = colour;
      c.fillText(text, x, y);
    };
    const middle = (shape) => shape.at ?? shape.p.reduce((sum, p) => [sum[0] + p[0] / shape.p.length, sum[1] + p[1] / shape.p.length], [0, 0]);
    const named = this.scene.shapes.filter((shape) => shape.t && shape.s === this.storey);
    for (const shape of named.filter((item) => item.k !== "thing").sort((a, b) => b.a - a.a)) write(...this.screen(...middle(shape)), shape.t, 12, 600, "#4a4a4a");
    if (this.scale > 34)
      for (const shape of named.filter((item) => item.k === "thing" && item.a * this.scale > 14).sort((a, b) => b.a - a.a)) write(...this.screen(...middle(shape)), shape.t, 10, 400, "#333");
    if (this.scale > 26)
      for (const mark of this.scene.marks.filter((item) => item.s === this.storey).sort((a, b) => a.n - b.n)) {
        const [x, y] = this.screen(mark.x, mark.y);
        write(x, y - 8, mark.t, 9.5, 400, "#6b6152");
      }
  }

  unseen() {
    const { observed } = this.frame, [, rows, cols] = observed.shape, c = this.context;
    const key = this.frame;
    if (this.shadeOf !== key) {
      this.shade = document.createElement("canvas");
      this.shade.width = cols;
      this.shade.height = rows;
      const part = this.shade.getContext("2d"), image = part.createImageData(cols, rows);
      for (let i = 0; i < rows * cols; i++) {
        const row = Math.floor(i / cols), pixel = 4 * ((rows - 1 - row) * cols + (i % cols));
        image.data.set([141, 151, 158, observed.values[i] > 0.5 ? 0 : 84], pixel);
      }
      part.putImageData(image, 0, 0);
      this.shadeOf = key;
    }
    this.stretch(this.shade, this.header.map_grid);
    c.globalAlpha = 1;
  }

  stretch(image, grid) {
    const [left, bottom] = Ghosts.corner(this.header, grid);
    const [x0, y0] = this.screen(left, bottom + grid[0] * grid[2]), [x1, y1] = this.screen(left + grid[1] * grid[2], bottom);
    this.context.imageSmoothingEnabled = false;
    this.context.drawImage(image, x0, y0, x1 - x0, y1 - y0);
  }

  heat() {
    const shown = Ghosts.shown(this.frame, this.layer, this.t), likely = this.layer === "likelihood" && this.t > 0;
    const top = likely ? Math.max(...shown.mass) ** 2 : Math.max(0.02, ...shown.mass);
    const image = Ghosts.heatImage(likely ? shown.mass.map((value) => value * value) : shown.mass, // a likelihood is drawn linearly
      shown.rows, shown.cols, top, Ghosts.colours[likely ? "LIKELIHOOD" : "BELIEF"]);
    this.stretch(image, this.header.grid);
    if (this.show.arrows && shown.headings > 1 && !likely) this.arrows(shown, top);
  }

  // A wedge for each heading bin of the cells that hold most; longer = more of the cell's mass.
  arrows({ rows, cols, headings, mass, bins }, top) {
    const c = this.context, cell = this.header.grid[2], [left, bottom] = Ghosts.corner(this.header), area = rows * cols;
    c.fillStyle = "#000000b0";
    for (let i = 0; i < area; i++) {
      if (mass[i] < 0.06 * top) continue;
      const [x, y] = this.screen(left + ((i % cols) + 0.5) * cell, bottom + (Math.floor(i / cols) + 0.5) * cell);
      for (let k = 0; k < headings; k++) {
        const share = bins[k * area + i] / mass[i];
        if (share < 0.15) continue;
        const angle = (k * 2 * Math.PI) / headings, long = 0.46 * cell * this.scale * Math.sqrt(share), wide = 0.1 * cell * this.scale;
        c.beginPath();
        c.moveTo(x + long * Math.cos(angle), y - long * Math.sin(angle));
        c.lineTo(x - wide * Math.sin(angle), y - wide * Math.cos(angle));
        c.lineTo(x + wide * Math.sin(angle), y + wide * Math.cos(angle));
        c.fill();
      }
    }
  }

  graph() {
    const c = this.context, colours = Ghosts.colours;
    c.lineWidth = 1;
    c.strokeStyle = colours.EDGE;
    c.beginPath();
    for (const [a, b] of this.scene.edges) {
      const [p, q] = [this.scene.viewpoints[a], this.scene.viewpoints[b]];
      if (p.s !== this.storey && q.s !== this.storey) continue;
      c.moveTo(...this.screen(p.x, p.y));
      c.lineTo(...this.screen(q.x, q.y));
    }
    c.stroke();
    const shares = this.frame ? this.frame.candidates : {};
    for (const point of this.scene.viewpoints) {
      if (!point.ok || point.s !== this.storey) continue;
      const [x, y] = this.screen(point.x, point.y), share = shares[point.id];
      c.beginPath();
      c.arc(x, y, share === undefined ? 2.4 : 3.4 + 9 * Math.sqrt(share), 0, 7);
      c.fillStyle = share === undefined ? colours.NODE : `${colours.CANDIDATE}c0`;
      c.fill();
      if (share !== undefined) {
        c.strokeStyle = colours.AGENT;
        c.stroke();
      }
    }
  }

  line(ids, colour, width, dash, edged = true) {
    const c = this.context, points = ids.map((id) => this.point(id)).filter(Boolean);
    for (const [under, wide, tint] of [[true, width + 3, "#ffffffc0"], [false, width, colour]]) {
      if (under && !edged) continue;
      c.beginPath();
      points.forEach((point, k) => c[k ? "lineTo" : "moveTo"](...this.screen(point.x, point.y)));
      c.setLineDash(under ? [] : dash);
      c.lineWidth = wide;
      c.strokeStyle = tint;
      c.lineJoin = c.lineCap = "round";
      c.stroke();
    }
    c.setLineDash([]);
  }

  paths() {
    const c = this.context, colours = Ghosts.colours, { walk, path } = this.header;
    this.line(walk.slice(0, this.step + 1), colours.AGENT, 6, []);
    if (path.length) this.line(path, colours.DEMONSTRATOR, 2.5, [7, 5], false);
    const [sx, sy] = this.at(walk[0]);
    c.fillStyle = colours.START;
    c.strokeStyle = "#fff";
    c.lineWidth = 1.5;
    c.fillRect(sx - 6, sy - 6, 12, 12);
    c.strokeRect(sx - 6, sy - 6, 12, 12);
    if (this.frame) {
      const [x, y] = this.screen(...this.frame.goal_xy_m);
      for (const [wide, tint] of [[6, "#fff"], [3, colours.PREDICTED]]) {
        c.beginPath();
        for (const sign of [-1, 1]) {
          c.moveTo(x - 7, y - 7 * sign);
          c.lineTo(x + 7, y + 7 * sign);
        }
        c.lineWidth = wide;
        c.strokeStyle = tint;
        c.stroke();
      }
    }
    const [x, y] = this.at(walk[this.step]), look = this.look ?? this.header.walk_heading_rad[this.step];
    c.beginPath();
    c.moveTo(x, y);
    c.arc(x, y, 26, look - Math.PI / 2 - 0.5, look - Math.PI / 2 + 0.5);
    c.closePath();
    c.fillStyle = `${colours.AGENT}50`;
    c.fill();
    c.beginPath();
    c.arc(x, y, 7, 0, 7);
    c.fillStyle = colours.AGENT;
    c.strokeStyle = "#fff";
    c.lineWidth = 2;
    c.fill();
    c.stroke();
    if (path.length) this.star(...this.at(path[path.length - 1]), 11, colours.GOAL);
  }

  at(id) {
    const point = this.point(id);
    return this.screen(point.x, point.y);
  }

  star(x, y, size, colour) {
    const c = this.context;
    c.beginPath();
    for (let k = 0; k < 10; k++) {
      const angle = (k * Math.PI) / 5, far = k % 2 ? size * 0.42 : size;
      c[k ? "lineTo" : "moveTo"](x + far * Math.sin(angle), y - far * Math.cos(angle));
    }
    c.closePath();
    c.fillStyle = colour;
    c.strokeStyle = "#fff";
    c.lineWidth = 1.6;
    c.fill();
    c.stroke();
  }

  // Scale bar and north, which belong to the window and not to the world.
  furniture() {
    const c = this.context, high = this.canvas.height / this.ratio;
    const metres = [1, 2, 5, 10, 20].find((m) => m * this.scale > 50) ?? 50, long = metres * this.scale;
    c.fillStyle = "#ffffffc8";
    c.fillRect(8, high - 34, long + 58, 28);
    c.strokeStyle = c.fillStyle = Ghosts.colours.INK;
    c.lineWidth = 1.5;
    c.strokeRect(16, high - 17, long, 5);
    c.fillRect(16, high - 17, long / 2, 5);
    c.font = "11px system-ui, sans-serif";
    c.textAlign = "left";
    c.textBaseline = "alphabetic";
    c.fillText(`${metres} m`, 16, high - 21);
    const x = 16 + long + 24;
    c.beginPath();
    c.moveTo(x, high - 30);
    c.lineTo(x - 5, high - 10);
    c.lineTo(x, high - 14);
    c.lineTo(x + 5, high - 10);
    c.fill();
    c.fillText("N", x + 8, high - 12);
  }
};
