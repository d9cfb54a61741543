"""The test server's file: what is written passes the check, and every way to spoil it is named."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from ghosts.evaluate.submission import check_submission, trajectory, write_submission
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.errors import DataError
from makers import connectivity_records, make_root, viewpoint_id


@pytest.fixture
def root(tmp_path: Path) -> DataRoot:
    """A corridor of four viewpoints along +y; the split `test` has three instructions that start at the first."""
    return DataRoot(make_root(tmp_path / "root", images=False))


@pytest.fixture
def file(root: DataRoot, tmp_path: Path) -> Path:
    path = tmp_path / "out" / "submission.json"
    count = write_submission(path, root, "test", {"9_0": [0, 1, 2], "9_1": [0], "9_2": [0, 1, 0]})
    assert count == 3
    return path


def spoil(file: Path, change: Any) -> Path:
    records = json.loads(file.read_text())
    change(records)
    file.write_text(json.dumps(records))
    return file


def test_written_file_is_what_the_server_reads(file: Path, root: DataRoot) -> None:
    records = json.loads(file.read_text())
    assert [record["instr_id"] for record in records] == ["9_0", "9_1", "9_2"]
    first = records[0]["trajectory"]
    assert [step[0] for step in first] == [viewpoint_id(k) for k in range(3)]
    assert first[0][1:] == [0.25, 0.0]  # the episode's heading
    assert first[1][1] == pytest.approx(0.0)  # along +y
    assert records[2]["trajectory"][2][1] == pytest.approx(math.pi)
    assert check_submission(file, root, "test") == 3


def test_a_turn_on_the_spot_is_allowed(file: Path, root: DataRoot) -> None:
    spoil(file, lambda records: records[0]["trajectory"].insert(1, [viewpoint_id(0), 1.5, 0.3]))
    assert check_submission(file, root, "test") == 3


def test_trajectory_keeps_its_heading_on_a_vertical_move(root: DataRoot) -> None:
    graph = root.graph(root.scans[0])
    steps = trajectory(graph, [1, 1, 2], -1.0)
    assert [step[1] for step in steps] == pytest.approx([2.0 * math.pi - 1.0, 2.0 * math.pi - 1.0, 0.0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: r.pop(), "9_2: missing"),
        (lambda r: r.append(dict(r[0])), "9_0: given twice"),
        (lambda r: r.append({**r[0], "instr_id": "10_0"}), "10_0: no such instruction in split test"),
        (lambda r: r.append("words"), "record 3: expected an object"),
        (lambda r: r[0].update(instr_id=9), "record 0: expected an object with the text 'instr_id'"),
        (lambda r: r[0].update(trajectory=[]), "9_0: 'trajectory' must be a non-empty list"),
        (lambda r: r[0].pop("trajectory"), "9_0: 'trajectory' must be a non-empty list"),
        (lambda r: r[0]["trajectory"].insert(1, [viewpoint_id(1), 0.0]), r"9_0: step 1 must be \[viewpoint, heading"),
        (lambda r: r[0]["trajectory"][1].__setitem__(1, math.nan), "9_0: step 1 has an angle that is no finite number"),
        (lambda r: r[0]["trajectory"][1].__setitem__(2, "up"), "9_0: step 1 has an angle that is no finite number"),
        (lambda r: r[0]["trajectory"][1].__setitem__(2, True), "9_0: step 1 has an angle that is no finite number"),
        (lambda r: r[0]["trajectory"][1].__setitem__(0, "nowhere"), "9_0: step 1: viewpoint 'nowhere' is not in scan"),
        (lambda r: r[0]["trajectory"].pop(0), f"9_0: starts at {viewpoint_id(1)}, the instruction at"),
        (lambda r: r[0]["trajectory"].pop(1), "9_0: no edge from step 0"),
    ],
)
def test_every_fault_is_named(file: Path, root: DataRoot, change: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        check_submission(spoil(file, change), root, "test")


def test_excluded_viewpoints_are_refused(file: Path, tmp_path: Path) -> None:
    records = connectivity_records(4, excluded=(2,))
    connectivity = tmp_path / "root" / "connectivity"
    next(connectivity.glob("*_connectivity.json")).write_text(json.dumps(records))
    with pytest.raises(DataError, match=r"9_0: step 2: viewpoint .* is excluded from navigation"):
        check_submission(file, DataRoot(tmp_path / "root"), "test")


def test_not_a_list_and_not_a_file(root: DataRoot, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.json"
    wrong.write_text('{"9_0": []}')
    with pytest.raises(DataError, match="expected a list of trajectories"):
        check_submission(wrong, root, "test")
    with pytest.raises(DataError, match="ghosts submit --run RUN"):
        check_submission(tmp_path / "none.json", root, "test")


def test_a_long_list_of_faults_is_cut(root: DataRoot, tmp_path: Path) -> None:
    many = tmp_path / "many.json"
    many.write_text(json.dumps([{"instr_id": f"x_{k}"} for k in range(40)]))
    with pytest.raises(DataError, match="and 23 more"):
        check_submission(many, root, "test")


def test_nothing_is_written_when_walks_are_missing_or_wrong(root: DataRoot, tmp_path: Path) -> None:
    path = tmp_path / "submission.json"
    with pytest.raises(DataError, match="9_1: missing"):
        write_submission(path, root, "test", {"9_0": [0, 1]})
    with pytest.raises(DataError, match="no edge"):
        write_submission(path, root, "test", {"9_0": [0, 2], "9_1": [0], "9_2": [0]})
    assert not path.exists()
