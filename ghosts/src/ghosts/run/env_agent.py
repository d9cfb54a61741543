"""A trained run as the agent of `ghosts/R2R-v0`: it acts on the environment's observations alone.

The environment moves one viewpoint at a time. The agent chooses among all viewpoints it has seen, so it remembers where
it is going. It tells viewpoints apart by their positions.
"""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int

from ghosts.agent.known import KnownGraph, Neighbours, start_graph, visit, walk_to
from ghosts.agent.loop import Carry, GhostAgent, Observation, step
from ghosts.agent.sensors import Views, brief, cells_from_views
from ghosts.mapping.cells import MapCells
from ghosts.mapping.label_tiles import cells_from_labels
from ghosts.mapping.labels import LabelSet
from ghosts.mapping.landmark_views import LandmarkView
from ghosts.mapping.saved_backbone import load_backbone
from ghosts.run.env import STOP
from ghosts.run.load import Run
from ghosts_sim.errors import ConfigError
from ghosts_sim.geometry import direction
from ghosts_sim.renderer import SWEEP_CAMERA
from ghosts_sim.types import Intrinsics

SAME_PLACE_M = 5e-5
"""Viewpoints nearer than this to each other are one. Candidates come as float32 angles and distances, right to some
10 µm; the nearest two viewpoints of R2R are 170 µm apart."""


class EnvAgent:
    """Acts in one environment: `reset` with the first observation of an episode, then `act` on every one.

    Args:
        run: trained to act.
        backbone: file or name of the backbone of a run that reads images; None for landmarks.
        camera: of the environment's images.
        labels: the environment's (`env.unwrapped.labels`), for a run that reads labels by the meaning of their words.

    Example:
        agent = EnvAgent(load_run("houses-agent"), "houses-backbone")
        observation, _ = env.reset()
        agent.reset(observation)
        while not over:
            observation, reward, over, cut, info = env.step(agent.act(observation))
    """

    def __init__(
        self,
        run: Run,
        backbone: str | Path | None = None,
        camera: Intrinsics = SWEEP_CAMERA,
        labels: LabelSet | None = None,
    ) -> None:
        agent = run.agent()
        if not isinstance(agent, GhostAgent):
            raise ConfigError(f"{run.name} has no map to act on here; name a run of the filter")
        if run.experiment.on_true_beliefs:
            raise ConfigError(f"{run.name} acts on true trajectories, which are not shown here; name another run")
        if backbone is None and run.reading.labels is None:
            raise ConfigError(f"{run.name} needs its backbone, such as houses-backbone")
        if backbone is not None and run.reading.labels is not None:
            raise ConfigError(f"{run.name} needs no backbone, got {backbone}; leave it out")
        if labels is None and run.reading.landmarks.vectors and backbone is None:
            raise ConfigError(f"{run.name} reads labels by their words; give it labels=env.unwrapped.labels")
        self.agent, self.run, self.camera = agent, run, camera
        self._vectors = torch.from_numpy(labels.vectors) if labels is not None else None
        self.backbone = load_backbone(Path(backbone)) if backbone is not None else None

    @torch.no_grad()
    def reset(self, observation: dict[str, Any]) -> tuple[str, ...]:
        """Read an instruction; the observation is the episode's first. Returns what was not understood, in words."""
        vocabulary, text = self.run.reading.vocabulary, observation["instruction"]
        assert vocabulary is not None, "a run knows its words"
        (x_m, y_m, _), heading = observation["position_m"].tolist(), float(observation["heading_rad"][0])
        briefing, self._origin = brief(vocabulary, text, (x_m, y_m), heading, self.run.reading.grid)
        self._carry: Carry[KnownGraph] = self.agent.start(briefing)
        self._known = start_graph(np.zeros(1, int))
        self._positions: list[Float[np.ndarray, " 3"]] = [observation["position_m"]]
        self._moves: deque[int] = deque()
        return tuple(vocabulary.read(text).notes())

    @torch.no_grad()
    def act(self, observation: dict[str, Any]) -> int:
        """The next action: the number of a candidate, or 0 to stop."""
        near = self._neighbours(observation)
        if not self._moves:
            if self._carry.stopped[0]:
                return STOP
            known = visit(self._known, np.ones(1, bool), near)
            self._carry, action, _ = step(self.agent, self._carry, Observation(self._cells(observation), known))
            self._known, moves = walk_to(known, action.chosen)
            self._moves.extend(int(move) for move in moves[0] if move >= 0)
            if not self._moves:
                return STOP
        return int(np.flatnonzero(near.viewpoint == self._moves.popleft())[0]) + 1

    def _neighbours(self, observation: dict[str, Any]) -> Neighbours:
        """Where the environment's candidates are, and their numbers."""
        turn, rise, distance = observation["candidates"][: int(observation["action_mask"].sum()) - 1].T.astype(float)
        ahead = direction(observation["heading_rad"][0] + turn, rise)
        there = observation["position_m"] + ahead * distance[:, None]
        numbers = np.array([self._number(place) for place in there], np.int64)
        return Neighbours(np.zeros(len(there), np.int64), numbers, there - self._positions[0])

    def _number(self, place: Float[np.ndarray, " 3"]) -> int:
        away = np.linalg.norm(np.stack(self._positions) - place, axis=1)
        if away.min() < SAME_PLACE_M:
            return int(away.argmin())
        self._positions.append(place)
        return len(self._positions) - 1

    def _cells(self, observation: dict[str, Any]) -> MapCells:
        reading = self.run.reading
        if self.backbone is None:
            seen: Int[np.ndarray, " n"] = np.flatnonzero(observation["landmark_weight"])
            xyz_m = np.concatenate([observation["landmark_xy_m"][seen], np.zeros((len(seen), 1))], 1).astype(float)
            weight = observation["landmark_weight"][seen].astype(float)
            view = LandmarkView(observation["landmark_label"][seen], xyz_m, weight)
            return cells_from_labels(view, self._origin, reading.grid, self._vectors)
        depth, to_world = observation["depth_m"], observation["camera_to_world"]
        views = Views(observation["rgb"], depth, to_world, self.camera)
        return cells_from_views(views, self.backbone, self._origin, reading.grid, reading.height_clip_m)
