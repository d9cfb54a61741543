"""The instructions of a world are held against its houses."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from checks import unchecked
from ghosts_houses.check import check_words
from ghosts_sim.check import Finding
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.files import read_json, write_json
from made import SMALL
from makers import make_root


@pytest.fixture
def copy(small_world: Path, tmp_path: Path) -> Path:
    return shutil.copytree(small_world, tmp_path / "copy")


INSTRUCTIONS = 2 * SMALL.paths * 3


def test_a_made_world_is_true(small_world: Path) -> None:
    with unchecked():
        assert check_words(DataRoot(small_world), "") == (INSTRUCTIONS, [])


def test_an_untrue_instruction_is_found(copy: Path) -> None:
    file = copy / "r2r" / "R2R_train.json"
    episodes = read_json(file)
    episodes[2]["instructions"][1] = "Walk into the garage."
    write_json(file, episodes)
    with unchecked():
        read, (finding,) = check_words(DataRoot(copy), "make it again")
    said = f"instruction {episodes[2]['path_id']}_1 is not true of house {episodes[2]['scan']}"
    problem = f"{said}: enter 'walk into the garage': not there"
    assert (read, finding) == (INSTRUCTIONS, Finding("wrong", "words", str(file), problem, "make it again"))


def test_houses_of_another_version_are_not_judged(copy: Path) -> None:
    summary = read_json(copy / "world.json")
    write_json(copy / "world.json", summary | {"version": "0.0.1"})
    read, (finding,) = check_words(DataRoot(copy), "")
    assert (read, finding.level) == (0, "note")
    assert finding.problem.startswith("instructions not checked: made by ghosts 0.0.1; the houses of ")
    scan = next(iter(summary["houses"]))
    summary["houses"][scan]["things"] += 1
    write_json(copy / "world.json", summary)
    with unchecked():
        _, (finding,) = check_words(DataRoot(copy), "")
    assert finding.level == "note"
    assert f"house {scan!r} was made by another version of ghosts" in finding.problem


def test_other_roots_have_nothing_to_check(tmp_path: Path) -> None:
    assert check_words(DataRoot(make_root(tmp_path / "root", images=False)), "") == (0, [])
