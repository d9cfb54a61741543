"use strict";
// A list of episodes to search, sort and choose from: the viewer asks its server, a report has all of them in the page.
// load({find, sort, offset, ended}) gives {total, episodes: [{id, text, note, badge, closed}]}; sorts: [[value, name]].
// Where it is known how walks end (`ends`), those that arrived or missed can be asked for alone.
Ghosts.EpisodeList = class {
  constructor(root, { sorts, load, onpick, onerror, ends = false }) {
    Object.assign(this, { load, onpick, onerror, shown: [], now: null });
    const wait = () => { clearTimeout(this.typing); this.typing = setTimeout(() => this.refresh(), 150); };
    this.find = Ghosts.element("input", { type: "search", "data-part": "find", placeholder: "words, or a number such as 300_0", oninput: wait, onkeydown: (event) => this.enter(event) });
    this.sort = Ghosts.element("select", { "data-part": "sort", onchange: () => this.refresh() }, ...sorts.map(([value, text]) => Ghosts.element("option", { value }, text)));
    this.ended = Ghosts.element("select", { "data-part": "ended", onchange: () => this.refresh() }, ...[["", "all"], ["arrived", "arrived"], ["missed", "missed"]].map(([value, text]) => Ghosts.element("option", { value }, text)));
    this.count = Ghosts.element("span", { role: "status", "data-part": "count" });
    this.list = Ghosts.element("ol", { class: "list" });
    this.more = Ghosts.element("button", { type: "button", hidden: true, onclick: () => this.add() }, "Show more");
    root.replaceChildren(Ghosts.element("div", { class: "finder" }, Ghosts.element("label", {}, "Search ", this.find), Ghosts.element("label", {}, "Sort ", this.sort), ...(ends ? [Ghosts.element("label", {}, "Show ", this.ended)] : []), this.count), this.list, this.more);
  }

  // Anew, by what is searched for; `own` entries come first whatever is searched.
  async refresh(own = this.own ?? []) {
    Object.assign(this, { own, shown: [] });
    return this.add();
  }

  // Enter opens the first that was found.
  async enter(event) {
    if (event.key !== "Enter") return;
    event.preventDefault();
    clearTimeout(this.typing);
    await this.refresh();
    const first = this.shown.find((item) => !item.closed);
    if (first) this.onpick(first);
  }

  async add() {
    const ticket = (this.ticket = {});
    try {
      const told = await this.load({ find: this.find.value.trim(), sort: this.sort.value, ended: this.ended.value, offset: this.shown.length });
      if (this.ticket !== ticket) return;
      this.shown.push(...told.episodes);
      this.count.textContent = told.total === 1 ? "1 episode" : `${told.total} episodes`;
      this.more.hidden = this.shown.length >= told.total;
      this.list.replaceChildren(...[...this.own, ...this.shown].map((item) => this.entry(item)));
      this.mark(this.now);
    } catch (error) {
      this.onerror?.(error);
    }
  }

  entry(item) {
    const badge = item.badge ? [Ghosts.badge(item.badge)] : [];
    const words = [Ghosts.element("b", {}, item.name ?? item.id), ...badge, Ghosts.element("small", {}, item.note ?? ""), Ghosts.element("span", {}, item.text)];
    const body = item.closed ? Ghosts.element("div", { class: "episode closed" }, ...words) : Ghosts.element("button", { type: "button", class: "episode", onclick: () => this.onpick(item) }, ...words);
    body.dataset.episode = item.id;
    return Ghosts.element("li", {}, body);
  }

  mark(id) {
    this.now = id;
    for (const node of this.list.querySelectorAll(".episode")) {
      if (node.dataset.episode === id) node.setAttribute("aria-current", "true");
      else node.removeAttribute("aria-current");
    }
  }
};

Ghosts.badge = ({ text, good }) => Ghosts.element("i", { class: `badge ${good ? "good" : "poor"}` }, text);

// How a walk ended, from the distance that was left to the goal; null where nobody knows.
Ghosts.outcome = (left_m) => (left_m === null || left_m === undefined ? null : { good: left_m < 3, text: left_m < 3 ? "arrived ✓" : "missed ✗", left_m });
