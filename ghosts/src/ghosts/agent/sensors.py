"""What a robot's sensors and a sentence give, as the loop reads it: a briefing, and map cells of images or labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from ghosts.agent.interface import Briefing
from ghosts.mapping.cells import MapCells
from ghosts.mapping.label_tiles import cells_from_labels
from ghosts.mapping.labels import STRUCTURE, UNKNOWN_OBJECT, LabelSet, label_words
from ghosts.mapping.landmark_views import LandmarkView
from ghosts.mapping.points import points_from_rgbd
from ghosts.mapping.tiles import place_tiles, tiles_from_points
from ghosts.words.tokens import Vocabulary
from ghosts.words.vectors import shipped_vectors
from ghosts_sim.errors import ConfigError, UnknownNameError
from ghosts_sim.geometry import rays_through, snap_origin
from ghosts_sim.landmarks.format import normalise_label
from ghosts_sim.landmarks.regions import ROOM_NAMES
from ghosts_sim.types import Grid, Intrinsics, Pose

FARTHEST_M = 100.0
"""Depth beyond this is no reading: such cameras see tens of metres, and some write a huge number for "nothing"."""
ROOM = "room:"
_LETTERS = {name: letter for letter, name in ROOM_NAMES.items()}


def brief(
    vocabulary: Vocabulary,
    text: str,
    xy_m: tuple[float, float],
    heading_rad: float,
    grid: Grid,
    device: torch.device | None = None,
) -> tuple[Briefing, tuple[float, float]]:
    """An instruction given at a place in the world, and the world position of the centre of its map.

    Args:
        vocabulary: words that the model knows.
        text: the instruction.
        xy_m: where it is given.
        heading_rad: looking where, clockwise from +y.
        grid: of the map.
        device: where to.
    """
    tokens = torch.from_numpy(vocabulary.encode([text])).to(device)
    x_m, y_m = snap_origin(list(xy_m), grid).tolist()
    start = torch.tensor([[xy_m[0] - x_m, xy_m[1] - y_m]], device=device)
    heading = torch.tensor([heading_rad], device=device)
    return Briefing(tokens, (tokens > 0).sum(1), start, heading), (x_m, y_m)


@dataclass(frozen=True, eq=False)
class Views:
    """RGB-D images taken together."""

    rgb: np.ndarray | None
    """View × height × width × 3, values 0 to 255; None where nobody looks at colours."""
    depth_m: np.ndarray
    """View × height × width, along the optical axis; 0 = no reading."""
    camera_to_world: Float[np.ndarray, "v 4 4"]
    camera: Intrinsics

    def __post_init__(self) -> None:
        shape = (len(self.camera_to_world), self.camera.height, self.camera.width)
        colours = (*shape, 3) if self.rgb is None else self.rgb.shape
        if colours != (*shape, 3) or self.depth_m.shape != shape:
            raise ConfigError(
                f"{shape[0]} poses and {shape[1]} × {shape[2]} intrinsics need rgb {(*shape, 3)} and depth_m {shape} "
                f"(views, rows, columns), got {colours} and {self.depth_m.shape}; depth must be registered to colour"
            )
        if self.rgb is None:
            return
        if np.issubdtype(self.rgb.dtype, np.floating) and 0.0 < self.rgb.max(initial=0.0) <= 1.0:
            raise ConfigError(
                f"rgb holds values 0 to 255, got {self.rgb.dtype} up to {self.rgb.max():.2f}; multiply it by 255"
            )
        if self.rgb.dtype != np.uint8:
            wrong = ~((self.rgb >= 0) & (self.rgb <= 255))  # NaN too
            if wrong.any():
                at = tuple(np.argwhere(wrong)[0].tolist())
                raise ConfigError(
                    f"rgb holds values 0 to 255, got {self.rgb[at]} at view {at[0]}, row {at[1]}, column {at[2]}"
                )


def readings(depth_m: np.ndarray) -> np.ndarray:
    """Depth as a sensor gives it, with 0 wherever it is no distance: not finite, negative or beyond `FARTHEST_M`.

    Raises:
        ConfigError: all of it is too far away, as in millimetres.
    """
    seen = np.isfinite(depth_m) & (depth_m > 0)
    near = seen & (depth_m <= FARTHEST_M)
    if seen.any() and not near.any():
        raise ConfigError(
            f"depth_m holds metres, got {depth_m[seen].min():g} to {depth_m[seen].max():g}, none of it up to "
            f"{FARTHEST_M:g}; divide millimetres by 1000"
        )
    return np.where(near, depth_m, 0.0)


def cells_from_views(
    views: Views,
    backbone: Callable[[Tensor], Tensor],
    origin_xy_m: tuple[float, float],
    grid: Grid,
    height_clip_m: float,
    device: torch.device | None = None,
) -> MapCells:
    """Images of one agent step of one episode as map cells.

    Args:
        views: taken at one place.
        backbone: images to features.
        origin_xy_m: centre of the map, on the lattice.
        grid: of the map.
        height_clip_m: points more than this above their camera do not count.
        device: where to.
    """
    features = backbone(torch.as_tensor(np.ascontiguousarray(views.rgb), device=device))
    depth = torch.as_tensor(np.ascontiguousarray(views.depth_m, dtype=np.float64), device=device)
    to_world = torch.from_numpy(views.camera_to_world).to(device)
    points = points_from_rgbd(features[None].float(), depth[None], to_world[None], views.camera, height_clip_m)
    return place_tiles(tiles_from_points(points, grid.cell_m), 1, np.array([origin_xy_m]), grid)


@dataclass(frozen=True)
class Detection:
    """A labelled thing the robot has detected."""

    label: str
    xyz_m: tuple[float, float, float]
    """In the camera's frame: x right, y down, z forward."""

    def __post_init__(self) -> None:
        if not isinstance(self.label, str) or not self.label.strip():
            raise ConfigError(f"a detection's label must be a name, such as 'chair', got {self.label!r}")
        try:
            good = len(self.xyz_m) == 3 and all(math.isfinite(value) for value in self.xyz_m)
        except TypeError:  # no numbers, or not several of them
            good = False
        if not good:
            raise ConfigError(
                f"xyz_m of detection {self.label!r} must be three finite numbers (x right, y down, z forward, in "
                f"metres), got {self.xyz_m!r}"
            )

    @classmethod
    def from_box(
        cls,
        label: str,
        edges_px: tuple[float, float, float, float],
        depth_m: Float[np.ndarray, "h w"],
        intrinsics: Intrinsics,
    ) -> Detection | None:
        """A detector's box as a point in the camera's frame; None where depth has no reading in it.

        Args:
            label: its class.
            edges_px: left, top, right, bottom in pixels of the depth image, which must be registered to colour.
            depth_m: distance along the optical axis.
            intrinsics: of the camera.
        """
        away_m = box_depth_m(edges_px, depth_m)
        if away_m is None:
            return None
        left, top, right, bottom = edges_px
        x, y, z = (
            away_m * rays_through(intrinsics, np.array((left + right) / 2), np.array((top + bottom) / 2))
        ).tolist()
        return cls(label, (x, y, z))


def box_depth_m(edges_px: tuple[float, float, float, float], depth_m: Float[np.ndarray, "h w"]) -> float | None:
    """The median depth in the middle half of a box, where background is rare; None without a reading."""
    left, top, right, bottom = edges_px
    quarter_x, quarter_y = (right - left) / 4.0, (bottom - top) / 4.0
    rows = slice(max(0, math.floor(top + quarter_y)), max(0, math.ceil(bottom - quarter_y)))
    cols = slice(max(0, math.floor(left + quarter_x)), max(0, math.ceil(right - quarter_x)))
    inside = depth_m[rows, cols]
    near = inside[np.isfinite(inside) & (inside > 0.0) & (inside <= FARTHEST_M)]
    return float(np.median(near)) if len(near) else None


@dataclass(frozen=True)
class NamedLabels:
    """Numbers of names as a detector gives them.

    An object goes by its label ("chair", "dining table"), structure by `floor`, `viewpoint`, `up` and `down`, a room by
    "room: " and its name or letter, because `toilet` and `bar` are objects as well.
    """

    labels: LabelSet
    """Of the model."""
    open: bool
    """Whether an object that training never met is read by the meaning of its words; otherwise it counts as what its
    name ends in ("office chair" is a chair), else as `unknown object`."""

    def read(self, names: Sequence[str]) -> tuple[Int[np.ndarray, " n"], Float[Tensor, "labels d"] | None]:
        """The number of each name, and a vector per number where labels are read by their meaning.

        Objects that training never met are numbered after the others, anew in every call: only their vectors count. So
        what was detected before changes nothing, and costs nothing.

        Raises:
            UnknownNameError: there is no such room.
        """
        new: dict[str, int] = {}
        numbers, known = [], len(self.labels) + len(self.labels.new)
        for name in names:
            kind, plain = self._kind(name)
            numbers.append(new.setdefault(plain, known + len(new)) if kind == "new" else self._number(kind, plain))
        if not self.open:
            return np.array(numbers, np.int64), None
        means = (shipped_vectors().mean(label_words(name)) for name in new)
        vectors = np.concatenate([self.labels.vectors, *(mean[None] for mean in means if mean is not None)])
        return np.array(numbers, np.int64), torch.from_numpy(vectors)

    def known(self, name: str) -> bool:
        """Whether a name means anything to the model."""
        kind, plain = self._kind(name)
        return kind == "new" or self._number(kind, plain) != self.labels.structure_id(UNKNOWN_OBJECT)

    def _number(self, kind: str, name: str) -> int:
        ids = {"room": self.labels.room_id, "structure": self.labels.structure_id, "object": self.labels.object_id}
        return ids[kind](name)

    def _kind(self, name: str) -> tuple[str, str]:
        """What a name is called in the label set: a room, structure, an object, or a new object."""
        if name.startswith(ROOM):
            room = name.removeprefix(ROOM).strip()
            letter = room if room in ROOM_NAMES else _LETTERS.get(room.lower())
            if letter is None:
                raise UnknownNameError("room", room, [*_LETTERS, *ROOM_NAMES])
            return "room", letter
        name = normalise_label(name)
        if name in STRUCTURE and name in self.labels.structure:
            return "structure", name
        new = self.open and name not in self.labels.objects and shipped_vectors().mean(label_words(name)) is not None
        return ("new" if new else "object"), name


def cells_from_detections(
    detections: Sequence[Detection], labels: NamedLabels, pose: Pose, origin_xy_m: tuple[float, float], grid: Grid
) -> MapCells:
    """What a detector found at one agent step as map cells, on the CPU. A label counts once per cell, as in training.

    Args:
        detections: labels and positions in the camera's frame.
        labels: their numbers.
        pose: of the camera.
        origin_xy_m: centre of the map, on the lattice.
        grid: of the map.
    """
    to_world = matrices([pose])[0]
    xyz_m = np.array([item.xyz_m for item in detections], float) @ to_world[:3, :3].T + to_world[:3, 3]
    ids, vectors = labels.read([item.label for item in detections])
    return cells_from_labels(LandmarkView(ids, xyz_m, np.ones(len(ids))), origin_xy_m, grid, vectors)


def matrices(poses: Sequence[Pose]) -> Float[np.ndarray, "v 4 4"]:
    """Camera to world, of each pose."""
    return np.stack([pose.matrix for pose in poses])
