"""Episodes in VLN-CE's published format: `{split}.json.gz` and `{split}_gt.json.gz`, in Habitat's y-up frame.

The scene of an episode is `ghosts/SCAN/SCAN.glb`, which `ghosts world --export glb` writes. The ground truth is the
oracle's walk through the episode's viewpoints, in VLN-CE's actions.
"""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from ghosts_houses.assets.glb import y_up
from ghosts_houses.task.drive import driven
from ghosts_houses.task.episode import ContinuousEpisode, open_episode, padded_tokens, training_words
from ghosts_houses.task.simulator import HouseSimulators
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.episodes import Instruction, each_instruction
from ghosts_sim.files import atomic_path
from ghosts_sim.motion import MOVE_FORWARD, STOP, along
from ghosts_sim.types import SUCCESS_M

_MOST = 2000
"""Actions of a ground truth; the longest of VLN-CE has 486."""


def write_vlnce(root: DataRoot, houses: HouseSimulators, split: str, folder: Path) -> tuple[Path, Path]:
    """Write a split as `SPLIT/SPLIT.json.gz` and `SPLIT/SPLIT_gt.json.gz` in a folder; returns these two files."""
    words = training_words(root, split)
    episodes, truths = [], {}
    for number, item in enumerate(each_instruction(root.episodes(split)), start=1):
        episode = open_episode(houses, root, item, _MOST)
        episodes.append(_record(number, item, episode, words))
        truths[str(number)] = _truth(episode)
    published = {"episodes": episodes, "instruction_vocab": _vocabulary(words)}
    files = folder / split / f"{split}.json.gz", folder / split / f"{split}_gt.json.gz"
    for path, value in zip(files, (published, truths), strict=True):
        with atomic_path(path) as temporary:
            # No time stamp: equal episodes give equal bytes.
            temporary.write_bytes(gzip.compress(json.dumps(value).encode(), mtime=0))
    return files


def _record(number: int, item: Instruction, episode: ContinuousEpisode, words: dict[str, int]) -> dict[str, Any]:
    """One episode as VLN-CE has it."""
    scan, tokens = item.episode.scan, padded_tokens(words, item.text).tolist()
    way = y_up(np.array([(place.x_m, place.y_m, place.z_m) for place in episode.places])).tolist()
    return {
        "episode_id": number,
        "trajectory_id": item.episode.path_id,
        "scene_id": f"ghosts/{scan}/{scan}.glb",
        "start_position": way[0],
        "start_rotation": rotation(item.episode.heading_rad),
        "info": {"geodesic_distance": episode.scores.distance_to_goal},
        "goals": [{"position": way[-1], "radius": SUCCESS_M}],
        "instruction": {"instruction_text": item.text, "instruction_tokens": tokens},
        "reference_path": way,
    }


def rotation(heading_rad: float) -> list[float]:
    """Habitat's quaternion (x, y, z, w) of a heading: at 0 one looks along −z, which is the world's +y.

    Example:
        >>> rotation(0.0)
        [0.0, 0.0, 0.0, 1.0]
    """
    return [0.0, math.sin(-heading_rad / 2) + 0.0, 0.0, math.cos(heading_rad / 2)]


def _truth(episode: ContinuousEpisode) -> dict[str, Any]:
    """The oracle's places, actions and how many of them go ahead."""
    actions = list(driven(along(episode.reference_m), episode))
    # Turning and stopping add no place.
    moves = [0, *(k + 1 for k, action in enumerate(actions) if action == MOVE_FORWARD)]
    places = np.array([(s.x_m, s.y_m, s.z_m) for s in episode.walk])[moves]
    assert actions[-1] == STOP
    return {"locations": y_up(places).tolist(), "forward_steps": len(moves) - 1, "actions": actions}


def _vocabulary(numbers: dict[str, int]) -> dict[str, Any]:
    words = list(numbers)
    return {
        "word_list": words,
        "word2idx_dict": numbers,
        "stoi": numbers,
        "itos": words,
        "num_vocab": len(words),
        "PAD_INDEX": 0,
        "UNK_INDEX": 1,
    }
