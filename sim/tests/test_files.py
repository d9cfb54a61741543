"""Files are written whole or not at all; readers name the file."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ghosts_sim.errors import DataError, MissingExtraError, UnknownNameError, did_you_mean
from ghosts_sim.files import atomic_path, parse_json, read_json, read_words, sha256_file, write_json


def test_json_round_trip_has_stable_bytes(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "a.json"
    write_json(path, {"b": 1, "a": ["ü"]})
    first = path.read_bytes()
    write_json(path, {"b": 1, "a": ["ü"]})
    assert path.read_bytes() == first
    assert read_json(path) == {"b": 1, "a": ["ü"]}
    assert sha256_file(path) == sha256_file(path)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")

    def fail() -> None:
        with atomic_path(path) as temporary:
            temporary.write_text("half")
            raise RuntimeError("power cut")

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "no such file"),
        (b"", "empty"),
        (b"  \n", "empty"),
        (b"{]", "line 1 column 2"),
        (b"\xff\xfe{", "not UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (b'[{"a": 1, "b": {"c": 1, "c": 2}}]', "field 'c': a field that an object has twice"),
        (b"[" + b"9" * 22 + b"]", "too many digits"),
        (b'["\\ud800"]', "half a character"),
        ("[1]".encode("utf-16-be"), "not valid JSON"),
    ],
)
def test_bad_json_names_the_file(tmp_path: Path, content: bytes | None, words: str) -> None:
    path = tmp_path / "bad.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match=words) as caught:
        read_json(path, hint="run this")
    assert str(path) in str(caught.value)


def test_error_texts() -> None:
    error = DataError("expected a number", file="x.json", record=3, field="pose", value="a" * 200, hint="fix it")
    assert str(error).startswith("x.json, record 3, field 'pose': expected a number (got 'aaa")
    assert str(error).endswith("…); fix it")
    assert len(str(error)) < 200
    assert "pip install './ghosts[viz]' in the checkout" in str(
        MissingExtraError("matplotlib", "viz", "the floor plan")
    )
    assert str(UnknownNameError("split", "trian", ["train"])) == "unknown split 'trian'; did you mean 'train'?"
    assert did_you_mean("zzz", []) == ""
    assert did_you_mean("zzz", ["a", "b"]) == "; choose one of a, b"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a b a", "listed twice (got 'a')"),
        ("a ../b", "cannot be a file's name (got '../b')"),
        ("a .hidden", "cannot be a file's name"),
        ("a b\0c", "cannot be a file's name"),
    ],
)
def test_lists_of_names(tmp_path: Path, content: str, words: str) -> None:
    (tmp_path / "scans.txt").write_text("a\nb\n")
    assert read_words(tmp_path / "scans.txt") == ["a", "b"]
    (tmp_path / "scans.txt").write_text(content)
    with pytest.raises(DataError) as caught:
        read_words(tmp_path / "scans.txt")
    assert words in str(caught.value)


def test_the_folder_is_on_disk_before_a_write_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    replace, sync = os.replace, os.fsync
    monkeypatch.setattr(os, "replace", lambda *names: (done.append("rename"), replace(*names)))
    monkeypatch.setattr(
        os,
        "fsync",
        lambda file: (done.append("folder" if os.path.isdir(f"/proc/self/fd/{file}") else "file"), sync(file)),
    )
    write_json(tmp_path / "a.json", 1)
    assert done == ["file", "rename", "folder"]


def test_threads_write_under_one_umask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process has one umask: a thread that sets it, even for a moment, changes the files of the others."""
    before = os.umask(0o027)
    try:
        with monkeypatch.context() as patch:
            patch.delattr(os, "umask")
            with ThreadPoolExecutor(8) as pool:
                list(pool.map(lambda number: write_json(tmp_path / f"{number % 20}.json", number), range(200)))
    finally:
        os.umask(before)
    files = list(tmp_path.iterdir())
    assert len(files) == 20
    assert {file.stat().st_mode & 0o777 for file in files} == {0o640}


def test_pairs_of_halves_are_characters(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('["\\ud83d\\ude00"]')
    assert read_json(tmp_path / "a.json") == ["\U0001f600"]
    with pytest.raises(DataError, match="not UTF-8 text"):
        parse_json("[1, ü]".encode("utf-16"), "x.json")
