"""The landmark file: round trip, and errors that name file, record, field and value."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ghosts_sim.errors import DataError
from ghosts_sim.landmarks.format import Landmark, SceneLandmarks, read_landmarks, write_landmarks
from ghosts_sim.landmarks.regions import Region

SCENE = SceneLandmarks(
    "s1",
    "a test",
    {"v1": Region("3", "k"), "v2": None},
    (
        Landmark("5", "chair", (1.0, 2.0, 0.5), 0.02, (0.5, 0.9), "triangulated", 0.011, ("v1", "v2")),
        Landmark("6", "sofa chair", (1.0, -2.0, 0.5), 0.8, None, "near", None, ("v2",)),
    ),
)


def test_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "s1.json"
    write_landmarks(path, SCENE)
    scene = read_landmarks(path)
    assert scene == SCENE
    assert scene.listed == {"v1": [0], "v2": [0, 1]}
    first = path.read_bytes()
    write_landmarks(path, scene)
    assert path.read_bytes() == first


def change(*keys: str | int, value: Any) -> Callable[[Any], None]:
    def apply(content: Any) -> None:
        for key in keys[:-1]:
            content = content[key]
        content[keys[-1]] = value

    return apply


def drop(*keys: str | int) -> Callable[[Any], None]:
    def apply(content: Any) -> None:
        for key in keys[:-1]:
            content = content[key]
        del content[keys[-1]]

    return apply


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (change("format", value="x"), r"s1.json, field 'format': expected 'ghosts-landmarks' \(got 'x'\)"),
        (change("version", value=2), r"field 'version': expected 1 \(got 2\); make it again"),
        (change("scan", value="s2"), r"field 'scan': expected 's1', as the file is named \(got 's2'\)"),
        (change("extra", value=1), "field 'extra': unknown field"),
        (drop("source"), "field 'source': missing"),
        (change("viewpoints", value=[]), "field 'viewpoints': expected an object"),
        (change("objects", value={}), "field 'objects': expected a list"),
        (change("viewpoints", "v1", value=3), r", viewpoint v1: expected an object or null \(got 3\)"),
        (change("viewpoints", "v1", "room", value="q"), r", viewpoint v1, field 'room': .* \(got 'q'\)"),
        (drop("viewpoints", "v1", "region"), ", viewpoint v1, field 'region': missing"),
        (change("objects", 0, value=1), r", object 0: expected an object \(got 1\)"),
        (drop("objects", 0, "label"), ", object 5, field 'label': missing"),
        (change("objects", 0, "label", value="Chair"), r"field 'label': expected lower-case .* \(got 'Chair'\)"),
        (change("objects", 0, "position_m", value=[1, 2]), r"object 5, field 'position_m': .* \(got \[1, 2\]\)"),
        (change("objects", 0, "position_m", value=[1, 2, True]), "field 'position_m'"),
        (change("objects", 0, "position_m", 0, value=float("nan")), "field 'position_m'"),
        (change("objects", 0, "uncertainty_m", value=-1), r"field 'uncertainty_m': .* \(got -1\)"),
        (change("objects", 0, "size_m", value=[1]), "field 'size_m'"),
        (change("objects", 0, "method", value="guess"), r"field 'method': expected one of .* \(got 'guess'\)"),
        (change("objects", 0, "residual_m", value="0"), "field 'residual_m'"),
        (change("objects", 0, "seen_from", value=[]), "field 'seen_from': expected a non-empty list"),
        (change("objects", 0, "seen_from", value=["v1", "v1"]), "field 'seen_from': expected every viewpoint once"),
        (change("objects", 0, "seen_from", value=["v9"]), r"not among this file's viewpoints \(got 'v9'\)"),
        (change("objects", 1, "id", value="5"), r"field 'id': object listed twice \(got '5'\)"),
    ],
)
def test_errors_say_where(tmp_path: Path, edit: Callable[[Any], None], message: str) -> None:
    path = tmp_path / "s1.json"
    write_landmarks(path, SCENE)
    content = json.loads(path.read_text())
    edit(content)
    path.write_text(json.dumps(content))
    with pytest.raises(DataError, match=message) as caught:
        read_landmarks(path)
    assert str(path) in str(caught.value)


def test_the_documented_example_is_read(tmp_path: Path) -> None:
    text = (Path(__file__).parents[3] / "docs" / "landmark-files.md").read_text(encoding="utf-8")
    path = tmp_path / "17DRP5sb8fy.json"
    path.write_text(text.split("```json")[1].split("```")[0])
    scene = read_landmarks(path)
    assert [item.label for item in scene.objects] == ["mirror"]


def test_missing_and_damaged_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="ghosts landmarks"):
        read_landmarks(tmp_path / "s1.json")
    (tmp_path / "s1.json").write_text("[]")
    with pytest.raises(DataError, match="expected an object"):
        read_landmarks(tmp_path / "s1.json")
