"""Drivers without a model, in a house."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from ghosts_houses.task.drive import DRIVERS, driven, make_driver
from ghosts_houses.task.episode import MAX_STEPS, ContinuousEpisode, houses_of, open_episode
from ghosts_houses.task.scores import CeScores
from ghosts_sim.episodes import each_instruction
from ghosts_sim.errors import UnknownNameError
from ghosts_sim.motion import MOVE_FORWARD, TURN_RIGHT, Body, Driver, drive
from residing import SMALL, simulators


def first(world: Path, body: Body = Body()) -> ContinuousEpisode:
    root = houses_of(world)
    instruction = next(iter(each_instruction(root.episodes("val_unseen"))))
    return open_episode(simulators(world, replace(SMALL, body=body)), root, instruction)


def drive_to_end(driver: Driver, episode: ContinuousEpisode) -> CeScores:
    assert len(list(driven(driver, episode))) == episode.steps
    return episode.scores


def test_the_oracle_arrives_and_the_other_baselines_keep_to_their_rules(world: Path) -> None:
    found = {}
    for name in DRIVERS:
        episode = first(world)
        found[name] = drive_to_end(make_driver(name, episode), episode)
        assert episode.over
    assert found["stop"].steps_taken == 1.0
    assert found["oracle"].success == 1.0
    assert found["oracle"].spl > 0.85
    assert found["oracle"].collisions == 0.0
    assert 38.0 <= found["hand-coded"].steps_taken <= 37 * 2 + 25
    with pytest.raises(
        UnknownNameError, match="unknown driver 'lucky'; choose one of hand-coded, oracle, random, stop"
    ):
        make_driver("lucky", first(world))


def test_a_way_into_a_wall_is_given_up(world: Path) -> None:
    episode = first(world)
    away = np.array([[episode.body_pose.x_m + 0.1 * k, episode.body_pose.y_m, 0.0] for k in range(300)])
    actions = drive(away, episode)
    arrived = None
    for _ in range(MAX_STEPS):
        try:
            episode.act(next(actions))
        except StopIteration as end:
            arrived = end.value
            break
    assert arrived is False
    assert episode.steps < 200


def test_each_episode_has_its_own_random_actions_and_always_the_same(world: Path) -> None:
    root = houses_of(world)
    items = list(each_instruction(root.episodes("val_unseen")))
    actions = {}
    for item in items:
        for name in ("random", "hand-coded"):
            episode = open_episode(simulators(world), root, item)
            again = open_episode(simulators(world), root, item)
            taken = tuple(islice(driven(make_driver(name, episode), episode), 40))
            assert taken == tuple(islice(driven(make_driver(name, again), again), 40))
            actions[name, item.instr_id] = taken
    assert len({actions["random", item.instr_id] for item in items}) == len(items)
    assert len({actions["hand-coded", item.instr_id] for item in items}) > min(5, len(items) // 2)


def test_the_hand_coded_driver_turns_and_goes_as_far_with_any_steps(world: Path) -> None:
    turned = []
    for forward_m, turn_deg in ((0.25, 15.0), (0.5, 5.0)):
        episode = first(world, Body(forward_m=forward_m, turn_rad=math.radians(turn_deg)))
        actions = list(make_driver("hand-coded", episode)("", episode))  # none is taken
        assert actions.count(MOVE_FORWARD) == pytest.approx(9.25 / forward_m, abs=0.5)
        turned.append(actions.count(TURN_RIGHT) * turn_deg)
    assert 0.0 < turned[0] < 360.0
    assert turned[1] == pytest.approx(turned[0], abs=15.0)
