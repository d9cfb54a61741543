"""`--out` is checked before any work: in every command that has one."""

from __future__ import annotations

from pathlib import Path

import pytest

from ghosts_sim.cli import main
from ghosts_sim.cli._out import check_out_file, check_out_folder
from ghosts_sim.errors import DataError
from makers import make_root

DATA = ("--data", "ROOT")  # a root that is there: it is looked at first
FOLDERS = [
    *(["train", "goal", *DATA], ["train", "vln", *DATA], ["eval", "goal", "--preset", "hand-coded", *DATA]),
    *(["eval", "vln", *DATA], ["world"], ["belief", *DATA, "--run", "x"], ["demo"], ["prepare", "--raw", "x"]),
    ["landmarks", "--connectivity", "x", "--bbox", "x", "--regions", "x"],
    ["tiles", *DATA, "--backbone", "x"],
]
FILES = [
    *(["backbone", *DATA], ["export", "--run", "x"], ["film", *DATA], ["report", *DATA]),
    *(["submit", *DATA, "--run", "x"], ["world", "--show"], ["bench", "simulator"], ["weights"]),
]


@pytest.fixture(autouse=True)
def _in_a_folder_with_a_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_root(tmp_path / "ROOT")
    monkeypatch.chdir(tmp_path)


def _told(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 1
    return capsys.readouterr().err


@pytest.mark.parametrize("words", FOLDERS, ids=" ".join)
def test_a_file_in_a_folders_place(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "taken").write_text("", encoding="utf-8")
    told = f"{tmp_path}/taken: a file is where a folder is to be written; choose another --out\n"
    assert told in _told([*words, "--out", str(tmp_path / "taken" / "deep")], capsys)


@pytest.mark.parametrize("words", FILES, ids=" ".join)
def test_a_folder_in_a_files_place(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kinds = {"film": ".mp4", "report": ".html", "submit": ".json", "world": ".png", "bench": ".json"}
    out = tmp_path / f"taken{kinds.get(words[0], '.safetensors')}"
    out.mkdir()
    assert f"{out}: a folder is where a file is to be written; name a file in it" in _told(
        [*words, "--out", str(out)], capsys
    )


def test_what_can_be_written_is_let_pass(tmp_path: Path) -> None:
    check_out_folder(tmp_path / "a" / "b")
    check_out_file(tmp_path / "a" / "film.GIF", "a film", (".mp4", ".gif"))
    (tmp_path / "old.json").write_text("{}", encoding="utf-8")
    check_out_file(tmp_path / "old.json")
    check_out_folder(Path("relative"))


def test_another_kind_is_named() -> None:
    with pytest.raises(DataError, match=r"^x.avi: a film is written as .mp4 or .gif; end --out in .mp4$"):
        check_out_file(Path("x.avi"), "a film", (".mp4", ".gif"))


def test_a_folder_that_cannot_be_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda path, mode: False)  # root may write anywhere
    with pytest.raises(DataError, match=f"^{tmp_path}: the folder cannot be written to; choose another --figures$"):
        check_out_folder(tmp_path / "new", "--figures")
