"use strict";
// The viewer's Save menu: link, picture, record, film. It closes with Escape and by a click beside it.
Ghosts.saving = ({ player, source, say, guarded, question }) => {
  const $ = (id) => document.getElementById(id);

  const fileName = (kind) => `ghosts-${question().instr_id || "episode"}.${kind}`;

  const film = (kind) => guarded(async () => {
    const since = Date.now(), job = Math.random().toString(36).slice(2);
    const tick = setInterval(async () => {
      const { done, total } = await (await Ghosts.ask(`/api/film/${job}`)).json().catch(() => ({}));
      const left = done ? `, about ${Math.ceil(((Date.now() - since) / 1000 / done) * (total - done))} s left` : "";
      if (done < total) say(`Drawing the film… step ${done} of ${total}${left}`);
    }, 1000);
    try {
      say("Drawing the film…");
      const answer = await Ghosts.ask("/api/film", { ...source.body(question()), kind, job, beside: player.panes[1]?.header.model ?? "" });
      Ghosts.save(fileName(kind), await answer.blob());
    } finally {
      clearInterval(tick);
    }
    say("Film saved.");
  });

  // One record, or a list of them where models are compared; `ghosts report --record` reads both.
  const saveRecord = async () => {
    const records = await Promise.all(player.panes.map(({ header }) => source.record(header)));
    Ghosts.save(fileName("json"), new Blob([JSON.stringify(records.length > 1 ? records : records[0])], { type: "application/json" }));
    say("Record saved.");
  };

  const savePicture = async () => {
    const blob = await new Promise((done) => Ghosts.picture(player).toBlob(done));
    if (!blob) throw new Error("The browser could not make the picture; make the window smaller and try again.");
    Ghosts.save(fileName("png"), blob);
    say("Picture saved.");
  };

  // By plain HTTP from another machine browsers offer no clipboard; the old way still works there.
  const copyLink = async () => {
    if (navigator.clipboard) await navigator.clipboard.writeText(location.href);
    else {
      const box = Ghosts.element("textarea", { readonly: true, "aria-label": "link" });
      box.value = location.href;
      document.body.append(box);
      box.select();
      const done = document.execCommand("copy");
      box.remove();
      if (!done) throw new Error(`The browser does not let this page copy; here is the link: ${location.href}`);
    }
    say("Link copied.");
  };

  $("link").addEventListener("click", guarded(copyLink));
  $("png").addEventListener("click", guarded(savePicture));
  $("json").addEventListener("click", guarded(saveRecord));
  $("mp4").addEventListener("click", film("mp4"));
  $("gif").addEventListener("click", film("gif"));
  document.addEventListener("pointerdown", (event) => { if (!event.target.closest("#save")) $("save").open = false; });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !$("save").open) return;
    $("save").open = false;
    $("save").querySelector("summary").focus();
  });
};
