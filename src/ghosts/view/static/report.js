"use strict";
// The static report: everything is in the page, nothing is asked of any server.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  $("player").innerHTML = Ghosts.playerMarkup();
  const paintings = new Map();
  const source = {
    frame: async (header, step) => data.episodes[header.number].frames[step],
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
  const show = async (number, where = {}) => {
    current = (number + data.episodes.length) % data.episodes.length;
    const episode = data.episodes[current], { frames: _, ...header } = episode;
    document.querySelectorAll(".card").forEach((card, k) => card.classList.toggle("now", k === current));
    $("title").textContent = `Episode ${episode.name}: ${episode.note}`;
    await player.open([{ header: { ...header, number: current }, source, scene: data.scenes[episode.scan] }], where);
  };
  $("cards").replaceChildren(...data.episodes.map((episode, k) => Ghosts.element("button", {
    class: "card", "data-episode": episode.name, onclick: () => show(k).then(() => $("title").scrollIntoView({ behavior: "smooth" })),
  }, Ghosts.element("small", {}, `${episode.note} · ${episode.name}`), episode.text)));
  for (const link of document.querySelectorAll("a[data-go]")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      const number = data.episodes.findIndex((episode) => episode.name === link.dataset.go);
      if (number >= 0) show(number).then(() => $("title").scrollIntoView({ behavior: "smooth" }));
    });
  }
  $("before").addEventListener("click", () => show(current - 1));
  $("after").addEventListener("click", () => show(current + 1));
  document.addEventListener("keydown", (event) => {
    if (event.key === "[") show(current - 1);
    else if (event.key === "]") show(current + 1);
    else player.key(event);
  });
  const link = new URLSearchParams(location.hash.slice(1));
  const named = data.episodes.findIndex((episode) => episode.name === link.get("e"));
  show(Math.max(0, named), link.has("k") ? { step: +link.get("k"), t: +link.get("t") } : {}).catch((error) => say(error.message));
})();
