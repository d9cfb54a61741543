"use strict";
// What lies on the map: plan, names, the unseen, belief, graph, choices, paths.
Ghosts.Layers = class {
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

  // Writes at the first of several places where nothing is written yet; where none is free, nowhere (`must`: at the first).
  write(text, [px, py], shifts, { size, weight, colour, must = false }) {
    const c = this.context, high = size / 2 + 1;
    c.font = `${weight} ${size}px system-ui, sans-serif`;
    const half = c.measureText(text).width / 2 + 2;
    const free = ([dx, dy]) => !this.taken.some(([a, b, w, h]) => Math.abs(a - px - dx) < w + half && Math.abs(b - py - dy) < h + high);
    const shift = shifts.find(free) ?? (must ? shifts[0] : null);
    if (!shift) return;
    const [x, y] = [px + shift[0], py + shift[1]];
    this.taken.push([x, y, half, high]);
    c.textAlign = "center";
    c.textBaseline = "middle";
    c.lineWidth = 3.5;
    c.lineJoin = "round";
    c.strokeStyle = "#ffffffe0";
    c.strokeText(text, x, y);
    c.fillStyle = colour;
    c.fillText(text, x, y);
  }

  names() {
    const room = [[0, 0], [0, -17], [0, 17], [0, -32], [0, 32], [-40, 0], [40, 0]], here = [[0, 0]];
    const middle = (shape) => shape.at ?? shape.p.reduce((sum, p) => [sum[0] + p[0] / shape.p.length, sum[1] + p[1] / shape.p.length], [0, 0]);
    const named = this.scene.shapes.filter((shape) => shape.t && shape.s === this.storey);
    for (const shape of named.filter((item) => item.k !== "thing").sort((a, b) => b.a - a.a)) this.write(shape.t, this.screen(...middle(shape)), room, { size: 12, weight: 600, colour: "#4a4a4a" });
    if (this.scale > 34)
      for (const shape of named.filter((item) => item.k === "thing" && item.a * this.scale > 14).sort((a, b) => b.a - a.a)) this.write(shape.t, this.screen(...middle(shape)), here, { size: 10, weight: 400, colour: "#333" });
    const seen = this.seen();
    if (this.scale > 26)
      for (const mark of this.scene.marks.filter((item) => item.s === this.storey).sort((a, b) => seen.has(b) - seen.has(a) || a.n - b.n))
        this.write(mark.t, this.screen(mark.x, mark.y), [[0, -8], [0, 9]], { size: 9.5, weight: seen.has(mark) ? 700 : 400, colour: seen.has(mark) ? Ghosts.colours.SIGHT : "#5e5546" });
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
    const shares = this.frame ? this.frame.choice.candidates : {};
    for (const point of this.scene.viewpoints) {
      if (!point.ok || point.s !== this.storey) continue;
      const [x, y] = this.screen(point.x, point.y), share = shares[point.id];
      c.beginPath();
      c.arc(x, y, share === undefined ? 2.4 : 3.4 + 9 * Math.sqrt(Math.min(1, Math.max(0, share))), 0, 7);
      c.fillStyle = share === undefined ? colours.NODE : `${colours.CANDIDATE}c0`;
      c.fill();
      if (share !== undefined) {
        c.strokeStyle = colours.AGENT;
        c.stroke();
      }
    }
  }

  // Landmarks seen from where the agent stands.
  seen() {
    if (!this.header || !this.show.sight) return new Set();
    return new Set(this.header.sights[this.step].map((number) => this.scene.marks[number]).filter((mark) => mark?.s === this.storey));
  }

  // In which directions they lie.
  sight() {
    const c = this.context, from = this.at(this.header.walk[this.step]);
    c.lineWidth = 1;
    c.strokeStyle = `${Ghosts.colours.SIGHT}60`;
    c.fillStyle = Ghosts.colours.SIGHT;
    for (const mark of this.seen()) {
      const [x, y] = this.screen(mark.x, mark.y);
      c.beginPath();
      c.moveTo(...from);
      c.lineTo(x, y);
      c.stroke();
      c.fillRect(x - 2.5, y - 2.5, 5, 5);
    }
  }

  // What the agent does next, and what else it could do: values of the best candidates, the way to the chosen one.
  choices() {
    const c = this.context, colours = Ghosts.colours, { choice } = this.frame;
    if (choice.moves.length) this.line(Ghosts.route(this.scene, [this.header.walk[this.step], ...choice.moves]), colours.AGENT, 2.5, [2, 5], "#ffffffc0");
    const best = Object.keys(choice.candidates).filter((id) => choice.candidates[id] > 0.005).sort((a, b) => choice.candidates[b] - choice.candidates[a]).slice(0, 4);
    for (const id of new Set([choice.chosen, ...best])) {
      if (this.point(id).s !== this.storey) continue;
      const [x, y] = this.at(id), text = Ghosts.valueText(choice, id);
      if (id === choice.chosen) {
        c.beginPath();
        c.arc(x, y, 14, 0, 7);
        c.lineWidth = 2.5;
        c.strokeStyle = colours.AGENT;
        c.stroke();
      }
      this.write(text, [x, y], [[0, -21], [0, 22], [30, 0], [-30, 0]], { size: 11.5, weight: id === choice.chosen ? 700 : 500, colour: "#00507d", must: id === choice.chosen });
    }
  }

  line(ids, colour, width, dash, edge) {
    const c = this.context, points = ids.map((id) => this.point(id)).filter(Boolean);
    for (const [, wide, tint] of [[true, width + 3, edge], [false, width, colour]]) {
      c.beginPath();
      points.forEach((point, k) => c[k ? "lineTo" : "moveTo"](...this.screen(point.x, point.y)));
      c.setLineDash(dash);
      c.lineWidth = wide;
      c.strokeStyle = tint;
      c.lineJoin = "round";
      c.lineCap = dash.length ? "butt" : "round";
      c.stroke();
    }
    c.setLineDash([]);
  }

  paths() {
    const c = this.context, colours = Ghosts.colours, { walk, path } = this.header;
    // Blue is what the agent itself chose.
    const own = this.header.walked_by === this.header.model ? colours.AGENT : colours.GUIDED;
    this.line(Ghosts.route(this.scene, walk.slice(0, this.step + 1)), own, 6, [], "#ffffffc0");
    if (path.length) this.line(path, colours.DEMONSTRATOR, 2.5, [7, 6], "#3a2800");
    const [sx, sy] = this.at(walk[0]);
    // Names keep off the signs.
    const signs = [[sx, sy], this.at(walk[this.step]), ...(path.length ? [this.at(path[path.length - 1])] : []), ...(this.frame ? [this.screen(...this.frame.goal_xy_m)] : [])];
    this.taken.push(...signs.map(([x, y]) => [x, y, 8, 7]));
    c.fillStyle = colours.START;
    c.strokeStyle = "#fff";
    c.lineWidth = 1.5;
    c.fillRect(sx - 6, sy - 6, 12, 12);
    c.strokeRect(sx - 6, sy - 6, 12, 12);
    if (this.frame) {
      const [x, y] = this.screen(...this.frame.goal_xy_m);
      // What is called "sure" is the belief inside this circle.
      for (const [wide, tint, dash] of [[3.5, "#ffffffb0", []], [1.6, colours.PREDICTED, [5, 5]]]) {
        c.beginPath();
        c.arc(x, y, colours.SURE_M * this.scale, 0, 7);
        c.setLineDash(dash);
        c.lineWidth = wide;
        c.strokeStyle = tint;
        c.stroke();
      }
      c.setLineDash([]);
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
    c.fillStyle = `${own}50`;
    c.fill();
    c.beginPath();
    c.arc(x, y, 7, 0, 7);
    c.fillStyle = own;
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
};
