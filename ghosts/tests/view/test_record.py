"""Records survive the way through JSON."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from ghosts.view.library import Library
from ghosts.view.motion_weights import motion_to_json
from ghosts.view.packed_arrays import pack, unpack
from ghosts.view.record import EpisodeRecord, corner_m, crop
from ghosts.view.record_json import from_json, to_json
from ghosts_sim.errors import DataError


def test_packing_rounds_finely() -> None:
    random = np.random.default_rng(3)
    values = random.random((4, 2, 5, 6)) ** 6
    back = unpack(json.loads(json.dumps(pack(values))), "x")
    assert back.shape == values.shape
    top = values.reshape(4, -1).max(1)[:, None, None, None]
    assert (np.abs(back - values) / top).max() < 0.004
    assert unpack(pack(np.zeros((0, 3, 2))), "x").shape == (0, 3, 2)
    assert not unpack(pack(np.zeros((2, 3))), "x").any()


def test_round_trip(record: EpisodeRecord) -> None:
    back = from_json(json.loads(json.dumps(to_json(record))))
    assert (back.text, back.words, back.walk, back.path) == (record.text, record.words, record.walk, record.path)
    assert (back.grid, back.map_grid, back.origin_xy_m) == (record.grid, record.map_grid, record.origin_xy_m)
    np.testing.assert_allclose(back.action_attention, record.action_attention, atol=1e-4)
    for mine, theirs in zip(back.frames, record.frames):
        np.testing.assert_array_equal(mine.observed, theirs.observed)
        np.testing.assert_array_equal(mine.kernel_cells, theirs.kernel_cells)
        assert replace(mine.choice, candidates={}) == replace(theirs.choice, candidates={})
        assert mine.choice.candidates == pytest.approx(theirs.choice.candidates, abs=1e-4)
        assert np.abs(mine.beliefs - theirs.beliefs).max() < 0.004 * theirs.beliefs.max()
        assert mine.error_m == pytest.approx(theirs.error_m, abs=1e-3)
    assert back.motion is not None
    assert record.motion is not None
    np.testing.assert_array_equal(back.motion.map_levels, record.motion.map_levels)
    np.testing.assert_allclose(back.motion.language, record.motion.language, rtol=1e-3)


def test_kernels_of_all_cells_take_little_room(record: EpisodeRecord) -> None:
    """Written out in half precision they would take 200 times as much."""
    value = motion_to_json(record.motion)
    assert value is not None
    dense = len(record.frames) * record.filter_steps * 4 * 25 * record.grid.rows * record.grid.cols * 2
    assert len(json.dumps(value)) < dense / 100


def test_cropping_keeps_places(record: EpisodeRecord) -> None:
    """What lay at a place of the world still lies there."""
    small = crop(record, margin_cells=0, least=0.5)
    assert small.grid.rows * small.grid.cols < record.grid.rows * record.grid.cols
    shift = (np.array(corner_m(small.grid, small.origin_xy_m)) - corner_m(record.grid, record.origin_xy_m)) / 1.0
    col, row = np.rint(shift / record.grid.cell_m).astype(int)
    for mine, theirs in zip(small.frames, record.frames):
        part = theirs.beliefs[..., row : row + small.grid.rows, col : col + small.grid.cols]
        np.testing.assert_array_equal(mine.beliefs, part)
        assert mine.observed.sum() == theirs.observed.sum()
        np.testing.assert_array_equal(mine.kernel_cells, theirs.kernel_cells - [row, col])


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"shape": [2], "scale": [1.0, 1.0], "data": "!!"},
        {"shape": [10**9], "scale": [1.0], "data": ""},
        {"shape": [-1], "scale": [], "data": ""},
        {"shape": [3], "scale": [1.0, 1.0, 1.0], "data": "eJwDAAAAAAE="},
        None,
    ],
)
def test_bad_arrays_are_refused(value: object) -> None:
    with pytest.raises(DataError, match="not a packed array"):
        unpack(value, "beliefs")


def test_bad_records_are_refused(record: EpisodeRecord) -> None:
    value = to_json(record)
    with pytest.raises(DataError, match="ghosts-episode"):
        from_json({"format": "other"})
    with pytest.raises(DataError, match="version"):
        from_json({**value, "version": 9})
    frame = value["frames"][0]
    with pytest.raises(DataError, match=r"field 'choice.by': expected one of .* \(got 'dice'\)"):
        from_json({**value, "frames": [{**frame, "choice": {**frame["choice"], "by": "dice"}}]})
    motion = value["motion"]
    for change in ({"shape": [8, 25, 16]}, {"map": "!!"}, {"map": ""}, {"language": [[1.0]]}, {"range_nats": 3}):
        with pytest.raises(DataError, match="field 'motion': not the weights of a motion model"):
            from_json({**value, "motion": {**motion, **change}})
    rows, cols, cell_m = value["grid"]
    tall, *wide = value["map_grid"]
    assert record.motion is not None
    cut = replace(record, motion=replace(record.motion, map_levels=record.motion.map_levels[..., 1:]))
    for wrong, told in (
        (
            {**value, "grid": [rows + 1, cols, cell_m]},
            f"field 'beliefs': frame 0 does not fit the grid of {rows + 1} ×",
        ),
        ({**value, "map_grid": [tall + 1, *wide]}, "field 'observed': frame 0 does not fit the map's grid"),
        ({**value, "grid": [rows, cols, 2 * cell_m]}, "field 'grid': does not cover what map_grid covers"),
        (to_json(cut), "field 'motion': does not fit the grid"),
        ({**value, "walk_heading_rad": {}}, "field 'walk_heading_rad': has 0 items, walk has"),
        ({**value, "labels": value["labels"][1:]}, "field 'labels': has"),
        ({**value, "frames": value["frames"][1:]}, "field 'walk': has"),
    ):
        with pytest.raises(DataError, match=told):
            from_json(wrong)
    with pytest.raises(DataError, match="field 'walk': missing in the episode record"):
        from_json({key: item for key, item in value.items() if key != "walk"})


def test_a_plan_travels_with_its_record(record: EpisodeRecord, library: Library) -> None:
    plan = library.scene("combs", record.scan)
    value = json.loads(json.dumps(to_json(replace(record, scene=plan))))
    assert from_json(value).scene == plan
    scene, point, shape = value["scene"], value["scene"]["viewpoints"][0], value["scene"]["shapes"][0]
    for change in (
        {"viewpoints": 3},
        {"viewpoints": [{**point, "x": "east"}]},
        {"viewpoints": [{**point, "s": 7}]},
        {"viewpoints": [{**point, "id": ["a"]}]},
        {"shapes": [{**shape, "p": [[1.0]]}]},
        {"shapes": [{**shape, "f": None}]},
        {"edges": [[0, len(scene["viewpoints"])]]},
        {"storeys": [float("nan")]},
        {"marks": [None]},
    ):
        with pytest.raises(DataError, match="field 'scene': no plan of a building; name the root"):
            from_json({**value, "scene": {**scene, **change}})
    with pytest.raises(DataError, match=rf"the building's plan lacks this viewpoint \(got '{record.walk[0]}'\)"):
        from_json({**value, "scene": {**scene, "viewpoints": [], "edges": []}})
