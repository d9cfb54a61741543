"use strict";
// The viewer: choose or type, and keep the address such that it leads back here.
(() => {
  const $ = (id) => document.getElementById(id);
  const state = { library: null, question: null, scenes: new Map(), paintings: new Map(), listed: [] };
  $("player").innerHTML = Ghosts.playerMarkup();

  const say = (text, bad = false) => {
    $("message").textContent = text;
    $("message").className = bad ? "bad" : "";
  };
  const fail = (error) => say(error.message, true);
  const guarded = (work) => (...args) => Promise.resolve(work(...args)).catch(fail);
  const world = () => state.library.worlds.find((item) => item.id === $("world").value);
  const fill = (select, values, chosen) => {
    select.replaceChildren(...values.map(([value, text]) => Ghosts.element("option", { value }, text ?? value)));
    if (values.some(([value]) => value === chosen)) select.value = chosen;
  };
  const query = (values) => new URLSearchParams(values).toString();

  const source = {
    body: (header) => ({
      world: header.world_id, model: header.model, scan: header.scan, text: header.text, heading_rad: header.start_heading_rad,
      walk: header.walk, path: header.path, instr_id: header.instr_id,
    }),
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
    onword: (k, word) => guarded(async () => {
      const words = [...state.question.words];
      words[k] = word;
      await ask({ text: Ghosts.joinWords(words) }, place());
    })(),
    onpick: (where) => offer(where),
    onwalk: (id) => guarded(walkTo)(id),
    onerror: fail,
  });

  // Where to go on after a change: the same place, and the last filter step if that is what was shown.
  const place = () => ({ step: player.step, t: player.t === player.filterSteps ? undefined : player.t });

  const scene = async (worldId, scan) => {
    const key = query({ world: worldId, scan });
    if (!state.scenes.has(key)) state.scenes.set(key, await (await Ghosts.ask(`/api/scene?${key}`)).json());
    return state.scenes.get(key);
  };

  // Show a question to the chosen model, and to the other one beside it.
  const show = async (header, where = {}) => {
    const worldId = header.world_id ?? $("world").value, plan = await scene(worldId, header.scan);
    const sets = [{ header: { ...header, world_id: worldId }, source, scene: plan }];
    const other = $("other").value;
    if (other && other !== header.model) {
      const twin = await (await Ghosts.ask("/api/ask", { ...source.body(sets[0].header), model: other })).json();
      sets.push({ header: { ...twin, world_id: worldId }, source, scene: plan });
    }
    state.question = sets[0].header;
    $("text").value = header.text;
    $("here").hidden = true;
    await player.open(sets, where);
    say(header.instr_id ? `Episode ${header.instr_id} in building ${header.scan}, ${header.words.length} words.` : `Your instruction in building ${header.scan}.`);
    remember();
  };

  const ask = async (changes, where) => {
    const body = { ...source.body(state.question), model: $("model").value, instr_id: "", ...changes };
    await show(await (await Ghosts.ask("/api/ask", body)).json(), where);
  };

  const pick = async (episode, where) => {
    const body = { world: $("world").value, model: $("model").value, split: episode.split, instr_id: episode.instr_id };
    state.episode = episode;
    $("episode").value = episode.instr_id;
    await show(await (await Ghosts.ask("/api/pick", body)).json(), where ?? { step: 0 });
  };

  const walkTo = async (id) => {
    const walk = [...state.question.walk.slice(0, player.step + 1)];
    while (walk[walk.length - 1] !== id && walk.length < 40) {
      const next = Ghosts.firstStop(player.panes[0].scene, walk[walk.length - 1], id);
      if (!next) throw new Error("There is no way from here to there.");
      walk.push(next);
    }
    await ask({ walk, instr_id: state.question.instr_id }, { ...place(), step: walk.length - 1 });
  };

  const walkOn = async () => {
    if (player.step < state.question.walk.length - 1) return player.go(player.step + 1, player.t);
    const { choice } = player.panes[0].map.frame;
    if (choice.stops) return say(`The agent ${Ghosts.choiceText(choice)}.`);
    // It looks around where it pauses, not at what it walks past.
    const walk = [...state.question.walk, choice.moves[choice.moves.length - 1]];
    await ask({ walk, instr_id: state.question.instr_id }, { ...place(), step: walk.length - 1 });
  };

  const startAt = (id) => ask({ walk: [id], path: [], heading_rad: player.panes[0].map.look ?? state.question.walk_heading_rad[player.step], text: $("text").value || state.question.text }, { step: 0 });

  // What can be done with the place that was clicked.
  const offer = (where) => {
    $("here").hidden = !where.viewpoint;
    if (!where.viewpoint) return;
    $("here").replaceChildren(
      Ghosts.element("span", {}, `Viewpoint ${where.viewpoint.slice(0, 6)}…`),
      Ghosts.element("button", { type: "button", onclick: guarded(() => walkTo(where.viewpoint)) }, "Walk here"),
      Ghosts.element("button", { type: "button", onclick: guarded(() => startAt(where.viewpoint)) }, "Start here"),
    );
  };

  const remember = () => {
    if (!state.question) return;
    const values = { w: state.question.world_id, m: $("model").value, k: player.step, t: player.t };
    if ($("other").value) values.o = $("other").value;
    if (state.question.instr_id && state.episode && state.question.instr_id === state.episode.instr_id) Object.assign(values, { s: state.episode.split, e: state.question.instr_id });
    else Object.assign(values, { b: state.question.scan, x: state.question.text, h: state.question.start_heading_rad.toFixed(4), p: state.question.walk.join("."), d: state.question.path.join(".") });
    history.replaceState(null, "", `#${query(values)}`);
  };

  const listEpisodes = async () => {
    const values = { world: $("world").value, model: $("model").value, split: $("split").value, scan: $("scan").value, limit: 200 };
    const told = await (await Ghosts.ask(`/api/episodes?${query(values)}`)).json();
    state.listed = told.episodes;
    const more = told.total > told.episodes.length ? [["", `… ${told.total - told.episodes.length} more: choose a building`]] : [];
    fill($("episode"), [...told.episodes.map((item) => [item.instr_id, `${item.instr_id}: ${item.text.slice(0, 70)}`]), ...more], state.episode?.instr_id);
  };

  const chooseWorld = async (wanted = {}) => {
    const here = world();
    fill($("scan"), [["", "any"], ...here.scans.map((id) => [id, id])], wanted.scan ?? "");
    fill($("split"), here.splits.map((name) => [name, name]), wanted.split);
    fill($("model"), here.models.map(({ id }) => [id, id]), wanted.model);
    fill($("other"), [["", "none"], ...here.models.map(({ id }) => [id, id])], wanted.other ?? "");
    await listEpisodes();
  };

  const first = async () => {
    if (!state.listed.length) return say("No episodes here: choose another split or building.", true);
    $("episode").value = state.listed[0].instr_id;
    await pick(state.listed[0]);
  };

  const follow = async (link) => {
    const where = { step: +(link.get("k") ?? 0), t: link.has("t") ? +link.get("t") : undefined };
    if (link.has("e")) return pick({ split: link.get("s"), instr_id: link.get("e") }, where);
    const stops = (name) => (link.get(name) ?? "").split(".").filter(Boolean);
    const body = { world: $("world").value, model: $("model").value, scan: link.get("b"), text: link.get("x"), heading_rad: +link.get("h"), walk: stops("p"), path: stops("d"), instr_id: "" };
    await show(await (await Ghosts.ask("/api/ask", body)).json(), where);
  };

  const fileName = (kind) => `ghosts-${state.question.instr_id || "episode"}.${kind}`;

  const film = (kind) => guarded(async () => {
    say("Drawing the film…");
    const beside = player.panes[1]?.header.model ?? "";
    const answer = await Ghosts.ask("/api/film", { ...source.body(state.question), kind, beside });
    Ghosts.save(fileName(kind), await answer.blob());
    say("Film saved.");
  });

  // One record, or a list of them where models are compared; `ghosts report --record` reads both.
  const saveRecord = async () => {
    const records = await Promise.all(player.panes.map(({ header }) => source.record(header)));
    Ghosts.save(fileName("json"), new Blob([JSON.stringify(records.length > 1 ? records : records[0])], { type: "application/json" }));
    say("Record saved.");
  };

  const savePicture = () => Ghosts.picture(player).toBlob((blob) => Ghosts.save(fileName("png"), blob));

  $("world").addEventListener("change", guarded(async () => { state.episode = null; await chooseWorld(); await first(); }));
  for (const id of ["scan", "split"]) $(id).addEventListener("change", guarded(async () => { await listEpisodes(); await first(); }));
  $("episode").addEventListener("change", guarded(async () => {
    const chosen = state.listed.find((item) => item.instr_id === $("episode").value);
    if (chosen) await pick(chosen);
  }));
  $("model").addEventListener("change", guarded(() => ask({ instr_id: state.question.instr_id }, place())));
  $("other").addEventListener("change", guarded(() => show(state.question, place())));
  $("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = $("text").value.trim();
    if (!text) return say("Type an instruction first.", true);
    guarded(() => ask({ text, path: text === state.question.text ? state.question.path : [], walk: state.question.walk.slice(0, player.step + 1) }, { step: player.step }))();
  });
  $("text").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      $("ask").requestSubmit();
    }
  });
  $("walkon").addEventListener("click", guarded(walkOn));
  $("random").addEventListener("click", guarded(() => {
    const chosen = state.listed[Math.floor(Math.random() * state.listed.length)];
    $("episode").value = chosen.instr_id;
    return pick(chosen);
  }));
  $("link").addEventListener("click", guarded(async () => { await navigator.clipboard.writeText(location.href); say("Link copied."); }));
  $("png").addEventListener("click", guarded(savePicture));
  $("json").addEventListener("click", guarded(saveRecord));
  $("mp4").addEventListener("click", film("mp4"));
  $("gif").addEventListener("click", film("gif"));
  document.addEventListener("keydown", (event) => {
    if (["INPUT", "TEXTAREA", "SELECT"].includes(event.target.tagName) && event.target.type !== "range") return;
    if (event.key === "n") guarded(walkOn)();
    else if (event.key === "r") $("random").click();
    else player.key(event);
  });

  guarded(async () => {
    say("Opening…");
    const link = new URLSearchParams(location.hash.slice(1));
    state.library = await (await Ghosts.ask("/api/library")).json();
    fill($("world"), state.library.worlds.map(({ id }) => [id, id]), link.get("w"));
    await chooseWorld({ split: link.get("s"), model: link.get("m"), other: link.get("o") });
    if (link.has("e") || link.has("x")) await follow(link);
    else await first();
  })();
})();
