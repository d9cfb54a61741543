"use strict";
// One set of colours (ghosts.view.style holds the same table) and heat maps made of them.
Ghosts.colours = {
  AGENT: "#0072B2", GUIDED: "#6b6b6b", DEMONSTRATOR: "#E69F00", GOAL: "#CC79A7", PREDICTED: "#000000", START: "#009E73",
  EDGE: "#9aa7b0", NODE: "#5c6b75", CANDIDATE: "#56B4E9", SIGHT: "#6a3d8f", INK: "#1f2428", PAPER: "#ffffff", UNSEEN: "#8d979e",
  BELIEF: [[1.0, 0.96, 0.9], [0.99, 0.68, 0.42], [0.9, 0.33, 0.05], [0.5, 0.06, 0.02]],
  LIKELIHOOD: [[0.97, 0.97, 1.0], [0.62, 0.79, 0.88], [0.19, 0.51, 0.74], [0.03, 0.19, 0.42]],
};

Ghosts.heatImage = (mass, rows, cols, top, stops) => {
  const canvas = document.createElement("canvas");
  canvas.width = cols;
  canvas.height = rows;
  const context = canvas.getContext("2d"), image = context.createImageData(cols, rows);
  for (let row = 0; row < rows; row++)
    for (let col = 0; col < cols; col++) {
      const share = top > 0 ? Math.sqrt(Math.min(1, Math.max(0, mass[row * cols + col] / top))) : 0;
      const at = share * (stops.length - 1), low = Math.min(Math.floor(at), stops.length - 2), part = at - low;
      const pixel = 4 * ((rows - 1 - row) * cols + col); // row 0 is south, pictures start in the north
      for (let k = 0; k < 3; k++) image.data[pixel + k] = 255 * (stops[low][k] * (1 - part) + stops[low + 1][k] * part);
      image.data[pixel + 3] = 255 * Math.min(0.88, 1.6 * share);
    }
  context.putImageData(image, 0, 0);
  return canvas;
};

Ghosts.corner = (header, grid = header.grid) => [
  header.origin_xy_m[0] - (grid[1] * grid[2]) / 2,
  header.origin_xy_m[1] - (grid[0] * grid[2]) / 2,
];
