"use strict";
// The top-down map on a canvas. Drag to pan, Ctrl + wheel or pinch to zoom; layers.js draws what lies on it.
Ghosts.MapView = class extends Ghosts.Layers {
  constructor(canvas, calls = {}) {
    super();
    Object.assign(this, calls, { canvas, context: canvas.getContext("2d"), scene: null, header: null, frame: null });
    Object.assign(this, { step: 0, t: 0, layer: "belief", storey: 0, painting: null, cell: null, centre: [0, 0], scale: 30 });
    this.show = { graph: true, unseen: true, arrows: false, names: true, paths: true, choices: true, sight: true, photo: false };
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
    this.paint();
  }

  // Show everything that matters of this episode.
  fit() {
    this.wanted = true;
    if (!this.scene || !this.canvas.width) return;
    const near = this.scene.viewpoints.filter((point) => point.ok && point.s === this.storey);
    let points = [...near.map((point) => [point.x, point.y]), ...this.scene.shapes.filter((shape) => shape.s === this.storey && this.scene.kind === "house").flatMap((shape) => shape.p)];
    if (this.header && near.length > 60) {
      const walked = [...this.header.walk, ...this.header.path].map((id) => this.point(id)).filter(Boolean);
      points = walked.map((point) => [point.x, point.y]);
      if (this.frame) points.push(...[-2, 2].map((d) => this.frame.goal_xy_m.map((value) => value + d)));
      if (points.length) points.push(...[-5, 5].flatMap((d) => points.slice(0, 1).map(([x, y]) => [x + d, y + d])));
    }
    if (!points.length) points = [[0, 0]];
    const edge = this.scene.kind === "house" ? 1 : 2, xs = points.map((p) => p[0]), ys = points.map((p) => p[1]);
    const [x0, x1, y0, y1] = [Math.min(...xs) - edge, Math.max(...xs) + edge, Math.min(...ys) - edge, Math.max(...ys) + edge];
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
    // The mouse does not focus it: arrow keys stay the page's until somebody comes here by Tab.
    this.canvas.addEventListener("mousedown", (event) => event.preventDefault());
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, at(event));
      if (this.pointers.size === 1) this.moved = 0;
    });
    this.canvas.addEventListener("pointermove", (event) => {
      const before = this.pointers.get(event.pointerId), now = at(event);
      if (!before) return event.pointerType === "mouse" && this.onhover?.(this.under(...now));
      const [other] = [...this.pointers].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
      this.moved += Math.hypot(now[0] - before[0], now[1] - before[1]);
      if (other) {
        const apart = (place) => Math.max(1, Math.hypot(place[0] - other[0], place[1] - other[1]));
        this.zoom(apart(now) / apart(before), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
      }
      if (this.moved > 4) this.move((now[0] - before[0]) / (other ? 2 : 1), (now[1] - before[1]) / (other ? 2 : 1));
      this.pointers.set(event.pointerId, now);
    });
    const up = (event) => {
      const last = this.pointers.get(event.pointerId);
      this.pointers.delete(event.pointerId);
      if (last && this.moved <= 4 && event.type === "pointerup" && this.scene) this.onpick?.(this.under(...last));
    };
    this.canvas.addEventListener("pointerup", up);
    this.canvas.addEventListener("pointercancel", up);
    this.canvas.addEventListener("pointerleave", () => this.onhover?.(null));
    // The wheel alone scrolls the page.
    this.canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY / 400), ...at(event));
    }, { passive: false });
    this.canvas.addEventListener("dblclick", () => { this.fit(); this.draw(); });
    this.canvas.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [1, 0], ArrowDown: [-1, 0] }[event.key];
      if (event.ctrlKey || event.metaKey || event.altKey || !(step || ["+", "=", "-"].includes(event.key))) return;
      if (step) this.onstep?.(step);
      else this.zoom(event.key === "-" ? 1 / 1.25 : 1.25, this.canvas.width / this.ratio / 2, this.canvas.height / this.ratio / 2);
      event.preventDefault();
      event.stopPropagation();
    });
  }

  move(dx, dy) {
    this.centre = [this.centre[0] - dx / this.scale, this.centre[1] + dy / this.scale];
    this.wanted = false;
    this.onhover?.(null);
    this.draw();
  }

  zoom(factor, px, py) {
    const fixed = this.world(px, py);
    this.scale = Math.min(400, Math.max(4, this.scale * factor));
    const now = this.world(px, py);
    this.centre = [this.centre[0] + fixed[0] - now[0], this.centre[1] + fixed[1] - now[1]];
    this.wanted = false;
    this.draw();
  }

  // What lies at a place of the picture: a viewpoint where one is near.
  under(px, py) {
    const near = this.scene.viewpoints
      .filter((point) => point.ok && point.s === this.storey)
      .map((point) => ({ point, far: Math.hypot(...this.screen(point.x, point.y).map((v, k) => v - [px, py][k])) }))
      .reduce((best, item) => (item.far < best.far ? item : best), { far: 14, point: null });
    const [x, y] = near.point ? [near.point.x, near.point.y] : this.world(px, py);
    return { x, y, viewpoint: near.point ? near.point.id : null };
  }

  draw() {
    Ghosts.soon(this);
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
    if (this.show.graph) this.graph();
    if (this.header && this.show.sight) this.sight();
    this.taken = []; // where something stands that no word may cover
    if (this.header && this.show.paths) this.paths();
    if (this.header && this.frame && this.show.choices) this.choices();
    if (this.show.names && !(this.show.photo && this.painting)) this.names(); // readable where a path crosses them
    if (this.cell) {
      const [x, y] = this.screen(...this.cell.xy_m), half = (this.header.grid[2] * this.scale) / 2;
      c.lineWidth = 2;
      c.strokeStyle = colours.INK;
      c.strokeRect(x - half, y - half, 2 * half, 2 * half);
    }
    this.furniture();
  }

  // Paint with more pixels for as long as somebody copies them.
  finely(ratio, copy) {
    const { width, height } = this.canvas.getBoundingClientRect();
    Object.assign(this.canvas, { width: Math.round(width * ratio), height: Math.round(height * ratio) });
    this.ratio = ratio;
    this.paint();
    copy();
    this.resize();
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
