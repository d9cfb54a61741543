"""R2R as a Gymnasium environment, `ghosts/R2R-v0`: hear an instruction, look around, walk, stop.

Importing this module registers it:

    import gymnasium, ghosts.run.env
    env = gymnasium.make("ghosts/R2R-v0", root="my-data", split="train")

`run.env_agent.EnvAgent` lets a trained run act in it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, SupportsInt

import gymnasium
import numpy as np
from gymnasium import spaces

from ghosts.config import MapperConfig
from ghosts.data.examples import split_buildings
from ghosts.mapping.label_tiles import label_tiles
from ghosts.mapping.labels import LabelSet
from ghosts.mapping.landmark_views import LandmarkSource, training_labels, with_new_labels
from ghosts.run.env_picture import Moment, draw_moment
from ghosts.run.load import Run, load_run
from ghosts_houses.task.texts import SharedText
from ghosts_sim import geometry
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.episodes import each_instruction
from ghosts_sim.errors import ConfigError, UnknownNameError
from ghosts_sim.navigation import Candidate, candidates, view_towards
from ghosts_sim.renderer import SWEEP_CAMERA, SWEEP_ELEVATION_RAD, SWEEP_HEADINGS, PanoramaRenderer
from ghosts_sim.types import SUCCESS_M, Intrinsics

STOP = 0
MAX_LANDMARKS = 2048
"""The fullest viewpoint of the public R2R buildings shows 235 labelled cells of its own. What is in sight adds up to
some 1 500 more."""


class RgbdObserver:
    """A panoramic sweep of RGB-D images."""

    def __init__(self, root: DataRoot, camera: Intrinsics, headings: int, elevation_rad: float) -> None:
        self._renderer = PanoramaRenderer(root.graph, root.panoramas())
        self._camera, self._headings, self._elevation_rad = camera, headings, elevation_rad
        shape = (headings, camera.height, camera.width)
        self.space: dict[str, spaces.Space[Any]] = {
            "rgb": spaces.Box(0, 255, (*shape, 3), np.uint8),
            "depth_m": spaces.Box(0.0, np.inf, shape, np.float32),
            "camera_to_world": spaces.Box(-np.inf, np.inf, (headings, 4, 4), np.float64),
        }

    def observe(self, scan: str, viewpoint: str) -> dict[str, Any]:
        """Colour, z-depth and poses of the views."""
        sweep = self._renderer.sweep(
            [scan],
            [viewpoint],
            camera=self._camera,
            headings=self._headings,
            elevation_rad=self._elevation_rad,
        )
        return {"rgb": sweep.rgb[0], "depth_m": sweep.depth_m[0], "camera_to_world": sweep.camera_to_world[0]}


class LandmarkObserver:
    """Labelled landmarks on the ground plane: (x, y), label and weight of each; a weight of 0 is padding.

    Args:
        root: data root with landmarks.
        scans: buildings that are shown.
        run: whose labels are shown, and as it sees them; None for the labels of the root's training buildings, numbered
            as in training on this root.
    """

    def __init__(self, root: DataRoot, scans: Sequence[str], run: Run | None) -> None:
        if run is None:
            labels, config, cell_m = training_labels(root, split_buildings(root)[0]), None, MapperConfig.cell_m
        elif run.reading.labels is None:
            raise ConfigError("this run reads images and knows no labels; leave out observation='landmarks'")
        else:
            labels, config, cell_m = run.reading.labels, run.reading.landmarks, run.reading.grid.cell_m
            if config.vectors:
                labels = with_new_labels(root, labels, scans, config)
        self.labels, self._cell_m = labels, cell_m
        self._source = LandmarkSource(root, labels, config)
        self.space: dict[str, spaces.Space[Any]] = {
            "landmark_xy_m": spaces.Box(-np.inf, np.inf, (MAX_LANDMARKS, 2), np.float32),
            "landmark_label": spaces.Box(0, len(labels.labels) + len(labels.new) - 1, (MAX_LANDMARKS,), np.int64),
            "landmark_weight": spaces.Box(0.0, 1.0, (MAX_LANDMARKS,), np.float32),
        }

    def observe(self, scan: str, viewpoint: str) -> dict[str, Any]:
        """Landmarks in cells of the map, the most certain first where there are too many."""
        tile = label_tiles([self._source.observe(scan, viewpoint)], self._cell_m)
        kept = np.sort(np.argsort(-tile.weight, kind="stable")[:MAX_LANDMARKS])
        cells = np.repeat(tile.cells, np.diff(tile.starts), 0)[kept, ::-1]
        xy = np.zeros((MAX_LANDMARKS, 2), np.float32)
        label, weight = np.zeros(MAX_LANDMARKS, np.int64), np.zeros(MAX_LANDMARKS, np.float32)
        xy[: len(kept)] = (cells + 0.5) * self._cell_m
        label[: len(kept)], weight[: len(kept)] = tile.label[kept], tile.weight[kept]
        return {"landmark_xy_m": xy, "landmark_label": label, "landmark_weight": weight}


class R2REnv(gymnasium.Env[dict[str, Any], np.int64]):
    """One walker in one building at a time.

    Action 0 stops and ends the episode; action k > 0 walks to candidate k − 1. A candidate that does not exist
    (`action_mask` says which do) leaves the walker where it is and is counted as a step. After a move the walker looks
    along it. The reward is 1 for stopping within 3 m of the goal (shortest walk), otherwise 0.

    Observation: the observer's arrays; `position_m` and `heading_rad`; `candidates` with a row (turn right in radians,
    rise in radians, distance in metres) for each neighbour, zeros beyond them; `action_mask`; `instruction`.

    Args:
        root: data root folder.
        split: episodes to draw from.
        observation: "rgbd" for images, "landmarks" for labelled landmarks.
        camera: image size and field of view ("rgbd", as the next two).
        headings: views of a sweep.
        elevation_rad: camera elevation of the sweep.
        run: trained run whose labels and sight "landmarks" shows; those of training on this root by default.
        max_steps: the episode is truncated after so many actions.
        render_mode: "rgb_array" for pictures (`render`, `gymnasium.wrappers.RecordVideo`).
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 2}  # noqa: RUF012 (Gymnasium's own declaration)

    def __init__(
        self,
        root: str | Path,
        split: str = "train",
        observation: str = "rgbd",
        camera: Intrinsics = SWEEP_CAMERA,
        headings: int = SWEEP_HEADINGS,
        elevation_rad: float = SWEEP_ELEVATION_RAD,
        run: str | Path | None = None,
        max_steps: int = 30,
        render_mode: str | None = None,
    ) -> None:
        if max_steps < 1:
            raise ConfigError(f"max_steps must be at least 1, got {max_steps}")
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise UnknownNameError("render_mode", str(render_mode), self.metadata["render_modes"])
        self.render_mode = render_mode
        self._root = DataRoot(Path(root))
        self._instructions = list(each_instruction(self._root.episodes(split)))
        self._by_id = {item.instr_id: item for item in self._instructions}
        self._observer = self._make_observer(observation, camera, headings, elevation_rad, run)
        self._max_steps = max_steps
        self._most = max(int(self._root.graph(scan).adjacent.sum(1).max()) for scan in self._scans())
        characters = frozenset("".join(item.text for item in self._instructions))
        self.action_space = spaces.Discrete(self._most + 1)
        self.observation_space = spaces.Dict(
            {
                **self._observer.space,
                "position_m": spaces.Box(-np.inf, np.inf, (3,), np.float64),
                "heading_rad": spaces.Box(0.0, geometry.TAU, (1,), np.float64),
                "candidates": spaces.Box(-np.inf, np.inf, (self._most, 3), np.float32),
                "action_mask": spaces.MultiBinary(self._most + 1),
                "instruction": SharedText(max(len(item.text) for item in self._instructions), charset=characters),
            }
        )

    @property
    def labels(self) -> LabelSet | None:
        """Of the landmarks that are shown, in the order of their numbers; None with images."""
        return self._observer.labels if isinstance(self._observer, LandmarkObserver) else None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start an episode: a random one, or the one named by `options={"instr_id": …}`."""
        super().reset(seed=seed)
        wanted = (options or {}).get("instr_id")
        if wanted is None:
            self._episode = self._instructions[int(self.np_random.integers(len(self._instructions)))]
        elif wanted in self._by_id:
            self._episode = self._by_id[wanted]
        else:
            raise UnknownNameError("instruction", str(wanted), self._by_id)
        self._graph = self._root.graph(self._episode.episode.scan)
        self._row = self._graph.index(self._episode.episode.path[0])
        self._heading_rad = view_towards(self._episode.episode.heading_rad, 0.0).heading_rad
        self._path, self._steps = [self._row], 0
        return self._observe(), self._info()

    def step(self, action: SupportsInt) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Stop or walk to a candidate."""
        self._steps += 1
        choices = self._candidates()
        stopped = int(action) == STOP
        if 0 < int(action) <= len(choices):
            chosen = choices[int(action) - 1]
            self._heading_rad = float(geometry.wrap_rad(self._heading_rad + chosen.turn_rad))
            self._row = chosen.row
            self._path.append(self._row)
        info = self._info()
        reward = float(stopped and info.get("distance_to_goal_m", math.inf) < SUCCESS_M)
        truncated = not stopped and self._steps >= self._max_steps
        return self._observe(), reward, stopped, truncated, info

    def render(self) -> np.ndarray | None:
        """The walk from above, what lies ahead and the instruction, as a picture; None without a `render_mode`."""
        if self.render_mode is None:
            return None
        episode = self._episode.episode
        seen = self._observer.observe(self._graph.scan, self._graph.ids[self._row]).get("rgb")
        ahead = None
        if seen is not None:
            # The view whose heading is nearest to the walker's; the first looks north.
            ahead = seen[round(self._heading_rad / geometry.TAU * len(seen)) % len(seen)]
        path = tuple(self._graph.index(name) for name in episode.path)
        return draw_moment(Moment(self._graph, tuple(self._path), self._heading_rad, path, self._episode.text, ahead))

    def _make_observer(
        self, kind: str, camera: Intrinsics, headings: int, elevation_rad: float, run: str | Path | None
    ) -> RgbdObserver | LandmarkObserver:
        if kind == "rgbd":
            return RgbdObserver(self._root, camera, headings, elevation_rad)
        if kind == "landmarks":
            return LandmarkObserver(self._root, sorted(self._scans()), load_run(run) if run is not None else None)
        raise UnknownNameError("observation", kind, ["rgbd", "landmarks"])

    def _scans(self) -> set[str]:
        return {item.episode.scan for item in self._instructions}

    def _candidates(self) -> list[Candidate]:
        return candidates(self._graph, self._row, view_towards(self._heading_rad, 0.0))[1:]

    def _observe(self) -> dict[str, Any]:
        table = np.zeros((self._most, 3), np.float32)
        choices = self._candidates()
        for number, item in enumerate(choices):
            table[number] = item.turn_rad, item.rise_rad, item.distance_m
        return {
            **self._observer.observe(self._graph.scan, self._graph.ids[self._row]),
            "position_m": self._graph.position_m[self._row].copy(),
            "heading_rad": np.array([self._heading_rad]),
            "candidates": table,
            "action_mask": (np.arange(self._most + 1) <= len(choices)).astype(np.int8),
            "instruction": self._episode.text,
        }

    def _info(self) -> dict[str, Any]:
        info: dict[str, Any] = {
            "instr_id": self._episode.instr_id,
            "scan": self._graph.scan,
            "path": [self._graph.ids[row] for row in self._path],
            "candidates": [self._graph.ids[item.row] for item in self._candidates()],
        }
        if self._episode.episode.has_goal:
            goal = self._graph.index(self._episode.episode.path[-1])
            info["distance_to_goal_m"] = float(self._graph.distance_m[self._row, goal])
        return info


gymnasium.register(id="ghosts/R2R-v0", entry_point="ghosts.run.env:R2REnv")
