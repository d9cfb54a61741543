"""What a viewpoint shows, point by point and on the lattice."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ghosts.mapping.label_tiles import label_tiles
from ghosts.mapping.landmark_views import LandmarkConfig, LandmarkSource, LandmarkView, spread, training_labels
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.errors import ConfigError, DataError, UnknownNameError
from ghosts_sim.geometry import snap_origin, to_cells
from ghosts_sim.types import Grid

SCAN = "sCene1"


@pytest.fixture
def source(built_root: Path) -> LandmarkSource:
    root = DataRoot(built_root)
    return LandmarkSource(root, training_labels(root, root.scans))


def shown(source: LandmarkSource, viewpoint: str, **changes: object) -> dict[str, np.ndarray]:
    """Points by label name."""
    other = LandmarkSource(source.root, source.labels, replace(source.config, **changes))  # type: ignore[arg-type]
    view = other.observe(SCAN, viewpoint)
    names = [source.labels.labels[k].name for k in view.label_id]
    return {name: view.xyz_m[[other == name for other in names]] for name in dict.fromkeys(names)}


def test_a_viewpoint_shows_floor_ways_stairs_room_and_objects(source: LandmarkSource) -> None:
    points = shown(source, "d")
    assert set(points) == {"floor", "viewpoint", "up", "h", "bed", "window"}
    np.testing.assert_allclose(points["viewpoint"], [[2.1, 0.4, 0.0], [8.2, 0.3, 1.0]])  # b and e, at their feet
    np.testing.assert_allclose(points["up"], [[8.2, 0.3, 1.0]])
    assert np.abs(points["h"][:, :2] - [6.2, 0.3]).max() == pytest.approx(0.5)
    assert shown(source, "e").keys() == {"floor", "viewpoint", "down", "s"}
    assert shown(source, "a").keys() == {"floor", "viewpoint", "b", "sofa chair", "lamp"}


def test_floor_runs_along_straight_lines(source: LandmarkSource) -> None:
    floor = shown(source, "e")["floor"]
    line = floor[25:]  # after the patch of 5 × 5 around the camera
    # From e down to d: 2 m along −x, 1 m down, in steps of 0.25 m.
    np.testing.assert_allclose(line, np.array([8.2, 0.3, 1.0]) - np.arange(1, 9)[:, None] * [0.25, 0.0, 0.125])


def test_variants_leave_things_out(source: LandmarkSource) -> None:
    assert shown(source, "d", floor=False).keys() == {"h", "bed", "window"}
    assert shown(source, "d", objects=False).keys() == {"floor", "viewpoint", "up", "h"}
    assert shown(source, "d", rooms=False).keys() == {"floor", "viewpoint", "up", "bed", "window"}
    assert shown(source, "d", unplaced=False).keys() == {"floor", "viewpoint", "up", "h", "bed"}
    assert shown(source, "d", stairs_m=1.5).keys() == {"floor", "viewpoint", "h", "bed", "window"}
    with pytest.raises(ConfigError, match="nothing to see"):
        LandmarkConfig(objects=False, rooms=False, floor=False)
    with pytest.raises(ConfigError, match=r"sight_m must be at least 0, got -1\.0"):
        LandmarkConfig(sight_m=-1.0)


def test_sight_brings_objects_and_rooms_of_visible_viewpoints(source: LandmarkSource) -> None:
    assert shown(source, "e", sight_m=2.5).keys() == {"floor", "viewpoint", "down", "s", "h", "bed", "window"}
    assert shown(source, "e", sight_m=2.0).keys() == {"floor", "viewpoint", "down", "s"}  # d is 2.24 m away
    once = shown(source, "a", sight_m=3.0)
    assert len(once["sofa chair"]) == len(shown(source, "a")["sofa chair"])  # seen from three, shown once


def test_floor_is_seen_on_the_way_to_all_in_sight(source: LandmarkSource) -> None:
    """From a, 6 m far: b and d on the same storey; e is up the stairs."""
    graph, plain = source.root.graph(SCAN), shown(source, "a", sight_m=9.0)["floor"]
    floor = shown(source, "a", sight_m=9.0, lines=True)["floor"]
    np.testing.assert_array_equal(floor[: len(plain)], plain)
    feet_m = graph.position_m.copy()
    feet_m[:, 2] -= graph.height_m
    here = graph.index("a")
    wanted = []
    for other in np.flatnonzero(graph.visible[here] & graph.included):
        line = feet_m[other] - feet_m[here]
        if (
            other != here
            and abs(line[2]) <= 0.5
            and np.linalg.norm(graph.position_m[other] - graph.position_m[here]) < 9.0
        ):
            count = int(np.ceil(np.hypot(*line[:2]) / 0.25))
            wanted.append(feet_m[here] + np.arange(1, count + 1)[:, None] / count * line)
    np.testing.assert_allclose(floor[len(plain) :], np.concatenate(wanted))
    assert len(shown(source, "a", lines=True, floor=False)) == len(shown(source, "a", floor=False))


def test_doorways_are_between_neighbours_of_different_rooms(source: LandmarkSource) -> None:
    graph, scene = source.root.graph(SCAN), source.scene(SCAN)
    edges = [
        (here, other)
        for here in range(len(graph.ids))
        for other in graph.neighbours(here)
        if here < other and scene.viewpoints[graph.ids[here]] and scene.viewpoints[graph.ids[other]]
    ]
    between = [
        edge
        for edge in edges
        if len({scene.viewpoints[graph.ids[row]].region for row in edge}) == 2  # type: ignore[union-attr]
    ]
    assert len(between) > 0
    for name in ("a", "d", "e"):
        row = graph.index(name)
        mine = [
            (graph.position_m[one] + graph.position_m[other]) / 2.0 for one, other in between if row in (one, other)
        ]
        found = shown(source, name, doors=True)
        assert len(found.get("doorway", ())) == len(mine)
        for middle in mine:
            assert (np.abs(found["doorway"] - middle).max(1) < 1e-9).sum() == 1
        assert "doorway" not in shown(source, name)
    everywhere = shown(source, "d", doors=True, sight_m=50.0)["doorway"]
    assert (
        len(np.unique(everywhere.round(6), axis=0)) == len(everywhere) >= len(shown(source, "d", doors=True)["doorway"])
    )


def test_objects_weigh_one_each_and_uncertain_ones_are_spread(source: LandmarkSource) -> None:
    view = source.observe(SCAN, "d")
    scene = source.scene(SCAN)
    for name in ("bed", "window"):
        chosen = view.label_id == source.labels.object_id(name)
        (item,) = [item for item in scene.objects if item.label == name]
        assert chosen.sum() == 25
        assert view.weight[chosen].sum() == pytest.approx(1.0)
        points = view.xyz_m[chosen]
        np.testing.assert_allclose(points.mean(0), item.position_m, atol=1e-9)
        np.testing.assert_allclose(points[:, :2].std(0), item.uncertainty_m)
    exact = source.observe(SCAN, "a")
    assert (exact.label_id == source.labels.object_id("lamp")).sum() == 1  # triangulated to 3 cm


@pytest.mark.parametrize(("sigma_m", "count"), [(0.0, 1), (0.09, 1), (0.1, 9), (0.29, 9), (0.31, 25), (2.0, 25)])
def test_spread(sigma_m: float, count: int) -> None:
    points = spread(np.array([1.0, -2.0, 0.7]), sigma_m)
    assert len(points) == count
    np.testing.assert_allclose(points.mean(0), [1.0, -2.0, 0.7], atol=1e-12)
    np.testing.assert_allclose(points.std(0), [0.0 if count == 1 else sigma_m] * 2 + [0.0], atol=1e-12)


def entries(view: LandmarkView) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(column, row), label and weight of everything in a view's tile of 0.5 m cells."""
    tile = label_tiles([view], 0.5)
    return np.repeat(tile.cells, np.diff(tile.starts), 0)[:, ::-1], tile.label, tile.weight


def test_tile_cells_and_merging() -> None:
    xyz = np.array([[0.1, 0.1, 0], [0.4, 0.2, 9], [-0.1, 0.1, 0], [0.5, 0.0, 0], [0.1, 0.1, 0], [0.2, 0.2, 0]])
    labels = np.array([2, 2, 2, 2, 3, 3])
    view = LandmarkView(labels, xyz, np.array([0.2, 0.3, 1.0, 1.0, 0.8, 0.7]))
    cells, labels, weight = entries(view)
    assert cells.tolist() == [[-1, 0], [0, 0], [0, 0], [1, 0]]
    assert labels.tolist() == [2, 2, 3, 2]
    np.testing.assert_allclose(weight, [1.0, 0.5, 1.0, 1.0])
    assert label_tiles([view, view], 0.5).counts.tolist() == [3, 3]


def test_tile_keeps_the_mass_of_an_object(source: LandmarkSource) -> None:
    _, labels, weights = entries(source.observe(SCAN, "d"))
    for name in ("bed", "window"):
        weight = weights[labels == source.labels.object_id(name)]
        assert len(weight) > 2
        assert weight.sum() == pytest.approx(1.0)


def test_tile_patch_is_three_by_three_cells(source: LandmarkSource) -> None:
    cells, labels, _ = entries(source.observe(SCAN, "d"))
    room = cells[labels == source.labels.room_id("h")]
    # The camera at (6.2, 0.3) stands in cell (12, 0).
    assert sorted(map(tuple, room.tolist())) == [(x, y) for x in (11, 12, 13) for y in (-1, 0, 1)]


def test_tile_lattice_is_the_one_of_maps(source: LandmarkSource) -> None:
    grid = Grid(96, 96, 0.5)
    view = source.observe(SCAN, "a")
    cells, labels, _ = entries(view)
    origin = snap_origin(np.array([0.3, 0.2]), grid)
    inside = np.round(to_cells(view.xyz_m[:, :2] - origin, grid)).astype(int)
    shift = np.round(origin / 0.5).astype(int) - np.array([48, 48])
    expected = {(*cell, label) for cell, label in zip(map(tuple, inside + shift), view.label_id.tolist())}
    assert expected == {(*cell, label) for cell, label in zip(map(tuple, cells), labels.tolist())}


def test_empty_view_gives_an_empty_tile(source: LandmarkSource) -> None:
    only = LandmarkSource(source.root, source.labels, LandmarkConfig(rooms=False, floor=False))
    assert label_tiles([only.observe(SCAN, "e")], 0.5).cells.shape == (0, 2)


def test_errors_say_what_is_missing(source: LandmarkSource, tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="viewpoint 'z'"):
        source.observe(SCAN, "z")
    with pytest.raises(UnknownNameError, match="did you mean 'sCene1'"):
        source.observe("sCene2", "a")
    bare = tmp_path / "bare"
    (bare / "connectivity").mkdir(parents=True)
    with pytest.raises(DataError, match="ghosts landmarks --connectivity FOLDER --bbox FOLDER --regions FOLDER --out"):
        LandmarkSource(DataRoot(bare), source.labels)
    (bare / "world.json").write_text("{}")
    with pytest.raises(DataError, match=r"ghosts world --out \S+ --landmarks --no-images"):
        LandmarkSource(DataRoot(bare), source.labels)


@pytest.mark.parametrize("change", ["extra", "missing"])
def test_landmarks_of_another_graph_are_refused(source: LandmarkSource, change: str) -> None:
    path = source.root.path / "landmarks" / f"{SCAN}.json"
    content = json.loads(path.read_text())
    if change == "extra":
        content["viewpoints"]["zz"] = None
    else:
        del content["viewpoints"]["e"]
    path.write_text(json.dumps(content))
    expected = {"extra": r"not in the navigation graph \(got 'zz'\)", "missing": r"is missing \(got 'e'\)"}[change]
    with pytest.raises(DataError, match=expected):
        source.observe(SCAN, "a")
