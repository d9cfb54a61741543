from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ghosts_sim.matterport.conventions import OriginCheck, check_origin
from ghosts_sim.matterport.raw import DEPTH, PARAMETERS, RawRelease
from matterport.release import SCAN, ReleaseConfig, Shot, make_shots, write_release


def from_the_top(folder: Path, height: int) -> None:
    """Rewrite a camera file so that `cy` is measured from the top."""
    path = folder / SCAN / PARAMETERS / f"{SCAN}.conf"
    lines = []
    for line in path.read_text().splitlines():
        words = line.split()
        if words[:1] == ["intrinsics_matrix"]:
            words[6] = f"{height - 1 - float(words[6]):.6g}"
        lines.append(" ".join(words))
    path.write_text("\n".join(lines) + "\n")


def test_the_release_says_bottom_and_its_images_do_too(release: RawRelease) -> None:
    found = check_origin(release, [SCAN])
    assert found.panoramas == 2
    assert found.fits == "bottom-left"
    assert found.misfit["bottom-left"] < 0.004
    assert found.misfit["top-left"] > 0.01
    assert "it is bottom-left" in found.summary


def test_a_file_that_measures_from_the_top_is_noticed(raw: Path, tmp_path: Path) -> None:
    shutil.copytree(raw, tmp_path / "raw")
    from_the_top(tmp_path / "raw", ReleaseConfig().height)
    found = check_origin(RawRelease([tmp_path / "raw"]), [SCAN])
    assert found.fits == "top-left"
    assert found.misfit["top-left"] < 0.004


def test_half_a_percent_of_the_height_is_enough(tmp_path: Path) -> None:
    """An optical centre one row of 128 from the middle, as 8 rows of 1024; noise of 0.5 %."""
    config = ReleaseConfig(centre=(3, 1), noise=0.005, offset_m=0.03)
    write_release(tmp_path, config, make_shots(config, 1))
    found = check_origin(RawRelease([tmp_path]), [SCAN])
    print(found)
    assert found.fits == "bottom-left"


def test_a_centre_in_the_middle_tells_nothing(tmp_path: Path) -> None:
    config = ReleaseConfig(centre=(3, 0))
    write_release(tmp_path, config, make_shots(config, 1))
    found = check_origin(RawRelease([tmp_path]), [SCAN])
    assert found.fits is None
    assert found.misfit["bottom-left"] == pytest.approx(found.misfit["top-left"])
    assert "does not tell them apart, bottom-left is taken" in found.summary


def test_damaged_panoramas_are_passed_over(raw: Path, shots: list[Shot], tmp_path: Path) -> None:
    shutil.copytree(raw, tmp_path / "raw")
    (tmp_path / "raw" / SCAN / DEPTH / f"{shots[0].viewpoint}_d1_2.png").write_bytes(b"")
    assert check_origin(RawRelease([tmp_path / "raw"]), [SCAN]).panoramas == 1
    (tmp_path / "raw" / SCAN / DEPTH / f"{shots[1].viewpoint}_d0_2.png").unlink()
    assert check_origin(RawRelease([tmp_path / "raw"]), [SCAN]) == OriginCheck({}, 0)
