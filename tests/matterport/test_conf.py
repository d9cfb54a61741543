from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ghosts_sim.errors import DataError
from ghosts_sim.matterport.conf import parse_conf
from ghosts_sim.matterport.raw import RawRelease
from matterport.release import SCAN, Shot, camera_pose

SOURCE = Path("x.conf")
LENS = "intrinsics_matrix 1075 0 630  0 1076 500 0 0 1"
POSE = "1 0 0 3  0 0 -1 4  0 1 0 1.5  0 0 0 1"
LINE = f"scan abc_d0_0.png abc_i0_0.jpg {POSE}"


def test_cameras_are_read_as_written(release: RawRelease, shots: list[Shot]) -> None:
    rigs = release.cameras(SCAN)
    assert set(rigs) == {shot.viewpoint for shot in shots}
    assert all(len(rig) == 18 for rig in rigs.values())
    from matterport.conftest import CONFIG

    pose = camera_pose(shots[1], 2, 3, CONFIG)
    camera = rigs[shots[1].viewpoint][2, 3]
    np.testing.assert_allclose(camera.rotation, pose[:3, :3], atol=1e-7)
    np.testing.assert_allclose(camera.position_m, pose[:3, 3], atol=1e-7)
    assert (camera.fx, camera.fy, camera.cx, camera.cy) == (134.0, 133.0, 84.5, 67.5)


def test_optical_centre_is_measured_from_the_bottom() -> None:
    """A ray straight ahead meets the row that is `cy` above the last; x goes right and y up."""
    [rig] = parse_conf(f"{LENS}\n{LINE}\n", SOURCE).values()
    matrix = rig[0, 0].pixel_from_ray(1024)
    np.testing.assert_allclose(matrix @ [0.0, 0.0, -1.0], [630.0, 1023.0 - 500.0, 1.0])
    right, up = matrix @ [0.1, 0.0, -1.0], matrix @ [0.0, 0.1, -1.0]
    np.testing.assert_allclose(right, [630.0 + 107.5, 523.0, 1.0])
    np.testing.assert_allclose(up, [630.0, 523.0 - 107.6, 1.0])
    [top] = parse_conf(f"{LENS}\n{LINE}\n", SOURCE, "top-left").values()
    np.testing.assert_allclose(top[0, 0].pixel_from_ray(1024) @ [0.0, 0.0, -1.0], [630.0, 500.0, 1.0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no scan lines"),
        (LINE, "line 1: a scan line before any intrinsics_matrix"),
        (f"{LENS}\n{LINE}\n{LINE}", "line 3: image listed twice"),
        (f"{LENS}\n{LINE} 5", "line 2: expected 16 finite numbers, found 17"),
        (f"{LENS}\n{LINE.replace('1.5', 'nan')}", "line 2: expected 16 finite numbers, found infinity or"),
        (f"{LENS}\n{LINE.replace('1.5', 'high')}", "line 2: expected numbers"),
        (f"{LENS}\nscan", "line 2: expected scan DEPTH COLOUR and 16 numbers"),
        (f"{LENS}\n{LINE.replace('d0_0', 'd0_1')}", "line 2: expected <viewpoint>_dC_I.png"),
        (f"{LENS}\n{LINE.replace('abc_i', '../abc_i')}", "line 2: expected <viewpoint>_dC_I.png"),
        (f"{LENS}\n{LINE.replace('1 0 0 3', '2 0 0 3')}", "no rotation"),
        (f"{LENS}\n{LINE.replace('1 0 0 3', '-1 0 0 3')}", "no rotation"),
        (f"{LENS.replace('1075 0', '1075 3')}\n{LINE}", "line 1: expected intrinsics_matrix fx 0 cx"),
        (f"{LENS.replace('1075', '-1075')}\n{LINE}", "line 1: expected intrinsics_matrix fx 0 cx"),
    ],
)
def test_a_malformed_line_is_named(text: str, message: str) -> None:
    with pytest.raises(DataError, match=rf"x\.conf.*{message}"):
        parse_conf(text, SOURCE)
