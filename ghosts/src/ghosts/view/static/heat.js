"use strict";
// The colours are those of ghosts_houses.draw.style, put here when the script is read (view.report.static_text).
Ghosts.colours = {};

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
