"use strict";
// The viewer's 3D: a switch beside the map's, storeys, and an agent that drives without a graph.
Ghosts.solid = ({ player, source, say, guarded, onchange }) => {
  const ACTION_MS = 90, element = Ghosts.element, state = { on: false, view: null, key: "", house: "", drive: null, action: 0, timer: null };
  const box = element("input", { type: "checkbox", "data-part": "solid" }), label = element("label", { hidden: true, title: "the house in three dimensions" }, box, " 3D");
  const canvas = element("canvas", { class: "solid", tabindex: 0, "aria-label": "the house in three dimensions: arrow keys turn it, plus and minus zoom" });
  const storeys = element("select", { "aria-label": "storey" }), follow = element("input", { type: "checkbox", checked: true });
  const eyes = element("canvas", { class: "eyes", hidden: true, role: "img", "aria-label": "what the driving agent sees" });
  const drive = element("button", { type: "button", "data-part": "drive", title: "the agent drives without a graph, 0.25 m or 15° at a time" }, "Drive");
  const play = element("button", { type: "button", "aria-label": "play the drive", title: "play the drive" }, "▶");
  const slider = element("input", { type: "range", min: 0, max: 0, value: 0, "aria-label": "action of the drive" }), note = element("output", { "data-part": "drivenote" });
  const driven = element("div", { class: "time", hidden: true }, play, element("label", {}, "Action ", slider), note);
  const back = element("button", { type: "button", onclick: () => { forget(); say(""); refresh(); } }, "Back to the walk");
  const outcome = element("p", { class: "outcome", role: "status", "data-part": "driveoutcome" }), numbers = element("tbody", { "data-part": "drivenumbers" });
  const own = element("div", { hidden: true }, outcome, element("table", { class: "numbers" }, numbers), back);
  const panel = element("div", { class: "solid", hidden: true }, canvas,
    element("div", { class: "toggles" }, element("label", {}, "Storey ", storeys), drive, element("label", {}, follow, " follow")), driven);
  player.parts.layer.closest(".toggles").prepend(label);
  player.parts.maps.before(panel);
  player.parts.pano.before(eyes);
  player.parts.numbers.closest("table").after(own);

  const pane = () => player.panes[0];
  const ground = (id) => { const { x, y, z } = pane().map.point(id); return [x, y, z - 1.5]; };
  const nearest = (levels, z) => levels.reduce((best, level, k) => (Math.abs(level - z) < Math.abs(levels[best] - z) ? k : best), 0);
  const keyOf = ({ world_id, model, scan, text, walk: [start], start_heading_rad: heading }) => JSON.stringify([world_id, model, scan, text, start, heading]);

  const open = async () => {
    if (state.view) return;
    // A browser's own words for this are of no use to anybody.
    const three = await import("/static/vendor/three.module.min.js").catch(() => Ghosts.ask("/static/vendor/three.module.min.js").then(() => { throw new Error("The browser could not load the 3D view; reload the page."); }));
    try {
      state.view ??= new Ghosts.House3D(three, canvas);
    } catch {
      show(false);
      throw new Error("This browser draws nothing in three dimensions (no WebGL).");
    }
  };

  // What the belief's carpet shows: of the drive's last look by now, or of the walk's present step.
  const carpet = (look) => {
    const { map, header } = pane();
    const shown = look ? Ghosts.layer(look.beliefs, Math.min(player.t, look.beliefs.shape[0] - 1)) : Ghosts.shown(map.frame, player.layer, map.t);
    const likely = !look && player.layer === "likelihood" && map.t > 0, mass = likely ? shown.mass.map((value) => value * value) : shown.mass;
    const top = likely ? Math.max(...mass) : Math.max(0.02, ...mass);
    return { image: Ghosts.heatImage(mass, shown.rows, shown.cols, top, Ghosts.colours[likely ? "LIKELIHOOD" : "BELIEF"]), header: look ?? header };
  };

  const refresh = () => {
    const { map, header, scene } = pane() ?? {};
    if (!map?.frame) return;
    label.hidden = scene.kind !== "house";
    if (label.hidden && state.on) show(false);
    if (!state.on) return;
    if (state.drive && state.drive.key !== keyOf(header)) forget();
    const house = `${header.world_id} ${header.scan}`;
    if (house !== state.house) return load(house, header, scene);
    if (state.view?.meshes.length) paint();
  };

  const load = guarded(async (house, header, scene) => {
    state.house = house;
    say("Fetching the house; the first time its light is computed, which takes some seconds…");
    storeys.replaceChildren(element("option", { value: "" }, "the agent's"), ...scene.storeys.map((_, k) => element("option", { value: k }, `${k + 1}`)), element("option", { value: "all" }, "whole house"));
    try {
      await open();
      const answer = await Ghosts.ask(`/api/house?${new URLSearchParams({ world: header.world_id, scan: header.scan })}`), bytes = await answer.arrayBuffer();
      if (state.house !== house) return;
      await state.view.load(bytes);
      say("");
      refresh();
    } catch (error) {
      if (state.house === house) { state.house = ""; show(false); }
      throw error;
    }
  });

  const paint = () => {
    const { map, header, scene } = pane(), { drive: told, action } = state, { AGENT, GUIDED, DEMONSTRATOR } = Ghosts.colours;
    const mine = Boolean(told) || header.walked_by === header.model, look = told?.looks.findLast((item) => item.action <= action);
    const pose = told ? told.poses[action] : [...ground(header.walk[player.step]), map.look ?? header.walk_heading_rad[player.step]];
    const walked = told ? told.poses.slice(0, action + 1) : Ghosts.route(scene, header.walk.slice(0, player.step + 1)).map(ground);
    const storey = /^\d+$/.test(storeys.value) ? +storeys.value : nearest(scene.storeys, pose[2]), level = scene.storeys[storey];
    const goal = look ?? (told ? null : map.frame), marks = [["start", told ? told.poses[0] : ground(header.walk[0])]];
    const lines = [{ points: walked, colour: mine ? AGENT : GUIDED }];
    if (header.path.length) {
      lines.push({ points: header.path.map(ground), colour: DEMONSTRATOR, dashed: true });
      marks.push(["goal", ground(header.path[header.path.length - 1])]);
    }
    if (goal) marks.push(["predicted", [...goal.goal_xy_m, level]]);
    look?.places.forEach(([x, y, z], k) => marks.push([k === look.chosen ? "chosen" : "place", [x, y, z]]));
    const names = scene.shapes.filter((shape) => shape.k === "room" && shape.t && shape.s === storey).map(({ t, p, at }) => [t, [...(at ?? p.reduce((sum, [x, y]) => [sum[0] + x / p.length, sum[1] + y / p.length], [0, 0])), level + 0.4]]);
    state.view.show({
      storeys: scene.storeys, storey, whole: storeys.value === "all", pose, lines, marks, names, own: mine, carpet: told && !look ? null : carpet(look), camera: told ? told.camera : null, eyes, follow: told && follow.checked,
    });
    if (told) tell(look);
  };

  // How the drive stands: its own outcome, once it is there, and its own numbers.
  const tell = (look) => {
    const { poses, bumps, scores } = state.drive, last = poses.length - 1, { action } = state, ended = action === last && scores ? Ghosts.outcome(scores.distance_to_goal) : null;
    outcome.replaceChildren(...(ended ? [Ghosts.badge(ended), ` The drive stops ${ended.left_m.toFixed(1)} m from the goal after ${last} actions, ${scores.path_length.toFixed(1)} m and ${bumps.length} bumps.`] : ["The agent drives by itself."]));
    const rows = [["Sure to be within 3 m", look ? `${(100 * look.confidence).toFixed(0)} %` : "not looked around yet"], ["Looks around", state.drive.looks.filter((item) => item.action <= action).length], ["Bumps", bumps.filter((k) => k <= action).length]];
    numbers.replaceChildren(...rows.map(([title, value]) => element("tr", {}, element("th", {}, title), element("td", {}, `${value}`))));
  };

  const go = (action) => {
    if (!state.drive) return;
    const { poses, bumps } = state.drive, last = poses.length - 1;
    state.action = Math.min(last, Math.max(0, action));
    slider.value = state.action;
    const hit = bumps.filter((k) => k <= state.action).length;
    note.textContent = `${state.action} of ${last}${hit ? `, ${hit} bump${hit > 1 ? "s" : ""}` : ""}`;
    paint();
  };

  const stop = () => {
    clearInterval(state.timer);
    state.timer = null;
    play.textContent = "▶";
  };
  const toggle = () => {
    if (state.timer) return stop();
    const last = state.drive.poses.length - 1, first = state.action >= last ? 0 : state.action, since = performance.now();
    play.textContent = "❚❚";
    // By the clock: where drawing is slow, actions are left out.
    state.timer = setInterval(() => {
      go(first + Math.floor((performance.now() - since) / ACTION_MS));
      if (state.action >= last) stop();
    }, ACTION_MS);
  };

  const forget = () => {
    stop();
    state.drive = null;
    driven.hidden = true;
    standIn();
  };

  // A drive's outcome, numbers and camera stand where the walk's stood: one of the two at a time.
  const standIn = () => {
    const shown = Boolean(state.on && state.drive);
    player.root.classList.toggle("driven", shown);
    own.hidden = eyes.hidden = !shown;
  };

  const ask = guarded(async () => {
    const { header } = pane(), key = keyOf(header);
    forget();
    drive.disabled = true;
    const since = Date.now(), tick = setInterval(() => say(`Driving… ${Math.round((Date.now() - since) / 1000)} s`), 1000);
    say("Driving…");
    try {
      const told = await (await Ghosts.ask("/api/drive", source.body(header))).json();
      for (const look of told.looks) look.beliefs = await Ghosts.unpack(look.beliefs);
      if (key !== keyOf(pane().header)) return;
      state.drive = { ...told, key };
      slider.max = told.poses.length - 1;
      driven.hidden = false;
      standIn();
      say(`It took ${told.poses.length - 1} actions and looked around ${told.looks.length} times.`);
      go(0);
      toggle();
    } finally {
      clearInterval(tick);
      drive.disabled = false;
    }
  });

  const show = (on) => {
    state.on = box.checked = on;
    panel.hidden = !on;
    player.parts.maps.hidden = on;
    player.root.classList.toggle("deep", on);
    if (!on) stop();
    standIn();
    refresh();
  };

  box.addEventListener("change", () => { show(box.checked); onchange(); });
  storeys.addEventListener("change", refresh);
  follow.addEventListener("change", () => { if (!follow.checked) state.view?.orbit.reset(); refresh(); });
  drive.addEventListener("click", ask);
  play.addEventListener("click", toggle);
  slider.addEventListener("input", () => { stop(); go(+slider.value); });
  player.onrefresh = refresh;
  player.onfit = () => { if (state.on) state.view?.orbit.reset(); return state.on; };
  const handle = { show, get on() { return state.on; }, state };
  Ghosts.shown_solid = handle; // for tests, and for those who look behind the page
  return handle;
};
