from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import pytest

from ghosts_sim.errors import DataError, UnknownNameError
from ghosts_sim.matterport.raw import COLOUR, DEPTH, KINDS, PARAMETERS, SKYBOX, RawRelease
from matterport.release import SCAN, Shot


@pytest.mark.parametrize("levels", [0, 1, 2], ids=["scans", "v1", "above"])
def test_scans_are_found_below_the_folder(raw: Path, shots: list[Shot], levels: int) -> None:
    release = RawRelease([raw if levels == 0 else raw.parents[levels - 1]])
    assert release.scans == [SCAN]
    assert release.viewpoints(SCAN) == sorted(shot.viewpoint for shot in shots)
    assert len(release.names(SCAN, DEPTH)) == 36
    assert len(release.names(SCAN, SKYBOX)) == 12
    assert release.missing(SCAN, shots[0].viewpoint, colour=True) == []


def zip_scan(raw: Path, out: Path, prefix: str) -> None:
    """Zip files as the release has them; `prefix` is what stands before the file name inside."""
    out.mkdir(parents=True)
    for kind in KINDS:
        with zipfile.ZipFile(out / f"{kind}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted((raw / SCAN / kind).iterdir()):
                archive.write(path, prefix.format(scan=SCAN, kind=kind) + path.name)


@pytest.mark.parametrize("prefix", ["{scan}/{kind}/", "v1/scans/{scan}/{kind}/", "{kind}/", ""])
def test_zip_files_give_the_same_bytes(raw: Path, tmp_path: Path, prefix: str) -> None:
    zip_scan(raw, tmp_path / SCAN, prefix)
    inside, outside = RawRelease([tmp_path]), RawRelease([raw])
    assert inside.scans == [SCAN]
    for kind in KINDS:
        assert inside.names(SCAN, kind) == outside.names(SCAN, kind)
        name = inside.names(SCAN, kind)[-1]
        assert inside.read(SCAN, kind, name)[0] == (raw / SCAN / kind / name).read_bytes()
    assert [path.suffix for path in (tmp_path / SCAN).iterdir()] == [".zip"] * 4  # nothing was unpacked


def test_zip_files_can_be_named_one_by_one(raw: Path, tmp_path: Path) -> None:
    zip_scan(raw, tmp_path / "downloads", "{scan}/{kind}/")
    release = RawRelease([tmp_path / "downloads" / f"{kind}.zip" for kind in (SKYBOX, PARAMETERS)])
    assert release.scans == [SCAN]
    assert release.names(SCAN, DEPTH) == []
    assert len(release.cameras(SCAN)) == 2


def test_names_in_a_zip_reach_nothing_outside(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "evil.zip", "w") as archive:
        archive.writestr(f"../../{DEPTH}/abc_d0_0.png", b"out")
        archive.writestr(f"/etc/{DEPTH}/../passwd", b"out")
        archive.writestr(f"..\\{SCAN}/{DEPTH}/abc_d0_1.png", b"out")
        archive.writestr(f"{SCAN}/{DEPTH}/../../x_d0_0.png", b"out")
        archive.writestr(f"{SCAN}/{DEPTH}/abc_d0_2.png", b"in")
    release = RawRelease([tmp_path / "evil.zip"])
    assert release.scans == [SCAN]
    assert release.names(SCAN, DEPTH) == ["abc_d0_2.png"]
    assert release.read(SCAN, DEPTH, "abc_d0_2.png")[0] == b"in"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["evil.zip"]


def test_what_is_missing_is_listed(raw: Path, shots: list[Shot], tmp_path: Path) -> None:
    shutil.copytree(raw, tmp_path / "raw")
    lost = f"{shots[0].viewpoint}_d2_4.png"
    (tmp_path / "raw" / SCAN / DEPTH / lost).unlink()
    shutil.rmtree(tmp_path / "raw" / SCAN / COLOUR)
    release = RawRelease([tmp_path / "raw"])
    assert release.missing(SCAN, shots[0].viewpoint, colour=False) == [f"{DEPTH}/{lost}"]
    assert len(release.missing(SCAN, shots[0].viewpoint, colour=True)) == 19
    with pytest.raises(DataError, match=rf"{lost}: not in the raw data; download .*--type {DEPTH} --id {SCAN}"):
        release.read(SCAN, DEPTH, lost)


def test_bad_sources_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such folder or zip file"):
        RawRelease([tmp_path / "nowhere"])
    with pytest.raises(DataError, match=r"no Matterport3D scans here .* give --raw"):
        RawRelease([tmp_path])
    (tmp_path / "half.zip").write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(DataError, match=r"half\.zip: not a zip file, or not a whole one; download it again"):
        RawRelease([tmp_path / "half.zip"])
    with pytest.raises(DataError, match=r"half\.zip: not a zip file, or not a whole one; download it again"):
        RawRelease([tmp_path])


def test_unknown_scan_and_damage_inside_a_zip(raw: Path, tmp_path: Path) -> None:
    zip_scan(raw, tmp_path / SCAN, "{scan}/{kind}/")
    path = tmp_path / SCAN / f"{DEPTH}.zip"
    data = bytearray(path.read_bytes())
    data[200:400] = bytes(200)
    path.write_bytes(data)
    release = RawRelease([tmp_path])
    with pytest.raises(DataError, match="damaged inside the zip file"):
        release.read(SCAN, DEPTH, release.names(SCAN, DEPTH)[0])
    with pytest.raises(UnknownNameError, match="did you mean '8194nk5LbLH'"):
        release.viewpoints("8194nk5LbLX")
