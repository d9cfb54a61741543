"""Procedural houses in the viewer: their meshes with baked light, and agents that drive in them.

Both take seconds, so both are kept: the light on disk, the last few files and drives in memory. One house is baked at a
time, and one agent drives at a time; other requests wait.
"""

from __future__ import annotations

import threading
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ghosts.driving.agent import Look
from ghosts.driving.drive_record import Drive, beliefs_of, record_drive
from ghosts.driving.drives import make_agent
from ghosts.view.library import Library
from ghosts.view.packed_arrays import pack
from ghosts.view.query import EpisodeQuery
from ghosts_houses.assets.glb import glb_bytes
from ghosts_houses.mesh.bake import bake
from ghosts_houses.task.episode import ContinuousEpisode
from ghosts_houses.task.simulator import TRAINED_CAMERA, HouseSimulators, SimulatorConfig
from ghosts_houses.world import load_house
from ghosts_sim.episodes import Episode, Instruction
from ghosts_sim.errors import ConfigError, DataError

BACKBONE = Path("houses-backbone")
_HOUSES, _DRIVES, _AGENTS = 6, 16, 2
"""How many are kept; a house takes about 2 MB, a drive less than 1 MB, an agent about 50 MB."""


class Houses3D:
    """What the viewer's three-dimensional view asks for. Safe to share between threads.

    Args:
        library: worlds and models.
        config: body and camera of who drives; its texels are the houses'.
    """

    def __init__(self, library: Library, config: SimulatorConfig = TRAINED_CAMERA) -> None:
        self._library, self._texel_m = library, config.texel_m
        self._baking, self._driving = threading.Lock(), threading.Lock()
        self._file = lru_cache(maxsize=_HOUSES)(self._make_file)
        self._drive = lru_cache(maxsize=_DRIVES)(self._make_drive)
        self._agent = lru_cache(maxsize=_AGENTS)(make_agent)
        self._simulators = {
            name: HouseSimulators(root.path, config, most=2)
            for name, root in library.roots.items()
            if (root.path / "world.json").is_file()
        }

    def file(self, world: str, scan: str) -> bytes:
        """A house as GLB.

        Raises:
            DataError: the building is no procedural house.
        """
        self._houses(world)
        with self._baking:
            return self._file(world, scan)

    def drive(self, world: str, model: str, query: EpisodeQuery) -> dict[str, Any]:
        """A drive from the start of a query, as plain JSON values.

        Raises:
            DataError: the building is no procedural house.
            ConfigError: the model cannot drive.
        """
        self._houses(world)
        start = query.walk[0]
        path = query.path if query.path[:1] == (start,) else ()
        asked = EpisodeQuery(query.scan, query.text, query.heading_rad, (start,), path)
        with self._driving:
            return self._drive(world, model, asked)

    def _houses(self, world: str) -> HouseSimulators:
        root = self._library.root(world)
        if world not in self._simulators:
            hint = "make houses with: ghosts world --out DIR"
            raise DataError("this world is not made of procedural houses", file=root.path, hint=hint)
        return self._simulators[world]

    def _make_file(self, world: str, scan: str) -> bytes:
        return glb_bytes(bake(load_house(self._library.root(world).path, scan), self._texel_m))

    def _make_drive(self, world: str, model: str, query: EpisodeQuery) -> dict[str, Any]:
        inspector, root = self._library.inspector(world, model), self._library.root(world)
        file = self._library.file(model)
        if file is None or not inspector.has_filter or inspector.data.reading.labels is not None:
            raise ConfigError(f"{model} cannot drive: only a filter on images can; choose such as houses-agent")
        ids = root.graph(query.scan).ids
        path = tuple(ids[row] for row in query.path or query.walk)
        walked = Episode(0, query.scan, path, query.heading_rad, (query.text,), None)
        episode = ContinuousEpisode(self._houses(world)[query.scan], root, Instruction(walked, 0))
        drive = record_drive(self._agent(file, BACKBONE, planner=inspector.acts == "planner"), episode)
        return drive_to_json(drive, goal_known=bool(query.path))


def drive_to_json(drive: Drive, *, goal_known: bool = True) -> dict[str, Any]:
    """A drive as plain JSON values: poses on the ground after every action, bumps, looks with their beliefs, scores."""
    config = drive.episode.simulator.config
    return {
        "poses": [
            [round(float(value), 3) for value in (s.x_m, s.y_m, s.z_m, s.heading_rad)] for s in drive.episode.walk
        ],
        "camera": {"up_m": config.body.camera_m, "hfov_rad": config.hfov_rad, "elevation_rad": config.elevation_rad},
        "bumps": list(drive.bumps),
        "looks": [_look(taken, look) for taken, look in drive.looks],
        "scores": asdict(drive.scores) if goal_known else None,
    }


def _look(taken: int, look: Look) -> dict[str, Any]:
    """Grid and packed beliefs as in an episode record's frames, with one heading."""
    estimate = look.estimate
    x, y = estimate.x_m, estimate.y_m
    return {
        "action": taken,
        "grid": [len(y), len(x), round(float(x[1] - x[0]), 4)],
        "origin_xy_m": [round(float(axis.mean()), 4) for axis in (x, y)],
        "beliefs": pack(beliefs_of(look)[:, None]),
        "goal_xy_m": [round(value, 3) for value in estimate.position_m],
        "confidence": round(estimate.confidence, 4),
        "places": [[*np.round(place.xyz_m, 3).tolist(), place.visited] for place in look.places],
        "chosen": look.chosen,
    }
