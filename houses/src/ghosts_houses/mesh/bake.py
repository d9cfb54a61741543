"""Baked light: what every texel of a house looks like, by the renderer's own `radiance`, kept on disk.

What windows show depends on where one looks from, so renderers draw it anew. Its texels hold the view from the middle
of the room, for formats that know nothing but a texture.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from jaxtyping import UInt8
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from ghosts_houses import __version__
from ghosts_houses.arrays import fetch, put
from ghosts_houses.house import House
from ghosts_houses.mesh.atlas import PAD, Atlas, pack
from ghosts_houses.mesh.faces import SLOTS, Faces, axes_of, visible_faces
from ghosts_houses.mesh.triangles import Mesh, triangulate
from ghosts_houses.plan.shell import VIEWS
from ghosts_houses.render.materials import MATERIALS
from ghosts_houses.render.scene import Scene, prepare
from ghosts_houses.render.shade import radiance, to_display
from ghosts_houses.solids import CYLINDER, Solids
from ghosts_sim.errors import DataError
from ghosts_sim.files import atomic_path, cache_dir

TEXEL_M = 0.025
_CHUNK = 131_072
"""Texels shaded at once: temporaries stay in the caches."""
_EYE_M = 1.25


@dataclass(frozen=True)
class Baked:
    """A house as a textured mesh."""

    house: House
    faces: Faces
    atlas: Atlas
    image: UInt8[np.ndarray, "h w 3"]
    """The atlas in display RGB."""

    @cached_property
    def mesh(self) -> Mesh:
        """Triangles; made when first asked for."""
        return triangulate(self.faces, self.atlas)


def bake(house: House, texel_m: float = TEXEL_M, device: object = "cpu", folder: Path | None = None) -> Baked:
    """A house's mesh and baked light, read from a folder (by default in the cache) where baked before."""
    faces = visible_faces(house)
    atlas = pack(faces, texel_m)
    path = (folder or cache_dir() / "baked") / f"{house.name}-{_key(house, texel_m)}.safetensors"
    image = _read(path, atlas)
    if image is None:
        with _one_thread(device):
            image = bake_atlas(house, prepare(house, device), faces, atlas)
        with (
            suppress(DataError, SafetensorError),
            atomic_path(path) as temporary,
        ):  # without a cache it is baked every time
            save_file({"image": image}, temporary)
    return Baked(house, faces, atlas, image)


@contextmanager
def _one_thread(device: object) -> Iterator[None]:
    """One thread of torch's where it shades on a CPU: on two busy cores two threads took 22 s for a bake, one 6 s."""
    if getattr(device, "type", "") != "cpu":
        yield
        return
    import torch  # here: only a device of its own asks for it

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _key(house: House, texel_m: float) -> str:
    """Changes with anything that the picture depends on."""
    state = repr((__version__, texel_m, house.primitives, house.rooms, house.openings))
    return hashlib.sha256(state.encode()).hexdigest()[:16]


def _read(path: Path, atlas: Atlas) -> np.ndarray | None:
    """A kept atlas; None where there is none, or what there is cannot be used (it is baked again)."""
    try:
        image = load_file(path)["image"]
    except (OSError, SafetensorError, KeyError):
        return None
    return image if image.shape == (atlas.height, atlas.width, 3) and image.dtype == np.uint8 else None


def bake_atlas(house: House, scene: Scene, faces: Faces, atlas: Atlas) -> UInt8[np.ndarray, "h w 3"]:
    """Shade every texel of an atlas."""
    image = np.zeros((atlas.height, atlas.width, 3), np.uint8)
    outer = atlas.texels + 2 * PAD
    counts = outer.prod(1)
    ends = np.cumsum(counts)
    for start in range(0, int(ends[-1]), _CHUNK):
        place = np.arange(start, min(start + _CHUNK, int(ends[-1])))
        row = np.searchsorted(ends, place, side="right")
        local = place - (ends[row] - counts[row])
        y, x = np.divmod(local, outer[row, 0])
        color = _colors(house, scene, faces.solids, atlas, row, np.stack([x, y], 1) - PAD)
        image[atlas.corner[row, 1] + y - PAD, atlas.corner[row, 0] + x - PAD] = color
    return image


def _colors(house: House, scene: Scene, solids: Solids, atlas: Atlas, row: np.ndarray, texel: np.ndarray) -> np.ndarray:
    """Display colours of texels, given by a row of the atlas and (column, row) in its rectangle."""
    size = atlas.texels[row]
    share = (np.clip(texel, 0, size - 1) + 0.5) / size
    low, high = atlas.span[row, :2], atlas.span[row, 2:]
    spot = low + share * (high - low)
    point, normal = surface_points(solids, atlas.face[row], spot)
    solid = atlas.face[row] // SLOTS
    view = -normal
    outside = np.isin(fetch(scene.material)[solid], [MATERIALS.index(name) for name in VIEWS])
    if outside.any():
        view[outside] = _from_rooms(house, point[outside], normal[outside])
    extent = _texel_m(solids, atlas, row)
    arrays = (put(np.ascontiguousarray(array.T), scene.device, np.float32) for array in (point, view, extent))
    linear = radiance(scene, put(solid, scene.device), *arrays)
    return (fetch(to_display(linear)).T * 255.0 + 0.5).astype(np.uint8)


def _texel_m(solids: Solids, atlas: Atlas, row: np.ndarray) -> np.ndarray:
    """About the width of texels on their surfaces."""
    wide = (atlas.span[row, 2] - atlas.span[row, 0]) / atlas.texels[row, 0]
    face = atlas.face[row]
    bent = (solids.form[face // SLOTS] >= CYLINDER) & (face % SLOTS == 0)
    return np.where(bent, wide * solids.half[face // SLOTS, :2].max(1), wide)


def _from_rooms(house: House, point: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """Directions of sight from the middle of the room in front of each point."""
    ahead = point + normal * 0.3
    rooms = np.array([(*room.center_m, room.floor_z_m + _EYE_M) for room in house.rooms])
    nearest = np.linalg.norm(rooms[None] - ahead[:, None], axis=2).argmin(1)
    view = point - rooms[nearest]
    return view / np.linalg.norm(view, axis=1, keepdims=True)


def surface_points(solids: Solids, face: np.ndarray, spot: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """World points and outward normals of places (`n 2`, in the units of `Atlas.span`) on faces (`n` numbers)."""
    solid, slot = np.divmod(face, SLOTS)
    half, form = solids.half[solid], solids.form[solid]
    own, normal = np.zeros((len(face), 3)), np.zeros((len(face), 3))
    for k in range(SLOTS):
        at = np.flatnonzero((slot == k) & ((form < CYLINDER) | (k >= 4)))
        axis, u, v = axes_of(k)
        sign = 1.0 if k % 2 else -1.0
        own[at, axis], own[at, u], own[at, v] = sign * half[at, axis], spot[at, 0], spot[at, 1]
        normal[at, axis] = sign
    bent = np.flatnonzero((form >= CYLINDER) & (slot == 0))
    tube = form[bent] == CYLINDER
    angle, up = spot[bent, 0], spot[bent, 1]
    wide = np.where(tube, 1.0, np.cos(up))
    unit = np.stack([wide * np.cos(angle), wide * np.sin(angle), np.where(tube, 0.0, np.sin(up))], 1)
    own[bent] = unit * half[bent]
    own[bent, 2] += np.where(tube, up, 0.0)
    normal[bent] = unit / half[bent]
    c, s, slope = solids.turn[solid].T
    own[:, 2] += slope * own[:, 0]
    normal[:, 0] -= slope * normal[:, 2]
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    return _turned(own, c, s) + solids.center[solid], _turned(normal, c, s)


def _turned(own: np.ndarray, c: np.ndarray, s: np.ndarray) -> np.ndarray:
    return np.stack([own[:, 0] * c - own[:, 1] * s, own[:, 0] * s + own[:, 1] * c, own[:, 2]], 1)
