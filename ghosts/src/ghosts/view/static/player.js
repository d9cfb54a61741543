"use strict";
// One episode, one or two models, time in two directions: agent steps (more map) and filter steps (more words).
// A source gives the data: {frame(header, step), line(header): confidence, entropy and error of every agent step,
// panorama(header, viewpoint), painting(header, storey), kernel(header, step, t, cell)}.
Ghosts.Player = class {
  constructor(root, { onmove, onword, onpick, onwalk, onended, onerror }) {
    Object.assign(this, { root, onmove, onerror, panes: [], step: 0, t: 0, layer: "belief" });
    Ghosts.shown_player = this; // for tests, and for those who look behind the page
    this.callbacks = { onword, onpick, onwalk, onended };
    const find = (name) => root.querySelector(`[data-part="${name}"]`);
    this.parts = Object.fromEntries(["maps", "pano", "words", "steps", "filter", "stepnote", "filternote", "numbers", "inside", "attention", "playsteps", "playfilter", "layer", "notes", "outcome", "seen", "sight", "legend", "line", "places", "actions"].map((name) => [name, find(name)]));
    this.pano = new Ghosts.PanoView(this.parts.pano, {
      onlook: (heading) => this.panes.forEach(({ map }) => { map.look = heading; map.draw(); }),
      onwalk: (id) => this.callbacks.onwalk?.(id),
    });
    this.parts.steps.addEventListener("input", () => this.go(+this.parts.steps.value, this.t));
    this.parts.filter.addEventListener("input", () => this.go(this.step, +this.parts.filter.value));
    this.parts.playsteps.addEventListener("click", () => this.play("step"));
    this.parts.playfilter.addEventListener("click", () => this.play("t"));
    this.parts.layer.addEventListener("change", () => { this.layer = this.parts.layer.value; this.refresh(); });
    this.parts.places.addEventListener("change", () => this.choosePlace(this.parts.places.value));
    for (const box of root.querySelectorAll("[data-show]"))
      box.addEventListener("change", () => {
        for (const { map } of this.panes) map.show[box.dataset.show] = box.checked;
        this.refresh();
      });
  }

  get header() { return this.panes[0]?.header; }
  get filterSteps() { return Math.max(0, ...this.panes.map(({ header }) => header.action_attention.length)); }

  // sets: [{header, source, scene}], one per model.
  async open(sets, { step, t } = {}) {
    this.stop();
    this.opened = (this.opened ?? 0) + 1;
    const same = this.panes.length === sets.length && this.panes[0]?.scene === sets[0].scene;
    const startAgain = !same || this.header?.walk[0] !== sets[0].header.walk[0];
    this.panes = sets.map((set, k) => {
      const old = same ? this.panes[k] : null;
      const canvas = old?.canvas ?? Ghosts.element("canvas", { class: "map", tabindex: 0, "aria-label": "map from above" });
      const map = old?.map ?? new Ghosts.MapView(canvas, { onpick: (where) => this.picked(where, k), onhover: (where) => this.hover(this.panes[k], where), onstep: (step) => this.stepCell(k, step) });
      Object.assign(map, { scene: set.scene, header: set.header, frame: null, cell: null, look: undefined });
      const title = old?.title ?? Ghosts.element("figcaption"), figure = old?.figure ?? Ghosts.element("figure", { class: "pane" }, title, canvas), spot = old?.spot ?? new Ghosts.Spot(figure);
      title.textContent = sets.length > 1 ? set.header.model : "";
      spot.hide();
      return { ...set, canvas, map, title, figure, spot, frames: new Map(), told: null };
    });
    this.parts.maps.classList.toggle("two", sets.length > 1);
    if (!same) this.parts.maps.replaceChildren(...this.panes.map(({ figure }) => figure));
    for (const box of this.root.querySelectorAll("[data-show]")) for (const { map } of this.panes) map.show[box.dataset.show] = box.checked;
    this.parts.sight.hidden = !sets[0].scene.marks.length;
    if (!same) this.parts.places.replaceChildren(...[["", "choose…"], ...Ghosts.namedPlaces(sets[0].scene)].map(([value, text]) => Ghosts.element("option", { value }, text)));
    this.seenAt = null;
    this.parts.steps.max = this.header.walk.length - 1;
    this.parts.filter.max = this.filterSteps;
    this.parts.notes.replaceChildren(...this.notes());
    this.line = null;
    await this.go(step ?? 0, t ?? this.filterSteps, startAgain);
    await this.tellLine();
  }

  // Whose walk it is, in the words of the legend.
  walker({ header: { walked_by: by, model } }) {
    return by === model ? "agent" : ["guided", { "fixed walk": "fixed walk (evaluation's)", visitor: "walk by hand" }[by] ?? `walk of ${by}`];
  }

  // What a model did not understand, once where all of them say the same.
  notes() {
    const told = this.panes.map(({ header }) => header.notes.join("; ")), several = new Set(told).size > 1;
    return this.panes.map(({ header }, k) => (told[k] && (several || !k) ? Ghosts.element("p", {}, several ? `${header.model}: ${told[k]}` : told[k]) : null)).filter(Boolean);
  }

  // How confidence, entropy and error go over the walk, and how the agent's own walk ends.
  async tellLine() {
    const { header } = this, opened = this.opened;
    const line = header && await this.panes[0].source.line(header).catch(() => null);
    if (!line || opened !== this.opened) return;
    this.line = line;
    this.drawLine();
    const { left_m } = line[line.length - 1];
    if (header.walked_by === header.model && left_m !== null) this.callbacks.onended?.(left_m);
  }

  // The outcome is told where the walk reaches it, and the error up to the step that is shown.
  drawLine() {
    const { line, step, header } = this, last = line && line.length - 1, metres = (value) => `${value.toFixed(1)} m`;
    const outcome = line && step === last && header.walked_by === header.model ? Ghosts.outcome(line[last].left_m) : null;
    this.parts.outcome.replaceChildren(...(outcome ? [Ghosts.badge(outcome), ` The agent stops ${outcome.left_m.toFixed(1)} m from the goal after ${header.walk.length} looks around${outcome.good ? "" : "; within 3 m counts as arrived"}.`] : []));
    if (!line || !last) return this.parts.line.replaceChildren();
    const xs = line.map((_, k) => k + 1);
    const curves = [
      ["Sure", (item) => item.confidence, (value) => `${(100 * value).toFixed(0)} %`],
      ["Entropy", (item) => item.entropy_nats, (value) => `${value.toFixed(1)} nats`],
      ["Best guess off by", (item, k) => (k > step ? null : item.error_m), metres],
    ].map(([name, value, text]) => ({ name, ys: line.map(value), text })).filter(({ ys }) => ys[0] !== null);
    this.parts.line.replaceChildren(...curves.map((curve) => {
      const drawn = Ghosts.curve({ ...curve, xs, at: step, what: "step", high: 92 });
      const to = (event) => {
        const { left, width } = drawn.getBoundingClientRect();
        this.go(Math.round((((event.clientX - left) / width) * 320 - 44) / 266 * last), this.t);
      };
      drawn.addEventListener("pointerdown", to);
      drawn.addEventListener("pointermove", (event) => { if (event.buttons) to(event); });
      return drawn;
    }));
  }

  frame(pane, step) {
    if (!pane.frames.has(step)) {
      const promise = pane.source.frame(pane.header, step).then(Ghosts.unpackFrame);
      promise.catch(() => pane.frames.delete(step));
      pane.frames.set(step, promise);
    }
    return pane.frames.get(step);
  }

  async go(step, t, refit = false) {
    if (!this.header) return;
    step = Math.min(Math.max(0, step), this.header.walk.length - 1);
    t = Math.min(Math.max(0, t), this.filterSteps);
    if (step !== this.step || t !== this.t)
      for (const pane of this.panes) {
        pane.told = null;
        pane.spot.hide();
      }
    const opened = this.opened;
    Object.assign(this, { step, t });
    this.parts.steps.value = step;
    this.parts.filter.value = t;
    this.root.classList.add("busy");
    try {
      const frames = await Promise.all(this.panes.map((pane) => this.frame(pane, step)));
      if (opened !== this.opened || step !== this.step) return;
      this.panes.forEach((pane, k) => { pane.map.frame = frames[k]; });
      this.root.classList.remove("busy");
      this.look(refit);
      this.refresh();
      this.onmove?.(step, this.t);
      this.prepare(step + 1);
    } catch (error) {
      this.root.classList.remove("busy");
      this.onerror?.(error);
    }
  }

  // Fetch what the next step shows, so that it appears at once.
  prepare(step) {
    if (step >= this.header.walk.length) return;
    for (const pane of this.panes) this.frame(pane, step).catch(() => {});
    const { header, scene, source } = this.panes[0];
    const url = scene.images && source.panorama ? source.panorama(header, header.walk[step]) : null;
    if (url) new Image().src = url;
  }

  look(refit) {
    const { header, scene, source } = this.panes[0], here = header.walk[this.step], point = this.panes[0].map.point(here);
    const moved = this.seenAt !== here || refit;
    for (const { map } of this.panes) {
      if (map.storey !== point.s || refit) {
        map.storey = point.s;
        map.fit();
      }
    }
    this.paintings();
    if (!moved) return;
    this.seenAt = here;
    const url = scene.images && source.panorama ? source.panorama(header, here) : null;
    this.parts.pano.parentElement.hidden = !url;
    this.root.querySelector("[data-show=photo]").parentElement.hidden = !scene.images;
    if (!url) return;
    const places = Ghosts.neighbours(scene)[scene.index.get(here)].map((row) => scene.viewpoints[row]).map((other) => ({
      id: other.id, x: other.x - point.x, y: other.y - point.y, z: other.z - 1.5 - point.z + 0.05,
    }));
    for (const { map } of this.panes) map.look = undefined;
    this.pano.load(url, header.walk_heading_rad[this.step], places).catch((error) => this.onerror?.(error));
  }

  async paintings() {
    const { map, header, source, scene } = this.panes[0];
    if (!map.show.photo || !scene.images || !source.painting) return;
    try {
      const painting = await source.painting(header, map.storey);
      for (const pane of this.panes) {
        pane.map.painting = painting;
        pane.map.draw();
      }
    } catch (error) {
      this.onerror?.(error);
    }
  }

  refresh() {
    if (!this.panes[0]?.map.frame) return;
    for (const { map, header, told } of this.panes) {
      Object.assign(map, { step: this.step, t: Math.min(this.t, header.action_attention.length), layer: this.layer, cell: told });
      map.draw();
    }
    this.paintings();
    this.parts.stepnote.textContent = `${this.step + 1} of ${this.header.walk.length}`;
    this.parts.filternote.textContent = this.t ? `t = ${this.t} of ${this.filterSteps}` : "start";
    this.legend();
    this.drawLine();
    this.numbers();
    this.sight();
    // A model without attention would only repeat the words.
    const readers = this.panes.filter(({ header }, k) => !k || header.action_attention.length);
    this.each("words", "words", (box, { header, map }) => Ghosts.drawWords(box, header, map.t, { onchange: this.callbacks.onword }), readers);
    this.each("inside", "inside", (box, { header, map, told }) => Ghosts.drawInside(box, header, map.frame, map.t, told));
    this.each("attention", "", (box, { header, map }) => Ghosts.drawAttention(box, header, map.t, (t) => this.go(this.step, t)));
    this.onrefresh?.();
  }

  // What is drawn, and nothing else.
  legend() {
    const { show } = this.panes[0].map, { path } = this.header, frames = this.panes.map(({ map }) => map.frame), likely = this.layer === "likelihood" && this.t > 0;
    const sizes = { policy: "policy's probability", planner: "planner's worth", mass: "goal mass near it" };
    const size = [...new Set(frames.map(({ choice }) => sizes[choice.by]))].join(" or "), known = Ghosts.colours.LEGEND.candidate[2];
    const walkers = [...new Map(this.panes.map((pane) => [String(this.walker(pane)), this.walker(pane)])).values()];
    const drawn = [
      [likely ? "likelihood" : "belief", true], ["predicted", show.paths], ["goal", show.paths && path.length], ...walkers.map((walker) => [walker, show.paths]), ["start", show.paths],
      ["demonstrator", show.paths && path.length], ["next", show.choices && frames.some(({ choice }) => choice.moves.length)], [["candidate", `${known} (bigger: more ${size})`], show.graph],
      ["heading", show.arrows && !likely && frames.some(({ beliefs }) => beliefs.shape[1] > 1)], ["sight", this.panes.some(({ map }) => map.seen().size)], ["unseen", show.unseen],
    ];
    Ghosts.legend(this.parts.legend, drawn.filter(([, there]) => there).map(([name]) => name));
  }

  // A part of the page, once for each model; models are named where there are several.
  each(part, style, draw, panes = this.panes) {
    this.parts[part].replaceChildren(...panes.map((pane) => {
      const box = Ghosts.element("div", { class: style });
      draw(box, pane);
      return panes.length > 1 ? Ghosts.element("section", { "data-model": pane.header.model }, Ghosts.element("h4", { class: "model" }, pane.header.model), box) : box;
    }));
  }

  // Labels seen from here, where a model is given labels instead of images; those seen for the first time are marked.
  sight() {
    const { labels } = this.header, before = new Set(labels.slice(0, this.step).flat()), here = labels[this.step] ?? [];
    this.parts.seen.replaceChildren(...(here.length ? ["Seen from here: "] : []), ...here.map((name) => Ghosts.element("span", { class: before.has(name) ? "" : "new", title: before.has(name) ? "seen before" : "seen for the first time" }, name)));
  }

  numbers() {
    const rows = [
      ["Prediction is off by", (f) => (f.error_m === null ? null : `${f.error_m.toFixed(1)} m${f.error_m < 3 ? " ✓" : ""}`)],
      ["Sure to be within 3 m", (f, { header }) => `${(100 * f.confidence).toFixed(0)} %${header.notes.length ? " (not all understood)" : ""}`],
      ["Uncertainty (entropy)", (f) => `${f.entropy_nats.toFixed(2)} nats`],
      ["Goal's negative log-likelihood", (f) => (f.nll === null ? null : `${f.nll.toFixed(2)} nats`)],
      ["The agent", (f, { scene }) => Ghosts.choiceText(f.choice, scene)],
      ["Seen so far", (f) => `${f.seen_m2.toFixed(0)} m²${f.goal_seen === null ? "" : f.goal_seen ? ", goal seen" : ", goal not seen"}`],
    ];
    const panes = this.panes.filter(({ map }) => map.frame);
    const head = this.panes.length > 1 ? [Ghosts.element("tr", {}, Ghosts.element("th"), ...this.panes.map(({ header }) => Ghosts.element("td", {}, header.model)))] : [];
    this.parts.numbers.replaceChildren(...head, ...rows.map(([title, value]) => [title, panes.map((pane) => value(pane.map.frame, pane))]).filter(([, values]) => values[0] !== null)
      .map(([title, values]) => Ghosts.element("tr", {}, Ghosts.element("th", {}, title), ...values.map((text) => Ghosts.element("td", {}, text)))));
  }

  // What is at a place: room, probability, and what the next move there is worth.
  placeWords({ map, scene }, { x, y, viewpoint }) {
    const cell = this.cellAt(map.header, x, y), shown = Ghosts.shown(map.frame, this.layer, map.t);
    const mass = cell ? shown.mass[cell.row * shown.cols + cell.col] : 0, likely = this.layer === "likelihood" && map.t > 0;
    const room = viewpoint ? Ghosts.placeText(scene, viewpoint) : Ghosts.roomAt(scene, map.storey, x, y), { choice } = map.frame;
    const share = !cell ? "off the map" : likely ? `fits ${(mass / shown.headings).toFixed(2)}` : `${(100 * mass).toFixed(mass < 0.01 ? 2 : 1)} % likely`;
    const next = viewpoint && viewpoint in choice.candidates ? `next move: ${Ghosts.valueText(choice, viewpoint)}` : "";
    return [room, share, next].filter(Boolean).join(" · ");
  }

  hover(pane, where) {
    if (pane.told && pane.spot.box.classList.contains("pinned") && !pane.spot.box.hidden) return;
    if (!where || !pane.map.frame) return pane.spot.hide();
    const does = where.viewpoint && this.callbacks.onpick ? "click: walk or start here" : pane.header.action_attention.length ? "click: look inside this cell" : "";
    pane.spot.show(pane.map.screen(where.x, where.y), [this.placeWords(pane, where), does].filter(Boolean).join(" — "));
  }

  async picked(where, number = 0) {
    const pane = this.panes[number];
    if (!pane.map.frame) return;
    for (const { spot } of this.panes) spot.hide();
    const inside = () => this.parts.inside.scrollIntoView({ behavior: "smooth", block: "center" });
    const offers = this.callbacks.onpick?.(where) ?? [], look = pane.header.action_attention.length && this.t ? [Ghosts.element("button", { type: "button", onclick: inside }, "Inside this cell ↓")] : [];
    pane.spot.show(pane.map.screen(where.x, where.y), this.placeWords(pane, where), [...offers, ...look, Ghosts.element("button", { type: "button", "aria-label": "close", onclick: () => { pane.spot.hide(); pane.canvas.focus(); } }, "×")]);
    await Promise.all(this.panes.map((item) => this.pickIn(item, where)));
  }

  // One cell to the north, east, south or west of the chosen one; at first, of the best guess.
  stepCell(number, [up, right]) {
    const { map, header, told } = this.panes[number], [x, y] = told?.xy_m ?? map.frame?.goal_xy_m ?? [];
    if (x !== undefined) this.picked({ x: x + (told ? right : 0) * header.grid[2], y: y + (told ? up : 0) * header.grid[2], viewpoint: null }, number);
  }

  // A viewpoint from the list, wherever in the building it is.
  choosePlace(id) {
    if (!id) return;
    const point = this.panes[0].map.point(id);
    for (const { map } of this.panes) if (map.storey !== point.s) { map.storey = point.s; map.fit(); }
    this.picked({ x: point.x, y: point.y, viewpoint: id });
    this.panes[0].spot.box.querySelector("button")?.focus();
  }

  cellAt(header, x, y) {
    const [left, bottom] = Ghosts.corner(header), cell = header.grid[2], row = Math.floor((y - bottom) / cell), col = Math.floor((x - left) / cell);
    if (row < 0 || col < 0 || row >= header.grid[0] || col >= header.grid[1]) return null;
    return { row, col, xy_m: [left + (col + 0.5) * cell, bottom + (row + 0.5) * cell] };
  }

  // Choose the cell under a place of the world in one model's grid, and get the kernel there.
  async pickIn(pane, { x, y }) {
    const { header, map, source } = pane;
    if (!map.frame) return;
    const { t } = this, told = this.cellAt(header, x, y);
    if (!told) return;
    pane.told = told;
    this.refresh();
    if (t < 1 || t > header.action_attention.length) return;
    try {
      const kernel = await source.kernel(header, this.step, t, told);
      if (pane.told !== told || !kernel) return;
      pane.told = { ...told, kernel };
      this.refresh();
    } catch (error) {
      this.onerror?.(error);
    }
  }

  play(what) {
    if (this.timer) return this.stop();
    const button = what === "t" ? this.parts.playfilter : this.parts.playsteps, last = what === "t" ? this.filterSteps : this.header.walk.length - 1;
    const tick = async () => {
      if (this[what] >= last) return this.stop();
      await this.go(this.step + (what === "step"), this.t + (what === "t"));
      if (this.timer) this.timer = setTimeout(tick, 900);
    };
    button.textContent = "❚❚";
    this.timer = -1;
    if (this[what] >= last) this.go(what === "step" ? 0 : this.step, what === "t" ? 0 : this.t).then(() => { if (this.timer) this.timer = setTimeout(tick, 900); });
    else tick();
  }

  stop() {
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
    this.parts.playsteps.textContent = this.parts.playfilter.textContent = "▶";
  }

  key(event) {
    const moves = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowUp: [1, 0], ArrowDown: [-1, 0], ".": [1, 0], ",": [-1, 0] };
    if (!Ghosts.free(event)) return;
    if (event.key === " ") this.play("t");
    else if (event.key === "p") this.play("step");
    else if (event.key === "a" || event.key === "d") this.pano.turn(event.key === "a" ? -0.2 : 0.2, 0);
    else if (event.key === "0" && this.onfit?.()) { /* done */ } else if (event.key === "0") this.panes.forEach(({ map }) => { map.fit(); map.draw(); });
    else if (moves[event.key]) this.go(this.step + moves[event.key][0], this.t + moves[event.key][1]);
    else return;
    event.preventDefault();
  }
};

// The page's part that shows an episode, the same in the viewer and in the report.
Ghosts.playerMarkup = () => `
<section class="stage">
  <div class="left">
    <div class="maps" data-part="maps"></div>
    <div class="toggles">
      <label>Show <select data-part="layer" aria-label="what the colours show">
        <option value="belief">belief</option><option value="smoothed">belief, knowing the whole instruction</option>
        <option value="prediction">prediction (before looking)</option><option value="likelihood">likelihood</option></select></label>
      <label>Place <select data-part="places"></select></label>
      <details class="drawn"><summary>What is drawn</summary><div class="toggles">
      <label><input type="checkbox" data-show="photo"> painted from photos</label>
      <label><input type="checkbox" data-show="unseen" checked> shade the unseen</label>
      <label><input type="checkbox" data-show="arrows"> headings</label>
      <label><input type="checkbox" data-show="graph" checked> viewpoints</label>
      <label><input type="checkbox" data-show="names" checked> names</label>
      <label><input type="checkbox" data-show="paths" checked> paths</label>
      <label><input type="checkbox" data-show="choices" checked> next move</label>
      <label data-part="sight"><input type="checkbox" data-show="sight" checked> directions of what is seen</label></div></details>
    </div>
    <ul class="legend" data-part="legend" aria-label="legend"></ul>
    <div class="line walked" data-part="line"></div>
  </div>
  <div class="right">
    <div class="panobox" hidden><canvas class="pano" data-part="pano" tabindex="0" aria-label="panorama, drag to look around"></canvas></div>
    <div data-part="words"></div>
    <div class="notes" data-part="notes" role="status"></div>
    <p class="key"><i class="see"></i> what should be seen at this filter step <i class="do"></i> what should be done</p>
    <div class="time">
      <button data-part="playfilter" title="play the filter (space)" aria-label="play filter steps">▶</button>
      <label>Filter step <input type="range" min="0" max="6" value="0" data-part="filter"></label><output data-part="filternote"></output>
    </div>
    <div class="time walked">
      <button data-part="playsteps" title="play the walk (p)" aria-label="play agent steps">▶</button>
      <label>Agent step <input type="range" min="0" max="7" value="0" data-part="steps"></label><output data-part="stepnote"></output>
    </div>
    <div class="walked" data-part="actions"></div>
    <p class="outcome walked" data-part="outcome" role="status"></p>
    <p class="seen walked" data-part="seen"></p>
    <table class="numbers walked"><tbody data-part="numbers"></tbody></table>
    <details class="terms"><summary>What these words mean</summary>
      <p>The <b>belief</b> gives every cell of the map a probability: is this where somebody who follows the words would be? The <b>predicted goal</b> ✕ is the place with the most of the last belief within 3 m, which is the circle around it.</p>
      <p><b>Sure</b> is the share of the belief within 3 m of ✕, less where words are unknown. A walk that stops within 3 m of the goal counts as arrived.</p>
      <p>The <b>entropy</b> says how widely the belief is spread: 0 nats is a single cell, 5 nats about 150 cells. The <b>negative log-likelihood</b> says how little probability the true goal has: less is better.</p>
      <p>A <b>filter step</b> follows a piece of the instruction in thought, on the map as it is. An <b>agent step</b> is a stop of the walk, where the agent looks around.</p></details>
  </div>
</section>
<details open><summary>Inside the filter (click a cell of the map)</summary><div class="beside" data-part="inside"></div></details>
<details open><summary>Attention over the words</summary><div class="beside" data-part="attention"></div></details>`;
