from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from data.makers import contents
from ghosts.data.bank import landmark_bank
from ghosts.data.dataset import Dataset
from ghosts.data.drops import Drops
from ghosts.data.examples import Example
from ghosts.data.symmetry import Symmetry, mirrored_words
from ghosts.data.walks import walk_seed
from ghosts.fast.stencil import stencil
from ghosts.mapping.landmark_views import LandmarkSource
from ghosts.mapping.tiles import Tiles, place_tiles
from ghosts.words.tokens import Vocabulary
from ghosts_sim.geometry import snap_origin
from ghosts_sim.tokens import PAD, UNKNOWN
from ghosts_sim.types import Grid
from landmark_world import SCANS, load, make_landmark_root, small_experiment

ANGLES = (0.0, 0.7)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """With two variants of every building."""
    found = load(make_landmark_root(tmp_path_factory.mktemp("world") / "root"), small_experiment())
    assert found.labels is not None
    return replace(found, bank=landmark_bank(LandmarkSource(found.root, found.labels), SCANS, 0.5, ANGLES))


def walks_of(data: Dataset, examples: list[Example], steps: int = 4) -> list[list[int]]:
    return [data.walk(item, steps, walk_seed(3, item.instr_id)) for item in examples]


def moved_world(xy_m: np.ndarray, symmetry: Symmetry) -> np.ndarray:
    """Positions after variant, mirror and quarter rotations, by matrices."""
    angle = ANGLES[symmetry.variant]
    whole = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    if symmetry.mirrored:
        whole = np.diag([-1.0, 1.0]) @ whole
    return xy_m @ (np.linalg.matrix_power(np.array([[0.0, -1.0], [1.0, 0.0]]), symmetry.quarters) @ whole).T


def brute_force(
    data: Dataset, examples: list[Example], walks: list[list[int]], symmetries: list[Symmetry], grid: Grid
) -> dict[tuple[int, int, int, int], dict[int, float]]:
    """Move the raw labelled points themselves, and put each into its map cell."""
    assert data.labels is not None
    source = LandmarkSource(data.root, data.labels)
    found: dict[tuple[int, int, int, int], dict[int, float]] = {}
    for item, (example, walk, symmetry) in enumerate(zip(examples, walks, symmetries)):
        origin = snap_origin(moved_world(example.start_xy_m, symmetry), grid)
        for step, row in enumerate(walk):
            graph = data.root.graph(example.scan)
            view = source.observe(example.scan, graph.ids[row])
            places = np.floor((moved_world(view.xyz_m[:, :2], symmetry) - origin) / grid.cell_m)
            places = places.astype(int) + np.array([grid.cols // 2, grid.rows // 2])
            for (col, line), label, weight in zip(places.tolist(), view.label_id.tolist(), view.weight.tolist()):
                if 0 <= col < grid.cols and 0 <= line < grid.rows:
                    cell = found.setdefault((step, item, line, col), {})
                    cell[label] = min(1.0, cell.get(label, 0.0) + weight)
    return found


SYMMETRIES = [
    Symmetry(),
    Symmetry(mirrored=True),
    *(Symmetry(quarters=quarters) for quarters in (1, 2, 3)),
    Symmetry(mirrored=True, quarters=3),
    Symmetry(variant=1),
    Symmetry(mirrored=True, quarters=1, variant=1),
]


@pytest.mark.parametrize("symmetry", SYMMETRIES, ids=str)
def test_a_batch_under_a_symmetry_equals_the_raw_world_under_it(data: Dataset, symmetry: Symmetry) -> None:
    examples = data.examples("train")[::11]
    walks = walks_of(data, examples)
    symmetries = [symmetry] * len(examples)
    batch = data.batch(examples, walks, symmetries)
    expected = brute_force(data, examples, walks, symmetries, data.reading.grid)
    found = contents(batch)
    assert found.keys() == expected.keys()
    for key, labels in expected.items():
        assert found[key] == pytest.approx(labels, abs=1e-6), key

    starts = moved_world(np.stack([item.start_xy_m for item in examples]), symmetry)
    paths = moved_world(np.stack([item.path_xy_m for item in examples]), symmetry)
    origins = snap_origin(starts, data.reading.grid)
    assert_close(batch.briefing.start_xy_m, torch.from_numpy(starts - origins).float())
    assert_close(batch.path_xy_m, torch.from_numpy(paths - origins[:, None]).float())
    assert float(batch.briefing.start_xy_m.abs().max()) <= 0.25 + 1e-6
    # Headings follow the positions.
    before = np.concatenate([starts[:, None], paths], 1)
    for item, example in enumerate(examples):
        moves = np.diff(before[item], axis=0)
        for step, move in enumerate(moves):
            if np.hypot(*move) > 1e-6:
                heading = float(batch.path_heading_rad[item, step])
                np.testing.assert_allclose([math.sin(heading), math.cos(heading)], move / np.hypot(*move), atol=1e-5)
        start = np.array([math.sin(example.start_heading_rad), math.cos(example.start_heading_rad)])
        heading = float(batch.briefing.start_heading_rad[item])
        np.testing.assert_allclose([math.sin(heading), math.cos(heading)], moved_world(start, symmetry), atol=1e-6)


@pytest.mark.parametrize("symmetry", SYMMETRIES, ids=str)
def test_words_agree_with_the_moves_under_a_symmetry(data: Dataset, symmetry: Symmetry) -> None:
    words = np.array(data.vocabulary.words)
    examples = data.examples("train")[::5]
    batch = data.batch(examples, walks_of(data, examples), [symmetry] * len(examples))
    checked = 0
    for item in range(len(examples)):
        said = [word for word in words[batch.briefing.tokens[item].numpy()] if word in ("left", "right", "straight")]
        headings = [float(batch.briefing.start_heading_rad[item]), *batch.path_heading_rad[item].tolist()]
        for word, here, there in zip(said, headings, headings[1:]):
            bend = (there - here + math.pi) % (2 * math.pi) - math.pi
            assert word == ("straight" if abs(bend) < 0.7 else "left" if bend < 0 else "right")
            checked += word != "straight"
    assert checked > 10


def test_batch_equals_placed_tiles(data: Dataset) -> None:
    examples = data.examples("train")[:5]
    walks = walks_of(data, examples)
    bank = replace(data.bank, labels=None)  # as of images
    batch = replace(data, bank=bank).batch(examples, walks)
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
    origin = snap_origin(np.stack([example.start_xy_m for example in examples]), data.reading.grid)
    placed = place_tiles(tiles, 4, origin, data.reading.grid)
    for name in ("step", "item", "row", "col"):
        assert torch.equal(getattr(batch.seen.cells, name), getattr(placed, name))
    assert batch.seen.cells.counts == placed.counts
    assert batch.rows is not None
    assert torch.equal(batch.rows.float(), placed.features[:, 0])
    plan = stencil(placed, data.reading.kernel)
    assert torch.equal(batch.seen.plan.neighbours, plan.neighbours)


def test_coverage_by_brute_force(data: Dataset) -> None:
    examples = data.examples("train")[::7]
    walks = walks_of(data, examples, 6)
    symmetries = [SYMMETRIES[k % len(SYMMETRIES)] for k in range(len(examples))]
    batch = data.batch(examples, walks, symmetries)
    cells = brute_force(data, examples, walks, symmetries, data.reading.grid)
    goals = batch.path_xy_m[:, -1].double().numpy()
    for item in range(len(examples)):
        place = np.floor(goals[item] / 0.5).astype(int) + 16
        for step in range(6):
            seen = {key[2:] for key in cells if key[1] == item and key[0] <= step}
            assert float(batch.seen_m2[item, step]) == pytest.approx(0.25 * len(seen))
            assert bool(batch.goal_seen[item, step]) == ((int(place[1]), int(place[0])) in seen)
    assert 0 < int(batch.goal_seen.sum()) < batch.goal_seen.numel()


def test_a_goal_off_the_map_is_never_seen(data: Dataset) -> None:
    small = replace(data, reading=replace(data.reading, grid=Grid(8, 8, 0.5)))
    far = [item for item in data.examples("train") if np.abs(item.path_xy_m[-1] - item.start_xy_m).max() > 2.5][:3]
    batch = small.batch(far, walks_of(data, far, 8))
    assert len(far) == 3
    assert not bool(batch.goal_seen.any())
    assert float(batch.seen_m2.max()) <= 16.0


def test_a_goal_on_a_cells_edge_lies_in_the_cell_above(data: Dataset) -> None:
    """As tiles put their points: cell k covers [k · cell, (k + 1) · cell)."""
    example = data.examples("train")[0]
    batch = data.batch([example], [[example.start]])
    origin = snap_origin(example.start_xy_m[None], data.reading.grid)[0]
    row, col = int(batch.seen.cells.row[0]), int(batch.seen.cells.col[0])
    goal = origin + (np.array([col, row]) - 16) * 0.5
    path = np.tile(goal, (len(example.path_xy_m), 1))
    assert bool(data.batch([replace(example, path_xy_m=path)], [[example.start]]).goal_seen[0, 0])


def test_word_dropout_spares_padding(data: Dataset) -> None:
    examples = data.examples("train")[:4]
    walks = walks_of(data, examples)
    plain = data.batch(examples, walks)
    width = plain.briefing.tokens.shape[1]
    unknown = np.zeros((4, 80), bool)
    unknown[1, 3:] = True
    batch = data.batch(examples, walks, None, Drops(unknown))
    assert torch.equal(batch.briefing.lengths, plain.briefing.lengths)
    expected = plain.briefing.tokens.clone()
    expected[1, 3 : int(plain.briefing.lengths[1])] = 1
    assert torch.equal(batch.briefing.tokens, expected)
    assert batch.briefing.tokens.shape == (4, width)


def test_mirrored_words() -> None:
    words = Vocabulary((PAD, UNKNOWN, "left", "go", "right", "leftmost", "rightmost", "righthand", "bright"))
    assert mirrored_words(words).tolist() == [0, 1, 4, 3, 2, 6, 5, 7, 8]
