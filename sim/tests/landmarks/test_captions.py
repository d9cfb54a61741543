from __future__ import annotations

import json
import lzma
from dataclasses import replace

import pytest

from ghosts_sim.errors import DataError
from ghosts_sim.landmarks.captioners import find_captions, read_langnav, read_lines
from ghosts_sim.landmarks.captions import Box, SceneCaptions, View, read_captions, write_captions

BOX = {"obj_class": "Chair", "coordinates": "160 240 480 480", "confidence": "0.90", "caption": "a red chair"}


def langnav(views: dict) -> bytes:
    return json.dumps({"here": views}).encode()


def test_langnav_views_are_numbered_by_heading_and_elevation(tmp_path):
    told = {"3": {"global_cap": "a  kitchen", "dense_cap": []}, "15": {"global_cap": "", "dense_cap": [BOX]}}
    (ahead, level) = read_langnav(langnav(told), tmp_path / "s.json")["here"]
    assert (ahead.heading_deg, ahead.elevation_deg, ahead.text) == (90.0, -30.0, "a kitchen")
    (box,) = level.boxes
    assert (level.heading_deg, level.elevation_deg) == (90.0, 0.0)
    assert (box.label, box.text, box.confidence) == ("chair", "a red chair", 0.9)
    # Its lower edge is the view's: half of the vertical field of view of 60 degrees below level.
    assert box.heading_deg == pytest.approx(90.0)
    assert box.bottom_deg == pytest.approx(-30.0)


@pytest.mark.parametrize(
    ("views", "problem"),
    [
        ({"36": {"global_cap": "a", "dense_cap": []}}, "view number from 0 to 35"),
        ({"-1": {"global_cap": "a", "dense_cap": []}}, "view number from 0 to 35"),
        ({"0": {"global_cap": 3, "dense_cap": []}}, "expected a text"),
        ({"0": {"global_cap": "a", "dense_cap": [{**BOX, "coordinates": "0 0 700 10"}]}}, "not a box within 640 × 480"),
        ({"0": {"global_cap": "a", "dense_cap": [{**BOX, "confidence": "sure"}]}}, "expected a box"),
    ],
)
def test_malformed_langnav_files_are_refused_by_viewpoint(tmp_path, views, problem):
    with pytest.raises(DataError, match=problem) as error:
        read_langnav(langnav(views), tmp_path / "s.json")
    assert "viewpoint here" in str(error.value)


def test_text_in_other_bytes_than_utf8_is_refused(tmp_path):
    with pytest.raises(DataError, match="UTF-8"):
        read_langnav('{"here": {"0": {"global_cap": "caf\u00e9"}}}'.encode("latin-1"), tmp_path / "s.json")


def test_lines_bring_their_own_camera(tmp_path):
    line = {"viewpoint": "a", "heading": 10, "text": "a hall", "width": 100, "height": 100, "fov": 90}
    box = {"label": "door", "box": [50, 0, 50, 100]}
    content = b"\n".join([json.dumps({**line, "boxes": [box]}).encode(), b"", json.dumps(line).encode()])
    first, second = read_lines(content, tmp_path / "s.jsonl")["a"]
    assert second == replace(first, boxes=())
    assert first.boxes[0].bottom_deg == pytest.approx(-45.0)
    assert first.boxes[0].confidence == 1.0
    with pytest.raises(DataError, match=r"line 1.*unknown field"):
        read_lines(json.dumps({**line, "extra": 1}).encode(), tmp_path / "s.jsonl")
    with pytest.raises(DataError, match=r"line 1.*heading.*from -360 to 360"):
        read_lines(json.dumps({**line, "heading": 400}).encode(), tmp_path / "s.jsonl")


def test_captions_are_found_by_their_endings(tmp_path):
    with pytest.raises(DataError, match=r"no captions of building s.*s\.json\.xz"):
        find_captions(tmp_path, "s")
    (tmp_path / "s.json.xz").write_bytes(lzma.compress(b"{}"))
    assert find_captions(tmp_path, "s").name == "s.json.xz"


def test_captions_survive_a_file(tmp_path):
    view = View(30.0, 0.0, "a sofa", (Box("chair", 31.5, -20.0, 0.75, "a sofa"),))
    scene = SceneCaptions("s", "by hand", {"a": (view,), "b": ()})
    write_captions(tmp_path / "s.json", scene)
    assert read_captions(tmp_path / "s.json") == scene
    value = json.loads((tmp_path / "s.json").read_text())
    assert value["texts"] == ["a sofa"]  # listed once
    value["viewpoints"]["a"][0][2] = -1
    (tmp_path / "s.json").write_text(json.dumps(value))
    with pytest.raises(DataError, match="viewpoint a"):
        read_captions(tmp_path / "s.json")
