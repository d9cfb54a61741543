"""Exact ray casting of level and sloping boxes, upright cylinders and ellipsoids, the same on CPU and GPU.

Images are cut into square tiles. A solid is a candidate of a tile when it meets the tile's frustum (exact planes, which
are separable in rows and columns) and is not farther than everything already seen there. Walls, floors and ceilings go
first, so that most of a house is culled before its furniture is looked at. Tiles are then sorted by the number of
their candidates and slot k is intersected for all tiles that have one: big flat batches without padding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Int64

from ghosts_houses.arrays import Array, Axes, dot, library, put, take
from ghosts_houses.solids import AABB, FORMS, TINY, Solids, crossing
from ghosts_sim.errors import ConfigError

TILE_PX = 16
_TESTS = 1 << 20
"""Rays times solids tested at once by `nearest`."""
_quiet = np.errstate(invalid="ignore", divide="ignore", over="ignore")
"""Lines that miss give NaN or infinity, which is what they should."""


def upload(solids: Solids, device: object = "cpu") -> Solids:
    """The same solids in single precision on a device. Their vectors lie axis by axis in memory."""
    form, first = (put(array, device) for array in (solids.form, solids.first))
    center, half, turn = (
        put(np.asfortranarray(array, np.float32), device) for array in (solids.center, solids.half, solids.turn)
    )
    return Solids(form, center, half, turn, first)


@dataclass(frozen=True)
class Frames:
    """Pinhole images: pixel (i, j) looks along forward + u·right + v·down, u and v in (−1, 1) at pixel centres."""

    origin: Float32[Array, "m 3"]
    forward: Float32[Array, "m 3"]
    """Unit length."""
    right: Float32[Array, "m 3"]
    """Along a row, of length tan(half the horizontal field of view)."""
    down: Float32[Array, "m 3"]
    """Along a column, of length tan(half the vertical field of view)."""
    height: int
    width: int

    def only(self, which: slice) -> Frames:
        """Some of the images."""
        axes = self.forward[which], self.right[which], self.down[which]
        return Frames(self.origin[which], *axes, self.height, self.width)

    def axes(self) -> list[Float32[Array, "m h w"]]:
        """Directions through the pixel centres, axis by axis; their component along `forward` is 1."""
        u, v = _ticks(self.width, self.origin), _ticks(self.height, self.origin)
        return [
            forward[:, None, None] + right[:, None, None] * u[None, None, :] + down[:, None, None] * v[None, :, None]
            for forward, right, down in zip(self.forward.T, self.right.T, self.down.T, strict=True)
        ]

    def rays(self) -> Float32[Array, "m h w 3"]:
        """Directions through the pixel centres."""
        return library(self.origin).stack(self.axes(), -1)


@dataclass(frozen=True)
class Hits:
    """What rays meet first."""

    distance: Float32[Array, "m h w"]
    """Euclidean distance; infinite where nothing is hit."""
    index: Int64[Array, "m h w"]
    """Which solid, −1 for none."""


def _ticks(count: int, like: Array) -> Array:
    xp = library(like)
    return (xp.arange(count, device=like.device, dtype=xp.float32) + 0.5) * (2.0 / count) - 1.0


@_quiet
def cast(solids: Solids, frames: Frames) -> Hits:
    """Cast one ray per pixel.

    Args:
        solids: the scene.
        frames: images whose height and width are multiples of 16 pixels.

    Returns:
        Distances and indices, exact up to float32.
    """
    if frames.height % TILE_PX or frames.width % TILE_PX:
        raise ConfigError(f"image size must be a multiple of {TILE_PX} pixels, got {frames.width} × {frames.height}")
    xp = library(frames.origin)
    m, rows, cols = len(frames.origin), frames.height // TILE_PX, frames.width // TILE_PX
    tiles = []
    for axis in frames.axes():
        tiled = axis.reshape(m, rows, TILE_PX, cols, TILE_PX).swapaxes(2, 3).reshape(m * rows * cols, TILE_PX**2)
        tiles.append(xp.where(xp.abs(tiled) < TINY, TINY, tiled))
    length = xp.sqrt(dot(tiles, tiles))
    best = xp.full_like(length, xp.inf)
    index = xp.full_like(length, -1, dtype=xp.int32)
    for stage in (solids.first, ~solids.first):
        (ids,) = xp.where(stage)
        if len(ids) == 0:
            continue
        seen_m = xp.amax(best * length, -1).reshape(m, rows, cols)
        accept = _candidates(solids, ids, frames, rows, cols, seen_m).reshape(m * rows * cols, len(ids))
        form = solids.form[ids]
        for kind in FORMS:
            (chosen,) = xp.where(form == kind)
            if len(chosen):
                _cast_form(solids, ids[chosen], kind, take(accept, chosen), frames.origin, tiles, best, index)
    shape = (m, frames.height, frames.width)
    distance, order = (
        values.reshape(m, rows, cols, TILE_PX, TILE_PX).swapaxes(2, 3).reshape(shape)
        for values in (best * length, index)
    )
    return Hits(distance, xp.asarray(order, dtype=xp.int64))


def _candidates(solids: Solids, ids: Array, frames: Frames, rows: int, cols: int, seen_m: Array) -> Array:
    """Which solids may show in which tile: `m rows cols n`, bool."""
    xp = library(ids)
    offset = [center[ids] - origin[:, None] for center, origin in zip(solids.center.T, frames.origin.T, strict=True)]
    half, (c, s, slope) = solids.half.T[:, ids], solids.turn.T[:, ids]
    zero = xp.zeros_like(c)
    axes = ((c * half[0], s * half[0], slope * half[0]), (-s * half[1], c * half[1], zero), (zero, zero, half[2]))

    def along(vector: Array) -> tuple[Array, list[Array]]:
        """Coordinate of the centres and of the half axes along a vector: `m n`, three of `m n`."""
        columns = vector.T[:, :, None]
        return dot(offset, columns), [dot(axis, columns) for axis in axes]

    z, ez = along(frames.forward)
    front = z + sum(abs(e) for e in ez) > 0.0

    def between(vector: Array, count: int) -> Array:
        """Whether a solid reaches into each strip of tiles: `m count n`."""
        x, ex = along(vector / (vector * vector).sum(-1)[:, None])
        edge = xp.linspace(-1.0, 1.0, count + 1, device=z.device, dtype=xp.float32)[None, :, None]
        middle = x[:, None] - edge * z[:, None]
        reach = sum(abs(e[:, None] - edge * f[:, None]) for e, f in zip(ex, ez, strict=True))
        above, below = middle + reach >= 0.0, middle - reach <= 0.0
        return above[:, :-1] & below[:, 1:]

    near = _nearest(offset, half, (c, s, slope))
    accept = between(frames.down, rows)[:, :, None] & (between(frames.right, cols) & front[:, None])[:, None]
    return accept & (near[:, None, None] <= seen_m[..., None])


def _nearest(offset: Axes, half: Axes, turn: Axes) -> Array:
    """Distance from each origin to each bounding box."""
    (x, y, z), (c, s, slope) = offset, turn
    xp = library(x)
    tall = half[2] + abs(slope * half[0])
    gaps = [
        xp.clip(abs(value) - reach, 0.0, None)
        for value, reach in zip((x * c + y * s, y * c - x * s, z), (half[0], half[1], tall), strict=True)
    ]
    return xp.sqrt(dot(gaps, gaps))


def _cast_form(
    solids: Solids, ids: Array, kind: int, accept: Array, origin: Array, tiles: Axes, best: Array, index: Array
) -> None:
    """Intersect all candidates of one form, tile by tile, and keep what is nearer (in place)."""
    xp = library(best)
    counts = accept.sum(-1)
    tile, which = xp.where(accept)
    if len(tile) == 0:
        return
    start = counts.cumsum(0) - counts
    order = xp.argsort(-counts)
    # tiles_with[k] = number of tiles that have more than k candidates.
    tiles_with = (len(best) - xp.bincount(counts).cumsum(0)).tolist()
    slots = [n for n in tiles_with if n > 0]
    order = order[: slots[0]]
    camera = origin[order // (len(best) // len(origin))]
    near, what, first = best[order], index[order], start[order]
    ray = [xp.reciprocal(axis[order]) if kind == AABB else axis[order] for axis in tiles]
    for k, n in enumerate(slots):
        chosen = ids[which[first[:n] + k]]
        enter, leave = _crossing(solids, chosen, kind, [axis[:n] for axis in ray], camera[:n].T[:, :, None])
        closer = (enter <= leave) & (enter > 0.0) & (enter < near[:n])
        near[:n] = xp.where(closer, enter, near[:n])
        what[:n] = xp.where(closer, xp.asarray(chosen, dtype=xp.int32)[:, None], what[:n])
    best[order] = near
    index[order] = what


def _crossing(solids: Solids, ids: Array, kind: int, ray: Axes, origin: Array) -> tuple[Array, Array]:
    """`crossing` of solids, by index, with rays axis by axis, `n k`: k per solid; origins are `3 n 1`."""
    center, half, turn = (take(value.T, ids)[:, :, None] for value in (solids.center, solids.half, solids.turn))
    return crossing(library(ids), kind, ray, center - origin, half, turn)


@_quiet
def intersect(
    solids: Solids, ids: Int64[Array, " p"], origin: Float32[Array, "3 p"], ray: Float32[Array, "3 p"]
) -> Float32[Array, " p"]:
    """Entry parameter of each ray into its own solid (ray by ray), infinite where it misses."""
    xp = library(origin)
    t = xp.full_like(origin[0], xp.inf)
    form = solids.form[ids]
    for kind in FORMS:
        (where,) = xp.where(form == kind)
        if len(where):
            rays = take(ray, where)[:, :, None]
            rays = xp.reciprocal(rays) if kind == AABB else rays
            enter, leave = _crossing(solids, ids[where], kind, rays, take(origin, where)[:, :, None])
            t[where] = xp.where((enter <= leave) & (enter > 0.0), enter, xp.inf)[:, 0]
    return t


@_quiet
def nearest(
    solids: Solids, origin: Float32[Array, "3 p"], ray: Float32[Array, "3 p"]
) -> tuple[Float32[Array, " p"], Int64[Array, " p"]]:
    """What single rays meet first, whatever their directions: distance in lengths of the ray, and index (−1 for none).

    Every ray is tested against every solid, so it is for few rays; `cast` is for images.
    """
    xp = library(origin)
    ray = xp.where(xp.abs(ray) < TINY, TINY, ray)
    best = xp.full_like(origin[0], xp.inf)
    index = xp.full_like(best, -1, dtype=xp.int64)
    for kind in FORMS:
        (ids,) = xp.where(solids.form == kind)
        step = max(1, _TESTS // max(1, len(ids)))
        for rows in [slice(k, k + step) for k in range(0, len(best), step)] if len(ids) else ():
            rays = (xp.reciprocal(ray[:, rows]) if kind == AABB else ray[:, rows])[:, :, None]
            offset = solids.center.T[:, None, ids] - origin[:, rows][:, :, None]
            enter, leave = crossing(xp, kind, rays, offset, solids.half.T[:, None, ids], solids.turn.T[:, None, ids])
            t = xp.where((enter <= leave) & (enter > 0.0), enter, xp.inf)
            which, near = xp.argmin(t, 1), xp.amin(t, 1)
            closer = near < best[rows]
            best[rows] = xp.where(closer, near, best[rows])
            index[rows] = xp.where(closer, ids[which], index[rows])
    return best, index
