"""`ghosts world` from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from checks import unchecked
from ghosts.cli import commands, main
from ghosts.language.episodes import load_episodes

SMALL = ["--storeys", "1", "1", "--rooms", "5", "6"]


def test_help_line() -> None:
    assert commands()["world"].startswith("Make a world of procedural houses")


def test_makes_a_world_and_measures_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "root"
    # With shape checks, unlike other worlds of the tests.
    main(["world", "--out", str(root), "--houses", "2", "--paths", "4", "--no-images", "--workers", "1", *SMALL])
    assert len(load_episodes(root / "r2r" / "R2R_val_unseen.json")) == 4
    capsys.readouterr()
    main(["world", "--stats", str(root)])
    assert "viewpoints per house" in capsys.readouterr().out


def test_show_draws_a_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "plan.png"
    with unchecked():
        main(["world", "--show", "--seed", "4", "--out", str(target)])
    assert target.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert "viewpoints" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--out DIR"),
        (["--out", "x", "--houses", "1"], "houses must lie in"),
        (["--out", "x", "--device", "tpu"], "--device must be cpu, cuda or auto"),
        (["--show", "--out", "plan.txt"], "end --out in .png"),
    ],
)
def test_wrong_options_say_what_to_do(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["world", *arguments])
    assert exit_.value.code == 1
    assert message in capsys.readouterr().err
