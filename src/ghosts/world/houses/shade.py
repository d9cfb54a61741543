"""Shading: from hits to colours. Materials, lights, shadows, ambient light and occlusion, smooth edges, tone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ghosts.world.houses import lighting
from ghosts.world.houses.materials import evaluate
from ghosts.world.houses.raycast import Frames, Hits
from ghosts.world.houses.textures import Points
from ghosts.world.houses.volume import room_of, sample

if TYPE_CHECKING:
    from ghosts.world.houses.render import Scene

_EXPOSURE = 1.25
_AMBIENT = 1.15
_BOX, _TURNED, _CYLINDER, _ELLIPSOID = range(4)


def shade(scene: Scene, frames: Frames, hits: Hits) -> Tensor:
    """Colours of all pixels, uint8 `m h w 3`."""
    rays = frames.rays()
    view = rays / rays.square().sum(-1, keepdim=True).sqrt()
    point = frames.origin[:, None, None] + view * hits.distance[..., None].nan_to_num(posinf=0.0)
    shape = hits.index.shape
    linear = radiance(
        scene, hits.index.reshape(-1), point.reshape(-1, 3), view.reshape(-1, 3), hits.distance.reshape(-1)
    )
    return to_bytes(linear).view(*shape, 3)


def to_bytes(linear: Tensor) -> Tensor:
    """Tone curve and gamma: linear light to 8-bit sRGB-like values."""
    x = linear * _EXPOSURE
    toned = x * (2.51 * x + 0.03) / (x * (2.43 * x + 0.59) + 0.14)
    return (toned.clamp(0.0, 1.0).pow(1.0 / 2.2) * 255.0 + 0.5).to(torch.uint8)


def radiance(scene: Scene, index: Tensor, point: Tensor, view: Tensor, distance: Tensor) -> Tensor:
    """Linear light that leaves points towards the eye.

    Args:
        scene: the scene.
        index: solid at each point, −1 for none, `n`.
        point: world coordinates, `n 3`.
        view: directions of sight, `n 3`.
        distance: from the eye, `n`.
    """
    out = torch.zeros_like(point)
    seen = (index >= 0).nonzero()[:, 0]
    if len(seen) < len(index):
        out[index < 0] = 0.0
        index, point, view = index[seen], point[seen], view[seen]
    own, normal, points = _surface(scene, index, point, view)
    albedo, emission = torch.empty_like(point), torch.empty_like(point)
    gloss = torch.empty_like(own[:, 0])
    material = scene.material[index]
    for number in material.unique().tolist():
        where = (material == number).nonzero()[:, 0]
        part = Points(*(value[where] for value in points))
        surface = evaluate(number, part)
        albedo[where], emission[where], gloss[where] = surface.albedo, surface.emission, surface.gloss
    out[seen] = albedo * _light(scene, point, normal, view, gloss, albedo) + emission
    return out


def _light(scene: Scene, point: Tensor, normal: Tensor, view: Tensor, gloss: Tensor, albedo: Tensor) -> Tensor:
    """Incoming light over π, with highlights folded in relative to the albedo."""
    room = room_of(scene.volume, point + normal * 0.07)
    # Interleaved gradient noise by position: the same surface point gets the same dither from every view.
    seed = (point * 317.0).sum(-1)
    dither = torch.stack([_fraction(seed * 0.7548), _fraction(seed * 0.5698)], -1) - 0.5
    straight, lamp = lighting.direct(scene.lights, point + normal * 0.02, normal, room, dither)
    close = sample(scene.volume, point + normal * 0.15)
    wide = sample(scene.volume, point + normal * 0.36)
    open_sky = (1.0 - 0.95 * close[:, 3:4]).clamp(0.0, 1.0) ** 1.3 * (1.0 - 0.75 * wide[:, 4:5]).clamp(0.0, 1.0)
    ambient = _AMBIENT * wide[:, :3] * open_sky
    half = lamp - view
    half = half / half.square().sum(-1, keepdim=True).sqrt()
    glint = (half * normal).sum(-1).clamp(min=0.0) ** 48
    rim = (1.0 + (view * normal).sum(-1)).clamp(0.0, 1.0) ** 4
    shine = (gloss * (1.2 * glint + 0.5 * rim))[:, None] * (straight + ambient)
    return straight * (0.35 + 0.65 * open_sky) + ambient + shine / (albedo + 0.15)


def _fraction(x: Tensor) -> Tensor:
    return x - x.floor()


def _surface(scene: Scene, index: Tensor, point: Tensor, view: Tensor) -> tuple[Tensor, Tensor, tuple[Tensor, ...]]:
    """Own coordinates, world normals, and the fields of `Points`."""
    form, half, turn = scene.solids.form[index], scene.own_half[index], scene.own_turn[index]
    offset = point - scene.solids.center[index]
    c, s = turn[:, 0], turn[:, 1]
    own = torch.stack([offset[:, 0] * c + offset[:, 1] * s, offset[:, 1] * c - offset[:, 0] * s, offset[:, 2]], -1)
    reach = own.abs() / half
    boxy = (form <= _TURNED)[:, None]
    axis = (own.abs() - half).argmax(-1)
    flat = torch.zeros_like(own).scatter_(1, axis[:, None], own.gather(1, axis[:, None]).sign())
    round_ = own / (half * half)
    cap = (form == _CYLINDER) & (reach[:, 2] > 1.0 - 1e-3 / half[:, 2].clamp(min=1e-2))
    round_ = torch.where(
        (form == _CYLINDER)[:, None], round_ * torch.tensor([1.0, 1.0, 0.0], device=own.device), round_
    )
    lid = torch.stack([torch.zeros_like(c), torch.zeros_like(c), own[:, 2].sign()], -1)
    round_ = torch.where(cap[:, None], lid, round_)
    local = torch.where(boxy, flat, round_)
    local = local / local.square().sum(-1, keepdim=True).sqrt().clamp(min=1e-9)
    normal = torch.stack([local[:, 0] * c - local[:, 1] * s, local[:, 0] * s + local[:, 1] * c, local[:, 2]], -1)
    level = torch.where(boxy[:, 0], axis == 2, cap)
    sideways = boxy[:, 0] & (axis == 1)
    angle = torch.atan2(own[:, 1], own[:, 0]) * torch.minimum(half[:, 0], half[:, 1])
    u = torch.where(level | sideways, own[:, 0], torch.where(boxy[:, 0], own[:, 1], angle))
    v = torch.where(level, own[:, 1], own[:, 2])
    ru = torch.where(level | sideways, half[:, 0], half[:, 1])
    rv = torch.where(level, half[:, 1], half[:, 2])
    return own, normal, (u, v, ru, rv, own, level.float(), view, normal, scene.color[index], index)
