"""Shading: from hits to colours. Materials, lights, shadows, ambient light and occlusion, smooth edges, tone."""

from __future__ import annotations

import torch
from torch import Tensor

from ghosts_houses.render import lighting
from ghosts_houses.render.materials import MATERIALS, evaluate
from ghosts_houses.render.raycast import Frames, Hits, intersect, nearest
from ghosts_houses.render.scene import Scene
from ghosts_houses.render.textures import SurfacePoints
from ghosts_houses.render.volume import room_of, sample
from ghosts_houses.solids import BOX, CYLINDER, TINY

_EXPOSURE = 0.56
_CPU_CHUNK = 131072
"""Pixels shaded at once on the CPU: temporaries stay in its caches."""
_NEIGHBOURS = ((0, 0), (0, 1), (0, -1), (1, 0), (-1, 0))
_ALONG = 6
"""Pixels over which a thin face is followed where rays miss it."""
_AMBIENT = 0.95
_MIRROR = MATERIALS.index("mirror")


def shade(scene: Scene, frames: Frames, hits: Hits) -> Tensor:
    """Colours of all pixels, uint8 `m h w 3`."""
    rays = frames.rays()
    length = rays.square().sum(-1, keepdim=True).sqrt()
    view = (rays / length).view(-1, 3)
    reach = hits.distance.nan_to_num(posinf=0.0).view(-1, 1)
    start = frames.origin[:, None].expand(-1, frames.height * frames.width, -1).reshape(-1, 3)
    index = hits.index.view(-1)
    size = reach[:, 0] * (2.0 / frames.width * float(frames.right[0].norm()))
    step = _CPU_CHUNK if index.device.type == "cpu" else len(index)
    parts = [
        _lit(scene, index[p], start[p] + view[p] * reach[p], view[p], size[p])
        for p in (slice(k, k + step) for k in range(0, len(index), step))
    ]
    albedo, light, emission, face = (torch.cat(column) for column in zip(*parts, strict=True))
    face = face.view(hits.index.shape)
    light = even_light(light.view(*hits.index.shape, 3), face).view(-1, 3)
    linear = albedo * light + emission
    glass = (scene.material[index.clamp(min=0)] == _MIRROR) & (index >= 0)
    if bool(glass.any()):
        at = glass.nonzero()[:, 0]
        linear[at] = _reflected(scene, index[at], start[at] + view[at] * reach[at], view[at], size[at], reach[at, 0])
    color = to_display(linear).view(*hits.index.shape, 3)
    return (smooth_edges(scene, frames, hits, face, color) * 255.0 + 0.5).to(torch.uint8)


def even_light(light: Tensor, face: Tensor) -> Tensor:
    """Take the grain out of shadows: each pixel gets the mean light of its neighbours on the same face of a solid.

    Args:
        light: `m h w 3`.
        face: a number for each face of each solid, `m h w`.
    """
    for step in (1, 2):
        for axis in (1, 2):
            total, count = light.clone(), torch.ones_like(light[..., :1])
            length = face.shape[axis] - step
            ahead, behind = (slice(None),) * axis + (slice(step, None),), (slice(None),) * axis + (slice(0, length),)
            same = (face[ahead] == face[behind])[..., None].float()
            total[ahead] += light[behind] * same
            total[behind] += light[ahead] * same
            count[ahead] += same
            count[behind] += same
            light = total / count
    return light


def _reflected(scene: Scene, index: Tensor, point: Tensor, view: Tensor, size: Tensor, reach: Tensor) -> Tensor:
    """What mirrors show, a little darker; a mirror seen in a mirror is grey."""
    _, normal, _ = _surface(scene, index, point, view, size)
    ray = view - 2.0 * (view * normal).sum(-1, keepdim=True) * normal
    far, seen = torch.full_like(reach, torch.inf), torch.full_like(index, -1)
    radius = torch.stack(scene.solids.reach_m).norm(dim=0)
    # The edge of a mirror faces another way than its front.
    _, face = torch.cat([index[:, None], (normal * 1000.0).round().long()], 1).unique(dim=0, return_inverse=True)
    for number in range(int(face.max()) + 1):
        mine = (face == number).nonzero()[:, 0]
        out, glass = normal[mine[0]], point[mine[0]]
        # Nothing behind a mirror shows in it, which spares half of the house.
        ahead = ((scene.solids.center - glass) @ out + radius > 0.0).nonzero()[:, 0]
        far[mine], which = nearest(scene.solids.only(ahead), point[mine] + 0.002 * out, ray[mine])
        seen[mine] = torch.where(which < 0, which, ahead[which.clamp(min=0)])
    size = size * (reach + far.nan_to_num(posinf=0.0)) / reach.clamp(min=0.05)
    there = point + ray * far.nan_to_num(posinf=0.0)[:, None]
    return 0.88 * radiance(scene, seen, there, ray, size) + 0.01


def smooth_edges(scene: Scene, frames: Frames, hits: Hits, face: Tensor, color: Tensor) -> Tensor:
    """Blend colours along the edges of faces, and fill in the faces too thin for every pixel's ray to meet them.

    Four more rays go through each pixel that shows another face than a neighbour, or that lies in the line of a thin
    one. They meet only the solids seen there and beside, and take the colour of the nearest pixel that shows the face.

    Args:
        scene: the scene.
        frames: the images.
        hits: what their pixels' rays meet.
        face: a number for each face of each solid (`_face`), `m h w`.
        color: `m h w 3`.
    """
    across, down = face[:, :, 1:] != face[:, :, :-1], face[:, 1:] != face[:, :-1]
    edge = torch.zeros_like(face, dtype=torch.bool)
    edge[:, :, 1:] |= across
    edge[:, :, :-1] |= across
    edge[:, 1:] |= down
    edge[:, :-1] |= down
    lines = [_lines(face, across, axis=2), _lines(face, down, axis=1)]
    for line in lines:
        edge |= face.flatten(1).gather(1, line.flatten(1)).view(face.shape) != face
    m, i, j = edge.nonzero(as_tuple=True)
    if len(m) == 0:
        return color
    rows = torch.stack([(i + di).clamp(0, frames.height - 1) for di, _ in _NEIGHBOURS], 1)
    cols = torch.stack([(j + dj).clamp(0, frames.width - 1) for _, dj in _NEIGHBOURS], 1)
    place = torch.cat([rows * frames.width + cols, *(line[m, i, j][:, None] for line in lines)], 1)
    place += (m * face[0].numel())[:, None]
    faces, ids = face.view(-1)[place], hits.index.view(-1)[place]
    # Most neighbours show the same solid: each is intersected once.
    fresh = torch.stack([(ids[:, k : k + 1] != ids[:, :k]).all(1) for k in range(ids.shape[1])], 1)
    pixel, _ = fresh.nonzero(as_tuple=True)
    solid = ids[fresh]
    origin, total = frames.origin[m], torch.zeros_like(color.view(-1, 3)[m])
    for di, dj in ((-0.125, -0.375), (0.375, -0.125), (0.125, 0.375), (-0.375, 0.125)):
        u = (j + 0.5 + dj) * (2.0 / frames.width) - 1.0
        v = (i + 0.5 + di) * (2.0 / frames.height) - 1.0
        ray = frames.forward[m] + frames.right[m] * u[:, None] + frames.down[m] * v[:, None]
        ray = torch.where(ray.abs() < TINY, TINY, ray)
        reach = intersect(scene.solids, solid.clamp(min=0), origin[pixel], ray[pixel])
        t = torch.full_like(ids, torch.inf, dtype=ray.dtype)
        t[fresh] = torch.where(solid < 0, 1e6, reach)
        near, first = t.min(1)
        met = ids.gather(1, first[:, None])[:, 0]
        at = origin + ray * near.nan_to_num(posinf=0.0)[:, None]
        same = faces == _face(scene, met, _own(scene, met, at))[:, None]
        chosen = torch.where(same.any(1), same.int().argmax(1), first)
        total += color.view(-1, 3)[place.gather(1, chosen[:, None])[:, 0]]
    result = color.clone()
    result[m, i, j] = total / 4
    return result


def _lines(face: Tensor, change: Tensor, axis: int) -> Tensor:
    """For each pixel the place in its image of one nearby that shows a face one pixel wide, or its own place.

    Such a face runs across `axis`, along which the image changes before and behind it.
    """
    here = torch.arange(face[0].numel(), device=face.device).view(1, *face.shape[1:]).expand_as(face)
    thin = torch.zeros_like(face, dtype=torch.bool)
    inner = (slice(None),) * axis + (slice(1, -1),)
    ahead, behind = (slice(None),) * axis + (slice(1, None),), (slice(None),) * axis + (slice(0, -1),)
    thin[inner] = change[ahead] & change[behind]
    size = (2 * _ALONG + 1, 3) if axis == 2 else (3, 2 * _ALONG + 1)
    marked = torch.where(thin, here, -1).float()[:, None]
    found = torch.nn.functional.max_pool2d(marked, size, 1, (size[0] // 2, size[1] // 2))[:, 0].long()
    return torch.where(found < 0, here, found)


def to_display(linear: Tensor) -> Tensor:
    """Tone curve and gamma: linear light to sRGB-like values in 0..1."""
    x = linear * _EXPOSURE
    toned = x * (2.51 * x + 0.03) / (x * (2.43 * x + 0.59) + 0.14)
    return toned.clamp(0.0, 1.0).pow(1.0 / 2.2)


def radiance(scene: Scene, index: Tensor, point: Tensor, view: Tensor, size: Tensor) -> Tensor:
    """Linear light that leaves points towards the eye.

    Args:
        scene: the scene.
        index: solid at each point, −1 for none, `n`.
        point: world coordinates, `n 3`.
        view: directions of sight, `n 3`.
        size: width of a pixel there in metres, `n`.
    """
    albedo, light, emission, _ = _lit(scene, index, point, view, size)
    return albedo * light + emission


def _lit(
    scene: Scene, index: Tensor, point: Tensor, view: Tensor, size: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Albedo, incoming light, own light (`n 3`) and a number for the face of the solid (`n`); zeros where none is."""
    full = [torch.zeros_like(point) for _ in range(3)]
    face = torch.full_like(index, -1)
    seen = (index >= 0).nonzero()[:, 0]
    if len(seen) < len(index):
        index, point, view, size = index[seen], point[seen], view[seen], size[seen]
    own, normal, points = _surface(scene, index, point, view, size)
    albedo, emission = torch.empty_like(point), torch.empty_like(point)
    gloss = torch.empty_like(own[:, 0])
    material = scene.material[index]
    for number in material.unique().tolist():
        where = (material == number).nonzero()[:, 0]
        part = SurfacePoints(*(value[where] for value in points))
        surface = evaluate(number, part)
        albedo[where], emission[where], gloss[where] = surface.albedo, surface.emission, surface.gloss
    # Mouldings and frames lie flat on walls, which the voxels beside them would count as occlusion.
    slim = scene.own_half[index].sort(-1).values[:, 1] < 0.055
    light = _light(scene, point, normal, view, gloss, albedo, slim)
    for whole, values in zip(full, (albedo, light, emission), strict=True):
        whole[seen] = values
    face[seen] = _face(scene, index, own)
    return full[0], full[1], full[2], face


def _light(
    scene: Scene, point: Tensor, normal: Tensor, view: Tensor, gloss: Tensor, albedo: Tensor, slim: Tensor
) -> Tensor:
    """Incoming light over π, with highlights folded in relative to the albedo."""
    room = room_of(scene.volume, point + normal * 0.07)
    # Noise by position: the same surface point gets the same dither from every view.
    seed = torch.sin(point[:, 0] * 129.9 + point[:, 1] * 782.3 + point[:, 2] * 377.1)
    dither = torch.stack([_fraction(seed * 4375.85), _fraction(seed * 2646.19)]).sub_(0.5).mul_(1.4)
    straight = lighting.direct(scene.lights, point + normal * 0.02, normal, room, dither)
    close = sample(scene.volume, scene.volume.near, point + normal * 0.15)[0]
    close = torch.where(slim, 0.35 * close, close)
    field = sample(scene.volume, scene.volume.field, point + normal * 0.36)
    open_sky = (1.0 - 0.95 * close).clamp(0.0, 1.0).pow_(1.3) * (1.0 - 0.75 * field[3]).clamp_(0.0, 1.0)
    light = straight * (0.35 + 0.65 * open_sky)[:, None] + _AMBIENT * (field[:3] * open_sky).T
    shiny = (gloss > 0).nonzero()[:, 0]
    light[shiny] *= 1.0 + _shine(
        scene, point[shiny], normal[shiny], view[shiny], room[shiny], gloss[shiny], albedo[shiny]
    )
    return light


def _shine(
    scene: Scene, point: Tensor, normal: Tensor, view: Tensor, room: Tensor, gloss: Tensor, albedo: Tensor
) -> Tensor:
    """Highlight of the room's lamp and the sheen of grazing sight, relative to the diffuse light."""
    lamps = torch.stack([scene.lights.position[chosen[0]].mean(0) for chosen in scene.lights.table])
    half = lamps[room] - point
    half = half * half.square().sum(-1, keepdim=True).rsqrt() - view
    glint = (half * normal).sum(-1).square() / half.square().sum(-1).clamp(min=1e-6)
    rim = (1.0 + (view * normal).sum(-1)).clamp(0.0, 1.0) ** 4
    return (gloss * (1.2 * glint**24 + 0.5 * rim))[:, None] / (albedo + 0.15)


def _fraction(x: Tensor) -> Tensor:
    return x - x.floor()


def _own(scene: Scene, index: Tensor, point: Tensor) -> Tensor:
    """Points in the frames of their solids."""
    offset = point - scene.solids.center[index]
    c, s, slope = scene.own_turn[index].unbind(-1)
    own = torch.stack([offset[:, 0] * c + offset[:, 1] * s, offset[:, 1] * c - offset[:, 0] * s, offset[:, 2]], -1)
    own[:, 2] -= slope * own[:, 0]
    return own


def _face(scene: Scene, index: Tensor, own: Tensor) -> Tensor:
    """A number for each face of each solid that an eye can see at once: the axis of a box, one for all round sides."""
    gap = own.abs() - scene.own_half[index]
    axis = torch.where(scene.solids.form[index] <= BOX, gap.argmax(-1), 3)
    return torch.where(index < 0, -1, index * 4 + axis)


def _surface(
    scene: Scene, index: Tensor, point: Tensor, view: Tensor, size: Tensor
) -> tuple[Tensor, Tensor, tuple[Tensor, ...]]:
    """Own coordinates, world normals, and the fields of `SurfacePoints`."""
    form, half, turn = scene.solids.form[index], scene.own_half[index], scene.own_turn[index]
    c, s, slope = turn.unbind(-1)
    own = _own(scene, index, point)
    reach = own.abs() / half
    boxy = (form <= BOX)[:, None]
    axis = (own.abs() - half).argmax(-1)
    flat = torch.zeros_like(own).scatter_(1, axis[:, None], own.gather(1, axis[:, None]).sign())
    round_ = own / (half * half)
    cap = (form == CYLINDER) & (reach[:, 2] > 1.0 - 1e-3 / half[:, 2].clamp(min=1e-2))
    round_ = torch.where((form == CYLINDER)[:, None], round_ * torch.tensor([1.0, 1.0, 0.0], device=own.device), round_)
    lid = torch.stack([torch.zeros_like(c), torch.zeros_like(c), own[:, 2].sign()], -1)
    round_ = torch.where(cap[:, None], lid, round_)
    local = torch.where(boxy, flat, round_)
    local[:, 0] -= slope * local[:, 2]
    local = local / local.square().sum(-1, keepdim=True).sqrt().clamp(min=1e-9)
    normal = torch.stack([local[:, 0] * c - local[:, 1] * s, local[:, 0] * s + local[:, 1] * c, local[:, 2]], -1)
    level = torch.where(boxy[:, 0], axis == 2, cap)
    sideways = boxy[:, 0] & (axis == 1)
    angle = torch.atan2(own[:, 1], own[:, 0]) * torch.minimum(half[:, 0], half[:, 1])
    u = torch.where(level | sideways, own[:, 0], torch.where(boxy[:, 0], own[:, 1], angle))
    v = torch.where(level, own[:, 1], own[:, 2])
    ru = torch.where(level | sideways, half[:, 0], half[:, 1])
    rv = torch.where(level, half[:, 1], half[:, 2])
    # A pixel covers more of a surface that is seen at a slant.
    size = size * (view * normal).sum(-1).abs().clamp(min=0.06).rsqrt()
    return own, normal, (u, v, ru, rv, own, level.float(), view, normal, scene.color[index], size, index)
