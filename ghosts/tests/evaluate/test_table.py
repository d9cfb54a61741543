"""Tables of scores, and their intervals by resampling paths."""

from __future__ import annotations

import json

import numpy as np
import pytest

from ghosts.evaluate.bootstrap import calibration_interval, confidence_bin, draw_paths, mean_interval
from ghosts.evaluate.goal import GoalScores
from ghosts.evaluate.table import ScoredRun, goal_table, summarise
from ghosts.evaluate.text_table import text_rows
from ghosts_sim.errors import ConfigError

NAMES = ("1_0", "1_1", "2_0", "2_1")


def scores(error: list[list[float]], area: float = 10.0) -> GoalScores:
    """With peaks that are 1 m further off."""
    values = np.array(error)
    seen = np.tile(np.arange(values.shape[1]) > 0, (len(values), 1))
    nll, confidence = np.full(values.shape, 2.0), np.full(values.shape, 0.5)
    return GoalScores(NAMES, values, seen, np.full(values.shape, area), nll, confidence, values + 1.0)


GOOD = scores([[1.0, 1.0], [1.0, 5.0], [2.0, 2.0], [7.0, 1.0]])  # success 3/4 and 3/4
BETTER = scores([[1.0, 1.0], [1.0, 1.0], [2.0, 2.0], [1.0, 1.0]])
BAD = scores([[4.0, 4.0]] * 4)


def test_values_by_hand() -> None:
    models = {
        "circle": [ScoredRun("hand-coded", 0, None, {"val_seen": BAD})],
        "filter": [ScoredRun("a", 0, 60, {"val_seen": GOOD}), ScoredRun("b", 1, 40, {"val_seen": BETTER})],
    }
    summary = json.loads(json.dumps(summarise(models, samples=200)))
    split = summary["splits"]["val_seen"]
    assert (split["instructions"], split["paths"]) == (4, 2)
    success = split["models"]["filter"]["success"]
    assert success["steps"] == pytest.approx([0.875, 0.875])
    assert success["average"] == pytest.approx(0.875)
    assert success["sd"] == pytest.approx(np.std([0.75, 1.0], ddof=1))
    # Of good errors 2 m no longer count, of the better ones neither.
    assert split["models"]["filter"]["peak_success"]["average"] == pytest.approx((0.5 + 0.75) / 2)
    assert split["models"]["filter"]["error_m"]["average"] == pytest.approx((2.5 + 1.25) / 2)
    # Both seeds put half their mass near each prediction: calibration errors |0.75 − 0.5| and |1 − 0.5|.
    assert split["models"]["filter"]["calibration_error"]["average"] == pytest.approx(0.375)
    assert split["models"]["circle"]["success"]["sd"] is None
    assert split["models"]["circle"]["error_quantiles_m"]["50"] == 4.0
    assert [run["success"] for run in split["models"]["filter"]["runs"]] == [0.75, 1.0]
    assert split["difference_to"] == "circle"
    assert split["differences"]["filter"]["success"] == pytest.approx(0.875)
    assert split["differences"]["filter"]["steps"] == pytest.approx([0.875, 0.875])
    # Over paths 1 and 2: 7/8 of both, so every resampling gives the same.
    assert split["differences"]["filter"]["interval"] == pytest.approx([0.875, 0.875])


def test_rows_text_and_markdown() -> None:
    models = {
        "circle": [ScoredRun("hand-coded", 0, None, {"val_seen": BAD})],
        "filter": [ScoredRun("a", 0, 60, {"val_seen": GOOD}), ScoredRun("b", 1, 40, {"val_seen": BETTER})],
    }
    summary = summarise(models, samples=200)
    rows = goal_table(summary, "val_seen").rows
    assert rows[0] == ["", "", "0", "1", "Avg", "95 %"]
    assert rows[1] == ["Map seen (m²)", "", "10.0", "10.0", "10.0", "10.0–10.0"]
    assert rows[2] == ["Goal seen (%)", "", "0.0", "100.0", "50.0", "50.0–50.0"]
    assert rows[3][:5] == ["Prediction error (m)", "circle", "4.00", "4.00", "4.00"]
    assert rows[5] == ["Success rate (%)", "circle", "0.0", "0.0", "0.0", "0.0–0.0"]
    assert rows[6] == ["", "filter", "87.5", "87.5", "87.5 ± 17.7", "87.5–87.5"]
    text = goal_table(summary, "val_seen").text()
    assert text.splitlines()[0] == "val_seen: 4 instructions of 2 paths, up to 2 seeds: mean ± s.d."
    assert "- filter − circle: +87.5 points of average success (95 %: +87.5 to +87.5); " in text
    assert "at every time step between +87.5 and +87.5" in text
    markdown = goal_table(summary, "val_seen").markdown().splitlines()
    assert markdown[2] == "|  |  | 0 | 1 | Avg | 95 % |"
    assert markdown[3] == "| --- | --- | ---: | ---: | ---: | ---: |"
    assert markdown[9] == "|  | filter | 87.5 | 87.5 | 87.5 ± 17.7 | 87.5–87.5 |"


def test_models_that_see_different_worlds_get_their_own_rows() -> None:
    models = {
        name: [ScoredRun(name, 0, 1, {"val_seen": scores([[1.0, 1.0]] * 4, area)})]
        for name, area in (("floor", 10.0), ("no floor", 6.0))
    }
    rows = goal_table(summarise(models, samples=20), "val_seen").rows
    assert [row[:3] for row in rows[1:3]] == [["Map seen (m²)", "floor", "10.0"], ["", "no floor", "6.0"]]
    assert rows[3][:2] == ["Goal seen (%)", ""]


def test_a_wide_table_goes_on_below() -> None:
    rows = [
        ["", *(f"metric {k}" for k in range(4))],
        ["mine", *["0.123 (0.100–0.150)  …  "] * 4],
        ["paper", "1", "2", "–", "–"],
    ]
    lines = text_rows(rows, names=1)
    assert max(map(len, lines)) <= 100
    first, second = lines[: lines.index("")], lines[lines.index("") + 1 :]
    assert [line.split()[0] for line in first] == ["metric", "mine", "paper"]
    assert [line.split()[0] for line in second] == ["metric", "mine"]  # the paper has nothing to say of the rest
    assert first[0].split() + second[0].split() == " ".join(rows[0]).split()
    assert text_rows([["", "a"], ["b", "1"]], names=1) == ["   a", "b  1"]


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
