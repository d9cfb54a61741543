"""Properties that hold for every input: geometry, graphs, words, beliefs, kernels, readers. Examples are fixed."""

from __future__ import annotations

import json
import math
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from ghosts.belief.histogram import arg_max_m, centre_of_mass_m, entropy, normalise, pose_belief, total_mass, update
from ghosts.belief.motion import factorised_kernels, joint_kernel
from ghosts.fast.strided import displace
from ghosts.view.packed_arrays import pack, unpack
from ghosts.words.tokens import build_vocabulary
from ghosts_sim import geometry
from ghosts_sim.errors import GhostsError
from ghosts_sim.files import is_finite, parse_json, read_json, write_json
from ghosts_sim.graph import parse_graph
from ghosts_sim.metrics import score_path
from ghosts_sim.tokens import PAD, UNKNOWN, tokenise
from ghosts_sim.types import Grid, Intrinsics
from makers import connectivity_records

FIXED = settings(derandomize=True, max_examples=25, deadline=None)
angles = st.floats(-20.0, 20.0)
metres = st.floats(-50.0, 50.0)
grids = st.builds(Grid, st.integers(1, 24), st.integers(1, 24), st.sampled_from([0.25, 0.5, 1.0]))
seeds = st.integers(0, 2**32 - 1)
words = st.lists(st.text(st.characters(codec="utf-8"), max_size=12), max_size=12)


# Geometry


@FIXED
@given(angles, st.floats(-1.5, 1.5))
def test_direction_to_heading_and_elevation_and_back(heading: float, elevation: float) -> None:
    ray = geometry.direction(heading, elevation)
    assert np.linalg.norm(ray) == pytest.approx(1.0)
    assert abs(geometry.turn_rad(geometry.heading_of(ray), heading)) < 1e-9
    assert math.asin(ray[2]) == pytest.approx(elevation, abs=1e-9)


@FIXED
@given(angles, angles)
def test_turns_add_up(start: float, end: float) -> None:
    turn = geometry.turn_rad(start, end)
    assert -math.pi <= turn < math.pi
    assert math.cos(start + turn) == pytest.approx(math.cos(end), abs=1e-9)
    assert math.sin(start + turn) == pytest.approx(math.sin(end), abs=1e-9)
    assert geometry.heading_to_angle(geometry.heading_to_angle(start)) == pytest.approx(start)


@FIXED
@given(angles, st.floats(-1.2, 1.2), st.floats(0.1, 30.0), st.integers(1, 9), st.integers(1, 9), st.floats(0.2, 2.5))
def test_pixels_to_world_and_back(
    heading: float, elevation: float, depth: float, width: int, height: int, vfov: float
) -> None:
    camera = Intrinsics(width, height, vfov)
    pose = geometry.camera_to_world(np.array([1.0, -2.0, 1.5]), heading, elevation)
    points = geometry.pixel_rays(camera) * depth
    world = points @ pose[:3, :3].T + pose[:3, 3]
    back = (world - pose[:3, 3]) @ pose[:3, :3]
    cols = camera.focal_px * back[..., 0] / back[..., 2] + width / 2 - 0.5
    rows = camera.focal_px * back[..., 1] / back[..., 2] + height / 2 - 0.5
    np.testing.assert_allclose(cols, np.broadcast_to(np.arange(width), (height, width)), atol=1e-6)
    np.testing.assert_allclose(rows, np.broadcast_to(np.arange(height)[:, None], (height, width)), atol=1e-6)


@FIXED
@given(metres, metres, grids)
def test_snapped_origins_are_near_and_stay(x: float, y: float, grid: Grid) -> None:
    origin = geometry.snap_origin(np.array([x, y]), grid)
    assert np.abs(origin - [x, y]).max() <= grid.cell_m / 2 + 1e-9
    np.testing.assert_allclose(geometry.snap_origin(origin, grid), origin, atol=1e-9)


# Graphs


def random_records(seed: int) -> list[dict[str, Any]]:
    random = np.random.default_rng(seed)
    count = int(random.integers(1, 12))
    linked = np.triu(random.random((count, count)) < 0.3, 1)
    linked |= linked.T
    place = random.uniform(-9.0, 9.0, (count, 3))
    records = []
    for row in range(count):
        pose = np.eye(4)
        pose[:3, 3] = place[row]
        flags = linked[row].tolist()
        record = {"image_id": f"v{row}", "pose": pose.ravel().tolist(), "included": bool(random.random() < 0.85)}
        records.append(record | {"visible": flags, "unobstructed": flags, "height": 1.5})
    return records


@FIXED
@given(seeds)
def test_shortest_walks_are_those_of_networkx(seed: int) -> None:
    graph = parse_graph("s", random_records(seed), Path("s"))
    other = networkx.Graph()
    other.add_nodes_from(range(len(graph.ids)))
    for row, col in np.argwhere(graph.adjacent):
        length = float(np.linalg.norm(graph.position_m[row] - graph.position_m[col]))
        other.add_edge(int(row), int(col), weight=length)
    known = dict(networkx.all_pairs_dijkstra_path_length(other))
    for start in range(len(graph.ids)):
        for goal in range(len(graph.ids)):
            expected = known[start].get(goal, math.inf)
            assert graph.distance_m[start, goal] == pytest.approx(expected)
            if math.isfinite(expected):
                walk = graph.path(start, goal)
                assert (walk[0], walk[-1]) == (start, goal)
                steps = np.diff(graph.position_m[walk], axis=0)
                assert np.linalg.norm(steps, axis=1).sum() == pytest.approx(expected)
                assert all(graph.adjacent[here, there] for here, there in pairwise(walk))


# Words


@FIXED
@given(words)
def test_tokens_lose_no_character_but_white_space(texts: list[str]) -> None:
    text = " ".join(texts)
    tokens = tokenise(text)
    assert "".join(tokens) == "".join(part.lower() for part in "".join(text.split()) if part) or not text.isascii()
    assert all(token and not any(mark.isspace() for mark in token) for token in tokens)


@FIXED
@given(words, st.integers(1, 3), st.integers(1, 9))
def test_a_vocabulary_knows_its_words_and_pads_at_the_end(texts: list[str], least: int, most: int) -> None:
    vocabulary = build_vocabulary(texts, min_count=least)
    assert vocabulary.words[:2] == (PAD, UNKNOWN)
    ids = vocabulary.encode(texts, most)
    assert ids.shape[0] == len(texts)
    assert ids.shape[1] <= most
    for text, row in zip(texts, ids, strict=True):
        tokens = tokenise(text)[:most] or [UNKNOWN]
        known = [token if token in vocabulary.words[2:] else UNKNOWN for token in tokens]
        assert [vocabulary.words[number] for number in row[: len(tokens)]] == known
        assert not row[len(tokens) :].any()


# Beliefs


def weights_of(seed: int, *shape: int) -> Tensor:
    """Non-negative weights of very different sizes, some of them 0."""
    random = np.random.default_rng(seed)
    values = 10.0 ** random.uniform(-12.0, 3.0, shape) * (random.random(shape) < 0.7)
    return torch.from_numpy(values)


@FIXED
@given(seeds, st.sampled_from([1, 4, 8]), grids)
def test_normalised_beliefs_have_mass_one_and_keep_ratios(seed: int, headings: int, grid: Grid) -> None:
    weights = weights_of(seed, 2, headings, grid.rows, grid.cols)
    belief = normalise(weights)
    assert_close(total_mass(belief).flatten(), torch.ones(2).double())
    assert (belief >= 0).all()
    total = total_mass(weights)
    assert_close(belief * total, torch.where(total > 0, weights, belief * total))
    assert_close(normalise(belief), belief)
    most = math.log(headings * grid.rows * grid.cols)
    assert ((entropy(belief) >= -1e-12) & (entropy(belief) <= most + 1e-9)).all()


@FIXED
@given(seeds, grids)
def test_bayes_rule_does_not_care_for_order_or_scale(seed: int, grid: Grid) -> None:
    prior = normalise(weights_of(seed, 1, 4, grid.rows, grid.cols) + 1e-6)
    first, second = (weights_of(seed + k, 1, 4, grid.rows, grid.cols) + 1e-3 for k in (1, 2))
    both = update(update(prior, first), second)
    assert_close(both, update(update(prior, second), first))
    assert_close(both, update(prior, first * second))
    assert_close(update(prior, first), update(prior, first * 1000.0))
    assert_close(update(prior, torch.ones_like(first)), prior)


@FIXED
@given(seeds, grids)
def test_arg_max_is_where_the_mass_is(seed: int, grid: Grid) -> None:
    random = np.random.default_rng(seed)
    row, col = int(random.integers(0, grid.rows)), int(random.integers(0, grid.cols))
    belief = torch.full((1, 4, grid.rows, grid.cols), 1e-6).double()
    belief[0, int(random.integers(0, 4)), row, col] = 1.0
    place = geometry.from_cells(torch.tensor([[float(col), float(row)]]).double(), grid)
    assert_close(arg_max_m(belief, grid), place)
    single = torch.where(belief == 1.0, belief, 0.0)
    assert_close(centre_of_mass_m(single.sum(1), grid), place)
    seen = pose_belief(place, torch.zeros(1).double(), grid, grid.cell_m / 2, 4)
    assert_close(arg_max_m(seen, grid), place)
    assert_close(total_mass(seen).flatten(), torch.ones(1).double())


@FIXED
@given(seeds, st.sampled_from([1, 4, 8]), st.sampled_from([3, 5]), st.integers(1, 9), st.integers(1, 9))
def test_kernels_conserve_mass_and_gather_is_their_transpose(
    seed: int, headings: int, size: int, rows: int, cols: int
) -> None:
    random = torch.Generator().manual_seed(seed)
    logits = torch.randn(1, size * size, rows, cols, generator=random, dtype=torch.float64) * 4.0
    said = torch.randn(1, 1, headings, size * size, generator=random, dtype=torch.float64) * 4.0
    whole = torch.randn(1, headings, headings * size * size, rows, cols, generator=random, dtype=torch.float64)
    belief = normalise(weights_of(seed, 1, headings, rows, cols))
    message = torch.rand(1, headings, rows, cols, generator=random, dtype=torch.float64)
    for kernel in (factorised_kernels(logits, said)(0), joint_kernel(whole, headings)):
        moved = kernel.propagate(belief)
        assert (moved >= 0).all()
        assert_close(total_mass(moved), total_mass(belief))
        assert_close((moved * message).sum(), (belief * kernel.gather(message)).sum())
        # Nothing is foreseen to change a message that is 1 everywhere: what leaves a cell sums to 1.
        assert_close(kernel.gather(torch.ones_like(message)), torch.ones_like(message))


@FIXED
@given(seeds, st.sampled_from([3, 5]), st.integers(1, 9), st.integers(1, 9))
def test_displacing_forth_and_back_loses_only_what_left(seed: int, size: int, rows: int, cols: int) -> None:
    values = weights_of(seed, 1, size * size, rows, cols)
    back = displace(displace(values), back=True)
    assert ((back == values) | (back == 0)).all()
    assert_close(back[:, size * size // 2], values[:, size * size // 2])


# Readers


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=4)
    ),
    max_leaves=12,
)


@FIXED
@given(json_values)
def test_json_comes_back_as_it_was_written(value: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "value.json"
        write_json(path, value)
        assert read_json(path) == value
        assert [file.name for file in Path(folder).iterdir()] == ["value.json"]


@FIXED
@given(st.binary(max_size=60))
def test_any_bytes_are_json_or_refused(content: bytes) -> None:
    try:
        value = parse_json(content, "bytes")
    except GhostsError:
        with pytest.raises((ValueError, RecursionError)):
            json.loads(content)
    else:
        assert json.loads(content) == value or value != value


@FIXED
@given(json_values, seeds)
def test_graphs_of_anything_are_refused_or_sound(value: Any, seed: int) -> None:
    records = random_records(seed)
    field = list(records[0])[seed % len(records[0])]
    records[seed % len(records)][field] = value
    try:
        graph = parse_graph("s", records, Path("s_connectivity.json"))
    except GhostsError:
        return
    assert np.isfinite(graph.position_m).all()
    assert (graph.adjacent == graph.adjacent.T).all()


@FIXED
@given(seeds, st.integers(0, 4), st.integers(1, 5))
def test_packed_arrays_come_back_within_their_rounding(seed: int, count: int, side: int) -> None:
    values = weights_of(seed, count, side, side).numpy()
    found = unpack(json.loads(json.dumps(pack(values))), "x")
    assert found.shape == values.shape
    top = values.max((1, 2), keepdims=True, initial=0.0)
    assert (np.abs(found - values) <= 0.0045 * top + 1e-300).all()


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1, True), (0.5, True), (10**400, False), (math.inf, False), (math.nan, False), (True, False), ("1", False)],
)
def test_finite_numbers(value: Any, expected: bool) -> None:
    assert is_finite(value) is expected


# Scores


def test_stopping_early_but_near_is_no_more_than_perfect() -> None:
    """2 m walked of 4, ending within 3 m of the goal: SPL divides by the longer of the two."""
    graph = parse_graph("s", connectivity_records(4), Path("s"))
    assert score_path(graph, [0, 1], [0, 1, 2]).spl == 1.0
    assert score_path(graph, [0, 1, 2, 1], [0, 1, 2]).spl == pytest.approx(4.0 / 6.0)


@FIXED
@given(seeds)
def test_shares_of_scores_lie_between_0_and_1(seed: int) -> None:
    graph = parse_graph("s", connectivity_records(5), Path("s"))
    random = np.random.default_rng(seed)
    walk, reference = ([int(random.integers(0, 5))] for _ in range(2))
    for rows in (walk, reference):
        for _ in range(int(random.integers(0, 6))):
            rows.append(int(random.choice(graph.neighbours(rows[-1]))))
    scores = score_path(graph, walk, reference)
    for value in (scores.spl, scores.ndtw, scores.sdtw, scores.cls):
        assert 0.0 <= value <= 1.0
    assert scores.oracle_error_m <= scores.error_m
    assert score_path(graph, reference, reference).ndtw == 1.0
