from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from ghosts.data.examples import evenly, load_splits, load_spoken, make_examples, split_buildings
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.episodes import Episode
from ghosts_sim.errors import DataError
from landmark_world import PATHS, SCANS, heading_between, make_landmark_root, positions
from makers import connectivity_records, episode_record, viewpoint_id


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> DataRoot:
    return DataRoot(make_landmark_root(tmp_path_factory.mktemp("world") / "root"))


def test_positions_and_headings_of_arrival(root: DataRoot) -> None:
    episodes = root.episodes("train")
    examples = make_examples(root, episodes, 6)
    assert [item.instr_id for item in examples[:4]] == ["0_0", "0_1", "0_2", "1_0"]
    assert len(examples) == 3 * len(episodes)
    for number, episode in enumerate(episodes):
        example = examples[3 * number]
        xyz, rows = positions(SCANS.index(episode.scan)), PATHS[episode.path_id % 100]
        assert (example.start, example.goal, example.path) == (rows[0], rows[-1], rows)
        np.testing.assert_allclose(example.start_xy_m, xyz[rows[0], :2])
        for step in range(6):
            here = min(step + 1, len(rows) - 1)
            np.testing.assert_allclose(example.path_xy_m[step], xyz[rows[here], :2])
            expected = heading_between(xyz[rows[here - 1]], xyz[rows[here]])
            turn = (example.path_heading_rad[step] - expected + math.pi) % (2 * math.pi) - math.pi
            assert abs(turn) < 1e-9


def test_a_longer_path_ends_at_its_goal(root: DataRoot) -> None:
    episode = next(item for item in root.episodes("train") if len(item.path) == 5)
    example = make_examples(root, [episode], 3)[0]
    graph = root.graph(episode.scan)
    rows = [graph.index(episode.path[k]) for k in (1, 2, 4)]
    np.testing.assert_array_equal(example.path_xy_m, graph.position_m[rows, :2])


def test_a_path_of_one_viewpoint_keeps_its_heading(root: DataRoot) -> None:
    episode = Episode(1, SCANS[0], (viewpoint_id(2),), 1.25, ("Stay.",), 0.0)
    example = make_examples(root, [episode], 4)[0]
    assert example.path_heading_rad.tolist() == [1.25] * 4
    np.testing.assert_array_equal(example.path_xy_m, np.tile(example.start_xy_m, (4, 1)))


def test_a_move_straight_up_keeps_the_heading(root: DataRoot, tmp_path: Path) -> None:
    text = (root.path / "connectivity" / f"{SCANS[0]}_connectivity.json").read_text()
    records = json.loads(text)
    for axis in (3, 7):  # viewpoint 3 exactly above viewpoint 2
        records[3]["pose"][axis] = records[2]["pose"][axis]
    records[3]["pose"][11] = 4.0
    (tmp_path / "connectivity").mkdir()
    (tmp_path / "connectivity" / f"{SCANS[0]}_connectivity.json").write_text(json.dumps(records))
    episode = Episode(1, SCANS[0], tuple(viewpoint_id(k) for k in (1, 2, 3)), 0.5, ("Up.",), 5.0)
    example = make_examples(DataRoot(tmp_path), [episode], 3)[0]
    arrival = heading_between(positions(0)[1], positions(0)[2])
    np.testing.assert_allclose(example.path_heading_rad, [arrival] * 3, atol=1e-12)


def test_held_out_buildings_are_fixed(root: DataRoot, tmp_path: Path) -> None:
    """Every eighth, from the fourth on; every sixteenth where the root has unseen buildings of its own."""
    assert split_buildings(root) == ([*SCANS[:3], SCANS[4]], [SCANS[3]])
    for name in ("connectivity", "r2r"):
        (tmp_path / name).mkdir()
    names = [f"b{number:02d}" for number in reversed(range(20))]
    (tmp_path / "connectivity" / "scans.txt").write_text("\n".join(names))
    for name in names:
        (tmp_path / "connectivity" / f"{name}_connectivity.json").write_text(json.dumps(connectivity_records()))
    records = [{**episode_record(number), "scan": name} for number, name in enumerate(names)]
    (tmp_path / "r2r" / "R2R_train.json").write_text(json.dumps(records))
    assert split_buildings(DataRoot(tmp_path))[1] == ["b03", "b11", "b19"]
    (tmp_path / "r2r" / "R2R_val_unseen.json").write_text(json.dumps(records[:1]))
    assert split_buildings(DataRoot(tmp_path))[1] == ["b03", "b19"]


def test_evenly_takes_from_everywhere(root: DataRoot) -> None:
    examples = load_splits(root, 4)["train"]
    assert [examples.index(item) for item in evenly(examples, 4)] == [0, 24, 48, 72]
    assert evenly(examples, 0) == evenly(examples, 1000) == examples


def test_any_number_of_buildings_can_be_held_out(tmp_path: Path) -> None:
    combs = DataRoot(make_landmark_root(tmp_path / "combs"))
    scans = [f"comb{number}" for number in range(5)]
    for hold_out, held_out in ((None, [3]), (0, []), (2, [1, 3]), (3, [2]), (4, [3]), (5, [3]), (16, [3])):
        seen = [scan for number, scan in enumerate(scans) if number not in held_out]
        assert split_buildings(combs, hold_out) == (seen, [scans[number] for number in held_out]), hold_out
    splits = load_splits(combs, 4, 0)
    assert list(splits) == ["train", "val_seen"]
    assert {example.scan for example in splits["train"]} == {*scans}
    assert {example.scan for example in load_splits(combs, 4, 2)["dev_unseen"]} == {"comb1", "comb3"}
    assert {example.scan for example in load_splits(combs, 4, 1)["dev_unseen"]} == {*scans}


def test_told_paths_of_training_buildings_become_examples(tmp_path: Path) -> None:
    combs = DataRoot(make_landmark_root(tmp_path / "combs"))
    records = json.loads((combs.path / "r2r" / "R2R_train.json").read_text())
    file = tmp_path / "told.json"
    told = [
        record | {"path_id": 10_000_000 + number, "instructions": ["Go there."]}
        for number, record in enumerate(records)
        if record["scan"] in ("comb0", "comb3")
    ]
    file.write_text(json.dumps(told))
    found = load_spoken(combs, file, {"comb0", "comb1"}, 4)
    assert len(found) == 8
    assert {(example.scan, example.text) for example in found} == {("comb0", "Go there.")}
    people = load_splits(combs, 4)["train"]
    assert [example.path for example in found] == [example.path for example in people[:24:3]]
    assert found[0].instr_id == "10000000_0"
    with pytest.raises(DataError) as caught:
        load_spoken(combs, file, {"comb1"}, 4)
    assert str(caught.value) == (
        f"{file}: no path in the training buildings of this root; "
        "make some with: ghosts speak --data ROOT --run SPEAKER --paths 50000 --out FILE"
    )
    told[0]["path"] = [told[0]["path"][0], told[0]["path"][2]]
    file.write_text(json.dumps(told))
    with pytest.raises(DataError, match=r"told\.json, record 10000000, field 'path': nobody can walk straight"):
        load_spoken(combs, file, {"comb0"}, 4)
