"use strict";
// The viewer: choose or type, and keep the address such that it leads back here.
(() => {
  const $ = (id) => document.getElementById(id);
  const VISITOR = "visitor", FIXED = "fixed walk", OWN = "own", STALE = new Error("a newer choice was made");
  const state = { library: null, question: null, own: null, ticket: 0, scenes: new Map(), paintings: new Map(), ended: new Map(), accepted: new Set(), push: false };
  const MOST_TEXT = 1000;
  $("player").innerHTML = Ghosts.playerMarkup();
  $("player").querySelector("[data-part=actions]").append($("actions"));
  const kept = (name, value) => { // a page that may keep nothing forgets this
    try { return value === undefined ? localStorage.getItem(name) : localStorage.setItem(name, value); } catch { return null; }
  };
  $("experts").open = kept("ghosts-experts") === "open";
  $("player").querySelector(".drawn").open = $("experts").open;
  $("experts").addEventListener("toggle", () => kept("ghosts-experts", $("experts").open ? "open" : ""));

  const say = (text, bad = false) => {
    $("message").textContent = text;
    $("message").className = bad ? "bad" : "";
  };
  const fail = (error) => {
    if (error === STALE) return;
    say(error.message, true);
    settle();
  };
  const guarded = (work) => async (...args) => {
    try {
      await work(...args);
    } catch (error) {
      fail(error);
    }
  };
  // What changes the question: the newest choice counts, and what an older one still brings is dropped.
  const chosen = (work) => guarded((...args) => { state.ticket += 1; return work(...args); });
  const fresh = async (work) => {
    const ticket = state.ticket, [told, error] = await work.then((value) => [value], (reason) => [null, reason]);
    if (ticket !== state.ticket) throw STALE;
    if (error) throw error;
    return told;
  };
  const tell = (path, body) => fresh(Ghosts.ask(path, body).then((answer) => answer.json()));
  const world = () => state.library.worlds.find((item) => item.id === $("world").value);
  const fill = (select, values, wanted) => {
    select.replaceChildren(...values.map(([value, text]) => Ghosts.element("option", { value }, text ?? value)));
    if (values.some(([value]) => value === wanted)) select.value = wanted;
  };
  const query = (values) => new URLSearchParams(values).toString();

  const source = {
    body: (header) => ({
      world: header.world_id, model: header.model, scan: header.scan, text: header.text, heading_rad: header.start_heading_rad,
      walk: header.walk, path: header.path, instr_id: header.instr_id, walked_by: header.walked_by,
    }),
    line: async (header) => (await Ghosts.ask("/api/line", source.body(header))).json(),
    frame: async (header, step) => (await Ghosts.ask("/api/frame", { ...source.body(header), step })).json(),
    kernel: async (header, step, t, { xy_m: [x_m, y_m] }) => {
      const told = await (await Ghosts.ask("/api/cell", { ...source.body(header), step, filter_step: t, x_m, y_m })).json();
      return Ghosts.unpack(told.kernel);
    },
    record: async (header) => (await Ghosts.ask("/api/record", source.body(header))).json(),
    panorama: (header, viewpoint) => `/api/panorama?${query({ world: header.world_id, scan: header.scan, viewpoint })}`,
    painting: (header, storey) => {
      const key = query({ world: header.world_id, scan: header.scan, storey });
      if (!state.paintings.has(key))
        state.paintings.set(key, (async () => {
          const told = await (await Ghosts.ask(`/api/painting?${key}`)).json(), image = new Image();
          image.src = told.image;
          await image.decode();
          return { ...told, image, storey };
        })());
      return state.paintings.get(key);
    },
  };

  const player = new Ghosts.Player($("player"), {
    onmove: () => remember(),
    onword: (k, word) => chosen(async () => {
      const words = [...state.question.words];
      words[k] = word;
      // On the same walk, to compare: it is the old words' walk. Where other words lead, nobody has shown.
      await understood(Ghosts.joinWords(words), (text) => ask({ text, walked_by: VISITOR, path: [] }, place()));
    })(),
    onpick: (where) => offer(where),
    onwalk: (id) => chosen(walkTo)(id),
    onended: (left_m) => ended(left_m),
    onerror: fail,
  });

  const list = new Ghosts.EpisodeList($("episodes"), {
    sorts: [["listed", "as listed"], ["shortest", "shortest first"], ["longest", "longest first"], ["best", "best first"], ["worst", "worst first"]],
    ends: true,
    load: async ({ find, sort, offset, ended }) => {
      const values = { world: $("world").value, model: $("model").value, split: $("split").value, scan: $("scan").value, find, sort, offset, ended, limit: 50 };
      if (ended || ["best", "worst"].includes(sort)) say("Walking some episodes to see how they end…");
      const told = await (await Ghosts.ask(`/api/episodes?${query(values)}`)).json();
      return { total: told.total, episodes: told.episodes.map((item) => ({ ...item, id: item.instr_id, note: item.scan, badge: Ghosts.outcome(state.ended.get(endedKey(item.instr_id)) ?? ($("walk").value ? null : item.left_m)) })) };
    },
    onpick: (item) => chosen(async () => {
      if (item.id !== OWN) {
        $("browse").open = false;
        await pick(item);
        return;
      }
      if (state.own) await show(state.own, { step: 0 });
      $("text").focus();
    })(),
    onerror: fail,
  });
  const endedKey = (instr_id) => query({ world: $("world").value, model: $("model").value, split: $("split").value, fixed: $("walk").value, instr_id });
  const listAgain = () => list.refresh([{ id: OWN, name: "Your own instruction", text: state.own?.text ?? "type it below" }]);

  // Where to go on after a change: the same place, and the last filter step if that is what was shown.
  const place = () => ({ step: player.step, t: player.t === player.filterSteps ? undefined : player.t });

  const scene = async (worldId, scan) => {
    const key = query({ world: worldId, scan });
    if (!state.scenes.has(key)) state.scenes.set(key, await tell(`/api/scene?${key}`));
    return state.scenes.get(key);
  };

  // Show a question to the chosen model, and to the other one beside it.
  const show = async (header, where = {}, whole = false) => {
    const worldId = header.world_id ?? $("world").value, plan = await scene(worldId, header.scan);
    const sets = [{ header: { ...header, world_id: worldId }, source, scene: plan }];
    const other = $("other").value;
    if (other && other !== header.model) {
      const twin = await tell("/api/ask", { ...source.body(sets[0].header), model: other });
      sets.push({ header: { ...twin, world_id: worldId }, source, scene: plan });
    }
    Object.assign(state, { question: sets[0].header, whole, push: state.question !== null && state.following !== state.ticket });
    if (!header.instr_id) {
      if (state.own?.text !== header.text) { state.own = state.question; listAgain(); }
      state.own = state.question;
    }
    $("doubt").hidden = true;
    settle();
    const same = sets.length > 1 && [sets[0], sets[1]].some(({ header: one }, k) => world().models.find(({ id }) => id === one.model)?.same_as === sets[1 - k].header.model);
    const what = header.instr_id ? `Episode ${header.instr_id} in building ${header.scan}, ${header.words.filter((word) => /[^\p{P}]/u.test(word)).length} words.` : `Your instruction in building ${header.scan}.`;
    say(same ? `${what} ${sets[0].header.model} and ${sets[1].header.model} are the same file: they believe the same.` : what);
    await player.open(sets, where);
    remember();
    if (state.sampled !== query(whereEnds())) sample().catch(() => {});
  };

  // The boxes say what is shown, whatever was asked for in between.
  const settle = () => {
    if (!state.question) return;
    const { text, instr_id: id, model, walk, walked_by: by } = state.question;
    $("describe").hidden = !world()?.describes;
    $("text").value = text;
    if ([...$("model").options].some(({ value }) => value === model)) $("model").value = model;
    $("walk").value = by === FIXED ? FIXED : "";
    $("current").textContent = id ? `${id}: ${text}` : `Your own instruction: ${text}`;
    list.mark(id || OWN);
    $("again").disabled = walk.length < 2 && player.step === 0;
  };

  const ended = (left_m) => {
    const { instr_id: id } = state.question;
    if (!id || state.ended.get(endedKey(id)) === left_m) return;
    state.ended.set(endedKey(id), left_m);
    for (const item of list.shown) if (item.id === id) item.badge = Ghosts.outcome(left_m);
    list.list.querySelectorAll(`.episode[data-episode="${CSS.escape(id)}"]`).forEach((node) => {
      node.querySelector(".badge")?.remove();
      node.querySelector("b").after(Ghosts.badge(Ghosts.outcome(left_m)));
    });
  };

  const ask = async (changes, where, path = "/api/ask") => {
    const body = { ...source.body(state.question), model: $("model").value, instr_id: "", ...changes };
    await show(await tell(path, body), where, path === "/api/walk");
  };

  const pick = async (episode, where) => {
    const body = { world: $("world").value, model: $("model").value, split: episode.split, instr_id: episode.instr_id, fixed: $("walk").value === FIXED };
    say("Walking…");
    const header = await tell("/api/pick", body);
    state.episode = episode;
    await show(header, where ?? { step: 0 }, true);
  };

  const mine = () => state.question.walked_by === state.question.model;

  const walkTo = async (id) => {
    const walk = [...state.question.walk.slice(0, player.step + 1)];
    while (walk[walk.length - 1] !== id && walk.length < 40) {
      const next = Ghosts.firstStop(player.panes[0].scene, walk[walk.length - 1], id);
      if (!next) throw new Error("There is no way from here to there.");
      walk.push(next);
    }
    await ask({ walk, walked_by: VISITOR, instr_id: state.question.instr_id }, { ...place(), step: walk.length - 1 });
  };

  // What was typed and not yet asked: the walk starts over with these words.
  const unasked = () => $("text").value.trim() !== state.question.text && $("text").value.trim() !== "";
  const askTyped = async () => {
    const text = $("text").value.trim();
    if (!text) return say("Type an instruction first.", true);
    if (text.length > MOST_TEXT) return say(`The instruction has ${text.length} characters; at most ${MOST_TEXT} can be asked. Shorten it.`, true);
    const same = text === state.question.text;
    await understood(text, (words) => ask({ text: words, ...(same ? { path: state.question.path, instr_id: state.question.instr_id } : { path: [] }), walk: state.question.walk.slice(0, 1), walked_by: $("model").value }, { step: 0 }));
  };

  // Words that would be read as quite other ones are told before the answer, and may be left out.
  const understood = async (text, go) => {
    const { doubts } = await tell("/api/read", { world: $("world").value, model: $("model").value, text }), new_ = doubts.filter((pair) => !state.accepted.has(pair.join(" ")));
    if (!new_.length) return go(text);
    const button = (words, work) => Ghosts.element("button", { type: "button", onclick: chosen(work) }, words);
    const without = text.replace(/[\p{L}\p{N}]+/gu, (word) => (new_.some(([said]) => said === word.toLowerCase()) ? "" : word)).replace(/\s+/g, " ").trim();
    settle();
    $("text").value = text;
    $("doubt").replaceChildren(
      Ghosts.element("span", {}, `The model never learnt ${new_.map(([said]) => `“${said}”`).join(" and ")}. Did you mean ${new_.map(([, other]) => `“${other}”`).join(" … ")}?`),
      button("Yes, ask so", () => { for (const pair of new_) state.accepted.add(pair.join(" ")); return go(text); }),
      ...(/\p{L}/u.test(without) ? [button("No, leave it out", () => go(without))] : []),
      Ghosts.element("button", { type: "button", onclick: () => { $("doubt").hidden = true; $("text").focus(); } }, "Change the words"));
    $("doubt").hidden = false;
    say("Not asked yet.");
  };

  const walkOn = async () => {
    if (unasked()) {
      await askTyped();
      if ($("doubt").hidden && !unasked()) say("These are new words: the walk starts over with them.");
      return;
    }
    state.push = true;
    if (player.step < state.question.walk.length - 1) return player.go(player.step + 1, player.t);
    const frame = player.panes[0].map.frame;
    if (!frame) return;
    const { choice } = frame;
    if (choice.stops) return say(`The agent ${Ghosts.choiceText(choice, player.panes[0].scene)}.`);
    // It looks around where it pauses, not at what it walks past.
    const walk = [...state.question.walk, choice.moves[choice.moves.length - 1]];
    await ask({ walk, walked_by: mine() ? state.question.model : VISITOR, instr_id: state.question.instr_id }, { ...place(), step: walk.length - 1 });
  };

  // The same question from its start, with nothing seen but what is seen there.
  const again = () => ask({ walk: state.question.walk.slice(0, 1), walked_by: $("model").value, instr_id: state.question.instr_id }, { step: 0 });
  // What was shown before; the browser's own button does the same.
  const undo = () => { if (history.state?.depth) history.back(); };
  const toTheEnd = () => {
    if (unasked()) return walkOn();
    say("Walking…");
    return ask({ instr_id: state.question.instr_id }, { step: Infinity }, "/api/walk");
  };

  const startAt = (id) => ask({ walk: [id], path: [], walked_by: $("model").value, heading_rad: player.panes[0].map.look ?? state.question.walk_heading_rad[player.step], text: $("text").value || state.question.text }, { step: 0 });

  // What can be done with the place that was clicked.
  const offer = ({ viewpoint }) => (viewpoint ? [["Walk here", walkTo], ["Start here", startAt]] : []).map(([words, work]) => Ghosts.element("button", { type: "button", onclick: chosen(() => work(viewpoint)) }, words));

  const remember = () => {
    if (!state.question) return;
    const { question } = state, values = { w: question.world_id, m: question.model, k: player.step, t: player.t };
    if ($("other").value) values.o = $("other").value;
    if (solid.on) values.v = "3d";
    const listed = question.instr_id && state.episode?.instr_id === question.instr_id;
    if (listed && (mine() && state.whole || question.walked_by === FIXED)) Object.assign(values, { s: state.episode.split, e: question.instr_id }, question.walked_by === FIXED ? { f: 1 } : {});
    else {
      Object.assign(values, { b: question.scan, x: question.text, h: question.start_heading_rad.toFixed(4), p: question.walk.join("."), d: question.path.join("."), y: question.walked_by });
      if (listed) Object.assign(values, { s: state.episode.split, i: question.instr_id });
    }
    // What somebody chose can be gone back to; sliders do not fill the history.
    const address = `#${query(values)}`, depth = history.state?.depth ?? 0, moved = address !== location.hash;
    if (state.push && moved) history.pushState({ depth: depth + 1 }, "", address);
    else if (moved || !history.state) history.replaceState({ depth }, "", address); // needlessly, it would cancel going back
    state.push = false;
    $("undo").disabled = !history.state.depth;
    $("again").disabled = question.walk.length < 2 && player.step === 0;
  };

  const chooseWorld = async (wanted = {}) => {
    const here = world();
    fill($("scan"), [["", "any"], ...here.scans.map((id) => [id, id])], wanted.scan ?? "");
    fill($("split"), here.splits.map((name) => [name, name]), wanted.split);
    fill($("model"), here.models.map(({ id }) => [id, id]), wanted.model);
    fill($("other"), [["", "none"], ...here.models.map(({ id, same_as }) => [id, same_as ? `${id} (= ${same_as})` : id])], wanted.other ?? "");
    await fresh(listAgain());
  };

  // Opens on an instruction that is followed to its goal, where there is one.
  const first = async () => {
    await fresh(listAgain());
    if (!list.shown.length) return say("No episodes here: choose another split or building.", true);
    say("Looking for an instruction to show…");
    const { first: id } = await tell(`/api/ends?${query({ ...whereEnds(), wait: true })}`);
    await pick(list.shown.find((item) => item.instr_id === id) ?? (id ? { split: $("split").value, instr_id: id } : list.shown[0]));
  };
  const whereEnds = () => ({ world: $("world").value, model: $("model").value, split: $("split").value, scan: $("scan").value });

  // How many of a fair sample arrive, beside what is shown, and three of them to try.
  const sample = async () => {
    const asked = (state.sampled = query(whereEnds())), { arrived, walked, total, examples } = await (await Ghosts.ask(`/api/ends?${asked}`)).json();
    if (asked !== query(whereEnds())) return sample();
    $("examples").replaceChildren(...examples.filter((item) => item.instr_id !== state.question.instr_id).slice(0, 3).map((item) => Ghosts.element("button", { type: "button", title: item.text, onclick: chosen(() => pick(item)) }, item.text)));
    $("average").textContent = walked < total || !total ? "" : `${arrived} of ${total} instructions here are followed to their goal.`;
    if (walked < total) setTimeout(() => sample().catch(() => {}), 1500);
  };

  const known = (kind, name, names) => {
    if (name !== null && !names.includes(name)) throw new Error(`The link names ${kind} “${name}”, which is not here. There is ${names.join(", ")}.`);
  };

  // Open what an address says, or the first episode where it says nothing.
  const follow = async (address) => {
    state.following = state.ticket;
    const link = new URLSearchParams(new URL(address).hash.slice(1));
    known("world", link.get("w"), state.library.worlds.map(({ id }) => id));
    if (link.has("w")) $("world").value = link.get("w");
    const here = world(), models = here.models.map(({ id }) => id);
    known("model", link.get("m"), models);
    known("model", link.get("o"), models);
    known("split", link.get("s"), here.splits);
    await chooseWorld({ split: link.get("s"), model: link.get("m"), other: link.get("o"), scan: $("scan").value });
    $("walk").value = link.has("f") ? FIXED : "";
    solid.show(link.get("v") === "3d");
    const where = { step: +(link.get("k") ?? 0) || 0, t: link.has("t") ? +link.get("t") || 0 : undefined };
    if (link.has("e")) return pick({ split: link.get("s") ?? here.splits[0], instr_id: link.get("e") }, where);
    if (!link.has("x")) return first();
    const stops = (name) => (link.get(name) ?? "").split(".").filter(Boolean), at = await start(link.get("b"), stops("p"));
    if (link.has("i")) state.episode = { split: link.get("s"), instr_id: link.get("i") };
    const body = { world: $("world").value, model: $("model").value, text: link.get("x"), path: stops("d"), instr_id: link.get("i") ?? "", walked_by: link.get("y") ?? $("model").value, ...at, ...(link.has("h") ? { heading_rad: +link.get("h") } : {}) };
    await show(await tell("/api/ask", body), where);
  };

  // Where a link's instruction is asked; one without a place, at the start of the first episode.
  const start = async (scan, walk) => {
    if (scan && walk.length) return { scan, walk, heading_rad: 0 };
    if (!list.shown.length) throw new Error("The link names no viewpoint to start at, and there is no episode to take one from.");
    const there = list.shown.find((item) => item.scan === scan) ?? list.shown[0];
    const { walk: [id], scan: building, start_heading_rad: heading_rad } = await tell("/api/pick", { world: $("world").value, model: $("model").value, split: there.split, instr_id: there.instr_id, fixed: true });
    return { scan: building, walk: [id], heading_rad };
  };

  $("world").addEventListener("change", chosen(async () => { state.episode = state.own = null; await chooseWorld(); await first(); }));
  for (const id of ["scan", "split"]) $(id).addEventListener("change", chosen(first));
  $("walk").addEventListener("change", chosen(() => {
    if (state.question.instr_id && state.episode) return pick(state.episode);
    $("walk").value = "";
    say("The fixed walk belongs to an episode: choose one first.", true);
  }));
  $("model").addEventListener("change", chosen(() => {
    const { instr_id, walk, walked_by: by } = state.question, model = $("model").value;
    if (by === VISITOR) return ask({ instr_id }, place());
    if (instr_id && state.episode && state.whole) return pick(state.episode, place());
    return ask({ instr_id, walk: walk.slice(0, 1), walked_by: model }, { step: 0 }, walk.length > 1 ? "/api/walk" : "/api/ask");
  }));
  $("other").addEventListener("change", chosen(() => show(state.question, place())));
  $("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    chosen(askTyped)();
  });
  $("text").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      $("ask").requestSubmit();
    }
  });
  $("walkon").addEventListener("click", chosen(walkOn));
  $("toend").addEventListener("click", chosen(toTheEnd));
  // The way so far in words, ready to be asked.
  $("describe").addEventListener("click", chosen(async () => {
    const walk = state.question.walk.slice(0, player.step + 1);
    if (walk.length < 2) return say("Walk somewhere first: a way has two viewpoints or more.", true);
    say("Putting the way into words…");
    const { text } = await tell("/api/describe", { ...source.body(state.question), walk });
    $("text").value = text;
    say(`The speaker says: “${text}” Ask, and see whether it leads there.`);
  }));
  $("again").addEventListener("click", chosen(again));
  $("undo").addEventListener("click", chosen(undo));
  $("random").addEventListener("click", chosen(() => {
    if (!list.shown.length) return say("No episodes here: choose another split or building.", true);
    return pick(list.shown[Math.floor(Math.random() * list.shown.length)]);
  }));
  Ghosts.saving({ player, source, say, guarded, question: () => state.question });
  const solid = Ghosts.solid({ player, source, say, guarded, onchange: () => remember() });
  document.addEventListener("keydown", (event) => {
    if (!Ghosts.free(event)) return;
    if (event.key === "n") $("walkon").click();
    else if (event.key === "r") $("random").click();
    else if (event.key === "u") $("undo").click();
    else player.key(event);
  });
  // How a few episodes of the split end, as the newest checkpoint walks them; they stay the same from checkpoint to checkpoint.
  const FEW = 4, followed = new Map();
  const endsOf = async (model) => {
    const here = world(), key = here.id, plain = async (path, body) => (await Ghosts.ask(path, body)).json();
    if (!here.models.some(({ id }) => id === model)) return [];
    if (!followed.has(key)) {
      const { episodes } = await plain(`/api/episodes?${query({ world: here.id, model, split: $("split").value, scan: "", find: "", sort: "listed", offset: 0, limit: 50 })}`);
      followed.set(key, episodes.filter((_, k) => k % Math.ceil(episodes.length / FEW) === 0));
    }
    const found = [];
    for (const episode of followed.get(key)) {
      const header = { ...await plain("/api/pick", { world: here.id, model, split: episode.split, instr_id: episode.instr_id, fixed: false }), world_id: here.id };
      const { left_m } = await source.frame(header, header.walk.length - 1);
      found.push({ episode, left_m });
    }
    return found;
  };
  // A new checkpoint walks the shown episode anew.
  const training = new Ghosts.Training($("training"), {
    ends: endsOf,
    onpick: (episode) => chosen(() => pick(episode))(),
    onnew: (model, iteration) => chosen(async () => {
      state.ended.clear();
      const shown = player.panes.some(({ header }) => header.model === model);
      if (shown && state.question.instr_id && state.episode) await pick(state.episode, place());
      else if (shown) await ask({ instr_id: state.question.instr_id, walked_by: state.question.walked_by }, place());
      say(`${model}: checkpoint of iteration ${iteration}.`);
    })(),
  });
  // The event's address: what was shown before may have written its own into the bar since.
  window.addEventListener("hashchange", chosen((event) => follow(event.newURL)));

  chosen(async () => {
    say("Opening…");
    state.library = await tell("/api/library");
    fill($("world"), state.library.worlds.map(({ id }) => [id, id]));
    await follow(location.href);
    await training.watch();
  })();
})();
