"use strict";
// The static report: everything is in the page, nothing is asked of any server.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  $("player").innerHTML = Ghosts.playerMarkup();
  const paintings = new Map(), motions = new Map();
  const record = ({ number, model_number: k }) => data.episodes[number].models[k];
  const unpacked = (motion) => {
    if (!motions.has(motion)) motions.set(motion, Ghosts.unpackMotion(motion));
    return motions.get(motion);
  };
  const source = {
    line: async (header) => record(header).frames,
    frame: async (header, step) => record(header).frames[step],
    kernel: async (header, step, t, { row, col }) => {
      const { motion } = record(header);
      return motion && Ghosts.kernelOf(await unpacked(motion), step, t, row, col);
    },
    panorama: (header, viewpoint) => data.panoramas[`${header.scan}/${viewpoint}`] ?? null,
    painting: async (header, storey) => {
      const key = `${header.scan}/${storey}`, told = data.paintings[key];
      if (!told) return null;
      if (!paintings.has(key)) {
        const image = new Image();
        image.src = told.image;
        await image.decode();
        paintings.set(key, { ...told, image, storey });
      }
      return paintings.get(key);
    },
  };
  const say = (text) => { $("message").textContent = text; };
  let current = 0;
  const remember = (step, t) => history.replaceState(null, "", `#${new URLSearchParams({ e: data.episodes[current].name, k: step, t })}`);
  const player = new Ghosts.Player($("player"), { onmove: remember, onerror: (error) => say(error.message) });
  const show = async (wanted, where = {}) => {
    current = (wanted + data.episodes.length) % data.episodes.length;
    const episode = data.episodes[current], number = current;
    // Opens where the walk ends: before it, most of the belief lies on ground nobody has seen.
    const { step = episode.models[0].walk.length - 1, t } = where;
    list.mark(episode.name);
    $("title").textContent = `Episode ${episode.name.replace(/^episode /, "")}: ${episode.note}`;
    $("said").textContent = `“${episode.models[0].text}”`;
    related();
    await player.open(episode.models.map(({ frames: _, motion: __, ...header }, k) => ({
      header: { ...header, number, model_number: k }, source, scene: data.scenes[header.scan],
    })), { step, t });
  };
  // Other episodes of this report that have to do with this one.
  const related = () => {
    const mine = data.episodes[current].models[0], path = (id) => id.replace(/_[^_]*$/, "");
    const near = data.episodes.map((episode, k) => ({ k, name: episode.name, scan: episode.models[0].scan, id: episode.models[0].instr_id }))
      .filter(({ k, scan }) => k !== current && scan === mine.scan);
    $("related").replaceChildren(...(near.length ? ["In the same building: "] : []), ...near.flatMap(({ k, name, id }) => [
      Ghosts.element("a", { href: `#e=${name}`, onclick: (event) => { event.preventDefault(); show(k); } }, path(id) === path(mine.instr_id) ? `${name} (same path)` : name), " "]));
  };
  // Every instruction of the evaluation; those that can be looked into are buttons.
  const open = new Map(data.episodes.map(({ name }, k) => [name, k]));
  const note = ({ name, error_m: off }) => [open.has(name) ? data.episodes[open.get(name)].note : "", off === null ? "" : `fixed walk: predicted ${off.toFixed(1)} m off`].filter(Boolean).join(" · ");
  const far = (item) => item.left_m ?? item.error_m ?? 0, orders = { best: (a, b) => far(a) - far(b), worst: (a, b) => far(b) - far(a), looked: (a, b) => (open.get(a.name) ?? Infinity) - (open.get(b.name) ?? Infinity) || 0 };
  const list = new Ghosts.EpisodeList($("episodes"), {
    sorts: [["looked", "those to look into first"], ["best", "best first"], ["worst", "worst first"], ["listed", "as listed"]],
    ends: data.list.some(({ left_m }) => left_m !== null),
    load: async ({ find, sort, offset, ended }) => {
      const words = find.toLowerCase().split(/\s+/).filter(Boolean);
      const found = data.list.filter((item) => (!ended || Ghosts.outcome(item.left_m)?.good === (ended === "arrived")) && words.every((word) => `${item.name} ${item.text} ${item.scan}`.toLowerCase().includes(word)));
      if (orders[sort]) found.sort(orders[sort]);
      const shown = found.slice(offset, offset + 100).map((item) => ({ id: item.name, text: item.text, note: note(item), badge: Ghosts.outcome(item.left_m), closed: !open.has(item.name) }));
      return { total: found.length, episodes: shown };
    },
    onpick: ({ id }) => show(open.get(id)).then(() => $("title").scrollIntoView({ behavior: "smooth" })),
    onerror: (error) => say(error.message),
  });
  $("before").addEventListener("click", () => show(current - 1));
  $("after").addEventListener("click", () => show(current + 1));
  document.addEventListener("keydown", (event) => {
    if (!Ghosts.free(event)) return;
    if (event.key === "[") show(current - 1);
    else if (event.key === "]") show(current + 1);
    else player.key(event);
  });
  const link = new URLSearchParams(location.hash.slice(1));
  const named = data.episodes.findIndex((episode) => episode.name === link.get("e"));
  list.refresh();
  show(Math.max(0, named), link.has("k") ? { step: +link.get("k"), t: +link.get("t") } : {}).catch((error) => say(error.message));
})();
