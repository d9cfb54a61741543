"""Three renderers of one protocol: RGB, depth and labels at any pose in a house.

| name | how | needs |
| --- | --- | --- |
| `exact` | every pixel shaded | the reference, and the one for a GPU |
| `baked` | the exact ray caster, colours from the baked atlas | |
| `fast` | Embree's ray caster over the mesh, colours from the baked atlas | the extra `fast` |
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import cv2
import numpy as np

from ghosts_houses.house import House
from ghosts_houses.mesh.atlas import Lookup
from ghosts_houses.mesh.bake import TEXEL_M, Baked, bake
from ghosts_houses.mesh.faces import SLOTS
from ghosts_houses.plan.shell import VIEWS
from ghosts_houses.render.materials import MATERIALS, evaluate
from ghosts_houses.render.panorama import Pictures, frames_of, render_frames
from ghosts_houses.render.raycast import Frames, cast, upload
from ghosts_houses.render.scene import LABELS, Scene, prepare
from ghosts_houses.render.shade import to_display
from ghosts_houses.render.textures import SurfacePoints
from ghosts_sim.errors import MissingExtraError, UnknownNameError
from ghosts_sim.types import Intrinsics, Pose

RENDERERS = ("exact", "baked", "fast")


@runtime_checkable
class Renderer(Protocol):
    """Draws pictures of a house, whatever the way."""

    def render(self, poses: Sequence[Pose], camera: Intrinsics) -> Pictures:
        """RGB, euclidean depth and labels of one camera at some poses, in their order."""


def make_renderer(
    name: str, house: House, *, texel_m: float = TEXEL_M, device: object = "cpu", folder: Path | None = None
) -> Renderer:
    """A renderer of a house, by its name of `RENDERERS`; on the device `exact` draws, or light is baked (`bake`).

    Raises:
        UnknownNameError: there is no such renderer.
        MissingExtraError: `fast` without embreex.
    """
    if name == "exact":
        return ExactRenderer(prepare(house, device))
    if name not in RENDERERS:
        raise UnknownNameError("renderer", name, RENDERERS)
    if name == "fast":
        _embree()
    baked = bake(house, texel_m, device, folder)
    return FastRenderer(baked) if name == "fast" else BakedRenderer(baked)


class ExactRenderer:
    """Shades every pixel: the reference."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene

    def render(self, poses: Sequence[Pose], camera: Intrinsics) -> Pictures:
        return render_frames(self.scene, frames_of(poses, camera, self.scene.device))


class BakedRenderer:
    """The exact ray caster with colours from the baked atlas."""

    def __init__(self, baked: Baked) -> None:
        self.palette = Palette(baked)
        self.solids = upload(baked.faces.solids)

    def render(self, poses: Sequence[Pose], camera: Intrinsics) -> Pictures:
        frames = frames_of(poses, camera, "cpu")
        hits = cast(self.solids, frames)
        shape = (len(poses), camera.height, camera.width)
        solid, reach = hits.index.reshape(-1), hits.distance.reshape(-1)
        reach = np.where(solid >= 0, reach, np.float32(0.0))
        point, rays, lengths = _points(frames, reach.reshape(shape))
        face = self.palette.lookup.slots(np.maximum(solid, 0), point)
        return self.palette.pictures(np.where(solid >= 0, face, -1), point, rays, lengths, reach.reshape(shape))


class FastRenderer:
    """Embree's ray caster over the mesh, with colours from the baked atlas.

    Raises:
        MissingExtraError: embreex is not installed.
    """

    def __init__(self, baked: Baked) -> None:
        scene, construction = _embree()
        self.palette = Palette(baked)
        self.scene = scene.EmbreeScene()
        mesh = baked.mesh
        self.mesh = construction.TriangleMesh(self.scene, mesh.vertex_m, mesh.triangle)
        # A ray that hits nothing has triangle −1, which finds the last entry.
        self.face = np.append(mesh.face, np.int32(-1))

    def render(self, poses: Sequence[Pose], camera: Intrinsics) -> Pictures:
        frames = frames_of(poses, camera, "cpu")
        shape = (len(poses), camera.height, camera.width)
        rays = frames.rays().reshape(-1, 3)
        start = np.repeat(frames.origin, camera.height * camera.width, 0)
        found = self.scene.run(start, rays, query="INTERSECT", output=True)
        face = self.face[found["primID"]]
        along = np.where(face >= 0, found["tfar"], np.float32(0.0))
        length = _lengths(camera)[None]
        reach = along.reshape(shape) * length
        point = start + rays * along[:, None]
        return self.palette.pictures(face, point, rays, np.broadcast_to(length, shape).reshape(-1), reach)


class Palette:
    """Colours and labels of points on a house's faces."""

    def __init__(self, baked: Baked) -> None:
        self.lookup = Lookup.of(baked.faces.solids, baked.atlas)
        # Four channels are sampled faster than three.
        self.image = cv2.cvtColor(baked.image, cv2.COLOR_RGB2RGBA)
        primitives = baked.house.primitives
        numbers = {name: number for number, name in enumerate(LABELS)}
        self.label = np.array([*(numbers[part.label] for part in primitives), 0], np.uint8)
        shown = {name: MATERIALS.index(name) for name in VIEWS}
        # Of what windows show, the material; −1 for all else.
        self.outside = np.array([*(shown.get(part.material, -1) for part in primitives), -1])

    def pictures(
        self, face: np.ndarray, point: np.ndarray, rays: np.ndarray, lengths: np.ndarray, depth_m: np.ndarray
    ) -> Pictures:
        """Pictures of hits.

        Args:
            face: number of the face that each ray hits, −1 for none, `p`.
            point: where, `p 3`.
            rays: directions, `p 3`.
            lengths: of the rays, `p`.
            depth_m: distances, `m h w`.
        """
        m, height, width = depth_m.shape
        seen = face >= 0
        place = self.lookup.places(np.maximum(face, 0), point).reshape(m * height, width, 2)
        rgb = cv2.remap(self.image, place, None, cv2.INTER_LINEAR)[..., :3].reshape(-1, 3)  # type: ignore[call-overload]
        solid = np.where(seen, face // SLOTS, -1)
        outside = self.outside[solid]
        for material in np.unique(outside[outside >= 0]).tolist():
            at = np.flatnonzero(outside == material)
            rgb[at] = _view(material, rays[at] / lengths[at, None])
        if not seen.all():
            rgb[~seen] = 0
        return Pictures(rgb.reshape(m, height, width, 3), depth_m, self.label[solid].reshape(m, height, width))


def _lengths(camera: Intrinsics) -> np.ndarray:
    """Lengths of the rays through the pixels, whose component along the optical axis is 1."""
    tall = np.tan(camera.vfov_rad / 2)
    u = ((np.arange(camera.width) + 0.5) * (2.0 / camera.width) - 1.0) * (tall * camera.width / camera.height)
    v = ((np.arange(camera.height) + 0.5) * (2.0 / camera.height) - 1.0) * tall
    return np.sqrt(1.0 + u[None] ** 2 + v[:, None] ** 2).astype(np.float32)


def axial_m(depth_m: np.ndarray, camera: Intrinsics) -> np.ndarray:
    """Distances along the optical axis from euclidean ones, `… h w`."""
    return depth_m / _lengths(camera)


def _points(frames: Frames, reach: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points, rays and their lengths from distances `m h w`, one row per pixel."""
    rays = frames.rays().reshape(-1, 3)
    lengths = np.sqrt(np.einsum("pc,pc->p", rays, rays))
    start = np.repeat(frames.origin, reach[0].size, 0)
    return start + rays * (reach.reshape(-1) / lengths)[:, None], rays, lengths


def _view(material: int, direction: np.ndarray) -> np.ndarray:
    """Display colours of what windows show along directions of sight."""
    look = np.ascontiguousarray(direction.T)
    black, none = np.zeros_like(look), np.zeros_like(look[0])
    points = SurfacePoints(none, none, none, none, black, none, look, -look, black, none, none.astype(np.int64))
    glow = evaluate(material, points).emission
    return (to_display(glow).T * 255.0 + 0.5).astype(np.uint8)


def _embree() -> tuple[Any, Any]:
    try:
        from embreex import mesh_construction, rtcore_scene
    except ImportError:
        raise MissingExtraError("embreex", "ghosts-houses[fast]", "the renderer fast") from None
    return rtcore_scene, mesh_construction
