"""VLN-CE's episode files: the published fields, in Habitat's frame."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path

import numpy as np
import pytest

from ghosts_houses.task.episode import houses_of
from ghosts_houses.task.vlnce import rotation, write_vlnce
from ghosts_sim.episodes import each_instruction
from residing import simulators


def test_episodes_and_ground_truth(world: Path, tmp_path: Path) -> None:
    root = houses_of(world)
    published, truth = write_vlnce(root, simulators(world), "val_seen", tmp_path)
    assert published == tmp_path / "val_seen" / "val_seen.json.gz"
    written = json.loads(gzip.decompress(published.read_bytes()))
    truths = json.loads(gzip.decompress(truth.read_bytes()))
    items = list(each_instruction(root.episodes("val_seen")))
    assert len(written["episodes"]) == len(truths) == len(items)
    for record, item in zip(written["episodes"], items):
        assert set(record) == {
            *("episode_id", "trajectory_id", "scene_id", "start_position", "start_rotation", "info", "goals"),
            *("instruction", "reference_path"),
        }
        graph = root.graph(item.episode.scan)
        x, y, z = graph.position_m[graph.index(item.episode.path[0])]
        height = graph.height_m[graph.index(item.episode.path[0])]
        assert record["start_position"] == pytest.approx([x, z - height, -y], abs=0.1)
        assert len(record["instruction"]["instruction_tokens"]) == 200
        assert len(record["reference_path"]) == len(item.episode.path)
        known = truths[str(record["episode_id"])]
        assert known["actions"][-1] == 0
        assert known["forward_steps"] == known["actions"].count(1) == len(known["locations"]) - 1
        assert math.dist(known["locations"][-1], record["goals"][0]["position"]) < 0.5
        assert record["info"]["geodesic_distance"] > 0.0
    words = written["instruction_vocab"]
    assert words["word2idx_dict"][words["word_list"][5]] == 5


def test_a_heading_turns_clockwise_seen_from_above() -> None:
    x, y, z, w = rotation(math.pi / 2)  # east
    # The quaternion turns −z, ahead at heading 0, to +x.
    ahead = np.array([0.0, 0.0, -1.0])
    axis = np.array([x, y, z])
    turned = ahead + 2 * np.cross(axis, np.cross(axis, ahead) + w * ahead)
    np.testing.assert_allclose(turned, [1.0, 0.0, 0.0], atol=1e-9)
