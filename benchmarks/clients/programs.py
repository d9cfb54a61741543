"""What `run_clients.py` does with each program: import it from its checkout, walk with it, and return what it saw."""

from __future__ import annotations

import importlib
import importlib.util
import json
import random
import runpy
import sys
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

import numpy as np

STEPS = 12
Drive = Callable[[Path], Any]
"""Runs a program of a checkout and returns what it saw."""


@dataclass(frozen=True)
class Change:
    """Something about the surroundings of a program that was written for older packages."""

    said: str
    apply: Callable[[], None]


def _graph_node() -> None:
    import networkx

    networkx.Graph.node = networkx.Graph.nodes


def _array_without_copy() -> None:
    if np.lib.NumpyVersion(np.__version__) < "2.0.0":
        return
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


class _Absent(types.ModuleType):
    """A package that is not installed and whose work nothing here asks for; it has every name."""

    __path__ = ()  # a package's

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def _packages(*names: str) -> Callable[[], None]:
    def apply() -> None:
        for name in names:
            if importlib.util.find_spec(name) is None:
                sys.modules[name] = _Absent(name)
                if "." in name:
                    setattr(sys.modules[name.rpartition(".")[0]], name.rpartition(".")[2], sys.modules[name])

    return apply


NODE = Change("networkx ≥ 2.4: `Graph.node` is `Graph.nodes`", _graph_node)
COPY = Change("NumPy ≥ 2: `np.array(…, copy=False)` is `np.asarray(…)`", _array_without_copy)
WINDOWS = Change("windows: opencv-python instead of its headless form (here: stand-ins)", _windows)


def absent(*names: str) -> Change:
    """Packages of its own that read features, which are made up here."""
    return Change(f"its own packages (here: stand-ins for {', '.join(names)})", _packages(*names))


def plain(value: Any) -> Any:
    """The same as JSON can write it."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


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


def episodes() -> list[dict[str, Any]]:
    """One of a single instruction for each path, as DUET and its successors read them."""
    paths = json.loads(Path("tasks/R2R/data/R2R_train.json").read_text())
    text = {"instr_encoding": [1], "raw_idx": 0}
    return [
        {**item, "instr_id": f"{item['path_id']}_0", "instruction": item["instructions"][0], **text} for item in paths
    ]


def features() -> dict[str, np.ndarray]:
    """Those of every viewpoint of the episodes' scans: zeros."""
    views = np.zeros((36, 4), np.float32)
    scans = sorted({item["scan"] for item in episodes()})
    return {f"{scan}_{item['image_id']}": views for scan in scans for item in records(scan)}


def records(scan: str) -> list[dict[str, Any]]:
    """A scan's connectivity file."""
    found: list[dict[str, Any]] = json.loads(Path(f"connectivity/{scan}_connectivity.json").read_text())
    return found


def duet(
    folder: str, kind: str = "R2RNavBatch", more: Callable[[Any], tuple[Any, ...]] = lambda env: (), count: int = 64
) -> Drive:
    """The R2R environment of DUET and its kin.

    Args:
        folder: where it lies.
        kind: name of its class.
        more: what its constructor takes beside the graphs; it may also replace what reads features.
        count: of simulators.
    """

    def drive(checkout: Path) -> Any:
        sys.path.insert(0, str(checkout / folder))
        env = importlib.import_module("r2r.env")
        made_up = types.SimpleNamespace(get_image_feature=lambda *_: np.zeros((36, 4), np.float32))
        batch = getattr(env, kind)(made_up, episodes(), "connectivity", *more(env), batch_size=count)
        seen, draw, observations = [], random.Random(0), batch.reset()
        for _ in range(STEPS):
            seen += [[shown(item), item.get("position"), item["candidate"], item["distance"]] for item in observations]
            for number, item in enumerate(observations):
                to = draw.choice(item["candidate"])
                where = ([item["scan"]], [to["viewpointId"]], [draw.uniform(0, 6)], [0])
                batch.env.sims[number].newEpisode(*where)
            observations = batch.step(actions(batch._get_obs(), draw))
        return seen

    return drive


def _candidates(env: Any) -> tuple[str]:
    """NavGPT-2 reads candidates from a file: made from the graphs."""
    made = {}
    for scan in {item["scan"] for item in episodes()}:
        rows = records(scan)
        for row in rows:
            near = [(k, item) for k, item in enumerate(rows) if row["unobstructed"][k] and item["included"]]
            made[f"{scan}_{row['image_id']}"] = {
                item["image_id"]: [k % 36, k % 36, 1.0, 0.1 * k, 0.0, item["pose"][3:12:4]] for k, item in near
            }
    Path("candidates.json").write_text(json.dumps(made))
    return ("candidates.json",)


def _maps(env: Any) -> tuple[()]:
    """GridMM projects depth and patches of every view onto a map."""
    folder = Path("../datasets/R2R/features")
    folder.mkdir(parents=True, exist_ok=True)
    where = {
        f"{scan}_{row['image_id']}": dict(zip("xyz", row["pose"][3:12:4]))
        for scan in {item["scan"] for item in episodes()}
        for row in records(scan)
    }
    (folder / "viewpoint_info.json").write_text(json.dumps(where))
    depth, patches = np.full((36, 128, 128), 8000, np.uint16), np.zeros((12, 50, 768), np.float16)
    env.DepthFeaturesDB = lambda file: types.SimpleNamespace(get_image_feature=lambda *_: depth)
    env.SemanticFeaturesDB = lambda file: types.SimpleNamespace(get_image_feature=lambda *_: patches)
    return ()


def envdrop(checkout: Path) -> Any:
    """The R2R environment of EnvDrop and its kin."""
    sys.path.insert(0, str(checkout / "r2r_src"))
    sys.argv = ["r2r"]
    env = importlib.import_module("env")
    words = types.SimpleNamespace(tokenize=str.split, convert_tokens_to_ids=len, encode_sentence=lambda text: [1])
    batch = env.R2RBatch(features(), batch_size=16, splits=["train"], tokenizer=words)
    seen, draw, observations = [], random.Random(0), batch.reset()
    for _ in range(STEPS):
        seen += [[shown(item), item["candidate"], item["teacher"], item["distance"]] for item in observations]
        observations = batch.step(actions(observations, draw))
    return seen


def self_monitoring(checkout: Path) -> Any:
    """Self-Monitoring's panoramic R2R environment, which turns and moves until it is where it is told."""
    sys.path.insert(0, str(checkout / "tasks" / "R2R-pano"))
    env = importlib.import_module("env")
    options = types.SimpleNamespace(follow_gt_traj=True, img_fc_use_angle=True, teleporting=False)
    batch = env.R2RPanoBatch(options, features(), (640, 480, 60), batch_size=16, splits=["train"])
    names = ("instr_id", "viewpoint", "viewIndex", "heading", "elevation", "feature", "step", "navigableLocations")
    seen, draw, observations = [], random.Random(0), batch.reset()
    for _ in range(STEPS):
        seen += [[*(item[name] for name in names), item["gt_viewpoint_idx"]] for item in observations]
        scans = [item["scan"] for item in observations]
        chosen = [draw.choice(sorted(item["navigableLocations"])) for item in observations]
        observations = batch.step(scans, chosen, [draw.uniform(0, 6) for _ in scans])
    return seen


def speaker_follower(checkout: Path) -> Any:
    """The R2R environment of Speaker-Follower: panoramic actions along shortest paths, with beams."""
    sys.path.insert(0, str(checkout / "tasks" / "R2R"))
    env = importlib.import_module("env")
    batch = env.R2RBatch([env.NoImageFeatures()], batch_size=8, splits=["train"], beam_size=2)
    walks, moves = batch.shortest_paths_to_goals(batch.reset(), STEPS)
    return [[[shown(item), item["adj_loc_list"]] for item in walk] for walk in walks] + moves


def fast(checkout: Path) -> Any:
    """FAST's, which is the same and expects to lie in `tasks/R2R` of the simulator, with its data."""
    for path in checkout.glob("*.py"):
        link = Path("tasks", "R2R", path.name)
        if not link.exists():
            link.symlink_to(path)
    return speaker_follower(Path.cwd())


def hm3d(checkout: Path) -> Any:
    """HM3DAutoVLN's first step: what can be seen from each place of HM3D's graphs (a walk on an irregular grid)."""
    place = np.random.default_rng(0).uniform(-0.5, 0.5, (24, 3)) + [(2 * (k % 6), 2 * (k // 6), 0) for k in range(24)]
    near = np.linalg.norm(place[:, None] - place, axis=-1) < 3
    rows = [
        {
            "image_id": f"{number:06d}",
            "pose": [0, 0, 0, x, 0, 0, 0, y, 0, 0, 0, z, 0, 0, 0, 1],
            "included": True,
            "unobstructed": [bool(other and k != number) for k, other in enumerate(near[number])],
            "height": 1.5,
        }
        for number, (x, y, z) in enumerate(place.tolist())
    ]
    graphs = Path("hm3d")
    graphs.mkdir(exist_ok=True)
    (graphs / "scans.txt").write_text("00000-house\n")
    (graphs / "00000-house_connectivity.json").write_text(json.dumps(rows))
    step = runpy.run_path(str(checkout / "hm3d_data_gen" / "step00_create_nav_graphs.py"))
    step["create_scanvp_candidates"]("hm3d", "seen.json")
    return json.loads(Path("seen.json").read_text())


@dataclass(frozen=True)
class Program:
    """A program, and how it is run."""

    title: str
    repository: str
    version: int
    """Of MatterSim's interface."""
    drive: Drive
    tolerance: float
    """Of the comparison with the original: its angles have single precision, means of pictures its rounding."""
    changes: tuple[Change, ...] = ()


_ORIGINAL = "peteanderson80/Matterport3DSimulator"
_READERS = absent("h5py", "jsonlines")
PROGRAMS = {
    "r2r": Program("R2R: agents and evaluation", _ORIGINAL, 2, r2r_agents, 1e-6, (NODE,)),
    "driver": Program("driver with a window", _ORIGINAL, 2, driver, 0.5, (WINDOWS,)),
    "ghosts": Program("Chasing Ghosts: sweeps", "batra-mlp-lab/vln-chasing-ghosts", 2, panoramas, 0.5, (NODE, COPY)),
    "duet": Program("DUET", "cshizhe/VLN-DUET", 2, duet("map_nav_src"), 1e-6, (_READERS,)),
    "hamt": Program("HAMT", "cshizhe/VLN-HAMT", 2, duet("finetune_src", "R2RBatch"), 1e-6, (_READERS,)),
    "scalevln": Program("ScaleVLN", "wz0919/ScaleVLN", 2, duet("VLN-DUET/map_nav_src"), 1e-6, (_READERS,)),
    "navgpt2": Program(
        "NavGPT-2",
        "GengzeZhou/NavGPT-2",
        2,
        duet("map_nav_src", more=_candidates),
        1e-6,
        (absent("lmdb", "msgpack", "msgpack_numpy"),),
    ),
    "gridmm": Program(
        "GridMM",
        "MrZihan/GridMM",
        2,
        duet("map_nav_src", more=_maps, count=2),
        1e-6,
        (absent("h5py", "jsonlines", "imutils"),),
    ),
    "hm3d": Program("HM3DAutoVLN: step00", "cshizhe/HM3DAutoVLN", 2, hm3d, 1e-6, (absent("habitat_sim"),)),
    "driver-v1": Program("driver of 2018 with a window", f"{_ORIGINAL}, tag v0.1", 1, driver, 0.5, (WINDOWS,)),
    "envdrop": Program("EnvDrop", "airsplay/R2R-EnvDrop", 1, envdrop, 1e-6),
    "vlnbert": Program("Recurrent-VLN-BERT", "YicongHong/Recurrent-VLN-BERT", 1, envdrop, 1e-6),
    "prevalent": Program("PREVALENT", "weituo12321/PREVALENT_R2R", 1, envdrop, 1e-6),
    "speaker-follower": Program("Speaker-Follower", "ronghanghu/speaker_follower", 1, speaker_follower, 1e-6),
    "self-monitoring": Program(
        "Self-Monitoring",
        "chihyaoma/selfmonitoring-agent",
        1,
        self_monitoring,
        1e-6,
        (NODE, absent("tensorboardX")),
    ),
    "fast": Program("FAST", "Kelym/FAST", 1, fast, 1e-6, (absent("nltk", "nltk.corpus"),)),
}
