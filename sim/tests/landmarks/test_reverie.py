"""Reading REVERIE's listings, from a folder or an archive, and refusing what is none."""

from __future__ import annotations

import io
import json
import os
import tarfile
from pathlib import Path

import pytest

from ghosts_sim.errors import DataError
from ghosts_sim.landmarks.regions import ROOM_NAMES, read_regions
from ghosts_sim.landmarks.reverie import parse_listing, read_listings

GOOD = {"name": "chair", "visible_pos": [13], "bbox2d": [[10, 20, 30, 40]]}


def listing(**changes: object) -> bytes:
    return json.dumps({"v1": {"5": {**GOOD, **changes}}}).encode()


def test_archive_and_folder_agree(raw_world, tmp_path: Path) -> None:
    folder = raw_world.folder / "BBox"
    archive = tmp_path / "BBox.tar.gz"
    with tarfile.open(archive, "w:gz") as handle:
        handle.add(folder, arcname="BBox")
    assert read_listings(archive) == read_listings(folder)
    assert sorted(read_listings(folder)["sCene1"]) == list("abcde")


def test_links_and_other_members_are_passed_over(tmp_path: Path) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text("secret")
    archive = tmp_path / "BBox.tar.gz"
    with tarfile.open(archive, "w:gz") as handle:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
            link = tarfile.TarInfo(f"BBox/scan_link{kind.decode()}.json")
            link.type, link.linkname = kind, str(secret)
            handle.addfile(link)
        for name in ("BBox/README", "BBox/scan_v1.json"):
            content = b"{}"
            member = tarfile.TarInfo(name)
            member.size = len(content)
            handle.addfile(member, io.BytesIO(content))
    assert read_listings(archive) == {"scan": {"v1": b"{}"}}


def test_a_pipe_among_the_listings_is_refused(tmp_path: Path) -> None:
    (tmp_path / "scan_v1.json").write_text("{}")
    os.mkfifo(tmp_path / "scan_v2.json")
    with pytest.raises(DataError, match=r"scan_v2\.json"):
        read_listings(tmp_path)


def test_a_member_that_climbs_out_writes_nothing(tmp_path: Path) -> None:
    archive = tmp_path / "in" / "BBox.tar.gz"
    archive.parent.mkdir()
    with tarfile.open(archive, "w:gz") as handle:
        member = tarfile.TarInfo("../../scan_v1.json")
        member.size = 2
        handle.addfile(member, io.BytesIO(b"{}"))
    assert read_listings(archive) == {"scan": {"v1": b"{}"}}
    assert [path.name for path in tmp_path.rglob("*")] == ["in", "BBox.tar.gz"]


def test_bad_sources_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nothing.*no such file or folder.*BBox"):
        read_listings(tmp_path / "nothing")
    broken = tmp_path / "broken.tar.gz"
    broken.write_bytes(b"\x1f\x8b nonsense")
    with pytest.raises(DataError, match="not a whole tar archive"):
        read_listings(broken)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"holds no <scan>_<viewpoint>\.json"):
        read_listings(tmp_path / "empty")


def test_truncated_archive_is_refused(raw_world, tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole.tar.gz", tmp_path / "cut.tar.gz"
    with tarfile.open(whole, "w:gz") as handle:
        handle.add(raw_world.folder / "BBox", arcname="BBox")
    cut.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    with pytest.raises(DataError, match="not a whole tar archive"):
        read_listings(cut)


def test_values_of_a_listing() -> None:
    (sighting,) = parse_listing(listing(), "v1", "f.json")
    assert (sighting.object_id, sighting.name, sighting.views.tolist()) == ("5", "chair", [13])
    assert sighting.boxes.tolist() == [[10, 20, 30, 40]]
    (blind,) = parse_listing(listing(visible_pos=[], bbox2d=[]), "v1", "f.json")
    assert blind.boxes.shape == (0, 4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": ""}, r"f.json, record 5, field 'name': expected a text \(got ''\)"),
        ({"visible_pos": [36]}, r"field 'visible_pos': expected view numbers from 0 to 35 \(got \[36\]\)"),
        ({"visible_pos": [True]}, "field 'visible_pos'"),
        ({"visible_pos": None}, "field 'visible_pos'"),
        ({"bbox2d": []}, "field 'bbox2d': expected 1 boxes"),
        ({"bbox2d": [[1, 2, 3]]}, r"field 'bbox2d': expected \[x, y, w, h\] \(got \[1, 2, 3\]\)"),
        ({"bbox2d": [[1, 2, 3, "4"]]}, "field 'bbox2d'"),
        ({"bbox2d": [[600, 0, 50, 10]]}, "not a box within 640 × 480"),
        ({"bbox2d": [[0, 0, 0, 10]]}, "not a box within"),
        ({"bbox2d": [[0, float("nan"), 5, 10]]}, "not a box within"),
    ],
)
def test_bad_listings_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        parse_listing(listing(**changes), "v1", "f.json")


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"v2": {}}', b'{"v1": 3}', b"\xff", b"[" * 100_000])
def test_files_that_are_no_listing(content: bytes) -> None:
    with pytest.raises(DataError, match=r"f\.json"):
        parse_listing(content, "v1", "f.json")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("0 v1 3\n", "line 1: expected four words"),
        ("0 v1 x a\n", r"line 1, field 'region_index': expected a whole number \(got 'x'\)"),
        ("0 v1 3 q\n", r"field 'region_letter': expected one of the room letters a b .* \(got 'q'\)"),
        ("0 v1 ٣ a\n", r"field 'region_index': expected a whole number"),
        ("0 v1 3 a\n2 v2 3 a\n", r"line 2, field 'index': expected 1 \(got '2'\)"),
        ("\ufeff0 v1 3 a\n", r"line 1, field 'index': expected 0"),
        ("0 v1 3 a\n1 v2 3 b\n", r"line 2, field 'region_letter': region 3 had the letter a before \(got 'b'\)"),
        ("0 v1 3 a\n1 v1 3 a\n", r"line 2, field 'viewpoint': viewpoint listed twice \(got 'v1'\)"),
    ],
)
def test_bad_region_files(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "s.panorama_to_region.txt"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        read_regions(path)
    with pytest.raises(DataError, match="house_segmentations"):
        read_regions(tmp_path / "missing.txt")


def test_legend() -> None:
    assert len(ROOM_NAMES) == 31
    assert (ROOM_NAMES["a"], ROOM_NAMES["S"], ROOM_NAMES["s"]) == ("bathroom", "spa sauna", "stairs")
