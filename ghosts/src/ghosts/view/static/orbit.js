"use strict";
// A camera that circles around a place of the world (metres, z up). Drag turns it, with the right button, Shift or two
// fingers it moves, Ctrl + wheel zooms; so do the arrow keys, + and −. Double-click shows everything again.
Ghosts.Orbit = class {
  constructor(canvas, onchange) {
    Object.assign(this, { canvas, onchange, target: [0, 0, 0], far: 15, turn: 0.5, tilt: 0.95, pointers: new Map(), home: null });
    const at = (event) => [event.clientX, event.clientY];
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, at(event));
    });
    canvas.addEventListener("pointermove", (event) => {
      const before = this.pointers.get(event.pointerId);
      if (!before) return;
      const now = at(event), [dx, dy] = [now[0] - before[0], now[1] - before[1]];
      const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
      this.pointers.set(event.pointerId, now);
      if (other) {
        const apart = (point) => Math.max(1, Math.hypot(point[0] - other[0], point[1] - other[1]));
        this.move(dx / 2, dy / 2);
        this.zoom(apart(before) / apart(now));
      } else if (event.shiftKey || event.buttons & 2) this.move(dx, dy);
      else this.rotate(-dx / 160, dy / 160);
    });
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, (event) => this.pointers.delete(event.pointerId));
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoom(Math.exp(event.deltaY / 500));
    }, { passive: false });
    canvas.addEventListener("dblclick", () => this.reset());
    canvas.addEventListener("keydown", (event) => {
      const turns = { ArrowLeft: [-0.15, 0], ArrowRight: [0.15, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] }[event.key];
      if (event.ctrlKey || event.metaKey || event.altKey || !(turns || ["+", "=", "-"].includes(event.key))) return;
      if (turns) this.rotate(...turns);
      else this.zoom(event.key === "-" ? 1.15 : 1 / 1.15);
      event.preventDefault();
      event.stopPropagation();
    });
  }

  rotate(turn, tilt) {
    this.turn += turn;
    this.tilt = Math.min(1.55, Math.max(0.08, this.tilt + tilt));
    this.onchange();
  }

  zoom(factor) {
    this.far = Math.min(80, Math.max(1, this.far * factor));
    this.onchange();
  }

  // Along the floor, so that what is under the pointer stays about there.
  move(dx, dy) {
    const metres = (0.85 * this.far) / Math.max(1, this.canvas.clientHeight), [sin, cos] = [Math.sin(this.turn), Math.cos(this.turn)];
    this.target[0] += metres * (-dx * cos + dy * sin);
    this.target[1] += metres * (dx * sin + dy * cos);
    this.onchange();
  }

  reset() {
    if (this.home) Object.assign(this, { ...this.home, target: [...this.home.target] });
    this.onchange();
  }

  // From the south-west, high enough to look over the walls, and so far that every corner is seen.
  fit([x0, y0, z0], [x1, y1, z1], ratio, field) {
    const [turn, tilt] = [0.35, 1.0], middle = [(x0 + x1) / 2, (y0 + y1) / 2, (z0 + z1) / 2], up = Math.tan(field / 2) * 0.94, side = up * ratio;
    const [right, top, ahead] = [[Math.cos(turn), -Math.sin(turn), 0], [Math.sin(turn) * Math.sin(tilt), Math.cos(turn) * Math.sin(tilt), Math.cos(tilt)], [Math.sin(turn) * Math.cos(tilt), Math.cos(turn) * Math.cos(tilt), -Math.sin(tilt)]];
    const along = (axis, corner) => axis.reduce((sum, part, k) => sum + part * (corner[k] - middle[k]), 0);
    const corners = [x0, x1].flatMap((x) => [y0, y1].flatMap((y) => [z0, z1].map((z) => [x, y, z])));
    const far = Math.max(4, ...corners.map((corner) => Math.max(Math.abs(along(right, corner)) / side, Math.abs(along(top, corner)) / up) - along(ahead, corner)));
    this.home = { target: middle, far, turn, tilt };
    this.reset();
  }

  get eye() {
    const flat = this.far * Math.cos(this.tilt);
    return [this.target[0] - flat * Math.sin(this.turn), this.target[1] - flat * Math.cos(this.turn), this.target[2] + this.far * Math.sin(this.tilt)];
  }
};
