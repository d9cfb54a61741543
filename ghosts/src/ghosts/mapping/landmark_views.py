"""What an agent at a viewpoint sees, as labelled points: objects, the room, the floor, ways on, stairs, and words of
photographs (`pictured`).

An object whose place is uncertain is spread over points that share its weight of 1, so a map cell receives the
probability that it is there. The same view always gives the same points.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from jaxtyping import Float, Float64, Int64, UInt16
from scipy.special import ndtri

from ghosts.config import LandmarkConfig
from ghosts.mapping.labels import DOOR, DOWN, FLOOR, UP, VIEWPOINT, LabelSet, build_labels
from ghosts.mapping.pictured import PictureReader, heard_names, names_in
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.errors import DataError
from ghosts_sim.geometry import heading_of
from ghosts_sim.graph import NavGraph
from ghosts_sim.landmarks.captions import SceneCaptions, load_captions
from ghosts_sim.landmarks.format import UNPLACED, SceneLandmarks, load_scene
from ghosts_sim.remedy import landmarks_command
from ghosts_sim.senses import SECTORS

_Part = tuple[int, Float[np.ndarray, "_ 3"], float]
"""A label, points of it, and the weight of each."""
ALL_ROUND = (1 << SECTORS) - 1
"""All directions, as bits."""
AT_CAMERA_M = 0.3
"""What is this near the camera is seen in all directions."""


@dataclass(frozen=True, eq=False)
class LandmarkView:
    """Labelled points seen from one viewpoint."""

    label_id: Int64[np.ndarray, " p"]
    xyz_m: Float64[np.ndarray, "p 3"]
    """World positions."""
    weight: Float64[np.ndarray, " p"]
    """Share of its object; 1 for points of floor, rooms, ways and stairs."""
    sectors: UInt16[np.ndarray, " p"] | None = None
    """Bits of the directions (of `senses.SECTORS`, the first around north) in which the camera sees each; None for
    all."""

    def rotated(self, angle_rad: float) -> LandmarkView:
        """The same view in a world rotated counter-clockwise about the vertical axis through its origin."""
        cos, sin = np.cos(angle_rad), np.sin(angle_rad)
        turn = np.array([[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]])
        return replace(self, xyz_m=self.xyz_m @ turn.T)


class LandmarkSource:
    """Views of every viewpoint of a data root with landmarks. Buildings are read when first asked for.

    Raises:
        DataError: the root has no landmarks.
    """

    def __init__(self, root: DataRoot, labels: LabelSet, config: LandmarkConfig | None = None) -> None:
        if not root.has_landmarks:
            hint = f"make them with: {landmarks_command(root.path)}"
            raise DataError("no landmarks/ folder in this data root", file=root.path, hint=hint)
        self.root, self.labels, self.config = root, labels, config or LandmarkConfig()
        self._scenes: dict[str, SceneLandmarks] = {}
        self._captions: dict[str, SceneCaptions | None] = {}
        self._reader = PictureReader(labels, self.config)

    def scene(self, scan: str) -> SceneLandmarks:
        """Landmarks of a building, checked against its navigation graph."""
        if scan not in self._scenes:
            self._scenes[scan] = load_scene(self.root, scan)
        return self._scenes[scan]

    def observe(self, scan: str, viewpoint: str) -> LandmarkView:
        """What an agent at a viewpoint sees.

        Raises:
            UnknownNameError: no such scan or viewpoint.
            DataError: its files are missing or malformed.
        """
        graph = self.root.graph(scan)
        row = graph.index(viewpoint)
        view, captions = observe(self.scene(scan), graph, row, self.labels, self.config), self._captions_of(scan)
        if captions is None:
            return view
        points = self._reader.points(captions.viewpoints.get(viewpoint, ()), graph.position_m[row])
        seen = (np.uint16(1) << points.sector.astype(np.uint16)).astype(np.uint16)
        sectors = view.sectors if view.sectors is not None else np.full(len(view.label_id), ALL_ROUND, np.uint16)
        return LandmarkView(
            np.concatenate([view.label_id, points.label_id]),
            np.concatenate([view.xyz_m, points.xyz_m]),
            np.concatenate([view.weight, points.weight]),
            np.concatenate([sectors, seen]),
        )

    def _captions_of(self, scan: str) -> SceneCaptions | None:
        """Captions of a building, where they are to be read and the data root has them."""
        if not (self.config.captions or self.config.detections):
            return None
        if scan not in self._captions:
            self._captions[scan] = load_captions(self.root, scan)
        return self._captions[scan]


def training_labels(root: DataRoot, scans: list[str], config: LandmarkConfig | None = None) -> LabelSet:
    """The label set of the given (training) buildings of a data root, with the words of captions where a model reads
    them."""
    config = config or LandmarkConfig()
    heard = heard_names(_captions(root, scans, config), config.pictures.words)
    return build_labels((load_scene(root, scan) for scan in scans), heard=heard)


def with_new_labels(root: DataRoot, labels: LabelSet, scans: Sequence[str], config: LandmarkConfig) -> LabelSet:
    """A label set with all objects of some buildings, and all words that are read there, that have a word with a
    meaning (`LabelSet.with_new`)."""
    labels = labels.with_new(sorted({item.label for scan in scans for item in load_scene(root, scan).objects}))
    heard: dict[str, set[str]] = {}
    for captions in _captions(root, scans, config):
        for kind, names in names_in(captions).items():
            heard.setdefault(kind, set()).update(names)
    for kind, found in heard.items():
        labels = labels.with_new(sorted(found), kind)
    return labels


def _captions(root: DataRoot, scans: Sequence[str], config: LandmarkConfig) -> Iterator[SceneCaptions]:
    """Captions of buildings, where they are to be read and the root has them."""
    if config.captions or config.detections:
        found = (load_captions(root, scan) for scan in scans)
        yield from (captions for captions in found if captions is not None)


def observe(scene: SceneLandmarks, graph: NavGraph, row: int, labels: LabelSet, config: LandmarkConfig) -> LandmarkView:
    """Labelled points seen from the viewpoint of a row of the graph."""
    parts: list[_Part] = []
    in_sight = viewpoints_in_sight(graph, row, config.sight_m)
    if config.floor:
        parts += _structure(graph, row, labels, config)
        if config.lines:
            parts += _lines(graph, row, in_sight, labels, config)
    if config.doors:
        parts += _doors(scene, graph, in_sight, labels)
    if config.rooms:
        for seen in in_sight:
            region = scene.viewpoints.get(graph.ids[seen])
            if region is not None:
                patch = _patch(graph.position_m[seen], config)
                parts.append((labels.room_id(region.room), patch, 1.0))
    if config.objects:
        listed = sorted({item for seen in in_sight for item in scene.listed.get(graph.ids[seen], ())})
        for item in listed:
            landmark = scene.objects[item]
            if config.unplaced or landmark.method != UNPLACED:
                points = spread(np.array(landmark.position_m), landmark.uncertainty_m, config.exact_m)
                parts.append((labels.object_id(landmark.label), points, 1.0 / len(points)))
    if not parts:
        return LandmarkView(np.zeros(0, np.int64), np.zeros((0, 3)), np.zeros(0))
    xyz_m = np.concatenate([points for _, points, _ in parts])
    return LandmarkView(
        np.concatenate([np.full(len(points), label, np.int64) for label, points, _ in parts]),
        xyz_m,
        np.concatenate([np.full(len(points), weight) for _, points, weight in parts]),
        sectors_of(xyz_m - graph.position_m[row]),
    )


def sectors_of(away_m: Float[np.ndarray, "p 3"]) -> UInt16[np.ndarray, " p"]:
    """Bits of the direction in which a camera sees points, by their displacement from it."""
    sector = np.round(heading_of(away_m) * (SECTORS / (2.0 * np.pi))).astype(np.uint16) % SECTORS
    bits = np.uint16(1) << sector
    return np.where(np.hypot(away_m[:, 0], away_m[:, 1]) < AT_CAMERA_M, np.uint16(ALL_ROUND), bits).astype(np.uint16)


def spread(position_m: Float[np.ndarray, " 3"], sigma_m: float, exact_m: float = 0.1) -> Float[np.ndarray, "k 3"]:
    """Points of equal weight whose mean is the position and whose deviation along x and y is `sigma_m`.

    One point below `exact_m`, 3 × 3 below three times that, 5 × 5 above: quantiles of a Gaussian, so that a map cell
    collects about the probability that the object is in it.
    """
    if sigma_m < exact_m or sigma_m == 0.0:
        return position_m[None]
    ticks = sigma_m * _quantile_ticks(3 if sigma_m < 3.0 * exact_m else 5)
    x, y = np.meshgrid(ticks, ticks, indexing="xy")
    return position_m + np.stack([x.ravel(), y.ravel(), np.zeros(x.size)], -1)


@cache
def _quantile_ticks(count: int) -> Float[np.ndarray, " n"]:
    ticks = ndtri((np.arange(count) + 0.5) / count)
    return ticks / np.sqrt((ticks**2).mean())


def viewpoints_in_sight(graph: NavGraph, row: int, sight_m: float) -> list[int]:
    """This viewpoint and the included ones visible from it, up to a distance, in file order."""
    distance = np.linalg.norm(graph.position_m - graph.position_m[row], axis=1)
    seen = graph.visible[row] & graph.included & (distance <= sight_m)
    seen[row] = True
    return np.flatnonzero(seen).tolist()


def _patch(centre_m: Float[np.ndarray, " 3"], config: LandmarkConfig) -> Float[np.ndarray, "k 3"]:
    return centre_m + _square(round(config.patch_m / config.step_m), config.step_m)


@cache
def _square(count: int, step_m: float) -> Float[np.ndarray, "k 3"]:
    ticks = np.arange(-count, count + 1) * step_m
    x, y = np.meshgrid(ticks, ticks, indexing="xy")
    return np.stack([x.ravel(), y.ravel(), np.zeros(x.size)], -1)


def _line(start_m: Float[np.ndarray, " 3"], end_m: Float[np.ndarray, " 3"], step_m: float) -> Float[np.ndarray, "k 3"]:
    """Points after the start of a line, up to its end."""
    way = end_m - start_m
    count = max(int(np.ceil(np.hypot(way[0], way[1]) / step_m)), 1)
    return start_m + np.arange(1, count + 1)[:, None] / count * way


def _structure(graph: NavGraph, row: int, labels: LabelSet, config: LandmarkConfig) -> list[_Part]:
    """Floor around the camera and towards each neighbour, the neighbours, and stairs."""
    feet_m, floor = graph.feet_m, labels.structure_id(FLOOR)
    parts = [(floor, _patch(feet_m[row], config), 1.0)]
    for other in graph.neighbours(row):
        parts.append((floor, _line(feet_m[row], feet_m[other], config.step_m), 1.0))
        if not config.ways:
            continue
        parts.append((labels.structure_id(VIEWPOINT), feet_m[other][None], 1.0))
        climb = float(graph.position_m[other, 2] - graph.position_m[row, 2])
        if abs(climb) > config.stairs_m:
            parts.append((labels.structure_id(UP if climb > 0 else DOWN), feet_m[other][None], 1.0))
    return parts


def _lines(graph: NavGraph, row: int, in_sight: list[int], labels: LabelSet, config: LandmarkConfig) -> list[_Part]:
    """Floor on the straight way to every viewpoint in sight on the same storey: nothing stands in between."""
    feet_m, floor = graph.feet_m, labels.structure_id(FLOOR)
    level = [k for k in in_sight if k != row and abs(feet_m[k, 2] - feet_m[row, 2]) <= config.stairs_m]
    return [(floor, _line(feet_m[row], feet_m[other], config.step_m), 1.0) for other in level]


def _doors(scene: SceneLandmarks, graph: NavGraph, in_sight: list[int], labels: LabelSet) -> list[_Part]:
    """A doorway halfway between neighbours of different rooms, where one of the two is in sight."""
    door, parts, placed = labels.structure_id(DOOR), [], set()
    for here in in_sight:
        mine = scene.viewpoints.get(graph.ids[here])
        for other in graph.neighbours(here):
            theirs, edge = scene.viewpoints.get(graph.ids[other]), frozenset((here, other))
            if mine is not None and theirs is not None and mine.region != theirs.region and edge not in placed:
                placed.add(edge)
                parts.append((door, (graph.position_m[[here]] + graph.position_m[[other]]) / 2.0, 1.0))
    return parts
