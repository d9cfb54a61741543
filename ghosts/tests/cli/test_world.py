"""`ghosts world` from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from checks import unchecked
from ghosts.data.examples import load_splits
from ghosts_sim.cli import main
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.episodes import load_episodes
from ghosts_sim.errors import DataError

SMALL = ["--storeys", "1", "1", "--rooms", "5", "6"]


def test_makes_a_world_and_measures_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "root"
    # With shape checks, unlike other worlds of the tests.
    main(["world", "--out", str(root), "--houses", "2", "--paths", "4", "--no-images", "--workers", "1", *SMALL])
    assert len(load_episodes(root / "r2r" / "R2R_val_unseen.json")) == 4
    capsys.readouterr()
    main(["world", "--stats", str(root)])
    assert "viewpoints per house" in capsys.readouterr().out


def test_one_house_alone_is_unseen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Models can be tested there, and training says what it lacks."""
    root = tmp_path / "root"
    with unchecked():
        options = ["--houses", "1", "--paths", "3", "--no-images", "--landmarks", "--workers", "1", *SMALL]
        main(["world", "--out", str(root), *options])
    assert "one house, " in capsys.readouterr().out
    splits = load_splits(DataRoot(root), steps=4)
    assert {name: len(examples) for name, examples in splits.items()} == {"train": 0, "val_unseen": 9}
    with pytest.raises(SystemExit):
        main(["train", "goal", "--preset", "tiny", "--data", str(root), "--out", str(tmp_path / "run")])
    told = " ".join(capsys.readouterr().err.split())
    assert (
        f"{root}/r2r/R2R_train.json: no paths to train on; name another --data, such as that of: ghosts world" in told
    )
    assert not (tmp_path / "run").exists()
    main(["doctor", "--data", str(root)])
    assert "lacks a training path (one house alone is unseen); next: ghosts world" in capsys.readouterr().out
    (root / "r2r" / "R2R_val_unseen.json").rename(root / "r2r" / "R2R_val_seen.json")
    with pytest.raises(DataError, match="to know which buildings are unseen"):
        load_splits(DataRoot(root), steps=4)


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
        (["--out", "x", "--houses", "0"], "houses must lie in"),
        (["--out", "x", "--device", "tpu"], "--device must be cpu, cuda or auto"),
        (["--show", "--out", "plan.txt"], "end --out in .png"),
    ],
)
def test_wrong_options_say_what_to_do(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["world", *arguments])
    assert exit_.value.code == 1
    assert message in capsys.readouterr().err
