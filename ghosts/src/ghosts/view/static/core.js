"use strict";
// Shared by the viewer and the static report: unpacking records, asking the server, walking the graph.
const Ghosts = {};

Ghosts.element = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") node.className = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== null && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children) node.append(child);
  return node;
};

// Paint once with the next picture of the screen, however often it is asked for until then.
Ghosts.soon = (shown) => {
  shown.drawing ??= requestAnimationFrame(() => {
    shown.drawing = null;
    shown.paint();
  });
};

Ghosts.ask = async (path, body) => {
  const options = body === undefined ? {} : {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  };
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Error("The server does not answer. Is “ghosts view” still running?");
  }
  if (!answer.ok) {
    const told = await answer.json().catch(() => ({}));
    throw new Error(told.error || `The server answered ${answer.status}.`);
  }
  return answer;
};

// Packed arrays (ghosts.view.record.pack): square roots in eight bits, scaled along the first axis.
Ghosts.unpack = async (packed) => {
  const count = packed.shape.reduce((a, b) => a * b, 1);
  const values = new Float32Array(count);
  if (count) {
    const raw = await Ghosts.inflate(packed.data);
    const part = count / packed.shape[0];
    for (let i = 0; i < count; i++) {
      const share = raw[i] / 255;
      values[i] = share * share * packed.scale[Math.floor(i / part)];
    }
  }
  return { shape: packed.shape, values };
};

Ghosts.inflate = async (text) => {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
};

// Motion weights (ghosts.view.motion_weights): levels of each agent step as differences from the step before.
Ghosts.unpackMotion = async (motion) => {
  const levels = await Ghosts.inflate(motion.map), part = levels.length / motion.shape[0];
  for (let i = part; i < levels.length; i++) levels[i] += levels[i - part];
  return { ...motion, levels };
};

// Where mass that leaves a cell goes, for each source heading: map's part times words' part, normalised.
Ghosts.kernelOf = (motion, step, t, row, col) => {
  const [, entries, rows, cols] = motion.shape, words = motion.language[t - 1], size = Math.round(Math.sqrt(entries));
  const values = new Float32Array(words.length * entries);
  words.forEach((weights, c) => {
    const product = weights.map((weight, k) => {
      const level = motion.levels[((step * entries + k) * rows + row) * cols + col];
      return (level ? Math.exp(((level - 255) * motion.range_nats) / 254) : 0) * weight + (k === (entries - 1) / 2 ? 1e-18 : 0);
    });
    const total = product.reduce((a, b) => a + b, 0);
    product.forEach((value, k) => { values[c * entries + k] = value / total; });
  });
  return { shape: [words.length, size, size], values };
};

Ghosts.unpackFrame = async (frame) => {
  const names = ["beliefs", "predictions", "likelihoods", "smoothed", "observed", "kernels"];
  const arrays = await Promise.all(names.map((name) => Ghosts.unpack(frame[name])));
  return { ...frame, ...Object.fromEntries(names.map((name, k) => [name, arrays[k]])) };
};

// Item t of an array "t c y x", summed over headings, with each cell's share of every heading.
Ghosts.layer = (array, t) => {
  const [, headings, rows, cols] = array.shape;
  const area = rows * cols;
  const mass = new Float32Array(area);
  const first = t * headings * area;
  for (let c = 0; c < headings; c++)
    for (let i = 0; i < area; i++) mass[i] += array.values[first + c * area + i];
  return { rows, cols, headings, mass, bins: array.values.subarray(first, first + headings * area) };
};

// What one layer of a frame shows at filter step t (0 = the start).
Ghosts.shown = (frame, name, t) => {
  const steps = frame.beliefs.shape[0] - 1;
  if (name === "prediction" && steps && t > 0) return Ghosts.layer(frame.predictions, t - 1);
  if (name === "likelihood" && steps && t > 0) return Ghosts.layer(frame.likelihoods, t - 1);
  return Ghosts.layer(name === "smoothed" ? frame.smoothed : frame.beliefs, Math.min(t, steps));
};

Ghosts.neighbours = (scene) => {
  if (!scene.next) {
    scene.next = scene.viewpoints.map(() => []);
    for (const [a, b] of scene.edges) {
      scene.next[a].push(b);
      scene.next[b].push(a);
    }
    scene.index = new Map(scene.viewpoints.map((point, row) => [point.id, row]));
  }
  return scene.next;
};

// First stop on the shortest walk between two viewpoints (Dijkstra); null where there is none.
Ghosts.firstStop = (scene, from, to) => {
  const next = Ghosts.neighbours(scene);
  const start = scene.index.get(from), goal = scene.index.get(to);
  const distance = new Map([[goal, 0]]), open = new Set([goal]);
  while (open.size) {
    let here = null;
    for (const row of open) if (here === null || distance.get(row) < distance.get(here)) here = row;
    open.delete(here);
    for (const other of next[here]) {
      const a = scene.viewpoints[here], b = scene.viewpoints[other];
      const length = distance.get(here) + Math.hypot(a.x - b.x, a.y - b.y, a.z - b.z);
      if (length < (distance.get(other) ?? Infinity)) {
        distance.set(other, length);
        open.add(other);
      }
    }
  }
  if (start === goal || !distance.has(start)) return null;
  const cost = (row) => {
    const a = scene.viewpoints[start], b = scene.viewpoints[row];
    return (distance.get(row) ?? Infinity) + Math.hypot(a.x - b.x, a.y - b.y, a.z - b.z);
  };
  return scene.viewpoints[next[start].reduce((best, row) => (cost(row) < cost(best) ? row : best))].id;
};

// The stops of a walk with the viewpoints between them: an agent walks past visited ones without looking.
Ghosts.route = (scene, ids) => {
  const next = Ghosts.neighbours(scene), walked = ids.slice(0, 1);
  for (const id of ids.slice(1)) {
    while (walked[walked.length - 1] !== id && !next[scene.index.get(walked[walked.length - 1])].includes(scene.index.get(id))) {
      const stop = Ghosts.firstStop(scene, walked[walked.length - 1], id);
      if (!stop) break;
      walked.push(stop);
    }
    walked.push(id);
  }
  return walked;
};

// A candidate's value in words: a share in percent, a worth as a number.
Ghosts.valueText = (choice, id) => (choice.by === "planner" ? choice.candidates[id].toFixed(2) : `${(100 * choice.candidates[id]).toFixed(0)} %`);

// A viewpoint as people call it: by its room, where that is known.
Ghosts.placeText = (scene, id) => {
  Ghosts.neighbours(scene);
  const room = scene.viewpoints[scene.index.get(id)]?.r;
  return room ? `the ${room}` : `viewpoint ${id.slice(0, 6)}…`;
};

// The room at a place of a storey; empty where none is known.
Ghosts.roomAt = (scene, storey, x, y) => {
  const inside = (corners) => corners.reduce((odd, [ax, ay], k) => {
    const [bx, by] = corners[(k + 1) % corners.length];
    return ay > y !== by > y && x < ax + ((y - ay) * (bx - ax)) / (by - ay) ? !odd : odd;
  }, false);
  return scene.shapes.find((shape) => shape.k === "room" && shape.t && shape.s === storey && inside(shape.p))?.t ?? "";
};

// Every place to stand with a name of its own: "bedroom 2".
Ghosts.namedPlaces = (scene) => {
  const count = {};
  return scene.viewpoints.filter((point) => point.ok).map(({ id, r }) => {
    const room = r || "viewpoint";
    count[room] = (count[room] ?? 0) + 1;
    return { id, room, number: count[room] };
  }).map(({ id, room, number }) => [id, count[room] > 1 ? `${room} ${number}` : room]).sort((a, b) => a[1].localeCompare(b[1], "en", { numeric: true }));
};

// What the agent does next, in words.
Ghosts.choiceText = (choice, scene) => {
  const value = Ghosts.valueText(choice, choice.chosen), place = Ghosts.placeText(scene, choice.chosen);
  const what = choice.stops ? (choice.moves.length ? `goes back to ${place} and stops` : "stops here") : `walks towards ${place}`;
  // A policy that reads weighs what it saw and read against the belief.
  const from = choice.read == null ? "" : `, ${Math.round(100 * (1 - choice.read))} % from the belief and ${Math.round(100 * choice.read)} % from reading the map`;
  return `${what} (${{ policy: "probability", planner: "worth", mass: "goal mass" }[choice.by]} ${value}${from})`;
};

// Whether a key is the page's: not with Ctrl, Alt or Cmd, and not one that the focused control takes itself.
Ghosts.free = (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return false;
  const { tagName, type } = event.target, press = event.key === " " || event.key === "Enter";
  if (["BUTTON", "SUMMARY", "A"].includes(tagName) || (tagName === "INPUT" && type === "checkbox")) return !press;
  if (tagName === "INPUT" && type === "range") return !press && !/^(Arrow|Page|Home|End)/.test(event.key);
  return !["INPUT", "TEXTAREA", "SELECT"].includes(tagName);
};

Ghosts.save = (name, blob) => {
  const link = Ghosts.element("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
};
