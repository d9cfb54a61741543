"""An orthographic colour map painted from the observations themselves: points from depth, no mesh.

Every texel of a panorama with a depth reading is a coloured point. Points above a cut (1.5 m over the storey's floor)
are left out, so that ceilings and lamps do not hide the rooms; of the rest, the highest in a pixel is what one sees
from above. Works wherever there is RGB-D: procedural houses and Matterport3D alike.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, UInt8

from ghosts.view.panorama import cube_texels, equirect_rays
from ghosts_houses.draw.floor_plan import storey_levels
from ghosts_sim.errors import DataError
from ghosts_sim.graph import NavGraph
from ghosts_sim.images import DEPTH_UNITS_PER_M
from ghosts_sim.store import PanoramaStore

CUT_M = 1.5
BELOW_M = 0.4
"""Points further below the floor belong to the storey underneath, or are noise."""
REACH_M = 8.0
"""Depth further away is too coarse for a pixel."""
_RAYS = 512


@dataclass(frozen=True, eq=False)
class Painting:
    """A storey from above; row 0 is the northern edge, as pictures are."""

    rgba: UInt8[np.ndarray, "h w 4"]
    left_m: float
    bottom_m: float
    pixel_m: float

    @property
    def extent_m(self) -> tuple[float, float, float, float]:
        """Left, right, bottom, top in the world."""
        height, width = self.rgba.shape[:2]
        return (
            self.left_m,
            self.left_m + width * self.pixel_m,
            self.bottom_m,
            self.bottom_m + height * self.pixel_m,
        )


def paint(
    graph: NavGraph,
    store: PanoramaStore,
    storey: int,
    rows: Iterable[int] | None = None,
    pixel_m: float = 0.04,
    cut_m: float = CUT_M,
) -> Painting:
    """Paint a storey from the panoramas of its viewpoints.

    Args:
        graph: the building.
        store: its panoramas, with depth.
        storey: which (`scene.storey_levels`).
        rows: viewpoints whose observations are used; all of the storey by default.
        pixel_m: side of a pixel.
        cut_m: height above the floor above which nothing is drawn.

    Raises:
        DataError: there are no such viewpoints, or the panoramas have no depth.
    """
    levels = storey_levels(graph)
    floor = graph.feet_m[:, 2]
    mine = np.abs(floor[:, None] - levels).argmin(1) == storey
    chosen = [int(row) for row in (rows if rows is not None else np.flatnonzero(graph.included)) if mine[row]]
    if not chosen:
        raise DataError(f"scan {graph.scan} has no viewpoint on storey {storey}; storeys are 0..{len(levels) - 1}")
    low = graph.position_m[chosen, :2].min(0) - REACH_M
    size = np.ceil((graph.position_m[chosen, :2].max(0) + REACH_M - low) / pixel_m).astype(int)
    height = np.full(size[0] * size[1], -np.inf, np.float32)
    colour = np.zeros((size[0] * size[1], 3), np.uint8)
    for row in chosen:
        xyz, rgb = _points(graph, store, row)
        above = xyz[:, 2] - levels[storey]
        cells = np.floor((xyz[:, :2] - low) / pixel_m).astype(int)
        keep = (above > -BELOW_M) & (above < cut_m) & (cells >= 0).all(1) & (cells < size).all(1)
        flat, above, rgb = cells[keep, 1] * size[0] + cells[keep, 0], above[keep], rgb[keep]
        order = np.argsort(above, kind="stable")  # the last write to a pixel is the highest point
        flat, above, rgb = flat[order], above[order], rgb[order]
        last = np.zeros(len(height), np.int64)
        last[flat] = np.arange(1, len(flat) + 1)
        where = np.flatnonzero(last)
        higher = above[last[where] - 1] > height[where]
        where = where[higher]
        height[where], colour[where] = above[last[where] - 1], rgb[last[where] - 1]
    return _trim(height.reshape(size[1], size[0]), colour.reshape(size[1], size[0], 3), low, pixel_m)


def _points(
    graph: NavGraph, store: PanoramaStore, row: int
) -> tuple[Float[np.ndarray, "n 3"], UInt8[np.ndarray, "n 3"]]:
    panorama = store.load(graph.scan, graph.ids[row])
    if panorama.depth is None:
        raise DataError(
            "the panoramas have no depth; painting needs it",
            file=store.scans,
            hint="make it with: ghosts prepare --raw RAW --out ROOT",
        )
    rays = equirect_rays(2 * _RAYS, _RAYS)[_RAYS // 3 :]  # from 30° above the horizon down: the rest is ceiling
    column, line = (np.rint(part).astype(int) for part in cube_texels(rays, graph.rotation[row], panorama.face_px))
    distance = panorama.depth[line, column] / DEPTH_UNITS_PER_M
    good = (distance > 0.0) & (distance < REACH_M)
    return graph.position_m[row] + rays[good] * distance[good][:, None], panorama.rgb[line, column][good]


def _trim(height: np.ndarray, colour: np.ndarray, low: np.ndarray, pixel_m: float) -> Painting:
    """Close single-pixel holes, cut off empty margins, north up."""
    seen = np.isfinite(height)
    for axis, shift in ((0, 1), (0, -1), (1, 1), (1, -1)):
        beside, known = np.roll(colour, shift, axis), np.roll(seen, shift, axis)
        hole = ~seen & known
        colour[hole] = beside[hole]
        seen = seen | hole
    rows, cols = np.flatnonzero(seen.any(1)), np.flatnonzero(seen.any(0))
    if not len(rows):
        raise DataError("nothing to paint: no depth reading below the cut; raise cut_m")
    box = slice(rows[0], rows[-1] + 1), slice(cols[0], cols[-1] + 1)
    rgba = np.concatenate([colour[box], np.where(seen[box], 255, 0).astype(np.uint8)[..., None]], -1)
    left, bottom = float(low[0] + cols[0] * pixel_m), float(low[1] + rows[0] * pixel_m)
    return Painting(np.ascontiguousarray(rgba[::-1]), left, bottom, pixel_m)
