from __future__ import annotations

import math
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from ghosts.geometry import snap_origin
from ghosts.language.tokens import PAD, UNKNOWN, Vocabulary
from ghosts.learn.bank import landmark_bank, ragged_rows
from ghosts.learn.batches import Batch, Builder, Turn, mirror_words, prefetch
from ghosts.learn.data import GoalData
from ghosts.learn.examples import Example
from ghosts.learn.loop import Run, make_training_batch
from ghosts.learn.trajectories import sample_walk, walk_seed
from ghosts.mapping.stencil import stencil
from ghosts.mapping.tiles import Tiles, place_tiles
from ghosts.presets import GoalExperiment
from ghosts.types import Grid
from ghosts.world.landmarks.source import LandmarkSource
from landmark_world import SCANS, load, make_landmark_root, small_experiment

ANGLES = (0.0, 0.7)


@pytest.fixture(scope="module")
def experiment() -> GoalExperiment:
    return small_experiment()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory, experiment: GoalExperiment) -> GoalData:
    return load(make_landmark_root(tmp_path_factory.mktemp("world") / "root"), experiment)


@pytest.fixture(scope="module")
def builder(data: GoalData, experiment: GoalExperiment) -> Builder:
    """With two variants of every building."""
    assert data.labels is not None
    bank = landmark_bank(LandmarkSource(data.root, data.labels), SCANS, 0.5, ANGLES)
    return replace(data.builder, bank=bank)


def walks_of(data: GoalData, examples: list[Example], steps: int = 4) -> list[list[int]]:
    return [
        sample_walk(data.root.graph(item.scan), item.start, item.goal, steps, walk_seed(3, item.instr_id))
        for item in examples
    ]


def turned_world(xy_m: np.ndarray, turn: Turn) -> np.ndarray:
    """Positions after variant, mirror and quarter turns, by matrices."""
    angle = ANGLES[turn.variant]
    whole = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    if turn.mirrored:
        whole = np.diag([-1.0, 1.0]) @ whole
    return xy_m @ (np.linalg.matrix_power(np.array([[0.0, -1.0], [1.0, 0.0]]), turn.quarters) @ whole).T


def contents(batch: Batch) -> dict[tuple[int, int, int, int], dict[int, float]]:
    """(step, item, row, column) to labels with weights."""
    assert batch.labels is not None
    cells = batch.cells
    keys = list(zip(*(getattr(cells, name).tolist() for name in ("step", "item", "row", "col"))))
    assert len(set(keys)) == len(keys)
    found: dict[tuple[int, int, int, int], dict[int, float]] = {key: {} for key in keys}
    for cell, label, weight in zip(*(getattr(batch.labels, name).tolist() for name in ("cell", "label", "weight"))):
        assert label not in found[keys[cell]]
        found[keys[cell]][label] = weight
    return found


def brute_force(
    data: GoalData, examples: list[Example], walks: list[list[int]], turns: list[Turn], grid: Grid
) -> dict[tuple[int, int, int, int], dict[int, float]]:
    """Turn the raw labelled points themselves, and put each into its map cell."""
    assert data.labels is not None
    source = LandmarkSource(data.root, data.labels)
    found: dict[tuple[int, int, int, int], dict[int, float]] = {}
    for item, (example, walk, turn) in enumerate(zip(examples, walks, turns)):
        origin = snap_origin(turned_world(example.start_xy_m, turn), grid)
        for step, row in enumerate(walk):
            graph = data.root.graph(example.scan)
            view = source.observe(example.scan, graph.ids[row])
            places = np.floor((turned_world(view.xyz_m[:, :2], turn) - origin) / grid.cell_m)
            places = places.astype(int) + np.array([grid.cols // 2, grid.rows // 2])
            for (col, line), label, weight in zip(places.tolist(), view.label_id.tolist(), view.weight.tolist()):
                if 0 <= col < grid.cols and 0 <= line < grid.rows:
                    cell = found.setdefault((step, item, line, col), {})
                    cell[label] = min(1.0, cell.get(label, 0.0) + weight)
    return found


TURNS = [
    Turn(),
    Turn(mirrored=True),
    *(Turn(quarters=quarters) for quarters in (1, 2, 3)),
    Turn(mirrored=True, quarters=3),
    Turn(variant=1),
    Turn(mirrored=True, quarters=1, variant=1),
]


@pytest.mark.parametrize("turn", TURNS, ids=str)
def test_batch_equals_turning_the_raw_world(data: GoalData, builder: Builder, turn: Turn) -> None:
    examples = data.train[::11]
    walks = walks_of(data, examples)
    turns = [turn] * len(examples)
    batch = builder.build(examples, walks, turns)
    expected = brute_force(data, examples, walks, turns, builder.grid)
    found = contents(batch)
    assert found.keys() == expected.keys()
    for key, labels in expected.items():
        assert found[key] == pytest.approx(labels, abs=1e-6), key

    starts = turned_world(np.stack([item.start_xy_m for item in examples]), turn)
    paths = turned_world(np.stack([item.path_xy_m for item in examples]), turn)
    origins = snap_origin(starts, builder.grid)
    assert_close(batch.start_xy_m, torch.from_numpy(starts - origins).float())
    assert_close(batch.path_xy_m, torch.from_numpy(paths - origins[:, None]).float())
    assert float(batch.start_xy_m.abs().max()) <= 0.25 + 1e-6
    # Headings follow the turned positions.
    before = np.concatenate([starts[:, None], paths], 1)
    for item, example in enumerate(examples):
        moves = np.diff(before[item], axis=0)
        for step, move in enumerate(moves):
            if np.hypot(*move) > 1e-6:
                heading = float(batch.path_heading_rad[item, step])
                np.testing.assert_allclose([math.sin(heading), math.cos(heading)], move / np.hypot(*move), atol=1e-5)
        start = np.array([math.sin(example.start_heading_rad), math.cos(example.start_heading_rad)])
        heading = float(batch.start_heading_rad[item])
        np.testing.assert_allclose([math.sin(heading), math.cos(heading)], turned_world(start, turn), atol=1e-6)


@pytest.mark.parametrize("turn", TURNS, ids=str)
def test_words_agree_with_the_turned_moves(data: GoalData, builder: Builder, turn: Turn) -> None:
    words = np.array(builder.vocabulary.words)
    examples = data.train[::5]
    batch = builder.build(examples, walks_of(data, examples), [turn] * len(examples))
    checked = 0
    for item in range(len(examples)):
        said = [word for word in words[batch.tokens[item].numpy()] if word in ("left", "right", "straight")]
        headings = [float(batch.start_heading_rad[item]), *batch.path_heading_rad[item].tolist()]
        for word, here, there in zip(said, headings, headings[1:]):
            bend = (there - here + math.pi) % (2 * math.pi) - math.pi
            assert word == ("straight" if abs(bend) < 0.7 else "left" if bend < 0 else "right")
            checked += word != "straight"
    assert checked > 10


def test_batch_equals_placed_tiles(data: GoalData, builder: Builder) -> None:
    examples = data.train[:5]
    walks = walks_of(data, examples)
    batch = builder.build(examples, walks)
    bank = builder.bank
    picked = [bank.tile(example.scan, row) for example, walk in zip(examples, walks) for row in walk]
    spans = [range(bank.starts[tile], bank.starts[tile + 1]) for tile in picked]
    rows = np.concatenate([np.array(span) for span in spans])
    # The bank's rows stand in for features, so that their order is compared as well.
    tiles = Tiles(
        features=torch.from_numpy(rows)[:, None].float(),
        cells=torch.from_numpy(bank.cells[rows]),
        counts=tuple(map(len, spans)),
        cell_m=0.5,
    )
    item = [item for item in range(5) for _ in range(4)]
    origin = snap_origin(np.stack([example.start_xy_m for example in examples]), builder.grid)
    placed = place_tiles(tiles, item, [*range(4)] * 5, origin, builder.grid)
    for name in ("step", "item", "row", "col"):
        assert torch.equal(getattr(batch.cells, name), getattr(placed, name))
    assert batch.cells.counts == placed.counts
    assert torch.equal(batch.rows.float(), placed.features[:, 0])
    plan = stencil(placed, builder.kernel)
    assert torch.equal(batch.plan.neighbours, plan.neighbours)


def test_ragged_rows() -> None:
    owner, rows = ragged_rows(np.array([0, 2, 2, 5]), np.array([2, 0, 1, 2]))
    assert owner.tolist() == [0, 0, 0, 1, 1, 3, 3, 3]
    assert rows.tolist() == [2, 3, 4, 0, 1, 2, 3, 4]


def test_coverage_by_brute_force(data: GoalData, builder: Builder) -> None:
    examples = data.train[::7]
    walks = walks_of(data, examples, 6)
    turns = [TURNS[k % len(TURNS)] for k in range(len(examples))]
    batch = builder.build(examples, walks, turns)
    cells = brute_force(data, examples, walks, turns, builder.grid)
    goals = batch.path_xy_m[:, -1].double().numpy()
    for item in range(len(examples)):
        place = np.floor(goals[item] / 0.5).astype(int) + 16
        for step in range(6):
            seen = {key[2:] for key in cells if key[1] == item and key[0] <= step}
            assert float(batch.seen_m2[item, step]) == pytest.approx(0.25 * len(seen))
            assert bool(batch.goal_seen[item, step]) == ((int(place[1]), int(place[0])) in seen)
    assert 0 < int(batch.goal_seen.sum()) < batch.goal_seen.numel()


def test_a_goal_off_the_map_is_never_seen(data: GoalData, builder: Builder) -> None:
    small = replace(builder, grid=Grid(8, 8, 0.5))
    far = [item for item in data.train if np.abs(item.goal_xy_m - item.start_xy_m).max() > 2.5][:3]
    batch = small.build(far, walks_of(data, far, 8))
    assert len(far) == 3
    assert not bool(batch.goal_seen.any())
    assert float(batch.seen_m2.max()) <= 16.0


def test_a_goal_on_a_cells_edge_lies_in_the_cell_above(data: GoalData, builder: Builder) -> None:
    """As tiles put their points: cell k covers [k · cell, (k + 1) · cell)."""
    example = data.train[0]
    batch = builder.build([example], [[example.start]])
    origin = snap_origin(example.start_xy_m[None], builder.grid)[0]
    row, col = int(batch.cells.row[0]), int(batch.cells.col[0])
    goal = origin + (np.array([col, row]) - 16) * 0.5
    path = np.tile(goal, (len(example.path_xy_m), 1))
    assert bool(builder.build([replace(example, path_xy_m=path)], [[example.start]]).goal_seen[0, 0])


def test_mirror_words() -> None:
    words = Vocabulary((PAD, UNKNOWN, "left", "go", "right", "leftmost", "rightmost", "righthand", "bright"))
    assert mirror_words(words).tolist() == [0, 1, 4, 3, 2, 6, 5, 7, 8]


def test_word_dropout_spares_padding(data: GoalData, builder: Builder) -> None:
    examples = data.train[:4]
    walks = walks_of(data, examples)
    plain = builder.build(examples, walks)
    width = plain.tokens.shape[1]
    unknown = np.zeros((4, 80), bool)
    unknown[1, 3:] = True
    batch = builder.build(examples, walks, None, unknown)
    assert torch.equal(batch.lengths, plain.lengths)
    expected = plain.tokens.clone()
    expected[1, 3 : int(plain.lengths[1])] = 1
    assert torch.equal(batch.tokens, expected)
    assert batch.tokens.shape == (4, width)


def test_a_batch_does_not_depend_on_the_number_of_processes(data: GoalData, tmp_path: Path) -> None:
    experiment = small_experiment(batch=6, word_dropout=0.3, quarters=True)
    run = Run(experiment, data, tmp_path)
    whole = make_training_batch(run, 5, 0, 1)
    for world in (2, 3):
        for rank in range(world):
            part = make_training_batch(run, 5, rank, world)
            mine = slice(rank, None, world)
            for name in ("start_xy_m", "start_heading_rad", "path_xy_m", "path_heading_rad", "goal_seen", "seen_m2"):
                assert torch.equal(getattr(part, name), getattr(whole, name)[mine]), name
            width = part.tokens.shape[1]
            assert torch.equal(part.tokens, whole.tokens[mine, :width])
            assert not bool(whole.tokens[mine, width:].any())
            cells = {(s, i * world + rank, r, c): labels for (s, i, r, c), labels in contents(part).items()}
            assert cells == {key: labels for key, labels in contents(whole).items() if key[1] % world == rank}


def test_share_of_symmetries(data: GoalData, tmp_path: Path) -> None:
    seen: list[Turn] = []
    dropped: list[np.ndarray] = []

    class Recorder(Builder):
        def build(self, examples: Any, walks: Any, turns: Any = None, unknown: Any = None) -> Any:
            seen.extend(turns)
            dropped.append(unknown)
            return super().build(examples[:1], walks[:1])

    recorder = Recorder(*(getattr(data.builder, name) for name in ("bank", "vocabulary", "grid", "kernel", "pool")))
    experiment = small_experiment(batch=50, mirrored=0.3, quarters=True, word_dropout=0.2)
    run = Run(experiment, replace(data, builder=recorder), tmp_path)
    for number in range(20):
        make_training_batch(run, number, 0, 1)
    assert len(seen) == 1000
    assert abs(np.mean([turn.mirrored for turn in seen]) - 0.3) < 4.0 * math.sqrt(0.3 * 0.7 / 1000)
    assert abs(np.concatenate(dropped).mean() - 0.2) < 0.01
    for quarters in range(4):
        assert abs(np.mean([turn.quarters == quarters for turn in seen]) - 0.25) < 4.0 * math.sqrt(0.1875 / 1000)


def dummy(number: int) -> Any:
    time.sleep(0.002 * ((7 * number) % 5))
    return number


@pytest.mark.parametrize("threads", [0, 1, 3])
def test_prefetch_keeps_the_order(threads: int) -> None:
    assert list(prefetch(dummy, range(5, 40), threads)) == list(range(5, 40))
    assert list(prefetch(dummy, [], threads)) == []


@pytest.mark.parametrize("threads", [0, 2])
def test_prefetch_raises_where_the_batch_is_due(threads: int) -> None:
    def make(number: int) -> Any:
        if number == 3:
            raise ValueError("bad batch 3")
        return number

    batches = prefetch(make, range(10), threads)
    assert [next(batches) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="bad batch 3"):
        next(batches)


def test_prefetch_stops_early_and_leaves_no_thread() -> None:
    before = threading.active_count()
    made = []

    def make(number: int) -> Any:
        made.append(number)
        return number

    batches = prefetch(make, range(10_000), 3, ahead=4)
    assert [next(batches), next(batches)] == [0, 1]
    batches.close()
    assert threading.active_count() == before
    assert len(made) <= 2 + 4 + 3 + 3
