"""Triangles of a house: what renderers, engines and viewers of standard formats want."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Int32

from ghosts_houses.mesh.atlas import Atlas, Lookup
from ghosts_houses.mesh.faces import SLOTS, TOUCH_M, Faces, axes_of
from ghosts_houses.solids import CYLINDER, Solids

ROUND_M = 0.001
"""A polygon stays within this of the round solid it stands for."""


@dataclass(frozen=True)
class Mesh:
    """Triangles with texture coordinates; counter-clockwise seen from outside."""

    vertex_m: Float32[np.ndarray, "v 3"]
    uv: Float32[np.ndarray, "v 2"]
    """Place in the atlas, 0..1 from its upper left corner."""
    triangle: Int32[np.ndarray, "t 3"]
    face: Int32[np.ndarray, " t"]
    """Number of the face each triangle belongs to; divided by 6, the solid."""


def triangulate(faces: Faces, atlas: Atlas) -> Mesh:
    """Triangles of everything that can be seen."""
    builder = _Builder(faces.solids, atlas)
    for face, pieces in faces.pieces.items():
        for u0, v0, u1, v1 in pieces:
            corners = np.array([(u0, v0), (u1, v0), (u1, v1), (u0, v1)])
            triangles = np.array([(0, 1, 2), (0, 2, 3)])
            builder.add(face, builder.flat(face, corners, faces.sunk.get(face, 0.0)), corners, triangles)
    for face in faces.lids.tolist():
        half = faces.solids.half[face // SLOTS]
        _, u, v = axes_of(face % SLOTS)
        count = sides(float(half[:2].max()))
        angle = np.arange(count) * (2 * math.pi / count)
        # The polygon of the bottom runs the other way round: its axes are swapped, so it still faces outwards.
        ring = np.stack([half[u] * np.cos(angle), half[v] * np.sin(angle)], 1)
        fan = np.array([(0, k, k + 1) for k in range(1, len(ring) - 1)])
        builder.add(face, builder.flat(face, ring, faces.sunk.get(face, 0.0)), ring, fan)
    for face in faces.rounds.tolist():
        builder.add(face, *builder.bent(face))
    return _without_buried(builder.mesh(), faces.solids)


def sides(radius_m: float) -> int:
    """Corners of the polygon that stands for a circle.

    Example:
        >>> sides(0.3), sides(0.01)
        (39, 8)
    """
    return min(64, max(8, math.ceil(math.pi / math.acos(max(0.0, 1.0 - ROUND_M / radius_m)))))


class _Builder:
    """Collects vertices and triangles."""

    def __init__(self, solids: Solids, atlas: Atlas) -> None:
        self.solids, self.atlas, self.lookup = solids, atlas, Lookup.of(solids, atlas)
        self.vertices: list[np.ndarray] = []
        self.uvs: list[np.ndarray] = []
        self.triangles: list[np.ndarray] = []
        self.faces: list[np.ndarray] = []
        self.count = 0

    def flat(self, face: int, uv_m: np.ndarray, sunk_m: float) -> np.ndarray:
        """World points of a flat face from metres along its axes."""
        solid, slot = divmod(face, SLOTS)
        axis, u, v = axes_of(slot)
        own = np.zeros((len(uv_m), 3))
        own[:, axis] = (self.solids.half[solid, axis] - sunk_m) * (1.0 if slot % 2 else -1.0)
        own[:, u], own[:, v] = uv_m[:, 0], uv_m[:, 1]
        return self._world(solid, own)

    def bent(self, face: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """World points, spans and triangles of a curved face: a lattice of angles around and places up."""
        solid = face // SLOTS
        half = self.solids.half[solid]
        count = sides(float(half[:2].max()))
        around = np.linspace(-math.pi, math.pi, count + 1)
        tube = self.solids.form[solid] == CYLINDER
        levels = np.array([-half[2], half[2]]) if tube else np.linspace(-1, 1, sides(float(half.max())) // 2 + 1)
        levels = levels if tube else levels * (math.pi / 2)
        angle, up = (grid.ravel() for grid in np.meshgrid(around, levels))
        wide, z = (np.ones_like(up), up) if tube else (np.cos(up), half[2] * np.sin(up))
        own = np.stack([half[0] * wide * np.cos(angle), half[1] * wide * np.sin(angle), z], 1)
        cell = (np.arange(len(levels) - 1)[:, None] * (count + 1) + np.arange(count)).ravel()
        quads = np.stack([cell, cell + 1, cell + count + 2, cell, cell + count + 2, cell + count + 1], 1)
        return self._world(solid, own), np.stack([angle, up], 1), quads.reshape(-1, 3)

    def add(self, face: int, points: np.ndarray, place: np.ndarray, triangles: np.ndarray) -> None:
        """Add one patch: its world points, the same in the units of the atlas's spans, and triangles of them."""
        scale = self.lookup.scale[face].astype(float)
        texel = place * scale[:, 0] + scale[:, 1] + 0.5
        self.vertices.append(points)
        self.uvs.append(texel / (self.atlas.width, self.atlas.height))
        self.triangles.append(triangles + self.count)
        self.faces.append(np.full(len(triangles), face))
        self.count += len(points)

    def mesh(self) -> Mesh:
        return Mesh(
            np.concatenate(self.vertices).astype(np.float32),
            np.concatenate(self.uvs).astype(np.float32),
            np.concatenate(self.triangles).astype(np.int32),
            np.concatenate(self.faces).astype(np.int32),
        )

    def _world(self, solid: int, own: np.ndarray) -> np.ndarray:
        (c, s, slope), (x, y, z) = self.solids.turn[solid], own.T
        turned = np.stack([x * c - y * s, x * s + y * c, z + slope * x], 1)
        return turned + self.solids.center[solid]


def _without_buried(mesh: Mesh, solids: Solids) -> Mesh:
    """Without triangles of round solids that lie inside one axis-aligned box, and without those of no area."""
    corner = mesh.vertex_m[mesh.triangle].astype(float)
    area = np.linalg.norm(np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0]), axis=1)
    gone = area < 1e-10
    bent = np.flatnonzero(solids.form[mesh.face // SLOTS] >= CYLINDER)
    low, high = corner[bent].min(1), corner[bent].max(1)
    for k in np.flatnonzero(solids.form == 0):
        half = solids.half[k] + TOUCH_M / 2
        inside = (low > solids.center[k] - half) & (high < solids.center[k] + half)
        gone[bent] |= inside.all(1)
    keep = ~gone
    used = np.unique(mesh.triangle[keep])
    renamed = np.zeros(len(mesh.vertex_m), np.int32)
    renamed[used] = np.arange(len(used), dtype=np.int32)
    return Mesh(mesh.vertex_m[used], mesh.uv[used], renamed[mesh.triangle[keep]], mesh.face[keep])
