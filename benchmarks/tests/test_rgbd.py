"""The measurement of recordings, on a recording of a house in the formats of the real ones."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest

from ghosts.run.tracker import load_tracker
from ghosts_benchmarks import rgbd
from ghosts_benchmarks.rgbd import mass_in_view, read_recordings, replay, reprojection_m, share_in_cloud
from ghosts_houses.mesh.renderers import axial_m, make_renderer
from ghosts_sim.errors import DataError
from ghosts_sim.rotations import level
from ghosts_sim.types import Intrinsics, Pose
from handmade import handmade_house

CAMERA = Intrinsics(96, 80, 1.0)


def record(folder: Path) -> Path:
    """Four frames in 7-Scenes' format; the camera rolls, and the world is not level."""
    kitchen = folder / "kitchen"
    kitchen.mkdir()
    fx, fy, cx, cy = CAMERA.k_px
    np.savetxt(kitchen / "camera-intrinsics.txt", [[fx, 0, cx], [0, fy, cy], [0, 0, 1]])
    renderer, turn = make_renderer("exact", handmade_house(), device="cpu"), np.eye(4)
    turn[:3, :3] = level((0.2, 0.1, 0.95)).T
    np.savetxt(kitchen / "gravity-direction.txt", -turn[:3, 2])
    for number in range(4):
        pose = Pose(2.5 + 0.1 * number, 4.5, 1.4, 0.1 * number, -0.4)
        pictures = renderer.render([pose], CAMERA)
        name = kitchen / f"frame-{number:06d}"
        cv2.imwrite(f"{name}.color.png", pictures.rgb[0][..., ::-1])
        cv2.imwrite(f"{name}.depth.png", np.rint(1000 * axial_m(pictures.depth_m, CAMERA)[0]).astype(np.uint16))
        np.savetxt(f"{name}.pose.txt", turn @ pose.matrix)
    return folder


def test_a_recording_of_a_house_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = {
        "kitchen": {"instructions": ["Walk to the sofa."], "frames": {"1": ["a living room", [["couch", 0, 0, 9, 9]]]}}
    }
    (tmp_path / "words.json").write_text(json.dumps(words))
    monkeypatch.setattr(rgbd, "WORDS", tmp_path / "words.json")
    recordings = read_recordings(record(tmp_path))
    frames = recordings["kitchen"]
    assert [frame.pose.heading_rad for frame in frames] == pytest.approx([0.1 * k for k in range(4)], abs=0.35)
    assert [frame.pose.elevation_rad for frame in frames] == pytest.approx([-0.4] * 4, abs=1e-3)
    assert reprojection_m(frames)[0] < 0.01
    assert share_in_cloud(load_tracker("houses-agent", "houses-backbone"), frames) > 0.8
    tracker = load_tracker("landmarks-agent")
    (seen,) = mass_in_view(tracker, recordings)
    assert 0.0 < seen.share < 1.0
    long = replay(tracker, frames, 10)
    assert long.frames == 10
    assert 0.0 < long.memory_mb[0] < 10_000


def test_the_words_are_for_the_recordings() -> None:
    told = json.loads(rgbd.WORDS.read_text())
    assert {name: len(words["instructions"]) for name, words in told.items()} == {"kitchen": 3, "office": 3, "house": 3}


def test_a_folder_without_recordings_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no recordings here"):
        read_recordings(tmp_path)
