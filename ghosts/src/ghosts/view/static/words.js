"use strict";
// The instruction with the attention of the present filter step, and the whole words × steps picture.
Ghosts.tint = (share, stops) => {
  const at = Math.sqrt(Math.min(1, Math.max(0, share))) * (stops.length - 1), low = Math.min(Math.floor(at), stops.length - 2), part = at - low;
  const mix = stops[low].map((value, k) => Math.round(255 * (value * (1 - part) + stops[low + 1][k] * part)));
  return { background: `rgb(${mix})`, color: share > 0.45 ? "#fff" : "#1f2428" };
};

Ghosts.drawWords = (box, header, t, { onchange } = {}) => {
  const act = header.action_attention[t - 1], see = header.observation_attention[t - 1];
  box.replaceChildren();
  header.words.forEach((word, k) => {
    const bar = (share, stops, title) => {
      const mark = Ghosts.element("i", { title: `${title} ${(100 * share).toFixed(0)} %` });
      mark.style.background = Ghosts.tint(1, stops.slice(0, 3)).background; // its height says how much, on light and dark
      mark.style.opacity = 0.25 + 0.75 * Math.sqrt(share);
      mark.style.height = `${2 + 10 * Math.sqrt(share)}px`;
      return mark;
    };
    const bars = act ? [bar(see[k], Ghosts.colours.LIKELIHOOD, "observation"), bar(act[k], Ghosts.colours.BELIEF, "motion")] : [];
    const label = Ghosts.element("b", {}, word);
    const chip = Ghosts.element(onchange ? "button" : "span", {
      class: `word${header.unknown[k] ? " unknown" : ""}`,
      title: header.unknown[k] ? "the model does not know this word" : onchange ? "change this word" : undefined,
      "data-word": k,
    }, Ghosts.element("span", { class: "bars" }, ...bars), label);
    if (onchange) chip.addEventListener("click", () => Ghosts.editWord(chip, word, (changed) => onchange(k, changed)));
    box.append(chip);
  });
};

Ghosts.editWord = (chip, word, done) => {
  const input = Ghosts.element("input", { value: word, class: "edit", "aria-label": `word instead of ${word}`, maxlength: 40 });
  input.style.width = `${Math.max(5, word.length + 2)}ch`;
  let finished = false;
  const finish = (keep) => {
    if (finished) return;
    finished = true;
    input.replaceWith(chip);
    if (keep && input.value.trim() !== word) done(input.value.trim());
  };
  input.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Enter") finish(true);
    if (event.key === "Escape") finish(false);
  });
  input.addEventListener("blur", () => finish(true));
  chip.replaceWith(input);
  input.focus();
  input.select();
};

// Words joined as people write them: no space before a mark.
Ghosts.joinWords = (words) => words.filter(Boolean).join(" ").replace(/ ([.,;:!?')])/g, "$1").replace(/([('’]) /g, "$1");

Ghosts.drawAttention = (box, header, t, onstep) => {
  box.replaceChildren();
  if (!header.action_attention.length) {
    box.append("This model reads the instruction as a whole: it has no attention over steps.");
    return;
  }
  for (const [title, rows, stops] of [
    ["Observation attention: what should be seen", header.observation_attention, Ghosts.colours.LIKELIHOOD],
    ["Motion attention: what should be done", header.action_attention, Ghosts.colours.BELIEF],
  ]) {
    const head = Ghosts.element("tr", {}, Ghosts.element("th"), ...header.words.map((word) => Ghosts.element("th", {}, Ghosts.element("span", {}, word))));
    const body = rows.map((row, k) => {
      const line = Ghosts.element("tr", { class: k + 1 === t ? "now" : "", onclick: () => onstep(k + 1) }, Ghosts.element("th", {}, `t = ${k + 1}`));
      row.forEach((share, word) => {
        const cell = Ghosts.element("td", { title: `${header.words[word]}: ${(100 * share).toFixed(1)} %` });
        cell.style.background = Ghosts.tint(share, stops).background;
        line.append(cell);
      });
      return line;
    });
    box.append(Ghosts.element("h4", {}, title), Ghosts.element("div", { class: "scroll" }, Ghosts.element("table", { class: "attention" }, head, ...body)));
  }
};
