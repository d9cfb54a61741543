"""The Gymnasium environment: the library's own checker, rules of walking and stopping, vector environments."""

from __future__ import annotations

import math
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import ghosts.run.env  # noqa: F401 (registers the environment)
from ghosts.run.env import R2REnv
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.episodes import each_instruction
from ghosts_sim.errors import ConfigError, UnknownNameError
from ghosts_sim.types import Intrinsics
from makers import SCAN, add_landmarks, viewpoint_id

SMALL = Intrinsics(32, 24, 1.0)


def make(root: Path, **settings: object) -> gymnasium.Env:
    return gymnasium.make("ghosts/R2R-v0", root=str(root), camera=SMALL, **settings)


@pytest.mark.filterwarnings("ignore:.*Box observation space.*:UserWarning")
def test_gymnasium_s_own_checker(root: Path) -> None:
    check_env(make(root).unwrapped, skip_render_check=True)


def test_walk_to_the_goal(root: Path) -> None:
    env = make(root)
    observation, info = env.reset(options={"instr_id": "7_1"})
    assert observation["instruction"] == "Go straight ahead, then stop."
    assert observation["rgb"].shape == (12, 24, 32, 3)
    assert info["candidates"] == [viewpoint_id(1)]
    assert observation["action_mask"].tolist() == [1, 1, 0]
    assert observation["candidates"][0] == pytest.approx([-0.25, 0.0, 2.0], abs=1e-6)
    for expected in (1, 2, 3):
        action = 1 + info["candidates"].index(viewpoint_id(expected))
        observation, reward, done, cut, info = env.step(action)
        assert (reward, done, cut) == (0.0, False, False)
        np.testing.assert_allclose(observation["position_m"], [0.5, 2.0 * expected, 1.5])
        assert math.cos(observation["heading_rad"][0]) == pytest.approx(1.0)
    _, reward, done, _, info = env.step(0)
    assert (reward, done) == (1.0, True)
    assert info["path"] == [viewpoint_id(row) for row in range(4)]
    assert info["distance_to_goal_m"] == 0.0


def test_stopping_far_away_earns_nothing(root: Path) -> None:
    env = make(root)
    env.reset(options={"instr_id": "7_0"})
    _, reward, done, _, info = env.step(0)
    assert (reward, done) == (0.0, True)
    assert info["distance_to_goal_m"] == pytest.approx(6.0)


def test_an_impossible_candidate_costs_a_step_and_long_walks_are_cut(root: Path) -> None:
    env = make(root, max_steps=2)
    _, info = env.reset(options={"instr_id": "7_0"})
    _, _, done, cut, after = env.step(2)
    assert after["path"] == info["path"]
    assert (done, cut) == (False, False)
    assert env.step(1)[3]


def test_test_split_has_no_goal(root: Path) -> None:
    env = make(root, split="test")
    _, info = env.reset(seed=0)
    assert "distance_to_goal_m" not in info
    assert env.step(0)[1] == 0.0


def test_seeds_choose_episodes(root: Path) -> None:
    env = make(root)
    names = [env.reset(seed=seed)[1]["instr_id"] for seed in range(12)]
    assert names == [env.reset(seed=seed)[1]["instr_id"] for seed in range(12)]
    assert len(set(names)) > 3


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_vectorised(root: Path, mode: str) -> None:
    envs = gymnasium.make_vec("ghosts/R2R-v0", num_envs=2, vectorization_mode=mode, root=str(root), camera=SMALL)
    observation, info = envs.reset(seed=1)
    assert observation["rgb"].shape == (2, 12, 24, 32, 3)
    texts = {item.instr_id: item.text for item in each_instruction(DataRoot(root).episodes("train"))}
    told = [(observation["instruction"], info["instr_id"])]
    observation, info = envs.reset(seed=2)
    told.append((observation["instruction"], info["instr_id"]))
    assert told[0][0] != told[1][0]
    assert all(list(given) == [texts[name] for name in names] for given, names in told)
    observation, reward, done, _, info = envs.step(np.array([0, 1]))
    assert observation["instruction"] == told[1][0]
    assert done.tolist() == [True, False]
    assert reward.shape == (2,)
    assert info["scan"][0] == SCAN
    envs.close()


def test_clear_errors(root: Path) -> None:
    with pytest.raises(UnknownNameError, match="unknown observation 'rgb'"):
        make(root, observation="rgb")
    with pytest.raises(UnknownNameError, match="did you mean 'train'"):
        make(root, split="trian")
    with pytest.raises(ConfigError, match="max_steps"):
        make(root, max_steps=0)
    env = make(root)
    with pytest.raises(UnknownNameError, match="did you mean '7_0'"):
        env.reset(options={"instr_id": "7_00"})


@pytest.mark.filterwarnings("ignore:.*Box observation space.*:UserWarning")
def test_landmarks_instead_of_images(root: Path) -> None:
    add_landmarks(root)
    env = gymnasium.make("ghosts/R2R-v0", root=str(root), observation="landmarks")
    check_env(env.unwrapped, skip_render_check=True)
    env.reset(options={"instr_id": "7_0"})
    observation = env.step(1)[0]
    labels = env.unwrapped._observer.labels
    seen = observation["landmark_label"][observation["landmark_weight"] > 0]
    assert labels.room_id("b") in seen
    where = (observation["landmark_label"] == labels.object_id("mirror")) & (observation["landmark_weight"] > 0)
    assert observation["landmark_xy_m"][where].tolist() == [[1.25, 2.25]]


def test_pictures_show_the_walk(root: Path) -> None:
    env = make(root, render_mode="rgb_array")
    env.reset(options={"instr_id": "7_1"})
    pictures = [env.render()]
    _, _, _, _, info = env.step(1)
    pictures.append(env.render())
    assert info["path"] == [viewpoint_id(0), viewpoint_id(1)]
    assert [picture.shape for picture in pictures] == [(480, 880, 3)] * 2
    blue = [np.argwhere((picture[:, :480] == (0, 114, 178)).all(-1)) for picture in pictures]
    # The walker went north by 2 m of 8: up by a quarter of the map, and its way stays.
    assert 100 < blue[0][:, 0].min() - blue[1][:, 0].min() < 140
    assert blue[1][:, 0].max() > blue[0][:, 0].min()
    # What it sees ahead and the instruction.
    assert pictures[0][:100, 480:].std() > 5
    assert (pictures[0][310:340, 480:] < 100).any()
    assert make(root).unwrapped.render() is None
    with pytest.raises(UnknownNameError, match=r"unknown render_mode 'human'; choose one of rgb_array"):
        R2REnv(root, render_mode="human")
