"""Files are written whole or not at all; readers name the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from ghosts.errors import DataError, MissingExtraError, UnknownNameError, did_you_mean
from ghosts.files import atomic_path, read_json, sha256_file, write_json


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
    assert "pip install '.[viz]' in the checkout" in str(MissingExtraError("matplotlib", "viz", "the floor plan"))
    assert str(UnknownNameError("split", "trian", ["train"])) == "unknown split 'trian'; did you mean 'train'?"
    assert did_you_mean("zzz", []) == ""
    assert did_you_mean("zzz", ["a", "b"]) == "; choose one of a, b"
