"""From raw files to landmark files: objects are found where they are."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ghosts_sim.errors import DataError
from ghosts_sim.landmarks.build import Inputs, build_scene, summarise
from ghosts_sim.landmarks.format import read_landmarks
from ghosts_sim.landmarks.reverie import read_listings

SCAN = "sCene1"


def inputs_of(folder: Path) -> Inputs:
    bbox = folder / "BBox"
    return Inputs(folder / "connectivity", bbox, read_listings(bbox), folder / "regions")


def test_objects_are_where_they_were_put(raw_world, tmp_path: Path) -> None:
    target = tmp_path / "out" / f"{SCAN}.json"
    assert build_scene(SCAN, inputs_of(raw_world.folder), target)
    scene = read_landmarks(target)
    found = {item.id: item for item in scene.objects}
    error = {name: np.linalg.norm(np.array(found[name].position_m) - raw_world.truth[name]) for name in found}
    assert {name: item.method for name, item in found.items()} == {
        "7": "triangulated",
        "8": "triangulated",
        "9": "ray",
        "10": "near",
    }
    assert error["7"] < 0.01
    assert error["8"] < 0.01
    assert error["9"] < 3 * found["9"].uncertainty_m
    assert error["10"] < 3 * found["10"].uncertainty_m
    assert found["7"].residual_m == pytest.approx(0.0, abs=0.002)
    assert (found["7"].label, found["7"].seen_from) == ("sofa chair", ("a", "b", "c"))
    assert scene.viewpoints["d"].room == "h"
    assert found["10"].size_m is None


def test_size_of_a_whole_object(raw_world, tmp_path: Path) -> None:
    target = tmp_path / f"{SCAN}.json"
    build_scene(SCAN, inputs_of(raw_world.folder), target)
    (lamp,) = [item for item in read_landmarks(target).objects if item.label == "lamp"]
    # Boxes of 40 × 20 pixels at a focal length of 415.7: 0.0962 and 0.0481 of the depth, which is 1.2 m or a bit less.
    width, height = lamp.size_m
    assert width == pytest.approx(2 * height, rel=0.02)
    assert 0.08 < width < 0.14


def test_made_once_and_again_when_an_input_changes(raw_world, tmp_path: Path) -> None:
    target = tmp_path / f"{SCAN}.json"
    assert build_scene(SCAN, inputs_of(raw_world.folder), target)
    first = target.read_bytes()
    assert not build_scene(SCAN, inputs_of(raw_world.folder), target)
    target.write_text("{damaged")
    assert build_scene(SCAN, inputs_of(raw_world.folder), target)
    assert target.read_bytes() == first
    file = raw_world.folder / "BBox" / f"{SCAN}_d.json"
    content = json.loads(file.read_text())
    content["d"]["9"]["name"] = "crib"
    file.write_text(json.dumps(content))
    assert build_scene(SCAN, inputs_of(raw_world.folder), target)
    assert {item.label for item in read_landmarks(target).objects} == {"sofa chair", "lamp", "crib", "window"}


def test_mirrored_boxes_show_in_the_residual(raw_world, tmp_path: Path) -> None:
    target = tmp_path / f"{SCAN}.json"
    for file in (raw_world.folder / "BBox").iterdir():
        content = json.loads(file.read_text())
        for listing in content.values():
            for record in listing.values():
                record["visible_pos"] = [-view % 12 + 12 * (view // 12) for view in record["visible_pos"]]
        file.write_text(json.dumps(content))
    build_scene(SCAN, inputs_of(raw_world.folder), target)
    assert summarise([read_landmarks(target)])["residual_m"]["median"] > 0.1


def test_summary_counts(raw_world, tmp_path: Path) -> None:
    target = tmp_path / f"{SCAN}.json"
    build_scene(SCAN, inputs_of(raw_world.folder), target)
    summary = summarise([read_landmarks(target)])
    counts = {name: summary[name] for name in ("buildings", "viewpoints", "objects", "labels", "sightings")}
    assert counts == {"buildings": 1, "viewpoints": 5, "objects": 4, "labels": 4, "sightings": 7}
    assert summary["objects_seen_from_two_or_more"] == 2
    assert {name: part["objects"] for name, part in summary["methods"].items()} == {
        "triangulated": 2,
        "ray": 1,
        "near": 1,
    }


def test_listing_of_an_unknown_viewpoint_is_refused(raw_world, tmp_path: Path) -> None:
    (raw_world.folder / "BBox" / f"{SCAN}_zz.json").write_text('{"zz": {}}')
    with pytest.raises(DataError, match=r"sCene1_zz.json: viewpoint not in sCene1_connectivity.json \(got 'zz'\)"):
        build_scene(SCAN, inputs_of(raw_world.folder), tmp_path / f"{SCAN}.json")
    assert not (tmp_path / f"{SCAN}.json").exists()


def test_building_without_listings_is_refused(raw_world, tmp_path: Path) -> None:
    inputs = inputs_of(raw_world.folder)
    inputs = Inputs(inputs.connectivity, inputs.bbox, {"other": {}}, inputs.regions)
    with pytest.raises(DataError, match="holds no listing of scan sCene1"):
        build_scene(SCAN, inputs, tmp_path / f"{SCAN}.json")
