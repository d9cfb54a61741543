"use strict";
// A house in three dimensions: its mesh with baked light, cut open above a storey, the belief as a carpet on the floor,
// the walk or drive, and the agent. World metres are z up, three.js is y up.
Ghosts.House3D = class {
  constructor(three, canvas) {
    Object.assign(this, { three, canvas, meshes: [], body: null, drawing: null });
    this.renderer = new three.WebGLRenderer({ canvas, antialias: true, preserveDrawingBuffer: true });
    this.scene = new three.Scene();
    this.scene.background = new three.Color("#e9ecee");
    this.camera = new three.PerspectiveCamera(45, 1, 0.1, 300);
    this.eyes = new three.PerspectiveCamera(60, 1, 0.05, 300);
    this.cut = new three.Plane(new three.Vector3(0, -1, 0), 1e3);
    this.signs = new three.Group();
    this.scene.add(this.signs);
    this.orbit = new Ghosts.Orbit(canvas, () => this.draw());
    new ResizeObserver(() => this.resize()).observe(canvas);
  }

  place([x, y, z]) { return new this.three.Vector3(x, z, -y); }

  // The file is our own (houses/assets/glb.py): one texture, shared vertices, one list of triangles per label.
  async load(buffer) {
    const T = this.three, length = new DataView(buffer).getUint32(12, true);
    const told = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 20, length))), binary = 28 + length;
    const bytes = (number) => new Uint8Array(buffer, binary + told.bufferViews[number].byteOffset, told.bufferViews[number].byteLength);
    const numbers = (accessor, Kind, size) => {
      const { bufferView, byteOffset = 0, count } = told.accessors[accessor];
      return new Kind(buffer, binary + told.bufferViews[bufferView].byteOffset + byteOffset, count * size);
    };
    const picture = await createImageBitmap(new Blob([bytes(told.images[0].bufferView)], { type: told.images[0].mimeType }), { colorSpaceConversion: "none" });
    const map = Object.assign(new T.Texture(picture), { flipY: false, colorSpace: T.SRGBColorSpace, generateMipmaps: false, minFilter: T.LinearFilter, needsUpdate: true });
    this.clear();
    const material = new T.MeshBasicMaterial({ map }), { POSITION, TEXCOORD_0 } = told.meshes[0].primitives[0].attributes;
    const position = new T.BufferAttribute(numbers(POSITION, Float32Array, 3), 3), uv = new T.BufferAttribute(numbers(TEXCOORD_0, Float32Array, 2), 2);
    for (const { name, primitives: [part] } of told.meshes) {
      const geometry = new T.BufferGeometry();
      geometry.setAttribute("position", position);
      geometry.setAttribute("uv", uv);
      geometry.setIndex(new T.BufferAttribute(numbers(part.indices, Uint32Array, 1), 1));
      const mesh = Object.assign(new T.Mesh(geometry, material), { name, frustumCulled: false });
      this.meshes.push(mesh);
      this.scene.add(mesh);
    }
    const { min, max } = told.accessors[POSITION];
    this.box = [[min[0], -max[2], min[1]], [max[0], -min[2], max[1]]];
    this.resize();
    this.fit();
  }

  // All of the storeys that are shown; the picture of the eyes is drawn on a canvas of its own.
  fit(from = this.box[0][2], to = this.box[1][2]) {
    const [[x0, y0], [x1, y1]] = this.box, { clientWidth: wide, clientHeight: high } = this.canvas;
    this.fitted = [from, to];
    this.orbit.fit([x0, y0, from], [x1, y1, to], wide / Math.max(1, high), (this.camera.fov * Math.PI) / 180);
  }

  clear() {
    for (const mesh of this.meshes) {
      mesh.geometry.dispose();
      mesh.material.map?.dispose();
      mesh.material.dispose();
      this.scene.remove(mesh);
    }
    this.meshes = [];
  }

  // What lies in the house now. pose: [x, y, z on the ground, heading]; carpet: {image, header}; lines: [{points, colour, dashed}].
  // names: [[text, [x, y, z]]]; eyes: a canvas for what its own camera sees; follow: the camera goes with it.
  show({ storeys, storey, whole, pose, carpet, lines, marks, names, own, camera, eyes, follow }) {
    const T = this.three, level = storeys[storey] ?? 0, above = storeys[storey + 1];
    this.signs.traverse((item) => {
      item.geometry?.dispose();
      item.material?.map?.dispose();
      item.material?.dispose();
    });
    this.signs.clear();
    // Walls end a little above the doors, so that one looks into the rooms.
    this.cut.constant = whole ? 1e3 : Math.min(level + 2.2, above === undefined ? Infinity : above - 0.4);
    const range = whole ? [this.box[0][2], this.box[1][2]] : [level, level + 2.2];
    if (String(range) !== String(this.fitted)) this.fit(...range);
    if (follow) Object.assign(this.orbit, { target: pose.slice(0, 3), far: Math.min(this.orbit.far, 7) });
    for (const [text, xyz] of names) this.name(text, xyz);
    if (carpet) this.lay(carpet, level + 0.03);
    for (const line of lines) this.line(line);
    for (const [kind, xyz] of marks) this.mark(kind, xyz);
    this.body = this.figure(pose, own);
    this.signs.add(this.body);
    Object.assign(this, { camera3: camera, eyesCanvas: eyes });
    if (camera) {
      const [x, y, z, heading] = pose, { up_m: up, elevation_rad: tilt } = camera, flat = Math.cos(tilt);
      this.eyes.fov = (camera.hfov_rad * 180) / Math.PI;
      this.eyes.position.copy(this.place([x, y, z + up]));
      this.eyes.lookAt(this.place([x + Math.sin(heading) * flat, y + Math.cos(heading) * flat, z + up + Math.sin(tilt)]));
      this.eyes.updateProjectionMatrix();
    }
    this.draw();
  }

  lay({ image, header }, z) {
    const T = this.three, [rows, cols, cell] = header.grid, [left, bottom] = Ghosts.corner(header);
    const map = Object.assign(new T.CanvasTexture(image), { colorSpace: T.SRGBColorSpace, magFilter: T.NearestFilter, minFilter: T.LinearFilter, generateMipmaps: false });
    const sheet = new T.Mesh(new T.PlaneGeometry(cols * cell, rows * cell), new T.MeshBasicMaterial({ map, transparent: true, depthWrite: false }));
    sheet.rotation.x = -Math.PI / 2;
    sheet.position.copy(this.place([left + (cols * cell) / 2, bottom + (rows * cell) / 2, z]));
    this.signs.add(sheet);
  }

  // A room's name, a little above its floor, turned to whoever looks.
  name(text, xyz) {
    const T = this.three, sheet = document.createElement("canvas"), c = sheet.getContext("2d"), size = 44;
    c.font = `600 ${size}px system-ui, sans-serif`;
    Object.assign(sheet, { width: c.measureText(text).width + 24, height: size + 20 });
    Object.assign(c, { font: `600 ${size}px system-ui, sans-serif`, textBaseline: "middle", lineWidth: 10, lineJoin: "round", strokeStyle: "#ffffffe0", fillStyle: "#3b3b3b" });
    c.strokeText(text, 12, sheet.height / 2);
    c.fillText(text, 12, sheet.height / 2);
    const map = Object.assign(new T.CanvasTexture(sheet), { colorSpace: T.SRGBColorSpace, generateMipmaps: false, minFilter: T.LinearFilter });
    const sprite = new T.Sprite(new T.SpriteMaterial({ map, depthTest: false, clippingPlanes: [] }));
    sprite.renderOrder = 9; // over the carpet
    sprite.position.copy(this.place(xyz));
    sprite.scale.set((0.42 * sheet.width) / sheet.height, 0.42, 1);
    this.signs.add(sprite);
  }

  solid(geometry, colour) { return new this.three.Mesh(geometry, new this.three.MeshBasicMaterial({ color: colour })); }

  // Tubes a little above the ground; a line of one pixel would be lost.
  line({ points, colour, dashed }) {
    const T = this.three, material = new T.MeshBasicMaterial({ color: colour }), up = new T.Vector3(0, 1, 0);
    for (let k = 1; k < points.length; k++) {
      const [a, b] = [points[k - 1], points[k]].map(([x, y, z]) => this.place([x, y, z + (dashed ? 0.1 : 0.07)])), along = b.clone().sub(a), length = along.length();
      if (length < 1e-4) continue;
      const count = dashed ? Math.max(1, Math.round(length / 0.4)) : 1, part = (length / count) * (dashed ? 0.6 : 1);
      for (let n = 0; n < count; n++) {
        const tube = new T.Mesh(new T.CylinderGeometry(0.045, 0.045, part + (dashed ? 0 : 0.03), 6), material);
        tube.quaternion.setFromUnitVectors(up, along.clone().normalize());
        tube.position.copy(a).addScaledVector(along, (n + 0.5) / count);
        this.signs.add(tube);
      }
    }
  }

  mark(kind, xyz) {
    const T = this.three, { START, GOAL, PREDICTED, CANDIDATE } = Ghosts.colours, at = (mesh, [x, y, z]) => { mesh.position.copy(this.place([x, y, z])); this.signs.add(mesh); return mesh; };
    const [x, y, z] = xyz;
    if (kind === "start") at(this.solid(new T.BoxGeometry(0.34, 0.06, 0.34), START), [x, y, z + 0.05]);
    if (kind === "place") at(this.solid(new T.CylinderGeometry(0.13, 0.13, 0.04, 16), CANDIDATE), [x, y, z + 0.05]);
    if (kind === "chosen") at(this.solid(new T.CylinderGeometry(0.2, 0.2, 0.06, 20), Ghosts.colours.AGENT), [x, y, z + 0.05]);
    if (kind === "goal") {
      at(this.solid(new T.CylinderGeometry(0.025, 0.025, 1.3, 8), GOAL), [x, y, z + 0.65]);
      at(this.solid(new T.OctahedronGeometry(0.24), GOAL), [x, y, z + 1.5]);
    }
    if (kind === "predicted")
      for (const turn of [1, -1]) at(this.solid(new T.BoxGeometry(0.7, 0.05, 0.12), PREDICTED), [x, y, z + 0.08]).rotation.y = (turn * Math.PI) / 4;
  }

  // A ghost as tall as people, with a nose towards where it looks.
  figure([x, y, z, heading], own) {
    const T = this.three, group = new T.Group(), colour = own ? Ghosts.colours.AGENT : Ghosts.colours.GUIDED;
    const cloak = this.solid(new T.CylinderGeometry(0.13, 0.26, 1.15, 20), colour), head = this.solid(new T.SphereGeometry(0.19, 20, 14), colour), nose = this.solid(new T.ConeGeometry(0.09, 0.34, 12), "#ffffff");
    cloak.position.y = 0.62;
    head.position.y = 1.28;
    nose.position.set(0, 1.28, -0.26);
    nose.rotation.x = -Math.PI / 2;
    group.add(cloak, head, nose);
    group.position.copy(this.place([x, y, z]));
    group.rotation.y = -heading;
    return group;
  }

  resize() {
    const { clientWidth: wide, clientHeight: high } = this.canvas;
    if (!wide) return;
    this.renderer.setPixelRatio(window.devicePixelRatio || 1);
    this.renderer.setSize(wide, high, false);
    this.camera.aspect = wide / high;
    this.camera.updateProjectionMatrix();
    this.draw();
  }

  draw() {
    Ghosts.soon(this);
  }

  paint() {
    const { renderer, canvas: { clientWidth: wide, clientHeight: high } } = this;
    if (!wide || !this.meshes.length) return;
    if (this.camera3) this.look(renderer, Math.min(wide, high));
    this.camera.position.copy(this.place(this.orbit.eye));
    this.camera.lookAt(this.place(this.orbit.target));
    renderer.setViewport(0, 0, wide, high);
    renderer.clippingPlanes = [this.cut];
    renderer.render(this.scene, this.camera);
  }

  // What its own camera sees: the whole house, and nothing that only people are shown.
  look(renderer, side) {
    const c = this.eyesCanvas.getContext("2d"), ratio = renderer.getPixelRatio();
    renderer.setViewport(0, 0, side, side);
    renderer.clippingPlanes = [];
    this.signs.visible = false;
    renderer.render(this.scene, this.eyes);
    this.signs.visible = true;
    Object.assign(this.eyesCanvas, { width: 480, height: 480 });
    c.drawImage(this.canvas, 0, this.canvas.height - side * ratio, side * ratio, side * ratio, 0, 0, 480, 480);
  }
};
