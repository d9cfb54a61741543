"""Exact ray casting of boxes, upright cylinders and ellipsoids in torch, the same on CPU and GPU.

Images are cut into square tiles. A solid is a candidate of a tile when it meets the tile's frustum (exact planes, which
are separable in rows and columns) and is not farther than everything already seen there. Walls, floors and ceilings go
first, so that most of a house is culled before its furniture is looked at. Tiles are then sorted by the number of
their candidates and slot k is intersected for all tiles that have one: big flat batches without padding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float32, Int64
from torch import Tensor

from ghosts.errors import ConfigError
from ghosts.world.houses.house import Primitive

TILE_PX = 16
_AABB, _BOX, _CYLINDER, _ELLIPSOID = range(4)
_FAR = math.inf


@dataclass(frozen=True)
class Solids:
    """Primitives as tensors on one device."""

    form: Int64[Tensor, " n"]
    """0 axis-aligned box, 1 turned box, 2 upright cylinder, 3 ellipsoid."""
    center: Float32[Tensor, "n 3"]
    half: Float32[Tensor, "n 3"]
    """Half extents along its own axes; for form 0 along the world's axes."""
    turn: Float32[Tensor, "n 2"]
    """Cosine and sine of the yaw; (1, 0) for form 0."""
    first: Bool[Tensor, " n"]
    """Large fixed surfaces that hide others: cast first."""

    @property
    def device(self) -> torch.device:
        """Where the tensors live."""
        return self.center.device

    def only(self, keep: Bool[Tensor, " n"]) -> Solids:
        """The solids where `keep` holds."""
        return Solids(self.form[keep], self.center[keep], self.half[keep], self.turn[keep], self.first[keep])


def make_solids(primitives: tuple[Primitive, ...], device: torch.device | str = "cpu") -> Solids:
    """Put primitives into tensors.

    Args:
        primitives: solids of a scene; their order is the order of hit indices.
        device: where to cast.
    """
    if not primitives:
        raise ConfigError("a scene needs at least one primitive; there is nothing to draw")
    forms, halves, turns = [], [], []
    for p in primitives:
        quarter = p.yaw_rad / (math.pi / 2)
        square = abs(quarter - round(quarter)) < 1e-6
        half, turn = p.half_m, (math.cos(p.yaw_rad), math.sin(p.yaw_rad))
        if square:
            half = (half[1], half[0], half[2]) if round(quarter) % 2 else half
            turn = (1.0, 0.0)
        if p.shape == "box":
            forms.append(_AABB if square else _BOX)
        else:
            forms.append(_CYLINDER if p.shape == "cylinder" else _ELLIPSOID)
        halves.append(half)
        turns.append(turn)
    return Solids(
        torch.tensor(forms, device=device),
        torch.tensor([p.center_m for p in primitives], dtype=torch.float32, device=device),
        torch.tensor(halves, dtype=torch.float32, device=device),
        torch.tensor(turns, dtype=torch.float32, device=device),
        torch.tensor(
            [p.label in ("wall", "floor", "ceiling") and max(p.half_m) > 0.3 for p in primitives], device=device
        ),
    )


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
    """Cast one ray a pixel.

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
    # A component of exactly zero would make 0 · ∞ in the slab test.
    tiles = torch.where(tiles.abs() < 1e-8, torch.full_like(tiles, 1e-8), tiles)
    best = torch.full(tiles.shape[:2], _FAR, device=solids.device)
    index = torch.full(tiles.shape[:2], -1, dtype=torch.int32, device=solids.device)
    length = tiles.square().sum(-1).sqrt()
    for stage in (solids.first, ~solids.first):
        ids = stage.nonzero()[:, 0]
        if len(ids) == 0:
            continue
        seen_m = (best * length).amax(-1).view(m, rows, cols)
        accept = _candidates(solids, ids, frames, rows, cols, seen_m)
        form = solids.form[ids]
        for kind in range(4):
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
            torch.stack([turn[:, 0], turn[:, 1], zero], -1) * half[:, :1],
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
        edge = torch.linspace(-1.0, 1.0, count + 1, device=solids.device)[None, :, None]
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
    ray = (rays[..., 0].contiguous(), rays[..., 1].contiguous(), rays[..., 2].contiguous())
    if kind == _AABB:
        ray = (ray[0].reciprocal(), ray[1].reciprocal(), ray[2].reciprocal())
    first = start[order[: slots[0]]]
    for k, n in enumerate(slots):
        chosen = ids[which[first[:n] + k]]
        offset = solids.center[chosen] - camera[:n]
        t = _HIT[kind]((ray[0][:n], ray[1][:n], ray[2][:n]), offset, solids.half[chosen], solids.turn[chosen])
        closer = t < near[:n]
        near[:n] = torch.where(closer, t, near[:n])
        what[:n] = torch.where(closer, chosen[:, None].to(torch.int32), what[:n])
    best[order[: slots[0]]] = near
    index[order[: slots[0]]] = what


Rays = tuple[Tensor, Tensor, Tensor]


def _hit_aabb(inverse: Rays, offset: Tensor, half: Tensor, turn: Tensor) -> Tensor:
    """Entry parameter of rays (given by reciprocal directions) into boxes, infinite where they miss."""
    low, high = offset - half, offset + half
    near, far = torch.full_like(inverse[0], -_FAR), torch.full_like(inverse[0], _FAR)
    for axis in range(3):
        a, b = low[:, axis : axis + 1] * inverse[axis], high[:, axis : axis + 1] * inverse[axis]
        first, last = torch.minimum(a, b), torch.maximum(a, b)
        near = torch.maximum(near, first)
        far = torch.minimum(far, last)
    return near.masked_fill_((near > far) | (near <= 0.0), _FAR)


def _turned(ray: Rays, offset: Tensor, turn: Tensor) -> tuple[Rays, Tensor]:
    """Rays and offsets in the solids' own frames."""
    c, s = turn[:, :1], turn[:, 1:]
    own = (ray[0] * c + ray[1] * s, ray[1] * c - ray[0] * s, ray[2])
    x = offset[:, :1] * c + offset[:, 1:2] * s
    y = offset[:, 1:2] * c - offset[:, :1] * s
    return own, torch.cat([x, y, offset[:, 2:]], 1)


def _hit_box(ray: Rays, offset: Tensor, half: Tensor, turn: Tensor) -> Tensor:
    own, offset = _turned(ray, offset, turn)
    safe = [torch.where(r.abs() < 1e-8, torch.full_like(r, 1e-8), r).reciprocal() for r in own]
    return _hit_aabb((safe[0], safe[1], safe[2]), offset, half, turn)


def _hit_ellipsoid(ray: Rays, offset: Tensor, half: Tensor, turn: Tensor) -> Tensor:
    own, offset = _turned(ray, offset, turn)
    scale = half.reciprocal()
    e = offset * scale
    a = b = 0.0  # type: Tensor | float
    for axis in range(3):
        d = own[axis] * scale[:, axis : axis + 1]
        a, b = a + d * d, b + d * e[:, axis : axis + 1]
    c = e.square().sum(-1, keepdim=True) - 1.0
    disc = b * b - a * c
    t = (b - disc.clamp(min=0.0).sqrt()) / a
    return t.masked_fill_((disc < 0.0) | (t <= 0.0), _FAR)


def _hit_cylinder(ray: Rays, offset: Tensor, half: Tensor, turn: Tensor) -> Tensor:
    own, offset = _turned(ray, offset, turn)
    scale = half[:, :2].reciprocal()
    ex, ey = offset[:, :1] * scale[:, :1], offset[:, 1:2] * scale[:, 1:]
    dx, dy = own[0] * scale[:, :1], own[1] * scale[:, 1:]
    a, b = dx * dx + dy * dy, dx * ex + dy * ey
    disc = b * b - a * (ex * ex + ey * ey - 1.0)
    root = disc.clamp(min=0.0).sqrt()
    inverse = own[2].reciprocal()
    z0, z1 = (offset[:, 2:] - half[:, 2:]) * inverse, (offset[:, 2:] + half[:, 2:]) * inverse
    near = torch.maximum((b - root) / a, torch.minimum(z0, z1))
    far = torch.minimum((b + root) / a, torch.maximum(z0, z1))
    return near.masked_fill_((disc < 0.0) | (near > far) | (near <= 0.0), _FAR)


_HIT = (_hit_aabb, _hit_box, _hit_cylinder, _hit_ellipsoid)


def intersect(
    solids: Solids, ids: Int64[Tensor, " p"], origin: Float32[Tensor, "p 3"], ray: Float32[Tensor, "p 3"]
) -> Float32[Tensor, " p"]:
    """Entry parameter of each ray into its own solid (ray by ray), infinite where it misses."""
    t = torch.full_like(origin[:, 0], _FAR)
    form = solids.form[ids]
    for kind in range(4):
        where = (form == kind).nonzero()[:, 0]
        if len(where):
            chosen = ids[where]
            x, y, z = ray[where].split(1, 1)
            if kind == _AABB:
                x, y, z = x.reciprocal(), y.reciprocal(), z.reciprocal()
            offset = solids.center[chosen] - origin[where]
            t[where] = _HIT[kind]((x, y, z), offset, solids.half[chosen], solids.turn[chosen])[:, 0]
    return t
