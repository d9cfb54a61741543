"""Where every face lies in one picture: rectangles of texels, packed, and the way from a point in the house to them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float32, Int

from ghosts_houses.mesh.faces import SLOTS, Faces, axes_of
from ghosts_houses.solids import CYLINDER, Solids
from ghosts_sim.errors import ConfigError
from ghosts_sim.values import require

PAD = 1
"""Texels repeated around each rectangle, so that smooth sampling does not fetch a neighbour's."""
MOST_TEXELS = 32_000
"""Widest and highest atlas that OpenCV samples."""


@dataclass(frozen=True)
class Atlas:
    """Rectangles of texels, one per visible face, in the order of `face`."""

    width: int
    height: int
    face: Int[np.ndarray, " f"]
    """Numbers of the faces, ascending."""
    corner: Int[np.ndarray, "f 2"]
    """Column and row of the first texel, inside the padding."""
    texels: Int[np.ndarray, "f 2"]
    """Columns and rows, padding not counted."""
    span: Float32[np.ndarray, "f 4"]
    """What they cover: from u, v to u, v. Metres from the middle of a flat face; of a curved one angles and, on a
    cylinder, metres up."""

    def __post_init__(self) -> None:
        if max(self.width, self.height) > MOST_TEXELS:
            raise ConfigError(
                f"an atlas of {self.width} × {self.height} texels is too large (at most {MOST_TEXELS} a side); "
                "choose a larger texel"
            )


def pack(faces: Faces, texel_m: float) -> Atlas:
    """Give every visible face its rectangle of texels."""
    require(texel_m > 0.0 and math.isfinite(texel_m), "texel_m must be positive", texel_m)
    spans = _spans(faces)
    number = np.array(sorted(spans), int)
    span = np.array([spans[face] for face in number.tolist()], np.float32)
    sizes = np.array([_size_m(faces.solids, face, spans[face]) for face in number.tolist()])
    texels = np.maximum(np.round(sizes / texel_m), 1).astype(int)
    outer = texels + 2 * PAD
    width = int(max(outer[:, 0].max(), 2 ** math.ceil(math.log2(math.sqrt(float(outer.prod(1).sum()))))))
    corner, height = _shelves(outer, width)
    return Atlas(width, height, number, corner + PAD, texels, span)


def _spans(faces: Faces) -> dict[int, tuple[float, float, float, float]]:
    """What each visible face needs of its own plane: the bounding rectangle of its pieces."""
    half = faces.solids.half
    spans = {}
    for face, pieces in faces.pieces.items():
        low, high = np.min(pieces, 0), np.max(pieces, 0)
        spans[face] = (float(low[0]), float(low[1]), float(high[2]), float(high[3]))
    for face in faces.lids.tolist():
        _, u, v = axes_of(face % SLOTS)
        a, b = float(half[face // SLOTS, u]), float(half[face // SLOTS, v])
        spans[face] = (-a, -b, a, b)
    for face in faces.rounds.tolist():
        solid = face // SLOTS
        up = float(half[solid, 2]) if faces.solids.form[solid] == CYLINDER else math.pi / 2
        spans[face] = (-math.pi, -up, math.pi, up)
    return spans


def _size_m(solids: Solids, face: int, span: tuple[float, float, float, float]) -> tuple[float, float]:
    """Width and height of what a span covers, in metres along the surface."""
    solid, wide, tall = face // SLOTS, span[2] - span[0], span[3] - span[1]
    if solids.form[solid] >= CYLINDER and face % SLOTS == 0:
        wide *= float(solids.half[solid, :2].max())
        if solids.form[solid] > CYLINDER:
            tall *= float(solids.half[solid].max())
    return wide, tall


def _shelves(outer: np.ndarray, width: int) -> tuple[np.ndarray, int]:
    """Corners of rectangles laid on shelves, highest first, and the height of all shelves."""
    corner = np.zeros_like(outer)
    x = y = shelf = 0
    for k in np.lexsort((np.arange(len(outer)), -outer[:, 0], -outer[:, 1])):
        wide, tall = outer[k]
        if x + wide > width:
            x, y, shelf = 0, y + shelf, 0
        corner[k] = x, y
        x, shelf = x + wide, max(shelf, tall)
    return corner, int(y + shelf)


@dataclass(frozen=True)
class Lookup:
    """From points on faces to places in an atlas, ready for many points."""

    affine: Float32[np.ndarray, "n 2 4"]
    """Column and row as a function of (x, y, z, 1), by face number; of flat faces."""
    curved: Bool[np.ndarray, " n"]
    present: Bool[np.ndarray, " n"]
    """Whether a face is in the atlas."""
    center: Float32[np.ndarray, "s 3"]
    half: Float32[np.ndarray, "s 3"]
    turn: Float32[np.ndarray, "s 3"]
    cylinder: Bool[np.ndarray, " s"]
    scale: Float32[np.ndarray, "n 2 2"]
    """Of curved faces: column = first · u + second, and the same for the row."""

    @staticmethod
    def of(solids: Solids, atlas: Atlas) -> Lookup:
        """The way into an atlas of these solids."""
        count = len(solids.form) * SLOTS
        affine, scale = np.zeros((count, 2, 4)), np.zeros((count, 2, 2))
        curved = np.zeros(count, bool)
        low, extent = atlas.span[:, :2].astype(float), np.maximum(atlas.span[:, 2:] - atlas.span[:, :2], 1e-6)
        factor = atlas.texels / extent
        # A texel's centre has whole coordinates for the sampler: half a texel is taken off.
        offset = atlas.corner - 0.5 - low * factor
        scale[atlas.face, :, 0], scale[atlas.face, :, 1] = factor, offset
        for row, face in enumerate(atlas.face.tolist()):
            solid, slot = divmod(face, SLOTS)
            if solids.form[solid] >= CYLINDER and slot == 0:
                curved[face] = True
                continue
            c, s, slope = solids.turn[solid]
            own = np.array([[c, s, 0.0], [-s, c, 0.0], [-slope * c, -slope * s, 1.0]])
            for k, axis in enumerate(axes_of(slot)[1:]):
                affine[face, k, :3] = own[axis] * factor[row, k]
                affine[face, k, 3] = offset[row, k] - own[axis] @ solids.center[solid] * factor[row, k]
        present = np.zeros(count, bool)
        present[atlas.face] = True
        center, half, turn = (array.astype(np.float32) for array in (solids.center, solids.half, solids.turn))
        tube = solids.form == CYLINDER
        return Lookup(affine.astype(np.float32), curved, present, center, half, turn, tube, scale.astype(np.float32))

    def places(self, face: Int[np.ndarray, " p"], point: Float32[np.ndarray, "p 3"]) -> Float32[np.ndarray, "p 2"]:
        """Column and row in the atlas of points on faces; whole numbers are texel centres."""
        chosen = self.affine[face]
        place = chosen[:, :, 3] + np.einsum("pkc,pc->pk", chosen[:, :, :3], point)
        bent = np.flatnonzero(self.curved[face])
        if len(bent):
            place[bent] = self._on_curves(face[bent], point[bent])
        return place

    def _on_curves(self, face: np.ndarray, point: np.ndarray) -> np.ndarray:
        solid = face // SLOTS
        offset, half, turn = point - self.center[solid], self.half[solid], self.turn[solid]
        x = (offset[:, 0] * turn[:, 0] + offset[:, 1] * turn[:, 1]) / half[:, 0]
        y = (offset[:, 1] * turn[:, 0] - offset[:, 0] * turn[:, 1]) / half[:, 1]
        up = np.where(
            self.cylinder[solid], offset[:, 2], np.arcsin(np.clip(offset[:, 2] / half[:, 2], -1.0, 1.0))
        ).astype(np.float32)
        around = np.stack([np.arctan2(y, x), up], 1)
        return around * self.scale[face, :, 0] + self.scale[face, :, 1]

    def slots(self, solid: Int[np.ndarray, " p"], point: Float32[np.ndarray, "p 3"]) -> Int[np.ndarray, " p"]:
        """Numbers of the faces that points on solids lie on."""
        offset, half, turn = point - self.center[solid], self.half[solid], self.turn[solid]
        own = offset.copy()
        own[:, 0] = offset[:, 0] * turn[:, 0] + offset[:, 1] * turn[:, 1]
        own[:, 1] = offset[:, 1] * turn[:, 0] - offset[:, 0] * turn[:, 1]
        own[:, 2] -= turn[:, 2] * own[:, 0]
        gap = np.abs(own) - half
        axis = gap.argmax(1)
        slot = 2 * axis + (own[np.arange(len(own)), axis] > 0)
        bent = np.flatnonzero(self.curved[solid * SLOTS])
        if len(bent):
            where = solid[bent]
            lid = self.cylinder[where] & (gap[bent, 2] > -2e-4)
            slot[bent] = np.where(lid, np.where(own[bent, 2] > 0, 5, 4), 0)
        face = solid * SLOTS + slot
        # On an edge, rounding may choose a face that nobody sees.
        lost = np.flatnonzero(~self.present[face])
        if len(lost):
            sides = 2 * np.arange(3) + (own[lost] > 0)
            seen = self.present[solid[lost, None] * SLOTS + sides]
            axis = np.where(seen, gap[lost], -np.inf).argmax(1)
            face[lost] = solid[lost] * SLOTS + sides[np.arange(len(lost)), axis]
        return face
