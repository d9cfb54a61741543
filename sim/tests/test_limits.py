"""Sizes are checked before anything is read; what is no plain file is refused."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import pytest

from ghosts_sim.errors import ConfigError, DataError
from ghosts_sim.files import read_bytes, read_json, sha256_file
from ghosts_sim.limits import OPTION, USUAL, check_bytes, most_bytes, open_file, read_file, read_member


def test_the_bound_can_be_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(OPTION, raising=False)
    assert most_bytes() == USUAL == 1 << 30
    check_bytes(USUAL, "x")
    with pytest.raises(DataError) as caught:
        check_bytes(USUAL + 1, "x.bin", "the picture", record="line 3")
    assert str(caught.value) == (
        "x.bin, line 3: the picture would take 1.1 GB of memory, more than the 1.1 GB allowed; "
        f"if it is sound, allow it with the environment variable {OPTION}={1 << 31}"
    )
    monkeypatch.setenv(OPTION, str(1 << 31))
    check_bytes(USUAL + 1, "x.bin")
    for wrong in ("0", "-1", "1e9", "4 GB", "²", "9" * 30):
        monkeypatch.setenv(OPTION, wrong)
        with pytest.raises(ConfigError, match="must be a number of bytes"):
            most_bytes()


def test_large_files_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "large.json"
    file.write_text("[" + " " * 998 + "]")
    monkeypatch.setenv(OPTION, "999")
    with pytest.raises(DataError, match="allow it with"):
        read_bytes(file)
    monkeypatch.setenv(OPTION, "1000")
    assert len(read_file(file)) == 1000
    # What JSON becomes is larger than its text.
    with pytest.raises(DataError, match="allow it with"):
        read_json(file)
    # A hole of 8 TB takes no disk; nobody tries to read it.
    with open(tmp_path / "hole", "wb") as hole:
        hole.truncate(1 << 43)
    monkeypatch.delenv(OPTION)
    with pytest.raises(DataError, match=r"8796\.1 GB"):
        read_bytes(tmp_path / "hole")


def test_pipes_and_devices_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(DataError, match="not a regular file"):
            open_file(path)
        with pytest.raises(DataError, match="not a regular file"):
            sha256_file(path)
    with pytest.raises(DataError, match="cannot be read"):
        read_bytes(tmp_path)


def test_members_of_zip_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", bytes(1 << 20))
        archive.writestr("nothing", b"")
    with zipfile.ZipFile(buffer) as archive:
        assert read_member(archive, "zeros", tmp_path) == bytes(1 << 20)
        assert read_member(archive, "nothing", tmp_path) == b""
        monkeypatch.setenv(OPTION, str(1 << 19))
        with pytest.raises(DataError, match="zeros"):
            read_member(archive, "zeros", tmp_path)
    # The directory says 10 bytes and a megabyte is there: 10 are read, and their checksum is not the megabyte's.
    monkeypatch.delenv(OPTION)
    with zipfile.ZipFile(buffer) as archive:
        archive.getinfo("zeros").file_size = 10
        with pytest.raises(zipfile.BadZipFile, match="CRC"):
            read_member(archive, "zeros", tmp_path)
