"use strict";
// The whole episode at this moment as one picture: instruction, maps, inside the filter and attention of every model.
Ghosts.picture = (player) => {
  const width = 880, gap = 24, ratio = 2, c = document.createElement("canvas").getContext("2d");
  const columns = player.panes.map((pane, k) => ({ pane, inside: [...player.parts.inside.querySelectorAll(".inside")][k] }));
  const { words, walk } = player.header, maps = columns.map(({ pane }) => (width * pane.canvas.height) / pane.canvas.width);
  c.font = "17px system-ui, sans-serif";
  const lines = Ghosts.wrap(c, Ghosts.joinWords(words), columns.length * (width + gap) - gap);
  const top = 20 + 24 * lines.length + 22, map = Math.max(...maps), small = (width - 4 * 12) / 5;
  const attention = Math.max(...columns.map(({ pane }) => Ghosts.attentionHeight(c, pane.header)));
  c.canvas.width = ratio * (columns.length * (width + gap) + gap);
  c.canvas.height = ratio * (top + 24 + map + 16 + small + 48 + attention + 20);
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  c.fillStyle = "#fff";
  c.fillRect(0, 0, c.canvas.width, c.canvas.height);
  c.fillStyle = Ghosts.colours.INK;
  c.font = "17px system-ui, sans-serif";
  lines.forEach((line, k) => c.fillText(line, gap, 34 + 24 * k));
  c.font = "13px system-ui, sans-serif";
  c.fillText(`agent step ${player.step + 1} of ${walk.length}, filter step ${player.t} of ${player.filterSteps}`, gap, top - 8);
  columns.forEach(({ pane, inside }, k) => {
    const x = gap + k * (width + gap);
    let y = top + 24;
    c.font = "600 15px system-ui, sans-serif";
    c.textAlign = "left";
    c.fillStyle = Ghosts.colours.INK;
    c.fillText(pane.header.model, x, y - 8);
    pane.map.finely((ratio * width) / pane.canvas.getBoundingClientRect().width, () => c.drawImage(pane.canvas, x, y, width, maps[k]));
    c.strokeStyle = "#d5dadd";
    c.strokeRect(x, y, width, maps[k]);
    y += map + 16;
    [...inside.querySelectorAll("figure")].forEach((figure, n) => {
      const left = x + n * (small + 12);
      c.drawImage(figure.querySelector("canvas"), left, y + 18, small, small);
      c.strokeRect(left, y + 18, small, small);
      c.fillStyle = Ghosts.colours.INK;
      c.font = "600 13px system-ui, sans-serif";
      c.fillText(figure.querySelector("figcaption").textContent, left, y + 12);
      c.font = "12px system-ui, sans-serif";
      c.fillText(figure.querySelector("small").textContent, left, y + small + 34);
    });
    Ghosts.paintAttention(c, pane.header, pane.map.t, x, y + small + 48, width);
  });
  return c.canvas;
};

Ghosts.wrap = (c, text, width) => text.split(" ").reduce((lines, word) => {
  const longer = `${lines[lines.length - 1]} ${word}`.trim();
  return c.measureText(longer).width <= width ? [...lines.slice(0, -1), longer] : [...lines, word];
}, [""]);

Ghosts.attentionHeight = (c, header) => (header.action_attention.length ? 2 * (26 + 18 * header.action_attention.length) + Ghosts.longestWord(c, header) + 12 : 20);

Ghosts.longestWord = (c, header) => {
  c.font = "12px system-ui, sans-serif";
  return Math.max(...header.words.map((word) => c.measureText(word).width));
};

Ghosts.paintAttention = (c, header, t, x, y, width) => {
  const each = Math.min(30, (width - 44) / header.words.length), { LIKELIHOOD, BELIEF, INK } = Ghosts.colours;
  for (const [title, rows, stops] of [["what should be seen", header.observation_attention, LIKELIHOOD], ["what should be done", header.action_attention, BELIEF]]) {
    if (!rows.length) return;
    c.fillStyle = INK;
    c.font = "600 13px system-ui, sans-serif";
    c.fillText(title, x, y + 16);
    c.font = "12px system-ui, sans-serif";
    rows.forEach((row, k) => {
      c.fillStyle = INK;
      c.fillText(`t = ${k + 1}`, x, y + 37 + 18 * k);
      row.forEach((share, n) => {
        c.fillStyle = Ghosts.tint(share, stops).background;
        c.fillRect(x + 44 + n * each, y + 24 + 18 * k, each - 1, 17);
      });
      c.strokeStyle = INK;
      if (k + 1 === t) c.strokeRect(x + 43, y + 23.5 + 18 * k, each * row.length + 1, 18);
    });
    y += 26 + 18 * rows.length;
  }
  header.words.forEach((word, n) => {
    c.save();
    c.translate(x + 44 + (n + 0.5) * each + 4, y + 6 + Ghosts.longestWord(c, header));
    c.rotate(-Math.PI / 2);
    c.fillStyle = INK;
    c.font = "12px system-ui, sans-serif";
    c.textAlign = "left";
    c.fillText(word, Ghosts.longestWord(c, header) - c.measureText(word).width, 0);
    c.restore();
  });
};
