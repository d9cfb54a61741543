"""Shading: from hits to colours. Materials, lights, shadows, ambient light and occlusion, smooth edges, tone."""

from __future__ import annotations

import numpy as np

from ghosts_houses.arrays import Array, dot, library, single, take
from ghosts_houses.render import lighting
from ghosts_houses.render.materials import MATERIALS, evaluate
from ghosts_houses.render.raycast import Frames, Hits, intersect, nearest
from ghosts_houses.render.scene import Scene
from ghosts_houses.render.textures import SurfacePoints
from ghosts_houses.render.volume import room_of, sample
from ghosts_houses.solids import BOX, CYLINDER, TINY

_EXPOSURE = 0.56
_CHUNK = 32768
"""Points shaded at once on a CPU: temporaries stay in its caches."""
_NEIGHBOURS = ((0, 0), (0, 1), (0, -1), (1, 0), (-1, 0))
_ALONG = (1, 2, 3)
"""A thin face is followed over 6 pixels where rays miss it: one step after the other reaches all of them."""
_AMBIENT = 0.95
_MIRROR = MATERIALS.index("mirror")
_quiet = np.errstate(invalid="ignore", divide="ignore", over="ignore")
"""Places where nothing is seen have no colour."""


@_quiet
def shade(scene: Scene, frames: Frames, hits: Hits) -> Array:
    """Colours of all pixels, uint8 `m h w 3`."""
    xp, shape, index = library(hits.index), hits.index.shape, hits.index.reshape(-1)
    rays = frames.axes()
    length = xp.sqrt(dot(rays, rays))
    view = xp.stack([axis / length for axis in rays]).reshape(3, -1)
    reach = xp.where(hits.index < 0, 0.0, hits.distance)
    point = view * reach.reshape(-1) + xp.stack(
        [(xp.zeros_like(reach) + start[:, None, None]).reshape(-1) for start in frames.origin.T]
    )
    reach = reach.reshape(-1)
    size = reach * (2.0 / frames.width * float(xp.sqrt(dot(frames.right[0], frames.right[0]))))
    albedo, light, emission, face = _lit(scene, index, point, view, size)
    face = face.reshape(shape)
    linear = albedo * even_light(light.reshape(3, *shape), face).reshape(3, -1) + emission
    (glass,) = xp.where((take(scene.material, xp.clip(index, 0, None)) == _MIRROR) & (index >= 0))
    if len(glass):
        arrays = (take(values, glass) for values in (index, point, view, size, reach))
        linear[:, glass] = _reflected(scene, *arrays)
    color = smooth_edges(scene, frames, hits, face, to_display(linear).reshape(3, *shape))
    return xp.stack([xp.asarray(channel * 255.0 + 0.5, dtype=xp.uint8) for channel in color], -1)


def even_light(light: Array, face: Array) -> Array:
    """Take the grain out of shadows: each pixel gets the mean light of its neighbours on the same face of a solid.

    Args:
        light: `3 m h w`.
        face: a number for each face of each solid, `m h w`.
    """
    for step in (1, 2):
        for ahead, behind in _shifts(step):
            same = single(face[ahead] == face[behind])
            total, count = light + 0.0, single(face * 0 + 1)
            total[ahead] += light[behind] * same
            total[behind] += light[ahead] * same
            count[ahead] += same
            count[behind] += same
            light = total / count
    return light


def _shifts(step: int) -> list[tuple[tuple, tuple]]:
    """Slices of images `… h w` without their first rows and without their last ones, then the same for columns."""
    ahead, behind, all_ = slice(step, None), slice(None, -step), slice(None)
    return [((..., ahead, all_), (..., behind, all_)), ((..., ahead), (..., behind))]


def _reflected(scene: Scene, index: Array, point: Array, view: Array, size: Array, reach: Array) -> Array:
    """What mirrors show, a little darker; a mirror seen in a mirror is grey."""
    xp = library(index)
    _, normal, _ = _surface(scene, index, point, view, size)
    ray = view - 2.0 * dot(view, normal) * normal
    far, seen = xp.full_like(reach, xp.inf), xp.full_like(index, -1)
    reaches = scene.solids.reach_m
    radius = xp.sqrt(dot(reaches, reaches))
    # The edge of a mirror faces another way than its front.
    x, y, z = xp.asarray(xp.round(normal * 1000.0), dtype=xp.int64) + 1000
    _, face = xp.unique(((index * 2001 + x) * 2001 + y) * 2001 + z, return_inverse=True)
    for number in range(int(face.max()) + 1):
        (mine,) = xp.where(face == number)
        out, glass = normal[:, mine[0]], point[:, mine[0]]
        # Nothing behind a mirror shows in it, which spares half of the house.
        (ahead,) = xp.where(dot(scene.solids.center.T - glass[:, None], out) + radius > 0.0)
        far[mine], which = nearest(scene.solids.only(ahead), take(point, mine) + 0.002 * out[:, None], take(ray, mine))
        seen[mine] = xp.where(which < 0, which, ahead[xp.clip(which, 0, None)])
    far = xp.where(seen < 0, 0.0, far)
    size = size * (reach + far) / xp.clip(reach, 0.05, None)
    return 0.88 * radiance(scene, seen, point + ray * far, ray, size) + 0.01


def smooth_edges(scene: Scene, frames: Frames, hits: Hits, face: Array, color: Array) -> Array:
    """Blend colours along the edges of faces, and fill in the faces too thin for every pixel's ray to meet them.

    Four more rays go through each pixel that shows another face than a neighbour, or that lies in the line of a thin
    one. They meet only the solids seen there and beside, and take the colour of the nearest pixel that shows the face.

    Args:
        scene: the scene.
        frames: the images.
        hits: what their pixels' rays meet.
        face: a number for each face of each solid (`_face`), `m h w`.
        color: `3 m h w`.
    """
    xp, faces_of, ids_of, colors = library(face), face.reshape(-1), hits.index.reshape(-1), color.reshape(3, -1)
    edge, lines = xp.zeros_like(face, dtype=xp.bool), []
    for axis, (ahead, behind) in zip((2, 1), reversed(_shifts(1)), strict=True):
        change = face[ahead] != face[behind]
        edge[ahead] |= change
        edge[behind] |= change
        lines.append(_lines(face, change, axis))
    for line in lines:
        edge |= take(faces_of, line) != face
    m, i, j = xp.where(edge)
    if len(m) == 0:
        return color
    around = [
        (m * frames.height + xp.clip(i + di, 0, frames.height - 1)) * frames.width
        + xp.clip(j + dj, 0, frames.width - 1)
        for di, dj in _NEIGHBOURS
    ]
    place = xp.stack([*around, *(line[m, i, j] for line in lines)])
    faces, ids = take(faces_of, place), take(ids_of, place)
    # Most neighbours show the same solid: each is intersected once.
    fresh = xp.stack([(ids[k : k + 1] != ids[:k]).all(0) for k in range(len(ids))])
    _, pixel = xp.where(fresh)
    solid, row = ids[fresh], xp.arange(len(m), device=m.device)
    origin, forward, right, down = (
        take(axes.T, m) for axes in (frames.origin, frames.forward, frames.right, frames.down)
    )
    total = xp.zeros_like(origin)
    for di, dj in ((-0.125, -0.375), (0.375, -0.125), (0.125, 0.375), (-0.375, 0.125)):
        u = (single(j) + 0.5 + dj) * (2.0 / frames.width) - 1.0
        v = (single(i) + 0.5 + di) * (2.0 / frames.height) - 1.0
        ray = forward + right * u + down * v
        ray = xp.where(xp.abs(ray) < TINY, TINY, ray)
        reach = intersect(scene.solids, xp.clip(solid, 0, None), take(origin, pixel), take(ray, pixel))
        t = xp.full_like(ids, xp.inf, dtype=xp.float32)
        t[fresh] = xp.where(solid < 0, 1e6, reach)
        near, first = xp.amin(t, 0), xp.argmin(t, 0)
        met = ids[first, row]
        at = origin + ray * xp.where(xp.isinf(near), 0.0, near)
        same = faces == _face(scene, met, _own(scene, met, at))
        chosen = xp.where(same.any(0), xp.argmax(xp.asarray(same, dtype=xp.int8), 0), first)
        total += take(colors, place[chosen, row])
    result = color + 0.0
    result[:, m, i, j] = total / 4
    return result


def _lines(face: Array, change: Array, axis: int) -> Array:
    """For each pixel the place, among all images' pixels, of one near it that shows a face one pixel wide, or its own.

    Such a face runs across `axis`, along which the image changes before and behind it.
    """
    xp = library(face)
    here = xp.arange(len(face.reshape(-1)), device=face.device).reshape(face.shape)
    inner, ahead, behind = ((slice(None),) * axis + (part,) for part in (slice(1, -1), slice(1, None), slice(-1)))
    found = xp.full_like(here, -1)
    found[inner] = xp.where(change[ahead] & change[behind], here[inner], -1)
    rows, columns = (_ALONG, (1,)) if axis == 2 else ((1,), _ALONG)
    for along, steps in enumerate((rows, columns)):
        for step in steps:
            later, earlier = _shifts(step)[along]
            most = found + 0
            most[later] = xp.maximum(most[later], found[earlier])
            most[earlier] = xp.maximum(most[earlier], found[later])
            found = most
    return xp.where(found < 0, here, found)


def to_display(linear: Array) -> Array:
    """Tone curve and gamma: linear light to sRGB-like values in 0..1."""
    xp, x = library(linear), linear * _EXPOSURE
    toned = x * (2.51 * x + 0.03) / (x * (2.43 * x + 0.59) + 0.14)
    return xp.clip(toned, 0.0, 1.0) ** (1.0 / 2.2)


@_quiet
def radiance(scene: Scene, index: Array, point: Array, view: Array, size: Array) -> Array:
    """Linear light that leaves points towards the eye, `3 n`.

    Args:
        scene: the scene.
        index: solid at each point, −1 for none, `n`.
        point: world coordinates, `3 n`.
        view: directions of sight, `3 n`.
        size: width of a pixel there in metres, `n`.
    """
    albedo, light, emission, _ = _lit(scene, index, point, view, size)
    return albedo * light + emission


def _lit(scene: Scene, index: Array, point: Array, view: Array, size: Array) -> tuple[Array, Array, Array, Array]:
    """Albedo, incoming light, own light (`3 n`) and a number for the face of the solid (`n`); zeros where none is."""
    xp = library(index)
    albedo, light, emission, face = (*(xp.zeros_like(point) for _ in range(3)), xp.full_like(index, -1))
    step = _CHUNK if xp is np else max(1, len(index))
    for start in range(0, len(index), step):
        part = slice(start, start + step)
        (seen,) = xp.where(index[part] >= 0)
        arrays = index[part], point[:, part], view[:, part], size[part]
        if len(seen) == len(arrays[0]):
            albedo[:, part], light[:, part], emission[:, part], face[part] = _lit_part(scene, *arrays)
        elif len(seen):
            at = seen + start
            albedo[:, at], light[:, at], emission[:, at], face[at] = _lit_part(
                scene, *(take(values, seen) for values in arrays)
            )
    return albedo, light, emission, face


def _lit_part(scene: Scene, index: Array, point: Array, view: Array, size: Array) -> tuple[Array, Array, Array, Array]:
    """`_lit` of points that all lie on solids, not too many at once."""
    xp = library(index)
    own, normal, points = _surface(scene, index, point, view, size)
    albedo, emission, gloss = xp.empty_like(own), xp.empty_like(own), xp.empty_like(size)
    material = take(scene.material, index)
    for number in xp.unique(material).tolist():
        (where,) = xp.where(material == number)
        surface = evaluate(number, SurfacePoints(*(take(value, where) for value in points)))
        albedo[:, where], emission[:, where], gloss[where] = surface.albedo, surface.emission, surface.gloss
    light = _light(scene, point, normal, view, gloss, albedo, take(scene.slim, index))
    return albedo, light, emission, _face(scene, index, own)


def _light(scene: Scene, point: Array, normal: Array, view: Array, gloss: Array, albedo: Array, slim: Array) -> Array:
    """Incoming light over π, with highlights folded in relative to the albedo."""
    xp = library(point)
    room = room_of(scene.volume, point + normal * 0.07)
    # Noise by position: the same surface point gets the same dither from every view.
    seed = xp.sin(point[0] * 129.9 + point[1] * 782.3 + point[2] * 377.1)
    dither = (xp.stack([_fraction(seed * 4375.85), _fraction(seed * 2646.19)]) - 0.5) * 1.4
    straight = lighting.direct(scene.lights, point + normal * 0.02, normal, room, dither)
    close = sample(scene.volume, scene.volume.near, point + normal * 0.15)[0]
    # Mouldings and frames lie flat on walls, which the voxels beside them would count as occlusion.
    close = xp.where(slim, 0.35 * close, close)
    field = sample(scene.volume, scene.volume.field, point + normal * 0.36)
    open_sky = xp.clip(1.0 - 0.95 * close, 0.0, 1.0) ** 1.3 * xp.clip(1.0 - 0.75 * field[3], 0.0, 1.0)
    light = straight * (0.35 + 0.65 * open_sky) + _AMBIENT * (field[:3] * open_sky)
    (shiny,) = xp.where(gloss > 0)
    arrays = (take(values, shiny) for values in (point, normal, view, room, gloss, albedo))
    light[:, shiny] *= 1.0 + _shine(scene, *arrays)
    return light


def _shine(scene: Scene, point: Array, normal: Array, view: Array, room: Array, gloss: Array, albedo: Array) -> Array:
    """Highlight of the room's lamp and the sheen of grazing sight, relative to the diffuse light."""
    xp = library(point)
    lamps = xp.stack([scene.lights.position[chosen[0]].mean(0) for chosen in scene.lights.table], -1)
    half = take(lamps, room) - point
    half = half / xp.sqrt(dot(half, half)) - view
    glint = dot(half, normal) ** 2 / xp.clip(dot(half, half), 1e-6, None)
    rim = xp.clip(1.0 + dot(view, normal), 0.0, 1.0) ** 4
    return gloss * (1.2 * glint**24 + 0.5 * rim) / (albedo + 0.15)


def _fraction(x: Array) -> Array:
    return x - library(x).floor(x)


def _own(scene: Scene, index: Array, point: Array) -> Array:
    """Points in the frames of their solids."""
    x, y, z = point - take(scene.solids.center.T, index)
    c, s, slope = take(scene.own_turn, index)
    along = x * c + y * s
    return library(point).stack([along, y * c - x * s, z - slope * along])


def _face(scene: Scene, index: Array, own: Array) -> Array:
    """A number for each face of each solid that an eye can see at once: the axis of a box, one for all round sides."""
    xp = library(index)
    axis = xp.argmax(abs(own) - take(scene.own_half, index), 0)
    axis = xp.where(take(scene.solids.form, index) <= BOX, axis, 3)
    return xp.where(index < 0, -1, index * 4 + axis)


def _surface(
    scene: Scene, index: Array, point: Array, view: Array, size: Array
) -> tuple[Array, Array, tuple[Array, ...]]:
    """Own coordinates, world normals, and the fields of `SurfacePoints`."""
    xp = library(index)
    form, half, (c, s, slope) = (take(values, index) for values in (scene.solids.form, scene.own_half, scene.own_turn))
    own = _own(scene, index, point)
    boxy, tube = form <= BOX, form == CYLINDER
    axis = xp.argmax(abs(own) - half, 0)
    cap = tube & (abs(own[2]) / half[2] > 1.0 - 1e-3 / xp.clip(half[2], 1e-2, None))
    bent, sign = own / (half * half), xp.sign(own)
    bent[2] = xp.where(tube, 0.0, bent[2])
    bent = xp.where(cap, xp.stack([xp.zeros_like(c), xp.zeros_like(c), sign[2]]), bent)
    flat = xp.stack([xp.where(axis == k, sign[k], 0.0) for k in range(3)])
    local = xp.where(boxy, flat, bent)
    local[0] -= slope * local[2]
    long = 1.0 / xp.clip(xp.sqrt(dot(local, local)), 1e-9, None)
    x, y, z = (value * long for value in local)
    normal = xp.stack([x * c - y * s, x * s + y * c, z])
    level = xp.where(boxy, axis == 2, cap)
    across = level | (boxy & (axis == 1))
    angle = xp.where(boxy, own[1], xp.arctan2(own[1], own[0]) * xp.minimum(half[0], half[1]))
    u, v = xp.where(across, own[0], angle), xp.where(level, own[1], own[2])
    ru, rv = xp.where(across, half[0], half[1]), xp.where(level, half[1], half[2])
    # A pixel covers more of a surface that is seen at a slant.
    size = size / xp.sqrt(xp.clip(abs(dot(view, normal)), 0.06, None))
    return own, normal, (u, v, ru, rv, own, single(level), view, normal, take(scene.color, index), size, index)
