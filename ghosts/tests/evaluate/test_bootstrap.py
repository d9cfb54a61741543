from __future__ import annotations

import numpy as np
import pytest

from ghosts.evaluate.bootstrap import calibration_interval, confidence_bin, draw_paths, mean_interval
from ghosts.evaluate.goal import GoalScores
from ghosts_sim.errors import ConfigError


def test_equal_seeds_give_equal_intervals() -> None:
    names = [f"{path}_{k}" for path in range(40) for k in range(3)]
    values = np.random.default_rng(0).random(120)
    first = mean_interval(values, draw_paths(names, 500, seed=1))
    assert first == mean_interval(values, draw_paths(names, 500, seed=1))
    assert first != mean_interval(values, draw_paths(names, 500, seed=2))
    assert first[0] < values.mean() < first[1]


def test_paths_are_drawn_whole() -> None:
    draws = draw_paths(["7_0", "7_1", "12_0", "7_2"], 50)
    assert draws.path.tolist() == [1, 1, 0, 1]
    assert draws.paths == 2
    assert (draws.times.sum(1) == 2).all()


def test_against_resampling_by_hand() -> None:
    """The same draws, instruction by instruction."""
    names = [f"{path}_{k}" for path in range(6) for k in range(1 + path % 3)]
    random = np.random.default_rng(3)
    success, confidence = (random.random((len(names), 2)) < 0.4).astype(float), random.random((len(names), 2))
    draws = draw_paths(names, 200)
    means, gaps = [], []
    for times in draws.times.astype(int):
        picked = np.concatenate([np.repeat(k, times[path]) for k, path in enumerate(draws.path)]).astype(int)
        means.append(success[picked, 0].mean())
        blank, error = np.zeros_like(success[picked]), np.where(success[picked] > 0, 1.0, 9.0)
        gaps.append(GoalScores((), error, blank > 0, blank, blank, confidence[picked], blank).calibration_error())
    assert mean_interval(success[:, 0], draws) == pytest.approx(tuple(np.percentile(means, [2.5, 97.5])))
    expected = tuple(np.percentile(gaps, [2.5, 97.5]))
    assert calibration_interval(success, confidence, draws, 10) == pytest.approx(expected)


def test_dependent_instructions_widen_the_interval() -> None:
    """Three copies of a path's value tell no more than one: the interval is √3 wider than for independent ones."""
    random = np.random.default_rng(0)
    values = np.repeat(random.random(300), 3)
    low, high = mean_interval(values, draw_paths([f"{path}_{k}" for path in range(300) for k in range(3)]))
    wrong_low, wrong_high = mean_interval(values, draw_paths([f"{k}_0" for k in range(900)]))
    assert (high - low) / (wrong_high - wrong_low) == pytest.approx(np.sqrt(3.0), rel=0.08)
    expected = 2 * 1.96 * values.std() / np.sqrt(300)
    assert high - low == pytest.approx(expected, rel=0.08)


def test_bins_and_bad_input() -> None:
    assert confidence_bin(np.array([0.0, 0.099, 0.1, 0.95, 1.0]), 10).tolist() == [0, 0, 1, 9, 9]
    with pytest.raises(ConfigError, match="got 0 and 5"):
        draw_paths([], 5)
