"""R2R files: real ones as they are, malformed ones named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ghosts_sim.episodes import each_instruction, load_episodes
from ghosts_sim.errors import DataError
from makers import episode_record


def test_instruction_ids_and_a_fourth_instruction(tmp_path: Path) -> None:
    record = episode_record(12)
    record["instructions"].append("One more.")
    path = tmp_path / "R2R_train.json"
    path.write_text(json.dumps([record]))
    found = list(each_instruction(load_episodes(path)))
    assert [item.instr_id for item in found] == ["12_0", "12_1", "12_2", "12_3"]
    assert found[3].text == "One more."


def test_test_split_has_no_goal(tmp_path: Path) -> None:
    record = episode_record(1, (0,))
    del record["distance"]
    path = tmp_path / "R2R_test.json"
    path.write_text(json.dumps([record]))
    (episode,) = load_episodes(path)
    assert not episode.has_goal
    assert len(episode.path) == 1


def test_one_path_without_its_length(tmp_path: Path) -> None:
    path = tmp_path / "R2R_train.json"
    for records in ([episode_record(4), without("distance")], [without("distance"), episode_record(4)]):
        path.write_text(json.dumps(records))
        with pytest.raises(DataError, match="record 5, field 'distance': missing, where other paths have it"):
            load_episodes(path)


def with_field(name: str, value: Any) -> dict[str, Any]:
    return {**episode_record(5), name: value}


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in episode_record(5).items() if key != name}


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ("text", "record 0: expected an object"),
        (without("scan"), "record 5, field 'scan': missing"),
        (without("path"), "record 5, field 'path': missing"),
        (without("path_id"), "record 0, field 'path_id': missing"),
        (without("instructions"), "field 'instructions': missing"),
        (with_field("path", []), "non-empty list"),
        (with_field("path", [1, 2]), "non-empty list"),
        (with_field("heading", "north"), "finite number"),
        (with_field("heading", True), "finite number"),
        (with_field("distance", None), "finite number"),
        (with_field("distance", 0), "more than 0"),
        (with_field("path_id", "5"), "whole number"),
        (with_field("instructions", "go"), "non-empty list"),
        (with_field("instructions", ["go", ""]), "non-empty list"),
        *(
            (with_field("hidden_labels", value), r"record 5, field 'hidden_labels': expected share \(between 0 and 1\)")
            for value in (
                *(None, [], 0.3, {"share": 0.3}, {"share": 0.3, "seed": 1, "more": 2}),
                *({"share": share, "seed": 1} for share in (0, 1, -0.1, True, "0.3", 1e400)),
                *({"share": 0.3, "seed": seed} for seed in (-1, 2**32, 1.0, True, None, "1")),
            )
        ),
    ],
)
def test_malformed_records(tmp_path: Path, record: Any, words: str) -> None:
    path = tmp_path / "R2R_train.json"
    path.write_text(json.dumps([record]))
    with pytest.raises(DataError, match=words) as caught:
        load_episodes(path)
    assert str(path) in str(caught.value)


def test_what_a_path_was_told_without(tmp_path: Path) -> None:
    path = tmp_path / "told.json"
    told = with_field("hidden_labels", {"share": 0.3, "seed": 2**32 - 1})
    path.write_text(json.dumps([told, episode_record(6)]))
    assert [episode.hidden for episode in load_episodes(path)] == [(0.3, 2**32 - 1), None]


def test_nan_and_doubles(tmp_path: Path) -> None:
    path = tmp_path / "R2R_train.json"
    path.write_text(json.dumps([with_field("heading", float("nan"))]))
    with pytest.raises(DataError, match="heading"):
        load_episodes(path)
    path.write_text(json.dumps([episode_record(5), episode_record(5)]))
    with pytest.raises(DataError, match="used by two paths"):
        load_episodes(path)
