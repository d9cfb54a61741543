"""What a robot's camera sees as labelled points: floor, places to go on to and stairs from depth, words of its images.

A model learned from viewpoints: one observation per place, from a camera that looks all around. A robot's camera sees
one direction at a time, many times a second. So what it sees within `PLACE_M` of a place is one observation, which
grows until the robot has gone on: one caption per direction (the last one), and the space that all its depth images
tell of (`driving.occupancy`). Floor and ways lead to the places that a driving agent would choose from
(`driving.places`), because these are laid out as a navigation graph's viewpoints are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import cv2
import numpy as np
from jaxtyping import Bool, Float
from torch import Tensor

from ghosts.agent.estimate import Occupancy
from ghosts.agent.frames import Description
from ghosts.agent.sensors import NamedLabels, Views, box_depth_m
from ghosts.config import LandmarkConfig
from ghosts.driving.floor import Floor, find_floor
from ghosts.driving.occupancy import CELL_M, Space, centred, reach, see, standable
from ghosts.driving.places import Exploration, Place, find_places
from ghosts.mapping.labels import DETECTION, DOWN, FLOOR, UP, VIEWPOINT
from ghosts.mapping.landmark_views import LandmarkView
from ghosts.mapping.pictured import PictureReader, sector_of
from ghosts_sim.geometry import rays_through
from ghosts_sim.landmarks.captioners import box_angles
from ghosts_sim.landmarks.captions import Box, View
from ghosts_sim.landmarks.format import normalise_label
from ghosts_sim.rotations import angles_of
from ghosts_sim.types import Intrinsics, Pose

PLACE_M = 1.5
"""What is seen within this of a place is one observation; R2R's viewpoints lie 2.2 m apart."""
_STEEP_DEG = 45.0
"""Words of a camera that looks farther up or down say little about what is ahead."""
_PIXELS = 80_000
"""Depth images are thinned to at most so many pixels: cells are 10 cm wide."""
_LEAST = 3
"""A real sensor has noise, so that more than one pixel must tell of a thing."""
_EDGE = 0.1
"""A pixel whose depth differs from a neighbour's by more than this share lies on an edge, where sensors mix both."""
_TILT_DEG = 12.0
_LOWER_M = 0.25
_BODY_M, _TALL_M = 0.2, 1.2
_NEAR_M = 5.0
"""Floor and ways are shown up to so many metres of way, and places that were seen within this matter for them."""
_EXPLORATION = Exploration()


@dataclass(frozen=True)
class _Said:
    """What was said about one direction."""

    view: View
    at_m: tuple[float, float, float]
    objects: tuple[tuple[str, tuple[float, float, float], float], ...]
    """Boxes of classes that the model knows as objects alone: name, place in the world, confidence."""


@dataclass(frozen=True, eq=False)
class Reader:
    """How a model reads what is around it."""

    labels: NamedLabels
    config: LandmarkConfig
    """Senses that it was trained with."""

    @cached_property
    def pictures(self) -> PictureReader:
        """What reads captions and boxes."""
        return PictureReader(self.labels.labels, self.config)


@dataclass(frozen=True, eq=False)
class Surroundings:
    """What a robot has seen around it, place by place. A method that adds something returns a new one."""

    reader: Reader | None = None
    """None for a model that reads images."""
    space: Space | None = None
    """None before a floor was found."""
    camera_m: float | None = None
    """The camera's height above the floor; None before one was found."""
    places_m: tuple[tuple[float, float, float], ...] = ()
    """On the floor, where observations began; the last one goes on."""
    said: tuple[tuple[int, _Said], ...] = ()
    """What was said at the present place, by direction."""
    notes: tuple[str, ...] = ()
    """What was odd about the last images."""

    def undescribed(self, views: Views) -> list[int]:
        """Views in whose direction nothing was said yet at this place."""
        here = views.camera_to_world[0, :2, 3].tolist()
        said = dict(self.said) if self.places_m and math.dist(self.places_m[-1][:2], here) <= PLACE_M else {}
        return [k for k, matrix in enumerate(views.camera_to_world) if _sector(matrix) not in said]

    def see(self, views: Views, descriptions: Mapping[int, Description] | None = None) -> Surroundings:
        """Add images taken together, and what was said about some of them."""
        x_m, y_m, eyes_m = views.camera_to_world[0, :3, 3].tolist()
        seen = replace(self, notes=())
        if not self.places_m or math.dist(self.places_m[-1][:2], (x_m, y_m)) > PLACE_M:
            seen = replace(seen, places_m=(*self.places_m, (x_m, y_m, eyes_m - self._camera_m)), said=())
        if views.depth_m.any():
            seen = seen._measured(views)
        reader = self.reader
        if reader is not None and descriptions:
            said = (seen._read(reader, views, number, told) for number, told in descriptions.items())
            seen = replace(seen, said=tuple({**dict(seen.said), **dict(said)}.items()))
            if any(told.caption for told in descriptions.values()) and not reader.config.captions:
                seen = replace(seen, notes=(*seen.notes, "this model reads no captions, only boxes"))
        return seen

    @property
    def _camera_m(self) -> float:
        reader = self.reader
        usual_m = reader.config.pictures.camera_m if reader is not None else LandmarkConfig().pictures.camera_m
        return self.camera_m if self.camera_m is not None else usual_m

    def _measured(self, views: Views) -> Surroundings:
        """With what depth tells of the space."""
        floors = (
            find_floor(depth, matrix, views.camera, self.camera_m)
            for depth, matrix in zip(views.depth_m, views.camera_to_world, strict=True)
        )
        floor = next((floor for floor in floors if floor is not None), None)
        notes, camera_m = self.notes, self.camera_m
        if floor is not None and floor.tilt_deg > _TILT_DEG:
            notes = (*notes, _tilted(floor))
        # A table top may look like a floor. What is lower is the better floor.
        elif floor is not None and (camera_m is None or floor.camera_m > camera_m - _LOWER_M):
            camera_m = floor.camera_m
        x_m, y_m, eyes_m = views.camera_to_world[0, :3, 3].tolist()
        if camera_m is None:
            return replace(self, notes=(*notes, "no floor was seen yet"))
        ground_m = eyes_m - camera_m
        last = self.places_m[-1]
        places = (*self.places_m[:-1], (last[0], last[1], ground_m)) if self.camera_m != camera_m else self.places_m
        space = centred(self.space or Space.around(Pose(x_m, y_m, eyes_m, 0.0), camera_m), x_m, y_m)
        feet_m = space.feet_m
        space = see(space, _thinned(views), ground_m, _LEAST)
        if any(math.dist(foot[:2], (x_m, y_m)) < 2 * CELL_M for foot in feet_m[-20:]):
            space = replace(space, feet_m=feet_m)
        return replace(self, space=space, camera_m=camera_m, places_m=places, notes=notes)

    def _read(self, reader: Reader, views: Views, number: int, told: Description) -> tuple[int, _Said]:
        """A direction and what was said about it."""
        matrix, depth, camera = views.camera_to_world[number], views.depth_m[number], views.camera
        heading, elevation, _ = angles_of(matrix[:3, :3])
        elevation_deg = 0.0 if abs(math.degrees(elevation)) < _STEEP_DEG else math.degrees(elevation)
        boxes, objects = [], []
        for box in told.boxes:
            label, away_m = normalise_label(box.label), box_depth_m(box.edges_px, depth)
            heading_deg, bottom_deg = box_angles(box.edges_px, camera, matrix[:3, :3])
            left, top, right, bottom = box.edges_px
            ray = matrix[:3, :3] @ rays_through(camera, np.array((left + right) / 2), np.array((top + bottom) / 2))
            if away_m is not None:
                away_m *= math.hypot(ray[0], ray[1])
            elif bottom_deg < 0.0:
                away_m = self._camera_m / math.tan(math.radians(-bottom_deg))
            pictures = reader.config.pictures
            if away_m is None or away_m > pictures.far_m:
                continue
            # Of boxes that hang on walls training showed none.
            if self._camera_m + away_m * math.tan(math.radians(bottom_deg)) > pictures.camera_m:
                continue
            if reader.config.detections and reader.labels.labels.heard_id(DETECTION, label) is not None:
                boxes.append(Box(label, heading_deg, min(bottom_deg, -1e-3), box.confidence, "", away_m))
            elif reader.config.objects and box.confidence >= pictures.confidence:
                place = matrix[:3, 3] + ray * (away_m / max(math.hypot(ray[0], ray[1]), 1e-6))
                objects.append((label, tuple(place.tolist()), box.confidence))
        view = View(math.degrees(heading), elevation_deg, told.caption, tuple(boxes))
        x_m, y_m, z_m = matrix[:3, 3].tolist()
        return _sector(matrix), _Said(view, (x_m, y_m, z_m), tuple(objects))

    def points(self) -> tuple[LandmarkView, Float[Tensor, "labels d"] | None]:
        """Labelled points of the present place, and a vector per label where labels are read by their meaning."""
        assert self.reader is not None, "a model that reads labels"
        labels, config = self.reader.labels.labels, self.reader.config
        parts = [
            (points.label_id, points.xyz_m, points.weight)
            for _, said in self.said
            for points in [self.reader.pictures.points([said.view], np.array(said.at_m))]
        ]
        things = [thing for _, said in self.said for thing in said.objects]
        ids, vectors = self.reader.labels.read([name for name, _, _ in things])
        if things:
            parts.append((ids, np.array([at for _, at, _ in things]), np.array([sure for _, _, sure in things])))
        for name, at_m in self._ground() if config.floor else ():
            parts.append((np.full(len(at_m), labels.structure_id(name)), at_m, np.ones(len(at_m))))
        if not parts:
            return LandmarkView(np.zeros(0, np.int64), np.zeros((0, 3)), np.zeros(0)), vectors
        return LandmarkView(*(np.concatenate(part) for part in zip(*parts, strict=True))), vectors

    def _ground(self) -> list[tuple[str, Float[np.ndarray, "n 3"]]]:
        """Floor around the robot and on the way to each place that it could go on to, these places, and stairs."""
        assert self.reader is not None, "a model that reads labels"
        config, here = self.reader.config, np.array(self.places_m[-1])
        ticks = np.arange(-config.patch_m, config.patch_m + 1e-9, config.step_m)
        patch = np.stack([*(axis.ravel() for axis in np.meshgrid(ticks, ticks)), np.zeros(len(ticks) ** 2)], 1)
        found = [(FLOOR, here + patch), (FLOOR, self._free_m())]
        for place, way_m in self._ways():
            found.append((FLOOR, way_m))
            if not config.ways:
                continue
            at_m = np.array([place.xyz_m])
            found.append((VIEWPOINT, at_m))
            climb_m = place.xyz_m[2] - float(here[2])
            if abs(climb_m) > config.stairs_m:
                found.append((UP if climb_m > 0 else DOWN, at_m))
        return found

    def _free_m(self) -> Float[np.ndarray, "n 3"]:
        """Where one can stand near the present place."""
        if self.space is None:
            return np.zeros((0, 3))
        row, col = np.nonzero(self._standable(self.space)[1])
        free_m = self.space.first_m + CELL_M * np.stack([col, row, np.zeros(len(row))], 1)
        return free_m[np.hypot(*(free_m[:, :2] - self.places_m[-1][:2]).T) < _NEAR_M]

    def _ways(self) -> list[tuple[Place, Float[np.ndarray, "n 3"]]]:
        """Places to go on to from the present one, and the ways there."""
        if self.space is None:
            return []
        here = self.places_m[-1]
        near: list[tuple[float, float, float]] = []
        for place in reversed(self.places_m):  # a robot that goes to and fro begins at the same places again
            if math.dist(place[:2], here[:2]) < _NEAR_M and all(
                math.dist(place, other) > PLACE_M / 2 for other in near
            ):
                near.append(place)
        near.reverse()
        feet_m = tuple(foot for foot in self.space.feet_m if math.dist(foot[:2], here[:2]) < 2 * _NEAR_M)
        known = reach(replace(self.space, feet_m=feet_m), *here, _BODY_M, _TALL_M, _NEAR_M)
        places = find_places(known, near, _EXPLORATION)
        return [(place, known.way_m(place.cell)) for place in places if place.from_agent_m > 0.0]

    def standable(self, xy_m: Float[np.ndarray, "n 2"]) -> Bool[np.ndarray, " n"]:
        """False for places in the world that are known, and where nobody can stand within half a metre cell."""
        if self.space is None:
            return np.ones(len(xy_m), bool)
        known, clear = (
            cv2.boxFilter(mask.astype(np.float32), -1, (_WINDOW, _WINDOW), borderType=cv2.BORDER_CONSTANT)
            for mask in self._standable(self.space)
        )
        cells = np.floor((xy_m - self.space.corner_m[:2]) / CELL_M).astype(int)
        inside = ((cells >= 0) & (cells < known.shape[0])).all(1)
        col, row = np.where(inside[:, None], cells, 0).T
        return ~inside | (known[row, col] < _KNOWN) | (clear[row, col] > 1e-3)

    def _standable(self, space: Space) -> tuple[np.ndarray, np.ndarray]:
        levels = sorted({round(ground_m, 1) for _, _, ground_m in self.places_m})
        return standable(space, levels, _TALL_M)

    def occupancy(self) -> Occupancy | None:
        """What is free and what is not, as far as anything is known; None before a floor was seen."""
        if self.space is None:
            return None
        known, clear = self._standable(self.space)
        rows, cols = np.flatnonzero(known.any(1)), np.flatnonzero(known.any(0))
        if not len(rows):
            return None
        part = np.s_[rows[0] : rows[-1] + 1, cols[0] : cols[-1] + 1]
        values = np.where(clear, 0, np.where(known, 100, -1)).astype(np.int8)[part]
        x_m, y_m = (self.space.corner_m[:2] + CELL_M * np.array([cols[0], rows[0]])).tolist()
        return Occupancy(values, (x_m, y_m), CELL_M)


_WINDOW, _KNOWN = 5, 0.4
"""A place is looked at with 25 cm around it; it is known where this share of it was seen."""


def _sector(matrix: Float[np.ndarray, "4 4"]) -> int:
    """The direction in which a camera looks."""
    return sector_of(math.degrees(angles_of(matrix[:3, :3])[0]))


def _tilted(floor: Floor) -> str:
    return (
        f"the floor seems tilted by {floor.tilt_deg:.0f}°: check elevation and roll (their signs, degrees), the "
        f"camera's frame (optical or body), and which way is up in the world (the floor says {_numbers(floor.up)})"
    )


def _numbers(values: Sequence[float]) -> str:
    return ", ".join(f"{value:.2f}" for value in values)


def _thinned(views: Views) -> Views:
    """Fewer pixels, none of them on an edge between surfaces."""
    camera, depth = views.camera, views.depth_m
    step = max(1, math.ceil(math.sqrt(camera.width * camera.height / _PIXELS)))
    kept = depth[:, step // 2 :: step, step // 2 :: step].copy()
    for axis in (1, 2):
        near = np.abs(np.diff(kept, axis=axis)) > _EDGE * np.maximum(np.delete(kept, -1, axis), 1e-6)
        edge = np.zeros(kept.shape, bool)
        before, after = [slice(None)] * 3, [slice(None)] * 3
        before[axis], after[axis] = slice(None, -1), slice(1, None)
        edge[tuple(before)] |= near
        edge[tuple(after)] |= near
        kept[edge] = 0.0
    fx, fy, cx, cy = camera.k_px
    first = step // 2
    thin = Intrinsics.from_focal(
        kept.shape[2],
        kept.shape[1],
        fx / step,
        fy / step,
        max((cx - first) / step, 1e-6),
        max((cy - first) / step, 1e-6),
        getattr(camera, "distortion", ()),
    )
    return Views(None, kept, views.camera_to_world, thin)
