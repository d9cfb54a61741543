"use strict";
// A run while it trains: its log as lines, asked for every few seconds, and where a few walks of each checkpoint end.
// A new checkpoint is told to the page.
Ghosts.Training = class {
  // ends(model): how a few episodes end, [{episode, left_m}].
  constructor(root, { onnew, onpick, ends, every_ms = 5000 }) {
    Object.assign(this, { root, onnew, onpick, ends, every_ms, checkpoints: new Map(), walks: new Map() });
  }

  async watch() {
    const told = await (await Ghosts.ask("/api/training")).json();
    if (!Object.keys(told).length) return;
    this.root.hidden = false;
    const fresh = Object.entries(told).filter(([model, { checkpoint }]) => this.checkpoints.get(model) !== checkpoint);
    this.draw(told);
    for (const [model, { checkpoint, iteration }] of Object.entries(told)) {
      const before = this.checkpoints.get(model);
      this.checkpoints.set(model, checkpoint);
      if (before && before !== checkpoint) this.onnew(model, iteration);
    }
    for (const [model, { iteration }] of fresh) {
      const ends = await this.ends(model).catch(() => []); // the next checkpoint may have come in between
      if (!ends.length) continue;
      this.walks.set(model, [...(this.walks.get(model) ?? []), { iteration, ends }].slice(-6));
      this.draw(told);
    }
    this.again();
  }

  // Also after a failure: a checkpoint may be missing for a moment; a server that was stopped says so at the next question.
  again() {
    setTimeout(() => this.watch().catch(() => this.again()), this.every_ms);
  }

  draw(told) {
    this.root.replaceChildren(Ghosts.element("summary", {}, "Training"), ...Object.entries(told).map(([model, { iteration, rows }]) => {
      const names = [...new Set(rows.flatMap(Object.keys))].filter((name) => !["iteration", "learning_rate", "episodes_per_s", "waiting"].includes(name));
      return Ghosts.element("section", { "data-model": model }, Ghosts.element("h4", {}, `${model}: shown at iteration ${iteration}`), Ghosts.element("div", { class: "plots" }, ...names.map((name) => [name, rows.filter((row) => name in row)]).map(([name, known]) => Ghosts.curve({ name, xs: known.map(({ iteration }) => iteration), ys: known.map((row) => row[name]), text: (value) => value.toPrecision(3), what: "iteration" })), ...this.table(this.walks.get(model))));
    }));
  }

  // A row per episode, a column per checkpoint.
  table(columns) {
    if (!columns) return [];
    const cell = (left_m) => Ghosts.element("td", {}, ...(left_m === undefined || left_m === null ? ["–"] : [Ghosts.badge({ ...Ghosts.outcome(left_m), text: `${left_m.toFixed(1)} m ${left_m < 3 ? "✓" : "✗"}` })]));
    const rows = columns[0].ends.map(({ episode }) => Ghosts.element("tr", {},
      Ghosts.element("th", { scope: "row" }, Ghosts.element("button", { type: "button", title: episode.text, onclick: () => this.onpick(episode) }, episode.instr_id)),
      ...columns.map(({ ends }) => cell(ends.find(({ episode: { instr_id: id } }) => id === episode.instr_id)?.left_m))));
    const head = Ghosts.element("tr", {}, Ghosts.element("th", { scope: "col" }, "episode"), ...columns.map(({ iteration }) => Ghosts.element("th", { scope: "col" }, `iteration ${iteration}`)));
    return [Ghosts.element("table", { class: "walks" }, Ghosts.element("caption", {}, "Where walks end: metres from the goal"), head, ...rows)];
  }
};
