"use strict";
// Inside the filter: belief before, kernel at a cell, prediction, likelihood, posterior, side by side.
Ghosts.smallMap = (canvas, header, layer, stops, { cell, window: view } = {}) => {
  const size = 184, ratio = window.devicePixelRatio || 1, c = canvas.getContext("2d");
  canvas.width = canvas.height = size * ratio;
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  c.fillStyle = "#fff";
  c.fillRect(0, 0, size, size);
  const [row0, col0, count] = view, scale = size / count, top = Math.max(...layer.mass);
  const image = Ghosts.heatImage(layer.mass, layer.rows, layer.cols, top, stops);
  c.imageSmoothingEnabled = false;
  c.drawImage(image, col0, layer.rows - row0 - count, count, count, 0, 0, size, size);
  if (cell) {
    c.strokeStyle = Ghosts.colours.INK;
    c.lineWidth = 1.5;
    c.strokeRect((cell.col - col0) * scale, (row0 + count - 1 - cell.row) * scale, scale, scale);
  }
  return top;
};

// The part of the grid where something happens: a square around the mass of this step and the chosen cell.
Ghosts.busyWindow = (layers, cell) => {
  const { rows, cols } = layers[0];
  let [r0, r1, c0, c1] = cell ? [cell.row, cell.row, cell.col, cell.col] : [rows, 0, cols, 0];
  for (const { mass } of layers) {
    const least = 0.01 * Math.max(...mass);
    mass.forEach((value, i) => {
      if (value <= least) return;
      const row = Math.floor(i / cols), col = i % cols;
      [r0, r1, c0, c1] = [Math.min(r0, row), Math.max(r1, row), Math.min(c0, col), Math.max(c1, col)];
    });
  }
  const count = Math.min(Math.max(rows, cols), Math.max(r1 - r0, c1 - c0) + 5);
  return [Math.round((r0 + r1 - count + 1) / 2), Math.round((c0 + c1 - count + 1) / 2), count];
};

// The kernel as a K × K picture; weights say how much each source heading counts.
Ghosts.drawKernel = (canvas, kernel, weights) => {
  const [headings, size] = kernel.shape, total = weights.reduce((a, b) => a + b, 0);
  const mixed = new Float32Array(size * size);
  for (let k = 0; k < headings; k++)
    for (let i = 0; i < size * size; i++) mixed[i] += (kernel.values[k * size * size + i] * (total > 0 ? weights[k] : 1)) / (total > 0 ? total : headings);
  const middle = { row: (size - 1) / 2, col: (size - 1) / 2 };
  Ghosts.smallMap(canvas, null, { rows: size, cols: size, mass: mixed }, Ghosts.colours.BELIEF, { cell: middle, window: [0, 0, size] });
  return mixed;
};

// told: {row, col, kernel} of a chosen cell, or null for the most likely cell.
Ghosts.drawInside = (box, header, frame, t, told) => {
  const steps = frame.beliefs.shape[0] - 1;
  box.replaceChildren();
  if (!steps || t < 1) {
    box.append(Ghosts.element("p", {}, steps ? "Choose filter step 1 or later: step 0 is the known start." : "This model has no filter to look into."));
    return;
  }
  const before = Ghosts.layer(frame.beliefs, t - 1), after = Ghosts.layer(frame.beliefs, t);
  const predicted = Ghosts.layer(frame.predictions, t - 1), likely = Ghosts.layer(frame.likelihoods, t - 1);
  const [row, col] = told ? [told.row, told.col] : frame.kernel_cells[t - 1];
  const cell = { row, col }, view = Ghosts.busyWindow([before, after, predicted], cell);
  const bins = (layer) => Array.from({ length: layer.headings }, (_, k) => layer.bins[(k * layer.rows + row) * layer.cols + col]);
  const size = frame.kernels.shape[3], part = frame.kernels.values.length / frame.kernels.shape[0];
  const kernel = told?.kernel ?? { shape: [frame.kernels.shape[1], size, size], values: frame.kernels.values.subarray((t - 1) * part, t * part) };
  const known = told?.kernel || (row === frame.kernel_cells[t - 1][0] && col === frame.kernel_cells[t - 1][1]);
  const percent = (value) => `${(100 * value).toPrecision(2)} %`;
  const sum = (values) => values.reduce((a, b) => a + b, 0);
  const panel = (title, note, fill) => {
    const canvas = Ghosts.element("canvas", { class: "small", role: "img", "aria-label": `${title}: ${note}` });
    box.append(Ghosts.element("figure", {}, Ghosts.element("figcaption", {}, Ghosts.element("b", {}, title)), canvas, Ghosts.element("small", {}, note)));
    fill(canvas);
  };
  const heat = (layer, stops) => (canvas) => Ghosts.smallMap(canvas, header, layer, stops, { cell, window: view });
  const { BELIEF, LIKELIHOOD } = Ghosts.colours;
  panel(`Belief, t = ${t - 1}`, `this cell ${percent(sum(bins(before)))}`, heat(before, BELIEF));
  panel("Motion kernel", known ? "where mass of this cell goes" : "of the most likely cell", (canvas) => Ghosts.drawKernel(canvas, kernel, known ? bins(before) : []));
  panel("Prediction", `this cell ${percent(sum(bins(predicted)))}`, heat(predicted, BELIEF));
  panel("Likelihood", `this cell ${(sum(bins(likely)) / likely.headings).toFixed(3)}`, heat({ ...likely, mass: likely.mass.map((value) => value * value) }, LIKELIHOOD));
  panel(`Belief, t = ${t}`, `this cell ${percent(sum(bins(after)))}`, heat(after, BELIEF));
};
