"""What `run_clients.py` does with each program: import it from its checkout, walk with it, and return what it saw."""

from __future__ import annotations

import importlib
import importlib.util
import json
import random
import runpy
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

STEPS = 12


@dataclass(frozen=True)
class Change:
    """Something about the surroundings of a program that was written for older packages."""

    said: str
    apply: Callable[[], None]


def _graph_node() -> None:
    import networkx

    networkx.Graph.node = networkx.Graph.nodes


def _array_without_copy() -> None:
    original = np.array

    def array(*arguments: Any, copy: bool | None = True, **options: Any) -> np.ndarray:
        return original(*arguments, copy=None if copy is False else copy, **options)

    np.array = array  # type: ignore[assignment]


def _windows() -> None:
    import cv2

    keys = iter([ord("d"), ord("w"), ord("1"), *[ord("a")] * 4, ord("q")])
    cv2.namedWindow = lambda *_: None
    cv2.imshow = lambda *_: None
    cv2.waitKey = lambda *_: next(keys)


def _packages(*names: str) -> Callable[[], None]:
    def apply() -> None:
        for name in names:
            if importlib.util.find_spec(name) is None:
                sys.modules[name] = types.ModuleType(name)

    return apply


NODE = Change("networkx ≥ 2.4: `Graph.node` is `Graph.nodes`", _graph_node)
COPY = Change("NumPy ≥ 2: `np.array(…, copy=False)` is `np.asarray(…)`", _array_without_copy)
WINDOWS = Change("windows: opencv-python instead of its headless form (here: stand-ins)", _windows)
FEATURES = Change("its own packages (here: stand-ins for h5py and jsonlines)", _packages("h5py", "jsonlines"))


def plain(value: Any) -> Any:
    """The same as JSON can write it."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def places(locations: Any) -> list[Any]:
    """Navigable locations, as values."""
    return [[item.viewpointId, item.ix, item.rel_heading, item.rel_elevation, item.rel_distance] for item in locations]


def shown(observation: dict[str, Any]) -> list[Any]:
    """What every environment of R2R shows."""
    names = ("instr_id", "scan", "viewpoint", "viewIndex", "heading", "elevation")
    return [*(observation[name] for name in names), places(observation["navigableLocations"])]


def actions(observations: list[dict[str, Any]], draw: random.Random) -> list[tuple[int, int, int]]:
    """Random moves and turns."""
    return [
        (draw.randrange(len(item["navigableLocations"])), draw.choice((-1, 0, 1)), draw.choice((-1, 0, 1)))
        for item in observations
    ]


def r2r_agents(checkout: Path) -> Any:
    """The simulator's own R2R environment, agents and evaluation."""
    sys.path.insert(0, str(checkout / "tasks" / "R2R"))
    agent, env, evaluation = (importlib.import_module(name) for name in ("agent", "env", "eval"))
    batch = env.R2RBatch(None, batch_size=6, splits=["val_seen"])
    judge, seen = evaluation.Evaluation(["val_seen"]), {}
    for kind in ("Stop", "Shortest", "Random"):
        walker = agent.BaseAgent.get_agent(kind)(batch, f"{kind}.json")
        walker.test()
        walker.write_results()
        seen[kind] = [json.loads(Path(f"{kind}.json").read_text()), judge.score(f"{kind}.json")[0]]
    return seen


def driver(checkout: Path) -> Any:
    """The program that shows what the simulator sees, with keys pressed for it."""
    import MatterSim

    seen: list[Any] = []
    act = MatterSim.Simulator.makeAction

    class Watched(MatterSim.Simulator):
        def makeAction(self, *arguments: Any) -> None:
            act(self, *arguments)
            state = self.getState()
            state = state[0] if isinstance(state, list) else state
            means = np.asarray(state.rgb, float).reshape(6, -1).mean(1)
            seen.append([state.heading, state.elevation, places(state.navigableLocations), means])

    MatterSim.Simulator = Watched
    runpy.run_path(str(checkout / "src" / "driver" / "driver.py"))
    return seen


def panoramas(checkout: Path) -> Any:
    """The simulator of *Chasing Ghosts*, a subclass that takes panoramic sweeps with depth."""
    sys.path.insert(0, str(checkout / "tracker"))
    random.seed(0)
    settings = {"preloading": False, "batch_size": 2, "cache_size": 20, "image_width": 64, "image_height": 48}
    sweep = {"vfov": 1.0, "elevation": -0.5, "num_pano_views": 12, "num_pano_sweeps": 2, "elevation_chg": 0.6}
    options = types.SimpleNamespace(**settings, **sweep, device="cpu", supervision_prob=0.5)
    sim = importlib.import_module("simulator").PanoSimulator(options)
    seen = []
    sim.newRandomEpisode(["1LXtFkjw3qL", "ZMojNkEp431"])
    for _ in range(3):
        sim.takeRandomAction()
        rgb, depth, poses = sim.getPanos()
        seen.append([rgb.mean((1, 2, 3)).numpy(), list(depth.shape), poses.numpy()])
        sim.takeTurningAction([0, 0])
    return seen


def duet(checkout: Path) -> Any:
    """DUET's R2R environment, with 64 simulators."""
    sys.path.insert(0, str(checkout / "map_nav_src"))
    env = importlib.import_module("r2r.env")
    data = [
        {**item, "instr_id": f"{item['path_id']}_0", "instruction": item["instructions"][0], "instr_encoding": [1]}
        for item in json.loads(Path("tasks/R2R/data/R2R_train.json").read_text())
    ]
    features = types.SimpleNamespace(get_image_feature=lambda *_: np.zeros((36, 4), np.float32))
    batch = env.R2RNavBatch(features, data, "connectivity", batch_size=64)
    seen, draw, observations = [], random.Random(0), batch.reset()
    for _ in range(STEPS):
        seen += [[shown(item), item["position"], item["candidate"], item["distance"]] for item in observations]
        for number, item in enumerate(observations):
            to = draw.choice(item["candidate"])
            where = ([item["scan"]], [to["viewpointId"]], [draw.uniform(0, 6)], [0])
            batch.env.sims[number].newEpisode(*where)
        observations = batch.step(actions(batch._get_obs(), draw))
    return seen


def envdrop(checkout: Path) -> Any:
    """EnvDrop's R2R environment."""
    sys.path.insert(0, str(checkout / "r2r_src"))
    sys.argv = ["r2r"]
    env = importlib.import_module("env")
    data = json.loads(Path("tasks/R2R/data/R2R_train.json").read_text())
    views = np.zeros((36, 4), np.float32)
    features = {
        f"{scan}_{item['image_id']}": views
        for scan in sorted({item["scan"] for item in data})
        for item in json.loads(Path(f"connectivity/{scan}_connectivity.json").read_text())
    }
    batch = env.R2RBatch(features, batch_size=16, splits=["train"])
    seen, draw, observations = [], random.Random(0), batch.reset()
    for _ in range(STEPS):
        seen += [[shown(item), item["candidate"], item["teacher"], item["distance"]] for item in observations]
        observations = batch.step(actions(observations, draw))
    return seen


def speaker_follower(checkout: Path) -> Any:
    """Speaker-Follower's R2R environment: panoramic actions along shortest paths, with beams."""
    sys.path.insert(0, str(checkout / "tasks" / "R2R"))
    env = importlib.import_module("env")
    batch = env.R2RBatch([env.NoImageFeatures()], batch_size=8, splits=["train"], beam_size=2)
    walks, moves = batch.shortest_paths_to_goals(batch.reset(), STEPS)
    return [[[shown(item), item["adj_loc_list"]] for item in walk] for walk in walks] + moves


@dataclass(frozen=True)
class Program:
    """A program, and how it is run."""

    title: str
    repository: str
    version: int
    """Of MatterSim's interface."""
    drive: Callable[[Path], Any]
    tolerance: float
    """Of the comparison with the original: its angles have single precision, means of pictures its rounding."""
    changes: tuple[Change, ...] = ()


_ORIGINAL = "peteanderson80/Matterport3DSimulator"
PROGRAMS = {
    "r2r": Program("R2R: agents and evaluation", _ORIGINAL, 2, r2r_agents, 1e-6, (NODE,)),
    "driver": Program("driver with a window", _ORIGINAL, 2, driver, 0.5, (WINDOWS,)),
    "ghosts": Program("Chasing Ghosts: sweeps", "batra-mlp-lab/vln-chasing-ghosts", 2, panoramas, 0.5, (NODE, COPY)),
    "duet": Program("DUET: environment", "cshizhe/VLN-DUET", 2, duet, 1e-6, (FEATURES,)),
    "driver-v1": Program("driver of 2018 with a window", f"{_ORIGINAL}, tag v0.1", 1, driver, 0.5, (WINDOWS,)),
    "envdrop": Program("EnvDrop: environment", "airsplay/R2R-EnvDrop", 1, envdrop, 1e-6),
    "speaker-follower": Program(
        "Speaker-Follower: environment", "ronghanghu/speaker_follower", 1, speaker_follower, 1e-6
    ),
}
