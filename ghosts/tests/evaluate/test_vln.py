"""Whole splits: walked, scored and tabulated; the same however the work is shared."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from agent.worlds import Comb, make_comb
from ghosts.agent.known import KnownGraph
from ghosts.agent.loop import choose_best
from ghosts.data.symmetry import SYMMETRIES, Symmetry
from ghosts.evaluate.goal import Execution
from ghosts.evaluate.vln import deterministic, score_walks, walk_split, walk_split_baseline
from ghosts.evaluate.vln_table import PUBLISHED, published_split, summarise_vln, vln_table
from ghosts.run.rollout import GraphWalks, choose_together, walk_episodes
from ghosts_sim.errors import DataError
from ghosts_sim.metrics import METRICS, NavScores


@pytest.fixture(scope="module")
def comb(tmp_path_factory: pytest.TempPathFactory) -> Comb:
    return make_comb(tmp_path_factory.mktemp("comb"))


def walks(comb: Comb, batch: int = 128, *, planner: bool = False) -> list[list[int]]:
    return walk_split(comb.run, comb.data, comb.examples, Execution(batch=batch), planner=planner)


def test_walks_do_not_depend_on_the_batch_and_leave_the_mode_alone(comb: Comb) -> None:
    comb.task.model.train()
    assert walks(comb, batch=3) == walks(comb, batch=128)
    assert comb.task.model.training
    comb.task.model.eval()


def test_symmetric_worlds_choose_together(comb: Comb) -> None:
    """A copy of the world that is rotated does not change the walk, and each copy has a say."""

    def table(symmetry: Symmetry) -> np.ndarray:
        world = GraphWalks(comb.data, torch.device("cpu"))
        episodes = world.begin(comb.examples, [symmetry] * len(comb.examples))
        return walk_episodes(comb.run.agent(), world, episodes, most=1).steps[0].action.table.clip(-99.0)

    tables = [table(symmetry) for symmetry in SYMMETRIES]
    assert max(np.abs(tables[0] - one).max() for one in tables[1:]) > 1e-3
    first = []

    def best(known: KnownGraph, table: np.ndarray, active: np.ndarray) -> np.ndarray:
        first.append(table)
        return choose_best(known, table, active)

    world = GraphWalks(comb.data, torch.device("cpu"))
    several = [(example, symmetry) for example in comb.examples for symmetry in SYMMETRIES]
    episodes = world.begin(*(list(part) for part in zip(*several)))
    paths = walk_episodes(comb.run.agent(), world, episodes, choose=choose_together(8, best)).paths
    np.testing.assert_allclose(first[0][::8].clip(-99.0), np.mean(tables, 0), atol=1e-4)
    assert all(path == paths[number // 8 * 8] for number, path in enumerate(paths))
    how = Execution(batch=4, symmetries=8)
    assert walk_split(comb.run, comb.data, comb.examples, how) == paths[::8]


def test_nothing_to_walk(comb: Comb) -> None:
    with pytest.raises(DataError, match="no instructions to evaluate"):
        walk_split(comb.run, comb.data, [])


def test_baselines_are_scored_against_the_demonstrator(comb: Comb) -> None:
    root, examples = comb.data.root, comb.examples
    scores = {
        name: score_walks(root, examples, walk_split_baseline(name, root, examples)).means()
        for name in ("shortest", "stop", "random")
    }
    assert scores["shortest"] == {
        "TL": pytest.approx(6.9), "NE": 0.0, "OS": 1.0, "SR": 1.0, "SPL": 1.0, "nDTW": 1.0, "SDTW": 1.0,
        "CLS": pytest.approx(1.0),
    }  # fmt: skip
    assert scores["stop"]["TL"] == 0.0
    assert scores["stop"]["NE"] == pytest.approx(6.9)
    assert scores["random"]["TL"] == pytest.approx(5 * 2.3)
    again = score_walks(root, examples, walk_split_baseline("random", root, examples)).means()
    assert again == scores["random"]


def made_up(success: list[bool], error: float = 1.0) -> NavScores:
    values = np.array(success, float)
    names = tuple(f"{k // 3}_{k % 3}" for k in range(len(success)))
    columns = dict.fromkeys(METRICS, values) | {"TL": values + 5.0, "NE": np.full(len(success), error)}
    return NavScores(names, columns)


def test_table_holds_means_seeds_intervals_and_published_rows() -> None:
    summary = summarise_vln({"ours": {"val_unseen": [made_up([True] * 3 + [False] * 3), made_up([True] * 6)]}})
    row = summary["splits"]["val_unseen"]["models"]["ours"]
    assert row["SR"]["mean"] == 0.75
    assert row["SR"]["sd"] == pytest.approx(math.sqrt(0.125))
    assert row["SR"]["interval"] == (0.5, 1.0)
    assert summary["splits"]["val_unseen"]["paths"] == 2
    lines = vln_table(summary, "val_unseen").rows
    assert lines[0] == ["", "TL", "NE", "OS", "SR", "SPL", "nDTW", "SDTW", "CLS"]
    assert lines[1][4] == "0.750 ± 0.354 (0.500–1.000)"
    paper = next(line for line in lines if line[0].startswith("Chasing Ghosts"))
    assert paper[1:6] == ["9.64", "7.20", "0.44", "0.35", "0.31"]
    assert "Table 2" in vln_table(summary, "val_unseen").text()
    assert vln_table(summary, "val_unseen").markdown().count("\n| ") == len(lines) + 1  # and the line under the header


def test_published_rows_are_left_out_where_they_do_not_belong() -> None:
    summary = summarise_vln({"ours": {"val_unseen": [made_up([True] * 3)]}}, published=False)
    assert "published" not in summary
    assert [line[0] for line in vln_table(summary, "val_unseen").rows] == ["", "ours"]
    assert vln_table(summary, "val_unseen").text().splitlines()[2].startswith("ours  6.00 (6.00–6.00)")
    assert vln_table(summary, "val_unseen").markdown().splitlines()[-1].startswith("| ours | 6.00 (6.00–6.00) |")


def test_unreachable_goals_are_shown_as_such() -> None:
    summary = summarise_vln({"ours": {"val_seen": [made_up([False] * 3, error=math.inf)]}})
    assert summary["splits"]["val_seen"]["models"]["ours"]["NE"]["mean"] is None
    assert vln_table(summary, "val_seen").rows[1][2] == "∞"


def test_published_rows_are_complete_and_go_with_the_right_split() -> None:
    assert published_split("dev_unseen") == "val_unseen"
    assert published_split("val_seen") == "val_seen"
    assert all(len(row) == 5 for rows in PUBLISHED.values() for row in rows.values())
    assert PUBLISHED["val_seen"]["Chasing Ghosts, images"] == (10.15, 7.59, 0.42, 0.34, 0.30)


def test_deterministic_is_undone() -> None:
    assert not torch.are_deterministic_algorithms_enabled()
    with deterministic():
        assert torch.are_deterministic_algorithms_enabled()
    assert not torch.are_deterministic_algorithms_enabled()
