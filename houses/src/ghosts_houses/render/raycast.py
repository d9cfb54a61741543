"""Exact ray casting of level and sloping boxes, upright cylinders and ellipsoids in torch, the same on CPU and GPU.

Images are cut into square tiles. A solid is a candidate of a tile when it meets the tile's frustum (exact planes, which
are separable in rows and columns) and is not farther than everything already seen there. Walls, floors and ceilings go
first, so that most of a house is culled before its furniture is looked at. Tiles are then sorted by the number of
their candidates and slot k is intersected for all tiles that have one: big flat batches without padding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float32, Int64
from torch import Tensor

from ghosts_houses.solids import AABB, FORMS, TINY, Solids, crossing
from ghosts_sim.errors import ConfigError

TILE_PX = 16
_TESTS = 1 << 20
"""Rays times solids tested at once by `nearest`."""


def upload(solids: Solids, device: torch.device | str = "cpu") -> Solids:
    """The same solids as tensors on a device, in single precision."""
    form, first = (torch.from_numpy(array).to(device) for array in (solids.form, solids.first))
    center, half, turn = (torch.from_numpy(a).float().to(device) for a in (solids.center, solids.half, solids.turn))
    return Solids(form, center, half, turn, first)


@dataclass(frozen=True)
class Frames:
    """Pinhole images: pixel (i, j) looks along forward + u·right + v·down, u and v in (−1, 1) at pixel centres."""

    origin: Float32[Tensor, "m 3"]
    forward: Float32[Tensor, "m 3"]
    """Unit length."""
    right: Float32[Tensor, "m 3"]
    """Along a row, of length tan(half the horizontal field of view)."""
    down: Float32[Tensor, "m 3"]
    """Along a column, of length tan(half the vertical field of view)."""
    height: int
    width: int

    def only(self, which: slice) -> Frames:
        """Some of the images."""
        axes = self.forward[which], self.right[which], self.down[which]
        return Frames(self.origin[which], *axes, self.height, self.width)

    def rays(self) -> Float32[Tensor, "m h w 3"]:
        """Directions through the pixel centres; their component along `forward` is 1."""
        u, v = _ticks(self.width, self.origin.device), _ticks(self.height, self.origin.device)
        return (
            self.forward[:, None, None]
            + self.right[:, None, None] * u[None, None, :, None]
            + self.down[:, None, None] * v[None, :, None, None]
        )


@dataclass(frozen=True)
class Hits:
    """What rays meet first."""

    distance: Float32[Tensor, "m h w"]
    """Euclidean distance; infinite where nothing is hit."""
    index: Int64[Tensor, "m h w"]
    """Which solid, −1 for none."""


def _ticks(count: int, device: torch.device) -> Tensor:
    return (torch.arange(count, device=device, dtype=torch.float32) + 0.5) * (2.0 / count) - 1.0


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
    m, rows, cols = len(frames.origin), frames.height // TILE_PX, frames.width // TILE_PX
    tiles = frames.rays().view(m, rows, TILE_PX, cols, TILE_PX, 3).permute(0, 1, 3, 2, 4, 5)
    tiles = tiles.reshape(m * rows * cols, TILE_PX * TILE_PX, 3)
    tiles = torch.where(tiles.abs() < TINY, TINY, tiles)
    best = torch.full(tiles.shape[:2], torch.inf, device=tiles.device)
    index = torch.full(tiles.shape[:2], -1, dtype=torch.int32, device=tiles.device)
    length = tiles.square().sum(-1).sqrt()
    for stage in (solids.first, ~solids.first):
        ids = stage.nonzero()[:, 0]
        if len(ids) == 0:
            continue
        seen_m = (best * length).amax(-1).view(m, rows, cols)
        accept = _candidates(solids, ids, frames, rows, cols, seen_m)
        form = solids.form[ids]
        for kind in FORMS:
            chosen = (form == kind).nonzero()[:, 0]
            if len(chosen):
                _cast_form(solids, ids[chosen], kind, accept[:, :, :, chosen], frames.origin, tiles, best, index)
    distance = (best * length).view(m, rows, cols, TILE_PX, TILE_PX).permute(0, 1, 3, 2, 4)
    order = index.view(m, rows, cols, TILE_PX, TILE_PX).permute(0, 1, 3, 2, 4)
    shape = (m, frames.height, frames.width)
    return Hits(distance.reshape(shape), order.reshape(shape).long())


def _candidates(solids: Solids, ids: Tensor, frames: Frames, rows: int, cols: int, seen_m: Tensor) -> Tensor:
    """Which solids may show in which tile: `m rows cols n`, bool."""
    offset = solids.center[ids][None] - frames.origin[:, None]
    half, turn = solids.half[ids], solids.turn[ids]
    zero = torch.zeros_like(half[:, 0])
    axes = torch.stack(
        [
            turn * half[:, :1],
            torch.stack([-turn[:, 1], turn[:, 0], zero], -1) * half[:, 1:2],
            torch.stack([zero, zero, half[:, 2]], -1),
        ],
        1,
    )

    def along(vector: Tensor) -> tuple[Tensor, Tensor]:
        """Coordinate of the centres and of the half axes along a vector: `m n`, `m n 3`."""
        return (offset * vector[:, None]).sum(-1), (axes[None] * vector[:, None, None]).sum(-1)

    z, ez = along(frames.forward)
    front = z + ez.abs().sum(-1) > 0.0

    def between(vector: Tensor, count: int) -> Tensor:
        """Whether a solid reaches into each strip of tiles: `m count n`."""
        x, ex = along(vector / vector.square().sum(-1, keepdim=True))
        edge = torch.linspace(-1.0, 1.0, count + 1, device=z.device)[None, :, None]
        middle = x[:, None] - edge * z[:, None]
        reach = (ex[:, None] - edge[..., None] * ez[:, None]).abs().sum(-1)
        above, below = middle + reach >= 0.0, middle - reach <= 0.0
        return above[:, :-1] & below[:, 1:]

    near = _nearest(offset, half, turn)
    accept = between(frames.down, rows)[:, :, None] & (between(frames.right, cols) & front[:, None])[:, None]
    return accept & (near[:, None, None] <= seen_m[..., None])


def _nearest(offset: Tensor, half: Tensor, turn: Tensor) -> Tensor:
    """Distance from each origin to each bounding box."""
    x = offset[..., 0] * turn[:, 0] + offset[..., 1] * turn[:, 1]
    y = offset[..., 1] * turn[:, 0] - offset[..., 0] * turn[:, 1]
    gaps = torch.stack([x, y, offset[..., 2]], -1).abs() - half
    gaps[..., 2] -= (turn[:, 2] * half[:, 0]).abs()
    return gaps.clamp(min=0.0).square().sum(-1).sqrt()


def _cast_form(
    solids: Solids, ids: Tensor, kind: int, accept: Tensor, origin: Tensor, tiles: Tensor, best: Tensor, index: Tensor
) -> None:
    """Intersect all candidates of one form, tile by tile, and keep what is nearer (in place)."""
    accept = accept.reshape(len(tiles), len(ids))
    counts = accept.sum(-1)
    tile, which = accept.nonzero(as_tuple=True)
    if len(tile) == 0:
        return
    start = counts.cumsum(0) - counts
    order = counts.argsort(descending=True)
    per_slot = torch.bincount(counts[order].clamp(min=0), minlength=1)
    # tiles_with[k] = number of tiles that have more than k candidates.
    tiles_with = (len(tiles) - per_slot.cumsum(0)).tolist()
    slots = [n for n in tiles_with if n > 0]
    rays = tiles[order[: slots[0]]]
    camera = origin[order[: slots[0]] // (len(tiles) // len(origin))]
    near = best[order[: slots[0]]]
    what = index[order[: slots[0]]]
    ray = [rays[..., axis].reciprocal() if kind == AABB else rays[..., axis].contiguous() for axis in range(3)]
    first = start[order[: slots[0]]]
    for k, n in enumerate(slots):
        chosen = ids[which[first[:n] + k]]
        enter, leave = _crossing(solids, chosen, kind, [axis[:n] for axis in ray], camera[:n])
        closer = (enter <= leave) & (enter > 0.0) & (enter < near[:n])
        near[:n] = torch.where(closer, enter, near[:n])
        what[:n] = torch.where(closer, chosen[:, None].to(torch.int32), what[:n])
    best[order[: slots[0]]] = near
    index[order[: slots[0]]] = what


def _crossing(solids: Solids, ids: Tensor, kind: int, ray: Sequence[Tensor], origin: Tensor) -> tuple[Tensor, Tensor]:
    """`crossing` of solids, by index, with rays axis by axis, `n k`: k per solid."""
    offset = solids.center[ids] - origin
    return crossing(torch, kind, ray, *(value.split(1, 1) for value in (offset, solids.half[ids], solids.turn[ids])))


def intersect(
    solids: Solids, ids: Int64[Tensor, " p"], origin: Float32[Tensor, "p 3"], ray: Float32[Tensor, "p 3"]
) -> Float32[Tensor, " p"]:
    """Entry parameter of each ray into its own solid (ray by ray), infinite where it misses."""
    t = torch.full_like(origin[:, 0], torch.inf)
    form = solids.form[ids]
    for kind in FORMS:
        where = (form == kind).nonzero()[:, 0]
        if len(where):
            rays = ray[where].reciprocal() if kind == AABB else ray[where]
            enter, leave = _crossing(solids, ids[where], kind, rays.split(1, 1), origin[where])
            t[where] = torch.where((enter <= leave) & (enter > 0.0), enter, torch.inf)[:, 0]
    return t


def nearest(
    solids: Solids, origin: Float32[Tensor, "p 3"], ray: Float32[Tensor, "p 3"]
) -> tuple[Float32[Tensor, " p"], Int64[Tensor, " p"]]:
    """What single rays meet first, whatever their directions: distance in lengths of the ray, and index (−1 for none).

    Every ray is tested against every solid, so it is for few rays; `cast` is for images.
    """
    ray = torch.where(ray.abs() < TINY, TINY, ray)
    best = torch.full_like(origin[:, 0], torch.inf)
    index = torch.full_like(best, -1, dtype=torch.long)
    for kind in FORMS:
        ids = (solids.form == kind).nonzero()[:, 0]
        step = max(1, _TESTS // max(1, len(ids)))
        for rows in torch.arange(len(origin), device=origin.device).split(step) if len(ids) else ():
            rays = (ray[rows].reciprocal() if kind == AABB else ray[rows]).T[:, :, None]
            offset = solids.center[ids].T[:, None] - origin[rows].T[:, :, None]
            enter, leave = crossing(torch, kind, rays, offset, solids.half[ids].T[:, None], solids.turn[ids].T[:, None])
            t, which = torch.where((enter <= leave) & (enter > 0.0), enter, torch.inf).min(1)
            closer = t < best[rows]
            best[rows] = torch.where(closer, t, best[rows])
            index[rows] = torch.where(closer, ids[which], index[rows])
    return best, index
