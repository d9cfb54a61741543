"""The continuous task: Gymnasium's checker, VLN-CE's actions and metrics, what is refused."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import ghosts_houses.task.environment
from checks import unchecked
from ghosts_houses.body.moves import BodyPose, stand
from ghosts_houses.house import House
from ghosts_houses.task.episode import ContinuousEpisode, houses_of, open_episode
from ghosts_houses.task.scores import ScoreKeeper
from ghosts_houses.task.simulator import TRAINED_CAMERA, HouseSimulator, HouseSimulators, SimulatorConfig
from ghosts_sim.episodes import each_instruction
from ghosts_sim.errors import ConfigError, DataError, UnknownNameError
from ghosts_sim.metrics import ndtw
from ghosts_sim.motion import MOVE_FORWARD, STOP, TURN_LEFT, TURN_RIGHT
from ghosts_sim.types import SUCCESS_M
from handmade import handmade_house
from residing import SMALL, simulators


def make(world: Path, **settings: object) -> gymnasium.Env:
    return gymnasium.make("ghosts/R2R-CE-v0", root=str(world), split="val_unseen", config=SMALL, **settings)


def first(world: Path, **settings: int) -> ContinuousEpisode:
    root = houses_of(world)
    instruction = next(iter(each_instruction(root.episodes("val_unseen"))))
    return open_episode(simulators(world), root, instruction, **settings)


def test_gymnasium_s_own_checker(world: Path) -> None:
    check_env(make(world, render_mode="rgb_array").unwrapped)


def test_observations_and_actions_are_vln_ce_s(world: Path) -> None:
    env = gymnasium.make("ghosts/R2R-CE-v0", root=str(world), split="val_unseen")
    space = env.observation_space
    assert (space["rgb"].shape, space["rgb"].dtype) == ((224, 224, 3), np.uint8)
    assert (space["depth"].shape, space["depth"].high.max()) == ((256, 256, 1), 1.0)
    assert space["instruction"]["tokens"].shape == (200,)
    assert env.action_space.n == 4
    config = env.unwrapped._config
    assert (config.body.radius_m, config.body.height_m, config.body.camera_m) == (0.1, 1.5, 1.25)
    assert (config.hfov_rad, config.body.turn_rad) == (pytest.approx(math.pi / 2), pytest.approx(math.pi / 12))


def test_an_episode_in_the_environment(world: Path) -> None:
    env = make(world, render_mode="rgb_array", max_steps=4)
    observation, info = env.reset(seed=3)
    same, _ = env.reset(seed=3)
    assert same["instruction"]["text"] == observation["instruction"]["text"]
    chosen = info["instr_id"]
    observation, info = env.reset(options={"instr_id": chosen})
    assert info["steps_taken"] == 0.0
    heading = info["heading_rad"]
    _, reward, done, cut, info = env.step(TURN_RIGHT)
    assert (reward, done, cut) == (0.0, False, False)
    assert info["heading_rad"] == pytest.approx((heading + math.pi / 12) % (2 * math.pi))
    _, _, _, _, info = env.step(TURN_LEFT)
    before = info["position_m"]
    observation, _, _, _, info = env.step(MOVE_FORWARD)
    assert info["path_length"] == pytest.approx(float(np.linalg.norm(info["position_m"] - before)))
    assert 0.0 < observation["depth"].max() <= 1.0
    assert env.render().shape == (32, 64, 3)
    _, _, done, cut, info = env.step(MOVE_FORWARD)
    assert (done, cut, info["steps_taken"], info["success"]) == (False, True, 4.0, 0.0)


def test_the_oracle_s_walk_succeeds_and_stopping_at_the_start_does_not(world: Path) -> None:
    episode = first(world)
    assert episode.scores.distance_to_goal > SUCCESS_M
    start = episode.body_pose
    episode.act(STOP)
    assert (episode.scores.success, episode.scores.spl, episode.over) == (0.0, 0.0, True)
    # Walked along the reference: everything is perfect but for the corners.
    simulator = episode.simulator
    keeper = ScoreKeeper(simulator.field(episode.goal), episode.reference_m, start)
    for x, y, z in episode.reference_m[1:]:
        layer = simulator.ground.layer_at(z, x, y)
        keeper.step(BodyPose(float(x), float(y), 0.0, layer, float(z)))
    keeper.step(BodyPose(float(x), float(y), 0.0, layer, float(z)), stopped=True)
    scores = keeper.scores()
    assert scores.success == scores.oracle_success == 1.0
    assert scores.ndtw == scores.sdtw == pytest.approx(1.0, abs=1e-6)
    assert scores.spl > 0.7
    assert scores.steps_taken == len(episode.reference_m)


def test_scores_are_those_of_whole_walks(world: Path) -> None:
    episode = first(world)
    rng = np.random.default_rng(1)
    nearest, collisions = math.inf, 0
    for _ in range(60):
        episode.act(int(rng.choice([MOVE_FORWARD, MOVE_FORWARD, TURN_LEFT, TURN_RIGHT])))
        collisions += episode.collided
        nearest = min(nearest, episode.scores.distance_to_goal)
    places = np.array([(s.x_m, s.y_m, s.z_m) for s in episode.walk])
    moved = np.r_[True, np.linalg.norm(np.diff(places, axis=0), axis=1) > 0]
    places = places[moved]
    between = np.linalg.norm(places[:, None] - episode.reference_m[None], axis=2)
    scores = episode.scores
    assert scores.ndtw == pytest.approx(ndtw(between), rel=1e-9)
    assert scores.path_length == pytest.approx(np.linalg.norm(np.diff(places, axis=0), axis=1).sum())
    assert (scores.steps_taken, scores.collisions) == (60.0, collisions)
    assert scores.oracle_navigation_error <= nearest
    assert set(asdict(scores)) == {
        *("distance_to_goal", "success", "spl", "ndtw", "sdtw", "path_length", "oracle_success"),
        *("oracle_navigation_error", "steps_taken", "collisions"),
    }


def test_a_camera_can_look_down(world: Path) -> None:
    episode = first(world)
    tilted = ContinuousEpisode(
        HouseSimulator(episode.simulator.house, TRAINED_CAMERA), houses_of(world), episode.instruction
    )
    assert tilted.pose.elevation_rad == pytest.approx(-math.pi / 6)
    assert (tilted.pose.x_m, tilted.pose.heading_rad) == (episode.pose.x_m, episode.pose.heading_rad)


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_vector_environments(world: Path, mode: str) -> None:
    envs = gymnasium.make_vec(
        "ghosts/R2R-CE-v0", 2, vectorization_mode=mode, root=str(world), split="val_unseen", config=SMALL
    )
    observation, info = envs.reset(seed=1)
    assert observation["rgb"].shape == (2, 24, 24, 3)
    texts = {item.instr_id: item.text for item in each_instruction(houses_of(world).episodes("val_unseen"))}
    assert list(observation["instruction"]["text"]) == [texts[name] for name in info["instr_id"]]
    _, reward, done, _, info = envs.step(np.array([STOP, MOVE_FORWARD]))
    assert done.tolist() == [True, False]
    assert reward.shape == (2,)
    assert info["steps_taken"].tolist() == [1.0, 1.0]
    envs.close()


def test_houses_are_kept_and_the_last_ones_closed(world: Path) -> None:
    root = houses_of(world)
    houses = HouseSimulators(world, SMALL, most=1)
    a, b = root.scans
    kept = houses[a]
    assert houses[a] is kept
    assert houses[b] is not kept
    assert houses[a] is not kept


def test_the_reference_passes_its_places_in_steps() -> None:
    house: House = handmade_house()
    simulator = HouseSimulator(house, SMALL)
    places = [stand(simulator.ground, x, y, 0.0, 0.0) for x, y in ((1.0, 3.2), (2.5, 2.2), (7.0, 2.0))]
    way = simulator.demonstration_m(places, 0.25)
    gaps = np.linalg.norm(np.diff(way, axis=0), axis=1)
    assert gaps.max() < 0.2501
    for place in places:
        assert np.linalg.norm(way[:, :2] - (place.x_m, place.y_m), axis=1).min() < 0.15


def test_what_is_refused_is_told(world: Path, root: Path) -> None:
    with pytest.raises(DataError, match="continuous motion needs procedural houses; make some with: ghosts world"):
        gymnasium.make("ghosts/R2R-CE-v0", root=str(root))
    with pytest.raises(UnknownNameError, match="unknown instruction '1_9'"):
        make(world).reset(options={"instr_id": "1_9"})
    with pytest.raises(UnknownNameError, match="unknown render mode 'human'; choose one of rgb_array"):
        ghosts_houses.task.environment.R2RCEEnv(world, render_mode="human")
    with pytest.raises(ConfigError, match="max_steps must be at least 1, got 0"):
        ghosts_houses.task.environment.R2RCEEnv(world, max_steps=0)
    episode = first(world, max_steps=2)
    with pytest.raises(ConfigError, match=r"unknown action 4; choose one of 0 STOP, 1 MOVE_FORWARD, 2 TURN_LEFT"):
        episode.act(4)
    for action in ("MOVE_FORWARD", 1.5, None):
        with unchecked(), pytest.raises(ConfigError, match=rf"unknown action {action!r}; choose one of 0 STOP"):
            episode.act(action)  # type: ignore[arg-type]
    assert episode.steps == 0
    episode.act(np.int64(STOP))
    with pytest.raises(ConfigError, match="the episode is over; call reset"):
        episode.act(MOVE_FORWARD)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"elevation_rad": 2.0}, "elevation_rad must lie in"),
        ({"hfov_rad": 3.5}, "hfov_rad must lie in"),
        ({"rgb_px": 0}, "rgb_px must be at least 1, got 0"),
        ({"depth_px": 100}, "depth_px must be a multiple of 16, got 100"),
        ({"depth_range_m": (2.0, 1.0)}, "depth_range_m must grow"),
    ],
)
def test_settings_out_of_range(settings: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        SimulatorConfig(**settings)


def test_an_unknown_renderer_is_told() -> None:
    with pytest.raises(UnknownNameError, match="unknown renderer 'quick'"):
        SimulatorConfig(renderer="quick")
    assert SimulatorConfig(renderer="exact").chosen_renderer == "exact"
    assert SimulatorConfig().chosen_renderer in ("fast", "baked")
