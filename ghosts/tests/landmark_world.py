"""A small data root of landmarks for tests of learning: comb-shaped buildings whose instructions say where to go."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from ghosts.config import (
    Experiment,
    FilterConfig,
    LanguageConfig,
    LingUNetConfig,
    MapperConfig,
    ModelConfig,
    MotionConfig,
)
from ghosts.data.dataset import Dataset, open_dataset
from ghosts.data.reading import Reading, reading_of
from ghosts.methods.ghost.presets import tiny
from ghosts.methods.ghost.settings import FilterExperiment
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.landmarks.format import Landmark, SceneLandmarks, write_landmarks
from ghosts_sim.landmarks.regions import Region
from makers import viewpoint_id

SCANS = tuple(f"comb{number}" for number in range(5))
"""The fourth is held out as `dev_unseen` (every eighth building, from the fourth on)."""
OBJECTS = ("chair", "lamp", "sofa", "bed", "sink", "table")
CORRIDOR, STEP_M = 5, 2.3
# Corridor viewpoints 0 to 4 along +y; rooms left (5, 6, 7) and right (8, 9, 10) of every second one.
EDGES = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 5), (2, 6), (4, 7), (0, 8), (2, 9), (4, 10)]
PATHS = [
    *((0, 1, 2, 6), (0, 1, 2, 9), (1, 2, 3, 4, 7), (1, 2, 3, 4, 10)),
    *((4, 3, 2, 6), (4, 3, 2, 9), (5, 0, 1), (10, 4, 3)),
]


def positions(number: int) -> np.ndarray:
    """Where the viewpoints of a building are: the comb, turned and shifted by amounts that miss the lattice."""
    comb = [(0.0, STEP_M * k) for k in range(CORRIDOR)]
    comb += [(side * STEP_M, STEP_M * k) for side in (-1, 1) for k in (0, 2, 4)]
    angle = 0.4 * number
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    xy = np.array(comb) @ turn.T + [0.137 + number, 0.291 - number]
    return np.concatenate([xy, np.full((len(xy), 1), 1.5)], 1)


def heading_between(here: np.ndarray, there: np.ndarray) -> float:
    """Heading (clockwise from +y) of a move, from first principles."""
    return math.atan2(there[0] - here[0], there[1] - here[1]) % (2.0 * math.pi)


def describe(xyz: np.ndarray, rows: tuple[int, ...], heading_rad: float, things: list[str]) -> str:
    """What a person would say about a path."""
    words = []
    for here, there in pairwise(rows):
        ahead = heading_between(xyz[here], xyz[there])
        turn = (ahead - heading_rad + math.pi) % (2.0 * math.pi) - math.pi
        words.append("walk straight" if abs(turn) < 0.7 else "turn left" if turn < 0.0 else "turn right")
        heading_rad = ahead
    return f"{', then '.join(words)} and stop at the {things[rows[-1]]}."


def make_landmark_root(folder: Path) -> Path:
    """Write the data root: five buildings; splits train (all five) and val_seen (the first two)."""
    for name in ("connectivity", "r2r", "landmarks"):
        (folder / name).mkdir(parents=True)
    (folder / "connectivity" / "scans.txt").write_text("\n".join(SCANS) + "\n")
    linked = {frozenset(edge) for edge in EDGES}
    train, seen = [], []
    for number, scan in enumerate(SCANS):
        xyz = positions(number)
        ids = [viewpoint_id(100 * number + row) for row in range(len(xyz))]
        records = []
        for row, name in enumerate(ids):
            pose = np.eye(4)
            pose[:3, 3] = xyz[row]
            flags = [frozenset((row, other)) in linked for other in range(len(ids))]
            record = {"image_id": name, "pose": pose.ravel().tolist(), "included": True}
            records.append(record | {"visible": flags, "unobstructed": flags, "height": 1.5})
        (folder / "connectivity" / f"{scan}_connectivity.json").write_text(json.dumps(records))
        things = [OBJECTS[(3 * row + number) % len(OBJECTS)] for row in range(len(ids))]
        objects = [
            Landmark(str(row), thing, tuple(xyz[row] + [0.3, -0.2, -0.7]), 0.15, None, "detected", None, (ids[row],))
            for row, thing in enumerate(things)
        ]
        rooms = {name: Region(str(row), "h" if row < CORRIDOR else "b") for row, name in enumerate(ids)}
        write_landmarks(folder / "landmarks" / f"{scan}.json", SceneLandmarks(scan, "test", rooms, tuple(objects)))
        for path_number, rows in enumerate(PATHS):
            heading = heading_between(xyz[rows[0]], xyz[rows[1]])
            text = describe(xyz, rows, heading, things)
            record = {
                "path_id": 100 * number + path_number,
                "scan": scan,
                "path": [ids[row] for row in rows],
                "heading": heading,
                "distance": STEP_M * (len(rows) - 1),
                "instructions": [text, text.replace("walk", "go"), text.replace("stop", "wait")],
            }
            train.append(record)
            if number < 2 and path_number % 2:
                seen.append(record | {"path_id": 1000 + record["path_id"]})
    (folder / "r2r" / "R2R_train.json").write_text(json.dumps(train))
    (folder / "r2r" / "R2R_val_seen.json").write_text(json.dumps(seen))
    return folder


def small_experiment(**train: object) -> FilterExperiment:
    """The tiny preset, smaller still; `train` changes how it is trained."""
    model = ModelConfig(
        language=LanguageConfig(vocabulary=40, embedding=8, hidden=8, position=4, steps=4, dropout=0.0),
        mapper=MapperConfig(features=8, channels=8, dropout=0.0, rows=32, cols=32),
        filter=FilterConfig(
            motion=MotionConfig(kernel=5, hidden=8, branch=4, language=8, dropout=0.0),
            observation=LingUNetConfig(levels=2, channels=4, language=4, output=8),
        ),
    )
    base = tiny()
    settings = {"iterations": 6, "batch": 4, "agent_steps": 3, "log_every": 2, "checkpoint_every": 3}
    settings |= {"learning_rate": 3e-3, "evaluate_every": 60, **train}
    return replace(base, model=model, train=replace(base.train, **settings))


def load(folder: Path, experiment: Experiment) -> Dataset:
    """The data that an experiment is trained on, of the root in a folder, which stays as it is."""
    return _opened(folder, reading_of(experiment, training=True))


@lru_cache(16)
def _opened(folder: Path, reading: Reading) -> Dataset:
    return open_dataset(DataRoot(folder), reading)


@pytest.fixture(scope="session")
def combs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data root, which nobody changes."""
    return make_landmark_root(tmp_path_factory.mktemp("view") / "combs")
