"use strict";
// Look around: a world-aligned equirectangular picture seen through a pinhole, drawn pixel by pixel on a canvas.
Ghosts.PanoView = class {
  constructor(canvas, { onlook, onwalk } = {}) {
    Object.assign(this, { canvas, onlook, onwalk, heading: 0, elevation: -0.12, field: 1.3, source: null, places: [] });
    this.context = canvas.getContext("2d", { willReadFrequently: true });
    let last = null, moved = 0;
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      last = [event.clientX, event.clientY];
      moved = 0;
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!last) return;
      const turn = this.field / canvas.getBoundingClientRect().height;
      moved += Math.abs(event.clientX - last[0]) + Math.abs(event.clientY - last[1]);
      this.turn(-(event.clientX - last[0]) * turn, (event.clientY - last[1]) * turn);
      last = [event.clientX, event.clientY];
    });
    canvas.addEventListener("pointerup", (event) => {
      if (last && moved < 5) this.click(event);
      last = null;
    });
    canvas.addEventListener("pointercancel", () => { last = null; });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.field = Math.min(1.9, Math.max(0.5, this.field * Math.exp(event.deltaY / 900)));
      this.draw();
    }, { passive: false });
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  // places: [{id, x, y, z}] relative to the camera, drawn as discs on the floor that can be clicked.
  async load(url, heading, places = []) {
    const ticket = (this.ticket = {});
    const image = new Image();
    image.src = url;
    try {
      await image.decode();
    } catch {
      throw new Error("The panorama could not be loaded.");
    }
    if (this.ticket !== ticket) return;
    const sheet = document.createElement("canvas");
    sheet.width = image.naturalWidth;
    sheet.height = image.naturalHeight;
    const context = sheet.getContext("2d", { willReadFrequently: true });
    context.drawImage(image, 0, 0);
    this.source = context.getImageData(0, 0, sheet.width, sheet.height);
    this.pixels = new Uint32Array(this.source.data.buffer);
    this.heading = heading;
    this.places = places;
    this.draw();
  }

  turn(right, up) {
    this.heading = (this.heading + right + 4 * Math.PI) % (2 * Math.PI);
    this.elevation = Math.min(1.4, Math.max(-1.4, this.elevation + up));
    if (this.onlook) this.onlook(this.heading);
    this.draw();
  }

  draw() {
    if (this.source) Ghosts.soon(this);
  }

  paint() {
    const box = this.canvas.getBoundingClientRect();
    if (!box.width) return;
    const shrink = Math.min(1, 640 / box.width), width = Math.round(box.width * shrink), height = Math.round(box.height * shrink);
    if (this.canvas.width !== width || this.canvas.height !== height) Object.assign(this.canvas, { width, height });
    const image = this.context.createImageData(width, height), out = new Uint32Array(image.data.buffer);
    const source = this.pixels, wide = this.source.width, high = this.source.height;
    const focal = height / 2 / Math.tan(this.field / 2), cos = Math.cos(this.elevation), sin = Math.sin(this.elevation);
    const perTurn = wide / (2 * Math.PI), perUp = high / Math.PI, middle = wide / 2 + this.heading * perTurn;
    for (let row = 0; row < height; row++) {
      const up = (height / 2 - row - 0.5) / focal, ahead = cos - up * sin, above = sin + up * cos;
      for (let col = 0; col < width; col++) {
        const right = (col + 0.5 - width / 2) / focal;
        let u = Math.floor(middle + Math.atan2(right, ahead) * perTurn) % wide;
        if (u < 0) u += wide;
        const v = (Math.PI / 2 - Math.atan2(above, Math.sqrt(right * right + ahead * ahead))) * perUp;
        out[row * width + col] = source[Math.min(high - 1, v | 0) * wide + u];
      }
    }
    this.context.putImageData(image, 0, 0);
    this.discs(focal, width, height);
  }

  project({ x, y, z }, focal, width, height) {
    const right = x * Math.cos(this.heading) - y * Math.sin(this.heading);
    const forward = x * Math.sin(this.heading) + y * Math.cos(this.heading);
    const ahead = forward * Math.cos(this.elevation) + z * Math.sin(this.elevation);
    const up = z * Math.cos(this.elevation) - forward * Math.sin(this.elevation);
    return ahead < 0.2 ? null : [width / 2 + (right / ahead) * focal, height / 2 - (up / ahead) * focal, focal / ahead];
  }

  discs(focal, width, height) {
    const c = this.context;
    this.spots = [];
    for (const place of [...this.places].sort((a, b) => Math.hypot(b.x, b.y) - Math.hypot(a.x, a.y))) {
      const at = this.project(place, focal, width, height);
      if (!at) continue;
      const wide = Math.max(5, 0.22 * at[2]);
      c.beginPath();
      c.ellipse(at[0], at[1], wide, wide * 0.42, 0, 0, 7);
      c.fillStyle = "#56B4E970";
      c.strokeStyle = Ghosts.colours.AGENT;
      c.lineWidth = 2;
      c.fill();
      c.stroke();
      this.spots.push({ id: place.id, x: at[0], y: at[1], far: Math.max(10, wide) });
    }
  }

  click(event) {
    if (!this.onwalk || !this.spots) return;
    const box = this.canvas.getBoundingClientRect(), scale = this.canvas.width / box.width;
    const x = (event.clientX - box.left) * scale, y = (event.clientY - box.top) * scale;
    const hit = this.spots.reverse().find((spot) => Math.hypot(spot.x - x, spot.y - y) < spot.far * 1.2);
    if (hit) this.onwalk(hit.id);
  }
};
